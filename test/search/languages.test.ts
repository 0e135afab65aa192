import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import type { LooseOptions } from '../tool/sample-tools.js';

function registryOf(...tools: readonly LooseOptions[]): ToolMetadataRegistry {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    tools.map((options) =>
      defineTool({
        description: 'A tool',
        inputSchema: z.object({}),
        execute: () => 1,
        ...options,
      } as never),
    ),
  );
  return registry;
}

describe('keywords in scripts without spaces between words', () => {
  it.each([
    ['Chinese', '退款', '我要退款', '我要订餐'],
    ['Chinese beside Latin letters', '退款', 'iPhone退款吗', 'iPhone款退'],
    ['Japanese', '返金', '返金してください', '予約してください'],
    ['Japanese katakana', 'メール', '上司にメールを送る', '上司に電話する'],
    ['Thai', 'คืนเงิน', 'ฉันต้องการคืนเงินสำหรับคำสั่งซื้อ', 'ฉันต้องการจองโรงแรม'],
    ['Lao', 'ເງິນ', 'ຂ້ອຍຕ້ອງການເງິນຄືນ', 'ຂ້ອຍຕ້ອງການນ້ຳ'],
    ['Khmer', 'ប្រាក់', 'ខ្ញុំចង់បានប្រាក់វិញ', 'ខ្ញុំចង់បានទឹក'],
    ['Korean', '환불', '환불해 주세요', '예약해 주세요'],
  ])('are found inside a sentence (%s)', (_, keyword, request, other) => {
    const registry = registryOf({
      name: 'refund',
      category: 'money',
      keywords: [keyword],
      mandatoryKeywords: [keyword],
    });
    const found = (text: string) => [
      registry.getToolsMatchingTextScored(text).length,
      registry.getToolsMatchingMandatoryKeywords(text).size,
      registry.detectCategoriesFromText(text).size,
    ];
    expect([found(request), found(other)]).toEqual([
      [1, 1, 1],
      [0, 0, 0],
    ]);
  });
});

describe('search in other languages than English', () => {
  const registry = registryOf(
    { name: 'refund', description: '为客户的订单办理退款' },
    { name: 'weather', description: '查询城市的天气预报' },
    { name: 'mail', description: '上司や同僚にメールを送信します' },
    { name: 'hotel', description: 'จองห้องพักในโรงแรม' },
    { name: 'translate', description: '문서를 다른 언어로 번역합니다' },
    { name: 'draw', description: 'Tạo ảnh từ mô tả' },
    { name: 'street', description: 'Sucht eine Straße in Zürich' },
    { name: 'book', description: 'إلغاء الحجز في المكتبة' },
    { name: 'account', description: 'खाते का विवरण दिखाता है' },
    { name: 'remove', description: 'फ़ाइल हटाता है' },
  );

  it.each([
    ['我想退款', 'refund'],
    ['明天天气怎么样', 'weather'],
    ['田中さんにメールを送って', 'mail'],
    ['ช่วยจองโรงแรมให้หน่อย', 'hotel'],
    ['이 문서 번역해 줘', 'translate'],
    ['tao anh con meo', 'draw'],
    ['strasse in zurich', 'street'],
    ['الغاء حجز', 'book'],
    ['حجز', 'book'],
    ['मेरे खाते का विवरण', 'account'],
    ['पुरानी फाइल', 'remove'],
  ])('finds the tool for %s', (text, expected) => {
    expect(registry.search(text)[0]?.toolName).toBe(expected);
  });
});

describe('search', () => {
  it.each([
    ['adding', { name: 'add', description: 'Sums up' }],
    ['a multiplication', { name: 'multiply', description: 'Computes a product' }],
    ['the process id', { name: 'pid', metadata: { title: 'Process id' } }],
    ['error 500', { name: 'explain', description: 'Explains the error 500' }],
    ['the t512', { name: 'printer', description: 'Controls a T512 printer' }],
  ])('finds %s', (text, tool) => {
    const registry = registryOf(tool, { name: 'other', description: 'Does another thing' });
    expect(registry.search(text).map(({ toolName }) => toolName)).toEqual([tool.name]);
  });
});
