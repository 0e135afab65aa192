import { systemClock, type Clock } from '../core/clock.js';
import { DangerLevel } from '../core/enums.js';
import { ToolError } from '../core/errors.js';
import { LIMITS } from '../core/limits.js';
import { Listeners } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { HealthLog } from '../providers/rolling-health.js';
import { RollingHealth } from '../providers/rolling-health.js';
import { SharedHealth } from '../providers/shared-health.js';
import type { ProviderSnapshot } from '../providers/provider.js';
import { isAvailable } from '../registry/tool-filter.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { Approvals, type Approval } from '../safety/approvals.js';
import type { CheckedCall, Confirm, Decision, OutcomeBody, PendingApproval, Policy, ToolCall, ToolOutcome } from '../safety/calls.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import { storeInTime } from '../state/store-in-time.js';
import { checkInput } from '../tool/input/check-input.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { askPolicies, CallChecker, type AcceptedInput, type DatedDecision } from './call-checker.js';
import { cacheFrame, isCacheable, ResultCache } from './cache/result-cache.js';
import { checkExecutorOptions, type CheckedOptions, type ExecuteOptions, type ToolExecutorOptions } from './executor-options.js';
import { Budgets } from './limits/budgets.js';
import { AbandonedCalls, type AbandonedCall } from './limits/abandoned-calls.js';
import { Concurrency } from './limits/concurrency.js';
import { RepeatGuard } from './limits/repeat-guard.js';
import { planExecution, type ExecutionPlan } from './plan-execution.js';
import { ApprovalDesk, BatchConfirmations } from './approval-desk.js';
import { CallWorker, type RunnableCall } from './run/call-worker.js';
import { failure } from './run/failure.js';
import { HandlerRunner } from './run/handler-runner.js';
import { copyAllOptions, copyCalls, copyOptions, type CheckOptions, type ExecuteAllOptions } from './run/copy-request.js';
import { observeCall } from './run/observe-call.js';
import { RunningCall } from './run/running-call.js';
import { assertWanted, untilAborted } from './run/with-deadline.js';

/** What would happen to a call. */
export type DryRun = {
  readonly callId: string;
  readonly toolName: string;
  readonly decision: Decision;
  /** Why the input is refused; missing when it is fine. */
  readonly refused?: string;
};

/**
 * Runs tools safely: checked input, the policy's decision, a person's yes where one is needed, cached answers, budgets,
 * limits, deadlines, retries.
 *
 * Whatever a tool or a model does wrong is an outcome; `execute` does not throw. Calls and decisions are told as events.
 *
 * ```ts
 * import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
 * import { z } from 'zod';
 *
 * const registry = new ToolMetadataRegistry();
 * registry.register(defineTool({
 *   name: 'greet', description: 'Greets somebody', inputSchema: z.object({ name: z.string() }),
 *   accessMode: AccessMode.READONLY, execute: ({ name }) => `Hello, ${name}`,
 * }));
 * const executor = new ToolExecutor({ registry });
 * const outcome = await executor.execute({ id: '1', name: 'greet', input: { name: 'Ada' } });
 * outcome.status; // → 'ok'
 * ```
 */
export class ToolExecutor {
  /** Success rates and latencies of the tools that were called, and of their providers. */
  readonly health: HealthLog;

  readonly #options: CheckedOptions;
  readonly #registry: ToolMetadataRegistry;
  readonly #policy: Policy;
  readonly #clock: Clock;
  readonly #listeners = new Listeners<ToolEvent>();
  readonly #state: StateStore;
  readonly #desk: ApprovalDesk;
  readonly #worker: CallWorker;
  readonly #budgets: Budgets | undefined;
  readonly #abandoned: AbandonedCalls;
  readonly #cache: ResultCache;
  readonly #repeats: RepeatGuard;
  readonly #runner: HandlerRunner;
  readonly #checker: CallChecker;
  /** Functions that ask by the executor's own `confirm`. */
  readonly #askOwn = new WeakSet<Confirm>();
  /** To be closed with the executor: it writes what is left. */
  readonly #ownHealth: SharedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: ToolExecutorOptions) {
    const checked = (this.#options = checkExecutorOptions(options));
    const { registry, clock = systemClock, random = Math.random, env } = checked;
    this.#registry = registry;
    this.#clock = clock;
    this.#policy = checked.policy ?? new SafetyPolicy(env === undefined ? { registry } : { registry, env });
    const store = checked.store && storeInTime(checked.store, clock);
    const state = (this.#state = store ?? new MemoryStateStore({ clock }));
    const approvals = new Approvals({ store: state, clock, ttlMs: checked.approvalTtlMs, ...(checked.approvalKey && { key: checked.approvalKey }) });
    this.#desk = new ApprovalDesk({ approvals, listeners: this.#listeners, clock, ttlMs: checked.approvalTtlMs });
    this.#budgets = checked.budgets.length === 0 ? undefined : new Budgets(checked.budgets, state, clock);
    this.#cache = new ResultCache({ store, clock, registry, maxEntries: checked.cacheEntries, maxSize: checked.cacheSize });
    this.#repeats = new RepeatGuard(checked.maxRepeats);
    const shared = checked.health === undefined && store !== undefined ? new SharedHealth({ store, clock }) : undefined;
    this.health = checked.health ?? shared ?? new RollingHealth({ clock });
    this.#ownHealth = shared;
    const { timeoutMs, maxAttempts, providers = {} } = checked;
    const factories = providers instanceof Map ? providers : new Map(Object.entries(providers));
    this.#runner = new HandlerRunner({ clock, random, timeoutMs, maxAttempts, providers: factories, health: this.health, store, env, routing: checked.routing, onEvent: (event) => this.#listeners.tell(event) });
    this.#checker = new CallChecker({ registry, policy: this.#policy, clock, env, isRouted: (entry) => this.#runner.isRouted(entry) });
    const concurrency = new Concurrency(checked.maxConcurrent, checked.maxConcurrentPerTool ?? checked.maxConcurrent);
    this.#abandoned = new AbandonedCalls({ clock, graceMs: checked.graceMs, max: checked.maxAbandoned });
    this.#worker = new CallWorker({ clock, timeoutMs, concurrency, abandoned: this.#abandoned, exposeErrors: checked.exposeErrors, budgets: this.#budgets, approvals: this.#desk, runner: this.#runner, cache: this.#cache, health: this.health, registry });
    this.#stopWatchingStore = store?.onAvailability((available) => this.#listeners.tell({ type: available ? 'state-available' : 'state-unavailable', at: clock.now() }));
  }

  /** The tools that can be called. */
  get registry(): ToolMetadataRegistry {
    return this.#registry;
  }

  /** Calls the function with every event, until the returned function is called. */
  on(listener: (event: ToolEvent) => void): () => void {
    if (typeof listener !== 'function') throw new ToolError('INVALID_ARGUMENT', 'Expected a function that hears all events, found something else; look at the type of the event in it');
    return this.#listeners.add(listener);
  }

  /** Makes one call, and says what became of it. A `CheckedCall` of this executor is not checked again, see `check`. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolOutcome> {
    const running = new RunningCall(call, options, this.#clock, this.#listeners);
    return this.#observed(running, async () => {
      const checked = this.#checker.unseal(call, running);
      let body: OutcomeBody;
      try {
        body = checked === undefined ? await this.#carryOut(running) : await this.#decide(running, checked.accepted, checked.dated);
      } catch (error) {
        body = failure(error);
      }
      return running.settle(body);
    });
  }

  /**
   * Checks a call and asks the policy, for programs that ask or show something before the call runs.
   *
   * `execute` then runs it without copying, checking or deciding again, once, as long as the tool is the same and the
   * context (principal, scopes, persona, conversation, mode, policy) too; a decision counts for five seconds, after which the policy
   * is asked again. In all other cases, and with an `approval`, it makes a whole pass. Nothing else need be remembered.
   *
   * @returns a `CheckedCall`, whose `decision` is `allow` or `confirm`; or the call's outcome (`status` other than `checked`)
   * when it is over already: `denied`, or an `error` such as a refused input.
   */
  async check(call: ToolCall, options: CheckOptions = {}): Promise<CheckedCall | ToolOutcome> {
    const running = new RunningCall(call, options, this.#clock, this.#listeners);
    const end = (body: OutcomeBody) => this.#observed(running, () => Promise.resolve(running.settle(body)));
    try {
      const accepted = await this.#accept(running);
      const dated = await this.#checker.decide(running, accepted);
      if (dated.decision.verdict === 'deny') return await end(denied(dated.decision));
      assertUsable(running, accepted.entry);
      return this.#checker.seal(running, accepted, dated);
    } catch (error) {
      return end(failure(error));
    }
  }

  /**
   * Makes several calls as `planExecution` orders them, and gives their outcomes in the order of the calls.
   *
   * A call that ends as `approval_required` holds up no other, also none that was to run after it: a read then sees what was
   * there before the write. With `confirm` the person is asked about one call after the other, and later batches wait.
   *
   * @throws ToolError `INVALID_ARGUMENT` when the calls are no list, or two have the same id.
   */
  async executeAll(calls: readonly ToolCall[], all: ExecuteAllOptions = {}): Promise<readonly ToolOutcome[]> {
    const { approvals, onOutcome, ...options } = copyAllOptions(all);
    const own = copyCalls(calls);
    const ids = new Set(own.map(({ id }) => id));
    if (ids.size < own.length) throw new ToolError('INVALID_ARGUMENT', `Expected ${own.length} calls with different ids, found ${ids.size} ids; outcomes could not be told apart`);
    const { batches } = planExecution(this.#registry, await this.#checker.plannable(own));
    const approvalOf = new Map(approvals.map((approval) => [approval.callId, approval]));
    const outcomes: ToolOutcome[] = new Array<ToolOutcome>(own.length);
    const confirm = options.confirm ?? this.#options.confirm;
    for (const batch of batches) {
      const person = confirm === undefined ? undefined : new BatchConfirmations(confirm, batch.length);
      await Promise.all(
        batch.map(async (position, index) => {
          const call = own[position]!;
          const approval = approvalOf.get(call.id);
          const ask = person?.confirmFor(index);
          if (ask !== undefined && options.confirm === undefined) this.#askOwn.add(ask);
          const outcome = await this.execute(call, { ...options, ...(approval && { approval }), ...(ask && { confirm: ask }) });
          outcomes[position] = outcome;
          person?.end(index);
          await onOutcome?.(outcome);
        }),
      );
    }
    return Object.freeze(outcomes);
  }

  /**
   * Which of some calls would run together, judged by their input as the tools' schemas give it.
   *
   * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls.
   */
  async plan(calls: readonly ToolCall[]): Promise<ExecutionPlan> {
    return planExecution(this.#registry, await this.#checker.plannable(copyCalls(calls)));
  }

  /** What the policy would decide for each of some calls, and which inputs would be refused. Nothing is run, asked or told. */
  async dryRun(calls: readonly ToolCall[], options: ExecuteOptions = {}): Promise<readonly DryRun[]> {
    const context = copyOptions(options);
    return Promise.all(
      copyCalls(calls).map(async (call) => {
        const entry = this.#registry.get(call.name);
        const checked = entry === undefined ? undefined : await checkInput(entry, call.input);
        const input = checked?.ok === true ? checked.value : call.input;
        const decision = await askPolicies(this.#policy, { id: call.id, name: call.name, input }, entry, context, this.#clock);
        const dryRun = { callId: call.id, toolName: entry?.name ?? call.name, decision };
        return Object.freeze(checked?.ok === false ? { ...dryRun, refused: checked.error.message } : dryRun);
      }),
    );
  }

  /**
   * Records a person's yes to a pending call. The approval lets exactly that call run, once, from any process.
   *
   * @param edited other arguments than those asked for, if the person changed them.
   * @throws ToolError `INVALID_APPROVAL` when the pending call was changed, has expired or is answered already; `STATE_UNAVAILABLE`.
   */
  async approve(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    return this.#desk.approve(pending, edited);
  }

  /**
   * Records a person's no to a pending call.
   *
   * @throws ToolError as `approve` does.
   */
  async deny(pending: PendingApproval): Promise<void> {
    await this.#desk.deny(pending);
  }

  /** Where others find what is granted, counted and claimed here; `undefined` when no `store` was given. */
  get sharedStore(): StateStore | undefined {
    return this.#options.store === undefined ? undefined : this.#state;
  }

  /** Claims a deed for 24 days among all who share the store. @returns whether nobody did before. @throws ToolError `STATE_UNAVAILABLE`, also when the store has another `identity`. */
  async claim(deed: Json, identity?: string): Promise<boolean> {
    return this.#state.compareAndSet(`claim:${digestOf(deed)}`, undefined, 'claimed', { ttlMs: LIMITS.timerMs, ...(identity !== undefined && { identity }) });
  }

  /** Forgets which calls were repeated in a conversation: something was said in it, after which equal calls are no loop. */
  resetRepeats(conversationId: string): void {
    this.#repeats.forget(conversationId);
  }

  /** The calls that were given up and whose work still runs after the grace, the longest first. */
  abandoned(): readonly AbandonedCall[] {
    return this.#abandoned.list();
  }

  /**
   * Lets other calls run as if the work of an abandoned call had ended; it goes on uncounted. @returns whether there was one.
   *
   * @param call its id, or the call as `abandoned()` lists it: ids are unique within a conversation.
   * @throws ToolError `INVALID_ARGUMENT` for an id that several abandoned calls have.
   */
  release(call: string | AbandonedCall): boolean {
    return this.#abandoned.release(call);
  }

  /** How the providers of a tool are, as the last calls showed them; empty for tools that have none or were not called. */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#runner.providers(this.#registry.get(toolName)?.name ?? toolName);
  }

  /**
   * Lets a principal or conversation spend its budgets anew; without one, accepts that the store has lost what was spent.
   *
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async resetBudgets(owner?: string): Promise<void> {
    await this.#budgets?.reset(owner);
  }

  /** Writes what is left to be shared, and stops listening to the store. Calls that run are not stopped; the store is not closed. */
  async close(): Promise<void> {
    this.#stopWatchingStore?.();
    this.#cache.close();
    await this.#runner.close();
    await this.#ownHealth?.close();
  }

  /** A call that ends, with telemetry around it where there is some. */
  async #observed(running: RunningCall, settle: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const { telemetry } = this.#options;
    if (telemetry === undefined) return settle();
    const entry = this.#registry.get(running.call.name);
    return observeCall({ call: running.call, entry, telemetry, clock: this.#clock, timeoutMs: entry?.timeoutMs ?? this.#options.timeoutMs }, (passedMs) => ((running.watchedMs = passedMs), settle()));
  }

  async #carryOut(running: RunningCall): Promise<OutcomeBody> {
    return this.#decide(running, await this.#accept(running));
  }

  async #accept(running: RunningCall): Promise<AcceptedInput> {
    if (running.refused !== undefined) {
      running.tellDecision({ verdict: 'deny', rule: 'invalid-options', reason: 'the options of the call are refused', danger: DangerLevel.CRITICAL });
      throw running.refused;
    }
    const pass = this.#checker.pass(running.call);
    return this.#checker.accept(running, pass instanceof Promise ? await pass : pass);
  }

  /** @param before a decision that still counts. */
  async #decide(running: RunningCall, accepted: AcceptedInput, before?: DatedDecision): Promise<OutcomeBody> {
    const { call, options } = running;
    const { entry, raw } = accepted;
    const dated = before ?? (await this.#checker.decide(running, accepted));
    const { decision } = dated;
    if (decision.verdict === 'deny') return denied(decision);
    assertUsable(running, entry);
    const asked = { callId: call.id, toolName: entry.name, definitionDigest: entry.digest, principal: options.principal, conversationId: options.conversationId, input: raw };
    let approval = options.approval === undefined ? undefined : this.#desk.verify(running, options.approval, asked, entry);
    // A manual call is a person's work already.
    if (approval === undefined && decision.verdict === 'confirm' && !entry.manual) {
      this.#worker.assertIdle(entry); // Before the user is asked for nothing.
      const answer = await this.#desk.ask(running, asked, entry, decision, this.#confirmOf(options.confirm));
      if ('outcome' in answer) return answer.outcome;
      const { edited } = answer.granted;
      approval = answer.granted.approval;
      running.useApproval(approval, edited === undefined ? raw : edited.input, edited !== undefined);
      // Other arguments, or another tool, are another call.
      if (edited !== undefined || !this.#checker.isCurrent(accepted, call.name)) return this.#carryOut(running);
      if (!this.#checker.isRecent(dated)) return this.#decide(running, accepted);
      assertUsable(running, entry);
    }
    let turned: DatedDecision | undefined;
    const forbiddenNow = async () => {
      const now = await this.#checker.decide(running, accepted);
      const { verdict } = now.decision;
      if (verdict === 'confirm' && approval === undefined) turned = now;
      return verdict === 'deny' || turned !== undefined ? denied(now.decision) : undefined;
    };
    const isStale = (waited: boolean) => (waited && approval !== undefined) || !this.#checker.isRecent(dated);
    const body = await this.#run(running, { ...accepted, approval, isStale, forbiddenNow, assertCurrent: () => this.#checker.assertCurrent(accepted, call.name, approval !== undefined) });
    // Nothing was run: approval is asked for without a place being taken up.
    return turned === undefined ? body : this.#decide(running, accepted, turned);
  }

  /** Who is asked: the call's own `confirm`, and the executor's when there is none or it leaves the call waiting. */
  #confirmOf(given: Confirm | undefined): Confirm | undefined {
    const { confirm: own } = this.#options;
    if (given === undefined || own === undefined || this.#askOwn.has(given)) return given ?? own;
    return async (pending, options) => {
      const answer = await given(pending, options);
      return answer === 'later' ? own(pending, options) : answer;
    };
  }

  async #run(running: RunningCall, runnable: RunnableCall): Promise<OutcomeBody> {
    const { entry, raw, input, approval } = runnable;
    const { conversationId, signal } = running.options;
    if (entry.manual) {
      await this.#cache.dropAfter(entry); // Nobody tells when the person does it.
      return { status: 'manual', pending: running.pending('manual', entry, raw) };
    }
    if (conversationId !== undefined && !this.#repeats.admit(conversationId, entry, raw)) {
      throw new ToolError('LOOP_DETECTED', `Expected progress, found ${this.#options.maxRepeats} equal calls of ${entry.name} before this one; use what they answered, or try something else`);
    }
    this.#runner.assertExecutable(entry);
    const work = () => this.#worker.work(running, runnable);
    if (approval !== undefined || this.#options.cacheEntries === 0 || !isCacheable(entry)) return (await work()).result;
    const frame = cacheFrame(entry, input, running.options, (reason) => running.tellCacheSkipped(reason));
    if (frame === undefined) return (await work()).result;
    const answer = await untilAborted(this.#cache.answer(entry, raw, frame, work), signal, entry.name);
    if (!answer.hit) return answer.result;
    running.cached = true;
    return { status: 'ok', value: answer.value };
  }
}

/** @throws ToolError `ABORTED` when the caller has given up, `TOOL_UNAVAILABLE`. */
function assertUsable({ options }: RunningCall, entry: ToolEntry): void {
  assertWanted(options.signal, entry.name);
  if (!isAvailable(entry)) throw new ToolError('TOOL_UNAVAILABLE', `Expected ${entry.name} to be available, found that its availability check says no; use another tool`);
}

function denied({ reason, rule, danger }: Decision): OutcomeBody {
  return { status: 'denied', reason, rule, danger };
}
