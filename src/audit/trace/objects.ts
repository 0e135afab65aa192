/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import type { Machine, Place } from './machine.js';
import type { Node } from './program.js';
import {
  UNDEFINED,
  join,
  options,
  unknownLike,
  type ClassValue,
  type Fn,
  type Obj,
  type Scope,
  type Value,
} from './values.js';

/** Methods that the language calls by itself, as to make a text of an object; whether it does is not followed. */
export const isHook = (key: string | undefined): boolean =>
  key !== undefined && /^(?:toString|valueOf|toJSON|then|next|@@\w+)$/u.test(key);

/** Reads the expressions in classes and objects. */
interface Reader {
  evaluate(node: Node, scope: Scope, named?: string): Value;
  key(node: Node, scope: Scope): string | undefined;
  fn(node: Node, scope: Scope, name?: string, home?: ClassValue): Fn;
}

/** Makes the object of a literal. */
export function objectOf(m: Machine, calls: Calls, reader: Reader, n: Node, s: Scope): Value {
  const object = m.object();
  for (const property of n['properties'] as Node[]) {
    const place: Place = { module: s.module, node: property };
    if (property.type === 'SpreadElement') {
      const source = reader.evaluate(property['argument'], s);
      const all = options(source);
      for (const one of all) {
        if (one.t === 'obj') {
          for (const key of one.props.keys()) {
            const value = m.read(one, key, place);
            const old = object.props.get(key);
            m.write(
              object,
              key,
              all.length > 1 && old !== undefined ? join(old, value) : value,
              place,
              { making: true },
            );
          }
          if (one.cls !== undefined) object.cls = one.cls;
        } else if (one.t === 'native') object.proto = one;
        const rest =
          one.t === 'obj'
            ? one.rest
            : one.t === 'unknown' || one.t === 'external'
              ? unknownLike(one)
              : undefined;
        if (rest !== undefined)
          object.rest = object.rest === undefined ? rest : join(object.rest, rest);
      }
      continue;
    }
    const key = reader.key(property, s);
    if (property['kind'] === 'get' || property['kind'] === 'set') {
      if (key === undefined) continue;
      const old = object.props.get(key);
      const fn = reader.fn(property['value'], s, key);
      object.props.set(key, {
        t: 'accessor',
        get: property['kind'] === 'get' ? fn : old?.t === 'accessor' ? old.get : undefined,
        set: property['kind'] === 'set' ? fn : old?.t === 'accessor' ? old.set : undefined,
      });
      continue;
    }
    const value = reader.evaluate(property['value'], s, key ?? '');
    if (m.epoch === 0 && value.t === 'fn' && key !== undefined && value.node === property['value'])
      calls.methodsOfObjects.set(
        key,
        (calls.methodsOfObjects.get(key) ?? new Map<Node, Fn>()).set(value.node, {
          ...value,
          bound: { self: object, args: [] },
        }),
      );
    if (key === undefined)
      object.rest = object.rest === undefined ? value : join(object.rest, value);
    else if (key !== '__proto__') m.write(object, key, value, place, { making: true });
    if (value.t === 'fn' && isHook(key)) calls.askedLater(value, object, place);
  }
  return object;
}

/** Makes a class, with its methods and what is static. */
export function classOf(
  m: Machine,
  calls: Calls,
  reader: Reader,
  node: Node,
  s: Scope,
  name: string,
): ClassValue {
  const scope = m.scope(s, s.frame, s.module);
  const parent =
    node['superClass'] === null || node['superClass'] === undefined
      ? undefined
      : reader.evaluate(node['superClass'], s);
  const cls: ClassValue = {
    t: 'class',
    id: m.id(),
    node,
    scope,
    module: s.module,
    parent:
      parent === undefined
        ? undefined
        : (options(parent).find((one) => one.t === 'class') ?? parent),
    props: new Map(),
    methods: new Map(),
  };
  const own = (node['id']?.name as string | undefined) ?? name;
  if (own !== '') m.declare(scope, own, cls, true);
  for (const member of node['body'].body as Node[]) {
    const place: Place = { module: s.module, node: member };
    if (member.type === 'StaticBlock') {
      m.invoke(
        reader.fn(
          {
            ...member,
            type: 'FunctionExpression',
            params: [],
            body: {
              type: 'BlockStatement',
              body: member['body'],
              start: member.start,
              end: member.end,
            },
          },
          scope,
          'static',
          cls,
        ),
        cls,
        [],
        place,
      );
      continue;
    }
    const target = member['static'] === true ? cls.props : cls.methods;
    if (member.type === 'MethodDefinition' && member['kind'] !== 'constructor') {
      const key = reader.key(member, scope);
      if (key === undefined) continue;
      const fn = reader.fn(member['value'], scope, key, cls);
      const old = target.get(key);
      if (member['kind'] === 'method') target.set(key, fn);
      else
        target.set(key, {
          t: 'accessor',
          get: member['kind'] === 'get' ? fn : old?.t === 'accessor' ? old.get : undefined,
          set: member['kind'] === 'set' ? fn : old?.t === 'accessor' ? old.set : undefined,
        });
      if (member['kind'] === 'method' && member['static'] !== true) {
        const known = calls.methods.get(key) ?? new Set<ClassValue>();
        if (![...known].some((other) => other.node === node))
          calls.methods.set(key, known.add(cls));
      }
    } else if (
      /PropertyDefinition$|AccessorProperty$/u.test(member.type) &&
      member['static'] === true &&
      member['value'] !== null
    ) {
      const key = reader.key(member, scope);
      const value = reader.evaluate(member['value'], fieldScope(m, cls, cls), key ?? '');
      if (key !== undefined) m.write(cls, key, value, place, { making: true });
    }
  }
  return cls;
}

function fieldScope(m: Machine, cls: ClassValue, self: Value): Scope {
  return m.scope(cls.scope, { self, home: cls, args: [], returns: [], yields: [] }, cls.module);
}

/** Sets the fields that a class declares on a new instance. */
export function fieldsOf(m: Machine, reader: Reader, cls: ClassValue, instance: Obj): void {
  for (const member of cls.node['body'].body as Node[]) {
    if (
      !/PropertyDefinition$|AccessorProperty$/u.test(member.type) ||
      member['static'] === true ||
      member['declare'] === true
    )
      continue;
    const scope = fieldScope(m, cls, instance);
    const key = reader.key(member, scope);
    const value =
      member['value'] === null || member['value'] === undefined
        ? UNDEFINED
        : reader.evaluate(member['value'], scope, key ?? '');
    if (key !== undefined)
      m.write(instance, key, value, { module: cls.module, node: member }, { making: true });
  }
}
