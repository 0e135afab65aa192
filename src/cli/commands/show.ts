import { derivedSetsOf } from '../../registry/derived-sets.js';
import { fieldsOn } from '../../tool/metadata/tool-fields.js';
import { entryToJson } from '../../tool/tool-data.js';
import { uncheckedPatterns } from '../../json-schema/compile-json-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { fieldWords, isInferred } from '../axis-columns.js';
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
  for (const [label, words] of factsOf(entry, fileOf.get(entry.name), [...registry.getConflictingTools(name)])) {
    if (words.length > 0) terminal.out(`${paint(terminal, 'dim', label.padEnd(MARGIN))}${wrapList(terminal, words.map(plainLine), MARGIN)}`);
  }
  terminal.out(`\n${paint(terminal, 'dim', 'input')}\n${JSON.stringify(entry.inputJsonSchema, null, 2)}`);
}

function factsOf(entry: ToolEntry, file: string | undefined, conflicts: readonly string[]): (readonly [label: string, words: readonly string[]])[] {
  const fields = fieldsOn('show').map(([name, field]) => {
    const notes = `${isInferred(entry, name) ? ' (inferred)' : ''}${name === 'dangerLevel' && entry.dangerFor !== undefined ? ', can rise with the input' : ''}`;
    const words = fieldWords(entry, name, field);
    return [field.label!, notes === '' ? words : [words.join(' ') + notes]] as const;
  });
  return [
    ...fields,
    ['conflicts', conflicts.length <= FIRST_CONFLICTS ? conflicts : [...conflicts.slice(0, FIRST_CONFLICTS), `… (${conflicts.length} in all)`]],
    ['derived sets', derivedSetsOf(entry)],
    ['unchecked', uncheckedPatterns(entry.inputJsonSchema).map(({ path, pattern }) => `pattern ${JSON.stringify(pattern)} at ${path.join('.')}: left to its server (pattern-unchecked)`)],
    ['file', file === undefined ? [] : [file]],
  ];
}
