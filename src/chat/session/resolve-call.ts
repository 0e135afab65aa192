import { ToolError } from '../../core/errors.js';
import { canonicalJson, cloneFrozen, describeValue, digestOf, type Json } from '../../core/plain-data.js';
import { isToolResult } from '../../tool/outcome.js';
import { withCall, type CallProgress, type CallRecord } from '../chat-state.js';
import { closeTurn } from '../thread/close-turn.js';
import type { ToolOutput } from '../thread/chat-message.js';
import { deniedOutput, encodeValue, errorOutput } from '../thread/encode-output.js';
import { withChat, type SessionData } from './session-data.js';

/** What a person or program decides about a call that waits. */
export type CallDecision =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'answer'; readonly answer: string }
  | { readonly kind: 'approve'; readonly edited?: { readonly input: unknown } }
  | { readonly kind: 'deny'; readonly reason?: string };

export interface Resolved {
  readonly data: SessionData;
  /** Whether it changed anything: the same decision twice does not. */
  readonly applied: boolean;
}

/**
 * Puts a decision about one call on record; a turn whose last call it settles joins the thread.
 *
 * @throws ToolError `UNKNOWN_CALL` for a call that never waited, `ALREADY_RESOLVED` for another decision than the one on
 * record, `INVALID_INPUT` for a decision that the call does not wait for; nothing is changed then.
 */
export function resolveCall(data: SessionData, callId: string, decision: CallDecision): Resolved {
  if (typeof callId !== 'string') throw new ToolError('INVALID_ARGUMENT', `Expected the id of a call as text, found ${describeValue(callId)}`);
  const settled = outputOf(decision);
  const digest = digestOf(settled === undefined ? inputOf(decision) : settled);
  const before = data.resolutions.find((each) => each.callId === callId);
  const call = data.chat.openTurn?.calls.find((each) => each.callId === callId);
  const isOpen = call?.progress.state === 'waiting' || call?.progress.state === 'started';
  if (!isOpen) {
    if (before === undefined) throw new ToolError('UNKNOWN_CALL', `Expected the id of a call that waits, found ${describeValue(callId)}${waitingFor(data)}`, { details: { callId } });
    if (before.digest === digest) return { data, applied: false };
    throw new ToolError('ALREADY_RESOLVED', `Expected the decision on record about the call ${describeValue(callId)}, found another; what is decided stays`, { details: { callId } });
  }
  const progress = progressAfter(call, decision, settled);
  const chat = closeTurn(withCall(data.chat, callId, progress));
  const resolutions = Object.freeze([...data.resolutions.filter((each) => each.callId !== callId), Object.freeze({ callId, digest })]);
  return { data: Object.freeze({ ...withChat(data, chat), resolutions }), applied: true };
}

/** Lets a call run again of which nobody knows whether it ran. @throws ToolError `UNKNOWN_CALL`. */
export function rerunCall(data: SessionData, callId: string): Resolved {
  const call = data.chat.openTurn?.calls.find((each) => each.callId === callId);
  if (call?.progress.state === 'not_started') return { data, applied: false };
  if (call?.progress.state !== 'started') throw new ToolError('UNKNOWN_CALL', `Expected the id of a call whose outcome is not known, found ${describeValue(callId)}${waitingFor(data)}`, { details: { callId } });
  return { data: withChat(data, withCall(data.chat, callId, { state: 'not_started' })), applied: true };
}

/** What the model will read; `undefined` when the tool is still to be run. */
function outputOf(decision: CallDecision): ToolOutput | undefined {
  switch (decision.kind) {
    case 'result':
      return outputOfResult(decision.result);
    case 'answer':
      if (typeof decision.answer !== 'string') throw new ToolError('INVALID_INPUT', `Expected the answer as text, found ${describeValue(decision.answer)}`);
      return encodeValue(decision.answer);
    case 'deny':
      return deniedOutput(decision.reason ?? 'a person said no to this call');
    case 'approve':
      return undefined;
  }
}

function outputOfResult(result: unknown): ToolOutput {
  if (isToolResult(result)) {
    if (result.status === 'error') return errorOutput(result.message);
    if (result.status !== 'ok') throw new ToolError('INVALID_INPUT', `Expected a value, ok(value) or fail(message) as the result of a call, found ${result.status}`);
    return outputOfResult(result.value);
  }
  try {
    return encodeValue(result);
  } catch (error) {
    throw new ToolError('INVALID_INPUT', `Expected plain data as the result of a call, found ${error instanceof Error ? error.message : 'something else'}`);
  }
}

function inputOf(decision: CallDecision): Json {
  if (decision.kind !== 'approve' || decision.edited === undefined) return 'approved';
  try {
    return cloneFrozen(decision.edited.input ?? {}) as Json;
  } catch (error) {
    throw new ToolError('INVALID_INPUT', `Expected arguments of plain data, found ${error instanceof Error ? error.message : 'something else'}`);
  }
}

function progressAfter({ progress }: CallRecord, decision: CallDecision, output: ToolOutput | undefined): CallProgress {
  const waitsFor = progress.state === 'waiting' ? progress.pending.kind : 'uncertain';
  const wrong = (what: string) => new ToolError('INVALID_INPUT', `Expected ${what}, found a decision of the kind ${decision.kind}`, { details: { waitsFor } });
  if (progress.state === 'waiting' && decision.kind === 'approve') {
    const { pending } = progress;
    if (pending.kind !== 'approval') throw wrong(pending.kind === 'manual' ? 'the result of the call (submitToolResult), which waits for one' : 'an answer to the question of the call (answer)');
    const input = inputOf(decision);
    return decision.edited === undefined || canonicalJson(input) === canonicalJson(pending.input) ? { state: 'approved', pending } : { state: 'approved', pending, input };
  }
  if (output === undefined) throw wrong('the result of the call (submitToolResult), or that it runs again (rerun)');
  if (waitsFor === 'approval' && decision.kind !== 'deny') throw wrong('a yes or a no (approve, deny)');
  if (waitsFor === 'question' && decision.kind === 'result') throw wrong('an answer to the question of the call (answer)');
  if (waitsFor !== 'question' && decision.kind === 'answer') throw wrong('the result of the call (submitToolResult)');
  if (decision.kind === 'answer' && progress.state === 'waiting' && progress.pending.kind === 'question') assertOffered(decision.answer, progress.pending.options);
  return { state: 'settled', output };
}

function assertOffered(answer: string, options: readonly string[] | undefined): void {
  if (options === undefined || options.includes(answer)) return;
  throw new ToolError('INVALID_INPUT', `Expected one of ${options.map((option) => JSON.stringify(option)).join(', ')} as the answer, found ${describeValue(answer)}`);
}

function waitingFor({ chat }: SessionData): string {
  const ids = (chat.openTurn?.calls ?? []).flatMap(({ callId, progress }) => (progress.state === 'waiting' || progress.state === 'started' ? [callId] : []));
  return ids.length === 0 ? '; no call waits' : `; these wait: ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}`;
}
