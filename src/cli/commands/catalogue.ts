import { uncheckedPatterns } from '../../json-schema/compile-json-schema.js';
import { derivedSetsOf } from '../../registry/derived-sets.js';
import type { RegistrySummary } from '../../registry/registry-summary.js';
import type { ToolFilter } from '../../registry/tool-filter.js';
import { fieldsOn } from '../../tool/tool-fields.js';
import { entryToJson } from '../../tool/tool-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { AXIS_COLUMNS, fieldWords, isInferred } from '../terminal/axis-columns.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import { addFilterOptions, filterOf, type CommandFamily } from '../load/options.js';
import { plainLine, paint, type Terminal } from '../terminal/terminal.js';
import { amountOf, table, wrapList, wrapWords } from '../terminal/table.js';

/** Looks at the tools themselves. */
export const CATALOGUE_COMMANDS: CommandFamily = {
  list: (command, { terminal, onTools }) =>
    onTools(
      addFilterOptions(command),
      ['list', 'list --category git --access readonly', 'list --danger high,critical --json'],
      (loaded, options) => list(terminal, loaded, filterOf(options), options.json === true),
      { looks: true },
    ),
  show: (command, { terminal, onTools }) =>
    onTools(
      command,
      ['show git_diff', 'show read_file --json'],
      (loaded, { json }, [name]) => show(terminal, loaded, name!, json === true),
      { looks: true },
    ),
  stats: (command, { terminal, onTools }) =>
    onTools(
      command,
      ['stats', 'stats --tools "tools/**/*.ts" --json'],
      (loaded, { json }) => stats(terminal, loaded, json === true),
      { looks: true },
    ),
};

/** Prints the tools that pass a filter, one a line. */
export function list(
  terminal: Terminal,
  { registry, owned, warnings = 0 }: LoadedRegistry,
  filter: ToolFilter,
  json: boolean,
): void {
  const entries = registry.filter(filter);
  if (json)
    return terminal.out(
      JSON.stringify(
        entries.map((entry) => ({ ...entryToJson(entry), ...owned?.get(entry.name) })),
        null,
        2,
      ),
    );
  terminal.out(
    table(terminal, entries, [
      ...AXIS_COLUMNS,
      ...personaColumn<ToolEntry>(owned, ({ name }) => name),
      { title: 'STAGES', value: ({ stages }) => stages.join(' '), narrow: 'drop' },
    ]),
  );
  const inferred = entries.some((entry) => entry.inferred.length > 0)
    ? '; * inferred, not declared'
    : '';
  terminal.out(
    paint(
      terminal,
      'dim',
      `\n${entries.length} of ${registry.size} tools${inferred}${warnings === 0 ? '' : `; ${amountOf(warnings, 'warning')}, which tooldex validate shows`}`,
    ),
  );
}

/** A column with the persona of each tool; none where no tool has one. */
export function personaColumn<Row>(
  owned: LoadedRegistry['owned'],
  nameOf: (row: Row) => string,
): Parameters<typeof table<Row>>[2] {
  return owned === undefined || owned.size === 0
    ? []
    : [{ title: 'PERSONA', value: (row) => owned.get(nameOf(row))?.persona ?? '–' }];
}

const FACT_MARGIN = 18;
const FIRST_CONFLICTS = 5;

/** Prints everything known of one tool. @throws ToolError `TOOL_NOT_FOUND` */
export function show(
  terminal: Terminal,
  { registry, fileOf, owned }: LoadedRegistry,
  name: string,
  json: boolean,
): void {
  const entry = registry.require(name);
  const own = owned?.get(entry.name);
  if (json) return terminal.out(JSON.stringify({ ...entryToJson(entry), ...own }, null, 2));
  terminal.out(
    `${paint(terminal, 'bold', entry.name)}${entry.version === undefined ? '' : ` ${entry.version}`}${own === undefined ? '' : `  of ${plainLine(own.persona)}`}`,
  );
  terminal.out(`${wrapWords(plainLine(entry.description), terminal.columns).join('\n')}\n`);
  for (const [label, words] of factsOf(entry, fileOf.get(entry.name), [
    ...registry.getConflictingTools(name),
  ])) {
    if (words.length > 0)
      terminal.out(
        `${paint(terminal, 'dim', label.padEnd(FACT_MARGIN))}${wrapList(terminal, words.map(plainLine), FACT_MARGIN)}`,
      );
  }
  terminal.out(
    `\n${paint(terminal, 'dim', 'input')}\n${JSON.stringify(entry.inputJsonSchema, null, 2)}`,
  );
}

function factsOf(
  entry: ToolEntry,
  file: string | undefined,
  conflicts: readonly string[],
): (readonly [label: string, words: readonly string[]])[] {
  const fields = fieldsOn('show').map(([name, field]) => {
    const notes = `${isInferred(entry, name) ? ' (inferred)' : ''}${name === 'dangerLevel' && entry.dangerFor !== undefined ? ', can rise with the input' : ''}`;
    const words = fieldWords(entry, name, field);
    return [field.label!, notes === '' ? words : [words.join(' ') + notes]] as const;
  });
  return [
    ...fields,
    [
      'conflicts',
      conflicts.length <= FIRST_CONFLICTS
        ? conflicts
        : [...conflicts.slice(0, FIRST_CONFLICTS), `… (${conflicts.length} in all)`],
    ],
    ['derived sets', derivedSetsOf(entry)],
    [
      'unchecked',
      uncheckedPatterns(entry.inputJsonSchema).map(
        ({ path, pattern }) =>
          `pattern ${JSON.stringify(pattern)} at ${path.join('.')}: left to its server (pattern-unchecked)`,
      ),
    ],
    ['file', file === undefined ? [] : [file]],
  ];
}

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
function stats(terminal: Terminal, { registry }: LoadedRegistry, json: boolean): void {
  const summary = registry.summary();
  if (json) return terminal.out(JSON.stringify(summary, null, 2));
  terminal.out(
    `${paint(terminal, 'bold', `${summary.tools} tools`)} in ${registry.getAllCategories().size} categories with ${registry.getAllKeywords().size} keywords${summary.unavailable > 0 ? `, ${summary.unavailable} unavailable` : ''}\n`,
  );
  terminal.out(axisCounts(terminal, summary));
  terminal.out(paint(terminal, 'dim', '\nlist --derived <set> and list --stage <name> name them'));
}

const AXIS_MARGIN = 11;

/** Returns one paragraph per axis, or per one of some: each value with its count. */
export function axisCounts(
  terminal: Terminal,
  summary: RegistrySummary,
  some?: readonly (keyof RegistrySummary)[],
): string {
  return AXES.filter(([, axis]) => some?.includes(axis) ?? true)
    .map(([label, axis]) => {
      const counts = Object.entries(summary[axis] as Record<string, number>);
      const nameOf = (value: string) => (axis === 'byPriority' ? value.toLowerCase() : value);
      const values = counts.map(
        ([value, count]) =>
          `${plainLine(nameOf(value))} ${paint(terminal, count === 0 ? 'dim' : 'cyan', String(count))}`,
      );
      return `${paint(terminal, 'dim', label.padEnd(AXIS_MARGIN))}${wrapList(terminal, values, AXIS_MARGIN, '  ')}`;
    })
    .join('\n');
}
