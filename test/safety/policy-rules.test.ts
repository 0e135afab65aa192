import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { refusal, registryOf } from '../tool/sample-tools.js';
import { decisionOn, policyOver } from './policies.js';

const WRITE = { accessMode: 'write' } as const;
const READ = { accessMode: 'readonly' } as const;
const anything = (value: unknown) => value as never;

/** Returns a policy's verdict on a call to a tool that writes, under these rules. */
const verdictOf = (rules: readonly PolicyRule[], input: unknown = {}, context = {}) =>
  decisionOn(WRITE, input, { rules }, context).verdict;

it('the first rule that matches a call decides', () => {
  expect(
    decisionOn(
      WRITE,
      {},
      {
        rules: [
          { verdict: 'deny', tools: 'other' },
          { verdict: 'allow', name: 'mine', reason: 'because' },
          { verdict: 'deny' },
        ],
      },
    ),
  ).toMatchObject({ verdict: 'allow', rule: 'mine', reason: 'because' });
  expect(
    decisionOn(WRITE, {}, { rules: [{ verdict: 'deny' }, { verdict: 'allow' }] }),
  ).toMatchObject({ verdict: 'deny', rule: 'rule 1' });
});

it("the tool's axes decide if no rule matches", () => {
  const rules: readonly PolicyRule[] = [{ verdict: 'allow', tools: 'other' }];
  expect(decisionOn(WRITE, {}, { rules })).toMatchObject({ verdict: 'confirm', rule: 'axes' });
  expect(decisionOn(READ, {}, { rules })).toMatchObject({ verdict: 'allow', rule: 'axes' });
});

it('a rule matches only if all of its conditions match', () => {
  const rule: PolicyRule = {
    verdict: 'allow',
    tools: ['other', 'sam*'],
    filter: { category: 'Git' },
    principals: 'ada',
    input: { to: 'draft-*' },
  };
  const tool = { ...WRITE, category: 'git' };
  const verdict = (options: object, input: object, context: object) =>
    decisionOn({ ...tool, ...options }, input, { rules: [rule] }, context).verdict;
  expect(verdict({}, { to: 'draft-1' }, { principal: 'ada' })).toBe('allow');
  expect(verdict({ name: 'example' }, { to: 'draft-1' }, { principal: 'ada' })).toBe('confirm');
  expect(verdict({ category: 'web' }, { to: 'draft-1' }, { principal: 'ada' })).toBe('confirm');
  expect(verdict({}, { to: 'final' }, { principal: 'ada' })).toBe('confirm');
  expect(verdict({}, { to: 'draft-1' }, { principal: 'bob' })).toBe('confirm');
});

it('the reason says up to which danger a rule would have allowed the call', () => {
  const tool = { ...WRITE, dangerFor: ({ all }: { all?: boolean }) => (all ? 'high' : 'low') };
  const decide = (rule: PolicyRule) => decisionOn(tool, { all: true }, { rules: [rule] });
  expect(decide({ verdict: 'allow' })).toMatchObject({
    verdict: 'confirm',
    rule: 'axes',
    reason:
      'sample: it can change something (access write); these arguments raise its danger from medium to high; a rule allows it only up to danger medium',
  });
  expect(decide({ verdict: 'allow', upTo: 'low' }).reason).toMatch(
    /a rule allows it only up to danger low$/,
  );
  expect(decide({ verdict: 'allow', tools: 'other' }).reason).not.toContain('a rule');
});

it.each([{ reads: ['untrusted'] }, { sends: 'outside' }] as const)(
  'a call without a conversation is denied if the program set a flow check and the tool has %j',
  (labels) => {
    const verdict = (flows: object, context: object = {}) =>
      decisionOn({ ...READ, ...labels }, {}, { flows }, context);
    expect(verdict({ leak: 'deny' })).toMatchObject({
      verdict: 'deny',
      rule: 'flow-unknown',
      reason: expect.stringContaining('the program must pass a conversationId'),
    });
    expect(verdict({ influenced: 'confirm' }).verdict).toBe('deny');
    expect(
      [{}, { leak: 'off' }, { undeclared: 'strict' }].map((flows) => verdict(flows).verdict),
    ).toEqual(['allow', 'allow', 'allow']);
    expect(verdict({ leak: 'deny' }, { conversationId: 'c' }).verdict).toBe('allow');
    expect(decisionOn(READ, {}, { flows: { leak: 'deny' } }).verdict).toBe('allow');
  },
);

it('a rule can match arguments of every JSON type, and text matches only strings', () => {
  const rules: readonly PolicyRule[] = [
    { verdict: 'allow', input: { value: ['a*', 5, true, null] } },
  ];
  for (const value of ['a', 'abc', 5, true, null])
    expect([value, verdictOf(rules, { value })]).toEqual([value, 'allow']);
  for (const value of ['5', 'ba', 6, false, undefined, ['a'], { a: 1 }])
    expect([value, verdictOf(rules, { value })]).toEqual([value, 'confirm']);
});

it('a rule about an argument matches only calls that have the argument', () => {
  for (const field of ['constructor', '__proto__', 'toString']) {
    const rules: readonly PolicyRule[] = [
      { verdict: 'allow', input: JSON.parse(`{"${field}":"*"}`) },
    ];
    expect([field, verdictOf(rules, {})]).toEqual([field, 'confirm']);
    expect([field, verdictOf(rules, JSON.parse(`{"${field}":"x"}`))]).toEqual([field, 'allow']);
  }
  for (const input of [undefined, null, 'to', ['to'], 5])
    expect(verdictOf([{ verdict: 'allow', input: { to: '*' } }], input)).toBe('confirm');
});

it("a rule about principals doesn't match a call without a principal", () => {
  expect(verdictOf([{ verdict: 'allow', principals: '*' }])).toBe('confirm');
  expect(verdictOf([{ verdict: 'deny', principals: '*' }])).toBe('confirm');
  expect(verdictOf([{ verdict: 'allow', principals: '*' }], {}, { principal: '' })).toBe('allow');
  expect(verdictOf([{ verdict: 'allow', principals: 'ada' }], {}, { principal: 'Ada' })).toBe(
    'confirm',
  );
  expect(verdictOf([{ verdict: 'allow', principals: 'a' }], {}, { principal: '__proto__' })).toBe(
    'confirm',
  );
});

it('minDanger is compared with the danger level that the arguments produce', () => {
  const tool = {
    ...WRITE,
    dangerFor: ({ force }: { force?: boolean }) => (force ? 'critical' : 'medium'),
  };
  const rules: readonly PolicyRule[] = [{ verdict: 'deny', minDanger: 'high' }];
  expect(decisionOn(tool, {}, { rules }).verdict).toBe('confirm');
  expect(decisionOn(tool, { force: true }, { rules }).verdict).toBe('deny');
});

it("an allow rule covers calls up to the tool's declared danger, or up to the level in the rule's upTo option", () => {
  const tool = {
    accessMode: 'execute',
    dangerLevel: 'high',
    dangerFor: ({ command }: { command?: string }) =>
      command?.startsWith('rm') ? 'critical' : 'high',
  };
  const verdict = (rule: object, command: string) =>
    decisionOn(tool, { command }, { rules: [{ verdict: 'allow', ...rule }] }).verdict;
  expect(verdict({}, 'ls')).toBe('allow');
  expect(verdict({}, 'rm -rf /')).toBe('confirm');
  expect(verdict({ upTo: 'critical' }, 'rm -rf /')).toBe('allow');
  expect(verdict({ upTo: 'medium' }, 'ls')).toBe('confirm');
});

it('if a call is too dangerous for an allow rule, the next rule decides', () => {
  const rules: readonly PolicyRule[] = [
    { verdict: 'allow', upTo: 'low' },
    { verdict: 'deny', name: 'rest' },
  ];
  expect(decisionOn(WRITE, {}, { rules })).toMatchObject({ verdict: 'deny', rule: 'rest' });
});

it('a rule with an empty list matches no calls', () => {
  for (const rule of [
    { tools: [] },
    { principals: [] },
    { input: { path: [] } },
    { filter: { name: [] } },
  ]) {
    expect(verdictOf([{ verdict: 'allow', ...rule }], { path: 'a' }, { principal: 'ada' })).toBe(
      'confirm',
    );
    expect(verdictOf([{ verdict: 'deny', ...rule }], { path: 'a' }, { principal: 'ada' })).toBe(
      'confirm',
    );
  }
});

it('a rule without conditions matches every call', () =>
  expect(verdictOf([{ verdict: 'allow', filter: {}, input: {} }])).toBe('allow'));

it("the when condition never lets a call run if it throws or doesn't return a boolean", async () => {
  const failing: readonly unknown[] = [
    () => {
      throw new Error('no');
    },
    () => 1,
    () => Promise.reject(new Error('no')),
  ];
  for (const when of failing) {
    expect(verdictOf([{ verdict: 'allow', when: anything(when) }])).toBe('confirm');
    expect(verdictOf([{ verdict: 'deny', when: anything(when) }])).toBe('deny');
  }
  // An unhandled rejection makes this run fail.
  await new Promise((resolve) => setImmediate(resolve));
});

describe('calls by alias', () => {
  const tool = { name: 'run_shell', aliases: ['bash'], ...WRITE };
  const verdict = (rules: readonly PolicyRule[], name: string, options = {}) =>
    policyOver([tool], { rules, ...options }).decide({ id: '1', name, input: {} }).verdict;

  it("a call by alias gets the same decision as a call by the tool's name", () => {
    for (const name of ['run_shell', 'bash']) {
      expect(verdict([{ verdict: 'allow', tools: 'run_shell' }], name)).toBe('allow');
      expect(verdict([{ verdict: 'deny', tools: 'run_*' }], name)).toBe('deny');
      expect(verdict([], name, { mode: 'allow-list', allow: ['run_shell'] })).toBe('allow');
    }
  });

  it("a rule can deny a tool by its alias, but can't allow a tool by its alias", () => {
    for (const name of ['run_shell', 'bash']) {
      expect(verdict([{ verdict: 'deny', tools: 'bash' }], name)).toBe('deny');
      expect(verdict([{ verdict: 'allow', tools: 'bash' }], name)).toBe('confirm');
      expect(verdict([], name, { mode: 'allow-list', allow: ['bash'] })).toBe('deny');
    }
  });
});

describe('invalid policies', () => {
  const refused = (options: unknown) => refusal(() => new SafetyPolicy(options as never));
  const rule = (value: unknown) => refused({ registry: registryOf(), rules: [value] });

  it('a policy with an invalid rule is rejected', () => {
    const wrong: readonly unknown[] = [
      { verdict: 'alow' },
      { verdict: 'deny', tool: 'x' },
      { verdict: 'deny', minDanger: 'huge' },
      { verdict: 'deny', filter: { categorie: 'git' } },
      { verdict: 'deny', touches: ['write:a', 'b'] },
      {},
    ];
    for (const value of wrong)
      expect([value, rule(value).code]).toEqual([value, 'INVALID_ARGUMENT']);
  });

  it('an undefined condition is rejected, because without it the rule would match every call', () => {
    for (const condition of [
      'tools',
      'filter',
      'input',
      'touches',
      'principals',
      'minDanger',
      'when',
    ]) {
      expect(rule({ verdict: 'allow', [condition]: undefined }).message).toContain(
        `${condition}: Expected`,
      );
    }
    expect(rule({ verdict: 'allow', filter: { category: undefined } }).message).toContain('filter');
    expect(rule({ verdict: 'allow', input: { path: undefined } }).message).toContain('input.path');
    expect(verdictOf([{ verdict: 'allow', reason: undefined } as never])).toBe('allow');
  });

  it('a policy with invalid options is rejected', () => {
    const registry = registryOf();
    const wrong: readonly unknown[] = [
      { registry: {} },
      { registry, mode: 'readonly' },
      { registry, rule: [] },
      { registry, confirmFrom: { danger: 'x' } },
    ];
    for (const value of wrong) expect(refused(value).code).toBe('INVALID_ARGUMENT');
  });
});

it('the only special character in a pattern is the asterisk', () => {
  const yes = [
    ['*', ''],
    ['*', 'a'],
    ['a*', 'a'],
    ['a*c', 'ac'],
    ['a*c', 'abc'],
    ['*b*', 'abc'],
    ['a*b*c', 'a1b2c'],
    ['**', 'x'],
    ['a**b', 'ab'],
    ['a.c', 'a.c'],
    ['*\n*', 'a\nb'],
    ['', ''],
  ];
  const no = [
    ['a', 'A'],
    ['a*a', 'a'],
    ['ab*bc', 'abc'],
    ['a.c', 'abc'],
    ['*b*b*', 'abc'],
    ['', 'a'],
    ['a*', 'ba'],
    ['*a', 'ab'],
    ['a*b*b', 'ab'],
  ];
  const matches = ([pattern, text]: readonly string[]) =>
    verdictOf([{ verdict: 'allow', input: { value: pattern! } }], { value: text }) === 'allow';
  expect(yes.filter((pair) => !matches(pair))).toEqual([]);
  expect(no.filter(matches)).toEqual([]);
});
