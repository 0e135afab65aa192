import { describe, expect, it } from 'vitest';
import { defineTool, SafetyPolicy, ToolExecutor, ToolMetadataRegistry } from '../../src/index.js';
import { MemoryStateStore } from '../../src/state.js';

describe('limits of one executor', () => {
  it('as maxConcurrent and maxRepeats are not shared by executors on one store', async () => {
    const store = new MemoryStateStore();
    let living = 0;
    let most = 0;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const registry = new ToolMetadataRegistry();
    const execute = async () => {
      most = Math.max(most, (living += 1));
      await ended;
      living -= 1;
    };
    registry.register(
      defineTool({
        name: 'look',
        description: 'Looks',
        inputSchema: { type: 'object' },
        accessMode: 'readonly',
        allowParallel: true,
        execute,
      }),
    );
    const policy = new SafetyPolicy({ registry, rules: [{ verdict: 'allow', tools: '*' }] });
    const executors = [1, 2].map(
      () => new ToolExecutor({ registry, policy, store, maxConcurrent: 2, maxRepeats: 3 }),
    );
    const calls = executors.flatMap((executor) =>
      Array.from({ length: 3 }, (_, index) =>
        executor.execute({ id: `${index}`, name: 'look', input: {} }, { conversationId: 'talk' }),
      ),
    );
    while (living < 4) await new Promise(setImmediate);
    end();
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(6).fill('ok'));
    expect(most).toBe(4);
    await Promise.all(executors.map((executor) => executor.close()));
  });

  it('as the time of a call cannot end a handler that blocks the event loop: its answer counts when it comes', async () => {
    const registry = new ToolMetadataRegistry();
    const execute = () => {
      const end = performance.now() + 30;
      while (performance.now() < end);
      return 'late';
    };
    registry.register(
      defineTool({
        name: 'busy',
        description: 'Blocks',
        inputSchema: { type: 'object' },
        accessMode: 'readonly',
        timeoutMs: 5,
        execute,
      }),
    );
    expect(
      await new ToolExecutor({ registry }).execute({ id: '1', name: 'busy', input: {} }),
    ).toMatchObject({ status: 'ok', value: 'late' });
  });
});
