import type { Command } from 'commander';
import { AXIS_COLUMNS } from '../terminal/axis-columns.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import type { CommandHost } from '../load/options.js';
import { plainJson, paint, plainLine, type Terminal } from '../terminal/terminal.js';
import { table, wrapWords } from '../terminal/table.js';
import { selectTools } from '../../selection/select-tools.js';
import type { Selection } from '../../selection/selection.js';
import { keywordTable, selectionToJson } from './find.js';
import { axisCounts, namesIn } from './catalogue.js';
import { isPlainObject } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { callLines } from '../execute/shown-call.js';
import {
  durationText,
  outcomeToJson,
  STATUS_STYLES,
  planToJson,
  type ShownPlan,
} from '../execute/show-calls.js';
import { limitTime } from '../execute/with-executor.js';

const REQUEST = 'find out why the test of the parser fails and fix it';
const MAX_TOOLS = 4;
const TOKEN_BUDGET = 800;
const MOST_ROWS = 6;
const MOST_MATCHES = 3;
/** The width of the page where no terminal gives one. */
const USUAL_COLUMNS = 80;

/** Makes the program show the overview, which runs nothing of a user's own tools: those run only when they are asked for. */
export function defineOverview(program: Command, { terminal, onTools }: CommandHost): void {
  onTools(
    program,
    ['', 'list --derived write', 'search "show me what changed"', 'lint --tools ./src/tools'],
    (loaded, { json, tools, manifests, mcp }) =>
      overview(terminal, loaded, {
        json: json === true,
        runs: tools === undefined && manifests === undefined && mcp === undefined,
      }),
  );
}

/**
 * Shows on one page what tooldex does, on real tools: some of the catalogue and its counts, a request that is matched and
 * selected for, some calls that are planned and run, and one that needs approval.
 *
 * @param runs whether the examples are run; they are calls of the bundled tools.
 */
async function overview(
  given: Terminal,
  { registry }: LoadedRegistry,
  { json, runs }: { readonly json: boolean; readonly runs: boolean },
): Promise<void> {
  // Of a user's own tools: an example of one, or else the words of a name.
  const text = runs
    ? REQUEST
    : ([...registry].flatMap(({ examples }) => examples)[0] ??
      [...registry][0]!.name.replace(/[._-]+/g, ' '));
  const matches = registry.getToolsMatchingTextScored(text, { maxResults: MOST_MATCHES });
  const request = {
    text,
    matches,
    mandatory: [...registry.getToolsMatchingMandatoryKeywords(text)],
    categories: [...registry.detectCategoriesFromText(text)],
  };
  const selection = selectTools(registry, { text, maxTools: MAX_TOOLS, tokenBudget: TOKEN_BUDGET });
  const calls = runs ? await runExampleCalls(registry) : undefined;
  if (json) {
    const all = {
      summary: registry.summary(),
      ...namesIn(registry),
      requests: [request],
      selection: selectionToJson(selection),
      ...(calls && {
        calls: {
          ...planToJson(calls),
          outcomes: calls.outcomes.map((outcome) => outcomeToJson(outcome)),
        },
      }),
    };
    return given.out(plainJson(all, 2));
  }

  const columns = Number.isFinite(given.columns) ? given.columns : USUAL_COLUMNS;
  const terminal: Terminal = {
    color: given.color,
    columns,
    out: (line) => given.out(line),
    err: (line) => given.out(line),
  };
  terminal.out(
    `${paint(terminal, 'bold', 'tooldex')}  ${paint(terminal, 'dim', 'a tool declares its metadata once; all of this page follows from that')}`,
  );
  showCatalogue(terminal, registry);
  heading(
    terminal,
    'Match',
    'getToolsMatchingTextScored(text): the words of a request, no model asked',
  );
  for (const line of wrapWords(plainLine(`“${text}”`), columns)) terminal.out(line);
  terminal.out(
    matches.length === 0 ? 'No tool has a keyword in it.' : keywordTable(terminal, matches),
  );
  heading(
    terminal,
    'Select',
    `selectTools(registry, { text, maxTools: ${MAX_TOOLS}, tokenBudget: ${TOKEN_BUDGET} })`,
  );
  showSelection(terminal, selection, registry, text);
  if (calls !== undefined) {
    heading(
      terminal,
      'Plan',
      'ToolExecutor: the calls of one answer of a model, planned and really run',
    );
    showExampleRun(terminal, calls);
    heading(
      terminal,
      'Approve',
      'SafetyPolicy: what a user is shown first; nothing was written here',
    );
    showPendingCalls(terminal, calls);
  }
  heading(
    terminal,
    'Go on',
    'in a clone: npm start -- <command>; installed: npx tooldex <command>',
  );
  for (const [command, about] of NEXT)
    terminal.out(`${paint(terminal, 'cyan', command.padEnd(MARGIN))}${about}`);
}

const MARGIN = 16;
const NEXT: readonly (readonly [command: string, about: string])[] = [
  ['list, stats', 'all tools; all axes, and which tools are in each set and stage'],
  ['search, select', 'your own request: select "which files mention the parser"'],
  ['chat', 'talk to the tools, without a key'],
  ['--tools <path>', 'every command, on your own tools'],
  ['--help', 'all commands; README.md and docs/ say more'],
];

function heading(terminal: Terminal, title: string, note: string): void {
  const [first, ...rest] = wrapWords(note, terminal.columns - title.length - 2).map((line) =>
    paint(terminal, 'dim', line),
  );
  terminal.out(
    [
      '',
      `${paint(terminal, 'bold', title)}  ${first}`,
      ...rest.map((line) => ' '.repeat(title.length + 2) + line),
    ].join('\n'),
  );
}

/** Prints one tool of each kind, and how many there are of every kind. */
function showCatalogue(terminal: Terminal, registry: ToolMetadataRegistry): void {
  const kinds = new Map<string, ToolEntry>();
  for (const entry of registry) {
    const kind = `${entry.accessMode} ${entry.dangerLevel}`;
    if (!kinds.has(kind)) kinds.set(kind, entry);
  }
  const shown = [...kinds.values()].slice(0, MOST_ROWS);
  heading(
    terminal,
    `${registry.size} tools`,
    `ToolMetadataRegistry: ${shown.length < registry.size ? `here ${shown.length} ` : ''}of different access and danger`,
  );
  terminal.out(table(terminal, shown, AXIS_COLUMNS));
  if (shown.some(({ inferred }) => inferred.length > 0))
    terminal.out(paint(terminal, 'dim', '* inferred, not declared'));
  terminal.out(
    `\n${axisCounts(terminal, registry.summary(), ['byPriority', 'byAccessMode', 'byDangerLevel', 'derived'])}`,
  );
}

/** Prints the chosen tools; those that the request's words hit with these words, as their explanation names every field too. */
function showSelection(
  terminal: Terminal,
  { tools, tokens, tokenBudget, dropped }: Selection,
  registry: ToolMetadataRegistry,
  text: string,
): void {
  if (tools.length === 0) return terminal.out('No tool fits.');
  const names = new Set(tools.map(({ toolName }) => toolName));
  const words = new Map(
    registry
      .search(text, { limit: names.size, filter: ({ name }) => names.has(name) })
      .map(({ toolName, matches }) => [toolName, matches.map(({ word }) => word).join(', ')]),
  );
  terminal.out(
    table(terminal, tools, [
      { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
      { title: 'LEVEL', value: ({ level }) => level },
      { title: 'TOKENS', value: (tool) => String(tool.tokens), align: 'right' },
      { title: 'SCORE', value: ({ score }) => score.toFixed(1), align: 'right' },
      {
        title: 'REASON',
        value: ({ toolName, reason, explanation }) =>
          `${reason.replace('_', ' ')}: ${(reason === 'search' ? words.get(toolName) : undefined) ?? explanation}`,
      },
    ]),
  );
  terminal.out(
    paint(
      terminal,
      'dim',
      `${tools.length} of ${registry.size} tools, ${tokens} of ${tokenBudget} tokens; ${dropped.length} others were considered (select says why)`,
    ),
  );
}

/** Reads run together; the write waits for them, and then for approval. */
const CALLS: readonly ToolCall[] = [
  { id: 'call-0', name: 'list_directory', input: {} },
  {
    id: 'call-1',
    name: 'search_text',
    input: { query: 'approval', include: '*.md', maxResults: 20 },
  },
  { id: 'call-2', name: 'write_file', input: { path: 'draft.md', content: '# Draft' } },
];
/** A bound for what hangs: the tools bound the files that they read, and a slow machine may take its time over those. */
const TIMEOUT_MS = 60_000;

/** The example calls and what became of them. */
type ExampleRun = ShownPlan & { readonly outcomes: readonly ToolOutcome[] };

/** Plans and runs some calls of bundled tools in the current folder. Nobody approves, so nothing is written. */
async function runExampleCalls(registry: ToolMetadataRegistry): Promise<ExampleRun> {
  const executor = new ToolExecutor({ registry: limitTime(registry, TIMEOUT_MS), maxAttempts: 1 });
  try {
    return {
      calls: CALLS,
      plan: await executor.plan(CALLS),
      dryRuns: await executor.dryRun(CALLS),
      outcomes: await executor.executeAll(CALLS),
    };
  } finally {
    await executor.close();
  }
}

/** Prints the batches of the plan, and what became of each call. */
function showExampleRun(terminal: Terminal, { plan, outcomes }: ExampleRun): void {
  const rows = plan.batches.flatMap((batch, index) =>
    batch.map((position) => ({
      batch: index + 1,
      after: plan.calls[position]!.after,
      outcome: outcomes[position]!,
    })),
  );
  terminal.out(
    table(terminal, rows, [
      { title: 'BATCH', value: ({ batch }) => String(batch), align: 'right' },
      { title: 'TOOL', value: ({ outcome }) => outcome.toolName, style: () => 'bold' },
      {
        title: 'STATUS',
        value: ({ outcome: { status } }) =>
          status === 'approval_required' ? 'needs approval' : status.replace('_', ' '),
        style: ({ outcome }) => STATUS_STYLES[outcome.status],
      },
      { title: 'TIME', value: ({ outcome }) => durationText(outcome.durationMs), align: 'right' },
      {
        title: 'ANSWER',
        value: ({ outcome, after }) =>
          after === undefined
            ? shortAnswer(outcome)
            : `waits: ${after.reason.slice(after.reason.indexOf(': ') + 2)}`,
      },
    ]),
  );
}

/** Prints what the user would be shown, and the command that asks for real. */
function showPendingCalls(terminal: Terminal, { calls, outcomes }: ExampleRun): void {
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status !== 'approval_required') continue;
    const { preview: _, ...pending } = outcome.pending; // The page has no room for it.
    for (const line of callLines(terminal, pending)) terminal.out(line);
    terminal.out(`Run it? [y/N/e]  ${paint(terminal, 'dim', '(e changes the arguments first)')}`);
    const { name, input } = calls[position]!;
    terminal.out(
      paint(terminal, 'dim', `Try it: tooldex run ${name} --input '${JSON.stringify(input)}'`),
    );
  }
}

/** Returns how much an answer holds, rather than its first lines. */
function shortAnswer(outcome: ToolOutcome): string {
  if (outcome.status === 'error') return outcome.message;
  if (outcome.status !== 'ok' || !isPlainObject(outcome.value)) return '';
  return Object.entries(outcome.value)
    .flatMap(([name, value]) => (Array.isArray(value) ? [`${value.length} ${name}`] : []))
    .join(', ');
}
