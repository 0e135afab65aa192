import type { ToolOutcome } from '../../safety/calls.js';
import { plainText } from '../plain-text.js';
import { paint, type Dialog } from '../terminal.js';
import type { Turns } from './turns.js';

/**
 * The outcome once the person at the terminal has answered a tool's question: the answer is the tool's result.
 *
 * Outcomes that ask nothing, and questions that nobody answers, stay as they are.
 */
export async function answerQuestion(terminal: Dialog, turns: Turns, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome> {
  if (outcome.status !== 'ask_user' || !terminal.interactive) return outcome;
  const { question, options } = outcome;
  const answer = await turns.take(async () => {
    terminal.err(`${paint(terminal, 'bold', outcome.toolName)} asks: ${plainText(question)}`);
    for (const [index, option] of (options ?? []).entries()) terminal.err(`  ${paint(terminal, 'cyan', String(index + 1))}  ${plainText(option)}`);
    for (;;) {
      const text = await terminal.ask(options === undefined ? 'Answer: ' : `Answer (1–${options.length}): `, { signal });
      if (text === undefined || options === undefined) return text;
      const chosen = options.includes(text) ? text : /^\d{1,4}$/.test(text.trim()) ? options[Number(text) - 1] : undefined;
      if (chosen !== undefined) return chosen;
      terminal.err(`${paint(terminal, 'red', 'refused')} expected one of the numbers above, or one of the answers as it stands there`);
    }
  });
  if (answer === undefined) return outcome;
  const { callId, toolName, durationMs, attempts, cached, provider } = outcome;
  return Object.freeze({ callId, toolName, durationMs, attempts, cached, ...(provider !== undefined && { provider }), status: 'ok', value: answer });
}
