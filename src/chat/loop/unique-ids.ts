import { callsIn, type AssistantMessage, type ChatMessage, type ToolCallPart } from '../thread/chat-message.js';

/**
 * The message with calls whose ids are unique in the thread: others are replaced, because results could not be told apart.
 */
export function withUniqueIds(message: AssistantMessage, messages: readonly ChatMessage[]): AssistantMessage {
  const calls = callsIn(message);
  const taken = new Set(messages.flatMap((each) => (each.role === 'assistant' ? callsIn(each).map(({ toolCallId }) => toolCallId) : [])));
  if (calls.every(({ toolCallId }) => isId(toolCallId) && !taken.has(toolCallId)) && new Set(calls.map(({ toolCallId }) => toolCallId)).size === calls.length) return message;
  const unique = (id: unknown): string => {
    const base = isId(id) ? id : 'call';
    let own = base;
    for (let copy = 2; taken.has(own); copy += 1) own = `${base}-${copy}`;
    taken.add(own);
    return own;
  };
  /** What a service ran itself has its result in the same message, which must follow. */
  const renamed = new Map<unknown, string>();
  const content = (message.content as readonly ToolCallPart[]).map((part) => {
    if (part.type === 'tool-call') {
      const toolCallId = unique(part.toolCallId);
      if (part.providerExecuted === true) renamed.set(part.toolCallId, toolCallId);
      return Object.freeze({ ...part, toolCallId });
    }
    const { toolCallId } = part;
    return (part as { type: string }).type === 'tool-result' && renamed.has(toolCallId) ? Object.freeze({ ...(part), toolCallId: renamed.get(toolCallId)! }) : part;
  });
  return Object.freeze({ ...message, content: Object.freeze(content) });
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256;
}
