import type { Json } from '../../core/plain-data.js';
import type { DryRun } from '../../execution/tool-executor.js';
import type { GrantChoice } from '../../safety/grants.js';
import type {
  Confirm,
  Confirmation,
  PendingApproval,
  ToolCall,
  ToolOutcome,
  GrantScope,
} from '../../safety/calls.js';
import { unansweredText } from '../../safety/read-outcome.js';
import { expectedGot } from '../../core/issues.js';
import {
  choicesOf,
  formWords,
  readAnswer,
  type Answer,
  type Question,
} from '../../tool/question.js';
import { paint, plainLine, plainText, seenText, type Dialog } from '../terminal/terminal.js';
import { callLines, choiceLines, isLong, type ConfirmableCall } from './shown-call.js';

/** The order in which a terminal is spoken on: one question at a time, and nothing else while one is open. */
export class Turns {
  readonly #terminal: Dialog;
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;
  #kept: string[] = [];

  constructor(terminal: Dialog) {
    this.#terminal = terminal;
  }

  /** Writes a diagnostic; while a question is open, after it: text between question and answer could change what is answered. */
  tell(text: string): void {
    if (this.#open > 0) this.#kept.push(text);
    else this.#terminal.err(text);
  }

  /** Asks when all who came before have their answer. */
  take<T>(ask: () => Promise<T>): Promise<T> {
    this.#open += 1;
    const turn = this.#last.then(ask).finally(() => {
      this.#open -= 1;
      if (this.#open > 0) return;
      for (const text of this.#kept.splice(0)) this.#terminal.err(text);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}

/**
 * Asks the user at the terminal: `y` runs the call, `e` changes its arguments first, `g` also approves further calls, everything else denies it.
 *
 * Changed arguments are judged and shown again before they run.
 *
 * @param judge returns what the policy would say to other arguments, without running anything.
 * @param choices returns the further calls that may be approved with this one.
 */
export function askToConfirm(
  terminal: Dialog,
  turns: Turns,
  judge: (call: ToolCall) => Promise<DryRun>,
  choices: (pending: PendingApproval) => Promise<readonly GrantChoice[]>,
): Confirm {
  return (pending, { signal }) =>
    turns.take(async () => confirmed(terminal, pending, judge, await choices(pending), signal));
}

async function confirmed(
  terminal: Dialog,
  pending: PendingApproval,
  judge: (call: ToolCall) => Promise<DryRun>,
  choices: readonly GrantChoice[],
  signal: AbortSignal | undefined,
): Promise<Confirmation> {
  let call: ConfirmableCall = pending;
  let whole = false;
  for (let shown = false; signal?.aborted !== true;) {
    const isCut = isLong(call);
    if (!shown) for (const line of callLines(terminal, call, { whole })) terminal.err(line);
    shown = true;
    const keys = [
      'y',
      'N',
      'e',
      ...(choices.length > 0 && call === pending ? ['g'] : []),
      ...(isCut && !whole ? ['a'] : []),
    ].join('/');
    const answer = (
      await terminal.ask(`Run it? [${keys}] ${isCut && !whole ? '(a shows all) ' : ''}`, { signal })
    )
      ?.trim()
      .toLowerCase();
    if (answer === 'y' || answer === 'yes') return call === pending ? true : { input: call.input };
    if (answer === 'g' && choices.length > 0 && call === pending) {
      const scope = await chosenScope(terminal, choices, signal);
      if (scope !== undefined) return { grant: scope };
    } else if (answer === 'a' && isCut) {
      whole = true;
      shown = false;
    } else if (answer === 'e') {
      const edited = await editedCall(terminal, call, pending, judge, signal);
      if (edited === undefined) continue;
      call = edited;
      shown = false;
      whole = false;
    } else return false;
  }
  return false;
}

/** Returns the scope of the further calls that the user chose; `undefined` asks about the call again. */
async function chosenScope(
  terminal: Dialog,
  choices: readonly GrantChoice[],
  signal: AbortSignal | undefined,
): Promise<GrantScope | undefined> {
  terminal.err('It runs, and further calls without a question:');
  for (const [index, { label }] of choices.entries())
    terminal.err(`  ${paint(terminal, 'cyan', String(index + 1))} ${plainText(label)}`);
  const answer =
    (await terminal.ask(`Which? [1–${choices.length}, or none] `, { signal }))?.trim() ?? '';
  return /^\d{1,2}$/.test(answer) ? choices[Number(answer) - 1]?.scope : undefined;
}

/** Returns the call with the arguments that were typed, or nothing when they cannot run. */
async function editedCall(
  terminal: Dialog,
  call: ConfirmableCall,
  { callId, toolName }: PendingApproval,
  judge: (call: ToolCall) => Promise<DryRun>,
  signal: AbortSignal | undefined,
): Promise<ConfirmableCall | undefined> {
  const refuse = (why: string) =>
    terminal.err(`${paint(terminal, 'red', 'refused')} ${plainText(why)}`);
  const text = await terminal.ask('Arguments as JSON: ', {
    prefill: seenText(JSON.stringify(call.input)),
    signal,
  });
  if (text === undefined) return undefined;
  let input: Json;
  try {
    input = JSON.parse(text) as Json;
  } catch (error) {
    refuse(expectedGot('JSON', plainLine((error as SyntaxError).message)));
    return undefined;
  }
  const { refused, decision } = await judge({ id: callId, name: toolName, input });
  if (refused !== undefined || decision.verdict === 'deny') {
    refuse(refused ?? decision.reason);
    return undefined;
  }
  return { toolName, danger: decision.danger, reason: decision.reason, input };
}

/**
 * Returns the outcome once the user at the terminal has answered a tool's question: the answer is the tool's result.
 *
 * Outcomes that ask nothing, and questions that nobody answers, stay as they are; a question whose time ends is a failure with
 * the code `TIMEOUT`.
 */
export async function answerQuestion(
  terminal: Dialog,
  turns: Turns,
  outcome: ToolOutcome,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (outcome.status !== 'ask_user' || !terminal.interactive) return outcome;
  const { callId, toolName, durationMs, attempts, cached, provider, timeoutMs } = outcome;
  const limit = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => limit.abort(), timeoutMs);
  const asking = AbortSignal.any([signal, limit.signal]);
  const answer = await turns.take(() => askQuestion(terminal, outcome, asking));
  clearTimeout(timer);
  const facts = {
    callId,
    toolName,
    durationMs,
    attempts,
    cached,
    ...(provider !== undefined && { provider }),
  };
  if (answer !== undefined) return Object.freeze({ ...facts, status: 'ok', value: answer });
  return limit.signal.aborted && !signal.aborted
    ? Object.freeze({
        ...facts,
        status: 'error',
        code: 'TIMEOUT',
        message: unansweredText(toolName),
      })
    : outcome;
}

/** Asks the user at the terminal until the answer fits the question; `undefined` when nobody answers, or the signal fires. */
export async function askQuestion(
  terminal: Dialog,
  question: Question & { readonly toolName: string },
  signal: AbortSignal,
): Promise<Extract<Answer, { ok: true }>['value'] | undefined> {
  const { form, multiple } = question;
  terminal.err(
    `${paint(terminal, 'bold', question.toolName)} asks: ${plainText(question.question)}`,
  );
  for (const line of choiceLines(terminal, question, true)) terminal.err(line);
  for (;;) {
    const text = await terminal.ask(promptOf(question), { signal });
    if (text === undefined) return text;
    const chosen = chosenBy(question, text);
    if (chosen !== undefined) return chosen;
    const fields = form && formWords(question);
    terminal.err(
      `${paint(terminal, 'red', 'refused')} expected ${fields ?? (multiple === true ? 'numbers above with commas between them, or answers as they stand there' : 'one of the numbers above, or one of the answers as it stands there')}`,
    );
  }
}

function promptOf(question: Question): string {
  const count = choicesOf(question).length;
  if (count === 0)
    return question.form === undefined ? 'Answer: ' : `Answer (${formWords(question)}): `;
  return `Answer (1–${count}${question.multiple === true ? ', several with commas' : ''}${question.allowOther === true ? ', or your own words' : ''}): `;
}

/** Returns the answer of a text. Answers as they stand there come before numbers, and both before words of the user's own. */
function chosenBy(
  question: Question,
  text: string,
): Extract<Answer, { ok: true }>['value'] | undefined {
  const offered = choicesOf(question);
  const exact = readAnswer({ ...question, allowOther: false }, text);
  if (exact.ok) return exact.value;
  const numbers = question.multiple === true ? text.split(',') : [text];
  const values = numbers.map((each) =>
    /^\s*\d{1,4}\s*$/.test(each) ? offered[Number(each) - 1]?.value : undefined,
  );
  const answer = readAnswer(
    question,
    values.every((each) => each !== undefined)
      ? question.multiple === true
        ? values
        : values[0]
      : text,
  );
  return answer.ok ? answer.value : undefined;
}
