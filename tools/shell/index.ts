export { RunProgram } from './run-program.js';
export { RunShell } from './run-shell.js';
