import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  defineTool,
  fail,
  halt,
  tool,
  ToolExecutor,
  ToolMetadataRegistry,
  type PendingApproval,
  type PendingManualCall,
  type PendingQuestion,
  type ToolContext,
} from '../../src/index.js';
import { FakeProvider, ManualClock, runTool } from '../../src/testing.js';

const double = defineTool({
  name: 'double',
  description: 'd',
  accessMode: 'readonly',
  inputSchema: z.object({ n: z.coerce.number().max(10) }),
  outputSchema: z.number().max(15),
  execute: ({ n }) => n * 2,
});
const remove = defineTool({
  name: 'remove',
  description: 'd',
  accessMode: 'write',
  dangerLevel: 'high',
  inputSchema: z.object({ path: z.string() }),
  execute: ({ path }) => `removed ${path}`,
});
const ask = defineTool({
  name: 'ask',
  description: 'd',
  accessMode: 'readonly',
  inputSchema: z.object({}),
  execute: () => askUser('Which?', { choices: ['red', 'blue'] }),
});
const expert = defineTool({
  name: 'expert',
  description: 'd',
  accessMode: 'readonly',
  inputSchema: z.object({}),
  outputSchema: z.object({ grade: z.number() }),
  manual: true,
});

@tool({
  name: 'greet',
  description: 'd',
  accessMode: 'readonly',
  inputSchema: z.object({ name: z.string() }),
})
class Greet {
  readonly #greeting: string;
  constructor(greeting = 'Hello') {
    this.#greeting = greeting;
  }
  execute({ name }: { name: string }): string {
    return `${this.#greeting}, ${name}`;
  }
}

class Kit {
  @tool({ name: 'first', description: 'd', accessMode: 'readonly', inputSchema: z.object({}) })
  first(): number {
    return 1;
  }
  @tool({ name: 'second', description: 'd', accessMode: 'readonly', inputSchema: z.object({}) })
  second(): number {
    return 2;
  }
}

describe('runTool', () => {
  it('validates input and output like an executor', async () => {
    expect((await runTool(double, { n: '4' })).outcome).toMatchObject({
      status: 'ok',
      value: 8,
      toolName: 'double',
    });
    expect((await runTool(double, { n: 11 })).outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_INPUT',
    });
    expect((await runTool(double, { n: 9 })).outcome).toMatchObject({
      status: 'error',
      code: 'INVALID_RESULT',
      value: 18,
    });
    expect((await runTool(ask)).outcome).toMatchObject({ status: 'ask_user', question: 'Which?' });
  });

  it('accepts a class, an instance, or a toolkit with a tool name', async () => {
    expect((await runTool(Greet, { name: 'Ada' })).outcome).toMatchObject({ value: 'Hello, Ada' });
    expect((await runTool(new Greet('Hi'), { name: 'Ada' })).outcome).toMatchObject({
      value: 'Hi, Ada',
    });
    expect((await runTool(new Kit(), {}, { name: 'second' })).outcome).toMatchObject({ value: 2 });
    await expect(runTool(Kit)).rejects.toThrow(
      'Expected the name of one of the tools, got none for 2 tools. Pass options.name: first, second.',
    );
    await expect(runTool(Kit, {}, { name: 'third' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(runTool((() => 1) as never)).rejects.toMatchObject({ code: 'NOT_A_TOOL' });
  });

  it('returns the events, and passes the caller and the context to the tool', async () => {
    let told: ToolContext | undefined;
    const slow = defineTool({
      name: 'slow',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({}),
      execute: (_, context) => (context.reportProgress?.({ done: 1 }), (told = context), 'done'),
    });
    const database = { query: () => 1 };
    const { events } = await runTool(
      slow,
      {},
      { context: database, principal: 'ada', conversationId: 't1' },
    );
    expect(events.map(({ type }) => type)).toEqual([
      'decision',
      'call-started',
      'call-progress',
      'call-settled',
    ]);
    expect(events[2]).toMatchObject({ progress: { done: 1 } });
    expect(told).toMatchObject({ principal: 'ada', conversationId: 't1', callId: 'call-1' });
    expect(told?.context).toBe(database);
  });

  it('approves nothing by default', async () => {
    expect((await runTool(remove, { path: 'a' })).outcome).toMatchObject({
      status: 'approval_required',
      pending: { kind: 'approval', toolName: 'remove', input: { path: 'a' } },
    });
    expect((await runTool(remove, { path: 'a' }, { approve: false })).outcome).toMatchObject({
      status: 'denied',
    });
    expect((await runTool(remove, { path: 'a' }, { approve: true })).outcome).toMatchObject({
      status: 'ok',
      value: 'removed a',
    });
    expect(
      (await runTool(remove, { path: 'a' }, { approve: true, mode: 'read-only' })).outcome,
    ).toMatchObject({ status: 'denied' });
  });

  it('passes the pending call to the approve option and rethrows failed assertions from it', async () => {
    const shown: PendingApproval[] = [];
    const { outcome } = await runTool(
      remove,
      { path: 'a' },
      { approve: (pending) => (shown.push(pending), { input: { path: 'b' } }) },
    );
    expect(outcome).toMatchObject({ status: 'ok', value: 'removed b' });
    expect(shown).toMatchObject([{ input: { path: 'a' }, danger: 'high' }]);
    await expect(
      runTool(
        remove,
        { path: 'a' },
        {
          approve: () => {
            throw new Error('expected b, got a');
          },
        },
      ),
    ).rejects.toThrow('expected b, got a');
  });

  it('answers questions from a list or a function, and returns the answer as the outcome', async () => {
    expect((await runTool(ask, {}, { answers: ['blue'] })).outcome).toMatchObject({
      status: 'ok',
      value: 'blue',
      toolName: 'ask',
      attempts: 1,
    });
    const asked: (PendingQuestion | PendingManualCall)[] = [];
    expect(
      (
        await runTool(
          ask,
          {},
          { answers: (pending) => (asked.push(pending), Promise.resolve('red')) },
        )
      ).outcome,
    ).toMatchObject({ status: 'ok', value: 'red' });
    expect(asked).toMatchObject([{ kind: 'question', question: 'Which?' }]);
    expect((await runTool(ask, {}, { answers: () => undefined })).outcome).toMatchObject({
      status: 'ask_user',
    });
    expect((await runTool(ask, {}, { answers: [] })).outcome).toMatchObject({ status: 'ask_user' });
    await expect(runTool(ask, {}, { answers: ['green'] })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'Expected one of "red", "blue" as the answer, got "green".',
    });
  });

  it("uses the given answer as a manual call's result and validates it against the output schema", async () => {
    expect((await runTool(expert)).outcome).toMatchObject({
      status: 'manual',
      pending: { kind: 'manual' },
    });
    const { outcome } = await runTool(expert, {}, { answers: [{ grade: 1 }] });
    expect(outcome).toMatchObject({ status: 'ok', value: { grade: 1 }, attempts: 0 });
    expect(outcome).not.toHaveProperty('pending');
    expect((await runTool(expert, {}, { answers: () => fail('no time') })).outcome).toMatchObject({
      status: 'error',
      message: 'no time',
      origin: 'reported',
    });
    for (const answers of [[{ grade: 'A' }], [askUser('?')], [halt('x')]])
      await expect(runTool(expert, {}, { answers })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
  });

  it('passes on executor options such as providers and a clock', async () => {
    const search = defineTool({
      name: 'search',
      description: 'd',
      accessMode: 'readonly',
      inputSchema: z.object({}),
      providers: [{ name: 'web' }],
    });
    expect(
      (
        await runTool(
          search,
          {},
          { executor: { providers: { web: new FakeProvider(() => 'found').factory } } },
        )
      ).outcome,
    ).toMatchObject({ status: 'ok', value: 'found', provider: 'web' });
    const clock = new ManualClock();
    const hanging = defineTool({
      name: 'hanging',
      description: 'd',
      accessMode: 'readonly',
      timeoutMs: 100,
      inputSchema: z.object({}),
      execute: () => new Promise(() => undefined),
    });
    const run = runTool(hanging, {}, { executor: { clock } });
    await clock.advanceAsync(100);
    expect((await run).outcome).toMatchObject({ status: 'error', code: 'TIMEOUT' });
  });

  it('throws for unknown and invalid options', async () => {
    await expect(runTool(double, { n: 1 }, { aprove: true } as never)).rejects.toThrow(/approve/);
    await expect(runTool(double, { n: 1 }, { approve: 'yes' } as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(runTool(double, { n: 1 }, { answers: ['first', 'second'] })).rejects.toMatchObject(
      {
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('answers: Expected a list with one answer'),
      },
    );
    await expect(runTool(double, { n: 1 }, { answers: 'yes' } as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(
      runTool(double, { n: 1 }, {
        executor: new ToolExecutor({ registry: new ToolMetadataRegistry() }),
      } as never),
    ).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining("the executor's options"),
    });
    await expect(
      runTool(double, { n: 1 }, { executor: { timeoutMs: 'long' } } as never),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
