import { isToolError, ToolError } from '../core/errors.js';
import { previewDigestOf, type Shown } from '../core/preview.js';
import { describeValue, isPlainObject, type Json, without } from '../core/plain-data.js';
import type {
  Confirm,
  Decision,
  GrantScope,
  OutcomeBody,
  Pending,
  PendingApproval,
  PendingQuestion,
  StoredPending,
} from '../safety/calls.js';
import { isGrantable, type Grant, type Grants } from '../safety/grants.js';
import {
  plainInput,
  usedUp,
  withAnswer,
  type WaitingCall,
  type WaitingCalls,
} from '../safety/waiting-calls.js';
import type { StateStore } from '../state/state-store.js';
import { jsonSchemaOf } from '../tool/tool-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import { failure, type AskedUser } from './read-result.js';
import type { Answering, ApprovedCall, RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

interface Ended {
  readonly is: 'ended';
  readonly outcome: OutcomeBody;
}

/** The state of a call in the ledger: open, approved, used by an earlier run, or ended. */
type Found =
  ApprovedCall | Ended | { readonly is: 'open' | 'used'; readonly pending: PendingApproval };

/**
 * Asks users about the executor's calls, and reports every step as an event. Questions and answers
 * are kept in the ledger only. If the program has a `confirm` function, asks the user immediately.
 */
export class Asking {
  /** Counts questions, answers, and the calls that a grant allowed without asking. */
  readonly metrics = { asked: 0, granted: 0, denied: 0, coveredByGrants: 0 };
  readonly #frame: ExecutorFrame;
  readonly #store: StateStore;
  readonly #waiting: WaitingCalls;
  readonly #grants: Grants;
  #hasReported = false;

  constructor(frame: ExecutorFrame, store: StateStore, waiting: WaitingCalls, grants: Grants) {
    this.#frame = frame;
    this.#store = store;
    this.#waiting = waiting;
    this.#grants = grants;
  }

  /**
   * Returns what the ledger says about a call that needs a user.
   *
   * @throws ToolError `INVALID_APPROVAL` if the call's approval has been used and no function can
   * ask the user again.
   */
  async find(
    run: RunningCall,
    call: AcceptedCall,
    { danger }: Decision,
  ): Promise<Found | undefined> {
    if (run.approved !== undefined) return stillDefined(run.approved, call.entry);
    const stored = await this.#stored(run, call);
    if (stored === undefined) return undefined;
    const { pending, state } = stored.call;
    if (pending.kind !== 'approval') return ended(stored.call);
    if (state.is === 'denied') return denied(danger, NO);
    if (state.is !== 'approved') return { is: 'open', pending };
    if (!stored.isUsed)
      return { is: 'approved', pending, ...('input' in state && { edited: editedIn(state) }) };
    if (run.options.confirm ?? this.#frame.confirm) return { is: 'used', pending };
    throw refused(run, pending, usedUp(pending.id));
  }

  /** Returns the record that decides about a call, and whether it's an approval that was used. */
  async #stored(
    run: RunningCall,
    { entry, raw }: AcceptedCall,
  ): Promise<{ readonly call: WaitingCall; readonly isUsed: boolean } | undefined> {
    const asked = run.asked(entry, raw);
    const [work, approval] = await Promise.all([
      this.#waiting.find(asked, entry.manual ? 'manual' : 'question'),
      entry.manual ? undefined : this.#waiting.find(asked, 'approval'),
    ]);
    const call = work ?? approval;
    if (call === undefined) return undefined;
    const isUsed = call.state.is === 'approved' && (await this.#waiting.isUsed(call.pending));
    return { call, isUsed };
  }

  /** Stores a question about a call. If there's a `confirm` function, asks the user immediately. */
  async ask(
    run: RunningCall,
    call: AcceptedCall,
    decision: Decision,
    found: Exclude<Found, ApprovedCall | Ended> | undefined,
    preview: () => Promise<Shown>,
  ): Promise<ApprovedCall | Ended> {
    const { confirm: own } = this.#frame;
    const { confirm = own } = run.options;
    if (confirm !== undefined) await run.turn?.();
    const isOpen = found?.is === 'open' && isSameDecision(found.pending, decision);
    const pending = isOpen
      ? found.pending
      : await this.request(run, call, decision, await preview(), found?.pending);
    const waits: Ended = { is: 'ended', outcome: { status: 'approval_required', pending } };
    if (confirm === undefined) return waits;
    let answer = await this.#confirmed(run, confirm, pending);
    if (answer === 'later' && confirm !== own && own !== undefined)
      answer = await this.#confirmed(run, own, pending);
    if (answer !== 'later') return this.#close(pending, decision, answer);
    // Another process may have stored an answer in the meantime.
    const now = await this.find(run, call, decision);
    return now?.is === 'approved' || now?.is === 'ended' ? now : waits;
  }

  /** Stores a new question, in place of `replaced`. */
  async request(
    run: RunningCall,
    { entry, raw }: AcceptedCall,
    decision: Decision,
    shown: Shown,
    replaced?: Pick<Pending, 'id'>,
  ): Promise<PendingApproval> {
    const { danger, reason, rule } = decision;
    const { time, identity: storeIdentity } = await this.#store.now();
    const pending: PendingApproval = {
      ...this.#factsOf(run, entry, raw, 'approval', time),
      ...{ danger, reason, rule, ...shown },
      ...{ expiresAt: time + this.#frame.approvalTtlMs, storeIdentity },
    };
    const asked = {
      pending,
      inputSchema: entry.inputJsonSchema,
      isGrantable: isGrantable(entry, decision),
    };
    const { pending: kept } = await this.#waiting.ask(
      asked,
      // Another process may have asked about the call in the meantime.
      ({ pending: other }) => other.definitionDigest === entry.digest && other.id !== replaced?.id,
    );
    this.metrics.asked++;
    run.tell({ type: 'approval', state: 'requested', pendingId: kept.id });
    this.#reportUnknownCaller(run);
    return kept as PendingApproval;
  }

  /**
   * Returns the stored question about a call. Stores a new question if there's none, if the
   * decision has changed, or if the approval has already been used. Doesn't ask the user directly.
   *
   * @param admit Counts a new question against the repeat limit.
   */
  async stored(
    run: RunningCall,
    call: AcceptedCall,
    decision: Decision,
    { admit, preview }: { readonly admit: () => void; readonly preview: () => Promise<Shown> },
  ): Promise<StoredPending> {
    const stored = await this.#stored(run, call);
    const isOpen = stored?.call.state.is === 'open';
    if (stored !== undefined) {
      const { pending } = stored.call;
      const isOther = isOpen && pending.kind === 'approval' && !isSameDecision(pending, decision);
      if (!stored.isUsed && !isOther) return withAnswer(stored.call);
    }
    if (!isOpen) admit();
    return this.request(run, call, decision, await preview(), stored?.call.pending);
  }

  /** Stores a tool's question, and returns its outcome, which can be a stored answer. */
  async wait(
    run: RunningCall,
    call: AcceptedCall,
    { status: _, ...question }: AskedUser,
  ): Promise<OutcomeBody> {
    const { timeoutMs } = question;
    const facts = this.#factsOf(run, call.entry, call.raw, 'question');
    const expiry = timeoutMs === undefined ? {} : { expiresAt: facts.createdAt + timeoutMs };
    return ended(await this.#keep({ ...facts, ...question, ...expiry })).outcome;
  }

  /** Stores manual work, and returns its outcome, which can be a stored answer. */
  async waitForWork(run: RunningCall, call: AcceptedCall): Promise<OutcomeBody> {
    return ended(await this.keepWork(run, call)).outcome;
  }

  /** Stores manual work, unless the same work is already stored. */
  async keepWork(run: RunningCall, { entry, raw }: AcceptedCall): Promise<WaitingCall> {
    const { outputSchema } = entry;
    // The schema that an answer must match, if JSON Schema can express it.
    const schema = outputSchema && (jsonSchemaOf(outputSchema, 'output') as Json);
    const facts = this.#factsOf(run, entry, raw, 'manual');
    return this.#keep({ ...facts, ...without({ outputSchema: schema }) });
  }

  /** Stores a question or manual work, unless the same is already stored. */
  #keep(pending: Exclude<Pending, PendingApproval>): Promise<WaitingCall> {
    const questionOf = (of: Pending) => (of.kind === 'question' ? of.question : undefined);
    return this.#waiting.ask(
      { pending },
      ({ pending: other }) =>
        other.definitionDigest === pending.definitionDigest &&
        questionOf(other) === questionOf(pending),
    );
  }

  /** Returns the fields that all pending calls have. */
  #factsOf<Kind extends Pending['kind']>(
    run: RunningCall,
    entry: ToolEntry,
    raw: Json,
    kind: Kind,
    createdAt = this.#frame.clock.now(),
  ) {
    const asked = run.asked(entry, raw);
    const { toolName, input, definitionDigest } = asked;
    const id = this.#waiting.idFor(asked, kind, createdAt);
    return { kind, id, ...run.owner, toolName, input, definitionDigest, createdAt };
  }

  /**
   * Returns true if the preview has changed since the user approved the call. Reports the change as
   * an event.
   */
  isOutdated(run: RunningCall, { pending, edited }: ApprovedCall, shown: Shown): boolean {
    if (edited !== undefined || previewDigestOf(shown) === previewDigestOf(pending)) return false;
    const reason = 'its preview has changed since the call was approved';
    run.tell({ type: 'approval', state: 'refused', pendingId: pending.id, reason });
    return true;
  }

  /** Uses up an approval. @throws ToolError `INVALID_APPROVAL`, `STATE_UNAVAILABLE`. */
  async use(run: RunningCall, { pending, answer }: ApprovedCall): Promise<void> {
    try {
      if (answer !== undefined)
        await this.#waiting.approve(pending, { ...answer, isChecked: true }).catch(tooLate);
      await this.#waiting.use(pending);
    } catch (error) {
      throw refused(run, pending, error);
    }
    run.tell({ type: 'approval', state: 'redeemed', pendingId: pending.id });
  }

  async approve(pending: PendingApproval, answering: Answering = {}): Promise<void> {
    await this.#waiting.approve(pending, answering).catch(tooLate);
    this.#tell(pending, 'granted');
  }

  /** Records that the user approved a call and similar calls in the future. */
  async grant(
    pending: PendingApproval,
    scope: GrantScope,
    answering: Answering = {},
  ): Promise<Grant> {
    // Creates the grant first: if that fails, the question must stay open.
    // Nothing is granted if the question has already been answered.
    const grant = await this.#grants.make(await this.#waiting.require(pending), scope);
    await this.approve(pending, answering);
    await this.#grants.record(grant);
    return grant;
  }

  /**
   * Counts this call against a grant.
   * @returns false if the grant has been revoked, or used up by other calls.
   */
  async useGrant(run: RunningCall, grant: Grant): Promise<boolean> {
    if (!(await this.#grants.use(grant))) return false;
    this.metrics.coveredByGrants++;
    run.tell({ type: 'approval', state: 'covered', pendingId: grant.id });
    return true;
  }

  async deny(pending: Pending, answering: Answering = {}): Promise<void> {
    await this.#waiting.deny(pending, answering).catch(tooLate);
    if (pending.kind === 'approval') this.#tell(pending, 'denied');
  }

  /** Returns the user's answer: an approval, `'later'`, or the reason for the denial. */
  async #confirmed(
    run: RunningCall,
    confirm: Confirm,
    pending: PendingApproval,
  ): Promise<string | Approved> {
    const answered = await withDeadline((stop) => askUser(confirm, pending, stop.signal), {
      clock: this.#frame.clock,
      timeoutMs: this.#frame.approvalTtlMs,
      signal: run.options.signal,
    });
    if (answered.kind === 'aborted') throw aborted(run.toolName);
    if (answered.kind === 'timeout') return LATE;
    return answered.kind === 'returned' ? answered.value : NO;
  }

  async #close(
    pending: PendingApproval,
    { danger }: Decision,
    answer: string | Approved,
  ): Promise<ApprovedCall | Ended> {
    if (typeof answer === 'object') {
      const { grant, ...answering } = answer;
      if (grant !== undefined)
        await this.#grants.record(
          await this.#grants.make(await this.#waiting.require(pending), grant),
        );
      this.#tell(pending, 'granted');
      const edited = answering.input === undefined ? {} : { edited: editedIn(answering) };
      return { is: 'approved', pending, answer: answering, ...edited };
    }
    if (answer !== LATE) await this.deny(pending);
    return denied(danger, answer);
  }

  #tell(pending: PendingApproval, state: 'granted' | 'denied'): void {
    const { listeners, clock } = this.#frame;
    const { callId, toolName, principal, conversationId, id: pendingId } = pending;
    this.metrics[state]++;
    listeners.tell({
      type: 'approval',
      state,
      pendingId,
      callId,
      toolName,
      at: clock.now(),
      ...without({ principal, conversationId }),
    });
  }

  /** Reports once that equal calls of other executors could use this call's approval. */
  #reportUnknownCaller(run: RunningCall): void {
    const { principal, conversationId } = run.options;
    const isKnown = principal !== undefined || conversationId !== undefined;
    if (isKnown || this.#hasReported || this.#frame.store === undefined) return;
    this.#hasReported = true;
    run.tell({ type: 'caller-unknown' });
  }
}

/** Reports that an approval can't be used, and returns the error. */
function refused(run: RunningCall, { id: pendingId }: PendingApproval, error: unknown): unknown {
  run.tell({ type: 'approval', state: 'refused', pendingId, reason: failure(error).message });
  return error;
}

/** Returns an approval if its tool is still defined as the user saw it. */
function stillDefined(approved: ApprovedCall, { digest, name }: ToolEntry): ApprovedCall {
  if (approved.pending.definitionDigest === digest) return approved;
  throw new ToolError(
    'TOOL_CHANGED',
    `${name} was replaced while the user was asked about this call, so it didn't run. Call it again.`,
  );
}

function isSameDecision(pending: PendingApproval, { rule, reason, danger }: Decision): boolean {
  return pending.rule === rule && pending.reason === reason && pending.danger === danger;
}

function denied(danger: Decision['danger'], reason: string): Ended {
  return { is: 'ended', outcome: { status: 'denied', reason, rule: 'confirmation', danger } };
}

const editedIn = ({ input }: { readonly input?: unknown }) => ({ input: plainInput(input) });

/** Returns the outcome of a call that a user or another program answers. */
function ended({ pending, state }: WaitingCall): Ended {
  if (state.is === 'denied') return denied('critical', NO);
  if (state.is === 'answered')
    return { is: 'ended', outcome: { status: 'ok', value: state.value } };
  const outcome: OutcomeBody =
    pending.kind === 'manual'
      ? { status: 'manual', pending }
      : {
          status: 'ask_user',
          ...questionIn(pending as PendingQuestion),
          pending: pending as PendingQuestion,
        };
  return { is: 'ended', outcome };
}

function questionIn(pending: PendingQuestion) {
  const { kind: _k, id: _i, callId: _c, toolName: _t, input: _in, ...more } = pending;
  const { definitionDigest: _d, principal: _p, conversationId: _o, ...rest } = more;
  const { createdAt: _a, expiresAt: _e, ...question } = rest;
  return question;
}

/** Turns the error for an approval that somebody answered first into an invalid approval. */
function tooLate(error: unknown): never {
  if (!isToolError(error, 'ALREADY_RESOLVED')) throw error;
  throw new ToolError('INVALID_APPROVAL', error.message, { details: error.details });
}

/** An approval of the call, possibly with edited arguments, and possibly of further calls. */
type Approved = Answering & { readonly grant?: GrantScope };
const NO = 'the user denied this call';
const LATE = 'nobody answered in time';

/**
 * Asks the user with the `confirm` function. Any answer other than an approval or `'later'`, even
 * an error, is a denial.
 */
async function askUser(
  confirm: Confirm,
  pending: PendingApproval,
  signal: AbortSignal,
): Promise<string | Approved> {
  try {
    const answer: unknown = await confirm(pending, { signal });
    if (signal.aborted || answer === false) return NO;
    if (answer === true) return {};
    if (answer === 'later') return 'later';
    const fields = isPlainObject(answer) ? Object.entries(answer) : [];
    const accepted = fields.filter(
      ([name]) => name === 'input' || name === 'grant' || name === 'by',
    );
    if (accepted.length > 0) return Object.fromEntries(accepted);
    return `confirm returned ${describeValue(answer)}. Return true to approve, false to deny, { input } to approve edited arguments, or { grant } to approve further calls`;
  } catch {
    return NO;
  }
}
