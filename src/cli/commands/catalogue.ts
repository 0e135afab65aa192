import { derivedSetsOf } from '../../registry/derived-sets.js';
import { entryToJson } from '../../tool/tool-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { withTools, type LoadedRegistry } from '../load/load-registry.js';
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
  const rows: Row[] = [];
  for (const [axis, counts] of Object.entries(axes)) {
    const name = axis.replace(/^by/, '').replace(/\B[A-Z]/g, ' $&');
    const parts: string[] = [];
    for (const [value, count] of Object.entries<number>(counts))
      parts.push(`${axis === 'byPriority' ? value.toLowerCase() : value}:${count}`);
    rows.push({ AXIS: [name.toLowerCase(), 'dim'], TOOLS: parts.join(' ') });
  }
  yield table(terminal, rows);
}

/** Returns the tools, one per line. */
function* listLines(
  terminal: Terminal,
  loaded: LoadedRegistry,
  entries: readonly ToolEntry[],
): Generator<string> {
  const rows = entries.map((entry) => ({ ...axisRow(entry), ...personaCell(loaded, entry.name) }));
  yield table(terminal, rows, ['COST', 'EXECUTION', 'PRIORITY']);
  const isInferring = entries.some(({ inferred }) => inferred.length > 0);
  const note = isInferring ? '; * inferred, not declared' : '';
  yield paint('dim', `\n${entries.length} of ${amountOf(loaded.registry.size, 'tool')}${note}`);
}

/** Returns everything about a tool. */
function* shownLines(
  { columns }: Terminal,
  { registry, fileOf, owned }: LoadedRegistry,
  entry: ToolEntry,
): Generator<string> {
  const { name, version = '', description, inputJsonSchema } = entry;
  const own = owned.get(name);
  const of = own === undefined ? '' : ` of ${plainLine(own.persona)}`;
  yield `${paint('bold', name)}  ${version}${of}`.trimEnd();
  yield* wrapWords(plainLine(description), columns);
  yield '';
  const facts = allFactsOf(entry, fileOf.get(name), [...registry.getConflictingTools(name)]);
  for (const [label, text] of Object.entries(facts)) {
    const lines = wrapWords(plainLine(text), columns - FACT_MARGIN);
    const shown = lines.join(`\n${' '.repeat(FACT_MARGIN)}`);
    if (text !== '') yield paint('dim', label.padEnd(FACT_MARGIN)) + shown;
  }
  yield `\n${paint('dim', 'input')}\n${plainJson(inputJsonSchema, 2)}`;
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
      withTools(context, { everyone: true, isRanked: false }, (loaded) => {
        const { terminal, options } = context;
        const { registry, owned } = loaded;
        if (options.stats) {
          const summary = registry.summary();
          return print(context, summary, () => statsLines(terminal, summary));
        }
        const entries = registry.filter(filterOf(options));
        const data = entries.map((entry) => ({ ...entryToJson(entry), ...owned.get(entry.name) }));
        return print(context, data, () => listLines(terminal, loaded, entries));
      }),
  }),

  show: command({
    options: TOOL_OPTIONS,
    examples: ['show git_diff', 'show read_file --json'],
    run: (context) =>
      withTools(context, { everyone: true, isRanked: false }, (loaded) => {
        const entry = loaded.registry.require(context.words[0]!);
        const own = loaded.owned.get(entry.name);
        print(context, { ...entryToJson(entry), ...own }, () =>
          shownLines(context.terminal, loaded, entry),
        );
      }),
  }),
};
