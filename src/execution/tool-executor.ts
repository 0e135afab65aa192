import { randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '../core/clock.js';
import { DangerLevel } from '../core/enums.js';
import { isWriting } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { Listeners } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import { suggestNames } from '../core/suggest-names.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { HealthLog } from '../providers/health/health-samples.js';
import { RollingHealth } from '../providers/health/rolling-health.js';
import { SharedHealth } from '../providers/health/shared-health.js';
import { isAvailable } from '../registry/tool-filter.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { Approvals, type Approval } from '../safety/approvals.js';
import type { Decision, Policy } from '../safety/decision.js';
import type { PendingApproval } from '../safety/pending.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import type { ToolCall } from '../safety/tool-call.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import { checkInput } from '../tool/input/check-input.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { isCacheable, ResultCache, type Worked } from './cache/result-cache.js';
import { checkOptions, type CheckedOptions, type ExecuteOptions, type ToolExecutorOptions } from './executor-options.js';
import { Budgets } from './limits/budgets.js';
import { Concurrency } from './limits/concurrency.js';
import { RepeatGuard } from './limits/repeat-guard.js';
import { planExecution, type ExecutionPlan } from './plan-execution.js';
import { askPerson } from './run/ask-person.js';
import { askPolicy } from './run/ask-policy.js';
import { failure } from './run/failure.js';
import { HandlerRunner } from './run/handler-runner.js';
import { readCalls } from './run/read-request.js';
import { readResult } from './run/read-result.js';
import { RunningCall } from './run/running-call.js';
import { aborted, assertWanted, untilAborted } from './run/until-aborted.js';
import type { OutcomeBody, ToolOutcome } from './tool-outcome.js';

export interface ExecuteAllOptions extends Omit<ExecuteOptions, 'approval' | 'idempotencyKey'> {
  /** Yeses to some of the calls; each finds its call by `callId`. */
  readonly approvals?: readonly Approval[];
}

/** What would happen to a call. */
export interface DryRun {
  readonly callId: string;
  readonly toolName: string;
  readonly decision: Decision;
  /** Why the input is refused; missing when it is fine. */
  readonly refused?: string;
}

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
  readonly #approvals: Approvals;
  readonly #budgets: Budgets | undefined;
  readonly #cache: ResultCache;
  readonly #concurrency: Concurrency;
  readonly #repeats: RepeatGuard;
  readonly #runner: HandlerRunner;
  /** To be closed with the executor: it writes what is left. */
  readonly #ownHealth: SharedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: ToolExecutorOptions) {
    const checked = (this.#options = checkOptions(options));
    const { registry, store, clock = systemClock, random = Math.random, env } = checked;
    this.#registry = registry;
    this.#clock = clock;
    this.#policy = checked.policy ?? new SafetyPolicy(env === undefined ? { registry } : { registry, env });
    const state = store ?? new MemoryStateStore({ clock });
    this.#approvals = new Approvals({ store: state, clock, ...(checked.approvalKey && { key: checked.approvalKey }), ...(checked.approvalTtlMs && { ttlMs: checked.approvalTtlMs }) });
    this.#budgets = checked.budgets.length === 0 ? undefined : new Budgets(checked.budgets, state, clock);
    this.#cache = new ResultCache({ store, clock, maxEntries: checked.cacheEntries, maxSize: checked.cacheSize });
    this.#concurrency = new Concurrency(checked.maxConcurrent, checked.maxConcurrentPerTool ?? checked.maxConcurrent);
    this.#repeats = new RepeatGuard(checked.maxRepeats);
    const shared = checked.health === undefined && store !== undefined ? new SharedHealth({ store, clock }) : undefined;
    this.health = checked.health ?? shared ?? new RollingHealth({ clock });
    this.#ownHealth = shared;
    const { timeoutMs, maxAttempts, providers = {} } = checked;
    const factories = providers instanceof Map ? providers : new Map(Object.entries(providers));
    this.#runner = new HandlerRunner({ clock, random, timeoutMs, maxAttempts, providers: factories, health: this.health, store, env, onEvent: (event) => this.#listeners.tell(event) });
    this.#stopWatchingStore = store?.onAvailability((available) => this.#listeners.tell({ type: available ? 'state-available' : 'state-unavailable', at: clock.now() }));
  }

  /** Calls the function with every event, until the returned function is called. */
  on(listener: (event: ToolEvent) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Makes one call, and says what became of it. */
  async execute(call: ToolCall, options: ExecuteOptions = {}): Promise<ToolOutcome> {
    const running = new RunningCall(call, options, this.#clock, this.#listeners);
    const { telemetry } = this.#options;
    if (telemetry === undefined) return this.#settle(running);
    return telemetry.around(running.call, this.#registry.get(running.call.name), () => this.#settle(running));
  }

  /**
   * Makes several calls as `planExecution` orders them, and gives their outcomes in the order of the calls.
   *
   * A call that waits for a person holds up no other.
   *
   * @throws ToolError `INVALID_ARGUMENT` when the calls are no list, or two have the same id.
   */
  async executeAll(calls: readonly ToolCall[], { approvals = [], ...options }: ExecuteAllOptions = {}): Promise<readonly ToolOutcome[]> {
    const own = readCalls(calls);
    const ids = new Set(own.map(({ id }) => id));
    if (ids.size < own.length) throw new ToolError('INVALID_ARGUMENT', `Expected ${own.length} calls with different ids, found ${ids.size} ids; outcomes could not be told apart`);
    const { batches } = await this.#plan(own);
    const approvalOf = new Map(approvals.map((approval) => [approval.callId, approval]));
    const outcomes: ToolOutcome[] = new Array<ToolOutcome>(own.length);
    for (const batch of batches) {
      await Promise.all(
        batch.map(async (position) => {
          const call = own[position]!;
          const approval = approvalOf.get(call.id);
          outcomes[position] = await this.execute(call, approval === undefined ? options : { ...options, approval });
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
    return this.#plan(readCalls(calls));
  }

  /** What the policy would decide for each of some calls, and which inputs would be refused. Nothing is run, asked or told. */
  async dryRun(calls: readonly ToolCall[], options: ExecuteOptions = {}): Promise<readonly DryRun[]> {
    return Promise.all(
      readCalls(calls).map(async (call) => {
        const entry = this.#registry.get(call.name);
        const checked = entry === undefined ? undefined : await checkInput(entry, call.input);
        const input = checked?.ok === true ? checked.value : call.input;
        const decision = await askPolicy(this.#policy, { id: call.id, name: call.name, input }, options, this.#clock);
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
    const approval = await this.#approvals.grant(pending, edited);
    this.#tellAnswer(pending, 'granted');
    return approval;
  }

  /**
   * Records a person's no to a pending call.
   *
   * @throws ToolError as `approve` does.
   */
  async deny(pending: PendingApproval): Promise<void> {
    await this.#approvals.deny(pending);
    this.#tellAnswer(pending, 'denied');
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

  async #settle(running: RunningCall): Promise<ToolOutcome> {
    let body: OutcomeBody;
    try {
      body = await this.#carryOut(running);
    } catch (error) {
      body = failure(error);
    }
    return running.settle(body);
  }

  async #carryOut(running: RunningCall): Promise<OutcomeBody> {
    const { call } = running;
    if (running.refused !== undefined) {
      running.tellDecision({ verdict: 'deny', rule: 'invalid-options', reason: 'the options of the call are refused', danger: DangerLevel.CRITICAL });
      throw running.refused;
    }
    const entry = this.#registry.get(call.name);
    if (entry === undefined) {
      running.tellDecision({ verdict: 'deny', rule: 'unknown-tool', reason: 'there is no tool of this name', danger: DangerLevel.CRITICAL });
      const names = suggestNames(call.name, [...this.#registry].map(({ name }) => name));
      throw new ToolError('TOOL_NOT_FOUND', `Expected the name of a known tool, found ${JSON.stringify(call.name.slice(0, 128))}${names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`}`);
    }
    running.toolName = entry.name;
    const answer = checkInput(entry, call.input);
    const checked = answer instanceof Promise ? await answer : answer;
    if (!checked.ok) {
      running.tellDecision({ verdict: 'deny', rule: 'invalid-input', reason: 'the input is refused', danger: entry.dangerLevel });
      throw checked.error;
    }
    return this.#decide(running, entry, checked.raw, checked.value);
  }

  /** @param raw the input as it was given: what approvals and caches are bound to. @param input as the schema gives it. */
  async #decide(running: RunningCall, entry: ToolEntry, raw: Json, input: unknown): Promise<OutcomeBody> {
    const { call, options } = running;
    const decision = await askPolicy(this.#policy, { id: call.id, name: entry.name, input }, options, this.#clock, options.signal);
    running.tellDecision(decision);
    if (decision.verdict === 'deny') return { status: 'denied', reason: decision.reason, rule: decision.rule, danger: decision.danger };
    if (!isAvailable(entry)) throw new ToolError('TOOL_UNAVAILABLE', `Expected ${entry.name} to be available, found that its availability check says no; use another tool`);
    const approved = { callId: call.id, toolName: entry.name, definitionDigest: entry.digest, principal: options.principal, input: raw };
    if (options.approval !== undefined) {
      const approval = options.approval;
      const genuine = running.orTellRefused(approval, () => this.#approvals.verify(approval, approved));
      return this.#run(running, entry, raw, input, genuine);
    }
    // A manual call is a person's work already.
    if (decision.verdict === 'allow' || entry.manual) return this.#run(running, entry, raw, input);
    const pending = await this.#approvals.request(approved, decision, options.conversationId);
    running.tellApproval('requested', pending.id);
    const confirm = options.confirm ?? this.#options.confirm;
    if (confirm === undefined) return { status: 'approval_required', pending };
    const answer = await untilAborted(askPerson(confirm, pending, options.signal), options.signal, entry.name);
    if (!answer.yes) {
      await this.deny(pending);
      return { status: 'denied', reason: 'a person said no', rule: 'confirmation', danger: decision.danger };
    }
    // A person takes their time: tool, policy and arguments are looked at again.
    running.useApproved(answer.edited === undefined ? raw : answer.edited.input, await this.approve(pending, answer.edited));
    return this.#carryOut(running);
  }

  async #run(running: RunningCall, entry: ToolEntry, raw: Json, input: unknown, approval?: Approval): Promise<OutcomeBody> {
    const { conversationId, principal, signal } = running.options;
    if (entry.manual) return { status: 'manual', pending: running.pending('manual', entry, raw) };
    if (conversationId !== undefined && !this.#repeats.admit(conversationId, entry, raw)) {
      throw new ToolError('LOOP_DETECTED', `Expected progress, found ${this.#options.maxRepeats} equal calls of ${entry.name} before this one; use what they answered, or try something else`);
    }
    this.#runner.assertExecutable(entry);
    const work = () => this.#work(running, entry, raw, input, approval);
    if (approval !== undefined || this.#options.cacheEntries === 0 || !isCacheable(entry)) return (await work()).result;
    const answer = await untilAborted(this.#cache.answer(entry, raw, principal, work), signal, entry.name);
    if (!answer.hit) return answer.result;
    running.cached = true;
    return { status: 'ok', value: answer.value };
  }

  async #work(running: RunningCall, entry: ToolEntry, raw: Json, input: unknown, approval: Approval | undefined): Promise<Worked<OutcomeBody>> {
    const { options } = running;
    const leave = await this.#concurrency.enter(entry.name, entry.allowParallel !== true, options.signal);
    if (leave === undefined) throw aborted(entry.name);
    try {
      // Nothing is spent or used up for a call that is not going to run.
      assertWanted(options.signal, entry.name);
      if (approval !== undefined && this.#budgets !== undefined) await running.orTellRefused(approval, () => this.#approvals.assertUnused(approval));
      await this.#budgets?.reserve(entry, options);
      assertWanted(options.signal, entry.name);
      if (approval !== undefined) await this.#redeem(running, approval);
      assertWanted(options.signal, entry.name);
      const result = await this.#start(running, entry, raw, input, approval !== undefined);
      return { result, keep: result.status === 'ok', value: result.status === 'ok' ? result.value : undefined };
    } finally {
      leave();
    }
  }

  async #redeem(running: RunningCall, approval: Approval): Promise<void> {
    await running.orTellRefused(approval, () => this.#approvals.redeem(approval));
    running.tellApproval('redeemed', approval.pendingId);
  }

  async #start(running: RunningCall, entry: ToolEntry, raw: Json, input: unknown, approved: boolean): Promise<OutcomeBody> {
    const { options } = running;
    const startedAt = this.#clock.elapsed();
    running.tellStarted();
    const drop = () => this.#cache.dropAfter(entry);
    const context = running.contextFor(isWriting(entry.accessMode) ? (options.idempotencyKey ?? idempotencyKey(running, entry, raw)) : undefined);
    let result: OutcomeBody;
    try {
      const returned = await this.#runner.run({
        entry,
        input,
        context,
        signal: options.signal,
        approved,
        onAttempt: () => void running.attempts++,
        onProvider: (provider) => void (running.provider = provider),
        onLate: () => {
          running.tellLate();
          void drop();
        },
      });
      result = readResult(returned, (question, choices) => running.pending('question', entry, raw, question, choices));
    } catch (error) {
      result = failure(error);
    } finally {
      await drop();
    }
    if (running.provider === undefined) this.health.record({ kind: 'tool', name: entry.name, success: result.status !== 'error', latencyMs: this.#clock.elapsed() - startedAt });
    return result;
  }

  async #plan(calls: readonly ToolCall[]): Promise<ExecutionPlan> {
    return planExecution(await Promise.all(calls.map((call) => this.#withCheckedInput(call))), this.#registry);
  }

  async #withCheckedInput(call: ToolCall): Promise<ToolCall> {
    const entry = this.#registry.get(call?.name);
    if (entry?.conflictKeys === undefined) return call;
    const checked = await checkInput(entry, call.input);
    return checked.ok ? { id: call.id, name: call.name, input: checked.value } : call;
  }

  #tellAnswer({ callId, toolName, principal, conversationId, id: pendingId }: PendingApproval, state: 'granted' | 'denied'): void {
    this.#listeners.tell({ type: 'approval', state, pendingId, callId, toolName, at: this.#clock.now(), ...(principal !== undefined && { principal }), ...(conversationId !== undefined && { conversationId }) });
  }
}

/** Derived where a call has an identity that lasts, so that a repetition after a crash carries the same key. */
function idempotencyKey({ call, options }: RunningCall, entry: ToolEntry, raw: Json): string {
  if (options.conversationId === undefined) return randomUUID();
  return digestOf([options.principal ?? null, options.conversationId, call.id, entry.name, raw]);
}
