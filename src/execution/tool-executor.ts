import { randomBytes } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { FLOW_LABELS, type Flow, type FlowLabel } from '../core/flow.js';
import { invalidArgument } from '../core/issues.js';
import { LIMITS } from '../core/limits.js';
import { Listeners } from '../core/listeners.js';
import { digestOf, type Json } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ProviderSnapshot } from '../providers/provider.js';
import { RollingHealth, type HealthLog } from '../providers/rolling-health.js';
import { PublishedHealth } from '../providers/published-health.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { Approval } from '../safety/approvals.js';
import { readBy } from '../safety/call-flow.js';
import type {
  Decision,
  GrantScope,
  OutcomeBody,
  PendingApproval,
  StoredPending,
  ToolCall,
  ToolOutcome,
} from '../safety/calls.js';
import { grantChoices, Grants, type Grant, type GrantChoice } from '../safety/grants.js';
import { PendingCalls } from '../safety/pending-calls.js';
import { SafetyPolicy } from '../safety/safety-policy.js';
import { Signer } from '../safety/signer.js';
import { MemoryStateStore } from '../state/memory-state-store.js';
import type { StateStore } from '../state/state-store.js';
import { checkAhead } from '../tool/check-input.js';
import type { ToolDefinition } from '../tool/tool-definition.js';
import type { SchemaInput, ToolSchema } from '../tool/tool-schema.js';
import { ApprovalDesk, type Answered, type ApprovalMetrics } from './approval-desk.js';
import { Arounds, type Around } from './around.js';
import { Budgets } from './budgets.js';
import {
  announceStart,
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
import {
  checkExecutorOptions,
  type ExecuteAllOptions,
  type ExecuteOptions,
  type ExecutorFrame,
  type JudgeOptions,
  type ToolExecutorOptions,
} from './executor-options.js';
import { Places, type AbandonedCall, type Place } from './places.js';
import { planExecution, type ExecutionPlan, type PlannableCall } from './plan-execution.js';
import { previewOf } from './preview-call.js';
import { assertCall, readCall, readCalls, readOptions } from './read-call.js';
import { failure } from './read-result.js';
import { runBatches } from './run-batches.js';
import { RepeatGuard } from './repeat-guard.js';
import { ResultCache } from './result-cache.js';
import { RunningCall } from './running-call.js';
import { observeCall } from './telemetry.js';
import { watchAnswers } from './watch-answers.js';
import { assertWanted, untilAborted } from './with-deadline.js';

/** The result that a call would have. */
export type DryRun = Awaited<ReturnType<ToolExecutor['dryRun']>>[number];

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/**
 * Runs tools safely: checked input, the policy's decision, a user's approval where one is needed, cached answers, budgets,
 * limits, deadlines, retries.
 *
 * Whatever a tool or a model does wrong is an outcome; `execute` does not throw. Calls and decisions are told as events.
 * ```ts
 * import { AccessMode, defineTool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
 *  *
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
  /** The calls that wait for a user: to list and answer them. */
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
  /** The record of calls that others on the store read. */
  readonly #log: CallLog | undefined;
  /** Health that is closed with the executor: it writes what is left. */
  readonly #ownHealth: PublishedHealth | undefined;
  readonly #stopWatchingStore: (() => void) | undefined;
  /** The things that a call shares with those that were made together with it. */
  readonly #together = new WeakMap<object, (run: RunningCall) => void>();

  /** @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
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

  /** Makes one call, and says what became of it; a call without an id gets a random one. */
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
      run.tellDecision(refusal('invalid-options', 'the call or its options are refused'));
      return run.settle(failure(error));
    }
    if (this.#together.has(call)) this.#together.get(call)!(run);
    const { telemetry } = this.#frame;
    return telemetry === undefined
      ? this.#settle(run)
      : observeCall(telemetry, run.call, this.registry.get(own.name), () => this.#settle(run));
  }

  /**
   * Makes a call of a registered tool, with the types of its definition: the value of an `ok` outcome is what the tool returns.
   *
   * @param options as for `execute`, with an `id` for the call. @default a random id
   * @throws ToolError `TOOL_NOT_FOUND` when the definition is not registered.
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
        `The registry of this executor does not have this definition of ${JSON.stringify(name)}. Call registry.register(definition) first.`,
      );
    const call = { name, input, ...(id !== undefined && { id }) };
    return (await this.execute(call, options)) as TypedOutcome<Result>;
  }

  async #settle(run: RunningCall): Promise<ToolOutcome> {
    const outcome = run.settle(await this.#carryOut(run).catch(failure));
    this.#log?.record(outcome, run.recorded, run.decision, run.call.input);
    return outcome;
  }

  /** Takes a call from its arguments to its end. Every line may end it, and nothing jumps back, but that an approved call is judged once more. */
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
      this.#cache.dropAfter(entry); // Nobody tells when the user does it.
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
        if (run.options.onStart) await announceStart(this.#frame, run, entry);
        assertSame(this.#frame, run, entry);
        if (approval) await this.#desk.redeem(run, approval); // Last: a refused call doesn't use it up.
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

  /** Returns the outcome of a call that a user or another program answers: with the stored answer, if there is one. */
  async #awaited(
    body: Extract<OutcomeBody, { readonly status: 'manual' | 'ask_user' }>,
  ): Promise<OutcomeBody> {
    const { answer, ...pending } = await this.pendingCalls.keep(body.pending);
    if (answer === 'denied') return denied(refusal('confirmation', 'the user denied this call'));
    if (typeof answer === 'object') return { status: 'ok', value: answer.value };
    return { ...body, pending: Object.freeze(pending) } as OutcomeBody;
  }

  /**
   * Makes several calls as `planExecution` orders them, and gives their outcomes in the order of the calls.
   *
   * All are judged by what the conversation had read before the first. Calls that need the user run after the others of their
   * batch, one at a time, and the user is asked about each just before it runs. A call that ends as `approval_required` delays no other.
   *
   * @throws ToolError `INVALID_ARGUMENT` when the calls are no list, or two have the same id.
   */
  async executeAll(
    calls: readonly PlannableCall[],
    { approvals = [], onOutcome, ...given }: ExecuteAllOptions = {},
  ): Promise<readonly ToolOutcome[]> {
    const options = readOptions(given);
    const own = await this.#plannable(readCalls(calls));
    if (new Set(own.map(({ call }) => call.id)).size < own.length)
      throw new ToolError(
        'INVALID_ARGUMENT',
        `Expected ${own.length} calls with different ids. Outcomes could not be told apart.`,
      );
    const { batches } = planExecution(
      this.registry,
      own.map(({ planned }) => planned),
    );
    const { conversationId } = options;
    const flow =
      conversationId === undefined ? undefined : await this.#labels.assumed(conversationId);
    const outcomes = new Array<ToolOutcome>(own.length);
    await runBatches(batches, async (position, turn) => {
      const { call } = own[position]!;
      const approval = approvals.find(({ callId }) => callId === call.id);
      this.#together.set(call, (run) => Object.assign(run, { flow, turn }));
      const outcome = await this.execute(call, approval ? { ...options, approval } : options);
      outcomes[position] = outcome;
      await onOutcome?.(outcome);
    });
    return Object.freeze(outcomes);
  }

  /**
   * Plans which of some calls would run together, judged by their input as the tools' schemas give it.
   *
   * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls.
   */
  async plan(calls: readonly PlannableCall[]): Promise<ExecutionPlan> {
    const own = await this.#plannable(readCalls(calls));
    return planExecution(
      this.registry,
      own.map(({ planned }) => planned),
    );
  }

  /** Returns the calls, and beside each what a plan needs of it: the input as the tool's schema gives it, for tools that name conflict keys. */
  async #plannable(
    calls: readonly ToolCall[],
  ): Promise<readonly { readonly call: ToolCall; readonly planned: ToolCall }[]> {
    return Promise.all(
      calls.map(async (call) => {
        const entry = this.registry.get(call.name);
        if (entry?.conflictKeys === undefined) return { call, planned: call };
        const check = await checkAhead(entry, call.input);
        if (!check.ok) return { call, planned: call };
        return { call: { ...call, input: check.raw }, planned: { ...call, input: check.value } };
      }),
    );
  }

  /** Returns what the policy would say to a call now, once grants have covered what they cover. Nothing is run, counted, stored or told. @throws ToolError `ABORTED`, and `INVALID_ARGUMENT` for wrong options. */
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
   * Stores a call that needs a user, and runs nothing: a call that needs approval, or one of a manual tool.
   *
   * Asking again returns the stored call with its answer; `execute` of the same call then uses the answer, once.
   *
   * @returns the pending call (`kind`), or the decision (`verdict`) when it needs nobody or cannot be made.
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

  /** Returns the policy's decision for each of some calls, made one after the other, and which inputs would be refused. Nothing is run, and no event is sent. */
  async dryRun(
    calls: readonly PlannableCall[],
    options: ExecuteOptions = {},
  ): Promise<
    readonly (Pick<DecidedCall, 'callId' | 'toolName' | 'refused'> & {
      readonly decision: Decision;
    })[]
  > {
    const { conversationId } = options;
    let flow =
      conversationId === undefined ? undefined : await this.#labels.assumed(conversationId);
    const dryRuns = [];
    for (const each of readCalls(calls)) {
      const { decided, call } = await decideCall(
        this.#frame,
        this.#judge,
        each,
        options,
        flow ?? {},
      );
      const { callId, toolName, refused, ...decision } = decided;
      dryRuns.push(
        Object.freeze({ callId, toolName, decision, ...(refused !== undefined && { refused }) }),
      );
      if (call !== undefined && decision.verdict !== 'deny')
        flow = { ...flow, ...readBy(call.entry, { ...each, input: call.input }, flow ?? {}) };
    }
    return Object.freeze(dryRuns);
  }

  /** Calls the function with every event, until the returned function is called. */
  on(listener: (event: ToolEvent) => void): () => void {
    if (typeof listener !== 'function')
      throw invalidArgument('a function that is called with all events', listener);
    return this.#frame.listeners.add(listener);
  }

  /**
   * Runs a function around the work of every call that is allowed, approved and not answered from the cache: to log, time or
   * redact it, or to put another result in its place. The result is then checked, kept and given as if the tool had returned it.
   *
   * Functions nest in the order of `use`, the first outermost. One that throws fails the call, and its error is not shown.
   * @returns a function that removes it; calls that run keep it.
   */
  use(around: Around): () => void {
    return this.#arounds.add(around);
  }

  /**
   * Records that a user approved a pending call, and returns the approval: with it the call can be run, once.
   *
   * @param edited other arguments than those asked for; then they, and only they, are approved.
   * @throws ToolError `INVALID_APPROVAL` when the pending call was changed, has expired or is answered already; `STATE_UNAVAILABLE`.
   */
  async approve(pending: PendingApproval, edited?: { readonly input: unknown }): Promise<Approval> {
    return this.#desk.approve(pending, edited);
  }

  /**
   * Records that a user approved a pending call, and further calls like it: same tool, definition, principal and conversation.
   *
   * @throws ToolError as `approve` does, `INVALID_ARGUMENT` for a scope without a limit and for calls that are asked about
   * every time (consent, critical tools, flows).
   */
  async grant(
    pending: PendingApproval,
    scope: GrantScope,
  ): Promise<{ readonly approval: Approval; readonly grant: Grant }> {
    return this.#desk.grant(pending, scope);
  }

  /** Returns the grants that can be offered with a question, the narrowest first; none for calls that are asked about every time. */
  grantChoices(pending: PendingApproval): readonly GrantChoice[] {
    const entry = this.registry.get(pending.toolName);
    return entry === undefined ? [] : grantChoices(entry, pending);
  }

  /** Returns the grants that count, of all or of those that are named, the oldest first, with how often each was used. @throws ToolError `STATE_UNAVAILABLE`. */
  async grants(
    of: Partial<Pick<Grant, 'principal' | 'conversationId' | 'toolName'>> = {},
  ): Promise<readonly (Grant & { readonly used: number })[]> {
    return this.#grants.list(of);
  }

  /** Ends a grant. @returns true if there was one. @throws ToolError `STATE_UNAVAILABLE`. */
  revokeGrant(id: string): Promise<boolean> {
    return this.#grants.revoke(id);
  }

  /**
   * Calls the listener with each pending call on the store that somebody answered, once: make that call again, and it uses
   * the answer. The store is looked at every second, until the returned function is called.
   */
  onAnswered(listener: (answered: StoredPending) => void): () => void {
    return watchAnswers(this.pendingCalls, this.#frame.clock, listener);
  }

  /** Records that a user denied a pending call. @throws ToolError as `approve` does. */
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
    return this.#labels.of(conversationId);
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
    await this.#labels.clear(conversationId, labels);
  }

  /** Adds what is read in a conversation beside its calls, or was read before in another process. @throws ToolError `INVALID_ARGUMENT` for what is no flow. */
  async addFlow(conversationId: string, flow: Flow): Promise<void> {
    await this.#labels.addFrom(conversationId, flow);
  }

  /** Forgets which calls were repeated in a conversation: something was said in it, after which equal calls are no loop. */
  resetRepeats(conversationId: string): void {
    this.#repeats.forget(conversationId);
  }

  /** The calls that were given up and whose work still runs, the longest first; previews that hang are among them. */
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

  /** Lets a principal or conversation spend its budgets again; '' stands for calls without one. @throws ToolError `STATE_UNAVAILABLE`. */
  async resetBudgets(owner: string): Promise<void> {
    await this.#budgets?.reset(owner);
  }

  /** Writes what is left to be shared, and stops listening to the store. Calls that run are not stopped; the store is not closed. */
  async close(): Promise<void> {
    this.#stopWatchingStore?.();
    await this.#log?.flush();
    await this.#ownHealth?.close();
  }
}

/** The outcome of a call whose tool returns `Result`. */
type TypedOutcome<Result> = ToolOutcome extends infer Each
  ? Each extends { readonly status: 'ok' }
    ? Omit<Each, 'value'> & { readonly value: Result }
    : Each
  : never;

function denied({ reason, rule, danger }: Decision): OutcomeBody {
  return { status: 'denied', reason, rule, danger };
}
