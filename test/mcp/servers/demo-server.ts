import { appendFileSync, readFileSync } from 'node:fs';
import type { Tool } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { demoServer } from './demo-tools.js';

/**
 * A server for both protocol versions. It reads its listing from a file for each request, and writes a
 * log to another file. Arguments: <listing file> <log file> [legacy].
 */
const [listing = '', log = '', legacy] = process.argv.slice(2);
const note = (line: string) => appendFileSync(log, `${line}\n`);

note(`started ${process.pid}`);
process.on('exit', () => note(`ended ${process.pid}`));
// If the parent process forgets this process, it exits after two minutes.
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
