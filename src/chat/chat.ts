import { randomUUID } from '../core/crypto.js';
import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { onAbort } from '../core/listeners.js';
import { signal as signalField } from '../core/options.js';
import { canonicalJson } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { untilAborted } from '../execution/with-deadline.js';
import type { Approval } from '../safety/approvals.js';
import type { PendingManualCall } from '../safety/calls.js';
import { askModel, modelStepOf, type Answer } from './ask-model.js';
import { storeContent } from './blobs.js';
import { checkChatOptions, type ChatOptions } from './chat-engine.js';
import { resultOf, turnOf, type ChatEvent, type ChatResult, type ChatTurn } from './chat-result.js';
import { ChatRun } from './chat-run.js';
import {
  argumentsOf,
  callRecord,
  closeTurn,
  isSettled,
  NO_CHAT,
  withCall,
  type CallProgress,
  type ChatEnd,
  type ChatState,
  type OpenTurn,
} from './chat-state.js';
import { errorOutput } from './encode-output.js';
import type { ModelStep } from './model-step.js';
import { runCalls } from './run-calls.js';
import { flowOfService, flowOfThread } from './thread-flow.js';
import { assertAnswered, callsIn, ownCallsIn, readThread, type ChatMessage } from './thread.js';

/**
 * Lets a model and tools take turns until the model has answered, or until a user or another program is needed.
 *
 * It resolves for whatever model and tools do wrong: `haltedReason` says why it stopped, `pending` what it waits for.
 * To go on, append a tool message with the missing results and ask again; or use a `Session`, which keeps all of it.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options and messages, `OPEN_TOOL_CALLS` for calls without result,
 * `MISSING_PACKAGE` when the model needs the package `ai`; and what `haltWhen` throws.
 */
export async function chat(options: ChatOptions): Promise<ChatResult> {
  let result: ChatResult | undefined;
  for await (const event of start(options, false))
    if (event.type === 'chat-completed') ({ result } = event);
  return result!;
}

/**
 * Does the same as `chat`, and tells what happens when it happens; the last event is `chat-completed` with the result.
 *
 * Leaving the loop over the events gives the chat up.
 *
 * @throws what `chat` throws, when the first event is asked for.
 */
export function streamChat(options: ChatOptions): AsyncGenerator<ChatEvent, void> {
  return start(options, true);
}

function start(options: ChatOptions, stream: boolean): AsyncGenerator<ChatEvent, void> {
  return eventStream(signalField().safeParse(options?.signal).data, async (tell, signal) => {
    const { messages, prompt, approvals, engine } = checkChatOptions(options);
    const thread =
      prompt === undefined || !Array.isArray(messages)
        ? messages
        : [...(messages as readonly ChatMessage[]), { role: 'user', content: prompt }];
    const state = await storeContent(stateOf(thread, approvals), engine.blobs, signal);
    // Approvals belong to the conversation for which they were given, also when it has no name.
    const approvedIn =
      approvals.find(({ conversationId }) => typeof conversationId === 'string')?.conversationId ??
      undefined;
    const run = new ChatRun(state, engine, {
      stream,
      approvals,
      signal,
      tell,
      conversationId: engine.conversationId ?? approvedIn ?? randomUUID(),
    });
    await runChat(run, await modelStepOf(engine));
    run.tell({
      type: 'chat-completed',
      result: resultOf(withoutHalfDone(run.state), engine.mode, run.turns),
    });
  });
}

type StreamedWork = (tell: (event: ChatEvent) => void, signal: AbortSignal) => Promise<void>;

/**
 * Returns the events of some work, in the order in which they are told.
 *
 * The work begins when the first event is asked for, and does not wait for its reader. When the reader leaves, the
 * work's signal fires, and the generator ends when the work has.
 */
function eventStream(
  signal: AbortSignal | undefined,
  work: StreamedWork,
): AsyncGenerator<ChatEvent, void> {
  const reader = new AbortController();
  const events = readEvents(signal, reader, work);
  // A generator itself hears of it at its next event, which a model that hangs never tells; a web stream leaves in between.
  const leave = events.return.bind(events);
  return Object.assign(events, {
    return: (value: void | PromiseLike<void>) => {
      reader.abort();
      return leave(value);
    },
  });
}

async function* readEvents(
  signal: AbortSignal | undefined,
  reader: AbortController,
  work: StreamedWork,
): AsyncGenerator<ChatEvent, void> {
  const told: ChatEvent[] = [];
  const stopListening = onAbort(signal, () => reader.abort());
  if (signal?.aborted === true) reader.abort();
  let wake = () => {};
  let ended = false;
  const tell = (event: ChatEvent) => {
    told.push(event);
    wake();
  };
  const working = work(tell, reader.signal).finally(() => {
    ended = true;
    wake();
  });
  working.catch(() => undefined);
  try {
    for (;;) {
      const next = told.shift();
      if (next !== undefined) yield next;
      else if (ended) break;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    await working;
  } finally {
    stopListening();
    reader.abort();
    await working.catch(() => undefined);
  }
}

/** Returns the state with which a chat of messages begins; its last turn is open where the approvals are of its calls. */
function stateOf(given: unknown, approvals: readonly Approval[]): ChatState {
  const thread = readThread(given);
  const { messages } = thread;
  if (messages.length === 0)
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot('messages or a prompt', 'neither', 'Give the model something to answer.'),
    );
  const approved = new Set(approvals.map(({ callId }) => callId));
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const message = messages[at];
  // What is approved runs before anything else: only the last turn can still be open.
  const isLast =
    message?.role === 'assistant' && messages.slice(at + 1).every(({ role }) => role === 'tool');
  const runnable = new Set(
    isLast
      ? callsIn(message).flatMap(({ toolCallId }) => (approved.has(toolCallId) ? [toolCallId] : []))
      : [],
  );
  // An earlier turn may have used the same id.
  assertAnswered(
    thread.open.filter(
      (call) =>
        !runnable.has(call.toolCallId) ||
        thread.open.findLast(({ toolCallId }) => toolCallId === call.toolCallId) !== call,
    ),
  );
  if (thread.open.length === 0 || !isLast) return Object.freeze({ ...NO_CHAT, messages });
  const results = messages[at + 1];
  const outputs = new Map(
    results?.role === 'tool'
      ? results.content.map(({ toolCallId, output }) => [toolCallId, output])
      : [],
  );
  const calls = ownCallsIn(message).map((call) => {
    const output = outputs.get(call.toolCallId);
    return callRecord(
      call,
      output === undefined ? { state: 'not_started' } : { state: 'settled', output },
    );
  });
  const openTurn: OpenTurn = Object.freeze({
    index: 0,
    message,
    calls: Object.freeze(calls),
    tools: Object.freeze([]),
  });
  return Object.freeze({ ...NO_CHAT, messages: Object.freeze(messages.slice(0, at)), openTurn });
}

/** Returns the state of a chat that ended in a turn, with the progress of the calls as their results: without a session nothing else remembers it. */
function withoutHalfDone(state: ChatState): ChatState {
  const { openTurn } = state;
  if (openTurn === undefined || state.end === undefined) return state;
  const calls = openTurn.calls.map((call): typeof call => {
    const { state: progress } = call.progress;
    if (progress === 'waiting' || progress === 'settled') return call;
    const output = errorOutput(
      progress === 'started'
        ? 'The chat ended while the call ran; whether it had its effect is not known'
        : 'Not run: the chat ended before',
    );
    return { ...call, progress: { state: 'settled', output } };
  });
  return { ...state, openTurn: { ...openTurn, calls } };
}

/**
 * Lets model and tools take turns until something ends it or has to be waited for; the state of the run says which.
 *
 * A failing model, a failing tool and a caller who gives up are ends, not errors.
 *
 * @throws what `haltWhen`, `selectTools` and the keeping of the state throw.
 */
export async function runChat(run: ChatRun, model: ModelStep): Promise<void> {
  const { maxTurns, haltWhen, mode, executor, registry } = run.engine;
  await executor.addFlow(run.options.conversationId, flowOfThread(run.state, registry));
  const { end: before, ...open } = run.state;
  if (before !== undefined) await run.save(Object.freeze(open)); // A run that goes on has not ended.
  const first = open.openTurn === undefined ? 0 : open.openTurn.index + 1;
  for (let asked = 0; ; asked += 1) {
    if (run.state.openTurn !== undefined) {
      await (mode === 'manual' ? leaveCalls(run, run.state.openTurn) : runCalls(run));
      const { openTurn } = run.state;
      const turn = noteTurn(run, openTurn);
      if (isSettled(openTurn)) await run.save(closeTurn(await withFlow(run)));
      run.tell({ type: 'turn-completed', turn });
      if (!isSettled(openTurn)) {
        const ended = run.isCancelled ? { reason: 'cancelled' as const } : run.lost;
        return ended && end(run, ended);
      }
      if (openTurn.end !== undefined) return;
      if (
        haltWhen !== undefined &&
        (await orGivenUp(run, () => haltWhen(turn), 'haltWhen')) === true
      )
        return end(run, { reason: 'halt_when', turn: openTurn.index });
    }
    if (run.isCancelled) return end(run, { reason: 'cancelled' });
    if (asked === maxTurns) return end(run, { reason: 'max_turns', maxTurns });
    const ended = await takeTurn(run, model, first + asked);
    if (ended !== undefined) return run.state.end === ended ? undefined : end(run, ended);
  }
}

/** Returns the state with what was read in the conversation by now: the store of labels may be gone when the chat is resumed. */
async function withFlow({
  state,
  engine: { executor },
  options: { conversationId },
}: ChatRun): Promise<ChatState> {
  const { flow: before = {} } = state;
  const flow = await executor.flow(conversationId).catch(() => before);
  return canonicalJson(flow) === canonicalJson(before) ? state : Object.freeze({ ...state, flow });
}

/** Returns what a function of the caller says; `undefined` when the caller gives up before, also if the function never ends. */
async function orGivenUp<T>(
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

async function end(run: ChatRun, ended: ChatEnd): Promise<void> {
  await run.save(Object.freeze({ ...run.state, end: Object.freeze(ended) }));
}

/** The advice of the AI SDK stands in later lines of its message, which are not passed on. */
const NO_GATEWAY_KEY = expectedGot(
  'a key for the AI Gateway',
  'none that it accepts',
  "Set AI_GATEWAY_API_KEY, or give a model of a provider package, such as openai('…') of @ai-sdk/openai.",
);

/** Asks the model. @returns the end of the run; `undefined` when the model made calls, which are the open turn then. */
async function takeTurn(
  run: ChatRun,
  model: ModelStep,
  index: number,
): Promise<ChatEnd | undefined> {
  const {
    engine,
    options: { conversationId },
    state: { messages },
  } = run;
  const { executor, registry } = engine;
  if (messages.at(-1)?.role === 'user') executor.resetRepeats(conversationId);
  const offer = await orGivenUp(run, () => run.offers.next(run.state, index), 'selectTools');
  if (offer === undefined) return { reason: 'cancelled' };
  const offered = Object.freeze(
    offer.tools.map(({ toolName, level }) => Object.freeze({ toolName, level })),
  );
  run.tell({ type: 'turn-started', turn: index, tools: offered.map(({ toolName }) => toolName) });
  let answer: Answer;
  try {
    answer = await askModel(run, model, offer, index);
  } catch (error) {
    run.throwIfFailed();
    if (run.isCancelled) return { reason: 'cancelled' };
    return {
      reason: 'error',
      error: Object.freeze({
        code: isToolError(error) ? error.code : 'MODEL_FAILED',
        message:
          error instanceof Error && error.name === 'GatewayAuthenticationError'
            ? NO_GATEWAY_KEY
            : publicMessage(error),
      }),
    };
  }
  const { message, finishReason, usage } = answer;
  run.tell({ type: 'model-answered', turn: index, message, finishReason, ...(usage && { usage }) });
  const turn = turnOf({ index, message, calls: [] }, finishReason, usage);
  run.turns.push(turn);
  // Its service may have searched before it made its calls.
  await executor.addFlow(conversationId, flowOfService(message, engine.clock.now()));
  const calls = ownCallsIn(message);
  if (calls.length === 0) {
    const completed = Object.freeze({ reason: 'completed' as const, finishReason });
    // Services refuse messages without content.
    const thread = message.content.length === 0 ? messages : Object.freeze([...messages, message]);
    // Answer and end in one: a process that ends in between would ask the model for an answer to its own.
    await run.save(Object.freeze({ ...run.state, offered, messages: thread, end: completed }));
    run.tell({ type: 'turn-completed', turn });
    return completed;
  }
  const entries = new Set(calls.flatMap(({ toolName }) => registry.get(toolName) ?? []));
  const tools = Object.freeze(
    [...entries].map(({ name, digest }) => Object.freeze({ toolName: name, digest })),
  );
  const progress: CallProgress = CUT_OFF.has(finishReason)
    ? {
        state: 'settled',
        output: errorOutput(
          `Not run: the answer was cut off (${finishReason}), and the call may be incomplete; make it again`,
        ),
      }
    : { state: 'not_started' };
  const openTurn: OpenTurn = Object.freeze({
    index,
    message,
    calls: Object.freeze(calls.map((call) => callRecord(call, progress))),
    tools,
  });
  // With what was read before these calls: that may have brought them about.
  await run.save(Object.freeze({ ...(await withFlow(run)), offered, openTurn }));
  return undefined;
}

/** Finish reasons of answers that were cut off; calls in them may be cut off too. */
const CUT_OFF: ReadonlySet<string> = new Set(['length', 'content-filter']);

/** Leaves every call that would run to the program, whatever its tool or an approval says: the mode `manual`. */
async function leaveCalls(run: ChatRun, { index, calls }: OpenTurn): Promise<void> {
  const {
    engine: { registry, principal, clock },
    options: { conversationId },
  } = run;
  let state: ChatState = run.state;
  for (const call of calls) {
    if (call.progress.state !== 'not_started' && call.progress.state !== 'approved') continue;
    const { callId, toolName } = call;
    const pending: PendingManualCall = Object.freeze({
      kind: 'manual',
      id: `manual:${callId}`,
      callId,
      toolName,
      input: argumentsOf(call),
      definitionDigest: registry.get(toolName)?.digest ?? '',
      conversationId,
      ...(principal !== undefined && { principal }),
      createdAt: clock.now(),
    });
    state = withCall(state, callId, { state: 'waiting', pending });
    run.tell({ type: 'tool-pending', turn: index, callId, toolName, pending });
  }
  await run.save(state);
}

/** Brings the last turn that is told about up to what its calls answered. */
function noteTurn(run: ChatRun, openTurn: OpenTurn): ChatTurn {
  const last = run.turns.at(-1)?.message === openTurn.message ? run.turns.pop() : undefined;
  const turn = turnOf(openTurn, last?.finishReason ?? 'tool-calls', last?.usage);
  run.turns.push(turn);
  return turn;
}
