import { PURE, iterate, runCallbacks } from './callbacks.js';
import type { Machine, Place } from './machine.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  constant,
  contents,
  isFixed,
  join,
  keyOf,
  mergeTags,
  options,
  tagsOf,
  textOf,
  truth,
  unknown,
  unknownLike,
  withTags,
  type Obj,
  type Value,
} from './values.js';

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
