import { isToolError } from '../../core/errors.js';
import { publicMessage } from '../../core/public-message.js';
import { untilAborted } from '../../execution/run/with-deadline.js';
import type { PendingManualCall } from '../../safety/calls.js';
import type { ChatTurn } from '../chat-turn.js';
import { argumentsOf, withCall, type CallProgress, type CallRecord, type ChatEnd, type ChatState, type OpenTurn } from '../chat-state.js';
import type { ModelStep } from '../model/model-step.js';
import { callsIn, textOf, type ToolCallPart } from '../thread/chat-message.js';
import { closeTurn, isSettled } from '../thread/close-turn.js';
import { errorOutput } from '../thread/encode-output.js';
import { askModel, type Answer } from './ask-model.js';
import type { ChatRun } from './chat-run.js';
import { runCalls } from './run-calls.js';

/**
 * Lets model and tools take turns until something ends it or has to be waited for; the state of the run says which.
 *
 * A failing model, a failing tool and a caller who gives up are ends, not errors.
 *
 * @throws what `haltWhen`, `selectTools` and the keeping of the state throw.
 */
export async function runChat(run: ChatRun, model: ModelStep): Promise<void> {
  const { maxTurns, haltWhen } = run.engine;
  await reopen(run);
  const first = run.state.openTurn === undefined ? 0 : run.state.openTurn.index + 1;
  for (let asked = 0; ; asked += 1) {
    if (run.state.openTurn !== undefined) {
      await (run.engine.mode === 'manual' ? holdCalls(run, run.state.openTurn) : runCalls(run));
      const { openTurn } = run.state;
      const turn = noteTurn(run, openTurn);
      if (isSettled(openTurn)) await run.save(closeTurn(run.state));
      run.tell({ type: 'turn-completed', turn });
      if (!isSettled(openTurn)) return isGivenUp(run, openTurn) ? end(run, { reason: 'cancelled' }) : undefined;
      if (openTurn.end !== undefined) return;
      if (haltWhen !== undefined && (await orGivenUp(run, () => haltWhen(turn), 'haltWhen')) === true) return end(run, { reason: 'halt_when', turn: openTurn.index });
    }
    if (run.isCancelled) return end(run, { reason: 'cancelled' });
    if (asked === maxTurns) return end(run, { reason: 'max_turns', maxTurns });
    const ended = await nextTurn(run, model, first + asked);
    if (ended !== undefined) return run.state.end === ended ? undefined : end(run, ended);
  }
}

/** Whether the caller gave up calls that would have run; to others somebody else gives their results. */
function isGivenUp({ isCancelled }: ChatRun, { calls }: OpenTurn): boolean {
  return isCancelled && calls.some(({ progress }) => progress.state !== 'waiting' && progress.state !== 'settled');
}

/** What a function of the caller's says; `undefined` when the caller gives up before, also if the function never ends. */
async function orGivenUp<T>(run: ChatRun, ask: () => T | Promise<T>, name: string): Promise<T | undefined> {
  try {
    return await untilAborted(Promise.resolve(ask()), run.signal, name);
  } catch (error) {
    if (run.isCancelled) return undefined;
    throw error;
  }
}

/** A run that goes on has not ended. */
async function reopen(run: ChatRun): Promise<void> {
  if (run.state.end === undefined) return;
  const { end: _end, ...open } = run.state;
  await run.save(Object.freeze(open));
}

async function end(run: ChatRun, ended: ChatEnd): Promise<void> {
  await run.save(Object.freeze({ ...run.state, end: Object.freeze(ended) }));
}

/** Asks the model. @returns how the run ends; `undefined` when the model made calls, which are the open turn then. */
async function nextTurn(run: ChatRun, model: ModelStep, index: number): Promise<ChatEnd | undefined> {
  const { messages } = run.state;
  if (messages.at(-1)?.role === 'user') run.engine.executor.resetRepeats(run.conversationId);
  const offer = await orGivenUp(run, () => run.offers.next(run.state, messages, index), 'selectTools');
  if (offer === undefined) return { reason: 'cancelled' };
  const offered = Object.freeze(offer.tools.map(({ toolName, level }) => Object.freeze({ toolName, level })));
  run.tell({ type: 'turn-started', turn: index, tools: offered.map(({ toolName }) => toolName) });
  let answer: Answer;
  try {
    answer = await askModel(run, model, offer, messages, index);
  } catch (error) {
    run.throwIfFailed();
    if (run.isCancelled) return { reason: 'cancelled' };
    return { reason: 'error', error: Object.freeze({ code: isToolError(error) ? error.code : 'MODEL_FAILED', message: publicMessage(error) }) };
  }
  const { message, finishReason, usage } = answer;
  run.tell({ type: 'model-answered', turn: index, message, finishReason, ...(usage && { usage }) });
  run.turns.push(turnOf({ index, message, calls: [], tools: [] }, finishReason, usage));
  const calls = callsIn(message).filter(({ providerExecuted }) => providerExecuted !== true);
  if (calls.length === 0) {
    // Services refuse messages without content.
    const isEmpty = message.content.length === 0;
    const completed = Object.freeze({ reason: 'completed' as const, finishReason });
    // Answer and end in one: a process that ends in between would ask the model for an answer to its own.
    await run.save(Object.freeze({ ...run.state, offered, messages: isEmpty ? messages : Object.freeze([...messages, message]), end: completed }));
    run.tell({ type: 'turn-completed', turn: run.turns.at(-1)! });
    return completed;
  }
  const entries = new Set(calls.flatMap(({ toolName }) => run.engine.registry.get(toolName) ?? []));
  const tools = Object.freeze([...entries].map(({ name, digest }) => Object.freeze({ toolName: name, digest })));
  const openTurn: OpenTurn = Object.freeze({ index, message, calls: Object.freeze(calls.map((call) => recordOf(call, finishReason))), tools });
  await run.save(Object.freeze({ ...run.state, offered, openTurn }));
  return undefined;
}

/** Finish reasons of answers that somebody cut off; calls in them may be cut off too. */
const CUT_OFF: ReadonlySet<string> = new Set(['length', 'content-filter']);

function recordOf({ toolCallId, toolName, input }: ToolCallPart, finishReason: string): CallRecord {
  const progress: CallProgress = CUT_OFF.has(finishReason) ? { state: 'settled', output: errorOutput(`Not run: the answer was cut off (${finishReason}), and the call may be incomplete; make it again`) } : { state: 'not_started' };
  return Object.freeze({ callId: toolCallId, toolName, input, progress: Object.freeze(progress) });
}

/** In the mode `manual` every call that would run waits for the program, whatever its tool or a person says. */
async function holdCalls(run: ChatRun, { index, calls }: OpenTurn): Promise<void> {
  const { engine, conversationId } = run;
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
      definitionDigest: engine.registry.get(toolName)?.digest ?? '',
      conversationId,
      ...(engine.principal !== undefined && { principal: engine.principal }),
      createdAt: engine.clock.now(),
    });
    state = withCall(state, callId, { state: 'waiting', pending });
    run.tell({ type: 'tool-pending', turn: index, callId, toolName, pending });
  }
  await run.save(state);
}

/** Brings the last turn that is told about up to what its calls answered. */
function noteTurn(run: ChatRun, openTurn: OpenTurn): ChatTurn {
  const last = run.turns.at(-1);
  const isNew = last?.message !== openTurn.message;
  const turn = isNew ? turnOf(openTurn, 'tool-calls', undefined) : turnOf(openTurn, last.finishReason, last.usage);
  run.turns[isNew ? run.turns.length : run.turns.length - 1] = turn;
  return turn;
}

function turnOf({ index, message, calls }: OpenTurn, finishReason: string, usage: ChatTurn['usage']): ChatTurn {
  const toolCalls = Object.freeze(callsIn(message));
  const manual = new Set(calls.flatMap(({ callId, progress }) => (progress.state === 'waiting' && progress.pending.kind === 'manual' ? [callId] : [])));
  return Object.freeze({
    index,
    message,
    text: textOf(message),
    toolCalls,
    toolResults: Object.freeze(calls.flatMap(({ callId, toolName, progress }) => (progress.state === 'settled' ? [Object.freeze({ callId, toolName, output: progress.output })] : []))),
    manualToolCalls: Object.freeze(toolCalls.filter(({ toolCallId }) => manual.has(toolCallId))),
    finishReason,
    ...(usage && { usage }),
  });
}
