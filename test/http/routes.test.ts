import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { createDiscoveryApp } from '../../src/http.js';
import { isToolError } from '../../src/index.js';
import type { HealthLog } from '../../src/providers.js';
import { ManifestTree, taskEntry, toolEntry } from '../capability/manifest-tree.js';
import { sample, type Json } from './catalogue-fixture.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

describe('GET /tools/:name', () => {
  it('returns everything about a tool, including its parameters and examples', async () => {
    const { json } = await sample();
    expect(await json('/tools/alpha')).toMatchObject({
      name: 'alpha',
      persona: null,
      parameters: { type: 'object', properties: {} },
      examples: ['what did we earn'],
      aliases: ['first'],
      progress_params: [],
      health: { tool: { total: 0, success_rate: null } },
    });
  });

  it("returns a persona's own tool to that persona, and the shared tool to other personas", async () => {
    const { json } = await sample();
    expect((await json('/tools/alpha?persona=atlas')).version).toBe('2.0.0');
    expect((await json('/tools/alpha?persona=Nova')).version).toBe('1.2.0');
  });

  it.each(['/tools/gam%2ema'])(
    'decodes %s, and finds the tool with a dot in its name',
    async (path) => {
      expect((await (await sample()).json(path)).name).toBe('gam.ma');
    },
  );

  it.each([
    '/tools/__proto__',
    '/tools/%00',
    '/tools/only_atlas?persona=Nova',
    '/tools/..%2ftools',
    `/tools/${'a'.repeat(4_000)}`,
  ])('returns 404 for %s', async (path) => {
    const response = await (await sample()).get(path);
    expect(response.status).toBe(404);
    expect(((await response.json()) as Json).error.code).toBe('TOOL_NOT_FOUND');
  });
});

describe('GET /search', () => {
  it('explains each result with the matched words, their fields, and a score', async () => {
    const { json } = await sample();
    const answer = await json('/search?q=what+did+we+earn');
    expect(answer).toMatchObject({
      query: 'what did we earn',
      persona: null,
      revision: 1,
      truncated: false,
    });
    expect(answer.results[0]!).toMatchObject({
      name: 'alpha',
      persona: null,
      compatibility: { persona: null, matches_request: true },
      matches: [{ word: 'earn', fields: ['examples'], related: false }],
    });
    expect(answer.results[0]!.score).toBeGreaterThan(0);
    expect(answer.results[0]!.explanation).toContain('"earn" in examples');
    expect(answer.count).toBe(answer.results.length);
  });

  it('searches all tools, or the tools that a persona may call, and applies filters', async () => {
    const { json } = await sample();
    const found = async (query: string) =>
      (await json(`/search?q=alpha+beta+gam.ma+only_atlas+only_nova&${query}`)).results
        .map(({ name, persona }) => `${name}@${persona ?? 'shared'}`)
        .sort();
    expect(await found('')).toEqual([
      'alpha@Atlas',
      'alpha@shared',
      'beta@shared',
      'gam.ma@shared',
      'only_atlas@Atlas',
      'only_nova@Nova',
    ]);
    expect(await found('persona=Atlas')).toEqual([
      'alpha@Atlas',
      'beta@shared',
      'gam.ma@shared',
      'only_atlas@Atlas',
    ]);
    expect(await found('persona=Atlas&persona=-shared')).toEqual([
      'alpha@Atlas',
      'only_atlas@Atlas',
    ]);
    expect(await found('max_danger=medium&persona=shared')).toEqual([
      'alpha@shared',
      'beta@shared',
    ]);
    expect(await found('limit=1')).toHaveLength(1);
  });

  it('returns the same tools in the same order as /tools?q=', async () => {
    const { json, get } = await sample();
    const { results } = await json('/search?q=alpha+only_atlas&persona=Atlas&limit=50');
    const found = await json('/tools?q=alpha+only_atlas&persona=Atlas');
    expect(found.tools).toEqual(results);
    expect(found).toMatchObject({ total: results.length, next: null });
    const rest = await json('/tools?q=alpha+only_atlas&persona=Atlas&limit=1&offset=1');
    expect(rest.tools).toEqual(results.slice(1, 2));
    expect((await json('/tools?q=alpha&fields=name')).tools[0]).toMatchObject({ name: 'alpha' });
    expect((await get('/tools?q=')).status).toBe(400);
  });

  it('refuses a missing or empty query', async () => {
    const { get } = await sample();
    for (const path of ['/search', '/search?q=', '/search?q=a&fields=name'])
      expect((await get(path)).status, path).toBe(400);
  });
});

describe("the catalogue's routes", () => {
  it('list skills and jobs with their requirements and missing requirements, and apply filters', async () => {
    const { json, get } = await sample();
    const skills = await json('/skills');
    expect(skills).toMatchObject({ count: 2, total: 2, next: null });
    expect(skills.skills).toMatchObject([
      { name: 'Odd', unresolved: { tools: ['nowhere'] }, available: false },
      {
        name: 'Sum',
        required_capabilities: ['counting'],
        unresolved: { tools: [] },
        source: 'skills.json',
      },
    ]);
    expect((await json('/skills?capability=SUMS')).skills).toHaveLength(1);
    expect((await json('/skills?required_capability=counting&tool=alpha')).skills).toHaveLength(1);
    const jobs = await json('/jobs');
    expect(jobs.jobs[0]!).toMatchObject({
      name: 'Daily',
      personas: ['Atlas'],
      required_skills: ['Sum'],
      required_tools: ['alpha'],
      required_capabilities: ['counting', 'sums', 'search', 'math'],
      health: { job: { total: 0 } },
    });
    expect((await json('/jobs?persona=Nova')).jobs.map(({ name }) => name)).toEqual(['Nightly']);
    expect((await json('/jobs?skill=Sum&tool=alpha')).total).toBe(1);
    expect((await json('/jobs?min_success_rate=0.5&require_calls=true')).total).toBe(0);
    expect((await get('/jobs?capability=x')).status).toBe(400);
    const first = await json('/jobs?limit=1');
    expect(first.next!).toMatch(/^\/jobs\?limit=1&offset=1$/);
    expect((await json(first.next!)).jobs[0]!.name).toBe('Nightly');
  });

  it('list tasks with their requirements', async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('alpha')],
      'tasks.json': [taskEntry('Sort', { required_tools: ['alpha', 'nowhere'], tags: ['desk'] })],
      'personas/Nova/tasks.json': [taskEntry('Fly')],
      'personas/Atlas/functions.json': [toolEntry('own')],
    });
    const { json } = await sample({}, tree);
    expect(await json('/tasks')).toMatchObject({ total: 2 });
    expect(await json('/tasks?persona=Atlas&tag=desk')).toMatchObject({
      tasks: [{ name: 'Sort', unresolved: { tools: ['nowhere'] }, available: false }],
    });
  });

  it("report a degraded catalogue while a file can't be read", async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('alpha', { requires_flags: { create: ['may.write'] } })],
    });
    const capabilities = await CapabilityRegistry.load({ root: tree.root });
    const app = createDiscoveryApp(capabilities, { page: false });
    const json = async (path: string) =>
      (await app.request(`http://localhost${path}`, { headers: { host: 'localhost' } })).json();
    expect(await json('/tools/alpha')).toMatchObject({ requires_flags: { create: ['may.write'] } });
    expect(await json('/health')).toMatchObject({ status: 'ok' });
    tree.write('functions.json', '[{');
    await capabilities.refresh();
    expect(await json('/health')).toMatchObject({ status: 'degraded', tools: 1 });
  });

  it('summarize a persona, count items, and serve an OpenAPI description', async () => {
    const { json } = await sample();
    expect(await json('/summary?persona=Atlas')).toMatchObject({
      revision: 1,
      persona: 'Atlas',
      tools: { length: 5 },
      skills: { length: 2 },
      jobs: [{ name: 'Daily' }],
    });
    expect(await json('/health')).toMatchObject({
      status: 'ok',
      revision: 1,
      tools: 6,
      skills: 2,
      jobs: 2,
    });
    const description = await json('/openapi.json');
    expect(description.openapi).toBe('3.1.0');
    expect(Object.keys(description.paths)).toEqual([
      '/tools',
      '/tools/{name}',
      '/search',
      '/skills',
      '/tasks',
      '/jobs',
      '/summary',
      '/findings',
      '/health',
      '/healthz',
      '/livez',
      '/readyz',
      '/events',
      '/openapi.json',
    ]);
    const maxDanger = description.paths['/tools']!.get.parameters.find(
      ({ name }) => name === 'max_danger',
    );
    expect(maxDanger?.schema).toMatchObject({
      enum: expect.arrayContaining(['critical']),
    });
  });

  it('report quarantined entries with their location, and lint findings', async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('good'), { ...toolEntry('bad'), side_effects: 'logging' }],
    });
    const { json, capabilities } = await sample({}, tree);
    const before = await json('/findings');
    expect(before.findings[0]).toMatchObject({
      severity: 'error',
      kind: 'invalid',
      rule: null,
      name: 'bad',
      persona: null,
      source: 'functions.json',
      path: '/1/side_effects',
      line: 1,
    });
    expect(
      before.findings.some(({ rule, name }) => typeof rule === 'string' && name === 'good'),
    ).toBe(true);
    expect(before.count).toBe(before.findings.length);
    tree.write('functions.json', [toolEntry('good'), toolEntry('bad')]);
    await capabilities.refresh();
    expect((await json('/findings')).findings.some(({ kind }) => kind === 'invalid')).toBe(false);
  });

  it('answer an unknown path with the list of paths', async () => {
    const { get } = await sample();
    const response = await get('/nowhere');
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { code: 'NOT_FOUND', message: expect.stringContaining('/tools/:name') },
    });
  });

  it('serve the page with a strict content security policy, unless the page is disabled', async () => {
    const { capabilities } = await sample();
    const page = await createDiscoveryApp(capabilities).request('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(
      (await createDiscoveryApp(capabilities).request('/assets/app.js')).headers.get(
        'content-type',
      ),
    ).toContain('javascript');
    expect((await createDiscoveryApp(capabilities, { page: false }).request('/')).status).toBe(404);
  });
});

describe('an error answer', () => {
  const canaries = [
    'canary-env-1f2e',
    'canary-config-3d4c',
    'canary-thrown-5b6a',
    'canary-auth-7c8d',
  ];

  it('suggests the parameter or tool that the user probably meant', async () => {
    const { json } = await sample();
    const messageOf = async (path: string) => (await json(path)).error.message;
    expect(await messageOf('/tools?danger_levl=low')).toMatch(
      /got the parameter "danger_levl"\. Did you mean "danger_level"\?$/,
    );
    expect(await messageOf('/tools/alpa')).toBe(
      'Expected the name of a tool, got "alpa". Did you mean "alpha"?',
    );
    expect(await messageOf('/search')).toBe('Expected q as a string, got none.');
  });

  it("never contains an environment variable's value, a provider's configuration, a stack trace, or a local path", async () => {
    const tree = new ManifestTree({
      'functions.json': [
        toolEntry('withKey', {
          auth: { required: true, envs: { THE_KEY: { required: true, default: canaries[3] } } },
          providers: [{ name: 'p', config: { api_key: canaries[1] } }],
        }),
        { ...toolEntry('bad'), side_effects: 7 },
      ],
      'personas/Broken/functions.json': '{',
    });
    const fragile = definitionOf({
      name: 'fragile',
      description: 'Fails to say whether it is there',
      inputSchema: { type: 'object' },
      available: () => {
        throw new Error(`${canaries[2]} at ${tree.root}/x`);
      },
    });
    const failing: HealthLog = new Proxy({} as HealthLog, {
      get: () => () => {
        throw new Error(`${canaries[2]} in ${tree.root}`);
      },
    });
    const paths = [
      '/tools',
      '/tools?persona=Atlas&fields=auth,auth_status,providers,source',
      '/tools?x',
      '/tools/withKey',
      '/tools/fragile',
      '/tools/nope',
      '/search?q=fragile+key',
      '/skills',
      '/jobs',
      '/summary',
      '/findings',
      '/health',
      '/openapi.json',
      '/nope',
    ];
    const bodies: string[] = [];
    for (const health of [undefined, failing]) {
      const capabilities = await CapabilityRegistry.load({
        root: tree.root,
        tools: [fragile],
        env: { THE_KEY: canaries[0]! },
        ...(health && { health }),
      });
      const app = createDiscoveryApp(capabilities, { auth: { token: 'canary-token-0123456789' } });
      for (const path of paths) {
        const response = await app.request(path, {
          headers: { authorization: 'Bearer canary-token-0123456789' },
        });
        bodies.push(`${JSON.stringify([...response.headers])} ${await response.text()}`);
        if (health !== undefined && path === '/tools') expect(response.status).toBe(500);
        if (health === undefined) expect(response.status, path).toBeLessThan(500);
      }
    }
    const everything = bodies.join('\n');
    expect(everything).toContain('THE_KEY');
    for (const secret of [
      ...canaries,
      'canary-token',
      tree.root,
      process.cwd(),
      'node_modules',
      '.ts:',
    ])
      expect(everything.includes(secret), secret).toBe(false);
  });
});

describe('createDiscoveryApp', () => {
  it('can be mounted in an app of another web framework, including its page and errors', async () => {
    const { capabilities } = await sample();
    const app = new Hono().mount('/catalogue', createDiscoveryApp(capabilities).fetch);
    expect(await (await app.request('/catalogue/health')).json()).toMatchObject({ status: 'ok' });
    expect((await app.request('/catalogue/')).headers.get('content-type')).toContain('html');
    const unknown = await app.request('/catalogue/nothing');
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { code: 'NOT_FOUND' } },
    ]);
    expect((await app.request('/catalogue/tools', { method: 'POST' })).status).toBe(405);
  });

  it("refuses wrong options, and doesn't show the token in the error", async () => {
    const { capabilities } = await sample();
    const wrong: readonly object[] = [
      { auth: 'canary-of-16-chars' },
      { auth: { token: 'short-canary' } },
      { auth: { token: `canary ${'x'.repeat(20)}` } },
      { allowedHosts: ['localhost:80'] },
      { allowedOrigins: ['*'] },
      { maxListeners: -1 },
    ];
    for (const options of wrong) {
      const error = caught(() => createDiscoveryApp(capabilities, options));
      expect(isToolError(error, 'INVALID_ARGUMENT'), JSON.stringify(options)).toBe(true);
      expect((error as Error).message).not.toContain('canary');
    }
  });
});

function caught(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}
