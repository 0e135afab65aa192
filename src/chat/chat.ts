import { randomUUID } from 'node:crypto';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import type { Approval } from '../safety/approvals.js';
import { checkEngine, type ChatEngine, type CheckedEngine } from './chat-engine.js';
import type { ChatEvent } from './chat-event.js';
import type { ChatResult } from './chat-result.js';
import { NO_CHAT, type CallProgress, type ChatState, type OpenTurn } from './chat-state.js';
import { ChatRun, type RunOptions } from './loop/chat-run.js';
import { eventStream } from './loop/event-stream.js';
import { resultOf } from './loop/result-of.js';
import { runChat } from './loop/run-chat.js';
import { modelStepOf } from './model/model-step-of.js';
import { errorOutput } from './thread/encode-output.js';
import { callsIn, type ChatMessage } from './thread/chat-message.js';
import { assertAnswered, readThread } from './thread/read-thread.js';

/** A thread, and what to run it on. */
export interface ChatOptions extends ChatEngine {
  /** The thread so far, in the AI SDK's shape. Every call in it needs a result, or an approval in `approvals`. */
  readonly messages?: readonly ChatMessage[];
  /** What the user says, after `messages`. */
  readonly prompt?: string;
  /** Yeses to calls that the thread leaves open, made with the executor's `approve`: they are run first. */
  readonly approvals?: readonly Approval[];
  readonly signal?: AbortSignal;
}

/**
 * Lets a model and tools take turns until the model has answered, or until somebody else is needed.
 *
 * It resolves for whatever model and tools do wrong: `haltedReason` says why it stands still, `pending` what it waits for.
 * To go on, append a tool message with the missing results and ask again; or use a `Session`, which keeps all of it.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options and messages, `OPEN_TOOL_CALLS` for calls without result,
 * `MISSING_PACKAGE` when the model needs the package `ai`; and what `haltWhen` throws.
 */
export async function chat(options: ChatOptions): Promise<ChatResult> {
  let result: ChatResult | undefined;
  for await (const event of start(options, false)) if (event.type === 'chat-completed') ({ result } = event);
  return result!;
}

/**
 * The same as `chat`, telling what happens when it happens; the last event is `chat-completed` with the result.
 *
 * Leaving the loop over the events gives the chat up.
 *
 * @throws what `chat` throws, when the first event is asked for.
 */
export function streamChat(options: ChatOptions): AsyncGenerator<ChatEvent, void> {
  return start(options, true);
}

function start(options: ChatOptions, stream: boolean): AsyncGenerator<ChatEvent, void> {
  return eventStream(options.signal, async (tell, signal) => {
    const { messages = [], prompt, approvals = [], signal: _signal, ...rest } = options;
    const engine = checkEngine(rest);
    if (prompt !== undefined && typeof prompt !== 'string') throw new ToolError('INVALID_ARGUMENT', `Expected prompt as text, found ${describeValue(prompt)}`);
    const given: unknown = messages;
    const thread = prompt === undefined || !Array.isArray(given) ? given : [...(given as readonly ChatMessage[]), { role: 'user', content: prompt }];
    const state = stateOf(thread, approvals);
    tell({ type: 'chat-completed', result: await runToResult(state, engine, { stream, approvals, signal, tell, conversationId: engine.conversationId ?? randomUUID() }) });
  });
}

async function runToResult(state: ChatState, engine: CheckedEngine, options: RunOptions): Promise<ChatResult> {
  const run = new ChatRun(state, engine, options);
  await runChat(run, await modelStepOf(engine));
  return resultOf(withoutHalfDone(run.state), engine, run.turns);
}

function stateOf(messages: unknown, approvals: readonly Approval[]): ChatState {
  const thread = readThread(messages);
  if (thread.messages.length === 0) throw new ToolError('INVALID_ARGUMENT', 'Expected messages or a prompt, found neither; a model has nothing to answer');
  const approved = new Set(approvals.map(({ callId }) => callId));
  const open = thread.open.filter(({ toolCallId }) => !approved.has(toolCallId));
  if (open.length > 0 || thread.open.length === 0) {
    assertAnswered({ ...thread, open });
    return Object.freeze({ ...NO_CHAT, messages: thread.messages });
  }
  return Object.freeze({ ...NO_CHAT, ...lastTurnOf(thread.messages) });
}

/** The last turn, taken out of a thread in which some of its calls are still to be run. */
function lastTurnOf(messages: readonly ChatMessage[]): { readonly messages: readonly ChatMessage[]; readonly openTurn: OpenTurn } {
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const message = messages[at]!;
  const results = messages[at + 1];
  if (message.role !== 'assistant' || messages.length > at + (results?.role === 'tool' ? 2 : 1)) throw new ToolError('OPEN_TOOL_CALLS', 'Expected the calls to run in the last message of the assistant, found messages after it; every call before them needs a result');
  const outputs = new Map(results?.role === 'tool' ? results.content.map(({ toolCallId, output }) => [toolCallId, output]) : []);
  const progressOf = (callId: string): CallProgress => {
    const output = outputs.get(callId);
    return output === undefined ? { state: 'not_started' } : { state: 'settled', output };
  };
  const calls = callsIn(message).map(({ toolCallId, toolName, input }) => Object.freeze({ callId: toolCallId, toolName, input, progress: Object.freeze(progressOf(toolCallId)) }));
  return { messages: Object.freeze(messages.slice(0, at)), openTurn: Object.freeze({ index: 0, message, calls: Object.freeze(calls), tools: Object.freeze([]) }) };
}

/** Without a session nobody remembers how far a call was: when a chat is given up, the thread says so in the place of results. */
function withoutHalfDone(state: ChatState): ChatState {
  const { openTurn } = state;
  if (openTurn === undefined || state.end?.reason !== 'cancelled') return state;
  const calls = openTurn.calls.map((call): typeof call => {
    const { state: progress } = call.progress;
    if (progress === 'waiting' || progress === 'settled') return call;
    const output = errorOutput(progress === 'started' ? 'The call was given up while it ran; whether it had its effect is not known' : 'Not run: the chat was given up before');
    return { ...call, progress: { state: 'settled', output } };
  });
  return { ...state, openTurn: { ...openTurn, calls } };
}
