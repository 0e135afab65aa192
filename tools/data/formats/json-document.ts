import { printParseErrorCode, visit } from 'jsonc-parser';

/**
 * A JSON value as it was written. Numbers and strings keep their spelling, and objects keep all
 * their entries in order.
 */
type JsonNode =
  | { readonly kind: 'literal'; readonly raw: string }
  | { readonly kind: 'array'; readonly items: readonly JsonNode[] }
  | {
      readonly kind: 'object';
      readonly entries: readonly (readonly [rawKey: string, value: JsonNode])[];
    };

/** The position at which a text stops being JSON, counted from 1, and the reason. */
interface JsonProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Maximum nesting. Deeper documents would exhaust the stack. */
const MAX_DEPTH = 200;

/** Reads JSON without losing anything. If the text isn't JSON, returns its first problem. */
export function readJson(
  text: string,
): { readonly node: JsonNode } | { readonly problem: JsonProblem } {
  /** The open lists and objects, below the root. */
  const open: { readonly items: JsonNode[]; readonly keys: string[] }[] = [{ items: [], keys: [] }];
  const add = (node: JsonNode) => open.at(-1)!.items.push(node);
  const begin = (offset: number) => {
    if (open.push({ items: [], keys: [] }) > MAX_DEPTH + 1)
      throw new Fault(offset, `more than ${MAX_DEPTH} levels`);
  };
  try {
    visit(
      text,
      {
        onArrayBegin: begin,
        onArrayEnd: () => add({ kind: 'array', items: open.pop()!.items }),
        onObjectBegin: begin,
        onObjectProperty: (_, offset, length) =>
          void open.at(-1)!.keys.push(text.slice(offset, offset + length)),
        onObjectEnd: () => {
          const { keys, items } = open.pop()!;
          add({ kind: 'object', entries: keys.map((key, index) => [key, items[index]!] as const) });
        },
        onLiteralValue: (_, offset, length) =>
          add({ kind: 'literal', raw: text.slice(offset, offset + length) }),
        onError: (code, offset) => {
          const name = printParseErrorCode(code);
          const words = name.replace(/\B[A-Z]/g, ' $&').toLowerCase();
          throw new Fault(INSIDE.test(name) ? faultInside(text, offset) : offset, words);
        },
      },
      { disallowComments: true },
    );
    return { node: open[0]!.items[0]! };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split('\n');
    return {
      problem: { line: before.length, column: before.at(-1)!.length + 1, message: error.message },
    };
  }
}

/** The first error in a JSON text. */
class Fault extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

/** The errors inside a string or number, for which the parser only reports the start. */
const INSIDE = /^(?:UnexpectedEnd|InvalidUnicode|InvalidEscape|InvalidCharacter)/;

/** The valid beginning of a string or number. */
const RIGHT_START = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*|-?(?:0|[1-9]\d*)/iuy;

function faultInside(text: string, offset: number): number {
  RIGHT_START.lastIndex = offset;
  return RIGHT_START.test(text) ? RIGHT_START.lastIndex : offset;
}

/**
 * Writes a document. An `indent` of 0 puts it on one line. Sorting is by code unit and keeps equal
 * keys in order.
 */
export function writeJson(
  node: JsonNode,
  { indent, sortKeys }: { readonly indent: number; readonly sortKeys: boolean },
): string {
  const write = (value: JsonNode, level: number): string => {
    if (value.kind === 'literal') return value.raw;
    const [open, close] = value.kind === 'array' ? ['[', ']'] : ['{', '}'];
    const parts =
      value.kind === 'array'
        ? value.items.map((item) => write(item, level + 1))
        : (sortKeys ? sorted(value.entries) : value.entries).map(
            ([key, child]) => `${key}:${indent > 0 ? ' ' : ''}${write(child, level + 1)}`,
          );
    if (parts.length === 0) return open + close;
    if (indent === 0) return open + parts.join(',') + close;
    const inner = `\n${' '.repeat(indent * (level + 1))}`;
    return `${open}${inner}${parts.join(`,${inner}`)}\n${' '.repeat(indent * level)}${close}`;
  };
  return write(node, 0);
}

function sorted<T>(entries: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  const keyed = entries.map((entry) => ({ entry, key: JSON.parse(entry[0]) as string }));
  return keyed
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ entry }) => entry);
}
