import { randomUUID } from '../core/crypto.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { signal as signalField } from '../core/options.js';
import type { Approval } from '../safety/approvals.js';
import { checkChatOptions, type ChatOptions } from './chat-engine.js';
import type { ChatEvent } from './chat-event.js';
import type { ChatResult } from './chat-result.js';
import { NO_CHAT, type CallProgress, type ChatState, type OpenTurn } from './chat-state.js';
import { ChatRun } from './loop/chat-run.js';
import { eventStream } from './loop/event-stream.js';
import { resultOf } from './loop/result-of.js';
import { runChat } from './loop/run-chat.js';
import { modelStepOf } from './model/model-step-of.js';
import { errorOutput } from './thread/encode-output.js';
import { callsIn, type AssistantMessage, type ChatMessage } from './thread/chat-message.js';
import { assertAnswered, readThread } from './thread/read-thread.js';

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
  return eventStream(signalField.safeParse(options?.signal).data, async (tell, signal) => {
    const { messages, prompt, approvals, engine } = checkChatOptions(options);
    const thread = prompt === undefined || !Array.isArray(messages) ? messages : [...(messages as readonly ChatMessage[]), { role: 'user', content: prompt }];
    const state = stateOf(thread, approvals);
    // Approvals belong to the conversation in which they were asked for, also when it was given no name.
    const approvedIn = approvals.find(({ conversationId }) => typeof conversationId === 'string')?.conversationId ?? undefined;
    const run = new ChatRun(state, engine, { stream, approvals, signal, tell, conversationId: engine.conversationId ?? approvedIn ?? randomUUID() });
    await runChat(run, await modelStepOf(engine));
    run.tell({ type: 'chat-completed', result: resultOf(withoutHalfDone(run.state), engine, run.turns) });
  });
}

function stateOf(given: unknown, approvals: readonly Approval[]): ChatState {
  const thread = readThread(given);
  const { messages } = thread;
  if (messages.length === 0) throw new ToolError('INVALID_ARGUMENT', expectedGot('messages or a prompt', 'neither', 'Give the model something to answer.'));
  const approved = new Set(approvals.map(({ callId }) => callId));
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const message = messages[at];
  // What is approved runs before anything else: only the last turn can still be open.
  const isLast = message?.role === 'assistant' && messages.slice(at + 1).every(({ role }) => role === 'tool');
  const runnable = new Set(isLast ? callsIn(message).flatMap(({ toolCallId }) => (approved.has(toolCallId) ? [toolCallId] : [])) : []);
  // An earlier turn may have used the same id.
  const open = thread.open.filter((call) => !runnable.has(call.toolCallId) || thread.open.findLast(({ toolCallId }) => toolCallId === call.toolCallId) !== call);
  assertAnswered({ messages, open });
  if (thread.open.length === 0 || !isLast) return Object.freeze({ ...NO_CHAT, messages });
  return Object.freeze({ ...NO_CHAT, messages: Object.freeze(messages.slice(0, at)), openTurn: openTurnOf(message, messages[at + 1]) });
}

/** The last turn of a thread, some of whose calls are still to be run. */
function openTurnOf(message: AssistantMessage, results: ChatMessage | undefined): OpenTurn {
  const outputs = new Map(results?.role === 'tool' ? results.content.map(({ toolCallId, output }) => [toolCallId, output]) : []);
  const progressOf = (callId: string): CallProgress => {
    const output = outputs.get(callId);
    return output === undefined ? { state: 'not_started' } : { state: 'settled', output };
  };
  const calls = callsIn(message)
    .filter(({ providerExecuted }) => providerExecuted !== true)
    .map(({ toolCallId, toolName, input }) => Object.freeze({ callId: toolCallId, toolName, input, progress: Object.freeze(progressOf(toolCallId)) }));
  return Object.freeze({ index: 0, message, calls: Object.freeze(calls), tools: Object.freeze([]) });
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
