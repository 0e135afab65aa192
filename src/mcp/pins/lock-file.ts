import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { ToolError } from '../../core/errors.js';
import { canonicalJson, isPlainObject } from '../../core/plain-data.js';
import { shownPath } from '../../host/shown-path.js';
import { pinKeyOf, pinOf, type PinTable } from './pin.js';

/** Version of the file format. */
const VERSION = 1;
const ALGORITHM = 'sha256:';
/**
 * Reads a lock file's text, or returns `undefined` if the file doesn't exist.
 * @throws ToolError `INVALID_ARGUMENT` if the file can't be read.
 */
export async function readLockFile(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code = 'an error' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw refusedLock(shownPath(file), `it can't be read (${code})`, error);
  }
}

/**
 * Writes a lock file and returns its text. It writes another file and renames that, so readers
 * never see half a file.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the file can't be written.
 */
export async function writeLockFile(file: string, pins: PinTable): Promise<string> {
  const text = lockTextOf(pins);
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: 'wx', flush: true });
    await rename(temporary, file);
    return text;
  } catch (error) {
    await rm(temporary, { force: true });
    const { code = 'an error' } = error as NodeJS.ErrnoException;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Could not write ${shownPath(file)} (${code}). Choose a writable folder.`,
      { cause: error },
    );
  }
}

/**
 * Returns the text for a lock file: indented JSON, sorted by server and tool, with sorted keys.
 * Equal pins produce identical bytes, no matter in which order they were approved.
 */
function lockTextOf(pins: PinTable): string {
  const servers: Record<string, Record<string, unknown>> = Object.create(null) as never;
  for (const { server, tool, digest, definition } of pins.values()) {
    servers[server] ??= Object.create(null) as Record<string, unknown>;
    servers[server][tool] = { definition, digest: ALGORITHM + digest };
  }
  const sorted: unknown = JSON.parse(canonicalJson({ servers, version: VERSION }));
  return `${JSON.stringify(sorted, null, 2)}\n`;
}

/**
 * Reads the pins from a lock file's text. It reads only the definitions, and serializing them must
 * produce the same text again, except for white space. This check refuses truncated texts,
 * duplicate keys (from a bad merge) and wrong digests.
 *
 * @param name The file's name in messages.
 * @throws ToolError `INVALID_ARGUMENT` for any other text.
 */
export function readLockText(text: string, name: string): PinTable {
  const pins: PinTable = new Map();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.trimStart()); // `trimStart` also removes a byte order mark.
  } catch (error) {
    throw refusedLock(name, "it isn't JSON", error);
  }
  for (const [server, tools] of entriesOf(isPlainObject(parsed) ? parsed['servers'] : undefined))
    for (const [tool, entry] of entriesOf(tools)) {
      const pinnable = pinOf(server, isPlainObject(entry) ? entry['definition'] : undefined);
      if (pinnable.ok) pins.set(pinKeyOf(server, tool), pinnable.pin);
    }
  const packed = (json: string) => json.replace(/\s+/g, '');
  if (packed(lockTextOf(pins)) !== packed(text))
    throw refusedLock(name, 'it was edited by hand, merged badly or written by another version');
  return pins;
}

const entriesOf = (value: unknown) => (isPlainObject(value) ? Object.entries(value) : []);

function refusedLock(name: string, reason: string, cause?: unknown): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `The lock file ${name} can't be used: ${reason}. Restore it from version control, or delete it and approve again: tooldex mcp pins approve --all.`,
    { cause },
  );
}
