/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import { iterate } from './callbacks.js';
import type { Machine, Place } from './machine.js';
import type { Node } from './program.js';
import {
  UNDEFINED,
  UNKNOWN,
  join,
  options,
  tagsOf,
  unknownLike,
  withTags,
  type Binding,
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

/** How patterns read the expressions in them. */
interface Reader {
  evaluate(node: Node, scope: Scope, named?: string): Value;
  key(node: Node, scope: Scope): string | undefined;
}

/** Assigns values, and takes them apart by patterns. */
export class Patterns {
  constructor(
    private readonly m: Machine,
    private readonly calls: Calls,
    private readonly reader: Reader,
  ) {}

  /** Assigns to a variable, a property or a pattern. */
  assign(target: Node, value: Value, s: Scope, place: Place, lazily = false): void {
    const { m } = this;
    switch (target.type) {
      case 'Identifier': {
        const binding = lookup(s, target['name']);
        if (binding !== undefined) m.assignBinding(binding, value, place, lazily);
        return;
      }
      case 'MemberExpression': {
        m.quiet++;
        const object =
          target['object'].type === 'Super'
            ? s.frame.self
            : this.reader.evaluate(target['object'], s);
        m.quiet--;
        const key = this.reader.key(target, s);
        for (const one of options(object)) {
          if (
            one.t === 'obj' &&
            one.kind === 'array' &&
            key !== undefined &&
            /^\d+$/u.test(key) &&
            one.born === m.epoch &&
            Number(key) <= one.items.length
          )
            one.items[Number(key)] = value;
          else
            m.write(one, key, value, place, {
              lazily,
              making: s.frame.self === one && s.frame.home !== undefined && s.frame.making === true,
            });
        }
        return;
      }
      default:
        this.bind(target, value, s, (name, one) =>
          this.assign({ ...target, type: 'Identifier', name }, one, s, place),
        );
    }
  }

  /** Takes a value apart by a pattern. */
  bind(pattern: Node, value: Value, s: Scope, declare: (name: string, value: Value) => void): void {
    const place: Place = { module: s.module, node: pattern };
    switch (pattern.type) {
      case 'Identifier':
        declare(pattern['name'], value);
        return;
      case 'AssignmentPattern': {
        const missing = options(value).filter((one) => one.t === 'const' && one.v === undefined);
        const known = missing.length === options(value).length;
        const given = known
          ? this.reader.evaluate(pattern['right'], s, pattern['left'].name ?? '')
          : missing.length > 0 || options(value).some((one) => one.t === 'unknown')
            ? join(
                ...options(value).filter((one) => !missing.includes(one)),
                this.reader.evaluate(pattern['right'], s),
              )
            : value;
        this.bind(pattern['left'], known ? given : withTags(given, tagsOf(value)), s, declare);
        return;
      }
      case 'ObjectPattern': {
        const taken: string[] = [];
        for (const property of pattern['properties'] as Node[]) {
          if (property.type === 'RestElement') {
            const rest = this.m.object();
            rest.rest = options(value).some((one) => one.t !== 'obj' || one.rest !== undefined)
              ? unknownLike(value)
              : undefined;
            for (const one of options(value))
              if (one.t === 'obj')
                for (const [key, item] of one.props)
                  if (!taken.includes(key)) rest.props.set(key, item);
            rest.proto = options(value).find((one) => one.t === 'native');
            this.bind(
              property['argument'],
              tagsOf(value).includes('arg:') ? value : rest,
              s,
              declare,
            );
            continue;
          }
          const index =
            property['computed'] === true ? this.reader.evaluate(property['key'], s) : UNKNOWN;
          const key = this.reader.key(property, s);
          if (key !== undefined) taken.push(key);
          this.bind(property['value'], this.m.get(value, key, index, place), s, declare);
        }
        return;
      }
      case 'ArrayPattern': {
        const items =
          options(value).length === 1 && value.t === 'obj' ? iterate(this.m, value) : undefined;
        for (const [index, element] of (pattern['elements'] as (Node | null)[]).entries()) {
          if (element === null) continue;
          if (element.type === 'RestElement')
            this.bind(
              element['argument'],
              items === undefined ? unknownLike(value) : this.m.object('array', items.slice(index)),
              s,
              declare,
            );
          else
            this.bind(
              element,
              items === undefined
                ? this.m.get(value, String(index), UNKNOWN, place)
                : (items[index] ??
                    (items.length > 0 && items.at(-1)?.t === 'unknown' ? UNKNOWN : UNDEFINED)),
              s,
              declare,
            );
        }
        return;
      }
      case 'RestElement':
        this.bind(pattern['argument'], value, s, declare);
        return;
      case 'TSParameterProperty':
        this.bind(pattern['parameter'], value, s, (name, one) => {
          declare(name, one);
          this.m.write(s.frame.self, name, one, place, { making: true });
        });
        return;
      case 'MemberExpression':
        this.assign(pattern, value, s, place);
        return;
      default:
    }
  }
}

export const WRAPPERS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
  'ParenthesizedExpression',
  'ChainExpression',
  'AwaitExpression',
]);

/** Returns true when the test's `then` branch needs an input of its own, and its `else` branch is the way without one. */
export function isPositive(n: Node): boolean {
  switch (n.type) {
    case 'UnaryExpression':
      return n['operator'] === '!' ? !isPositive(n['argument']) : true;
    case 'BinaryExpression': {
      const negated = n['operator'].startsWith('!');
      const nothing = [n['left'], n['right']].some(
        (side: Node) =>
          (side.type === 'Identifier' && side['name'] === 'undefined') ||
          (side.type === 'Literal' &&
            (side['value'] === null ||
              side['value'] === 'undefined' ||
              side['value'] === '' ||
              side['value'] === false)) ||
          (side.type === 'UnaryExpression' && side['operator'] === 'void'),
      );
      return negated === nothing;
    }
    case 'LogicalExpression':
      return isPositive(n['left']) || isPositive(n['right']);
    default:
      return WRAPPERS.has(n.type) ? isPositive(n['expression'] ?? n['argument']) : true;
  }
}

/** Returns true for a test that asks only whether something is given. */
export const isPresence = (n: Node): boolean =>
  n.type === 'Identifier' ||
  n.type === 'MemberExpression' ||
  (n.type === 'UnaryExpression' && n['operator'] === '!' && isPresence(n['argument'] as Node)) ||
  (n.type === 'LogicalExpression' &&
    isPresence(n['left'] as Node) &&
    isPresence(n['right'] as Node)) ||
  (n.type === 'ChainExpression' && isPresence(n['expression'] as Node));
