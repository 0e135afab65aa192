import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { decisionOn, policyOver } from './policies.js';

/** The most permissive rules that a program can write. */
const ALLOW_ALL: readonly PolicyRule[] = [{ verdict: 'allow', upTo: 'critical' }];
const READ = { accessMode: 'readonly' } as const;

describe('persona checks', () => {
  const decide = (personaAllowlist: readonly string[], context: object) =>
    decisionOn({ ...READ, personaAllowlist }, {}, { rules: ALLOW_ALL }, context);

  it('a persona on the allowlist can call the tool, regardless of case', () => {
    for (const persona of ['Planner', 'planner', 'PLANNER'])
      expect(decide(['Planner', 'other'], { persona }).verdict).toBe('allow');
  });

  it("a persona that isn't on the allowlist and a call without a persona are denied, even if a rule allows the call", () => {
    for (const context of [{}, { persona: '' }, { persona: 'coder' }]) {
      expect([context, decide(['Planner'], context)]).toMatchObject([
        context,
        { verdict: 'deny', rule: 'persona-allowlist' },
      ]);
    }
    expect(decide(['Planner'], {}).reason).toContain('has no persona');
  });

  it('an empty allowlist blocks every persona', () =>
    expect(decide([], { persona: 'planner' })).toMatchObject({
      verdict: 'deny',
      rule: 'persona-allowlist',
    }));
});

describe('credential checks', () => {
  const auth = {
    required: true,
    env: { MY_KEY: 'required', MY_HINT: 'optional' },
    docs: 'https://example.com/keys',
  };
  const decide = (env: Readonly<Record<string, string | undefined>>, changed = {}) =>
    decisionOn({ ...READ, auth: { ...auth, ...changed } }, {}, { env, rules: ALLOW_ALL });

  it('a call is denied if a required credential is missing, even if a rule allows the call', () => {
    expect(decide({ MY_KEY: 'x' }).verdict).toBe('allow');
    for (const env of [
      {},
      { MY_KEY: '' },
      { MY_KEY: undefined },
      Object.create({ MY_KEY: 'x' }) as Record<string, string>,
    ])
      expect(decide(env)).toMatchObject({ verdict: 'deny', rule: 'missing-credentials' });
    expect(decide({}).reason).toBe(
      'sample needs MY_KEY in the environment; see https://example.com/keys',
    );
  });

  it('a tool with only optional credentials runs without credentials', () =>
    expect(decide({}, { required: false }).verdict).toBe('allow'));
});

const decide = (context: object) =>
  decisionOn(
    { ...READ, auth: { required: true, scopes: ['repo', 'admin'] } },
    {},
    { rules: ALLOW_ALL },
    context,
  );

it("a call is denied if it lacks one of the tool's scopes, even if a rule allows the call", () => {
  expect(decide({ scopes: ['admin', 'repo', 'more'] }).verdict).toBe('allow');
  for (const scopes of [undefined, [], ['repo'], ['Repo', 'Admin'], ['repo,admin']])
    expect(decide({ scopes })).toMatchObject({ verdict: 'deny', rule: 'missing-scopes' });
});

describe('requires_flags in a manifest', () => {
  const OPERATIONS = {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: ['list', 'create', 'delete'] },
      title: { type: 'string' },
    },
  };
  const decide = (
    requires_flags: unknown,
    context: object,
    input: object = {},
    inputSchema: object = OPERATIONS,
  ) =>
    decisionOn(
      { ...READ, inputSchema, metadata: { requires_flags } },
      input,
      { rules: ALLOW_ALL },
      context,
    );

  it('a call is denied unless all required flags are set, even if a rule allows the call', () => {
    for (const required of [['a', 'b'], { read: ['a', 'b'] }, { read: ['a'], write: ['b'] }]) {
      expect(decide(required, { flags: ['b', 'c', 'a'] }).verdict).toBe('allow');
      for (const flags of [undefined, [], ['a'], ['A', 'B'], ['a,b']])
        expect(decide(required, { flags })).toMatchObject({
          verdict: 'deny',
          rule: 'missing-flags',
          reason: expect.stringContaining('b'),
        });
    }
    expect(decide('a', { flags: ['a'] }).verdict).toBe('allow');
    expect(decide('a', {}).verdict).toBe('deny');
  });

  it('flags for an operation apply only when the input selects that operation', () => {
    const required = { create: ['write'], delete: ['write', 'delete'] };
    const verdict = (input: object, ...flags: string[]) =>
      decide(required, { flags }, input).verdict;
    expect([
      verdict({ operation: 'list' }),
      verdict({ operation: 'create' }, 'write'),
      verdict({ operation: 'delete' }, 'write', 'delete'),
    ]).toEqual(['allow', 'allow', 'allow']);
    expect([
      verdict({ operation: 'create' }),
      verdict({ operation: 'delete' }, 'write'),
      verdict({}, 'write'),
      verdict({ title: 'list' }, 'write'),
      verdict({ operation: 'other' }, 'write'),
    ]).toEqual(Array(5).fill('deny'));
  });

  it('flags for every operation apply if two fields could select the operation', () => {
    const twice = {
      type: 'object',
      properties: { ...OPERATIONS.properties, other: OPERATIONS.properties.operation },
    };
    expect(
      decide({ create: ['write'] }, {}, { operation: 'list', other: 'create' }, twice),
    ).toMatchObject({ verdict: 'deny', rule: 'missing-flags' });
  });
});

it("a call must be allowed by both its own mode and the policy's mode", () => {
  const policy = policyOver(
    [
      { name: 'read', ...READ },
      { name: 'write', accessMode: 'write' },
    ],
    { mode: 'allow-list', allow: ['write', 'read'] },
  );
  const verdict = (name: string, mode?: 'read-only' | 'unattended' | 'default') =>
    policy.decide({ id: '1', name, input: {} }, mode && { mode }).verdict;
  expect([verdict('read'), verdict('write')]).toEqual(['allow', 'allow']);
  expect([verdict('read', 'read-only'), verdict('write', 'read-only')]).toEqual(['allow', 'deny']);
  expect([verdict('write', 'unattended'), verdict('write', 'default')]).toEqual(['allow', 'allow']);
});

it("a call's mode can't turn an approval request into permission", () => {
  const policy = policyOver([{ accessMode: 'write' }], { allow: ['*'] });
  for (const mode of [undefined, 'default', 'allow-list'] as const)
    expect(policy.decide({ id: '1', name: 'sample', input: {} }, mode && { mode }).verdict).toBe(
      'confirm',
    );
});

it('an unknown mode denies the call', () => {
  for (const mode of ['readonly', '', '__proto__', null, 5])
    expect(decisionOn(READ, {}, { rules: ALLOW_ALL }, { mode })).toMatchObject({
      verdict: 'deny',
      rule: 'invalid-context',
    });
});

it("the allow-list doesn't cover a call whose arguments raise the danger", () => {
  const tool = {
    accessMode: 'write',
    dangerFor: ({ force }: { force?: boolean }) => (force ? 'critical' : 'medium'),
  };
  expect(decisionOn(tool, {}, { mode: 'allow-list', allow: ['sample'] })).toMatchObject({
    verdict: 'allow',
    rule: 'allow-list',
  });
  expect(
    decisionOn(tool, { force: true }, { mode: 'allow-list', allow: ['sample'] }),
  ).toMatchObject({ verdict: 'confirm', danger: 'critical' });
});

it('in unattended mode, a rule can allow a write, and calls that need approval are denied', () => {
  expect(decisionOn({ accessMode: 'write' }, {}, { mode: 'unattended' })).toMatchObject({
    verdict: 'deny',
    rule: 'unattended',
  });
  expect(
    decisionOn({ accessMode: 'write' }, {}, { mode: 'unattended', rules: ALLOW_ALL }).verdict,
  ).toBe('allow');
  expect(
    decisionOn(READ, {}, { mode: 'unattended', rules: [{ verdict: 'confirm' }] }).verdict,
  ).toBe('deny');
});

it('the policy asks for approval of tools that need consent, write, or reach the danger or cost limit', () => {
  expect(decisionOn({ ...READ, requiresConsent: true })).toMatchObject({
    verdict: 'confirm',
    reason: 'sample: it requires consent',
  });
  expect(decisionOn({ ...READ, dangerLevel: 'high' })).toMatchObject({
    verdict: 'confirm',
    reason: 'sample: its danger is high',
  });
  expect(decisionOn({}).reason).toContain('access mixed, inferred');
  const read = { ...READ, dangerLevel: 'low', costTier: 'medium' } as const;
  expect(decisionOn(read).verdict).toBe('allow');
  expect(decisionOn(read, {}, { confirmFrom: { danger: 'low' } }).verdict).toBe('confirm');
  expect(decisionOn(read, {}, { confirmFrom: { danger: 'medium' } }).verdict).toBe('allow');
  expect(decisionOn(read, {}, { confirmFrom: { cost: 'medium' } })).toMatchObject({
    verdict: 'confirm',
    reason: 'sample: its cost is medium',
  });
  expect(decisionOn(read, {}, { confirmFrom: { cost: 'high' } }).verdict).toBe('allow');
});

describe('dangerFor', () => {
  const danger = (dangerFor: unknown, input: unknown = {}, dangerLevel = 'low') =>
    decisionOn({ ...READ, dangerLevel, dangerFor }, input);

  it("dangerFor can raise a call's danger, and the reason mentions it", () => {
    expect(danger(() => 'high')).toMatchObject({ verdict: 'confirm', danger: 'high' });
    expect(danger(() => 'high').reason).toContain('raise its danger from low to high');
  });

  it("dangerFor can't lower a call's danger", () =>
    expect(danger(() => 'safe', {}, 'high')).toMatchObject({ verdict: 'confirm', danger: 'high' }));

  it('the danger is critical if dangerFor throws or returns a promise or an unknown level', async () => {
    const failing: readonly unknown[] = [
      () => {
        throw new Error('secret');
      },
      () => 'SAFE',
      () => Promise.reject(new Error('no')),
    ];
    for (const dangerFor of failing) {
      const decision = danger(dangerFor);
      expect(decision).toMatchObject({ verdict: 'confirm', danger: 'critical' });
      expect(decision.reason).not.toContain('secret');
    }
    // An unhandled rejection makes this run fail.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
