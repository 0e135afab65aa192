import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import type { ProgramResult } from '../walls/program-wall.js';
import { SHELL_TOOL, RUN_INPUT, ShellTool } from './shell-tool.js';

const Input = z.object({
  program: z.string().min(1).max(100).describe('The bare name of an allowed program, such as node'),
  arguments: z
    .array(z.string())
    .max(1_000)
    .default([])
    .describe("Arguments for the program, one per item; they aren't expanded or split"),
  input: z.string().max(1_000_000).optional().describe('Text for standard input'),
  ...RUN_INPUT,
});

/** Runs one allowed program with exactly the given arguments, without a shell. */
@tool({
  ...SHELL_TOOL,
  name: 'run_program',
  description:
    'Runs one program from an allow-list with a list of arguments and returns exit code and output. No shell: no pipes, variables, globs or redirections. When the time is up, stops the program and everything else in its process group.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  dangerLevel: 'high',
  sideEffects: ['system', 'filesystem'],
  keywords: ['run', 'program', 'execute', 'command', 'script', 'node', 'npm', 'build'],
  mandatoryKeywords: ['run the program'],
  stages: ['execution', 'verification'],
  examples: ['Run node scripts/build.js', 'Run npm run build', 'Execute the generator script'],
  progressParams: ['program', 'arguments', 'cwd', 'input'],
  preview: ({ program, arguments: argv, cwd }) => ({
    summary: `Runs in ${cwd}: ${[program, ...argv.map((each) => JSON.stringify(each))].join(' ')}`,
  }),
})
export class RunProgram extends ShellTool {
  async execute(
    { program, arguments: argv = [], cwd = '.', input, timeoutMs }: z.input<typeof Input>,
    { signal }: ToolContext,
  ): Promise<ProgramResult> {
    return this.programs.run(program, argv, { cwd, input, timeoutMs, signal });
  }
}
