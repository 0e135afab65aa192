import type { GrantScope } from '../../safety/calls.js';
import { z } from 'zod';
import { systemClock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot, invalidArgument } from '../../core/issues.js';
import { aFunction, checkOptions, signal } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { modelStepOf } from '../ask-model.js';
import { runChat } from '../chat.js';
import { storeContent } from '../blobs.js';
import { checkEngine, type ChatEngine, type CheckedEngine } from '../chat-engine.js';
import { haltedReason, resultOf, type ChatResult } from '../chat-result.js';
import { ChatRun } from '../chat-run.js';
import { closeTurn, pendingOf, type ChatPending, type ChatState } from '../chat-state.js';
import { runnableCalls } from '../run-calls.js';
import { closedMessages, type ChatMessage } from '../thread.js';
import {
  expireQuestions,
  rerunCall,
  resolveCall,
  type CallDecision,
  type Resolved,
} from './resolve-call.js';
import {
  changedTools,
  enterRun,
  newSessionData,
  statusOf,
  withChat,
  type ChangedTool,
  type NewSession,
  type SessionData,
  type SessionStatus,
} from './session-data.js';
import {
  readSnapshot,
  writeSnapshot,
  type ReadSnapshotOptions,
  type SessionSnapshot,
} from './snapshot.js';

/** The session after a decision, or the reason why it is refused, which leaves the session as it was; `applied` is false for the same decision twice. */
export type DecisionResult =
  | { readonly ok: true; readonly session: Session; readonly applied: boolean }
  | { readonly ok: false; readonly session: Session; readonly error: ToolError };

/** The session after a run, and the result of the run. */
export interface RunResult {
  readonly session: Session;
  readonly result: ChatResult;
  /** The reason why `reply` did not take the text as the answer to the pending question: the session is as it was. */
  readonly refused?: ToolError;
}

/** The options of one run of a session. */
export interface RunSessionOptions {
  /** Ends the run when it aborts. @default none */
  readonly signal?: AbortSignal;
  /** Tells events of text piece by piece. @default false */
  readonly stream?: boolean;
  /** Runs calls although their tools are declared otherwise than when the model made them; they need approval again. @default false */
  readonly acceptChangedTools?: boolean;
  /**
   * Hears the session at every step of the run, and the run waits for it: no call begins before it was heard as begun.
   * An exception of it ends the run. For programs that keep sessions in files of their own; a `SessionStore` needs none. @default none
   */
  readonly onCheckpoint?: (session: Session) => void | Promise<void>;
}

const runOptions = z.strictObject({
  signal: signal().optional(),
  stream: z.boolean().default(false),
  acceptChangedTools: z.boolean().default(false),
  onCheckpoint: aFunction<NonNullable<RunSessionOptions['onCheckpoint']>>().optional(),
});
const answerOptions = z.strictObject({ now: z.number().optional() });
const approvalOptions = z.strictObject({
  input: z.unknown().optional(),
  grant: z.custom<GrantScope>(isPlainObject, 'the scope of a grant').optional(),
  pendingId: z.string().optional(),
});

/** Keeps a session where other processes find it, and resolves to what keeps the next state. @throws ToolError `STALE_SESSION` when another process kept it since. */
export type Keep = (data: SessionData) => Promise<Keep>;

/** Makes a session that is kept as it runs; for stores of sessions. */
export let keptSession: (data: SessionData, keep: Keep) => Session;

/**
 * A conversation with tools, as a value: every operation gives a new session and leaves this one as it is.
 *
 * Decisions about pending calls (`submitToolResult`, `answer`, `approve`, `deny`) only put them on record, in any order
 * and in any process; `continue` goes on with the model when nothing is pending any more. Data that do not fit come back as
 * `{ ok: false, error }`; an operation that the status does not allow throws `INVALID_STATE`.
 *
 * A value does not know what was done with it: a program that continues the same one twice runs its calls twice. Where that can
 * happen, and where a process may end in the middle of a run, sessions belong into a `SessionStore`.
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

  /** Returns a new session. @throws ToolError `INVALID_ARGUMENT` for wrong ids, messages, and contexts that are no plain data. */
  static create(options: NewSession = {}): Session {
    return new Session(newSessionData(options));
  }

  /**
   * Returns the session of a snapshot, whatever has become of the file since: everything in it is checked.
   *
   * A call that the snapshot has as started is one whose outcome nobody knows: it needs its result, or `rerun`.
   *
   * @throws ToolError `INVALID_SNAPSHOT` with everything that is wrong.
   */
  static fromJSON(snapshot: unknown, options: ReadSnapshotOptions = {}): Session {
    return new Session(readSnapshot(snapshot, options));
  }

  get id(): string {
    return this.#data.id;
  }

  /** The number of changes of the session. */
  get rev(): number {
    return this.#data.rev;
  }

  get context(): unknown {
    return this.#data.context;
  }

  /** The name of the job that the session runs; `undefined` if it runs none. */
  get job(): string | undefined {
    return this.#data.job;
  }

  get status(): SessionStatus {
    return statusOf(this.#data);
  }

  /** The thread of all closed turns: a model accepts it at any time. */
  get messages(): readonly ChatMessage[] {
    return this.#data.chat.messages;
  }

  /** The calls that the session waits for, in the model's order. */
  get pending(): readonly ChatPending[] {
    return pendingOf(this.#data.chat);
  }

  /** The reason why the last run stopped; `undefined` before the first run and when it only needs `continue`. */
  get haltedReason(): string | undefined {
    const { chat } = this.#data;
    return this.pending.length > 0 || chat.end !== undefined ? haltedReason(chat) : undefined;
  }

  /** The error, in the status `error`. */
  get error(): { readonly code: string; readonly message: string } | undefined {
    const { end } = this.#data.chat;
    if (end?.reason === 'error') return end.error;
    return end?.reason === 'tool_error'
      ? { code: 'EXECUTION_FAILED', message: end.error }
      : undefined;
  }

  /** Returns the tools of calls still to be run that are declared otherwise now, or missing. */
  changedTools(registry: ToolMetadataRegistry): readonly ChangedTool[] {
    return changedTools(this.#data.chat, registry);
  }

  /** Returns the session as plain JSON; with a key of at least 32 bytes it is signed, and any change shows when it is read with the key. */
  snapshot(options: { readonly key?: Uint8Array } = {}): SessionSnapshot {
    return writeSnapshot(this.#data, options);
  }

  toJSON(): SessionSnapshot {
    return this.snapshot();
  }

  /** Gives the result of a manual call, or of one whose outcome was not known: a value, `ok(value)` or `fail(message)`. */
  submitToolResult(callId: string, result: unknown): DecisionResult {
    return this.#decide([[callId, { kind: 'result', result }]]);
  }

  /** Gives several results; when one is refused, none is taken. */
  submitToolResults(
    results: readonly { readonly callId: string; readonly result: unknown }[],
  ): DecisionResult {
    const given: unknown = results;
    if (!(
      Array.isArray(given) &&
      given.every((each) => isPlainObject(each) && Object.hasOwn(each, 'result'))
    ))
      throw invalidArgument('results as a list of { callId, result }', given);
    return this.#decide(results.map(({ callId, result }) => [callId, { kind: 'result', result }]));
  }

  /**
   * Answers the question of a call; the answer is the call's result. Where choices are offered it is the value or label of one,
   * or, where several may be taken, a list of them or a text with commas; anything else is refused unless others are allowed, and
   * so is an answer after the time of the question (`TIMEOUT`).
   *
   * @param options `now`: the time of the answer, in milliseconds since 1970. @default by the clock of the system
   */
  answer(
    callId: string,
    answer: string | readonly string[],
    options: { readonly now?: number } = {},
  ): DecisionResult {
    const { now = systemClock.now() } = checkOptions(
      answerOptions,
      options,
      'options of an answer',
    );
    return this.#decide([[callId, { kind: 'answer', answer, now }]]);
  }

  /** Ends the wait for the questions whose time is over at `now`, in milliseconds since 1970; `continue` does so by the engine's clock. */
  expire(now: number): DecisionResult {
    if (!Number.isFinite(now)) throw invalidArgument('milliseconds since 1970', now);
    return this.#apply(() => expireQuestions(this.#data, now));
  }

  /**
   * Approves a call; it runs when the session goes on, if it is still what was shown.
   *
   * @param options `input`: other arguments, when the user changed them; they are checked and judged like any, and need approval again where
   * the danger is greater. `grant`: further calls that are approved with it. `pendingId`: the `id` of what the user was shown; an approval of what was pending before is refused then.
   */
  approve(
    callId: string,
    options: {
      readonly input?: unknown;
      readonly grant?: GrantScope;
      readonly pendingId?: string;
    } = {},
  ): DecisionResult {
    const { input, grant, pendingId } = checkOptions(
      approvalOptions,
      options,
      'options of an approval',
    );
    return this.#decide([
      [
        callId,
        {
          kind: 'approve',
          ...(input !== undefined && { edited: { input } }),
          ...(grant !== undefined && { grant }),
          pendingId,
        },
      ],
    ]);
  }

  /** Denies a pending call, or one that a run left when it was given up; the model reads the reason. */
  deny(callId: string, reason?: string): DecisionResult {
    return this.#decide([[callId, { kind: 'deny', reason }]]);
  }

  /** Runs a call once more of which nobody knows whether it ran: its effect may happen twice. */
  rerun(callId: string): DecisionResult {
    return this.#apply(() => rerunCall(this.#data, callId));
  }

  /** Begins, or goes on, with what the user says, or with messages. @throws ToolError `INVALID_STATE` while something is pending. */
  async start(
    engine: ChatEngine,
    input: string | readonly ChatMessage[],
    options: RunSessionOptions = {},
  ): Promise<RunResult> {
    this.#assertStatus('start', ['idle', 'completed']);
    return this.#say(
      engine,
      typeof input === 'string' ? [{ role: 'user', content: input }] : input,
      options,
    );
  }

  /**
   * Goes on with what the user says. Where one question is pending for the user, this is its answer; one
   * that the question does not take, or that comes too late, is `refused`, and the question is pending as before.
   *
   * @throws ToolError `INVALID_STATE` when manual calls are pending, or several questions.
   */
  async reply(
    engine: ChatEngine,
    text: string,
    options: RunSessionOptions = {},
  ): Promise<RunResult> {
    if (typeof text !== 'string') throw invalidArgument('what the user says as text', text);
    this.#assertStatus('reply', ['idle', 'completed', 'awaiting_user']);
    if (this.status !== 'awaiting_user')
      return this.#say(engine, [{ role: 'user', content: text }], options);
    const questions = this.pending.filter(({ kind }) => kind === 'question');
    if (questions.length > 1)
      throw new ToolError(
        'INVALID_STATE',
        expectedGot(
          'one pending question',
          `${questions.length}`,
          'Answer each by its call: answer(callId, text).',
        ),
      );
    const checked = checkEngine(engine);
    const { callId } = questions[0]!;
    const answered = this.answer(callId, text, { now: checked.clock.now() });
    if (!answered.ok)
      return {
        session: this,
        result: resultOf(this.#data.chat, checked.mode, []),
        refused: answered.error,
      };
    if (answered.session.pending.length > 0)
      return {
        session: await answered.session.save(),
        result: resultOf(answered.session.#data.chat, checked.mode, []),
      };
    return answered.session.#continue(checked, options);
  }

  /** Goes on after decisions, or where a process left off. @throws ToolError `INVALID_STATE` while something is pending. */
  async continue(engine: ChatEngine, options: RunSessionOptions = {}): Promise<RunResult> {
    return this.#continue(checkEngine(engine), options);
  }

  async #continue(checked: CheckedEngine, options: RunSessionOptions): Promise<RunResult> {
    const { session, applied } = this.expire(checked.clock.now()) as Extract<
      DecisionResult,
      { ok: true }
    >;
    if (applied) return (await session.save()).#continue(checked, options);
    const runnable = new Set(
      this.status === 'awaiting_tools'
        ? runnableCalls(this.#data.chat, checked.registry).map(({ callId }) => callId)
        : [],
    );
    const onlyRepeatable =
      runnable.size > 0 &&
      this.pending.every(({ kind, callId }) => kind === 'uncertain' && runnable.has(callId));
    if (!onlyRepeatable) this.#assertStatus('continue', ['idle', 'completed']);
    const { chat } = this.#data;
    // A second request to go on, such as a webhook that is delivered twice: the model has answered already.
    if (chat.end?.reason === 'completed' && this.messages.at(-1)?.role === 'assistant')
      return { session: this, result: resultOf(chat, checked.mode, []) };
    if (this.messages.length === 0 && this.#data.chat.openTurn === undefined)
      throw new ToolError(
        'INVALID_STATE',
        expectedGot(
          'a conversation to continue',
          'one without messages',
          'Begin with start(engine, text).',
        ),
      );
    return this.#run(this.#data.chat, checked, options);
  }

  /** Goes on after an error. @throws ToolError `INVALID_STATE` in any other status. */
  async retry(engine: ChatEngine, options: RunSessionOptions = {}): Promise<RunResult> {
    this.#assertStatus('retry', ['error']);
    return this.#run(this.#data.chat, checkEngine(engine), options);
  }

  /** Saves the session in the store that it comes from. @throws ToolError `STALE_SESSION` when another process changed it there. */
  async save(): Promise<Session> {
    return this.#keep === undefined ? this : new Session(this.#data, await this.#keep(this.#data));
  }

  async #say(engine: ChatEngine, added: unknown, options: RunSessionOptions): Promise<RunResult> {
    if (this.#data.chat.openTurn !== undefined)
      throw new ToolError(
        'INVALID_STATE',
        expectedGot(
          'no open turn',
          'one whose calls are to be run',
          'Continue, or deny them, before you go on with something else.',
        ),
      );
    if (!Array.isArray(added)) throw invalidArgument('text or a list of messages', added);
    const before = this.messages;
    // Results may belong to the last message; other messages that are there already stay the same objects, and are not kept again.
    const messages =
      (added as readonly Partial<ChatMessage>[])[0]?.role === 'tool'
        ? closedMessages([...before, ...(added as readonly ChatMessage[])])
        : Object.freeze([...before, ...closedMessages(added)]);
    if (messages.length === 0)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot('at least one message', 'none', 'Give the model something to answer.'),
      );
    return this.#run({ ...this.#data.chat, messages }, checkEngine(engine), options);
  }

  #decide(decisions: readonly (readonly [string, CallDecision])[]): DecisionResult {
    return this.#apply(() =>
      decisions.reduce<Resolved>(
        (before, [callId, decision]) => {
          const { data, applied } = resolveCall(before.data, callId, decision);
          return { data, applied: before.applied || applied };
        },
        { data: this.#data, applied: false },
      ),
    );
  }

  #apply(change: () => Resolved): DecisionResult {
    try {
      const { data, applied } = change();
      return {
        ok: true,
        session: applied ? new Session(data, this.#keep) : this,
        applied,
      };
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
      expectedGot(
        `the status ${allowed.join(' or ')} to ${operation}`,
        status,
        `${WHAT_TO_DO[status]}.`,
      ),
      { details: { status, callIds: this.pending.map(({ callId }) => callId) } },
    );
  }

  async #run(
    { end: _end, ...chat }: ChatState,
    engine: CheckedEngine,
    options: RunSessionOptions,
  ): Promise<RunResult> {
    const { signal, stream, acceptChangedTools, onCheckpoint } = checkOptions(
      runOptions,
      options,
      'options of a run',
    );
    const changed = acceptChangedTools ? [] : changedTools(chat, engine.registry);
    if (changed.length > 0) {
      throw new ToolError(
        'TOOL_CHANGED',
        `Expected the tools of the calls to be run as the model knew them, got ${changed.map(({ toolName, change }) => `${toolName} ${change}`).join(', ')}. Nothing was run. Go on with \`continue(engine, { acceptChangedTools: true })\`: calls of changed tools are judged again, and an approval of what a tool was does not count.`,
        { details: { changed } },
      );
    }
    const model = await modelStepOf(engine);
    const { context, id, origin, job, startedAt = engine.clock.now() } = this.#data;
    let data = await enterRun(
      engine.executor.sharedStore,
      {
        ...this.#data,
        ...(job !== undefined && { startedAt }),
        chat: await storeContent(Object.freeze(chat), engine.blobs, signal),
      },
      engine.clock.now(),
    );
    let keepNext = this.#keep;
    const keep = async (next: ChatState) => {
      // A turn whose last call is settled is closed in the same step: no process can end in between.
      data = withChat(data, closeTurn(next));
      keepNext = await keepNext?.(data);
      await onCheckpoint?.(new Session(data, keepNext));
    };
    const run = new ChatRun(
      data.chat,
      context === undefined || engine.context !== undefined ? engine : { ...engine, context },
      { stream, conversationId: id, origin, storeIdentity: data.storeIdentity, signal, keep },
    );
    // What was said and decided outlives the run; and of two that go on with the same session, one ends here.
    await run.save(run.state);
    await runChat(run, model);
    const session = new Session(data, keepNext);
    const result = resultOf(data.chat, engine.mode, run.turns);
    run.tell({ type: 'chat-completed', result });
    const { status } = session;
    if (job !== undefined && (status === 'completed' || status === 'error')) {
      const record = {
        success: status === 'completed',
        latencyMs: Math.max(0, engine.clock.now() - startedAt),
      };
      try {
        engine.jobs?.recordJob(job, record, { persona: engine.persona ?? null });
      } catch {
        // A job that the catalogue no longer has is no reason to lose the result.
      }
    }
    return { session, result };
  }
}

const WHAT_TO_DO: Readonly<Record<SessionStatus, string>> = {
  idle: 'Call continue(engine), or start(engine, text)',
  completed: 'Call start(engine, text), or reply(engine, text)',
  awaiting_user: 'Answer the question: reply(engine, text), or answer(callId, text)',
  awaiting_tools:
    'Give the missing results first: submitToolResult(callId, result); rerun(callId) runs a call again whose outcome is not known',
  awaiting_approval: 'Decide first: approve(callId) or deny(callId)',
  error: 'Call retry(engine)',
};
