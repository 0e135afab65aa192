import { PURE, iterate, runCallbacks } from './callbacks.js';
import { mapMethod } from './collections.js';
import type { Machine, Place } from './machine.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  constant,
  deepTags,
  isCallable,
  isFixed,
  isPartial,
  join,
  keyOf,
  mergeTags,
  options,
  tagsOf,
  textOf,
  truth,
  unknown,
  unknownLike,
  unread,
  withTags,
  type Value,
} from './values.js';

const TEXT_METHODS = new Set(
  'toLowerCase toUpperCase trim trimStart trimEnd slice substring substr concat charAt padStart padEnd split replace replaceAll startsWith endsWith includes indexOf lastIndexOf toString at'.split(
    ' ',
  ),
);

/** Returns true for an argument with which a method of a text stays short and throws nothing. */
const isSmall = (value: unknown): boolean =>
  typeof value === 'number'
    ? Math.abs(value) < 20_000
    : typeof value === 'string'
      ? value.length < 2_000
      : value === undefined;

export function textMethod(
  m: Machine,
  text: Value & { t: 'const' },
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  if (typeof text.v !== 'string') return PURE.has(key) ? unknown(text.tags) : undefined;
  const tags = mergeTags(text.tags, ...args.map(tagsOf));
  const [first] = args;
  if (
    key === 'startsWith' &&
    isPartial(text) &&
    first !== undefined &&
    isFixed(first) &&
    text.v.indexOf(HOLE) >= String(first.v).length
  )
    return constant(text.v.startsWith(String(first.v)), tags);
  const easy =
    key === 'trim' || key === 'toLowerCase' || key === 'toUpperCase' || key === 'toString';
  if (
    TEXT_METHODS.has(key) &&
    (!isPartial(text) || easy) &&
    args.every((arg) => isFixed(arg) && isSmall(arg.v)) &&
    text.v.length < 20_000
  ) {
    const result: unknown = (text.v as unknown as Record<string, (...given: unknown[]) => unknown>)[
      key
    ]?.(...args.map((arg) => (arg as { v: unknown }).v));
    if (Array.isArray(result))
      return m.object(
        'array',
        (result as string[]).slice(0, 500).map((part) => constant(part, tags)),
      );
    if (
      typeof result === 'string' ||
      typeof result === 'number' ||
      typeof result === 'boolean' ||
      result === undefined
    )
      return constant(result, tags);
  }
  if (key === 'split' && isPartial(text) && first !== undefined && isFixed(first))
    return m.object(
      'array',
      text.v.split(String(first.v)).map((part) => constant(part, tags)),
    );
  if (key === 'concat') return constant(text.v + args.map(textOf).join(''), tags);
  if (key === 'replace' || key === 'replaceAll') runCallbacks(m, key, args, [unknown(tags)], place);
  return PURE.has(key) || TEXT_METHODS.has(key) ? unknown(tags) : undefined;
}

/** Calls a function of the language itself, as `Object.entries`. Undefined when it is not one that matters here. */
export function globalCall(
  m: Machine,
  path: readonly string[],
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second = UNDEFINED, third = UNDEFINED] = args;
  const pairs = (value: Value): readonly (readonly [string, Value])[] =>
    options(value).flatMap((one) => {
      if (one.t === 'obj' && one.kind === 'array')
        return one.items.map((item, index) => [String(index), item] as const);
      return one.t === 'obj' || one.t === 'class' || one.t === 'fn'
        ? [...one.props.keys()].map((key) => [key, m.read(one, key, place)] as const)
        : [];
    });
  const tail = (value: Value): readonly Value[] =>
    options(value).flatMap((one) =>
      one.t === 'obj'
        ? one.rest === undefined
          ? []
          : [one.rest]
        : one.t === 'unknown'
          ? [unknownLike(one)]
          : [],
    );
  if (first.t === 'native' && /^Object\.(?:values|entries)$/u.test(path.join('.')))
    return unread(`a computed member of ${first.module}`);
  switch (path.join('.')) {
    case 'Object.keys':
    case 'Object.getOwnPropertyNames':
      return m.object('array', [
        ...pairs(first).map(([key]) => constant(key)),
        ...tail(first).map((one) => unknown(tagsOf(one))),
      ]);
    case 'Object.values':
      return m.object('array', [...pairs(first).map(([, value]) => value), ...tail(first)]);
    case 'Object.entries':
      return m.object('array', [
        ...pairs(first).map(([key, value]) => m.object('array', [constant(key), value])),
        ...tail(first).map((one) => m.object('array', [unknown(tagsOf(one)), one])),
      ]);
    case 'Object.fromEntries': {
      const object = m.object();
      for (const pair of iterate(m, first) ?? []) {
        const [key, value] = pair.t === 'obj' && pair.kind === 'array' ? pair.items : [];
        const name = key === undefined ? undefined : keyOf(key);
        if (name === undefined) object.rest = join(object.rest ?? UNKNOWN, value ?? UNKNOWN);
        else m.write(object, name, value ?? UNDEFINED, place, { making: true });
      }
      return object;
    }
    case 'Object.assign':
      for (const source of args.slice(1)) {
        for (const [key, value] of pairs(source)) m.write(first, key, value, place);
        for (const value of tail(source))
          if (first.t === 'obj' && first.born === m.epoch) m.fill(first, value, place, 'assign');
      }
      return first;
    case 'Object.freeze':
    case 'Object.seal':
    case 'Object.preventExtensions':
    case 'structuredClone':
    case 'Promise.resolve':
    case 'Object':
    case 'Object.setPrototypeOf':
      return first;
    case 'Object.create': {
      const object = m.object();
      object.proto = first;
      return object;
    }
    case 'Object.getPrototypeOf':
      return UNKNOWN;
    case 'Object.defineProperty': {
      const descriptor = third.t === 'obj' ? third : undefined;
      const key = keyOf(second);
      if (descriptor === undefined || key === undefined) return first;
      const get = descriptor.props.get('get');
      m.write(
        first,
        key,
        get === undefined
          ? (descriptor.props.get('value') ?? UNKNOWN)
          : { t: 'accessor', get, set: descriptor.props.get('set') },
        place,
        { making: true, lazily: true },
      );
      return first;
    }
    case 'Object.defineProperties':
    case 'Object.getOwnPropertyDescriptor':
      return path[1] === 'defineProperties'
        ? first
        : second.t === 'const' && first.t === 'obj'
          ? first.props.has(String(second.v))
            ? m.object(
                'object',
                [],
                [
                  ['get', UNDEFINED],
                  ['value', m.read(first, String(second.v), place)],
                ],
              )
            : UNDEFINED
          : UNKNOWN;
    case 'Array.isArray':
      return first.t === 'obj'
        ? constant(first.kind === 'array')
        : first.t === 'const' || first.t === 'fn'
          ? constant(false)
          : unknown(tagsOf(first));
    case 'Array.from': {
      const items = iterate(m, first) ?? [UNKNOWN];
      return m.object(
        'array',
        isCallable(second)
          ? items.map((item, index) => m.invoke(second, UNDEFINED, [item, constant(index)], place))
          : items,
      );
    }
    case 'Array.of':
      return m.object('array', args);
    case 'Array':
      return m.object('array', []);
    case 'Promise.all':
    case 'Promise.allSettled': {
      const items = iterate(m, first) ?? [UNKNOWN];
      return m.object(
        'array',
        path[1] === 'all'
          ? items
          : items.map((value) =>
              m.object(
                'object',
                [],
                [
                  ['status', DATA],
                  ['value', value],
                  ['reason', DATA],
                ],
              ),
            ),
      );
    }
    case 'Promise.race':
    case 'Promise.any':
      return join(...(iterate(m, first) ?? [UNKNOWN]));
    case 'Promise': {
      const got: Value[] = [];
      const take: Value = {
        t: 'host',
        call: (given) => {
          got.push(given[0] ?? UNDEFINED);
          return UNDEFINED;
        },
      };
      m.invoke(first, UNDEFINED, [take, { t: 'host', call: () => UNDEFINED }], place);
      return got.length === 0 ? UNKNOWN : join(...got);
    }
    case 'JSON.stringify':
      pairs(first);
      runCallbacks(m, 'stringify', args.slice(1), [DATA, DATA], place);
      return constant(
        first.t === 'const' ? JSON.stringify(first.v ?? null) : HOLE,
        mergeTags(deepTags(first), m.touch(first)),
      );
    case 'JSON.parse': {
      runCallbacks(m, 'parse', args.slice(1), [DATA, DATA], place);
      if (!isFixed(first) || typeof first.v !== 'string') return unknown(tagsOf(first));
      try {
        return fromData(m, JSON.parse(first.v));
      } catch {
        return DATA;
      }
    }
    case 'String':
    case 'Symbol':
    case 'Symbol.for':
      return args.length === 0
        ? constant('')
        : first.t === 'const'
          ? constant(String(first.v), first.tags)
          : constant(HOLE, deepTags(first));
    case 'Boolean': {
      const verdict = truth(first);
      return verdict === undefined ? unknown(tagsOf(first)) : constant(verdict, tagsOf(first));
    }
    case 'Number':
    case 'parseInt':
    case 'parseFloat':
      return isFixed(first) && typeof first.v !== 'bigint'
        ? constant(Number(first.v), first.tags)
        : unknown(tagsOf(first));
    case 'encodeURIComponent':
    case 'encodeURI':
    case 'decodeURIComponent':
    case 'BigInt':
      return withTags(constant(first.t === 'const' ? String(first.v) : HOLE), tagsOf(first));
    case 'Map':
    case 'WeakMap': {
      const map = m.object('map');
      for (const pair of args.length === 0 ? [] : (iterate(m, first) ?? []))
        if (pair.t === 'obj') mapMethod(m, map, 'set', pair.items, place);
      return map;
    }
    case 'Set':
    case 'WeakSet':
      return m.object('set', args.length === 0 ? [] : (iterate(m, first) ?? [UNKNOWN]));
    case 'URL':
      return constant(
        textOf(second) !== 'undefined' && args.length > 1 && !/^[a-z]+:/u.test(textOf(first))
          ? `${textOf(second).replace(/\/+$/u, '')}/${textOf(first).replace(/^\/+/u, '')}`
          : textOf(first),
        mergeTags(...args.map(tagsOf)),
      );
    // What the traps of a proxy do is not followed: whatever is asked of it is unknown.
    case 'Proxy':
      m.unknownCall('a proxy is made');
      return join(first, unread('a proxy'));
    case 'Error':
    case 'TypeError':
    case 'RangeError':
      return m.object('object', [], [['message', first]]);
    default:
      if (path.length > 1) runCallbacks(m, path.at(-1) ?? '', args, [UNKNOWN, UNKNOWN], place);
      if (
        path.length > 1 &&
        /^(Math|Date|Number|String|Buffer|Intl|BigInt|Symbol|Atomics|performance|crypto|console|Array|Object|Promise|JSON)$/u.test(
          path[0] ?? '',
        )
      )
        return path[0] === 'console' || path[0] === 'Date'
          ? DATA
          : unknown(mergeTags(...args.map(tagsOf)));
      return undefined;
  }
}

/** Returns plain data as the values of the analysis. */
export function fromData(m: Machine, data: unknown, depth = 30): Value {
  m.step();
  if (
    data === null ||
    typeof data === 'string' ||
    typeof data === 'number' ||
    typeof data === 'boolean'
  )
    return constant(data);
  if (depth === 0 || typeof data !== 'object') return DATA;
  if (Array.isArray(data))
    return m.object(
      'array',
      data.slice(0, 1_000).map((item) => fromData(m, item, depth - 1)),
    );
  return m.object(
    'object',
    [],
    Object.entries(data).map(([key, value]) => [key, fromData(m, value, depth - 1)] as const),
  );
}

/** Texts of paths, which are known as far as their parts are. */
export function pathCall(path: readonly string[], args: readonly Value[]): Value | undefined {
  const tags = mergeTags(...args.map(tagsOf));
  const name = path.at(-1);
  if (name === 'join' || name === 'resolve')
    return constant(args.map(textOf).join('/').slice(0, 4_000), tags);
  if (name === 'basename' && args[0] !== undefined)
    return constant(textOf(args[0]).split('/').at(-1) ?? HOLE, tags);
  return name === 'sep'
    ? constant('/')
    : name === 'normalize' || name === 'dirname'
      ? constant(args[0] === undefined ? HOLE : `${textOf(args[0])}`, tags)
      : unknown(tags);
}
