import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Returns a new folder with these files, given as text or as data for JSON. It's removed after all
 * tests.
 */
export function folderWith(files: Readonly<Record<string, unknown>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-')));
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
    writeFileSync(join(folder, file), text);
  }
  return folder;
}
