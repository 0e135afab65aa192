#!/usr/bin/env node
import { EXIT } from './terminal/exit-codes.js';
import { reportError, runCli } from './run-cli.js';
import { processTerminal } from './terminal/terminal.js';

const args = process.argv.slice(2);
const terminal = processTerminal(process);
// Other users see the list of processes.
if (args.some((each) => /^--(?:token|redis)(?:=|$)/.test(each))) process.title = 'tooldex';
let importing: string | undefined;
let finished = false;

// The user's files run in this process and may end it, or leave it nothing to wait for.
process.exitCode = EXIT.findings;
process.on('exit', () => {
  if (finished) return;
  process.exitCode = EXIT.findings;
  const place =
    importing === undefined ? 'after the files were imported' : `while ${importing} was imported`;
  reportError(
    terminal,
    args,
    'EXECUTION_FAILED',
    `Expected the command to finish, got the end of the process ${place}. Look there for process.exit, or for the error above.`,
  );
});

void runCli(args, terminal, process.cwd(), { onImport: (file) => (importing = file) })
  .catch((error: unknown) => {
    console.error(error);
    reportError(terminal, args, 'INTERNAL', 'Expected a result, got a fault of tooldex itself.');
    return 70; // EX_SOFTWARE of sysexits.h.
  })
  .then(async (exitCode) => {
    await terminal.flush();
    finished = true;
    // A timer or a connection of the user's files would keep the process for ever.
    process.exit(exitCode);
  });
