import { ToolError } from '../../core/errors.js';
import { canonicalJson, describeValue } from '../../core/plain-data.js';
import { refusal, toIssues } from '../../core/issues.js';
import { messageSchema } from './message-schema.js';
import { cloneMessage } from './data-depth.js';
import { callsIn, type AssistantMessage, type ChatMessage, type ToolResultPart } from './chat-message.js';

/** A call of a thread that has no result. */
export interface OpenCall {
  readonly toolCallId: string;
  readonly toolName: string;
}

/** A thread as it was given, brought into the form in which a model accepts it. */
export interface Thread {
  /** With one tool message after each message with calls, its results in the order of the calls. */
  readonly messages: readonly ChatMessage[];
  /** Calls without a result; none of them is in `messages` as answered. */
  readonly open: readonly OpenCall[];
}

/**
 * Checks and copies messages, and brings the results of each turn together in the order of its calls.
 *
 * @throws ToolError `INVALID_ARGUMENT` naming every wrong message; results that no call asked for, and two different
 * results of one call, are wrong too.
 */
export function readThread(given: unknown): Thread {
  if (!Array.isArray(given)) throw new ToolError('INVALID_ARGUMENT', `Expected messages as a list, found ${describeValue(given)}`);
  let copied: readonly unknown[];
  try {
    copied = given.map(cloneMessage);
  } catch (error) {
    throw new ToolError('INVALID_ARGUMENT', `Expected messages of plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
  const parsed = messageSchema.array().safeParse(copied);
  if (!parsed.success) {
    const issues = toIssues(parsed.error, copied);
    throw refusal('The messages are refused', issues);
  }
  return joinResults(copied as readonly ChatMessage[]);
}

function joinResults(given: readonly ChatMessage[]): Thread {
  const messages: ChatMessage[] = [];
  const open: OpenCall[] = [];
  for (let at = 0; at < given.length; ) {
    const message = given[at++]!;
    if (message.role === 'tool') throw unasked(message.content[0]?.toolCallId);
    messages.push(message);
    const results: ToolResultPart[] = [];
    for (let next = given[at]; next?.role === 'tool'; next = given[++at]) results.push(...next.content);
    if (message.role === 'assistant') {
      const answered = inOrderOf(message, results, open);
      if (answered.length > 0) messages.push(Object.freeze({ role: 'tool', content: Object.freeze(answered) }));
    } else if (results.length > 0) throw unasked(results[0]!.toolCallId);
  }
  return Object.freeze({ messages: Object.freeze(messages), open: Object.freeze(open) });
}

/** The results of one turn, each once; calls without one are added to `open`. */
function inOrderOf(message: AssistantMessage, results: readonly ToolResultPart[], open: OpenCall[]): ToolResultPart[] {
  const calls = callsIn(message);
  const asked = new Set(calls.map(({ toolCallId }) => toolCallId));
  if (asked.size < calls.length) throw new ToolError('INVALID_ARGUMENT', 'Expected calls of one message with different ids, found two with the same; their results could not be told apart');
  const byId = new Map<string, ToolResultPart>();
  for (const result of results) {
    const { toolCallId } = result;
    if (!asked.has(toolCallId)) throw unasked(toolCallId);
    const before = byId.get(toolCallId);
    if (before !== undefined && canonicalJson(before.output) !== canonicalJson(result.output)) throw new ToolError('ALREADY_RESOLVED', `Expected one result of the call ${describeValue(toolCallId)}, found two that differ`, { details: { callId: toolCallId } });
    byId.set(toolCallId, before ?? result);
  }
  return calls.flatMap(({ toolCallId, toolName, providerExecuted }) => {
    const result = byId.get(toolCallId);
    // A service that runs its own tools puts their results into its message.
    if (result === undefined && providerExecuted !== true) open.push(Object.freeze({ toolCallId, toolName }));
    return result === undefined ? [] : [result];
  });
}

function unasked(callId: string | undefined): ToolError {
  return new ToolError('UNKNOWN_CALL', `Expected results of calls in the assistant's message before them, found one of the call ${describeValue(callId)}`, { details: { callId } });
}

/** @throws ToolError `OPEN_TOOL_CALLS` when calls have no result: every model service refuses such a thread. */
export function assertAnswered({ open }: Thread): void {
  if (open.length === 0) return;
  const named = open.map(({ toolCallId, toolName }) => `${toolCallId} (${toolName})`);
  const shown = `${named.slice(0, 10).join(', ')}${named.length > 10 ? ` and ${named.length - 10} more` : ''}`;
  throw new ToolError('OPEN_TOOL_CALLS', `Expected a result for every call, found none for ${shown}; append a tool message with their results, and ask again`, { details: { callIds: open.map(({ toolCallId }) => toolCallId) } });
}
