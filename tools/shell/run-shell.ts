import { z } from 'zod';
import { Priority, tool, type ToolContext } from '../../src/index.js';
import { ProgramWall, type ProgramResult } from '../walls/program-wall.js';
import { SHELL_TOOL, RUN_INPUT, ShellTool } from './shell-tool.js';

/** Maximum length of a command line in characters. A person has to read it before approving it. */
const MAX_COMMAND_LENGTH = 8_192;

const Input = z.object({
  command: z
    .string()
    .min(1)
    .max(MAX_COMMAND_LENGTH)
    .describe('The command line, as for /bin/sh -c'),
  ...RUN_INPUT,
});

/**
 * Runs a shell command line. A command can do anything that the user can do, so every call needs
 * approval.
 */
@tool({
  ...SHELL_TOOL,
  name: 'run_shell',
  description:
    'Runs a command line through the shell (pipes, variables, redirections) and returns exit code and output. When it ends, its background processes are stopped, unless they started their own session. Prefer run_program and the specific tools.',
  inputSchema: Input,
  priority: Priority.LOW,
  dangerLevel: 'critical',
  sideEffects: ['system', 'filesystem', 'network'],
  keywords: ['shell', 'bash', 'terminal', 'command line', 'pipe', 'script', 'sh'],
  mandatoryKeywords: ['shell command', 'in the terminal', 'bash command'],
  stages: ['execution'],
  examples: [
    'Run this in the terminal: ls -la | wc -l',
    'Execute the shell command make && make install',
    'Use bash to count the lines',
  ],
  progressParams: ['command', 'cwd'],
  requiresConsent: true,
  preview: ({ command, cwd }) => ({ summary: `Runs in ${cwd}: sh -c ${JSON.stringify(command)}` }),
})
export class RunShell extends ShellTool {
  constructor(programs: ProgramWall = new ProgramWall()) {
    super(programs.withPrograms(['sh']));
  }

  async execute(
    { command, cwd = '.', timeoutMs }: z.input<typeof Input>,
    { signal }: ToolContext,
  ): Promise<ProgramResult> {
    // `--` keeps the shell from reading a command that starts with a hyphen as an option.
    return this.programs.run('sh', ['-c', '--', command], { cwd, timeoutMs, signal });
  }
}
