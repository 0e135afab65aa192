import type { ChatState, OpenTurn } from '../chat-state.js';
import type { AssistantMessage, ChatMessage, ToolCallPart, ToolMessage, ToolResultPart } from './chat-message.js';

/** The results of a turn that are there, as one message in the order of the calls; `undefined` when there is none. */
export function resultsOf({ calls }: OpenTurn): ToolMessage | undefined {
  const content = calls.flatMap(({ callId, toolName, progress }): ToolResultPart[] => (progress.state === 'settled' ? [{ type: 'tool-result', toolCallId: callId, toolName, output: progress.output }] : []));
  return content.length === 0 ? undefined : Object.freeze({ role: 'tool', content: Object.freeze(content.map((part) => Object.freeze(part))) });
}

/** The messages of a turn as far as they go. */
export function messagesOf(turn: OpenTurn): readonly (AssistantMessage | ToolMessage)[] {
  const results = resultsOf(turn);
  const message = asRun(turn);
  return results === undefined ? [message] : [message, results];
}

/** The model's message, with the arguments that calls were run with: it would take the results for those of its own. */
function asRun({ message, calls }: OpenTurn): AssistantMessage {
  const changed = new Map(calls.flatMap(({ callId, progress }) => (progress.state === 'settled' && progress.input !== undefined ? [[callId, progress.input] as const] : [])));
  if (changed.size === 0 || typeof message.content === 'string') return message;
  const content = message.content.map((part) => {
    const input = part.type === 'tool-call' ? changed.get((part as ToolCallPart).toolCallId) : undefined;
    return input === undefined ? part : Object.freeze({ ...part, input });
  });
  return Object.freeze({ ...message, content: Object.freeze(content) });
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
