import type { Json } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { PendingApproval, ToolOutcome } from '../../safety/calls.js';
import { readAnswer, type Question } from '../../tool/question.js';
import {
  paint,
  plainLine,
  plainText,
  report,
  seenText,
  type Dialog,
} from '../terminal/terminal.js';
import { callLines, choiceLines, type ConfirmableCall } from './shown-call.js';

/**
 * Asks the user about a call: `y` runs it, `e` edits its arguments first, `a` shows it in full, and
 * any other answer denies it. Edited arguments go through the policy and are shown again before
 * they run.
 */
export async function askToConfirm(
  terminal: Dialog,
  executor: ToolExecutor,
  pending: PendingApproval,
  signal: AbortSignal | undefined,
): Promise<boolean | { readonly input: Json }> {
  let call: ConfirmableCall = pending;
  let isWhole = false;
  while (signal?.aborted !== true) {
    const all = callLines(terminal, call, true);
    const lines: readonly string[] = isWhole ? all : callLines(terminal, call);
    const isCut = lines.length < all.length;
    for (const line of lines) terminal.err(line);
    const question = isCut ? 'Run it? [y/N/e/a] (a shows all) ' : 'Run it? [y/N/e] ';
    const answer = (await terminal.ask(question, { signal }))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return call === pending ? true : { input: call.input };
    isWhole = isCut && answer === 'a';
    if (answer === 'e') call = await editedCall(terminal, executor, call, pending.callId, signal);
    else if (!isWhole) return false;
  }
  return false;
}

/**
 * Returns the call with the arguments that the user typed. If the typed arguments can't run,
 * returns the call unchanged.
 */
async function editedCall(
  terminal: Dialog,
  executor: ToolExecutor,
  call: ConfirmableCall,
  id: string,
  signal: AbortSignal | undefined,
): Promise<ConfirmableCall> {
  const { toolName } = call;
  const prefill = seenText(JSON.stringify(call.input));
  const text = await terminal.ask('Arguments as JSON: ', { prefill, signal });
  if (text === undefined) return call;
  try {
    const input = JSON.parse(text) as Json;
    const call = { id, name: toolName, input };
    const { refused, verdict, danger, reason } = await executor.decide(call);
    if (refused === undefined && verdict !== 'deny') return { toolName, danger, reason, input };
    report(terminal, 'red', 'refused', refused ?? reason);
  } catch (error) {
    report(terminal, 'red', 'refused', `This isn't JSON: ${plainLine((error as Error).message)}`);
  }
  return call;
}

/**
 * Returns the outcome after the user has answered a tool's question. The answer becomes the tool's
 * result. Other outcomes are returned unchanged.
 */
export async function answerQuestion(
  terminal: Dialog,
  outcome: ToolOutcome,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (outcome.status !== 'ask_user') return outcome;
  const { callId, toolName, durationMs, attempts, cached, timeoutMs } = outcome;
  const limits = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const value = await askQuestion(terminal, outcome, AbortSignal.any([signal, ...limits]));
  if (value === undefined) return outcome;
  return { callId, toolName, durationMs, attempts, cached, status: 'ok', value };
}

/**
 * Asks until the answer fits the question. Returns `undefined` if nobody answers or the signal
 * aborts.
 */
export async function askQuestion(
  terminal: Dialog,
  question: Question & { readonly toolName: string },
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (!terminal.interactive) return undefined;
  const { options = [] } = question;
  terminal.err(`${paint('bold', question.toolName)} asks: ${plainText(question.question)}`);
  for (const line of choiceLines(question)) terminal.err(line);
  const hint = options.length === 0 ? '' : ` (1–${options.length})`;
  for (;;) {
    const text = await terminal.ask(`Answer${hint}: `, { signal });
    if (text === undefined) return undefined;
    // Tries the exact text of a choice first, then its number.
    const exact = readAnswer(question, text);
    const chosen = options[Number(text.trim() || NaN) - 1];
    const answer = exact.ok || chosen === undefined ? exact : readAnswer(question, chosen);
    if (answer.ok) return answer.value;
    report(terminal, 'red', 'refused', answer.message);
  }
}

/**
 * Asks for a call's result. If the text isn't JSON, the text itself is the result. If `mayRunAgain`
 * is set, the user can type `r` to run the call again.
 */
export async function typedValue(
  terminal: Dialog,
  mayRunAgain: boolean,
  signal: AbortSignal,
): Promise<Json | undefined> {
  const question = `Result (JSON or text${mayRunAgain ? '; r runs it again' : ''}): `;
  for (;;) {
    const text = await terminal.ask(question, { signal });
    if (text?.trim() === '') continue;
    try {
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    } catch {
      return text;
    }
  }
}
