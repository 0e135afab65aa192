import { derivedSetsOf } from '../../registry/derived-sets.js';
import { entryToJson } from '../../tool/tool-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { withTools } from '../load/load-registry.js';
import type { LoadedRegistry } from '../load/loaded-registry.js';
import type { RegistrySummary } from '../../registry/registry-summary.js';
import { FILTER_OPTIONS, filterOf, flag, TOOL_OPTIONS } from '../command/options.js';
import { axisRow, factsOf, isInferred } from '../terminal/axis-row.js';
import { amountOf, table, wrapWords, type Row } from '../terminal/table.js';
import { paint, plainJson, plainLine, type Terminal } from '../terminal/terminal.js';

/** Returns a table cell with the tool's persona, or no cell if no tool has a persona. */
export function personaCell({ owned }: LoadedRegistry, name: string): Row {
  return owned.size === 0 ? {} : { PERSONA: owned.get(name)?.persona };
}

const FACT_MARGIN = 18;
/** Maximum number of conflicting tools listed by name. */
const MOST_CONFLICTS = 20;

/** Returns everything to show about a tool, by label. */
function allFactsOf(
  entry: ToolEntry,
  file: string | undefined,
  conflicts: readonly string[],
): Readonly<Record<string, string>> {
  const fields = factsOf(entry).map(({ field, label, words }) => {
    const rises = field === 'dangerLevel' && entry.dangerFor !== undefined;
    const notes = `${isInferred(entry, field) ? ' (inferred)' : ''}${rises ? ', can rise with the input' : ''}`;
    return [label, words + notes] as const;
  });
  return {
    ...Object.fromEntries(fields),
    conflicts:
      conflicts.length > MOST_CONFLICTS ? amountOf(conflicts.length, 'tool') : conflicts.join(', '),
    'derived sets': derivedSetsOf(entry).join(', '),
    file: file ?? '',
  };
}

/** Returns the counts of every axis. */
function* statsLines(
  terminal: Terminal,
  { tools, unavailable, revision: _, ...axes }: RegistrySummary,
): Generator<string> {
  yield `${paint('bold', amountOf(tools, 'tool'))}, ${unavailable} unavailable\n`;
  yield table(
    terminal,
    Object.entries(axes).map(([axis, counts]) => ({
      AXIS: [
        axis
          .replace(/^by/, '')
          .replace(/\B[A-Z]/g, ' $&')
          .toLowerCase(),
        'dim',
      ],
      TOOLS: Object.entries<number>(counts)
        .map(([value, count]) => `${axis === 'byPriority' ? value.toLowerCase() : value}:${count}`)
        .join(' '),
    })),
  );
}

export const commands = {
  list: command({
    options: {
      ...TOOL_OPTIONS,
      ...FILTER_OPTIONS,
      stats: flag('count the tools by access, danger, category … instead of listing them'),
    },
    examples: [
      'list',
      'list --category git --access readonly',
      'list --danger high,critical --json',
      'list --stats',
    ],
    run: (context) =>
      withTools(context, { everyone: true }, (loaded) => {
        const { registry, owned } = loaded;
        if (context.options.stats) {
          const summary = registry.summary();
          print(context, summary, () => statsLines(context.terminal, summary));
          return;
        }
        const entries = registry.filter(filterOf(context.options));
        const data = entries.map((entry) => ({ ...entryToJson(entry), ...owned.get(entry.name) }));
        print(context, data, function* () {
          yield table(
            context.terminal,
            entries.map((entry) => ({
              ...axisRow(entry),
              ...personaCell(loaded, entry.name),
            })),
            ['COST', 'EXECUTION', 'PRIORITY'],
          );
          const isInferring = entries.some(({ inferred }) => inferred.length > 0);
          const note = isInferring ? '; * inferred, not declared' : '';
          yield paint('dim', `\n${entries.length} of ${amountOf(registry.size, 'tool')}${note}`);
        });
      }),
  }),

  show: command({
    options: TOOL_OPTIONS,
    examples: ['show git_diff', 'show read_file --json'],
    run: (context) =>
      withTools(context, { everyone: true }, ({ registry, fileOf, owned }) => {
        const { terminal, words } = context;
        const entry = registry.require(words[0]!);
        const { name, version = '', description, inputJsonSchema } = entry;
        const own = owned.get(name);
        print(context, { ...entryToJson(entry), ...own }, function* () {
          const of = own === undefined ? '' : ` of ${plainLine(own.persona)}`;
          yield `${paint('bold', name)}  ${version}${of}`.trimEnd();
          yield* wrapWords(plainLine(description), terminal.columns);
          yield '';
          const facts = allFactsOf(entry, fileOf.get(name), [
            ...registry.getConflictingTools(name),
          ]);
          for (const [label, text] of Object.entries(facts)) {
            const lines = wrapWords(plainLine(text), terminal.columns - FACT_MARGIN);
            const shown = lines.join(`\n${' '.repeat(FACT_MARGIN)}`);
            if (text !== '') yield paint('dim', label.padEnd(FACT_MARGIN)) + shown;
          }
          yield `\n${paint('dim', 'input')}\n${plainJson(inputJsonSchema, 2)}`;
        });
      }),
  }),
};
