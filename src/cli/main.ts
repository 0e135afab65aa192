#!/usr/bin/env node
import { runCli } from './run-cli.js';
import { processTerminal } from './terminal.js';

runCli(process.argv.slice(2), processTerminal(process), process.cwd()).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 70; // Our own fault: EX_SOFTWARE of sysexits.h.
  },
);
