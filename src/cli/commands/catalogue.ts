import { uncheckedPatterns } from '../../json-schema/compile-json-schema.js';
import { derivedSetsOf } from '../../registry/derived-sets.js';
import type { RegistrySummary } from '../../registry/registry-summary.js';
import { entryToJson } from '../../tool/tool-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { fieldsOn } from '../../tool/tool-fields.js';
import { command, print } from '../command/command.js';
import { withTools } from '../load/load-registry.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import { FILTER_OPTIONS, filterOf, TOOL_OPTIONS } from '../command/options.js';
import { axisRow, fieldWords, isInferred } from '../terminal/axis-row.js';
import { amountOf, table, wrapList, wrapWords, type Row } from '../terminal/table.js';
import { paint, plainLine } from '../terminal/terminal.js';

export const list = command({
  options: { ...TOOL_OPTIONS, ...FILTER_OPTIONS },
  examples: ['list', 'list --category git --access readonly', 'list --danger high,critical --json'],
  run: (context) =>
    withTools(context, { everyone: true }, ({ registry, owned, warnings = 0 }) => {
      const { terminal, options } = context;
      const entries = registry.filter(filterOf(options));
      const data = entries.map((entry) => ({ ...entryToJson(entry), ...owned?.get(entry.name) }));
      print(context, data, function* () {
        if (entries.length === 0) {
          yield 'No tool fits this filter.';
          return;
        }
        const rows = entries.map((entry) => ({
          ...axisRow(entry),
          ...personaCell(owned, entry.name),
          STAGES: entry.stages.join(' '),
        }));
        yield table(terminal, rows, ['STAGES']);
        const facts = [
          `\n${entries.length} of ${amountOf(registry.size, 'tool')}`,
          ...(entries.some(({ inferred }) => inferred.length > 0)
            ? ['* inferred, not declared']
            : []),
          ...(warnings > 0 ? [`${amountOf(warnings, 'warning')}, shown by tooldex validate`] : []),
        ];
        yield paint(terminal, 'dim', facts.join('; '));
      });
    }),
});

/** Returns the persona of a tool as a cell, unless no tool has one. */
export function personaCell(owned: LoadedRegistry['owned'], name: string): Row {
  return owned === undefined || owned.size === 0
    ? {}
    : { PERSONA: owned.get(name)?.persona ?? '–' };
}

const FACT_MARGIN = 18;
const MOST_CONFLICTS = 5;

export const show = command({
  options: TOOL_OPTIONS,
  examples: ['show git_diff', 'show read_file --json'],
  run: (context) =>
    withTools(context, { everyone: true }, ({ registry, fileOf, owned }) => {
      const { terminal, words } = context;
      const entry = registry.require(words[0]!);
      const { name, version, description, inputJsonSchema } = entry;
      const own = owned?.get(name);
      print(context, { ...entryToJson(entry), ...own }, function* () {
        const ofPersona = own === undefined ? '' : `  of ${plainLine(own.persona)}`;
        yield `${paint(terminal, 'bold', name)}${version === undefined ? '' : ` ${version}`}${ofPersona}`;
        yield* wrapWords(plainLine(description), terminal.columns);
        yield '';
        const conflicts = [...registry.getConflictingTools(name)];
        for (const [label, facts] of factsOf(entry, fileOf.get(name), conflicts)) {
          const words = wrapList(terminal, facts.map(plainLine), FACT_MARGIN);
          if (facts.length > 0) yield paint(terminal, 'dim', label.padEnd(FACT_MARGIN)) + words;
        }
        yield `\n${paint(terminal, 'dim', 'input')}\n${JSON.stringify(inputJsonSchema, null, 2)}`;
      });
    }),
});

type Fact = readonly [label: string, words: readonly string[]];

function factsOf(
  entry: ToolEntry,
  file: string | undefined,
  conflicts: readonly string[],
): readonly Fact[] {
  const fields = fieldsOn('show').map(([name, field]): Fact => {
    const words = fieldWords(entry, name, field);
    const rises = name === 'dangerLevel' && entry.dangerFor !== undefined;
    const notes = `${isInferred(entry, name) ? ' (inferred)' : ''}${rises ? ', can rise with the input' : ''}`;
    return [field.label!, notes === '' ? words : [words.join(' ') + notes]];
  });
  const more = conflicts.length - MOST_CONFLICTS;
  const unchecked = uncheckedPatterns(entry.inputJsonSchema).map(
    ({ path, pattern }) =>
      `pattern ${JSON.stringify(pattern)} at ${path.join('.')}: its server checks it, tooldex can't (pattern-unchecked)`,
  );
  return [
    ...fields,
    [
      'conflicts',
      [
        ...conflicts.slice(0, MOST_CONFLICTS),
        ...(more > 0 ? [`… (${conflicts.length} in all)`] : []),
      ],
    ],
    ['derived sets', derivedSetsOf(entry)],
    ['unchecked', unchecked],
    ['file', file === undefined ? [] : [file]],
  ];
}

const AXES = {
  byPriority: 'priority',
  byAccessMode: 'access',
  byDangerLevel: 'danger',
  byExecutionCategory: 'execution',
  byCostTier: 'cost',
  byCategory: 'category',
  byStage: 'stage',
  byTaskType: 'task type',
  derived: 'derived',
} as const satisfies Partial<Record<keyof RegistrySummary, string>>;
const AXIS_MARGIN = 11;

export const stats = command({
  options: TOOL_OPTIONS,
  examples: ['stats', 'stats --tools "tools/**/*.ts" --json'],
  run: (context) =>
    withTools(context, { everyone: true }, ({ registry }) => {
      const { terminal } = context;
      const summary = registry.summary();
      print(context, summary, function* () {
        const { tools, unavailable } = summary;
        const rest = unavailable > 0 ? `, ${unavailable} unavailable` : '';
        yield `${paint(terminal, 'bold', amountOf(tools, 'tool'))} in ${amountOf(registry.getAllCategories().size, 'category', 'categories')} with ${amountOf(registry.getAllKeywords().size, 'keyword')}${rest}\n`;
        for (const [axis, label] of Object.entries(AXES)) {
          const counts = Object.entries<number>(summary[axis as keyof typeof AXES]);
          const values = counts.map(
            ([value, count]) =>
              `${plainLine(axis === 'byPriority' ? value.toLowerCase() : value)} ${paint(terminal, count === 0 ? 'dim' : 'cyan', String(count))}`,
          );
          yield (
            paint(terminal, 'dim', label.padEnd(AXIS_MARGIN)) +
            wrapList(terminal, values, AXIS_MARGIN, '  ')
          );
        }
        yield paint(terminal, 'dim', '\nTo list them: list --derived <set>, list --stage <name> …');
      });
    }),
});
