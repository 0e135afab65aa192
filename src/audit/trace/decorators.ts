/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import type { Expressions } from './expressions.js';
import type { Machine, Place } from './machine.js';
import type { Node } from './program.js';
import type { ClassValue, Scope, Value } from './values.js';

/** Evaluates the decorators of a class and its members; what registers tools by them sees the class or the method. */
export function decorate(
  m: Machine,
  calls: Calls,
  expressions: Expressions,
  node: Node,
  cls: ClassValue,
  s: Scope,
): void {
  const run = (decorator: Node, target: Value): void => {
    const expression: Node = decorator['expression'];
    const place: Place = { module: s.module, node: expression };
    if (expression.type !== 'CallExpression') return;
    const args = expressions.args(expression['arguments'], s);
    const name = expression['callee'].name ?? expression['callee'].property?.name ?? '';
    calls.onCall?.({ name: `@${String(name)}`, own: false }, [...args, target], place, undefined);
  };
  for (const decorator of (node['decorators'] ?? []) as Node[]) run(decorator, cls);
  for (const member of node['body'].body as Node[]) {
    const decorators = (member['decorators'] ?? []) as Node[];
    if (decorators.length === 0) continue;
    const key = expressions.key(member, s);
    const method = key === undefined ? undefined : (cls.methods.get(key) ?? cls.props.get(key));
    if (method?.t === 'fn')
      for (const decorator of decorators)
        run(decorator, {
          ...method,
          bound: { self: calls.instanceOf(cls), args: [] },
        });
  }
}
