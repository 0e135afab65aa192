import { fail, type ToolResult } from '../../../src/index.js';
import { type Node, parseTree, printParseErrorCode, visit } from 'jsonc-parser';

/** Maximum nesting depth. Deeper documents would exhaust the stack. */
const MAX_DEPTH = 200;

/**
 * Returns a failed result that describes the first error if the text isn't JSON or is nested too
 * deeply.
 */
export function notJson(text: string): ToolResult<never> | undefined {
  let depth = 0;
  const begin = (offset: number) => {
    if (++depth > MAX_DEPTH) throw new Fault(offset, `more than ${MAX_DEPTH} levels`);
  };
  const end = () => void (depth -= 1);
  const onError = (code: number, offset: number) => {
    const name = printParseErrorCode(code);
    const words = name.replace(/\B[A-Z]/g, ' $&').toLowerCase();
    throw new Fault(INSIDE.test(name) ? faultInside(text, offset) : offset, words);
  };
  try {
    visit(
      text,
      { onArrayBegin: begin, onObjectBegin: begin, onArrayEnd: end, onObjectEnd: end, onError },
      { disallowComments: true },
    );
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split('\n');
    const [line, column] = [before.length, before.at(-1)!.length + 1];
    return fail(
      `This isn't valid JSON: ${error.message} at line ${line}, column ${column}. Fix it there.`,
      { line, column },
    );
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

/**
 * Matches errors inside a string or number. For such an error, the parser reports only where the
 * string or number starts.
 */
const INSIDE = /^(?:UnexpectedEnd|InvalidUnicode|InvalidEscape|InvalidCharacter)/;

/** Matches the valid beginning of a string or number. */
const RIGHT_START = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*|-?(?:0|[1-9]\d*)/iuy;

function faultInside(text: string, offset: number): number {
  RIGHT_START.lastIndex = offset;
  return RIGHT_START.test(text) ? RIGHT_START.lastIndex : offset;
}

/**
 * Reformats JSON text. Numbers and strings keep their spelling, and objects keep all their entries.
 * With an `indent` of 0, everything is on one line. With `sortKeys`, keys are sorted by code unit,
 * and duplicate keys keep their order.
 */
export function formatJson(
  text: string,
  { indent, sortKeys }: { readonly indent: number; readonly sortKeys: boolean },
): string {
  const colon = indent > 0 ? ': ' : ':';
  const write = ({ type, offset, length, children = [] }: Node, level: number): string => {
    if (type === 'property') return children.map((each) => write(each, level)).join(colon);
    const [open, close] = type === 'array' ? ['[', ']'] : ['{', '}'];
    if (type !== 'array' && type !== 'object') return text.slice(offset, offset + length);
    const sorted = sortKeys && type === 'object' ? children.toSorted(byKey) : children;
    const parts = sorted.map((each) => write(each, level + 1));
    if (parts.length === 0) return open + close;
    if (indent === 0) return open + parts.join(',') + close;
    const inner = `\n${' '.repeat(indent * (level + 1))}`;
    return `${open}${inner}${parts.join(`,${inner}`)}\n${' '.repeat(indent * level)}${close}`;
  };
  return write(parseTree(text)!, 0);
}

function byKey(a: Node, b: Node): number {
  const [first, second] = [a, b].map(({ children }) => children![0]!.value as string);
  return first! < second! ? -1 : first! > second! ? 1 : 0;
}
