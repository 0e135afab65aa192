import { PURE, iterate, runCallbacks } from './callbacks.js';
import { mapMethod } from './collections.js';
import type { Machine } from './machine.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  allTags,
  constant,
  deepTags,
  isCallable,
  isFixed,
  join,
  keyOf,
  mergeTags,
  options,
  tagsOf,
  textOf,
  textual,
  truth,
  unknown,
  unknownLike,
  unread,
  type Place,
  type Value,
} from './values.js';

/** String methods that are actually run if the string and the arguments are known and short. */
const CALCULATED =
  /^(?:to(?:Lower|Upper)Case|trim(?:Start|End)?|slice|substr(?:ing)?|charAt|split|replace(?:All)?|(?:starts|ends)With|includes|(?:lastI|i)ndexOf|toString|at)$/u;
const OF_PARTS = /^(?:trim|to(?:Lower|Upper)Case|toString)$/u;
const MAX_LENGTH = 2_000;

/** Calls a string method. Returns undefined if strings have no such method. */
export function textMethod(
  m: Machine,
  { v: text, tags: own }: Value & { t: 'const' },
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const tags = mergeTags(own, allTags(args));
  if (typeof text !== 'string') return PURE.has(key) ? unknown(tags) : undefined;
  const plain = args.map((arg) => (isFixed(arg) ? arg.v : HOLE));
  const [first] = plain;
  const isKnown = !text.includes(HOLE) || OF_PARTS.test(key);
  const isSmall = plain.every((arg) => typeof arg !== 'bigint' && String(arg).length < MAX_LENGTH);
  if (key === 'concat') return textual(text + args.map(textOf).join(''), tags);
  if (key === 'startsWith' && text.indexOf(HOLE) >= String(first).length)
    return constant(text.startsWith(String(first)), tags);
  if (key === 'split' && !plain.includes(HOLE) && isSmall)
    return m.array(text.split(String(first)).map((part) => constant(part, tags)));
  if (isKnown && isSmall && CALCULATED.test(key) && !plain.includes(HOLE)) {
    const method = (text as unknown as Record<string, (...given: unknown[]) => unknown>)[key];
    const result = method?.apply(text, plain);
    return constant(result as string, tags);
  }
  if (!PURE.has(key)) return undefined;
  runCallbacks(m, key, args, [unknown(tags)], place);
  return unknown(tags);
}

/**
 * Returns the possible entries of a value. If the key of an entry is unknown, the entry is returned
 * without a key.
 */
function pairsOf(
  m: Machine,
  value: Value,
  place: Place,
): readonly (readonly [string | undefined, Value])[] {
  return options(value).flatMap((one) => {
    if (one.t === 'native') return [[undefined, unread(`a computed member of ${one.module}`)]];
    if (one.t === 'unknown') return [[undefined, unknownLike(one)]];
    if (one.t !== 'obj' && one.t !== 'class' && one.t !== 'fn') return [];
    return [
      ...(one.t === 'obj' ? one.items.map((item, at) => [String(at), item] as const) : []),
      ...[...one.props.keys()].map((key) => [key, m.read(one, key, place)] as const),
      ...(one.t === 'obj' && one.rest !== undefined ? [[undefined, one.rest] as const] : []),
    ];
  });
}

/** Global objects that only create or compute values. */
const CALCULATES =
  /^(?:Math|Date|Number|String|Buffer|Intl|BigInt|Symbol|Atomics|performance|crypto|console|Array|Object|Promise|JSON)$/u;

/**
 * Calls a built-in function, such as `Object.entries`. Returns undefined for functions that need no
 * special treatment.
 */
export function globalCall(
  m: Machine,
  path: readonly string[],
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second = UNDEFINED, third = UNDEFINED] = args;
  const pairs = (): ReturnType<typeof pairsOf> => pairsOf(m, first, place);
  const keyValue = (key: string | undefined, value: Value): Value =>
    key === undefined ? unknown(tagsOf(value)) : constant(key);
  switch (path.join('.')) {
    case 'Object.keys':
    case 'Object.getOwnPropertyNames':
      return m.array(pairs().map(([key, value]) => keyValue(key, value)));
    case 'Object.values':
      return m.array(pairs().map(([, value]) => value));
    case 'Object.entries':
      return m.array(pairs().map(([key, value]) => m.array([keyValue(key, value), value])));
    case 'Object.fromEntries': {
      const object = m.object();
      for (const pair of iterate(m, first)) {
        const [key, value = UNKNOWN] = pair.t === 'obj' ? pair.items : [];
        const name = key === undefined ? undefined : keyOf(key);
        if (name === undefined) m.fill(object, value, place, 'fromEntries');
        else m.write(object, name, value, place, 'making');
      }
      return object;
    }
    case 'Object.assign':
      for (const source of args.slice(1))
        for (const [key, value] of pairsOf(m, source, place))
          if (key !== undefined) m.write(first, key, value, place);
          else if (first.t === 'obj' && first.born === m.epoch)
            m.fill(first, value, place, 'assign');
      return first;
    case 'Object.freeze':
    case 'Object.seal':
    case 'Object.preventExtensions':
    case 'Object.setPrototypeOf':
    case 'Object.defineProperties':
    case 'Object':
    case 'structuredClone':
    case 'Promise.resolve':
      return first;
    case 'Object.create': {
      const object = m.object();
      object.proto = first;
      return object;
    }
    case 'Object.getPrototypeOf':
    case 'Object.getOwnPropertyDescriptor':
      return UNKNOWN;
    case 'Object.defineProperty': {
      const key = keyOf(second);
      if (third.t !== 'obj' || key === undefined) return first;
      const get = third.props.get('get');
      const value: Value =
        get === undefined
          ? (third.props.get('value') ?? UNKNOWN)
          : { t: 'accessor', get: (self, at) => m.invoke(get, self, [], at) };
      m.write(first, key, value, place, 'making');
      return first;
    }
    case 'Array.isArray':
      return join(
        ...options(first).map((one) =>
          one.t === 'obj' || one.t === 'const'
            ? constant(one.t === 'obj' && one.kind === 'array', tagsOf(one))
            : unknown(tagsOf(one)),
        ),
      );
    case 'Array.from': {
      const items = iterate(m, first);
      return m.array(
        isCallable(second)
          ? items.map((item, index) => m.invoke(second, UNDEFINED, [item, constant(index)], place))
          : items,
      );
    }
    case 'Array.of':
      return m.array(args);
    case 'Array':
      return m.array([]);
    case 'Promise.all':
      return m.array(iterate(m, first));
    case 'Promise.allSettled':
      return m.array(
        iterate(m, first).map((value) =>
          m.object([
            ['status', DATA],
            ['value', value],
            ['reason', DATA],
          ]),
        ),
      );
    case 'Promise.race':
    case 'Promise.any':
      return join(...iterate(m, first));
    case 'Promise': {
      const got: Value[] = [];
      const settle = (take: boolean): Value => ({
        t: 'host',
        call: ([value = UNDEFINED]) => {
          if (take) got.push(value);
          return UNDEFINED;
        },
      });
      m.invoke(first, UNDEFINED, [settle(true), settle(false)], place);
      return got.length === 0 ? UNKNOWN : join(...got);
    }
    case 'JSON.stringify':
      pairs();
      runCallbacks(m, 'stringify', args.slice(1), [DATA, DATA], place);
      return constant(
        first.t === 'const' ? JSON.stringify(first.v ?? null) : HOLE,
        mergeTags(deepTags(first), m.touch(first)),
      );
    case 'JSON.parse':
      runCallbacks(m, 'parse', args.slice(1), [DATA, DATA], place);
      try {
        return isFixed(first) ? fromData(m, JSON.parse(String(first.v))) : unknown(tagsOf(first));
      } catch {
        return DATA;
      }
    case 'String':
    case 'Symbol':
    case 'Symbol.for':
    case 'encodeURIComponent':
    case 'encodeURI':
    case 'decodeURIComponent':
    case 'BigInt':
      return args.length === 0
        ? constant('')
        : constant(first.t === 'const' ? String(first.v) : HOLE, deepTags(first));
    case 'Boolean': {
      const verdict = truth(first);
      return verdict === undefined ? unknown(tagsOf(first)) : constant(verdict, tagsOf(first));
    }
    case 'Number':
    case 'parseInt':
    case 'parseFloat':
      return isFixed(first) ? constant(Number(first.v), first.tags) : unknown(tagsOf(first));
    case 'Map':
    case 'WeakMap': {
      const map = m.object([], 'map');
      for (const pair of iterate(m, first))
        if (pair.t === 'obj') mapMethod(m, map, 'set', pair.items, place);
      return map;
    }
    case 'Set':
    case 'WeakSet':
      return m.object([], 'set', iterate(m, first));
    case 'URL': {
      const [url, base] = [first, second].map(textOf) as [string, string];
      const isWhole = second === UNDEFINED || /^[a-z]+:/u.test(url);
      return textual(
        isWhole ? url : `${base.replace(/\/+$/u, '')}/${url.replace(/^\/+/u, '')}`,
        allTags(args),
      );
    }
    // A proxy's traps aren't followed, so everything about the proxy is unknown.
    case 'Proxy':
      m.unknownCall('a proxy is made');
      return join(first, unread('a proxy'));
    case 'Error':
    case 'TypeError':
    case 'RangeError':
      return m.object([['message', first]]);
    default:
      if (path.length < 2) return undefined;
      runCallbacks(m, path.at(-1) ?? '', args, [UNKNOWN, UNKNOWN], place);
      return CALCULATES.test(path[0] ?? '') ? unknown(allTags(args)) : undefined;
  }
}

/** Converts plain data to a value of the analysis. */
export function fromData(m: Machine, data: unknown, depth = 30): Value {
  m.step();
  if (typeof data !== 'object' || data === null) return constant(data as string);
  if (depth === 0) return DATA;
  return Array.isArray(data)
    ? m.array(data.map((item) => fromData(m, item, depth - 1)))
    : m.object(Object.entries(data).map(([key, value]) => [key, fromData(m, value, depth - 1)]));
}

/** Computes a path. Unknown parts of the path become holes. */
export function pathCall(path: readonly string[], args: readonly Value[]): Value {
  const tags = allTags(args);
  const [first] = args.map(textOf);
  switch (path.at(-1)) {
    case 'join':
    case 'resolve':
      return textual(args.map(textOf).join('/'), tags);
    case 'basename':
      return textual(first?.split('/').at(-1) ?? HOLE, tags);
    case 'normalize':
    case 'dirname':
      return textual(first ?? HOLE, tags);
    default:
      return unknown(tags);
  }
}
