import { DangerLevel } from '../../core/enums.js';
import type { Preview } from '../../core/preview.js';
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
import { paint } from '../terminal/terminal.js';
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
        const selection = selectTools(registry, { text: REQUEST, ...LIMITS });
        const executor = new ToolExecutor({ registry });
        const planned = await planWithoutRunning(executor, CALLS);
        const outcomes = await executor.executeAll(CALLS);
        const stopped = await executor.execute(OUTSIDE);
        await executor.close();
        const allTokens = [...registry]
          .map((entry) => estimateTokens(JSON.stringify(renderTool(entry, 'full'))))
          .reduce((sum, tokens) => sum + tokens, 0);
        const results = [...outcomes, stopped].map(({ toolName, status }) => ({
          toolName,
          status,
        }));
        const data = {
          summary: registry.summary(),
          text: REQUEST,
          selection: { ...selectionToJson(selection), allTokens },
          calls: planToJson(planned),
          results,
        };
        print(context, data, function* () {
          const columns = Math.min(context.terminal.columns, USUAL_COLUMNS);
          const terminal = { ...context.terminal, columns: columns - STEP_WIDTH };
          yield `${paint('bold', 'tooldex')}  ${registry.size} tools, one truth: what may your agent do?\n`;
          yield* grid(registry);
          yield `\n${paint('bold', 'USER')}  "${REQUEST}"\n`;
          yield* step('1 choose', [
            `${selection.tools.length} of ${registry.size} tools, ${amount(selection.tokens)} tokens instead of ${amount(allTokens)}`,
            selection.tools.map(({ toolName }) => toolName).join('  '),
          ]);
          yield* step('2 plan', planRows(planned.plan));
          yield* step('3 run', outcomes.slice(0, 2).map(ranLine));
          const pending = pendingOf(outcomes[2]!);
          yield* step('4 ask', [
            ...(pending === undefined ? [] : callLines(terminal, withChangesOnly(pending))),
            'Run it? [y]es [N]o [e]dit',
          ]);
          yield* step('5 stop', [
            `the model: ${OUTSIDE.name} ${JSON.stringify(OUTSIDE.input)}`,
            `${statusMark(stopped)} ${cut(readOutcome(stopped).text, columns - STEP_WIDTH - 2)}`,
          ]);
          yield `\n${paint('bold', 'Your turn')}  ${paint('dim', 'in a clone: npm start -- <command>')}`;
          for (const [line, what] of Object.entries(NEXT))
            yield `  ${paint('cyan', line.padEnd(38))}  ${what}`;
        });
      }),
  }),
};

const amount = (count: number) => count.toLocaleString('en');

const LEVELS: readonly (readonly [title: string, levels: readonly DangerLevel[]])[] = [
  ['safe/low', [DangerLevel.SAFE, DangerLevel.LOW]],
  ['medium', [DangerLevel.MEDIUM]],
  ['high', [DangerLevel.HIGH]],
  ['critical', [DangerLevel.CRITICAL]],
];

/** Counts the tools that read and those that change something, by danger. */
function* grid(registry: ToolMetadataRegistry): Generator<string> {
  const writing = registry.getWriteTools();
  const asking = registry.getToolsRequiringApproval();
  yield `  ${''.padEnd(8)}${LEVELS.map(([title]) => title.padStart(10)).join('')}`;
  for (const [title, entries] of [
    ['reads', [...registry].filter(({ name }) => !writing.has(name))],
    ['changes', [...registry].filter(({ name }) => writing.has(name))],
  ] as const) {
    const counts = LEVELS.map(
      ([, levels]) => entries.filter(({ dangerLevel }) => levels.includes(dangerLevel)).length,
    );
    const cells = counts.map((count) => (count === 0 ? '–' : String(count)).padStart(10));
    yield `  ${title.padEnd(8)}${cells.join('')}   ${paint('dim', askingText(entries, asking))}`;
  }
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
function planRows({
  batches,
  calls,
}: Awaited<ReturnType<typeof planWithoutRunning>>['plan']): string[] {
  return batches.flatMap((batch) =>
    batch.map((position, place) => {
      const { toolName, after } = calls[position]!;
      const bracket =
        batch.length === 1 ? ' ' : place === 0 ? '┐' : place === batch.length - 1 ? '┘' : '│';
      const waits = after === undefined ? '' : `waits for ${calls[after.position]!.toolName}`;
      const note = batch.length > 1 && place === 0 ? 'together' : waits;
      return `${toolName.padEnd(15)} ${bracket} ${note}`.trimEnd();
    }),
  );
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

function pendingOf(outcome: ToolOutcome): PendingApproval | undefined {
  return outcome.status === 'approval_required' ? outcome.pending : undefined;
}
