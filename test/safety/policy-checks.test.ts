import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '../../src/safety/policy-rule.js';
import { decisionOn, policyOver } from './policies.js';

/** The most that a program can say in favour of a call. */
const ALLOW_ALL: readonly PolicyRule[] = [{ verdict: 'allow', upTo: 'critical' }];
const READ = { accessMode: 'readonly' } as const;

describe('personas', () => {
  const decide = (personaAllowlist: readonly string[], context: object) =>
    decisionOn({ ...READ, personaAllowlist }, {}, { rules: ALLOW_ALL }, context);

  it('on the list may call, in any case of letters', () => {
    for (const persona of ['Planner', 'planner', 'PLANNER'])
      expect(decide(['Planner', 'other'], { persona }).verdict).toBe('allow');
  });

  it('not on the list may not, nor calls without one, whatever the rules say', () => {
    for (const context of [
      {},
      { persona: '' },
      { persona: 'coder' },
      { persona: 'planner ' },
      { persona: '__proto__' },
      { persona: 'constructor' },
    ]) {
      expect([context, decide(['Planner'], context)]).toMatchObject([
        context,
        { verdict: 'deny', rule: 'persona-allowlist' },
      ]);
    }
    expect(decide(['Planner'], {}).reason).toContain('names no persona');
  });

  it('of an empty list are nobody', () =>
    expect(decide([], { persona: 'planner' })).toMatchObject({
      verdict: 'deny',
      rule: 'persona-allowlist',
    }));
});

describe('credentials', () => {
  const auth = {
    required: true,
    env: { MY_KEY: 'required', MY_HINT: 'optional' },
    docs: 'https://example.com/keys',
  };
  const decide = (env: Readonly<Record<string, string | undefined>>, changed = {}) =>
    decisionOn({ ...READ, auth: { ...auth, ...changed } }, {}, { env, rules: ALLOW_ALL });

  it('that are required must be there, whatever the rules say', () => {
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

  it('of a tool that works without them may be missing', () =>
    expect(decide({}, { required: false }).verdict).toBe('allow'));
});

describe('scopes', () => {
  const decide = (context: object) =>
    decisionOn(
      { ...READ, auth: { required: true, scopes: ['repo', 'admin'] } },
      {},
      { rules: ALLOW_ALL },
      context,
    );

  it('must all be there, whatever the rules say', () => {
    expect(decide({ scopes: ['admin', 'repo', 'more'] }).verdict).toBe('allow');
    for (const scopes of [undefined, [], ['repo'], ['Repo', 'Admin'], ['repo,admin']])
      expect(decide({ scopes })).toMatchObject({ verdict: 'deny', rule: 'missing-scopes' });
  });
});

describe('flags of a manifest', () => {
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

  it('must all be on in the context of the call, whatever the rules say', () => {
    for (const required of [['a', 'b'], { read: ['a', 'b'] }, { read: ['a'], write: ['b'] }]) {
      expect(decide(required, { flags: ['b', 'c', 'a'] }).verdict).toBe('allow');
      for (const flags of [undefined, [], ['a'], ['A', 'B'], ['a,b']])
        expect(decide(required, { flags })).toMatchObject({
          verdict: 'deny',
          rule: 'missing-flags',
          reason: expect.stringContaining('b') as string,
        });
    }
    expect(decide('a', { flags: ['a'] }).verdict).toBe('allow');
    expect(decide('a', {}).verdict).toBe('deny');
  });

  it('of operations count for the operation that the input names in a field with all of them', () => {
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

  it('of operations count for every call where two fields might name the operation', () => {
    const twice = {
      type: 'object',
      properties: { ...OPERATIONS.properties, other: OPERATIONS.properties.operation },
    };
    expect(
      decide({ create: ['write'] }, {}, { operation: 'list', other: 'create' }, twice),
    ).toMatchObject({ verdict: 'deny', rule: 'missing-flags' });
  });

  it('that cannot be read are met by no call', () => {
    for (const malformed of [1, true, [1], [''], { read: 'a' }, { read: [1] }])
      expect(decide(malformed, { flags: ['a', '1'] })).toMatchObject({
        verdict: 'deny',
        rule: 'missing-flags',
      });
  });
});

describe('the modes', () => {
  it('combine with the one of the call: both hold', () => {
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
    expect([verdict('read', 'read-only'), verdict('write', 'read-only')]).toEqual([
      'allow',
      'deny',
    ]);
    expect([verdict('write', 'unattended'), verdict('write', 'default')]).toEqual([
      'allow',
      'allow',
    ]);
  });

  it('never turn a question into an approval by the mode of a call', () => {
    const policy = policyOver([{ accessMode: 'write' }], { allow: ['*'] });
    for (const mode of [undefined, 'default', 'allow-list'] as const)
      expect(policy.decide({ id: '1', name: 'sample', input: {} }, mode && { mode }).verdict).toBe(
        'confirm',
      );
  });

  it('with a name that is none refuse', () => {
    for (const mode of ['readonly', '', '__proto__', null, 5])
      expect(decisionOn(READ, {}, { rules: ALLOW_ALL }, { mode })).toMatchObject({
        verdict: 'deny',
        rule: 'invalid-context',
      });
  });

  it('let an allow-list cover no call that its arguments make more dangerous', () => {
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

  it('give rules no say over a read-only or unattended frame', () => {
    expect(
      decisionOn({ accessMode: 'write' }, {}, { mode: 'read-only', rules: ALLOW_ALL }).verdict,
    ).toBe('deny');
    expect(
      decisionOn({ ...READ, dangerLevel: 'high' }, {}, { mode: 'read-only', rules: ALLOW_ALL })
        .verdict,
    ).toBe('deny');
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
});

describe('questions', () => {
  it('are asked for consent, writes and dangers, and from chosen levels of danger and cost on', () => {
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
});

describe('dangerFor', () => {
  const danger = (dangerFor: unknown, input: unknown = {}, dangerLevel = 'low') =>
    decisionOn({ ...READ, dangerLevel, dangerFor }, input);

  it('raises the danger, and says so', () => {
    expect(danger(() => 'high')).toMatchObject({ verdict: 'confirm', danger: 'high' });
    expect(danger(() => 'high').reason).toContain('raise its danger from low to high');
  });

  it('never lowers it', () =>
    expect(danger(() => 'safe', {}, 'high')).toMatchObject({ verdict: 'confirm', danger: 'high' }));

  it('that throws, answers no level or promises one counts as critical', async () => {
    const failing: readonly unknown[] = [
      () => {
        throw new Error('secret');
      },
      () => undefined,
      () => null,
      () => 'SAFE',
      () => 0,
      () => ['safe'],
      () => ({ toString: () => 'safe' }),
      () => new String('safe'),
      () => 'constructor',
      async () => Promise.resolve('safe'),
      () => Promise.reject(new Error('no')),
    ];
    for (const dangerFor of failing) {
      const decision = danger(dangerFor);
      expect(decision).toMatchObject({ verdict: 'confirm', danger: 'critical' });
      expect(decision.reason).not.toContain('secret');
    }
    // Rejections that nobody handles fail this run.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('is given an empty object when the call has no input, and values of classes as they are', () => {
    const seen: unknown[] = [];
    const date = new Date(0);
    const note = (input: unknown) => (seen.push(input), 'low');
    policyOver([{ ...READ, dangerFor: note }]).decide({ id: '1', name: 'sample' });
    danger(note, { date, list: [1, { a: undefined }] });
    expect(seen).toEqual([{}, { date, list: [1, { a: undefined }] }]);
    expect((seen[1] as { date: unknown }).date).toBe(date);
  });
});
