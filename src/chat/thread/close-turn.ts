import type { ChatState, OpenTurn } from '../chat-state.js';
import type { AssistantMessage, ChatMessage, ToolMessage, ToolResultPart } from './chat-message.js';

/** The results of a turn that are there, as one message in the order of the calls; `undefined` when there is none. */
export function resultsOf({ calls }: OpenTurn): ToolMessage | undefined {
  const content = calls.flatMap(({ callId, toolName, progress }): ToolResultPart[] => (progress.state === 'settled' ? [{ type: 'tool-result', toolCallId: callId, toolName, output: progress.output }] : []));
  return content.length === 0 ? undefined : Object.freeze({ role: 'tool', content: Object.freeze(content.map((part) => Object.freeze(part))) });
}

/** The messages of a turn as far as they go. */
export function messagesOf(turn: OpenTurn): readonly (AssistantMessage | ToolMessage)[] {
  const results = resultsOf(turn);
  return results === undefined ? [turn.message] : [turn.message, results];
}

/** Whether every call of the open turn has its result. */
export function isSettled({ calls }: OpenTurn): boolean {
  return calls.every(({ progress }) => progress.state === 'settled');
}

/** Lets the messages of a settled turn join the thread; other states stay as they are. */
export function closeTurn(state: ChatState): ChatState {
  const { openTurn, ...rest } = state;
  if (openTurn === undefined || !isSettled(openTurn)) return state;
  const messages: readonly ChatMessage[] = Object.freeze([...state.messages, ...messagesOf(openTurn)]);
  return Object.freeze({ ...rest, messages, ...(openTurn.end && { end: openTurn.end }) });
}
