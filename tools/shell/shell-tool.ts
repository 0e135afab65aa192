import { EXECUTING } from '../options/shared-options.js';
import { z } from 'zod';
import { programInput, ProgramWall } from '../walls/program-wall.js';

/** Maximum milliseconds a caller may ask for, enough for a long build. */
const MAX_TIMEOUT_MS = 600_000;

/** Inputs of all tools that run programs. */
export const RUN_INPUT = {
  cwd: z.string().max(4_096).default('.').describe('The folder to run it in, relative to the root'),
  timeoutMs: z
    .number()
    .int()
    .min(1)
    .max(MAX_TIMEOUT_MS)
    .optional()
    .describe('Milliseconds after which it is stopped'),
};

/** Defaults of all tools that run programs. */
export const SHELL_TOOL = {
  ...EXECUTING,
  category: 'shell',
  taskTypes: ['action'],
  timeoutMs: MAX_TIMEOUT_MS,
  canonicalInput: programInput,
  invalidates: ['files', 'git'],
} as const;

/** A tool confined to one folder. */
export class ShellTool {
  constructor(protected readonly programs: ProgramWall = new ProgramWall()) {}
}
