import { ToolError } from '../core/errors.js';
import { without } from '../core/plain-data.js';
import type { ProviderFactory, ProviderSnapshot } from '../providers/provider.js';
import { ProviderRouter } from '../providers/provider-router.js';
import { requireRoutingOptions } from '../providers/router-options.js';
import { renewedTool, type ToolEntry } from '../tool/tool-definition.js';
import { isAroundError } from './around.js';
import { CallAttempt, type AttemptTools, type StartingCall } from './attempt.js';
import type { ExecutorFrame } from './executor-options.js';
import type { Places } from './places.js';
import { aroundFailure, failure, readResult, thrownFailure, type WorkBody } from './read-result.js';
import type { RunningCall } from './running-call.js';

/** Runs accepted calls, and turns what their tools return or throw into outcomes. */
export class CallWorker {
  readonly #frame: ExecutorFrame;
  readonly #tools: AttemptTools;
  readonly #factories: ReadonlyMap<string, ProviderFactory>;
  readonly #routers = new Map<
    string,
    { readonly entry: ToolEntry; readonly router: ProviderRouter }
  >();

  /** @throws ToolError `INVALID_ARGUMENT` with the invalid option of `routing`. */
  constructor(frame: ExecutorFrame, places: Places, dropCached: (entry: ToolEntry) => void) {
    if (frame.routing !== undefined) requireRoutingOptions(frame.routing);
    this.#frame = frame;
    const renew = (entry: ToolEntry, error: unknown) => this.#renew(entry, error);
    this.#tools = { frame, places, dropCached, renew };
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

  async run(run: RunningCall, call: StartingCall): Promise<WorkBody> {
    const { clock, exposeErrors, health } = this.#frame;
    const { entry } = call;
    const startedAt = clock.elapsed();
    run.tell({ type: 'call-started' });
    let body: WorkBody;
    let isAroundsOwn = false;
    try {
      const router = this.isRouted(entry) ? this.#routerFor(entry) : undefined;
      const ended = await new CallAttempt(this.#tools, run, call, router).settle();
      if (ended.kind === 'threw') {
        this.#renew(entry, ended.error);
        body = thrownFailure(ended.error, entry.name, exposeErrors);
      } else {
        const reading = readResult(entry, ended.value);
        body = reading instanceof Promise ? await reading : reading;
      }
    } catch (error) {
      isAroundsOwn = isAroundError(error);
      body = isAroundsOwn
        ? aroundFailure(error as ToolError, run.attempts > 0, exposeErrors)
        : failure(error);
    }
    this.#tools.dropCached(entry);
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

  #routerFor(entry: ToolEntry): ProviderRouter {
    const existing = this.#routers.get(entry.name);
    if (existing?.entry === entry) return existing.router;
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
}
