import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { selectTools } from '../../selection/select-tools.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { command, print } from '../command/command.js';
import { planCalls, planLines, planToJson, statusLine } from '../execute/show-calls.js';
import { callLines } from '../execute/shown-call.js';
import { withTools } from '../load/load-registry.js';
import { TOOL_OPTIONS } from '../command/options.js';
import { axisRow } from '../terminal/axis-row.js';
import { amountOf, table, wrapWords } from '../terminal/table.js';
import { paint, plainLine, type Terminal } from '../terminal/terminal.js';
import { selectionLines, selectionToJson } from './find.js';

const REQUEST = 'find out why the test of the parser fails and fix it';
const LIMITS = { maxTools: 4, tokenBudget: 800 };
const MAX_ROWS = 6;
/** The width of the page if there is no terminal. */
const USUAL_COLUMNS = 80;

/** Two reads that run together, and a write that waits for them and needs approval. They are planned, and don't run. */
const CALLS = [
  { id: 'call-0', name: 'read_file', input: { path: 'draft.md' } },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md' } },
  { id: 'call-2', name: 'write_file', input: { path: 'draft.md', content: '# Draft' } },
] as const satisfies readonly ToolCall[];

/** A read of the current folder, which runs. */
const READ = { id: 'call-3', name: 'list_directory', input: {} } as const satisfies ToolCall;

const NEXT: readonly (readonly [command: string, about: string])[] = [
  ['list, stats', 'all tools; how many there are of each kind'],
  ['search, select', 'your own request: select "which files mention the parser"'],
  ['run, plan', 'real calls: run list_directory'],
  ['chat', 'talk to the tools; you need no key'],
  ['--tools <path>', 'use any command on your own tools'],
  ['--help', 'all commands; see also README.md and docs/'],
];

/** Shows on one page what tooldex does. It runs one read of the current folder. Whatever that returns, the overview succeeds. */
export const overview = command({
  options: TOOL_OPTIONS,
  examples: [
    '',
    'list --derived write',
    'search "show me what changed"',
    'lint --tools ./src/tools',
  ],
  run: (context) =>
    withTools(context, {}, async ({ registry }) => {
      const { options } = context;
      const isBundled = (options.tools ?? options.manifests ?? options.mcp) === undefined;
      // For your own tools: an example of a tool, or else the words of a name.
      const text = isBundled
        ? REQUEST
        : ([...registry].flatMap(({ examples }) => examples)[0] ??
          [...registry][0]!.name.replace(/[._-]+/g, ' '));
      const selection = selectTools(registry, { text, ...LIMITS });
      const summary = registry.summary();
      const executor = new ToolExecutor({ registry });
      const planned = isBundled ? await planCalls(executor, CALLS) : undefined;
      const outcome = isBundled ? await executor.execute(READ) : undefined;
      await executor.close();
      const data = {
        ...{ summary, text, selection: selectionToJson(selection) },
        ...(planned && { calls: planToJson(planned) }),
        ...(outcome && { run: { toolName: outcome.toolName, status: outcome.status } }),
      };
      print(context, data, function* () {
        const columns = Math.min(context.terminal.columns, USUAL_COLUMNS);
        const terminal: Terminal = { ...context.terminal, color: context.terminal.color, columns };
        const heading = (title: string, note: string) => {
          const lines = wrapWords(note, columns - title.length - 2).map((line) =>
            paint(terminal, 'dim', line),
          );
          const margin = `\n${' '.repeat(title.length + 2)}`;
          return `\n${paint(terminal, 'bold', title)}  ${lines.join(margin)}`;
        };
        const about = 'Tools declare their metadata once. This page shows the rest.';
        yield `${paint(terminal, 'bold', 'tooldex')}  ${paint(terminal, 'dim', about)}`;

        const kinds = new Map<string, ToolEntry>();
        for (const entry of [...registry].reverse())
          kinds.set(`${entry.accessMode} ${entry.dangerLevel}`, entry);
        const shown = [...registry].filter((entry) => [...kinds.values()].includes(entry));
        yield heading(
          amountOf(registry.size, 'tool'),
          'ToolMetadataRegistry: some tools of different access and danger',
        );
        yield table(terminal, shown.slice(0, MAX_ROWS).map(axisRow));
        if (shown.some(({ inferred }) => inferred.length > 0))
          yield paint(terminal, 'dim', '* inferred, not declared');
        yield '';
        yield* wrapWords(plainLine(`For the request “${text}”:`), columns);
        yield heading(
          'Select',
          `selectTools(registry, { text, maxTools: ${LIMITS.maxTools}, tokenBudget: ${LIMITS.tokenBudget} })`,
        );
        yield* selectionLines(terminal, { ...selection, dropped: [] });

        if (planned !== undefined && outcome !== undefined) {
          yield heading('Plan', "ToolExecutor.plan and dryRun: a model's calls before they run");
          yield* planLines(terminal, planned);
          yield heading(
            'Run',
            'ToolExecutor.execute: a read of this folder, which needs no approval',
          );
          yield `${READ.name}  ${statusLine(terminal, outcome)}`;
          yield* wrapWords(plainLine(ranText(outcome)), columns);
          yield heading('Approve', 'SafetyPolicy: what you see before you approve a call');
          const { name: toolName, input } = CALLS[2];
          const { danger, reason } = planned.dryRuns.at(-1)!.decision;
          yield* callLines(terminal, { toolName, input, danger, reason });
          yield 'Run it? [y/N/e]';
          const command = `tooldex run ${toolName} --input '${JSON.stringify(input)}'`;
          yield paint(terminal, 'dim', `Try it: ${command}`);
        }
        yield heading(
          'Next',
          'installed: npx tooldex <command>; in a clone: npm start -- <command>',
        );
        for (const [name, what] of NEXT) yield `${paint(terminal, 'cyan', name.padEnd(16))}${what}`;
      });
    }),
});

/** The maximum number of names of a folder. */
const MAX_NAMES = 8;

function ranText(outcome: ToolOutcome): string {
  const { data, text } = readOutcome(outcome);
  const { entries } = (data ?? {}) as { readonly entries?: readonly { readonly name: string }[] };
  if (entries === undefined) return text;
  const names = entries.slice(0, MAX_NAMES).map(({ name }) => name);
  return `${amountOf(entries.length, 'entry', 'entries')}${names.length > 0 ? `, among them ${names.join(', ')}` : ''}`;
}
