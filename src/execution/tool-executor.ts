import { randomBytes } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { FLOW_LABELS, type Flow, type FlowLabel } from '../core/flow.js';
import { LIMITS } from '../core/limits.js';
import { Listeners } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ProviderSnapshot } from '../providers/provider.js';
import { RollingHealth, type HealthLog } from '../providers/rolling-health.js';
import { PublishedHealth } from '../providers/published-health.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { Approval } from '../safety/approvals.js';
import type {
  Decision,
  GrantScope,
  OutcomeBody,
  PendingApproval,
  StoredPending,
  ToolOutcome,
} from '../safety/calls.js';
import { grantChoices, Grants, type Grant, type GrantChoice } from '../safety/grants.js';
import { PendingCalls } from '../safety/pending-calls.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import { Signer } from '../safety/signer.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolDefinition } from '../tool/tool-definition.js';
import type { SchemaInput, ToolSchema } from '../tool/tool-schema.js';
import { ApprovalDesk, type Answered, type ApprovalMetrics } from './approval-desk.js';
import { Arounds, type Around } from './around.js';
import { Budgets } from './budgets.js';
import {
  assertSame,
  assertUsable,
  CallJudge,
  decideCall,
  refusal,
  type AcceptedCall,
  type DecidedCall,
} from './call-judge.js';
import { CallLog } from './call-log.js';
import { CallWorker } from './call-worker.js';
import { ConversationLabels } from './conversation-labels.js';
import { dryRun } from './dry-run.js';
import {
  checkExecutorOptions,
  type ExecuteAllOptions,
  type ExecuteOptions,
  type ExecutorFrame,
  type JudgeOptions,
  type ToolExecutorOptions,
} from './executor-options.js';
import { planCalls } from './plan-calls.js';
import { Places, type AbandonedCall, type Place } from './places.js';
import type { ExecutionPlan, PlannableCall } from './plan-execution.js';
import { previewOf } from './preview-call.js';
import { assertCall, readCall, readCalls, readOptions } from './read-call.js';
import { failure } from './read-result.js';
import { runBatches } from './run-batches.js';
import { RepeatGuard } from './repeat-guard.js';
import { ResultCache } from './result-cache.js';
import { RunningCall } from './running-call.js';
import { observeCall } from './telemetry.js';
import type { TypedOutcome } from './typed-outcome.js';
import { watchAnswers } from './watch-answers.js';
import { assertWanted, untilAborted } from './with-deadline.js';

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/**
 * Runs tools safely: validates input, asks the policy, obtains approvals, and applies caches, budgets, and retries.
 *
 * `execute` never throws: a failing tool or an invalid call from a model becomes an outcome. Listeners receive all
 * calls and decisions as events.
 *
 * ```ts
 * import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
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
  /** The number of approvals since this executor was created. */
  readonly metrics: { readonly approvals: ApprovalMetrics };
  /** The success rates and latencies of called tools and their providers. */
  readonly health: HealthLog;
  /** The calls that are waiting for a user. Use this object to list and answer the pending calls. */
  readonly pendingCalls: PendingCalls;

  readonly #frame: ExecutorFrame;
  readonly #state: StateStore;
  readonly #arounds = new Arounds();
  readonly #judge: CallJudge;
  readonly #desk: ApprovalDesk;
  readonly #grants: Grants;
  readonly #labels: ConversationLabels;
  readonly #repeats: RepeatGuard;
  readonly #cache: ResultCache;
  readonly #places: Places;
  readonly #budgets: Budgets | undefined;
  readonly #worker: CallWorker;
  /** Records calls so that other processes that share the store can read them. */
  readonly #log: CallLog | undefined;
  /** The parts that are closed together with the executor, so that pending data is written. */
  readonly #ownHealth: PublishedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;
  /** The state that a call shares with the other calls in its `executeAll`. */
  readonly #together = new WeakMap<object, (run: RunningCall) => void>();

  /** @throws ToolError `INVALID_ARGUMENT` listing every invalid option. */
  constructor(options: ToolExecutorOptions) {
    const checked = checkExecutorOptions(options);
    const { registry, clock, env, budgets, approvalTtlMs: ttlMs } = checked;
    const key = checked.approvalKey ?? randomBytes(32);
    const { store } = checked;
    this.#ownHealth =
      checked.health === undefined && store ? new PublishedHealth({ store, clock }) : undefined;
    this.health = checked.health ?? this.#ownHealth ?? new RollingHealth({ clock });
    const policy = checked.policy ?? new SafetyPolicy({ registry, ...(env && { env }) });
    const listeners = new Listeners<ToolEvent>();
    const frame = (this.#frame = { ...checked, store, policy, health: this.health, listeners });
    const state = (this.#state = store ?? new MemoryStateStore({ clock }));
    this.pendingCalls = new PendingCalls({ store: state, ttlMs, key });
    this.#grants = new Grants(state, new Signer(key));
    this.#desk = new ApprovalDesk(frame, this.pendingCalls, this.#grants);
    this.metrics = Object.freeze({ approvals: this.#desk.metrics });
    this.#labels = new ConversationLabels(state, frame);
    this.#repeats = new RepeatGuard(frame.maxRepeats);
    this.#cache = new ResultCache(frame);
    this.#places = new Places(frame);
    this.#log = store && new CallLog(store, checked.recordArguments);
    this.#budgets = budgets.length === 0 ? undefined : new Budgets(budgets, state);
    this.#worker = new CallWorker(frame, this.#places, (entry) => this.#cache.dropAfter(entry));
    this.#judge = new CallJudge(frame, this.#labels, this.#grants, (entry) =>
      this.#worker.isRouted(entry),
    );
    this.#stopWatchingStore = store?.onAvailability((isBack) =>
      listeners.tell({ type: isBack ? 'state-available' : 'state-unavailable', at: clock.now() }),
    );
  }

  get registry(): ToolMetadataRegistry {
    return this.#frame.registry;
  }

  /** Runs one call and returns its outcome. A call without an id gets a random id. */
  async execute(call: PlannableCall, options: ExecuteOptions = NO_OPTIONS): Promise<ToolOutcome> {
    const own = readCall(call);
    let run: RunningCall;
    try {
      assertCall(call);
      run = new RunningCall(
        own,
        options === NO_OPTIONS ? options : readOptions(options),
        this.#frame,
      );
    } catch (error) {
      run = new RunningCall(own, NO_OPTIONS, this.#frame);
      run.tellDecision(refusal('invalid-options', 'the call or its options were refused'));
      return run.settle(failure(error));
    }
    if (this.#together.has(call)) this.#together.get(call)!(run);
    const { telemetry } = this.#frame;
    return telemetry === undefined
      ? this.#settle(run)
      : observeCall(telemetry, run.call, this.registry.get(own.name), () => this.#settle(run));
  }

  /**
   * Calls a registered tool with the types of its definition, so that the `value` of an `ok` outcome has the type
   * that the tool returns.
   *
   * @param options The options of `execute`, and the call's `id`.
   * @default a random id
   * @throws ToolError `TOOL_NOT_FOUND` if the definition isn't registered.
   */
  async run<In extends ToolSchema, Out extends ToolSchema, Result = SchemaInput<Out>>(
    definition: ToolDefinition<In, Out, string, Result>,
    input: SchemaInput<In>,
    { id, ...options }: ExecuteOptions & { readonly id?: string } = {},
  ): Promise<TypedOutcome<Result>> {
    const { name } = definition;
    if (this.registry.get(name)?.definition !== (definition as unknown))
      throw new ToolError(
        'TOOL_NOT_FOUND',
        `This definition of ${JSON.stringify(name)} isn't registered in the executor's registry. Call registry.register(definition) first.`,
      );
    const call = { name, input, ...(id !== undefined && { id }) };
    return (await this.execute(call, options)) as TypedOutcome<Result>;
  }

  async #settle(run: RunningCall): Promise<ToolOutcome> {
    const outcome = run.settle(await this.#carryOut(run).catch(failure));
    this.#log?.record(outcome, run.recorded, run.decision, run.call.input);
    return outcome;
  }

  /** Runs a call from start to end. Each step runs once, but the policy evaluates an approved call again. */
  async #carryOut(run: RunningCall): Promise<OutcomeBody> {
    const accepting = this.#judge.accept(run, (decision) => run.tellDecision(decision));
    const call = accepting instanceof Promise ? await accepting : accepting;
    const judging = this.#judge.decide(run, call);
    const judged = judging instanceof Promise ? await judging : judging;
    const { entry, raw } = call;
    const { decision, grant } = judged;
    run.tellDecision(decision);
    if (decision.verdict === 'deny') return denied(decision);
    assertUsable(run, entry);

    const approval =
      run.options.approval === undefined
        ? undefined
        : await this.#desk.verify(run, run.options.approval, run.asked(entry, raw));
    if (decision.verdict === 'confirm' && !approval && !entry.manual) {
      const answer = await this.#ask(run, call, decision);
      return 'outcome' in answer
        ? answer.outcome
        : this.#carryOut(run.approved(answer.approval, answer.edited));
    }
    if (!approval && !entry.manual) this.#repeats.admit(run.options.conversationId, entry, raw);
    const labelling = this.#labels.note(run, call, judged.flow);
    if (labelling !== undefined) await labelling;
    if (entry.manual) {
      this.#cache.dropAfter(entry); // Makes results stale now, because the executor can't know when the user does the work.
      return this.#awaited({ status: 'manual', pending: run.pendingManual(entry, raw) });
    }
    this.#worker.assertExecutable(entry);
    run.maxResultBytes = entry.maxResultBytes ?? this.#frame.maxResultBytes;

    const arounds = this.#arounds.current;
    const work = () =>
      this.#places.within(entry, run.options.signal, async (place) => {
        assertSame(this.#frame, run, entry);
        if (approval && entry.preview && approval.previewDigest !== null) {
          const shown = await this.#preview(run, call, place);
          if (this.#desk.isOutdated(run, approval, shown))
            return this.#askAgain(run, call, decision, shown);
        }
        if (grant && !(await this.#desk.useGrant(run, grant)))
          return this.#askAgain(run, call, judged.question!, await this.#preview(run, call, place));
        if (this.#budgets) await this.#budgets.spend(entry, run.options);
        if (run.options.onStart) await run.options.onStart(run.call);
        assertSame(this.#frame, run, entry);
        if (approval) await this.#desk.redeem(run, approval); // Redeems the approval last, so that a refused call doesn't use it up.
        assertWanted(run.options.signal, entry.name);
        this.#repeats.started(run.options.conversationId, entry, raw);
        const isApproved = approval !== undefined;
        const body = await this.#worker.run(run, { ...call, isApproved, arounds, place });
        return body.status === 'ask_user' ? this.#awaited(body) : body;
      });
    return approval || entry.cacheTtlMs === undefined
      ? work()
      : untilAborted(
          this.#cache.through(call, run, arounds.id, work),
          run.options.signal,
          entry.name,
        );
  }

  async #ask(run: RunningCall, call: AcceptedCall, decision: Decision): Promise<Answered> {
    const { entry, raw } = call;
    return this.#desk.ask(run, run.asked(entry, raw), {
      decision,
      admit: () => this.#repeats.admit(run.options.conversationId, entry, raw),
      preview: () => this.#preview(run, call),
    });
  }

  async #askAgain(
    run: RunningCall,
    { entry, raw }: AcceptedCall,
    decision: Decision,
    shown: Awaited<ReturnType<typeof previewOf>>,
  ): Promise<OutcomeBody> {
    const pending = await this.#desk.request(run, run.asked(entry, raw), {
      decision,
      admit: () => undefined,
      preview: () => Promise.resolve(shown),
    });
    return { status: 'approval_required', pending };
  }

  #preview(run: RunningCall, call: AcceptedCall, place?: Place): ReturnType<typeof previewOf> {
    return previewOf(this.#frame.clock, this.#places, run, call, place);
  }

  /** Returns the outcome of a call that a user or another program answers. A stored answer is included. */
  async #awaited(
    body: Extract<OutcomeBody, { readonly status: 'manual' | 'ask_user' }>,
  ): Promise<OutcomeBody> {
    const { answer, ...pending } = await this.pendingCalls.keep(body.pending);
    if (answer === 'denied') return denied(refusal('confirmation', 'the user denied this call'));
    if (typeof answer === 'object') return { status: 'ok', value: answer.value };
    return { ...body, pending: Object.freeze(pending) } as OutcomeBody;
  }

  /**
   * Runs several calls as planned by `planExecution`. Returns their outcomes in the order of the calls.
   *
   * The policy evaluates every call based on what the conversation had read before the first call started. Calls that
   * need the user run last in their batch, one at a time, and the user is asked right before each call runs. A call
   * that ends with `approval_required` doesn't delay the other calls.
   *
   * @throws ToolError `INVALID_ARGUMENT` if `calls` isn't a list or if two calls have the same id.
   */
  async executeAll(
    calls: readonly PlannableCall[],
    { approvals = [], onOutcome, ...given }: ExecuteAllOptions = {},
  ): Promise<readonly ToolOutcome[]> {
    const options = readOptions(given);
    const own = readCalls(calls);
    if (new Set(own.map(({ id }) => id)).size < own.length)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Several of these ${own.length} calls have the same id, so their outcomes can't be told apart. Give each call a unique id.`,
      );
    const { batches } = await planCalls(this.registry, own);
    const { conversationId } = options;
    const flow =
      conversationId === undefined ? undefined : await this.#labels.assumed(conversationId);
    const outcomes = new Array<ToolOutcome>(own.length);
    await runBatches(batches, async (position, turn) => {
      const call = own[position]!;
      const approval = approvals.find(({ callId }) => callId === call.id);
      this.#together.set(call, (run) => Object.assign(run, { flow, turn }));
      const outcome = await this.execute(call, approval ? { ...options, approval } : options);
      outcomes[position] = outcome;
      await onOutcome?.(outcome);
    });
    return Object.freeze(outcomes);
  }

  /**
   * Plans which of these calls would run together, based on their parsed input.
   *
   * @throws ToolError `INVALID_ARGUMENT` if `calls` isn't a list of calls.
   */
  async plan(calls: readonly PlannableCall[]): Promise<ExecutionPlan> {
    return planCalls(this.registry, readCalls(calls));
  }

  /**
   * Returns the policy's decision about a call, after applying grants. Doesn't run, count, store, or report anything.
   * @throws ToolError `ABORTED`, or `INVALID_ARGUMENT` for invalid options.
   */
  async decide(call: PlannableCall, options: JudgeOptions = {}): Promise<DecidedCall> {
    const {
      run,
      call: accepted,
      decided,
    } = await decideCall(this.#frame, this.#judge, call, options);
    if (accepted !== undefined && decided.verdict !== 'deny')
      assertWanted(run.options.signal, run.toolName);
    return decided;
  }

  /**
   * Stores a call that needs approval or whose tool is manual, without running it. Calling `request` again returns
   * the stored call and its answer.
   *
   * Executing the same call then uses this answer, once.
   *
   * @returns The pending call (with `kind`), or the decision (with `verdict`) if the call doesn't need a user or
   * can't run.
   * @throws ToolError `STATE_UNAVAILABLE`, `ABORTED`.
   */
  async request(
    call: PlannableCall,
    options: JudgeOptions = {},
  ): Promise<StoredPending | DecidedCall> {
    const {
      run,
      call: accepted,
      decided,
    } = await decideCall(this.#frame, this.#judge, call, options);
    if (accepted === undefined || decided.verdict === 'deny') return decided;
    const { entry, raw } = accepted;
    try {
      assertUsable(run, entry);
      if (entry.manual) return await this.pendingCalls.keep(run.pendingManual(entry, raw));
      if (decided.verdict === 'allow') return decided;
      const { reason, rule, danger, verdict } = decided;
      return await this.#desk.stored(run, run.asked(entry, raw), {
        decision: { verdict, reason, rule, danger },
        admit: () => this.#repeats.admit(run.options.conversationId, entry, raw),
        preview: () => this.#preview(run, accepted),
      });
    } catch (error) {
      const { code, message } = failure(error);
      if (code !== 'LOOP_DETECTED' && code !== 'TOOL_UNAVAILABLE') throw error;
      return { ...decided, verdict: 'deny', refused: message };
    }
  }

  /**
   * Returns the policy's decision for each call in order, and reports invalid inputs. Runs nothing and sends no
   * events.
   */
  async dryRun(
    calls: readonly PlannableCall[],
    options: ExecuteOptions = {},
  ): Promise<
    readonly (Pick<DecidedCall, 'callId' | 'toolName' | 'refused'> & {
      readonly decision: Decision;
    })[]
  > {
    return dryRun(this.#frame, this.#judge, this.#labels, readCalls(calls), options);
  }

  /** Calls `listener` for every event. Returns a function that unsubscribes. */
  on(listener: (event: ToolEvent) => void): () => void {
    return this.#frame.listeners.add(listener);
  }

  /**
   * Wraps every call that is allowed, approved, and not answered from the cache. Use a wrapper to log, time, or
   * redact calls, or to replace their results. The wrapper's result is checked, cached, and returned as if it came
   * from the tool.
   *
   * Wrappers are nested in the order of the `use` calls, with the first outermost. If a wrapper throws, the call
   * fails and the error isn't shown.
   * @returns A function that removes the wrapper. Calls that are already running keep the wrapper.
   */
  use(around: Around): () => void {
    return this.#arounds.add(around);
  }

  /**
   * Records that a user approved a pending call, and returns the approval. The approval lets the call run once.
   *
   * @param edited The arguments to approve instead of the original arguments.
   * @throws ToolError `INVALID_APPROVAL` if the pending call was changed, has expired, or has already been answered;
   * `STATE_UNAVAILABLE`.
   */
  async approve(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    return this.#desk.approve(pending, edited);
  }

  /**
   * Records that a user approved a pending call and similar calls: same tool, definition, principal, and
   * conversation.
   *
   * @throws ToolError like `approve`. `INVALID_ARGUMENT` if the scope has no limit, or if calls like this call need
   * approval every time (consent, critical tools, flows).
   */
  async grant(
    pending: PendingApproval,
    scope: GrantScope,
  ): Promise<{ readonly approval: Approval; readonly grant: Grant }> {
    return this.#desk.grant(pending, scope);
  }

  /** Returns the grants to offer the user, narrowest first. The list is empty if the call always needs approval. */
  grantChoices(pending: PendingApproval): readonly GrantChoice[] {
    const entry = this.registry.get(pending.toolName);
    return entry === undefined ? [] : grantChoices(entry, pending);
  }

  /**
   * Returns the active grants that match a filter, oldest first, and how often each was used.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async grants(
    of: Partial<Pick<Grant, 'principal' | 'conversationId' | 'toolName'>> = {},
  ): Promise<readonly (Grant & { readonly used: number })[]> {
    return this.#grants.list(of);
  }

  /** Revokes a grant. @returns true if the grant existed. @throws ToolError `STATE_UNAVAILABLE`. */
  revokeGrant(id: string): Promise<boolean> {
    return this.#grants.revoke(id);
  }

  /**
   * Calls `listener` once for each pending call in the store that gets an answer. To use the answer, make the
   * answered call again. Polls the store every second. Returns a function that stops polling.
   */
  onAnswered(listener: (answered: StoredPending) => void): () => void {
    return watchAnswers(this.pendingCalls, this.#frame.clock, listener);
  }

  /** Records that a user denied a pending call. @throws ToolError like `approve`. */
  async deny(pending: PendingApproval): Promise<void> {
    await this.#desk.deny(pending);
  }

  /** The store that other processes can read, or `undefined` if the executor has no `store`. */
  get sharedStore(): StateStore | undefined {
    return this.#frame.store;
  }

  /**
   * Claims a one-time action for 24 days across all processes that share the store.
   * @returns true if the action hadn't been claimed before.
   * @throws ToolError `STATE_UNAVAILABLE`, also if the store's `identity` differs.
   */
  async claim(deed: Json, identity?: string): Promise<boolean> {
    return this.#state.compareAndSet(`claim:${digestOf(deed)}`, undefined, 'claimed', {
      ttlMs: LIMITS.timerMs,
      ...(identity !== undefined && { identity }),
    });
  }

  /** Returns what a conversation has read, and the calls that read it. @throws ToolError `STATE_UNAVAILABLE`. */
  async flow(conversationId: string): Promise<Flow> {
    return this.#labels.of(conversationId);
  }

  /**
   * Forgets that a conversation has read untrusted content or private data. Call `clearFlow` only after a user has
   * reviewed the conversation. Models and tool results can't remove labels.
   *
   * @throws ToolError `STATE_UNAVAILABLE`; the labels may then still exist. `INVALID_ARGUMENT` for unknown labels.
   */
  async clearFlow(
    conversationId: string,
    labels: readonly FlowLabel[] = FLOW_LABELS,
  ): Promise<void> {
    await this.#labels.clear(conversationId, labels);
  }

  /**
   * Adds labels for content that your program adds to a conversation, or that another process has read.
   * @throws ToolError `INVALID_ARGUMENT` if `flow` isn't a flow.
   */
  async addFlow(conversationId: string, flow: Flow): Promise<void> {
    await this.#labels.addFrom(conversationId, flow);
  }

  /** Resets the repeat counts of a conversation. Call `resetRepeats` when the user says something new. */
  resetRepeats(conversationId: string): void {
    this.#repeats.forget(conversationId);
  }

  /** Returns abandoned calls whose work is still running, longest-running first. Includes hanging previews. */
  abandoned(): readonly AbandonedCall[] {
    return this.#places.abandoned();
  }

  /**
   * Frees the slot of an abandoned call. The work continues but no longer counts toward the limits.
   * @returns true if the call was abandoned and hadn't been released yet.
   *
   * @param call The call's id, or the call object from `abandoned()`. Ids are unique only within a conversation.
   * @throws ToolError `INVALID_ARGUMENT` if several abandoned calls have this id.
   */
  release(call: string | AbandonedCall): boolean {
    return this.#places.release(call);
  }

  /**
   * Returns the state of a tool's providers, as of their last calls. Returns an empty list if the tool has no
   * providers or hasn't been called.
   */
  providers(toolName: string): readonly ProviderSnapshot[] {
    return this.#worker.providers(this.registry.get(toolName)?.name ?? toolName);
  }

  /**
   * Resets the budgets of an owner (a principal or conversation). Pass '' for calls without an owner. @throws
   * ToolError `STATE_UNAVAILABLE`.
   */
  async resetBudgets(owner: string): Promise<void> {
    await this.#budgets?.reset(owner);
  }

  /** Writes pending data, and stops listening to the store. Doesn't stop running calls, and doesn't close the store. */
  async close(): Promise<void> {
    this.#stopWatchingStore?.();
    await this.#log?.flush();
    await this.#ownHealth?.close();
  }
}

function denied({ reason, rule, danger }: Decision): OutcomeBody {
  return { status: 'denied', reason, rule, danger };
}
