import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type PendingApproval,
  type ToolEvent,
  type ToolExecutorOptions,
  type ToolOptions,
} from '../../src/index.js';
import { ManualClock } from '../../src/testing.js';

type Preview = NonNullable<ToolOptions['preview']>;

function setUp(preview: unknown, options: Partial<ToolExecutorOptions> = {}) {
  const registry = new ToolMetadataRegistry();
  let runs = 0;
  registry.register(
    defineTool({
      name: 'put',
      description: 'Puts a text',
      inputSchema: z.object({ text: z.string() }),
      accessMode: 'write',
      preview: preview as Preview,
      execute: () => (runs += 1),
    }),
  );
  const executor = new ToolExecutor({ registry, ...options });
  const ask = async () => {
    const outcome = await executor.execute({ id: 'c', name: 'put', input: { text: 'a' } });
    if (outcome.status !== 'approval_required') throw new Error(outcome.status);
    return outcome.pending;
  };
  const run = () => executor.execute({ id: 'c', name: 'put', input: { text: 'a' } });
  return { executor, registry, ask, run, runs: () => runs };
}

it('the preview is computed from the validated input, shown with the pending call, and covered by its signature', async () => {
  const { ask, executor, run } = setUp(({ text }: { text: string }) => ({
    summary: `Puts ${text}`,
    diff: '-x\n+a\n',
    recipients: ['ada@corp.example'],
    cost: '2 cents',
    reversible: false,
  }));
  const pending = await ask();
  expect(pending.preview).toEqual({
    summary: 'Puts a',
    diff: '-x\n+a\n',
    recipients: ['ada@corp.example'],
    cost: '2 cents',
    reversible: false,
  });
  await expect(
    executor.approve({ ...pending, preview: { summary: 'Puts nothing' } }),
  ).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  const { preview: _, ...without } = pending;
  await expect(executor.approve(without)).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  await executor.approve(pending);
  expect(await run()).toMatchObject({ status: 'ok' });
});

it('if the preview changes before the approved call runs, the call needs a new approval', async () => {
  let text = 'old';
  const { ask, executor, run, runs } = setUp(() => `Replaces ${text}`);
  const events: ToolEvent[] = [];
  executor.on((event) => events.push(event));
  await executor.approve(await ask());
  text = 'new';
  const again = await run();
  expect(again).toMatchObject({
    status: 'approval_required',
    pending: { preview: { summary: 'Replaces new' } },
  });
  expect([
    runs(),
    events.filter((event) => event.type === 'approval').map(({ state }) => state),
  ]).toEqual([0, ['requested', 'granted', 'refused', 'requested']]);
  await executor.approve((again as { pending: PendingApproval }).pending);
  expect(await run()).toMatchObject({ status: 'ok' });
  expect(runs()).toBe(1);
});

it('if the preview changes while the user is looking at it, the call stays pending with the new preview', async () => {
  const texts = ['one', 'two', 'two', 'two'];
  const shown: unknown[] = [];
  const { executor, runs } = setUp(() => texts.shift(), {
    confirm: ({ preview }) => (shown.push(preview?.summary), true),
  });
  expect(await executor.execute({ id: 'c', name: 'put', input: { text: 'a' } })).toMatchObject({
    status: 'approval_required',
    pending: { preview: { summary: 'two' } },
  });
  expect([shown, runs()]).toEqual([['one'], 0]);
});

it("the preview isn't compared if the user edited the arguments", async () => {
  const { executor, runs } = setUp(({ text }: { text: string }) => `Puts ${text}`, {
    confirm: () => ({ input: { text: 'b' } }),
  });
  expect(await executor.execute({ id: 'c', name: 'put', input: { text: 'a' } })).toMatchObject({
    status: 'ok',
  });
  expect(runs()).toBe(1);
});

it.each<[string, () => unknown, string]>([
  [
    'throws',
    () => {
      throw new Error('secret');
    },
    'its preview failed',
  ],
  ['rejects', () => Promise.reject(new Error('secret')), 'its preview failed'],
  ['is a number', () => 3, 'neither text nor an object with summary'],
])(
  'if a preview %s, the pending call reports it and can still be approved',
  async (_, preview, reason) => {
    const { ask, executor, run } = setUp(preview);
    const pending = await ask();
    expect([pending.preview, pending.noPreview]).toEqual([
      undefined,
      expect.stringContaining(reason),
    ]);
    await executor.approve(pending);
    expect(await run()).toMatchObject({ status: 'ok' });
  },
);

it('a preview that hangs is abandoned after ten seconds, and the pending call reports it', async () => {
  const clock = new ManualClock();
  let stopped = false;
  const { ask } = setUp(
    (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise(() => signal.addEventListener('abort', () => (stopped = true))),
    { clock },
  );
  const pending = ask();
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  clock.advance(10_000);
  expect((await pending).noPreview).toBe('its preview took longer than 10000 ms');
  expect(stopped).toBe(true);
});
