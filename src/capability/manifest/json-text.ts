import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { describeValue, isPlainObject } from '../../core/plain-data.js';

/** The depth of lists and objects: far above real manifests, far below the depth at which recursion fails. */
const MAX_DEPTH = 64;

export interface Position {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1, in UTF-16 units. */
  readonly column: number;
}

export type Path = readonly (string | number)[];

/** A problem for the author of a text; an error makes the entry in which it stands unusable. */
export interface EntryFinding {
  readonly path: Path;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

type TextFinding = EntryFinding & Position;

/** The result of parsing: the JSON, or the place where it is broken. */
type ParsedText =
  | { readonly ok: true; readonly value: unknown; readonly text: JsonText }
  | { readonly ok: false; readonly fault: TextFinding };

/** Parses strict JSON; comments and trailing commas are faults. Never throws, whatever the text. */
function parseJsonText(source: string): ParsedText {
  const text = source.startsWith('\uFEFF') ? source.slice(1) : source;
  const lines = lineStarts(text);
  const fault = (offset: number, message: string): ParsedText => ({
    ok: false,
    fault: { ...positionOf(lines, offset), path: [], message, severity: 'error' },
  });
  const tooDeep = depthFault(text);
  if (tooDeep !== undefined)
    return fault(
      tooDeep,
      `Expected JSON nested at most ${MAX_DEPTH} levels deep, got more. Flatten it.`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const errors: ParseError[] = [];
    parseTree(text, errors, {
      disallowComments: true,
      allowTrailingComma: false,
      allowEmptyContent: false,
    });
    const first = errors.sort((a, b) => a.offset - b.offset)[0];
    const comma = first === undefined ? undefined : commaAtEnd(text, first.offset);
    if (comma !== undefined)
      return fault(
        comma,
        'Expected JSON, got a comma after the last value. Leave it out: nothing of the file is used.',
      );
    const reason =
      first === undefined
        ? 'something else'
        : (REASONS[printParseErrorCode(first.error)] ??
          `a fault (${printParseErrorCode(first.error)})`);
    return fault(
      first?.offset ?? 0,
      text.trim() === ''
        ? 'Expected JSON, got an empty file.'
        : `Expected JSON, got ${reason}. Nothing of the file is used.`,
    );
  }
  return { ok: true, value, text: new JsonText(text, lines) };
}

/** Returns the place of a comma before the end of a list or an object; the parser only reports a missing value or key. */
function commaAtEnd(text: string, offset: number): number | undefined {
  const before = text.slice(0, offset).trimEnd();
  return before.endsWith(',') && /^\s*[\]}]/.test(text.slice(offset))
    ? before.length - 1
    : undefined;
}

/** The faults of the parser in words. */
const REASONS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a word that is none of true, false and null',
  InvalidNumberFormat: 'a number that is not written as JSON has it',
  PropertyNameExpected: 'no key in double quotes',
  ValueExpected: 'no value',
  ColonExpected: 'no colon after a key',
  CommaExpected: 'no comma between two values',
  CloseBraceExpected: 'an object that does not end',
  CloseBracketExpected: 'a list that does not end',
  EndOfFileExpected: 'more text after the end',
  InvalidCommentToken: 'a comment',
  UnexpectedEndOfComment: 'a comment that does not end',
  UnexpectedEndOfString: 'a text that does not end on its line',
  UnexpectedEndOfNumber: 'a number that does not end',
  InvalidUnicode: 'an escape \\u without four hexadecimal digits',
  InvalidEscapeCharacter: 'an escape that JSON does not have',
  InvalidCharacter: 'a control character that is not escaped',
};

/**
 * Returns the place where the text nests too deep. Strings end with their line, as for the parser, which recurses and
 * would overflow.
 */
function depthFault(text: string): number | undefined {
  let depth = 0;
  let inString = false;
  for (let offset = 0; offset < text.length; offset++) {
    const character = text[offset];
    if (inString) {
      if (character === '\\') offset++;
      else if (character === '"' || character === '\n' || character === '\r') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '[' || character === '{') {
      depth++;
      if (depth > MAX_DEPTH) return offset;
    } else if (character === ']' || character === '}') depth--;
  }
  return undefined;
}

/** A parsed text that knows the places of its values. */
class JsonText {
  readonly #root: Node;
  readonly #lines: readonly number[];

  /** @param source strict JSON. */
  constructor(source: string, lines: readonly number[]) {
    this.#root = parseTree(source)!;
    this.#lines = lines;
  }

  /** Returns the place of a value; for a missing one, the nearest thing around it. */
  positionAt(path: Path): Position {
    let node = this.#root;
    for (const step of path) {
      const next =
        typeof step === 'number'
          ? node.type === 'array'
            ? node.children?.[step]
            : undefined
          : memberOf(node, step);
      if (next === undefined) break;
      node = next;
    }
    return positionOf(this.#lines, node.offset);
  }

  /** Returns the problems that values no longer show: keys given twice, halves of characters, numbers beyond all bounds. */
  findings(): readonly TextFinding[] {
    const findings: TextFinding[] = [];
    this.#check(this.#root, [], findings);
    return findings;
  }

  #check(node: Node, path: Path, findings: TextFinding[]): void {
    const say = (
      severity: TextFinding['severity'],
      message: string,
      at: Node = node,
      place: Path = path,
    ) => findings.push({ ...positionOf(this.#lines, at.offset), path: place, message, severity });
    if (node.type === 'number' && !Number.isFinite(node.value))
      say('error', 'Expected a number of usual size, got one beyond all bounds.');
    if (node.type === 'string' && LONE_SURROGATE.test(node.value as string))
      say(
        'error',
        'Expected text of whole characters, got half of a surrogate pair. Write the character itself.',
      );
    if (node.type === 'array')
      node.children?.forEach((child, index) => this.#check(child, [...path, index], findings));
    if (node.type !== 'object') return;
    const seen = new Set<string>();
    for (const { children: [key, value] = [] } of node.children ?? []) {
      const name = key!.value as string;
      const place = [...path, name];
      if (LONE_SURROGATE.test(name))
        say(
          'error',
          'Expected a key of whole characters, got half of a surrogate pair.',
          key,
          path,
        );
      if (seen.has(name))
        say(
          'warning',
          'Expected every key once, got it again. Only the last value counts.',
          key,
          place,
        );
      seen.add(name);
      this.#check(value!, place, findings);
    }
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns the last member with a key, as `JSON.parse` does. */
function memberOf(node: Node, key: string): Node | undefined {
  return node.type === 'object'
    ? node.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1]
    : undefined;
}

function lineStarts(text: string): readonly number[] {
  return [0, ...Array.from(text.matchAll(/\r\n?|\n/g), ({ index, 0: end }) => index + end.length)];
}

function positionOf(lines: readonly number[], offset: number): Position {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lines[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - lines[low]! + 1 };
}

/** The largest text in characters (the limit of files is 1 MiB), and the entries of one text. */
const MAX_TEXT_LENGTH = 1_048_576;
const MAX_ENTRIES = 1_000;

/** The list of entries in a text. */
interface EntryList {
  readonly ok: true;
  readonly list: readonly unknown[];
  /** The path of the list. */
  readonly base: Path;
  readonly text: JsonText;
  readonly findings: readonly TextFinding[];
  /** The indexes of entries with values that cannot be stored or sent: half characters, endless numbers. */
  readonly spoiled: ReadonlySet<unknown>;
}

/** Reads a JSON list, or an object with one under a key, or says why nothing of the text can be used. Never throws. */
export function readList(
  source: string,
  key: string,
): EntryList | { readonly ok: false; readonly fault: TextFinding } {
  const refused = (message: string) =>
    ({ ok: false, fault: { path: [], line: 1, column: 1, message, severity: 'error' } }) as const;
  if (source.length > MAX_TEXT_LENGTH)
    return refused('Expected a file of at most 1 MiB, got more. Split it into several files.');
  const parsed = parseJsonText(source);
  if (!parsed.ok) return parsed;
  const { value, text } = parsed;
  const inside = isPlainObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  const base: Path = Array.isArray(inside) ? [key] : [];
  const list: unknown = base.length === 0 ? value : inside;
  if (!Array.isArray(list))
    return refused(
      `Expected a list of ${key}, or an object with one under "${key}", got ${describeValue(inside ?? value)}.`,
    );
  if (list.length > MAX_ENTRIES)
    return refused(
      `Expected at most ${MAX_ENTRIES} ${key} in one file, got ${list.length}. Split it into several files.`,
    );
  const findings = text.findings();
  return {
    ok: true,
    list,
    base,
    text,
    findings,
    spoiled: new Set(
      findings.flatMap(({ path, severity }) => (severity === 'error' ? [path[base.length]] : [])),
    ),
  };
}

/** Returns a path as a JSON pointer (RFC 6901). */
export function pointerOf(path: Path): string {
  return path
    .map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}
