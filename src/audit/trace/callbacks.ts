import type { Machine, Place } from './machine.js';
import {
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  isCallable,
  isFixed,
  join,
  options,
  unknown,
  unknownLike,
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
