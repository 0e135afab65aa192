import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  browserPresent,
  FakeCatalogue,
  useBrowser,
  warnIfNoBrowser,
  wireTool,
} from './page-fixture.js';
import { PAGE_FILES } from '../../src/http/page-files.js';

warnIfNoBrowser('the page and hostile content');

const PAGE = join(import.meta.dirname, '../../src/http/page');
const MARKUP =
  '<img src=x onerror="alert(1)"><script>alert(2)</script><style>body{display:none}</style><a href="javascript:alert(3)">x</a>';
const LONG = `${MARKUP}${'long '.repeat(13_000)}`;
const NAMES = ['constructor', '__proto__', 'toString', 'a.b-c_d'];

const HOSTILE = wireTool('hostile', {
  description: LONG,
  version: MARKUP,
  persona: MARKUP,
  category: MARKUP,
  keywords: [MARKUP, '__proto__', 'constructor'],
  capability_tags: [MARKUP],
  stages: ['toString'],
  access_mode: MARKUP,
  danger_level: MARKUP,
  providers: [
    { name: MARKUP, priority: 0 },
    { name: '__proto__', priority: 1 },
  ],
  examples: [MARKUP],
  aliases: [MARKUP],
  source: 'javascript:alert(4)',
  parameters: {
    type: 'object',
    properties: {
      [MARKUP]: { type: 'string', description: MARKUP, default: MARKUP },
      self: { $ref: '#' },
      ['x'.repeat(128)]: { enum: [MARKUP, '‮'] },
    },
    required: [MARKUP],
  },
});

describe.skipIf(!browserPresent)('the page with hostile content', () => {
  const { open } = useBrowser();
  let server: FakeCatalogue;
  beforeAll(async () => {
    server = await FakeCatalogue.start({
      tools: [...NAMES.map((name) => wireTool(name)), HOSTILE],
      personas: [MARKUP],
      skills: [
        {
          name: MARKUP,
          persona: null,
          version: MARKUP,
          summary: MARKUP,
          category: MARKUP,
          instruction_prompt: LONG,
          safety_notes: MARKUP,
          required_tools: [MARKUP, 'constructor'],
          required_capabilities: [MARKUP],
          capability_tags: [MARKUP],
          unresolved: { skills: [], tools: [MARKUP] },
        },
      ],
      jobs: [
        {
          name: '\ud800 half',
          persona: MARKUP,
          summary: MARKUP,
          description: LONG,
          personas: [MARKUP],
          required_skills: ['\ud800 half'],
          required_tools: ['__proto__'],
          required_capabilities: [MARKUP],
          unresolved: { skills: [], tools: [] },
          health: {
            job: {
              total: 0,
              failure: 0,
              success_rate: null,
              average_latency_ms: null,
              p95_latency_ms: null,
            },
          },
        },
      ],
      findings: [
        {
          severity: 'constructor',
          kind: MARKUP,
          rule: null,
          name: '__proto__',
          persona: null,
          source: MARKUP,
          line: 1,
          column: 2,
          path: '/a',
          message: MARKUP,
        },
      ],
    });
  });
  afterAll(async () => {
    await server.stop();
  });

  it.each([
    '#/tools',
    `#/tools?open=hostile&owner=${encodeURIComponent(MARKUP)}`,
    `#/tools?q=${encodeURIComponent(`hostile ${MARKUP}`)}`,
    '#/skills',
    '#/jobs',
    '#/findings',
    `#/${encodeURIComponent(MARKUP)}?open=${encodeURIComponent(MARKUP)}&persona=${encodeURIComponent(MARKUP)}`,
  ])('shows markup as text and never runs or loads the markup, at %s', async (hash) => {
    const page = await open(server.url + hash);
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
    await page
      .getByRole('link', { name: /^Findings/ })
      .filter({ hasText: '1' })
      .waitFor();
    // An image in the markup would have failed before this image.
    await page.evaluate(
      "new Promise((done) => Object.assign(new Image(), { onerror: done, src: 'data:image/png,x' }))",
    );
    expect(
      await page.evaluate(
        'document.querySelectorAll(\'img, body script, body style, iframe, object, [style], [onerror], a[href^="javascript:"]\').length',
      ),
    ).toBe(0);
  });

  it.each(NAMES)('opens a tool named %s', async (name) => {
    const page = await open(`${server.url}#/tools?open=${encodeURIComponent(name)}`);
    await page
      .getByRole('complementary', { name: `Tool ${name}` })
      .getByRole('heading', { name: 'Parameters' })
      .waitFor();
  });

  it('asks for the token if the server requires one, keeps it in this tab, and reports a wrong token', async () => {
    const locked = await FakeCatalogue.start(
      {
        tools: [wireTool('hidden_tool')],
      },
      'open-sesame-open',
    );
    onTestFinished(() => locked.stop());
    const page = await open(locked.url);
    await page.getByLabel('Token').fill('not this one');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'Wrong token.' }).waitFor();
    await page.getByLabel('Token').fill('open-sesame-open');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'hidden_tool' }).waitFor();
    await page.getByRole('status').filter({ hasText: 'live' }).waitFor();
    expect(page.url()).not.toContain('sesame');
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain('sesame');
  });
});

describe('the files of the page', () => {
  it('are few and small, and have content types', () => {
    const files = PAGE_FILES;
    expect(files.map(({ path, type }) => [path, type])).toEqual([
      ['/', 'text/html; charset=utf-8'],
      ['/assets/app.css', 'text/css; charset=utf-8'],
      ['/assets/app.js', 'text/javascript; charset=utf-8'],
      ['/assets/icon.svg', 'image/svg+xml'],
    ]);
    expect(files.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(100 * 1024);
  });

  it("contain no inline scripts or styles, and don't refer to other sites", () => {
    const files = new Map(PAGE_FILES.map(({ path, body }) => [path, body]));
    expect(files.get('/')).not.toMatch(
      /<style|style=|<script(?! src="assets\/app\.js">)|\son\w+=/i,
    );
    for (const [path, body] of files)
      expect(
        body.replaceAll(
          /http:\/\/www\.w3\.org\/\d{4}\/(?:svg|xhtml)|http:\/\/www\.w3\.org\/1998\/Math\/MathML/g,
          '',
        ),
        path,
      ).not.toMatch(/https?:|\/\/[a-z]+\.[a-z]/i);
    // The library code that turns text into markup is in the script, but the page never calls it.
    const sources = readdirSync(PAGE).filter((file) => file.endsWith('.ts'));
    for (const file of sources)
      expect(readFileSync(join(PAGE, file), 'utf8'), file).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/i,
      );
  });
});
