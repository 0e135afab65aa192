import type { RegistrySummary } from '../../registry/registry-summary.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { wrapList } from '../table.js';
import { plainLine } from '../plain-text.js';
import { paint, type Terminal } from '../terminal.js';

const AXES: readonly (readonly [string, keyof RegistrySummary])[] = [
  ['priority', 'byPriority'],
  ['access', 'byAccessMode'],
  ['danger', 'byDangerLevel'],
  ['execution', 'byExecutionCategory'],
  ['cost', 'byCostTier'],
  ['category', 'byCategory'],
  ['stage', 'byStage'],
  ['task type', 'byTaskType'],
  ['derived', 'derived'],
];

/** Prints how many tools have which value of every axis. */
export function stats(terminal: Terminal, { registry }: LoadedRegistry, json: boolean): void {
  const summary = registry.summary();
  if (json) return terminal.out(JSON.stringify(summary, null, 2));
  terminal.out(`${paint(terminal, 'bold', `${summary.tools} tools`)} in ${registry.getAllCategories().size} categories with ${registry.getAllKeywords().size} keywords${summary.unavailable > 0 ? `, ${summary.unavailable} unavailable` : ''}\n`);
  terminal.out(axisBars(terminal, summary));
}

const MARGIN = 11;

/** One paragraph per axis: each value with its count. */
export function axisBars(terminal: Terminal, summary: RegistrySummary): string {
  return AXES.map(([label, axis]) => {
    const counts = Object.entries(summary[axis] as Record<string, number>);
    const nameOf = (value: string) => (axis === 'byPriority' ? value.toLowerCase() : value);
    const values = counts.map(([value, count]) => `${plainLine(nameOf(value))} ${paint(terminal, count === 0 ? 'dim' : 'cyan', String(count))}`);
    return `${paint(terminal, 'dim', label.padEnd(MARGIN))}${wrapList(terminal, values, MARGIN, '  ')}`;
  }).join('\n');
}
