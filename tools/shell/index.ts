import { ProgramWall } from '../walls/program-wall.js';
import { RunProgram } from './run-program.js';
import { RunShell } from './run-shell.js';

export { RunProgram, RunShell };

/** Creates the tools that run programs within a wall. */
export function createShellTools(programs: ProgramWall = new ProgramWall()): readonly object[] {
  return [new RunProgram(programs), new RunShell(programs)];
}
