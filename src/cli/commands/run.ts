import type { CallContext, ToolCall, ToolOutcome } from '../../safety/calls.js';
import { answerQuestion } from '../execute/ask-user.js';
import { readCalls, readJsonFile, readJsonOption } from '../load/read-json.js';
import {
  callLine,
  explanationLines,
  factsText,
  outcomeToJson,
  progressLine,
  statusText,
  valueText,
  planToJson,
  showPlan,
  type ShownPlan,
} from '../execute/show-calls.js';
import { withExecutor, type Execution } from '../execute/with-executor.js';
import { EXIT, exitCodeOf } from '../terminal/exit-codes.js';
import type { LoadedRegistry } from '../load/load-registry.js';
import {
  addExecutionOptions,
  callContextOf,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { plainJson, paint, type Dialog, type Terminal } from '../terminal/terminal.js';

/** Runs tools. */
export const RUN_COMMANDS: CommandFamily = {
  run: (command, { terminal, cwd, onTools }) =>
    onTools(
      addExecutionOptions(
        command
          .option(
            '--input <json>',
            'its arguments as JSON, @file, or - for standard input (default: {})',
          )
          .option('--full', 'with --json, also the bytes of images, audio and files, as base64'),
      ),
      [
        'run list_directory',
        `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`,
        'run git_commit --input @commit.json',
      ],
      (loaded, options, [name]) => run(terminal, loaded, name!, options, cwd),
      { exitsByResult: true },
    ),
  plan: (command, { terminal, cwd, onTools }) =>
    onTools(
      addExecutionOptions(command.option('--run', 'then run them')),
      ['plan calls.json', 'plan - --run --yes low < calls.json'],
      (loaded, options, [file]) => plan(terminal, loaded, file!, options, cwd),
    ),
};

/**
 * Runs one tool, asking where the policy asks, and prints what it answered.
 *
 * @throws ToolError `TOOL_NOT_FOUND`, or `INVALID_ARGUMENT` for input that is no JSON.
 */
export async function run(
  terminal: Dialog,
  { registry }: LoadedRegistry,
  name: string,
  options: CommandOptions,
  cwd: string,
): Promise<number> {
  const call = {
    id: 'call-0',
    name: registry.require(name).name,
    input: await readJsonOption((options['input'] as string | undefined) ?? '{}', terminal, cwd),
  };
  // Its grants would end with the process.
  return withExecutor(
    terminal,
    registry,
    { ...options, grants: false },
    (event) => progressLine(terminal, event),
    async ({ executor, signal, turns }) => {
      const outcome = await answerQuestion(
        terminal,
        turns,
        await executor.execute(call, { signal, ...callContextOf(options) }),
        signal,
      );
      const value = valueText(terminal, outcome);
      if (options.json === true)
        terminal.out(plainJson(outcomeToJson(outcome, { full: options['full'] === true }), 2));
      else if (value !== undefined) terminal.out(value);
      if (signal.aborted) {
        terminal.err(paint(terminal, 'yellow', 'interrupted'));
        return EXIT.interrupted;
      }
      for (const line of explanationLines(terminal, outcome)) terminal.err(line);
      if (outcome.status === 'error' && outcome.code === 'INVALID_INPUT')
        terminal.err(
          paint(terminal, 'dim', `tooldex show ${outcome.toolName} shows what it takes`),
        );
      terminal.err(
        `${statusText(terminal, outcome)} ${paint(terminal, 'dim', factsText(outcome))}`,
      );
      return exitCodeOf(outcome);
    },
  );
}

/** Lines of one answer on a terminal. */
const MOST_LINES = 20;

/**
 * Prints which calls of a list would run together, what the policy would say to each, and why some wait; runs them on demand.
 *
 * @throws ToolError `INVALID_ARGUMENT` for what is no list of calls.
 */
async function plan(
  terminal: Dialog,
  { registry }: LoadedRegistry,
  file: string,
  options: CommandOptions,
  cwd: string,
): Promise<number> {
  const calls = readCalls(await readJsonFile(file, terminal, cwd));
  const json = options.json === true;
  return withExecutor(
    terminal,
    registry,
    options,
    (event) => callLine(terminal, event),
    async (execution) => {
      const { executor, signal } = execution;
      const planned: ShownPlan = {
        calls,
        plan: await executor.plan(calls),
        dryRuns: await executor.dryRun(calls, callContextOf(options)),
      };
      if (!json) showPlan(terminal, planned);
      if (options['run'] !== true) {
        if (json) terminal.out(plainJson(planToJson(planned), 2));
        return EXIT.ok;
      }
      if (!json) terminal.out('');
      const outcomes = await outcomesOf(terminal, calls, execution, callContextOf(options));
      if (json)
        terminal.out(
          plainJson(
            { ...planToJson(planned), outcomes: outcomes.map((outcome) => outcomeToJson(outcome)) },
            2,
          ),
        );
      else
        for (const [position, outcome] of outcomes.entries())
          showOutcome(terminal, position, outcome);
      if (signal.aborted) terminal.err(paint(terminal, 'yellow', 'interrupted'));
      return signal.aborted ? EXIT.interrupted : Math.max(EXIT.ok, ...outcomes.map(exitCodeOf));
    },
  );
}

async function outcomesOf(
  terminal: Dialog,
  calls: readonly ToolCall[],
  { executor, signal, turns }: Execution,
  context: CallContext,
): Promise<readonly ToolOutcome[]> {
  const outcomes = await executor.executeAll(calls, { signal, ...context });
  return Promise.all(outcomes.map((outcome) => answerQuestion(terminal, turns, outcome, signal)));
}

function showOutcome(terminal: Terminal, position: number, outcome: ToolOutcome): void {
  terminal.out(
    `${paint(terminal, 'dim', String(position).padStart(4))}  ${paint(terminal, 'bold', outcome.toolName)}  ${statusText(terminal, outcome)}  ${paint(terminal, 'dim', factsText(outcome))}`,
  );
  const value = valueText(terminal, outcome);
  const lines = [
    ...explanationLines(terminal, outcome),
    ...(value === undefined ? [] : shortened(terminal, value)),
  ];
  for (const line of lines.flatMap((text) => text.split('\n'))) terminal.out(`      ${line}`);
}

function shortened(terminal: Terminal, text: string): readonly string[] {
  const lines = text.split('\n');
  if (terminal.columns === Infinity || lines.length <= MOST_LINES) return lines;
  return [
    ...lines.slice(0, MOST_LINES),
    paint(terminal, 'dim', `… ${lines.length - MOST_LINES} more lines; --json prints all`),
  ];
}
