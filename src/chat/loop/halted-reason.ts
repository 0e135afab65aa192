import { pendingOf, type ChatState } from '../chat-state.js';

/** Reasons that a run itself gives for its end; tools that halt give others. */
export const RESERVED_REASONS: ReadonlySet<string> = new Set(['completed', 'error', 'max_turns', 'halt_when', 'ask_user', 'tool_error', 'manual_tool_calls', 'approval_required', 'interrupted', 'cancelled']);

/**
 * Why a chat stands still: one of `completed`, `error`, `max_turns`, `halt_when`, `ask_user`, `tool_error`,
 * `manual_tool_calls`, `approval_required`, `interrupted` (a process ended in the middle), `cancelled`, or the reason of a tool that halted.
 *
 * Of several, the first in this order: the caller gave the chat up, a question, a failed tool, a tool that halted, a call
 * that somebody else answers, a call that needs a yes, a call whose outcome nobody knows.
 */
export function haltedReason(state: ChatState): string {
  if (state.end?.reason === 'cancelled') return 'cancelled';
  const waiting = new Set(pendingOf(state).map(({ kind }) => kind));
  if (waiting.has('question')) return 'ask_user';
  const end = state.openTurn?.end ?? state.end;
  if (end?.reason === 'tool_error') return 'tool_error';
  if (end?.reason === 'halt') return end.haltedReason;
  if (waiting.has('manual')) return 'manual_tool_calls';
  if (waiting.has('approval')) return 'approval_required';
  return end?.reason ?? 'interrupted';
}
