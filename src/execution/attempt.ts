import { pauseFor, untilQuiet } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { isWriting } from '../core/enum-order.js';
import { AccessMode } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import { followLimits } from '../core/time-limit.js';
import { exponentialBackoff } from '../providers/exponential-backoff.js';
import type { ProviderRouter } from '../providers/provider-router.js';
import { isTransient, retryAfterOf } from '../providers/run-attempt.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import { isAroundError, runAround, type Around } from './around.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import type { CallPlace, Places } from './places.js';
import type { ApprovedCall, RunningCall } from './running-call.js';
import { aborted, withDeadline, type Settled, type Stop } from './with-deadline.js';

/** The delays are shorter than the backoff for providers, because a user is waiting. */
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/** A call that's about to start. */
export interface StartingCall extends AcceptedCall {
  readonly approved: ApprovedCall | undefined;
  /** The wrappers that were active when the call was looked up in the cache. */
  readonly arounds: readonly Around[];
  readonly place: CallPlace;
}

/** The parts of the executor that attempts use. */
export interface AttemptTools {
  readonly frame: ExecutorFrame;
  readonly places: Places;
  readonly dropCached: (entry: ToolEntry) => void;
  /** Replaces the entry of a tool that has turned out to be outdated. */
  readonly renew: (entry: ToolEntry, error: unknown) => void;
}

type Ended = Extract<Settled<unknown>, { kind: 'returned' | 'threw' }>;

/**
 * The work of one call, from its start until nothing of it runs any more: the tool's function or
 * its providers, inside the wrappers, with retries, within the time limit.
 */
export class CallAttempt {
  readonly #tools: AttemptTools;
  readonly #run: RunningCall;
  readonly #call: StartingCall;
  /** Calls the tool's providers. It's missing if the tool's own function runs. */
  readonly #router: ProviderRouter | undefined;
  /** The number of functions and providers that are running. */
  #running = 0;
  #isAnswered = false;

  constructor(
    tools: AttemptTools,
    run: RunningCall,
    call: StartingCall,
    router: ProviderRouter | undefined,
  ) {
    this.#tools = tools;
    this.#run = run;
    this.#call = call;
    this.#router = router;
  }

  /**
   * Resolves to the tool's return value, or to its error.
   * @throws ToolError `TIMEOUT` or `ABORTED`, or a wrapper's error.
   */
  async settle(): Promise<Ended> {
    const { entry } = this.#call;
    const { clock, timeoutMs: usual } = this.#tools.frame;
    const { timeoutMs = usual } = entry;
    const { signal } = this.#run.options;
    const limits = { clock, timeoutMs, signal };
    const settled = await withDeadline<unknown>((stop) => this.#start(stop, timeoutMs), limits);
    if (this.#running > 0) await untilQuiet(() => this.#running);
    this.#isAnswered = true;
    if (this.#running > 0) this.#abandon();
    if (settled.kind === 'threw' && isAroundError(settled.error)) throw settled.error;
    if (settled.kind === 'aborted') throw aborted(entry.name);
    if (settled.kind === 'timeout')
      throw new ToolError(
        'TIMEOUT',
        `${entry.name} didn't answer within ${timeoutMs} ms. Request less at a time, or give the tool more time.`,
        { details: { timeoutMs } },
      );
    return settled;
  }

  #abandon(): void {
    this.#run.isAbandoned = true;
    this.#tools.places.abandon(this.#call.place, this.#run.owner, this.#call.entry);
    this.#run.tell({ type: 'call-abandoned' });
  }

  #start(stop: Stop, timeoutMs: number): unknown {
    const { entry, raw, approved, arounds } = this.#call;
    const writes = isWriting(entry.accessMode);
    // An approval covers only a single start of a write.
    const repeatable = isRepeatable(entry) && !(approved && writes);
    const key = writes
      ? (this.#run.options.idempotencyKey ?? idempotencyKey(this.#run, entry, raw))
      : undefined;
    const contextWithin = (within: Stop) => this.#run.contextFor(entry.digest, within, key);
    const start = (within: Stop, leftMs: number): unknown =>
      this.#router
        ? this.#route(this.#router, contextWithin(within), { repeatable, timeoutMs: leftMs })
        : this.#callTool(contextWithin(within), within, repeatable);
    return arounds.length === 0
      ? start(stop, timeoutMs)
      : this.#inside(contextWithin(stop), timeoutMs, start);
  }

  #callTool(context: ToolContext, stop: Stop, repeatable: boolean): unknown {
    const { entry, input } = this.#call;
    const once = async (): Promise<unknown> => {
      this.#began();
      try {
        return await entry.definition.execute!(input, context);
      } finally {
        this.#ended();
      }
    };
    return repeatable && this.#tools.frame.maxAttempts > 1 ? this.#withRetries(once, stop) : once();
  }

  #began(): void {
    this.#running++;
    this.#run.attempts++;
  }

  /** A provider may still be running after another provider has answered. */
  #ended(): void {
    this.#running--;
    if (!this.#isAnswered) return;
    this.#run.tell({ type: 'late-result' });
    this.#tools.dropCached(this.#call.entry);
    if (this.#running === 0) this.#tools.places.ended(this.#call.place);
  }

  /** Runs the work inside the wrappers, and stops it if a wrapper doesn't wait for it. */
  async #inside(
    context: ToolContext,
    timeoutMs: number,
    start: (stop: Stop, leftMs: number) => unknown,
  ): Promise<unknown> {
    const { entry, raw, arounds } = this.#call;
    const { clock } = this.#tools.frame;
    const begunAt = clock.elapsed();
    const signal = context.signal!;
    const { stop, stopListening } = following(signal, () => signal.reason);
    const startInner = async (): Promise<unknown> => {
      try {
        const leftMs = timeoutMs - (clock.elapsed() - begunAt);
        return await start(stop, Math.max(1, leftMs));
      } catch (error) {
        if (!this.#isAnswered) this.#tools.renew(entry, error); // Renews the tool here, because a wrapper may catch the error.
        throw error;
      }
    };
    const call = Object.freeze({
      tool: entry,
      id: this.#run.call.id,
      input: raw,
      context: Object.freeze({ ...context }),
    });
    try {
      return await runAround(arounds, call, {
        start: startInner,
        isOpen: () => !this.#isAnswered && !signal.aborted,
        onLeft: () => stop.abort(aborted(entry.name)),
      });
    } finally {
      stopListening();
    }
  }

  async #route(
    router: ProviderRouter,
    context: ToolContext,
    options: { readonly repeatable: boolean; readonly timeoutMs: number },
  ): Promise<unknown> {
    const { entry, input } = this.#call;
    // The caller's deadline isn't the provider's failure, so the router treats it as an abort.
    const signal = context.signal!;
    const { stop, stopListening } = following(signal, () =>
      this.#run.options.signal?.aborted === true ? aborted(entry.name) : signal.reason,
    );
    try {
      const { value, provider } = await router.call(
        input,
        { ...context, signal: stop.signal },
        { ...options, onStart: () => this.#began(), onEnd: () => this.#ended() },
      );
      this.#run.provider = provider;
      return value;
    } finally {
      stopListening();
    }
  }

  /**
   * Retries work that fails with a temporary error, after a random delay.
   *
   * Use this function only for work that is safe to repeat. The delay before attempt n + 1 is
   * between 0 and 100 ms · 2^(n − 1), at most 2 s, or longer if the service asks for it.
   */
  async #withRetries(work: () => unknown, stop: Stop): Promise<unknown> {
    const { clock, maxAttempts, random } = this.#tools.frame;
    for (let attempt = 1; ; attempt++)
      try {
        return await work();
      } catch (error) {
        if (attempt >= maxAttempts || !isTransient(error) || stop.signal.aborted) throw error;
        const options = { baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random };
        const asked = retryAfterOf(error, clock.now()) ?? 0;
        await pauseFor(Math.max(exponentialBackoff(attempt, options), asked), clock, stop.signal);
        if (stop.signal.aborted) throw error;
      }
  }
}

/** Returns a controller that is aborted together with a signal, and shares its time limits. */
function following(signal: AbortSignal, reasonOf: () => unknown) {
  const stop = new AbortController();
  followLimits(stop.signal, signal);
  return { stop, stopListening: onAbort(signal, () => stop.abort(reasonOf())) };
}

/**
 * Returns true if it's safe to call the tool twice: it's declared readonly or has an
 * `idempotencyKey`.
 */
export function isRepeatable({
  accessMode,
  inferred,
  idempotencyKey: isKeyed,
}: ToolEntry): boolean {
  return (
    (accessMode === AccessMode.READONLY && !inferred.includes('accessMode')) || isKeyed === true
  );
}

/** Derives a key from the call's identity, so that a retry after a crash uses the same key. */
function idempotencyKey({ call, options }: RunningCall, entry: ToolEntry, raw: Json): string {
  if (options.conversationId === undefined) return randomUUID();
  return digestOf([options.principal ?? null, options.conversationId, call.id, entry.name, raw]);
}
