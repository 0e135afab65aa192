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

/** The part of an answer that is kept: its value, and what belongs to it. */
type Answer = Pick<Extract<OutcomeBody, { status: 'ok' }>, 'value' | 'content'>;

interface Kept {
  readonly answer: Answer;
  readonly size: number;
  readonly stamp: string;
  /** `elapsed()` until which it is good. */
  readonly until: number;
}

/** Characters of JSON. Larger answers are not kept: one would push out hundreds of others. */
const LARGEST = 2 ** 20;

/**
 * Keeps answers of tools that only read, per tool, definition, arguments, principal and either conversation and context or
 * `cacheKey`, until they expire or a write of this process makes them stale.
 *
 * An answer is stamped with the state of its scopes before the tool starts: a write during the call makes it stale before it
 * is kept. Equal calls at the same time run once; when that run fails, each of the others runs by itself.
 */
export class ResultCache {
  /** The last in a Map is the most recently used. */
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<OutcomeBody>>();
  /** The number of times that each scope was dropped. */
  readonly #drops = new Map<string, number>();
  readonly #frame: ExecutorFrame;
  #size = 0;

  constructor(frame: ExecutorFrame) {
    this.#frame = frame;
  }

  /**
   * Returns the kept answer, or the work's.
   *
   * @param aroundId the id of the functions around the work, which may change the answer.
   * @throws what the work throws.
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
      // One caller who gave up must not make all the others run at once.
      if (body.status !== 'error' || body.code !== 'ABORTED') return work();
    }
  }

  /** Makes stale what a call of this tool may have changed. */
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

/** Returns true if answers of a tool may be kept: it asks for it, and declares itself that it only reads. */
function isCacheable({ cacheTtlMs, accessMode, inferred }: ToolEntry): boolean {
  return (
    cacheTtlMs !== undefined &&
    accessMode === AccessMode.READONLY &&
    !inferred.includes('accessMode')
  );
}

/** Returns the end of another call that threw. */
function failed(error: unknown): OutcomeBody {
  const code = isToolError(error, 'ABORTED') ? 'ABORTED' : 'EXECUTION_FAILED';
  return { status: 'error', code, message: '' };
}

/**
 * Returns what an answer belongs to besides its tool and arguments: the principal, and the conversation and the call's context,
 * or in their place what the tool's `cacheKey` makes of them; a text says why no answer of this call can be kept.
 */
function cacheFrame(
  { cacheKey }: ToolEntry,
  input: unknown,
  { principal, conversationId, context }: ToolContext,
): readonly Json[] | string {
  const owner = principal ?? null;
  if (cacheKey === undefined) {
    if (context === undefined) return [owner, conversationId ?? null];
    // A context that was copied for the call is its own copy; any other can change before the tool reads it.
    const copy = plainOf(context);
    return copy === context
      ? [owner, conversationId ?? null, copy]
      : 'the context is not plain data of at most 256 KiB';
  }
  try {
    const own: ToolContext = Object.freeze({
      ...(principal !== undefined && { principal }),
      ...(conversationId !== undefined && { conversationId }),
      ...(context !== undefined && { context }),
    });
    const key: unknown = cacheKey(input, own);
    if (key === undefined) return 'its cacheKey gave undefined';
    const copy = plainOf(key);
    return copy === undefined
      ? 'the answer of its cacheKey is not plain data of at most 256 KiB'
      : [owner, copy, 'cacheKey'];
  } catch {
    return 'its cacheKey failed';
  }
}

function plainOf(value: unknown): Json | undefined {
  try {
    return isShownByJson(value) ? boundInput(value) : undefined;
  } catch {
    return undefined; // More than an input may hold.
  }
}

/** A frozen copy; `undefined` for what is not plain data, which cannot be kept without being shared. */
function plainCopy({ value, content }: Answer): Answer | undefined {
  try {
    return cloneFrozen(content === undefined ? { value } : { value, content });
  } catch {
    return undefined;
  }
}

function sizeOf({ value, content = [] }: Answer): number {
  // The JSON of more than this may be longer than any text can be.
  const data = content.reduce((sum, part) => sum + ('data' in part ? part.data.length : 0), 0);
  if (typeof value === 'string' && value.length > LARGEST) return value.length;
  try {
    return data > LARGEST ? data : JSON.stringify([value, content]).length;
  } catch {
    return Infinity;
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
