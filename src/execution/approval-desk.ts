import { isToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { previewDigestOf, type Approval, type ApprovedCall } from '../safety/approvals.js';
import type {
  Confirm,
  Decision,
  GrantScope,
  OutcomeBody,
  PendingApproval,
  StoredPending,
} from '../safety/calls.js';
import type { Grant, Grants } from '../safety/grants.js';
import type { PendingCalls } from '../safety/pending-calls.js';
import type { ExecutorFrame } from './executor-options.js';
import { failure } from './read-result.js';
import type { RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/** The arguments that the user approved, if they differ from those in the question. */
type Edited = { readonly input: unknown } | undefined;
type Shown = Pick<PendingApproval, 'preview' | 'noPreview'>;

/** The result of asking the user: the call starts again with an approval, or the call has ended. */
export type Answered =
  { readonly approval: Approval; readonly edited: Edited } | { readonly outcome: OutcomeBody };

interface Asking {
  readonly decision: Decision;
  /** Counts a new question against the repeat limit. @throws ToolError `LOOP_DETECTED`. */
  readonly admit: () => void;
  /** Builds the preview shown with a new question. */
  readonly preview: () => Promise<Shown>;
}

/**
 * Counts how often users were asked, their answers, and the calls that a grant allowed without
 * asking.
 */
export interface ApprovalMetrics {
  readonly asked: number;
  readonly granted: number;
  readonly denied: number;
  readonly coveredByGrants: number;
}

/**
 * Stores calls that wait for approval until a user decides. If the program has a `confirm`
 * function, asks the user immediately. Reports every step as an event.
 */
export class ApprovalDesk {
  readonly metrics = { asked: 0, granted: 0, denied: 0, coveredByGrants: 0 };
  readonly #frame: ExecutorFrame;
  readonly #pending: PendingCalls;
  readonly #grants: Grants;

  constructor(frame: ExecutorFrame, pending: PendingCalls, grants: Grants) {
    this.#frame = frame;
    this.#pending = pending;
    this.#grants = grants;
  }

  /**
   * Finds the stored question about a call, or stores a new question. If there's a `confirm`
   * function, asks the user immediately.
   */
  async ask(run: RunningCall, call: ApprovedCall, asking: Asking): Promise<Answered> {
    const { confirm: own } = this.#frame;
    const { confirm: given = own } = run.options;
    const stored = await this.#stored(call);
    const known = stored && (await this.#answerTo(run, stored, asking.decision));
    if (known !== undefined && !(known instanceof Error)) return known;
    if (known !== undefined && given === undefined) throw known;
    if (given !== undefined) await run.turn?.();
    const { danger, rule, reason } = asking.decision;
    const isSame = stored?.rule === rule && stored.reason === reason && stored.danger === danger;
    const open = isSame && stored.answer === undefined ? stored : undefined;
    const pending = open ?? (await this.request(run, call, asking));
    if (given === undefined) return { outcome: { status: 'approval_required', pending } };
    let answer = await this.#confirmed(run, given, pending);
    if (answer === 'later' && given !== own && own !== undefined)
      answer = await this.#confirmed(run, own, pending);
    if (answer !== 'later') return this.#close(pending, asking.decision, answer);
    // Another process may have stored an answer in the meantime.
    const now = await this.#stored(call);
    const answered = now && (await this.#answerTo(run, now, asking.decision));
    return answered === undefined || answered instanceof Error
      ? { outcome: { status: 'approval_required', pending } }
      : answered;
  }

  /**
   * Turns a stored answer into a denial or an approval, or into an error if the approval has
   * already been used.
   */
  async #answerTo(
    run: RunningCall,
    stored: StoredPending & PendingApproval,
    decision: Decision,
  ): Promise<Answered | Error | undefined> {
    if (stored.answer === 'denied') return denied(decision, NO);
    if (stored.answer !== 'approved') return undefined;
    const { approval, input } = await this.#pending.approvalOf(stored);
    const used = await this.#usedUp(run, approval);
    return used ?? { approval, edited: input === undefined ? undefined : { input } };
  }

  /** Stores a new question. */
  async request(
    run: RunningCall,
    call: ApprovedCall,
    { decision, admit, preview }: Asking,
  ): Promise<PendingApproval> {
    admit();
    const pending = await this.#pending.ask(call, decision, await preview());
    this.metrics.asked++;
    run.tell({ type: 'approval', state: 'requested', pendingId: pending.id });
    return pending;
  }

  /** Returns the stored question about a call, including its answer, if any. */
  async #stored(call: ApprovedCall): Promise<(StoredPending & PendingApproval) | undefined> {
    const stored = await this.#pending.find(call);
    return stored?.kind === 'approval' ? stored : undefined;
  }

  /**
   * Returns the stored question about a call. Stores a new question if there's none, or if its
   * approval has already been used. Doesn't ask the user directly.
   */
  async stored(run: RunningCall, call: ApprovedCall, asking: Asking): Promise<PendingApproval> {
    const stored = await this.#stored(call);
    const isUsedUp =
      stored?.answer === 'approved' &&
      (await this.#pending.approvals.isUsed((await this.#pending.approvalOf(stored)).approval));
    return stored === undefined || isUsedUp ? this.request(run, call, asking) : stored;
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
    if (answered.kind === 'timeout') return 'nobody answered in time';
    return answered.kind === 'returned' ? answered.value : NO;
  }

  async #close(
    pending: PendingApproval,
    decision: Decision,
    answer: string | Approved,
  ): Promise<Answered> {
    if (typeof answer === 'object') {
      const { edited, scope } = answer;
      const { approval } =
        scope === undefined
          ? { approval: await this.approve(pending, edited, true) }
          : await this.grant(pending, scope, edited, true);
      return { approval, edited };
    }
    if (answer !== 'nobody answered in time') await this.deny(pending);
    return denied(decision, answer);
  }

  /**
   * Returns a verified copy of the approval.
   * @throws ToolError `INVALID_APPROVAL` if the approval is for another call or has already been
   * used.
   */
  async verify(run: RunningCall, approval: Approval, call: ApprovedCall): Promise<Approval> {
    return this.#orTellRefused(run, approval, async () => {
      const genuine = this.#pending.approvals.verify(approval, call);
      await this.#pending.approvals.assertUnused(genuine);
      return genuine;
    });
  }

  /**
   * Returns true if the preview has changed since the user approved the call. Reports the change as
   * an event.
   */
  isOutdated(run: RunningCall, { pendingId, previewDigest }: Approval, shown: Shown): boolean {
    if (previewDigestOf(shown) === previewDigest) return false;
    const reason = 'its preview has changed since the call was approved';
    run.tell({ type: 'approval', state: 'refused', pendingId, reason });
    return true;
  }

  async redeem(run: RunningCall, approval: Approval): Promise<void> {
    const { approvals } = this.#pending;
    await this.#orTellRefused(run, approval, () => approvals.redeem(approval));
    run.tell({ type: 'approval', state: 'redeemed', pendingId: approval.pendingId });
  }

  /** @param isNow True if the call continues immediately. */
  async approve(pending: PendingApproval, edited?: Edited, isNow = false): Promise<Approval> {
    const approval = await (isNow
      ? this.#pending.approveNow(pending, edited)
      : this.#pending.approve(pending, edited));
    this.#tell(pending, 'granted');
    return approval;
  }

  /** Records that the user approved a call and similar calls in the future. */
  async grant(
    pending: PendingApproval,
    scope: GrantScope,
    edited?: Edited,
    isNow = false,
  ): Promise<{ readonly approval: Approval; readonly grant: Grant }> {
    // Creates the grant first: if that fails, the question must stay open.
    // Nothing is granted if the question has already been answered.
    const entry = this.#frame.registry.get(pending.toolName);
    const grant = await this.#grants.make(pending, scope, entry);
    const approval = await this.approve(pending, edited, isNow);
    await this.#grants.record(grant);
    return { approval, grant };
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

  async deny(pending: PendingApproval): Promise<void> {
    await this.#pending.deny(pending);
    this.#tell(pending, 'denied');
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
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
    });
  }

  /** Returns an error if the approval has already been used, and reports it as an event. */
  async #usedUp(run: RunningCall, approval: Approval): Promise<Error | undefined> {
    try {
      await this.#orTellRefused(run, approval, () =>
        this.#pending.approvals.assertUnused(approval),
      );
      return undefined;
    } catch (error) {
      if (isToolError(error, 'INVALID_APPROVAL')) return error;
      throw error;
    }
  }

  async #orTellRefused<T>(run: RunningCall, approval: Approval, use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } catch (error) {
      const { message: reason } = failure(error);
      run.tell({
        type: 'approval',
        state: 'refused',
        pendingId: String((approval as Approval | null)?.pendingId),
        reason,
      });
      throw error;
    }
  }
}

function denied({ danger }: Decision, reason: string): Answered {
  return { outcome: { status: 'denied', reason, rule: 'confirmation', danger } };
}

/** An approval of the call, possibly with edited arguments, and possibly of further calls. */
type Approved = { readonly edited: Edited; readonly scope?: GrantScope };
const NO = 'the user denied this call';

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
    if (answer === true) return { edited: undefined };
    if (answer === 'later') return 'later';
    const given = isPlainObject(answer) ? answer : {};
    const edited = Object.hasOwn(given, 'input') ? { input: given['input'] } : undefined;
    if (Object.hasOwn(given, 'grant')) return { edited, scope: given['grant'] as GrantScope };
    if (edited !== undefined) return { edited };
    return `confirm returned ${describeValue(answer)}. Return true to approve, false to deny, { input } to approve edited arguments, or { grant } to approve further calls`;
  } catch {
    return NO;
  }
}
