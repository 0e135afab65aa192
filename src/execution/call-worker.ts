import { pauseFor, untilQuiet } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { isWriting } from '../core/enum-order.js';
import { AccessMode } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { digestOf, type Json, without } from '../core/plain-data.js';
import { followLimits } from '../core/time-limit.js';
import { exponentialBackoff } from '../providers/exponential-backoff.js';
import { retryAfterOf } from '../providers/run-attempt.js';
import type { ProviderFactory, ProviderSnapshot } from '../providers/provider.js';
import { ProviderRouter } from '../providers/provider-router.js';
import { requireRoutingOptions } from '../providers/router-options.js';
import { isTransient } from '../providers/run-attempt.js';
import type { OutcomeBody } from '../safety/calls.js';
import { renewedTool, type ToolEntry } from '../tool/tool-definition.js';
import type { ToolContext } from '../tool/tool-options.js';
import { isAroundError, runAround, type AroundStack } from './around.js';
import type { AcceptedCall } from './call-judge.js';
import type { ExecutorFrame } from './executor-options.js';
import type { Place, Places } from './places.js';
import { aroundFailure, failure, readResult, thrownFailure } from './read-result.js';
import type { ApprovedCall, RunningCall } from './running-call.js';
import { aborted, withDeadline, type Settled, type Stop } from './with-deadline.js';

/** The delays are shorter than the backoff for providers, because a user is waiting. */
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/** A call that's about to start. */
export interface StartingCall extends AcceptedCall {
  readonly approved: ApprovedCall | undefined;
  readonly arounds: AroundStack;
  readonly place: Place;
}

/**
 * The progress of a call: how many functions and providers are running, and whether the call has
 * been answered.
 */
interface Work {
  running: number;
  isAnswered: boolean;
  readonly place: Place;
}

type Ended = Extract<Settled<unknown>, { kind: 'returned' | 'threw' }>;

/** Runs a tool's function or its providers within the time limit, and retries if that's safe. */
export class CallWorker {
  readonly #frame: ExecutorFrame;
  readonly #places: Places;
  readonly #dropCached: (entry: ToolEntry) => void;
  readonly #factories: ReadonlyMap<string, ProviderFactory>;
  readonly #routers = new Map<
    string,
    { readonly entry: ToolEntry; readonly router: ProviderRouter }
  >();

  /** @throws ToolError `INVALID_ARGUMENT` with the invalid option of `routing`. */
  constructor(frame: ExecutorFrame, places: Places, dropCached: (entry: ToolEntry) => void) {
    if (frame.routing !== undefined) requireRoutingOptions(frame.routing);
    this.#frame = frame;
    this.#places = places;
    this.#dropCached = dropCached;
    const { providers = {} } = frame;
    this.#factories = providers instanceof Map ? providers : new Map(Object.entries(providers));
  }

  /** @throws ToolError `NOT_EXECUTABLE` if the tool has neither a function nor providers. */
  assertExecutable({ name, definition, providers }: ToolEntry): void {
    if (definition.execute === undefined && providers.length === 0)
      throw new ToolError(
        'NOT_EXECUTABLE',
        `${name} can't run: it has neither a handler nor a provider. Define it with execute, or attach a provider.`,
      );
  }

  /**
   * Returns true if providers answer this tool's calls.
   *
   * A tool that has its own function uses this function if none of its providers has a factory.
   */
  isRouted({ definition, providers }: ToolEntry): boolean {
    return (
      providers.length > 0 &&
      (definition.execute === undefined || providers.some(({ name }) => this.#factories.has(name)))
    );
  }

  /**
   * Returns the state of a tool's providers. Returns an empty list if the tool has no providers or
   * hasn't been called.
   */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#routers.get(toolName)?.router.snapshot() ?? [];
  }

  async run(run: RunningCall, call: StartingCall): Promise<OutcomeBody> {
    const { clock, exposeErrors, health } = this.#frame;
    const { entry, raw } = call;
    const work: Work = { running: 0, isAnswered: false, place: call.place };
    const startedAt = clock.elapsed();
    run.tell({ type: 'call-started' });
    let body: OutcomeBody;
    let isAroundsOwn = false;
    try {
      const ended = await this.#inTime(run, call, work);
      if (ended.kind === 'threw') {
        this.#renew(entry, ended.error);
        body = thrownFailure(ended.error, entry.name, exposeErrors);
      } else {
        const read = readResult(entry, ended.value, (question) =>
          run.pendingQuestion(entry, raw, question),
        );
        body = read instanceof Promise ? await read : read;
      }
    } catch (error) {
      isAroundsOwn = isAroundError(error);
      body = isAroundsOwn
        ? aroundFailure(error as ToolError, run.attempts > 0, exposeErrors)
        : failure(error);
    }
    this.#dropCached(entry);
    const { status } = body;
    // A call whose wrapper answered instead of the tool says nothing about the tool.
    if (run.attempts > 0 && !isAroundsOwn && !(status === 'error' && body.code === 'ABORTED'))
      health.record({
        kind: 'tool',
        name: entry.name,
        success: status !== 'error',
        latencyMs: clock.elapsed() - startedAt,
        ...(run.provider !== undefined && { provider: run.provider }),
        ...(run.isAbandoned && { abandoned: true }),
      });
    return body;
  }

  /**
   * Replaces the entry of a tool that has turned out to be outdated, so that the policy evaluates
   * the next call with the new definition.
   */
  #renew(entry: ToolEntry, error: unknown): void {
    const { registry } = this.#frame;
    const renewed = renewedTool(error, entry.definition);
    if (renewed !== undefined && registry.get(entry.name) === entry)
      registry.register(renewed, { replace: true });
  }

  /**
   * Resolves to the tool's return value, or rejects with its error.
   * @throws ToolError `TIMEOUT` or `ABORTED`.
   */
  async #inTime(run: RunningCall, call: StartingCall, work: Work): Promise<Ended> {
    const { entry } = call;
    const { clock } = this.#frame;
    const { timeoutMs = this.#frame.timeoutMs } = entry;
    const settled = await withDeadline<unknown>(
      (stop) => this.#start(run, call, work, stop, timeoutMs),
      {
        clock,
        timeoutMs,
        signal: run.options.signal,
      },
    );
    if (work.running > 0) await untilQuiet(() => work.running);
    work.isAnswered = true;
    if (work.running > 0) {
      run.isAbandoned = true;
      this.#places.abandon(work.place, run.owner, entry);
      run.tell({ type: 'call-abandoned' });
    }
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

  #start(run: RunningCall, call: StartingCall, work: Work, stop: Stop, timeoutMs: number): unknown {
    const { entry, input, raw, approved, arounds } = call;
    const { execute } = entry.definition;
    const writes = isWriting(entry.accessMode);
    // An approval covers only a single start of a write.
    const repeatable = isRepeatable(entry) && !(approved && writes);
    const key = writes
      ? (run.options.idempotencyKey ?? idempotencyKey(run, entry, raw))
      : undefined;
    const isRouted = execute === undefined || this.isRouted(entry);
    const start = (within: Stop, leftMs: number): unknown => {
      const context = run.contextFor(entry.digest, within, key);
      if (isRouted) return this.#route(run, call, work, context, { repeatable, timeoutMs: leftMs });
      const attempt = () => this.#attempt(run, call, work, () => execute(input, context));
      return repeatable && this.#frame.maxAttempts > 1
        ? this.#withRetries(attempt, within)
        : attempt();
    };
    return arounds.list.length === 0
      ? start(stop, timeoutMs)
      : this.#inside(run, call, work, run.contextFor(entry.digest, stop, key), timeoutMs, start);
  }

  /** Calls the tool's function once. */
  async #attempt(
    run: RunningCall,
    call: StartingCall,
    work: Work,
    execute: () => unknown,
  ): Promise<unknown> {
    this.#began(run, work);
    try {
      return await execute();
    } finally {
      this.#ended(run, call, work);
    }
  }

  #began(run: RunningCall, work: Work): void {
    work.running++;
    run.attempts++;
  }

  /** A provider may still be running after another provider has answered. */
  #ended(run: RunningCall, { entry }: StartingCall, work: Work): void {
    work.running--;
    if (!work.isAnswered) return;
    run.tell({ type: 'late-result' });
    this.#dropCached(entry);
    if (work.running === 0) this.#places.ended(work.place);
  }

  /** Runs the work inside the wrappers, and stops it if a wrapper doesn't wait for it. */
  async #inside(
    run: RunningCall,
    { entry, raw, arounds }: StartingCall,
    work: Work,
    context: ToolContext,
    timeoutMs: number,
    start: (stop: Stop, leftMs: number) => unknown,
  ): Promise<unknown> {
    const { clock } = this.#frame;
    const begunAt = clock.elapsed();
    const signal = context.signal!;
    const stop = new AbortController();
    followLimits(stop.signal, signal);
    const stopListening = onAbort(signal, () => stop.abort(signal.reason));
    const startInner = async (): Promise<unknown> => {
      try {
        const leftMs = timeoutMs - (clock.elapsed() - begunAt);
        return await start(stop, Math.max(1, leftMs));
      } catch (error) {
        if (!work.isAnswered) this.#renew(entry, error); // Renews the tool here, because a wrapper may catch the error.
        throw error;
      }
    };
    const call = Object.freeze({
      tool: entry,
      id: run.call.id,
      input: raw,
      context: Object.freeze({ ...context }),
    });
    try {
      return await runAround(arounds.list, call, {
        start: startInner,
        isOpen: () => !work.isAnswered && !signal.aborted,
        onLeft: () => stop.abort(aborted(entry.name)),
      });
    } finally {
      stopListening();
    }
  }

  async #route(
    run: RunningCall,
    call: StartingCall,
    work: Work,
    context: ToolContext,
    options: { readonly repeatable: boolean; readonly timeoutMs: number },
  ): Promise<unknown> {
    const { entry, input } = call;
    // The caller's deadline isn't the provider's failure, so the router treats it as an abort.
    const signal = context.signal!;
    const controller = new AbortController();
    followLimits(controller.signal, signal);
    const stopListening = onAbort(signal, () =>
      controller.abort(run.options.signal?.aborted === true ? aborted(entry.name) : signal.reason),
    );
    try {
      const { value, provider } = await this.#routerFor(entry).call(
        input,
        { ...context, signal: controller.signal },
        {
          ...options,
          onStart: () => this.#began(run, work),
          onEnd: () => this.#ended(run, call, work),
        },
      );
      run.provider = provider;
      return value;
    } finally {
      stopListening();
    }
  }

  #routerFor(entry: ToolEntry): ProviderRouter {
    const known = this.#routers.get(entry.name);
    if (known?.entry === entry) return known.router;
    const { clock, random, health, env, listeners, routing } = this.#frame;
    const router = new ProviderRouter({
      ...routing,
      toolName: entry.name,
      providers: entry.providers,
      factories: this.#factories,
      clock,
      random,
      health,
      onEvent: (event) => listeners.tell(event),
      ...without({ env }),
    });
    this.#routers.set(entry.name, { entry, router });
    return router;
  }

  /**
   * Retries work that fails with a temporary error, after a random delay.
   *
   * Use this function only for work that is safe to repeat. The delay before attempt n + 1 is
   * between 0 and 100 ms · 2^(n − 1), at most 2 s, or longer if the service asks for it.
   */
  async #withRetries(work: () => unknown, stop: Stop): Promise<unknown> {
    const { clock, maxAttempts, random } = this.#frame;
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
