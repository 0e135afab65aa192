import { DangerLevel } from '../../core/enums.js';
import type { Preview } from '../../core/preview.js';
import type { ExecutionPlan } from '../../execution/plan-execution.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { PendingApproval, ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { selectTools } from '../../selection/select-tools.js';
import { estimateTokens, renderTool } from '../../tool/render-tool.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import {
  cut,
  durationText,
  planWithoutRunning,
  planToJson,
  statusMark,
} from '../execute/show-calls.js';
import { callLines } from '../execute/shown-call.js';
import { withTools } from '../load/load-registry.js';
import { paint, type Terminal } from '../terminal/terminal.js';
import { selectionToJson } from './find.js';

const REQUEST = 'find out why the parser test fails and fix it';
const LIMITS = { maxTools: 5, tokenBudget: 800, criticalOutsideLimit: false };
/** The width of the page if there is no terminal. */
const USUAL_COLUMNS = 80;

/** Two reads that run in parallel, and a write that waits for them and needs approval. */
const CALLS = [
  { id: 'call-0', name: 'list_directory', input: {} },
  { id: 'call-1', name: 'list_tests', input: {} },
  { id: 'call-2', name: 'write_file', input: { path: 'draft.md', content: '# Draft' } },
] as const satisfies readonly ToolCall[];
/** A read that leaves the folder. */
const OUTSIDE = {
  id: 'call-3',
  name: 'read_file',
  input: { path: '../outside.md' },
} as const satisfies ToolCall;

const NEXT = {
  'npx tooldex init': 'your first tool and its test',
  'npx tooldex list --tools "src/**/*.ts"': 'what your own tools declare',
  'npx tooldex --help': 'all commands',
};

export const commands = {
  // Runs the calls for real. The write isn't approved, so it doesn't run.
  overview: command({
    options: {},
    examples: [
      '',
      'list --derived write',
      'search "show me what changed"',
      'lint --tools ./src/tools',
    ],
    run: (context) =>
      withTools(context, { bundled: 'only' }, async ({ registry }) => {
        const shown = await runOverview(registry);
        const { selection, allTokens, planned, outcomes } = shown;
        const data = {
          summary: registry.summary(),
          text: REQUEST,
          selection: { ...selectionToJson(selection), allTokens },
          calls: planToJson(planned),
          results: outcomes.map(({ toolName, status }) => ({ toolName, status })),
        };
        print(context, data, () => overviewLines(context.terminal, registry, shown));
      }),
  }),
};

/** Selects tools, and plans and runs the calls. */
async function runOverview(registry: ToolMetadataRegistry) {
  const executor = new ToolExecutor({ registry });
  const planned = await planWithoutRunning(executor, CALLS);
  const outcomes = [...(await executor.executeAll(CALLS)), await executor.execute(OUTSIDE)];
  await executor.close();
  let allTokens = 0;
  for (const entry of registry)
    allTokens += estimateTokens(JSON.stringify(renderTool(entry, 'full')));
  const selection = selectTools(registry, { text: REQUEST, ...LIMITS });
  return { selection, allTokens, planned, outcomes };
}

function* overviewLines(
  terminal: Terminal,
  registry: ToolMetadataRegistry,
  { selection, allTokens, planned, outcomes }: Awaited<ReturnType<typeof runOverview>>,
): Generator<string> {
  const columns = Math.min(terminal.columns, USUAL_COLUMNS) - STEP_WIDTH;
  const [first, second, write, stopped] = outcomes as [
    ToolOutcome,
    ToolOutcome,
    ToolOutcome,
    ToolOutcome,
  ];
  yield `${paint('bold', 'tooldex')}  ${registry.size} tools, one truth: what may your agent do?\n`;
  yield* grid(registry);
  yield `\n${paint('bold', 'USER')}  "${REQUEST}"\n`;
  yield* step('1 choose', [
    `${selection.tools.length} of ${registry.size} tools, ${amount(selection.tokens)} tokens instead of ${amount(allTokens)}`,
    selection.tools.map(({ toolName }) => toolName).join('  '),
  ]);
  yield* step('2 plan', planRows(planned.plan));
  yield* step('3 run', [ranLine(first), ranLine(second)]);
  yield* step('4 ask', [
    ...(write.status === 'approval_required'
      ? callLines({ columns }, withChangesOnly(write.pending))
      : []),
    'Run it? [y]es [N]o [e]dit',
  ]);
  yield* step('5 stop', [
    `the model: ${OUTSIDE.name} ${JSON.stringify(OUTSIDE.input)}`,
    `${statusMark(stopped)} ${cut(readOutcome(stopped).text, columns - 2)}`,
  ]);
  yield `\n${paint('bold', 'Your turn')}  ${paint('dim', 'in a clone: npm start -- <command>')}`;
  for (const [line, what] of Object.entries(NEXT))
    yield `  ${paint('cyan', line.padEnd(38))}  ${what}`;
}

const amount = (count: number) => count.toLocaleString('en');

const LEVELS: Readonly<Record<string, readonly DangerLevel[]>> = {
  'safe/low': [DangerLevel.SAFE, DangerLevel.LOW],
  medium: [DangerLevel.MEDIUM],
  high: [DangerLevel.HIGH],
  critical: [DangerLevel.CRITICAL],
};

/** Counts the tools that read and those that change something, by danger. */
function* grid(registry: ToolMetadataRegistry): Generator<string> {
  const asking = registry.getToolsRequiringApproval();
  yield gridLine('', Object.keys(LEVELS));
  for (const isWriting of [false, true]) {
    const writing = registry.getWriteTools();
    const entries = [...registry].filter(({ name }) => writing.has(name) === isWriting);
    const cells: string[] = [];
    for (const levels of Object.values(LEVELS)) {
      const { length } = entries.filter(({ dangerLevel }) => levels.includes(dangerLevel));
      cells.push(length === 0 ? '–' : String(length));
    }
    const note = paint('dim', askingText(entries, asking));
    yield `${gridLine(isWriting ? 'changes' : 'reads', cells)}   ${note}`;
  }
}

function gridLine(title: string, cells: readonly string[]): string {
  return `  ${title.padEnd(8)}${cells.map((cell) => cell.padStart(10)).join('')}`;
}

/** Tells how many of the tools ask the user. */
function askingText(entries: readonly ToolEntry[], asking: ReadonlySet<string>): string {
  const count = entries.filter(({ name }) => asking.has(name)).length;
  if (count === 0) return 'run at once, in parallel';
  return count === entries.length ? 'ask you first' : `${count} ask you first`;
}

const STEP_WIDTH = 11;

/** Returns a step: its name, and its lines beside it. */
function* step(name: string, lines: Iterable<string>): Generator<string> {
  let label = name;
  for (const line of lines) {
    yield `${paint('bold', label.padEnd(STEP_WIDTH))}${line}`;
    label = '';
  }
}

/** Returns the planned calls, with a bracket around those that run together. */
function* planRows({ batches, calls }: ExecutionPlan): Generator<string> {
  for (const batch of batches)
    for (const position of batch) {
      const { toolName, after } = calls[position]!;
      const isFirst = position === batch[0];
      const bracket = isFirst ? '┐ together' : position === batch.at(-1) ? '┘' : '│';
      const waits = after === undefined ? '' : `  waits for ${calls[after.position]!.toolName}`;
      yield `${toolName.padEnd(15)} ${batch.length > 1 ? bracket : waits}`.trimEnd();
    }
}

function ranLine(outcome: ToolOutcome): string {
  return `${statusMark(outcome)} ${outcome.toolName.padEnd(15)} ${paint('dim', durationText(outcome.durationMs))}`;
}

/** Leaves out the head of a diff, which says nothing new about a new file. */
function withChangesOnly(pending: PendingApproval): PendingApproval {
  const { diff, ...preview } = pending.preview ?? {};
  if (diff === undefined) return pending;
  const changes = diff.split('\n').filter((line) => /^[+-](?![+-])/.test(line));
  return { ...pending, preview: { ...preview, diff: changes.join('\n') } as Preview };
}
