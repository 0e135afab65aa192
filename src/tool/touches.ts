import { isWriting } from '../core/enum-order.js';
import { ignoreRejection, isPlainObject } from '../core/plain-data.js';
import { isUnchangeable } from './bound-input.js';
import type { ToolEntry } from './tool-definition.js';

/**
 * The maximum number of keys per call. A call with more keys is treated as touching everything, as
 * if it had no keys.
 */
const MAX_KEYS = 1_000;
/** The maximum length of a key, in characters. */
const MAX_KEY_LENGTH = 1_024;

/**
 * The resource keys that one call touches. A key that ends in `/`, or is only a kind (`git:`),
 * covers itself and everything below it.
 */
export interface Touches {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** Cached results for frozen inputs. Ensures that policy and planner use the same keys. */
const KNOWN = new WeakMap<object, WeakMap<ToolEntry, Touches | { readonly reads?: never }>>();
const UNSAID = Object.freeze({});

/**
 * Returns the resource keys that a call touches, from its tool's `conflictKeys`. Returns
 * `undefined` if the tool returns no keys or invalid keys.
 *
 * `conflictKeys` is called once per validated and frozen input. If the tool can change something,
 * plain keys count as both read and written.
 */
export function touchesOf(entry: ToolEntry, input: unknown): Touches | undefined {
  if (entry.conflictKeys === undefined) return undefined;
  if (!isUnchangeable(input)) return ask(entry, input);
  let byEntry = KNOWN.get(input as object);
  if (byEntry === undefined) KNOWN.set(input as object, (byEntry = new WeakMap()));
  let cached = byEntry.get(entry);
  if (cached === undefined) byEntry.set(entry, (cached = ask(entry, input) ?? UNSAID));
  return cached.reads === undefined ? undefined : cached;
}

/**
 * Calls the tool's `conflictKeys`. If a key is invalid, all keys are treated as unknown, which is
 * the safe choice.
 */
function ask(entry: ToolEntry, input: unknown): Touches | undefined {
  try {
    const answer: unknown = entry.conflictKeys?.(input);
    // Untyped callers can pass an async function. An unhandled rejection would end the process.
    ignoreRejection(answer);
    if (Array.isArray(answer)) {
      const keys = keysIn(answer);
      if (keys === undefined || keys.length === 0) return undefined;
      return Object.freeze({ reads: keys, writes: isWriting(entry.accessMode) ? keys : NONE });
    }
    if (!isPlainObject(answer)) return undefined;
    const { reads = NONE, writes = NONE, ...others } = answer;
    // A call with a misspelled or missing list would seem to touch nothing.
    if (
      Object.keys(others).length > 0 ||
      (answer['reads'] === undefined && answer['writes'] === undefined)
    )
      return undefined;
    const [read, written] = [keysIn(reads), keysIn(writes)];
    return read === undefined || written === undefined
      ? undefined
      : Object.freeze({ reads: read, writes: written });
  } catch {
    return undefined; // A model can send any input. The call itself reports errors in its input.
  }
}

const NONE: readonly string[] = Object.freeze([]);

function keysIn(list: unknown): readonly string[] | undefined {
  if (!Array.isArray(list) || list.length > MAX_KEYS) return undefined;
  const { length } = list;
  const keys = new Set<string>();
  for (let index = 0; index < length; index++) {
    const key: unknown = list[index];
    if (typeof key !== 'string' || key.length > MAX_KEY_LENGTH) return undefined;
    const canonical = canonicalKey(key.replaceAll('\\', '/'));
    if (canonical === '' && key !== '') return undefined; // The key would cover everything.
    keys.add(canonical);
  }
  return Object.freeze([...keys]);
}

/**
 * Returns a key or key pattern in canonical form: the kind in lowercase, and the path without `.`,
 * `..`, and duplicate slashes. A path that ends in `/.` or `/..` covers everything below it, like a
 * path that ends in `/`.
 *
 * In a URL (`https://…`), the host is also lowercased. A URL's duplicate slashes and everything
 * after `?` or `#` are kept.
 */
export function canonicalKey(text: string): string {
  const kind = kindOfKey(text);
  const lower = kind.toLowerCase();
  if (kind === lower && !ODD_PATH.test(text)) return text;
  const path = text.slice(kind.length);
  const [, host, below = '', rest = ''] = (isAddress(text) &&
    /^\/\/([^/?#]*)([^?#]*)([^]*)$/.exec(path)) || [undefined, undefined, path];
  if (host !== undefined)
    return `${lower}//${host.toLowerCase()}${below === '' ? '' : `/${withoutDots(below.slice(1).split('/'), true)}`}${rest}`;
  const isAbsolute = path.startsWith('/');
  const relative = withoutDots(
    path.split('/').filter((part, index, parts) => part !== '' || index === parts.length - 1),
    isAbsolute,
  );
  return `${lower}${isAbsolute && (relative !== '' || kind === '') ? '/' : ''}${relative}`;
}

/** Matches path parts that canonical keys don't contain. URLs may contain these parts. */
const ODD_PATH = /\/\/|(?:^|[/:])\.{1,2}(?:\/|$)|:\/$/;

/** Returns true for a key or pattern that identifies something on a host rather than a file. */
export function isAddress(text: string): boolean {
  const kind = kindOfKey(text);
  return kind !== '' && kind.toLowerCase() !== 'file:' && text.startsWith('//', kind.length);
}

/** Joins path parts, resolving `.` and `..`. A `..` at the root of an absolute path is dropped. */
function withoutDots(parts: readonly string[], isAbsolute: boolean): string {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (part !== '.' && (part !== '..' || !isAbsolute)) kept.push(part);
  }
  // A path such as `..` contains the root, so it covers everything.
  if (kept.length === 0 || (!isAbsolute && kept.every((part) => part === '..' || part === '')))
    return '';
  const last = parts.at(-1);
  return last === '.' || last === '..' ? `${kept.join('/')}/` : kept.join('/');
}

/** Returns a key's kind with its colon, such as `file:`, or an empty string. */
export function kindOfKey(key: string): string {
  return /^[a-z][a-z\d+.-]*:/i.exec(key)?.[0] ?? '';
}
