import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { SafetyPolicy } from '../../src/safety/safety-policy.js';
import { matchesPattern } from '../../src/safety/name-pattern.js';
import { refusal, registryOf } from '../tool/sample-tools.js';
import { decisionOn, policyOver } from './policies.js';

const WRITE = { accessMode: 'write' } as const;
const READ = { accessMode: 'readonly' } as const;
const anything = (value: unknown) => value as never;

/** What a policy with these rules says to a call of a writing tool. */
const verdictOf = (rules: readonly PolicyRule[], input: unknown = {}, context = {}) =>
  decisionOn(WRITE, input, { rules }, context).verdict;

describe('rules', () => {
  it('are asked in order, and the first that meets the call decides', () => {
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

  it('leave a call to the axes when none meets it', () => {
    const rules: readonly PolicyRule[] = [{ verdict: 'allow', tools: 'other' }];
    expect(decisionOn(WRITE, {}, { rules })).toMatchObject({ verdict: 'confirm', rule: 'axes' });
    expect(decisionOn(READ, {}, { rules })).toMatchObject({ verdict: 'allow', rule: 'axes' });
  });

  it('hold when all of their conditions do', () => {
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

  it('compare arguments of every kind, and a text only with a text', () => {
    const rules: readonly PolicyRule[] = [
      { verdict: 'allow', input: { value: ['a*', 5, true, null] } },
    ];
    for (const value of ['a', 'abc', 5, true, null])
      expect([value, verdictOf(rules, { value })]).toEqual([value, 'allow']);
    for (const value of ['5', 'ba', 6, false, undefined, ['a'], { a: 1 }])
      expect([value, verdictOf(rules, { value })]).toEqual([value, 'confirm']);
  });

  it('look at own arguments only', () => {
    for (const field of ['constructor', '__proto__', 'toString']) {
      const rules: readonly PolicyRule[] = [
        { verdict: 'allow', input: JSON.parse(`{"${field}":"*"}`) },
      ];
      expect([field, verdictOf(rules, {})]).toEqual([field, 'confirm']);
      expect([field, verdictOf(rules, JSON.parse(`{"${field}":"x"}`))]).toEqual([field, 'allow']);
    }
    expect(verdictOf([{ verdict: 'allow', input: { to: '*' } }], Object.create({ to: 'x' }))).toBe(
      'confirm',
    );
    Object.defineProperty(Object.prototype, 'polluted', {
      value: 'x',
      configurable: true,
      writable: true,
    });
    try {
      expect(verdictOf([{ verdict: 'allow', input: { polluted: '*' } }], {})).toBe('confirm');
    } finally {
      delete (Object.prototype as { polluted?: string }).polluted;
    }
    for (const input of [undefined, null, 'to', ['to'], 5])
      expect(verdictOf([{ verdict: 'allow', input: { to: '*' } }], input)).toBe('confirm');
  });

  it('of principals meet no call for nobody, but one for the empty name', () => {
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

  it('of a least danger consider the arguments', () => {
    const tool = {
      ...WRITE,
      dangerFor: ({ force }: { force?: boolean }) => (force ? 'critical' : 'medium'),
    };
    const rules: readonly PolicyRule[] = [{ verdict: 'deny', minDanger: 'high' }];
    expect(decisionOn(tool, {}, { rules }).verdict).toBe('confirm');
    expect(decisionOn(tool, { force: true }, { rules }).verdict).toBe('deny');
  });

  it("that allow reach up to the tool's own danger, and further only when they say so", () => {
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

  it('pass a call that is too dangerous for them on to the next rule', () => {
    const rules: readonly PolicyRule[] = [
      { verdict: 'allow', upTo: 'low' },
      { verdict: 'deny', name: 'rest' },
    ];
    expect(decisionOn(WRITE, {}, { rules })).toMatchObject({ verdict: 'deny', rule: 'rest' });
  });

  it('with empty lists meet nothing', () => {
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

  it('without any condition meet every call', () =>
    expect(verdictOf([{ verdict: 'allow', filter: {}, input: {} }])).toBe('allow'));
});

describe('a condition in code', () => {
  it('is given the call, the tool and the frame', () => {
    const seen: unknown[] = [];
    verdictOf(
      [
        {
          verdict: 'deny',
          when: (call, entry, context) => (seen.push(call, entry.name, context.principal), false),
        },
      ],
      { a: 1 },
      { principal: 'ada' },
    );
    expect(seen).toEqual([{ id: '1', name: 'sample', input: { a: 1 } }, 'sample', 'ada']);
  });

  it('that throws, or answers neither yes nor no, never lets a call through', async () => {
    const failing: readonly unknown[] = [
      () => {
        throw new Error('no');
      },
      () => undefined,
      () => 1,
      () => Promise.resolve(true),
      () => Promise.reject(new Error('no')),
      async () => Promise.reject(new Error('no')),
    ];
    for (const when of failing) {
      expect(verdictOf([{ verdict: 'allow', when: anything(when) }])).toBe('confirm');
      expect(verdictOf([{ verdict: 'deny', when: anything(when) }])).toBe('deny');
    }
    // Rejections that nobody handles fail this run.
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('an alias', () => {
  const tool = { name: 'run_shell', aliases: ['bash'], ...WRITE };
  const verdict = (rules: readonly PolicyRule[], name: string, options = {}) =>
    policyOver([tool], { rules, ...options }).decide({ id: '1', name, input: {} }).verdict;

  it('is judged as the tool', () => {
    for (const name of ['run_shell', 'bash']) {
      expect(verdict([{ verdict: 'allow', tools: 'run_shell' }], name)).toBe('allow');
      expect(verdict([{ verdict: 'deny', tools: 'run_*' }], name)).toBe('deny');
      expect(verdict([], name, { mode: 'allow-list', allow: ['run_shell'] })).toBe('allow');
    }
  });

  it('serves to refuse a tool, and never to allow it', () => {
    for (const name of ['run_shell', 'bash']) {
      expect(verdict([{ verdict: 'deny', tools: 'bash' }], name)).toBe('deny');
      expect(verdict([{ verdict: 'allow', tools: 'bash' }], name)).toBe('confirm');
      expect(verdict([], name, { mode: 'allow-list', allow: ['bash'] })).toBe('deny');
    }
  });
});

describe('half a policy is none:', () => {
  const refused = (options: unknown) => refusal(() => new SafetyPolicy(options as never));
  const rule = (value: unknown) => refused({ registry: registryOf(), rules: [value] });

  it('misspelt and wrong rules are refused', () => {
    const wrong: readonly unknown[] = [
      { verdict: 'alow' },
      { verdict: 'deny', tool: 'x' },
      { verdict: 'deny', Tools: 'x' },
      { verdict: 'deny', tools: 5 },
      { verdict: 'deny', minDanger: 'huge' },
      { verdict: 'deny', filter: { categorie: 'git' } },
      { verdict: 'deny', filter: 'git' },
      { verdict: 'deny', filter: null },
      { verdict: 'deny', input: null },
      { verdict: 'deny', input: [['path', 'x']] },
      { verdict: 'deny', input: { path: { a: 1 } } },
      { verdict: 'deny', input: { amount: NaN } },
      { verdict: 'deny', when: true },
      { verdict: 'deny', touches: '*.lock' },
      { verdict: 'deny', touches: 'write:' },
      { verdict: 'deny', touches: ['write:a', 'b'] },
      { verdict: 'deny', touches: 'writes:a' },
      { verdict: 'deny', touches: null },
      { verdict: 'deny', upTo: 'high' },
      { verdict: 'confirm', upTo: 'high' },
      { verdict: 'deny', name: '' },
      JSON.parse('{"verdict":"allow","__proto__":{"tools":"x"}}'),
      Object.create({ verdict: 'allow' }),
      {},
      null,
      undefined,
      'deny',
      [],
    ];
    for (const value of wrong)
      expect([value, rule(value).code]).toEqual([value, 'INVALID_ARGUMENT']);
  });

  it('a condition that is undefined is refused, as without it the rule would meet every call', () => {
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

  it('misspelt and wrong options are refused', () => {
    const registry = registryOf();
    const wrong: readonly unknown[] = [
      undefined,
      null,
      {},
      { registry: {} },
      { registry, mode: 'readonly' },
      { registry, mode: '__proto__' },
      { registry, rule: [] },
      { registry, rules: { verdict: 'deny' } },
      { registry, allow: 'read_file' },
      { registry, allow: [5] },
      { registry, confirmFrom: { danger: 'x' } },
      { registry, confirmFrom: { dangre: 'low' } },
      { registry, env: null },
    ];
    for (const value of wrong) expect(refused(value).code).toBe('INVALID_ARGUMENT');
  });
});

describe('a pattern', () => {
  it('matches as its stars say', () => {
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
    for (const [pattern, text] of yes)
      expect([pattern, text, matchesPattern(pattern!, text!)]).toEqual([pattern, text, true]);
    for (const [pattern, text] of no)
      expect([pattern, text, matchesPattern(pattern!, text!)]).toEqual([pattern, text, false]);
  });
});
