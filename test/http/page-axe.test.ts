import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/index.js';
import { ROOT } from '../programs.js';
import { sampleTree } from './catalogue-fixture.js';
import { ADA, OperatorServer, pick } from './operator-fixture.js';
import { browserPresent, useBrowser, warnIfNoBrowser } from './page-fixture.js';

warnIfNoBrowser('accessibility of the page');

const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8');
const CONVERSATION = { principal: 'bob', conversationId: 'chat-1' };

/** Every view, and an element that is there when the view is complete. */
const VIEWS: Readonly<Record<string, string>> = {
  overview: '.chart',
  waiting: '.pending',
  calls: '.calls li',
  'calls?open=chat-1': '.calls li',
  actions: '.calls li.action',
  tools: '.row',
  'tools?q=alpha': '.row-why',
  'tools?danger_level=high&open=refund': '.try',
  skills: '.card',
  jobs: '.card',
  findings: '.finding',
};

/** The color schemes. In the second, only rules about colors can have other findings. */
const SCHEMES = [
  ['light', {}],
  ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }],
] as const;

/** Returns axe's findings, and how much the page is wider than the screen. */
async function problemsOf(page: Page, rules: object): Promise<readonly string[]> {
  const options = JSON.stringify({ preload: false, resultTypes: ['violations'], ...rules });
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${options})`);
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id}: ${html.slice(0, 200)} ${any[0]?.message ?? ''}`),
  );
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return overflow === 0 ? found : [...found, `${String(overflow)} pixels too wide`];
}

describe.skipIf(!browserPresent)('the page (skipped without a browser)', () => {
  let server: OperatorServer;

  beforeAll(async () => {
    const refund = defineTool({
      name: 'refund',
      description: 'Refunds an order',
      inputSchema: z.object({ order: z.int(), speed: z.enum(['now', 'later']).optional() }),
      accessMode: 'write',
      dangerLevel: 'high',
      preview: ({ order }) => ({ summary: `Refund order ${order}`, reversible: false }),
      execute: ({ order }) => `refunded ${order}`,
    });
    const fail = defineTool({
      name: 'fail',
      description: 'Fails',
      inputSchema: z.object({}),
      accessMode: 'readonly',
      execute: () => {
        throw new Error('No route to host');
      },
    });
    server = await OperatorServer.start([refund, pick, fail], sampleTree().root);
    const { executor } = server;
    for (const order of [1, 2])
      await executor.execute({ id: `r${order}`, name: 'refund', input: { order } }, CONVERSATION);
    for (const name of ['pick', 'fail']) await executor.execute({ id: name, name }, CONVERSATION);
    const waiting = (await executor.waiting()).find(({ callId }) => callId === 'r1');
    await executor.grant(waiting as never, { input: { order: 1 } }, { by: 'ada' });
    await executor.close(); // Writes the calls and their counts to the store.
  });
  afterAll(() => server.stop());
  const { open } = useBrowser();

  it('has no findings of axe in any view, at three widths and in both color schemes', async () => {
    const page = await open(server.url);
    await page.evaluate(AXE);
    const found: Record<string, readonly string[]> = {};
    const checkAll = async (name: string) => {
      for (const width of [390, 900, 1440])
        for (const [colorScheme, rules] of SCHEMES) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme });
          const problems = await problemsOf(page, rules);
          if (problems.length > 0) found[`${name}, ${width} pixels, ${colorScheme}`] = problems;
        }
    };
    await page.locator('#token').waitFor();
    await checkAll('the form for the token');
    await page.fill('#token', ADA);
    await page.getByRole('button', { name: 'Open' }).click();
    for (const [view, ready] of Object.entries(VIEWS)) {
      await page.evaluate(`location.hash = '#/${view}'`);
      await page.locator(ready).first().waitFor();
      await page.evaluate(
        "document.querySelectorAll('details').forEach((each) => (each.open = true))",
      );
      await checkAll(view);
    }
    expect(found).toEqual({});
  });
});
