import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { shownPath } from '../../capability/manifest/manifest-files.js';
import { parseJsonText, pointerOf, type Path } from '../../capability/manifest/json-text.js';
import type { Clock } from '../../core/clock.js';
import { ToolError, type Issue } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { compareText, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { keyOf, pinOf, sortedPins, type PinTable } from './pin.js';

/** Rises when the shape of the file changes. */
const VERSION = 1;
const ALGORITHM = 'sha256:';
/** Characters of a lock file: 16 Mi. */
const MAX_LOCK_LENGTH = 16 * 2 ** 20;
/** Faults that a message names: a bad merge makes one for every line. */
const MOST_FAULTS = 10;

/** The number of times, and the milliseconds between them, that a writer looks if another one is done: five seconds in all. */
const LOOKS = 100;
const PAUSE_MS = 50;

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
 * Changes a lock file; a missing one begins empty.
 *
 * The file is read, changed and replaced while `<file>.lock` stands beside it, as git does with its index: of two processes
 * the second waits, and neither undoes what the other did. Readers see the old file or the new one. A file that would not
 * change is not touched.
 *
 * @returns the pins as they are now in the file.
 * @throws ToolError `INVALID_ARGUMENT` for a file that is refused or cannot be written, and `STATE_UNAVAILABLE` when
 * `<file>.lock` does not go away.
 */
export async function changeLockFile(
  file: string,
  change: (pins: PinTable) => void,
  clock: Clock,
): Promise<PinTable> {
  const name = shownPath(file);
  const guard = `${file}.lock`;
  await (await openGuard(guard, name, clock)).close();
  try {
    const before = await textOf(file, name);
    const pins = readLockText(before ?? EMPTY, name);
    change(pins);
    const after = lockTextOf(pins);
    if (after.length > MAX_LOCK_LENGTH)
      throw new ToolError(
        'LIMIT_EXCEEDED',
        expectedGot(
          `pins of at most ${MAX_LOCK_LENGTH} characters in ${name}`,
          String(after.length),
          'Pin fewer tools.',
        ),
      );
    if (after !== before) await replace(file, after, name);
    return pins;
  } finally {
    await rm(guard, { force: true });
  }
}

const EMPTY = '{"version":1,"servers":{}}';

async function openGuard(guard: string, name: string, clock: Clock): Promise<FileHandle> {
  for (let look = 1; ; look++) {
    try {
      return await open(guard, 'wx');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') throw cannotWrite(name, error);
      if (look === LOOKS)
        throw new ToolError(
          'STATE_UNAVAILABLE',
          `Expected ${name}.lock to go away within ${(LOOKS * PAUSE_MS) / 1_000} seconds, got it still there. Another process is writing, or one ended while it was: then delete ${name}.lock.`,
        );
      await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
    }
  }
}

async function textOf(file: string, name: string): Promise<string | undefined> {
  let handle: FileHandle | undefined;
  try {
    // A named pipe would keep an opening reader waiting.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    if (!stats.isFile()) throw refusedLock(name, [expectedGot('a file', 'a folder or a device')]);
    if (stats.size > MAX_LOCK_LENGTH)
      throw refusedLock(name, [
        expectedGot(`at most ${MAX_LOCK_LENGTH} bytes`, String(stats.size)),
      ]);
    return new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof ToolError) throw error;
    if (code === 'ENOENT') return undefined;
    throw refusedLock(
      name,
      [
        code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
          ? expectedGot('UTF-8 text', 'other bytes')
          : expectedGot('a file that can be read', code ?? 'an error'),
      ],
      error,
    );
  } finally {
    await handle?.close();
  }
}

/** Writes a file beside the old one and puts it in its place: a process that dies while it writes leaves the old file whole. */
async function replace(file: string, text: string, name: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(text);
      await handle.sync(); // Otherwise a crash could leave the name on an empty file.
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw cannotWrite(name, error);
  }
}

function cannotWrite(name: string, error: unknown): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      `${name} in a folder that can be written`,
      (error as NodeJS.ErrnoException).code ?? 'an error',
    ),
    { cause: error },
  );
}

/**
 * Returns the text of a lock file: pretty JSON, all keys sorted, with a line end after the last line.
 *
 * Equal pins give equal bytes, whoever writes them and in whatever order they were approved.
 */
export function lockTextOf(pins: PinTable): string {
  const servers = new Map<string, Map<string, Json>>();
  for (const { server, tool, digest, definition } of sortedPins(pins)) {
    servers.set(
      server,
      (servers.get(server) ?? new Map<string, Json>()).set(tool, {
        definition,
        digest: ALGORITHM + digest,
      }),
    );
  }
  return `${printed(
    new Map<string, unknown>([
      ['servers', servers],
      ['version', VERSION],
    ]),
    '',
  )}\n`;
}

/** Prints JSON with sorted keys. Written here: in objects, keys like `7` would not keep their order and `__proto__` would be lost. */
function printed(value: unknown, margin: string): string {
  const inner = `${margin}  `;
  if (Array.isArray(value))
    return value.length === 0
      ? '[]'
      : `[\n${value.map((item) => inner + printed(item, inner)).join(',\n')}\n${margin}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = [
    ...(value instanceof Map ? (value as ReadonlyMap<string, unknown>) : Object.entries(value)),
  ].sort(([a], [b]) => compareText(a, b));
  if (members.length === 0) return '{}';
  return `{\n${members.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${printed(item, inner)}`).join(',\n')}\n${margin}}`;
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
