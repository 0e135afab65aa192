import { AccessMode, ExecutionCategory } from '../core/enums.js';
import { isToolError } from '../core/errors.js';
import { cloneFrozen, digestOf, isShownByJson, type Json } from '../core/plain-data.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { OutcomeBody } from '../safety/calls.js';
import type { StateStore } from '../state/state-store.js';
import { boundInput } from '../tool/bound-input.js';
import { checkContent } from '../tool/content.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import { jsonSchemaOf } from '../tool/tool-schema.js';
import type { ExecutorFrame } from './executor-options.js';
import { answerIssues } from './read-result.js';

/** The part of an answer that is kept: its value, and what belongs to it. */
type KeptAnswer = Pick<Extract<OutcomeBody, { status: 'ok' }>, 'value' | 'content'>;

interface Kept {
  readonly value: KeptAnswer;
  readonly size: number;
  readonly stamp: Stamp;
  /** `elapsed()` until which it is good. */
  readonly until: number;
}

/** The end of work under the cache; `keep` is missing for a failure. */
export interface Worked<T> {
  readonly result: T;
  readonly keep: KeptAnswer | undefined;
  /** The work ended because its caller gave it up. */
  readonly aborted: boolean;
}

/** Answers above this are not kept: one would push out hundreds of others. 1 MiB is also the most a store takes. */
const LARGEST = 2 ** 20;

/** Returns true if answers of a tool may be kept: it asks for it, and declares itself that it only reads. */
export function isCacheable(entry: ToolEntry): boolean {
  return (
    entry.cacheTtlMs !== undefined &&
    entry.accessMode === AccessMode.READONLY &&
    !entry.inferred.includes('accessMode')
  );
}

/**
 * Keeps answers of tools that only read, per tool, definition, arguments, principal, conversation and context, until they
 * expire or a write makes them stale.
 *
 * An answer is stamped with the state of its scopes before the tool starts: a write during the call makes it stale before it
 * is kept. Equal calls at the same time run once; when that run fails, each of the others runs by itself.
 */
export class ResultCache {
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<Worked<unknown>>>();
  readonly #generations: Generations;
  readonly #frame: ExecutorFrame;
  /** Two definitions may declare the same and work differently. */
  readonly #definitions = new WeakMap<ToolDefinition, number>();
  #definitionCount = 0;
  readonly #firstDefinitions = new Map<
    string,
    { readonly declared: string; readonly definition: ToolDefinition }
  >();
  #size = 0;

  constructor(frame: ExecutorFrame) {
    this.#frame = frame;
    this.#generations = new Generations(frame.store);
  }

  /**
   * Returns the kept answer, or the work's; `work` runs at most once among equal calls at the same time.
   *
   * @param aroundId the id of the functions around the work, which may change the answer: it is found again with the same
   * functions only. Other processes cannot compare theirs, so such answers stay in this process.
   */
  async answer<T>(
    entry: ToolEntry,
    input: Json,
    frame: Json,
    aroundId: number,
    work: () => Promise<Worked<T>>,
  ): Promise<
    | { readonly hit: true; readonly answer: KeptAnswer }
    | { readonly hit: false; readonly result: T }
  > {
    const digest = digestOf([entry.name, entry.digest, input, frame]);
    const key = `${this.#definitionId(entry)}:${aroundId}:${digest}`;
    const stamp = await this.#generations.stamp(scopesOf(entry));
    const sharedKey = aroundId === 0 ? this.#sharedKey(entry, digest) : undefined;
    const own = this.#find(key, stamp);
    const kept = own ?? (await this.#findShared(sharedKey, stamp, entry));
    if (kept !== undefined) return { hit: true, answer: kept };

    const flight = `${key}:${stamp.own}/${stamp.shared}`;
    const running = this.#running.get(flight);
    if (running !== undefined) {
      const other = await running.catch((error: unknown) => ({
        keep: undefined,
        aborted: isToolError(error, 'ABORTED'),
      }));
      const answer = other.keep && plainCopy(other.keep);
      if (answer !== undefined) return { hit: true, answer };
      // One caller who gave up must not make all the others run at once.
      if (other.aborted) return this.answer(entry, input, frame, aroundId, work);
      return { hit: false, result: (await work()).result };
    }
    const promise = work();
    this.#running.set(flight, promise);
    try {
      const worked = await promise;
      // An answer that cannot be kept, such as one of no plain data, is an answer all the same.
      if (worked.keep !== undefined)
        await this.#keep(key, sharedKey, stamp, entry, worked.keep).catch(() => undefined);
      return { hit: false, result: worked.result };
    } finally {
      this.#running.delete(flight);
    }
  }

  /** Makes stale what a call of this tool may have changed. */
  async dropAfter(entry: ToolEntry): Promise<void> {
    const scopes = scopesDroppedBy(entry, this.#frame.registry);
    if (scopes.length > 0) await this.#generations.drop(scopes);
  }

  close(): void {
    this.#generations.close();
  }

  #definitionId({ definition }: ToolEntry): number {
    let id = this.#definitions.get(definition);
    if (id === undefined) this.#definitions.set(definition, (id = this.#definitionCount++));
    return id;
  }

  /** Other processes know a tool by what it declares. Of two that declare the same here, only the first is the one they may mean. */
  #sharedKey(
    { name, digest: declared, definition }: ToolEntry,
    digest: string,
  ): string | undefined {
    const known = this.#firstDefinitions.get(name);
    const first = known?.declared === declared ? known : { declared, definition };
    this.#firstDefinitions.set(name, first);
    return first.definition === definition ? `cache-answer:${digest}` : undefined;
  }

  #find(key: string, stamp: Stamp): KeptAnswer | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#forget(key, kept);
    if (!isSameStamp(kept.stamp, stamp) || this.#frame.clock.elapsed() >= kept.until)
      return undefined;
    this.#remember(key, kept); // The last in a Map is the most recently used.
    return kept.value;
  }

  async #keep(
    key: string,
    sharedKey: string | undefined,
    stamp: Stamp,
    entry: ToolEntry,
    answer: KeptAnswer,
  ): Promise<void> {
    // The JSON of more content than this may be longer than any text can be.
    if ((answer.content ?? []).some((part) => 'data' in part && part.data.length > LARGEST)) return;
    const json = cloneFrozen(answer);
    const text = JSON.stringify(json);
    if (text.length > LARGEST) return;
    if (!isSameStamp(await this.#generations.stamp(scopesOf(entry)), stamp)) return;
    const ttlMs = entry.cacheTtlMs!;
    const old = this.#kept.get(key);
    if (old !== undefined) this.#forget(key, old);
    this.#remember(key, {
      value: json,
      size: text.length,
      stamp,
      until: this.#frame.clock.elapsed() + ttlMs,
    });
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size <= this.#frame.cacheEntries && this.#size <= this.#frame.cacheSize) break;
      this.#forget(oldest, kept);
    }
    await this.#keepShared(sharedKey, stamp, text, ttlMs);
  }

  #remember(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#size += kept.size;
  }

  #forget(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#size -= kept.size;
  }

  async #findShared(
    key: string | undefined,
    stamp: Stamp,
    { outputSchema }: ToolEntry,
  ): Promise<KeptAnswer | undefined> {
    const { store } = this.#frame;
    if (store === undefined || key === undefined || stamp.shared === undefined) return undefined;
    try {
      const text = await store.get(key);
      const shared =
        text === undefined
          ? undefined
          : (JSON.parse(text) as {
              readonly stamp: string;
              readonly answer: { readonly value: Json; readonly content?: Json };
            });
      if (shared?.stamp !== stamp.shared || shared.answer.value === undefined) return undefined;
      const { value, content } = shared.answer;
      // The text of a store is not an answer of the tool until it is checked as one.
      if (
        outputSchema !== undefined &&
        answerIssues(jsonSchemaOf(outputSchema, 'output'), value).length > 0
      )
        return undefined;
      return Object.freeze({
        value: cloneFrozen(value),
        ...(content !== undefined && { content: checkContent(content) }),
      });
    } catch {
      return undefined; // No store, no shared answers.
    }
  }

  async #keepShared(
    key: string | undefined,
    stamp: Stamp,
    text: string,
    ttlMs: number,
  ): Promise<void> {
    const { store } = this.#frame;
    if (store === undefined || key === undefined || stamp.shared === undefined) return;
    try {
      const next = `{"stamp":${JSON.stringify(stamp.shared)},"answer":${text}}`;
      await store.compareAndSet(key, await store.get(key), next, { ttlMs });
    } catch {
      // The answer stays in this process.
    }
  }
}

/**
 * Returns what an answer belongs to besides its tool and arguments: the principal, and the conversation and the call's context,
 * or what the tool's `cacheKey` makes of them.
 *
 * @returns `undefined`, and `onSkipped` is told why, when no answer of this call can be kept: another context might look the same.
 */
export function cacheFrame(
  { cacheKey }: ToolEntry,
  input: unknown,
  { principal, conversationId, context }: ToolContext,
  onSkipped: (reason: string) => void,
): Json | undefined {
  try {
    // A context that was copied for the call is its own copy; any other can change before the tool reads it.
    if (context !== undefined && copyOf(context, 'the context') !== context)
      throw notPlain('the context');
    const owner = principal ?? null;
    if (cacheKey === undefined) return [owner, conversationId ?? null, (context ?? null) as Json];
    const own: ToolContext = Object.freeze({
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
      ...(context !== undefined && { context }),
    });
    return [
      owner,
      copyOf(
        keyOf(() => cacheKey(input, own)),
        'the answer of its cacheKey',
      ),
    ];
  } catch (error) {
    onSkipped((error as TypeError).message);
    return undefined;
  }
}

function keyOf(cacheKey: () => unknown): unknown {
  let key: unknown;
  try {
    key = cacheKey();
  } catch (cause) {
    throw new TypeError('its cacheKey failed', { cause });
  }
  if (key === undefined) throw new TypeError('its cacheKey gave undefined');
  return key;
}

function copyOf(value: unknown, what: string): Json {
  try {
    if (isShownByJson(value)) return boundInput(value);
  } catch {
    // More than an input may hold, or no JSON.
  }
  throw notPlain(what);
}

function notPlain(what: string): TypeError {
  return new TypeError(`${what} is not plain data of at most 256 KiB`);
}

/** A frozen copy; `undefined` for what is not plain data, which cannot be kept without being shared. */
function plainCopy(answer: KeptAnswer): KeptAnswer | undefined {
  try {
    return cloneFrozen(answer);
  } catch {
    return undefined;
  }
}

/** Every cached answer. */
const EVERYTHING = '*';

/** Answers of tools that name no category: every write may concern them. */
const UNDECLARED = 'category:';

/** Returns what a cached answer of a tool belongs to; when one of these is dropped, the answer is. */
function scopesOf({ name, category }: ToolEntry): readonly string[] {
  return [EVERYTHING, `tool:${name}`, category === undefined ? UNDECLARED : `category:${category}`];
}

/**
 * Returns what a call makes stale: what it declares in `invalidates`, otherwise its category; nothing for tools that only read.
 *
 * An execute or mixed call can change anything, and so can a write that says neither what it invalidates nor its category.
 */
function scopesDroppedBy(
  entry: ToolEntry,
  registry: Pick<ToolMetadataRegistry, 'get'>,
): readonly string[] {
  const { accessMode, executionCategory, invalidates, category } = entry;
  if (accessMode === AccessMode.EXECUTE || accessMode === AccessMode.MIXED) return [EVERYTHING];
  if (
    executionCategory === ExecutionCategory.EXECUTE ||
    executionCategory === ExecutionCategory.MIXED
  )
    return [EVERYTHING];
  if (accessMode === AccessMode.READONLY) return [];
  if (invalidates.length > 0)
    return [
      UNDECLARED,
      ...invalidates.flatMap((name) => [
        `tool:${registry.get(name)?.name ?? name}`,
        `category:${normalizeLabel(name)}`,
      ]),
    ];
  return category === undefined ? [EVERYTHING] : [UNDECLARED, `category:${category}`];
}

/** Scopes whose step waits for the store to come back; more than that become one step of everything. */
const MOST_WAITING = 1_000;

/** The state of some scopes: as long as it is equal, nothing of them was dropped. */
interface Stamp {
  /** The state of what this process dropped itself. */
  readonly own: string;
  /** The state of what all processes dropped; `undefined` while that is not known, or not all of it was told. */
  readonly shared: string | undefined;
}

function isSameStamp(a: Stamp, b: Stamp): boolean {
  return a.own === b.own && a.shared === b.shared;
}

/**
 * Numbers the states of scopes: answers are good as long as the numbers of their scopes stand.
 *
 * With a shared store the numbers are everybody's. When it cannot be reached, the process goes on with its own, and tells
 * the store what was dropped meanwhile as soon as it answers again.
 */
class Generations {
  readonly #own = new Map<string, number>();
  readonly #store: StateStore | undefined;
  readonly #waiting = new Set<string>();
  readonly #stopListening: (() => void) | undefined;

  constructor(store: StateStore | undefined) {
    this.#store = store;
    this.#stopListening = store?.onAvailability((available) => {
      if (available) void this.#tellWaiting();
    });
  }

  /** Returns the state of some scopes now. */
  async stamp(scopes: readonly string[]): Promise<Stamp> {
    if (this.#waiting.size > 0) await this.#tellWaiting();
    const shared =
      this.#store === undefined || scopes.some((scope) => this.#waiting.has(scope))
        ? [undefined]
        : await Promise.all([...scopes.map((scope) => this.#shared(scope)), this.#identity()]);
    // Read last: what is dropped while the store is asked counts.
    const own = scopes.map((scope) => this.#own.get(scope) ?? 0).join('.');
    return { own, shared: shared.includes(undefined) ? undefined : shared.join('.') };
  }

  /** Makes all answers of some scopes stale. */
  async drop(scopes: readonly string[]): Promise<void> {
    for (const scope of scopes) this.#own.set(scope, (this.#own.get(scope) ?? 0) + 1);
    await Promise.all(scopes.map((scope) => this.#tell(scope)));
  }

  close(): void {
    this.#stopListening?.();
  }

  /** Returns the store's identity, asked for after the numbers: a store that restarted may have gone back to older ones, and to older answers with them. */
  async #identity(): Promise<string | undefined> {
    try {
      return (await this.#store!.now()).identity;
    } catch (error) {
      // Otherwise the cache goes on alone.
      return isToolError(error) && error.details['reason'] === 'no_identity' ? '' : undefined;
    }
  }

  async #shared(scope: string): Promise<string | undefined> {
    try {
      const number = await this.#store!.get(storeKey(scope));
      if (number !== undefined) return number;
      return String((await this.#store!.increment(storeKey(scope), step())).value);
    } catch {
      return undefined; // The cache goes on alone.
    }
  }

  async #tell(scope: string): Promise<void> {
    if (this.#store === undefined) return;
    try {
      await this.#store.increment(storeKey(scope), step());
      this.#waiting.delete(scope);
    } catch {
      if (this.#waiting.size < MOST_WAITING) this.#waiting.add(scope);
      else this.#waiting.add(EVERYTHING);
    }
  }

  async #tellWaiting(): Promise<void> {
    await Promise.all([...this.#waiting].map((scope) => this.#tell(scope)));
  }
}

/** Steps of a generation are random, so that numbers in a store that was emptied never meet the old ones. */
function step(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! || 1;
}

function storeKey(scope: string): string {
  return `cache-generation:${scope}`;
}
