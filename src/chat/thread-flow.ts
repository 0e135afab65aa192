import type { Flow, FlowCause } from '../core/flow.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { flowAfter } from '../safety/call-flow.js';
import { argumentsOf, type ChatState } from './chat-state.js';
import { callsIn, type ChatMessage } from './thread.js';

/**
 * Returns what was read in a stored chat, as it says and as its calls tell: a process that goes on with it may not have seen them run,
 * and what is stored may have been changed.
 *
 * A call of a tool that is not known here, such as one that the model's service ran, may have read anything.
 */
export function flowOfThread({ messages, openTurn, flow: stored = {} }: ChatState, registry: ToolMetadataRegistry): Flow {
  const closed = messages.flatMap((message) => (message.role === 'assistant' ? callsIn(message) : [])).map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input: input }));
  const open = (openTurn?.calls ?? []).flatMap((call) => (call.progress.state === 'settled' || call.progress.state === 'started' ? [{ id: call.callId, name: call.toolName, input: argumentsOf(call) }] : []));
  let flow: Flow = stored;
  for (const call of [...closed, ...open]) {
    const entry = registry.get(call.name);
    const unknown: FlowCause = { toolName: call.name.slice(0, 128), callId: call.id, at: 0, inferred: true };
    flow = entry === undefined ? { private: unknown, untrusted: unknown, ...flow } : flowAfter(flow, call, entry);
    if (flow.private !== undefined && flow.untrusted !== undefined) break;
  }
  return flow;
}

/** Returns what the user typed: the texts of their messages, and no files. */
export function userTextOf(messages: readonly ChatMessage[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role !== 'user') return [];
    if (typeof message.content === 'string') return [message.content];
    return message.content.flatMap((part) => (part.type === 'text' && typeof part['text'] === 'string' ? [part['text']] : []));
  });
}
