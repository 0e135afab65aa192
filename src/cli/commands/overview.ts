import type { Command } from 'commander';
import { Stage } from '../../core/enums.js';
import { DERIVED_SETS, type DerivedSet } from '../../registry/derived-sets.js';
import { AXIS_COLUMNS } from '../axis-columns.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import type { CommandHost } from '../options.js';
import { plainJson } from '../plain-text.js';
import { table, wrapList, wrapWords } from '../table.js';
import { paint, type Terminal } from '../terminal.js';
import { selectTools } from '../../selection/select-tools.js';
import { exampleTurnToJson, runExampleTurn, showExampleTurn } from './overview-examples.js';
import { exampleRunToJson, runExampleCalls, showExamplePlan, showPendingCalls } from './overview-examples.js';
import { keywordTable } from './find.js';
import { printSelection, selectionToJson } from './find.js';
import { axisBars } from './catalogue.js';

const REQUESTS = ['run the tests', 'show diff', 'commit changes', 'search for usages of parseConfig', 'what is 15% of 240?'];
const SELECTED = 'find out why the test of the parser fails and fix it';
const TOKEN_BUDGET = 700;
const MARGIN = 21;

/** Makes the program show the overview, which runs nothing of a user's own tools: those run only when they are asked for. */
export function defineOverview(program: Command, { terminal, onTools }: CommandHost): void {
  onTools(program, ['', 'list --derived write', 'search "show me what changed"', 'lint --tools ./src/tools'], (loaded, { json, tools, manifests, mcp }) =>
    overview(terminal, loaded, { json: json === true, runs: tools === undefined && manifests === undefined && mcp === undefined }),
  );
}

/**
 * Shows what a registry knows, on real tools: the catalogue, the derived sets, matches for a few requests, a selection, and
 * what becomes of a few calls, and one turn of a chat that waits for a user and goes on.
 *
 * @param runs whether the examples are run; they are calls of the bundled tools, and a scripted model.
 */
async function overview(terminal: Terminal, { registry }: LoadedRegistry, { json, runs }: { readonly json: boolean; readonly runs: boolean }): Promise<void> {
  const byName = (names: ReadonlySet<string>) => [...names];
  const sets = (Object.keys(DERIVED_SETS) as DerivedSet[]).map((set) => [set, registry.filter({ derived: [set] }).map(({ name }) => name)] as const);
  const stages = inOrder(registry.getAllStages()).map((stage) => [stage, byName(registry.getToolsByStage(stage))] as const);
  const requests = REQUESTS.map((text) => ({
    text,
    matches: registry.getToolsMatchingTextScored(text, { maxResults: 4 }),
    mandatory: byName(registry.getToolsMatchingMandatoryKeywords(text)),
    categories: byName(registry.detectCategoriesFromText(text)),
  }));
  const selection = selectTools(registry, { text: SELECTED, maxTools: 6, tokenBudget: TOKEN_BUDGET });
  const calls = runs ? await runExampleCalls(registry) : undefined;
  const turn = runs ? await runExampleTurn() : undefined;
  if (json) {
    const all = { summary: registry.summary(), sets: Object.fromEntries(sets), stages: Object.fromEntries(stages), requests, selection: selectionToJson(selection), ...(calls && { calls: exampleRunToJson(calls) }), ...(turn && { turn: exampleTurnToJson(turn) }) };
    return terminal.out(plainJson(all, 2));
  }

  const heading = (title: string, note: string) => {
    const lines = wrapWords(note, terminal.columns - title.length - 2).map((line) => paint(terminal, 'dim', line));
    terminal.out(`\n${paint(terminal, 'bold', title)}  ${lines.join(`\n${' '.repeat(title.length + 2)}`)}\n`);
  };
  const names = (label: string, list: readonly string[]) =>
    terminal.out(`${paint(terminal, 'dim', label.padEnd(MARGIN - 4))}${paint(terminal, 'cyan', String(list.length).padStart(2))}  ${wrapList(terminal, list, MARGIN)}`);

  heading(`${registry.size} tools`, 'each declares its metadata once, where it is defined');
  terminal.out(table(terminal, [...registry], AXIS_COLUMNS));
  heading('By axis', 'getByPriority, getByAccessMode, getByDangerLevel, …');
  terminal.out(axisBars(terminal, registry.summary()));
  heading('Derived sets', 'getWriteTools, getIdempotentTools, …: no list of names is kept by hand');
  for (const [set, list] of sets) if (set !== 'cacheInvalidating') names(set === 'requiringApproval' ? 'need approval' : set, list);
  heading('By stage', 'getToolsByStage');
  for (const [stage, list] of stages) names(stage, list);
  heading('Requests', 'getToolsMatchingTextScored: matched / declared keywords + specificity + priority');
  for (const { text, matches, mandatory, categories } of requests) {
    const notes = [`categories: ${categories.join(', ') || 'none'};`, `always offered: ${mandatory.join(', ') || 'none'}`];
    terminal.out(wrapList(terminal, [paint(terminal, 'bold', `“${text}”`), ...notes.map((note) => paint(terminal, 'dim', note))], 2, '  '));
    terminal.out(`${matches.length === 0 ? 'No tool has a keyword in it.' : keywordTable(terminal, matches)}\n`);
  }
  heading('Selection', `selectTools: what a model sees for “${SELECTED}” within ${TOKEN_BUDGET} tokens`);
  printSelection(terminal, selection);
  if (calls !== undefined) {
    heading('Execution', 'planExecution, ToolExecutor: calls of one turn of a model, planned and really run here');
    showExamplePlan(terminal, calls);
    heading('Approval', 'what the user is shown before a call that needs approval runs; nothing was written');
    showPendingCalls(terminal, calls);
  }
  if (turn !== undefined) {
    heading('Chat', 'Session: a scripted model, and a tool whose calls a user answers; the turn waits as JSON and goes on');
    showExampleTurn(terminal, turn);
    terminal.out(paint(terminal, 'dim', '\nTalk to it:  npm start -- chat'));
  }
  terminal.out('');
  const hints = ['Your own request:  npm start -- search "which files mention the parser"', 'Everything else:  npm start -- --help'];
  terminal.out(wrapList(terminal, hints.map((hint) => paint(terminal, 'dim', hint)), 0, '      '));
}

/** The usual stages in the order of an agent's work, then all others. */
function inOrder(stages: ReadonlySet<string>): readonly string[] {
  const usual: readonly string[] = Object.values(Stage);
  return [...usual.filter((stage) => stages.has(stage)), ...[...stages].filter((stage) => !usual.includes(stage))];
}
