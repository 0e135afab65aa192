import { describe, expect, it } from 'vitest';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { names, sample, type Json } from './catalogue-fixture.js';

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
  it('lists all tools, shared tools first, and the total', async () => {
    const { json } = await sample();
    const answer = await json('/tools');
    expect(names(answer)).toEqual(EVERY);
    expect(answer).toMatchObject({ count: 6, total: 6, revision: 1, next: null });
  });

  it("returns a tool's declared values, inferred values, and health", async () => {
    const { json, capabilities } = await sample();
    for (const success of [true, false])
      capabilities.recordTool('alpha', { success, latencyMs: 100, provider: 'Primary' });
    const { tools } = await json('/tools?name=alpha&persona=shared');
    expect(tools[0]!).toMatchObject({
      name: 'alpha',
      persona: null,
      auth: { required: true, type: 'oauth2', envs: { ALPHA_KEY: 'required' } },
      auth_status: { required: true, ready: false, missing: ['ALPHA_KEY'] },
      available: false,
      providers: [
        { name: 'Primary', priority: 0 },
        { name: 'backup', priority: 5 },
      ],
      danger_level: 'low',
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

  it.each([
    ['persona=Atlas', without('only_nova@Nova')],
    ['persona=Atlas&persona=-shared', ['alpha@Atlas', 'only_atlas@Atlas']],
    ['persona=atlas,-shared', ['alpha@Atlas', 'only_atlas@Atlas']],
    ['provider=primary', ['alpha@shared', 'alpha@Atlas']],
    ['version=%3E%3D1.2', ['alpha@shared', 'alpha@Atlas']],
    ['version=%3E%3D1&version=%3C2', ['alpha@shared']],
    ['capability=SEARCH', ['alpha@shared', 'only_atlas@Atlas']],
    ['side_effects=write&side_effects=system', ['beta@shared', 'gam.ma@shared']],
    ['safety_level=high', ['gam.ma@shared']],
    ['priority=high', ['alpha@shared']],
    ['danger_level=medium&danger_level=critical', ['beta@shared', 'gam.ma@shared']],
    ['max_danger=low', without('beta@shared', 'gam.ma@shared')],
    ['max_cost_tier=free', without('alpha@shared', 'beta@shared')],
    ['metadata=team%3Dbilling', ['gam.ma@shared']],
    ['category=Finance', ['alpha@shared']],
    ['available=false', ['alpha@shared']],
    ['requires_approval=true', ['beta@shared', 'gam.ma@shared']],
    ['name=alpha&persona=shared', ['alpha@shared']],
    ['name=constructor', []],
  ])('filters by %s', async (query, expected) => {
    const { json } = await sample();
    expect(names(await json(`/tools?${query}`))).toEqual(expected);
  });

  it('includes tools without calls when filtering by success rate, unless require_calls is set', async () => {
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
    ['min_success_rate=80', 'min_success_rate', '80', /at most 1/],
    ['min_success_rate=-0.1', 'min_success_rate', '-0.1', /a number/],
    ['version=latest', 'version', 'latest', />=1.2/],
    ['available=yes', 'available', 'yes', /true or false/],
    ['limit=201', 'limit', '201', /at most 200/],
    ['offset=-1', 'offset', '-1', /a number/],
    ['fields=name,secret', 'fields', 'name,secret', /names of/],
    ['persona=', 'persona', '', /at least 1/],
  ])('refuses %s and says what it expects', async (query, parameter, found, expected) => {
    const { get } = await sample();
    const response = await get(`/tools?${query}`);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as Json;
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', parameter });
    expect([found, parameter]).toContain(error.found);
    expect(error.expected).toMatch(expected);
  });
});

describe('pages of /tools', () => {
  it('include the revision, which shows whether the catalogue has changed since the first page', async () => {
    const tree = catalogueOf(['a', 'b', 'c']);
    const { json, capabilities } = await sample({}, tree);
    const first = await json('/tools?limit=1&side_effects=none');
    expect(first).toMatchObject({ count: 1, total: 3, revision: 1 });
    tree.write('functions.json', [toolEntry('a'), toolEntry('c')]);
    await capabilities.refresh();
    expect(first.next).toMatch(/^\/tools\?limit=1&side_effects=none&offset=1$/);
    expect(await json(first.next!)).toMatchObject({
      count: 1,
      total: 2,
      revision: 2,
      next: null,
      tools: [{ name: 'c' }],
    });
  });
});

describe('the ETag of an answer', () => {
  it('lets clients skip content they already have', async () => {
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
