import { expect, it } from 'vitest';
import {
  AccessMode,
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type Policy,
  type ToolDefinition,
} from '../../src/index.js';
import { allowAll, brief, reader, setup } from './fixtures/executor-setup.js';

const good = allowAll.decide();

/** Returns the outcome of a call under a policy with this decide function. */
async function under(decide: () => unknown, waitMs = 0) {
  let runs = 0;
  const { executor, clock, events } = setup([reader('read', () => runs++)], {
    policy: { decide } as Policy,
  });
  const running = executor.execute({ id: '1', name: 'read' });
  await clock.advanceAsync(waitMs);
  return { outcome: await running, runs, clock, events };
}

it.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('secret sk-abcdefghijk012345');
    },
  ],
  ['rejects', () => Promise.reject(new Error('x'))],
  ['returns undefined', () => undefined],
  ['returns only a verdict', () => 'allow'],
  ['returns an unknown verdict', () => ({ ...good, verdict: 'maybe' })],
])('a call is denied if its policy %s', async (_, decide) => {
  const { outcome, runs, events } = await under(decide);
  expect(outcome).toMatchObject({ status: 'denied', rule: 'policy-error', danger: 'critical' });
  expect(JSON.stringify(outcome)).not.toContain('sk-abc');
  expect(runs).toBe(0);
  expect(events).toMatchObject([
    { type: 'decision', verdict: 'deny', rule: 'policy-error' },
    { type: 'call-settled', status: 'denied' },
  ]);
});

it("a call is denied if its policy doesn't answer within 5 seconds, and a later answer is ignored", async () => {
  let answer!: (decision: unknown) => void;
  const { outcome, runs, clock } = await under(
    () => new Promise((resolve) => (answer = resolve)),
    5_000,
  );
  expect(outcome).toMatchObject({ status: 'denied', rule: 'policy-error', durationMs: 5_000 });
  answer(good);
  await clock.advanceAsync(1);
  expect(runs).toBe(0);
  expect(clock.pending).toBe(0);
});

it("a policy gets the tool's real name, the validated input, and the whole context", async () => {
  let asked: unknown;
  const { executor } = setup([reader('read', () => 1, { aliases: ['cat'] })], {
    policy: {
      decide: (call, { principal, scopes, persona, conversationId, mode }) => {
        asked = { call, context: { principal, scopes, persona, conversationId, mode } };
        return good;
      },
    },
  });
  const context = {
    principal: 'ada',
    scopes: ['s'],
    persona: 'p',
    conversationId: 'c',
    mode: 'default' as const,
  };
  await executor.execute({ id: '1', name: 'cat', input: { a: 1 } }, context);
  expect(asked).toEqual({ call: { id: '1', name: 'read', input: { a: 1 } }, context });
});

const read = {
  name: 'price',
  description: 'Shows a price',
  inputSchema: { type: 'object' },
  accessMode: AccessMode.READONLY,
};
const registryOf = (...definitions: readonly ToolDefinition[]) => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return registry;
};

it('a SafetyPolicy created with a different registry judges the tool that will run, not the tool with the same name in its own registry', async () => {
  let runs = 0;
  const execute = () => (runs += 1);
  const [mine, its] = [
    registryOf(defineTool({ ...read, execute })),
    registryOf(defineTool({ ...read, execute })),
  ];
  const executor = new ToolExecutor({
    registry: mine,
    policy: new SafetyPolicy({ registry: its }),
  });
  expect(brief(await executor.execute({ id: '1', name: 'price' }))).toBe('ok 1');
  mine.register(
    defineTool({ ...read, accessMode: AccessMode.WRITE, aliases: ['transfer'], execute }),
    { replace: true },
  );
  expect(await executor.execute({ id: '2', name: 'price' })).toMatchObject({
    status: 'approval_required',
    pending: { reason: expect.stringContaining('access write') },
  });
  expect((await executor.decide({ id: '3', name: 'price' })).verdict).toBe('confirm');
  expect(runs).toBe(1);
});

it("a SafetyPolicy created with a different registry denies tools that its own registry doesn't contain", async () => {
  const executor = new ToolExecutor({
    registry: registryOf(defineTool({ ...read, execute: () => 1 })),
    policy: new SafetyPolicy({ registry: registryOf() }),
  });
  expect(await executor.execute({ id: '1', name: 'price' })).toMatchObject({
    status: 'denied',
    rule: 'unknown-tool',
  });
});
