import { isWriting } from '../../core/enum-order.js';
import { AccessMode } from '../../core/enums.js';
import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { ProviderFactory } from '../../providers/provider.js';
import { ProviderRouter } from '../../providers/provider-router.js';
import type { HealthLog } from '../../providers/health/health-samples.js';
import type { StateStore } from '../../state/state-store.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { aborted } from './until-aborted.js';
import { withDeadline } from './with-deadline.js';
import { withRetries } from './with-retries.js';

export interface HandlerRunnerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
  readonly providers: ReadonlyMap<string, ProviderFactory>;
  readonly health: HealthLog;
  readonly store: StateStore | undefined;
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
  readonly onEvent: (event: ToolEvent) => void;
}

/** One call, as its tool's work sees it. */
export interface HandlerCall {
  readonly entry: ToolEntry;
  readonly input: unknown;
  readonly context: ToolContext;
  readonly signal: AbortSignal | undefined;
  /** Whether a person approved exactly this call: a write of that kind is started once. */
  readonly approved: boolean;
  readonly onAttempt: () => void;
  readonly onProvider: (provider: string) => void;
  readonly onLate: () => void;
}

/** Whether a call of this tool may be made twice: it declares itself that it only reads, or that equal keys mean one effect. */
export function isRepeatable(entry: ToolEntry): boolean {
  return (entry.accessMode === AccessMode.READONLY && !entry.inferred.includes('accessMode')) || entry.idempotencyKey === true;
}

/** Runs tools' work: by their function or by their providers, in time, and again where that is safe. */
export class HandlerRunner {
  readonly #options: HandlerRunnerOptions;
  readonly #routers = new Map<string, { readonly entry: ToolEntry; readonly router: ProviderRouter }>();

  constructor(options: HandlerRunnerOptions) {
    this.#options = options;
  }

  /**
   * What the tool returned.
   *
   * @throws ToolError `NOT_EXECUTABLE`, `TIMEOUT` or `ABORTED`; otherwise what the tool threw.
   */
  async run(call: HandlerCall): Promise<unknown> {
    const { clock } = this.#options;
    const timeoutMs = call.entry.timeoutMs ?? this.#options.timeoutMs;
    let pausing = false;
    const onPause = (now: boolean) => void (pausing = now);
    // What ends in a pause between attempts was not running any more.
    const onLate = () => void (pausing || call.onLate());
    const settled = await withDeadline((signal) => this.#start(call, signal, onPause), { clock, timeoutMs, signal: call.signal, onLate });
    switch (settled.kind) {
      case 'returned':
        return settled.value;
      case 'threw':
        throw settled.error;
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

  /** The health of a tool's providers; `undefined` for tools that have none or were not called. */
  routerOf(toolName: string): ProviderRouter | undefined {
    return this.#routers.get(toolName)?.router;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#routers.values()].map(({ router }) => router.close()));
  }

  #start(call: HandlerCall, signal: AbortSignal, onPause: (pausing: boolean) => void): unknown {
    const { entry, input } = call;
    const context: ToolContext = { ...call.context, signal };
    const repeatable = isRepeatable(entry) && !(call.approved && isWriting(entry.accessMode));
    const router = this.#routerFor(entry);
    if (router !== undefined) return this.#route(router, call, context, repeatable);
    const { execute } = entry.definition;
    if (execute === undefined) throw notExecutable(entry);
    const attempt = () => {
      call.onAttempt();
      return execute(input, context);
    };
    if (!repeatable || this.#options.maxAttempts === 1) return attempt();
    const { clock, random, maxAttempts } = this.#options;
    return withRetries(attempt, { maxAttempts, clock, random, signal, onPause });
  }

  async #route(router: ProviderRouter, call: HandlerCall, context: ToolContext, repeatable: boolean): Promise<unknown> {
    call.onAttempt();
    const { value, provider, attempts } = await router.call(call.input, context, { repeatable });
    attempts.filter(({ status }) => status !== 'skipped').slice(1).forEach(call.onAttempt);
    call.onProvider(provider);
    return value;
  }

  /** Tools whose providers nobody gave a factory for fall back to their own function, if they have one. */
  #routerFor(entry: ToolEntry): ProviderRouter | undefined {
    const { providers, clock, random, health, store, env, onEvent } = this.#options;
    if (entry.providers.length === 0) return undefined;
    if (entry.definition.execute !== undefined && !entry.providers.some(({ name }) => providers.has(name))) return undefined;
    const known = this.#routers.get(entry.name);
    if (known?.entry === entry) return known.router;
    void known?.router.close();
    const router = new ProviderRouter({ toolName: entry.name, providers: entry.providers, factories: providers, clock, random, health, onEvent, ...(store && { store }), ...(env && { env }) });
    this.#routers.set(entry.name, { entry, router });
    return router;
  }
}

function notExecutable({ name }: ToolEntry): ToolError {
  return new ToolError('NOT_EXECUTABLE', `Expected ${name} to have a handler or a provider, found neither; define it with execute, or attach one`);
}
