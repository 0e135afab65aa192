import { PURE, iterate, runCallbacks } from './callbacks.js';
import type { Machine } from './machine.js';
import { isSure } from './uncertain-words.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  allTags,
  constant,
  contents,
  isFixed,
  isNothing,
  join,
  keyOf,
  options,
  tagsOf,
  textOf,
  textual,
  truth,
  unknown,
  unknownLike,
  withTags,
  type Obj,
  type Place,
  type Value,
} from './values.js';

/** Calls an array method. Returns undefined if arrays have no such method. */
export function arrayMethod(
  m: Machine,
  array: Obj,
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second] = args;
  const items = contents(array).map((item) => m.readContents(array, item));
  const open = array.open || array.rest !== undefined || m.epoch > array.born;
  const results = (): readonly Value[] =>
    items.map((item, index) => m.invoke(first, UNDEFINED, [item, constant(index), array], place));
  const listOf = (values: readonly Value[]): Obj => {
    const list = m.array(values);
    list.open = array.open;
    return list;
  };
  switch (key) {
    case 'push':
    case 'unshift':
      m.push(array, args, place, key);
      return DATA;
    case 'pop':
    case 'shift':
    case 'splice':
    case 'fill':
      m.changedIn(array, place, { call: key, destructive: true, idempotent: false });
      if (key === 'splice' && args.length > 2) {
        m.push(array, args.slice(2), place);
        m.fill(array, join(...args.slice(2)), place, key);
      }
      if (key === 'shift' && !open && items.length > 0 && m.conditions.length <= array.depth)
        return array.items.shift();
      return key === 'splice' ? listOf(items) : join(...items, UNDEFINED);
    case 'forEach':
    case 'map':
      return listOf(results());
    case 'flatMap':
      return listOf(results().flatMap((one) => iterate(m, one)));
    case 'flat':
      return listOf(
        items.flatMap((one) => (one.t === 'obj' && one.kind === 'array' ? one.items : [one])),
      );
    case 'filter': {
      const verdicts = results().map(truth);
      const kept = listOf(items.filter((_, index) => verdicts[index] !== false));
      kept.open ||= verdicts.includes(undefined);
      return kept;
    }
    case 'find':
    case 'findLast': {
      const verdicts = results().map(truth);
      const at = verdicts.indexOf(true);
      const maybe = items.filter((_, index) => verdicts[index] === undefined);
      return at >= 0 && maybe.length === 0 ? items[at] : join(...maybe, items[at] ?? UNDEFINED);
    }
    case 'some':
    case 'every': {
      const verdicts = results();
      const wanted = key === 'some';
      if (verdicts.some((one) => truth(one) === wanted)) return constant(wanted);
      return verdicts.every((one) => truth(one) === !wanted) && !open
        ? constant(!wanted)
        : unknown(allTags([...verdicts, ...items]));
    }
    case 'reduce':
      return (args.length > 1 ? items : items.slice(1)).reduce(
        (sum, item) => m.invoke(first, UNDEFINED, [sum, item, DATA, array], place),
        second ?? items[0] ?? UNDEFINED,
      );
    case 'includes': {
      const known = items.every(isFixed) && isFixed(first);
      const found = items.some((item) => isFixed(item) && isFixed(first) && item.v === first.v);
      if (found && isFixed(first)) m.hit(first.v, place);
      return found || (known && !open) ? constant(found) : unknown(allTags([first, ...items]));
    }
    case 'concat':
      return listOf([
        ...items,
        ...args.flatMap((arg) => (arg.t === 'obj' && arg.kind === 'array' ? contents(arg) : [arg])),
      ]);
    case 'slice':
      return listOf(
        items.slice(
          ...args.map((arg) => (isFixed(arg) && arg.v !== undefined ? Number(arg.v) : undefined)),
        ),
      );
    case 'join': {
      const separator = args.length === 0 ? ',' : isFixed(first) ? String(first.v) : HOLE;
      const textFor = (some: readonly Value[]) =>
        textual(some.map(textOf).join(separator), allTags(items));
      return join(textFor(items), textFor(items.filter((item) => isSure(item, m.conditions))));
    }
    case 'sort':
    case 'toSorted':
    case 'reverse':
    case 'toReversed':
    case 'values':
    case '@@iterator':
      runCallbacks(m, key, args, [join(...items), join(...items)], place);
      return array;
    case 'keys':
      return listOf(items.map((_, index) => constant(index)));
    case 'entries':
      return listOf(items.map((item, index) => m.array([constant(index), item])));
    case 'at':
      return (
        (isFixed(first) && !open ? items.at(Number(first.v)) : undefined) ??
        join(...items, UNDEFINED)
      );
    default:
      if (!PURE.has(key)) return undefined;
      runCallbacks(m, key, args, [join(...items, unknownLike(...items)), DATA, DATA], place);
      return unknown(allTags(items));
  }
}

/** Calls a method of a Map or Set. Returns undefined if the Map or Set has no such method. */
export function mapMethod(
  m: Machine,
  map: Obj,
  key: string,
  args: readonly Value[],
  place: Place,
): Value | undefined {
  const [first = UNDEFINED, second = UNDEFINED] = args;
  const name = keyOf(first);
  const changed = (destructive: boolean): void =>
    m.changedIn(map, place, { call: key, destructive, idempotent: true });
  const all = (): readonly Value[] => contents(map).map((item) => m.readContents(map, item));
  switch (key) {
    case 'add':
      m.push(map, [first], place, key);
      return map;
    case 'set':
      if (name === undefined) m.fill(map, second, place, key, true);
      else {
        changed(false);
        const making = m.epoch === map.born && m.conditions.length <= map.depth;
        m.write(map, name, second, place, making ? 'making' : 'lazily');
      }
      return map;
    case 'get': {
      const found = name === undefined ? undefined : map.props.get(name);
      if (found !== undefined) {
        m.hit(name, place);
        return m.readContents(map, found);
      }
      const others = name === undefined ? contents(map) : [map.rest ?? UNDEFINED];
      return m.epoch > map.born
        ? m.readContents(map, join(...others, UNDEFINED, UNKNOWN))
        : withTags(join(...others, UNDEFINED), tagsOf(first));
    }
    case 'has': {
      const kept = name === undefined ? undefined : map.props.get(name);
      const known =
        (kept !== undefined && !options(kept).some(isNothing)) ||
        (name !== undefined && map.items.some((item) => isFixed(item) && String(item.v) === name));
      if (known) {
        m.hit(name, place);
        return constant(true);
      }
      const isAbsent =
        name !== undefined &&
        map.rest === undefined &&
        m.epoch === map.born &&
        map.items.every(isFixed);
      return m.readContents(map, isAbsent ? constant(false) : unknown(tagsOf(first)));
    }
    case 'delete':
    case 'clear':
      changed(true);
      return DATA;
    case 'forEach':
      for (const item of all()) m.invoke(first, UNDEFINED, [item, DATA, map], place);
      return UNDEFINED;
    case 'values':
      return m.array([...all(), ...(m.epoch > map.born ? [m.readContents(map, UNKNOWN)] : [])]);
    case 'keys':
      return m.array(
        map.kind === 'map' ? [...map.props.keys()].map((one) => constant(one)) : map.items,
      );
    case 'entries':
      return m.array(iterate(m, map));
    default:
      return undefined;
  }
}
