/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Machine } from './machine.js';
import type { Node } from './program.js';
import type { Scope, Value } from './values.js';

const hoisted = new WeakMap<readonly Node[], readonly string[]>();

/**
 * Declares the names of a block or function before it runs. Functions get their values at once,
 * while classes and variables get theirs later.
 */
export function hoist(
  m: Machine,
  body: readonly Node[],
  scope: Scope,
  whole: boolean,
  fnOf: (node: Node, scope: Scope, name: string) => Value,
): void {
  if (whole) {
    const known = hoisted.get(body) ?? varsOf(body);
    hoisted.set(body, known);
    for (const name of known) if (!scope.vars.has(name)) m.declare(scope, name, undefined);
  }
  for (const statement of body) {
    const node: Node = /^Export(?:Named|Default)/u.test(statement.type)
      ? (statement['declaration'] ?? statement)
      : statement;
    if (node.type === 'FunctionDeclaration') {
      const fn = fnOf(node, scope, 'default');
      if (node['id']) m.declare(scope, node['id'].name, fn);
      if (statement.type === 'ExportDefaultDeclaration') m.declare(scope, '*default*', fn, true);
    } else if (node.type === 'ClassDeclaration' || (node['kind'] ?? 'var') !== 'var')
      for (const name of declaredNames(node))
        m.declare(scope, name, undefined, node['kind'] !== 'let');
  }
}

/** Returns the names that a declaration declares. */
export function declaredNames(node: Node): readonly string[] {
  if (node.type !== 'VariableDeclaration') return node['id'] ? [node['id'].name as string] : [];
  const names: string[] = [];
  const visit = (pattern: Node | null): void => {
    if (pattern === null) return;
    if (pattern.type === 'Identifier') names.push(pattern['name']);
    else if (pattern.type === 'ObjectPattern')
      for (const one of pattern['properties'] as Node[]) visit(one['value'] ?? one['argument']);
    else if (pattern.type === 'ArrayPattern')
      (pattern['elements'] as (Node | null)[]).forEach(visit);
    else visit(pattern['left'] ?? pattern['argument'] ?? null);
  };
  for (const one of node['declarations'] as Node[]) visit(one['id']);
  return names;
}

/**
 * Visits all nodes below a node. Visits a node's children only if the visitor returns true for the
 * node.
 */
export function walk(below: unknown, visit: (node: Node) => boolean): void {
  const stack = [below];
  while (stack.length > 0) {
    const node = stack.pop();
    if (typeof node !== 'object' || node === null) continue;
    if (!Array.isArray(node) && typeof (node as { type?: unknown }).type === 'string')
      if (!visit(node as Node)) continue;
    for (const one of Object.values(node)) stack.push(one);
  }
}

/**
 * Collects the names that code reassigns, because these names may have a different value at the
 * next call.
 */
export function noteAssigned(body: readonly Node[], into: Set<string>): void {
  walk(body, (node) => {
    if (node.type === 'MethodDefinition' && node['kind'] === 'constructor') {
      for (const one of (node['value'].body?.body ?? []) as Node[])
        if (one['expression']?.type !== 'AssignmentExpression') noteAssigned([one], into);
      return false;
    }
    const changes =
      /^(?:Assignment|Update)Expression$/u.test(node.type) || node['operator'] === 'delete';
    const target: Node | undefined = changes ? (node['left'] ?? node['argument']) : undefined;
    if (target?.type === 'Identifier') into.add(target['name']);
    else if (
      target?.type === 'MemberExpression' &&
      !/^(?:exports|module)$/u.test(target['object'].name ?? '')
    )
      into.add(target['computed'] === true ? '[]' : nameOfKey(target['property']));
    return true;
  });
}

/** Returns the name of a property, or undefined if the name is computed. */
export const nameOfKey = (node: Node): string =>
  node.type === 'PrivateIdentifier'
    ? `#${node['name'] as string}`
    : String(node.type === 'Identifier' ? node['name'] : node['value']);

/** Returns the names that `var` declares anywhere in a function. */
function varsOf(body: readonly Node[]): readonly string[] {
  const names: string[] = [];
  walk(body, (node) => {
    if (/Function|^Class|Expression$/u.test(node.type)) return false;
    if (node.type !== 'VariableDeclaration') return true;
    if (node['kind'] === 'var') names.push(...declaredNames(node));
    return false;
  });
  return names;
}
