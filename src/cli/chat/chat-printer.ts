import type { ChatEvent } from '../../chat/chat-result.js';
import { textOf } from '../../chat/thread.js';
import {
  cut,
  explanationLines,
  outcomeToJson,
  statusMark,
  valueText,
} from '../execute/show-calls.js';
import { plainJson, plainText, type Dialog } from '../terminal/terminal.js';

/**
 * Returns a listener that prints a chat as it happens: the model's text as results, calls as
 * diagnostics.
 */
export function chatPrinter(terminal: Dialog, json: boolean): (event: ChatEvent) => void {
  let isStreamed = false;
  const line = (mark: string, name: string, about: string) =>
    terminal.err(`  ${mark} ${cut(`${name} ${about}`, Math.min(terminal.columns, 120) - 4)}`);
  return (event) => {
    const outcome = event.type === 'tool-completed' ? event.outcome : undefined;
    if (json)
      terminal.out(plainJson({ ...event, ...(outcome && { outcome: outcomeToJson(outcome) }) }));
    else if (event.type === 'text-delta') {
      isStreamed = true;
      terminal.write(plainText(event.text));
    } else if (event.type === 'model-answered') {
      const text = isStreamed ? '' : textOf(event.message);
      if (isStreamed || text !== '') terminal.out(plainText(text));
      isStreamed = false;
    } else if (event.type === 'tool-started')
      line('▸', event.toolName, JSON.stringify(event.input));
    else if (event.type === 'tool-completed') {
      const parts = [
        valueText(terminal, event.outcome),
        ...explanationLines(terminal, event.outcome),
      ];
      line(statusMark(event.outcome), event.toolName, parts.join(' '));
    }
  };
}
