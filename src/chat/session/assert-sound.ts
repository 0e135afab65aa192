import { ToolError } from '../../core/errors.js';
import { canonicalJson, describeValue } from '../../core/plain-data.js';
import type { ChatEnd, OpenTurn } from '../chat-state.js';
import { callsIn, type ChatMessage, type ToolCallPart } from '../thread/chat-message.js';
import { closedMessages, type SessionData } from './session-data.js';

/**
 * Checks what the fields of a session say of each other; each alone is right already.
 *
 * @throws ToolError for the first thing that no session can be.
 */
export function assertSound({ chat: { messages, openTurn, end }, resolutions }: SessionData): void {
  if (canonicalJson(closedMessages(messages)) !== canonicalJson(messages)) throw unsound('the results of each turn in one message, in the order of its calls', 'them elsewhere');
  const closed = new Set(messages.flatMap((message) => calledIn(message)));
  if (openTurn !== undefined) assertTurn(openTurn, closed);
  assertEnd(end, openTurn, closed);
  const called = new Set([...closed, ...(openTurn?.calls ?? []).map(({ callId }) => callId)]);
  const resolved = new Set(resolutions.map(({ callId }) => callId));
  if (resolved.size < resolutions.length) throw unsound('one decision about each call', 'two about one');
  for (const callId of resolved) if (!called.has(callId)) throw unsound('decisions about calls of the session', `one about ${describeValue(callId)}`);
  const unasked = openTurn?.calls.find(({ callId, progress }) => progress.state === 'approved' && !resolved.has(callId));
  if (unasked !== undefined) throw unsound('a decision for each call that is approved', `none about ${describeValue(unasked.callId)}`);
}

function calledIn(message: ChatMessage): readonly string[] {
  return message.role === 'assistant' ? callsIn(message).map(({ toolCallId }) => toolCallId) : [];
}

function assertTurn({ message, calls, tools, end }: OpenTurn, closed: ReadonlySet<string>): void {
  const asked = callsIn(message).filter(({ providerExecuted }) => providerExecuted !== true);
  const byId = new Map(calls.map((call) => [call.callId, call]));
  if (byId.size < calls.length) throw unsound('calls with different ids in the open turn', 'two with the same');
  if (asked.length !== calls.length || !asked.every((call, at) => isSame(call, calls[at]!))) throw unsound('the calls of the open turn as its message makes them', 'others');
  const again = calls.find(({ callId }) => closed.has(callId));
  if (again !== undefined) throw unsound('new calls in the open turn', `${describeValue(again.callId)}, which an earlier one made`);
  for (const { callId, progress } of calls) {
    if ((progress.state === 'waiting' || progress.state === 'approved') && progress.pending.callId !== callId) throw unsound(`what waits under the call ${describeValue(callId)} to be of this call`, `it of ${describeValue(progress.pending.callId)}`);
  }
  if (calls.every(({ progress }) => progress.state === 'settled')) throw unsound('an open turn with a call that is not settled', 'all settled');
  if (new Set(tools.map(({ toolName }) => toolName)).size < tools.length) throw unsound('each tool of the open turn once', 'one twice');
  if (end !== undefined && byId.get(end.callId)?.progress.state !== 'settled') throw unsound('the end of the open turn to be of one of its calls that is settled', describeValue(end.callId));
}

function isSame({ toolCallId, toolName, input }: ToolCallPart, call: OpenTurn['calls'][number]): boolean {
  return call.callId === toolCallId && call.toolName === toolName && canonicalJson(call.input) === canonicalJson(input);
}

function assertEnd(end: ChatEnd | undefined, openTurn: OpenTurn | undefined, closed: ReadonlySet<string>): void {
  if (end === undefined) return;
  if (openTurn !== undefined && end.reason !== 'cancelled') throw unsound('an open turn or an end', 'both');
  if ('callId' in end && !closed.has(end.callId)) throw unsound('the end to be of a call of the session', describeValue(end.callId));
}

function unsound(expected: string, found: string): ToolError {
  return new ToolError('INVALID_SNAPSHOT', `expected ${expected}, found ${found}`);
}
