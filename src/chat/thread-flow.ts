import type { Flow, FlowCause } from '../core/flow.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { readBy } from '../safety/call-flow.js';
import { argumentsOf, type ChatState } from './chat-state.js';
import { callsIn, ownCallsIn, type AssistantMessage } from './thread.js';

/**
 * Returns what was read in a stored chat, as it says and as its calls tell: a process that goes on with it may not have seen them run,
 * and what is stored may have been changed.
 *
 * A call of a tool that is not known here may have read anything.
 */
export function flowOfThread(
  { messages, openTurn, flow: stored = {} }: ChatState,
  registry: ToolMetadataRegistry,
): Flow {
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
    flow =
      entry === undefined
        ? { ...anythingBy(call.name, call.id, 0), ...flow }
        : { ...flow, ...readBy(entry, call, flow) };
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
