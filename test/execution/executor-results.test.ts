import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fail, halt, ToolError, type ToolOutcome } from '../../src/index.js';
import { readOutcome } from '../../src/safety/read-outcome.js';
import { brief, reader, setup } from './fixtures/executor-setup.js';

const run = async (
  work: () => unknown,
  extra: object = {},
  options: object = {},
): Promise<ToolOutcome> =>
  setup([reader('read', work, extra)], options).executor.execute({ id: '1', name: 'read' });
const COUNT = { type: 'object', properties: { count: { type: 'number' } }, required: ['count'] };

it('a zod output schema applies defaults and removes unknown fields', async () => {
  const outputSchema = z.object({ count: z.number(), unit: z.string().default('pieces') });
  expect(brief(await run(() => ({ count: 1, secret: 'x' }), { outputSchema }))).toBe(
    'ok {"count":1,"unit":"pieces"}',
  );
});

it.each<[string, object]>([
  ['JSON Schema', COUNT],
  ['zod', z.object({ count: z.number() })],
])(
  "a value that doesn't match its %s output schema is available to programs and hidden from models",
  async (_, outputSchema) => {
    let runs = 0;
    const outcome = await run(() => (runs++, { count: 'many' }), { outputSchema });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      attempts: 1,
      details: { ran: true, issues: [{ path: ['count'] }] },
      value: { count: 'many' },
    });
    expect(readOutcome(outcome)).toMatchObject({
      kind: 'error',
      retryable: false,
      text: "read ran, but its result doesn't match its output schema and isn't shown. Continue without it, or ask the user.",
    });
    expect(runs).toBe(1);
  },
);

it.each<[string, () => unknown]>([
  ['a Map', () => new Map([['a', 1]])],
  ['a Response', () => new Response('a')],
  ['an Error', () => new Error('a')],
  ['a Generator', () => (function* () {})()],
  ['an AsyncGenerator', () => (async function* () {})()],
])('the outcome of a tool that returns %s names it', async (name, make) => {
  expect(await run(make)).toMatchObject({
    code: 'INVALID_RESULT',
    message: `read ran, but its result can't be shown: expected plain data, got ${name}, which looks empty in JSON`,
  });
});

const PROMISES: readonly (readonly [string, object])[] = [
  ['JSON Schema', COUNT],
  ['zod', z.object({ count: z.number() })],
];

it.each(PROMISES)(
  "a halt value that doesn't match its %s output schema is rejected, and the run still ends",
  async (_, outputSchema) => {
    const outcome = await run(() => halt('enough', { count: 'many' }), { outputSchema });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      haltReason: 'enough',
      details: { ran: true, issues: [{ path: ['count'] }] },
      value: { count: 'many' },
    });
    expect(readOutcome(outcome)).toMatchObject({ kind: 'error', haltReason: 'enough' });
  },
);

it.each(PROMISES)(
  'a manual call includes the output schema as JSON Schema (schema declared with %s)',
  async (_, outputSchema) => {
    expect(
      await run(undefined as never, { manual: true, execute: undefined, outputSchema }),
    ).toMatchObject({
      status: 'manual',
      pending: { outputSchema: { type: 'object', required: ['count'] } },
    });
    expect(await run(undefined as never, { manual: true, execute: undefined })).not.toHaveProperty(
      'pending.outputSchema',
    );
  },
);

const SECRET = 'SECRETVALUE';
it.each<[string, unknown, object]>([
  ['a value (by JSON Schema)', { count: SECRET }, { outputSchema: COUNT }],
  [
    'a value (by a refinement with its own message)',
    { count: SECRET },
    {
      outputSchema: z.object({
        count: z.string().refine(() => false, { error: ({ input }) => `bad ${String(input)}` }),
      }),
    },
  ],
  ['a key (by zod)', { [SECRET]: 1 }, { outputSchema: z.strictObject({}) }],
])('a model never sees any part of a rejected result: %s', async (_, value, extra) => {
  for (const exposeErrors of ['none', 'public', 'full']) {
    for (const given of [value, halt('enough', value)]) {
      const outcome = await run(() => given, extra, { exposeErrors });
      expect(outcome).toMatchObject({ status: 'error', code: 'INVALID_RESULT', value });
      expect(readOutcome(outcome).text).not.toContain(SECRET);
    }
  }
});

describe("values that can't be serialized to JSON", () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  it.each<[string, unknown]>([
    ['a BigInt', 1n],
    ['a circular object', circle],
    ['an object with NaN inside', { deep: [Number.NaN] }],
  ])("a tool can't return %s", async (_, value) => {
    const outcome = await run(() => value);
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      details: { ran: true },
    });
    expect((outcome as { value: unknown }).value).toBe(value);
  });
});

it('a failure that the tool returned has the origin "reported", and models can read its details', async () => {
  const outcome = await run(() => fail('no money', { have: 3 }));
  expect(outcome).toMatchObject({
    status: 'error',
    code: 'EXECUTION_FAILED',
    message: 'no money',
    details: { have: 3 },
    origin: 'reported',
  });
  expect(readOutcome(outcome).text).toBe('no money\nDetails: {"have":3}');
  const long = readOutcome(await run(() => fail('long', { text: 'x'.repeat(10_000) }))).text;
  expect(long.length).toBeLessThan(4_200);
  expect(long.endsWith('…')).toBe(true);
});

it('a thrown error has the origin "thrown", and only programs can read its details', async () => {
  const outcome = await run(
    () => {
      throw new ToolError('LIMIT_EXCEEDED', 'too much', { details: { secret: 1 } });
    },
    {},
    { maxAttempts: 1 },
  );
  expect(outcome).toMatchObject({
    code: 'LIMIT_EXCEEDED',
    origin: 'thrown',
    details: { secret: 1 },
  });
  expect(readOutcome(outcome).text).toBe('too much');
});

const thrown = async (message: string, exposeErrors?: 'none' | 'public' | 'full') => {
  const outcome = await run(
    () => {
      throw new Error(message);
    },
    {},
    { maxAttempts: 1, ...(exposeErrors && { exposeErrors }) },
  );
  return outcome.status === 'error' ? outcome.message : '';
};

it.each([
  ['getaddrinfo ENOTFOUND db.internal.corp', 'getaddrinfo ENOTFOUND [host]'],
  ['connect ECONNREFUSED 10.0.0.5:5432', 'connect ECONNREFUSED [host]'],
  [
    'request to https://api.internal:8443/v1/users failed',
    'request to https://[host]/v1/users failed',
  ],
  ['no route to db-primary:5432', 'no route to [host]'],
  ['localhost:3000 is busy', '[host] is busy'],
  [
    'the file notes.md of version 1.2.3 is missing in package.json, line 10:5',
    'the file notes.md of version 1.2.3 is missing in package.json, line 10:5',
  ],
  ['the host is not reachable', 'the host is not reachable'],
  ['upstream db01.prod.acme.unusual:5432.', 'upstream [host].'],
  ['smtp-relay:25 refused', '[host] refused'],
  [
    'connection to server at "pg-main" (10.0.0.5), port 5432 failed',
    'connection to server at "[host]" ([host]), port 5432 failed',
  ],
  ['does not match altnames: Host: api.acme.solutions', 'does not match altnames: Host: [host]'],
  ['api.acme.solutions refused', '[host] refused'],
  ['addr=2001:db8::ff00:42:8329', 'addr=[host]'],
  ['connect ECONNREFUSED fe80::1%eth0:80', 'connect ECONNREFUSED [host]'],
  [
    'see index.test and parser.test:12 and app.module.ts:42 at 10:25',
    'see index.test and parser.test:12 and app.module.ts:42 at 10:25',
  ],
  ['config.tools.list is undefined', 'config.tools.list is undefined'],
])('an error message hides host names: %s', async (message, shown) => {
  expect(await thrown(message)).toBe(shown);
});

it('exposeErrors determines how much of an error message is shown', async () => {
  const message = 'connect ECONNREFUSED 10.0.0.5\npassword=hunter2';
  expect(await thrown(message, 'none')).toBe(
    "read failed. Its error isn't shown. Try something else, or ask the user.",
  );
  expect(await thrown(message, 'public')).toBe('connect ECONNREFUSED [host]');
  expect(await thrown(message, 'full')).toBe(message);
});
