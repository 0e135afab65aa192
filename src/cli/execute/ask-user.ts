import type { Json } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { PendingApproval, ToolOutcome } from '../../safety/calls.js';
import { unansweredText } from '../../safety/read-outcome.js';
import { choicesOf, formWords, readAnswer, type Question } from '../../tool/question.js';
import { paint, plainLine, plainText, seenText, type Dialog } from '../terminal/terminal.js';
import { callLines, choiceLines, type ConfirmableCall } from './shown-call.js';

/**
 * Asks the user about a call: `y` runs it, `e` changes its arguments first, `a` shows all of it, and everything else denies it.
 * Changed arguments are judged and shown again before they run.
 */
export async function askToConfirm(
  terminal: Dialog,
  executor: ToolExecutor,
  pending: PendingApproval,
  signal: AbortSignal | undefined,
): Promise<boolean | { readonly input: Json }> {
  let call: ConfirmableCall = pending;
  let lines = callLines(terminal, call);
  while (signal?.aborted !== true) {
    for (const line of lines) terminal.err(line);
    const whole = callLines(terminal, call, true);
    const isCut = whole.length > lines.length && lines.length > 0;
    const question = isCut ? 'Run it? [y/N/e/a] (a shows all) ' : 'Run it? [y/N/e] ';
    const answer = (await terminal.ask(question, { signal }))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return call === pending ? true : { input: call.input };
    lines = [];
    if (answer === 'a' && isCut) lines = [...whole];
    else if (answer === 'e') {
      const edited = await editedCall(terminal, executor, call, pending, signal);
      if (edited === undefined) continue;
      call = edited;
      lines = [...callLines(terminal, call)];
    } else return false;
  }
  return false;
}

/** Returns the call with the arguments that the user typed, or nothing if they can't run. */
async function editedCall(
  terminal: Dialog,
  executor: ToolExecutor,
  call: ConfirmableCall,
  { callId, toolName }: PendingApproval,
  signal: AbortSignal | undefined,
): Promise<ConfirmableCall | undefined> {
  const prefill = seenText(JSON.stringify(call.input));
  const text = await terminal.ask('Arguments as JSON: ', { prefill, signal });
  if (text === undefined) return undefined;
  try {
    const input = JSON.parse(text) as Json;
    const [dryRun] = await executor.dryRun([{ id: callId, name: toolName, input }]);
    const { refused, decision } = dryRun!;
    const { danger, reason } = decision;
    if (refused === undefined && decision.verdict !== 'deny')
      return { toolName, danger, reason, input };
    refuse(terminal, refused ?? reason);
  } catch (error) {
    refuse(terminal, `This isn't JSON: ${plainLine((error as Error).message)}`);
  }
  return undefined;
}

function refuse(terminal: Dialog, why: string): void {
  terminal.err(`${paint(terminal, 'red', 'refused')} ${plainText(why)}`);
}

/**
 * Returns the outcome once the user has answered a tool's question: the answer is the tool's result.
 *
 * Outcomes that ask nothing, and questions that nobody answers, stay as they are. If the time for an answer is over, the
 * outcome is an error with the code `TIMEOUT`.
 */
export async function answerQuestion(
  terminal: Dialog,
  outcome: ToolOutcome,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (outcome.status !== 'ask_user' || !terminal.interactive) return outcome;
  const { callId, toolName, durationMs, attempts, cached, timeoutMs } = outcome;
  const limit = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => limit.abort(), timeoutMs);
  const value = await askQuestion(terminal, outcome, AbortSignal.any([signal, limit.signal]));
  clearTimeout(timer);
  const facts = { callId, toolName, durationMs, attempts, cached };
  if (value !== undefined) return { ...facts, status: 'ok', value };
  return limit.signal.aborted
    ? { ...facts, status: 'error', code: 'TIMEOUT', message: unansweredText(toolName) }
    : outcome;
}

/** Asks until the answer fits the question. Returns `undefined` if nobody answers, or the signal fires. */
export async function askQuestion(
  terminal: Dialog,
  question: Question & { readonly toolName: string },
  signal: AbortSignal,
): Promise<Json | undefined> {
  const { form, multiple = false, allowOther = false } = question;
  const offered = choicesOf(question);
  const name = paint(terminal, 'bold', question.toolName);
  terminal.err(`${name} asks: ${plainText(question.question)}`);
  for (const line of choiceLines(terminal, question, true)) terminal.err(line);
  const hints = [
    ...(form === undefined ? [] : [formWords(question)]),
    ...(offered.length === 0 ? [] : [`1–${offered.length}`]),
    ...(multiple ? ['several with commas'] : []),
    ...(allowOther ? ['or your own words'] : []),
  ];
  const prompt = `Answer${hints.length === 0 ? '' : ` (${hints.join(', ')})`}: `;
  for (;;) {
    const text = await terminal.ask(prompt, { signal });
    if (text === undefined) return undefined;
    // The words of an answer come before numbers, and both come before the user's own words.
    const exact = readAnswer({ ...question, allowOther: false }, text);
    const answer = exact.ok ? exact : readAnswer(question, numbered(question, text) ?? text);
    if (answer.ok) return answer.value;
    const expected =
      form !== undefined
        ? formWords(question)
        : `${multiple ? 'numbers from the list, or answers' : 'a number from the list, or an answer'} as shown there`;
    refuse(terminal, `Expected ${expected}.`);
  }
}

/** Returns the choices that the numbers in a text stand for. */
function numbered(question: Question, text: string): string | readonly string[] | undefined {
  const numbers = question.multiple === true ? text.split(',') : [text];
  const values = numbers.map((each) => choicesOf(question)[Number(each.trim() || NaN) - 1]?.value);
  if (!values.every((each) => each !== undefined)) return undefined;
  return question.multiple === true ? values : values[0];
}
