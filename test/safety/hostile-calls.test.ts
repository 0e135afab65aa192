import fc from 'fast-check';
import { expect, it } from 'vitest';
import { policyOver } from './policies.js';

const THROWING = new Proxy(
  {},
  Object.fromEntries(
    ['get', 'has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf'].map((trap) => [
      trap,
      () => {
        throw new Error('trap');
      },
    ]),
  ),
);
const { proxy: REVOKED, revoke } = Proxy.revocable({}, {});
revoke();

const policy = policyOver(
  [
    { name: 'read', accessMode: 'readonly' },
    {
      name: 'write',
      accessMode: 'write',
      dangerFor: ({ path }: { path?: string }) => (path === 'safe' ? 'medium' : 'critical'),
    },
  ],
  {
    rules: [{ verdict: 'allow', tools: 'write', input: { path: 'safe' } }],
  },
);
const decide = (call: unknown, context?: unknown) => policy.decide(call as never, context as never);

it("a value that isn't a call is denied", () => {
  for (const call of [
    undefined,
    null,
    5,
    'read',
    [],
    {},
    () => undefined,
    THROWING,
    REVOKED,
    { name: undefined },
    { name: THROWING },
    { name: ['read'] },
    { name: { toString: () => 'read' } },
    { name: Symbol('read') },
  ]) {
    expect(decide(call)).toMatchObject({ verdict: 'deny', danger: 'critical' });
    expect(Object.isFrozen(decide(call))).toBe(true);
  }
});

it('a tool name such as "constructor" or "*" is treated as an unknown tool', () => {
  for (const name of [
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '',
    '*',
    're*',
  ])
    expect(decide({ id: '1', name, input: {} })).toMatchObject({
      verdict: 'deny',
      rule: 'unknown-tool',
    });
});

it('the policy never throws, for any call and context', () => {
  const anything = fc.oneof(
    fc.anything({ withProxy: true } as never),
    fc.record({
      id: fc.anything(),
      name: fc.oneof(fc.constantFrom('read', 'write', '__proto__'), fc.anything()),
      input: fc.anything(),
    }),
  );
  fc.assert(
    fc.property(anything, fc.option(fc.anything(), { nil: undefined }), (call, context) => {
      expect(['allow', 'confirm', 'deny']).toContain(decide(call, context).verdict);
    }),
    { numRuns: 500 },
  );
});

it('a call is denied if reading its context throws', () => {
  for (const context of [
    null,
    THROWING,
    REVOKED,
    {
      get mode() {
        throw new Error('no');
      },
    },
    { scopes: THROWING },
    { scopes: REVOKED },
  ])
    expect(decide({ id: '1', name: 'read', input: {} }, context).verdict).toBe('deny');
});

it('a call is denied if its context has values of the wrong type', () => {
  for (const context of [
    { principal: null },
    { principal: 5 },
    { principal: ['ada'] },
    { persona: {} },
    { conversationId: 1 },
    { scopes: 'all' },
    { scopes: [1] },
    { scopes: { length: 1 } },
  ]) {
    expect([context, decide({ id: '1', name: 'read', input: {} }, context)]).toMatchObject([
      context,
      { verdict: 'deny', rule: 'invalid-context' },
    ]);
  }
});
