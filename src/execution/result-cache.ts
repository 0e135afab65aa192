import { AccessMode, ExecutionCategory } from '../core/enums.js';
import { isToolError } from '../core/errors.js';
import { cloneFrozen, digestOf, isShownByJson, type Json } from '../core/plain-data.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { OutcomeBody } from '../safety/calls.js';
import { boundInput } from '../tool/bound-input.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import type { RunningCall } from './running-call.js';

/** The cached part of an answer: its value and content. */
type Answer = Pick<Extract<OutcomeBody, { status: 'ok' }>, 'value' | 'content'>;

interface Kept {
  readonly answer: Answer;
  readonly size: number;
  readonly stamp: string;
  /** Expires when `elapsed()` reaches this. */
  readonly until: number;
}

/**
 * Maximum size of a cached answer, in characters of JSON. A larger answer would push out hundreds
 * of others.
 */
const LARGEST = 2 ** 20;

/**
 * Caches the answers of readonly tools by tool, definition, arguments, principal, and either
 * conversation and context or `cacheKey`. An answer lives until it expires or a write in this
 * process makes it stale.
 *
 * Each answer is stamped before its tool starts, so a write during the call makes the answer stale
 * before it's cached. Equal calls at the same time run once. If that run fails, each of the others
 * runs by itself.
 */
export class ResultCache {
  /** Ordered from least to most recently used. */
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<OutcomeBody>>();
  /** Counts the drops of each scope. */
  readonly #drops = new Map<string, number>();
  readonly #frame: ExecutorFrame;
  #size = 0;

  constructor(frame: ExecutorFrame) {
    this.#frame = frame;
  }

  /**
   * Returns the cached answer, or does the work.
   *
   * @param aroundId The id of the wrappers around the work, which may change the answer.
   * @throws whatever the work throws.
   */
  async through(
    { entry, raw, input }: AcceptedCall,
    run: RunningCall,
    aroundId: number,
    work: () => Promise<OutcomeBody>,
  ): Promise<OutcomeBody> {
    if (this.#frame.cacheEntries === 0 || !isCacheable(entry)) return work();
    const frame = cacheFrame(entry, input, run.options);
    if (typeof frame === 'string') {
      run.tell({ type: 'cache-skipped', reason: frame });
      return work();
    }
    const key = digestOf([entry.name, entry.digest, raw, frame, aroundId]);
    for (;;) {
      const stamp = this.#stampOf(entry);
      const flight = `${key}:${stamp}`;
      const other = this.#running.get(flight);
      const kept = other === undefined ? this.#find(key, stamp) : undefined;
      if (other === undefined && kept === undefined)
        return this.#keep(key, flight, stamp, entry, work());
      const body =
        kept === undefined ? await other!.catch(failed) : ({ status: 'ok', ...kept } as const);
      const answer = body.status === 'ok' ? plainCopy(body) : undefined;
      if (answer !== undefined) {
        run.cached = true;
        return { status: 'ok', ...answer };
      }
      // If one caller gives up, the others mustn't all start at once.
      if (body.status !== 'error' || body.code !== 'ABORTED') return work();
    }
  }

  /** Marks answers as stale that a call of this tool may have changed. */
  dropAfter(entry: ToolEntry): void {
    for (const scope of scopesDroppedBy(entry, this.#frame.registry))
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
    this.#forget(key, kept);
    if (kept.stamp !== stamp || this.#frame.clock.elapsed() >= kept.until) return undefined;
    this.#remember(key, kept);
    return kept.answer;
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
      const size = answer === undefined ? Infinity : sizeOf(answer);
      if (answer === undefined || size > LARGEST) return body;
      const until = this.#frame.clock.elapsed() + entry.cacheTtlMs!;
      const old = this.#kept.get(key);
      if (old !== undefined) this.#forget(key, old);
      this.#remember(key, { answer, size, stamp, until });
      const { cacheEntries, cacheSize } = this.#frame;
      for (const [oldest, kept] of this.#kept) {
        if (this.#kept.size <= cacheEntries && this.#size <= cacheSize) break;
        this.#forget(oldest, kept);
      }
      return body;
    } finally {
      this.#running.delete(flight);
    }
  }

  #remember(key: string, kept: Kept): void {
    this.#kept.set(key, kept);
    this.#size += kept.size;
  }

  #forget(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#size -= kept.size;
  }
}

/**
 * Returns true if the tool's answers may be cached: it declares both `cacheTtlMs` and that it's
 * readonly.
 */
function isCacheable({ cacheTtlMs, accessMode, inferred }: ToolEntry): boolean {
  return (
    cacheTtlMs !== undefined &&
    accessMode === AccessMode.READONLY &&
    !inferred.includes('accessMode')
  );
}

/** Turns what another call threw into an outcome. */
function failed(error: unknown): OutcomeBody {
  const code = isToolError(error, 'ABORTED') ? 'ABORTED' : 'EXECUTION_FAILED';
  return { status: 'error', code, message: '' };
}

/**
 * Returns what an answer depends on besides tool and arguments: the principal, and either the
 * conversation and context or the tool's `cacheKey`. Returns a string with the reason if the answer
 * can't be cached.
 */
function cacheFrame(
  { cacheKey }: ToolEntry,
  input: unknown,
  { principal, conversationId, context }: ToolContext,
): readonly Json[] | string {
  const owner = principal ?? null;
  if (cacheKey === undefined) {
    if (context === undefined) return [owner, conversationId ?? null];
    // A context copied for this call can't change any more. Any other context could change before
    // the tool reads it.
    const copy = plainOf(context);
    return copy === context
      ? [owner, conversationId ?? null, copy]
      : "the context isn't plain data of at most 256 KiB";
  }
  try {
    const own: ToolContext = Object.freeze({
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
      ...(context !== undefined && { context }),
    });
    const key: unknown = cacheKey(input, own);
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
    return undefined; // Larger than an input may be.
  }
}

/**
 * Returns a frozen copy, or `undefined` if the answer isn't plain data: caching it would share a
 * mutable object.
 */
function plainCopy({ value, content }: Answer): Answer | undefined {
  try {
    return cloneFrozen(content === undefined ? { value } : { value, content });
  } catch {
    return undefined;
  }
}

function sizeOf({ value, content = [] }: Answer): number {
  // Beyond this, the JSON might exceed the maximum string length.
  const data = content.reduce((sum, part) => sum + ('data' in part ? part.data.length : 0), 0);
  if (typeof value === 'string' && value.length > LARGEST) return value.length;
  try {
    return data > LARGEST ? data : JSON.stringify([value, content]).length;
  } catch {
    return Infinity;
  }
}

/** The scope of every cached answer. */
const EVERYTHING = '*';
/** The scope of tools without a category. Any write may affect them. */
const UNDECLARED = 'category:';

/** Returns the scopes of a cached answer. Dropping any of them drops the answer. */
function scopesOf({ name, category }: ToolEntry): readonly string[] {
  return [EVERYTHING, `tool:${name}`, category === undefined ? UNDECLARED : `category:${category}`];
}

/**
 * Returns the scopes that a call makes stale: the tool's `invalidates`, or else its category.
 * Readonly tools drop nothing.
 *
 * An execute or mixed call can change anything. So can a write that declares neither `invalidates`
 * nor a category.
 */
function scopesDroppedBy(
  { accessMode, executionCategory, invalidates, category }: ToolEntry,
  registry: Pick<ToolMetadataRegistry, 'get'>,
): readonly string[] {
  if (
    accessMode === AccessMode.EXECUTE ||
    accessMode === AccessMode.MIXED ||
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
