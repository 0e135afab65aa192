import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { expectedGot, formatIssues } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import {
  canonicalJson,
  cloneFrozen,
  describeValue,
  digestOf,
  isPlainObject,
  type Json,
  without,
} from '../core/plain-data.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import { isRestarted } from '../state/state-arguments.js';
import type { StateStore, StoreMoment } from '../state/state-store.js';
import { readAnswer } from '../tool/question.js';
import type { OperatorAction, Pending, PendingApproval, StoredPending } from './calls.js';
import { fieldsIn, type Signer } from './signer.js';
import { noteInTimeline } from './timeline.js';

/** The facts that identify a waiting call. */
export interface AskedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly definitionDigest: string;
  readonly principal?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly input: Json;
}

/** The state of a waiting call. A call leaves `open` once. */
type CallState = { readonly by?: string } & (
  | { readonly is: 'open' | 'denied' }
  | { readonly is: 'approved'; readonly input?: Json }
  | { readonly is: 'answered'; readonly value: Json }
);

/** One waiting call as stored, with facts that later answers are checked against. */
export interface WaitingCall<Kind extends Pending = Pending> {
  readonly pending: Kind;
  readonly state: CallState;
  /** The JSON Schema that edited arguments must match. */
  readonly inputSchema?: object;
  /** False if calls like this one need approval every time, so a grant would never apply. */
  readonly isGrantable?: boolean;
}

/** The waiting calls to list. */
export interface WaitingFilter {
  /** The principal of the calls, or `null` for calls without a principal. @default all */
  readonly principal?: string | null | undefined;
  /** The conversation of the calls, or `null` for calls without one. @default all */
  readonly conversationId?: string | null | undefined;
  /** The name of the calls' tool. @default all */
  readonly toolName?: string | undefined;
  /** The `id` of the calls themselves. @default all */
  readonly callId?: string | undefined;
  /** The maximum number of calls. @default 100 */
  readonly limit?: number | undefined;
  /** The `id` of the last pending call of the previous page. @default the newest call */
  readonly after?: string | undefined;
}

/** A call in the store: its key, the text under the key, and what the text says. */
interface Held {
  readonly key: string;
  readonly text: string;
  readonly call: WaitingCall;
}

/** The person or program that answered, and edited arguments if there are any. */
interface Answering {
  readonly input?: unknown;
  readonly by?: string | undefined;
  /** True if the arguments have already been checked by the tool's own schema. */
  readonly isChecked?: boolean;
}

const RECORD = 'tooldex/waiting-call/v1';
const ID = 'tooldex/waiting-call-id/v1';
/** The store key of the index of all open calls. */
const INDEX = 'waiting-calls';
/** The store key of the list of the newest answers. */
const ANSWERS = 'call-answers';
const MOST_ANSWERS = 1_000;
/** The maximum number of calls that can wait for one principal in one conversation. */
const MOST_WAITING = 1_000;
/** The number of index entries that are read at once. */
const PAGE = 100;
/** The age after which an index entry without an open call is removed, in milliseconds. */
const STALE_MS = 60_000;

/**
 * The ledger: one signed record for each call that waits for a person or another program.
 *
 * A record's key consists of principal, conversation, call id, tool, arguments, and kind, so asking
 * again about the same call finds the same record. Answering moves the record by compare-and-set.
 * Using an approval writes a second key, once, so a record that somebody put back can't run twice.
 */
export class WaitingCalls {
  readonly #store: StateStore;
  readonly #signer: Signer;
  /** A random start, so that processes that ask at the same moment don't count alike. */
  #asked = parseInt(randomUUID().slice(0, 3), 16);
  /** The last entry of the index that was checked, see `#list`. */
  #checked: string | undefined;

  constructor(store: StateStore, signer: Signer) {
    this.#store = store;
    this.#signer = signer;
  }

  /**
   * Returns a new id for a waiting call, in the form of a UUID: 16 digits of the call's digest, which
   * are also the key of its record, 11 digits of the time, 3 that keep the order, and 2 random ones.
   */
  idFor(call: AskedCall, kind: Pending['kind'], at: number): string {
    const time = at.toString(16).padStart(11, '0');
    const order = (this.#asked = (this.#asked + 1) % 4_096).toString(16).padStart(3, '0');
    const digits = this.#digestOf(call, kind) + time + order + randomUUID().slice(0, 2);
    return digits.replace(/(.{8})(.{4})(.{4})(.{4})(.*)/, '$1-$2-$3-$4-$5');
  }

  /**
   * Stores a waiting call. If `keeps` accepts the call that is already stored under the same key,
   * that call stays and is returned.
   *
   * @throws ToolError `LIMIT_EXCEEDED` if too many calls already wait in the conversation;
   * `STATE_UNAVAILABLE`.
   */
  async ask(
    asked: Omit<WaitingCall, 'state'>,
    keeps: (stored: WaitingCall) => boolean = () => false,
  ): Promise<WaitingCall> {
    const pending = cloneFrozen(asked.pending);
    const key = recordKeyOf(pending.id);
    const call: WaitingCall = { ...asked, pending, state: { is: 'open' } };
    const { storeIdentity: identity } = pending as Partial<PendingApproval>;
    for (let isListed = false; ;) {
      const text = await this.#store.get(key);
      const stored = text === undefined ? undefined : await this.#held(key, text);
      if (stored && keeps(stored.call)) {
        if (isListed) await this.#unlist(pending);
        return stored.call;
      }
      // The call is listed before it's stored, so that no stored call is missing from the list.
      if (!isListed) await this.#list(pending);
      isListed = true;
      const options = without({ ttlMs: lifetimeOf(pending), identity });
      if (!(await this.#store.compareAndSet(key, text, this.#text(call), options))) continue;
      if (stored !== undefined) await this.#unlist(stored.call.pending);
      return call;
    }
  }

  /**
   * Returns the stored call of a kind, provided that the tool's definition hasn't changed and the
   * store hasn't restarted since.
   */
  async find<Kind extends Pending['kind']>(
    call: AskedCall,
    kind: Kind,
  ): Promise<WaitingCall<Extract<Pending, { readonly kind: Kind }>> | undefined> {
    const held = await this.#held(recordKey(this.#digestOf(call, kind)));
    return held?.call.pending.definitionDigest === call.definitionDigest
      ? (held.call as WaitingCall<never>)
      : undefined;
  }

  /** Returns a stored call by the id of its pending call. @throws ToolError `STATE_UNAVAILABLE`. */
  async get(id: string): Promise<WaitingCall | undefined> {
    const held = await this.#held(recordKeyOf(id));
    return held?.call.pending.id === id ? held.call : undefined;
  }

  /**
   * Returns the open calls that match a filter, newest first or oldest first.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async list(filter: WaitingFilter = {}, isOldestFirst = false): Promise<readonly Pending[]> {
    const { principal, conversationId, limit = PAGE } = filter;
    const isOfOne = principal !== undefined && conversationId !== undefined;
    const key = isOfOne ? ownIndexOf({ principal, conversationId }) : INDEX;
    const now = await this.#store.now();
    const found: Pending[] = [];
    for (let after = filter.after ? memberOf(filter.after) : undefined; found.length < limit;) {
      const page = without({ reverse: !isOldestFirst, limit: Math.min(limit, PAGE), after });
      const members = await this.#store.pageOfIndex(key, page);
      const open = await Promise.all(members.map((member) => this.#open(key, member, now)));
      for (const each of open) if (each !== undefined && matches(each, filter)) found.push(each);
      after = members.at(-1);
      if (after === undefined) break;
    }
    return Object.freeze(found.slice(0, limit));
  }

  /**
   * Approves a call, optionally with other arguments, which must match the tool's schema.
   *
   * @throws ToolError `INVALID_APPROVAL` if the call isn't waiting or was changed,
   * `ALREADY_RESOLVED`, `INVALID_ARGUMENT` or `INVALID_INPUT` for refused arguments;
   * `STATE_UNAVAILABLE`.
   */
  async approve(shown: PendingApproval, answering: Answering = {}): Promise<OperatorAction> {
    const held = await this.#shown(shown);
    const { pending, inputSchema = {} } = held.call;
    if (pending.kind !== 'approval') throw waitsForAnswer(pending);
    if (answering.input === undefined) return this.#settle(held, { is: 'approved' }, answering);
    const input = plainInput(answering.input);
    const issues = answering.isChecked ? [] : compileJsonSchema(inputSchema).check(input);
    if (issues.length > 0)
      throw new ToolError(
        'INVALID_INPUT',
        `The edited arguments don't match the schema of ${pending.toolName}:\n  ${formatIssues(issues)}`,
        { details: { issues } },
      );
    return this.#settle(held, { is: 'approved', input }, answering);
  }

  /** Denies a call of any kind. @throws ToolError like `approve`. */
  async deny(shown: Pending, answering: Answering = {}): Promise<OperatorAction> {
    return this.#settle(await this.#shown(shown), { is: 'denied' }, answering);
  }

  /**
   * Answers a question, or provides the result of a manual call.
   *
   * @throws ToolError `INVALID_INPUT` if the call doesn't accept this answer; otherwise like
   * `approve`.
   */
  async answer(shown: Pending, value: unknown, answering: Answering = {}): Promise<OperatorAction> {
    const held = await this.#shown(shown);
    const { pending } = held.call;
    if (pending.kind === 'approval')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `${pending.toolName} is waiting for approval. Approve or deny it instead of answering.`,
      );
    const state = { is: 'answered', value: checkedAnswer(pending, value) } as const;
    return this.#settle(held, state, answering);
  }

  /** Returns the stored call that the user was shown. @throws ToolError `INVALID_APPROVAL`. */
  async require(shown: PendingApproval): Promise<WaitingCall> {
    return (await this.#shown(shown)).call;
  }

  /**
   * Uses up an approval. If several processes try at the same time, at most one succeeds.
   *
   * @throws ToolError `INVALID_APPROVAL` if the approval has been used or has expired, or if the
   * store restarted. `STATE_UNAVAILABLE`: the approval may have been used up, unless `details.sent`
   * is `false`.
   */
  async use({ id, createdAt, expiresAt, storeIdentity: identity }: PendingApproval): Promise<void> {
    const { time } = await this.#store.now();
    const options = { identity, ttlMs: expiresAt - createdAt };
    const isFirst =
      time < expiresAt &&
      (await this.#store.compareAndSet(usedKey(id), undefined, 'used', options).catch(restarted));
    // Accepts only `true`, because other store implementations might return other truthy values.
    if (isFirst !== true) throw usedUp(id);
  }

  /** Returns true if an approval has been used. @throws ToolError `STATE_UNAVAILABLE`. */
  async isUsed({ id }: Pick<Pending, 'id'>): Promise<boolean> {
    return (await this.#store.get(usedKey(id))) !== undefined;
  }

  /**
   * Returns the calls that have unused answers and whose ids aren't in `known`, and adds the ids to
   * `known`.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async answered(seen: Set<string>): Promise<readonly StoredPending[]> {
    const ids = new Set((await this.actions()).map(({ id }) => id));
    const fresh = [...ids].filter((id) => !seen.has(id)).toReversed();
    seen.clear();
    for (const id of ids) seen.add(id);
    const found = await Promise.all(fresh.map((id) => this.#unused(id)));
    return found.filter((each) => each !== undefined);
  }

  /** Returns the newest thousand answers, newest first. @throws ToolError `STATE_UNAVAILABLE`. */
  async actions(): Promise<readonly OperatorAction[]> {
    const items = await this.#store.read(ANSWERS, { limit: MOST_ANSWERS });
    return items.map((item) => JSON.parse(item) as OperatorAction).toReversed();
  }

  /** Records an answer, or another action of an operator, also in the conversation's timeline. */
  async record(
    action: Omit<OperatorAction, 'at'>,
    conversationId?: string,
  ): Promise<OperatorAction> {
    const recorded = Object.freeze({ ...action, at: (await this.#store.now()).time });
    const text = JSON.stringify(recorded);
    await this.#store.append(ANSWERS, text, { max: MOST_ANSWERS });
    await noteInTimeline(this.#store, conversationId, text);
    return recorded;
  }

  /** Returns 16 digits that depend on the key, so executors with other keys have other records. */
  #digestOf(
    { principal, conversationId, callId, toolName, input }: AskedCall,
    kind: Pending['kind'],
  ): string {
    const owner = [principal ?? null, conversationId ?? null];
    return this.#signer.digestOf(ID, [...owner, callId, toolName, input, kind]).slice(0, 16);
  }

  async #unused(id: string): Promise<StoredPending | undefined> {
    const call = await this.get(id);
    if (call === undefined || call.state.is === 'open') return undefined;
    if (call.state.is === 'approved' && (await this.isUsed({ id }))) return undefined;
    return withAnswer(call);
  }

  /** Returns the stored call that equals what a user was shown. */
  async #shown(shown: unknown): Promise<Held> {
    const { answer: _, by: __, ...pending } = copyOf(shown);
    if ('pending' in pending || typeof pending['id'] !== 'string')
      throw invalid(
        expectedGot(
          'a pending call',
          'pending' in pending ? 'an outcome' : describeValue(shown),
          'Pass outcome.pending.',
        ),
      );
    const held = await this.#held(recordKeyOf(pending['id']));
    if (held === undefined || canonicalJson(held.call.pending) !== canonicalJson(pending))
      throw invalid(
        'This call is no longer waiting: it expired, it was asked about again, or its state store restarted. Otherwise the pending call was changed, or signed with another key (processes that share a store must share the key). Request a new approval.',
        pending['id'],
      );
    return held;
  }

  async #settle(
    { key, text, call }: Held,
    state: CallState,
    { by }: Answering,
  ): Promise<OperatorAction> {
    if (call.state.is !== 'open') throw resolved(call);
    const next = this.#text({ ...call, state: { ...state, ...without({ by }) } });
    const { pending } = call;
    // The answer to a question is kept until the call is made again.
    const options = { ttlMs: state.is === 'answered' ? LIMITS.timerMs : ('keep' as const) };
    if (!(await this.#store.compareAndSet(key, text, next, options)))
      throw resolved((await this.get(pending.id)) ?? call);
    await this.#unlist(pending);
    const { id, toolName, principal, conversationId } = pending;
    const action = ACTION_OF[state.is as keyof typeof ACTION_OF];
    const facts = { action, id, toolName, ...without({ operator: by, principal }) };
    return this.record(facts, conversationId);
  }

  async #held(key: string, stored?: string, now?: StoreMoment): Promise<Held | undefined> {
    const text = stored ?? (await this.#store.get(key));
    const call = this.#read(text);
    // A record that was copied to another key isn't valid under that key.
    if (text === undefined || call === undefined || recordKeyOf(call.pending.id) !== key)
      return undefined;
    const { pending } = call;
    if (pending.kind === 'approval') {
      const { time, identity } = now ?? (await this.#store.now());
      if (pending.storeIdentity !== identity || pending.expiresAt <= time) return undefined;
    }
    return { key, text, call };
  }

  /** Returns a record if tooldex signed it, and `undefined` for any other data in the store. */
  #read(text: string | undefined): WaitingCall | undefined {
    const { signature: _, ...call } = this.#signer.genuine(RECORD, text) ?? {};
    return 'pending' in call ? (call as unknown as WaitingCall) : undefined;
  }

  #text(call: WaitingCall): string {
    return JSON.stringify(this.#signer.signed(RECORD, { ...call }));
  }

  /** Adds a call to the lists of open calls. @throws ToolError `LIMIT_EXCEEDED`. */
  async #list(pending: Pending): Promise<void> {
    const own = ownIndexOf(pending);
    const member = memberOf(pending.id);
    const options = { max: MOST_WAITING, ttlMs: LIMITS.timerMs };
    const add = () => this.#store.addToIndex(own, member, options);
    if (!(await add()) && !(await this.#dropStale(own).then(add)))
      throw new ToolError(
        'LIMIT_EXCEEDED',
        `${MOST_WAITING} calls of this conversation already wait for the user, so this call isn't stored. Approve, answer, or deny some of them first.`,
      );
    await this.#store.addToIndex(INDEX, member);
    // Expired calls leave entries behind, which must not add up if nobody lists the calls.
    // Starts after the open calls that were checked before, because some wait for long.
    if (this.#asked % (PAGE / 2) === 0) this.#checked = await this.#dropStale(INDEX, this.#checked);
  }

  async #unlist(pending: Pending): Promise<void> {
    const member = memberOf(pending.id);
    await Promise.all(
      [INDEX, ownIndexOf(pending)].map((key) => this.#store.removeFromIndex(key, member)),
    );
  }

  /**
   * Checks a page of entries from the oldest, and removes those whose calls aren't open any more.
   * Returns the entry to go on after, or `undefined` to start again.
   */
  async #dropStale(key: string, after?: string): Promise<string | undefined> {
    const now = await this.#store.now();
    const page = await this.#store.pageOfIndex(key, without({ limit: PAGE, after }));
    const open = await Promise.all(page.map((member) => this.#open(key, member, now)));
    return open.includes(undefined) ? undefined : page.at(-1);
  }

  /** Returns the open call of an index entry. Removes an old entry without an open call. */
  async #open(key: string, member: string, now: StoreMoment): Promise<Pending | undefined> {
    const id = idOf(member);
    const held = await this.#held(recordKeyOf(id), undefined, now);
    if (held?.call.pending.id === id && held.call.state.is === 'open') return held.call.pending;
    if (now.time - timeOf(id) > STALE_MS) await this.#store.removeFromIndex(key, member);
    return undefined;
  }
}

const ACTION_OF = { approved: 'approve', denied: 'deny', answered: 'answer' } as const;

/** Returns a pending call with its answer, or only the pending call while it's open. */
export function withAnswer({ pending, state }: WaitingCall): StoredPending {
  if (state.is === 'open') return pending;
  const answer = state.is === 'answered' ? Object.freeze({ value: state.value }) : state.is;
  return Object.freeze({ ...pending, answer, ...without({ by: state.by }) });
}

/** Returns true for the text of a record whose call is open. The record isn't verified. */
export function looksOpen(text: string | undefined): boolean {
  return (fieldsIn(text)?.['state'] as WaitingCall['state'] | undefined)?.is === 'open';
}

const digitsOf = (id: string) => id.replaceAll('-', '');
const recordKey = (digest: string) => `waiting:${digest}`;
/** Returns the store key of a waiting call's record. */
export const recordKeyOf = (id: string) => recordKey(digitsOf(id).slice(0, 16));
const usedKey = (id: string) => `used:${id}`;
const timeOf = (id: string) => parseInt(digitsOf(id).slice(16, 27), 16);

/** Returns the index entry of a call: its time and order, and its id. */
const memberOf = (id: string) => `${digitsOf(id).slice(16, 30)} ${id}`;
const idOf = (member: string) => member.slice(15);

function ownIndexOf({
  principal,
  conversationId,
}: {
  readonly principal?: string | null | undefined;
  readonly conversationId?: string | null | undefined;
}): string {
  return `waiting-calls:${digestOf([principal ?? null, conversationId ?? null])}`;
}

function lifetimeOf({ createdAt, ...pending }: Pending): number {
  const { expiresAt = Infinity } = pending as { readonly expiresAt?: number };
  return Math.min(LIMITS.timerMs, Math.max(1, expiresAt - createdAt));
}

function matches(
  pending: Pending,
  { principal, conversationId, toolName, callId }: WaitingFilter,
): boolean {
  return (
    (principal === undefined || (pending.principal ?? null) === principal) &&
    (conversationId === undefined || (pending.conversationId ?? null) === conversationId) &&
    (toolName === undefined || pending.toolName === toolName) &&
    (callId === undefined || pending.callId === callId)
  );
}

/** Returns a copy of what a program passes, which can have any shape. */
function copyOf(shown: unknown): Readonly<Record<string, unknown>> {
  try {
    return isPlainObject(shown) ? cloneFrozen(without(shown)) : {};
  } catch {
    return {};
  }
}

/** Returns a copy of edited arguments. @throws ToolError `INVALID_ARGUMENT`. */
export function plainInput(input: unknown): Json {
  try {
    return cloneFrozen(input) as Json;
  } catch {
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('the edited input as plain data', describeValue(input)),
    );
  }
}

/** Validates an answer to a question or manual call, and returns it. */
function checkedAnswer(pending: Exclude<Pending, PendingApproval>, value: unknown): Json {
  if (pending.kind === 'question') {
    const answer = readAnswer(pending, value);
    if (!answer.ok) throw new ToolError('INVALID_INPUT', answer.message);
    return answer.value;
  }
  const result = plainInput(value);
  const issues = compileJsonSchema((pending.outputSchema ?? {}) as object).check(result);
  if (issues.length > 0)
    throw new ToolError(
      'INVALID_INPUT',
      expectedGot(
        "a result matching the tool's output schema",
        'another one',
        formatIssues(issues),
      ),
      { details: { issues } },
    );
  return result;
}

function waitsForAnswer({ toolName, kind }: Pending): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `${toolName} is waiting for an answer to a ${kind === 'question' ? 'question' : 'manual call'}, not for approval. Answer it instead.`,
  );
}

function invalid(message: string, pendingId?: string): ToolError {
  return new ToolError(
    'INVALID_APPROVAL',
    message,
    pendingId === undefined ? {} : { details: { pendingId } },
  );
}

function resolved({ pending, state }: WaitingCall): ToolError {
  const by = state.by === undefined ? '' : `, by ${state.by}`;
  const did = state.is === 'open' ? '' : ` (${ACTION_OF[state.is]}${by})`;
  return new ToolError(
    'ALREADY_RESOLVED',
    `This call has already been answered${did}. The first answer counts. To ask again, make the call with a new id.`,
    { details: { pendingId: pending.id } },
  );
}

/** Returns the error for an approval that can't be used any more. */
export function usedUp(id: string): ToolError {
  return invalid(
    'This approval has been used, has expired, or is unknown to the state store. If it was used, the call has already run or started: check before you request a new approval.',
    id,
  );
}

function restarted(error: unknown): never {
  if (!isRestarted(error)) throw error;
  throw invalid(
    'The state store has restarted or been replaced since this approval was requested. Request a new approval.',
  );
}
