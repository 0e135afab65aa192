import type { Clock } from '../../core/clock.js';
import { AccessMode, ExecutionCategory } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import { cloneFrozen, digestOf, isShownByJson, type Json } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { StateStore } from '../../state/state-store.js';
import { boundInput } from '../../tool/input/bound-input.js';
import { normalizeLabel } from '../../tool/metadata/metadata-schema.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import type { ToolDefinition, ToolEntry } from '../../tool/tool-definition.js';
import { Generations, isSameStamp, type Stamp } from './generations.js';

export interface ResultCacheOptions {
  /** Where answers are shared with other processes; without it they stay in this one. */
  readonly store?: StateStore | undefined;
  readonly clock: Clock;
  /** Where tools are found that others invalidate by an alias. */
  readonly registry: Pick<ToolMetadataRegistry, 'get'>;
  /** Answers kept at most. */
  readonly maxEntries: number;
  /** Characters of JSON kept at most, of all answers together. */
  readonly maxSize: number;
}

interface Kept {
  readonly value: Json;
  readonly size: number;
  readonly stamp: Stamp;
  /** `elapsed()` until which it is good. */
  readonly until: number;
}

/** What work under the cache gave: `keep` says whether it is an answer, and not a failure. */
export interface Worked<T> {
  readonly result: T;
  readonly keep: boolean;
  readonly value: unknown;
  /** Whether it ended because its caller gave it up. */
  readonly aborted: boolean;
}

/** Answers above this are not kept: one would push out hundreds of others. 1 MiB is also the most a store takes. */
const LARGEST = 2 ** 20;

/** Whether answers of a tool may be kept: it asks for it, and declares itself that it only reads. */
export function isCacheable(entry: ToolEntry): boolean {
  return entry.cacheTtlMs !== undefined && entry.accessMode === AccessMode.READONLY && !entry.inferred.includes('accessMode');
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
  readonly #options: ResultCacheOptions;
  /** Two definitions may declare the same and work differently. */
  readonly #definitions = new WeakMap<ToolDefinition, number>();
  #definitionCount = 0;
  readonly #firstDefinitions = new Map<string, { readonly declared: string; readonly definition: ToolDefinition }>();
  #size = 0;

  constructor(options: ResultCacheOptions) {
    this.#options = options;
    this.#generations = new Generations(options.store, EVERYTHING);
  }

  /** The kept answer, or the work's; `work` runs at most once among equal calls at the same time. */
  async answer<T>(entry: ToolEntry, input: Json, frame: Json, work: () => Promise<Worked<T>>): Promise<{ readonly hit: true; readonly value: Json } | { readonly hit: false; readonly result: T }> {
    const digest = digestOf([entry.name, entry.digest, input, frame]);
    const key = `${this.#definitionId(entry)}:${digest}`;
    const stamp = await this.#generations.stamp(scopesOf(entry));
    const sharedKey = this.#sharedKey(entry, digest);
    const own = this.#find(key, stamp);
    const kept = own === undefined ? await this.#findShared(sharedKey, stamp) : own; // A kept answer may be null.
    if (kept !== undefined) return { hit: true, value: kept };

    const flight = `${key}:${stamp.own}/${stamp.shared}`;
    const running = this.#running.get(flight);
    if (running !== undefined) {
      const other = await running.catch((error: unknown) => ({ keep: false, value: undefined, aborted: isToolError(error, 'ABORTED') }));
      const value = other.keep ? plainCopy(other.value) : undefined;
      if (value !== undefined) return { hit: true, value };
      // One caller who gave up must not make all the others run at once.
      if (other.aborted) return this.answer(entry, input, frame, work);
      return { hit: false, result: (await work()).result };
    }
    const promise = work();
    this.#running.set(flight, promise);
    try {
      const worked = await promise;
      if (worked.keep) await this.#keep(key, sharedKey, stamp, entry, worked.value);
      return { hit: false, result: worked.result };
    } finally {
      this.#running.delete(flight);
    }
  }

  /** Makes stale what a call of this tool may have changed. */
  async dropAfter(entry: ToolEntry): Promise<void> {
    const scopes = scopesDroppedBy(entry, this.#options.registry);
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
  #sharedKey({ name, digest: declared, definition }: ToolEntry, digest: string): string | undefined {
    const known = this.#firstDefinitions.get(name);
    const first = known?.declared === declared ? known : { declared, definition };
    this.#firstDefinitions.set(name, first);
    return first.definition === definition ? `cache:${digest}` : undefined;
  }

  #find(key: string, stamp: Stamp): Json | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#forget(key, kept);
    if (!isSameStamp(kept.stamp, stamp) || this.#options.clock.elapsed() >= kept.until) return undefined;
    this.#remember(key, kept); // The last in a Map is the most recently used.
    return kept.value;
  }

  async #keep(key: string, sharedKey: string | undefined, stamp: Stamp, entry: ToolEntry, value: unknown): Promise<void> {
    const json = plainCopy(value);
    if (json === undefined) return;
    const text = JSON.stringify(json);
    if (text.length > LARGEST) return;
    if (!isSameStamp(await this.#generations.stamp(scopesOf(entry)), stamp)) return;
    const ttlMs = entry.cacheTtlMs!;
    const old = this.#kept.get(key);
    if (old !== undefined) this.#forget(key, old);
    this.#remember(key, { value: json, size: text.length, stamp, until: this.#options.clock.elapsed() + ttlMs });
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size <= this.#options.maxEntries && this.#size <= this.#options.maxSize) break;
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

  async #findShared(key: string | undefined, stamp: Stamp): Promise<Json | undefined> {
    const { store } = this.#options;
    if (store === undefined || key === undefined || stamp.shared === undefined) return undefined;
    try {
      const text = await store.get(key);
      const shared = text === undefined ? undefined : (JSON.parse(text) as { readonly stamp: string; readonly value: Json });
      return shared?.stamp === stamp.shared ? cloneFrozen<Json>(shared.value) : undefined;
    } catch {
      return undefined; // No store, no shared answers.
    }
  }

  async #keepShared(key: string | undefined, stamp: Stamp, text: string, ttlMs: number): Promise<void> {
    const { store } = this.#options;
    if (store === undefined || key === undefined || stamp.shared === undefined) return;
    try {
      const next = `{"stamp":${JSON.stringify(stamp.shared)},"value":${text}}`;
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
export function cacheFrame({ cacheKey }: ToolEntry, input: unknown, { principal, conversationId, context }: ToolContext, onSkipped: (reason: string) => void): Json | undefined {
  try {
    // A context that was copied for the call is its own copy; any other can change before the tool reads it.
    if (context !== undefined && copyOf(context, 'the context') !== context) throw notPlain('the context');
    const owner = principal ?? null;
    if (cacheKey === undefined) return [owner, conversationId ?? null, (context ?? null) as Json];
    const own: ToolContext = Object.freeze({ ...(principal !== undefined && { principal }), ...(conversationId !== undefined && { conversationId }), ...(context !== undefined && { context }) });
    return [owner, copyOf(keyOf(() => cacheKey(input, own)), 'the answer of its cacheKey')];
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
function plainCopy(value: unknown): Json | undefined {
  try {
    return cloneFrozen(value) as Json;
  } catch {
    return undefined;
  }
}

/** Every cached answer. */
const EVERYTHING = '*';

/** Answers of tools that name no category: every write may concern them. */
const UNDECLARED = 'category:';

/** What a cached answer of a tool belongs to; when one of these is dropped, the answer is. */
function scopesOf({ name, category }: ToolEntry): readonly string[] {
  return [EVERYTHING, `tool:${name}`, category === undefined ? UNDECLARED : `category:${category}`];
}

/**
 * What a call makes stale: what it declares in `invalidates`, otherwise its category; nothing for tools that only read.
 *
 * An execute or mixed call can change anything, and so can a write that says neither what it invalidates nor its category.
 */
function scopesDroppedBy(entry: ToolEntry, registry: Pick<ToolMetadataRegistry, 'get'>): readonly string[] {
  const { accessMode, executionCategory, invalidates, category } = entry;
  if (accessMode === AccessMode.EXECUTE || accessMode === AccessMode.MIXED) return [EVERYTHING];
  if (executionCategory === ExecutionCategory.EXECUTE || executionCategory === ExecutionCategory.MIXED) return [EVERYTHING];
  if (accessMode === AccessMode.READONLY) return [];
  if (invalidates.length > 0) return [UNDECLARED, ...invalidates.flatMap((name) => [`tool:${registry.get(name)?.name ?? name}`, `category:${normalizeLabel(name)}`])];
  return category === undefined ? [EVERYTHING] : [UNDECLARED, `category:${category}`];
}
