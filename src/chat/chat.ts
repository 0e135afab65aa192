import { without } from '../core/plain-data.js';
import { randomUUID } from '../core/crypto.js';
import { isToolError, ToolError } from '../core/errors.js';
import { signal as signalField } from '../core/options.js';
import { publicMessage } from '../core/public-message.js';
import { streamOf } from '../interop/frameworks/stream-of.js';
import { untilAborted } from '../execution/with-deadline.js';
import { askModel, modelStepOf } from './ask-model.js';
import { checkChatOptions, type ChatOptions } from './chat-engine.js';
import { resultOf, turnOf, type ChatEvent, type ChatResult, type ChatTurn } from './chat-result.js';
import { ChatRun, type ChatRunOptions } from './chat-run.js';
import {
  argumentsOf,
  isSettled,
  NO_CHAT,
  turnEndOf,
  withPending,
  withCalls,
  type CallProgress,
  type CallRecord,
  type ChatEnd,
  type ChatState,
  type OpenTurn,
} from './chat-state.js';
import { errorOutput } from './encode-output.js';
import type { ModelStep } from './model-step.js';
import { runCalls } from './run-calls.js';
import { flowOfCalls, flowOfThread } from './thread-flow.js';
import { callsIn, closedMessages, ownCallsIn, type AssistantMessage } from './thread.js';

/**
 * Lets a model and tools take turns until the model has answered, or until a user or another
 * program has to act.
 *
 * The promise resolves even if the model or a tool fails. `haltedReason` explains why the run
 * stopped, and `pending` lists the calls it's waiting for. To continue, append a tool message with
 * the missing results and call `chat` again, or use a `Session`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options and messages, `OPEN_TOOL_CALLS` for
 * calls without a result, `MISSING_PACKAGE` if the model needs the package `ai`, and any error from
 * `haltWhen`.
 */
export async function chat(options: ChatOptions): Promise<ChatResult> {
  let result: ChatResult | undefined;
  for await (const event of start(options, false))
    if (event.type === 'chat-completed') ({ result } = event);
  return result!;
}

/**
 * Works like `chat`, and yields its events as they happen. The last event is `chat-completed`, with
 * the result.
 *
 * Leaving the loop over the events aborts the chat.
 *
 * @throws the same errors as `chat`, at the first event.
 */
export function streamChat(options: ChatOptions): AsyncGenerator<ChatEvent, void> {
  return start(options, true);
}

function start(options: ChatOptions, stream: boolean): AsyncGenerator<ChatEvent, void> {
  const reader = new AbortController();
  const own = signalField().safeParse(options?.signal).data;
  const signal = own ? AbortSignal.any([own, reader.signal]) : reader.signal;
  const events = streamOf<ChatEvent, void>((onEvent) =>
    runOnce(options, { stream, signal, onEvent }),
  );
  const leave = events.return.bind(events);
  // Aborts before it calls `leave`, because `leave` waits for the requested event, which a hanging
  // model never produces.
  events.return = (value) => {
    reader.abort();
    return leave(value);
  };
  return events;
}

async function runOnce(
  options: ChatOptions,
  runOptions: Omit<ChatRunOptions, 'conversationId'>,
): Promise<void> {
  const { messages: before, prompt, engine } = checkChatOptions(options);
  const said = prompt === undefined ? [] : [{ role: 'user', content: prompt }];
  const messages = closedMessages(Array.isArray(before) ? before.concat(said) : before);
  if (messages.length === 0)
    throw new ToolError('INVALID_ARGUMENT', 'Pass messages, a prompt or both.');
  const { conversationId = randomUUID() } = engine;
  const run = new ChatRun({ ...NO_CHAT, messages }, engine, { ...runOptions, conversationId });
  await runChat(run, await modelStepOf(engine));
  const result = resultOf(withoutHalfDone(run.state), engine.mode, run.turns);
  run.tell({ type: 'chat-completed', result });
}

/**
 * Returns the state of a chat that ended in the middle of a turn. Each unfinished call gets a
 * result that says whether the call was started.
 */
function withoutHalfDone(state: ChatState): ChatState {
  if (state.end === undefined) return state;
  return withCalls(state, (call) => {
    const { state: progress } = call.progress;
    if (progress === 'waiting' || progress === 'settled') return call;
    const output = errorOutput(
      progress === 'started'
        ? "The chat ended while the call was running; it's unknown whether it took effect"
        : 'Not run: the chat ended first',
    );
    return { ...call, progress: { state: 'settled', output } };
  });
}

/**
 * Lets the model and tools take turns until the run ends or has to wait: call the model, open its
 * calls, store the state, run the calls, store the state again, then end or repeat.
 *
 * If the model or a tool fails, or the caller aborts, `chat` returns a result and doesn't throw.
 *
 * @throws any error from `haltWhen`, `selectTools` and storing the state.
 */
export async function runChat(run: ChatRun, model: ModelStep): Promise<void> {
  const { maxTurns, haltWhen, mode } = run.engine;
  const { end: _before, ...state } = run.state;
  await run.save(state);
  await addStoredLabels(run);
  let turn = state.openTurn;
  const first = turn === undefined ? 0 : turn.index + 1;
  for (let asked = 0; ; asked += 1) {
    if (turn !== undefined) {
      await (mode === 'manual' ? leaveCalls : runCalls)(run, turn);
      const noted = noteTurn(run, (turn = run.turn!));
      run.tell({ type: 'turn-completed', turn: noted });
      if (!isSettled(turn)) return end(run, run.isCancelled ? CANCELLED : run.lost);
      if (turnEndOf(turn) !== undefined) return;
      if (haltWhen && (await unlessCancelled(run, () => haltWhen(noted), 'haltWhen')) === true)
        return end(run, { reason: 'halt_when', turn: turn.index });
    }
    if (run.isCancelled) return end(run, CANCELLED);
    if (asked === maxTurns) return end(run, { reason: 'max_turns', maxTurns });
    const answered = await askForTurn(run, model, first + asked);
    if ('reason' in answered) return end(run, answered);
    turn = answered;
  }
}

const CANCELLED: ChatEnd = Object.freeze({ reason: 'cancelled' });

/**
 * Stores the reason why the run ended. If there is no reason, the run is waiting and hasn't ended.
 */
async function end(run: ChatRun, reason: ChatEnd | undefined): Promise<void> {
  if (reason !== undefined && run.state.end === undefined)
    await run.save({ ...run.state, end: reason });
}

/**
 * Adds the state's labels to the conversation, because another process may have run the state's
 * calls.
 */
async function addStoredLabels({ state, engine, options }: ChatRun): Promise<void> {
  const { messages, openTurn, flow: stored } = state;
  if (!stored && !openTurn && messages.every(({ role }) => role !== 'assistant')) return;
  const flow = flowOfThread(state, engine.registry);
  await engine.executor.addFlow(options.conversationId, flow);
}

/**
 * Returns the state with its conversation's labels, because the executor's store may be gone when
 * the chat is resumed.
 */
async function withLabels({ state, engine, options }: ChatRun): Promise<ChatState> {
  const flow = await engine.executor.flow(options.conversationId).catch(() => state.flow);
  return flow === undefined || Object.keys(flow).length === 0 ? state : { ...state, flow };
}

/**
 * Returns the result of a function that the program passed, or `undefined` if the caller aborts
 * first.
 */
async function unlessCancelled<T>(
  run: ChatRun,
  ask: () => T | Promise<T>,
  name: string,
): Promise<T | undefined> {
  try {
    return await untilAborted(Promise.resolve(ask()), run.signal, name);
  } catch (error) {
    if (run.isCancelled) return undefined;
    throw error;
  }
}

/** Calls the model. @returns the turn with the model's calls, or the reason why the run ends. */
async function askForTurn(
  run: ChatRun,
  model: ModelStep,
  index: number,
): Promise<OpenTurn | ChatEnd> {
  if (run.state.messages.at(-1)?.role === 'user')
    run.engine.executor.resetRepeats(run.options.conversationId);
  const offer = await unlessCancelled(run, () => run.offers.next(run.state, index), 'selectTools');
  if (offer === undefined) return CANCELLED;
  const offered = offer.tools.map(({ toolName, level }) => ({ toolName, level }));
  run.tell({ type: 'turn-started', turn: index, tools: offered.map(({ toolName }) => toolName) });
  let answer;
  try {
    answer = await askModel(run, model, offer, index);
  } catch (error) {
    run.throwIfFailed();
    return run.isCancelled ? CANCELLED : modelFailed(error);
  }
  const { message, finishReason, usage } = answer;
  run.tell({ type: 'model-answered', turn: index, message, finishReason, ...(usage && { usage }) });
  const turn = turnOf({ index, message, calls: [] }, finishReason, usage);
  run.turns.push(turn);
  await addServedLabels(run, message);
  // Stores the labels before the calls run, because content read so far may have caused the calls.
  const state = { ...(await withLabels(run)), offered };
  if (ownCallsIn(message).length === 0) return complete(run, state, turn);
  const calls = recordsOf(message, finishReason);
  await run.save({ ...state, openTurn: { index, message, calls } });
  return run.turn!;
}

/** Adds labels for the calls that the model's service ran itself. */
async function addServedLabels(
  { engine, options }: ChatRun,
  message: AssistantMessage,
): Promise<void> {
  const served = callsIn(message).filter(({ providerExecuted }) => providerExecuted === true);
  if (served.length === 0) return;
  const flow = flowOfCalls(served, engine.registry, { before: {}, at: engine.clock.now() });
  await engine.executor.addFlow(options.conversationId, flow);
}

/** Ends the run with an answer without calls. */
async function complete(run: ChatRun, state: ChatState, turn: ChatTurn): Promise<ChatEnd> {
  const end = { reason: 'completed', finishReason: turn.finishReason } as const;
  // Services reject messages without content.
  const isEmpty = turn.message.content.length === 0;
  const messages = isEmpty ? state.messages : [...state.messages, turn.message];
  // Stores the message and the end together. If the process ended in between, the model would
  // later be asked to answer its own message.
  await run.save({ ...state, messages, end });
  run.tell({ type: 'turn-completed', turn });
  return end;
}

/** Returns the calls of an answer, which run next unless the answer was cut off. */
function recordsOf(message: AssistantMessage, finishReason: string): readonly CallRecord[] {
  const progress: CallProgress = CUT_OFF.has(finishReason)
    ? {
        state: 'settled',
        output: errorOutput(
          `Not run: the answer was cut off (${finishReason}), so the call may be incomplete. Make the call again`,
        ),
      }
    : { state: 'not_started' };
  return ownCallsIn(message).map(({ toolCallId: callId, toolName, input }) => ({
    callId,
    toolName,
    input,
    progress,
  }));
}

/** Finish reasons of answers that were cut off. The calls in such answers can be incomplete. */
const CUT_OFF: ReadonlySet<string> = new Set(['length', 'content-filter']);

function modelFailed(error: unknown): ChatEnd {
  const code = isToolError(error) ? error.code : 'MODEL_FAILED';
  // The AI SDK's advice is in later lines of its message, which aren't passed on.
  const message =
    error instanceof Error && error.name === 'GatewayAuthenticationError'
      ? "The AI Gateway didn't accept your key. Set AI_GATEWAY_API_KEY, or pass a model from a provider package, such as openai('…') from @ai-sdk/openai."
      : publicMessage(error);
  return { reason: 'error', error: { code, message } };
}

/**
 * Runs no call, and leaves every call to the program, whatever the call's tool or an approval says.
 * Used in `manual` mode.
 */
async function leaveCalls(run: ChatRun, { index: turn, calls }: OpenTurn): Promise<void> {
  const { registry, principal, clock } = run.engine;
  const { conversationId } = run.options;
  let { state } = run;
  for (const call of calls) {
    const { callId, toolName, progress } = call;
    if (progress.state !== 'not_started' && progress.state !== 'approved') continue;
    const pending = {
      kind: 'manual',
      id: `manual:${callId}`,
      callId,
      toolName,
      input: argumentsOf(call),
      definitionDigest: registry.get(toolName)?.digest ?? '',
      conversationId,
      ...without({ principal }),
      createdAt: clock.now(),
    } as const;
    state = withPending(state, pending);
    run.tell({ type: 'tool-pending', turn, callId, toolName, pending });
  }
  await run.save(state);
}

/** Adds the results so far to the last turn that programs see. */
function noteTurn(run: ChatRun, openTurn: OpenTurn): ChatTurn {
  const last = run.turns.at(-1)?.index === openTurn.index ? run.turns.pop() : undefined;
  const turn = turnOf(openTurn, last?.finishReason ?? 'tool-calls', last?.usage);
  run.turns.push(turn);
  return turn;
}
