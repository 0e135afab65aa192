import { expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type ExecuteOptions,
  type PendingApproval,
  type SafetyPolicyOptions,
  type ToolOptions,
} from '../../src/index.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { ListedStore } from '../state/listed-store.js';

const KEY = new Uint8Array(32).fill(7);
const IN = { conversationId: 'talk', principal: 'ada' };
const mail = (options: Partial<ToolOptions> = {}) =>
  defineTool({
    name: 'mail',
    description: 'Mails a text',
    inputSchema: z.object({ to: z.string(), text: z.string().optional() }),
    accessMode: 'write',
    dangerLevel: 'medium',
    reads: [],
    sends: 'nowhere',
    ...(options as object),
    execute: () => 'sent',
  });

function setUp({
  tool = mail(),
  store = new MemoryStateStore(),
  policy = {},
}: {
  tool?: ReturnType<typeof mail>;
  store?: StateStore;
  policy?: Omit<SafetyPolicyOptions, 'registry'>;
} = {}) {
  const registry = new ToolMetadataRegistry();
  registry.register(tool);
  const executor = new ToolExecutor({
    registry,
    store,
    approvalKey: KEY,
    policy: new SafetyPolicy({ registry, ...policy }),
  });
  const call = (input: object) => ({ id: crypto.randomUUID(), name: 'mail', input });
  const statusOf = async (input: object, options: ExecuteOptions = IN) =>
    (await executor.execute(call(input), options)).status;
  const pendingOf = async (input: object, options: ExecuteOptions = IN) =>
    ((await executor.execute(call(input), options)) as { pending: PendingApproval }).pending;
  return { executor, registry, call, statusOf, pendingOf };
}
const ADA = { to: 'ada' };

it('a grant lets only calls with the specified arguments run', async () => {
  const { executor, statusOf, pendingOf } = setUp();
  await executor.grant(await pendingOf({ to: 'ada', text: 'one' }), { input: ADA });
  expect(await statusOf({ to: 'ada', text: 'two' })).toBe('ok');
  expect(await statusOf({ to: 'eve', text: 'two' })).toBe('approval_required');
});

it("a grant doesn't apply to another principal, even if somebody copies the grant to that principal's list in the store", async () => {
  const store = new ListedStore();
  const { executor, statusOf, pendingOf } = setUp({ store });
  const eve = { ...IN, principal: 'eve' };
  const { grant } = await executor.grant(await pendingOf(ADA), { uses: 5 });
  const [listOfAda] = await store.list('grants:');
  await executor.grant(await pendingOf({ to: 'zoe' }, eve), { input: { to: 'zoe' } });
  const listOfEve = (await store.list('grants:')).find((key) => key !== listOfAda)!;
  await store.append(listOfEve, grant.id, { max: 100 });
  expect(await statusOf({ to: 'zoe' }, eve)).toBe('ok');
  expect(await statusOf(ADA, eve)).toBe('approval_required');
});

it.each<[string, ExecuteOptions]>([
  ['another principal', { ...IN, principal: 'eve' }],
  ['no principal', { conversationId: 'talk' }],
  ['another conversation', { ...IN, conversationId: 'other' }],
  ['no conversation', { principal: 'ada' }],
])("a grant doesn't apply to a call with %s", async (_, options) => {
  const { executor, statusOf, pendingOf } = setUp();
  await executor.grant(await pendingOf(ADA), { uses: 5 });
  expect([await statusOf(ADA), await statusOf(ADA, options)]).toEqual(['ok', 'approval_required']);
});

it('a grant needs a limit and an unmodified pending call', async () => {
  const { executor, pendingOf } = setUp();
  const pending = await pendingOf(ADA);
  for (const scope of [{}, { input: {} }, { uses: 0 }, { until: 1 }, { touches: 'x' }])
    await expect(executor.grant(pending, scope as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  await expect(
    executor.grant({ ...pending, toolName: 'other' }, { uses: 1 }),
  ).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
  expect((await executor.grant(pending, { uses: 1 })).grant.toolName).toBe('mail');
});

it('the use count, expiry, and revocation of a grant apply to all processes', async () => {
  const clock = new ManualClock(1_000);
  const store = new MemoryStateStore({ clock });
  const [one, other] = [setUp({ store }), setUp({ store })];
  const { grant } = await one.executor.grant(await one.pendingOf(ADA), { uses: 3 });
  const statuses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => (n % 2 ? one : other).statusOf({ to: `${n}` })),
  );
  expect(statuses.filter((status) => status === 'ok')).toHaveLength(3);
  expect(await other.executor.grants()).toMatchObject([{ id: grant.id, used: 3, uses: 3 }]);
  await one.executor.grant(await one.pendingOf(ADA), { until: 5_000 });
  expect(await other.statusOf(ADA)).toBe('ok');
  clock.advance(4_000);
  expect(await other.statusOf(ADA)).toBe('approval_required');
  const third = (await one.executor.grant(await one.pendingOf(ADA), { input: ADA })).grant;
  expect([
    await other.statusOf(ADA),
    await other.executor.revokeGrant(third.id),
    await other.executor.revokeGrant(third.id),
    await one.statusOf(ADA),
  ]).toEqual(['ok', true, false, 'approval_required']);
});

it("a grant doesn't cover consent, critical tools, raised danger, or approval requests from another rule", async () => {
  for (const options of [{ requiresConsent: true }, { dangerLevel: 'critical' }] as const) {
    const { executor, pendingOf } = setUp({ tool: mail(options) });
    const pending = await pendingOf(ADA);
    await expect(executor.grant(pending, { uses: 5 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(executor.grantChoices(pending)).toEqual([]);
  }
  const raised = setUp({
    tool: mail({
      dangerFor: ((i: { to: string }) => (i.to === 'all' ? 'high' : 'low')) as never,
    }),
  });
  await raised.executor.grant(await raised.pendingOf(ADA), { uses: 5 });
  expect([await raised.statusOf(ADA), await raised.statusOf({ to: 'all' })]).toEqual([
    'ok',
    'approval_required',
  ]);
  const ruled = setUp({
    policy: { rules: [{ name: 'bosses', verdict: 'confirm', input: { to: 'boss' } }] },
  });
  await ruled.executor.grant(await ruled.pendingOf(ADA), { uses: 5 });
  expect([await ruled.statusOf(ADA), await ruled.statusOf({ to: 'boss' })]).toEqual([
    'ok',
    'approval_required',
  ]);
});

it("a grant ends when its tool's definition changes or its store restarts", async () => {
  const { executor, registry, statusOf, pendingOf } = setUp();
  await executor.grant(await pendingOf(ADA), { uses: 5 });
  registry.register(mail({ description: 'Mails more' }), { replace: true });
  expect(await statusOf(ADA)).toBe('approval_required');
  const store = new MemoryStateStore();
  const moved = setUp({ store });
  await moved.executor.grant(await moved.pendingOf(ADA), { uses: 5 });
  const now = store.now.bind(store);
  store.now = async () => ({ ...(await now()), identity: 'restarted' });
  expect(await moved.statusOf(ADA)).not.toBe('ok');
});

it('a grant that somebody else changed in the store is ignored', async () => {
  const store = new MemoryStateStore();
  const { executor, statusOf, pendingOf } = setUp({ store });
  const { grant } = await executor.grant(await pendingOf(ADA), { input: ADA });
  const text = (await store.get(`grant:${grant.id}`))!;
  for (const forged of [text.replace('"ada"', '"eve"'), 'rubbish', '{}'])
    expect(
      await store.compareAndSet(`grant:${grant.id}`, await store.get(`grant:${grant.id}`), forged),
    ).toBe(true);
  expect(await statusOf({ to: 'eve' })).toBe('approval_required');
  expect(await statusOf(ADA)).toBe('approval_required');
});

it('a user can answer an approval request with a grant, which emits an event', async () => {
  const { executor, call } = setUp();
  const states: unknown[] = [];
  executor.on((event) => event.type === 'approval' && states.push(event.state));
  let asked = 0;
  const confirm = () => ((asked += 1), { grant: { uses: 2 } });
  for (let n = 0; n < 4; n++)
    expect((await executor.execute(call({ to: `${n}` }), { ...IN, confirm })).status).toBe('ok');
  expect(asked).toBe(2);
  expect(states.filter((state) => state === 'covered')).toHaveLength(2);
  expect(executor.metrics.approvals).toMatchObject({ asked: 2, granted: 2, coveredByGrants: 2 });
});

it('users are offered a grant for equal arguments, and a grant for any arguments only if the tool sends nothing outside', async () => {
  const inside = setUp();
  expect(
    inside.executor.grantChoices(await inside.pendingOf(ADA)).map(({ scope }) => scope),
  ).toEqual([{ input: ADA }, { uses: 5 }]);
  const outside = setUp({ tool: mail({ sends: 'outside' }) });
  const pending = await outside.pendingOf(ADA);
  const [choice, ...others] = outside.executor.grantChoices(pending);
  expect(others).toEqual([]);
  await outside.executor.grant(pending, choice!.scope);
  expect([
    await outside.statusOf(ADA),
    await outside.statusOf({ to: 'eve' }),
    await outside.statusOf({ ...ADA, text: 'x' }),
  ]).toEqual(['ok', 'approval_required', 'approval_required']);
  const high = setUp({ tool: mail({ dangerLevel: 'high' }) });
  expect(high.executor.grantChoices(await high.pendingOf(ADA))).toHaveLength(1);
});
