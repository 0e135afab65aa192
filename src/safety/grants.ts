import { z } from 'zod';
import { randomUUID } from '../core/crypto.js';
import { dangerRank } from '../core/enum-order.js';
import type { DangerLevel } from '../core/enums.js';
import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { checkOptions, once, wholeBetween, type FieldsOf } from '../core/options.js';
import { cloneFrozen, digestOf, isPlainObject } from '../core/plain-data.js';
import type { StateStore, StoreMoment } from '../state/state-store.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import { touchesOf } from '../tool/touches.js';
import { PENDING } from './approvals.js';
import type { CallContext, Decision, GrantScope, PendingApproval, ToolCall } from './calls.js';
import { compileRule, type PolicyRule } from './policy-rule.js';
import type { Signer } from './signer.js';

/** A user's approval of further calls: it loosens what needs approval, never what is denied. */
export interface Grant extends Pick<GrantScope, 'touches' | 'input' | 'uses'> {
  readonly id: string;
  readonly toolName: string;
  /** SHA-256 of the tool's metadata; a changed definition ends the grant. */
  readonly definitionDigest: string;
  readonly principal: string | null;
  /** The only conversation of the calls; `null` for all of the principal. */
  readonly conversationId: string | null;
  /** The greatest danger of the calls. */
  readonly danger: DangerLevel;
  /** The rule by which the approved call needed approval: calls that need it for another reason are asked about. */
  readonly rule: string;
  /** Milliseconds since 1970, by the clock of the store. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly storeIdentity: string;
  readonly signature: string;
}

const PURPOSE = 'tooldex/grant/v1';
const PREFIX = 'grant:';
/** Grants of one tool, principal and conversation; a user who gives more wants a rule. */
const MOST_OF_ONE = 100;
const MOST_ATTEMPTS = 20;
/** Rules without a name are told by their position, which a change of the policy gives to others. */
const UNNAMED = /^rule \d+$/;
/** Characters of a grant's key that its id begins with. */
const KEY_IN_ID = 16;
const MOST_REMEMBERED = 10_000;

const scopeSchema = once(() =>
  z.strictObject({
    touches: z.custom<GrantScope['touches']>(() => true).optional(),
    input: z.custom<GrantScope['input']>(() => true).optional(),
    conversation: z.boolean().optional(),
    uses: wholeBetween(1, 1_000).optional(),
    until: z.number().optional(),
  } satisfies FieldsOf<GrantScope>),
);

/** Returns a scope as it is now. @throws ToolError `INVALID_ARGUMENT` for one that is malformed, or bounds nothing. */
export function checkScope(scope: unknown, hasConversation: boolean): GrantScope {
  const checked = checkOptions(
    scopeSchema(),
    scopeAsIs(scope),
    'fields of the scope',
  ) as GrantScope;
  const { touches, input, conversation = hasConversation, uses, until } = checked;
  if (conversation && !hasConversation)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'a grant for more than a conversation',
        'one for the conversation of a call that has none',
        'Give conversation: false with uses or until.',
      ),
    );
  if (!conversation && uses === undefined && until === undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('uses or until', 'neither', 'A grant for all conversations needs an end.'),
    );
  compileRule(
    ruleOf({ ...(touches !== undefined && { touches }), ...(input !== undefined && { input }) }),
    0,
  );
  return { ...checked, conversation };
}

/** Returns a copy of a scope that is plain data. @throws ToolError `INVALID_ARGUMENT`, also for a limit that is there but `undefined`: dropped, it would widen the grant. */
function scopeAsIs(scope: unknown): unknown {
  if (!isPlainObject(scope)) return scope;
  const missing = Object.keys(scope).find((field) => scope[field] === undefined);
  if (missing !== undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        `${missing} of the scope`,
        'undefined',
        'Leave it out if the grant should not be limited by it.',
      ),
    );
  try {
    return cloneFrozen(scope);
  } catch (error) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'the scope of a grant as plain data',
        error instanceof TypeError
          ? error.message.replace(/^.*?, not /s, '')
          : 'one that cannot be read',
      ),
    );
  }
}

function ruleOf({ touches, input }: Pick<GrantScope, 'touches' | 'input'>): PolicyRule {
  return {
    verdict: 'allow',
    upTo: 'critical',
    ...(touches !== undefined && { touches }),
    ...(input !== undefined && { input }),
  };
}

/**
 * Keeps the grants of users in a state store, signed: by tool, definition, principal and conversation, so that two look-ups find those of a call.
 *
 * A store that was restarted may have come back with grants that were revoked since: those of an earlier identity do not count.
 */
export class Grants {
  readonly #store: StateStore;
  readonly #signer: Signer | undefined;
  /** The definitions that were granted here: two may declare the same and work differently. Other processes cannot tell them apart. */
  readonly #definitions = new Map<string, ToolDefinition>();

  /** @param signer signs and checks grants; without one they are only listed and revoked. */
  constructor(store: StateStore, signer?: Signer) {
    this.#store = store;
    this.#signer = signer;
  }

  /**
   * Makes a grant of calls like a pending one, which counts once the question is answered and `record` has put it into the store.
   *
   * @throws ToolError `INVALID_APPROVAL` for a pending call that was changed, `INVALID_ARGUMENT` for a scope that bounds nothing,
   * `LIMIT_EXCEEDED` for too many of one tool, `STATE_UNAVAILABLE`.
   */
  async make(pending: PendingApproval, given: GrantScope): Promise<Grant> {
    const asked = this.#signer?.genuine(PENDING, pending) as PendingApproval | undefined;
    if (asked === undefined)
      throw new ToolError(
        'INVALID_APPROVAL',
        expectedGot(
          'a pending call as it was asked',
          'a changed one, or one signed with another key',
        ),
      );
    if (UNNAMED.test(asked.rule))
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          'a grant for a rule with a name',
          `one for ${asked.rule}`,
          'Give the rule a name: another one may stand in its place tomorrow.',
        ),
      );
    const scope = checkScope(given, asked.conversationId !== undefined);
    const { time, identity } = await this.#store.now();
    const latest = time + LIMITS.timerMs;
    const expiresAt = Math.min(scope.until ?? latest, latest);
    if (expiresAt <= time)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          'until in the future',
          'a time that is over',
          'It counts in milliseconds since 1970.',
        ),
      );
    const {
      toolName,
      definitionDigest,
      principal = null,
      conversationId = null,
      danger,
      rule,
    } = asked;
    const key = keyOf({
      toolName,
      definitionDigest,
      principal,
      conversationId: scope.conversation ? conversationId : null,
    });
    const alive = (await this.#read(key)).filter((each) => isAlive(each, { time, identity }));
    const usedUp = await this.#usedUp(alive);
    assertRoom(
      alive.filter(({ id }) => !usedUp.has(id)),
      toolName,
    );
    return this.#signer!.signed(PURPOSE, {
      // The beginning of its key, so that it is found by its id among any number of others.
      id: `${key.slice(PREFIX.length, PREFIX.length + KEY_IN_ID)}-${randomUUID()}`, toolName, definitionDigest, principal, conversationId: scope.conversation ? conversationId : null, touches: scope.touches, input: scope.input, uses: scope.uses,
      danger, rule, createdAt: time, expiresAt, storeIdentity: identity,
    }) as unknown as Grant; // prettier-ignore
  }

  /** Puts a grant into the store, from where it counts. @throws ToolError `LIMIT_EXCEEDED`, `STATE_UNAVAILABLE`: the user is then asked about each call. */
  async record(grant: Grant, definition?: ToolDefinition): Promise<void> {
    const now = await this.#store.now();
    const key = keyOf(grant);
    const usedUp = await this.#usedUp(await this.#read(key));
    await this.#change(key, (grants) => {
      const counting = grants.filter((each) => isAlive(each, now) && !usedUp.has(each.id));
      assertRoom(counting, grant.toolName);
      return [...counting, grant];
    });
    if (definition !== undefined) this.#definitions.set(grant.id, definition);
    if (this.#definitions.size > MOST_REMEMBERED)
      this.#definitions.delete(this.#definitions.keys().next().value!);
  }

  /** Returns a grant that covers a call which needs approval, or `undefined`; a store that cannot be reached covers nothing. */
  async covering(
    call: ToolCall,
    entry: ToolEntry,
    context: CallContext,
    decision: Decision,
  ): Promise<Grant | undefined> {
    // "Every call" leaves nothing to be granted.
    if (decision.verdict !== 'confirm' || entry.requiresConsent || this.#signer === undefined)
      return undefined;
    const { principal = null, conversationId = null } = context;
    const keys = [...new Set([conversationId, null])].map((each) =>
      keyOf({
        toolName: entry.name,
        definitionDigest: entry.digest,
        principal,
        conversationId: each,
      }),
    );
    try {
      const found = (await Promise.all(keys.map((key) => this.#read(key)))).flat();
      if (found.length === 0) return undefined;
      const now = await this.#store.now();
      for (const each of found) {
        const grant = this.#signer.genuine(PURPOSE, each) as unknown as Grant | undefined;
        if (
          grant !== undefined &&
          keys.includes(keyOf(grant)) &&
          isAlive(grant, now) &&
          (this.#definitions.get(grant.id) ?? entry.definition) === entry.definition &&
          covers(grant, call, entry, context, decision) &&
          (await this.#hasUses(grant))
        )
          return grant;
      }
      return undefined;
    } catch (error) {
      if (isToolError(error, 'STATE_UNAVAILABLE')) return undefined;
      throw error;
    }
  }

  /**
   * Counts a call, unless the grant was revoked or used up since it was found; with `looksOnly` it is only looked at.
   *
   * @returns true if the call may run. @throws ToolError `STATE_UNAVAILABLE`.
   */
  async use(grant: Grant, looksOnly = false): Promise<boolean> {
    const now = await this.#store.now();
    if (!isAlive(grant, now) || !(await this.#read(keyOf(grant))).some(({ id }) => id === grant.id))
      return false;
    if (looksOnly || grant.uses === undefined) return this.#hasUses(grant);
    return (
      (
        await this.#store.increment(usesKey(grant), 1, {
          max: grant.uses,
          ttlMs: Math.max(1, grant.expiresAt - now.time),
          identity: grant.storeIdentity,
        })
      ).applied === true
    );
  }

  /** Returns the grants that count, the oldest first, with how often each was used; of more than 10,000 tools, principals and conversations only some. @throws ToolError `STATE_UNAVAILABLE`. */
  async list(): Promise<readonly (Grant & { readonly used: number })[]> {
    const now = await this.#store.now();
    const found = (
      await Promise.all((await this.#store.list(PREFIX, 10_000)).map((key) => this.#read(key)))
    ).flat();
    // Without the key nobody can tell which are genuine; none is used before it was checked.
    const counting = found.filter(
      (grant) =>
        isAlive(grant, now) &&
        (this.#signer === undefined || this.#signer.genuine(PURPOSE, grant) !== undefined),
    );
    const used = await Promise.all(
      counting.map(async (grant) => Number((await this.#store.get(usesKey(grant))) ?? 0)),
    );
    return Object.freeze(
      counting
        .map((grant, index) => Object.freeze({ ...grant, used: used[index]! }))
        .sort((a, b) => a.createdAt - b.createdAt),
    );
  }

  /** Ends a grant: a call that has not started by then needs approval. @returns true if there was one. @throws ToolError `STATE_UNAVAILABLE`. */
  async revoke(id: string): Promise<boolean> {
    let revoked = false;
    if (!ID.test(id)) return false;
    for (const key of await this.#store.list(`${PREFIX}${id.slice(0, KEY_IN_ID)}`)) {
      if ((await this.#read(key)).some((grant) => grant.id === id))
        await this.#change(
          key,
          (grants) => ((revoked = true), grants.filter((grant) => grant.id !== id)),
        );
    }
    return revoked;
  }

  /** Returns the ids of grants that no call can use any more. */
  async #usedUp(grants: readonly Grant[]): Promise<ReadonlySet<string>> {
    const hasUses = await Promise.all(grants.map((grant) => this.#hasUses(grant)));
    return new Set(grants.flatMap(({ id }, index) => (hasUses[index] ? [] : [id])));
  }

  async #hasUses(grant: Grant): Promise<boolean> {
    return (
      grant.uses === undefined || Number((await this.#store.get(usesKey(grant))) ?? 0) < grant.uses
    );
  }

  async #read(key: string): Promise<readonly Grant[]> {
    return grantsIn(await this.#store.get(key));
  }

  async #change(
    key: string,
    change: (grants: readonly Grant[]) => readonly Grant[],
  ): Promise<void> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const text = await this.#store.get(key);
      const next = change(grantsIn(text));
      if (
        await this.#store.compareAndSet(
          key,
          text,
          next.length === 0 ? undefined : JSON.stringify(next),
          { ttlMs: LIMITS.timerMs },
        )
      )
        return;
    }
    throw new ToolError(
      'STATE_UNAVAILABLE',
      'Expected the state store to keep the grants, got other changes at each attempt. Try again.',
    );
  }
}

function keyOf({
  toolName,
  definitionDigest,
  principal,
  conversationId,
}: Pick<Grant, 'toolName' | 'definitionDigest' | 'principal' | 'conversationId'>): string {
  return `${PREFIX}${digestOf([toolName, definitionDigest, principal, conversationId])}`;
}

const usesKey = ({ id }: Grant) => `uses-of-grant:${id}`;

/** Returns the grants of a text; what others wrote there may be anything, and is none. */
function grantsIn(text: string | undefined): readonly Grant[] {
  try {
    const read: unknown = text === undefined ? [] : JSON.parse(text);
    return Array.isArray(read) ? (read as unknown[]).filter(isGrant) : [];
  } catch {
    return [];
  }
}

/** The form of ids: the beginning of the grant's key, and a part of its own. */
const ID = /^[0-9a-f]{16}-[0-9a-f-]{36}$/;
/** The last moment that a date can be. */
const LAST_MS = 8.64e15;

/** Returns true for what has the form of a grant; whether it is genuine a signature shows. */
function isGrant(each: unknown): each is Grant {
  if (!isPlainObject(each)) return false;
  const { id, toolName, principal, conversationId, danger, expiresAt, createdAt } = each;
  const isText = (value: unknown) => typeof value === 'string';
  return (
    typeof id === 'string' &&
    ID.test(id) &&
    [toolName, danger].every(isText) &&
    [principal, conversationId].every((value) => value === null || isText(value)) &&
    [expiresAt, createdAt].every((time) => typeof time === 'number' && Math.abs(time) <= LAST_MS)
  );
}

/** @throws ToolError `LIMIT_EXCEEDED` where one more would be too many. */
function assertRoom(grants: readonly Grant[], toolName: string): void {
  if (grants.length >= MOST_OF_ONE)
    throw new ToolError(
      'LIMIT_EXCEEDED',
      expectedGot(
        `at most ${MOST_OF_ONE} grants of ${toolName} for one principal and conversation`,
        'more',
        'Revoke some, or write a rule for the policy.',
      ),
    );
}

function isAlive({ expiresAt, storeIdentity }: Grant, { time, identity }: StoreMoment): boolean {
  return expiresAt > time && storeIdentity === identity;
}

function covers(
  grant: Grant,
  call: ToolCall,
  entry: ToolEntry,
  context: CallContext,
  { danger, rule }: Decision,
): boolean {
  if (grant.conversationId !== null && grant.conversationId !== context.conversationId)
    return false;
  if (dangerRank(danger) > dangerRank(grant.danger) || !isSameQuestion(grant.rule, rule))
    return false;
  return (
    compileRule(ruleOf(grant), 0).meets(call, entry, context, danger, () =>
      touchesOf(entry, call.input),
    ).meets === true
  );
}

/** The reasons to ask, by how much they tell: a user who judged a later one has judged those before it, never the other way round. */
const ASKED_FOR_MORE: readonly string[] = ['axes', 'flow-influenced', 'flow-leaks'];

function isSameQuestion(answered: string, asked: string): boolean {
  if (answered === asked) return true;
  return (
    ASKED_FOR_MORE.includes(asked) &&
    ASKED_FOR_MORE.indexOf(answered) > ASKED_FOR_MORE.indexOf(asked)
  );
}

/** A scope that is offered, with what it says to a user. */
export interface GrantChoice {
  readonly label: string;
  readonly scope: GrantScope;
}

const HOUR_MS = 3_600_000;

/** Returns the narrowest sensible scopes for calls like one that is asked about, the narrowest first; none for tools that require consent. */
export function grantChoices(
  entry: ToolEntry,
  input: unknown,
  rule: string,
  hasConversation: boolean,
  now: number,
): readonly GrantChoice[] {
  if (entry.requiresConsent || UNNAMED.test(rule)) return [];
  const frame = hasConversation ? {} : { conversation: false, until: now + HOUR_MS };
  const end = hasConversation ? 'for the rest of this conversation' : 'for an hour';
  const writes = touchesOf(entry, input)?.writes ?? [];
  const patternOf = (key: string) => `write:${key.replace(/[*?{}[\]]/g, '\\$&')}`;
  const [only] = writes;
  const folder = writes.length === 1 ? /^[^/]*[^/:].*\//.exec(only!)?.[0] : undefined;
  const choices: GrantChoice[] = [];
  if (writes.length > 0 && writes.length <= 3)
    choices.push({
      label: `${entry.name} of ${writes.join(', ')}, ${end}`,
      scope: { ...frame, touches: writes.map(patternOf) },
    });
  if (folder !== undefined && folder !== only)
    choices.push({
      label: `${entry.name} of everything below ${folder}, ${end}`,
      scope: { ...frame, touches: patternOf(folder) },
    });
  choices.push({ label: `5 more calls of ${entry.name}, ${end}`, scope: { ...frame, uses: 5 } });
  // Of a key that no pattern can name there is no choice.
  return choices.filter(({ scope }) => isScope(scope, hasConversation));
}

function isScope(scope: GrantScope, hasConversation: boolean): boolean {
  try {
    return checkScope(scope, hasConversation) !== undefined;
  } catch {
    return false;
  }
}
