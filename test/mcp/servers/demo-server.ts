import { appendFileSync, readFileSync } from 'node:fs';
import type { Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { demoServer } from './demo-tools.js';

/**
 * A server of both protocols whose listing is a file, read at every question; `log` in its arguments is where it writes
 * what happens to it. Arguments: <listing file> <log file> [legacy].
 */
const [listing = '', log = '', legacy] = process.argv.slice(2);
const note = (line: string) => appendFileSync(log, `${line}\n`);

note(`started ${process.pid}`);
process.on('exit', () => note(`ended ${process.pid}`));
// A child that the parent forgets ends by itself.
setTimeout(() => process.exit(9), 120_000).unref();

serveStdio(
  () =>
    demoServer({
      tools: () => JSON.parse(readFileSync(listing, 'utf8')) as Tool[],
      note,
      pid: process.pid,
      env: process.env,
      exit: () => process.exit(3),
    }),
  legacy === undefined ? {} : { legacy: 'serve' },
);
