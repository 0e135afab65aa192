import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { invalidArgument } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { checkHints, type CheckedHints } from '../search/tool-hints.js';

/** The file that hints are read from if no other file is given. */
export const HINTS_FILE = 'tooldex.hints.json';

/**
 * Reads hints from a file. Without a file, reads `tooldex.hints.json` if it exists.
 *
 * @throws ToolError `INVALID_ARGUMENT` if a given file doesn't exist, or the content isn't valid.
 */
export async function readHints(
  file: string | undefined,
  cwd: string = process.cwd(),
): Promise<CheckedHints> {
  const name = file ?? HINTS_FILE;
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), 'utf8');
  } catch (cause) {
    if (file === undefined && (cause as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw invalidArgument('a readable file of hints', name, 'Write it with tooldex enrich.');
  }
  const hints = parsed(text);
  if (!isPlainObject(hints))
    throw invalidArgument(
      `an object of hints by tool name in ${name}`,
      hints,
      'Correct the file, or delete it and run tooldex enrich.',
    );
  return checkHints(hints, `hints in ${name}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch {
    return text;
  }
}
