import { Priority } from '../../src/index.js';
import { READING, WRITING } from '../options/shared-options.js';
import { pathInput } from '../walls/file-keys.js';
import { GitRepository, type OnRepository, repositoryInput } from './git-repository.js';
import { z } from 'zod';

/** Defaults for all git tools. */
export const GIT_TOOL = {
  ...READING,
  priority: Priority.MEDIUM,
  reads: ['private', 'untrusted'],
  category: 'git',
  stages: ['reading', 'analysis'],
  taskTypes: ['analysis', 'search'],
  timeoutMs: 30_000,
  canonicalInput: repositoryInput,
} as const;

/** Defaults for git tools that change the repository. */
export const CHANGING_GIT = {
  ...GIT_TOOL,
  ...WRITING,
  taskTypes: ['action'],
  allowParallel: false,
  invalidates: ['git'],
} as const;

/** Returns the schema for a list of paths in the repository. */
export function pathsInput(most = 100) {
  return z.array(pathInput()).max(most).default([]);
}

/** Returns the keys for a tool that reads committed files. */
export function readsCommits(this: OnRepository, { paths }: { readonly paths: readonly string[] }) {
  return { reads: this.repository.keysBelow(paths, 'git') };
}

/** The base class of the git tools, which confines these tools to one folder. */
export class GitTool {
  constructor(protected readonly repository: GitRepository = new GitRepository()) {}
}
