import { describe, expect, it } from 'vitest';
import { defineTool } from '../../src/index.js';
import {
  loadFunctionMap,
  type LoadFunctionMapOptions,
} from '../../src/capability/manifest/load-function-map.js';
import { ToolManifestValidationError } from '../../src/capability/manifest/manifest-issue.js';
import { isDeepFrozen } from '../core/json-values.js';
import { folderWith, LEAST } from './manifest-samples.js';

/** The example from the recorded system's documents. */
const SEARCH = {
  name: 'google_search',
  version: '1.0.0',
  side_effects: 'none',
  default_timeout: 30,
  auth: { required: true, type: 'api_key', env: 'GOOGLE_API_KEY' },
  allow_parallel: true,
  description: 'A Google search result API...',
  parameters: {
    type: 'object',
    properties: { query: { type: 'string', description: 'The search content.' } },
    required: ['query'],
  },
};
const entry = (name: string, keys: object = {}) => ({ ...LEAST, name, ...keys });
const inCode = (name: string, keys: object = {}) =>
  defineTool({
    name,
    description: 'From code',
    inputSchema: { type: 'object' },
    execute: () => 'code',
    ...keys,
  });

it('a function map has a function and the manifest entry for each tool', async () => {
  const root = folderWith({ 'functions.json': [SEARCH] });
  const map = await loadFunctionMap({
    root,
    handlers: { google_search: (input: { query: string }) => `found ${input.query}` },
  });
  expect(Object.keys(map)).toEqual(['google_search']);
  expect(map['google_search']!.metadata).toEqual({ ...SEARCH, source: 'manifest' });
  expect(map['google_search']!.callable({ query: 'cats' })).toBe('found cats');
});

it('a function map is frozen and has no inherited names', async () => {
  const root = folderWith({
    'functions.json': `[${JSON.stringify(entry('constructor'))}, ${JSON.stringify(SEARCH)}]`,
    'tools.json': [entry('__proto__')],
  });
  const map = await loadFunctionMap({ root });
  expect(isDeepFrozen(map)).toBe(true);
  expect(Object.keys(map)).toEqual(['constructor', 'google_search', '__proto__']);
  expect([map['constructor']!.metadata.name, map['__proto__']!.metadata.name]).toEqual([
    'constructor',
    '__proto__',
  ]);
  const other = await loadFunctionMap({ root: folderWith({ 'functions.json': [SEARCH] }) });
  for (const name of ['constructor', '__proto__'])
    expect([name, other[name]]).toEqual([name, undefined]);
});

it('a function map includes a tool without a function, and calling it throws NOT_EXECUTABLE', async () => {
  const map = await loadFunctionMap({
    root: folderWith({ 'functions.json': [SEARCH, entry('b', { handler_ref: 'web.b' })] }),
    handlers: { other: () => 1 },
  });
  for (const [name, key] of [
    ['google_search', 'google_search'],
    ['b', 'web.b'],
  ] as const) {
    expect(() => map[name]!.callable({})).toThrow(
      expect.objectContaining({
        code: 'NOT_EXECUTABLE',
        message: expect.stringContaining(`handlers["${key}"]`),
      }),
    );
  }
});

it('a function map prefers handlers to functions from modules', async () => {
  const root = folderWith({ 'functions.json': ['a', 'b', 'c', 'd'].map((name) => entry(name)) });
  const map = await loadFunctionMap({
    root,
    handlers: { a: () => 'handler' },
    modules: [
      { a: () => 'module', b: () => 'module', constant: 5 },
      { tool: inCode('d', { execute: () => 'tool of a module' }), c: inCode('c') },
    ],
  });
  expect(Object.values(map).map(({ callable }) => callable())).toEqual([
    'handler',
    'module',
    'code',
    'tool of a module',
  ]);
  expect(map['c']!.metadata.description).toBe('A sample');
});

it('a function map passes the input and context to the function, by default empty objects', async () => {
  const map = await loadFunctionMap({
    root: folderWith({ 'functions.json': [entry('a')] }),
    handlers: { a: (...received: unknown[]) => received },
  });
  expect(map['a']!.callable()).toEqual([{}, {}]);
  expect(map['a']!.callable({ x: 1 }, { callId: '7' })).toEqual([{ x: 1 }, { callId: '7' }]);
});

// The recorded system keeps functions without a manifest in the map, without metadata. Here, only functions
// with a manifest become tools.
it('a function map omits functions that no manifest describes', async () => {
  const map = await loadFunctionMap({
    root: folderWith({ 'functions.json': [entry('x')] }),
    modules: { x: () => 1, y: () => 2 },
  });
  expect(Object.keys(map)).toEqual(['x']);
});

const FILES = {
  'functions.json': [
    entry('shared'),
    entry('both', { description: 'of all' }),
    entry('listed', { persona_allowlist: ['echo'] }),
    entry('of_nova', { persona_allowlist: ['Nova'] }),
  ],
  'personas/Echo/Toolbox/functions.json': [entry('both', { description: 'of Echo' }), entry('own')],
};
const load = (options: Omit<LoadFunctionMapOptions, 'root'>) =>
  loadFunctionMap({ root: folderWith(FILES), ...options });

// The recorded system uses only the persona's map. Its documents describe a merged view.
it("the function map of a persona has the shared tools and the persona's own tools, which replace shared tools of the same name", async () => {
  const map = await load({ persona: 'ECHO ' });
  expect(Object.keys(map)).toEqual(['shared', 'both', 'listed', 'own']);
  expect(map['both']!.metadata).toMatchObject({
    description: 'of Echo',
    persona: 'Echo',
    source: 'manifest',
  });
  expect(map['shared']!.metadata).not.toHaveProperty('persona');
});

it('the function map of a persona contains only tools that everyone may use, unless a persona is given', async () => {
  const map = await load({});
  expect(Object.keys(map)).toEqual(['shared', 'both']);
  expect(map['both']!.metadata.description).toBe('of all');
});

describe('loading a function map from invalid manifests', () => {
  const root = () =>
    folderWith({
      'functions.json': [entry('a'), entry('b', { side_effects: 'logging' })],
      'personas/P/functions.json': [entry('c', { version: 1 })],
    });

  // The recorded system silently falls back to the shared map.
  it('fails by default and reports every error', async () => {
    const error: unknown = await loadFunctionMap({ root: root(), persona: 'P' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ToolManifestValidationError);
    expect((error as ToolManifestValidationError).errors.map(({ entryName }) => entryName)).toEqual(
      ['b', 'c'],
    );
  });
});
