import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives all tests and the processes that they start a common temporary folder, which is removed at the
 * end.
 */
export function setup(): (() => void) | undefined {
  if (process.env['TOOLDEX_TEST_FOLDER'] !== undefined) return undefined; // The other vitest project has created the folder.
  const folder = mkdtempSync(join(tmpdir(), 'tooldex-tests-'));
  for (const name of ['TOOLDEX_TEST_FOLDER', 'TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
