import { isPlainObject } from '../../core/plain-data.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { ToolCall, ToolOutcome } from '../../safety/calls.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { callLines } from './ask-to-confirm.js';
import { limitTime } from './limit-time.js';
import { durationText, outcomeToJson, STATUS_STYLES } from './show-outcome.js';
import { planToJson, showPlan, type ShownPlan } from './show-plan.js';
import { table } from '../table.js';
import { paint, type Terminal } from '../terminal.js';

/** Reads run together; the write waits for them, and then for a person. */
const CALLS: readonly ToolCall[] = [
  { id: 'call-0', name: 'list_directory', input: {} },
  { id: 'call-1', name: 'search_text', input: { query: 'approval', include: '*.md', maxResults: 20 } },
  { id: 'call-2', name: 'git_status', input: {} },
  { id: 'call-3', name: 'write_file', input: { path: 'draft.md', content: '# Draft\nNothing yet.\n' } },
];
/** The page should be there soon, also in a folder with a million files. */
const TIMEOUT_MS = 3_000;

/** The example calls and what became of them. */
export interface ExampleRun extends ShownPlan {
  readonly outcomes: readonly ToolOutcome[];
}

/** Plans and runs some calls of bundled tools in the current folder. Nobody says yes, so nothing is written. */
export async function runExampleCalls(registry: ToolMetadataRegistry): Promise<ExampleRun> {
  const executor = new ToolExecutor({ registry: limitTime(registry, TIMEOUT_MS), maxAttempts: 1 });
  try {
    return { calls: CALLS, plan: await executor.plan(CALLS), dryRuns: await executor.dryRun(CALLS), outcomes: await executor.executeAll(CALLS) };
  } finally {
    await executor.close();
  }
}

/** Prints the plan and the outcomes. */
export function showExamplePlan(terminal: Terminal, run: ExampleRun): void {
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

/** Prints what the person would be shown, and the command that asks for real. */
export function showHeldCalls(terminal: Terminal, { calls, outcomes }: ExampleRun): void {
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status !== 'approval_required') continue;
    for (const line of callLines(terminal, outcome.pending)) terminal.out(line);
    terminal.out(`Run it? [y/N/e]  ${paint(terminal, 'dim', '(e changes the arguments first)')}`);
    const { name, input } = calls[position]!;
    terminal.out(paint(terminal, 'dim', `\nAsks, then runs it:  npm start -- run ${name} --input '${JSON.stringify(input)}'`));
  }
}

export function exampleRunToJson(run: ExampleRun): object {
  return { ...planToJson(run), outcomes: run.outcomes.map(outcomeToJson) };
}

/** How much an answer holds, rather than its first lines. */
function shortAnswer(outcome: ToolOutcome): string {
  if (outcome.status === 'approval_required') return 'waits for a yes';
  if (outcome.status === 'error') return outcome.message;
  if (outcome.status !== 'ok' || !isPlainObject(outcome.value)) return '';
  return Object.entries(outcome.value)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => (Array.isArray(value) ? `${value.length} ${name}` : `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`))
    .join(', ');
}
