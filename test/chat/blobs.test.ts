import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chat, scriptedModel, Session, type ChatEngine, type ChatMessage } from '../../src/chat.js';
import { AccessMode, defineTool, image, file, ok } from '../../src/index.js';
import { MemoryBlobStore, type BlobStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';

/** A screenshot of 700 kB, the size that browser servers return. */
const PIXELS = randomBytes(700_140);
const BASE64 = PIXELS.toString('base64');
const screenshot = defineTool({
  name: 'screenshot',
  description: 'Takes a screenshot',
  inputSchema: z.object({}),
  accessMode: AccessMode.READONLY,
  execute: () => ok({ width: 2 }, { content: [image(PIXELS, 'image/png')] }),
});
const answers = [{ calls: [{ id: 'c', name: 'screenshot' }] }, 'A page.'];
const shownTo = ({ requests }: ReturnType<typeof scriptedModel>) =>
  JSON.stringify(requests.at(-1)!.messages);
const contentOf = (messages: readonly ChatMessage[]) =>
  messages
    .flatMap((message) => (message.role === 'tool' ? message.content : []))
    .map(({ output }) => (output.type === 'content' ? output.value : output));

async function withScreenshot(more: Partial<ChatEngine> = {}) {
  const model = scriptedModel(answers);
  const run = await Session.create().start({ model, tools: [screenshot], ...more }, 'Look');
  return { ...run, model };
}

describe('content that is kept in a blob store', () => {
  it('large content stays out of messages and snapshots, and the model still gets it', async () => {
    const { session, model } = await withScreenshot({ blobs: new MemoryBlobStore() });
    const without = await withScreenshot();
    const [length, before] = [session, without.session].map((each) => JSON.stringify(each).length);
    expect([before! > BASE64.length, length! < 2_000]).toEqual([true, true]);
    expect(contentOf(session.messages)).toEqual([
      [
        { type: 'text', text: '{"width":2}' },
        {
          type: 'text',
          text: '[image image/png, 684 KiB: stored apart]',
          providerOptions: {
            tooldex: expect.objectContaining({
              blob: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
              mediaType: 'image/png',
              size: 700_140,
            }) as object,
          },
        },
      ],
    ]);
    expect(contentOf(model.requests[1]!.messages)).toEqual([
      [
        { type: 'text', text: '{"width":2}' },
        { type: 'image-data', data: BASE64, mediaType: 'image/png' },
      ],
    ]);
    expect(shownTo(model) === shownTo(without.model)).toBe(true);
  });

  it('the model reads that content is gone after its lifetime', async () => {
    const clock = new ManualClock();
    const blobs = new MemoryBlobStore({ clock, ttlMs: 1_000 });
    const { session } = await withScreenshot({ blobs });
    clock.advance(1_000);
    {
      const model = scriptedModel(['Gone.']);
      await session.start({ model, tools: [screenshot], blobs }, 'And now?');
      expect(contentOf(model.requests[0]!.messages)).toEqual([
        [
          { type: 'text', text: '{"width":2}' },
          { type: 'text', text: '[image image/png, 684 KiB: no longer stored]' },
        ],
      ]);
    }
  });

  it("content stays in the message if the store can't take it, and a store that can't be read ends the run until a retry", async () => {
    const broken: BlobStore = {
      put: () => Promise.reject(new Error('disk full')),
      get: () => Promise.resolve(undefined),
      delete: () => Promise.resolve(false),
    };
    const { session, result } = await withScreenshot({ blobs: broken });
    expect([result.text, JSON.stringify(session).includes(BASE64)]).toEqual(['A page.', true]);

    const blobs = new MemoryBlobStore();
    const kept = await withScreenshot({ blobs });
    const unread: BlobStore = {
      put: (bytes) => blobs.put(bytes),
      get: () => Promise.reject(new Error('no disk')),
      delete: () => Promise.resolve(false),
    };
    const failed = await kept.session.start(
      { model: scriptedModel(['x']), tools: [screenshot], blobs: unread },
      'And now?',
    );
    expect([failed.session.status, failed.session.error]).toEqual([
      'error',
      { code: 'STATE_UNAVAILABLE', message: expect.stringContaining('no disk') as string },
    ]);
    const { result: retried } = await failed.session.retry({
      model: scriptedModel(['Fine.']),
      tools: [screenshot],
      blobs,
    });
    expect(retried.text).toBe('Fine.');
  });

  it("content of a manual call's answer moves into the store with the next run", async () => {
    const sign = defineTool({
      name: 'sign',
      description: 'Signs',
      inputSchema: z.object({}),
      manual: true,
    });
    const engine = {
      tools: [sign],
      model: scriptedModel([{ calls: [{ id: 'c', name: 'sign' }] }, 'Signed.']),
      blobs: new MemoryBlobStore(),
    };
    const { session } = await Session.create().start(engine, 'Sign');
    const answered = session.submitToolResult(
      'c',
      ok(null, { content: [file(PIXELS, 'application/pdf', { name: 'signed.pdf' })] }),
    ).session;
    const { session: done } = await answered.continue(engine);
    expect(contentOf(done.messages)).toMatchObject([
      [{ type: 'text', text: '[file signed.pdf, application/pdf, 684 KiB: stored apart]' }],
    ]);
    expect(contentOf(engine.model.requests[1]!.messages)).toEqual([
      [{ type: 'file-data', data: BASE64, mediaType: 'application/pdf', filename: 'signed.pdf' }],
    ]);
    expect(JSON.stringify(done)).not.toContain(BASE64);
  });

  it("users' attachments move into the store, but small parts and addresses stay", async () => {
    const address = `https://example.com/${'a'.repeat(9_000)}.png`;
    const attached = {
      role: 'user',
      content: [
        { type: 'file', data: BASE64, mediaType: 'image/png' },
        { type: 'image', image: BASE64 },
        { type: 'image', image: address },
        { type: 'file', data: 'AAAA', mediaType: 'image/png' },
      ],
    } as const;
    const model = scriptedModel(['Seen.']);
    const result = await chat({ model, messages: [attached], blobs: new MemoryBlobStore() });
    expect(result.messages[0]!.content).toMatchObject([
      { text: '[image image/png, 684 KiB: stored apart]' },
      { text: '[image, 684 KiB: stored apart]' },
      { image: address },
      { data: 'AAAA' },
    ]);
    expect(model.requests[0]!.messages[0]).toEqual(attached);
  });

  it('a text whose options only look like a reference stays a text', async () => {
    const blobs = new MemoryBlobStore();
    const blob = await blobs.put(PIXELS);
    const reference = {
      blob,
      size: 700_140,
      field: 'data',
      part: { type: 'file', data: '', mediaType: 'image/png' },
    };
    const shown = async (options: object, store: BlobStore = blobs) => {
      const model = scriptedModel(['ok']);
      await chat({
        model,
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: 'hi', providerOptions: { tooldex: options as never } }],
          },
        ],
        blobs: store,
      });
      return model.requests[0]!.messages[0]!.content as readonly { readonly type: string }[];
    };
    expect(await shown(reference)).toEqual([
      { type: 'file', data: BASE64, mediaType: 'image/png' },
    ]);
    for (const part of [
      { type: 'tool-call', data: '' },
      { type: 'text', text: 'hi', data: '' },
      { type: 'file', data: 'AAAA' },
      { type: 'file' },
    ])
      expect(await shown({ ...reference, part })).toMatchObject([{ type: 'text', text: 'hi' }]);
    expect(await shown({ ...reference, size: 0.5 })).toMatchObject([{ text: 'hi' }]);
    expect(await shown({ ...reference, size: 5 })).toEqual([
      { type: 'text', text: '[image, 5 bytes: no longer stored]' },
    ]);
    const asked: BlobStore = {
      put: () => Promise.reject(new Error('put')),
      get: () => Promise.reject(new Error('asked')),
      delete: () => Promise.resolve(false),
    };
    for (const forged of ['../../etc/passwd', 'A'.repeat(64), 7, [blob]])
      expect(await shown({ ...reference, blob: forged }, asked)).toMatchObject([{ text: 'hi' }]);
  });
});
