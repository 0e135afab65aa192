import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import type { Listeners } from '../../core/listeners.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { Approval, Approvals, ApprovedCall } from '../../safety/approvals.js';
import type { Decision, OutcomeBody, PendingApproval } from '../../safety/calls.js';
import type { ToolDefinition, ToolEntry } from '../../tool/tool-definition.js';
import type { Confirm } from '../executor-options.js';
import { askPerson } from './ask-person.js';
import type { RunningCall } from '../run/running-call.js';
import { aborted } from '../run/until-aborted.js';
import { withDeadline } from '../run/with-deadline.js';

export interface ApprovalDeskOptions {
  readonly approvals: Approvals;
  readonly listeners: Listeners<ToolEvent>;
  readonly clock: Clock;
  /** How long a person may take. */
  readonly ttlMs: number;
}

/** A person's yes, to the arguments that were asked for or to others. */
export type Granted = { readonly approval: Approval; readonly edited?: { readonly input: unknown } };

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
    const { signal, conversationId } = running.options;
    if (await approvals.wasDenied(call, conversationId)) return { outcome: { status: 'denied', reason: 'a person said no to this call', rule: 'confirmation', danger: decision.danger } };
    const pending = await approvals.request(call, decision, conversationId);
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
    await running.orTellRefused(approval, () => this.#options.approvals.redeem(approval));
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
