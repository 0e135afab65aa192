import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolEntry } from '../../src/index.js';
import { issuesWith, refusal, sampleEntry, type LooseOptions } from './sample-tools.js';

/** Valid values for options that are normalized, with the value in the entry. */
const RIGHT: readonly (readonly [option: keyof ToolEntry, given: unknown, shown: unknown])[] = [
  ['name', 'A.b_c-9', 'A.b_c-9'],
  ['description', ' Does things ', ' Does things '],
  ['aliases', ['b', 'c', 'b'], ['b', 'c']],
  ['priority', 'critical', 0],
  ['priority', 'high', 1],
  ['priority', 'medium', 2],
  ['priority', 'low', 3],
  ['sideEffects', 'none', ['none']],
  ['category', '  Git ', 'git'],
  ['keywords', [' Git Diff ', 'git diff', 'LS'], ['git diff', 'ls']],
  ['mandatoryKeywords', ['Show Diff'], ['show diff']],
  ['stages', ['Reading', 'my own stage'], ['reading', 'my own stage']],
  ['taskTypes', ['Analysis'], ['analysis']],
  ['progressParams', ['Path'], ['Path']],
  ['timeoutMs', 2_147_483_647, 2_147_483_647],
  ['cacheTtlMs', 0, 0],
  ['capabilities', ['Vision'], ['Vision']],
  ['personaAllowlist', ['Analyst'], ['Analyst']],
  ['providers', [{ name: 'a' }], [{ name: 'a', priority: 100 }]],
];

it.each(RIGHT)('the entry keeps the declared value of %s', (option, given, shown) => {
  expect(sampleEntry({ [option]: given })[option]).toEqual(shown);
});

it('the entry always has every list and boolean option', () => {
  const entry = sampleEntry();
  for (const list of [
    'aliases',
    'sideEffects',
    'keywords',
    'mandatoryKeywords',
    'stages',
    'taskTypes',
    'examples',
    'progressParams',
    'invalidates',
    'capabilities',
    'providers',
  ] as const)
    expect(entry[list], list).toEqual([]);
  for (const option of ['requiresConsent', 'manual', 'compact'] as const)
    expect(entry[option]).toBe(false);
  expect(entry.personaAllowlist).toBeUndefined();
});

it('an option set to undefined counts as missing', () => {
  const entry = sampleEntry({
    keywords: undefined,
    accessMode: undefined,
    available: undefined,
    nonsense: undefined,
  });
  expect(entry.digest).toBe(sampleEntry().digest);
});

/**
 * Invalid values: the option, the value, the path of the issue, the expectation, and the value as
 * shown in the message.
 */
const WRONG: readonly (readonly [
  option: string,
  value: unknown,
  path: readonly (string | number)[],
  allowed: string,
  found: string,
])[] = [
  ['name', 'a b', ['name'], '1 to 128 letters, digits, dots, underscores and hyphens', '"a b"'],
  ['description', ' \n ', ['description'], "isn't blank", '" \\n "'],
  ['description', 'x'.repeat(65_537), ['description'], 'at most 65536 characters', '"xxx'],
  ['aliases', ['ok', 'not ok'], ['aliases', 1], '1 to 128', '"not ok"'],
  [
    'priority',
    'HIGH',
    ['priority'],
    'one of "critical", "high", "medium", "low", 0, 1, 2, 3',
    '"HIGH"',
  ],
  [
    'accessMode',
    'read',
    ['accessMode'],
    'one of "readonly", "write", "execute", "mixed"',
    '"read"',
  ],
  ['sideEffects', 'disk', ['sideEffects', 0], 'one of "none", "write"', '"disk"'],
  ['sideEffects', ['none', 'write'], ['sideEffects'], '"none" alone', 'a list of 2'],
  [
    'keywords',
    Array.from({ length: 1_001 }, (_, index) => `k${index}`),
    ['keywords'],
    'at most 1000 entries',
    'a list of 1001',
  ],
  ['examples', ['x'.repeat(8_193)], ['examples', 0], 'at most 8192 characters', '"xxx'],
  ['timeoutMs', 2_147_483_648, ['timeoutMs'], 'at most 2147483647', '2147483648'],
  ['cacheTtlMs', -1, ['cacheTtlMs'], 'at least 0', '-1'],
  ['auth', { required: true, token: 'x' }, ['auth'], 'a known option', '"token"'],
  [
    'auth',
    { required: true, env: { KEY: 'maybe' } },
    ['auth', 'env', 'KEY'],
    'one of "required", "optional"',
    '"maybe"',
  ],
  [
    'providers',
    [{ name: 'a', priority: 1.5 }],
    ['providers', 0, 'priority'],
    'a whole number',
    '1.5',
  ],
  ['allowParallel', 'yes', ['allowParallel'], 'true or false', '"yes"'],
  ['manual', null, ['manual'], 'true or false', 'null'],
  ['dangerFor', 'high', ['dangerFor'], 'a function', '"high"'],
  ['execute', 5, ['execute'], 'a function', '5'],
  ['metadata', { run: () => 1 }, ['metadata'], 'plain data', 'a function at run'],
  ['inputSchema', z.string(), ['inputSchema'], 'an object schema', '"string"'],
];

it.each(WRONG)(
  'the option %s with %s is refused, and the error has the path, expectation, and value',
  (option, value, path, allowed, found) => {
    const issues = issuesWith({ [option]: value });
    expect(issues.map((issue) => issue.path)).toEqual([path]);
    expect(issues[0]!.message).toContain(allowed);
    expect(issues[0]!.message).toContain(found);
  },
);

it('all wrong options are reported together', () => {
  const wrong: LooseOptions = {
    name: 'a b',
    description: '',
    inputSchema: 5,
    keywords: 'x',
    priority: 9,
    timeoutMs: 0,
    auth: {},
    sideEffects: ['none', 'write'],
    providers: [{ name: '' }],
    costPerCall: -1,
    dangerFor: 3,
    metadata: { a: Symbol('a') },
    unknown: 1,
    outputSchema: 2,
  };
  const fields = new Set(issuesWith(wrong).map(({ path }) => path[0] ?? 'unknown'));
  expect([...fields].sort()).toEqual(Object.keys(wrong).sort());
});

it.each([null, 'options', []])('options given as %s are refused', (options) => {
  expect(refusal(() => defineTool(options as never)).code).toBe('INVALID_METADATA');
});

it.each(['constructor', '__PROTO__'])('the unknown option %s is refused by name', (option) => {
  const issues = issuesWith({ [option]: 1 });
  expect(issues).toHaveLength(1);
  expect(issues[0]!.message).toContain('Expected a known option');
  expect(issues[0]!.message).toContain(`"${option}"`);
});
