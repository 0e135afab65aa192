import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives all tests and the processes that they start one temporary folder, which is removed with everything in it at the end. */
export function setup(): (() => void) | undefined {
  if (process.env['TOOLDEX_TEST_FOLDER'] !== undefined) return undefined; // The other project has made it.
  const folder = mkdtempSync(join(tmpdir(), 'tooldex-tests-'));
  for (const name of ['TOOLDEX_TEST_FOLDER', 'TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
