import type { ToolFilter } from '../../registry/tool-filter.js';
import { entryToJson } from '../../tool/tool-data.js';
import { AXIS_COLUMNS } from '../axis-columns.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { table } from '../table.js';
import { paint, type Terminal } from '../terminal.js';

/** Prints the tools that pass a filter, one a line. */
export function list(terminal: Terminal, { registry }: LoadedRegistry, filter: ToolFilter, json: boolean): void {
  const entries = registry.filter(filter);
  if (json) return terminal.out(JSON.stringify(entries.map(entryToJson), null, 2));
  terminal.out(table(terminal, entries, [...AXIS_COLUMNS, { title: 'STAGES', value: ({ stages }) => stages.join(' '), narrow: 'drop' }]));
  const inferred = entries.some((entry) => entry.inferred.length > 0) ? '; * inferred, not declared' : '';
  terminal.out(paint(terminal, 'dim', `\n${entries.length} of ${registry.size} tools${inferred}`));
}
