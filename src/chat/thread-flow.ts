import type { Flow } from '../core/flow.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { readBy } from '../safety/call-flow.js';
import type { ChatState } from './chat-state.js';
import { callsIn, type ToolCallPart } from './thread.js';

/**
 * Returns the labels of a stored chat: its stored labels, and the labels that its calls add.
 * Another process may have run these calls.
 */
export function flowOfThread(
  { messages, openTurn, flow }: ChatState,
  registry: ToolMetadataRegistry,
): Flow {
  const unread = new Set(
    (openTurn?.calls ?? []).flatMap(({ callId, progress: { state } }) =>
      state === 'settled' || state === 'started' ? [] : [callId],
    ),
  );
  const closed = messages.flatMap((each) => (each.role === 'assistant' ? callsIn(each) : []));
  const open = openTurn === undefined ? [] : callsIn(openTurn.message);
  return flowOfCalls(
    [...closed, ...open.filter(({ toolCallId }) => !unread.has(toolCallId))],
    registry,
    { before: flow ?? {}, at: 0 },
  );
}

/**
 * Adds labels for everything that calls have read. A call that the model's service ran, or a call
 * of an unknown tool, may have read anything.
 */
export function flowOfCalls(
  calls: readonly ToolCallPart[],
  registry: ToolMetadataRegistry,
  { before, at }: { readonly before: Flow; readonly at: number },
): Flow {
  let flow = before;
  for (const { toolCallId: callId, toolName: name, input, providerExecuted } of calls) {
    if (flow.private !== undefined && flow.untrusted !== undefined) break;
    const entry = providerExecuted === true ? undefined : registry.get(name);
    const anything = { toolName: name.slice(0, 128), callId, at, inferred: true as const };
    flow =
      entry === undefined
        ? { private: anything, untrusted: anything, ...flow }
        : { ...flow, ...readBy(entry, { id: callId, name, input }, flow) };
  }
  return flow;
}
