import type { Json } from '../../core/plain-data.js';
import type { ToolExecutor } from '../../execution/tool-executor.js';
import type { PendingApproval, ToolOutcome } from '../../safety/calls.js';
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

/** Returns the outcome once the user has answered a tool's question: the answer is the tool's result. Other outcomes stay as they are. */
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

/** Asks until the answer fits the question. Returns `undefined` if nobody answers, or the signal fires. */
export async function askQuestion(
  terminal: Dialog,
  question: Question & { readonly toolName: string },
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (!terminal.interactive) return undefined;
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

/** Asks for the result of a call: JSON, or else text. If `mayRunAgain` is set, `r` stands for running the call again. */
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
