import { wordsIn } from '../known/known-value.js';
import { CAUGHT, PERHAPS, type Machine } from './machine.js';
import { perhaps } from './uncertain-words.js';
import {
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  contents,
  isCallable,
  isFixed,
  join,
  options,
  unknownLike,
  type Place,
  type Value,
} from './values.js';

/**
 * Methods of strings, arrays, dates, headers and similar values that change nothing outside the
 * value. These methods run their callbacks at once.
 */
export const PURE: ReadonlySet<string> = new Set(
  wordsIn(
    'map filter forEach find findIndex findLast some every reduce reduceRight flatMap flat concat slice join includes indexOf lastIndexOf keys values entries at split trim trimStart trimEnd toLowerCase toUpperCase ' +
      'toString toISOString toLocaleString toLocaleLowerCase valueOf toJSON toFixed replace replaceAll startsWith endsWith substring substr padStart padEnd repeat charAt charCodeAt codePointAt match matchAll test exec search localeCompare normalize ' +
      'hasOwnProperty getTime getFullYear getMonth getDate getHours getMinutes getSeconds toSorted toReversed with isPrototypeOf has ' +
      'isFile isDirectory isSymbolicLink isFIFO isSocket isBlockDevice isCharacterDevice json text arrayBuffer blob bytes subarray readUInt8 readUInt32BE equals',
  ),
);
const LATER =
  /^(?:on|once|(?:add|prepend)Listener|addEventListener|subscribe|setTimeout|setInterval|watch|watchFile|onExit|onClose|onError)$/u;
/** Returns true if a function runs its callbacks later, for example after an event. */
export const runsLater = (name: string): boolean => LATER.test(name);

/** Calls the functions that are passed to code that isn't followed. */
export function runCallbacks(
  m: Machine,
  name: string,
  args: readonly Value[],
  given: readonly Value[],
  place: Place,
): Value {
  for (const arg of args) if (!isCallable(arg)) m.unread(arg);
  const results = args
    .filter(isCallable)
    .map((arg) =>
      m.under(runsLater(name) ? PERHAPS : undefined, () => m.invoke(arg, UNKNOWN, given, place)),
    );
  return results.length === 0 ? UNKNOWN : join(...results);
}

/**
 * Calls a promise method. A promise is represented by the value that it resolves to. Returns
 * undefined for other methods.
 */
export function promiseMethod(
  m: Machine,
  value: Value,
  key: string,
  [first = UNDEFINED, second = UNDEFINED]: readonly Value[],
  place: Place,
): Value | undefined {
  const run = (fn: Value, given: readonly Value[]): Value =>
    fn.t === 'const' ? value : m.invoke(fn, UNDEFINED, given, place);
  if (key === 'then') {
    m.under(CAUGHT, () => run(second, [DATA]));
    return run(first, [value]);
  }
  if (key === 'catch')
    return join(
      value,
      m.under(CAUGHT, () => run(first, [DATA])),
    );
  if (key !== 'finally') return undefined;
  m.leave(() => run(first, []));
  return value;
}

/** Returns the items that a loop over a value visits. */
export function iterate(m: Machine, value: Value): readonly Value[] {
  const all = options(value);
  const items = all.flatMap((one) => itemsOf(m, one));
  return all.length > 1 ? items.map((item) => perhaps(item)) : items;
}

function itemsOf(m: Machine, one: Value): readonly Value[] {
  if (one.t === 'const') {
    if (typeof one.v !== 'string') return [];
    return isFixed(one) && one.v.length < 200
      ? [...one.v].map((char) => constant(char))
      : [unknownLike(one)];
  }
  if (one.t !== 'obj' || one.kind === 'object') return [unknownLike(one)];
  const all =
    one.kind === 'map'
      ? [
          ...[...one.props].map(([key, item]) => m.array([constant(key), item])),
          ...(one.rest === undefined ? [] : [m.array([DATA, one.rest])]),
        ]
      : contents(one);
  return (all.length === 0 && m.epoch > one.born ? [UNKNOWN] : all).map((item) =>
    item.t === 'obj' && one.kind === 'map'
      ? m.array(item.items.map((part) => m.readContents(one, part)))
      : m.readContents(one, item),
  );
}
