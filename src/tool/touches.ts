import { isWriting } from '../core/enum-order.js';
import { isPlainObject } from '../core/plain-data.js';
import { isSettled } from './bound-input.js';
import type { ToolEntry } from './tool-definition.js';

/** The most keys of one call: a tool with more counts as one that touches everything, as without keys. */
const MAX_KEYS = 1_000;
/** Characters of one key. */
const MAX_KEY_LENGTH = 1_024;

/**
 * The keys that one call touches. One that ends in `/`, or is a kind alone (`git:`), covers itself and everything below
 * it.
 */
export interface Touches {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** The answers for inputs that cannot change: policy and planner use the same one. */
const KNOWN = new WeakMap<object, WeakMap<ToolEntry, Touches | { readonly reads?: never }>>();
const UNSAID = Object.freeze({});

/**
 * Returns the keys that a call touches, from its tool's `conflictKeys`; nothing if there are none or they are wrong.
 *
 * For an input that was checked and frozen the tool is asked once. Plain keys of a tool that can change something count
 * as read and as written.
 */
export function touchesOf(entry: ToolEntry, input: unknown): Touches | undefined {
  if (entry.conflictKeys === undefined) return undefined;
  if (!isSettled(input)) return ask(entry, input);
  let byEntry = KNOWN.get(input as object);
  if (byEntry === undefined) KNOWN.set(input as object, (byEntry = new WeakMap()));
  let known = byEntry.get(entry);
  if (known === undefined) byEntry.set(entry, (known = ask(entry, input) ?? UNSAID));
  return known.reads === undefined ? undefined : known;
}

/** Asks the tool. Anything wrong with its keys means that none are known: the safe side. */
function ask(entry: ToolEntry, input: unknown): Touches | undefined {
  try {
    const answer: unknown = entry.conflictKeys?.(input);
    // An async function does not fit the option's type; an uncaught rejection would end the process.
    if (answer instanceof Promise) answer.catch(() => undefined);
    if (Array.isArray(answer)) {
      const keys = keysIn(answer);
      if (keys === undefined || keys.length === 0) return undefined;
      return Object.freeze({ reads: keys, writes: isWriting(entry.accessMode) ? keys : NONE });
    }
    if (!isPlainObject(answer)) return undefined;
    const { reads = NONE, writes = NONE, ...others } = answer;
    // A misspelt or forgotten list must not read as "touches nothing".
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
    return undefined; // The input may be anything that a model made up; the call itself reports what is wrong with it.
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
    if (canonical === '' && key !== '') return undefined; // The folder that everything without a kind is in.
    keys.add(canonical);
  }
  return Object.freeze([...keys]);
}

/**
 * Returns a key, or a pattern of keys, in its one form: its kind in lower case, and its path without `.`, `..` and doubled slashes. A path that ends in `/.`
 * or `/..` covers what is below, as one that ends in `/` does.
 *
 * An address (`https://…`) also has its host in lower case; doubled slashes and what follows `?` or `#` stay.
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

/** A part of a path that canonical keys lack; those of addresses may have it. */
const ODD_PATH = /\/\/|(?:^|[/:])\.{1,2}(?:\/|$)|:\/$/;

/** Returns true for a key or pattern of something at a host, which files are not. */
export function isAddress(text: string): boolean {
  const kind = kindOfKey(text);
  return kind !== '' && kind.toLowerCase() !== 'file:' && text.startsWith('//', kind.length);
}

/** Joins the parts of a path without `.` and `..`; those that lead above a root are left out. */
function withoutDots(parts: readonly string[], isAbsolute: boolean): string {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === '..' && kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (part !== '.' && (part !== '..' || !isAbsolute)) kept.push(part);
  }
  // A folder that contains the root covers everything, as the root does.
  if (kept.length === 0 || (!isAbsolute && kept.every((part) => part === '..' || part === '')))
    return '';
  const last = parts.at(-1);
  return last === '.' || last === '..' ? `${kept.join('/')}/` : kept.join('/');
}

/** The kind of a key, such as `file:`, with its colon; empty for keys without one. */
export function kindOfKey(key: string): string {
  return /^[a-z][a-z\d+.-]*:/i.exec(key)?.[0] ?? '';
}
