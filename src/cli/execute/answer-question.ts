import type { ToolOutcome } from '../../safety/calls.js';
import { unansweredText } from '../../safety/read-outcome.js';
import { choicesOf, readAnswer, type Question } from '../../tool/question.js';
import { plainText } from '../plain-text.js';
import { paint, type Dialog, type Terminal } from '../terminal.js';
import type { Turns } from './turns.js';

/**
 * Returns the outcome once the user at the terminal has answered a tool's question: the answer is the tool's result.
 *
 * Outcomes that ask nothing, and questions that nobody answers, stay as they are; a question whose time ends is a failure with
 * the code `TIMEOUT`.
 */
export async function answerQuestion(terminal: Dialog, turns: Turns, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome> {
  if (outcome.status !== 'ask_user' || !terminal.interactive) return outcome;
  const { callId, toolName, durationMs, attempts, cached, provider, timeoutMs } = outcome;
  const limit = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => limit.abort(), timeoutMs);
  const asking = AbortSignal.any([signal, limit.signal]);
  const answer = await turns.take(async () => {
    terminal.err(`${paint(terminal, 'bold', toolName)} asks: ${plainText(outcome.question)}`);
    for (const line of choiceLines(terminal, outcome, true)) terminal.err(line);
    for (;;) {
      const text = await terminal.ask(promptOf(outcome), { signal: asking });
      if (text === undefined) return text;
      const chosen = chosenBy(outcome, text);
      if (chosen !== undefined) return chosen;
      terminal.err(`${paint(terminal, 'red', 'refused')} expected ${outcome.multiple === true ? 'numbers above with commas between them, or answers as they stand there' : 'one of the numbers above, or one of the answers as it stands there'}`);
    }
  });
  clearTimeout(timer);
  const facts = { callId, toolName, durationMs, attempts, cached, ...(provider !== undefined && { provider }) };
  if (answer !== undefined) return Object.freeze({ ...facts, status: 'ok', value: answer });
  return limit.signal.aborted && !signal.aborted ? Object.freeze({ ...facts, status: 'error', code: 'TIMEOUT', message: unansweredText(toolName) }) : outcome;
}

/** Returns the choices of a question, one a line. */
export function choiceLines(terminal: Terminal, question: Question, isNumbered = false): readonly string[] {
  return choicesOf(question).map(({ value, label }, index) => {
    const mark = isNumbered ? `${paint(terminal, 'cyan', String(index + 1))} ` : '-';
    return `  ${mark} ${plainText(label)}${label === value || isNumbered ? '' : paint(terminal, 'dim', `  ${plainText(value)}`)}`;
  });
}

function promptOf(question: Question): string {
  const count = choicesOf(question).length;
  if (count === 0) return 'Answer: ';
  return `Answer (1–${count}${question.multiple === true ? ', several with commas' : ''}${question.allowOther === true ? ', or your own words' : ''}): `;
}

/** The answers as they stand there come before numbers, and both before words of the user's own. */
function chosenBy(question: Question, text: string): string | readonly string[] | undefined {
  const offered = choicesOf(question);
  const exact = readAnswer({ ...question, allowOther: false }, text);
  if (exact.ok) return exact.value;
  const numbers = question.multiple === true ? text.split(',') : [text];
  const values = numbers.map((each) => (/^\s*\d{1,4}\s*$/.test(each) ? offered[Number(each) - 1]?.value : undefined));
  const answer = readAnswer(question, values.every((each) => each !== undefined) ? (question.multiple === true ? values : values[0]) : text);
  return answer.ok ? answer.value : undefined;
}
