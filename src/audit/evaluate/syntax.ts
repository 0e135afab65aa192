import type {
  BindingElement,
  CallExpression,
  ClassLikeDeclaration,
  ConstructorDeclaration,
  Declaration,
  Expression,
  NewExpression,
  Node,
  SignatureDeclaration,
  VariableDeclaration,
} from 'typescript';
import { memberName, type Member } from '../code/code.js';
import { ts } from '../code/typescript.js';

/** Returns the expression inside parentheses, casts and `await`, which change no value. */
export function innerOf(node: Expression): Expression | undefined {
  return ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node) ||
    ts.isTypeAssertionExpression(node) ||
    ts.isAwaitExpression(node)
    ? node.expression
    : undefined;
}

/** Returns the specifier of `import()` and `require()`. */
export function loadedBy(node: CallExpression): Expression | undefined {
  const { expression } = node;
  const isLoad =
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(expression) && expression.text === 'require');
  return isLoad ? node.arguments[0] : undefined;
}

export type Call = CallExpression | NewExpression;

export function requiredBy(node: Declaration): Expression | undefined {
  const { initializer } = node as Partial<VariableDeclaration>;
  return initializer !== undefined && ts.isCallExpression(initializer)
    ? loadedBy(initializer)
    : undefined;
}

/** Returns the function that a node's code belongs to. */
export function containerOf(node: Node): SignatureDeclaration | undefined {
  for (let at = node; at.parent !== undefined; at = at.parent) {
    const { parent } = at;
    if (ts.isFunctionLike(parent) && 'body' in parent && (parent as { name?: Node }).name !== at)
      return parent;
  }
  return undefined;
}

const returns = new WeakMap<Node, readonly Expression[]>();

/** Returns the expressions that a function's body returns. */
export function returnsIn(body: Node): readonly Expression[] {
  const cached = returns.get(body);
  if (cached !== undefined) return cached;
  const found: Expression[] = [];
  const look = (node: Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isReturnStatement(node) && node.expression !== undefined) found.push(node.expression);
    ts.forEachChild(node, look);
  };
  look(body);
  returns.set(body, found);
  return found;
}

/** Returns true for members that only have a type. */
export function isBodiless(member: Node): boolean {
  return (ts.isMethodDeclaration(member) || ts.isAccessor(member)) && member.body === undefined;
}

export function membersOf(
  node: ClassLikeDeclaration,
  name: string | undefined,
  isStatic: boolean,
): readonly Member[] {
  const own = node.members.filter(
    (member): member is typeof member & Member =>
      member.name !== undefined &&
      (name === undefined || memberName(member.name) === name) &&
      !isBodiless(member) &&
      ((ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0) === isStatic,
  );
  const parameters = isStatic ? [] : (constructorOf(node)?.parameters ?? []);
  const injected = parameters.filter(
    (each) => ts.isParameterPropertyDeclaration(each, each.parent) && each.name.getText() === name,
  );
  return [...own, ...injected];
}

export function constructorOf(node: ClassLikeDeclaration): ConstructorDeclaration | undefined {
  return node.members.find(
    (member): member is ConstructorDeclaration =>
      ts.isConstructorDeclaration(member) && member.body !== undefined,
  );
}

export function superCallIn(node: ConstructorDeclaration): CallExpression | undefined {
  const statements = node.body?.statements ?? [];
  for (const statement of statements)
    if (ts.isExpressionStatement(statement) && ts.isCallExpression(statement.expression))
      if (statement.expression.expression.kind === ts.SyntaxKind.SuperKeyword)
        return statement.expression;
  return undefined;
}

export function bindingName({ propertyName, name }: BindingElement): string | undefined {
  const node = propertyName ?? name;
  return ts.isIdentifier(node) || ts.isStringLiteralLike(node) ? node.text : undefined;
}
