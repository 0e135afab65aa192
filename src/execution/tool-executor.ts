import { randomBytes } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { FLOW_LABELS, type Flow, type FlowLabel } from '../core/flow.js';
import { LIMITS } from '../core/limits.js';
import { Listeners } from '../core/listeners.js';
import { checkOptions } from '../core/options.js';
import { digestOf, type Json, without } from '../core/plain-data.js';
import type { Shown } from '../core/preview.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ProviderSnapshot } from '../providers/provider.js';
import { RollingHealth, type HealthLog } from '../providers/rolling-health.js';
import { PublishedHealth } from '../providers/published-health.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type {
  Decision,
  GrantScope,
  OutcomeBody,
  Pending,
  PendingApproval,
  StoredPending,
  ToolOutcome,
} from '../safety/calls.js';
import { grantChoices, Grants, type Grant, type GrantChoice } from '../safety/grants.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import { Signer } from '../safety/signer.js';
import { WaitingCalls, withAnswer, type WaitingFilter } from '../safety/waiting-calls.js';
import { ANSWERING, APPROVING, WAITING_FILTER } from '../safety/waiting-options.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolDefinition, ToolEntry } from '../tool/tool-definition.js';
import type { SchemaInput, ToolSchema } from '../tool/tool-schema.js';
import { Asking } from './asking.js';
import type { Around } from './around.js';
import { Budgets, costOf } from './budgets.js';
import {
  assertSame,
  assertUsable,
  CallJudge,
  decideCall,
  type AcceptedCall,
  type DecidedCall,
  type Judged,
} from './call-judge.js';
import { CallLog } from './call-log.js';
import { CallSeries } from './call-series.js';
import type { StartingCall } from './attempt.js';
import { CallWorker } from './call-worker.js';
import { ConversationLabels } from './conversation-labels.js';
import {
  checkExecutorOptions,
  type ExecuteAllOptions,
  type ExecuteOptions,
  type ExecutorFrame,
  type JudgeOptions,
  type ToolExecutorOptions,
} from './executor-options.js';
import { planCalls } from './plan-calls.js';
import { Places, type AbandonedCall } from './places.js';
import type { ExecutionPlan, PlannableCall } from './plan-execution.js';
import { previewOf } from './preview-call.js';
import { readCalls, readOptions } from './read-call.js';
import { failure } from './read-result.js';
import { runBatches } from './run-batches.js';
import { RepeatGuard } from './repeat-guard.js';
import { ResultCache } from './result-cache.js';
import { NO_OPTIONS, RunningCall, type Batch } from './running-call.js';
import { observeCall } from './telemetry.js';
import { assertRegistered, type RunOptions, type TypedOutcome } from './typed-outcome.js';
import { watchAnswers } from './watch-answers.js';
import { assertWanted, untilAborted } from './with-deadline.js';

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
  readonly metrics: { readonly approvals: Readonly<Asking['metrics']> };
  /** The success rates and latencies of called tools and their providers. */
  readonly health: HealthLog;

  readonly #frame: ExecutorFrame;
  readonly #state: StateStore;
  #arounds: readonly Around[] = [];
  readonly #judge: CallJudge;
  readonly #waiting: WaitingCalls;
  readonly #asking: Asking;
  readonly #grants: Grants;
  readonly #labels: ConversationLabels;
  readonly #repeats: RepeatGuard;
  readonly #cache: ResultCache;
  readonly #places: Places;
  readonly #budgets: Budgets | undefined;
  readonly #worker: CallWorker;
  readonly #log: CallLog | undefined;
  readonly #series: CallSeries | undefined;
  /** The parts that are closed together with the executor, so that pending data is written. */
  readonly #ownHealth: PublishedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;

  /** @throws ToolError `INVALID_ARGUMENT` listing every invalid option. */
  constructor(options: ToolExecutorOptions) {
    const checked = checkExecutorOptions(options);
    const { registry, clock, env, budgets } = checked;
    const signer = new Signer(checked.approvalKey ?? randomBytes(32));
    const { store } = checked;
    this.#ownHealth =
      checked.health === undefined && store ? new PublishedHealth({ store, clock }) : undefined;
    this.health = checked.health ?? this.#ownHealth ?? new RollingHealth({ clock });
    const policy = checked.policy ?? new SafetyPolicy({ registry, ...without({ env }) });
    const listeners = new Listeners<ToolEvent>();
    const frame = (this.#frame = { ...checked, store, policy, health: this.health, listeners });
    const state = (this.#state = store ?? new MemoryStateStore({ clock }));
    this.#waiting = new WaitingCalls(state, signer);
    this.#grants = new Grants(state, signer);
    this.#asking = new Asking(frame, state, this.#waiting, this.#grants);
    this.metrics = Object.freeze({ approvals: this.#asking.metrics });
    this.#labels = new ConversationLabels(state, frame);
    this.#repeats = new RepeatGuard(frame.maxRepeats);
    this.#cache = new ResultCache(frame);
    this.#places = new Places(frame);
    this.#log = store && new CallLog(store, checked.recordArguments);
    this.#series = store && new CallSeries(store, clock);
    this.#budgets = budgets.length === 0 ? undefined : new Budgets(budgets, state);
    this.#worker = new CallWorker(frame, this.#places, (entry) => this.#cache.dropAfter(entry));
    const isRouted = (entry: ToolEntry) => this.#worker.isRouted(entry);
    this.#judge = new CallJudge(frame, this.#labels, this.#grants, isRouted);
    this.#stopWatchingStore = store?.onAvailability((isBack) =>
      listeners.tell({ type: isBack ? 'state-available' : 'state-unavailable', at: clock.now() }),
    );
  }

  get registry(): ToolMetadataRegistry {
    return this.#frame.registry;
  }

  /** Runs one call and returns its outcome. A call without an id gets a random id. */
  execute(call: PlannableCall, options: ExecuteOptions = NO_OPTIONS): Promise<ToolOutcome> {
    return this.#run(new RunningCall(call, options, this.#frame));
  }

  #run(run: RunningCall): Promise<ToolOutcome> {
    const { telemetry } = this.#frame;
    return telemetry === undefined
      ? this.#settle(run)
      : observeCall(telemetry, run.call, this.registry.get(run.call.name), () => this.#settle(run));
  }

  /**
   * Calls a registered tool with the types of its definition: the input and the context that it takes, and the
   * `value` of an `ok` outcome. A call without an `id` gets a random id.
   *
   * @throws ToolError `TOOL_NOT_FOUND` if the definition isn't registered.
   */
  async run<
    In extends ToolSchema,
    Out extends ToolSchema,
    Result = SchemaInput<Out>,
    Context = unknown,
  >(
    definition: ToolDefinition<In, Out, string, Result, Context>,
    input: SchemaInput<In>,
    ...rest: RunOptions<Context>
  ): Promise<TypedOutcome<Result>> {
    assertRegistered(definition, this.registry);
    const { id, ...options }: ExecuteOptions & { readonly id?: string } = rest[0] ?? {};
    const call = { name: definition.name, input, ...without({ id }) };
    return (await this.execute(call, options)) as TypedOutcome<Result>;
  }

  async #settle(run: RunningCall): Promise<ToolOutcome> {
    const outcome = run.settle(await this.#carryOut(run).catch(failure));
    const record = this.#log?.record(outcome, run, this.#frame.clock.now());
    if (record) this.#series?.record(record, costOf(this.registry.get(outcome.toolName)));
    return outcome;
  }

  /** Runs a call from start to end. Each step runs once, but the policy evaluates an approved call again. */
  async #carryOut(run: RunningCall): Promise<OutcomeBody> {
    const accepting = this.#judge.accept(run);
    const call = accepting instanceof Promise ? await accepting : accepting;
    if ('error' in call) {
      run.tellDecision(call.decision);
      return failure(call.error);
    }
    const judged = await this.#judge.decide(run, call);
    const { entry, raw } = call;
    const { decision, grant } = judged;
    run.tellDecision(decision);
    if (decision.verdict === 'deny') return denied(decision);
    assertUsable(run, entry);

    const { conversationId } = run.options;
    const asksUser = decision.verdict === 'confirm' || entry.manual || run.approved || grant;
    const found = asksUser ? await this.#asking.find(run, call, decision) : undefined; // Other calls don't look into the store.
    if (found?.is === 'ended') return found.outcome; // Denied, answered, or still waiting for an answer.
    const approved = found?.is === 'approved' ? found : undefined;
    if (approved?.edited && !run.approved) return this.#carryOut(run.with(approved)); // The user's arguments are judged from the top.
    if (!entry.manual && (!found || found.is === 'used')) this.#admit(run, entry, raw); // Approved calls were counted when the user was asked.
    if (decision.verdict === 'confirm' && !entry.manual && found?.is !== 'approved') {
      const preview = () => this.#previewInPlace(run, call);
      const answer = await this.#asking.ask(run, call, decision, found, preview);
      return answer.is === 'ended' ? answer.outcome : this.#carryOut(run.with(answer)); // Judged as things are now.
    }
    if (conversationId !== undefined || !entry.inferred.includes('reads'))
      await this.#labels.note(run, call, judged.flow);
    if (entry.manual) {
      this.#cache.dropAfter(entry); // Makes results stale now, because the executor can't know when the user does the work.
      return this.#asking.waitForWork(run, call);
    }
    this.#worker.assertExecutable(entry);
    run.maxResultBytes = entry.maxResultBytes ?? this.#frame.maxResultBytes;

    const arounds = this.#arounds;
    const work = () =>
      this.#places.within(entry, run.options.signal, (place) =>
        this.#start(run, { entry, raw, input: call.input, approved, arounds, place }, judged),
      );
    return approved || entry.cacheTtlMs === undefined
      ? work()
      : untilAborted(this.#cache.through(call, run, work), run.options.signal, entry.name);
  }

  /** Counts a call of a conversation. @throws ToolError `LOOP_DETECTED`. */
  #admit({ options }: RunningCall, entry: ToolEntry, raw: Json): void {
    const { conversationId } = options;
    if (conversationId !== undefined) this.#repeats.admit(conversationId, entry, raw);
  }

  /** Runs a call that has its place. Every line may end the call, and the approval is used last. */
  async #start(
    run: RunningCall,
    call: StartingCall,
    { decision, grant, question }: Judged,
  ): Promise<OutcomeBody> {
    const { entry, raw, approved } = call;
    const { conversationId, onStart, signal } = run.options;
    assertSame(this.#frame, run, entry);
    if (approved && entry.preview) {
      const shown = await previewOf(this.#frame.clock, run, call);
      if (this.#asking.isOutdated(run, approved, shown))
        return this.#askAgain(run, call, decision, shown, approved.pending);
    }
    if (!approved && grant && !(await this.#asking.useGrant(run, grant)))
      return this.#askAgain(run, call, question!, await previewOf(this.#frame.clock, run, call));
    if (this.#budgets) await this.#budgets.spend(entry, run.options);
    if (onStart) await onStart(run.call);
    assertSame(this.#frame, run, entry);
    if (approved) await this.#asking.use(run, approved);
    assertWanted(signal, entry.name);
    if (conversationId !== undefined) this.#repeats.started(conversationId, entry, raw);
    const body = await this.#worker.run(run, call);
    return body.status === 'ask_user' ? this.#asking.wait(run, call, body) : body;
  }

  async #askAgain(
    run: RunningCall,
    call: AcceptedCall,
    decision: Decision,
    shown: Shown,
    replaced?: PendingApproval,
  ): Promise<OutcomeBody> {
    const pending = await this.#asking.request(run, call, decision, shown, replaced);
    return { status: 'approval_required', pending };
  }

  /** Returns the preview for a user. It takes a place of its own, because the call has none yet. */
  #previewInPlace(run: RunningCall, call: AcceptedCall): Promise<Shown> {
    const preview = () => previewOf(this.#frame.clock, run, call);
    return this.#places.within(call.entry, run.options.signal, preview);
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
    { onOutcome, ...rest }: ExecuteAllOptions = {},
  ): Promise<readonly ToolOutcome[]> {
    const options = readOptions(rest);
    const own = readCalls(calls);
    if (new Set(own.map(({ id }) => id)).size < own.length)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Several of these ${own.length} calls have the same id, so their outcomes can't be told apart. Give each call a unique id.`,
      );
    const { conversationId } = options;
    const flow =
      conversationId === undefined ? undefined : await this.#labels.assumed(conversationId);
    const outcomes = new Array<ToolOutcome>(own.length);
    const runOne = async (position: number, turn?: Batch['turn']) => {
      const outcome = await this.#run(
        new RunningCall(own[position]!, options, this.#frame, { flow, turn }),
      );
      outcomes[position] = outcome;
      await onOutcome?.(outcome);
    };
    if (own.length === 1) await runOne(0);
    else await runBatches((await planCalls(this.registry, own)).batches, runOne);
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
    const run = new RunningCall(call, options, this.#frame);
    const { call: accepted, decided } = await decideCall(this.#judge, run);
    if (accepted !== undefined && decided.verdict !== 'deny')
      assertWanted(run.options.signal, run.toolName);
    return decided;
  }

  /**
   * Stores a call that needs approval or whose tool is manual, without running it. Calling `request` again returns
   * the stored call and its answer. Executing the same call then uses this answer, once.
   *
   * @returns The pending call (with `kind`), or the decision (with `verdict`) if the call doesn't need a user or
   * can't run.
   * @throws ToolError `STATE_UNAVAILABLE`, `ABORTED`.
   */
  async request(
    call: PlannableCall,
    options: JudgeOptions = {},
  ): Promise<StoredPending | DecidedCall> {
    const run = new RunningCall(call, options, this.#frame);
    const { call: accepted, decided } = await decideCall(this.#judge, run);
    if (accepted === undefined || decided.verdict === 'deny') return decided;
    const { entry, raw } = accepted;
    try {
      assertUsable(run, entry);
      if (entry.manual) return withAnswer(await this.#asking.keepWork(run, accepted));
      if (decided.verdict === 'allow') return decided;
      return await this.#asking.stored(run, accepted, decided, {
        admit: () => this.#admit(run, entry, raw),
        preview: () => this.#previewInPlace(run, accepted),
      });
    } catch (error) {
      const { code, message } = failure(error);
      if (code !== 'LOOP_DETECTED' && code !== 'TOOL_UNAVAILABLE') throw error;
      return { ...decided, verdict: 'deny', refused: message };
    }
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
    const own: Around = (call, run) => around(call, run); // A new function, because the same function may be added twice.
    this.#wrap([...this.#arounds, own]);
    return () => {
      if (this.#arounds.includes(own)) this.#wrap(this.#arounds.filter((each) => each !== own));
    };
  }

  /** Replaces the wrappers, and drops the results that other wrappers may have changed. */
  #wrap(arounds: readonly Around[]): void {
    this.#arounds = arounds;
    this.#cache.dropAll();
  }

  /**
   * Returns the calls that wait for a user or another program, newest first.
   *
   * @param filter `principal` and `conversationId` (`null` for calls without one), `toolName`, `callId`,
   * `limit` (100 by default), and `after`, the id of the last pending call of the previous page.
   * @throws ToolError `INVALID_ARGUMENT` for an invalid filter, `STATE_UNAVAILABLE`.
   */
  waiting(filter: WaitingFilter = {}): Promise<readonly Pending[]> {
    return this.#waiting.list(checkOptions(WAITING_FILTER, filter, 'conditions of waiting calls'));
  }

  /**
   * Records that a user approved a pending call. To run it, make the original call again, with its id and in any
   * process: the call runs once.
   *
   * @param answering `input`: the arguments to run instead of the original arguments. `by`: the
   * person who approved.
   * @throws ToolError `INVALID_APPROVAL` if the pending call was changed, has expired, or has already been answered.
   * `INVALID_INPUT` for arguments that don't fit the tool's schema; the call then stays pending. `STATE_UNAVAILABLE`.
   */
  async approve(
    pending: PendingApproval,
    answering: { readonly input?: unknown; readonly by?: string } = {},
  ): Promise<void> {
    return this.#asking.approve(pending, checkOptions(APPROVING, answering, 'options of approve'));
  }

  /** Records that a user denied a pending call of any kind. @throws ToolError like `approve`. */
  async deny(pending: Pending, answering: { readonly by?: string } = {}): Promise<void> {
    return this.#asking.deny(pending, checkOptions(ANSWERING, answering, 'options of deny'));
  }

  /**
   * Records the answer to a tool's question, or the result of a manual call. To get the result, make the call again.
   *
   * @throws ToolError `INVALID_INPUT` if the call doesn't accept this answer, `ALREADY_RESOLVED` if it has been
   * answered; otherwise like `approve`.
   */
  async answer(
    pending: Exclude<Pending, PendingApproval>,
    value: unknown,
    answering: { readonly by?: string } = {},
  ): Promise<void> {
    await this.#waiting.answer(
      pending,
      value,
      checkOptions(ANSWERING, answering, 'options of answer'),
    );
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
    answering: { readonly by?: string } = {},
  ): Promise<{ readonly grant: Grant }> {
    return { grant: await this.#asking.grant(pending, scope, answering) };
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
    return watchAnswers(this.#waiting, this.#frame.clock, listener);
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
    const options = without({ ttlMs: LIMITS.timerMs, identity });
    return this.#state.compareAndSet(`claim:${digestOf(deed)}`, undefined, 'claimed', options);
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

  /** Returns abandoned calls whose work is still running, longest-running first. */
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

  /** Resets the budgets of a principal or conversation; '' means calls without one. @throws ToolError `STATE_UNAVAILABLE`. */
  async resetBudgets(owner: string): Promise<void> {
    await this.#budgets?.reset(owner);
  }

  /** Writes pending data, and stops listening to the store. Doesn't stop running calls, and doesn't close the store. */
  async close(): Promise<void> {
    this.#stopWatchingStore?.();
    await Promise.all([this.#log?.flush(), this.#series?.flush()]);
    await this.#ownHealth?.close();
  }
}

function denied({ reason, rule, danger }: Decision): OutcomeBody {
  return { status: 'denied', reason, rule, danger };
}
