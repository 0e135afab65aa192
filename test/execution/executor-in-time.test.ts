import { describe, expect, it } from 'vitest';
import type { Approval, ExecuteOptions, ToolOutcome } from '../../src/index.js';
import {
  allowAll,
  anyTool,
  brief,
  Gate,
  reader,
  setup,
  settled,
  writer,
  type Setup,
} from './fixtures/executor-setup.js';

const never = () => new Promise<never>(() => undefined);

function pendingOf(outcome: ToolOutcome) {
  if (outcome.status !== 'approval_required')
    throw new Error(`expected approval_required, found ${brief(outcome)}`);
  return outcome.pending;
}

describe('kept answers', () => {
  it('of a tool without a category are made stale by every write', async () => {
    let version = 0;
    const { executor } = setup(
      [
        reader('read', () => ++version, { cacheTtlMs: 60_000 }),
        writer('touch', () => 1, { category: 'files' }),
        writer('other', () => 1, { category: 'files', invalidates: ['notes'] }),
      ],
      { policy: allowAll },
    );
    for (const name of ['touch', 'other']) {
      const before = await executor.execute({ id: '1', name: 'read' });
      await executor.execute({ id: '2', name });
      expect(await executor.execute({ id: '3', name: 'read' })).toMatchObject({
        cached: false,
        value: (before as { value: number }).value + 1,
      });
    }
  });

  it('are waited for by all callers when the one whose run they wait for gives up', async () => {
    const gates = [new Gate<string>(), new Gate<string>()];
    let runs = 0;
    const { executor } = setup(
      [reader('read', () => gates[runs++]!.promise, { cacheTtlMs: 60_000 })],
      { maxConcurrent: 50 },
    );
    const controller = new AbortController();
    const first = executor.execute({ id: '0', name: 'read' }, { signal: controller.signal });
    const others = Array.from({ length: 20 }, (_, index) =>
      executor.execute({ id: `${index + 1}`, name: 'read' }),
    );
    await settled();
    controller.abort();
    await settled();
    gates[1]!.open('answer');
    expect(brief(await first)).toBe('error ABORTED');
    expect(new Set((await Promise.all(others)).map(brief))).toEqual(new Set(['ok "answer"']));
    expect(runs).toBe(2);
  });
});

describe('a tool whose calls run one at a time', () => {
  it('does not do so after a call of it ran out of time, until that one really ends', async () => {
    const gate = new Gate();
    let running = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
    };
    const { executor, clock } = setup([writer('write', work, { timeoutMs: 10 })], {
      policy: allowAll,
    });
    const first = executor.execute({ id: '1', name: 'write' });
    await clock.advanceAsync(10);
    expect(brief(await first)).toBe('error TIMEOUT');
    const second = executor.execute({ id: '2', name: 'write' });
    await settled();
    expect(most).toBe(1);
    gate.open();
    expect(brief(await second)).toBe('ok null');
    expect(most).toBe(1);
  });
});

describe('an approved call that waits for its turn', () => {
  it('does not run when its tool was removed meanwhile', async () => {
    for (const change of ['tool']) {
      const gate = new Gate();
      const ran: unknown[] = [];
      const { executor, registry } = setup(
        [
          writer('write', async (input) => {
            ran.push(input);
            await gate.promise;
          }),
        ],
        {
          policy: {
            decide: () => ({ verdict: 'confirm', reason: 'r', rule: 'x', danger: 'high' }),
          },
        },
      );
      const calls = [1, 2].map((n) => ({ id: `${n}`, name: 'write', input: { n } }));
      const approvals: Approval[] = [];
      for (const call of calls)
        approvals.push(await executor.approve(pendingOf(await executor.execute(call))));
      const running = calls.map((call, index) =>
        executor.execute(call, { approval: approvals[index]! }),
      );
      await settled();
      registry.unregister('write');
      gate.open();
      await Promise.all(running);
      expect(brief(await running[1]!), change).toBe('error TOOL_CHANGED');
      expect(ran).toEqual([{ n: 1 }]);
    }
  });
});

describe('executeAll with a person to ask', () => {
  it('runs a call with changed arguments after the others of its batch, and asks about one at a time', async () => {
    let running = 0;
    const log: string[] = [];
    const work = async (input: { key?: string }) => {
      log.push(`begin ${input.key} beside ${running++}`);
      await settled();
      running--;
    };
    const keys = {
      allowParallel: true,
      conflictKeys: (input: { key?: string }) => [input.key ?? ''],
    };
    const tools = [writer('write', work, keys), writer('plain', work, keys)];
    const { executor } = setup(tools, {
      policy: {
        decide: ({ name }) => ({
          verdict: name === 'write' ? 'confirm' : 'allow',
          reason: 'r',
          rule: 'x',
          danger: 'low',
        }),
      },
      confirm: ({ input }) =>
        (input as { key: string }).key === 'a' ? { input: { key: 'b' } } : true,
    });
    const outcomes = await executor.executeAll([
      { id: '1', name: 'write', input: { key: 'a' } },
      { id: '2', name: 'plain', input: { key: 'b' } },
      { id: '3', name: 'write', input: { key: 'c' } },
    ]);
    expect(outcomes.map(brief)).toEqual(['ok null', 'ok null', 'ok null']);
    expect(log).toEqual(['begin b beside 0', 'begin b beside 0', 'begin c beside 0']);
  });
});

describe('what watches calls', () => {
  it('cannot lose the outcome of a call that ran', async () => {
    for (const around of [
      (_: unknown, __: unknown, run: () => Promise<unknown>) =>
        run().then(() => Promise.reject(new Error('x'))),
      () => {
        throw new Error('x');
      },
      () => undefined,
      () => Promise.resolve('something else'),
    ]) {
      let runs = 0;
      const { executor } = setup([writer('write', () => ++runs)], {
        policy: allowAll,
        telemetry: { around } as never,
      });
      expect(brief(await executor.execute({ id: '1', name: 'write' }))).toBe('ok 1');
      expect(runs).toBe(1);
    }
  });
});

describe('a call in the words of another format', () => {
  it('is refused, and not run without its arguments', async () => {
    let runs = 0;
    const { executor } = setup([anyTool('work', () => ++runs)], { policy: allowAll });
    const outcome = await executor.execute({ id: '1', name: 'work', arguments: { a: 1 } } as never);
    expect(outcome).toMatchObject({ status: 'error', code: 'INVALID_INPUT' });
    expect(outcome.status === 'error' && outcome.message).toContain('got arguments');
    expect(runs).toBe(0);
  });
});

describe('what never settles around a call does not hold it past its deadline', () => {
  const outcomeAfter = async (
    ms: number,
    { executor, clock }: Setup,
    options: ExecuteOptions = {},
    name = 'read',
  ) => {
    let outcome: ToolOutcome | undefined;
    void executor.execute({ id: '1', name }, options).then((settled) => (outcome = settled));
    await clock.advanceAsync(ms);
    return outcome;
  };

  it('an onStart: the call ends with TIMEOUT, and the tool is not started', async () => {
    let runs = 0;
    const outcome = await outcomeAfter(
      1_000,
      setup([reader('read', () => ++runs)], { timeoutMs: 1_000 }),
      { onStart: never },
    );
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'TIMEOUT',
      attempts: 0,
      durationMs: 1_000,
      message: expect.stringContaining('onStart') as string,
    });
    expect(runs).toBe(0);
  });

  it.each<[string, () => void | Promise<void>, string]>([
    ['hangs', never, 'TIMEOUT'],
    [
      'throws',
      () => {
        throw new Error('no');
      },
      'EXECUTION_FAILED',
    ],
  ])(
    'an onStart that %s: the approval of the call still counts, once',
    async (_, onStart, code) => {
      let runs = 0;
      const { executor, clock, events } = setup([writer('save', () => ++runs)], {
        timeoutMs: 1_000,
      });
      const call = { id: '1', name: 'save' };
      const held = await executor.execute(call);
      const approval = await executor.approve(pendingOf(held));
      const failing = executor.execute(call, { approval, onStart });
      await clock.advanceAsync(1_000);
      expect(await failing).toMatchObject({ status: 'error', code, attempts: 0 });
      expect(await executor.execute(call, { approval, onStart: () => undefined })).toMatchObject({
        status: 'ok',
        value: 1,
      });
      let told = 0;
      expect(await executor.execute(call, { approval, onStart: () => void told++ })).toMatchObject({
        status: 'error',
        code: 'INVALID_APPROVAL',
      });
      expect([runs, told]).toEqual([1, 0]);
      expect(
        events.filter((event) => event.type === 'approval' && event.state === 'redeemed'),
      ).toHaveLength(1);
    },
  );
});
