import type { Flow, FlowCause } from '../core/flow.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { flowAfter } from '../safety/call-flow.js';
import { checkInput } from '../tool/check-input.js';
import { argumentsOf, type ChatState } from './chat-state.js';
import { callsIn, ownCallsIn, type AssistantMessage, type ChatMessage } from './thread.js';

/**
 * Returns what was read in a stored chat, as it says and as its calls tell: a process that goes on with it may not have seen them run,
 * and what is stored may have been changed.
 *
 * A call of a tool that is not known here may have read anything.
 */
export async function flowOfThread(
  { messages, openTurn, flow: stored = {} }: ChatState,
  registry: ToolMetadataRegistry,
): Promise<Flow> {
  const assistants = [...messages, ...(openTurn === undefined ? [] : [openTurn.message])].flatMap(
    (message) => (message.role === 'assistant' ? [message] : []),
  );
  const closed = assistants
    .filter((message) => message !== openTurn?.message)
    .flatMap(ownCallsIn)
    .map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, input }));
  const open = (openTurn?.calls ?? []).flatMap((call) =>
    call.progress.state === 'settled' || call.progress.state === 'started'
      ? [{ id: call.callId, name: call.toolName, input: argumentsOf(call) }]
      : [],
  );
  let flow: Flow = assistants.reduce(
    (before, message) => ({ ...flowOfService(message, 0), ...before }),
    stored,
  );
  for (const call of [...closed, ...open]) {
    const entry = registry.get(call.name);
    // As the schema gives it, with its defaults: that is what the tool was called with.
    const checked = entry?.flowFor === undefined ? undefined : await checkInput(entry, call.input);
    flow =
      entry === undefined
        ? { ...anythingBy(call.name, call.id, 0), ...flow }
        : flowAfter(flow, checked?.ok === true ? { ...call, input: checked.value } : call, entry);
    if (flow.private !== undefined && flow.untrusted !== undefined) break;
  }
  return flow;
}

/** Returns what the calls that the model's service ran itself, such as a search, brought into an answer: anything. */
export function flowOfService(message: AssistantMessage, at: number): Flow {
  const [first] = callsIn(message).filter((call) => !ownCallsIn(message).includes(call));
  return first === undefined ? {} : anythingBy(first.toolName, first.toolCallId, at);
}

function anythingBy(toolName: string, callId: string, at: number): Flow {
  const cause: FlowCause = { toolName: toolName.slice(0, 128), callId, at, inferred: true };
  return { private: cause, untrusted: cause };
}

/** Returns what the user typed: the texts of their messages, and no files. */
export function userTextOf(messages: readonly ChatMessage[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role !== 'user') return [];
    if (typeof message.content === 'string') return [message.content];
    return message.content.flatMap((part) =>
      part.type === 'text' && typeof part['text'] === 'string' ? [part['text']] : [],
    );
  });
}
