import { Priority } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { GitRepository } from './git-repository.js';

/** Defaults of all git tools. */
export const GIT_TOOL = {
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'git',
  stages: ['reading', 'analysis'],
  taskTypes: ['analysis', 'search'],
  timeoutMs: 30_000,
} as const;

/** A tool confined to one folder. */
export class GitTool {
  constructor(protected readonly repository: GitRepository = new GitRepository()) {}
}
