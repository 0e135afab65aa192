import { concurrencyOf } from '../core/enum-order.js';
import { AccessMode, ExecutionCategory } from '../core/enums.js';
import {
  cloneFrozen,
  digestOf,
  ignoreRejection,
  isShownByJson,
  type Json,
  without,
} from '../core/plain-data.js';
import { RecentMap } from '../core/recent-map.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { OutcomeBody } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import { failure } from './read-result.js';
import type { RunningCall } from './running-call.js';

/** The cached part of a result: its value and content. */
type Answer = Pick<Extract<OutcomeBody, { status: 'ok' }>, 'value' | 'content'>;

interface Kept {
  readonly answer: Answer;
  readonly stamp: string;
  /** The value of `elapsed()` at which the result expires. */
  readonly until: number;
}

/** The maximum size of a cached result, in characters of JSON. */
const LARGEST = 65_536;

/**
 * Caches the results of readonly tools. The key consists of the tool, its definition, the
 * arguments, the principal, and either the conversation and context or the `cacheKey`. A result is
 * kept until it expires or a write in this process makes it stale.
 *
 * Each result is stamped before its tool starts, so a write during the call makes the result stale
 * before it's cached. Equal calls at the same time run only once. If the shared run fails, each of
 * the other calls runs separately.
 */
export class ResultCache {
  readonly #kept: RecentMap<string, Kept>;
  readonly #running = new Map<string, Promise<OutcomeBody>>();
  /** The number of times that each scope has been invalidated. */
  readonly #drops = new Map<string, number>();
  readonly #frame: ExecutorFrame;

  constructor(frame: ExecutorFrame) {
    this.#frame = frame;
    this.#kept = new RecentMap(frame.cacheEntries);
  }

  /** Returns the cached result, or does the work. @throws whatever the work throws. */
  async through(
    { entry, raw, input }: AcceptedCall,
    run: RunningCall,
    work: () => Promise<OutcomeBody>,
  ): Promise<OutcomeBody> {
    if (this.#frame.cacheEntries === 0 || !isCacheable(entry)) return work();
    const frame = cacheFrame(entry, input, run.options);
    if (typeof frame === 'string') {
      run.tell({ type: 'cache-skipped', reason: frame });
      return work();
    }
    const key = digestOf([entry.name, entry.digest, raw, frame]);
    for (;;) {
      const stamp = this.#stampOf(entry);
      const flight = `${key}:${stamp}`;
      const other = this.#running.get(flight);
      const kept = other === undefined ? this.#find(key, stamp) : undefined;
      if (other === undefined && kept === undefined)
        return this.#keep(key, flight, stamp, entry, work());
      const body =
        kept === undefined ? await other!.catch(failure) : ({ status: 'ok', ...kept } as const);
      const answer = body.status === 'ok' ? plainCopy(body) : undefined;
      if (answer !== undefined) {
        run.cached = true;
        return { status: 'ok', ...answer };
      }
      // If the caller that runs the call aborts, only one of the waiting calls may start.
      if (body.status !== 'error' || body.code !== 'ABORTED') return work();
    }
  }

  /** Marks as stale the results that a call of this tool may have changed. */
  dropAfter(entry: ToolEntry): void {
    for (const scope of scopesDroppedBy(entry, this.#frame.registry)) this.#drop(scope);
  }

  /** Marks all results as stale. */
  dropAll(): void {
    this.#drop(EVERYTHING);
  }

  #drop(scope: string): void {
    this.#drops.set(scope, (this.#drops.get(scope) ?? 0) + 1);
  }

  #stampOf(entry: ToolEntry): string {
    return scopesOf(entry)
      .map((scope) => this.#drops.get(scope) ?? 0)
      .join('.');
  }

  #find(key: string, stamp: string): Answer | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    if (kept.stamp === stamp && this.#frame.clock.elapsed() < kept.until) {
      this.#kept.set(key, kept);
      return kept.answer;
    }
    this.#kept.delete(key);
    return undefined;
  }

  async #keep(
    key: string,
    flight: string,
    stamp: string,
    entry: ToolEntry,
    work: Promise<OutcomeBody>,
  ): Promise<OutcomeBody> {
    this.#running.set(flight, work);
    try {
      const body = await work;
      const answer = body.status === 'ok' ? plainCopy(body) : undefined;
      if (answer !== undefined && JSON.stringify(answer).length <= LARGEST) {
        const until = this.#frame.clock.elapsed() + entry.cacheTtlMs!;
        this.#kept.set(key, { answer, stamp, until });
      }
      return body;
    } finally {
      this.#running.delete(flight);
    }
  }
}

/**
 * Returns true if the tool's results can be cached: it declares `cacheTtlMs` and is declared
 * readonly.
 */
function isCacheable({ cacheTtlMs, accessMode, inferred }: ToolEntry): boolean {
  return (
    cacheTtlMs !== undefined &&
    accessMode === AccessMode.READONLY &&
    !inferred.includes('accessMode')
  );
}

/**
 * Returns the parts of the key besides the tool and its arguments: the principal, and either the
 * conversation and context or the tool's `cacheKey`. If the result can't be cached, returns the
 * reason as a string.
 */
function cacheFrame(
  { cacheKey }: ToolEntry,
  input: unknown,
  { principal, conversationId, context }: ToolContext,
): readonly Json[] | string {
  const owner = principal ?? null;
  if (cacheKey === undefined) {
    if (context === undefined) return [owner, conversationId ?? null];
    // A context that was copied for this call can't change any more.
    // Any other context could change before the tool reads it.
    const copy = plainOf(context);
    return copy === context
      ? [owner, conversationId ?? null, copy]
      : "the context isn't plain data of at most 256 KiB";
  }
  try {
    const own: ToolContext = Object.freeze(without({ principal, conversationId, context }));
    const key: unknown = ignoreRejection(cacheKey(input, own));
    if (key === undefined) return 'its cacheKey returned undefined';
    const copy = plainOf(key);
    return copy === undefined
      ? "its cacheKey didn't return plain data of at most 256 KiB"
      : [owner, copy, 'cacheKey'];
  } catch {
    return 'its cacheKey failed';
  }
}

function plainOf(value: unknown): Json | undefined {
  try {
    return isShownByJson(value) ? boundInput(value) : undefined;
  } catch {
    return undefined; // The value exceeds the limits of an input.
  }
}

/**
 * Returns a frozen copy, or `undefined` if the result isn't plain data, because caching it would
 * share a mutable object.
 */
function plainCopy({ value, content }: Answer): Answer | undefined {
  try {
    return cloneFrozen(content === undefined ? { value } : { value, content });
  } catch {
    return undefined;
  }
}

/** The scope of every cached result. */
const EVERYTHING = '*';
/** The scope of tools without a category. Any write may affect the results of such tools. */
const UNDECLARED = 'category:';

/**
 * Returns the scopes of a tool's cached results. Invalidating any of these scopes makes the results
 * stale.
 */
function scopesOf({ name, category }: ToolEntry): readonly string[] {
  return [EVERYTHING, `tool:${name}`, category === undefined ? UNDECLARED : `category:${category}`];
}

/**
 * Returns the scopes that a call makes stale: the tool's `invalidates`, or its category if it
 * declares none. Readonly tools don't invalidate anything.
 *
 * A call that is `execute` or `mixed` can change anything. A write that declares neither
 * `invalidates` nor a category can also change anything.
 */
function scopesDroppedBy(
  { accessMode, executionCategory, invalidates, category }: ToolEntry,
  registry: Pick<ToolMetadataRegistry, 'get'>,
): readonly string[] {
  const kind = concurrencyOf({ accessMode, executionCategory });
  if (kind === ExecutionCategory.EXECUTE || kind === ExecutionCategory.MIXED) return [EVERYTHING];
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
