import { z } from 'zod';
import { randomUUID } from '../core/crypto.js';
import { dangerRank } from '../core/enum-order.js';
import { DangerLevel } from '../core/enums.js';
import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { checkOptions, once, wholeBetween, type FieldsOf } from '../core/options.js';
import {
  canonicalJson,
  cloneFrozen,
  digestOf,
  isPlainObject,
  type Json,
  without,
} from '../core/plain-data.js';
import type { StateStore, StoreMoment } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Decision, GrantScope, PendingApproval } from './calls.js';
import { fieldsIn, type Signer } from './signer.js';
import type { AskedCall, WaitingCall } from './waiting-calls.js';

/**
 * A user's approval of further calls. A grant can remove the need for approval, but never override
 * a denial.
 */
export interface Grant extends Pick<GrantScope, 'input' | 'uses'> {
  readonly id: string;
  readonly toolName: string;
  /** The SHA-256 of the tool's metadata. If the definition changes, the grant ends. */
  readonly definitionDigest: string;
  readonly principal: string | null;
  readonly conversationId: string | null;
  /**
   * The rule that required approval of the original call. If another rule requires approval of a
   * call, the user is still asked.
   */
  readonly rule: string;
  /** True if `input` lists all arguments that a call may have. */
  readonly exact: boolean;
  /**
   * The SHA-256 of the approved call's id and arguments. The approved call has its own approval and
   * doesn't count against the grant.
   */
  readonly approvedCall: string;
  /** Milliseconds since 1970, on the store's clock. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly storeIdentity: string;
  readonly signature: string;
}

/** A grant that you can offer to the user, with a description. */
export interface GrantChoice {
  readonly label: string;
  readonly scope: GrantScope;
}

const PURPOSE = 'tooldex/grant/v3';
/** The store key of the list of all grants. */
const INDEX = 'grants';
const MOST_LISTED = 1_000;
/**
 * The maximum number of grants for one tool, principal, and conversation. To allow more, use a
 * policy rule.
 */
const MOST_OF_ONE = 100;

const scopeSchema = once(() =>
  z
    .strictObject({
      input: z.custom<GrantScope['input']>(isPlainObject, 'arguments by name').optional(),
      uses: wholeBetween(1, 1_000).optional(),
      until: z.number().optional(),
    } satisfies FieldsOf<GrantScope>)
    .refine(({ input = {}, ...limits }) => Object.keys({ ...input, ...limits }).length > 0, {
      error: 'input, uses or until',
      params: { advice: 'A grant needs at least one limit.' },
    }),
);

/**
 * Stores users' grants in a state store, with signatures. A restarted store may contain grants that
 * have been revoked, so grants from before a restart don't count.
 */
export class Grants {
  readonly #store: StateStore;
  readonly #signer: Signer | undefined;

  /**
   * @param signer Signs and verifies grants. Without a signer, you can only list and revoke grants.
   */
  constructor(store: StateStore, signer?: Signer) {
    this.#store = store;
    this.#signer = signer;
  }

  /**
   * Creates a grant for calls that are like a waiting call. The grant takes effect once `record`
   * has stored it.
   *
   * @throws ToolError `INVALID_ARGUMENT` if the scope has no limit or if calls like this call need
   * approval every time. `STATE_UNAVAILABLE`.
   */
  async make({ pending: asked, isGrantable }: WaitingCall, scope: GrantScope): Promise<Grant> {
    if (isGrantable !== true)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Calls like this ${asked.toolName} call need approval every time. Approve only this call.`,
      );
    const { input, uses, until } = checkScope(scope);
    const { time, identity } = await this.#store.now();
    const expiresAt = Math.min(until ?? Infinity, time + LIMITS.timerMs);
    if (expiresAt <= time)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          'until in the future',
          'a time in the past',
          'until is in milliseconds since 1970.',
        ),
      );
    const { toolName, definitionDigest, principal = null, conversationId = null } = asked;
    const { rule } = asked as PendingApproval;
    return this.#signer!.signed(PURPOSE, {
      id: randomUUID(),
      toolName,
      definitionDigest,
      principal,
      conversationId,
      rule,
      input: input && cloneFrozen(input),
      exact: input !== undefined && canonicalJson(input) === canonicalJson(asked.input),
      uses,
      approvedCall: digestOf([asked.callId, asked.input]),
      createdAt: time,
      expiresAt,
      storeIdentity: identity,
    }) as unknown as Grant;
  }

  /**
   * Stores a grant, which takes effect immediately. @throws ToolError `STATE_UNAVAILABLE` if the
   * grant can't be stored. The user is then asked about each call.
   */
  async record(grant: Grant): Promise<void> {
    const ttlMs = grant.expiresAt - grant.createdAt;
    await this.#store.compareAndSet(grantKey(grant.id), undefined, JSON.stringify(grant), {
      ttlMs,
    });
    for (const [list, max] of [
      [listKey(grant), MOST_OF_ONE],
      [INDEX, MOST_LISTED],
    ] as const)
      await this.#store.append(list, grant.id, { max, ttlMs: LIMITS.timerMs });
  }

  /**
   * Returns a grant that covers the call, or `undefined`. If the store can't be reached, no call is
   * covered.
   */
  async covering(
    call: AskedCall,
    entry: ToolEntry,
    decision: Decision,
  ): Promise<Grant | undefined> {
    const isRaised = dangerRank(decision.danger) > dangerRank(entry.dangerLevel);
    if (!isGrantable(entry, decision) || isRaised || this.#signer === undefined) return undefined;
    try {
      const ids = await this.#store.read(listKey(call), { limit: MOST_OF_ONE });
      if (ids.length === 0) return undefined;
      const now = await this.#store.now();
      for (const id of ids) {
        const grant = await this.#read(id);
        if (
          grant !== undefined &&
          isAlive(grant, now) &&
          listKey(grant) === listKey(call) &&
          grant.rule === decision.rule &&
          grant.approvedCall !== digestOf([call.callId, call.input]) &&
          hasInput(grant, call.input) &&
          (await this.#used(grant)) < (grant.uses ?? Infinity)
        )
          return grant;
      }
    } catch (error) {
      if (!isToolError(error, 'STATE_UNAVAILABLE')) throw error;
    }
    return undefined;
  }

  /**
   * Counts a call against a grant, unless the grant has been revoked or used up.
   * @returns true if the call can run.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async use({ id, uses, expiresAt }: Grant): Promise<boolean> {
    const [grant, now] = [await this.#read(id), await this.#store.now()];
    if (grant === undefined || !isAlive(grant, now)) return false;
    if (uses === undefined) return true;
    const ttlMs = Math.max(1, expiresAt - now.time);
    return (await this.#store.increment(usesKey(id), 1, { max: uses, ttlMs })).applied === true;
  }

  /**
   * Returns the newest thousand active grants, oldest first, and how often each was used.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async list(of: Partial<Grant> = {}): Promise<readonly (Grant & { readonly used: number })[]> {
    const wanted = Object.entries(without(of));
    const now = await this.#store.now();
    const ids = await this.#store.read(INDEX, { limit: MOST_LISTED });
    const found = await Promise.all([...new Set(ids)].map((id) => this.#read(id)));
    const counting = found.filter(
      (grant) =>
        grant !== undefined &&
        isAlive(grant, now) &&
        wanted.every(([field, value]) => grant[field as keyof Grant] === value),
    ) as Grant[];
    return Object.freeze(
      await Promise.all(
        counting.map(async (grant) => Object.freeze({ ...grant, used: await this.#used(grant) })),
      ),
    );
  }

  /**
   * Revokes a grant. Calls that haven't started yet need approval again.
   * @returns true if the grant existed.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async revoke(id: string): Promise<boolean> {
    const key = grantKey(id);
    const text = await this.#store.get(key);
    return text !== undefined && this.#store.compareAndSet(key, text, undefined);
  }

  async #used({ id, uses }: Grant): Promise<number> {
    return uses === undefined ? 0 : Number((await this.#store.get(usesKey(id))) ?? 0);
  }

  /**
   * Returns a stored grant. Without a signer, grants can't be verified: display them, but don't
   * rely on them.
   */
  async #read(id: string): Promise<Grant | undefined> {
    const text = await this.#store.get(grantKey(id));
    const grant = this.#signer === undefined ? fieldsIn(text) : this.#signer.genuine(PURPOSE, text);
    return grant?.['id'] === id ? (grant as unknown as Grant) : undefined;
  }
}

/**
 * Validates the limits of a grant.
 * @throws ToolError `INVALID_ARGUMENT` if the scope has no limit.
 */
export function checkScope(scope: unknown): GrantScope {
  return checkOptions(scopeSchema, scope, 'limits of the grant') as GrantScope;
}

const grantKey = (id: string) => `grant:${id}`;
const usesKey = (id: string) => `uses-of-grant:${id}`;

function listKey(
  of:
    | (Pick<Grant, 'toolName' | 'definitionDigest'> &
        Partial<Pick<Grant, 'principal' | 'conversationId'>>)
    | AskedCall,
): string {
  const { toolName, definitionDigest, principal = null, conversationId = null } = of;
  return `grants:${digestOf([toolName, definitionDigest, principal, conversationId])}`;
}

function isAlive({ expiresAt, storeIdentity }: Grant, { time, identity }: StoreMoment): boolean {
  return expiresAt > time && storeIdentity === identity;
}

/**
 * Returns false if calls like this call need approval every time. Tools that require consent,
 * critical calls, and calls stopped by a flow check need approval every time. Flow checks are
 * included because flows change with every call.
 */
export function isGrantable(
  { requiresConsent, dangerLevel }: ToolEntry,
  { rule, danger }: Pick<Decision, 'rule' | 'danger'>,
): boolean {
  const isCritical = [dangerLevel, danger].includes(DangerLevel.CRITICAL);
  return !requiresConsent && !isCritical && !rule.startsWith('flow-');
}

function hasInput({ input, exact }: Grant, actual: Json): boolean {
  if (input === undefined) return true;
  if (exact) return canonicalJson(input) === canonicalJson(actual);
  return (
    isPlainObject(actual) &&
    Object.entries(input).every(
      ([name, value]) =>
        Object.hasOwn(actual, name) && canonicalJson(actual[name]) === canonicalJson(value),
    )
  );
}

/**
 * Returns the grants that can be offered to the user, narrowest first. Returns an empty list if
 * calls like this call need approval every time.
 */
export function grantChoices(entry: ToolEntry, pending: PendingApproval): readonly GrantChoice[] {
  const { input, danger, conversationId } = pending;
  const isRaised = dangerRank(danger) > dangerRank(entry.dangerLevel);
  if (!isGrantable(entry, pending) || isRaised || !isPlainObject(input)) return [];
  const where = conversationId === undefined ? '' : ' in this conversation';
  const choices: GrantChoice[] = [];
  if (Object.keys(input).length > 0)
    choices.push({
      label: `${entry.name} with the same arguments again${where}`,
      scope: { input: input },
    });
  if (dangerRank(danger) <= dangerRank(DangerLevel.MEDIUM) && entry.sends !== 'outside')
    choices.push({
      label: `${entry.name} with any arguments five times${where}`,
      scope: { uses: 5 },
    });
  return choices;
}
