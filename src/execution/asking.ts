import { isToolError, ToolError } from '../core/errors.js';
import { previewDigestOf, type Shown } from '../core/preview.js';
import { describeValue, isPlainObject, without } from '../core/plain-data.js';
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
import type { ToolEntry } from '../tool/tool-definition.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import { failure } from './read-result.js';
import type { Answering, ApprovedCall, RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/** A tool's question or manual work whose id isn't set yet. */
type Unasked = Exclude<Pending, PendingApproval>;

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
    { entry, raw }: AcceptedCall,
    { danger }: Decision,
  ): Promise<Found | undefined> {
    if (run.approved !== undefined) return stillDefined(run.approved, entry.digest, entry.name);
    const call = run.asked(entry, raw);
    if (entry.manual) {
      const work = await this.#waiting.find(call, 'manual');
      return work && ended(work);
    }
    const [question, approval] = await Promise.all([
      this.#waiting.find(call, 'question'),
      this.#waiting.find(call, 'approval'),
    ]);
    if (question !== undefined) return ended(question);
    if (approval === undefined) return undefined;
    const { pending, state } = approval;
    if (state.is === 'denied') return denied(danger, NO);
    if (state.is !== 'approved') return { is: 'open', pending };
    if (!(await this.#waiting.isUsed(pending)))
      return { is: 'approved', pending, ...('input' in state && { edited: editedIn(state) }) };
    if (run.options.confirm ?? this.#frame.confirm) return { is: 'used', pending };
    return this.#orTellRefused(run, pending, () => Promise.reject(usedUp(pending.id)));
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
    replaced?: PendingApproval,
  ): Promise<PendingApproval> {
    const call = run.asked(entry, raw);
    const { time: createdAt, identity: storeIdentity } = await this.#store.now();
    const { danger, reason, rule } = decision;
    const pending: PendingApproval = {
      kind: 'approval',
      id: this.#waiting.idFor(call, 'approval', createdAt),
      ...run.owner,
      ...{ toolName: entry.name, input: call.input, definitionDigest: entry.digest },
      ...{ danger, reason, rule, ...shown },
      ...{ createdAt, expiresAt: createdAt + this.#frame.approvalTtlMs, storeIdentity },
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
    const asked = run.asked(call.entry, call.raw);
    const question = await this.#waiting.find(asked, 'question');
    if (question !== undefined) return withAnswer(question);
    const approval = await this.#waiting.find(asked, 'approval');
    const { is } = approval?.state ?? { is: undefined };
    const isCurrent =
      is === 'open'
        ? isSameDecision(approval!.pending, decision)
        : is === 'denied' ||
          (is === 'approved' && !(await this.#waiting.isUsed(approval!.pending)));
    if (isCurrent) return withAnswer(approval!);
    if (is !== 'open') admit();
    return this.request(run, call, decision, await preview(), approval?.pending);
  }

  /** Stores a tool's question or manual work. Returns the outcome, including a stored answer. */
  async wait(run: RunningCall, entry: ToolEntry, pending: Unasked): Promise<OutcomeBody> {
    return ended(await this.keep(run, entry, pending)).outcome;
  }

  /** Stores a tool's question or manual work, unless the same is already stored. */
  keep(run: RunningCall, entry: ToolEntry, unasked: Unasked): Promise<WaitingCall> {
    const { kind, input, createdAt, definitionDigest } = unasked;
    const id = this.#waiting.idFor(run.asked(entry, input), kind, createdAt);
    const questionOf = (of: Pending) => (of.kind === 'question' ? of.question : undefined);
    return this.#waiting.ask(
      { pending: { ...unasked, id } },
      ({ pending: other }) =>
        other.definitionDigest === definitionDigest && questionOf(other) === questionOf(unasked),
    );
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
    await this.#orTellRefused(run, pending, async () => {
      if (answer !== undefined)
        await this.#waiting.approve(pending, { ...answer, isChecked: true }).catch(tooLate);
      await this.#waiting.use(pending);
    });
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

  async #orTellRefused<T>(
    run: RunningCall,
    { id: pendingId }: PendingApproval,
    use: () => Promise<T>,
  ): Promise<T> {
    try {
      return await use();
    } catch (error) {
      const { message: reason } = failure(error);
      run.tell({ type: 'approval', state: 'refused', pendingId, reason });
      throw error;
    }
  }
}

/** Returns an approval if its tool is still defined as the user saw it. */
function stillDefined(approved: ApprovedCall, digest: string, name: string): ApprovedCall {
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
