import { digestOf, without } from '../core/plain-data.js';
import { ToolError } from '../core/errors.js';
import type { StateStore } from '../state/state-store.js';
import type { GrantScope, OperatorAction, Pending, PendingApproval } from './calls.js';
import { Grants, type Grant } from './grants.js';
import { Signer } from './signer.js';
import { WaitingCalls, type WaitingFilter } from './waiting-calls.js';

/** The call that an operator saw. An answer is refused if the stored call has another digest. */
interface ShownCall {
  /** The `digestOf` of the pending call that the operator saw. @default not compared */
  readonly digest?: string | undefined;
}

/** Lets operators list and answer the calls that wait in a store, by id and in their own names. */
export class OperatorDesk {
  readonly #waiting: WaitingCalls;
  readonly #grants: Grants;
  readonly #onAction: (action: OperatorAction) => void;

  /**
   * @param key The approval key of the executors that use this store.
   * @param onAction Called with every action.
   */
  constructor(
    store: StateStore,
    key: Uint8Array,
    onAction: (action: OperatorAction) => void = () => undefined,
  ) {
    const signer = new Signer(key);
    this.#waiting = new WaitingCalls(store, signer);
    this.#grants = new Grants(store, signer);
    this.#onAction = onAction;
  }

  /** Returns open calls, oldest first. @throws ToolError `STATE_UNAVAILABLE`. */
  waiting(filter: WaitingFilter = {}): Promise<readonly Pending[]> {
    return this.#waiting.list(filter, true);
  }

  /** Returns the open call with this id. @throws ToolError `STATE_UNAVAILABLE`. */
  async get(id: string): Promise<Pending | undefined> {
    const call = await this.#waiting.get(id);
    return call?.state.is === 'open' ? call.pending : undefined;
  }

  /**
   * Approves a call, optionally with other arguments in `edited`.
   *
   * @throws ToolError `UNKNOWN_CALL`, `ALREADY_RESOLVED` if another operator answered first,
   * `INVALID_ARGUMENT` if the call needs a different kind of answer, `INVALID_INPUT` for arguments
   * that don't fit the tool, `STATE_UNAVAILABLE`. With a `digest`, also `INVALID_APPROVAL` if the
   * call isn't the one that was shown.
   */
  async approve(
    id: string,
    by: string,
    { digest, ...edited }: ShownCall & { readonly input?: unknown } = {},
  ): Promise<void> {
    await this.#act(id, (pending) => this.#waiting.approve(pending, { ...edited, by }), digest);
  }

  /** Approves a call and further calls like it. @throws ToolError like `approve`. */
  async grant(
    id: string,
    by: string,
    scope: GrantScope,
    { digest }: ShownCall = {},
  ): Promise<Grant> {
    let grant!: Grant;
    const make = async (pending: PendingApproval) => {
      grant = await this.#grants.make(await this.#waiting.require(pending), scope);
      await this.#waiting.approve(pending, { by });
      await this.#grants.record(grant);
      const { toolName, principal, conversationId } = pending;
      const of = without({ toolName, principal });
      return this.#waiting.record({ action: 'grant', operator: by, id, ...of }, conversationId);
    };
    await this.#act(id, make, digest);
    return grant;
  }

  /** Denies a call of any kind. @throws ToolError like `approve`. */
  async deny(id: string, by: string): Promise<void> {
    await this.#act(id, (pending) => this.#waiting.deny(pending, { by }));
  }

  /**
   * Answers a question, or provides the result of a manual call.
   *
   * @throws ToolError `INVALID_INPUT` if the call doesn't accept this answer; otherwise like
   * `approve`.
   */
  async answer(id: string, by: string, value: unknown, { digest }: ShownCall = {}): Promise<void> {
    await this.#act(id, (pending) => this.#waiting.answer(pending, value, { by }), digest);
  }

  /**
   * Returns the active grants and how often each was used.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  grants(): Promise<readonly (Grant & { readonly used: number })[]> {
    return this.#grants.list();
  }

  /** Revokes a grant. @returns true if the grant existed. @throws ToolError `STATE_UNAVAILABLE`. */
  async revoke(id: string, by: string): Promise<boolean> {
    const isRevoked = await this.#grants.revoke(id);
    if (isRevoked)
      this.#onAction(await this.#waiting.record({ action: 'revoke', operator: by, id }));
    return isRevoked;
  }

  /** Returns the newest thousand actions, newest first. @throws ToolError `STATE_UNAVAILABLE`. */
  async actions(): Promise<readonly OperatorAction[]> {
    return (await this.#waiting.actions()).filter(({ operator }) => operator !== undefined);
  }

  async #act(
    id: string,
    answer: (pending: PendingApproval) => Promise<OperatorAction>,
    digest?: string,
  ): Promise<void> {
    const call = await this.#waiting.get(id);
    if (call === undefined)
      throw new ToolError(
        'UNKNOWN_CALL',
        'No call with this id is waiting. The call may have expired, or the store may have restarted.',
        { details: { pendingId: id } },
      );
    if (digest !== undefined && digest !== digestOf(call.pending))
      throw new ToolError(
        'INVALID_APPROVAL',
        'This call differs from the call that you were shown. Read it again before you answer.',
        { details: { pendingId: id } },
      );
    this.#onAction(await answer(call.pending as PendingApproval));
  }
}
