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

/** Milliseconds a caller may ask for: a long build. */
const MAX_TIMEOUT_MS = 600_000;

const Input = z.object({
  program: z.string().min(1).max(100).describe('The bare name of an allowed program, such as node'),
  arguments: z
    .array(z.string())
    .max(1_000)
    .default([])
    .describe('Its arguments, one by one; nothing in them is expanded or split'),
  cwd: z.string().max(4_096).default('.').describe('The folder to run it in, relative to the root'),
  input: z.string().max(1_000_000).optional().describe('Text for its standard input'),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('Milliseconds after which it is stopped'),
});

/** Runs one allowed program with exactly the given arguments; no shell reads them. */
@tool({
  name: 'run_program',
  description:
    'Runs one program from an allow-list with a list of arguments and returns exit code and output. No shell: no pipes, variables, globs or redirections. Stops it when the time is up, with what it started in its process group.',
  inputSchema: Input,
  priority: Priority.MEDIUM,
  accessMode: AccessMode.EXECUTE,
  dangerLevel: DangerLevel.HIGH,
  executionCategory: ExecutionCategory.EXECUTE,
  costTier: CostTier.LOW,
  sideEffects: [SideEffect.SYSTEM, SideEffect.FILESYSTEM],
  reads: ['private', 'untrusted'],
  sends: 'outside',
  category: 'shell',
  keywords: ['run', 'program', 'execute', 'command', 'script', 'node', 'npm', 'build'],
  mandatoryKeywords: ['run the program'],
  stages: [Stage.EXECUTION, Stage.VERIFICATION],
  taskTypes: ['action'],
  examples: ['Run node scripts/build.js', 'Run npm run build', 'Execute the generator script'],
  progressParams: ['program', 'arguments', 'cwd', 'input'],
  timeoutMs: MAX_TIMEOUT_MS,
  allowParallel: false,
  canonicalInput: programInput,
  preview: ({ program, arguments: argv, cwd }) => ({
    summary: `Runs in ${cwd}: ${[program, ...argv.map((each) => JSON.stringify(each))].join(' ')}`,
  }),
  invalidates: ['files', 'git'],
  version: '1.0.0',
})
export class RunProgram {
  constructor(private readonly programs: ProgramWall = new ProgramWall()) {}

  async execute(
    { program, arguments: argv = [], cwd = '.', input, timeoutMs }: z.input<typeof Input>,
    { signal }: ToolContext,
  ): Promise<ProgramResult> {
    return this.programs.run(program, argv, { cwd, input, timeoutMs, signal });
  }
}
