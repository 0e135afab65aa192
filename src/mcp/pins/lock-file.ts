import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { shownPath } from '../../capability/manifest/manifest-files.js';
import { parseJsonText, pointerOf, type Path } from '../../capability/manifest/json-text.js';
import { ToolError, type Issue } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import { keyOf, pinOf, sortedPins, type PinTable } from './pin.js';

/** Rises when the shape of the file changes. */
const VERSION = 1;
const ALGORITHM = 'sha256:';
/** Bytes of a lock file: 16 MiB. */
const MAX_LOCK_LENGTH = 16 * 2 ** 20;
/** Faults that a message names: a bad merge makes one for every line. */
const MOST_FAULTS = 10;

/**
 * Reads the pins of a lock file; `undefined` where there is no file.
 *
 * @throws ToolError `INVALID_ARGUMENT` for a file that cannot be read or is refused.
 */
export async function readLockFile(file: string): Promise<PinTable | undefined> {
  const name = shownPath(file);
  const text = await textOf(file, name);
  return text === undefined ? undefined : readLockText(text, name);
}

/**
 * Changes a lock file; a missing one begins empty. It is written beside the old one and renamed, so readers see the old
 * file or the new one. A file that would not change is not touched.
 *
 * @returns the pins as they are now in the file.
 * @throws ToolError `INVALID_ARGUMENT` for a file that is refused or cannot be written, `LIMIT_EXCEEDED`.
 */
export async function changeLockFile(
  file: string,
  change: (pins: PinTable) => void,
): Promise<PinTable> {
  const name = shownPath(file);
  const before = await textOf(file, name);
  const pins = before === undefined ? noPins() : readLockText(before, name);
  change(pins);
  const after = lockTextOf(pins);
  if (after.length > MAX_LOCK_LENGTH)
    throw new ToolError(
      'LIMIT_EXCEEDED',
      `The pins in ${name} would take more than ${MAX_LOCK_LENGTH} characters. Pin fewer tools.`,
    );
  if (after === before) return pins;
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, after, { flag: 'wx', flush: true });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    const { code = 'an error' } = error as NodeJS.ErrnoException;
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(`${name} in a folder that can be written`, code),
      { cause: error },
    );
  }
  return pins;
}

const noPins = (): PinTable => new Map();

async function textOf(file: string, name: string): Promise<string | undefined> {
  try {
    const { size } = await stat(file).then((stats) =>
      stats.isFile()
        ? stats
        : Promise.reject(refusedLock(name, [expectedGot('a file', 'a folder or a device')])),
    );
    if (size > MAX_LOCK_LENGTH)
      throw refusedLock(name, [expectedGot(`at most ${MAX_LOCK_LENGTH} bytes`, String(size))]);
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ToolError) throw error;
    if (code === 'ENOENT') return undefined;
    const reason =
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? expectedGot('UTF-8 text', 'other bytes')
        : expectedGot('a file that can be read', code ?? 'an error');
    throw refusedLock(name, [reason], error);
  }
}

/**
 * Returns the text of a lock file: JSON, indented, with the pins in order of server and tool and the keys of each sorted.
 * Equal pins give equal bytes, in whatever order they were approved.
 */
export function lockTextOf(pins: PinTable): string {
  const servers: Record<string, Record<string, unknown>> = Object.create(null) as never;
  for (const { server, tool, digest, definition } of sortedPins(pins)) {
    servers[server] ??= Object.create(null) as Record<string, unknown>;
    servers[server][tool] = { definition: sorted(definition), digest: ALGORITHM + digest };
  }
  return `${JSON.stringify({ servers, version: VERSION }, null, 2)}\n`;
}

/** Returns plain data with the keys of all objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlainObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
}

/**
 * Reads the pins of a lock file's text.
 *
 * A text is refused as a whole: one that is cut off, has a key twice (after a bad merge, say), or was edited so that a
 * definition and its digest no longer fit. How it is indented does not matter.
 *
 * @param name how messages call the file.
 * @throws ToolError `INVALID_ARGUMENT` with what is wrong.
 */
export function readLockText(text: string, name: string): PinTable {
  const faults: Issue[] = [];
  const pins: PinTable = new Map();
  if (text.length > MAX_LOCK_LENGTH)
    throw refusedLock(name, [
      expectedGot(`at most ${MAX_LOCK_LENGTH} characters`, String(text.length)),
    ]);
  const parsed = parseJsonText(text);
  if (!parsed.ok) throw refusedLock(name, [`line ${parsed.fault.line}: ${parsed.fault.message}`]);
  const say = (path: Path, message: string) => void faults.push({ path, message });
  // A key that stands there twice is read as its last value, and reviewed as its first.
  for (const { path, message } of parsed.text.findings())
    say(path, message.replace('; only the last value counts', ''));
  readRoot(parsed.value, pins, say);
  if (faults.length === 0) return pins;
  const lines = faults
    .slice(0, MOST_FAULTS)
    .map(
      ({ path, message }) =>
        `line ${parsed.text.positionAt(path).line}${path.length === 0 ? '' : `, ${pointerOf(path)}`}: ${message}`,
    );
  throw refusedLock(
    name,
    faults.length > MOST_FAULTS ? [...lines, `and ${faults.length - MOST_FAULTS} more`] : lines,
  );
}

type Say = (path: Path, message: string) => void;

function readRoot(value: unknown, pins: PinTable, say: Say): void {
  if (!isPlainObject(value))
    return say([], expectedGot('an object with "version" and "servers"', describeValue(value)));
  const { version, servers, ...rest } = value;
  if (version !== VERSION)
    return say(
      ['version'],
      expectedGot(
        String(VERSION),
        describeValue(version),
        'It was written by another version of tooldex.',
      ),
    );
  for (const key of Object.keys(rest))
    say([key], expectedGot('only "version" and "servers"', 'another key'));
  if (!isPlainObject(servers))
    return say(['servers'], expectedGot('servers by name', describeValue(servers)));
  for (const [server, tools] of Object.entries(servers)) {
    if (!isPlainObject(tools))
      say(['servers', server], expectedGot('tools by name', describeValue(tools)));
    else for (const [tool, entry] of Object.entries(tools)) readPin(pins, server, tool, entry, say);
  }
}

function readPin(pins: PinTable, server: string, tool: string, entry: unknown, say: Say): void {
  const path = ['servers', server, tool];
  if (!isPlainObject(entry) || Object.keys(entry).sort().join() !== 'definition,digest')
    return say(path, expectedGot('an object of "definition" and "digest"', describeValue(entry)));
  const pinnable = pinOf(server, entry['definition']);
  if (!pinnable.ok) return say([...path, 'definition'], pinnable.reason);
  if (pinnable.tool !== tool)
    return say(
      [...path, 'definition', 'name'],
      expectedGot(describeValue(tool), describeValue(pinnable.tool)),
    );
  if (entry['digest'] !== ALGORITHM + pinnable.pin.digest)
    return say(
      [...path, 'digest'],
      expectedGot('the digest of the definition', 'another', 'The file was edited by hand.'),
    );
  pins.set(keyOf(server, tool), pinnable.pin);
}

function refusedLock(name: string, reasons: readonly string[], cause?: unknown): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `The lock file ${name} is refused:\n  ${reasons.join('\n  ')}\nTake it back from version control, or delete it and approve again: tooldex mcp pins approve --all.`,
    { ...(cause === undefined ? {} : { cause }) },
  );
}
