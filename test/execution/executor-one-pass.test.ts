import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type Decision,
  defineTool,
  type Policy,
  SafetyPolicy,
  ToolExecutor,
  type ToolExecutorOptions,
  ToolMetadataRegistry,
  type ToolOptions,
} from '../../src/index.js';
import { brief, Gate, settled, setup, writer } from './fixtures/executor-setup.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** A tool whose schema counts how often it is asked, and a policy that does. */
function counting(
  verdict: Decision['verdict'] = 'allow',
  options: Partial<ToolExecutorOptions> = {},
  extra: object = {},
) {
  const counts = { checks: 0, decisions: 0, runs: 0 };
  const inputSchema = z.object({ key: z.string() }).refine(() => ++counts.checks > 0);
  const tool = defineTool({
    name: 'note',
    description: 'Notes a text',
    inputSchema,
    accessMode: 'write',
    allowParallel: true,
    ...extra,
    execute: ({ key }) => (counts.runs++, key),
  });
  const policy: Policy = {
    decide: () => (counts.decisions++, { verdict, reason: 'a test', rule: 'test', danger: 'low' }),
  };
  return { ...setup([tool], { policy, ...options }), counts };
}

const call = { id: '1', name: 'note', input: { key: 'a' } };
const ONE = { checks: 1, decisions: 1, runs: 1 };

describe('a call takes one pass: one check and one decision', () => {
  it('when execute makes it', async () => {
    const { executor, counts } = counting();
    expect(brief(await executor.execute(call))).toBe('ok "a"');
    expect(counts).toEqual(ONE);
  });

  it('when confirm approves it as it is', async () => {
    const { executor, counts } = counting('confirm', { confirm: () => true });
    expect(brief(await executor.execute(call))).toBe('ok "a"');
    expect(counts).toEqual(ONE);
  });

  it('when executeAll plans it by its conflict keys', async () => {
    const { executor, counts } = counting(
      'allow',
      {},
      { conflictKeys: ({ key }: { readonly key: string }) => [key] },
    );
    const outcomes = await executor.executeAll([
      call,
      { ...call, id: '2' },
      { ...call, id: '3', input: { key: 'b' } },
    ]);
    expect(outcomes.map(brief)).toEqual(['ok "a"', 'ok "a"', 'ok "b"']);
    expect(counts).toEqual({ checks: 3, decisions: 3, runs: 3 });
  });

  it('and its tool is asked once what it touches: the plan and the rules go by one answer', async () => {
    let asked = 0;
    const inputSchema = z.object({ key: z.string() });
    const tool = defineTool({
      name: 'note',
      description: 'Notes a text',
      inputSchema,
      accessMode: 'write',
      allowParallel: true,
      conflictKeys: ({ key }) => (asked++ === 0 ? [key] : ['other']),
      execute: ({ key }) => key,
    });
    const registry = new ToolMetadataRegistry();
    registry.register(tool);
    const policy = new SafetyPolicy({
      registry,
      rules: [
        { verdict: 'deny', touches: 'write:b' },
        { verdict: 'deny', touches: 'write:a' },
        { verdict: 'allow' },
      ],
    });
    const executor = new ToolExecutor({ registry, policy });
    expect((await executor.executeAll([call])).map(brief)).toEqual(['denied']);
    expect(asked).toBe(1);
  });

  it('when executeAll asks for approval of each call of a batch', async () => {
    const { executor, counts } = counting(
      'confirm',
      { confirm: () => true },
      { conflictKeys: ({ key }: { readonly key: string }) => [key] },
    );
    await executor.executeAll([call, { ...call, id: '2', input: { key: 'b' } }]);
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 2 });
  });

  it('and another one when confirm changes its arguments', async () => {
    const { executor, counts } = counting('confirm', { confirm: () => ({ input: { key: 'b' } }) });
    expect(brief(await executor.execute(call))).toBe('ok "b"');
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });

  it('and another one when it comes back with an approval', async () => {
    const { executor, counts } = counting('confirm');
    const outcome = await executor.execute(call);
    if (outcome.status !== 'approval_required') throw new Error(brief(outcome));
    expect(counts).toEqual({ checks: 1, decisions: 1, runs: 0 });
    expect(
      brief(await executor.execute(call, { approval: await executor.approve(outcome.pending) })),
    ).toBe('ok "a"');
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });
});

describe('a decision for a call that waits for its turn', () => {
  /** A tool that runs one call at a time, and a policy whose verdict changes while the second call waits. */
  async function waitingFor(
    ms: number,
    later: Decision['verdict'],
    options: Partial<ToolExecutorOptions> = {},
  ) {
    let verdict: Decision['verdict'] = 'allow';
    let decisions = 0;
    const gate = new Gate<string>();
    const runs: string[] = [];
    const pay = writer(
      'pay',
      (input) => (
        runs.push((input as { readonly to?: string }).to!),
        runs.length === 1 ? gate.promise : 'paid'
      ),
      { allowParallel: false, timeoutMs: 600_000 },
    );
    const policy: Policy = {
      decide: () => (decisions++, { verdict, reason: 'a test', rule: 'test', danger: 'low' }),
    };
    const world = setup([pay], { policy, ...options });
    const [first, second] = ['ada', 'bob'].map((to) =>
      world.executor.execute({ id: to, name: 'pay', input: { to } }),
    );
    await settled();
    verdict = later;
    await world.clock.advanceAsync(ms);
    gate.open('paid');
    await first;
    return { ...world, outcome: await second!, runs, decisions };
  }

  it('counts for five seconds, then the policy is asked again before the call starts', async () => {
    const recent = await waitingFor(4_999, 'deny');
    expect([brief(recent.outcome), recent.decisions, recent.runs]).toEqual([
      'ok "paid"',
      2,
      ['ada', 'bob'],
    ]);
    const old = await waitingFor(5_000, 'deny');
    expect([brief(old.outcome), old.decisions, old.runs]).toEqual(['denied', 3, ['ada']]);
    const same = await waitingFor(60_000, 'allow');
    expect([brief(same.outcome), same.decisions, same.runs]).toEqual([
      'ok "paid"',
      3,
      ['ada', 'bob'],
    ]);
  });

  it('that turned into one that needs approval is pending, or runs when the user approves it', async () => {
    const pending = await waitingFor(60_000, 'confirm');
    expect([brief(pending.outcome), pending.decisions, pending.runs]).toEqual([
      'approval_required',
      3,
      ['ada'],
    ]);
    let asked = 0;
    const approved = await waitingFor(60_000, 'confirm', { confirm: () => ++asked > 0 });
    expect([brief(approved.outcome), asked, approved.runs]).toEqual([
      'ok "paid"',
      1,
      ['ada', 'bob'],
    ]);
    expect(approved.events.filter(({ type }) => type === 'call-settled')).toHaveLength(2);
  });
});

describe('a tool that is replaced after its call was judged', () => {
  const other = defineTool({
    name: 'note',
    description: 'Transfers money',
    inputSchema: z.object({ key: z.string() }),
    accessMode: 'write',
    execute: () => 'transferred',
  });

  it('is not run when the call waited for its turn, nor is the other', async () => {
    const { executor, registry, counts } = counting(
      'allow',
      { maxConcurrent: 1 },
      { allowParallel: false },
    );
    let replaced = false;
    executor.on(({ type }) => {
      if (type !== 'call-started' || replaced) return;
      replaced = true;
      registry.register(other, { replace: true });
    });
    const [first, second] = await Promise.all([
      executor.execute(call),
      executor.execute({ ...call, id: '2' }),
    ]);
    expect(brief(first)).toBe('ok "a"');
    expect(second).toMatchObject({ status: 'error', code: 'TOOL_CHANGED', attempts: 0 });
    expect(counts.runs).toBe(1);
    expect(brief(await executor.execute({ ...call, id: '3' }))).toBe('ok "transferred"');
  });

  it('is not run when that happens right before its start', async () => {
    const { executor, registry, counts } = counting();
    const onStart = () => void registry.register(other, { replace: true });
    expect(await executor.execute(call, { onStart })).toMatchObject({
      status: 'error',
      code: 'TOOL_CHANGED',
      attempts: 0,
    });
    expect(counts.runs).toBe(0);
  });
});

describe('the policy', () => {
  const decided = async (inputSchema: ToolOptions['inputSchema'], input: unknown) => {
    const seen: unknown[] = [];
    const tool = defineTool({
      name: 'note',
      description: 'Notes',
      inputSchema,
      accessMode: 'readonly',
      dangerFor: (given) => (seen.push(given), 'low'),
      execute: (given) => void seen.push(given),
    });
    const { executor } = setup([tool]);
    expect(brief(await executor.execute({ id: '1', name: 'note', input }))).toBe('ok null');
    return seen;
  };

  it('judges the very copy that the tool gets, for JSON Schema and for zod', async () => {
    for (const schema of [
      { type: 'object' },
      z.object({ list: z.array(z.object({ at: z.number() })) }),
    ]) {
      const [judged, got] = await decided(schema, { list: [{ at: 1 }] });
      expect(judged).toBe(got);
      expect(Object.isFrozen((got as { list: object[] }).list[0])).toBe(true);
    }
  });

  it.each<readonly [string, () => unknown]>([
    [
      'a getter',
      () => ({
        get at() {
          return Math.random();
        },
      }),
    ],
    [
      'a getter further down',
      () => ({
        list: [
          {
            get at() {
              return Math.random();
            },
          },
        ],
      }),
    ],
  ])('judges a copy of its own when a schema makes %s', async (_, make) => {
    const [judged, got] = await decided(z.object({}).transform(make), {});
    expect(judged).not.toBe(got);
    expect(JSON.stringify(judged)).toBe(JSON.stringify(judged));
  });

  it('is not shown one value and the tool another by a proxy that a schema makes: once frozen, a proxy that lies can only fail', async () => {
    let reads = 0;
    const lying = () =>
      new Proxy(
        { at: 0 },
        { get: (target, key): unknown => (key === 'at' ? ++reads : Reflect.get(target, key)) },
      );
    const seen: number[] = [];
    const read = (given: { at: number }) => void seen.push(given.at);
    const tool = defineTool({
      name: 'note',
      description: 'Notes',
      inputSchema: z.object({}).transform(lying),
      accessMode: 'readonly',
      dangerFor: (given) => (read(given), 'low'),
      execute: read,
    });
    const { executor } = setup([tool]);
    expect((await executor.execute({ id: '1', name: 'note', input: {} })).status).not.toBe('ok');
    expect(seen).toEqual([]);
  });
});

describe('a checked call', () => {
  it('runs without being checked or decided over again', async () => {
    for (const verdict of ['allow', 'confirm'] as const) {
      const { executor, counts, events } = counting(verdict, { confirm: () => true });
      const checked = await executor.check(call, { principal: 'ada', scopes: ['x'] });
      expect(checked).toMatchObject({
        status: 'checked',
        id: '1',
        name: 'note',
        input: { key: 'a' },
        parsed: { key: 'a' },
        decision: { verdict, rule: 'test' },
      });
      expect(counts).toEqual({ checks: 1, decisions: 1, runs: 0 });
      if (checked.status !== 'checked') throw new Error(checked.status);
      expect(brief(await executor.execute(checked, { principal: 'ada', scopes: ['x'] }))).toBe(
        'ok "a"',
      );
      expect(counts).toEqual(ONE);
      expect(events.map(({ type }) => type).filter((type) => type !== 'approval')).toEqual([
        'decision',
        'call-started',
        'call-settled',
      ]);
    }
  });

  it('is read once, whatever getters and proxies answer later', async () => {
    let reads = 0;
    const { executor } = counting();
    const input = {
      get key() {
        return `read ${++reads}`;
      },
    };
    const checked = await executor.check({ id: '1', name: 'note', input });
    if (checked.status !== 'checked') throw new Error(checked.status);
    expect(brief(await executor.execute(checked))).toBe('ok "read 1"');
    expect(reads).toBe(1);
    expect(
      Object.isFrozen(checked) &&
        Object.isFrozen(checked.input) &&
        Object.isFrozen(checked.decision),
    ).toBe(true);
  });

  it('that is denied or refused is an outcome, told as one', async () => {
    const refusing = counting('deny');
    expect(await refusing.executor.check(call)).toMatchObject({
      status: 'denied',
      callId: '1',
      rule: 'test',
    });
    expect(refusing.events.map(({ type }) => type)).toEqual(['decision', 'call-settled']);
    const { executor, counts } = counting();
    for (const [wrong, code] of [
      [{ ...call, input: { key: 5 } }, 'INVALID_INPUT'],
      [{ ...call, name: 'none' }, 'TOOL_NOT_FOUND'],
      [{ id: '1', name: 'note', arguments: {} }, 'INVALID_INPUT'],
    ] as const) {
      expect(await executor.check(wrong as never)).toMatchObject({ status: 'error', code });
    }
    expect(await executor.check(call, { signal: AbortSignal.abort() })).toMatchObject({
      status: 'error',
      code: 'ABORTED',
    });
    expect(counts.runs).toBe(0);
  });

  it.each<readonly [string, (checked: object) => object]>([
    ['a copy', (checked) => ({ ...checked })],
    ['its JSON', (checked) => JSON.parse(JSON.stringify(checked)) as object],
    [
      'an object made from it',
      (checked) => Object.create(checked, Object.getOwnPropertyDescriptors(checked)) as object,
    ],
    ['a proxy', (checked) => new Proxy(checked, {})],
  ])('cannot be forged: %s is checked and decided over like any call', async (_, forge) => {
    const { executor, counts } = counting();
    const checked = await executor.check(call);
    await executor.execute(forge(checked) as typeof call);
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });

  it('is of one executor, and runs once; afterwards it is a call like any other', async () => {
    const [one, other] = [counting(), counting()];
    const checked = await one.executor.check(call);
    if (checked.status !== 'checked') throw new Error(checked.status);
    await other.executor.execute(checked);
    expect(other.counts).toEqual(ONE);
    await one.executor.execute(checked);
    await one.executor.execute(checked);
    expect(one.counts).toEqual({ checks: 2, decisions: 2, runs: 2 });
  });

  it.each<readonly [string, object, object]>([
    ['another principal', { principal: 'ada' }, { principal: 'bob' }],
    ['no principal', { principal: 'ada' }, {}],
    ['another persona', { persona: 'clerk' }, { persona: 'admin' }],
    ['other flags', { flags: ['read'] }, { flags: ['read', 'write'] }],
    ['other scopes', { scopes: ['read'] }, { scopes: ['read', 'write'] }],
    ['another mode', { mode: 'default' }, { mode: 'read-only' }],
    ['another conversation', { conversationId: 'a' }, { conversationId: 'b' }],
  ])('is checked again for %s', async (_, before, after) => {
    const { executor, counts } = counting();
    const checked = await executor.check(call, before);
    if (checked.status !== 'checked') throw new Error(checked.status);
    await executor.execute(checked, after);
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });

  it('is checked again when its tool was registered again, also when nothing declared differs', async () => {
    const { executor, registry, counts } = counting();
    const checked = await executor.check(call);
    registry.register(definitionOf({ ...registry.require('note').definition }), { replace: true });
    if (checked.status !== 'checked') throw new Error(checked.status);
    await executor.execute(checked);
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });

  it('is decided over again, but not checked, when it was not made for five seconds', async () => {
    const { executor, counts, clock } = counting();
    const checked = await executor.check(call);
    if (checked.status !== 'checked') throw new Error(checked.status);
    clock.advance(5_000);
    await executor.execute(checked);
    expect(counts).toEqual({ checks: 1, decisions: 2, runs: 1 });
  });

  it('that needs approval and has none is pending', async () => {
    const { executor, counts } = counting('confirm');
    const checked = await executor.check(call);
    if (checked.status !== 'checked') throw new Error(checked.status);
    const outcome = await executor.execute(checked);
    if (outcome.status !== 'approval_required') throw new Error(brief(outcome));
    expect(counts).toEqual({ checks: 1, decisions: 1, runs: 0 });
    expect(
      brief(await executor.execute(checked, { approval: await executor.approve(outcome.pending) })),
    ).toBe('ok "a"');
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 1 });
  });
});

describe('a policy of the call', () => {
  const deciding = (verdict: Decision['verdict']) => {
    const asked: unknown[] = [];
    const policy: Policy = {
      decide: ({ input }, context) => (
        asked.push([input, Object.keys(context)]),
        { verdict, reason: `own ${verdict}`, rule: 'own', danger: 'low' }
      ),
    };
    return { policy, asked };
  };

  it.each([
    ['allow', 'allow', 'ok'],
    ['allow', 'confirm', 'approval_required'],
    ['confirm', 'allow', 'approval_required'],
    ['confirm', 'deny', 'denied'],
    ['deny', 'allow', 'denied'],
  ] as const)(
    "and the executor's are each asked once, and the stricter decides: %s and %s give %s",
    async (executors, own, status) => {
      const { executor, counts } = counting(executors);
      const { policy, asked } = deciding(own);
      expect((await executor.execute(call, { policy, principal: 'ada' })).status).toBe(status);
      expect(counts.decisions).toBe(1);
      expect(asked).toEqual([[{ key: 'a' }, ['principal']]]);
      expect((await executor.dryRun([call], { policy }))[0]!.decision.verdict).toBe(
        { ok: 'allow', approval_required: 'confirm', denied: 'deny' }[status],
      );
    },
  );

  it('that is another than the one a checked call was decided by makes a whole pass', async () => {
    const { executor, counts } = counting();
    const checked = await executor.check(call, { policy: deciding('allow').policy });
    if (checked.status !== 'checked') throw new Error(checked.status);
    expect((await executor.execute(checked, { policy: deciding('deny').policy })).status).toBe(
      'denied',
    );
    expect(counts).toEqual({ checks: 2, decisions: 2, runs: 0 });
  });

  it('must be one', async () => {
    const { executor } = counting();
    expect(await executor.execute(call, { policy: {} as never })).toMatchObject({
      status: 'error',
      code: 'INVALID_ARGUMENT',
    });
  });
});
