import { ToolError } from '../../core/errors.js';
import { invalidArgument } from '../../core/issues.js';
import {
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
  without,
} from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { answerIssues } from '../../execution/read-result.js';
import type {
  GrantScope,
  Pending,
  PendingApproval,
  PendingManualCall,
  PendingQuestion,
} from '../../safety/calls.js';
import { checkScope } from '../../safety/grants.js';
import { failureText, plainValue, unansweredText } from '../../safety/read-outcome.js';
import { isToolResult, ok, type ToolResult } from '../../tool/outcome.js';
import { readAnswer } from '../../tool/question.js';
import {
  closeTurn,
  pendingOf,
  withArguments,
  withCall,
  withCalls,
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

/** The facts that identify a decision, checked and copied. */
interface Facts {
  /** The call's result, if the decision is a result or a denial. */
  readonly output?: ToolOutput;
  readonly answer?: string | readonly string[];
  /** The arguments from the user. `isEdited` tells `null` apart from no arguments. */
  readonly input?: Json;
  readonly isEdited?: boolean;
  readonly grant?: GrantScope;
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
  const facts = factsOf(decision);
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
  return resolved(data, [{ call: decided(call, pending, decision, facts), digest, by }]);
}

/** Settles expired questions with a result that says that the user didn't answer. */
export function expireQuestions(data: SessionData, now: number): Resolved {
  return settleCalls(data, ({ toolName, progress }) => {
    const question = progress.state === 'waiting' ? progress.pending : undefined;
    const isExpired = question?.kind === 'question' && (question.expiresAt ?? Infinity) <= now;
    return isExpired ? errorOutput(unansweredText(toolName)) : undefined;
  });
}

/** The ways to settle open calls when the user moves on: deny them, or leave them undecided. */
export type Open = 'deny' | 'leave';

/** Settles every open call, because the user says something else. No open call runs after this. */
export function settleOpenCalls(data: SessionData, open: Open): Resolved {
  const notRun =
    open === 'deny'
      ? deniedOutput('the user said something else instead')
      : errorOutput("Not run: the user hasn't decided about this call and said something else");
  return settleCalls(data, ({ progress }) => {
    if (progress.state === 'settled') return undefined;
    return mayHaveRun(progress) ? errorOutput("It's unknown whether the call took effect") : notRun;
  });
}

/** Settles the open calls for which a function returns an output. */
function settleCalls(
  data: SessionData,
  outputFor: (call: CallRecord) => ToolOutput | undefined,
): Resolved {
  const changes: Change[] = [];
  for (const call of data.openTurn?.calls ?? []) {
    const output = outputFor(call);
    if (output !== undefined)
      changes.push({ call: settled(call, output), digest: digestOf(output) });
  }
  return changes.length === 0 ? { data, applied: false } : resolved(data, changes);
}

/** Returns false for a call that hasn't started, even if the user has to decide about it again. */
function mayHaveRun(progress: CallProgress): boolean {
  return progress.state === 'started' && progress.startedAt > 0;
}

interface Change {
  readonly call: CallRecord;
  readonly digest: string;
  readonly by?: string | undefined;
}

function resolved(data: SessionData, changes: readonly Change[]): Resolved {
  const changed = new Map(changes.map((change) => [change.call.callId, change]));
  const resolutions = [
    ...data.resolutions.filter(({ callId }) => !changed.has(callId)),
    ...changes.map(({ call: { callId }, digest, by }) => without({ callId, digest, by })),
  ];
  const next = withCalls(data, (call) => changed.get(call.callId)?.call ?? call);
  return { data: revised(closeTurn({ ...next, resolutions })), applied: true };
}

/** Lets a call whose outcome is unknown run again. @throws ToolError `UNKNOWN_CALL`. */
export function rerunCall(data: SessionData, callId: string): Resolved {
  const { progress } = callOf(data, callId) ?? {};
  if (progress?.state === 'not_started') return { data, applied: false };
  if (progress?.state !== 'started') throw unknownCall(data, callId);
  const next = withCall(data, callId, { state: 'not_started', rerunOf: progress.startedAt });
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

function factsOf(decision: CallDecision): Facts {
  switch (decision.kind) {
    case 'result':
      return { output: outputOf(decision.result) };
    case 'answer': {
      const { answer } = decision;
      if ([answer].flat().every((each) => typeof each === 'string')) return { answer };
      throw invalidInput(
        `Expected the answer as a string or a list of strings, got ${describeValue(answer)}.`,
      );
    }
    case 'approve': {
      const { input = null, grant } = decision;
      return {
        input: cloneMessage(input as Json, 'the arguments', 'INVALID_INPUT'),
        isEdited: decision.input !== undefined,
        ...(grant && { grant: checkScope(grant) }),
      };
    }
    case 'deny': {
      const { reason = 'the user denied this call' } = decision;
      if (typeof reason === 'string') return { output: deniedOutput(reason) };
      throw invalidInput(`Expected the reason as text, got ${describeValue(reason)}.`);
    }
  }
}

/**
 * Returns the call after a decision.
 *
 * @param pending The pending call, or `undefined` if the call's outcome is unknown or the call
 * hasn't started.
 */
function decided(
  call: CallRecord,
  pending: Pending | undefined,
  decision: CallDecision,
  facts: Facts,
): CallRecord {
  switch (decision.kind) {
    case 'result':
      if (pending?.kind === 'manual') assertPromised(pending, decision.result);
      else if (pending !== undefined) throw unfit(pending, decision);
      return settled(call, facts.output!);
    case 'answer':
      if (pending?.kind !== 'question') throw unfit(pending, decision);
      return settled(call, answerTo(pending, decision));
    case 'approve':
      if (pending?.kind !== 'approval') throw unfit(pending, decision);
      return approved(call, pending, decision, facts);
    case 'deny':
      // If the call was started, the model must not be told that nothing happened.
      return settled(call, mayHaveRun(call.progress) ? unknownEffect(decision) : facts.output!);
  }
}

function settled(call: CallRecord, output: ToolOutput): CallRecord {
  return { ...call, progress: { state: 'settled', output } };
}

function unknownEffect({ reason }: Extract<CallDecision, { kind: 'deny' }>): ToolOutput {
  return errorOutput(
    `It's unknown whether the call took effect; the user decided not to run it again${reason === undefined ? '' : `: ${reason}`}`,
  );
}

function answerTo(
  pending: PendingQuestion,
  { answer, now }: Extract<CallDecision, { kind: 'answer' }>,
): ToolOutput {
  const { callId, options = [], expiresAt = Infinity } = pending;
  if (expiresAt <= now)
    throw new ToolError(
      'TIMEOUT',
      'The time for answering this question is over. Call continue(engine) to continue without an answer.',
      { details: { callId } },
    );
  const read = readAnswer(pending, answer);
  if (!read.ok) throw invalidInput(read.message, { callId, options });
  return encodeResult(read);
}

/** The approval is for the arguments that the user saw or entered, not for the model's. */
function approved(
  call: CallRecord,
  pending: PendingApproval,
  { pendingId = pending.id, by }: Extract<CallDecision, { kind: 'approve' }>,
  { input, isEdited, grant }: Facts,
): CallRecord {
  if (pendingId !== pending.id)
    throw new ToolError(
      'INVALID_APPROVAL',
      'This approval is for an earlier pending call. Show the user the current pending call, and ask again.',
      { details: { callId: call.callId, pendingId: pending.id } },
    );
  return {
    ...withArguments(call, isEdited ? input! : pending.input),
    progress: { state: 'approved', pending, ...without({ grant, by }) },
  };
}

function outputOf(submitted: unknown): ToolOutput {
  const result = resultIn(submitted);
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

function resultIn(submitted: unknown): ToolResult {
  return isToolResult(submitted) ? submitted : ok(submitted);
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
  const result = resultIn(submitted);
  if (result.status !== 'ok' || !isPlainObject(outputSchema)) return;
  const issues = answerIssues(outputSchema, plainValue(result.value).data);
  if (issues.length > 0)
    throw invalidInput(`The result doesn't match the tool's output schema: ${issues[0]!.message}`, {
      callId,
      issues,
    });
}

function invalidInput(message: string, details: Readonly<Record<string, unknown>> = {}): ToolError {
  return new ToolError('INVALID_INPUT', message, { details });
}
