import { z } from 'zod';
import { randomBytes } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { invalidArgument } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { FLOW_LABELS, type Flow, type FlowLabel } from '../core/flow.js';
import { announce, Listeners } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { HealthLog } from '../providers/rolling-health.js';
import { RollingHealth } from '../providers/rolling-health.js';
import { PublishedHealth } from '../providers/published-health.js';
import type { ProviderSnapshot } from '../providers/provider.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { Approvals, type Approval } from '../safety/approvals.js';
import type {
  CheckedCall,
  Confirm,
  Decision,
  OutcomeBody,
  PendingApproval,
  ToolOutcome,
  GrantScope,
} from '../safety/calls.js';
import { flowAfter } from '../safety/call-flow.js';
import { grantChoices, Grants, type Grant, type GrantChoice } from '../safety/grants.js';
import { Signer } from '../safety/signer.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import { checkInput } from '../tool/check-input.js';
import { countApprovals, type ApprovalMetrics } from './approval-metrics.js';
import { ApprovalDesk, BatchConfirmations } from './approval-desk.js';
import { CallChecker } from './call-checker.js';
import {
  checkExecutorOptions,
  type CheckOptions,
  type ExecuteAllOptions,
  type ExecuteOptions,
  type ExecutorFrame,
  type ToolExecutorOptions,
} from './executor-options.js';
import { Arounds, type Around } from './around.js';
import { ConversationFlow, flowSchema } from './conversation-flow.js';
import { Budgets } from './budgets.js';
import { RepeatGuard } from './repeat-guard.js';
import { planExecution, type ExecutionPlan, type PlannableCall } from './plan-execution.js';
import { ResultCache } from './result-cache.js';
import { assertUsable, CallPass, denied } from './call-pass.js';
import { CallWorker } from './call-worker.js';
import { Places, type AbandonedCall } from './places.js';
import { failure } from './read-result.js';
import { copyAllOptions, copyCalls, copyOptions, RunningCall } from './running-call.js';
import { observeCall } from './telemetry.js';

/** The result that a call would have. */
export type DryRun = Awaited<ReturnType<ToolExecutor['dryRun']>>[number];

/**
 * Runs tools safely: checked input, the policy's decision, a user's approval where one is needed, cached answers, budgets,
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
 *   name: 'greet', description: 'Greets a user', inputSchema: z.object({ name: z.string() }),
 *   accessMode: AccessMode.READONLY, execute: ({ name }) => `Hello, ${name}`,
 * }));
 * const executor = new ToolExecutor({ registry });
 * const outcome = await executor.execute({ id: '1', name: 'greet', input: { name: 'Ada' } });
 * outcome.status; // → 'ok'
 * ```
 */
export class ToolExecutor {
  /** The counts of approvals since this executor was made. */
  readonly metrics: { readonly approvals: ApprovalMetrics };
  /** Success rates and latencies of the tools that were called, and of their providers. */
  readonly health: HealthLog;

  readonly #frame: ExecutorFrame;
  readonly #state: StateStore;
  readonly #desk: ApprovalDesk;
  readonly #places: Places;
  readonly #worker: CallWorker;
  readonly #flows: ConversationFlow;
  readonly #grants: Grants;
  /** The labels that the conversation had before each of several calls that a model made together. */
  readonly #flowBefore = new WeakMap<object, Flow>();
  readonly #budgets: Budgets | undefined;
  readonly #cache: ResultCache;
  readonly #repeats: RepeatGuard;
  readonly #checker: CallChecker;
  readonly #pass: CallPass;
  readonly #arounds = new Arounds();
  /** Functions that ask by the executor's own `confirm`. */
  readonly #askOwn = new WeakSet<Confirm>();
  /** Health that is closed with the executor: it writes what is left. */
  readonly #ownHealth: PublishedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
  constructor(options: ToolExecutorOptions) {
    const checked = checkExecutorOptions(options);
    const {
      registry,
      clock,
      env,
      budgets,
      approvalTtlMs: ttlMs,
      approvalKey: key = randomBytes(32),
    } = checked;
    const listeners = new Listeners<ToolEvent>();
    const { store } = checked;
    this.#ownHealth =
      checked.health === undefined && store !== undefined
        ? new PublishedHealth({ store, clock })
        : undefined;
    this.health = checked.health ?? this.#ownHealth ?? new RollingHealth({ clock });
    const policy =
      checked.policy ?? new SafetyPolicy(env === undefined ? { registry } : { registry, env });
    const frame = (this.#frame = { ...checked, store, policy, health: this.health, listeners });
    this.#state = store ?? new MemoryStateStore({ clock });
    this.#grants = new Grants(this.#state, new Signer(key));
    this.#desk = new ApprovalDesk(
      frame,
      new Approvals({ store: this.#state, clock, ttlMs, key }),
      this.#grants,
    );
    const approvals = countApprovals(listeners);
    this.metrics = Object.freeze({
      get approvals() {
        return approvals();
      },
    });
    this.#budgets = budgets.length === 0 ? undefined : new Budgets(budgets, this.#state, clock);
    this.#cache = new ResultCache(frame);
    this.#repeats = new RepeatGuard(frame.maxRepeats);
    this.#places = new Places(frame);
    this.#worker = new CallWorker(frame, {
      desk: this.#desk,
      budgets: this.#budgets,
      cache: this.#cache,
      places: this.#places,
    });
    this.#flows = new ConversationFlow(frame, this.#state);
    this.#checker = new CallChecker(frame, this.#flows, this.#grants, (entry) =>
      this.#worker.isRouted(entry),
    );
    this.#pass = new CallPass(frame, {
      desk: this.#desk,
      places: this.#places,
      worker: this.#worker,
      cache: this.#cache,
      repeats: this.#repeats,
      checker: this.#checker,
      arounds: this.#arounds,
      flows: this.#flows,
      askOwn: this.#askOwn,
    });
    this.#stopWatchingStore = store?.onAvailability((available) =>
      listeners.tell({
        type: available ? 'state-available' : 'state-unavailable',
        at: clock.now(),
      }),
    );
    announce('tooldex:executor', { executor: this });
  }

  /** The tools that can be called. */
  get registry(): ToolMetadataRegistry {
    return this.#frame.registry;
  }

  /** Calls the function with every event, until the returned function is called. */
  on(listener: (event: ToolEvent) => void): () => void {
    if (typeof listener !== 'function')
      throw invalidArgument(
        'a function that hears all events',
        listener,
        'Look at the type of the event in it.',
      );
    return this.#frame.listeners.add(listener);
  }

  /**
   * Runs a function around the work of every call that is allowed, approved and not answered from the cache: to log, time or
   * redact it, or to put another result in its place. The result is then checked, kept and given as if the tool had returned it.
   *
   * Functions nest in the order of `use`, the first outermost. One that throws fails the call, and its error is not shown.
   *
   * @returns a function that removes it; calls that run keep it.
   */
  use(around: Around): () => void {
    return this.#arounds.add(around);
  }

  /** Makes one call, and says what became of it; a call without an id gets a random one. A `CheckedCall` of this executor is not checked again, see `check`. */
  async execute(call: PlannableCall, options: ExecuteOptions = {}): Promise<ToolOutcome> {
    const running = new RunningCall(call, options, this.#frame);
    running.flow = this.#flowBefore.get(call);
    return this.#observed(running, async () => {
      const checked = this.#checker.unseal(call, running);
      let body: OutcomeBody;
      try {
        body =
          checked === undefined
            ? await this.#pass.carryOut(running)
            : await this.#pass.decide(running, checked.accepted, checked.dated);
      } catch (error) {
        body = failure(error);
      }
      return running.settle(body);
    });
  }

  /**
   * Checks a call and asks the policy, for programs that ask or show something before the call runs.
   *
   * `execute` then runs it without copying, checking or deciding again, once, as long as the tool and what the policy reads of
   * the caller (principal, scopes, flags, persona, conversation, mode, policy, `context`) are the same; a decision counts for five
   * seconds, after which the policy is asked again. In all other cases, and with an `approval`, it makes a whole pass. Nothing else need be remembered.
   *
   * @returns a `CheckedCall`, whose `decision` is `allow` or `confirm`; or the call's outcome (`status` other than `checked`)
   * when it is over already: `denied`, or an `error` such as a refused input.
   */
  async check(call: PlannableCall, options: CheckOptions = {}): Promise<CheckedCall | ToolOutcome> {
    const running = new RunningCall(call, options, this.#frame);
    const end = (body: OutcomeBody) =>
      this.#observed(running, () => Promise.resolve(running.settle(body)));
    try {
      const accepted = await this.#pass.accept(running);
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
   * A call that ends as `approval_required` delays no other, not even one that was to run after it: a read then sees what was
   * there before the write. With `confirm` the user is asked about one call after the other, and later batches wait.
   *
   * @throws ToolError `INVALID_ARGUMENT` when the calls are no list, or two have the same id.
   */
  async executeAll(
    calls: readonly PlannableCall[],
    all: ExecuteAllOptions = {},
  ): Promise<readonly ToolOutcome[]> {
    const { approvals, madeWith, onOutcome, ...options } = copyAllOptions(all);
    const own = copyCalls(calls);
    const ids = new Set(own.map(({ id }) => id));
    if (ids.size < own.length)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Expected ${own.length} calls with different ids, got ${ids.size} ids. Outcomes could not be told apart.`,
      );
    const { batches } = planExecution(this.registry, await this.#checker.plannable(own));
    // What one of them reads has brought about none of the others: the model made all before it saw any answer.
    const flow =
      options.conversationId === undefined
        ? undefined
        : withoutCauses(await this.#flows.assumed(options.conversationId), madeWith);
    const approvalOf = new Map(approvals.map((approval) => [approval.callId, approval]));
    const outcomes: ToolOutcome[] = new Array<ToolOutcome>(own.length);
    const confirm = options.confirm ?? this.#frame.confirm;
    for (const batch of batches) {
      const asked =
        confirm === undefined ? undefined : new BatchConfirmations(confirm, batch.length);
      await Promise.all(
        batch.map(async (position, index) => {
          const call = own[position]!;
          const approval = approvalOf.get(call.id);
          const ask = asked?.confirmFor(index);
          if (ask !== undefined && options.confirm === undefined) this.#askOwn.add(ask);
          if (flow !== undefined) this.#flowBefore.set(call, flow);
          const outcome = await this.execute(call, {
            ...options,
            ...(approval && { approval }),
            ...(ask && { confirm: ask }),
          });
          outcomes[position] = outcome;
          asked?.end(index);
          await onOutcome?.(outcome);
        }),
      );
    }
    return Object.freeze(outcomes);
  }

  /**
   * Plans which of some calls would run together, judged by their input as the tools' schemas give it.
   *
   * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls.
   */
  async plan(calls: readonly PlannableCall[]): Promise<ExecutionPlan> {
    return planExecution(this.registry, await this.#checker.plannable(copyCalls(calls)));
  }

  /** Returns the policy's decision for each of some calls, made one after the other, and which inputs would be refused. Nothing is run, and no event is sent. */
  async dryRun(
    calls: readonly PlannableCall[],
    options: ExecuteOptions = {},
  ): Promise<
    readonly {
      readonly callId: string;
      readonly toolName: string;
      readonly decision: Decision;
      /** The reason why its input is refused. */ readonly refused?: string;
    }[]
  > {
    const context = copyOptions(options);
    let flow =
      context.conversationId === undefined ? {} : await this.#flows.assumed(context.conversationId);
    const dryRuns = [];
    for (const call of copyCalls(calls)) {
      const entry = this.registry.get(call.name);
      const checked = entry === undefined ? undefined : await checkInput(entry, call.input);
      const judged = {
        id: call.id,
        name: call.name,
        input: checked?.ok === true ? checked.value : call.input,
      };
      let decision = await this.#checker.judge(judged, entry, context, flow);
      // Without a conversation nothing is known of what was read when it runs.
      if (decision.verdict === 'allow' && context.conversationId === undefined)
        decision = await this.#checker.judge(judged, entry, context, undefined);
      if (checked?.ok === true && decision.verdict !== 'deny')
        flow = flowAfter(flow, judged, entry);
      const dryRun = { callId: call.id, toolName: entry?.name ?? call.name, decision };
      dryRuns.push(
        Object.freeze(
          checked?.ok === false ? { ...dryRun, refused: checked.error.message } : dryRun,
        ),
      );
    }
    return dryRuns;
  }

  /**
   * Records a user's approval of a pending call. It lets exactly that call run, once, from any process.
   *
   * @param edited other arguments than those asked for, if the user changed them.
   * @throws ToolError `INVALID_APPROVAL` when the pending call was changed, has expired or is answered already; `STATE_UNAVAILABLE`.
   */
  async approve(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    return this.#desk.approve(pending, edited);
  }

  /**
   * Records a user's approval of a pending call, and of further calls of its tool as far as the scope goes: those run without a
   * question, as long as the tool's definition stays, their danger is no greater and they need approval for the same reason.
   *
   * @throws ToolError as `approve` does; `INVALID_ARGUMENT` for a scope that bounds nothing.
   */
  async grant(
    pending: PendingApproval,
    scope: GrantScope,
  ): Promise<{ readonly approval: Approval; readonly grant: Grant }> {
    return this.#desk.approveMore(pending, scope);
  }

  /** Returns the scopes that a user may be offered for calls like a pending one, the narrowest first. */
  async grantChoices({
    toolName,
    input,
    rule,
    conversationId,
  }: PendingApproval): Promise<readonly GrantChoice[]> {
    const entry = this.registry.get(toolName);
    const checked = entry === undefined ? undefined : await checkInput(entry, input);
    return entry === undefined || checked?.ok !== true
      ? []
      : grantChoices(
          entry,
          checked.value,
          rule,
          conversationId !== undefined,
          (await this.#state.now()).time,
        );
  }

  /** Returns the grants that count, of all or of those that are named, the oldest first, with how often each was used. @throws ToolError `STATE_UNAVAILABLE`. */
  async grants(
    of: {
      readonly principal?: string;
      readonly conversationId?: string;
      readonly toolName?: string;
    } = {},
  ): Promise<readonly (Grant & { readonly used: number })[]> {
    const wanted = Object.entries(of).filter(([, value]) => value !== undefined);
    return Object.freeze(
      (await this.#grants.list()).filter((grant) =>
        wanted.every(([field, value]) => grant[field as keyof typeof of] === value),
      ),
    );
  }

  /** Ends a grant. @returns true if there was one. @throws ToolError `STATE_UNAVAILABLE`. */
  async revokeGrant(id: string): Promise<boolean> {
    return this.#grants.revoke(id);
  }

  /**
   * Records that a user denied a pending call.
   *
   * @throws ToolError as `approve` does.
   */
  async deny(pending: PendingApproval): Promise<void> {
    await this.#desk.deny(pending);
  }

  /** The store in which others read what is granted, counted and claimed here; `undefined` when no `store` was given. */
  get sharedStore(): StateStore | undefined {
    return this.#frame.store;
  }

  /** Claims a deed for 24 days among all who share the store. @returns true if nobody did before. @throws ToolError `STATE_UNAVAILABLE`, also when the store has another `identity`. */
  async claim(deed: Json, identity?: string): Promise<boolean> {
    return this.#state.compareAndSet(`claim:${digestOf(deed)}`, undefined, 'claimed', {
      ttlMs: LIMITS.timerMs,
      ...(identity !== undefined && { identity }),
    });
  }

  /** Returns what was read in a conversation, with the calls that brought it. @throws ToolError `STATE_UNAVAILABLE`. */
  async flow(conversationId: string): Promise<Flow> {
    return this.#flows.of(requireConversation(conversationId));
  }

  /**
   * Forgets that untrusted content or private data was read in a conversation, after a user has looked at it. Only programs call this:
   * nothing that a model or a tool answers takes a label off.
   *
   * @throws ToolError `STATE_UNAVAILABLE`, after which the labels may still be there; `INVALID_ARGUMENT` for unknown labels.
   */
  async clearFlow(
    conversationId: string,
    labels: readonly FlowLabel[] = FLOW_LABELS,
  ): Promise<void> {
    const read = z.array(z.enum(FLOW_LABELS)).safeParse(labels);
    if (!read.success) throw invalidArgument(`a list of ${FLOW_LABELS.join(' and ')}`, labels);
    await this.#flows.clear(requireConversation(conversationId), read.data);
  }

  /** Adds what is read in a conversation beside its calls, such as a document that the program puts into a message. @throws ToolError `INVALID_ARGUMENT` for what is no flow. */
  async addFlow(conversationId: string, flow: Flow): Promise<void> {
    await this.#flows.add(requireConversation(conversationId), requireFlow(flow), false);
  }

  /** Adds what was read in a conversation that was stored elsewhere, unless labels were taken off since. @throws ToolError `INVALID_ARGUMENT` for what is no flow. */
  async restoreFlow(conversationId: string, flow: Flow): Promise<void> {
    await this.#flows.add(requireConversation(conversationId), requireFlow(flow), true);
  }

  /** Forgets which calls were repeated in a conversation: something was said in it, after which equal calls are no loop. */
  resetRepeats(conversationId: string): void {
    this.#repeats.forget(conversationId);
  }

  /** The calls that were given up and whose work still runs after the grace, the longest first. */
  abandoned(): readonly AbandonedCall[] {
    return this.#places.abandoned();
  }

  /**
   * Lets other calls run as if the work of an abandoned call had ended; it goes on uncounted. @returns true if there was one.
   *
   * @param call its id, or the call as `abandoned()` lists it: ids are unique within a conversation.
   * @throws ToolError `INVALID_ARGUMENT` for an id that several abandoned calls have.
   */
  release(call: string | AbandonedCall): boolean {
    return this.#places.release(call);
  }

  /** Returns how the providers of a tool are, as the last calls showed them; empty for tools that have none or were not called. */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#worker.providers(this.registry.get(toolName)?.name ?? toolName);
  }

  /**
   * Lets a principal or conversation spend its budgets again; without one, accepts that the store has lost what was spent.
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
    await this.#ownHealth?.close();
  }

  /** Ends a call, with telemetry around it where there is some. */
  async #observed(running: RunningCall, settle: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const { telemetry } = this.#frame;
    if (telemetry === undefined) return settle();
    return observeCall(
      this.#frame,
      telemetry,
      running.call,
      this.registry.get(running.call.name),
      (passedMs) => ((running.watchedMs = passedMs), settle()),
    );
  }
}

function withoutCauses(flow: Flow, callIds: readonly string[]): Flow {
  return Object.fromEntries(
    Object.entries(flow).filter(([, { callId }]) => !callIds.includes(callId)),
  );
}

function requireConversation(conversationId: string): string {
  if (typeof conversationId !== 'string' || conversationId === '')
    throw invalidArgument('the id of a conversation', conversationId);
  return conversationId;
}

/** Returns a flow as it is now. @throws ToolError `INVALID_ARGUMENT`. */
function requireFlow(flow: unknown): Flow {
  const read = flowSchema().safeParse(flow);
  if (!read.success) throw invalidArgument('a flow as executor.flow returns it', flow);
  return read.data as Flow;
}
