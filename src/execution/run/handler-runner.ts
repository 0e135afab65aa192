import type { Clock } from '../../core/clock.js';
import { isWriting } from '../../core/enum-order.js';
import { AccessMode } from '../../core/enums.js';
import { ToolError } from '../../core/errors.js';
import { onAbort } from '../../core/listeners.js';
import type { ToolEvent } from '../../core/tool-event.js';
import { exponentialBackoff } from '../../providers/exponential-backoff.js';
import type { HealthLog } from '../../providers/rolling-health.js';
import { ProviderRouter } from '../../providers/provider-router.js';
import type { ProviderFactory, ProviderSnapshot } from '../../providers/provider.js';
import { requireRoutingOptions, type RoutingOptions } from '../../providers/router-options.js';
import { isTransient } from '../../providers/run-attempt.js';
import type { StateStore } from '../../state/state-store.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { aborted, withDeadline, type Settled } from './with-deadline.js';

export interface HandlerRunnerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeoutMs: number;
  /** How often a function is started. Providers are no attempts of this kind: a call asks each of a tool's at most once. */
  readonly maxAttempts: number;
  readonly providers: ReadonlyMap<string, ProviderFactory>;
  readonly health: HealthLog;
  readonly store: StateStore | undefined;
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
  readonly onEvent: (event: ToolEvent) => void;
  /** How providers are called, where it differs from the router's defaults. */
  readonly routing?: RoutingOptions | undefined;
}

/** One call, as its tool's work sees it. */
export interface HandlerCall {
  readonly entry: ToolEntry;
  readonly input: unknown;
  readonly context: ToolContext;
  readonly signal: AbortSignal | undefined;
  /** How much of the call's time has passed. */
  readonly passedMs: number;
  /** Whether a person approved exactly this call: a write of that kind is started once. */
  readonly approved: boolean;
  /** Told of every start of the function, and of every provider that is called; not of those that are skipped. */
  readonly onAttempt: () => void;
  readonly onProvider: (provider: string) => void;
  /** Told when the call is answered while its work still runs. */
  readonly onLeftRunning: () => void;
  /** Told when such work ends, and how much of it is left: one provider may still hang when another was asked. */
  readonly onLate: (stillRunning: number) => void;
}

/** Whether a call of this tool may be made twice: it declares itself that it only reads, or that equal keys mean one effect. */
export function isRepeatable(entry: ToolEntry): boolean {
  return (entry.accessMode === AccessMode.READONLY && !entry.inferred.includes('accessMode')) || entry.idempotencyKey === true;
}

/** Turns of the queue of promises in which work may end that hears its signal. */
const TURNS = 20;

/** What of a call's work has begun and not ended. */
interface Work {
  readonly started: () => void;
  readonly ended: () => void;
}

/** Runs tools' work: by their function or by their providers, in time, and again where that is safe. */
export class HandlerRunner {
  readonly #options: HandlerRunnerOptions;
  readonly #routers = new Map<string, { readonly entry: ToolEntry; readonly router: ProviderRouter }>();

  /** @throws ToolError `INVALID_ARGUMENT` naming the option of `routing` that is wrong. */
  constructor(options: HandlerRunnerOptions) {
    if (options.routing !== undefined) requireRoutingOptions(options.routing);
    this.#options = options;
  }

  /**
   * What the tool returned or threw.
   *
   * @throws ToolError `TIMEOUT` or `ABORTED`.
   */
  async run(call: HandlerCall): Promise<Extract<Settled<unknown>, { kind: 'returned' | 'threw' }>> {
    const { clock } = this.#options;
    const timeoutMs = call.entry.timeoutMs ?? this.#options.timeoutMs;
    const leftMs = Math.max(1, timeoutMs - call.passedMs);
    let running = 0;
    let answered = false;
    const work: Work = {
      started: () => {
        running++;
        call.onAttempt();
      },
      ended: () => {
        running--;
        if (answered) call.onLate(running);
      },
    };
    const settled = await withDeadline<unknown>((signal) => this.#start(call, signal, leftMs, work), { clock, timeoutMs: leftMs, signal: call.signal });
    // Work that ends as soon as it hears its signal has ended with the call.
    for (let turn = 0; turn < TURNS && running > 0 && settled.kind !== 'returned'; turn++) await Promise.resolve();
    answered = true;
    if (running > 0) call.onLeftRunning();
    switch (settled.kind) {
      case 'returned':
      case 'threw':
        return settled;
      case 'timeout':
        throw new ToolError('TIMEOUT', `Expected an answer of ${call.entry.name} within ${timeoutMs} ms, found none; ask for less at once, or give the tool more time`, { details: { timeoutMs } });
      case 'aborted':
        throw aborted(call.entry.name);
    }
  }

  /** @throws ToolError `NOT_EXECUTABLE` for a tool that has neither a function nor providers. */
  assertExecutable(entry: ToolEntry): void {
    if (entry.definition.execute === undefined && entry.providers.length === 0) throw notExecutable(entry);
  }

  /**
   * Whether providers answer a tool's calls.
   *
   * Tools whose providers nobody gave a factory for fall back to their own function, if they have one.
   */
  isRouted({ definition, providers }: ToolEntry): boolean {
    return providers.length > 0 && (definition.execute === undefined || providers.some(({ name }) => this.#options.providers.has(name)));
  }

  /** How a tool's providers are; empty for tools that have none or were not called. */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#routers.get(toolName)?.router.snapshot() ?? [];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#routers.values()].map(({ router }) => router.close()));
  }

  #start(call: HandlerCall, signal: AbortSignal, timeoutMs: number, work: Work): unknown {
    const { entry, input } = call;
    const repeatable = isRepeatable(entry) && !(call.approved && isWriting(entry.accessMode));
    if (this.isRouted(entry)) return this.#route(call, signal, timeoutMs, repeatable, work);
    const { execute } = entry.definition;
    if (execute === undefined) throw notExecutable(entry);
    const context: ToolContext = { ...call.context, signal };
    const attempt = async (): Promise<unknown> => {
      work.started();
      try {
        return await execute(input, context);
      } finally {
        work.ended();
      }
    };
    if (!repeatable || this.#options.maxAttempts === 1) return attempt();
    const { clock, random, maxAttempts } = this.#options;
    return withRetries(attempt, { maxAttempts, clock, random, signal });
  }

  async #route(call: HandlerCall, signal: AbortSignal, timeoutMs: number, repeatable: boolean, work: Work): Promise<unknown> {
    // A caller's own deadline, however short, must not count against the provider: to the router it is a caller who gives up.
    const controller = new AbortController();
    const stopListening = onAbort(signal, () => controller.abort(call.signal?.aborted === true ? aborted(call.entry.name) : signal.reason));
    try {
      const context: ToolContext = { ...call.context, signal: controller.signal };
      const { value, provider } = await this.#routerFor(call.entry).call(call.input, context, { repeatable, timeoutMs, counted: false, onStart: work.started, onEnd: work.ended });
      call.onProvider(provider);
      return value;
    } finally {
      stopListening();
    }
  }

  #routerFor(entry: ToolEntry): ProviderRouter {
    const known = this.#routers.get(entry.name);
    if (known?.entry === entry) return known.router;
    void known?.router.close();
    const { providers: factories, clock, random, health, store, env, onEvent, routing } = this.#options;
    const router = new ProviderRouter({ ...routing, toolName: entry.name, providers: entry.providers, factories, clock, random, health, onEvent, ...(store && { store }), ...(env && { env }) });
    this.#routers.set(entry.name, { entry, router });
    return router;
  }
}

function notExecutable({ name }: ToolEntry): ToolError {
  return new ToolError('NOT_EXECUTABLE', `Expected ${name} to have a handler or a provider, found neither; define it with execute, or attach one`);
}

interface Retries {
  /** How often the work is started at most. */
  readonly maxAttempts: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Shorter than a provider's backoff: somebody is waiting for this call. */
const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/**
 * Runs work again, after a jittered pause, when it throws what may be gone a moment later.
 *
 * Only for work that may run more than once. The pause before attempt n + 1 is random between 0 and 100 ms · 2^(n − 1), at most 2 s.
 */
async function withRetries<T>(work: (attempt: number) => T | Promise<T>, { maxAttempts, clock, random, signal }: Retries): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt >= maxAttempts || signal.aborted || !isTransient(error)) throw error;
      await pause(exponentialBackoff(attempt, { baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random }), clock, signal);
      if (signal.aborted) throw error;
    }
  }
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      stopListening();
      resolve();
    };
    const cancel = clock.after(ms, end);
    const stopListening = onAbort(signal, end);
  });
}
