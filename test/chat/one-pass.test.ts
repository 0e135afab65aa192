import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chat, scriptedModel, Session } from '../../src/chat.js';
import {
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type Decision,
  type Policy,
} from '../../src/index.js';

/** A tool whose schema counts how often it is asked, and a policy that does. */
function counting(verdict: Decision['verdict']) {
  const counts = { checks: 0, decisions: 0, runs: 0 };
  const inputSchema = z.object({ key: z.string() }).refine(() => ++counts.checks > 0);
  const registry = new ToolMetadataRegistry();
  registry.register(
    defineTool({
      name: 'note',
      description: 'Notes a text',
      inputSchema,
      accessMode: 'write',
      allowParallel: true,
      conflictKeys: ({ key }) => [key],
      execute: ({ key }) => (counts.runs++, key),
    }),
  );
  const policy: Policy = {
    decide: () => (counts.decisions++, { verdict, reason: 'a test', rule: 'test', danger: 'low' }),
  };
  const engine = {
    model: scriptedModel([{ calls: [{ id: '1', name: 'note', input: { key: 'a' } }] }, 'done']),
    executor: new ToolExecutor({ registry, policy }),
  };
  return { engine, counts };
}

describe('a call of a chat', () => {
  it('a call is checked once and judged once', async () => {
    const { engine, counts } = counting('allow');
    await chat({ ...engine, prompt: 'note a' });
    expect(counts).toEqual({ checks: 1, decisions: 1, runs: 1 });
  });

  it('a call that waited for approval is checked and judged once more when the session continues', async () => {
    const { engine, counts } = counting('confirm');
    const { session } = await Session.create().start(engine, 'note a');
    expect(session.status).toBe('awaiting_approval');
    expect(counts).toEqual({ checks: 1, decisions: 1, runs: 0 });
    const { session: done } = await session.approve('1').session.continue(engine);
    expect(done.status).toBe('completed');
    expect(counts).toEqual({ checks: 3, decisions: 3, runs: 1 });
  });
});
