import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability/capability-registry.js';
import { serve } from '../../src/http/serve.js';
import {
  browserPresent,
  FakeCatalogue,
  openBrowser,
  openPage,
  warnIfNoBrowser,
  wireTool,
} from './page-fixture.js';

warnIfNoBrowser('the page while the catalogue changes');

const entry = (name: string, changes: object = {}) => ({
  name,
  version: '1.0.0',
  description: `Does ${name}.`,
  side_effects: 'none',
  parameters: { type: 'object', properties: { text: { type: 'string' } } },
  ...changes,
});

/** A folder of manifests, served as users serve theirs. */
class Manifests {
  readonly folder = mkdtempSync(join(tmpdir(), 'tooldex-page-'));

  write(file: string, entries: readonly object[]): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), JSON.stringify(entries, null, 2));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

describe.skipIf(!browserPresent)('the page while the catalogue changes', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  it('shows edits of manifests without a reload', async () => {
    const manifests = new Manifests();
    manifests.write('functions.json', [
      entry('count_words'),
      entry('send_letter', { side_effects: 'write' }),
      { name: 'broken', side_effects: 'shell' },
    ]);
    manifests.write('personas/Atlas/functions.json', [entry('count_words', { version: '2.0.0' })]);
    const capabilities = await CapabilityRegistry.load({ root: manifests.folder });
    const running = await serve(capabilities, { port: 0 });
    const stopWatching = capabilities.watch({ intervalMs: 10 });
    const { page, complaints } = await openPage(browser, `${running.url}/`);
    try {
      await page.getByText('3 of 3 tools', { exact: true }).waitFor();
      await page.getByRole('searchbox').fill('count the words');
      await page.getByText('2 of 3 tools', { exact: true }).waitFor();
      expect(await page.locator('.row-why .why').allInnerTexts()).toContainEqual(
        expect.stringMatching(/^name .*count/),
      );
      await page.getByRole('link', { name: 'count_words' }).first().click();
      await page
        .getByRole('complementary', { name: 'Tool count_words' })
        .getByRole('rowheader', { name: 'text' })
        .waitFor();
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
      manifests.write('functions.json', [
        entry('count_words', { description: 'Counts every word.' }),
        entry('send_letter', { side_effects: 'write' }),
        entry('count_letters'),
      ]);
      await page
        .getByRole('complementary')
        .getByText('Counts every word.', { exact: true })
        .waitFor();
      await page.getByRole('link', { name: 'count_letters' }).waitFor();
      await page.goto(`${running.url}/#/findings`);
      await page
        .locator('.finding-name')
        .filter({ hasText: 'broken' })
        .first()
        .waitFor({ state: 'detached' });
      await page.goto(`${running.url}/#/tools?persona=Atlas`);
      await page.getByText('3 of 3 tools', { exact: true }).waitFor();
      expect(
        await page.locator('.row', { hasText: 'count_words' }).locator('.version').textContent(),
      ).toBe('2.0.0');
      expect(complaints).toEqual([]);
    } finally {
      await page.context().close();
      stopWatching();
      await running.close();
      manifests.remove();
    }
  });

  it('keeps the scroll position and the focus when the list changes', async () => {
    const tools = Array.from({ length: 300 }, (_, at) =>
      wireTool(`tool_${String(at).padStart(3, '0')}`),
    );
    const server = await FakeCatalogue.start({ tools });
    const { page, complaints } = await openPage(browser, server.url);
    try {
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
      await page.locator('.row-link').nth(60).focus();
      await page.evaluate("document.querySelector('.list-place').scrollTop = 3000");
      const before = await page.evaluate("document.querySelector('.list-place').scrollTop");
      server.change({
        tools: [
          ...tools.slice(0, 60),
          wireTool('tool_060', { description: 'Written again.' }),
          ...tools.slice(61),
        ],
      });
      await page.getByText('Written again.').waitFor();
      expect(await page.evaluate('document.activeElement.textContent')).toBe('tool_060');
      expect(await page.evaluate("document.querySelector('.list-place').scrollTop")).toBe(before);
      expect(complaints).toEqual([]);
    } finally {
      await page.context().close();
      await server.stop();
    }
  });

  it('reconnects after the connection broke, and reads the changes it missed', async () => {
    const server = await FakeCatalogue.start({ tools: [wireTool('first')] });
    const { page } = await openPage(browser, server.url);
    try {
      const connection = page.locator('.connection');
      await connection.filter({ hasText: 'live' }).waitFor();
      server.dropListeners();
      await connection.filter({ hasText: 'not connected' }).waitFor();
      server.content.tools = [wireTool('first'), wireTool('second')];
      await page.getByRole('link', { name: 'second' }).waitFor();
      await connection.filter({ hasText: 'live' }).waitFor();
    } finally {
      await page.context().close();
      await server.stop();
    }
  });

  it('shows 200 findings with a count by severity, and more on demand', async () => {
    const finding = (severity: string, index: number) => ({
      severity,
      kind: null,
      rule: 'no-keywords',
      name: `tool_${index}`,
      persona: null,
      source: 'code',
      line: null,
      column: null,
      path: null,
      message: 'has no keywords',
    });
    const server = await FakeCatalogue.start({
      findings: Array.from({ length: 450 }, (_, index) =>
        finding(index < 20 ? 'error' : 'warning', index),
      ),
    });
    const { page } = await openPage(browser, `${server.url}#/findings`);
    try {
      await page.getByRole('button', { name: 'Show more (250 left)' }).click();
      expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
        'Errors 20',
        'Warnings 430',
      ]);
      expect(await page.getByRole('link', { name: /^Findings/ }).innerText()).toMatch(/450$/);
      await page.getByRole('button', { name: 'Show more (50 left)' }).click();
      await page.getByText('tool_449').waitFor();
      expect([
        await page.locator('.finding').count(),
        await page.getByRole('button', { name: /^Show more/ }).count(),
      ]).toEqual([450, 0]);
    } finally {
      await page.context().close();
      await server.stop();
    }
  });

  it("doesn't redraw an open tool that hasn't changed, so selected text stays selected", async () => {
    const server = await FakeCatalogue.start({ tools: [wireTool('same')] });
    const { page } = await openPage(browser, `${server.url}#/tools/same`);
    try {
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      await page.evaluate("document.querySelector('.detail .prose').dataset.mark = 'mine'");
      await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
      server.change({ tools: [wireTool('same'), wireTool('other')] });
      await page.getByRole('link', { name: 'other' }).waitFor();
      expect(await page.locator('.detail .prose').getAttribute('data-mark')).toBe('mine');
    } finally {
      await page.context().close();
      await server.stop();
    }
  });
});
