import { Priority, Stage, toolkit } from '../../src/index.js';
import { READING } from '../options/shared-options.js';
import { GitRepository } from './git-repository.js';

/** The defaults of all tools for git. */
@toolkit({
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'git',
  stages: [Stage.READING, Stage.ANALYSIS],
  taskTypes: ['analysis', 'search'],
  timeoutMs: 30_000,
})
export class GitTool {
  constructor(protected readonly repository: GitRepository = new GitRepository()) {}
}
