import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { names, sample, type Json } from './catalogue-fixture.js';
import { propertyRuns } from '../property-runs.js';

const EVERY = [
  'alpha@shared',
  'beta@shared',
  'gam.ma@shared',
  'alpha@Atlas',
  'only_atlas@Atlas',
  'only_nova@Nova',
];
const without = (...left: string[]) => EVERY.filter((each) => !left.includes(each));

describe('GET /tools', () => {
  it('lists all tools, shared ones first, with the total', async () => {
    const { json } = await sample();
    const answer = await json('/tools');
    expect(names(answer)).toEqual(EVERY);
    expect(answer).toMatchObject({ count: 6, total: 6, revision: 1, changed: false, next: null });
  });

  it("shows a tool's declared values, inferred values and health", async () => {
    const { json, capabilities } = await sample();
    for (const success of [true, false])
      capabilities.recordTool('alpha', { success, latencyMs: 100, provider: 'Primary' });
    const { tools } = await json('/tools?name=alpha&persona=shared');
    expect(tools[0]!).toMatchObject({
      name: 'alpha',
      persona: null,
      version: '1.2.0',
      capability_tags: ['search', 'math'],
      auth: { required: true, type: 'oauth2', envs: { ALPHA_KEY: 'required' } },
      auth_scopes: ['r', 'w'],
      auth_status: { required: true, ready: false, missing: ['ALPHA_KEY'] },
      available: false,
      safety_level: 'low',
      requires_consent: false,
      allow_parallel: true,
      idempotency_key: false,
      default_timeout: 30,
      side_effects: 'none',
      cost_per_call: null,
      persona_allowlist: null,
      providers: [
        { name: 'Primary', priority: 0 },
        { name: 'backup', priority: 5 },
      ],
      source: 'functions.json',
      priority: 'high',
      access_mode: 'readonly',
      danger_level: 'low',
      execution_category: 'read_only',
      cost_tier: 'medium',
      category: 'finance',
      keywords: ['revenue'],
      stages: ['planning'],
      task_types: ['reporting'],
      requires_approval: false,
      inferred: [
        'access_mode',
        'danger_level',
        'execution_category',
        'allow_parallel',
        'reads',
        'sends',
      ],
      health: {
        tool: { total: 2, success: 1, success_rate: 0.5, average_latency_ms: 100 },
        last_invocation: { provider: 'Primary', success: false },
        last_success_provider: 'Primary',
      },
    });
    expect(tools[0]!.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(tools[0]!.health.providers)).toEqual(['Primary', 'backup']);
  });

  it('shows the current health', async () => {
    const { json, capabilities } = await sample();
    const rate = async () =>
      (await json('/tools?name=beta')).tools[0]!.health.tool.success_rate as number | null;
    expect(await rate()).toBeNull();
    capabilities.recordTool('beta', { success: true, latencyMs: 1 });
    expect(await rate()).toBe(1);
    capabilities.recordTool('beta', { success: false, latencyMs: 1 });
    expect(await rate()).toBe(0.5);
  });

  it.each([
    ['persona=Atlas', without('only_nova@Nova')],
    ['persona=Atlas&persona=-shared', ['alpha@Atlas', 'only_atlas@Atlas']],
    ['persona=atlas,-shared', ['alpha@Atlas', 'only_atlas@Atlas']],
    ['persona=-atlas', without('alpha@Atlas', 'only_atlas@Atlas')],
    ['provider=primary', ['alpha@shared', 'alpha@Atlas']],
    ['provider=PRIMARY&provider=backup', ['alpha@shared']],
    ['version=%3E%3D1.2', ['alpha@shared', 'alpha@Atlas']],
    ['version=%3E%3D0.9,%3C2', ['alpha@shared', 'beta@shared']],
    ['version=%3E%3D1&version=%3C2', ['alpha@shared']],
    ['version=%5E1.1', ['alpha@shared']],
    ['capability=SEARCH', ['alpha@shared', 'only_atlas@Atlas']],
    ['capability=search&capability=math', ['alpha@shared']],
    ['side_effects=write', ['beta@shared']],
    ['side_effects=write&side_effects=system', ['beta@shared', 'gam.ma@shared']],
    ['safety_level=high', ['gam.ma@shared']],
    ['priority=high', ['alpha@shared']],
    ['priority=1', ['alpha@shared']],
    ['access_mode=execute', ['gam.ma@shared']],
    ['danger_level=medium&danger_level=critical', ['beta@shared', 'gam.ma@shared']],
    ['max_danger=low', without('beta@shared', 'gam.ma@shared')],
    ['execution_category=write', ['beta@shared']],
    ['cost_tier=medium', ['alpha@shared']],
    ['max_cost_tier=free', without('alpha@shared', 'beta@shared')],
    ['metadata=team%3Dbilling', ['gam.ma@shared']],
    ['metadata=floor%3D3&metadata=team%3Dbilling&metadata=team%3Dsales', ['gam.ma@shared']],
    ['metadata=team%3Dsales', []],
    ['category=Finance', ['alpha@shared']],
    ['keyword=revenue', ['alpha@shared']],
    ['stage=planning', ['alpha@shared']],
    ['task_type=reporting', ['alpha@shared']],
    ['available=false', ['alpha@shared']],
    ['available=true', without('alpha@shared')],
    ['requires_approval=true', ['beta@shared', 'gam.ma@shared']],
    ['requires_approval=false', without('beta@shared', 'gam.ma@shared')],
    ['name=alpha', ['alpha@shared', 'alpha@Atlas']],
    ['name=alpha&persona=shared', ['alpha@shared']],
    ['name=constructor', []],
  ])('filters by %s', async (query, expected) => {
    const { json } = await sample();
    expect(names(await json(`/tools?${query}`))).toEqual(expected);
  });

  it('keeps tools without calls when it filters by success rate, unless calls are required', async () => {
    const { json, capabilities } = await sample();
    for (const success of [true, true, true, false])
      capabilities.recordTool('beta', { success, latencyMs: 1 });
    capabilities.recordTool('alpha', { success: false, latencyMs: 1 });
    expect(names(await json('/tools?min_success_rate=0.75'))).toEqual(without('alpha@shared'));
    expect(names(await json('/tools?min_success_rate=0.76'))).toEqual(
      without('alpha@shared', 'beta@shared'),
    );
    expect(names(await json('/tools?min_success_rate=0.5&require_calls=true'))).toEqual([
      'beta@shared',
    ]);
    expect(names(await json('/tools?require_calls=true'))).toEqual(['alpha@shared', 'beta@shared']);
  });

  it('returns only the requested fields, each once, in the requested order', async () => {
    const { get } = await sample();
    const body = await (
      await get('/tools?fields=version,name&fields=name,health&name=beta')
    ).text();
    expect(body).toContain('"tools":[{"version":"0.9","name":"beta","health":{"tool":{"total":0');
  });

  it.each([
    ['colour=red', 'colour', 'red', /only q, persona, name/],
    ['__proto__=1', '__proto__', '1', /only q, persona, name/],
    ['danger_level=deadly', 'danger_level', 'deadly', /one of "safe", "low"/],
    ['danger_level=low,high', 'danger_level', 'low,high', /one of "safe", "low"/],
    ['danger_level=constructor', 'danger_level', 'constructor', /one of "safe"/],
    ['priority=urgent', 'priority', 'urgent', /"critical", "high"/],
    ['min_success_rate=80', 'min_success_rate', '80', /at most 1/],
    ['min_success_rate=abc', 'min_success_rate', 'abc', /a number/],
    ['min_success_rate=-0.1', 'min_success_rate', '-0.1', /a number/],
    ['min_success_rate=0.5&min_success_rate=0.6', 'min_success_rate', '0.6', /given once/],
    ['version=latest', 'version', 'latest', />=1.2/],
    ['available=yes', 'available', 'yes', /true or false/],
    ['limit=0', 'limit', '0', /at least 1/],
    ['limit=201', 'limit', '201', /at most 200/],
    ['limit=1e2', 'limit', '1e2', /a (whole )?number/],
    ['cursor=garbage', 'cursor', 'garbage', /cursor/],
    ['cursor=eyJyIjoxfQ', 'cursor', 'eyJyIjoxfQ', /cursor/],
    ['fields=name,secret', 'fields', 'name,secret', /names of/],
    ['persona=', 'persona', '', /at least 1/],
    ['max_danger=low&max_danger=high', 'max_danger', 'high', /given once/],
  ])('refuses %s and names what is wrong', async (query, parameter, found, expected) => {
    const { get } = await sample();
    const response = await get(`/tools?${query}`);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as Json;
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', parameter });
    expect([found, parameter]).toContain(error.found);
    expect(error.expected).toMatch(expected);
  });

  it('refuses shared=maybe as a persona', async () => {
    const { get } = await sample();
    expect((await get('/tools?persona=shared%3Dmaybe')).status).toBe(400);
  });

  it('refuses more than 50 parameters', async () => {
    const { get } = await sample();
    expect((await get(`/tools?${'name=a&'.repeat(50)}`)).status).toBe(200);
    expect((await get(`/tools?${'name=a&'.repeat(51)}`)).status).toBe(400);
  });
});

describe('the pages of /tools', () => {
  it('list every tool exactly once for any page size', async () => {
    const { json } = await sample(
      {},
      catalogueOf(Array.from({ length: 23 }, (_, index) => `tool_${index}`)),
    );
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (limit) => {
        const seen = await walk(json, `/tools?limit=${limit}`);
        expect(seen).toHaveLength(23);
        expect(new Set(seen).size).toBe(23);
      }),
      { numRuns: propertyRuns(15) },
    );
  });

  it('say if the catalogue has changed since the first page', async () => {
    const tree = catalogueOf(['a', 'b', 'c']);
    const { json, capabilities } = await sample({}, tree);
    const first = await json('/tools?limit=1&side_effects=none');
    expect(first).toMatchObject({ count: 1, total: 3, changed: false });
    tree.write('functions.json', [toolEntry('a'), toolEntry('c')]);
    await capabilities.refresh();
    expect(first.next).toMatch(/^\/tools\?limit=1&side_effects=none&cursor=/);
    expect(await json(first.next!)).toMatchObject({
      count: 1,
      total: 2,
      changed: true,
      next: null,
      tools: [{ name: 'c' }],
    });
  });
});

describe('the ETag of an answer', () => {
  it('avoids sending the same content twice', async () => {
    const { get, capabilities, tree } = await sample();
    for (const path of [
      '/tools',
      '/tools?fields=name,health',
      '/tools/beta',
      '/skills',
      '/jobs',
      '/summary',
      '/health',
      '/findings',
      '/openapi.json',
      '/search?q=beta',
    ]) {
      const first = await get(path);
      const etag = first.headers.get('etag')!;
      expect(etag, path).toMatch(/^"[\w-]{20,}"$/);
      const second = await get(path, { 'if-none-match': `"other", W/${etag}` });
      expect([second.status, await second.text(), second.headers.get('etag')], path).toEqual([
        304,
        '',
        etag,
      ]);
    }
    const etagOf = async (path: string) => (await get(path)).headers.get('etag');
    const before = [await etagOf('/tools'), await etagOf('/tools?persona=Nova')];
    expect(before[0]).not.toBe(before[1]);
    capabilities.recordTool('beta', { success: true, latencyMs: 1 });
    const called = await etagOf('/tools');
    expect(called).not.toBe(before[0]);
    tree.write('personas/Nova/functions.json', [toolEntry('only_nova', { version: '3.0.0' })]);
    await capabilities.refresh();
    expect(await etagOf('/tools')).not.toBe(called);
  });
});

function catalogueOf(tools: readonly string[]): ManifestTree {
  return new ManifestTree({ 'functions.json': tools.map((name) => toolEntry(name)) });
}

/** The names on all pages. */
async function walk(
  json: (path: string) => Promise<Json>,
  path: string,
  afterPage: (page: number) => Promise<void> = async () => {},
): Promise<string[]> {
  const seen: string[] = [];
  let page = 0;
  for (let next: string | null = path; next !== null;) {
    const answer: Json = await json(next);
    seen.push(...answer.tools.map(({ name }) => name));
    next = answer.next;
    await afterPage((page += 1));
    if (page > 50) throw new Error('Expected a last page, got ever more.');
  }
  return seen;
}
