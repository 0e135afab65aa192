import { ToolError, isToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import type { Json } from '../core/plain-data.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import type { StateStore } from '../state/state-store.js';
import { readAnswer } from '../tool/question.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { GrantScope, StoredPending } from './calls.js';
import { Grants, type Grant } from './grants.js';
import { PendingCalls } from './pending-calls.js';
import { Signer } from './signer.js';

/** An operator's action, as stored. */
export interface OperatorAction {
  readonly action: 'approve' | 'deny' | 'answer' | 'grant' | 'revoke';
  /** The operator's name, from the token or command used. */
  readonly operator: string;
  /** The id of the pending call, or of the grant for `revoke`. */
  readonly id: string;
  readonly toolName?: string;
  readonly principal?: string;
  /** Milliseconds since 1970, on the store's clock. */
  readonly at: number;
}

/** The store key of the list of the newest actions. */
const ACTIONS = 'operator-actions';
const MOST_LISTED = 1_000;

/**
 * Lets operators list and answer the calls that are waiting in a store. Records each operator's
 * actions.
 */
export class OperatorDesk {
  readonly #store: StateStore;
  readonly #pending: PendingCalls;
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
    this.#store = store;
    this.#pending = new PendingCalls({ store, key });
    this.#grants = new Grants(store, new Signer(key));
    this.#onAction = onAction;
  }

  /**
   * Returns the newest thousand unanswered calls, newest first.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async waiting(): Promise<readonly StoredPending[]> {
    const { time } = await this.#store.now();
    return (await this.#pending.list()).filter(
      (each) =>
        each.answer === undefined && !('expiresAt' in each && (each.expiresAt ?? Infinity) <= time),
    );
  }

  /**
   * Approves a call, optionally with other arguments in `edited`.
   *
   * @throws ToolError `UNKNOWN_CALL`, `ALREADY_RESOLVED` if another operator answered first,
   * `INVALID_ARGUMENT` if the call needs a different kind of answer, `STATE_UNAVAILABLE`.
   */
  async approve(id: string, operator: string, edited?: { readonly input: unknown }): Promise<void> {
    const pending = await this.#open(id, 'approval');
    await this.#act({ action: 'approve', operator, id }, pending, () =>
      this.#pending.approve(pending, edited),
    );
  }

  /**
   * Approves a call and further calls like it.
   * @param entry The call's tool, if this process has it.
   * @throws ToolError like `approve`.
   */
  async grant(id: string, operator: string, scope: GrantScope, entry?: ToolEntry): Promise<Grant> {
    const { answer: _, ...pending } = await this.#open(id, 'approval');
    const grant = await this.#grants.make(pending, scope, entry);
    await this.#act({ action: 'grant', operator, id }, pending, async () => {
      await this.#pending.approve(pending);
      await this.#grants.record(grant);
    });
    return grant;
  }

  /** Denies a call of any kind. @throws ToolError like `approve`. */
  async deny(id: string, operator: string): Promise<void> {
    const pending = await this.#open(id);
    await this.#act({ action: 'deny', operator, id }, pending, () => this.#pending.deny(pending));
  }

  /**
   * Answers a question, or provides the result of a manual call.
   *
   * @throws ToolError `INVALID_INPUT` if the call doesn't accept this answer; otherwise like
   * `approve`.
   */
  async answer(id: string, operator: string, value: unknown): Promise<void> {
    const pending = await this.#open(id);
    if (pending.kind === 'approval')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${pending.toolName} is waiting for approval. Approve or deny it instead of answering.`,
      );
    const checked = checkedAnswer(pending, value);
    await this.#act({ action: 'answer', operator, id }, pending, () =>
      this.#pending.answer(pending, checked),
    );
  }

  /**
   * Returns the active grants and how often each was used.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  grants(): Promise<readonly (Grant & { readonly used: number })[]> {
    return this.#grants.list();
  }

  /** Revokes a grant. @returns true if the grant existed. @throws ToolError `STATE_UNAVAILABLE`. */
  async revoke(id: string, operator: string): Promise<boolean> {
    const isRevoked = await this.#grants.revoke(id);
    if (isRevoked) await this.#record({ action: 'revoke', operator, id });
    return isRevoked;
  }

  /** Returns the newest thousand actions, newest first. @throws ToolError `STATE_UNAVAILABLE`. */
  async actions(): Promise<readonly OperatorAction[]> {
    const items = await this.#store.read(ACTIONS, { limit: MOST_LISTED });
    return items.map((item) => JSON.parse(item) as OperatorAction).toReversed();
  }

  async #open<Kind extends StoredPending['kind']>(id: string, kind?: Kind) {
    const found = await this.#pending.get(id);
    if (found === undefined)
      throw new ToolError(
        'UNKNOWN_CALL',
        'No call with this id is waiting. The call may have expired, or the store may have restarted.',
        { details: { pendingId: id } },
      );
    if (found.answer !== undefined) throw await this.#answered(id);
    if (kind !== undefined && found.kind !== kind)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${found.toolName} is waiting for an answer to a ${found.kind === 'question' ? 'question' : 'manual call'}, not for approval. Answer it instead.`,
      );
    return found as Extract<StoredPending, { readonly kind: Kind }>;
  }

  /** Returns an error with the name of the operator who answered first. */
  async #answered(id: string): Promise<ToolError> {
    const by = (await this.actions()).find((each) => each.id === id);
    return new ToolError(
      'ALREADY_RESOLVED',
      `This call has already been answered${by === undefined ? '' : ` (${by.action}, by ${by.operator})`}. The first answer counts.`,
      { details: { pendingId: id } },
    );
  }

  async #act(
    action: Omit<OperatorAction, 'at'>,
    { toolName, principal }: Pick<StoredPending, 'toolName' | 'principal'>,
    answer: () => Promise<unknown>,
  ): Promise<void> {
    try {
      await answer();
    } catch (error) {
      const isLate =
        isToolError(error, 'ALREADY_RESOLVED') || isToolError(error, 'INVALID_APPROVAL');
      if (isLate && (await this.#pending.get(action.id))?.answer !== undefined)
        throw await this.#answered(action.id);
      throw error;
    }
    await this.#record({ ...action, toolName, ...(principal !== undefined && { principal }) });
  }

  async #record(action: Omit<OperatorAction, 'at'>): Promise<void> {
    const recorded = Object.freeze({ ...action, at: (await this.#store.now()).time });
    await this.#store.append(ACTIONS, JSON.stringify(recorded), { max: MOST_LISTED });
    this.#onAction(recorded);
  }
}

/** Validates an answer to a question or manual call, and returns it. */
function checkedAnswer(pending: StoredPending, value: unknown): Json {
  if (pending.kind === 'question') {
    const answer = readAnswer(pending, value);
    if (!answer.ok) throw new ToolError('INVALID_INPUT', answer.message);
    return answer.value;
  }
  const { outputSchema } = pending as Extract<StoredPending, { readonly kind: 'manual' }>;
  const issues =
    outputSchema === undefined
      ? []
      : compileJsonSchema(outputSchema as object).check(value as Json);
  if (issues.length > 0)
    throw new ToolError(
      'INVALID_INPUT',
      expectedGot("a result matching the tool's output schema", 'another one', issues[0]!.message),
      { details: { issues } },
    );
  return value as Json;
}
