import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type ExecuteOptions,
  type PendingApproval,
  type SafetyPolicyOptions,
  type ToolEvent,
  type ToolOptions,
} from '../../src/index.js';
import { Session, scriptedModel } from '../../src/chat.js';
import { MemoryStateStore, RedisStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { RedisServer, redisPresent, warnIfNoRedis } from '../state/redis-server.js';

warnIfNoRedis('grants in Redis');

const KEY = new Uint8Array(32).fill(7);
const put = (options: Partial<ToolOptions> = {}) =>
  defineTool({
    name: 'put',
    description: 'Puts a text',
    inputSchema: z.object({ path: z.string(), text: z.string().default('') }),
    accessMode: 'write',
    dangerLevel: 'medium',
    reads: [],
    sends: 'nowhere',
    conflictKeys: ({ path }) => ({ writes: [`file:${path}`] }),
    ...options,
    execute: () => 'put',
  });

function setUp({
  tool = put(),
  store = new MemoryStateStore(),
  policy = {},
}: {
  tool?: ReturnType<typeof put>;
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
  let id = 0;
  const call = (path: string) => ({ id: `c${(id += 1)}`, name: 'put', input: { path } });
  const statusOf = async (path: string, options: ExecuteOptions = IN) =>
    (await executor.execute(call(path), options)).status;
  const pendingOf = async (
    path: string,
    options: ExecuteOptions = IN,
  ): Promise<PendingApproval> => {
    const outcome = await executor.execute(call(path), options);
    if (outcome.status !== 'approval_required') throw new Error(JSON.stringify(outcome));
    return outcome.pending;
  };
  return { executor, registry, store, call, statusOf, pendingOf };
}
const IN = { conversationId: 'talk', principal: 'ada' };

describe('a grant', () => {
  it('lets further calls of the conversation run, and is named in the decision and the event', async () => {
    const { executor, statusOf, pendingOf, call } = setUp();
    const events: ToolEvent[] = [];
    executor.on((event) => events.push(event));
    const { approval, grant } = await executor.grant(await pendingOf('src/a.ts'), {
      touches: 'write:src/',
    });
    expect(approval.toolName).toBe('put');
    expect(await statusOf('src/b.ts')).toBe('ok');
    expect(await statusOf('docs/b.md')).toBe('approval_required');
    expect(
      events
        .filter(({ type }) => type === 'approval')
        .map((event) => [
          event.type === 'approval' && event.state,
          event.type === 'approval' && event.pendingId === grant.id,
        ]),
    ).toEqual([
      ['requested', false],
      ['granted', false],
      ['covered', true],
      ['requested', false],
    ]);
    const reason = `the grant ${grant.id} covers it: put: it can change something (access write)`;
    expect(await executor.dryRun([call('src/c.ts')], IN)).toMatchObject([
      { decision: { verdict: 'allow', rule: 'grant', reason } },
    ]);
    expect(await executor.check(call('src/c.ts'), IN)).toMatchObject({
      status: 'checked',
      decision: { verdict: 'allow', rule: 'grant' },
    });
  });

  it('is given by a user who is asked', async () => {
    const { executor, call } = setUp();
    let asked = 0;
    const confirm = () => ((asked += 1), { grant: { uses: 2 } });
    for (let n = 0; n < 4; n++)
      expect((await executor.execute(call(`${n}`), { ...IN, confirm })).status).toBe('ok');
    expect(asked).toBe(2);
    expect(executor.metrics.approvals).toMatchObject({
      asked: 2,
      granted: 2,
      denied: 0,
      coveredByGrants: 2,
      byTool: { put: { asked: 2 } },
      byConversation: { talk: { coveredByGrants: 2 } },
    });
    expect(
      await executor.execute(call('x'), { principal: 'eve', confirm: () => ({ grant: {} }) }),
    ).toMatchObject({
      status: 'denied',
      reason: expect.stringContaining('Expected uses or until') as string,
    });
  });

  it.each<[string, ExecuteOptions]>([
    ['another principal', { ...IN, principal: 'eve' }],
    ['nobody', { conversationId: 'talk' }],
    ['another conversation', { ...IN, conversationId: 'other' }],
    ['no conversation', { principal: 'ada' }],
  ])('covers no call for %s', async (_, options) => {
    const { executor, statusOf, pendingOf } = setUp();
    await executor.grant(await pendingOf('a'), {});
    expect([await statusOf('b'), await statusOf('b', options)]).toEqual([
      'ok',
      'approval_required',
    ]);
  });

  it('covers all conversations of its principal where it says so', async () => {
    const { executor, statusOf, pendingOf } = setUp();
    await executor.grant(await pendingOf('a'), { conversation: false, uses: 3 });
    expect([
      await statusOf('b', { ...IN, conversationId: 'other' }),
      await statusOf('b', { principal: 'ada' }),
    ]).toEqual(['ok', 'ok']);
  });

  it.each([
    'SRC/a.ts',
    'src/../secret',
    'srс/a.ts',
    'lib/src/a.ts',
    ' src/a.ts',
    '__proto__',
    'src/../src/../x',
  ])('for a folder is not stretched to %j', async (path) => {
    const { executor, statusOf, pendingOf } = setUp();
    await executor.grant(await pendingOf('src/a.ts'), { touches: 'write:src/' });
    expect(await statusOf(path)).toBe('approval_required');
  });

  it('for arguments covers those alone, and no call that says nothing of what it touches', async () => {
    const { executor, call } = setUp();
    const confirm = () => ({ grant: { input: { text: 'draft *' } } });
    const run = async (text: string) =>
      (
        await executor.execute(
          { ...call('a'), input: { path: 'a', text } },
          text === 'first' ? { ...IN, confirm } : IN,
        )
      ).status;
    expect([await run('first'), await run('draft 1'), await run('final')]).toEqual([
      'ok',
      'ok',
      'approval_required',
    ]);
    const { conflictKeys: _, ...silent } = put().metadata ?? {};
    const other = setUp({
      tool: defineTool({
        ...silent,
        name: 'put',
        description: 'Puts',
        inputSchema: z.object({ path: z.string() }),
        accessMode: 'write',
        execute: () => 1,
      }) as never,
    });
    await other.executor.grant(await other.pendingOf('src/a'), { touches: 'write:src/' });
    expect(await other.statusOf('src/a')).toBe('approval_required');
  });

  it('ends with the definition of its tool, also one that declares the same', async () => {
    const { executor, registry, statusOf, pendingOf } = setUp();
    await executor.grant(await pendingOf('a'), {});
    expect(await statusOf('b')).toBe('ok');
    registry.register(put(), { replace: true });
    expect(await statusOf('b')).toBe('approval_required');
    registry.register(put({ description: 'Puts more' }), { replace: true });
    expect(await statusOf('b')).toBe('approval_required');
  });

  it('covers no greater danger, no tool that requires consent, and no other reason to ask', async () => {
    const dangerous = setUp({
      tool: put({
        dangerFor: (input) => ((input as { path: string }).path === 'worse' ? 'high' : 'medium'),
      }),
    });
    await dangerous.executor.grant(await dangerous.pendingOf('a'), {});
    expect([await dangerous.statusOf('b'), await dangerous.statusOf('worse')]).toEqual([
      'ok',
      'approval_required',
    ]);
    const consent = setUp({ tool: put({ requiresConsent: true }) });
    await consent.executor.grant(await consent.pendingOf('a'), {});
    expect(await consent.statusOf('b')).toBe('approval_required');
    const ruled = setUp({
      policy: { rules: [{ name: 'locks', verdict: 'confirm', touches: 'write:*.lock' }] },
    });
    await ruled.executor.grant(await ruled.pendingOf('a'), {});
    expect([await ruled.statusOf('b'), await ruled.statusOf('b.lock')]).toEqual([
      'ok',
      'approval_required',
    ]);
  });

  it('that was given before untrusted content was read does not cover what that may have brought about', async () => {
    const { executor, registry, statusOf, pendingOf } = setUp();
    registry.register(
      defineTool({
        name: 'fetch',
        description: 'Fetches',
        inputSchema: {},
        accessMode: 'readonly',
        reads: ['untrusted'],
        execute: () => 1,
      }),
    );
    await executor.grant(await pendingOf('a'), {});
    expect(await statusOf('b')).toBe('ok');
    await executor.execute({ id: 'f', name: 'fetch' }, IN);
    const pending = await pendingOf('b');
    expect(pending.rule).toBe('flow-influenced');
    await executor.grant(pending, {});
    expect(await statusOf('c')).toBe('ok');
  });

  it('is counted by all processes together, ends in time, and when it is revoked', async () => {
    const clock = new ManualClock(1_000);
    const store = new MemoryStateStore({ clock });
    const [one, other] = [setUp({ store }), setUp({ store })];
    const { grant } = await one.executor.grant(await one.pendingOf('a'), { uses: 3 });
    const statuses = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 ? one : other).statusOf(`${n}`)),
    );
    expect(statuses.filter((status) => status === 'ok')).toHaveLength(3);
    expect(await other.executor.grants()).toMatchObject([{ id: grant.id, used: 3, uses: 3 }]);
    await one.executor.grant(await one.pendingOf('a'), { until: 5_000 });
    expect(await other.statusOf('b')).toBe('ok');
    clock.advance(4_000);
    expect(await other.statusOf('b')).toBe('approval_required');
    const { grant: third } = await one.executor.grant(await one.pendingOf('a'), {});
    expect([
      await other.statusOf('b'),
      await other.executor.revokeGrant(third.id),
      await other.executor.revokeGrant(third.id),
      await one.statusOf('b'),
    ]).toEqual(['ok', true, false, 'approval_required']);
  });

  it('that is revoked while its call waits lets it not run', async () => {
    const { executor, pendingOf, call } = setUp({
      tool: put({ allowParallel: false, conflictKeys: () => ({ writes: [] }) }),
    });
    const { grant } = await executor.grant(await pendingOf('a'), {});
    const checked = await executor.check(call('b'), IN);
    await executor.revokeGrant(grant.id);
    expect(await executor.execute(checked as never, IN)).toMatchObject({
      status: 'approval_required',
    });
  });

  it('that is revoked while its call waits for a place lets it not run', async () => {
    let open!: (value: string) => void;
    const gate = new Promise<string>((resolve) => (open = resolve));
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'put',
        description: 'Puts a text',
        inputSchema: z.object({ path: z.string() }),
        accessMode: 'write',
        dangerLevel: 'medium',
        execute: () => gate,
      }),
    );
    const executor = new ToolExecutor({ registry, maxConcurrent: 1 });
    const call = (id: string) => ({ id, name: 'put', input: { path: id } });
    const asked = await executor.execute(call('0'), IN);
    const { grant } = await executor.grant((asked as { pending: PendingApproval }).pending, {});
    const started = new Promise<void>((resolve) =>
      executor.on((event) => event.type === 'call-started' && resolve()),
    );
    const first = executor.execute(call('1'), IN);
    await started;
    const second = executor.execute(call('2'), IN);
    await executor.revokeGrant(grant.id);
    open('put');
    expect([(await first).status, (await second).status]).toEqual(['ok', 'approval_required']);
  });

  it('covers calls by another name of the tool', async () => {
    const { executor, pendingOf, call } = setUp({ tool: put({ aliases: ['put_text'] }) });
    await executor.grant(await pendingOf('a'), { touches: 'write:a' });
    expect((await executor.execute({ ...call('a'), name: 'put_text' }, IN)).status).toBe('ok');
    expect((await executor.execute({ ...call('b'), name: 'put_text' }, IN)).status).toBe(
      'approval_required',
    );
  });

  it.skipIf(!redisPresent)(
    'is counted in a real Redis by executors that share it (skipped without redis-server)',
    async () => {
      const server = await RedisServer.start();
      const stores = await Promise.all(
        [1, 2].map(async () => RedisStateStore.connect({ url: server.url, timeoutMs: 10_000 })),
      );
      try {
        const [one, other] = stores.map((store) => setUp({ store }));
        await one!.executor.grant(await one!.pendingOf('a'), { uses: 3 });
        const statuses = await Promise.all(
          Array.from({ length: 8 }, (_, n) => (n % 2 ? one : other)!.statusOf(`${n}`)),
        );
        expect(statuses.filter((status) => status === 'ok')).toHaveLength(3);
        const { grant } = await other!.executor.grant(await other!.pendingOf('a'), {});
        expect([
          await one!.statusOf('b'),
          await one!.executor.revokeGrant(grant.id),
          await other!.statusOf('b'),
        ]).toEqual(['ok', true, 'approval_required']);
      } finally {
        await Promise.all(stores.map(async (store) => store.close()));
        await server.stop();
      }
    },
  );

  it('that others wrote or changed in the store counts for nothing', async () => {
    const { executor, store, statusOf, pendingOf } = setUp();
    await executor.grant(await pendingOf('a'), { touches: 'write:src/' });
    for (const key of await store.list('grant:')) {
      const text = (await store.get(key))!;
      await store.compareAndSet(key, text, text.replace('write:src/', 'write:*'));
    }
    expect(await statusOf('src/b')).toBe('approval_required');
    expect(await executor.grants()).toEqual([]);
    for (const broken of ['{', '[1]', '[{"id":1}]', 'null', '[{"id":"x","expiresAt":1e300}]']) {
      for (const key of await store.list('grant:'))
        await store.compareAndSet(key, await store.get(key), broken);
      expect(await statusOf('src/b')).toBe('approval_required');
    }
  });

  it('with other arguments runs those', async () => {
    const { executor, call } = setUp();
    const ran: unknown[] = [];
    executor.use(({ input }, run) => (ran.push(input), run()));
    expect(
      await executor.execute(call('original'), {
        ...IN,
        confirm: ({ input }) =>
          (input as { path: string }).path === 'original'
            ? { input: { path: 'edited' }, grant: { uses: 1 } }
            : false,
      }),
    ).toMatchObject({ status: 'ok' });
    expect(ran).toEqual([{ path: 'edited' }]);
    expect(await executor.execute(call('b'), IN)).toMatchObject({ status: 'ok' });
  });

  it('does not answer for a policy of the call that asks for a reason of its own', async () => {
    const { executor, pendingOf, statusOf } = setUp();
    await executor.grant(await pendingOf('a'), {});
    const policy = {
      decide: () =>
        ({ verdict: 'confirm', rule: 'legal-hold', reason: 'legal hold', danger: 'low' }) as const,
    };
    expect([await statusOf('b'), await statusOf('b', { ...IN, policy })]).toEqual([
      'ok',
      'approval_required',
    ]);
  });

  it('loses no use to a call that does not run', async () => {
    const { executor, pendingOf, call } = setUp();
    await executor.grant(await pendingOf('a'), { uses: 2 });
    const failing = () => {
      throw new Error('not now');
    };
    for (let n = 0; n < 3; n++)
      expect((await executor.execute(call(`${n}`), { ...IN, onStart: failing })).status).toBe(
        'error',
      );
    expect(await executor.grants()).toMatchObject([{ used: 0 }]);
  });

  it('that cannot be given leaves the question open, and others are listed by whose they are', async () => {
    const { executor, pendingOf } = setUp();
    const pending = await pendingOf('a');
    await expect(executor.grant(pending, { until: 5 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(executor.metrics.approvals.granted).toBe(0);
    const { grant } = await executor.grant(pending, {});
    await expect(executor.grant(pending, {})).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    expect(await executor.grants({ principal: 'ada', toolName: 'put' })).toMatchObject([
      { id: grant.id },
    ]);
    expect(await executor.grants({ principal: 'eve' })).toEqual([]);
  });

  it('is never there for a question that was answered or is over, not even for a moment', async () => {
    const { executor, store, pendingOf } = setUp();
    const written: string[] = [];
    const write = store.compareAndSet.bind(store);
    store.compareAndSet = (key, ...rest) => (
      key.startsWith('grant:') && written.push(key),
      write(key, ...rest)
    );
    const [denied, approved] = [await pendingOf('a'), await pendingOf('b')];
    await executor.deny(denied);
    await executor.approve(approved);
    for (const pending of [denied, approved])
      await expect(executor.grant(pending, {})).rejects.toMatchObject({ code: 'INVALID_APPROVAL' });
    expect(written).toEqual([]);
  });

  it('that was revoked costs no budget and is told to nobody', async () => {
    const { executor, pendingOf, call } = setUp();
    const { grant } = await executor.grant(await pendingOf('a'), {});
    const checked = await executor.check(call('b'), IN);
    await executor.revokeGrant(grant.id);
    let started = 0;
    expect(
      await executor.execute(checked as never, { ...IN, onStart: () => void (started += 1) }),
    ).toMatchObject({ status: 'approval_required' });
    expect(started).toBe(0);
  });

  it('is given for no rule without a name, in whose place another may stand later', async () => {
    const { executor, pendingOf } = setUp({
      policy: { rules: [{ verdict: 'confirm', tools: 'put' }] },
    });
    const pending = await pendingOf('a');
    expect([pending.rule, await executor.grantChoices(pending)]).toEqual(['rule 1', []]);
    await expect(executor.grant(pending, {})).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('Give the rule a name') as string,
    });
  });

  it('answers no question of an operator’s rule: none can be named like a built-in one', () => {
    const registry = new ToolMetadataRegistry();
    for (const name of ['axes', 'flow-influenced', 'flow-leaks', 'grant'])
      expect(() => new SafetyPolicy({ registry, rules: [{ name, verdict: 'confirm' }] })).toThrow(
        'a name that no built-in rule has',
      );
    expect(
      () =>
        new SafetyPolicy({ registry, rules: [{ name: 'flow-leaks-of-mail', verdict: 'confirm' }] }),
    ).not.toThrow();
  });

  it('is counted against a bound for its own conversation alone, as long as calls can use it', async () => {
    const { executor, pendingOf, statusOf } = setUp();
    for (let n = 0; n < 100; n++)
      await executor.grant(await pendingOf('a', { conversationId: 'talk' }), {
        input: { path: `${n}` },
      });
    await expect(
      executor.grant(await pendingOf('a', { conversationId: 'talk' }), {}),
    ).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    await executor.grant(await pendingOf('a', { conversationId: 'other' }), {});
    expect([
      await statusOf('b', { conversationId: 'other' }),
      await statusOf('b', { conversationId: 'talk' }),
    ]).toEqual(['ok', 'approval_required']);
    for (let n = 0; n < 101; n++) {
      await executor.grant(await pendingOf(`a${n}`, { conversationId: 'long' }), { uses: 1 });
      expect(await statusOf(`b${n}`, { conversationId: 'long' })).toBe('ok');
    }
    expect(await executor.grants({ conversationId: 'other' })).toHaveLength(1);
  });

  it('is refused for scopes that bound nothing or are malformed, and for pending calls that were changed', async () => {
    const { executor, pendingOf } = setUp();
    const pending = await pendingOf('a');
    for (const scope of [
      { conversation: false },
      { uses: 0 },
      { uses: 1_001 },
      { until: 1 },
      { touches: 'src/' },
      { touches: 'write:**' },
      { input: { path: {} } },
      { forever: true },
      { until: Infinity },
      { until: NaN },
      { touches: undefined },
      { uses: undefined },
      null,
    ]) {
      await expect(executor.grant(pending, scope as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    await expect(executor.grant({ ...pending, toolName: 'other' }, {})).rejects.toMatchObject({
      code: 'INVALID_APPROVAL',
    });
  });

  it('never makes a denied call run, and never asks about an allowed one', async () => {
    const rule = fc.record({
      verdict: fc.constantFrom('allow' as const, 'confirm' as const, 'deny' as const),
      touches: fc.constantFrom('write:a*', 'write:*b', 'write:*'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(rule, { maxLength: 4 }),
        fc.constantFrom('a', 'ab', 'b', 'c'),
        fc.constantFrom({}, { uses: 1 }, { touches: 'write:a*' }),
        async (rules, path, scope) => {
          const { executor, call, registry } = setUp({ policy: { rules } });
          const policy = new SafetyPolicy({ registry, rules });
          await executor.execute(call('c'), { ...IN, confirm: () => ({ grant: scope }) });
          const { verdict } = policy.decide(call(path), { ...IN, flow: {} });
          const { status } = await executor.execute(call(path), IN);
          if (verdict === 'deny') expect(status).toBe('denied');
          if (verdict === 'allow') expect(status).toBe('ok');
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the choices of a user who is asked', () => {
  it('are the narrowest first: what the call touches, its folder, a few calls', async () => {
    const { executor, pendingOf } = setUp();
    expect(await executor.grantChoices(await pendingOf('src/*a.ts'))).toEqual([
      {
        label: 'put of file:src/*a.ts, for the rest of this conversation',
        scope: { touches: ['write:file:src/\\*a.ts'] },
      },
      {
        label: 'put of everything below file:src/, for the rest of this conversation',
        scope: { touches: 'write:file:src/' },
      },
      { label: '5 more calls of put, for the rest of this conversation', scope: { uses: 5 } },
    ]);
    const outside = await executor.grantChoices(await pendingOf('a', {}));
    expect(outside.map(({ scope }) => [scope.conversation, typeof scope.until])).toEqual([
      [false, 'number'],
      [false, 'number'],
    ]);
    const consent = setUp({ tool: put({ requiresConsent: true }) });
    expect(await consent.executor.grantChoices(await consent.pendingOf('a'))).toEqual([]);
  });
});

type ScriptedAnswers = Extract<Parameters<typeof scriptedModel>[0], readonly unknown[]>;

describe('a session', () => {
  it('records further calls with an approval, also through JSON', async () => {
    const { registry } = setUp();
    const store = new MemoryStateStore();
    const engine = (...answers: ScriptedAnswers) => ({
      executor: new ToolExecutor({ registry, store, approvalKey: KEY }),
      model: scriptedModel([...answers]),
    });
    const calling = (id: string, path: string) => ({
      calls: [{ id, name: 'put', input: { path } }],
    });
    const { session } = await Session.create().start(engine(calling('a', 'src/a')), 'put it');
    const decided = session.approve('a', { grant: { touches: 'write:src/' } });
    if (!decided.ok) throw new Error(decided.error.message);
    const stored = Session.fromJSON(JSON.parse(JSON.stringify(decided.session)));
    const next = await stored.continue(engine(calling('b', 'src/b'), calling('c', 'docs/c')));
    expect(next.session.pending).toMatchObject([{ callId: 'c' }]);
  });
});
