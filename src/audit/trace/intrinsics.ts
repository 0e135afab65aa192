import type { Machine, Place } from './machine.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  constant,
  contents,
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
  type Obj,
  type Value,
} from './values.js';

/** Methods of texts, arrays, dates, headers and the like that change nothing outside; their callbacks run at once. */
export const PURE = new Set(
  (
    'map filter forEach find findIndex findLast some every reduce reduceRight flatMap flat concat slice join includes indexOf lastIndexOf keys values entries at split trim trimStart trimEnd toLowerCase toUpperCase ' +
    'toString toISOString toLocaleString toLocaleLowerCase valueOf toJSON toFixed replace replaceAll startsWith endsWith substring substr padStart padEnd repeat charAt charCodeAt codePointAt match matchAll test exec search localeCompare normalize ' +
    'hasOwnProperty getTime getFullYear getMonth getDate getHours getMinutes getSeconds toSorted toReversed with isPrototypeOf has ' +
    'isFile isDirectory isSymbolicLink isFIFO isSocket isBlockDevice isCharacterDevice json text arrayBuffer blob bytes subarray readUInt8 readUInt32BE equals'
  ).split(' '),
);
const LATER = new Set([
  'on',
  'once',
  'addListener',
  'addEventListener',
  'prependListener',
  'subscribe',
  'setTimeout',
  'setInterval',
  'watch',
  'watchFile',
  'onExit',
  'onClose',
  'onError',
]);
/** Returns true for calls whose callbacks run when something happens, not in the call. */
export const runsLater = (name: string): boolean => LATER.has(name);

const UNCALLED = { tags: [], special: false, kind: 'later' } as const;

/** Calls the functions among the arguments of code that is not followed. */
export function runCallbacks(
  m: Machine,
  name: string,
  args: readonly Value[],
  given: readonly Value[],
  place: Place,
): Value {
  let result: Value | undefined;
  for (const arg of args) {
    if (!isCallable(arg)) {
      m.unread(arg);
      continue;
    }
    const got = m.under(runsLater(name) ? UNCALLED : undefined, () =>
      m.invoke(arg, UNKNOWN, given, place),
    );
    result = result === undefined ? got : join(result, got);
  }
  return result ?? UNKNOWN;
}

/** Calls a method of a promise on a value, which stands for the promise of itself. Undefined for other methods. */
export function promiseMethod(
  m: Machine,
  value: Value,
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first, second] = args;
  const caught = { tags: [], special: false, kind: 'catch' } as const;
  const run = (fn: Value | undefined, given: readonly Value[]): Value =>
    fn === undefined ? UNDEFINED : m.invoke(fn, UNDEFINED, given, place);
  if (key === 'then' && first !== undefined) {
    if (second !== undefined) m.under(caught, () => run(second, [DATA]));
    return first.t === 'const' ? value : run(first, [value]);
  }
  if (key === 'catch' && args.length <= 1)
    return join(
      value,
      m.under(caught, () => run(first, [DATA])),
    );
  if (key !== 'finally') return undefined;
  m.leave(() => run(first, []));
  return value;
}

/** Returns the members that a loop over the value meets. */
export function iterate(m: Machine, value: Value): readonly Value[] | undefined {
  const all: Value[] = [];
  for (const one of options(value)) {
    if (one.t === 'obj' && one.kind !== 'object') {
      if (one.kind === 'map')
        all.push(
          ...[...one.props].map(([key, item]) =>
            m.object('array', [constant(key), m.readContents(one, item)]),
          ),
        );
      else all.push(...one.items.map((item) => m.readContents(one, item)));
      if (one.rest !== undefined)
        all.push(
          one.kind === 'map'
            ? m.object('array', [DATA, m.readContents(one, one.rest)])
            : m.readContents(one, one.rest),
        );
      else if (one.items.length === 0 && one.props.size === 0 && m.epoch > one.born)
        all.push(m.readContents(one, UNKNOWN));
    } else if (one.t === 'const') {
      if (typeof one.v === 'string' && one.v.length < 200 && isFixed(one))
        all.push(...[...one.v].map((char) => constant(char)));
      else if (typeof one.v === 'string') all.push(unknown(one.tags));
    } else {
      all.push(unknownLike(one));
    }
  }
  return all.length > 600 ? undefined : all;
}

const itemsOf = (m: Machine, array: Obj): readonly Value[] =>
  [...array.items, ...(array.rest === undefined ? [] : [array.rest])].map((item) =>
    m.readContents(array, item),
  );

export function arrayMethod(
  m: Machine,
  array: Obj,
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second = UNDEFINED] = args;
  const items = itemsOf(m, array);
  const call = (item: Value, index: number): Value =>
    m.invoke(first, UNDEFINED, [item, constant(index), array], place);
  const open = array.open || array.rest !== undefined || items.some((item) => item.t === 'unknown');
  switch (key) {
    case 'push':
    case 'unshift':
      m.push(array, args, place, key);
      return DATA;
    case 'pop':
    case 'shift':
    case 'splice':
    case 'fill':
    case 'copyWithin':
      if (m.epoch > array.born)
        m.changed(`o${array.id}[]`, place, { call: key, destructive: true, idempotent: false });
      if (key === 'splice') {
        m.push(array, args.slice(2), place, 'push');
        return m.object('array', items);
      }
      return key === 'fill'
        ? m.object(
            'array',
            array.items.map(() => first),
          )
        : key === 'shift' &&
            !open &&
            items.length > 0 &&
            m.epoch === array.born &&
            m.conditions.length <= array.depth
          ? take(array)
          : join(...items, UNDEFINED);
    case 'forEach':
      items.forEach(call);
      return UNDEFINED;
    case 'map': {
      const mapped = m.object('array', items.map(call));
      mapped.open = array.open;
      return mapped;
    }
    case 'flatMap':
      return m.object(
        'array',
        items.map(call).flatMap((one) => iterate(m, one) ?? [UNKNOWN]),
      );
    case 'flat':
      return m.object(
        'array',
        items.flatMap((one) => (one.t === 'obj' && one.kind === 'array' ? one.items : [one])),
      );
    case 'filter': {
      const verdicts = items.map((item, index) => truth(call(item, index)));
      const kept = m.object(
        'array',
        items.filter((_, index) => verdicts[index] !== false),
      );
      kept.open = array.open || verdicts.includes(undefined);
      return kept;
    }
    case 'find':
    case 'findLast': {
      const maybe: Value[] = [];
      for (const [index, item] of items.entries()) {
        const verdict = truth(call(item, index));
        if (verdict === true) return join(...maybe, item);
        if (verdict === undefined) maybe.push(item);
      }
      return join(...maybe, UNDEFINED);
    }
    case 'some':
    case 'every': {
      const verdicts = items.map((item, index) => call(item, index));
      const wanted = key === 'some';
      if (verdicts.some((one) => truth(one) === wanted)) return constant(wanted);
      return verdicts.every((one) => truth(one) === !wanted) && !open && m.epoch === array.born
        ? constant(!wanted)
        : unknown(mergeTags(...verdicts.map(tagsOf), ...items.map(tagsOf)));
    }
    case 'reduce': {
      const rest = args.length > 1 ? items : items.slice(1);
      return rest.reduce<Value>(
        (sum, item) => m.invoke(first, UNDEFINED, [sum, item, DATA, array], place),
        args.length > 1 ? second : (items[0] ?? UNDEFINED),
      );
    }
    case 'includes':
    case 'indexOf': {
      const found = items.some((item) => isFixed(item) && isFixed(first) && item.v === first.v);
      if (found && isFixed(first)) m.hit(first.v, place);
      if (found) return key === 'includes' ? constant(true) : unknown();
      return key === 'includes' && !open && isFixed(first) && items.every(isFixed)
        ? constant(false)
        : unknown(mergeTags(tagsOf(first), ...items.map(tagsOf)));
    }
    case 'concat':
      return m.object(
        'array',
        [
          ...items,
          ...args.flatMap((arg) =>
            arg.t === 'obj' && arg.kind === 'array' ? itemsOf(m, arg) : [arg],
          ),
        ].slice(0, 2_000),
      );
    case 'slice': {
      const from = isFixed(first) ? Number(first.v ?? 0) : 0;
      return m.object(
        'array',
        second === UNDEFINED
          ? items.slice(from)
          : isFixed(second)
            ? items.slice(from, Number(second.v))
            : items.slice(from),
      );
    }
    case 'join':
      return constant(
        items
          .map(textOf)
          .join(isFixed(first) ? String(first.v ?? ',') : HOLE)
          .slice(0, 20_000),
        mergeTags(...items.map(tagsOf)),
      );
    case 'sort':
    case 'toSorted':
      runCallbacks(m, key, args, [join(...items), join(...items)], place);
      return array;
    case 'reverse':
    case 'toReversed':
    case 'values':
    case '@@iterator':
      return key !== 'reverse' && key !== 'toReversed' ? m.object('array', items) : array;
    case 'keys':
      return m.object(
        'array',
        items.map((_, index) => constant(index)),
      );
    case 'entries':
      return m.object(
        'array',
        items.map((item, index) => m.object('array', [constant(index), item])),
      );
    case 'at':
      return isFixed(first) && !open
        ? (items.at(Number(first.v)) ?? UNDEFINED)
        : join(...items, UNDEFINED);
    default:
      if (!PURE.has(key)) return undefined;
      runCallbacks(m, key, args, [join(...items, unknownLike(...items)), DATA, DATA], place);
      return unknown(mergeTags(...items.map(tagsOf)));
  }
}

function take(array: Obj): Value {
  const [first = UNDEFINED, ...rest] = array.items;
  array.items = rest;
  return first;
}

export function mapMethod(
  m: Machine,
  map: Obj,
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second = UNDEFINED] = args;
  const name = keyOf(first);
  const change = (destructive: boolean): void => {
    if (m.epoch > map.born)
      m.changed(`o${map.id}[]`, place, { call: key, destructive, idempotent: true });
  };
  switch (key) {
    case 'set':
    case 'add': {
      const value = key === 'set' ? second : first;
      if (map.kind === 'set') m.push(map, [value], place, 'add');
      else if (name === undefined) m.fill(map, value, place, 'set', true);
      else {
        change(false);
        m.write(map, name, value, place, {
          making: m.epoch === map.born && m.conditions.length <= map.depth,
          lazily: true,
        });
      }
      return map;
    }
    case 'get': {
      const found = name === undefined ? undefined : map.props.get(name);
      if (found !== undefined) {
        m.hit(name, place);
        return m.readContents(map, found);
      }
      const other =
        name === undefined
          ? join(...contents(map), UNDEFINED)
          : map.rest === undefined
            ? UNDEFINED
            : join(map.rest, UNDEFINED);
      return m.epoch > map.born
        ? m.readContents(map, join(other, UNKNOWN))
        : withTags(other, tagsOf(first));
    }
    case 'has': {
      const known =
        name !== undefined &&
        (map.kind === 'map'
          ? map.props.has(name) &&
            !options(map.props.get(name) as Value).some(
              (one) => one.t === 'const' && one.v === undefined,
            )
          : map.items.some((item) => isFixed(item) && String(item.v) === name));
      if (known) m.hit(name, place);
      return known
        ? constant(true)
        : m.readContents(
            map,
            map.rest === undefined &&
              m.epoch === map.born &&
              name !== undefined &&
              map.items.every(isFixed)
              ? constant(false)
              : unknown(tagsOf(first)),
          );
    }
    case 'delete':
    case 'clear':
      change(true);
      return DATA;
    case 'forEach':
      for (const item of contents(map))
        m.invoke(first, UNDEFINED, [m.readContents(map, item), DATA, map], place);
      return UNDEFINED;
    case 'values':
      return m.object(
        'array',
        contents(map)
          .map((item) => m.readContents(map, item))
          .concat(m.epoch > map.born ? [m.readContents(map, UNKNOWN)] : []),
      );
    case 'keys':
      return m.object(
        'array',
        map.kind === 'map' ? [...map.props.keys()].map((one) => constant(one)) : map.items,
      );
    case 'entries':
      return m.object('array', iterate(m, map) ?? []);
    default:
      return undefined;
  }
}

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
