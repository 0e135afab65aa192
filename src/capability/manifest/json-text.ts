import {
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

export interface Position {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1, in UTF-16 units. */
  readonly column: number;
}

export type JsonPath = readonly (string | number)[];

/** A problem that the author of a text should fix. An error makes the entry unusable. */
export interface EntryFinding {
  readonly path: JsonPath;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** The list of entries in a text. */
interface EntryList {
  readonly ok: true;
  readonly list: readonly unknown[];
  /** The path of the list within the text. */
  readonly base: JsonPath;
  /** Warnings about keys that occur twice. Paths start at the top of the text. */
  readonly findings: readonly EntryFinding[];
  /**
   * Returns the position of a value. If the value is missing, returns the position of the nearest
   * enclosing value.
   */
  readonly positionAt: (path: JsonPath) => Position;
}

/** Maximum characters, entries and nesting depth of a text. Real manifests are far smaller. */
const MAX_TEXT_LENGTH = 1_048_576;
const MAX_ENTRIES = 1_000;
const MAX_DEPTH = 64;

/**
 * Parses a text that is a JSON list, or an object with a list under `key`. Returns an explanation
 * if the text is unusable. Comments and trailing commas are errors. Never throws.
 */
export function readList(
  source: string,
  key: string,
): EntryList | { readonly ok: false; readonly fault: EntryFinding & Position } {
  const text = source.replace(/^\uFEFF/, '');
  const positionOf = createPositions(text);
  const refused = (message: string, offset = 0) => ({
    ok: false as const,
    fault: { ...positionOf(offset), path: [], message, severity: 'error' as const },
  });
  if (text.length > MAX_TEXT_LENGTH)
    return refused('The file is larger than 1 MiB. Split it into several files.');
  // The parser is recursive, so a deeply nested text would overflow the stack.
  const tooDeep = depthFault(text);
  if (tooDeep !== undefined)
    return refused(`The JSON has more than ${MAX_DEPTH} levels. Flatten it.`, tooDeep);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { disallowComments: true });
  const [first] = errors.sort((a, b) => a.offset - b.offset);
  // For a trailing comma, the parser reports only that a value is missing after it.
  const comma = /,\s*$/.exec(text.slice(0, first?.offset ?? 0));
  if (first !== undefined && comma !== null && /[\]}]/.test(text.charAt(first.offset)))
    return refused(
      "There is a comma after the last value, so the file can't be used. Remove the comma.",
      comma.index,
    );
  if (first !== undefined || root === undefined)
    return refused(
      text.trim() === ''
        ? 'The file is empty. It must be JSON.'
        : `This isn't valid JSON: ${parseErrorWords(first)}.`,
      first?.offset,
    );
  const value: unknown = getNodeValue(root);
  const inside = isPlainObject(value) ? value[key] : undefined;
  const base: JsonPath = Array.isArray(inside) ? [key] : [];
  const list: unknown = base.length === 0 ? value : inside;
  if (!Array.isArray(list))
    return refused(
      `Expected a list of ${key}, or an object with a list under "${key}", got ${describeValue(inside ?? value)}.`,
    );
  if (list.length > MAX_ENTRIES)
    return refused(
      `The file has ${list.length} ${key}, but at most ${MAX_ENTRIES} are allowed. Split it into several files.`,
    );
  return {
    ok: true,
    list,
    base,
    findings: [...doubleKeys(root, [])],
    positionAt: (path) => positionOf(nodeAt(root, path).offset),
  };
}

/** Converts the parser's error code to words: `ValueExpected` becomes "value expected". */
export function parseErrorWords(error: { readonly error: number } | undefined): string {
  return (error === undefined ? 'ValueExpected' : printParseErrorCode(error.error))
    .replace(/\B[A-Z]/g, (letter) => ` ${letter}`)
    .toLowerCase();
}

/**
 * Returns the offset at which the text is nested too deeply. Like the parser, treats the end of the
 * line as the end of an unclosed string.
 */
function depthFault(text: string): number | undefined {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:\\.|[^"\\\n\r])*"?|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1;
    else if (token === ']' || token === '}') depth -= 1;
    if (depth > MAX_DEPTH) return index;
  }
  return undefined;
}

function* doubleKeys({ type, children = [] }: Node, path: JsonPath): Generator<EntryFinding> {
  const message = 'The key occurs twice. Only the last value counts.';
  const seen = new Set<unknown>();
  for (const [index, child] of children.entries()) {
    const [key, item] = child.children ?? [];
    if (type === 'object' && key !== undefined && item !== undefined) {
      const place = [...path, key.value as string];
      if (seen.has(key.value)) yield { path: place, message, severity: 'warning' };
      seen.add(key.value);
      yield* doubleKeys(item, place);
    } else yield* doubleKeys(child, [...path, index]);
  }
}

/**
 * Returns the node at a path, or the nearest enclosing node. For a duplicate key, returns the last
 * node, because JSON uses its value.
 */
function nodeAt(root: Node, path: JsonPath): Node {
  let node = root;
  for (const step of path) {
    const next =
      typeof step === 'number'
        ? node.children?.[step]
        : node.children?.findLast(({ children }) => children?.[0]?.value === step)?.children?.[1];
    if (next === undefined) break;
    node = next;
  }
  return node;
}

/** Returns a function that converts an offset to a line and column. */
function createPositions(text: string): (offset: number) => Position {
  const starts = [0, ...Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)];
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - starts[line]! + 1 };
  };
}

/** Returns a path as a JSON pointer (RFC 6901). */
export function pointerOf(path: JsonPath): string {
  return path
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
