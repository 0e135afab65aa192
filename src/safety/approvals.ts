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

/** Bytes: as many as the digest that a key makes. */
const SHORTEST_KEY = 32;
/** A field for the key that signs approvals. */
export const approvalKey = () =>
  secret<Uint8Array>(
    `an approval key of at least ${SHORTEST_KEY} bytes`,
    (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY,
    `Make one with crypto.randomBytes(${SHORTEST_KEY}).`,
  );

export interface ApprovalsOptions {
  /** The store of all processes that ask, answer and run; its clock ends approvals. */
  readonly store: StateStore;
  /** A key of at least 32 bytes, the same in all those processes. */
  readonly key: Uint8Array;
  /** Milliseconds after the question in which an approval may be given and used; up to 2³¹−1. @default 600,000 (ten minutes) */
  readonly ttlMs?: number;
}

/** A user's approval of one call. It can be sent; it is good for exactly what was approved, once. */
export interface Approval {
  readonly pendingId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | null;
  readonly conversationId: string | null;
  /** SHA-256 of the approved arguments' canonical JSON. */
  readonly inputDigest: string;
  /** SHA-256 of the preview that was shown, or of its absence; `null` where the user changed the arguments. */
  readonly previewDigest: string | null;
  /** Milliseconds since 1970, by the clock of the store. */
  readonly expiresAt: number;
  /** The identity of the store that counts it; after a restart, or in another store, it is void. */
  readonly storeIdentity: string;
  readonly signature: string;
}

/** The call that is to be run, as it is now. */
export interface ApprovedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | undefined;
  readonly conversationId?: string | undefined;
  readonly input: Json;
}

/** The first thing that is signed, so that a signature of one purpose or version never serves another. */
export const PENDING = 'tooldex/pending/v3';
const APPROVAL = 'tooldex/approval/v3';

/**
 * Keeps track of calls that need approval, and of the approvals.
 *
 * An approval is bound to call, tool, definition, arguments, principal, conversation and store by an HMAC-SHA-256 over
 * canonical JSON (joined text could be shifted between fields), and counted in the store, from where it can be redeemed
 * once, by one process, until its time there is over. A store that was lost, emptied or restarted refuses: what is not known to be open
 * is not.
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
   * Puts a call on the list of those that need approval.
   *
   * @throws ToolError `STATE_UNAVAILABLE` when the store cannot be reached, or restarts meanwhile.
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
   * Records a user's approval, and returns it: with it the call can be run.
   *
   * @param edited other arguments than those asked for: then they, and only they, are approved.
   * @throws ToolError `INVALID_APPROVAL` when the pending call was changed, has expired or is answered already, or the store
   * was restarted since; `INVALID_ARGUMENT` when the edited input is no plain data, after which the call is still pending;
   * `STATE_UNAVAILABLE` when the store cannot be reached.
   */
  async grant(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    const asked = this.#genuinePending(pending);
    // Before the store hears of it: an approval that cannot be given must not use the question up.
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
   * Records that a user denied a call. Whoever answers first, decides.
   *
   * @throws ToolError `INVALID_APPROVAL` as `grant` does, `STATE_UNAVAILABLE`.
   */
  async deny(pending: PendingApproval): Promise<void> {
    const asked = this.#genuinePending(pending);
    await this.#answer(asked, 'denied');
  }

  /**
   * Checks that an approval is genuine and of exactly this call; asks no store, and so not whether it is used or expired.
   *
   * @returns the approval as it was judged: a frozen copy, which nobody can change before it is redeemed.
   * @throws ToolError `INVALID_APPROVAL` naming what differs.
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
        'the call that was approved',
        `one with another ${different.map(([, name]) => name).join(' and ')}. Ask again`,
        genuine.pendingId,
      );
    return genuine;
  }

  /**
   * Uses an approval up. Of many attempts, in any number of processes, at most one succeeds.
   *
   * @throws ToolError `INVALID_APPROVAL` when it is changed, used, expired or unknown to the store, or the store was restarted
   * since; `STATE_UNAVAILABLE`, after which it may be used up unless `details.sent` is `false`.
   */
  async redeem(approval: Approval): Promise<void> {
    const { pendingId, storeIdentity } = this.#genuineApproval(approval);
    if (!(await this.#move(pendingId, { storeIdentity }, 'granted', 'redeemed')))
      throw used(pendingId);
  }

  /**
   * Checks that an approval can still be redeemed, as far as can be told without doing so.
   *
   * @throws ToolError `INVALID_APPROVAL` when it is used, expired or unknown to the store; `STATE_UNAVAILABLE`.
   */
  async assertUnused({ pendingId }: Approval): Promise<void> {
    if (await this.isUsed({ pendingId })) throw used(pendingId);
  }

  /** Returns true for an approval that is used, expired or unknown to the store. @throws ToolError `STATE_UNAVAILABLE`. */
  async isUsed({ pendingId }: Pick<Approval, 'pendingId'>): Promise<boolean> {
    return (await this.#store.get(storeKey(pendingId))) !== 'granted';
  }

  async #answer(pending: PendingApproval, answer: 'granted' | 'denied'): Promise<void> {
    if (!(await this.#move(pending.id, pending, 'open', answer)))
      throw invalid(
        'a pending call',
        'one that is answered, expired or unknown to the state store. Ask again',
        pending.id,
      );
  }

  /** Changes a state that still lives, in the store that was asked and as long as it was not restarted. */
  async #move(
    id: string,
    { storeIdentity }: { readonly storeIdentity: string },
    from: string,
    to: string,
  ): Promise<boolean> {
    try {
      // Only `true` from the store counts.
      return (
        (await this.#store.compareAndSet(storeKey(id), from, to, {
          ttlMs: 'keep',
          identity: storeIdentity,
        })) === true
      );
    } catch (error) {
      if (isRestarted(error))
        throw invalid(
          'the state store that was asked',
          'one that restarted since, or another server. Ask again',
          id,
        );
      throw error;
    }
  }

  #genuinePending(pending: PendingApproval): PendingApproval {
    const genuine = this.#signer.genuine(PENDING, pending);
    if (genuine === undefined && isPlainObject(pending) && 'pending' in pending)
      throw invalid('a pending call', 'an outcome. Give its pending', undefined);
    if (genuine === undefined)
      throw invalid(
        'a pending call as it was asked',
        `a changed one, or one signed with another key${SHARE_THE_KEY}`,
        undefined,
      );
    return genuine as unknown as PendingApproval;
  }

  #genuineApproval(approval: Approval): Approval {
    const genuine = this.#signer.genuine(APPROVAL, approval);
    if (genuine === undefined && isPlainObject(approval) && 'kind' in approval)
      throw invalid(
        'an approval',
        'a pending call. Approve it first, and give what that returns',
        undefined,
      );
    if (genuine === undefined)
      throw invalid(
        'an approval as it was granted',
        `a changed one, or one signed with another key${SHARE_THE_KEY}`,
        undefined,
      );
    return genuine as unknown as Approval;
  }
}

/** The facts of a call that an approval is bound to, and what messages call them. */
const BOUND = Object.freeze([
  ['callId', 'id'],
  ['toolName', 'tool'],
  ['definitionDigest', 'definition of the tool'],
  ['principal', 'principal'],
  ['conversationId', 'conversation'],
  ['inputDigest', 'input'],
] as const);
const SHARE_THE_KEY = ' (processes that share approvals must share the key)';

/** Returns the digest of what a user was shown of a call's effect. */
export function previewDigestOf({
  preview,
  noPreview,
}: Pick<PendingApproval, 'preview' | 'noPreview'>): string {
  return digestOf([preview ?? null, noPreview ?? null]);
}

/** Returns the lines in which a pending call shows what it would do; none where its tool says nothing. */
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
    ...(reversible === false ? ['This cannot be undone.'] : []),
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

function invalid(expected: string, got: string, pendingId: string | undefined): ToolError {
  return new ToolError(
    'INVALID_APPROVAL',
    `Expected ${expected}, got ${got}.`,
    pendingId === undefined ? {} : { details: { pendingId } },
  );
}

function used(pendingId: string): ToolError {
  return invalid(
    'an approval that is not used yet',
    'one that is used, expired or unknown to the state store. Ask again',
    pendingId,
  );
}
