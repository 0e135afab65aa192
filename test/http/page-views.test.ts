import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  browserPresent,
  FakeCatalogue,
  useBrowser,
  warnIfNoBrowser,
  wireTool,
} from './page-fixture.js';

warnIfNoBrowser('what the page shows');

const METRICS = {
  total: 4,
  success: 3,
  failure: 1,
  success_rate: 0.75,
  average_latency_ms: 101.5,
  p95_latency_ms: 1_400,
  last_sample_at: 1_003,
};
const SAMPLES = [100, 50, 200, 1_400].map((latency_ms, index) => ({
  at: 1_000 + index,
  success: index !== 3,
  latency_ms,
}));

const SEARCH = wireTool('web_search', {
  description: 'Searches the web.',
  danger_level: 'high',
  requires_approval: true,
  available: false,
  inferred: ['danger_level', 'execution_category'],
  auth_status: { required: true, ready: false, missing: ['SEARCH_KEY'] },
  providers: [
    { name: 'second', priority: 5 },
    { name: 'first', priority: 0 },
  ],
  requires_flags: { lookup: ['web.read'], post: ['web.write', 'web.read'] },
  health: {
    tool: { ...METRICS, abandoned: 1 },
    providers: {
      first: { metrics: METRICS, router: { backoff_until: 4_000_000_000 }, samples: SAMPLES },
      second: {
        metrics: { ...METRICS, total: 0, success_rate: null },
        router: { backoff_until: null },
      },
    },
    last_success_provider: 'first',
  },
  parameters: {
    type: 'object',
    required: ['query'],
    properties: {
      query: { type: 'string', description: 'What to look for.', minLength: 1 },
      options: { $ref: '#/$defs/Options' },
      sites: {
        type: 'array',
        items: { type: 'object', properties: { host: { type: 'string' } }, required: ['host'] },
      },
    },
    $defs: {
      Options: {
        type: 'object',
        properties: {
          safe: { type: 'boolean', default: true },
          order: { enum: ['date', 'rank'] },
          parent: { $ref: '#/$defs/Options' },
        },
      },
    },
  },
  examples: ['find pages about trains'],
});
const CONTENT = {
  tools: [SEARCH],
  skills: [
    {
      name: 'Research',
      persona: null,
      version: '1.0.0',
      summary: 'Finds things out.',
      category: 'work',
      instruction_prompt: 'Look it up.',
      safety_notes: 'Cite.',
      required_tools: ['web_search', 'telephone'],
      required_capabilities: ['reading'],
      capability_tags: ['research'],
      unresolved: { skills: [], tools: ['telephone'] },
    },
  ],
  jobs: [
    {
      name: 'Briefing',
      persona: null,
      summary: 'Writes the news.',
      description: null,
      personas: ['Atlas'],
      required_skills: ['Research', 'Typing'],
      required_tools: ['web_search'],
      required_capabilities: ['reading', 'research'],
      unresolved: { skills: ['Typing'], tools: [] },
      health: { job: METRICS },
    },
  ],
  findings: [
    {
      severity: 'warning',
      kind: null,
      rule: 'no-keywords',
      name: 'web_search',
      persona: null,
      source: 'functions.json',
      line: null,
      column: null,
      path: null,
      message: 'Expected keywords, got none.',
    },
    {
      severity: 'error',
      kind: 'invalid',
      rule: null,
      name: 'broken',
      persona: null,
      source: 'functions.json',
      line: 51,
      column: 7,
      path: '/3/side_effects',
      message: 'Expected one of the side effects, got "shell".',
    },
  ],
};

describe.skipIf(!browserPresent)('the page shows', () => {
  const browser = useBrowser();
  let server: FakeCatalogue;
  beforeAll(async () => {
    server = await FakeCatalogue.start(CONTENT);
  });
  afterAll(() => server.stop());

  async function open(hash: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(server.url + hash, options);
    await page
      .getByRole('link', { name: /^Findings/ })
      .filter({ hasText: '2' })
      .waitFor();
    await visit(page, hash);
    return page;
  }
  async function visit(page: Page, hash: string): Promise<void> {
    await page.goto(server.url + hash);
    if (hash.includes('open=')) await page.getByRole('heading', { name: 'Metadata' }).waitFor();
  }
  const detail = (page: Page, title: string) =>
    page
      .getByRole('complementary')
      .locator('section', { has: page.getByRole('heading', { name: title }) });

  it("a tool's parameters, with the schemas of nested parameters as JSON", async () => {
    const page = await open('#/tools?open=web_search');
    const rows = detail(page, 'Parameters').locator('tbody tr');
    const cells = await Promise.all(
      (await rows.all()).map(async (row) =>
        (await row.locator('th, td').allInnerTexts()).map((text) =>
          text.replace(/\s+/g, ' ').trim(),
        ),
      ),
    );
    expect(cells).toEqual(
      expect.arrayContaining([
        ['query required', 'string', 'What to look for. minLength 1'],
        ['options', 'any', '$ref "#/$defs/Options"'],
        ['sites', 'array', expect.stringContaining('"host":{"type":"string"}')],
      ]),
    );
  });

  it("a tool's metadata, inferred values, and missing credentials", async () => {
    const page = await open('#/tools?open=web_search');
    const facts = await detail(page, 'Metadata').innerText();
    expect(facts).toMatch(/danger level\s+high\s*inferred/);
    expect(facts).toMatch(/execution category\s+read_only\s*inferred/);
    expect(facts).not.toMatch(/access mode\s+readonly\s*inferred/);
    expect(facts).toMatch(/auth status\s+required; not set: SEARCH_KEY/);
    expect(facts).toMatch(/requires flags\s+lookup: web\.read\s+post: web\.write web\.read/);
  });

  it("a tool's providers in the order they're tried, with a chart of their recent calls", async () => {
    const page = await open('#/tools?open=web_search');
    const health = detail(page, 'Health');
    expect(await health.getByRole('heading', { level: 4 }).allInnerTexts()).toEqual([
      expect.stringMatching(/^first\s*answered last\s*backing off until/),
      'second',
    ]);
    expect(await health.locator('.figures').first().innerText()).toBe(
      '75 % of 4 · average 102 ms · p95 1.40 s',
    );
    expect(await page.locator('.detail .marks').innerText()).toContain('1 abandoned');
    const chart = health.getByRole('img', {
      name: 'The last 4 calls: 1 failed, the slowest took 1.40 s',
    });
    expect(await chart.locator('rect.failed').count()).toBe(1);
  });

  it('skills and jobs with their personas, links to tools, and missing tools', async () => {
    const page = await open('#/jobs');
    const job = page.getByRole('article', { name: 'Briefing' });
    expect(await job.innerText()).toMatch(
      /personas\s+Atlas[^]*capabilities\s+reading\s+research[^]*health\s+75 % of 4/,
    );
    expect(await job.locator('.unresolved').allInnerTexts()).toEqual([
      expect.stringMatching(/^Typing\s*unresolved$/),
    ]);
    await job.getByRole('link', { name: 'Research' }).click();
    const skill = page.getByRole('article', { name: 'Research' });
    await skill.and(page.locator(':focus')).waitFor();
    expect(await skill.locator('.unresolved').allInnerTexts()).toEqual([
      expect.stringMatching(/^telephone\s*unresolved$/),
    ]);
    await skill.getByRole('link', { name: 'web_search' }).click();
    await page.getByRole('complementary', { name: 'Tool web_search' }).waitFor();
  });

  it('what uses a tool: its providers, and the skills and jobs that need it', async () => {
    const page = await open('#/tools?open=web_search');
    expect(await page.locator('.used-by').innerText()).toMatch(
      /^used by\s+second, first → web_search → Research\s+→ Briefing/,
    );
    await page.locator('.used-by').getByRole('link', { name: 'Briefing' }).click();
    await page.getByRole('article', { name: 'Briefing' }).waitFor();
  });

  it('findings, worst first, each with its location and a link to its tool', async () => {
    const page = await open('#/findings');
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      'Errors 1',
      'Warnings 1',
    ]);
    expect(await page.locator('.finding').first().innerText()).toMatch(
      /broken\s+invalid\s+Expected one of the side effects, got "shell"\.\s+functions\.json:51:7\s+\/3\/side_effects/,
    );
    await page.getByRole('link', { name: 'web_search' }).click();
    await page.getByRole('complementary', { name: 'Tool web_search' }).waitFor();
  });

  it('links to the views that have content', async () => {
    const page = await open('#/tools');
    const views = page.getByRole('navigation', { name: 'Views' }).getByRole('link');
    const names = (await views.allInnerTexts()).map((text) => text.trim().split(/\s/)[0]);
    expect(names).toEqual(['Tools', 'Skills', 'Jobs', 'Findings']);
  });

  it('nothing wider than a 360-pixel screen', async () => {
    const width = 360;
    const page = await open('', {
      viewport: { width, height: 800 },
      isMobile: true,
      hasTouch: true,
    });
    for (const hash of [
      '#/tools',
      '#/tools?q=tool',
      '#/tools?open=web_search',
      '#/skills',
      '#/jobs',
      '#/findings',
    ]) {
      await visit(page, hash);
      const wide = await page.evaluate(
        `[...document.querySelectorAll('body *')].filter((node) => !node.closest('.hidden, .table-place, [hidden]') && node.getBoundingClientRect().right > ${width} + 0.5).map((node) => node.outerHTML.slice(0, 80))`,
      );
      expect(wide, hash).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  });
});
