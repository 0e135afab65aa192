import { isToolError, ToolError } from '../core/errors.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import {
  previewDigestOf,
  type Approval,
  type ApprovedCall,
  type Approvals,
} from '../safety/approvals.js';
import { checkScope, type Grant, type Grants } from '../safety/grants.js';
import type {
  Confirm,
  Decision,
  OutcomeBody,
  PendingApproval,
  GrantScope,
} from '../safety/calls.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import type { AcceptedInput } from './call-checker.js';
import type { ExecutorFrame } from './executor-options.js';
import { previewOf } from './preview-call.js';
import { failure } from './read-result.js';
import type { RunningCall } from './running-call.js';
import { aborted, withDeadline } from './with-deadline.js';

/** Other arguments than those asked for, if the user changed them. */
type Edited = { readonly input: unknown } | undefined;
/** A user's approval: of the call as it is or of other arguments, and perhaps of further calls. */
type Approved = { readonly edited: Edited; readonly grant?: GrantScope };

/** Questions whose tool is remembered; a program asks seldom so many at once. */
const MOST_REMEMBERED = 10_000;

/** Keeps calls pending until they are approved, asks where there is a user to ask, and tells all of it as events. */
export class ApprovalDesk {
  readonly #frame: ExecutorFrame;
  readonly #approvals: Approvals;
  readonly #grants: Grants;
  /** The definitions that were asked about: two definitions may declare the same and work differently. Other processes cannot tell them apart. */
  readonly #definitions = new Map<string, ToolDefinition>();

  constructor(frame: ExecutorFrame, approvals: Approvals, grants: Grants) {
    this.#frame = frame;
    this.#grants = grants;
    this.#approvals = approvals;
  }

  /** Makes a call pending, and asks if there is whom to ask. */
  async ask(
    running: RunningCall,
    call: ApprovedCall,
    accepted: AcceptedInput,
    { danger, ...decision }: Decision,
    confirm: Confirm | undefined,
  ): Promise<
    { readonly approval: Approval; readonly edited: Edited } | { readonly outcome: OutcomeBody }
  > {
    const denied = (reason: string) =>
      ({ outcome: { status: 'denied', reason, rule: 'confirmation', danger } }) as const;
    if (await this.#approvals.wasDenied(call)) return denied('the user denied this call');
    const { entry } = accepted;
    const pending = await this.#approvals.request(
      call,
      { danger, ...decision },
      await previewOf(this.#frame, running, accepted),
    );
    this.#definitions.set(pending.id, entry.definition);
    if (this.#definitions.size > MOST_REMEMBERED)
      this.#definitions.delete(this.#definitions.keys().next().value!);
    running.tell({ type: 'approval', state: 'requested', pendingId: pending.id });
    if (confirm === undefined) return { outcome: { status: 'approval_required', pending } };
    const answered = await withDeadline((stop) => askUser(confirm, pending, stop), {
      clock: this.#frame.clock,
      timeoutMs: this.#frame.approvalTtlMs,
      signal: running.options.signal,
    });
    if (answered.kind === 'aborted') throw aborted(entry.name);
    if (answered.kind === 'timeout') return denied('nobody answered in time');
    const answer = answered.kind === 'returned' ? answered.value : 'denied';
    if (answer === 'later') return { outcome: { status: 'approval_required', pending } };
    if (typeof answer === 'object') {
      const { approval } =
        answer.grant === undefined
          ? { approval: await this.approve(pending, answer.edited) }
          : await this.approveMore(pending, answer.grant, answer.edited);
      return { approval, edited: answer.edited };
    }
    await this.deny(pending);
    return denied(answer === 'denied' ? 'the user denied this call' : answer);
  }

  /** Returns the approval as it was judged. @throws ToolError `INVALID_APPROVAL` for one that is not of this call. */
  async verify(
    running: RunningCall,
    approval: Approval,
    call: ApprovedCall,
    entry: ToolEntry,
  ): Promise<Approval> {
    return this.#orTellRefused(running, approval, () => {
      const genuine = this.#approvals.verify(approval, call);
      const asked = this.#definitions.get(genuine.pendingId);
      if (asked === undefined || asked === entry.definition) return genuine;
      throw new ToolError(
        'INVALID_APPROVAL',
        'Expected the tool that was asked about, got one that replaced it. Ask again.',
        { details: { pendingId: genuine.pendingId } },
      );
    });
  }

  /** Returns true if the user would be shown something else by now than what was approved; told as an event. */
  async isOutdated(
    running: RunningCall,
    { pendingId, previewDigest }: Approval,
    accepted: AcceptedInput,
  ): Promise<boolean> {
    if (previewDigest === null || accepted.entry.preview === undefined) return false;
    if (previewDigestOf(await previewOf(this.#frame, running, accepted)) === previewDigest)
      return false;
    running.tell({
      type: 'approval',
      state: 'refused',
      pendingId,
      reason: 'its preview changed since it was approved',
    });
    return true;
  }

  /** @throws ToolError `INVALID_APPROVAL` for one that is used up already, as far as can be told without using it. */
  async assertUnused(running: RunningCall, approval: Approval): Promise<void> {
    await this.#orTellRefused(running, approval, () => this.#approvals.assertUnused(approval));
  }

  async redeem(running: RunningCall, approval: Approval): Promise<void> {
    await this.#orTellRefused(running, approval, () =>
      this.#approvals.redeem(approval, running.options.signal),
    );
    running.tell({ type: 'approval', state: 'redeemed', pendingId: approval.pendingId });
  }

  async approve(pending: PendingApproval, edited?: Edited): Promise<Approval> {
    const approval = await this.#approvals.grant(pending, edited);
    this.#tell(pending, 'granted');
    return approval;
  }

  /** Records an approval of a call together with one of further calls like it. */
  async approveMore(
    pending: PendingApproval,
    scope: GrantScope,
    edited?: Edited,
  ): Promise<{ readonly approval: Approval; readonly grant: Grant }> {
    // What cannot be given must not use the question up, and nothing is given for a question that is answered already.
    const grant = await this.#grants.make(pending, scope);
    const approval = await this.approve(pending, edited);
    await this.#grants.record(grant, this.#definitions.get(pending.id));
    return { approval, grant };
  }

  /** Uses a grant up for one call, or only looks whether it could. @returns false when it was revoked or used up by others. */
  async useGrant(running: RunningCall, grant: Grant, looksOnly: boolean): Promise<boolean> {
    if (!(await this.#grants.use(grant, looksOnly))) return false;
    if (!looksOnly) running.tell({ type: 'approval', state: 'covered', pendingId: grant.id });
    return true;
  }

  async deny(pending: PendingApproval): Promise<void> {
    await this.#approvals.deny(pending);
    this.#tell(pending, 'denied');
  }

  #tell(
    { callId, toolName, principal, conversationId, id: pendingId }: PendingApproval,
    state: 'granted' | 'denied',
  ): void {
    const { listeners, clock } = this.#frame;
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

  async #orTellRefused<T>(
    running: RunningCall,
    { pendingId }: Approval,
    use: () => T | Promise<T>,
  ): Promise<T> {
    try {
      return await use();
    } catch (error) {
      const { message } = failure(error);
      running.tell({
        type: 'approval',
        state: 'refused',
        pendingId: String(pendingId),
        reason: message,
      });
      throw error;
    }
  }
}

/** Returns the user's answer. Whatever is not clearly an approval or `later`, a failure too, is a denial: `denied`, or its reason. */
async function askUser(
  confirm: Confirm,
  pending: PendingApproval,
  signal: AbortSignal,
): Promise<string | Approved> {
  try {
    const answer: unknown = await confirm(pending, { signal });
    if (signal.aborted) return 'denied';
    if (answer === true) return { edited: undefined };
    if (answer === 'later') return 'later';
    if (answer === undefined)
      return 'confirm returned undefined, which approves nothing (true approves, false denies)';
    if (answer === false) return 'denied';
    if (
      !isPlainObject(answer) ||
      !(Object.hasOwn(answer, 'input') || Object.hasOwn(answer, 'grant'))
    )
      return `confirm returned ${describeValue(answer)}, which approves nothing (true approves, false denies, { input } and { grant } approve more)`;
    const edited = Object.hasOwn(answer, 'input') ? { input: answer['input'] } : undefined;
    return {
      edited,
      ...(Object.hasOwn(answer, 'grant') && {
        grant: checkScope(answer['grant'], pending.conversationId !== undefined),
      }),
    };
  } catch (error) {
    // A scope that bounds nothing is the program's mistake, which it should read.
    if (isToolError(error, 'INVALID_ARGUMENT')) return error.message;
    return 'denied';
  }
}

/**
 * Asks a user about the calls of one batch, one after the other.
 *
 * Arguments that the user changed were not planned: such a call runs after all others of its batch that are not asked about
 * themselves, and no two calls that were asked about run at the same time.
 */
export class BatchConfirmations {
  readonly #confirm: Confirm;
  /** Marks of the calls: one is set when a call has ended or is asked about, the other when it has ended. */
  readonly #parted: readonly Mark[];
  readonly #ended: readonly Mark[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(confirm: Confirm, calls: number) {
    this.#confirm = confirm;
    this.#parted = Array.from({ length: calls }, newMark);
    this.#ended = Array.from({ length: calls }, newMark);
  }

  /** Returns the function that asks about one call of the batch. */
  confirmFor(index: number): Confirm {
    return async (pending, options) => {
      this.#parted[index]!.set();
      const before = this.#turn;
      this.#turn = this.#ended[index]!.isSet;
      await before;
      const answer = await this.#confirm(pending, options);
      if (typeof answer === 'object')
        await Promise.all(
          this.#parted.filter((_, other) => other !== index).map(({ isSet }) => isSet),
        );
      return answer;
    };
  }

  /** Must be called when a call has ended, asked about or not. */
  end(index: number): void {
    this.#parted[index]!.set();
    this.#ended[index]!.set();
  }
}

interface Mark {
  readonly isSet: Promise<void>;
  readonly set: () => void;
}

function newMark(): Mark {
  let set!: () => void;
  return { isSet: new Promise<void>((resolve) => (set = resolve)), set: () => set() };
}
