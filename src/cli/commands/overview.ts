import type { Command } from 'commander';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { selectTools } from '../../selection/select-tools.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { callLines } from '../execute/shown-call.js';
import { factsText, planToJson, showPlan, statusText } from '../execute/show-calls.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import type { CommandHost } from '../load/options.js';
import { AXIS_COLUMNS } from '../terminal/axis-columns.js';
import { table, wrapWords } from '../terminal/table.js';
import { paint, plainJson, plainLine, type Terminal } from '../terminal/terminal.js';
import { axisCounts } from './catalogue.js';
import { keywordTable, printSelection, selectionToJson } from './find.js';

const REQUEST = 'find out why the test of the parser fails and fix it';
const LIMITS = { maxTools: 4, tokenBudget: 800 };
const MOST_ROWS = 6;
const MOST_MATCHES = 3;
/** The width of the page where no terminal gives one. */
const USUAL_COLUMNS = 80;

/** Reads that run together, and a write that waits for them, and then for approval. */
const CALLS = [
  { id: 'call-0', name: 'read_file', input: { path: 'draft.md' } },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md' } },
  { id: 'call-2', name: 'write_file', input: { path: 'draft.md', content: '# Draft' } },
] as const satisfies readonly ToolCall[];

/** A read of the current folder, which runs. */
const READ = { id: 'call-3', name: 'list_directory', input: {} } as const satisfies ToolCall;

const NEXT: readonly (readonly [command: string, about: string])[] = [
  ['list, stats', 'all tools; how many have which value of every axis'],
  ['search, select', 'your own request: select "which files mention the parser"'],
  ['run, plan', 'calls for real: run list_directory'],
  ['chat', 'talk to the tools, without a key'],
  ['--tools <path>', 'every command, on your own tools'],
  ['--help', 'all commands; README.md and docs/ say more'],
];

/** Makes the program show the overview. It runs one read of the current folder, and whatever that read answers, the overview is no failure. */
export function defineOverview(program: Command, { terminal, onTools }: CommandHost): void {
  onTools(
    program,
    ['', 'list --derived write', 'search "show me what changed"', 'lint --tools ./src/tools'],
    (loaded, { json, tools, manifests, mcp }) =>
      overview(terminal, loaded, json === true, (tools ?? manifests ?? mcp) === undefined),
  );
}

/** Shows on one page what tooldex knows: some of the catalogue, a request that is matched and selected for, and calls of the bundled tools that are planned. */
async function overview(
  given: Terminal,
  { registry }: LoadedRegistry,
  json: boolean,
  isBundled: boolean,
): Promise<void> {
  // For your own tools: an example of a tool, or else the words of a name.
  const text = isBundled
    ? REQUEST
    : ([...registry].flatMap(({ examples }) => examples)[0] ??
      [...registry][0]!.name.replace(/[._-]+/g, ' '));
  const matches = registry.getToolsMatchingTextScored(text, { maxResults: MOST_MATCHES });
  const selection = selectTools(registry, { text, ...LIMITS });
  const executor = new ToolExecutor({ registry });
  const calls: readonly ToolCall[] = isBundled ? CALLS : [];
  const planned = {
    calls,
    plan: await executor.plan(calls),
    dryRuns: await executor.dryRun(calls),
  };
  const outcome = isBundled ? await executor.execute(READ) : undefined;
  await executor.close();
  const summary = registry.summary();
  if (json) {
    const all = { summary, text, matches, selection: selectionToJson(selection) };
    const run = outcome && { toolName: outcome.toolName, status: outcome.status };
    return given.out(
      plainJson({ ...all, ...(isBundled && { calls: planToJson(planned), run }) }, 2),
    );
  }

  const columns = Number.isFinite(given.columns) ? given.columns : USUAL_COLUMNS;
  const out = (line: string) => given.out(line);
  const terminal: Terminal = { color: given.color, columns, out, err: out };
  const heading = (title: string, note: string) => {
    const lines = wrapWords(note, columns - title.length - 2).map((line) =>
      paint(terminal, 'dim', line),
    );
    out(`\n${paint(terminal, 'bold', title)}  ${lines.join(`\n${' '.repeat(title.length + 2)}`)}`);
  };
  out(
    `${paint(terminal, 'bold', 'tooldex')}  ${paint(terminal, 'dim', 'a tool declares its metadata once; this whole page follows from it')}`,
  );

  const kinds = new Map<string, ToolEntry>();
  for (const entry of [...registry].reverse())
    kinds.set(`${entry.accessMode} ${entry.dangerLevel}`, entry);
  const shown = [...registry].filter((entry) => [...kinds.values()].includes(entry));
  heading(`${registry.size} tools`, 'ToolMetadataRegistry: some, of different access and danger');
  out(table(terminal, shown.slice(0, MOST_ROWS), AXIS_COLUMNS));
  if (shown.some(({ inferred }) => inferred.length > 0))
    out(paint(terminal, 'dim', '* inferred, not declared'));
  out(
    `\n${axisCounts(terminal, summary, ['byPriority', 'byAccessMode', 'byDangerLevel', 'derived'])}`,
  );

  heading('Match', 'getToolsMatchingTextScored(text): the words of a request, no model asked');
  for (const line of wrapWords(plainLine(`“${text}”`), columns)) out(line);
  out(matches.length === 0 ? 'No tool has a keyword in it.' : keywordTable(terminal, matches));
  heading(
    'Select',
    `selectTools(registry, { text, maxTools: ${LIMITS.maxTools}, tokenBudget: ${LIMITS.tokenBudget} })`,
  );
  printSelection(terminal, { ...selection, dropped: [] });

  if (isBundled) {
    heading('Plan', "ToolExecutor.plan and dryRun: the calls of a model's answer, before they run");
    showPlan(terminal, planned);
    heading('Run', 'ToolExecutor.execute: a read of this folder, which needs no approval');
    out(`${READ.name}  ${statusText(terminal, outcome!)}  ${factsText(outcome!)}`);
    for (const line of ranLines(outcome!, columns)) out(line);
    heading('Approve', 'SafetyPolicy: what a user sees first');
    const { name: toolName, input } = CALLS[2];
    const { danger, reason } = planned.dryRuns.at(-1)!.decision;
    for (const line of callLines(terminal, { toolName, input, danger, reason })) out(line);
    out('Run it? [y/N/e]');
    out(
      paint(terminal, 'dim', `Try it: tooldex run ${toolName} --input '${JSON.stringify(input)}'`),
    );
  }
  heading('Go on', 'in a clone: npm start -- <command>; installed: npx tooldex <command>');
  for (const [command, about] of NEXT)
    out(`${paint(terminal, 'cyan', command.padEnd(16))}${about}`);
}

/** The names of a folder that are shown. */
const MOST_NAMES = 8;

function ranLines(outcome: ToolOutcome, columns: number): readonly string[] {
  const { data, text } = readOutcome(outcome);
  const { entries } = (data ?? {}) as { readonly entries?: readonly { readonly name: string }[] };
  const names = entries?.slice(0, MOST_NAMES).map(({ name }) => name);
  const said = names
    ? `${entries!.length} entries${names.length > 0 ? `, among them ${names.join(', ')}` : ''}`
    : text;
  return wrapWords(plainLine(said), columns);
}
