import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolCall } from '../../safety/calls.js';
import { readOutcome } from '../../safety/read-outcome.js';
import { selectTools } from '../../selection/select-tools.js';
import { command, print } from '../command/command.js';
import { cut, planCalls, planLines, planToJson, statusLine } from '../execute/show-calls.js';
import { callLines } from '../execute/shown-call.js';
import { withTools } from '../load/load-registry.js';
import { axisRow } from '../terminal/axis-row.js';
import { amountOf, table } from '../terminal/table.js';
import { paint } from '../terminal/terminal.js';
import { selectionLines, selectionToJson } from './find.js';

const REQUEST = 'find out why the parser test fails and fix it';
const LIMITS = { maxTools: 4, tokenBudget: 800 };
const MAX_ROWS = 6;
/** The width of the page if there is no terminal. */
const USUAL_COLUMNS = 80;

/**
 * Two reads that run in parallel, and a write that waits for the reads and needs approval. These
 * calls are planned but don't run.
 */
const CALLS = [
  { id: 'call-0', name: 'read_file', input: { path: 'draft.md' } },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md' } },
  { id: 'call-2', name: 'write_file', input: { path: 'draft.md', content: '# Draft' } },
] as const satisfies readonly ToolCall[];

/** A call that reads the current folder. The overview really runs this call. */
const READ = { id: 'call-3', name: 'list_directory', input: {} } as const satisfies ToolCall;

const NEXT = {
  'list, stats': 'all tools, and how many there are of each kind',
  'search, select': 'your own request: select "which files mention the parser"',
  'run, plan': 'make a real call: run list_directory',
  chat: 'chat with the tools; no API key needed',
  '--tools <path>': 'use any command on your own tools',
  '--help': 'all commands; see also README.md and docs/',
};

export const commands = {
  // Runs one read of the current folder. The overview succeeds even if the read fails.
  overview: command({
    options: {},
    examples: [
      '',
      'list --derived write',
      'search "show me what changed"',
      'lint --tools ./src/tools',
    ],
    run: (context) =>
      withTools(context, {}, async ({ registry }) => {
        const selection = selectTools(registry, { text: REQUEST, ...LIMITS });
        const executor = new ToolExecutor({ registry });
        const planned = await planCalls(executor, CALLS);
        const outcome = await executor.execute(READ);
        await executor.close();
        const data = {
          summary: registry.summary(),
          text: REQUEST,
          selection: selectionToJson(selection),
          calls: planToJson(planned),
          run: { toolName: outcome.toolName, status: outcome.status },
        };
        print(context, data, function* () {
          const columns = Math.min(context.terminal.columns, USUAL_COLUMNS);
          const terminal = { ...context.terminal, columns };
          const kinds = [...registry]
            .reverse()
            .map((entry) => [`${entry.accessMode} ${entry.dangerLevel}`, entry] as const);
          const shown = [...new Map(kinds).values()].reverse().slice(0, MAX_ROWS);
          yield `${paint('bold', 'tooldex')}  Tools declare their metadata once. Here is what that makes possible.`;
          yield heading(
            amountOf(registry.size, 'tool'),
            'ToolMetadataRegistry: some tools with different access and danger',
          );
          yield table(terminal, shown.map(axisRow));
          if (shown.some(({ inferred }) => inferred.length > 0))
            yield paint('dim', '* inferred, not declared');
          yield '';
          yield `For the request “${REQUEST}”:`;
          yield heading(
            'Select',
            `selectTools(registry, { text, maxTools: ${LIMITS.maxTools}, tokenBudget: ${LIMITS.tokenBudget} })`,
          );
          yield* selectionLines(terminal, { ...selection, dropped: [] });
          yield heading('Plan', "ToolExecutor.plan and decide: a model's calls before they run");
          yield* planLines(terminal, planned);
          yield heading('Run', 'ToolExecutor.execute: reading this folder needs no approval');
          yield `${READ.name}  ${statusLine(outcome)}`;
          yield cut(readOutcome(outcome).text, columns);
          yield heading('Approve', 'SafetyPolicy: what you see before you approve a call');
          const { name: toolName, input } = CALLS[2];
          const { danger, reason } = planned.decisions.at(-1)!;
          yield* callLines(terminal, { toolName, input, danger, reason });
          yield 'Run it? [y/N/e]';
          yield paint('dim', `Try it: tooldex run ${toolName} --input '${JSON.stringify(input)}'`);
          yield heading(
            'Next',
            'installed: npx tooldex <command>; in a clone: npm start -- <command>',
          );
          for (const [name, what] of Object.entries(NEXT))
            yield `${paint('cyan', name.padEnd(16))}${what}`;
        });
      }),
  }),
};

const heading = (title: string, note: string) => `\n${paint('bold', title)}  ${paint('dim', note)}`;
