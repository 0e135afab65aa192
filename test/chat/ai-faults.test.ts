import { describe, expect, it } from 'vitest';
import {
  AccessMode,
  DangerLevel,
  ExecutionCategory,
  ToolExecutor,
  ToolMetadataRegistry,
  type Approval,
} from '../../src/index.js';
import { chat, scriptedModel, type ChatResult, type ScriptedAnswer } from '../../src/chat.js';
import { outputsOf, results, toolOf } from './chat-cases.js';

// Cases in which the AI SDK's own loop goes wrong, and what a chat here does instead.

function here(answers: readonly ScriptedAnswer[]) {
  const paid: string[] = [];
  const registry = new ToolMetadataRegistry();
  registry.registerAll([
    toolOf('pay', (input) => (paid.push(String(input['for'])), { ok: true }), {
      accessMode: AccessMode.WRITE,
      dangerLevel: DangerLevel.HIGH,
      executionCategory: ExecutionCategory.WRITE,
    }),
    toolOf('person', undefined, { manual: true }),
  ]);
  const model = scriptedModel(answers);
  return { paid, model, engine: { model, executor: new ToolExecutor({ registry }) } };
}
const pay = (...ids: string[]): ScriptedAnswer => ({
  calls: ids.map((id) => ({ id, name: id === 'p' ? 'person' : 'pay', input: { for: id } })),
});

/** Approves everything that waits for approval. */
async function approvalsOf(
  { pending }: ChatResult,
  executor: ToolExecutor,
): Promise<readonly Approval[]> {
  return Promise.all(
    pending.flatMap((each) => (each.kind === 'approval' ? [executor.approve(each)] : [])),
  );
}

describe('a chat here', () => {
  it('a chat runs no approved call while another call is pending, and names it', async () => {
    const { paid, model, engine } = here([pay('a', 'b'), 'never']);
    const waiting = await chat({ ...engine, prompt: 'pay' });
    expect(waiting).toMatchObject({
      haltedReason: 'approval_required',
      pending: [{ callId: 'a' }, { callId: 'b' }],
    });
    const [first] = await approvalsOf(waiting, engine.executor);
    await expect(
      chat({ ...engine, messages: waiting.messages, approvals: [first!] }),
    ).rejects.toMatchObject({ code: 'OPEN_TOOL_CALLS', details: { callIds: ['b'] } });
    expect([paid, model.requests.length]).toEqual([[], 1]);
  });

  it('a chat runs an approved call next to an answered manual call, and keeps both results', async () => {
    const { paid, model, engine } = here([pay('a', 'p'), 'thanks']);
    const waiting = await chat({ ...engine, prompt: 'pay' });
    const result = await chat({
      ...engine,
      messages: [...waiting.messages, results(['p', 'person', 'by hand'])],
      approvals: await approvalsOf(waiting, engine.executor),
    });
    expect(result).toMatchObject({ haltedReason: 'completed', text: 'thanks' });
    expect(paid).toEqual(['a']);
    expect(outputsOf(model.requests[1]!.messages)).toEqual({
      a: { type: 'json', value: { ok: true } },
      p: { type: 'text', value: 'by hand' },
    });
  });

  it('a chat runs every approved call once, even if the same messages are sent again', async () => {
    const { paid, engine } = here([pay('a', 'b'), 'thanks', 'sorry']);
    const waiting = await chat({ ...engine, prompt: 'pay' });
    const approvals = await approvalsOf(waiting, engine.executor);
    const first = await chat({ ...engine, messages: waiting.messages, approvals });
    expect(first).toMatchObject({ haltedReason: 'completed', text: 'thanks' });
    const again = await chat({ ...engine, messages: waiting.messages, approvals });
    expect(outputsOf(again.messages)).toMatchObject({
      a: { type: 'error-text' },
      b: { type: 'error-text' },
    });
    expect(paid).toEqual(['a', 'b']);
  });

  it('a chat refuses an approval of a call from before the last answer', async () => {
    const { paid, engine } = here([pay('a'), 'never']);
    const waiting = await chat({ ...engine, prompt: 'pay' });
    const approvals = await approvalsOf(waiting, engine.executor);
    await expect(
      chat({ ...engine, messages: waiting.messages, prompt: 'and?', approvals }),
    ).rejects.toMatchObject({ code: 'OPEN_TOOL_CALLS', details: { callIds: ['a'] } });
    await expect(
      chat({
        ...engine,
        messages: [...waiting.messages, { role: 'assistant', content: 'hm' }],
        approvals,
      }),
    ).rejects.toMatchObject({ code: 'OPEN_TOOL_CALLS' });
    expect(paid).toEqual([]);
  });
});
