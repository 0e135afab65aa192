import { Priority, Stage } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { GitRepository } from './git-repository.js';

/** The defaults of all tools for git. */
export const GIT_TOOL = {
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'git',
  stages: [Stage.READING, Stage.ANALYSIS],
  taskTypes: ['analysis', 'search'],
  timeoutMs: 30_000,
} as const;

/** A tool behind the wall of its folder. */
export class GitTool {
  constructor(protected readonly repository: GitRepository = new GitRepository()) {}
}
