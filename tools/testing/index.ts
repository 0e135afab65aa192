import { ProgramWall } from '../walls/program-wall.js';
import { ListTests } from './list-tests.js';
import { RunTests } from './run-tests.js';

export { ListTests, RunTests };

/** The tools for the tests of the project at the root of a wall. */
export function createTestingTools(programs: ProgramWall = new ProgramWall()): readonly object[] {
  return [new ListTests(programs.root), new RunTests(programs)];
}
