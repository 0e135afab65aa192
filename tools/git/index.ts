import { ProgramWall } from '../walls/program-wall.js';
import { GitRepository } from './git-repository.js';
import { GitBlame } from './read/git-blame.js';
import { GitBranches } from './read/git-branches.js';
import { GitDiff } from './read/git-diff.js';
import { GitLog } from './read/git-log.js';
import { GitShow } from './read/git-show.js';
import { GitStatus } from './read/git-status.js';
import { GitCommit } from './write/git-commit.js';
import { GitPush } from './write/git-push.js';
import { GitSwitch } from './write/git-switch.js';

export { GitBlame, GitBranches, GitCommit, GitDiff, GitLog, GitPush, GitRepository, GitShow, GitStatus, GitSwitch };

/** The git tools for the repository at the root of a wall, reading ones first. */
export function createGitTools(programs: ProgramWall = new ProgramWall()): readonly object[] {
  const repository = new GitRepository(programs);
  return [
    ...[new GitStatus(repository), new GitDiff(repository), new GitLog(repository), new GitShow(repository), new GitBlame(repository), new GitBranches(repository)],
    ...[new GitSwitch(repository), new GitCommit(repository), new GitPush(repository)],
  ];
}
