import { ToolError, type Issue } from '../../core/errors.js';
import { compareText, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { parseJsonText, pointerOf, type Path } from '../../capability/manifest/text/json-text.js';
import { pinOf } from './pin.js';
import { PinTable } from './pin-table.js';

/** Rises when the shape of the file changes. */
const VERSION = 1;
const ALGORITHM = 'sha256:';
/** Characters of a lock file: 16 Mi. */
export const MAX_LOCK_LENGTH = 16 * 2 ** 20;
/** Faults that are told: a bad merge makes one for every line. */
const MOST_FAULTS = 10;

/**
 * The text of a lock file: pretty JSON, all keys sorted, with a line end after the last line.
 *
 * Equal pins give equal bytes, whoever writes them and in whatever order they were approved.
 */
export function lockTextOf(pins: PinTable): string {
  const servers = new Map<string, Map<string, Json>>();
  for (const [server, tool, { digest, definition }] of pins.entries()) {
    servers.set(server, (servers.get(server) ?? new Map<string, Json>()).set(tool, { definition, digest: ALGORITHM + digest }));
  }
  return `${printed(new Map<string, unknown>([['servers', servers], ['version', VERSION]]), '')}\n`;
}

/** Written here: in objects, keys like `7` would not keep their order and `__proto__` would be lost. */
function printed(value: unknown, margin: string): string {
  const inner = `${margin}  `;
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[\n${value.map((item) => inner + printed(item, inner)).join(',\n')}\n${margin}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = [...(value instanceof Map ? (value as ReadonlyMap<string, unknown>) : Object.entries(value))].sort(([a], [b]) => compareText(a, b));
  if (members.length === 0) return '{}';
  return `{\n${members.map(([key, item]) => `${inner}${JSON.stringify(key)}: ${printed(item, inner)}`).join(',\n')}\n${margin}}`;
}

/**
 * The pins of a lock file's text.
 *
 * A text is refused as a whole: one that is cut off, has a key twice (after a bad merge, say), or was edited so that a
 * definition and its digest no longer fit. How it is indented does not matter.
 *
 * @param name how messages call the file.
 * @throws ToolError `INVALID_ARGUMENT` with what is wrong.
 */
export function readLockText(text: string, name: string): PinTable {
  const faults: Issue[] = [];
  const pins = new PinTable();
  if (text.length > MAX_LOCK_LENGTH) throw refusedLock(name, [`expected at most ${MAX_LOCK_LENGTH} characters, found ${text.length}`]);
  const parsed = parseJsonText(text);
  if (!parsed.ok) throw refusedLock(name, [`line ${parsed.fault.line}: ${parsed.fault.message}`]);
  const say = (path: Path, message: string) => void faults.push({ path, message });
  // A key that stands there twice is read as its last value, and reviewed as its first.
  for (const { path, message } of parsed.text.findings()) say(path, message.replace('; only the last value counts', ''));
  readRoot(parsed.value, pins, say);
  if (faults.length === 0) return pins;
  const lines = faults.slice(0, MOST_FAULTS).map(({ path, message }) => `line ${parsed.text.positionAt(path).line}${path.length === 0 ? '' : `, ${pointerOf(path)}`}: ${message}`);
  throw refusedLock(name, faults.length > MOST_FAULTS ? [...lines, `and ${faults.length - MOST_FAULTS} more`] : lines);
}

type Say = (path: Path, message: string) => void;

function readRoot(value: unknown, pins: PinTable, say: Say): void {
  if (!isPlainObject(value)) return say([], `expected an object with "version" and "servers", found ${describeValue(value)}`);
  const { version, servers, ...rest } = value;
  if (version !== VERSION) return say(['version'], `expected ${VERSION}, found ${describeValue(version)}; it was written by another version of tooldex`);
  for (const key of Object.keys(rest)) say([key], 'expected only "version" and "servers", found another key');
  if (!isPlainObject(servers)) return say(['servers'], `expected servers by name, found ${describeValue(servers)}`);
  for (const [server, tools] of Object.entries(servers)) {
    if (!isPlainObject(tools)) say(['servers', server], `expected tools by name, found ${describeValue(tools)}`);
    else for (const [tool, entry] of Object.entries(tools)) readPin(pins, server, tool, entry, say);
  }
}

function readPin(pins: PinTable, server: string, tool: string, entry: unknown, say: Say): void {
  const path = ['servers', server, tool];
  if (!isPlainObject(entry) || Object.keys(entry).sort().join() !== 'definition,digest') return say(path, 'expected an object of "definition" and "digest", found another');
  const pinnable = pinOf(entry['definition']);
  if (!pinnable.ok) return say([...path, 'definition'], pinnable.reason);
  if (pinnable.name !== tool) return say([...path, 'definition', 'name'], `expected ${describeValue(tool)}, found ${describeValue(pinnable.name)}`);
  if (entry['digest'] !== ALGORITHM + pinnable.pin.digest) return say([...path, 'digest'], 'expected the digest of the definition, found another; the file was edited by hand');
  pins.set(server, tool, pinnable.pin);
}

export function refusedLock(name: string, reasons: readonly string[], cause?: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `The lock file ${name} is refused:\n  ${reasons.join('\n  ')}\nTake it back from version control, or delete it and approve anew: tooldex mcp pins approve --all`, { ...(cause === undefined ? {} : { cause }) });
}
