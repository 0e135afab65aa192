import type { Node, Module } from './program.js';

/** Where a value comes from: `arg:<name>` of the tool, `env:<name>`, `state:<place>`, `tmp` for temporary paths. */
export type Tags = readonly string[];
type Primitive = string | number | boolean | bigint | null | undefined;

/** The unknown part of a text that is known otherwise, as in `https://host/<hole>/items`. */
export const HOLE = '\u0000';

interface Const {
  readonly t: 'const';
  readonly v: Primitive;
  readonly tags: Tags;
}
/** `data`: texts, numbers, lists and the like, as the language, Node and JSON give them; their methods do nothing outside. */
interface Unknown {
  readonly t: 'unknown';
  readonly tags: Tags;
  readonly data: boolean;
}
interface Union {
  readonly t: 'union';
  readonly of: readonly Value[];
}
/** An object, array, Map, Set or class instance that the code makes. `rest` joins what stands under unknown keys. */
export interface Obj {
  readonly t: 'obj';
  readonly id: number;
  readonly kind: 'object' | 'array' | 'map' | 'set';
  readonly props: Map<string, Value>;
  items: Value[];
  rest: Value | undefined;
  /** True for a list of which some items may not be there. */
  open: boolean;
  cls: ClassValue | undefined;
  proto: Value | undefined;
  readonly born: number;
  readonly depth: number;
}
export interface Fn {
  readonly t: 'fn';
  readonly id: number;
  readonly node: Node;
  readonly scope: Scope;
  readonly module: Module;
  readonly home: ClassValue | undefined;
  readonly name: string;
  readonly props: Map<string, Value>;
  readonly bound: { readonly self: Value; readonly args: readonly Value[] } | undefined;
}
export interface ClassValue {
  readonly t: 'class';
  readonly id: number;
  readonly node: Node;
  readonly scope: Scope;
  readonly module: Module;
  readonly parent: Value | undefined;
  readonly props: Map<string, Value>;
  readonly methods: Map<string, Value>;
}
interface Accessor {
  readonly t: 'accessor';
  readonly get: Value | undefined;
  readonly set: Value | undefined;
}
/** A value that is read when it is asked for, as an import. */
interface Lazy {
  readonly t: 'lazy';
  readonly read: () => Value;
}
/** A member of a Node builtin, or of the language's globals (module `global`). `of` is what was called or made to get it. */
export interface Native {
  readonly t: 'native';
  readonly module: string;
  readonly path: readonly string[];
  readonly args: readonly Value[];
}
/** A member of a package outside the subject, or what its calls return. */
export interface External {
  readonly t: 'external';
  readonly pkg: string;
  readonly path: readonly string[];
  readonly args: readonly Value[];
  /** For a schema of arguments: its fields, and for a field its default and that it may be missing. */
  readonly shape?: Obj | undefined;
  readonly fallback?: Value | undefined;
  readonly optional?: boolean;
}
/** A function of the analysis itself, as the `resolve` of a promise. */
interface Host {
  readonly t: 'host';
  readonly call: (args: readonly Value[]) => Value;
}
export type Value =
  Const | Unknown | Union | Obj | Fn | ClassValue | Accessor | Lazy | Native | External | Host;

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
/** One run of a function: its `this`, what it returned, and the class whose method it is. */
export interface Frame {
  readonly self: Value;
  readonly home: ClassValue | undefined;
  readonly args: readonly Value[];
  returns: Value[];
  yields: Value[];
  readonly making?: boolean;
}

const MAX_UNION = 12;
const MAX_TAGS = 24;
const NO_TAGS: Tags = [];

/** Globals of other places in which code runs: here they are not. */
export const ELSEWHERE = new Set([
  'Bun',
  'Deno',
  'window',
  'document',
  'EdgeRuntime',
  'WorkerGlobalScope',
  'importScripts',
  'self',
]);

/** Built-in modules whose functions act outside. */
export const ACTING = new Set([
  'fs',
  'fs/promises',
  'child_process',
  'http',
  'https',
  'net',
  'tls',
  'dgram',
  'vm',
  'worker_threads',
  'process',
  'sqlite',
]);

export const UNDEFINED: Const = { t: 'const', v: undefined, tags: NO_TAGS };
/** Anything at all: what its methods do is not known. */
export const UNKNOWN: Unknown = { t: 'unknown', tags: NO_TAGS, data: false };
export const DATA: Unknown = { t: 'unknown', tags: NO_TAGS, data: true };

export const constant = (v: Primitive, tags: Tags = NO_TAGS): Const => ({ t: 'const', v, tags });
/** Returns data of which only the sources are known, or with `data: false` anything at all. */
export const unknown = (tags: Tags = NO_TAGS, data = true): Unknown =>
  tags.length === 0 ? (data ? DATA : UNKNOWN) : { t: 'unknown', tags, data };

/** Returns true for plain data, whose methods are those of the language. */
export function isData(value: Value): boolean {
  if (value.t === 'unknown') return value.data;
  return value.t === 'const' || (value.t === 'union' && value.of.every(isData));
}

/** Returns something unknown that is data only if all the values are. */
export const unknownLike = (...values: readonly Value[]): Unknown =>
  unknown(mergeTags(...values.map(tagsOf)), values.every(isData));

export function mergeTags(...lists: readonly Tags[]): Tags {
  const full = lists.filter((list) => list.length > 0);
  return full.length < 2 ? (full[0] ?? NO_TAGS) : [...new Set(full.flat())].slice(0, MAX_TAGS);
}

/** Returns the tags of a value itself; `deepTags` looks inside objects. */
export function tagsOf(value: Value): Tags {
  if (value.t === 'const' || value.t === 'unknown') return value.tags;
  return value.t === 'union' ? mergeTags(...value.of.map(tagsOf)) : NO_TAGS;
}

export function deepTags(value: Value, depth = 4, seen = new Set<Value>()): Tags {
  if (value.t !== 'obj')
    return value.t === 'union'
      ? mergeTags(...value.of.map((one) => deepTags(one, depth, seen)))
      : tagsOf(value);
  if (depth === 0 || seen.has(value) || seen.size > 200) return NO_TAGS;
  seen.add(value);
  return mergeTags(...contents(value).map((one) => deepTags(one, depth - 1, seen)));
}

export function withTags(value: Value, tags: Tags): Value {
  if (tags.length === 0) return value;
  if (value.t === 'const') return constant(value.v, mergeTags(value.tags, tags));
  if (value.t === 'unknown') return unknown(mergeTags(value.tags, tags), value.data);
  return value.t === 'union'
    ? { t: 'union', of: value.of.map((one) => withTags(one, tags)) }
    : value;
}

/** Returns everything that an object holds. */
export const contents = (of: Obj): readonly Value[] => [
  ...of.items,
  ...of.props.values(),
  ...(of.rest === undefined ? [] : [of.rest]),
];

/** Returns the values that a value may be. */
export const options = (value: Value): readonly Value[] =>
  value.t === 'union' ? value.of : value.t === 'lazy' ? options(value.read()) : [value];

export function join(...values: readonly Value[]): Value {
  const all: Value[] = [];
  for (const value of values.flatMap((one) => options(one))) {
    const same = all.findIndex(
      (one) =>
        one === value ||
        (one.t === 'unknown' && value.t === 'unknown' && one.data === value.data) ||
        (one.t === 'const' && value.t === 'const' && one.v === value.v),
    );
    if (same < 0) all.push(value);
    else all[same] = withTags(all[same] as Value, tagsOf(value));
  }
  if (all.length === 0) return UNDEFINED;
  if (all.length === 1) return all[0] as Value;
  return all.length <= MAX_UNION
    ? { t: 'union', of: all }
    : { t: 'union', of: [...all.slice(0, MAX_UNION - 1), unknownLike(...all)] };
}

const isPart = (tag: string): boolean => tag.startsWith('state:');
export const isPartial = (value: Value): boolean =>
  value.t === 'const' && typeof value.v === 'string' && value.v.includes(HOLE);
/** Returns true for a constant whose value cannot be another one at the next call. */
export const isFixed = (value: Value): value is Const =>
  value.t === 'const' && !isPartial(value) && !value.tags.some(isPart);

/** Returns what a test of the value gives, undefined when both is possible. */
export function truth(value: Value): boolean | undefined {
  switch (value.t) {
    case 'const':
      return value.tags.some(isPart)
        ? undefined
        : isPartial(value)
          ? (value.v as string).length > 1
            ? true
            : undefined
          : Boolean(value.v);
    case 'unknown':
      return undefined;
    case 'lazy':
      return truth(value.read());
    case 'union': {
      const all = new Set(value.of.map(truth));
      return all.size === 1 ? [...all][0] : undefined;
    }
    default:
      return true;
  }
}

/** Returns a value's text, with holes where it is not known. */
export function textOf(value: Value): string {
  if (value.t === 'const') return String(value.v);
  if (value.t === 'obj' && value.kind === 'array' && value.items.length <= 50)
    return value.items.map(textOf).join(',');
  return HOLE;
}

/** Returns the strings that a value may be; none when one of them is not known at all. */
export const textsOf = (value: Value): readonly string[] =>
  options(value).flatMap((one) => (one.t === 'const' && typeof one.v === 'string' ? [one.v] : []));

/** A constant as it is handed to the tables of known calls. Undefined stands for what is not known. */
export type Plain =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly Plain[]
  | { readonly [key: string]: Plain };

export function toPlain(value: Value, depth = 4): Plain {
  switch (value.t) {
    case 'const':
      return typeof value.v === 'bigint' || isPartial(value) ? undefined : value.v;
    case 'lazy':
      return toPlain(value.read(), depth);
    case 'obj':
      if (depth === 0) return undefined;
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
    default:
      return undefined;
  }
}

/** The value of a computed name: nothing is known of it, and calling it is told. */
export const unread = (what: string): Value => unknown([`unread:${what}`], false);

export const isCallable = (value: Value): boolean =>
  value.t === 'fn' || value.t === 'host' || (value.t === 'union' && value.of.some(isCallable));

/** Returns the key that a value is as a property's name, undefined when it is not one text. */
export function keyOf(value: Value): string | undefined {
  const [one, ...more] = options(value);
  if (
    one?.t === 'native' &&
    one.module === 'global' &&
    one.path[0] === 'Symbol' &&
    one.path.length === 2
  )
    return `@@${one.path[1]}`;
  if (one === undefined || more.length > 0 || one.t !== 'const') return undefined;
  const text = String(one.v);
  return text.includes('\u0000') ? undefined : text;
}

/** Returns true for two values that are the same, false for two that are not. Systems other than Windows are looked at. */
export const isSame = (left: Value, right: Value): boolean | undefined =>
  (tagsOf(left).includes('platform') && isFixed(right) && right.v === 'win32') ||
  (tagsOf(right).includes('platform') && isFixed(left) && left.v === 'win32')
    ? false
    : isFixed(left) && isFixed(right)
      ? left.v === right.v
      : left === right && left.t !== 'unknown'
        ? true
        : undefined;

export const isNothing = (value: Value): boolean =>
  value.t === 'const' && (value.v === undefined || value.v === null);
/** Returns false for two values that are certainly not the same, undefined when that is not known. */
export function differs(left: Value, right: Value): boolean | undefined {
  const made = (value: Value): boolean =>
    value.t !== 'unknown' && value.t !== 'const' && value.t !== 'external' && value.t !== 'native';
  return (made(left) && isFixed(right)) || (made(right) && isFixed(left)) ? false : undefined;
}

export function plus(left: Value, right: Value, tags: readonly string[]): Value {
  if (isFixed(left) && isFixed(right) && typeof left.v === 'number' && typeof right.v === 'number')
    return constant(left.v + right.v, tags);
  const isText = (value: Value): boolean => value.t === 'const' && typeof value.v === 'string';
  const one = (a: Value, b: Value): Value =>
    isText(a) || isText(b)
      ? constant((textOf(a) + textOf(b)).slice(0, 20_000), tags)
      : unknown(tags);
  const all = options(left).flatMap((a) => options(right).map((b) => one(a, b)));
  return all.length <= 6
    ? join(...all)
    : isText(options(left)[0] as Value)
      ? constant(textOf(options(left)[0] as Value) + HOLE, tags)
      : unknown(tags);
}

export function arithmetic(
  operator: string,
  left: number,
  right: number,
): number | boolean | undefined {
  switch (operator) {
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left % right;
    case '<':
      return left < right;
    case '>':
      return left > right;
    case '<=':
      return left <= right;
    case '>=':
      return left >= right;
    case '|':
      return left | right;
    case '&':
      return left & right;
    case '<<':
      return left << right;
    default:
      return undefined;
  }
}
