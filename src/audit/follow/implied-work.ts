import type { Expression, Node } from 'typescript';
import { isAssignment, isUpdated } from '../code/code.js';
import { ts } from '../code/typescript.js';

/** Returns the object whose properties a pattern reads. */
export function takenApart(node: Node): Expression | undefined {
  const isPattern = ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name);
  return isPattern ? node.initializer : undefined;
}

/** Returns the expressions whose values the language converts, awaits or tests. */
export function convertedBy(node: Node): readonly Expression[] {
  if (ts.isTemplateSpan(node) || ts.isAwaitExpression(node)) return [node.expression];
  if (ts.isPrefixUnaryExpression(node)) return [node.operand];
  const isConverting = ts.isBinaryExpression(node) && !KEEPS.test(node.operatorToken.getText());
  return isConverting ? [node.left, node.right] : [];
}
/** Operators that convert neither side. */
const KEEPS = /^(?:[&|?]{2}=?|[!=]==|=|,)$/;

/** Returns what a loop, a spread or a pattern iterates over. */
export function iteratedBy(node: Node): Expression | undefined {
  const isAll = ts.isYieldExpression(node) && node.asteriskToken !== undefined;
  if (ts.isForOfStatement(node) || ts.isSpreadElement(node) || isAll) return node.expression;
  const isPattern = ts.isVariableDeclaration(node) && ts.isArrayBindingPattern(node.name);
  return isPattern ? node.initializer : undefined;
}

/** Returns what an assignment, `++`, `--` or `delete` changes. */
export function targetsOf(node: Node): readonly Expression[] {
  const { operand, expression } = node as {
    readonly operand?: Expression;
    expression?: Expression;
  };
  const updated = operand ?? expression;
  if (updated !== undefined && isUpdated(updated)) return [updated];
  if (!ts.isBinaryExpression(node) || !isAssignment(node)) return [];
  const { left } = node;
  if (ts.isArrayLiteralExpression(left)) return left.elements;
  if (!ts.isObjectLiteralExpression(left)) return [left];
  return left.properties.map((each) =>
    ts.isPropertyAssignment(each) ? each.initializer : (each.name as Expression),
  );
}
