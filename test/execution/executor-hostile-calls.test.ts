import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineTool,
  isToolError,
  ToolExecutor,
  ToolMetadataRegistry,
  type ExecuteOptions,
  type ToolCall,
} from '../../src/index.js';
import {
  allowAll,
  anyTool,
  brief,
  Gate,
  reader,
  setup,
  settled,
  writer,
} from './fixtures/executor-setup.js';

const throwing = (): never => {
  throw new Error('trap');
};

describe('a call object that is no call', () => {
  it.each([
    ['null', null],
    ['undefined', undefined],
    ['text', 'read'],
    ['nothing', {}],
    ['a number as its name', { id: '1', name: 5 }],
  ])('has one outcome and one pair of events: %s', async (_, call) => {
    const { executor, events } = setup([reader('read', () => 1)]);
    expect(brief(await executor.execute(call as unknown as ToolCall))).toBe('error TOOL_NOT_FOUND');
    expect(events.map(({ type }) => type)).toEqual(['decision', 'call-settled']);
  });

  it('with an input that fails when it is read is refused, and nothing runs', async () => {
    let runs = 0;
    const { executor, events } = setup([reader('read', () => runs++)]);
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    for (const input of [
      {
        get a() {
          return throwing();
        },
      },
      new Proxy({}, { ownKeys: throwing }),
      new Proxy({}, { getPrototypeOf: throwing }),
      revoked.proxy,
      { a: [new Proxy([], { get: throwing })] },
    ]) {
      expect(brief(await executor.execute({ id: '1', name: 'read', input }))).toBe(
        'error INVALID_INPUT',
      );
    }
    expect(runs).toBe(0);
    expect(events).toHaveLength(10);
  });

  it('gets an id of its own when it came without; an id that is no text is none', async () => {
    const { executor } = setup([reader('read', () => 1)]);
    const given = [
      { name: 'read' },
      { name: 'read' },
      { id: '', name: 'read' },
      { id: 7, name: 'read' } as unknown as ToolCall,
    ];
    const outcomes = [
      ...(await Promise.all(given.map((call) => executor.execute(call)))),
      ...(await executor.executeAll(given)),
    ];
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'ok'));
    expect(new Set(outcomes.map(({ callId }) => callId)).size).toBe(8);
    for (const { callId } of outcomes) expect(callId).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('without an id is approved under the id that it got', async () => {
    const { executor } = setup([writer('write', () => 1)]);
    const asked = await executor.execute({ name: 'write', input: {} });
    if (asked.status !== 'approval_required') throw new Error(asked.status);
    const approval = await executor.approve(asked.pending);
    expect(await executor.execute({ name: 'write', input: {} }, { approval })).toMatchObject({
      status: 'error',
      code: 'INVALID_APPROVAL',
    });
    expect(
      await executor.execute({ id: asked.callId, name: 'write', input: {} }, { approval }),
    ).toMatchObject({ status: 'ok', callId: asked.callId });
  });

  it('whose name answers differently each time is judged and run as one tool', async () => {
    const ran: string[] = [];
    const { executor } = setup([
      reader('harmless', () => ran.push('harmless')),
      writer('harmful', () => ran.push('harmful')),
    ]);
    for (let reads = 0; reads < 6; reads++) {
      let asked = 0;
      await executor.execute({
        id: '1',
        get name() {
          return asked++ < reads ? 'harmless' : 'harmful';
        },
      });
    }
    expect(ran).not.toContain('harmful');
  });
});

describe('options that are none', () => {
  it('are an outcome, not an exception', async () => {
    const { executor, events } = setup([reader('read', () => 1)]);
    const options = [
      null,
      'text',
      5,
      {
        get principal() {
          return throwing();
        },
      },
      new Proxy({}, { ownKeys: throwing }),
      { signal: {} },
      { signal: 5 },
    ];
    for (const each of options) {
      const before = events.filter(({ type }) => type === 'call-settled').length;
      expect(
        await executor.execute({ id: '1', name: 'read' }, each as unknown as ExecuteOptions).then(
          () => 'an outcome',
          () => 'an exception',
        ),
      ).toBe('an outcome');
      expect(events.filter(({ type }) => type === 'call-settled').length - before).toBe(1);
    }
  });

  it('leave no timer when their signal is no signal', async () => {
    const { executor, clock } = setup([reader('read', () => 1)]);
    await executor
      .execute({ id: '1', name: 'read' }, { signal: {} } as unknown as ExecuteOptions)
      .catch(() => undefined);
    expect(clock.pending).toBe(0);
  });

  it('are refused when one is unknown: a misspelt principal would be nobody', async () => {
    let runs = 0;
    const { executor } = setup([reader('read', () => runs++)]);
    expect(
      brief(
        await executor.execute({ id: '1', name: 'read' }, {
          principle: 'ada',
        } as unknown as ExecuteOptions),
      ),
    ).toBe('error INVALID_ARGUMENT');
    expect(runs).toBe(0);
  });

  it('do not let a call run for a principal that is no text', async () => {
    for (const policy of [undefined, allowAll]) {
      let runs = 0;
      const { executor } = setup(
        [reader('read', () => runs++)],
        policy === undefined ? {} : { policy },
      );
      for (const principal of [5, {}, ['ada'], null])
        await executor.execute({ id: '1', name: 'read' }, {
          principal,
        } as unknown as ExecuteOptions);
      expect(runs, policy === undefined ? 'own policy' : 'another policy').toBe(0);
    }
  });

  it.each([
    ['an unknown option', { colour: 1 }],
    ['NaN as a timeout', { timeoutMs: NaN }],
    ['an endless timeout', { timeoutMs: Infinity }],
    ['no timeout', { timeoutMs: 0 }],
    ['a timeout above a timer', { timeoutMs: 2 ** 31 }],
    ['half an attempt', { maxAttempts: 0.5 }],
    ['no places', { maxConcurrent: 0 }],
    ['a short key', { approvalKey: new Uint8Array(31) }],
    ['a budget without a limit', { budgets: [{ per: 'principal' }] }],
    ['a budget with an unknown field', { budgets: [{ per: 'principal', calls: 1, window: 5 }] }],
    ['a budget of NaN', { budgets: [{ per: 'principal', calls: NaN }] }],
    ['a negative budget', { budgets: [{ per: 'principal', calls: -1 }] }],
    ['a policy without decide', { policy: {} }],
    ['confirm as a boolean', { confirm: true }],
    ['a registry of another kind', { registry: {} }],
    ['a store without methods', { store: {} }],
    ['a clock without methods', { clock: {} }],
    ['telemetry without around', { telemetry: {} }],
    ['providers that are no factories', { providers: { a: 5 } }],
  ])('of the executor are refused: %s', (_, options) => {
    let error: unknown;
    try {
      new ToolExecutor({ registry: new ToolMetadataRegistry(), ...options } as never);
    } catch (thrown) {
      error = thrown;
    }
    expect(isToolError(error, 'INVALID_ARGUMENT')).toBe(true);
  });
});

describe('what was asked is what runs', () => {
  it('when the input is changed after execute was called', async () => {
    const received: unknown[] = [];
    const slowSchema = defineTool({
      name: 'slow_schema',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({ to: z.array(z.string()) }).refine(async () => true),
      execute: (input) => void received.push(input),
    });
    const gate = new Gate();
    const { executor } = setup([slowSchema, reader('read', (input) => void received.push(input))], {
      policy: { decide: async () => (await gate.promise, allowAll.decide()) },
    });
    const calls = ['slow_schema', 'read'].map((name) => ({
      id: name,
      name,
      input: { to: ['ada'] },
    }));
    const running = calls.map((call) => executor.execute(call));
    for (const call of calls) {
      call.input.to[0] = 'eve';
      call.name = 'other';
    }
    gate.open();
    await Promise.all(running);
    expect(received).toEqual([{ to: ['ada'] }, { to: ['ada'] }]);
  });

  it('when a shared input is changed while a call waits for its place', async () => {
    const received: unknown[] = [];
    const gate = new Gate();
    const { executor } = setup(
      [
        reader('read', async (input) => {
          received.push(structuredClone(input));
          await gate.promise;
        }),
      ],
      { maxConcurrent: 1 },
    );
    const input = { to: ['ada'] };
    const running = [
      executor.execute({ id: '1', name: 'read', input }),
      executor.execute({ id: '2', name: 'read', input }),
    ];
    await settled();
    input.to.push('eve');
    gate.open();
    await Promise.all(running);
    expect(received).toEqual([{ to: ['ada'] }, { to: ['ada'] }]);
  });

  it('when the calls given to executeAll are changed while earlier ones run', async () => {
    const received: unknown[] = [];
    const gate = new Gate();
    const { executor } = setup(
      [
        anyTool('first', () => gate.promise),
        reader('read', (input) => void received.push(input)),
        reader('other', () => void received.push('other')),
      ],
      { policy: allowAll },
    );
    const calls = [
      { id: '1', name: 'first', input: {} },
      { id: '2', name: 'read', input: { to: 'ada' } },
    ];
    const running = executor.executeAll(calls);
    await settled();
    calls[1]!.input = { to: 'eve' };
    calls[1]!.name = 'other';
    gate.open();
    await running;
    expect(received).toEqual([{ to: 'ada' }]);
  });

  it('when a handler tries to change its input for the next attempt', async () => {
    const received: unknown[] = [];
    const tool = defineTool({
      name: 'read',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({ list: z.array(z.string()) }),
      execute: (input) => {
        received.push(structuredClone(input));
        try {
          input.list.push('more');
        } catch {
          // Frozen.
        }
        if (received.length < 2) throw new Error('again');
      },
    });
    const { executor, clock } = setup([tool]);
    const running = executor.execute({ id: '1', name: 'read', input: { list: ['a'] } });
    await clock.advanceAsync(5_000);
    await running;
    expect(received).toEqual([{ list: ['a'] }, { list: ['a'] }]);
  });

  it('when a policy tries to change the input it judges', async () => {
    let received: unknown;
    const { executor } = setup([reader('read', (input) => void (received = input))], {
      policy: {
        decide: ({ input }) => {
          try {
            (input as Record<string, unknown>)['to'] = 'eve';
          } catch {
            // Frozen.
          }
          return allowAll.decide();
        },
      },
    });
    await executor.execute({ id: '1', name: 'read', input: { to: 'ada' } });
    expect(received).toEqual({ to: 'ada' });
  });
});

describe('executeAll', () => {
  it('gives the outcomes in the order of the calls, however they end', async () => {
    const gates = [new Gate(), new Gate(), new Gate()];
    const { executor } = setup([
      reader('read', async ({ n }: { n?: number }) => (await gates[n!]!.promise, n)),
    ]);
    const running = executor.executeAll(
      [0, 1, 2].map((n) => ({ id: `${n}`, name: 'read', input: { n } })),
    );
    await settled();
    for (const n of [2, 0, 1]) {
      gates[n]!.open();
      await settled();
    }
    expect((await running).map(brief)).toEqual(['ok 0', 'ok 1', 'ok 2']);
  });

  it('runs writes in order and reads beside each other, as the plan says', async () => {
    const log: string[] = [];
    const tools = [
      reader('read', async (input) => {
        log.push(`read ${JSON.stringify(input)} begins`);
        await settled();
        log.push('read ends');
      }),
      writer('write', async () => {
        log.push('write begins');
        await settled();
        log.push('write ends');
      }),
    ];
    const { executor } = setup(tools, { policy: allowAll });
    await executor.executeAll([
      { id: '1', name: 'write' },
      { id: '2', name: 'write' },
      { id: '3', name: 'read', input: { a: 1 } },
      { id: '4', name: 'read', input: { a: 2 } },
    ]);
    expect(log).toEqual([
      'write begins',
      'write ends',
      'write begins',
      'write ends',
      'read {"a":1} begins',
      'read {"a":2} begins',
      'read ends',
      'read ends',
    ]);
  });

  it('refuses calls with the same id, before any runs', async () => {
    let runs = 0;
    const { executor } = setup([reader('read', () => runs++)]);
    await expect(
      executor.executeAll([
        { id: '1', name: 'read' },
        { id: '1', name: 'read' },
      ]),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(runs).toBe(0);
  });

  it('refuses what is no list of calls with INVALID_ARGUMENT', async () => {
    const { executor } = setup([reader('read', () => 1)]);
    for (const calls of [
      null,
      undefined,
      'text',
      5,
      {},
      [null],
      [undefined],
      [5],
      [{}],
      [{ id: '1' }],
    ]) {
      const said = await executor.executeAll(calls as ToolCall[]).then(
        () => 'outcomes',
        (error: unknown) => (isToolError(error) ? error.code : `another error: ${String(error)}`),
      );
      expect(said).toBe('INVALID_ARGUMENT');
    }
  });

  it('lets calls wait for a yes without holding up the others, and runs those that have one', async () => {
    const { executor } = setup([
      reader('read', () => 'read'),
      writer('write', ({ n }: { n?: number }) => n),
    ]);
    const calls = [
      { id: 'a', name: 'write', input: { n: 1 } },
      { id: 'b', name: 'write', input: { n: 2 } },
      { id: 'c', name: 'read' },
    ];
    const held = await executor.executeAll(calls);
    expect(held.map(brief)).toEqual(['approval_required', 'approval_required', 'ok "read"']);
    const approval = await executor.approve(
      (held[1] as Extract<(typeof held)[1], { status: 'approval_required' }>).pending,
    );
    expect((await executor.executeAll(calls, { approvals: [approval] })).map(brief)).toEqual([
      'approval_required',
      'ok 2',
      'ok "read"',
    ]);
  });

  it('of no calls is no outcomes', async () => {
    expect(await setup([]).executor.executeAll([])).toEqual([]);
  });
});

describe('dryRun', () => {
  it('says what would be decided and refused, and does nothing', async () => {
    let runs = 0;
    const { executor, events } = setup([
      reader('read', () => runs++, {
        aliases: ['cat'],
        inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
      }),
      writer('write', () => runs++),
    ]);
    const said = await executor.dryRun([
      { id: '1', name: 'cat' },
      { id: '2', name: 'write' },
      { id: '3', name: 'nope' },
      { id: '4', name: 'read', input: { n: 'x' } },
    ]);
    expect(
      said.map(({ callId, toolName, decision, refused }) => [
        callId,
        toolName,
        decision.verdict,
        refused === undefined,
      ]),
    ).toEqual([
      ['1', 'read', 'allow', true],
      ['2', 'write', 'confirm', true],
      ['3', 'nope', 'deny', true],
      ['4', 'read', 'allow', false],
    ]);
    expect(runs).toBe(0);
    expect(events).toEqual([]);
  });

  it('refuses what is no list of calls with INVALID_ARGUMENT', async () => {
    const { executor } = setup([]);
    for (const calls of [null, 'text', [null], [5]])
      await expect(executor.dryRun(calls as unknown as ToolCall[])).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });
});
