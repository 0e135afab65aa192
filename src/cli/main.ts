#!/usr/bin/env node
import { EXIT } from './terminal/exit-codes.js';
import { reportError, runCli } from './run-cli.js';
import { ProcessTerminal } from './terminal/terminal.js';

const args = process.argv.slice(2);
const terminal = new ProcessTerminal();
// Hides secrets on the command line, because other users can list processes.
if (args.some((each) => /^--(?:token|redis)(?:=|$)/.test(each))) process.title = 'tooldex';
let importing: string | undefined;
let finished = false;

// The user's files run in this process.
// These files may end the process, or wait for a promise that never resolves.
process.exitCode = EXIT.findings;
process.on('exit', () => {
  if (finished) return;
  process.exitCode = EXIT.findings;
  const when =
    importing === undefined ? 'after the files were imported' : `while importing ${importing}`;
  reportError(
    terminal,
    args,
    'EXECUTION_FAILED',
    `The process ended before the command finished, ${when}. Look for process.exit there, or for an error above.`,
  );
});

void runCli(args, terminal, process.cwd(), { onImport: (file) => (importing = file) })
  .catch((error: unknown) => {
    console.error(error);
    reportError(terminal, args, 'INTERNAL', 'This is a bug in tooldex. Please report it.');
    return 70; // The value of EX_SOFTWARE in sysexits.h.
  })
  .then(async (exitCode) => {
    await terminal.flush();
    finished = true;
    // A timer or connection opened by the user's files would keep the process alive.
    process.exit(exitCode);
  });
