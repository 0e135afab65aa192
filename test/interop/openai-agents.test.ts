import {
  Agent,
  Runner,
  RunState,
  setTracingDisabled,
  type FunctionTool,
  type Model,
} from '@openai/agents';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  AccessMode,
  defineTool,
  fail,
  SideEffect,
  ToolError,
  ToolExecutor,
  ToolMetadataRegistry,
} from '../../src/index.js';
import { toOpenAIAgentsTools } from '../../src/interop/frameworks/to-openai-agents-tools.js';
import { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { agentsModel, readByAgentsModel, type Turn } from './framework-models.js';
import { RestartingStore } from '../execution/fixtures/restarting-store.js';

const open = { accessMode: AccessMode.READONLY, sideEffects: SideEffect.NONE } as const;

/** All processes of a program share this store. */
const approvalKey = new Uint8Array(32).fill(3);

function setUp() {
  const written: string[] = [];
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    defineTool({
      name: 'math.add',
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.number().optional() }),
      ...open,
      execute: ({ a, b = 1 }) => ({ sum: a + b }),
    }),
    defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema: z.object({ text: z.string() }),
      accessMode: AccessMode.WRITE,
      execute: ({ text }) => void written.push(text),
    }),
    defineTool({
      name: 'failing',
      description: 'Fails',
      inputSchema: z.object({}),
      ...open,
      execute: () => fail('no luck today'),
    }),
    defineTool({
      name: 'image',
      description: 'Looks like an image',
      inputSchema: z.object({}),
      ...open,
      execute: () => ({ type: 'image', image: 'x' }),
    }),
  ]);
  const executor = new ToolExecutor({ registry });
  const agentWith = (
    model: Model,
    tools: FunctionTool[] = toOpenAIAgentsTools(registry, { executor }),
  ) => new Agent({ name: 'a', model, tools });
  return { written, registry, executor, agentWith, runner: new Runner({ tracingDisabled: true }) };
}

describe('tools exported to @openai/agents', () => {
  beforeAll(() => setTracingDisabled(true));

  it('calls run within a turn, and the model reads failures as text', async () => {
    const { agentWith, runner } = setUp();
    const model = agentsModel(
      [
        ['1', 'math__add', { a: 2 }],
        ['2', 'failing', {}],
        ['3', 'math__add', { a: 'x' }],
        ['5', 'image', {}],
      ],
      'done',
    );
    expect((await runner.run(agentWith(model), 'please')).finalOutput).toBe('done');
    const answers = new Map(readByAgentsModel(model));
    expect(answers.get('1')).toBe('{"sum":3}');
    expect(answers.get('2')).toBe('no luck today');
    expect(answers.get('3')).toContain('a: Expected a number');
    expect(answers.get('5')).toBe('{"type":"image","image":"x"}');
    expect(model.requests[0]!.tools[0]).toMatchObject({
      type: 'function',
      name: 'math__add',
      strict: false,
      parameters: { type: 'object', required: ['a'] },
    });
  });

  it("an error in the program's caller function fails the run, and the model doesn't read it", async () => {
    const { registry, executor, agentWith, runner } = setUp();
    const model = agentsModel([['1', 'math__add', { a: 2 }]], 'done');
    let asked = 0;
    const caller = () => {
      if (++asked > 1) throw new ToolError('INVALID_STATE', 'no user is signed in');
      return { principal: 'ada' }; // `needsApproval` asks first, and then `invoke`.
    };
    const agent = agentWith(model, toOpenAIAgentsTools(registry, { executor, caller }));
    await expect(runner.run(agent, 'please')).rejects.toThrow('no user is signed in');
    expect([asked, model.requests.length]).toEqual([2, 1]);
  });

  it('a call that needs approval interrupts the run, and runs once approved, even after the state was stored', async () => {
    const { agentWith, runner, written } = setUp();
    const model = agentsModel([['w1', 'write', { text: 'hello' }]], 'written');
    const agent = agentWith(model);
    const first = await runner.run(agent, 'please');
    expect(first.interruptions).toHaveLength(1);
    expect(written).toEqual([]);
    const state = await RunState.fromString(agent, first.state.toString());
    state.approve(state.getInterruptions()[0]!);
    expect((await runner.run(agent, state)).finalOutput).toBe('written');
    expect(written).toEqual(['hello']);
    expect(readByAgentsModel(model)).toEqual([['w1', 'null']]);
  });

  it('an approved call runs only once, even if the run is resumed again', async () => {
    const { registry, executor, written } = setUp();
    const [write] = toOpenAIAgentsTools([registry.require('write')], { executor });
    const approved = { isToolApproved: () => true };
    const input = '{"text":"hello"}';
    await write!.invoke(approved, input, { toolCall: { callId: 'c1' } });
    expect(await write!.invoke(approved, input, { toolCall: { callId: 'c1' } })).toContain(
      'This approval has been used',
    );
    expect(written).toEqual(['hello']);
  });

  it.each([
    ['the other call comes first', ['goodbye', 'hello'], false],
    ['the other call comes last', ['hello', 'goodbye'], false],
    ['the other call comes first, in a stored state', ['goodbye', 'hello'], true],
  ])(
    "approved calls that share an id but have different inputs don't run (%s)",
    async (_, texts, stored) => {
      const { agentWith, runner, written } = setUp();
      const model = agentsModel(
        texts.map((text) => ['w1', 'write', { text }]),
        'oh',
      );
      const agent = agentWith(model);
      const first = await runner.run(agent, 'please');
      const state = stored
        ? await RunState.fromString(agent, first.state.toString())
        : (first.state as never);
      state.approve(
        state.getInterruptions().find(({ rawItem }) => JSON.stringify(rawItem).includes('hello'))!,
      );
      await runner.run(agent, state);
      expect(written).toEqual([]);
      expect(readByAgentsModel(model)).toContainEqual([
        'w1',
        expect.stringContaining('calls with different inputs'),
      ]);
    },
  );

  it('alwaysApprove approves every further call to the tool', async () => {
    const { agentWith, runner, written } = setUp();
    const agent = agentWith(
      agentsModel(
        [['w1', 'write', { text: 'hello' }]],
        [['w2', 'write', { text: 'goodbye' }]],
        'done',
      ),
    );
    const { state, interruptions } = await runner.run(agent, 'please');
    state.approve(interruptions[0]!, { alwaysApprove: true });
    await runner.run(agent, state);
    expect(written).toEqual(['hello', 'goodbye']);
  });

  it('another process runs an approved call only if the processes share the store', async () => {
    for (const shared of [true, false]) {
      const { registry, agentWith, runner, written } = setUp();
      const store = new MemoryStateStore();
      const tools = () =>
        toOpenAIAgentsTools(registry, {
          executor: new ToolExecutor({ registry, ...(shared && { store, approvalKey }) }),
        });
      const agent = agentWith(
        agentsModel([['w1', 'write', { text: 'hello' }]], 'written'),
        tools(),
      );
      const other = agentWith(agentsModel('written'), tools());
      const first = await runner.run(agent, 'please');
      const state = await RunState.fromString(other, first.state.toString());
      state.approve(state.getInterruptions()[0]!);
      await runner.run(other, state);
      expect(written).toEqual(shared ? ['hello'] : []);
    }
  });

  it.each(['saved', 'nothing'] as const)(
    "an approved call doesn't run again after its store restarts with this data: %s",
    async (kept) => {
      const { registry, agentWith, runner, written } = setUp();
      const store = new RestartingStore(new ManualClock());
      const agent = (...turns: readonly Turn[]) =>
        agentWith(
          agentsModel(...turns),
          toOpenAIAgentsTools(registry, {
            executor: new ToolExecutor({ registry, store, approvalKey }),
          }),
        );
      const first = await runner.run(agent([['w1', 'write', { text: 'hello' }]]), 'please');
      const stored = first.state.toString();
      store.save();
      for (let round = 0; round < 2; round++) {
        const again = agent('written');
        const state = await RunState.fromString(again, stored);
        state.approve(state.getInterruptions()[0]!);
        await runner.run(again, state);
        await store.restart(kept);
      }
      expect(written).toEqual(['hello']);
    },
  );
});
