import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
  Stage,
  tool,
  type ToolContext,
} from '../../src/index.js';
import { programInput, ProgramWall, type ProgramResult } from '../walls/program-wall.js';

/** Characters of a command line that a person can still read before saying yes. */
const MAX_COMMAND_LENGTH = 8_192;
/** Milliseconds a caller may ask for: a long build. */
const MAX_TIMEOUT_MS = 600_000;

const Input = z.object({
  command: z
    .string()
    .min(1)
    .max(MAX_COMMAND_LENGTH)
    .describe('The command line, as for /bin/sh -c'),
  cwd: z.string().max(4_096).default('.').describe('The folder to run it in, relative to the root'),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('Milliseconds after which it is stopped'),
});

/** Runs a shell command line, which can do everything the user can; so a person is asked every time. */
@tool({
  name: 'run_shell',
  description:
    'Runs a command line through the shell (pipes, variables, redirections) and returns exit code and output. Background processes are stopped when it ends, unless they start a session of their own. Prefer run_program and the specific tools.',
  inputSchema: Input,
  priority: Priority.LOW,
  accessMode: AccessMode.EXECUTE,
  dangerLevel: DangerLevel.CRITICAL,
  executionCategory: ExecutionCategory.EXECUTE,
  costTier: CostTier.LOW,
  sideEffects: [SideEffect.SYSTEM, SideEffect.FILESYSTEM, SideEffect.NETWORK],
  reads: ['private', 'untrusted'],
  sends: 'outside',
  category: 'shell',
  keywords: ['shell', 'bash', 'terminal', 'command line', 'pipe', 'script', 'sh'],
  mandatoryKeywords: ['shell command', 'in the terminal', 'bash command'],
  stages: [Stage.EXECUTION],
  taskTypes: ['action'],
  examples: [
    'Run this in the terminal: ls -la | wc -l',
    'Execute the shell command make && make install',
    'Use bash to count the lines',
  ],
  progressParams: ['command', 'cwd'],
  timeoutMs: MAX_TIMEOUT_MS,
  allowParallel: false,
  requiresConsent: true,
  canonicalInput: programInput,
  preview: ({ command, cwd }) => ({ summary: `Runs in ${cwd}: sh -c ${JSON.stringify(command)}` }),
  invalidates: ['files', 'git'],
  version: '1.0.0',
})
export class RunShell {
  private readonly programs: ProgramWall;

  constructor(programs: ProgramWall = new ProgramWall()) {
    this.programs = programs.withPrograms(['sh']);
  }

  async execute(
    { command, cwd = '.', timeoutMs }: z.input<typeof Input>,
    { signal }: ToolContext,
  ): Promise<ProgramResult> {
    // `--` keeps a command that starts with a hyphen from being read as an option of the shell.
    return this.programs.run('sh', ['-c', '--', command], { cwd, timeoutMs, signal });
  }
}
