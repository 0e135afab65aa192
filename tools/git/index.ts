import { ProgramWall } from '../walls/program-wall.js';
import { GitRepository } from './git-repository.js';
import { GitBlame } from './git-blame.js';
import { GitBranches } from './git-branches.js';
import { GitDiff } from './git-diff.js';
import { GitLog } from './git-log.js';
import { GitShow } from './git-show.js';
import { GitStatus } from './git-status.js';
import { GitCommit } from './git-commit.js';
import { GitPush } from './git-push.js';
import { GitSwitch } from './git-switch.js';

export {
  GitBlame,
  GitBranches,
  GitCommit,
  GitDiff,
  GitLog,
  GitPush,
  GitRepository,
  GitShow,
  GitStatus,
  GitSwitch,
};

/** Creates the git tools for the repository at the root of a wall, readonly tools first. */
export function createGitTools(programs: ProgramWall = new ProgramWall()): readonly object[] {
  const repository = new GitRepository(programs);
  return [
    ...[
      new GitStatus(repository),
      new GitDiff(repository),
      new GitLog(repository),
      new GitShow(repository),
      new GitBlame(repository),
      new GitBranches(repository),
    ],
    ...[new GitSwitch(repository), new GitCommit(repository), new GitPush(repository)],
  ];
}
