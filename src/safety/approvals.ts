import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { secret } from '../core/options.js';
import {
  cloneFrozen,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
} from '../core/plain-data.js';
import { isRestarted } from '../state/state-arguments.js';
import type { StateStore } from '../state/state-store.js';
import type { Decision, PendingApproval } from './calls.js';
import { Signer } from './signer.js';

/** The minimum length of a key in bytes, which is the length of an HMAC-SHA-256 digest. */
const SHORTEST_KEY = 32;
/** Returns the schema for the key that signs approvals. */
export const approvalKey = () =>
  secret<Uint8Array>(
    `an approval key of at least ${SHORTEST_KEY} bytes`,
    (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY,
    `Generate one with crypto.randomBytes(${SHORTEST_KEY}).`,
  );

export interface ApprovalsOptions {
  /**
   * The store shared by all processes that ask for approval, answer, or run calls. The store's
   * clock decides when approvals expire.
   */
  readonly store: StateStore;
  /** The signing key: at least 32 bytes. Use the same key in all processes that share the store. */
  readonly key: Uint8Array;
  /**
   * The time in milliseconds after which an approval expires, counted from the question. At most
   * 2³¹−1.
   * @default 600,000 (ten minutes)
   */
  readonly ttlMs?: number;
}

/**
 * A user's approval of one call. You can send or store an approval. An approval allows exactly the
 * approved call, once.
 */
export interface Approval {
  readonly pendingId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | null;
  readonly conversationId: string | null;
  /** The SHA-256 of the approved arguments as canonical JSON. */
  readonly inputDigest: string;
  /**
   * The SHA-256 of the preview that the user saw, or of the reason why there was none. `null` if
   * the user changed the arguments.
   */
  readonly previewDigest: string | null;
  /** Milliseconds since 1970, on the store's clock. */
  readonly expiresAt: number;
  /**
   * The identity of the store that contains the approval. The approval is invalid in any other
   * store, and after a restart.
   */
  readonly storeIdentity: string;
  readonly signature: string;
}

/** The facts about a call to which an approval is bound. */
export interface ApprovedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | undefined;
  readonly conversationId?: string | undefined;
  readonly input: Json;
}

/**
 * A text that is part of the signed data, so that a signature for one purpose or version can't be
 * used for another.
 */
export const PENDING = 'tooldex/pending/v3';
const APPROVAL = 'tooldex/approval/v3';

/**
 * Issues, verifies, and redeems approvals.
 *
 * An HMAC-SHA-256 of canonical JSON binds each approval to call, tool, definition, arguments,
 * principal, conversation, and store. The store tracks each approval, so that it can be redeemed
 * only once, by one process, before it expires. If the store was lost, emptied, or restarted,
 * approvals are refused: an approval that the store doesn't list as open is treated as used.
 */
export class Approvals {
  readonly #store: StateStore;
  readonly #signer: Signer;
  readonly #ttlMs: number;

  constructor({ store, key, ttlMs = 600_000 }: ApprovalsOptions) {
    this.#store = store;
    this.#signer = new Signer(key);
    this.#ttlMs = ttlMs;
  }

  /**
   * Records that a call needs approval.
   *
   * @throws ToolError `STATE_UNAVAILABLE` if the store can't be reached or restarts in the
   * meantime.
   */
  async request(
    call: ApprovedCall,
    decision: Decision,
    { preview, noPreview }: Pick<PendingApproval, 'preview' | 'noPreview'> = {},
  ): Promise<PendingApproval> {
    const { time: createdAt, identity: storeIdentity } = await this.#store.now();
    const pending = {
      kind: 'approval' as const,
      id: randomUUID(),
      callId: call.callId,
      toolName: call.toolName,
      input: call.input,
      definitionDigest: call.definitionDigest,
      principal: call.principal ?? undefined,
      conversationId: call.conversationId ?? undefined,
      danger: decision.danger,
      reason: decision.reason,
      rule: decision.rule,
      preview,
      noPreview,
      createdAt,
      expiresAt: createdAt + this.#ttlMs,
      storeIdentity,
    };
    await this.#store.compareAndSet(storeKey(pending.id), undefined, 'open', {
      ttlMs: this.#ttlMs,
      identity: storeIdentity,
    });
    return this.#signer.signed(PENDING, pending) as unknown as PendingApproval;
  }

  /**
   * Records a user's approval and returns it. The approval lets the call run once.
   *
   * @param edited The arguments to approve instead of the original arguments.
   * @throws ToolError `INVALID_APPROVAL` if the pending call was changed, has expired, or has
   * already been answered, or if the store restarted. `INVALID_ARGUMENT` if the edited input isn't
   * plain data; the call then stays pending. `STATE_UNAVAILABLE` if the store can't be reached.
   */
  async grant(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    const asked = this.#genuinePending(pending);
    // Checks the input before changing the store: if the check fails, the question stays open.
    const inputDigest = digestOf(edited === undefined ? asked.input : editedInput(edited));
    await this.#answer(asked, 'granted');
    const {
      id,
      callId,
      toolName,
      definitionDigest,
      principal = null,
      conversationId = null,
      expiresAt,
      storeIdentity,
    } = asked;
    const previewDigest = edited === undefined ? previewDigestOf(asked) : null;
    return this.#signer.signed(APPROVAL, {
      pendingId: id,
      callId,
      toolName,
      definitionDigest,
      principal,
      conversationId,
      inputDigest,
      previewDigest,
      expiresAt,
      storeIdentity,
    }) as unknown as Approval;
  }

  /**
   * Records that a user denied a call. Only the first answer counts.
   *
   * @throws ToolError `INVALID_APPROVAL` in the same cases as `grant`, `STATE_UNAVAILABLE` if the
   * store can't be reached.
   */
  async deny(pending: PendingApproval): Promise<void> {
    const asked = this.#genuinePending(pending);
    await this.#answer(asked, 'denied');
  }

  /**
   * Verifies that an approval is genuine and is for exactly this call. Doesn't check whether the
   * approval has been used or has expired, because that requires the store.
   *
   * @returns A frozen copy of the approval, so that nothing can change it before it's redeemed.
   * @throws ToolError `INVALID_APPROVAL` listing the differences.
   */
  verify(approval: Approval, call: ApprovedCall): Approval {
    const genuine = this.#genuineApproval(approval);
    const { callId, toolName, definitionDigest } = call;
    const now = {
      callId,
      toolName,
      definitionDigest,
      principal: call.principal ?? null,
      conversationId: call.conversationId ?? null,
      inputDigest: digestOf(call.input),
    };
    const different = BOUND.filter(([field]) => now[field] !== genuine[field]);
    if (different.length > 0)
      throw invalid(
        `This approval is for another call: ${different.map(([, name]) => name).join(' and ')} differ${different.length === 1 ? 's' : ''}. Request a new approval.`,
        genuine.pendingId,
      );
    return genuine;
  }

  /**
   * Redeems an approval. If several processes try at the same time, at most one succeeds.
   *
   * @throws ToolError `INVALID_APPROVAL` if the approval was changed, has been used, has expired,
   * or is unknown to the store, or if the store restarted. `STATE_UNAVAILABLE`: the approval may
   * have been used up, unless `details.sent` is `false`.
   */
  async redeem(approval: Approval): Promise<void> {
    const { pendingId, storeIdentity } = this.#genuineApproval(approval);
    if (!(await this.#move(pendingId, { storeIdentity }, 'granted', 'redeemed')))
      throw used(pendingId);
  }

  /**
   * Checks that an approval can still be redeemed, but doesn't redeem it.
   *
   * @throws ToolError `INVALID_APPROVAL` if the approval has been used, has expired, or is unknown
   * to the store; `STATE_UNAVAILABLE`.
   */
  async assertUnused({ pendingId }: Approval): Promise<void> {
    if (await this.isUsed({ pendingId })) throw used(pendingId);
  }

  /**
   * Returns true if an approval has been used, has expired, or is unknown to the store.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async isUsed({ pendingId }: Pick<Approval, 'pendingId'>): Promise<boolean> {
    return (await this.#store.get(storeKey(pendingId))) !== 'granted';
  }

  async #answer(pending: PendingApproval, answer: 'granted' | 'denied'): Promise<void> {
    if (!(await this.#move(pending.id, pending, 'open', answer)))
      throw invalid(
        'This call has been answered, has expired, or is unknown to the state store. Request a new approval.',
        pending.id,
      );
  }

  /**
   * Changes the state of an approval, but only in the store that created it, and only if that store
   * hasn't restarted.
   */
  async #move(
    id: string,
    { storeIdentity }: { readonly storeIdentity: string },
    from: string,
    to: string,
  ): Promise<boolean> {
    try {
      // Accepts only `true`, because other store implementations might return other truthy values.
      return (
        (await this.#store.compareAndSet(storeKey(id), from, to, {
          ttlMs: 'keep',
          identity: storeIdentity,
        })) === true
      );
    } catch (error) {
      if (isRestarted(error))
        throw invalid(
          'The state store has restarted or been replaced since this approval was requested. Request a new approval.',
          id,
        );
      throw error;
    }
  }

  #genuinePending(pending: PendingApproval): PendingApproval {
    const genuine = this.#signer.genuine(PENDING, pending);
    if (genuine === undefined && isPlainObject(pending) && 'pending' in pending)
      throw invalid('Expected a pending call, got an outcome. Pass outcome.pending.', undefined);
    if (genuine === undefined)
      throw invalid(
        `This pending call was changed, or signed with another key${SHARE_THE_KEY}.`,
        undefined,
      );
    return genuine as unknown as PendingApproval;
  }

  #genuineApproval(approval: Approval): Approval {
    const genuine = this.#signer.genuine(APPROVAL, approval);
    if (genuine === undefined && isPlainObject(approval) && 'kind' in approval)
      throw invalid(
        'Expected an approval, got a pending call. Approve it first, and pass what approve returns.',
        undefined,
      );
    if (genuine === undefined)
      throw invalid(
        `This approval was changed, or signed with another key${SHARE_THE_KEY}.`,
        undefined,
      );
    return genuine as unknown as Approval;
  }
}

/** The fields to which an approval is bound, and their names in messages. */
const BOUND = Object.freeze([
  ['callId', 'id'],
  ['toolName', 'tool'],
  ['definitionDigest', 'definition of the tool'],
  ['principal', 'principal'],
  ['conversationId', 'conversation'],
  ['inputDigest', 'input'],
] as const);
const SHARE_THE_KEY = ' (processes that share approvals must share the key)';

/** Returns the digest of the preview, or of the reason why there was none. */
export function previewDigestOf({
  preview,
  noPreview,
}: Pick<PendingApproval, 'preview' | 'noPreview'>): string {
  return digestOf([preview ?? null, noPreview ?? null]);
}

/**
 * Returns the lines that show the effect of a pending call. Returns an empty list if the tool has
 * no preview.
 */
export function previewLines({
  preview,
  noPreview,
}: Pick<PendingApproval, 'preview' | 'noPreview'>): readonly string[] {
  if (preview === undefined) return noPreview === undefined ? [] : [`No preview: ${noPreview}.`];
  const { summary, recipients = [], cost, reversible, diff } = preview;
  return [
    summary,
    ...(recipients.length === 0 ? [] : [`To: ${recipients.join(', ')}`]),
    ...(cost === undefined ? [] : [`Cost: ${cost}`]),
    ...(reversible === false ? ["This can't be undone."] : []),
    ...(diff === undefined ? [] : diff.replace(/\n$/, '').split('\n')),
  ];
}

function storeKey(id: string): string {
  return `approval:${id}`;
}

function editedInput(edited: unknown): Json {
  if (!isPlainObject(edited) || Object.keys(edited).join() !== 'input')
    throw refused('the edited input as { input }', describeValue(edited));
  try {
    return cloneFrozen(edited['input']) as Json;
  } catch (error) {
    throw refused(
      error instanceof TypeError
        ? `the edited input as ${error.message}`
        : 'the edited input as plain data',
      describeValue(edited['input']),
    );
  }
}

function refused(expected: string, got: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected ${expected}, got ${got}.`);
}

function invalid(message: string, pendingId: string | undefined): ToolError {
  return new ToolError(
    'INVALID_APPROVAL',
    message,
    pendingId === undefined ? {} : { details: { pendingId } },
  );
}

function used(pendingId: string): ToolError {
  return invalid(
    'This approval has been used, has expired, or is unknown to the state store. Request a new approval.',
    pendingId,
  );
}
