import type { Command } from 'commander';
import { Stage } from '../../core/enums.js';
import { DERIVED_SETS, type DerivedSet } from '../../registry/derived-sets.js';
import { AXIS_COLUMNS } from '../terminal/axis-columns.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import type { CommandHost } from '../load/options.js';
import { plainJson, paint, plainLine, type Terminal, type Style } from '../terminal/terminal.js';
import { table, wrapList, wrapWords } from '../terminal/table.js';
import { selectTools } from '../../selection/select-tools.js';
import { keywordTable, printSelection, selectionToJson } from './find.js';
import { axisBars } from './catalogue.js';
import { scriptedModel } from '../../chat/model-step.js';
import { Session } from '../../chat/session/session.js';
import type { ChatMessage, TextPart, ToolCallPart, ToolResultPart } from '../../chat/thread.js';
import { isPlainObject } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { defineTool } from '../../tool/tool-definition.js';
import { callLines } from '../execute/shown-call.js';
import { durationText, outcomeToJson, STATUS_STYLES, planToJson, showPlan, type ShownPlan } from '../execute/show-calls.js';
import { limitTime } from '../execute/with-executor.js';

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

/** Reads run together; the write waits for them, and then for approval. */
const CALLS: readonly ToolCall[] = [
  { id: 'call-0', name: 'list_directory', input: {} },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md', maxResults: 20 } },
  { id: 'call-2', name: 'git_status', input: {} },
  { id: 'call-3', name: 'write_file', input: { path: 'draft.md', content: '# Draft\nNothing yet.\n' } },
];
/** The page should be there soon, also in a folder with a million files. */
const TIMEOUT_MS = 3_000;

/** The example calls and what became of them. */
interface ExampleRun extends ShownPlan {
  readonly outcomes: readonly ToolOutcome[];
}

/** Plans and runs some calls of bundled tools in the current folder. Nobody approves, so nothing is written. */
async function runExampleCalls(registry: ToolMetadataRegistry): Promise<ExampleRun> {
  const executor = new ToolExecutor({ registry: limitTime(registry, TIMEOUT_MS), maxAttempts: 1 });
  try {
    return { calls: CALLS, plan: await executor.plan(CALLS), dryRuns: await executor.dryRun(CALLS), outcomes: await executor.executeAll(CALLS) };
  } finally {
    await executor.close();
  }
}

/** Prints the plan and the outcomes. */
function showExamplePlan(terminal: Terminal, run: ExampleRun): void {
  showPlan(terminal, run);
  terminal.out('');
  terminal.out(
    table(terminal, run.outcomes, [
      { title: 'TOOL', value: ({ toolName }) => toolName, style: () => 'bold' },
      { title: 'STATUS', value: ({ status }) => status.replace('_', ' '), style: ({ status }) => STATUS_STYLES[status] },
      { title: 'TIME', value: ({ durationMs }) => durationText(durationMs), align: 'right' },
      { title: 'ANSWER', value: (outcome) => shortAnswer(outcome) },
    ]),
  );
}

/** Prints what the user would be shown, and the command that asks for real. */
function showPendingCalls(terminal: Terminal, { calls, outcomes }: ExampleRun): void {
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status !== 'approval_required') continue;
    for (const line of callLines(terminal, outcome.pending)) terminal.out(line);
    terminal.out(`Run it? [y/N/e]  ${paint(terminal, 'dim', '(e changes the arguments first)')}`);
    const { name, input } = calls[position]!;
    terminal.out(paint(terminal, 'dim', `\nAsks, then runs it:  npm start -- run ${name} --input '${JSON.stringify(input)}'`));
  }
}

function exampleRunToJson(run: ExampleRun): object {
  return { ...planToJson(run), outcomes: run.outcomes.map(outcomeToJson) };
}

/** Returns how much an answer holds, rather than its first lines. */
function shortAnswer(outcome: ToolOutcome): string {
  if (outcome.status === 'approval_required') return 'needs approval';
  if (outcome.status === 'error') return outcome.message;
  if (outcome.status !== 'ok' || !isPlainObject(outcome.value)) return '';
  return Object.entries(outcome.value)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => (Array.isArray(value) ? `${value.length} ${name}` : `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`))
    .join(', ');
}

const QUESTION = 'What did order 17 cost? Refund it.';
const REFUND = { id: 'call-2', result: { refunded: true, by: 'cashier' } };

/** One turn in which a tool is answered by a user, kept as JSON between its two halves. */
interface ExampleTurn {
  readonly held: Pick<Session, 'status' | 'haltedReason' | 'pending'>;
  /** Characters of the snapshot between the halves. */
  readonly snapshotLength: number;
  readonly resumed: Pick<Session, 'status' | 'haltedReason' | 'messages'>;
}

/** Runs the turn with a scripted model: one tool answers by itself, the other waits until its result is given. */
async function runExampleTurn(): Promise<ExampleTurn> {
  const inputSchema = { type: 'object', properties: { order: { type: 'number' } }, required: ['order'] };
  const tools = [
    defineTool({ name: 'order_price', description: 'The price of an order', inputSchema, accessMode: 'readonly', execute: () => '12.50 €' }),
    defineTool({ name: 'refund', description: 'Pays an order back', inputSchema, manual: true }),
  ];
  const calls = [{ id: 'call-1', name: 'order_price', input: { order: 17 } }, { id: REFUND.id, name: 'refund', input: { order: 17 } }];
  const { session: held } = await Session.create({ id: 'order-17' }).start({ tools, model: scriptedModel([{ calls }]) }, QUESTION);

  const stored = JSON.stringify(held); // Now the process may end; the next one has nothing but this text.

  const answered = Session.fromJSON(JSON.parse(stored)).submitToolResult(REFUND.id, REFUND.result).session;
  const { session: resumed } = await answered.continue({ tools, model: scriptedModel(['Order 17 cost 12.50 €. It has been paid back.']) });
  return { held, snapshotLength: stored.length, resumed };
}

/** Prints the turn as a dialogue. */
function showExampleTurn(terminal: Terminal, { held, snapshotLength, resumed }: ExampleTurn): void {
  const line = (style: Style, who: string, text: string) => terminal.out(`${paint(terminal, style, who.padEnd(10))}${plainLine(text)}`);
  const note = (text: string) => {
    for (const each of wrapWords(text, Math.min(terminal.columns, 100) - 10)) terminal.out(paint(terminal, 'dim', `${' '.repeat(10)}${each}`));
  };
  for (const [who, text] of resumed.messages.flatMap(spoken)) {
    const isResult = text.startsWith('refund →');
    if (isResult) {
      note(`${held.status}: ${held.pending.map(({ toolName }) => toolName).join(', ')} is answered by a user; the session is ${snapshotLength} characters of JSON`);
      note(`… what follows has nothing but that text: fromJSON, submitToolResult('${REFUND.id}', …), continue`);
    }
    line(who === 'user' ? 'bold' : who === 'assistant' ? 'cyan' : 'green', who, text);
  }
}

function exampleTurnToJson({ held, snapshotLength, resumed }: ExampleTurn): object {
  const { status, haltedReason, pending } = held;
  return { held: { status, haltedReason, pending }, snapshotLength, resumed: { status: resumed.status, haltedReason: resumed.haltedReason, messages: resumed.messages } };
}

/** Returns what a message says, part by part. */
function spoken({ role, content }: ChatMessage): (readonly [string, string])[] {
  if (typeof content === 'string') return [[role, content]];
  return content.map((part) => {
    if (part.type === 'tool-result') {
      const { toolName, output } = part as ToolResultPart;
      return [role, `${toolName} → ${'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify('value' in output ? output.value : null)}`] as const;
    }
    if (part.type === 'tool-call') {
      const { toolName, input } = part as ToolCallPart;
      return [role, `${toolName} ${JSON.stringify(input)}`] as const;
    }
    return [role, (part as TextPart).text] as const;
  });
}
