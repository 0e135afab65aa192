import { describe, expect, it, onTestFinished } from 'vitest';
import { CapabilityRegistry } from '../../src/capability/capability-registry.js';
import { serve } from '../../src/http/serve.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import {
  browserPresent,
  FakeCatalogue,
  useBrowser,
  warnIfNoBrowser,
  wireTool,
} from './page-fixture.js';

warnIfNoBrowser('the page while the catalogue changes');

describe.skipIf(!browserPresent)('the page while the catalogue changes', () => {
  const { open, leave } = useBrowser();

  it('shows manifest edits without a reload', async () => {
    const parameters = { type: 'object', properties: { text: { type: 'string' } } };
    const manifests = new ManifestTree({
      'functions.json': [
        toolEntry('count_words', { parameters }),
        toolEntry('send_letter', { side_effects: 'write' }),
        { name: 'broken', side_effects: 'shell' },
      ],
      'personas/Atlas/functions.json': [toolEntry('count_words', { version: '2.0.0' })],
    });
    const capabilities = await CapabilityRegistry.load({ root: manifests.root });
    const running = await serve(capabilities, { port: 0 });
    const stopWatching = capabilities.watch({ intervalMs: 10 });
    onTestFinished(async () => {
      stopWatching();
      await running.close();
    });
    const page = await open(`${running.url}/`);
    await page.getByText('3 of 3 tools', { exact: true }).waitFor();
    await page.getByRole('searchbox').fill('count the words');
    await page.getByText('2 of 3 tools', { exact: true }).waitFor();
    expect(await page.locator('.row-why bdi').allInnerTexts()).toContainEqual(
      expect.stringMatching(/"count" in name/),
    );
    await page.getByRole('link', { name: 'count_words' }).first().click();
    await page
      .getByRole('complementary', { name: 'Tool count_words' })
      .getByRole('rowheader', { name: 'text' })
      .waitFor();
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
    manifests.write('functions.json', [
      toolEntry('count_words', { description: 'Counts every word.' }),
      toolEntry('send_letter', { side_effects: 'write' }),
      toolEntry('count_letters'),
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
  });

  it('reports a server that is down, and shows the missed changes once the server is back', async () => {
    const server = await FakeCatalogue.start({ tools: [wireTool('first')] });
    onTestFinished(() => server.stop());
    const page = await open(server.url);
    const connection = page.locator('.connection');
    await connection.filter({ hasText: 'live' }).waitFor();
    server.isDown = true;
    await connection.filter({ hasText: 'not connected' }).waitFor();
    server.content.tools = [wireTool('first'), wireTool('second')];
    server.isDown = false;
    await page.getByRole('link', { name: 'second' }).waitFor();
    await connection.filter({ hasText: 'live' }).waitFor();
    await leave(); // The broken connection would fail the test.
  });

  it('shows 200 tools of a long list, links to the next ones, and starts a search on its first page', async () => {
    const names = Array.from(
      { length: 201 },
      (_, index) => `tool_${String(index).padStart(3, '0')}`,
    );
    const manifests = new ManifestTree({ 'functions.json': names.map((name) => toolEntry(name)) });
    const running = await serve(await CapabilityRegistry.load({ root: manifests.root }), {
      port: 0,
    });
    onTestFinished(() => running.close());
    const page = await open(`${running.url}/`);
    const rows = page.locator('.row-link');
    await page.getByText('1 to 200 of 201').waitFor();
    expect(await rows.count()).toBe(200);
    await page.getByRole('link', { name: 'Next' }).click();
    await page.getByText('201 to 201 of 201').waitFor();
    expect(await rows.allTextContents()).toEqual(['tool_200']);
    await page.getByRole('searchbox').fill('tool_007');
    await page.getByRole('link', { name: 'tool_007', exact: true }).waitFor();
  });

  it("shows the results of new calls, which don't change the revision", async () => {
    const server = await FakeCatalogue.start({ tools: [wireTool('first')] });
    onTestFinished(() => server.stop());
    const page = await open(server.url);
    const row = page.locator('.row', { hasText: 'first' });
    await row.getByText('no calls').waitFor();
    const results = { total: 4, success_rate: 0.75, abandoned: 0 };
    server.content.tools = [wireTool('first', { health: { tool: results } })];
    await page.clock.setFixedTime(Date.now() + 60_000); // The lists are read every 30 seconds.
    await row.getByText('75 % of 4').waitFor();
  });
});
