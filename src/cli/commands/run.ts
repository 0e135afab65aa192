import { randomUUID } from 'node:crypto';
import { command, print } from '../command/command.js';
import { answerQuestion } from '../execute/ask-user.js';
import {
  explanationLines,
  outcomeToJson,
  planWithoutRunning,
  planLines,
  planToJson,
  statusLine,
  valueText,
} from '../execute/show-calls.js';
import { withExecutor } from '../execute/with-executor.js';
import { withTools } from '../load/load-registry.js';
import { callsInJson, readJsonFile, readJsonOption } from '../load/read-json.js';
import { flag, RUN_OPTIONS, textOption } from '../command/options.js';
import { EXIT, EXIT_HELP, exitCodeOf } from '../terminal/exit-codes.js';
import type { ToolOutcome } from '../../safety/calls.js';
import { paint, plainJson, type Terminal } from '../terminal/terminal.js';

function interrupted(terminal: Terminal): number {
  terminal.err(paint('yellow', 'interrupted'));
  return EXIT.interrupted;
}

export const commands = {
  run: command({
    options: {
      input: textOption(
        '<json>',
        "the tool's arguments as JSON, @file, or - for standard input (default: {})",
      ),
      ...RUN_OPTIONS,
    },
    examples: [
      'run list_directory',
      `run write_file --input '{"path": "a.txt", "content": "Hello"}' --yes`,
      'run git_commit --input @commit.json',
    ],
    notes: EXIT_HELP,
    advice: `Pass the tool's arguments as JSON: --input '{"name": "value"}'.`,
    run: (context) =>
      withTools(context, {}, async ({ registry }) => {
        const { terminal, cwd, options, words } = context;
        const { name } = registry.require(words[0]!);
        const input = await readJsonOption(options.input ?? '{}', terminal, cwd);
        return withExecutor(context, registry, true, async ({ executor, signal, call }) => {
          const answered = await executor.execute(
            { id: 'call-0', name, input },
            { conversationId: randomUUID(), ...call, signal },
          );
          const outcome = await answerQuestion(terminal, answered, signal);
          const value = options.json
            ? plainJson(outcomeToJson(outcome), 2)
            : valueText(terminal, outcome);
          // Prints the result unchanged, because a program may want its colors.
          if (value !== undefined) terminal.write(`${value}\n`);
          if (signal.aborted) return interrupted(terminal);
          for (const line of explanationLines(terminal, outcome)) terminal.err(line);
          terminal.err(statusLine(outcome));
          return exitCodeOf(outcome);
        });
      }),
  }),

  plan: command({
    options: { run: flag('also run the calls'), ...RUN_OPTIONS },
    examples: ['plan calls.json', 'plan - --run --yes low < calls.json'],
    notes: EXIT_HELP,
    run: (context) =>
      withTools(context, {}, async ({ registry }) => {
        const { terminal, cwd, options, words } = context;
        const calls = callsInJson(await readJsonFile(words[0]!, terminal, cwd));
        return withExecutor(context, registry, true, async ({ executor, signal, call }) => {
          const planned = await planWithoutRunning(executor, calls, call);
          const outcomes: ToolOutcome[] = [];
          if (options.run) {
            if (!options.json) for (const line of planLines(terminal, planned)) terminal.out(line);
            for (const outcome of await executor.executeAll(calls, { ...call, signal }))
              outcomes.push(await answerQuestion(terminal, outcome, signal));
          }
          const ran = options.run && { outcomes: outcomes.map((each) => outcomeToJson(each)) };
          print(context, { ...planToJson(planned), ...ran }, () =>
            options.run
              ? outcomes.flatMap((each, at) => outcomeLines(terminal, at, each))
              : planLines(terminal, planned),
          );
          if (signal.aborted) return interrupted(terminal);
          return Math.max(EXIT.ok, ...outcomes.map(exitCodeOf));
        });
      }),
  }),
};

function outcomeLines(
  terminal: Terminal,
  position: number,
  outcome: ToolOutcome,
): readonly string[] {
  return [
    `\n${position}  ${paint('bold', outcome.toolName)}  ${statusLine(outcome)}`,
    ...explanationLines(terminal, outcome),
    valueText(terminal, outcome) ?? '',
  ].filter((each) => each !== '');
}
