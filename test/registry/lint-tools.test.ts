import { expect, it } from 'vitest';
import { foreignSchema } from '../../src/json-schema/compile-json-schema.js';
import { lintTools } from '../../src/index.js';
import { LINT_RULES } from '../../src/registry/lint/lint-rules.js';
import { refusal, registryOf, type LooseOptions } from '../tool/sample-tools.js';

/** A tool that declares everything, so every rule accepts it. */
const GOOD: LooseOptions = {
  name: 'read_file',
  description: 'Reads the text of a file below the root',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  category: 'files',
  priority: 1,
  costTier: 'free',
  accessMode: 'readonly',
  dangerLevel: 'low',
  executionCategory: 'read_only',
  keywords: ['read'],
  stages: ['reading'],
  progressParams: ['path'],
  invalidates: ['files'],
  execute: () => '',
};
/** A tool that declares only the required options and can run. */
const BARE: LooseOptions = {
  name: 'read_file',
  description: 'Reads the text of a file below the root',
  execute: () => '',
};
const WRITES: LooseOptions = { ...GOOD, accessMode: 'write', executionCategory: 'write' };

const findings = (...tools: readonly LooseOptions[]) =>
  lintTools(registryOf(...tools)).map(({ rule, severity, toolName, message }) => ({
    rule,
    severity,
    toolName,
    message,
  }));
const rulesOf = (...tools: readonly LooseOptions[]) => findings(...tools).map(({ rule }) => rule);

/** For every rule: a tool that the rule reports, a tool that it accepts, and a part of the message. */
const CASES: readonly (readonly [
  rule: string,
  severity: string,
  bad: LooseOptions,
  good: LooseOptions,
  named: string,
])[] = [
  [
    'missing-metadata',
    'warning',
    BARE,
    { ...BARE, sideEffects: 'none' },
    'declare category, priority, costTier',
  ],
  ['no-keywords', 'warning', BARE, { ...BARE, category: 'files' }, 'keywords'],
  [
    'inferred-safety',
    'warning',
    BARE,
    { ...BARE, accessMode: 'write' },
    'accessMode, dangerLevel, executionCategory',
  ],
  [
    'inferred-safety',
    'warning',
    { ...BARE, sideEffects: 'filesystem' },
    { ...BARE, accessMode: 'readonly', sideEffects: 'filesystem' },
    'accessMode',
  ],
  [
    'unmatchable-keyword',
    'error',
    { ...GOOD, keywords: ['read', '🔥'] },
    { ...GOOD, keywords: ['ls', 'c++', '文件'] },
    '🔥',
  ],
  [
    'unknown-stage',
    'warning',
    { ...GOOD, stages: ['reading', 'exploration'] },
    { ...GOOD, stages: ['Verification'] },
    'exploration',
  ],
  ['unknown-parameter', 'error', { ...GOOD, progressParams: ['path', 'paht'] }, GOOD, 'paht'],
  [
    'unknown-reference',
    'warning',
    { ...GOOD, invalidates: ['nobody'] },
    { ...GOOD, invalidates: ['read_file', 'files'] },
    'nobody',
  ],
  [
    'suspicious-pair',
    'warning',
    { ...GOOD, executionCategory: 'mixed' },
    GOOD,
    'executionCategory mixed',
  ],
  [
    'same-keyword',
    'warning',
    { ...GOOD, keywords: ['test', 'tests'] },
    { ...GOOD, keywords: ['test', 'run tests'] },
    '"tests"',
  ],
  [
    'cached-by-context',
    'warning',
    { ...GOOD, cacheTtlMs: 5, execute: (_: unknown, context: unknown) => context },
    { ...GOOD, cacheTtlMs: 5 },
    'cacheKey',
  ],
  [
    'no-handler',
    'warning',
    { ...GOOD, execute: undefined },
    { ...GOOD, execute: undefined, manual: true },
    'execute',
  ],
  ['suspicious-pair', 'warning', { ...WRITES, dangerLevel: 'safe' }, WRITES, 'dangerLevel safe'],
  [
    'suspicious-pair',
    'warning',
    { ...WRITES, sideEffects: 'none' },
    { ...WRITES, sideEffects: 'write' },
    'sideEffects none',
  ],
  [
    'suspicious-pair',
    'warning',
    { ...WRITES, cacheTtlMs: 5 },
    { ...GOOD, cacheTtlMs: 5 },
    'cacheTtlMs',
  ],
  [
    'suspicious-pair',
    'warning',
    { ...GOOD, costPerCall: 1 },
    { ...GOOD, costPerCall: 0 },
    'costPerCall 1',
  ],
];

it('lintTools reports nothing about tools that declare everything', () => {
  expect(findings(GOOD)).toEqual([]);
  expect(
    findings(
      { ...WRITES, name: 'write_file', description: 'Puts a text into a place on disk' },
      GOOD,
    ),
  ).toEqual([]);
});

it('every lint rule that checks one tool has a case here, or tests of its own', () => {
  const tested = new Set([
    ...CASES.map(([rule]) => rule),
    ...['pattern-unchecked', 'hidden-text', 'mixed-alphabets', 'instruction-text'],
  ]);
  expect(Object.keys(LINT_RULES).filter((rule) => !tested.has(rule))).toEqual([]);
});

it.each(
  CASES.map(([rule, severity, bad, good, named]) => [rule, named, severity, bad, good] as const),
)('the lint rule %s reports a tool and mentions: %s', (rule, named, severity, bad, good) => {
  const found = findings(bad).filter((finding) => finding.rule === rule);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatchObject({ rule, severity, toolName: 'read_file' });
  expect(found[0]!.message).toContain(named);
  expect(rulesOf(good)).not.toContain(rule);
});

/** Returns tools that declare little and have different words. */
const many = (count: number, options: (index: number) => LooseOptions) =>
  Array.from({ length: count }, (_, index) => ({
    ...BARE,
    accessMode: 'readonly',
    name: `tool_${index}`,
    description: `word${index} text${index} part${index}`,
    ...options(index),
  }));
it.each([
  ['no-keywords', { keywords: ['read'] }],
  ['missing-metadata', { category: 'files' }],
])(
  'if there are too many tools for a model, the lint rule %s reports tools that lack metadata that most other tools have',
  (rule, declared) => {
    const rulesAt = (count: number, having: number) =>
      rulesOf(...many(count, (index) => (index < having ? declared : {})));
    expect(rulesAt(13, 10)).toEqual([rule, rule, rule]);
    expect(rulesAt(13, 9)).toEqual([]);
    expect(rulesAt(12, 11)).toEqual([]);
    expect(rulesAt(13, 13)).toEqual([]);
  },
);

it.each([
  [
    'a dangerous readonly tool, such as one that reads secrets',
    { ...GOOD, dangerLevel: 'critical' },
  ],
  ['a tool that writes over the network', { ...WRITES, executionCategory: 'network' }],
  ['a readonly tool that declares reading files', { ...GOOD, sideEffects: ['filesystem'] }],
  [
    'a readonly tool with network side effects and no network category',
    { ...GOOD, sideEffects: ['network'] },
  ],
])('lintTools reports nothing about %s', (_, options) => expect(findings(options)).toEqual([]));

it('lintTools turns off single rules and changes the severity of others', () => {
  const registry = registryOf(BARE, {
    ...GOOD,
    name: 'other',
    description: 'Another one',
    progressParams: ['paht'],
  });
  const named = (options?: Parameters<typeof lintTools>[1]) =>
    lintTools(registry, options).map(({ rule, severity }) => `${severity} ${rule}`);
  expect(named({ rules: {} })).toEqual(named());
  expect(named()).toEqual([
    'warning missing-metadata',
    'warning no-keywords',
    'warning inferred-safety',
    'error unknown-parameter',
  ]);
  expect(
    named({
      rules: { 'no-keywords': 'off', 'inferred-safety': 'error', 'unknown-parameter': 'warning' },
    }),
  ).toEqual(['warning missing-metadata', 'error inferred-safety', 'warning unknown-parameter']);
  expect(named()).toHaveLength(4);
  expect(Object.isFrozen(lintTools(registry, { rules: { 'inferred-safety': 'error' } }))).toBe(
    true,
  );
  const policy = { allow: ['nobody'] };
  expect(named({ policy })).toContain('warning unknown-tool');
  expect(named({ policy, rules: { 'unknown-tool': 'off' } })).toEqual(named());
});

it.each([
  [
    { rules: { 'no-keyword': 'off' } },
    'rules: Expected a known option, got "no-keyword". Did you mean "no-keywords"?',
  ],
  [{ rules: { 'no-keywords': 'warn' } }, 'Expected one of "off", "warning", "error", got "warn"'],
])('lintTools refuses %j with the likely fix', (options, message) => {
  const error = refusal(() => lintTools(registryOf(GOOD), options as never));
  expect([error.code, error.message]).toEqual([
    'INVALID_ARGUMENT',
    expect.stringContaining(message),
  ]);
});

it('lintTools reports a description that almost equals an earlier description', () => {
  const tools = [
    GOOD,
    { ...GOOD, name: 'other', description: 'Compares two branches' },
    { ...GOOD, name: 'second', description: 'reads the texts of a file, below the root!' },
  ];
  expect(findings(...tools)).toEqual([
    {
      rule: 'near-duplicate-description',
      severity: 'warning',
      toolName: 'second',
      message:
        "the description is almost the same as that of read_file: a model can't tell the tools apart",
    },
  ]);
  expect(
    rulesOf(GOOD, { ...GOOD, name: 'second', description: 'Reads the lines of a web page' }),
  ).toEqual([]);
});

it("lintTools reports patterns in foreign schemas, but not in the program's own schemas", () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^x$' } } };
  expect(
    findings({ ...GOOD, progressParams: [], inputSchema: foreignSchema(inputSchema) }),
  ).toEqual([
    {
      rule: 'pattern-unchecked',
      severity: 'warning',
      toolName: 'read_file',
      message: `the pattern "^x$" at properties.a.pattern in its input schema isn't checked here, only by the server that the tool comes from`,
    },
  ]);
  expect(findings({ ...GOOD, progressParams: [], inputSchema })).toEqual([]);
});

it('lintTools reports unknown names in a policy, and aliases in allow rules', () => {
  const registry = registryOf({ ...GOOD, aliases: ['cat'] });
  const lint = (
    ...policy: Parameters<typeof lintTools> extends [unknown, ...infer Rest] ? Rest : never
  ) =>
    lintTools(registry, ...policy).map(({ rule, severity, toolName, message }) => [
      rule,
      severity,
      toolName,
      message,
    ]);
  expect(
    lint({
      rules: [
        { verdict: 'deny', tools: 'rm_everything' },
        { name: 'reads', verdict: 'confirm', tools: ['cat', 'read_fil', 'mcp.*'] },
      ],
      allow: ['read_file', 'cat', '*_all'],
    }),
  ).toEqual([
    [
      'unknown-tool',
      'warning',
      'rm_everything',
      'rule 1 of the policy names "rm_everything", which doesn\'t match any tool',
    ],
    [
      'unknown-tool',
      'warning',
      'read_fil',
      'the rule "reads" of the policy names "read_fil", which doesn\'t match any tool; did you mean "read_file"?',
    ],
    [
      'unknown-tool',
      'warning',
      'cat',
      `the allowlist of the policy names "cat", an alias, but rules that allow calls match only the tools' own names; did you mean "read_file"?`,
    ],
  ]);
});

it('lint findings are frozen, and in the order in which the tools were registered', () => {
  const found = lintTools(
    registryOf({ name: 'z', description: 'One' }, { name: 'a', description: 'Two' }),
  );
  expect(found.map(({ toolName }) => toolName)).toEqual(['z', 'z', 'z', 'z', 'a', 'a', 'a', 'a']);
  expect(found.map(({ rule }) => rule).slice(0, 3)).toEqual([
    'missing-metadata',
    'no-keywords',
    'inferred-safety',
  ]);
  expect(Object.isFrozen(found) && found.every(Object.isFrozen)).toBe(true);
});
