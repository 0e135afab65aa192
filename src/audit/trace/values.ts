import { wordsIn, type KnownValue } from '../known/known-value.js';
import type { Node, Module } from './program.js';

/**
 * The sources of a value: `arg:<name>` for an argument of the tool, `env:<name>` for an environment
 * variable, `state:<place>` for memory, and `tmp` for a temporary path.
 */
export type Tags = readonly string[];
type Primitive = string | number | boolean | bigint | null | undefined;

/** Marks an unknown part of a string, as in `https://host/<hole>/items`. */
export const HOLE = '\u0000';

interface Const {
  readonly t: 'const';
  readonly v: Primitive;
  readonly tags: Tags;
}
/**
 * An unknown value. With `data`, the value is a string, number, list or similar, and its methods
 * have no effects outside the process.
 */
interface Unknown {
  readonly t: 'unknown';
  readonly tags: Tags;
  readonly data: boolean;
}
interface Union {
  readonly t: 'union';
  readonly of: readonly Value[];
}
/**
 * An object, array, Map, Set or instance that the code creates. `rest` combines all values with
 * unknown keys.
 */
export interface Obj {
  readonly t: 'obj';
  readonly id: number;
  readonly kind: 'object' | 'array' | 'map' | 'set';
  readonly props: Map<string, Value>;
  items: Value[];
  rest: Value | undefined;
  /** True if some of the list's items may be missing. */
  open: boolean;
  cls: ClassValue | undefined;
  proto: Value | undefined;
  readonly born: number;
  readonly depth: number;
}
export interface Fn {
  readonly t: 'fn';
  readonly node: Node;
  readonly scope: Scope;
  readonly module: Module;
  readonly home: ClassValue | undefined;
  readonly name: string;
  readonly props: Map<string, Value>;
  readonly bound?: { readonly self: Value; readonly args: readonly Value[] } | undefined;
}
export interface ClassValue {
  readonly t: 'class';
  readonly node: Node;
  readonly scope: Scope;
  readonly module: Module;
  readonly parent: Value | undefined;
  readonly props: Map<string, Value>;
  /** The prototype, which contains the methods of the class's instances. */
  readonly methods: Obj;
}
/** A value that is computed only when it's read, such as an import or getter. */
interface Accessor {
  readonly t: 'accessor';
  readonly get: (self: Value, place: Place) => Value;
  readonly set?: Value | undefined;
}
/**
 * A member of a built-in module of Node, or of a global object (module `global`). In the path, `()`
 * means the result of a call.
 */
export interface Native {
  readonly t: 'native';
  readonly module: string;
  readonly path: readonly string[];
  readonly args: readonly Value[];
}
/** A member of a package outside the audited code, or the result of calling it. */
export interface External {
  readonly t: 'external';
  readonly pkg: string;
  readonly path: readonly string[];
  readonly args: readonly Value[];
  /**
   * The fields of an argument schema. Each field has its default value, and says whether the
   * argument is optional.
   */
  readonly shape?: Obj | undefined;
  readonly fallback?: Value | undefined;
  readonly optional?: boolean;
}
/** A function that the analysis provides, such as a promise's `resolve`. */
interface Host {
  readonly t: 'host';
  readonly call: (args: readonly Value[]) => Value;
}
export type Value =
  Const | Unknown | Union | Obj | Fn | ClassValue | Accessor | Native | External | Host;

export interface Place {
  readonly module: Module;
  readonly node: Node;
}
export interface Binding {
  value: Value | undefined;
  readonly id: number;
  readonly name: string;
  readonly born: number;
  readonly depth: number;
  readonly fixed: boolean;
}
export interface Scope {
  readonly vars: Map<string, Binding>;
  readonly parent: Scope | undefined;
  readonly frame: Frame;
  readonly module: Module;
}
/** A running function: its `this`, its result, and its class if it's a method. */
export interface Frame {
  readonly self: Value;
  readonly home: ClassValue | undefined;
  readonly args: readonly Value[];
  readonly returns: Value[];
}

const MAX_UNION = 12;
const MAX_TAGS = 24;
const MAX_TEXT = 20_000;
const NO_TAGS: Tags = [];

/** Globals of other environments. Node doesn't have these globals. */
export const ELSEWHERE: ReadonlySet<string> = new Set(
  wordsIn('Bun Deno window document EdgeRuntime WorkerGlobalScope importScripts self'),
);

export const constant = (v: Primitive, tags: Tags = NO_TAGS): Const => ({ t: 'const', v, tags });
/** Returns a string value. The text may contain holes. */
export const textual = (text: string, tags: Tags = NO_TAGS): Const =>
  constant(text.slice(0, MAX_TEXT), tags);
export const UNDEFINED = constant(undefined);
/** An unknown value whose methods have unknown effects. */
export const UNKNOWN: Unknown = { t: 'unknown', tags: NO_TAGS, data: false };
export const DATA: Unknown = { t: 'unknown', tags: NO_TAGS, data: true };

/** Returns an unknown value with known sources. By default, the value is data. */
export const unknown = (tags: Tags = NO_TAGS, data = true): Unknown =>
  tags.length === 0 ? (data ? DATA : UNKNOWN) : { t: 'unknown', tags, data };
/**
 * Returns an unknown value with the sources of all given values. The result is data only if all
 * given values are data.
 */
export const unknownLike = (...values: readonly Value[]): Unknown =>
  unknown(allTags(values), values.every(isData));
/**
 * Returns the value of something that couldn't be read, such as a module with a computed name. A
 * call of such a value is reported.
 */
export const unread = (what: string): Value => unknown([`unread:${what}`], false);

/** Returns true for plain data. Plain data has only built-in methods. */
export function isData(value: Value): boolean {
  if (value.t === 'unknown') return value.data;
  return value.t === 'const' || (value.t === 'union' && value.of.every(isData));
}

export function mergeTags(...lists: readonly Tags[]): Tags {
  const full = lists.filter((list) => list.length > 0);
  return full.length < 2 ? (full[0] ?? NO_TAGS) : [...new Set(full.flat())].slice(0, MAX_TAGS);
}

/** Returns a value's own tags. `deepTags` also looks inside objects. */
export function tagsOf(value: Value): Tags {
  if (value.t === 'const' || value.t === 'unknown') return value.tags;
  return value.t === 'union' ? allTags(value.of) : NO_TAGS;
}
export const allTags = (values: readonly Value[]): Tags => mergeTags(...values.map(tagsOf));
/** Returns the names of the tool's arguments that a value comes from. */
export const argumentsIn = (tags: Tags): Tags =>
  tags.filter((tag) => tag.startsWith('arg:') && tag.length > 4);

export function deepTags(value: Value, depth = 4, seen = new Set<Value>()): Tags {
  if (value.t === 'union') return mergeTags(...value.of.map((one) => deepTags(one, depth, seen)));
  if (value.t !== 'obj') return tagsOf(value);
  if (depth === 0 || seen.has(value) || seen.size > 200) return NO_TAGS;
  seen.add(value);
  return mergeTags(...contents(value).map((one) => deepTags(one, depth - 1, seen)));
}

export function withTags(value: Value, tags: Tags): Value {
  if (tags.length === 0) return value;
  if (value.t === 'union') return { t: 'union', of: value.of.map((one) => withTags(one, tags)) };
  return value.t === 'const' || value.t === 'unknown'
    ? { ...value, tags: mergeTags(value.tags, tags) }
    : value;
}

/** Returns everything in an object. */
export const contents = ({ items, props, rest }: Obj): readonly Value[] => [
  ...items,
  ...props.values(),
  ...(rest === undefined ? [] : [rest]),
];

/** Returns the alternatives that an expression's value may have. */
export const options = (value: Value): readonly Value[] =>
  value.t === 'union' ? value.of : [value];

export function join(...values: readonly Value[]): Value {
  const all: Value[] = [];
  for (const value of values.flatMap(options)) {
    const same = all.findIndex(
      (one) =>
        one === value ||
        (one.t === 'unknown' && value.t === 'unknown' && one.data === value.data) ||
        (one.t === 'const' && value.t === 'const' && one.v === value.v),
    );
    if (same < 0) all.push(value);
    else all[same] = withTags(all[same] as Value, tagsOf(value));
  }
  if (all.length < 2) return all[0] ?? UNDEFINED;
  if (all.length > MAX_UNION) all.splice(MAX_UNION - 1, Infinity, unknownLike(...all));
  return { t: 'union', of: all };
}

/**
 * Adds a value to an object under an unknown key. The new value may replace any old value that
 * isn't a method. A method is replaced only by a value that is neither plain data nor a method.
 *
 * @returns A function that restores the object.
 */
export function fillWith(object: Obj, value: Value): () => void {
  const { rest, items } = object;
  const before = [...object.props];
  const replaces = (old: Value) =>
    old.t !== 'accessor' && !(isCallable(old) && (isJson(value) || isCallable(value)));
  for (const [key, old] of before) if (replaces(old)) object.props.set(key, join(old, value));
  object.items = items.map((old) => (replaces(old) ? join(old, value) : old));
  object.rest = rest === undefined ? value : join(rest, value);
  return () => {
    for (const [key, old] of before) object.props.set(key, old);
    [object.rest, object.items] = [rest, items];
  };
}

/** Returns true for plain data, and for the tool's arguments, which are JSON. */
const isJson = (value: Value): boolean => isData(value) || argumentsIn(tagsOf(value)).length > 0;

const isState = (tag: string): boolean => tag.startsWith('state:');
/** Returns the place in memory that a value was last read from. */
export const stateOf = (value: Value): string | undefined =>
  tagsOf(value).findLast(isState)?.slice(6);
export const isPartial = (value: Value): boolean =>
  value.t === 'const' && typeof value.v === 'string' && value.v.includes(HOLE);
/** Returns true for a constant that will be the same in the next call. */
export const isFixed = (value: Value): value is Const =>
  value.t === 'const' && !isPartial(value) && !value.tags.some(isState);
export const isNothing = (value: Value): boolean =>
  value.t === 'const' && (value.v === undefined || value.v === null);

/** Returns the possible values except undefined and null, unless there are no others. */
export function solid(value: Value): readonly Value[] {
  const all = options(value);
  return all.length === 1 ? all : all.filter((one) => !isNothing(one));
}

/** Returns true for a truthy value, false for a falsy value, and undefined if both are possible. */
export function truth(value: Value): boolean | undefined {
  if (value.t === 'unknown') return undefined;
  if (value.t === 'union') {
    const [first, ...more] = new Set(value.of.map(truth));
    return more.length === 0 ? first : undefined;
  }
  if (value.t !== 'const') return true;
  if (value.tags.some(isState) || value.v === HOLE) return undefined;
  return Boolean(value.v);
}

/** Returns a value's string, with holes for unknown parts. */
export function textOf(value: Value): string {
  if (value.t === 'const') return String(value.v);
  if (value.t === 'obj' && value.kind === 'array' && value.items.length <= 50)
    return value.items.map(textOf).join(',');
  return HOLE;
}

/** Returns the strings that a value may be. */
export const textsOf = (value: Value): readonly string[] =>
  options(value).flatMap((one) => (one.t === 'const' && typeof one.v === 'string' ? [one.v] : []));

/**
 * Converts a value to a constant for the tables of known calls. An unknown value becomes undefined.
 */
export function toPlain(value: Value, depth = 4): KnownValue {
  if (value.t === 'const')
    return typeof value.v === 'bigint' || isPartial(value) ? undefined : value.v;
  if (value.t !== 'obj' || depth === 0) return undefined;
  if (value.kind === 'array')
    return value.items.slice(0, 100).map((item) => toPlain(item, depth - 1));
  return value.kind === 'object'
    ? Object.fromEntries(
        [...value.props]
          .slice(0, 100)
          .filter(([key]) => key !== '__proto__')
          .map(([key, one]) => [key, toPlain(one, depth - 1)]),
      )
    : undefined;
}

export const isCallable = (value: Value): boolean =>
  value.t === 'fn' || value.t === 'host' || (value.t === 'union' && value.of.some(isCallable));

/** Converts a value to a property name. Returns undefined unless it's a single known string. */
export function keyOf(value: Value): string | undefined {
  if (value.t === 'native' && value.path[0] === 'Symbol' && value.path.length === 2)
    return `@@${value.path[1]}`;
  return value.t !== 'const' || isPartial(value) ? undefined : String(value.v);
}

/**
 * Returns true if two values are the same, false if they differ, and undefined if that's unknown.
 * The platform is assumed not to be Windows.
 */
export function isSame(left: Value, right: Value): boolean | undefined {
  if (isFixed(left) && isFixed(right)) return left.v === right.v;
  const [one, other] = isFixed(left) ? [left, right] : [right, left];
  if (!isFixed(one)) return left === right && left.t !== 'unknown' ? true : undefined;
  const isMade = /^(?:obj|fn|class|host)$/u.test(other.t);
  return isMade || (one.v === 'win32' && tagsOf(other).includes('platform')) ? false : undefined;
}

/**
 * Applies an operator to two values. Computes numbers. For `+`, joins strings and keeps their
 * holes.
 */
export function operate(operator: string, left: Value, right: Value): Value {
  const tags = allTags([left, right]);
  const all = options(left).flatMap((a) =>
    options(right).map((b): Value => {
      const [one, other] = [a, b].map((each) => (isFixed(each) ? each.v : undefined));
      if (typeof one === 'number' && typeof other === 'number')
        return calculated(operator, one, other, tags);
      const isText = [a, b].some((each) => each.t === 'const' && typeof each.v === 'string');
      return operator === '+' && isText ? textual(textOf(a) + textOf(b), tags) : unknown(tags);
    }),
  );
  return join(...all.slice(0, MAX_UNION));
}

function calculated(operator: string, left: number, right: number, tags: Tags): Value {
  switch (operator) {
    case '+':
      return constant(left + right, tags);
    case '-':
      return constant(left - right, tags);
    case '<':
      return constant(left < right, tags);
    case '>':
      return constant(left > right, tags);
    case '<=':
      return constant(left <= right, tags);
    case '>=':
      return constant(left >= right, tags);
    default:
      return unknown(tags);
  }
}
