import { FileWall } from '../walls/file-wall.js';
import { ProgramWall } from '../walls/program-wall.js';
import { ListTests } from './list-tests.js';
import { RunTests } from './run-tests.js';

export { ListTests, RunTests };

/** Creates the tools for a project's tests. They need one wall for programs and one for files. */
export function createTestingTools(
  programs: ProgramWall = new ProgramWall(),
  files: FileWall = new FileWall(programs.root),
): readonly object[] {
  return [new ListTests(files), new RunTests(programs, files)];
}
