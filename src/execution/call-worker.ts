import { pauseFor, untilQuiet } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { isWriting } from '../core/enum-order.js';
import { AccessMode } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import { followLimits } from '../core/time-limit.js';
import { digestOf, type Json } from '../core/plain-data.js';
import { exponentialBackoff } from '../providers/exponential-backoff.js';
import type { ProviderFactory, ProviderSnapshot } from '../providers/provider.js';
import { ProviderRouter } from '../providers/provider-router.js';
import { requireRoutingOptions } from '../providers/router-options.js';
import { isTransient } from '../providers/run-attempt.js';
import type { Approval } from '../safety/approvals.js';
import type { OutcomeBody } from '../safety/calls.js';
import { renewedTool } from '../tool/tool-definition.js';
import { isToolResult } from '../tool/outcome.js';
import type { ToolContext } from '../tool/tool-options.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { ApprovalDesk } from './approval-desk.js';
import { isAroundError, runAround, type AroundStack } from './around.js';
import type { ResultCache, Worked } from './result-cache.js';
import type { AcceptedInput } from './call-checker.js';
import type { ExecuteOptions, ExecutorFrame } from './executor-options.js';
import type { Budgets } from './budgets.js';
import type { Places } from './places.js';
import { aroundFailure, failure, readResult, thrownFailure } from './read-result.js';
import type { RunningCall } from './running-call.js';
import { aborted, assertWanted, withDeadline, type Settled } from './with-deadline.js';

/** Shorter than a provider's backoff: a user is waiting for this call. */
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/** The end of a call of which nothing was run, and for which approval is asked again. */
const OUTDATED: OutcomeBody = Object.freeze({
  status: 'denied',
  reason: 'its approval does not count any more',
  rule: 'approval',
  danger: 'critical',
});

interface WorkerParts {
  readonly desk: ApprovalDesk;
  readonly budgets: Budgets | undefined;
  readonly cache: ResultCache;
  readonly places: Places;
}

/** A call that may run. */
export interface RunnableCall extends AcceptedInput {
  readonly approval?: Approval | undefined;
  /** The functions in use when it was looked for in the cache. */
  readonly arounds: AroundStack;
  /** Returns true if the decision over the call does not count any more. */
  readonly isStale: (waited: boolean) => boolean;
  /** Asks the policy again, right before the call starts; an outcome forbids the call. */
  readonly forbiddenNow: () => Promise<OutcomeBody | undefined>;
  /** Returns true if the call would do something else by now than what was approved; it is then not run. */
  readonly isOutdated: () => Promise<boolean>;
  /** Uses up the grant on which the decision rests, if there is one; false forbids the call. */
  readonly useGrant: (looksOnly?: boolean) => Promise<boolean>;
  /** @throws ToolError when the tool was replaced or removed since the call was judged. */
  readonly assertCurrent: () => void;
}

/** The work of one call: how many handlers and providers run, and what is told of their end after the answer. */
interface CallWork {
  running: number;
  answered: boolean;
  ended: (() => void) | undefined;
  /** The tool's own part in a call with functions around it. */
  inner?:
    | { readonly state: 'idle' | 'running' }
    | { readonly state: 'done' | 'failed'; readonly latencyMs: number };
}

/** Returns true if a call of this tool may be made twice: it declares itself that it only reads, or that equal keys mean one effect. */
export function isRepeatable(entry: ToolEntry): boolean {
  return (
    (entry.accessMode === AccessMode.READONLY && !entry.inferred.includes('accessMode')) ||
    entry.idempotencyKey === true
  );
}

/**
 * Runs a call that may run: waits for its place, reserves its budget, uses its approval up, and does the tool's work, by its
 * function or by its providers, in time, and again where that is safe.
 */
export class CallWorker {
  readonly #frame: ExecutorFrame;
  readonly #parts: WorkerParts;
  readonly #factories: ReadonlyMap<string, ProviderFactory>;
  readonly #routers = new Map<
    string,
    { readonly entry: ToolEntry; readonly router: ProviderRouter }
  >();

  /** @throws ToolError `INVALID_ARGUMENT` naming the option of `routing` that is wrong. */
  constructor(frame: ExecutorFrame, parts: WorkerParts) {
    if (frame.routing !== undefined) requireRoutingOptions(frame.routing);
    this.#frame = frame;
    this.#parts = parts;
    const { providers = {} } = frame;
    this.#factories = providers instanceof Map ? providers : new Map(Object.entries(providers));
  }

  async work(running: RunningCall, call: RunnableCall): Promise<Worked<OutcomeBody>> {
    const { places } = this.#parts;
    const { entry } = call;
    places.assertIdle(entry);
    const free = places.tryEnter(entry);
    const place = free ?? (await places.enter(entry, running.options.signal));
    const work: CallWork = { running: 0, answered: false, ended: undefined };
    try {
      const result =
        (await this.#prepare(running, call, free === undefined)) ??
        (await this.#start(running, call, work));
      const keep =
        result.status === 'ok'
          ? { value: result.value, ...(result.content && { content: result.content }) }
          : undefined;
      return { result, keep, aborted: isAborted(result) };
    } finally {
      if (work.answered && work.running > 0)
        work.ended = places.keep(running.owner, entry, place, () =>
          running.tell({ type: 'call-abandoned' }),
        );
      else {
        place.leaveAll();
        place.leaveTool();
      }
    }
  }

  /** @throws ToolError `NOT_EXECUTABLE` for a tool that has neither a function nor providers. */
  assertExecutable({ name, definition, providers }: ToolEntry): void {
    if (definition.execute === undefined && providers.length === 0)
      throw new ToolError(
        'NOT_EXECUTABLE',
        `Expected ${name} to have a handler or a provider, got neither. Define it with execute, or attach one.`,
      );
  }

  /**
   * Returns true if providers answer a tool's calls.
   *
   * Tools whose providers nobody gave a factory for fall back to their own function, if they have one.
   */
  isRouted({ definition, providers }: ToolEntry): boolean {
    return (
      providers.length > 0 &&
      (definition.execute === undefined || providers.some(({ name }) => this.#factories.has(name)))
    );
  }

  /** Returns how a tool's providers are; nothing for tools that have none or were not called. */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#routers.get(toolName)?.router.snapshot() ?? [];
  }

  /** Does what comes before the start. An approval is used up last: it is not lost for a call that is not going to run. */
  async #prepare(
    running: RunningCall,
    { entry, approval, isStale, forbiddenNow, isOutdated, useGrant, assertCurrent }: RunnableCall,
    waited: boolean,
  ): Promise<OutcomeBody | undefined> {
    const { desk, budgets } = this.#parts;
    const { options } = running;
    const assertStill = () => {
      assertWanted(options.signal, entry.name);
      assertCurrent();
    };
    assertStill();
    const forbidden = isStale(waited) ? await forbiddenNow() : undefined;
    if (forbidden !== undefined) return forbidden;
    if ((await isOutdated()) || !(await useGrant(true))) return OUTDATED;
    if (approval !== undefined && (budgets !== undefined || options.onStart !== undefined))
      await desk.assertUnused(running, approval);
    if (budgets !== undefined) await budgets.reserve(entry, options);
    assertStill();
    if (options.onStart !== undefined) await this.#announce(running, entry, options.onStart);
    assertStill();
    if (approval !== undefined) await desk.redeem(running, approval);
    else if (!(await useGrant())) return OUTDATED;
    assertStill();
    return undefined;
  }

  async #announce(
    { call, options }: RunningCall,
    { name, timeoutMs = this.#frame.timeoutMs }: ToolEntry,
    onStart: NonNullable<ExecuteOptions['onStart']>,
  ): Promise<void> {
    const told = await withDeadline(() => onStart(call), {
      clock: this.#frame.clock,
      timeoutMs,
      signal: options.signal,
    });
    if (told.kind === 'threw') throw told.error;
    if (told.kind === 'aborted') throw aborted(name);
    if (told.kind === 'timeout')
      throw new ToolError(
        'TIMEOUT',
        `Expected onStart of ${name} to end within ${timeoutMs} ms, got no end of it. The tool was not started.`,
        { details: { timeoutMs } },
      );
  }

  async #start(running: RunningCall, call: RunnableCall, work: CallWork): Promise<OutcomeBody> {
    const { clock, exposeErrors, health } = this.#frame;
    const { entry, raw } = call;
    const startedAt = clock.elapsed();
    running.tell({ type: 'call-started' });
    let result: OutcomeBody;
    let isAroundsOwn = false;
    try {
      const ended = await this.#runInTime(running, call, work);
      if (ended.kind === 'threw') this.#renew(entry, ended.error);
      result =
        ended.kind === 'threw'
          ? thrownFailure(ended.error, entry.name, exposeErrors)
          : await readResult(entry, ended.value, (question) =>
              running.pendingQuestion(entry, raw, question),
            );
    } catch (error) {
      isAroundsOwn = isAroundError(error);
      result = isAroundsOwn
        ? aroundFailure(error as ToolError, running.attempts > 0, exposeErrors)
        : failure(error);
    } finally {
      await this.#parts.cache.dropAfter(entry);
    }
    const { provider, abandoned } = running;
    const success = hasSucceeded(work, result, isAroundsOwn);
    const latencyMs =
      work.inner !== undefined && 'latencyMs' in work.inner
        ? work.inner.latencyMs
        : clock.elapsed() - startedAt;
    if (!isAborted(result) && success !== undefined)
      health.record({
        kind: 'tool',
        name: entry.name,
        success,
        latencyMs,
        ...(provider !== undefined && { provider }),
        ...(abandoned && { abandoned }),
      });
    return result;
  }

  /** Puts the tool as it is now in the place of one that has changed: the next call is judged by it. */
  #renew(entry: ToolEntry, error: unknown): void {
    const { registry } = this.#frame;
    const renewed = renewedTool(error, entry.definition);
    if (renewed !== undefined && registry.get(entry.name) === entry)
      registry.register(renewed, { replace: true });
  }

  /** Returns what the tool returned or threw. @throws ToolError `TIMEOUT` or `ABORTED`. */
  async #runInTime(
    running: RunningCall,
    call: RunnableCall,
    work: CallWork,
  ): Promise<Extract<Settled<unknown>, { kind: 'returned' | 'threw' }>> {
    const { entry } = call;
    const { timeoutMs = this.#frame.timeoutMs } = entry;
    const leftMs = Math.max(1, timeoutMs - running.watchedMs);
    const settled = await withDeadline<unknown>(
      (signal) => this.#run(running, call, work, signal, leftMs),
      { clock: this.#frame.clock, timeoutMs: leftMs, signal: running.options.signal },
    );
    await untilQuiet(() => work.running);
    work.answered = true;
    running.abandoned = work.running > 0;
    if (settled.kind === 'threw' && isAroundError(settled.error)) throw settled.error;
    if (settled.kind === 'aborted') throw aborted(entry.name);
    if (settled.kind === 'timeout')
      throw new ToolError(
        'TIMEOUT',
        `Expected an answer of ${entry.name} within ${timeoutMs} ms, got none. Ask for less at once, or give the tool more time.`,
        { details: { timeoutMs } },
      );
    return settled;
  }

  #run(
    running: RunningCall,
    call: RunnableCall,
    work: CallWork,
    signal: AbortSignal,
    timeoutMs: number,
  ): unknown {
    const { entry, input, raw, approval } = call;
    const { execute } = entry.definition;
    const writes = isWriting(entry.accessMode);
    // A write that was approved is started once.
    const repeatable = isRepeatable(entry) && !(approval !== undefined && writes);
    const context = running.contextFor(
      entry.digest,
      writes ? (running.options.idempotencyKey ?? idempotencyKey(running, entry, raw)) : undefined,
    );
    const started = () => {
      work.running++;
      running.attempts++;
    };
    const ended = () => {
      work.running--;
      if (work.answered) this.#endLate(running, entry, work);
    };
    const start = (stop: AbortSignal, leftMs: number): Promise<unknown> => {
      if (execute === undefined || this.isRouted(entry))
        return this.#route(
          running,
          entry,
          { input, context, repeatable, timeoutMs: leftMs, started, ended },
          stop,
        );
      const attempt = async (): Promise<unknown> => {
        started();
        try {
          return await execute(input, { ...context, signal: stop });
        } finally {
          ended();
        }
      };
      return repeatable && this.#frame.maxAttempts > 1
        ? this.#withRetries(attempt, stop)
        : attempt();
    };
    return call.arounds.list.length === 0
      ? start(signal, timeoutMs)
      : this.#runInside(running, call, work, { context, signal, timeoutMs, start });
  }

  /** Does the work inside of the functions around it, and stops work that one of them does not wait for. */
  async #runInside(
    running: RunningCall,
    { entry, raw, arounds }: RunnableCall,
    work: CallWork,
    {
      context,
      signal,
      timeoutMs,
      start,
    }: {
      readonly context: ToolContext;
      readonly signal: AbortSignal;
      readonly timeoutMs: number;
      readonly start: (stop: AbortSignal, leftMs: number) => Promise<unknown>;
    },
  ): Promise<unknown> {
    const { clock } = this.#frame;
    const begunAt = clock.elapsed();
    const stop = new AbortController();
    followLimits(stop.signal, signal);
    const stopListening = onAbort(signal, () => stop.abort(signal.reason));
    const call = Object.freeze({
      tool: entry,
      id: running.call.id,
      input: raw,
      context: Object.freeze({ ...context, signal }),
    });
    work.inner = { state: 'idle' };
    const startInner = async (): Promise<unknown> => {
      const startedAt = clock.elapsed();
      let state: 'done' | 'failed' = 'failed';
      work.inner = { state: 'running' };
      try {
        const result = await start(stop.signal, Math.max(1, timeoutMs - (startedAt - begunAt)));
        if (!isToolResult(result) || result.status !== 'error') state = 'done';
        return result;
      } catch (error) {
        if (!work.answered) this.#renew(entry, error); // A function may catch it.
        throw error;
      } finally {
        work.inner = { state, latencyMs: clock.elapsed() - startedAt };
      }
    };
    try {
      return await runAround(arounds.list, call, {
        start: startInner,
        isOpen: () => !work.answered && !signal.aborted,
        onLeft: () => stop.abort(aborted(entry.name)),
      });
    } finally {
      stopListening();
    }
  }

  /** One provider may still hang when another was asked and ended. */
  #endLate(running: RunningCall, entry: ToolEntry, work: CallWork): void {
    running.tell({ type: 'late-result' });
    void this.#parts.cache.dropAfter(entry);
    if (work.running === 0) work.ended?.();
  }

  async #route(
    running: RunningCall,
    entry: ToolEntry,
    work: {
      readonly input: unknown;
      readonly context: ToolContext;
      readonly repeatable: boolean;
      readonly timeoutMs: number;
      readonly started: () => void;
      readonly ended: () => void;
    },
    signal: AbortSignal,
  ): Promise<unknown> {
    const { input, context, repeatable, timeoutMs, started, ended } = work;
    // A caller's own deadline, however short, must not count against the provider: to the router it is a caller who gives up.
    const controller = new AbortController();
    followLimits(controller.signal, signal);
    const stopListening = onAbort(signal, () =>
      controller.abort(
        running.options.signal?.aborted === true ? aborted(entry.name) : signal.reason,
      ),
    );
    try {
      const { value, provider } = await this.#routerFor(entry).call(
        input,
        { ...context, signal: controller.signal },
        { repeatable, timeoutMs, onStart: started, onEnd: ended },
      );
      running.provider = provider;
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

      ...(env && { env }),
    });
    this.#routers.set(entry.name, { entry, router });
    return router;
  }

  /**
   * Runs work again, after a jittered pause, when it throws what may be gone a moment later.
   *
   * Only for work that may run more than once. The pause before attempt n + 1 is random between 0 and 100 ms · 2^(n − 1), at most 2 s.
   */
  async #withRetries(work: () => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
    const { clock, maxAttempts, random } = this.#frame;
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt >= maxAttempts || signal.aborted || !isTransient(error)) throw error;
        await pauseFor(
          exponentialBackoff(attempt, { baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random }),
          clock,
          signal,
        );
        if (signal.aborted) throw error;
      }
    }
  }
}

/** Returns whether the tool did its work, as far as that is known of a call in which a function around it may have answered in its place. */
function hasSucceeded(
  { inner }: CallWork,
  { status }: OutcomeBody,
  isAroundsOwn: boolean,
): boolean | undefined {
  if (inner?.state === 'failed') return false;
  if (inner === undefined || inner.state === 'done') return isAroundsOwn || status !== 'error';
  return inner.state === 'running' && status === 'error' && !isAroundsOwn ? false : undefined;
}

function isAborted(result: OutcomeBody): boolean {
  return result.status === 'error' && result.code === 'ABORTED';
}

/** Derives the key where a call has an identity that lasts, so that a repetition after a crash carries the same key. */
function idempotencyKey({ call, options }: RunningCall, entry: ToolEntry, raw: Json): string {
  if (options.conversationId === undefined) return randomUUID();
  return digestOf([options.principal ?? null, options.conversationId, call.id, entry.name, raw]);
}
