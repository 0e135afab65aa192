import { isWriting } from '../core/enum-order.js';
import { isPlainObject } from '../core/plain-data.js';
import { isSettled } from './input/freeze-plain.js';
import type { ToolEntry } from './tool-definition.js';

/** Keys of one call that are believed: more is a tool that touches everything, which is what no keys mean. */
const MAX_KEYS = 1_000;
/** Characters of one key. */
const MAX_KEY_LENGTH = 1_024;

/** What one call touches, as keys. One that ends in `/`, or is a kind alone (`git:`), covers itself and everything below it. */
export interface Touches {
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** What was answered for inputs that cannot change: policy and planner go by one answer. */
const KNOWN = new WeakMap<object, WeakMap<ToolEntry, Touches | { readonly reads?: never }>>();
const UNSAID = Object.freeze({});

/**
 * What a call touches, as its tool's `conflictKeys` say; nothing when the tool does not say it, or not well enough.
 *
 * For an input that was checked and frozen the tool is asked once. Plain keys of a tool that can change something count as
 * read and as written.
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

/** Whatever is wrong with the keys means that none are known: the safe side. */
function ask(entry: ToolEntry, input: unknown): Touches | undefined {
  try {
    const answer: unknown = entry.conflictKeys?.(input);
    // An async function does not fit the option's type; were its rejection not caught, it would end the process.
    if (answer instanceof Promise) answer.catch(() => undefined);
    if (Array.isArray(answer)) {
      const keys = keysIn(answer);
      if (keys === undefined || keys.length === 0) return undefined;
      return Object.freeze({ reads: keys, writes: isWriting(entry.accessMode) ? keys : NONE });
    }
    if (!isPlainObject(answer)) return undefined;
    const { reads = NONE, writes = NONE, ...others } = answer;
    // A misspelt or forgotten list must not read as "touches nothing".
    if (Object.keys(others).length > 0 || (answer['reads'] === undefined && answer['writes'] === undefined)) return undefined;
    const [read, written] = [keysIn(reads), keysIn(writes)];
    return read === undefined || written === undefined ? undefined : Object.freeze({ reads: read, writes: written });
  } catch {
    return undefined; // The input may be anything that a model made up; only the call itself reports what is wrong with it.
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
    keys.add(key);
  }
  return Object.freeze([...keys]);
}

/** The kind of a key, such as `file:`, with its colon; empty for keys without one. */
export function kindOfKey(key: string): string {
  return /^[a-z][a-z\d+.-]*:/i.exec(key)?.[0] ?? '';
}
