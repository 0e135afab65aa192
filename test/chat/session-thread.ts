import type { AssistantMessage, ChatMessage, ToolCallPart, ToolOutput } from '../../src/chat.js';

export function callsIn({ content }: AssistantMessage): readonly ToolCallPart[] {
  return typeof content === 'string'
    ? []
    : content.filter((part): part is ToolCallPart => part.type === 'tool-call');
}

export const isOwnCall = ({ providerExecuted }: ToolCallPart): boolean => providerExecuted !== true;

/** Returns all results of a thread, in order. */
export function resultsIn(
  messages: readonly ChatMessage[],
): readonly (readonly [callId: string, output: ToolOutput])[] {
  return messages.flatMap((message) =>
    message.role === 'tool'
      ? message.content.map(({ toolCallId, output }) => [toolCallId, output] as const)
      : [],
  );
}
