import { DangerLevel, Priority } from '../core/enums.js';
import { isDangerous, isWriting } from '../core/enum-order.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Column } from './table.js';
import type { Style } from './terminal.js';

/** All priorities as people read and write them: `critical` to `low`. */
export const PRIORITY_NAMES: readonly string[] = Object.keys(Priority).map((name) => name.toLowerCase());

/** A priority as people read it. */
export function priorityName(priority: Priority): string {
  return PRIORITY_NAMES[priority]!;
}

/** The colour of a danger: red is what asks for a yes by itself. */
export function dangerStyle(level: DangerLevel): Style {
  return isDangerous(level) ? 'red' : level === DangerLevel.MEDIUM ? 'yellow' : 'green';
}

/** The columns that show a tool's axes; an inferred value carries a `*`. */
export const AXIS_COLUMNS: readonly Column<ToolEntry>[] = [
  { title: 'TOOL', value: ({ name }) => name, style: () => 'bold' },
  { title: 'CATEGORY', value: ({ category }) => category ?? '–' },
  { title: 'PRIORITY', value: (entry) => mark(entry, 'priority', priorityName(entry.priority)) },
  { title: 'ACCESS', value: (entry) => mark(entry, 'accessMode', entry.accessMode), style: ({ accessMode }) => (isWriting(accessMode) ? 'yellow' : 'green') },
  {
    title: 'DANGER',
    value: (entry) => mark(entry, 'dangerLevel', entry.dangerLevel),
    style: ({ dangerLevel }) => dangerStyle(dangerLevel),
  },
  { title: 'EXECUTION', value: (entry) => mark(entry, 'executionCategory', entry.executionCategory) },
  { title: 'COST', value: (entry) => mark(entry, 'costTier', entry.costTier) },
];

function mark(entry: ToolEntry, axis: ToolEntry['inferred'][number], value: string): string {
  return entry.inferred.includes(axis) ? `${value}*` : value;
}
