import type { CheckedEngine } from '../chat-engine.js';
import type { ChatMetadata, ChatResult } from '../chat-result.js';
import { pendingOf, type ChatPending, type ChatState } from '../chat-state.js';
import type { ChatTurn } from '../chat-turn.js';
import type { ModelUsage } from '../model/model-step.js';
import { callsIn, textOf } from '../thread/chat-message.js';
import { messagesOf } from '../thread/close-turn.js';
import { haltedReason } from './halted-reason.js';

/** What a run came to, from the state in which it left off. */
export function resultOf(state: ChatState, engine: CheckedEngine, turns: readonly ChatTurn[]): ChatResult {
  const { openTurn } = state;
  const messages = openTurn === undefined ? state.messages : [...state.messages, ...messagesOf(openTurn)];
  const last = openTurn?.message ?? turns.at(-1)?.message;
  const pending = pendingOf(state);
  const question = pending.find((each) => each.kind === 'question');
  // All parts are frozen.
  return Object.freeze({
    messages: Object.freeze(messages),
    text: last === undefined ? '' : textOf(last),
    toolCalls: Object.freeze(last === undefined ? [] : callsIn(last)),
    turns: Object.freeze([...turns]),
    haltedReason: haltedReason(state),
    pending: Object.freeze(pending),
    ...(question && { pendingQuestion: question.question, pendingToolCallId: question.callId }),
    metadata: Object.freeze(metadataOf(state, engine, pending)),
    usage: Object.freeze(sum(turns)),
  });
}

function metadataOf({ openTurn, end: closed }: ChatState, { mode }: CheckedEngine, pending: readonly ChatPending[]): ChatMetadata {
  const manual = new Set(pending.filter(({ kind }) => kind === 'manual').map(({ callId }) => callId));
  const question = pending.find((each) => each.kind === 'question');
  const end = openTurn?.end ?? closed;
  return {
    ...(openTurn && manual.size > 0 && { ...(mode === 'auto' && { manualToolCalls: Object.freeze(callsIn(openTurn.message).filter(({ toolCallId }) => manual.has(toolCallId))) }), manualTurnIndex: openTurn.index }),
    ...(question?.options && { askUserOptions: question.options }),
    ...(end?.reason === 'max_turns' && { maxTurns: end.maxTurns }),
    ...(end?.reason === 'halt_when' && { haltWhenTurnIndex: end.turn }),
    ...(end?.reason === 'halt' && { haltToolCallId: end.callId, haltResult: end.value }),
    ...(end?.reason === 'tool_error' && { haltToolCallId: end.callId, error: Object.freeze({ code: 'EXECUTION_FAILED', message: end.error }) }),
    ...(end?.reason === 'error' && { error: end.error }),
  };
}

function sum(turns: readonly ChatTurn[]): ModelUsage {
  const total = (field: keyof ModelUsage) => turns.reduce<number | undefined>((before, { usage }) => (usage?.[field] === undefined ? before : (before ?? 0) + usage[field]), undefined);
  const [inputTokens, outputTokens, totalTokens] = [total('inputTokens'), total('outputTokens'), total('totalTokens')];
  return { ...(inputTokens !== undefined && { inputTokens }), ...(outputTokens !== undefined && { outputTokens }), ...(totalTokens !== undefined && { totalTokens }) };
}
