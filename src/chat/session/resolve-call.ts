import { ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import {
  canonicalJson,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
} from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { answerIssues } from '../../execution/read-result.js';
import type {
  PendingApproval,
  PendingManualCall,
  PendingQuestion,
  GrantScope,
} from '../../safety/calls.js';
import { checkScope } from '../../safety/grants.js';
import { failureText, plainValue, unansweredText } from '../../safety/read-outcome.js';
import { isToolResult } from '../../tool/outcome.js';
import { readAnswer } from '../../tool/question.js';
import {
  closeTurn,
  pendingOf,
  positionOf,
  withCall,
  type CallProgress,
  type CallRecord,
  type ChatState,
} from '../chat-state.js';
import { deniedOutput, encodeAnswer, encodeValue, errorOutput } from '../encode-output.js';
import { cloneMessage, type ToolOutput } from '../thread.js';
import { withChat, type SessionData } from './session-data.js';

/** A decision of a user or program about a pending call. */
export type CallDecision =
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'answer'; readonly answer: string | readonly string[]; readonly now: number }
  | {
      readonly kind: 'approve';
      readonly edited?: { readonly input: unknown };
      readonly grant?: GrantScope;
      readonly pendingId?: string | undefined;
    }
  | { readonly kind: 'deny'; readonly reason?: string | undefined };

/** The data after a decision; `applied` is false when it changed nothing: the same decision twice. */
export interface Resolved {
  readonly data: SessionData;
  readonly applied: boolean;
}

/** The effect of a decision: what the model reads, or the arguments with which the tool runs. */
type Effect =
  | { readonly output: ToolOutput }
  | { readonly input: Json | undefined; readonly grant?: GrantScope };

/**
 * Puts a decision about one call on record; a turn whose last call it settles joins the thread.
 *
 * @throws ToolError `UNKNOWN_CALL` for a call that was never pending, `ALREADY_RESOLVED` for another decision than the one on
 * record, `INVALID_APPROVAL` for an approval of something else than what is pending, `INVALID_INPUT` for a decision that the call
 * does not wait for; nothing is changed then.
 */
export function resolveCall(data: SessionData, callId: string, decision: CallDecision): Resolved {
  if (typeof callId !== 'string') throw invalidArgument('the id of a call as text', callId);
  const effect = effectOf(decision);
  const digest = digestOf(effect);
  const call = findCall(data, callId);
  const before = data.resolutions.find((each) => each.callId === callId);
  if (before?.digest === digest && call?.progress.state !== 'waiting')
    return { data, applied: false };
  if (call === undefined || !isOpen(call.progress, decision)) {
    if (before === undefined) throw unknownCall(data, callId, 'a pending call');
    throw new ToolError(
      'ALREADY_RESOLVED',
      expectedGot(
        `the decision on record about the call ${describeValue(callId)}`,
        'another',
        'What was decided first stays.',
      ),
      { details: { callId } },
    );
  }
  return resolved(data, withCall(data.chat, callId, progressAfter(call, decision, effect)), [
    { callId, digest },
  ]);
}

/** Settles the questions whose time is over: the model reads that the user did not answer. Other calls stay as they are. */
export function expireQuestions(data: SessionData, now: number): Resolved {
  const expired = (data.chat.openTurn?.calls ?? []).filter(
    ({ progress }) =>
      progress.state === 'waiting' &&
      progress.pending.kind === 'question' &&
      (progress.pending.expiresAt ?? Infinity) <= now,
  );
  if (expired.length === 0) return { data, applied: false };
  const settled = expired.map((call) => ({
    call,
    output: errorOutput(unansweredText(call.toolName)),
  }));
  const chat = settled.reduce(
    (before, { call, output }) => withCall(before, call.callId, settledWith(call, output)),
    data.chat,
  );
  return resolved(
    data,
    chat,
    settled.map(({ call: { callId }, output }) => ({ callId, digest: digestOf(output) })),
  );
}

function resolved(data: SessionData, chat: ChatState, added: SessionData['resolutions']): Resolved {
  const kept = data.resolutions.filter(
    ({ callId }) => !added.some((each) => each.callId === callId),
  );
  const resolutions = Object.freeze([...kept, ...added.map((each) => Object.freeze(each))]);
  return {
    data: Object.freeze({ ...withChat(data, closeTurn(chat)), resolutions }),
    applied: true,
  };
}

/** Lets a call run again of which nobody knows whether it ran. @throws ToolError `UNKNOWN_CALL`. */
export function rerunCall(data: SessionData, callId: string): Resolved {
  const call = findCall(data, callId);
  if (call?.progress.state === 'not_started') return { data, applied: false };
  if (call?.progress.state !== 'started')
    throw unknownCall(data, callId, 'a call whose outcome is not known');
  const { input, startedAt } = call.progress;
  return {
    data: withChat(
      data,
      withCall(data.chat, callId, {
        state: 'not_started',
        rerunOf: startedAt,
        ...(input !== undefined && { input }),
      }),
    ),
    applied: true,
  };
}

function findCall({ chat }: SessionData, callId: string): CallRecord | undefined {
  return chat.openTurn?.calls[positionOf(chat.openTurn, callId)];
}

function unknownCall({ chat }: SessionData, callId: string, what: string): ToolError {
  const ids = pendingOf(chat).map((each) => each.callId);
  const known =
    ids.length === 0
      ? 'No call is pending.'
      : `Pending are ${ids.slice(0, 10).join(', ')}${ids.length > 10 ? ` and ${ids.length - 10} more` : ''}.`;
  return new ToolError(
    'UNKNOWN_CALL',
    expectedGot(`the id of ${what}`, describeValue(callId), known),
    { details: { callId } },
  );
}

/** Returns true for a call about which this can be decided. Calls that have not begun can be denied, too: a run left them when it was given up. */
function isOpen({ state }: CallProgress, { kind }: CallDecision): boolean {
  return state === 'waiting' || state === 'started' || (state === 'not_started' && kind === 'deny');
}

function effectOf(decision: CallDecision): Effect {
  switch (decision.kind) {
    case 'result':
      return { output: outputOf(decision.result) };
    case 'answer':
      if (![decision.answer].flat().every((each) => typeof each === 'string'))
        throw invalidInput(
          'the answer as text, or as a list of texts',
          describeValue(decision.answer),
        );
      return { output: encodeValue(decision.answer) };
    case 'deny':
      if (decision.reason !== undefined && typeof decision.reason !== 'string')
        throw invalidInput('the reason as text', describeValue(decision.reason));
      return { output: deniedOutput(decision.reason ?? 'the user denied this call') };
    case 'approve':
      return {
        input:
          decision.edited &&
          cloneMessage(decision.edited.input as Json, 'the arguments', 'INVALID_INPUT'),
        ...(decision.grant !== undefined && { grant: checkScope(decision.grant) }),
      };
  }
}

function outputOf(result: unknown): ToolOutput {
  if (isToolResult(result)) {
    if (result.status === 'error') return errorOutput(failureText(result.message, result.details));
    if (result.status !== 'ok')
      throw invalidInput(
        'a value, ok(value) or fail(message) as the result of a call',
        result.status,
      );
    return encodeGiven(result);
  }
  return encodeGiven({ value: result });
}

function encodeGiven(answer: Parameters<typeof encodeAnswer>[0]): ToolOutput {
  try {
    return encodeAnswer(answer);
  } catch (error) {
    throw invalidInput('plain data as the result of a call', publicMessage(error));
  }
}

/** The kind of decision that each kind of pending call takes. */
const TAKES = {
  approval: 'an approval or a denial (approve, deny)',
  question: 'an answer to the question of the call (answer)',
  manual: 'the result of the call (submitToolResult)',
  uncertain: 'the result of the call (submitToolResult), or that it runs again (rerun)',
};

function progressAfter(call: CallRecord, decision: CallDecision, effect: Effect): CallProgress {
  const { callId, progress } = call;
  const pending = progress.state === 'waiting' ? progress.pending : undefined;
  if (decision.kind === 'approve' && pending?.kind === 'approval' && 'input' in effect)
    return approved(call, pending, effect, decision.pendingId);
  if (decision.kind === 'deny' && 'output' in effect)
    return {
      state: 'settled',
      output: progress.state === 'started' ? notRunAgain(decision.reason) : effect.output,
    };
  if (decision.kind === 'answer' && pending?.kind === 'question')
    return settledWith(call, answered(pending, decision));
  if (
    decision.kind === 'result' &&
    (pending === undefined || pending.kind === 'manual') &&
    'output' in effect
  ) {
    if (pending !== undefined) assertPromised(pending, decision.result);
    return settledWith(call, effect.output);
  }
  const waitsFor = pending?.kind ?? 'uncertain';
  throw invalidInput(TAKES[waitsFor], `a decision of the kind ${decision.kind}`, {
    callId,
    waitsFor,
  });
}

/** @throws ToolError `INVALID_INPUT` for a result that is not what the tool's output schema promises. */
function assertPromised({ callId, outputSchema }: PendingManualCall, given: unknown): void {
  let result = given;
  for (; isToolResult(result); result = result.value) if (result.status !== 'ok') return;
  const issues = isPlainObject(outputSchema)
    ? answerIssues(outputSchema, plainValue(result).data)
    : [];
  if (issues.length > 0)
    throw invalidInput(
      'a result that is what the output schema of the tool promises',
      `another: ${issues[0]!.message}`,
      { callId, issues },
    );
}

/** Returns the progress of a call that was settled from outside; it was run with other arguments than the model's where the user had changed them. */
function settledWith({ input, progress }: CallRecord, output: ToolOutput): CallProgress {
  const ranWith =
    progress.state === 'waiting'
      ? progress.pending.input
      : progress.state === 'started'
        ? progress.input
        : undefined;
  return ranWith === undefined || canonicalJson(ranWith) === canonicalJson(input)
    ? { state: 'settled', output }
    : { state: 'settled', output, input: ranWith };
}

/** The model must not read that nothing was done. */
function notRunAgain(reason: string | undefined): ToolOutput {
  return errorOutput(
    `Whether the call had its effect is not known; the user decided not to run it again${reason === undefined ? '' : `: ${reason}`}`,
  );
}

/** Returns the progress of an approved call. The approval is of the arguments that the user was shown, or changed; they need not be the model's any more. */
function approved(
  call: CallRecord,
  pending: PendingApproval,
  { input: edited, grant }: Extract<Effect, { readonly input: unknown }>,
  pendingId: string | undefined,
): CallProgress {
  if (pendingId !== undefined && pendingId !== pending.id)
    throw new ToolError(
      'INVALID_APPROVAL',
      expectedGot(
        'an approval of what is pending now',
        'one of something that was pending before',
        'Show the user what is pending, and ask again.',
      ),
      { details: { callId: call.callId, pendingId: pending.id } },
    );
  const input = edited === undefined ? pending.input : edited;
  return {
    state: 'approved',
    pending,
    ...(canonicalJson(input) !== canonicalJson(call.input) && { input }),
    ...(grant !== undefined && { grant }),
  };
}

function answered(
  question: PendingQuestion,
  { answer: given, now }: Extract<CallDecision, { kind: 'answer' }>,
): ToolOutput {
  const { callId, options = [], expiresAt = Infinity } = question;
  if (expiresAt <= now)
    throw new ToolError(
      'TIMEOUT',
      expectedGot(
        'an answer in the time of the question',
        'one later',
        'continue(engine) goes on without it.',
      ),
      { details: { callId } },
    );
  const answer = readAnswer(question, given);
  if (!answer.ok)
    throw new ToolError('INVALID_INPUT', answer.message, { details: { callId, options } });
  return encodeValue(answer.value);
}

function invalidInput(
  expected: string,
  got: string,
  details: Readonly<Record<string, unknown>> = {},
): ToolError {
  return new ToolError('INVALID_INPUT', expectedGot(expected, got), { details });
}
