import { ToolError } from '../../core/errors.js';
import { invalidArgument } from '../../core/issues.js';
import {
  canonicalJson,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
  without,
} from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { answerIssues } from '../../execution/read-result.js';
import type { GrantScope, Pending, PendingManualCall } from '../../safety/calls.js';
import { checkScope } from '../../safety/grants.js';
import { failureText, plainValue, unansweredText } from '../../safety/read-outcome.js';
import { isToolResult } from '../../tool/outcome.js';
import { readAnswer } from '../../tool/question.js';
import {
  closeTurn,
  pendingOf,
  withCall,
  type CallProgress,
  type CallRecord,
} from '../chat-state.js';
import { deniedOutput, encodeResult, errorOutput } from '../encode-output.js';
import { cloneMessage, type ToolOutput } from '../thread.js';
import { revised, type SessionData } from './session-data.js';

/** A user's or program's decision about a pending call, and the person who decided. */
export type CallDecision = { readonly by?: string | undefined } & (
  | { readonly kind: 'result'; readonly result: unknown }
  | { readonly kind: 'answer'; readonly answer: string | readonly string[]; readonly now: number }
  | {
      readonly kind: 'approve';
      readonly input?: unknown;
      readonly grant?: GrantScope | undefined;
      readonly pendingId?: string | undefined;
    }
  | { readonly kind: 'deny'; readonly reason?: string | undefined }
);

/** The session data after a decision. `applied` is false if the decision was already on record. */
export interface Resolved {
  readonly data: SessionData;
  readonly applied: boolean;
}

/** A parsed decision: the facts that identify the decision, and the call's progress after it. */
interface Effect {
  readonly facts: unknown;
  /**
   * @param pending The pending call, or `undefined` if the call's outcome is unknown or the call
   * hasn't started.
   */
  readonly progressAfter: (call: CallRecord, pending: Pending | undefined) => CallProgress;
}

/**
 * Records a decision about one call. When the last call of a turn is settled, the turn is added to
 * the thread.
 *
 * If the function throws, nothing has changed.
 *
 * @throws ToolError `UNKNOWN_CALL` if the call was never pending, `ALREADY_RESOLVED` if another
 * decision is on record. `INVALID_APPROVAL` if the approval is for something that isn't pending,
 * `INVALID_INPUT` if the decision doesn't fit the call.
 */
export function resolveCall(data: SessionData, callId: string, decision: CallDecision): Resolved {
  if (typeof callId !== 'string') throw invalidArgument('the id of a call as text', callId);
  const { facts, progressAfter } = effectOf(decision);
  const digest = digestOf(facts);
  const call = callOf(data, callId);
  const { progress } = call ?? {};
  const before = data.resolutions.find((each) => each.callId === callId);
  if (before?.digest === digest && progress?.state !== 'waiting') return { data, applied: false };
  // A call that hasn't started, for example after an aborted run, can also be denied.
  const isOpen =
    progress?.state === 'waiting' ||
    progress?.state === 'started' ||
    (progress?.state === 'not_started' && decision.kind === 'deny');
  if (call === undefined || !isOpen) {
    if (before === undefined) throw unknownCall(data, callId);
    throw new ToolError(
      'ALREADY_RESOLVED',
      `A different decision has already been made about the call ${describeValue(callId)}. The first decision stands.`,
      { details: { callId } },
    );
  }
  const pending = progress?.state === 'waiting' ? progress.pending : undefined;
  const { by } = decision;
  return resolved(data, [{ callId, progress: progressAfter(call, pending), digest, by }]);
}

/** Settles expired questions with a result that says that the user didn't answer. */
export function expireQuestions(data: SessionData, now: number): Resolved {
  const changes = (data.openTurn?.calls ?? []).flatMap((call): Change[] => {
    const { callId, toolName, progress } = call;
    if (progress.state !== 'waiting' || progress.pending.kind !== 'question') return [];
    if ((progress.pending.expiresAt ?? Infinity) > now) return [];
    const output = errorOutput(unansweredText(toolName));
    return [{ callId, progress: settledWith(call, output), digest: digestOf(output) }];
  });
  return changes.length === 0 ? { data, applied: false } : resolved(data, changes);
}

/** The ways to settle open calls when the user moves on: deny them, or leave them undecided. */
export type Open = 'deny' | 'leave';

/** Settles every open call, because the user says something else. No open call runs after this. */
export function settleOpenCalls(data: SessionData, open: Open): Resolved {
  const changes = (data.openTurn?.calls ?? []).flatMap((call): Change[] => {
    const { callId, progress } = call;
    if (progress.state === 'settled') return [];
    const left = errorOutput(
      "Not run: the user hasn't decided about this call and said something else",
    );
    const decided = open === 'deny' ? deniedOutput('the user said something else instead') : left;
    const output = mayHaveRun(progress)
      ? errorOutput("It's unknown whether the call took effect")
      : decided;
    return [{ callId, progress: settledWith(call, output), digest: digestOf(output) }];
  });
  return changes.length === 0 ? { data, applied: false } : resolved(data, changes);
}

/** Returns false for a call that hasn't started, even if the user has to decide about it again. */
function mayHaveRun(progress: CallProgress): boolean {
  return progress.state === 'started' && progress.startedAt > 0;
}

interface Change {
  readonly callId: string;
  readonly progress: CallProgress;
  readonly digest: string;
  readonly by?: string | undefined;
}

function resolved(data: SessionData, changes: readonly Change[]): Resolved {
  let next = data;
  for (const { callId, progress, digest, by } of changes) {
    const others = next.resolutions.filter((each) => each.callId !== callId);
    const resolutions = [...others, without({ callId, digest, by })];
    next = { ...withCall(next, callId, progress), resolutions };
  }
  return { data: revised(closeTurn(next)), applied: true };
}

/** Lets a call whose outcome is unknown run again. @throws ToolError `UNKNOWN_CALL`. */
export function rerunCall(data: SessionData, callId: string): Resolved {
  const { progress } = callOf(data, callId) ?? {};
  if (progress?.state === 'not_started') return { data, applied: false };
  if (progress?.state !== 'started') throw unknownCall(data, callId);
  const { startedAt: rerunOf, ...rest } = progress;
  const next = withCall(data, callId, { ...rest, state: 'not_started', rerunOf });
  return { data: revised(next), applied: true };
}

function callOf({ openTurn }: SessionData, callId: string): CallRecord | undefined {
  return openTurn?.calls.find((call) => call.callId === callId);
}

function unknownCall(data: SessionData, callId: string): ToolError {
  const ids = pendingOf(data).map((each) => each.callId);
  const more = ids.length > 10 ? ` and ${ids.length - 10} more` : '';
  const pendingCalls =
    ids.length === 0
      ? 'No call is pending.'
      : `Pending calls: ${ids.slice(0, 10).join(', ')}${more}.`;
  return new ToolError(
    'UNKNOWN_CALL',
    `Expected the id of a pending call, got ${describeValue(callId)}. ${pendingCalls}`,
    { details: { callId } },
  );
}

function effectOf(decision: CallDecision): Effect {
  switch (decision.kind) {
    case 'result': {
      const output = outputOf(decision.result);
      const progressAfter: Effect['progressAfter'] = (call, pending) => {
        if (pending?.kind === 'manual') assertPromised(pending, decision.result);
        else if (pending !== undefined) throw unfit(pending, decision);
        return settledWith(call, output);
      };
      return { facts: { output }, progressAfter };
    }
    case 'answer':
      return answerEffect(decision);
    case 'approve':
      return approvalEffect(decision);
    case 'deny': {
      const { reason } = decision;
      if (reason !== undefined && typeof reason !== 'string')
        throw invalidInput(`Expected the reason as text, got ${describeValue(reason)}.`);
      const denied = deniedOutput(reason ?? 'the user denied this call');
      const unknown = errorOutput(
        `It's unknown whether the call took effect; the user decided not to run it again${reason === undefined ? '' : `: ${reason}`}`,
      );
      return {
        facts: { output: denied },
        progressAfter: ({ progress }) => ({
          state: 'settled',
          // If the call was started, the model must not be told that nothing happened.
          output: mayHaveRun(progress) ? unknown : denied,
        }),
      };
    }
  }
}

function answerEffect(decision: Extract<CallDecision, { kind: 'answer' }>): Effect {
  const { answer, now } = decision;
  if (![answer].flat().every((each) => typeof each === 'string'))
    throw invalidInput(
      `Expected the answer as a string or a list of strings, got ${describeValue(answer)}.`,
    );
  const progressAfter: Effect['progressAfter'] = (call, pending) => {
    if (pending?.kind !== 'question') throw unfit(pending, decision);
    const { callId, options = [], expiresAt = Infinity } = pending;
    if (expiresAt <= now)
      throw new ToolError(
        'TIMEOUT',
        'The time for answering this question is over. Call continue(engine) to continue without an answer.',
        { details: { callId } },
      );
    const read = readAnswer(pending, answer);
    if (!read.ok) throw invalidInput(read.message, { callId, options });
    return settledWith(call, encodeResult(read));
  };
  return { facts: { answer }, progressAfter };
}

function approvalEffect(decision: Extract<CallDecision, { kind: 'approve' }>): Effect {
  const { input: edited, grant: scope, pendingId, by } = decision;
  const own = edited === undefined ? undefined : clonedInput(edited);
  const grant = scope && { grant: checkScope(scope) };
  const progressAfter: Effect['progressAfter'] = (call, pending) => {
    if (pending?.kind !== 'approval') throw unfit(pending, decision);
    if (pendingId !== undefined && pendingId !== pending.id)
      throw new ToolError(
        'INVALID_APPROVAL',
        'This approval is for an earlier pending call. Show the user the current pending call, and ask again.',
        { details: { callId: call.callId, pendingId: pending.id } },
      );
    // The approval is for the arguments that the user saw or entered.
    // The model's arguments may be different.
    const input = own === undefined ? pending.input : own;
    const isEdited = canonicalJson(input) !== canonicalJson(call.input);
    const named = by === undefined ? {} : { by };
    return { state: 'approved', pending, ...(isEdited && { input }), ...grant, ...named };
  };
  return { facts: { input: own ?? null, isEdited: own !== undefined, ...grant }, progressAfter };
}

function clonedInput(input: unknown): Json {
  return cloneMessage(input as Json, 'the arguments', 'INVALID_INPUT');
}

function outputOf(submitted: unknown): ToolOutput {
  const result = isToolResult(submitted)
    ? submitted
    : ({ status: 'ok', value: submitted } as const);
  if (result.status === 'error') return errorOutput(failureText(result.message, result.details));
  if (result.status !== 'ok')
    throw invalidInput(
      `Expected the result of a call to be a value, ok(value) or fail(message), got ${result.status}.`,
    );
  try {
    return encodeResult(result);
  } catch (error) {
    throw invalidInput(`Expected a call's result as plain data, got ${publicMessage(error)}.`);
  }
}

/** The decisions that each kind of pending call accepts. */
const TAKES = {
  approval: 'an approval or a denial (approve, deny)',
  question: 'an answer (answer)',
  manual: 'a result (submitToolResult)',
  uncertain: 'a result (submitToolResult), or the decision to run it again (rerun)',
};

function unfit(pending: Pending | undefined, { kind }: CallDecision): ToolError {
  const waitsFor = pending?.kind ?? 'uncertain';
  return invalidInput(
    `This call waits for ${TAKES[waitsFor]}, not for a decision of kind ${kind}.`,
    {
      ...(pending && { callId: pending.callId }),
      waitsFor,
    },
  );
}

/** Throws `INVALID_INPUT` for a result that doesn't match the tool's output schema. */
function assertPromised({ callId, outputSchema }: PendingManualCall, submitted: unknown): void {
  const result = isToolResult(submitted) ? submitted : { status: 'ok', value: submitted };
  if (result.status !== 'ok' || !isPlainObject(outputSchema)) return;
  const issues = answerIssues(outputSchema, plainValue(result.value).data);
  if (issues.length > 0)
    throw invalidInput(`The result doesn't match the tool's output schema: ${issues[0]!.message}`, {
      callId,
      issues,
    });
}

/**
 * Returns the progress of a call whose result was submitted. Keeps the arguments that the user had
 * changed.
 */
function settledWith({ input, progress }: CallRecord, output: ToolOutput): CallProgress {
  const { input: ranWith = input } =
    progress.state === 'waiting' ? progress.pending : (progress as { readonly input?: Json });
  const isEdited = canonicalJson(ranWith) !== canonicalJson(input);
  return { state: 'settled', output, ...(isEdited && { input: ranWith }) };
}

function invalidInput(message: string, details: Readonly<Record<string, unknown>> = {}): ToolError {
  return new ToolError('INVALID_INPUT', message, { details });
}
