import { Priority } from '../../core/enums.js';
import { isToolError } from '../../core/errors.js';
import type { SelectionRequest } from '../../selection/selection-request.js';
import { selectTools } from '../../selection/select-tools.js';
import type { Selection } from '../../selection/selection.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { table } from '../table.js';
import { paint, type Terminal } from '../terminal.js';

/** Prints which tools a model would see for a request, why, and what they cost; returns 1 when a limit cannot be held. */
export function select(terminal: Terminal, { registry }: LoadedRegistry, request: SelectionRequest, json: boolean): number {
  const selection = selectTools(registry, request);
  if (json) terminal.out(JSON.stringify(selectionToJson(selection), null, 2));
  else {
    printSelection(terminal, selection);
    if (selection.error !== undefined) terminal.err(`${paint(terminal, 'red', 'error')} ${selection.error.message}`);
  }
  return selection.error === undefined ? 0 : 1;
}

/** The chosen tools, the token account, and the tools left out. */
export function printSelection(terminal: Terminal, { tools, dropped, tokens, tokenBudget, maxTools, error }: Selection): void {
  if (tools.length > 0) {
    terminal.out(
      table(terminal, tools, [
        { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
        { title: 'LEVEL', value: ({ level }) => level },
        { title: 'TOKENS', value: (tool) => String(tool.tokens), align: 'right' },
        { title: 'SCORE', value: ({ score }) => score.toFixed(1), align: 'right' },
        { title: 'REASON', value: ({ reason, explanation }) => `${reason.replace('_', ' ')}: ${explanation}` },
      ]),
    );
  }
  const budget = tokenBudget === undefined ? '' : ` of ${tokenBudget}`;
  const isAbove = error === undefined && tools.length > maxTools; // So the critical ones were not counted.
  const beside = isAbove ? ` and ${tools.filter(({ entry }) => entry.priority === Priority.CRITICAL).length} critical` : '';
  terminal.out(paint(terminal, 'dim', `${tools.length === 0 ? '' : '\n'}${tools.length} of at most ${maxTools}${beside} tools, ${tokens}${budget} tokens`));
  if (dropped.length === 0) return;
  terminal.out(`\n${paint(terminal, 'bold', 'Considered and left out')}`);
  terminal.out(
    table(terminal, dropped, [
      { title: 'TOOL', value: ({ toolName }) => toolName },
      { title: 'REASON', value: ({ reason }) => reason.replace('_', ' ') },
      { title: 'WHY', value: ({ explanation }) => explanation },
    ]),
  );
}

/** A selection as plain JSON, without the entries. */
export function selectionToJson({ tools, error, ...rest }: Selection): object {
  return { tools: tools.map(({ entry: _entry, ...tool }) => tool), ...rest, error: isToolError(error) ? { code: error.code, message: error.message } : null };
}
