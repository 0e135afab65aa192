import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  browserPresent,
  FakeCatalogue,
  openBrowser,
  openPage,
  warnIfNoBrowser,
  wireTool,
  type WatchedPage,
} from './page-fixture.js';

warnIfNoBrowser('the page of tools');

const TOOLS = [
  wireTool('git_diff', {
    description: 'Shows what changed in files.',
    category: 'git',
    keywords: ['changes'],
    providers: [{ name: 'local', priority: 0 }],
  }),
  wireTool('git_push', {
    description: 'Publishes commits.',
    category: 'git',
    access_mode: 'write',
    danger_level: 'high',
    requires_approval: true,
    execution_category: 'network',
    side_effects: ['write', 'network'],
  }),
  wireTool('read_file', {
    description: 'Reads files of the project.',
    category: 'files',
    examples: ['show me the readme', 'what is in these files'],
  }),
  wireTool('delete_file', {
    description: 'Deletes files for good.',
    category: 'files',
    access_mode: 'write',
    danger_level: 'critical',
    requires_approval: true,
    available: false,
  }),
  wireTool('web_search', {
    description: 'Searches the web.',
    category: 'web',
    cost_tier: 'medium',
    providers: [
      { name: 'first', priority: 0 },
      { name: 'local', priority: 1 },
    ],
  }),
  wireTool('read_file', {
    description: 'Reads files as Atlas may.',
    category: 'files',
    persona: 'Atlas',
  }),
  wireTool('secret_plan', { description: 'For Nova only.', persona_allowlist: ['Nova'] }),
];

describe.skipIf(!browserPresent)('the page of tools', () => {
  let browser: Browser;
  let server: FakeCatalogue;
  let watched: WatchedPage | undefined;
  beforeAll(async () => {
    browser = await openBrowser();
    server = await FakeCatalogue.start({ tools: TOOLS });
  });
  afterEach(async () => {
    const { page, complaints } = watched ?? {};
    await page?.context().close();
    expect(complaints ?? []).toEqual([]);
  });
  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  async function open(hash = ''): Promise<Page> {
    watched = await openPage(browser, server.url + hash);
    return watched.page;
  }
  const shows = (page: Page, text: string) =>
    page.getByText(text, { exact: true }).first().waitFor();
  const names = (page: Page) => page.locator('a.row-link').allTextContents();
  const choice = (page: Page, axis: string, value: string) =>
    page.getByRole('group', { name: axis }).getByRole('checkbox', { name: value });
  const countOf = async (page: Page, axis: string, value: string) =>
    Number(
      await page
        .getByRole('group', { name: axis })
        .locator('label', { has: page.getByText(value, { exact: true }) })
        .locator('.count')
        .textContent(),
    );
  const hasFocus = (page: Page, name: string) =>
    page.waitForFunction(
      `document.activeElement?.classList.contains('row-link') && document.activeElement.textContent === ${JSON.stringify(name)}`,
    );

  it('lists every tool with its access, danger, cost, health and whether it needs approval', async () => {
    const page = await open();
    await shows(page, '7 of 7 tools');
    const row = page.getByRole('listitem').filter({ hasText: 'delete_file' });
    expect(await row.locator('.row-facts').innerText()).toMatch(
      /^write\s+critical\s+danger\s+free\s+no calls$/,
    );
    expect(await row.locator('.tag').allTextContents()).toEqual(['needs approval', 'unavailable']);
  });

  it('searches while the user types, and shows the matched words, their fields and the score', async () => {
    const page = await open();
    await page.getByRole('searchbox', { name: 'Search tools' }).fill('files git');
    await shows(page, '5 of 7 tools');
    expect(await names(page)).toEqual([
      'git_diff',
      'git_push',
      'read_file',
      'delete_file',
      'read_file',
    ]);
    expect(
      await page
        .locator('.row')
        .filter({ hasText: 'as Atlas may' })
        .getByText('Atlas', { exact: true })
        .isVisible(),
    ).toBe(true);
    const reasons = page.locator('.row-why');
    expect(await reasons.nth(0).locator('.why').allInnerTexts()).toEqual([
      'description files',
      'name git',
    ]);
    expect(await reasons.nth(0).locator('.score').textContent()).toBe('7.00');
    expect(await reasons.nth(1).locator('.why').allInnerTexts()).toEqual(['name git']);
  });

  it('filters and counts on the server, and says how many more tools fit than it shows', async () => {
    const many = await FakeCatalogue.start({
      tools: Array.from({ length: 450 }, (_, number) =>
        wireTool(`tool_${String(number).padStart(3, '0')}`, {
          category: number < 300 ? 'early' : 'late',
        }),
      ),
    });
    watched = await openPage(browser, `${many.url}#/tools?q=tool`);
    const { page } = watched;
    await shows(page, '450 of 450 tools, the best 200 shown');
    expect([
      await countOf(page, 'Category', 'early'),
      await countOf(page, 'Category', 'late'),
    ]).toEqual([300, 150]);
    await choice(page, 'Category', 'late').check();
    await shows(page, '150 of 450 tools');
    expect((await names(page)).slice(0, 2)).toEqual(['tool_300', 'tool_301']);
    await page.context().close();
    await many.stop();
  });

  it('says so if nothing fits', async () => {
    const page = await open('#/tools?q=zebra');
    await shows(page, 'No tool matches. Try other words, or fewer.');
  });

  it('filters by any value of an axis and by all axes, with a count for every choice', async () => {
    const page = await open();
    await shows(page, '7 of 7 tools');
    expect([
      await countOf(page, 'Category', 'files'),
      await countOf(page, 'Access', 'write'),
    ]).toEqual([3, 2]);
    await choice(page, 'Category', 'files').check();
    await shows(page, '3 of 7 tools');
    // Counts of other axes follow; those of the same axis say what one more value would add.
    expect([
      await countOf(page, 'Access', 'write'),
      await countOf(page, 'Category', 'git'),
    ]).toEqual([1, 2]);
    await choice(page, 'Category', 'git').check();
    await shows(page, '5 of 7 tools');
    await choice(page, 'Access', 'write').check();
    await shows(page, '2 of 7 tools');
    expect(await names(page)).toEqual(['git_push', 'delete_file']);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await shows(page, '7 of 7 tools');
  });

  it('requires all chosen providers, as the HTTP API does', async () => {
    const page = await open('#/tools?provider=local');
    await shows(page, '2 of 7 tools');
    await choice(page, 'Provider', 'first').check();
    await shows(page, '1 of 7 tools');
    expect(await names(page)).toEqual(['web_search']);
  });

  it('keeps the focus on a chosen filter, and shows chosen values that no tool has any more', async () => {
    const page = await open('#/tools?q=web');
    await shows(page, '1 of 7 tools');
    await choice(page, 'Category', 'web').focus();
    await page.keyboard.press('Space');
    await page.waitForURL(/category=web/);
    expect(
      await page.evaluate("document.activeElement.value + ' ' + document.activeElement.checked"),
    ).toBe('web true');
    await page.getByRole('searchbox').fill('git');
    await shows(page, 'No tool matches with these filters.');
    expect(await choice(page, 'Category', 'web').isChecked()).toBe(true);
  });

  it("shows a persona's own tools instead of shared ones of the same name, and no tools of others", async () => {
    const page = await open();
    await page.getByRole('combobox', { name: 'Persona' }).selectOption('Atlas');
    await shows(page, '5 of 5 tools');
    expect(await names(page)).toEqual([
      'git_diff',
      'git_push',
      'delete_file',
      'web_search',
      'read_file',
    ]);
    await page.getByRole('combobox', { name: 'Persona' }).selectOption('Nova');
    await shows(page, '6 of 6 tools');
    expect(await names(page)).toContain('secret_plan');
  });

  it('works with the keyboard alone', async () => {
    const page = await open();
    await shows(page, '7 of 7 tools');
    await page.keyboard.press('/');
    await page.keyboard.type('files');
    await shows(page, '4 of 7 tools');
    await page.keyboard.press('ArrowDown');
    await hasFocus(page, 'git_diff');
    await page.keyboard.press('j');
    await hasFocus(page, 'read_file');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    await hasFocus(page, 'read_file');
    await page.keyboard.press('Enter');
    await page
      .getByRole('complementary', { name: 'Tool read_file' })
      .getByRole('heading', { name: 'Parameters' })
      .waitFor();
    expect(await page.evaluate('document.activeElement.closest(".detail") !== null')).toBe(true);
    await page.keyboard.press('Escape');
    await hasFocus(page, 'read_file');
    expect(await page.getByRole('complementary').isVisible()).toBe(false);
    expect(page.url()).toMatch(/#\/tools\?q=files$/);
  });

  it('shows where the focus is', async () => {
    const page = await open();
    await shows(page, '7 of 7 tools');
    const unseen: string[] = [];
    for (let step = 0; step < 12; step += 1) {
      await page.keyboard.press('Tab');
      const outline = await page.evaluate(
        '(() => { const at = document.activeElement; const row = at.closest(".row") ?? at; return [at.outerHTML.slice(0, 80), getComputedStyle(row).outlineStyle]; })()',
      );
      const [html, style] = outline as [string, string];
      if (style === 'none') unseen.push(html);
    }
    expect(unseen).toEqual([]);
  });

  it('keeps its whole state in the address, and goes back', async () => {
    const page = await open('#/tools/read_file?q=files&persona=Atlas&category=files&owner=Atlas');
    await page
      .getByRole('complementary', { name: 'Tool read_file' })
      .getByText('Reads files as Atlas may.', { exact: true })
      .waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('files');
    expect(await choice(page, 'Category', 'files').isChecked()).toBe(true);
    expect(await page.getByRole('combobox', { name: 'Persona' }).inputValue()).toBe('Atlas');
    await page.getByRole('link', { name: 'delete_file' }).click();
    await page.getByRole('complementary', { name: 'Tool delete_file' }).waitFor();
    await page.goBack();
    await page.getByRole('complementary', { name: 'Tool read_file' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await choice(page, 'Category', 'files').uncheck();
    await page.waitForURL((url) => !url.hash.includes('category'));
    await page.goBack();
    await page.waitForURL(/category=files/);
    expect(await choice(page, 'Category', 'files').isChecked()).toBe(true);
  });

  it('accepts any address, even a mistyped one', async () => {
    const page = await open('#/nowhere/%E0%A4%A?danger_level=purple&constructor=1&__proto__=2');
    await shows(page, '0 of 7 tools');
    expect(await choice(page, 'Danger', 'purple').isChecked()).toBe(true);
  });

  it('searches for an example request when the user clicks it', async () => {
    const page = await open('#/tools/read_file');
    await page.getByRole('button', { name: 'what is in these files' }).click();
    await shows(page, '4 of 7 tools');
    expect(await page.getByRole('searchbox').inputValue()).toBe('what is in these files');
  });

  it('renders the rows of two thousand tools as the user scrolls, and filters all of them', async () => {
    const many = await FakeCatalogue.start({
      tools: Array.from({ length: 2_000 }, (_, at) =>
        wireTool(`tool_${String(at).padStart(4, '0')}`, {
          category: `group ${at % 7}`,
          description: at === 1_999 ? 'The last one.' : 'One of many.',
        }),
      ),
    });
    try {
      watched = await openPage(browser, many.url);
      const { page } = watched;
      await shows(page, '2,000 of 2,000 tools');
      expect(await page.locator('.row-link').count()).toBe(100);
      await page.locator('.row-link').nth(99).focus();
      await page.keyboard.press('j');
      await hasFocus(page, 'tool_0100');
      await page.getByRole('searchbox').fill('last');
      await shows(page, '1 of 2,000 tools');
      expect(await names(page)).toEqual(['tool_1999']);
      await page.getByRole('searchbox').fill('');
      await shows(page, '2,000 of 2,000 tools');
      await choice(page, 'Category', 'group 3').check();
      await shows(page, '286 of 2,000 tools');
      await page.context().close();
    } finally {
      await many.stop();
    }
  });
});
