import { derivedSetsOf } from '../../registry/derived-sets.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { entryToJson } from '../../tool/tool-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { priorityName } from '../axis-columns.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { wrapList, wrapWords } from '../table.js';
import { plainLine } from '../plain-text.js';
import { paint, type Terminal } from '../terminal.js';

const MARGIN = 18;
const FIRST_CONFLICTS = 5;

/** Prints everything known of one tool. @throws ToolError `TOOL_NOT_FOUND` */
export function show(terminal: Terminal, { registry, fileOf }: LoadedRegistry, name: string, json: boolean): void {
  const entry = registry.require(name);
  if (json) return terminal.out(JSON.stringify(entryToJson(entry), null, 2));
  terminal.out(`${paint(terminal, 'bold', entry.name)}${entry.version === undefined ? '' : ` ${entry.version}`}`);
  terminal.out(`${wrapWords(plainLine(entry.description), terminal.columns).join('\n')}\n`);
  for (const [label, value] of factsOf(entry, fileOf.get(entry.name), [...registry.getConflictingTools(name)])) {
    const words = (typeof value === 'string' ? [value] : value).map(plainLine);
    if (words.length > 0) terminal.out(`${paint(terminal, 'dim', label.padEnd(MARGIN))}${wrapList(terminal, words, MARGIN)}`);
  }
  terminal.out(`\n${paint(terminal, 'dim', 'input')}\n${JSON.stringify(entry.inputJsonSchema, null, 2)}`);
}

function factsOf(entry: ToolEntry, file: string | undefined, conflicts: readonly string[]): [string, string | readonly string[]][] {
  const axis = (name: ToolEntry['inferred'][number], value: string) => (entry.inferred.includes(name) ? `${value} (inferred)` : value);
  return [
    ['priority', axis('priority', priorityName(entry.priority))],
    ['access', axis('accessMode', entry.accessMode)],
    ['danger', axis('dangerLevel', entry.dangerLevel) + (entry.dangerFor === undefined ? '' : ', can rise with the input')],
    ['execution', axis('executionCategory', entry.executionCategory)],
    ['cost', axis('costTier', entry.costTier)],
    ['parallel', axis('allowParallel', entry.allowParallel ? 'may run beside itself' : 'never beside itself')],
    ['conflicts', conflicts.length <= FIRST_CONFLICTS ? conflicts : [...conflicts.slice(0, FIRST_CONFLICTS), `… (${conflicts.length} in all)`]],
    ['side effects', entry.sideEffects],
    ['derived sets', derivedSetsOf(entry)],
    ['available', isAvailable(entry) ? 'yes' : 'no'],
    ['category', entry.category ?? []],
    ['aliases', entry.aliases],
    ['keywords', entry.keywords],
    ['mandatory', entry.mandatoryKeywords],
    ['stages', entry.stages],
    ['task types', entry.taskTypes],
    ['progress by', entry.progressParams],
    ['examples', entry.examples.map((example) => JSON.stringify(example))],
    ['timeout', entry.timeoutMs === undefined ? [] : `${entry.timeoutMs} ms`],
    ['digest', entry.digest.slice(0, 16)],
    ['file', file ?? []],
  ];
}
