import type { Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import type { Listeners } from '../core/listeners.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { Approval, Approvals, ApprovedCall } from '../safety/approvals.js';
import type { Confirm, Decision, OutcomeBody, PendingApproval } from '../safety/calls.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import type { RunningCall } from './run/running-call.js';
import { aborted, withDeadline } from './run/with-deadline.js';

export interface ApprovalDeskOptions {
  readonly approvals: Approvals;
  readonly listeners: Listeners<ToolEvent>;
  readonly clock: Clock;
  /** How long a person may take. */
  readonly ttlMs: number;
}

/** A person's yes, to the arguments that were asked for or to others. */
type Granted = { readonly approval: Approval; readonly edited?: { readonly input: unknown } };

/** Questions whose tool is remembered; a program asks seldom so many at once. */
const MOST_REMEMBERED = 10_000;

/** Holds calls for a person's yes, asks where there is somebody to ask, and tells all of it as events. */
export class ApprovalDesk {
  readonly #options: ApprovalDeskOptions;
  /** What was asked about: two definitions may declare the same and work differently. Other processes cannot tell them apart. */
  readonly #definitions = new Map<string, ToolDefinition>();

  constructor(options: ApprovalDeskOptions) {
    this.#options = options;
  }

  /** Puts a call on hold, and asks if there is whom to ask. */
  async ask(running: RunningCall, call: ApprovedCall, entry: ToolEntry, decision: Decision, confirm: Confirm | undefined): Promise<{ readonly granted: Granted } | { readonly outcome: OutcomeBody }> {
    const { approvals, clock, ttlMs } = this.#options;
    const { signal } = running.options;
    if (await approvals.wasDenied(call)) return { outcome: { status: 'denied', reason: 'a person said no to this call', rule: 'confirmation', danger: decision.danger } };
    const pending = await approvals.request(call, decision);
    this.#definitions.set(pending.id, entry.definition);
    if (this.#definitions.size > MOST_REMEMBERED) this.#definitions.delete(this.#definitions.keys().next().value!);
    running.tellApproval('requested', pending.id);
    if (confirm === undefined) return { outcome: { status: 'approval_required', pending } };
    const answered = await withDeadline((stop) => askPerson(confirm, pending, stop), { clock, timeoutMs: ttlMs, signal });
    if (answered.kind === 'aborted') throw aborted(entry.name);
    if (answered.kind === 'returned' && !answered.value.yes && answered.value.later) return { outcome: { status: 'approval_required', pending } };
    if (answered.kind === 'returned' && answered.value.yes) {
      const { edited } = answered.value;
      const approval = await this.approve(pending, edited);
      return { granted: edited === undefined ? { approval } : { approval, edited } };
    }
    const reason = answered.kind === 'timeout' ? 'nobody answered in time' : 'a person said no';
    if (answered.kind !== 'timeout') await this.deny(pending);
    return { outcome: { status: 'denied', reason, rule: 'confirmation', danger: decision.danger } };
  }

  /** The approval as it was judged. @throws ToolError `INVALID_APPROVAL` for one that is not of this call. */
  verify(running: RunningCall, approval: Approval, call: ApprovedCall, entry: ToolEntry): Approval {
    return running.orTellRefused(approval, () => {
      const genuine = this.#options.approvals.verify(approval, call);
      const asked = this.#definitions.get(genuine.pendingId);
      if (asked === undefined || asked === entry.definition) return genuine;
      throw new ToolError('INVALID_APPROVAL', 'Expected the tool that was asked about, found that it was replaced; ask again', { details: { pendingId: genuine.pendingId } });
    });
  }

  /** @throws ToolError `INVALID_APPROVAL` for one that is used up already, as far as can be told without using it. */
  async assertUnused(running: RunningCall, approval: Approval): Promise<void> {
    await running.orTellRefused(approval, () => this.#options.approvals.assertUnused(approval));
  }

  async redeem(running: RunningCall, approval: Approval): Promise<void> {
    await running.orTellRefused(approval, () => this.#options.approvals.redeem(approval, running.options.signal));
    running.tellApproval('redeemed', approval.pendingId);
  }

  async approve(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    const approval = await this.#options.approvals.grant(pending, edited);
    this.#tell(pending, 'granted');
    return approval;
  }

  async deny(pending: PendingApproval): Promise<void> {
    await this.#options.approvals.deny(pending);
    this.#tell(pending, 'denied');
  }

  #tell({ callId, toolName, principal, conversationId, id: pendingId }: PendingApproval, state: 'granted' | 'denied'): void {
    const { listeners, clock } = this.#options;
    listeners.tell({ type: 'approval', state, pendingId, callId, toolName, at: clock.now(), ...(principal !== undefined && { principal }), ...(conversationId !== undefined && { conversationId }) });
  }
}

/** A person's answer: a yes, perhaps to other arguments, a no, or none yet. Whatever is not clearly one of the others is a no. */
type Answer = { readonly yes: false; readonly later?: true } | { readonly yes: true; readonly edited?: { readonly input: unknown } };

async function askPerson(confirm: Confirm, pending: PendingApproval, signal: AbortSignal | undefined): Promise<Answer> {
  try {
    const answer: unknown = await confirm(pending, { signal });
    if (signal?.aborted === true) return { yes: false };
    if (answer === true) return { yes: true };
    if (answer === 'later') return { yes: false, later: true };
    return isPlainObject(answer) && Object.hasOwn(answer, 'input') ? { yes: true, edited: { input: answer['input'] } } : { yes: false };
  } catch {
    return { yes: false };
  }
}

/**
 * Asks a person about the calls of one batch, one after the other.
 *
 * Arguments that a person changed were not planned: such a call runs after all others of its batch that are not asked about
 * themselves, and no two calls that were asked about run at the same time.
 */
export class BatchConfirmations {
  readonly #confirm: Confirm;
  /** Of each call, settled when it has ended or waits for the person. */
  readonly #parted: readonly PromiseWithResolver[];
  readonly #ended: PromiseWithResolver[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(confirm: Confirm, calls: number) {
    this.#confirm = confirm;
    this.#parted = Array.from({ length: calls }, newPromise);
    this.#ended = Array.from({ length: calls }, newPromise);
  }

  /** What asks about one call of the batch. */
  confirmFor(index: number): Confirm {
    return async (pending, options) => {
      this.#parted[index]!.resolve();
      const before = this.#turn;
      this.#turn = this.#ended[index]!.promise;
      await before;
      const answer = await this.#confirm(pending, options);
      if (typeof answer === 'object') await Promise.all(this.#parted.filter((_, other) => other !== index).map(({ promise }) => promise));
      return answer;
    };
  }

  /** Must be called when a call has ended, asked about or not. */
  end(index: number): void {
    this.#parted[index]!.resolve();
    this.#ended[index]!.resolve();
  }
}

interface PromiseWithResolver {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function newPromise(): PromiseWithResolver {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
