import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { checkOptions, clock as clockField, milliseconds, secret, withMethods, type FieldsOf } from '../core/options.js';
import { canonicalJson, cloneFrozen, describeValue, digestOf, isPlainObject, type Json } from '../core/plain-data.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import type { Decision, PendingApproval } from './calls.js';

/** Bytes: as many as the digest that a key makes. */
export const SHORTEST_KEY = 32;
/** A field for the key that signs approvals. */
export const approvalKey = secret<Uint8Array>(`an approval key of at least ${SHORTEST_KEY} bytes`, (value) => value instanceof Uint8Array && value.length >= SHORTEST_KEY, `Make one with crypto.randomBytes(${SHORTEST_KEY}).`);

export interface ApprovalsOptions {
  /** Shared by all processes that ask, answer and run. @default a store of this process */
  readonly store?: StateStore;
  /** At least 32 bytes, the same in all those processes. @default random, for this process alone */
  readonly key?: Uint8Array;
  /** How long a yes may take and counts, from the question on; up to 2³¹−1, the same in all those processes. @default 600,000 (ten minutes) */
  readonly ttlMs?: number;
  readonly clock?: Clock;
}

const optionsSchema = z.strictObject({
  store: withMethods<StateStore>('a StateStore', 'compareAndSet').optional(),
  key: approvalKey.optional(),
  ttlMs: milliseconds().default(600_000),
  clock: clockField.default(systemClock),
} satisfies FieldsOf<ApprovalsOptions>);

/** A person's yes to one call. It can be sent; it is good for exactly what was approved, once. */
export interface Approval {
  readonly pendingId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | null;
  /** SHA-256 of the approved arguments' canonical JSON. */
  readonly inputDigest: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly signature: string;
}

/** The call that is to be run, as it is now. */
export interface ApprovedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal: string | undefined;
  readonly input: Json;
}

/** The first thing that is signed, so that a signature of one purpose or version never serves another. */
const PENDING = 'tooldex/pending/v1';
const APPROVAL = 'tooldex/approval/v1';

/**
 * Keeps track of calls that wait for a yes, and of the yeses.
 *
 * An approval is bound to call, tool, definition, arguments, principal and expiry by an HMAC-SHA-256 over canonical JSON
 * (joined text could be shifted between fields), and counted in the store, from where it can be redeemed once, by one
 * process. A store that is lost or flushed refuses: what is not known to be open is not.
 */
export class Approvals {
  readonly #store: StateStore;
  readonly #key: Uint8Array;
  readonly #ttlMs: number;
  readonly #clock: Clock;

  /** @throws ToolError `INVALID_ARGUMENT` for unknown and wrong options. */
  constructor(options: ApprovalsOptions = {}) {
    const { clock, store = new MemoryStateStore({ clock }), key = randomBytes(SHORTEST_KEY), ttlMs } = checkOptions(optionsSchema, options, 'options of approvals');
    this.#store = store;
    // A copy: the caller may wipe or reuse its own.
    this.#key = Uint8Array.from(key);
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  /**
   * Puts a call on the list of those that wait.
   *
   * @throws ToolError `STATE_UNAVAILABLE` when the store cannot be reached.
   */
  async request(call: ApprovedCall, decision: Decision, conversationId?: string): Promise<PendingApproval> {
    const createdAt = this.#clock.now();
    const pending = withoutMissing({
      kind: 'approval' as const,
      id: randomUUID(),
      callId: call.callId,
      toolName: call.toolName,
      input: call.input,
      definitionDigest: call.definitionDigest,
      principal: call.principal ?? undefined,
      conversationId,
      danger: decision.danger,
      reason: decision.reason,
      rule: decision.rule,
      createdAt,
      expiresAt: createdAt + this.#ttlMs,
    });
    await this.#store.compareAndSet(storeKey(pending['id'] as string), undefined, 'open', { ttlMs: this.#ttlMs });
    return this.#signed(PENDING, pending) as unknown as PendingApproval;
  }

  /**
   * Records a person's yes, and gives the approval with which the call can be run.
   *
   * @param edited other arguments than those asked for: then they, and only they, are approved.
   * @throws ToolError `INVALID_APPROVAL` when the pending call was changed, has expired or is answered already;
   * `INVALID_ARGUMENT` when the edited input is no plain data, after which the call still waits; `STATE_UNAVAILABLE` when
   * the store cannot be reached.
   */
  async grant(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    const asked = this.#genuinePending(pending);
    // Before the store hears of it: a yes that cannot be given must not use the question up.
    const inputDigest = digestOf(edited === undefined ? asked.input : editedInput(edited));
    await this.#answer(asked, 'granted');
    const { id, callId, toolName, definitionDigest, principal = null, expiresAt } = asked;
    return this.#signed(APPROVAL, { pendingId: id, callId, toolName, definitionDigest, principal, inputDigest, expiresAt }) as unknown as Approval;
  }

  /**
   * Records a person's no. Whoever answers first, decides.
   *
   * @throws ToolError `INVALID_APPROVAL` as `grant` does, `STATE_UNAVAILABLE`.
   */
  async deny(pending: PendingApproval): Promise<void> {
    const asked = this.#genuinePending(pending);
    await this.#answer(asked, 'denied');
    await this.#store.compareAndSet(denialKey({ ...asked, principal: asked.principal ?? undefined }, asked.conversationId), undefined, 'denied', { ttlMs: this.#ttlMs });
  }

  /**
   * Whether a person said no to exactly this call not long ago, so that the same call is not asked about twice.
   *
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async wasDenied(call: ApprovedCall, conversationId?: string): Promise<boolean> {
    return call.callId !== '' && (await this.#store.get(denialKey(call, conversationId))) !== undefined;
  }

  /**
   * Whether an approval is genuine and of exactly this call; asks no store.
   *
   * @returns the approval as it was judged: a frozen copy, which nobody can change before it is redeemed.
   * @throws ToolError `INVALID_APPROVAL` naming what differs.
   */
  verify(approval: Approval, call: ApprovedCall): Approval {
    const genuine = this.#genuineApproval(approval);
    const { callId, toolName, definitionDigest } = call;
    const now = { callId, toolName, definitionDigest, principal: call.principal ?? null, inputDigest: digestOf(call.input) };
    const different = BOUND.filter(([field]) => now[field] !== genuine[field]);
    if (different.length > 0) throw invalid('the call that was approved', `one with another ${different.map(([, name]) => name).join(' and ')}; ask again`, genuine.pendingId);
    if (this.#left(genuine) === 0) throw invalid('an approval that still counts', 'one that has expired; ask again', genuine.pendingId);
    return genuine;
  }

  /**
   * Uses an approval up. Of many attempts, in any number of processes, exactly one succeeds.
   *
   * @throws ToolError `INVALID_APPROVAL` when it is changed, used, expired or unknown to the store; `STATE_UNAVAILABLE`,
   * after which it may be used up.
   */
  async redeem(approval: Approval): Promise<void> {
    const { pendingId, expiresAt } = this.#genuineApproval(approval);
    if (!(await this.#move(pendingId, expiresAt, 'granted', 'redeemed'))) throw used(pendingId);
  }

  /**
   * Whether an approval can still be redeemed, as far as can be told without doing so.
   *
   * @throws ToolError `INVALID_APPROVAL` when it is used, expired or unknown to the store; `STATE_UNAVAILABLE`.
   */
  async assertUnused({ pendingId }: Approval): Promise<void> {
    if ((await this.#store.get(storeKey(pendingId))) !== 'granted') throw used(pendingId);
  }

  async #answer({ id, expiresAt }: PendingApproval, answer: 'granted' | 'denied'): Promise<void> {
    if (!(await this.#move(id, expiresAt, 'open', answer))) throw invalid('a call that waits for a yes', 'one that is answered, expired or unknown', id);
  }

  async #move(id: string, expiresAt: number, from: string, to: string): Promise<boolean> {
    const left = this.#left({ expiresAt });
    // Nothing but a plain yes of the store counts.
    return left > 0 && (await this.#store.compareAndSet(storeKey(id), from, to, { ttlMs: left })) === true;
  }

  /** Milliseconds until it expires, 0 from then on; never more than a whole lifetime, also when the date was set back. */
  #left({ expiresAt }: { readonly expiresAt: number }): number {
    const left = expiresAt - this.#clock.now();
    return left > 0 ? Math.min(left, this.#ttlMs) : 0;
  }

  #genuinePending(pending: PendingApproval): PendingApproval {
    const genuine = this.#genuine(PENDING, pending);
    if (genuine === undefined && isPlainObject(pending) && 'pending' in pending) throw invalid('a pending call', 'an outcome; give its pending', undefined);
    if (genuine === undefined) throw invalid('a pending call as it was asked', `a changed one, or one signed with another key${SHARE_THE_KEY}`, undefined);
    return genuine as unknown as PendingApproval;
  }

  #genuineApproval(approval: Approval): Approval {
    const genuine = this.#genuine(APPROVAL, approval);
    if (genuine === undefined && isPlainObject(approval) && 'kind' in approval) throw invalid('an approval', 'a pending call; approve it first, and give what that returns', undefined);
    if (genuine === undefined) throw invalid('an approval as it was granted', `a changed one, or one signed with another key${SHARE_THE_KEY}`, undefined);
    return genuine as unknown as Approval;
  }

  #signed(purpose: string, fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const copy = copyOf(fields);
    return Object.freeze({ ...copy, signature: this.#sign(purpose, copy) });
  }

  /**
   * A frozen copy of what was signed, or `undefined` if it was not, not for this purpose, or not with this key.
   *
   * It is read once: getters could show one thing to the signature and another to the comparison with the call.
   */
  #genuine(purpose: string, signed: unknown): Readonly<Record<string, unknown>> | undefined {
    try {
      if (!isPlainObject(signed)) return undefined;
      const copy = copyOf(signed);
      const { signature, ...fields } = copy;
      if (typeof signature !== 'string') return undefined;
      const [expected, found] = [Buffer.from(this.#sign(purpose, fields)), Buffer.from(signature)];
      return expected.length === found.length && timingSafeEqual(expected, found) ? Object.freeze(copy) : undefined;
    } catch {
      return undefined; // What came from outside may be anything.
    }
  }

  /** Every field is signed, so that none can be forgotten; as canonical JSON, in which text cannot be shifted between fields. */
  #sign(purpose: string, fields: Readonly<Record<string, unknown>>): string {
    return createHmac('sha256', this.#key).update(canonicalJson([purpose, fields])).digest('hex');
  }
}

/** What of a call an approval is bound to, and what messages call it. */
const BOUND = Object.freeze([
  ['callId', 'id'],
  ['toolName', 'tool'],
  ['definitionDigest', 'definition of the tool'],
  ['principal', 'principal'],
  ['inputDigest', 'input'],
] as const);
const SHARE_THE_KEY = ' (processes that share approvals must share the key)';

function storeKey(id: string): string {
  return `approval:${id}`;
}

function denialKey({ callId, toolName, definitionDigest, principal, input }: ApprovedCall, conversationId: string | undefined): string {
  return `denied:${digestOf([callId, toolName, definitionDigest, principal ?? null, conversationId ?? null, digestOf(input)])}`;
}

function editedInput(edited: unknown): Json {
  if (!isPlainObject(edited) || Object.keys(edited).join() !== 'input') throw refused('the edited input as { input }', describeValue(edited));
  try {
    return cloneFrozen(edited['input']) as Json;
  } catch (error) {
    throw refused(error instanceof TypeError ? `the edited input as ${error.message}` : 'the edited input as plain data', describeValue(edited['input']));
  }
}

/** Field by field: the input may itself be as deep as plain data can be. */
function copyOf(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(withoutMissing(fields)).map(([field, value]) => [field, cloneFrozen(value)]));
}

function withoutMissing(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function refused(expected: string, found: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Expected ${expected}, found ${found}`);
}

function invalid(expected: string, found: string, pendingId: string | undefined): ToolError {
  return new ToolError('INVALID_APPROVAL', `Expected ${expected}, found ${found}`, pendingId === undefined ? {} : { details: { pendingId } });
}

function used(pendingId: string): ToolError {
  return invalid('an approval that is not used yet', 'one that is used, expired or unknown; ask again', pendingId);
}
