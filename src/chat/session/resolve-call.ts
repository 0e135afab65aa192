import { ToolError } from '../../core/errors.js';
import { canonicalJson, describeValue, digestOf, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { answerIssues } from '../../execution/run/read-result.js';
import type { PendingApproval, PendingManualCall, PendingQuestion } from '../../safety/calls.js';
import { failureText, plainValue, unansweredText } from '../../safety/read-outcome.js';
import { isToolResult } from '../../tool/outcome.js';
import { readAnswer } from '../../tool/question.js';
import { closeTurn, positionOf, withCall, type CallProgress, type CallRecord } from '../chat-state.js';
import { deniedOutput, encodeValue, errorOutput } from '../encode-output.js';
import { cloneMessage, type ToolOutput } from '../thread.js';
import { withChat, type SessionData } from './session-data.js';

/** What a person or program decides about a call that waits. */
export type CallDecision =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'answer'; readonly answer: string | readonly string[]; readonly now: number }
  | { readonly kind: 'approve'; readonly edited?: { readonly input: unknown }; readonly pendingId?: string | undefined }
  | { readonly kind: 'deny'; readonly reason?: string };

export interface Resolved {
  readonly data: SessionData;
  /** Whether it changed anything: the same decision twice does not. */
  readonly applied: boolean;
}

/** What a decision comes to: what the model reads, or the arguments with which the tool runs. */
type Decision = { readonly output: ToolOutput } | { readonly input: Json | undefined };

/**
 * Puts a decision about one call on record; a turn whose last call it settles joins the thread.
 *
 * @throws ToolError `UNKNOWN_CALL` for a call that never waited, `ALREADY_RESOLVED` for another decision than the one on
 * record, `INVALID_APPROVAL` for a yes to something else than what waits, `INVALID_INPUT` for a decision that the call does
 * not wait for; nothing is changed then.
 */
export function resolveCall(data: SessionData, callId: string, decision: CallDecision): Resolved {
  if (typeof callId !== 'string') throw new ToolError('INVALID_ARGUMENT', `Expected the id of a call as text, found ${describeValue(callId)}`);
  const decided = read(decision);
  const digest = digestOf(decided);
  const call = findCall(data, callId);
  const before = data.resolutions.find((each) => each.callId === callId);
  if (before?.digest === digest && call?.progress.state !== 'waiting') return { data, applied: false };
  if (call === undefined || !isOpen(call.progress, decision)) {
    if (before === undefined) throw new ToolError('UNKNOWN_CALL', `Expected the id of a call that waits, found ${describeValue(callId)}${waitingFor(data)}`, { details: { callId } });
    throw new ToolError('ALREADY_RESOLVED', `Expected the decision on record about the call ${describeValue(callId)}, got another. What was decided first stays.`, { details: { callId } });
  }
  const chat = closeTurn(withCall(data.chat, callId, progressAfter(call, decision, decided)));
  const resolutions = Object.freeze([...(before === undefined ? data.resolutions : data.resolutions.filter((each) => each !== before)), Object.freeze({ callId, digest })]);
  return { data: Object.freeze({ ...withChat(data, chat), resolutions }), applied: true };
}

/** Settles the questions whose time is over: the model reads that the user did not answer. Other calls stay as they are. */
export function expireQuestions(data: SessionData, now: number): Resolved {
  const expired = (data.chat.openTurn?.calls ?? []).filter(({ progress }) => progress.state === 'waiting' && progress.pending.kind === 'question' && (progress.pending.expiresAt ?? Infinity) <= now);
  if (expired.length === 0) return { data, applied: false };
  const settled = expired.map((call) => ({ call, output: errorOutput(unansweredText(call.toolName)) }));
  const chat = closeTurn(settled.reduce((before, { call, output }) => withCall(before, call.callId, settledWith(call, output)), data.chat));
  const resolutions = Object.freeze([...data.resolutions, ...settled.map(({ call: { callId }, output }) => Object.freeze({ callId, digest: digestOf(output) }))]);
  return { data: Object.freeze({ ...withChat(data, chat), resolutions }), applied: true };
}

/** Lets a call run again of which nobody knows whether it ran. @throws ToolError `UNKNOWN_CALL`. */
export function rerunCall(data: SessionData, callId: string): Resolved {
  const call = findCall(data, callId);
  if (call?.progress.state === 'not_started') return { data, applied: false };
  if (call?.progress.state !== 'started') throw new ToolError('UNKNOWN_CALL', `Expected the id of a call whose outcome is not known, found ${describeValue(callId)}${waitingFor(data)}`, { details: { callId } });
  const { input, startedAt } = call.progress;
  return { data: withChat(data, withCall(data.chat, callId, { state: 'not_started', rerunOf: startedAt, ...(input !== undefined && { input }) })), applied: true };
}

function findCall({ chat }: SessionData, callId: string): CallRecord | undefined {
  return chat.openTurn?.calls[positionOf(chat.openTurn, callId)];
}

/** A no also counts for what has not begun: calls that a run left when it was given up. */
function isOpen({ state }: CallProgress, { kind }: CallDecision): boolean {
  return state === 'waiting' || state === 'started' || (state === 'not_started' && kind === 'deny');
}

function read(decision: CallDecision): Decision {
  switch (decision.kind) {
    case 'result':
      return { output: outputOfResult(decision.result) };
    case 'answer':
      if (![decision.answer].flat().every((each) => typeof each === 'string')) throw new ToolError('INVALID_INPUT', `Expected the answer as text, or as a list of texts, got ${describeValue(decision.answer)}`);
      return { output: encodeValue(decision.answer) };
    case 'deny':
      if (decision.reason !== undefined && typeof decision.reason !== 'string') throw new ToolError('INVALID_INPUT', `Expected the reason as text, found ${describeValue(decision.reason)}`);
      return { output: deniedOutput(decision.reason ?? 'a person said no to this call') };
    case 'approve':
      return { input: decision.edited === undefined ? undefined : plainInput(decision.edited.input) };
  }
}

function outputOfResult(result: unknown): ToolOutput {
  if (isToolResult(result)) {
    if (result.status === 'error') return errorOutput(failureText(result.message, result.details));
    if (result.status !== 'ok') throw new ToolError('INVALID_INPUT', `Expected a value, ok(value) or fail(message) as the result of a call, found ${result.status}`);
    return outputOfResult(result.value);
  }
  try {
    return encodeValue(result);
  } catch (error) {
    throw new ToolError('INVALID_INPUT', `Expected plain data as the result of a call, found ${publicMessage(error)}`);
  }
}

function plainInput(input: unknown): Json {
  try {
    return cloneMessage(input) as Json;
  } catch (error) {
    throw new ToolError('INVALID_INPUT', `Expected arguments of plain data, found ${publicMessage(error)}`);
  }
}

function progressAfter(call: CallRecord, decision: CallDecision, decided: Decision): CallProgress {
  const { progress } = call;
  const pending = progress.state === 'waiting' ? progress.pending : undefined;
  const waitsFor = pending?.kind ?? 'uncertain';
  const wrong = (what: string) => new ToolError('INVALID_INPUT', `Expected ${what}, found a decision of the kind ${decision.kind}`, { details: { waitsFor } });
  if (decision.kind === 'deny') return { state: 'settled', output: progress.state === 'started' ? notRunAgain(decision) : outputOf(decided) };
  switch (pending?.kind) {
    case 'approval':
      if (decision.kind !== 'approve') throw wrong('a yes or a no (approve, deny)');
      return approved(call, pending, decided, decision.pendingId);
    case 'question':
      if (decision.kind !== 'answer') throw wrong('an answer to the question of the call (answer)');
      if ((pending.expiresAt ?? Infinity) <= decision.now) throw new ToolError('TIMEOUT', 'Expected an answer in the time of the question, got one later. continue(engine) goes on without it.', { details: { callId: call.callId } });
      return settledWith(call, answered(pending, decision.answer));
    case 'manual':
      if (decision.kind !== 'result') throw wrong('the result of the call (submitToolResult), which waits for one');
      assertPromised(pending, decision.result);
      return settledWith(call, outputOf(decided));
    case undefined:
      if (decision.kind !== 'result') throw wrong('the result of the call (submitToolResult), or that it runs again (rerun)');
      return settledWith(call, outputOf(decided));
  }
}

/** @throws ToolError `INVALID_INPUT` for a result that is not what the tool's output schema promises. */
function assertPromised({ callId, outputSchema }: PendingManualCall, given: unknown): void {
  let result = given;
  for (; isToolResult(result); result = result.value) if (result.status !== 'ok') return;
  const issues = isPlainObject(outputSchema) ? answerIssues(outputSchema, plainValue(result).data) : [];
  if (issues.length > 0) throw new ToolError('INVALID_INPUT', `Expected a result that is what the output schema of the tool promises, got another: ${issues[0]!.message}`, { details: { callId, issues } });
}

/** A call that somebody else settled; it was run with other arguments than the model's where a person had changed them. */
function settledWith({ input, progress }: CallRecord, output: ToolOutput): CallProgress {
  const ranWith = progress.state === 'waiting' ? progress.pending.input : progress.state === 'started' ? progress.input : undefined;
  return ranWith === undefined || canonicalJson(ranWith) === canonicalJson(input) ? { state: 'settled', output } : { state: 'settled', output, input: ranWith };
}

function outputOf(decided: Decision): ToolOutput {
  if (!('output' in decided)) throw new ToolError('INVALID_INPUT', 'Expected what the model reads of the call, found a yes');
  return decided.output;
}

/** The model must not read that nothing was done. */
function notRunAgain({ reason }: { readonly reason?: string }): ToolOutput {
  return errorOutput(`Whether the call had its effect is not known; a person decided not to run it again${reason === undefined ? '' : `: ${reason}`}`);
}

/** A yes is to the arguments that the person was shown, or made of them; they need not be the model's any more. */
function approved(call: CallRecord, pending: PendingApproval, decided: Decision, pendingId: string | undefined): CallProgress {
  if (pendingId !== undefined && pendingId !== pending.id) throw new ToolError('INVALID_APPROVAL', `Expected a yes to what waits now, found one to something that was asked before; show the person what waits, and ask again`, { details: { callId: call.callId, pendingId: pending.id } });
  const input = 'input' in decided && decided.input !== undefined ? decided.input : pending.input;
  return canonicalJson(input) === canonicalJson(call.input) ? { state: 'approved', pending } : { state: 'approved', pending, input };
}

function answered(question: PendingQuestion, given: string | readonly string[]): ToolOutput {
  const answer = readAnswer(question, given);
  if (!answer.ok) throw new ToolError('INVALID_INPUT', answer.message, { details: { callId: question.callId, options: question.options ?? [] } });
  return encodeValue(answer.value);
}

function waitingFor({ chat }: SessionData): string {
  const ids = (chat.openTurn?.calls ?? []).flatMap(({ callId, progress }) => (progress.state === 'waiting' || progress.state === 'started' ? [callId] : []));
  return ids.length === 0 ? '; no call waits' : `; these wait: ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}`;
}
