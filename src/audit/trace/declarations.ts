/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Machine } from './machine.js';
import type { Node } from './program.js';
import type { Scope, Value } from './values.js';

const hoisted = new WeakMap<readonly Node[], readonly string[]>();

/** Declares what a block or function declares before it runs: functions, classes later, variables without a value. */
export function hoist(
  m: Machine,
  body: readonly Node[],
  scope: Scope,
  whole: boolean,
  fnOf: (node: Node, scope: Scope, name: string) => Value,
): void {
  if (whole) {
    let known = hoisted.get(body);
    if (known === undefined) hoisted.set(body, (known = varsOf(body)));
    for (const name of known) if (!scope.vars.has(name)) m.declare(scope, name, undefined);
  }
  for (const statement of body) {
    const node: Node =
      statement.type === 'ExportNamedDeclaration' || statement.type === 'ExportDefaultDeclaration'
        ? (statement['declaration'] ?? statement)
        : statement;
    if (node.type === 'FunctionDeclaration') {
      const fn = fnOf(node, scope, 'default');
      if (node['id'] !== null && node['id'] !== undefined) m.declare(scope, node['id'].name, fn);
      if (statement.type === 'ExportDefaultDeclaration') m.declare(scope, '*default*', fn, true);
    } else if (node.type === 'VariableDeclaration' && node['kind'] !== 'var')
      for (const name of declaredNames(node))
        m.declare(scope, name, undefined, node['kind'] === 'const');
    else if (node.type === 'ClassDeclaration' && node['id'] !== null)
      m.declare(scope, node['id'].name, undefined, true);
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

export const isNode = (value: unknown): value is Node =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as { type?: unknown }).type === 'string';

/** Notes the names that code assigns to after they are made: what they hold may be another value at the next call. */
export function noteAssigned(body: readonly Node[], into: Set<string>): void {
  const stack: unknown[] = [...body];
  while (stack.length > 0) {
    const node = stack.pop();
    if (Array.isArray(node)) {
      for (const one of node) stack.push(one);
      continue;
    }
    if (!isNode(node)) continue;
    if (node.type === 'MethodDefinition' && node['kind'] === 'constructor') {
      for (const one of (node['value'].body?.body ?? []) as Node[])
        if (!(
          one.type === 'ExpressionStatement' && one['expression'].type === 'AssignmentExpression'
        ))
          stack.push(one);
      continue;
    }
    const target: Node | undefined =
      node.type === 'AssignmentExpression'
        ? node['left']
        : node.type === 'UpdateExpression' ||
            (node.type === 'UnaryExpression' && node['operator'] === 'delete')
          ? node['argument']
          : undefined;
    if (target?.type === 'Identifier') into.add(target['name']);
    else if (
      target?.type === 'MemberExpression' &&
      !(
        target['object'].type === 'Identifier' &&
        /^(?:exports|module)$/u.test(target['object'].name)
      )
    )
      into.add(
        target['computed'] === true
          ? '[]'
          : target['property'].type === 'PrivateIdentifier'
            ? `#${target['property'].name as string}`
            : target['property'].name,
      );
    for (const key in node)
      if (key !== 'type' && typeof node[key] === 'object') stack.push(node[key]);
  }
}

/** Returns the names that `var` declares anywhere in a function. */
function varsOf(body: readonly Node[]): readonly string[] {
  const names: string[] = [];
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit);
    if (!isNode(node) || /Function|^Class|Expression$/u.test(node.type)) return;
    if (node.type === 'VariableDeclaration') {
      if (node['kind'] === 'var') names.push(...declaredNames(node));
      return;
    }
    for (const field of [
      'body',
      'consequent',
      'alternate',
      'block',
      'handler',
      'finalizer',
      'cases',
      'init',
      'left',
      'declaration',
    ])
      visit(node[field]);
  };
  visit(body);
  return names;
}
