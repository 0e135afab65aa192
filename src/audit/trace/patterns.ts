/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import { iterate } from './callbacks.js';
import { nameOfKey } from './declarations.js';
import type { Machine } from './machine.js';
import type { Node } from './program.js';
import {
  UNDEFINED,
  UNKNOWN,
  isFixed,
  join,
  keyOf,
  options,
  tagsOf,
  unknownLike,
  withTags,
  type Binding,
  type Place,
  type Scope,
  type Value,
} from './values.js';

export function lookup(scope: Scope, name: string): Binding | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const found = at.vars.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Returns a property's name, and the value that the name is computed from. If the name is unknown,
 * it's returned as undefined.
 */
export function keyIn(m: Machine, n: Node, s: Scope): readonly [string | undefined, Value] {
  const node: Node = n['property'] ?? n['key'];
  if (n['computed'] !== true) return [nameOfKey(node), UNKNOWN];
  const index = m.evaluate(node, s);
  return [keyOf(index), index];
}

/** Assigns to a variable, a property or a pattern. */
export function assign(
  m: Machine,
  target: Node,
  value: Value,
  s: Scope,
  place: Place,
  lazily = false,
): void {
  if (target.type === 'Identifier') {
    const binding = lookup(s, target['name']);
    if (binding !== undefined) m.assignBinding(binding, value, place, lazily);
  } else if (target.type === 'MemberExpression') {
    const object = m.quietly(() =>
      target['object'].type === 'Super' ? s.frame.self : m.evaluate(target['object'], s),
    );
    const [key] = keyIn(m, target, s);
    m.write(object, key, value, place, lazily ? 'lazily' : 'set');
  } else
    bind(m, target, value, s, (name, one) =>
      assign(m, { ...target, type: 'Identifier', name }, one, s, place),
    );
}

/** Destructures a value with a pattern. */
export function bind(
  m: Machine,
  pattern: Node,
  value: Value,
  s: Scope,
  declare: (name: string, value: Value) => void,
): void {
  const place: Place = { module: s.module, node: pattern };
  const inner = (part: Node, one: Value): void => bind(m, part, one, s, declare);
  switch (pattern.type) {
    case 'Identifier':
      declare(pattern['name'], value);
      return;
    case 'AssignmentPattern': {
      const given = options(value).filter((one) => !(isFixed(one) && one.v === undefined));
      if (given.length > 0 && given.every((one) => one.t !== 'unknown'))
        if (given.length === options(value).length) {
          inner(pattern['left'], value);
          return;
        }
      const usual = m.evaluate(pattern['right'], s, pattern['left'].name ?? '');
      inner(
        pattern['left'],
        withTags(join(...given, usual), given.length > 0 ? tagsOf(value) : []),
      );
      return;
    }
    case 'ObjectPattern': {
      const taken: (string | undefined)[] = [];
      for (const property of pattern['properties'] as Node[]) {
        if (property.type === 'RestElement')
          inner(
            property['argument'],
            tagsOf(value).includes('arg:') ? value : restOf(m, value, taken),
          );
        else {
          const [key, index] = keyIn(m, property, s);
          taken.push(key);
          inner(property['value'], m.get(value, key, index, place));
        }
      }
      return;
    }
    case 'ArrayPattern': {
      const items = value.t === 'obj' ? iterate(m, value) : undefined;
      for (const [index, element] of (pattern['elements'] as (Node | null)[]).entries()) {
        if (element === null) continue;
        const last = items?.at(-1)?.t === 'unknown' ? UNKNOWN : UNDEFINED;
        if (element.type === 'RestElement')
          inner(
            element['argument'],
            items === undefined ? unknownLike(value) : m.array(items.slice(index)),
          );
        else
          inner(
            element,
            items === undefined
              ? m.get(value, String(index), UNKNOWN, place)
              : (items[index] ?? last),
          );
      }
      return;
    }
    case 'TSParameterProperty':
      bind(m, pattern['parameter'], value, s, (name, one) => {
        declare(name, one);
        m.write(s.frame.self, name, one, place, 'making');
      });
      return;
    case 'MemberExpression':
      assign(m, pattern, value, s, place);
      return;
    default:
      inner(pattern['argument'], value);
  }
}

/** Returns a copy of an object without some keys. */
function restOf(m: Machine, value: Value, taken: readonly (string | undefined)[]): Value {
  const all = options(value);
  const rest = m.object();
  if (all.some((one) => one.t !== 'obj' || one.rest !== undefined)) rest.rest = unknownLike(value);
  for (const one of all)
    if (one.t === 'obj')
      for (const [key, item] of one.props) if (!taken.includes(key)) rest.props.set(key, item);
  rest.proto = all.find((one) => one.t === 'native');
  return rest;
}

export const WRAPPERS =
  /^(?:TS(?:As|Satisfies|NonNull|Instantiation)Expression|TSTypeAssertion|(?:Parenthesized|Chain|Await)Expression)$/u;
/**
 * Returns the node inside nodes that don't change its value, such as `await` or a type assertion.
 */
export const unwrapped = (n: Node): Node =>
  WRAPPERS.test(n.type) ? unwrapped(n['expression'] ?? n['argument']) : n;

/**
 * Returns true if only a special input reaches the `then` branch, and any input reaches the `else`
 * branch.
 */
export function isPositive(node: Node): boolean {
  const n = unwrapped(node);
  if (n.type === 'UnaryExpression') return n['operator'] !== '!' || !isPositive(n['argument']);
  if (n.type === 'LogicalExpression') return isPositive(n['left']) || isPositive(n['right']);
  if (n.type !== 'BinaryExpression') return true;
  const isNothing = (side: Node): boolean =>
    side['operator'] === 'void' ||
    side['name'] === 'undefined' ||
    (side.type === 'Literal' && [null, 'undefined', '', false].includes(side['value']));
  return (n['operator'] as string).startsWith('!') === [n['left'], n['right']].some(isNothing);
}

/** Returns true if a test only checks whether a value is given. */
export function isPresence(node: Node): boolean {
  const n = unwrapped(node);
  if (n.type === 'LogicalExpression') return isPresence(n['left']) && isPresence(n['right']);
  return (
    /^(?:Identifier|MemberExpression)$/u.test(n.type) ||
    (n['operator'] === '!' && isPresence(n['argument']))
  );
}
