import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, isToolError, type ExecuteOptions, type ToolCall } from '../../src/index.js';
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
});
