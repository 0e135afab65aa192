import { expect, it } from 'vitest';
import { definitionOf, entryOf } from '../../src/tool/tool-definition.js';
import { manifestJsonSchema } from '../../src/capability/manifest/manifest-entry.js';
import { validate } from '@cfworker/json-schema';
import { isDeepFrozen } from '../core/json-values.js';
import { definitionWith, issuesWith, LEAST, read, type LooseEntry } from './manifest-samples.js';

/** The example from the recorded system's documents, which omits `idempotency_key`. */
const SEARCH = {
  name: 'google_search',
  version: '1.0.0',
  side_effects: 'none',
  default_timeout: 30,
  auth: {
    required: true,
    type: 'api_key',
    envs: { KEY: { required: true }, ID: { required: true }, OTHER: { optional: true } },
    docs: 'Set KEY and ID.',
  },
  allow_parallel: true,
  description: 'A search',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'What to look for.' } },
    required: ['query'],
  },
};
/** The static wrapper from the recorded system's documents, without `parameters`, `version`, and `auth`. */
const WRAPPER = {
  name: 'browser_lookup',
  description: 'Proxy to the browser tool',
  side_effects: 'network',
  default_timeout: 45,
  requires_consent: true,
  allow_parallel: false,
  providers: [
    { name: 'mcp', priority: 0, config: { server: 'browser-server', tool: 'browser.find' } },
    { name: 'openai', priority: 10, config: { model: 'small' } },
  ],
};

it('a manifest entry is loaded as the same tool as a declaration in code', () => {
  const { entries, issues } = read(SEARCH);
  const inCode = definitionOf({
    name: 'google_search',
    version: '1.0.0',
    sideEffects: 'none',
    timeoutMs: 30_000,
    auth: {
      required: true,
      type: 'api_key',
      env: { KEY: 'required', ID: 'required', OTHER: 'optional' },
      docs: 'Set KEY and ID.',
    },
    allowParallel: true,
    description: 'A search',
    inputSchema: SEARCH.parameters,
  });
  expect(issues).toEqual([]);
  expect(entryOf(entries[0]!.entry.definition).digest).toBe(entryOf(inCode).digest);
});

it("a manifest entry needs no parameters if it wraps an MCP server's tool", () => {
  const { entries, issues } = read(WRAPPER);
  expect(issues).toEqual([]);
  expect(entries[0]!.entry.definition).toMatchObject({
    inputSchema: { type: 'object' },
    requiresConsent: true,
    providers: [
      { name: 'mcp', priority: 0 },
      { name: 'openai', priority: 10 },
    ],
  });
  expect(read({ ...WRAPPER, providers: [{ name: 'openai' }] }).issues).toMatchObject([
    { path: '/0/parameters', entryName: 'browser_lookup' },
  ]);
});

it('a manifest entry can have the function-calling format, with metadata inside "function" or next to it', () => {
  const { version, side_effects, ...plain } = SEARCH;
  const inside = read({
    type: 'function',
    function: { ...plain, version, side_effects, strict: true },
  });
  const beside = read({
    type: 'function',
    side_effects,
    version,
    function: { ...plain, strict: true },
  });
  expect([...inside.issues, ...beside.issues]).toEqual([]);
  expect(entryOf(inside.entries[0]!.entry.definition).digest).toBe(
    entryOf(beside.entries[0]!.entry.definition).digest,
  );
  expect(inside.entries[0]!.entry.definition).toMatchObject({
    name: 'google_search',
    version: '1.0.0',
    metadata: { strict: true },
  });
});

it.each([
  [{ default_timeout: 0 }, { timeoutMs: undefined }],
  [
    { providers: [{ name: ' a ', health_check_interval: 1.5 }] },
    { providers: [{ name: 'a', priority: 100, healthCheckIntervalMs: 1_500 }] },
  ],
  [{ idempotency_key: { required: true, scope: 'per-query' } }, { idempotencyKey: true }],
  [
    { cost_per_call: 0.005, cost_unit: 'USD' },
    { costPerCall: 0.005, metadata: { cost_unit: 'USD' } },
  ],
  [
    { capabilities: ['Web_Search', ' look up ', 'web_search', '', ' '] },
    { capabilities: ['Web_Search', 'look up'] },
  ],
  [
    { auth: { required: true, scopes: 'read write  read' } },
    { auth: { required: true, scopes: ['read', 'write'] } },
  ],
  [
    { auth: { required: true, env: 'KEY' } },
    { auth: { required: true, env: { KEY: 'required' } } },
  ],
  [
    { auth: { required: true, env: 'KEY', scopes: ['read'] } },
    { auth: { required: true, env: { KEY: 'required' }, scopes: ['read'] } },
  ],
  [
    { auth: { required: true, envs: { first: 'ONE', second: 'TWO' } } },
    { auth: { required: true, env: { ONE: 'optional', TWO: 'optional' } } },
  ],
  [
    { auth: { required: true, envs: { KEY: { required: false, providers: ['p'] } } } },
    { auth: { required: true, env: { KEY: 'optional' } } },
  ],
  [{ priority: 'critical' }, { priority: 0 }],
  [{ cache_ttl: 0.5, access_mode: 'readonly' }, { cacheTtlMs: 500 }],
  [
    { requires_flags: { read: ['a.b'] }, zzz: 1, metadata: { own: true } },
    { metadata: { requires_flags: { read: ['a.b'] }, zzz: 1, own: true } },
  ],
])(
  'a manifest entry with %j is loaded with the options %j',
  (keys: LooseEntry, meant: LooseEntry) => {
    const definition: object = definitionWith(keys);
    expect(definition).toMatchObject(
      Object.fromEntries(Object.entries(meant).filter(([, value]) => value !== undefined)),
    );
    for (const [option, value] of Object.entries(meant))
      if (value === undefined) expect(definition).not.toHaveProperty(option);
  },
);

it.each([
  ['write', 'low', 'medium'],
  ['write', 'high', 'high'],
  ['none', 'medium', 'medium'],
  ['none', 'low', 'low'],
  ['system', 'low', 'high'],
  [undefined, 'low', 'high'],
])(
  'a manifest entry with side effects %s and safety level %s has danger %s',
  (effects, safety, danger) => {
    expect(
      entryOf(
        definitionWith({
          ...(effects === undefined ? {} : { side_effects: effects }),
          safety_level: safety,
        }),
      ).dangerLevel,
    ).toBe(danger);
  },
);

it('a manifest entry gets the higher of its danger level and its safety level', () => {
  expect(
    entryOf(
      definitionWith({ side_effects: 'system', danger_level: 'medium', safety_level: 'medium' }),
    ).dangerLevel,
  ).toBe('medium');
  expect(entryOf(definitionWith({ danger_level: 'low', safety_level: 'high' })).dangerLevel).toBe(
    'high',
  );
});

it('a manifest entry has all its errors reported at once, including contradictions', () => {
  const issues = issuesWith({
    version: 5,
    side_effects: 'write',
    access_mode: 'readonly',
    auth: {},
    providers: [{ name: 'a' }, { priority: 1.5 }],
    idempotency_key: { scope: 'x' },
  });
  expect(issues).toEqual([
    expect.stringContaining('access_mode "readonly"'),
    '/0/version: Expected a string, got 5.',
    '/0/auth/required: Expected true or false, got nothing (it is required).',
    expect.stringContaining('/0/providers/1/name'),
    expect.stringContaining('/0/providers/1/priority'),
    '/0/idempotency_key: Expected true, false, or an object with "required", got an object.',
  ]);
});

it('a manifest entry gets a warning for each unknown key, with the key that was probably meant', () => {
  const issues = issuesWith(
    {
      sideEffects: 'none',
      require_consent: true,
      timeout: 5,
      constructor: 1,
      auth: { required: true, scope: 'a' },
      providers: [{ name: 'p', region: 'eu' }],
    },
    'warning',
  );
  expect(issues).toEqual(
    expect.arrayContaining([
      expect.stringContaining(
        '/0/sideEffects: Unknown key "sideEffects". Did you mean side_effects?',
      ),
      expect.stringContaining('Did you mean requires_consent?'),
      expect.stringContaining('Did you mean default_timeout?'),
      '/0/constructor: Unknown key "constructor". It is kept but has no effect.',
      expect.stringContaining('Did you mean scopes?'),
      expect.stringContaining('/0/providers/0/region'),
    ]),
  );
  expect(issues).toHaveLength(6);
});

it("a manifest entry is refused if its schema can't be enforced, with the location in the schema", () => {
  expect(
    issuesWith({
      parameters: { type: 'object', properties: { a: { $ref: 'https://example.org/x' } } },
    }),
  ).toEqual([
    expect.stringMatching(/^\/0\/parameters\/properties\/a\/\$ref: Expected a reference/),
  ]);
  expect(
    issuesWith({
      parameters: { type: 'object', properties: { a: { type: 'string', pattern: '(a+$' } } },
    }),
  ).toEqual([
    expect.stringMatching(
      /^\/0\/parameters\/properties\/a\/pattern: Expected a regular expression/,
    ),
  ]);
});

it("a manifest entry is frozen, and __proto__ in its text doesn't pollute any prototype", () => {
  const { entries } = read(
    JSON.parse(
      `{"name": "a", "description": "b", "parameters": {"type": "object"}, "__proto__": {"polluted": true}, "metadata": {"__proto__": {"polluted": true}}}`,
    ) as LooseEntry,
  );
  expect(isDeepFrozen(entries[0]!.manifest)).toBe(true);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  expect(Object.getPrototypeOf(entries[0]!.entry.definition.metadata)).toBe(Object.prototype);
});

const isValid = (value: unknown) => validate(value, structuredClone(manifestJsonSchema), '7').valid;

it('the JSON Schema of manifests accepts entries that load without errors, and refuses wrong values', () => {
  for (const good of [
    [SEARCH],
    { tools: [WRAPPER] },
    [{ type: 'function', function: LEAST }],
    [{ ...LEAST, unknown: 1 }],
  ])
    expect([good, isValid(good)]).toEqual([good, true]);
  for (const bad of [
    {},
    [5],
    [{ ...LEAST, side_effects: 'read' }],
    [{ ...LEAST, default_timeout: 1.5 }],
  ])
    expect([bad, isValid(bad)]).toEqual([bad, false]);
});
