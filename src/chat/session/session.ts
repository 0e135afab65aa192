import type { GrantScope } from '../../safety/calls.js';
import { z } from 'zod';
import { systemClock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { invalidArgument } from '../../core/issues.js';
import { aFunction, checkOptions, signal } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { modelStepOf } from '../ask-model.js';
import { runChat } from '../chat.js';
import { checkEngine, type ChatEngine, type CheckedEngine } from '../chat-engine.js';
import { errorOf, haltedReason, resultOf, type ChatResult } from '../chat-result.js';
import { ChatRun } from '../chat-run.js';
import { pendingOf, type ChatPending, type ChatState } from '../chat-state.js';
import { runnableCalls } from '../run-calls.js';
import { closedMessages, type ChatMessage } from '../thread.js';
import {
  expireQuestions,
  rerunCall,
  resolveCall,
  settleOpenCalls,
  type CallDecision,
  type Open,
  type Resolved,
} from './resolve-call.js';
import {
  enterRun,
  newSessionData,
  revised,
  statusOf,
  withDecisionsAskedAgain,
  type NewSession,
  type SessionData,
  type SessionStatus,
} from './session-data.js';
import {
  readSnapshot,
  writeSnapshot,
  type SessionSnapshot,
  type SnapshotOptions,
} from './snapshot.js';

/** The person who decides. */
interface DecidedBy {
  readonly by?: string;
}

/**
 * The session after a decision, or the reason why the decision is refused. `applied` is false if
 * the same decision is already on record.
 */
export type DecisionResult =
  | { readonly ok: true; readonly session: Session; readonly applied: boolean }
  | { readonly ok: false; readonly session: Session; readonly error: ToolError };

/** The session after a run, and the result of the run. */
export interface RunResult {
  readonly session: Session;
  readonly result: ChatResult;
  /** The reason why `reply` didn't accept the text as an answer. The session is unchanged. */
  readonly refused?: ToolError;
}

/** Options for one run of a session. */
interface RunSessionOptions {
  /** Aborting this signal ends the run. @default none */
  readonly signal?: AbortSignal;
  /** Streams the text as events. @default false */
  readonly stream?: boolean;
  /**
   * Receives the session at every step, for programs that store sessions themselves. The run waits
   * for this function, so no call starts before you have received the session that records its
   * start. If the function throws, the run ends. With a `SessionStore`, you don't need this
   * function. @default none
   */
  readonly onCheckpoint?: (session: Session) => void | Promise<void>;
}

const runOptions = z.strictObject({
  signal: signal().optional(),
  stream: z.boolean().default(false),
  onCheckpoint: aFunction<NonNullable<RunSessionOptions['onCheckpoint']>>().optional(),
});
const approvalOptions = z.strictObject({
  input: z.unknown().optional(),
  grant: z.custom<GrantScope>(isPlainObject, 'the scope of a grant').optional(),
  pendingId: z.string().optional(),
  by: z.string().optional(),
});

/**
 * Stores a session where other processes find it. Resolves to a function that stores the next
 * state.
 * @throws ToolError `STALE_SESSION` if another process has stored the session in the meantime.
 */
export type Keep = (data: SessionData) => Promise<Keep>;

/** Creates a session that is stored as it runs. Only session stores use this function. */
export let keptSession: (data: SessionData, keep: Keep) => Session;

/**
 * A conversation with tools, as an immutable value: every operation returns a new session and
 * leaves this one unchanged.
 *
 * Decisions about pending calls (`submitToolResult`, `answer`, `approve`, `deny`) are recorded but
 * not carried out yet. You can make decisions in any order and in any process. When nothing is
 * pending any more, `continue` calls the model again. For a decision that doesn't fit its call,
 * these methods return `{ ok: false, error }`. An operation that the status doesn't allow throws
 * `INVALID_STATE`.
 *
 * If you continue the same session twice, its calls run twice. If that can happen, or if a process
 * may end in the middle of a run, use a `SessionStore`.
 *
 * ```ts
 * import { defineTool } from 'tooldex';
 * import { scriptedModel, Session } from 'tooldex/chat';
 * import { z } from 'zod';
 *
 * const charge = defineTool({ name: 'charge', description: 'Charges a card', inputSchema: z.object({ cents: z.number() }), manual: true });
 * const engine = { tools: [charge], model: scriptedModel([{ calls: [{ id: 'c1', name: 'charge', input: { cents: 500 } }] }, 'Charged.']) };
 *
 * let { session } = await Session.create().start(engine, 'Charge 5 euros');
 * session.status; // → 'awaiting_tools'
 * session = Session.fromJSON(JSON.parse(JSON.stringify(session))).submitToolResult('c1', { paid: true }).session;
 * const { result } = await session.continue(engine);
 * result.text; // → 'Charged.'
 * ```
 */
export class Session {
  readonly #data: SessionData;
  readonly #keep: Keep | undefined;

  static {
    keptSession = (data, keep) => new Session(data, keep);
  }

  private constructor(data: SessionData, keep?: Keep) {
    this.#data = data;
    this.#keep = keep;
    Object.freeze(this);
  }

  /**
   * Returns a new session. @throws ToolError `INVALID_ARGUMENT` for invalid ids and messages, and
   * for a context that isn't plain data.
   */
  static create(options: NewSession = {}): Session {
    return new Session(newSessionData(options));
  }

  /**
   * Returns the session in a snapshot, after checking the whole snapshot.
   *
   * If a call was started before the snapshot, its outcome is unknown: submit its result, or call
   * `rerun`.
   *
   * @throws ToolError `INVALID_SNAPSHOT` with everything that is invalid.
   */
  static fromJSON(snapshot: unknown, options: SnapshotOptions = {}): Session {
    return new Session(readSnapshot(snapshot, options));
  }

  get id(): string {
    return this.#data.id;
  }

  /** The number of changes to the session. */
  get rev(): number {
    return this.#data.rev;
  }

  get context(): unknown {
    return this.#data.context;
  }

  /** The name of the job that the session runs, or `undefined`. */
  get job(): string | undefined {
    return this.#data.job;
  }

  get status(): SessionStatus {
    return statusOf(this.#data);
  }

  /** The thread of all closed turns, which every model accepts. */
  get messages(): readonly ChatMessage[] {
    return this.#data.messages;
  }

  /** The calls that the session is waiting for, in the model's order. */
  get pending(): readonly ChatPending[] {
    return pendingOf(this.#data);
  }

  /**
   * The reason why the last run stopped. `undefined` before the first run, or if calling `continue`
   * is all that is left to do.
   */
  get haltedReason(): string | undefined {
    const isStopped = this.pending.length > 0 || this.#data.end !== undefined;
    return isStopped ? haltedReason(this.#data) : undefined;
  }

  /** The error, if the status is `error`. */
  get error(): { readonly code: string; readonly message: string } | undefined {
    return errorOf(this.#data.end);
  }

  /**
   * Returns the session as plain JSON. With a key of at least 32 bytes, the JSON is signed. Loading
   * the JSON with the key then detects any change.
   */
  snapshot(options: SnapshotOptions = {}): SessionSnapshot {
    return writeSnapshot(this.#data, options);
  }

  toJSON(): SessionSnapshot {
    return this.snapshot();
  }

  /**
   * Submits the result of a manual call, or of a call whose outcome is unknown: a value,
   * `ok(value)`, or `fail(message)`.
   */
  submitToolResult(callId: string, result: unknown, { by }: DecidedBy = {}): DecisionResult {
    return this.#decide(callId, { kind: 'result', result, by });
  }

  /** Submits several results. If one result is refused, no result is accepted. */
  submitToolResults(
    results: readonly { readonly callId: string; readonly result: unknown }[],
  ): DecisionResult {
    return this.#apply((data) => {
      let applied = false;
      for (const { callId, result } of results) {
        const resolved = resolveCall(data, callId, { kind: 'result', result });
        ({ data } = resolved);
        applied ||= resolved.applied;
      }
      return { data, applied };
    });
  }

  /**
   * Answers a call's question. The answer becomes the call's result. It must be one of the question's
   * choices, or match its form. After the question has expired, the answer is refused with `TIMEOUT`.
   *
   * @param options `now`: the time of the answer, in milliseconds since 1970. @default the system
   * clock
   */
  answer(
    callId: string,
    answer: string | readonly string[],
    { now = systemClock.now() }: { readonly now?: number } = {},
  ): DecisionResult {
    return this.#decide(callId, { kind: 'answer', answer, now });
  }

  /**
   * Stops waiting for questions that have expired at `now`, in milliseconds since 1970. `continue`
   * does this automatically, using the engine's clock.
   */
  expire(now: number): DecisionResult {
    return this.#apply((data) => expireQuestions(data, now));
  }

  /**
   * Approves a call. The call runs when the session continues, unless it has changed since the user
   * saw it.
   *
   * @param options `input`: other arguments, if the user changed them. Changed arguments are
   * checked like any arguments, and need approval again if they're more dangerous. `grant`: further
   * calls to approve as well. `pendingId`: the `id` of the pending call that the user saw. If
   * another pending call has replaced that call, the approval is refused.
   */
  approve(
    callId: string,
    options: {
      readonly input?: unknown;
      readonly grant?: GrantScope;
      readonly pendingId?: string;
    } & DecidedBy = {},
  ): DecisionResult {
    const checked = checkOptions(approvalOptions, options, 'options of an approval');
    return this.#decide(callId, { kind: 'approve', ...checked });
  }

  /** Denies a pending call, or a call left over from an aborted run. The model reads the reason. */
  deny(callId: string, reason?: string, { by }: DecidedBy = {}): DecisionResult {
    return this.#decide(callId, { kind: 'deny', reason, by });
  }

  /** Reruns a call whose outcome is unknown. The call's effect may happen twice. */
  rerun(callId: string): DecisionResult {
    return this.#apply((data) => rerunCall(data, callId));
  }

  /**
   * Starts with the user's text, or with messages. @throws ToolError `INVALID_STATE` while
   * something is pending.
   */
  async start(
    engine: ChatEngine,
    input: string | readonly ChatMessage[],
    options: RunSessionOptions = {},
  ): Promise<RunResult> {
    this.#assertStatus('start', ['idle', 'completed']);
    const said = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
    return this.#say(engine, said, options);
  }

  /**
   * Continues with the user's text. If one question is pending, the text answers that question. If
   * the question doesn't accept the answer, `refused` is set, and the question stays pending.
   *
   * @param options `open`: lets the user say something else while calls are open. All open calls get
   * a result in one step, and none of them runs: with `deny`, they're denied; with `leave`, the
   * model reads that nobody has decided, and operators can still see and answer them.
   * @throws ToolError `INVALID_STATE` if calls are open and `open` isn't set, except for one question.
   */
  async reply(
    engine: ChatEngine,
    text: string,
    { open, ...options }: RunSessionOptions & { readonly open?: Open } = {},
  ): Promise<RunResult> {
    if (typeof text !== 'string') throw invalidArgument('what the user says as text', text);
    if (open !== undefined) return this.#moveOn(engine, text, open, options);
    this.#assertStatus('reply', ['idle', 'completed', 'awaiting_user']);
    if (this.status !== 'awaiting_user')
      return this.#say(engine, [{ role: 'user', content: text }], options);
    const [question, ...others] = this.pending.filter(({ kind }) => kind === 'question');
    if (others.length > 0)
      throw new ToolError(
        'INVALID_STATE',
        `${others.length + 1} questions are pending. Answer each question with answer(callId, text).`,
      );
    const checked = checkEngine(engine);
    const answered = this.answer(question!.callId, text, { now: checked.clock.now() });
    if (!answered.ok) return { ...this.#stopped(checked), refused: answered.error };
    if (answered.session.pending.length > 0)
      return (await answered.session.save()).#stopped(checked);
    return answered.session.#continue(checked, options);
  }

  async #moveOn(
    engine: ChatEngine,
    text: string,
    open: Open,
    options: RunSessionOptions,
  ): Promise<RunResult> {
    if (!OPEN.includes(open)) throw invalidArgument('open as "deny" or "leave"', open);
    const { executor } = checkEngine(engine);
    const { data } = settleOpenCalls(this.#data, open);
    const session = new Session(data, this.#keep);
    const run = await session.#say(engine, [{ role: 'user', content: text }], options);
    // Closes the records in the ledger, too. The calls don't run any more in any case.
    const asked = this.pending.filter((each) => 'definitionDigest' in each);
    if (open === 'deny') await Promise.allSettled(asked.map((each) => executor.deny(each)));
    return run;
  }

  /**
   * Continues after decisions, or where a process stopped. @throws ToolError `INVALID_STATE` while
   * something is pending.
   */
  async continue(engine: ChatEngine, options: RunSessionOptions = {}): Promise<RunResult> {
    return this.#continue(checkEngine(engine), options);
  }

  async #continue(checked: CheckedEngine, options: RunSessionOptions): Promise<RunResult> {
    const { session, ...expired } = this.expire(checked.clock.now());
    if (expired.ok && expired.applied) return (await session.save()).#continue(checked, options);
    const runnable = runnableCalls(this.#data, checked.registry).map(({ callId }) => callId);
    const isRepeatable =
      this.status === 'awaiting_tools' &&
      this.pending.every(({ kind, callId }) => kind === 'uncertain' && runnable.includes(callId));
    if (!isRepeatable) this.#assertStatus('continue', ['idle', 'completed']);
    const { end, messages, openTurn } = this.#data;
    // The model has already answered.
    // A second request to continue may come from a webhook that is delivered twice.
    if (end?.reason === 'completed' && messages.at(-1)?.role === 'assistant')
      return this.#stopped(checked);
    if (messages.length === 0 && openTurn === undefined)
      throw new ToolError(
        'INVALID_STATE',
        'There is no conversation to continue. Begin with start(engine, text).',
      );
    return this.#run(this.#data, checked, options);
  }

  /** Continues after an error. @throws ToolError `INVALID_STATE` in any other status. */
  async retry(engine: ChatEngine, options: RunSessionOptions = {}): Promise<RunResult> {
    this.#assertStatus('retry', ['error']);
    return this.#run(this.#data, checkEngine(engine), options);
  }

  /**
   * Saves the session in its store. @throws ToolError `STALE_SESSION` if another process changed
   * the stored session.
   */
  async save(): Promise<Session> {
    return this.#keep === undefined ? this : new Session(this.#data, await this.#keep(this.#data));
  }

  #stopped({ mode }: CheckedEngine): RunResult {
    return { session: this, result: resultOf(this.#data, mode, []) };
  }

  async #say(engine: ChatEngine, added: unknown, options: RunSessionOptions): Promise<RunResult> {
    if (this.#data.openTurn !== undefined)
      throw new ToolError(
        'INVALID_STATE',
        "Some calls from the last turn haven't run yet. Continue or deny them, or pass open: 'deny' to reply.",
      );
    if (!Array.isArray(added)) throw invalidArgument('text or a list of messages', added);
    // New results may answer calls in the last message, so all messages are checked. Without new
    // results, the existing messages stay the same objects and aren't written again.
    const isResult = (added as readonly ChatMessage[])[0]?.role === 'tool';
    const messages = isResult
      ? closedMessages([...this.messages, ...(added as readonly ChatMessage[])])
      : [...this.messages, ...closedMessages(added)];
    if (messages.length === 0)
      throw invalidArgument('at least one message', added, 'Give the model something to answer.');
    return this.#run({ ...this.#data, messages }, checkEngine(engine), options);
  }

  #decide(callId: string, decision: CallDecision): DecisionResult {
    return this.#apply((data) => resolveCall(data, callId, decision));
  }

  #apply(change: (data: SessionData) => Resolved): DecisionResult {
    try {
      const { data, applied } = change(this.#data);
      return { ok: true, session: applied ? new Session(data, this.#keep) : this, applied };
    } catch (error) {
      if (!isToolError(error)) throw error;
      return { ok: false, session: this, error };
    }
  }

  #assertStatus(operation: string, allowed: readonly SessionStatus[]): void {
    const { status } = this;
    if (allowed.includes(status)) return;
    throw new ToolError(
      'INVALID_STATE',
      `The session can't ${operation}: its status is ${status}. ${WHAT_TO_DO[status]}.`,
      { details: { status, callIds: this.pending.map(({ callId }) => callId) } },
    );
  }

  async #run(
    start: SessionData,
    engine: CheckedEngine,
    options: RunSessionOptions,
  ): Promise<RunResult> {
    const checked = checkOptions(runOptions, options, 'options of a run');
    const { signal, stream, onCheckpoint } = checked;
    const model = await modelStepOf(engine);
    const { clock, executor } = engine;
    const { context, id: conversationId, origin, job, startedAt = clock.now() } = start;
    let data = await enterRun(
      executor.sharedStore,
      {
        ...start,
        ...(job !== undefined && { startedAt }),
      },
      clock.now(),
    );
    let keepNext = this.#keep;
    const keep = async (next: ChatState) => {
      data = revised({ ...(next as SessionData), rev: data.rev });
      keepNext = await keepNext?.(data);
      await onCheckpoint?.(new Session(data, keepNext));
    };
    const run = new ChatRun(
      data,
      context === undefined || engine.context !== undefined ? engine : { ...engine, context },
      { stream, conversationId, origin, storeIdentity: data.storeIdentity, signal, keep },
    );
    await runChat(run, model);
    // After Stop, the user decides again about every call that hasn't run.
    const stopped = run.isCancelled ? withDecisionsAskedAgain(data, 0) : data;
    if (stopped !== data) await keep(stopped);
    const session = new Session(data, keepNext);
    const result = resultOf(data, engine.mode, run.turns);
    run.tell({ type: 'chat-completed', result });
    const { status } = session;
    if (job !== undefined && (status === 'completed' || status === 'error')) {
      const latencyMs = Math.max(0, clock.now() - startedAt);
      const persona = engine.persona ?? null;
      try {
        engine.jobs?.recordJob(job, { success: status === 'completed', latencyMs }, { persona });
      } catch {
        // Keeps the result even if the catalogue no longer has the job.
      }
    }
    return { session, result };
  }
}

const OPEN: readonly Open[] = ['deny', 'leave'];
const WHAT_TO_DO: Readonly<Record<SessionStatus, string>> = {
  idle: 'Call continue(engine), or start(engine, text)',
  completed: 'Call start(engine, text), or reply(engine, text)',
  awaiting_user: 'Answer the question: reply(engine, text), or answer(callId, text)',
  awaiting_tools:
    "Submit the missing results first: submitToolResult(callId, result). To repeat a call whose outcome isn't known, call rerun(callId)",
  awaiting_approval: 'Decide first: approve(callId) or deny(callId)',
  error: 'Call retry(engine)',
};
