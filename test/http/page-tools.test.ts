import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { serve, type RunningCatalogue } from '../../src/http.js';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { browserPresent, useBrowser, warnIfNoBrowser } from './page-fixture.js';

warnIfNoBrowser('the tools page');

const TOOLS = {
  'functions.json': [
    toolEntry('git_diff', { description: 'Shows what changed in files.', category: 'git' }),
    toolEntry('git_push', {
      category: 'git',
      side_effects: 'write',
      danger_level: 'high',
    }),
    toolEntry('read_file', { description: 'Reads files of the project.', category: 'files' }),
    toolEntry('delete_file', {
      description: 'Deletes files for good.',
      category: 'files',
      side_effects: 'write',
      danger_level: 'critical',
      auth: { required: true, envs: { DELETE_KEY: { required: true } } },
    }),
    toolEntry('secret_plan', { persona_allowlist: ['Nova'] }),
  ],
  'personas/Atlas/functions.json': [
    toolEntry('read_file', { description: 'Reads files as Atlas may.', category: 'files' }),
  ],
};

describe.skipIf(!browserPresent)('the tools page', () => {
  const browser = useBrowser();
  let server: RunningCatalogue;
  beforeAll(async () => {
    const { root } = new ManifestTree(TOOLS);
    server = await serve(await CapabilityRegistry.load({ root, env: {} }), { port: 0 });
  });
  afterAll(() => server.close());

  const open = (hash = '') => browser.open(`${server.url}/${hash}`);
  const shows = (page: Page, text: string) =>
    page.getByText(text, { exact: true }).first().waitFor();
  const names = (page: Page) => page.locator('a.row-link').allTextContents();
  const choice = (page: Page, axis: string, value: string) =>
    page.getByRole('group', { name: axis }).getByRole('checkbox', { name: value });
  const hasFocus = (page: Page, name: string) =>
    page
      .locator('.row-link:focus')
      .and(page.getByText(name, { exact: true }))
      .waitFor();

  it('lists every tool with its access mode, danger, cost, health, and whether it needs approval', async () => {
    const page = await open();
    await shows(page, '6 of 6 tools');
    const row = page.getByRole('listitem').filter({ hasText: 'delete_file' });
    expect(await row.locator('.row-facts').innerText()).toMatch(
      /^write\s+critical\s+danger\s+medium\s+cost\s+no calls$/,
    );
    expect(await row.locator('.tag').allTextContents()).toEqual(['needs approval', 'unavailable']);
  });

  it('searches while the user types, and shows the matched words, their fields, and the score', async () => {
    const page = await open();
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('delete');
    await shows(page, '1 of 6 tools');
    expect(await page.locator('.row-why bdi').allInnerTexts()).toEqual([
      '"delete" in name, description',
    ]);
    expect(Number(await page.locator('.row-why .score').textContent())).toBeGreaterThan(0);
  });

  it('filters by one or more values of each axis, and shows a count for every value', async () => {
    const page = await open();
    const countOf = async (axis: string, value: string) =>
      page
        .getByRole('group', { name: axis })
        .locator('label', { has: page.getByText(value, { exact: true }) })
        .locator('.count')
        .textContent();
    await shows(page, '6 of 6 tools');
    const writes = (count: number) =>
      page.getByRole('button', { name: `write: ${count} tools`, exact: true });
    await writes(2).waitFor();
    await choice(page, 'Category', 'files').check();
    await shows(page, '3 of 6 tools');
    // A filter changes the counts of other axes, but not the counts of its own axis.
    await writes(1).waitFor();
    expect(await countOf('Category', 'git')).toBe('2');
    await choice(page, 'Category', 'git').check();
    await shows(page, '5 of 6 tools');
    await page.getByRole('button', { name: 'write, critical danger: 1 tool' }).click();
    await shows(page, '1 of 6 tools');
    expect(await names(page)).toEqual(['delete_file']);
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await shows(page, '6 of 6 tools');
    await writes(2).click();
    await shows(page, '2 of 6 tools');
  });

  it("shows a persona's own tools instead of shared tools of the same name, and hides other personas' tools", async () => {
    const page = await open();
    await page.getByRole('combobox', { name: 'Persona' }).selectOption('Atlas');
    await shows(page, '4 of 4 tools');
    expect(await names(page)).toEqual(['delete_file', 'git_diff', 'git_push', 'read_file']);
    await page.getByText('Reads files as Atlas may.').waitFor();
  });

  it('works with the keyboard alone', async () => {
    const page = await open();
    await shows(page, '6 of 6 tools');
    await page.keyboard.press('/');
    await page.keyboard.type('git');
    await shows(page, '2 of 6 tools');
    const [first, second] = await names(page);
    await page.getByRole('link', { name: first!, exact: true }).focus();
    await page.keyboard.press('Tab');
    await hasFocus(page, second!);
    await page.keyboard.press('Enter');
    await page
      .getByRole('complementary', { name: `Tool ${second}` })
      .getByRole('heading', { name: 'Parameters' })
      .waitFor();
    await page.keyboard.press('Escape');
    await hasFocus(page, second!);
  });

  it('keeps its whole state in the URL, and supports the Back button', async () => {
    const page = await open(
      '#/tools?open=read_file&q=files&persona=Atlas&category=files&owner=Atlas',
    );
    await page
      .getByRole('complementary', { name: 'Tool read_file' })
      .getByText('Reads files as Atlas may.', { exact: true })
      .waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('files');
    expect(await page.getByRole('combobox', { name: 'Persona' }).inputValue()).toBe('Atlas');
    await page.getByRole('button', { name: 'Close' }).click();
    await choice(page, 'Category', 'files').uncheck();
    await page.waitForURL((url) => !url.hash.includes('category'));
    await page.goBack();
    await page.waitForURL(/category=files/);
    expect(await choice(page, 'Category', 'files').isChecked()).toBe(true);
  });

  it('opens with any URL, even a mistyped URL', async () => {
    const page = await open('#/nowhere/%E0%A4%A?category=purple&constructor=1&__proto__=2');
    await shows(page, '0 of 6 tools');
    expect(await choice(page, 'Category', 'purple').isChecked()).toBe(true);
  });
});
