import { EXECUTING } from '../options/shared-options.js';
import { z } from 'zod';
import { programInput, ProgramWall } from '../walls/program-wall.js';

/** Maximum timeout in milliseconds that a caller may request: enough for a long build. */
const MAX_TIMEOUT_MS = 600_000;

/** The inputs that are common to all tools that run programs. */
export const RUN_INPUT = {
  cwd: z.string().max(4_096).default('.').describe('The working directory, relative to the root'),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('Timeout in milliseconds'),
};

/** Defaults for all tools that run programs. */
export const SHELL_TOOL = {
  ...EXECUTING,
  category: 'shell',
  taskTypes: ['action'],
  timeoutMs: MAX_TIMEOUT_MS,
  canonicalInput: programInput,
  invalidates: ['files', 'git'],
} as const;

/** The base class of the tools that run programs, which confines these programs to one folder. */
export class ShellTool {
  constructor(protected readonly programs: ProgramWall = new ProgramWall()) {}
}
