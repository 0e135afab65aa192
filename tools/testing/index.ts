import { FileWall } from '../walls/file-wall.js';
import { ProgramWall } from '../walls/program-wall.js';
import { ListTests } from './list-tests.js';
import { RunTests } from './run-tests.js';

export { ListTests, RunTests };

/** The tools for the tests of the project at the root of two walls, for programs and for files. */
export function createTestingTools(
  programs: ProgramWall = new ProgramWall(),
  files: FileWall = new FileWall(programs.root),
): readonly object[] {
  return [new ListTests(files), new RunTests(programs, files)];
}
