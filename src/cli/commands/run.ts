import { command, print } from '../command/command.js';
import { answerQuestion } from '../execute/ask-user.js';
import {
  callLine,
  explanationLines,
  outcomeToJson,
  planCalls,
  planLines,
  planToJson,
  progressLine,
  statusLine,
  valueText,
} from '../execute/show-calls.js';
import { withExecutor } from '../execute/with-executor.js';
import { withTools } from '../load/load-registry.js';
import { readCalls, readJsonFile, readJsonOption } from '../load/read-json.js';
import { flag, RUN_OPTIONS, text } from '../command/options.js';
import { EXIT, EXIT_HELP, exitCodeOf } from '../terminal/exit-codes.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { paint, type Terminal } from '../terminal/terminal.js';

export const run = command({
  options: {
    input: text(
      '<json>',
      "the tool's arguments as JSON, @file, or - for standard input (default: {})",
    ),
    ...RUN_OPTIONS,
    full: flag('also print the bytes of images, audio and files, as base64', { needs: ['json'] }),
  },
  examples: [
    'run list_directory',
    `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`,
    'run git_commit --input @commit.json',
  ],
  notes: EXIT_HELP,
  advice: `Pass the tool's arguments as JSON: --input '{"name": "value"}'.`,
  run: (context) =>
    withTools(context, { exitsByResult: true }, async ({ registry }) => {
      const { terminal, cwd, options, words } = context;
      const { name } = registry.require(words[0]!);
      const input = await readJsonOption(options.input ?? '{}', terminal, cwd);
      const how = { line: progressLine.bind(undefined, terminal) };
      return withExecutor(context, registry, how, async ({ executor, signal, call }) => {
        const answered = await executor.execute({ id: 'call-0', name, input }, { ...call, signal });
        const outcome = await answerQuestion(terminal, answered, signal);
        const value = valueText(terminal, outcome);
        print(context, outcomeToJson(outcome, options.full), () =>
          value === undefined ? [] : [value],
        );
        if (signal.aborted) return interrupted(terminal);
        for (const line of explanationLines(terminal, outcome)) terminal.err(line);
        if (outcome.status === 'error' && outcome.code === 'INVALID_INPUT')
          terminal.err(paint(terminal, 'dim', `tooldex show ${name} shows its input schema`));
        terminal.err(statusLine(terminal, outcome));
        return exitCodeOf(outcome);
      });
    }),
});

export const plan = command({
  options: { run: flag('also run the calls'), ...RUN_OPTIONS },
  examples: ['plan calls.json', 'plan - --run --yes low < calls.json'],
  notes: EXIT_HELP,
  run: (context) =>
    withTools(context, {}, async ({ registry }) => {
      const { terminal, cwd, options, words } = context;
      const calls = readCalls(await readJsonFile(words[0]!, terminal, cwd));
      const how = { line: callLine.bind(undefined, terminal) };
      return withExecutor(context, registry, how, async ({ executor, signal, call }) => {
        const planned = await planCalls(executor, calls, call);
        if (!options.run) {
          print(context, planToJson(planned), () => planLines(terminal, planned));
          return EXIT.ok;
        }
        if (!options.json) for (const line of planLines(terminal, planned)) terminal.out(line);
        const outcomes: ToolOutcome[] = [];
        for (const outcome of await executor.executeAll(calls, { ...call, signal }))
          outcomes.push(await answerQuestion(terminal, outcome, signal));
        const data = {
          ...planToJson(planned),
          outcomes: outcomes.map((each) => outcomeToJson(each)),
        };
        print(context, data, () =>
          outcomes.flatMap((each, at) => outcomeLines(terminal, at, each)),
        );
        if (signal.aborted) return interrupted(terminal);
        return Math.max(EXIT.ok, ...outcomes.map(exitCodeOf));
      });
    }),
});

function interrupted(terminal: Terminal): number {
  terminal.err(paint(terminal, 'yellow', 'interrupted'));
  return EXIT.interrupted;
}

/** The maximum number of lines of a result on a terminal. */
const MOST_LINES = 20;

function outcomeLines(
  terminal: Terminal,
  position: number,
  outcome: ToolOutcome,
): readonly string[] {
  const head = paint(terminal, 'dim', String(position).padStart(4));
  const value = valueText(terminal, outcome)?.split('\n') ?? [];
  const more = terminal.columns === Infinity ? 0 : value.length - MOST_LINES;
  const note = paint(terminal, 'dim', `… ${more} more lines; --json prints everything`);
  const lines = [
    ...explanationLines(terminal, outcome).flatMap((text) => text.split('\n')),
    ...(more > 0 ? [...value.slice(0, MOST_LINES), note] : value),
  ];
  return [
    `${position === 0 ? '\n' : ''}${head}  ${paint(terminal, 'bold', outcome.toolName)}  ${statusLine(terminal, outcome)}`,
    ...lines.map((line) => `      ${line}`),
  ];
}
