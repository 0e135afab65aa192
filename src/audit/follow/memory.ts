import type { CallExpression, Expression, Node, Symbol as TsSymbol } from 'typescript';
import {
  callOf,
  type Code,
  isAssignment,
  isDeclarationName,
  isUpdated,
  assignedTo,
} from '../code/code.js';
import { ts } from '../code/typescript.js';
import type { CallEffect } from '../effect.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import { innerOf } from '../evaluate/syntax.js';
import { isKept, type Scope, type OutsideValue } from '../evaluate/values.js';
import { callNameOf } from '../known/known-calls.js';

/** Methods that change the object they belong to. */
const MUTATING =
  /^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear|append|setItem|removeItem|put|setMany|mset|take|del|flushAll|enqueue|dequeue|write)$/;
/** Packages whose objects keep values in memory. */
const CONTAINERS =
  /^(?:global|lru-cache|quick-lru|node-cache|keyv|mem|immutable|buffer|@isaacs\/ttlcache)$/;
/** Functions that change their first argument. */
const OF_ARGUMENT =
  /^(?:ObjectConstructor|Reflect)\.(?:assign|define\w+|set|setPrototypeOf|deleteProperty)$/;

/** Returns the effect of setting a variable, a property or an item, if later calls of the tool can see it. */
export function assignmentEffect(
  evaluator: Evaluator,
  target: Expression,
  env: Scope,
): CallEffect | undefined {
  const inner = innerOf(target);
  if (inner !== undefined) return assignmentEffect(evaluator, inner, env);
  const text = `${target.getText().replace(/\s+/g, ' ').slice(0, 60)} =`;
  if (ts.isIdentifier(target)) {
    const [declaration] = evaluator.code.symbolAt(target)?.declarations ?? [];
    const isOwn = declaration !== undefined && evaluator.code.outsideOf(declaration) === undefined;
    if (isOwn && !evaluator.scopeOf(declaration, env).kept) return undefined;
  } else {
    // A regular expression's position is set before each use.
    if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target))
      return undefined;
    if (text === 'lastIndex =' || /\.lastIndex =$/.test(text)) return undefined;
    const holders = evaluator.evaluate(target.expression, env).filter(isKept);
    if (holders.some((each) => each.is === 'outside' && PROCESS.test(each.path.join('.'))))
      return { kind: 'environment', access: 'write', call: text };
    if (holders.length === 0) return undefined;
  }
  return isMemo(evaluator, target) ? undefined : { kind: 'memory', access: 'write', call: text };
}

const PROCESS = /\b(?:process|Process|ProcessEnv)\b/;

/** Returns the effect of a call that changes the object it's called on, or its first argument. */
export function mutationEffect(
  evaluator: Evaluator,
  callee: OutsideValue,
  node: Node,
  env: Scope,
): CallEffect | undefined {
  const { arguments: [first] = [], expression } = node as Partial<CallExpression>;
  const name = callNameOf(callee);
  const ofArgument = callee.pkg === 'global' && OF_ARGUMENT.test(callee.path.join('.'));
  const isMutation = ofArgument || (CONTAINERS.test(callee.pkg) && MUTATING.test(name));
  if (!isMutation || /^Weak/.test(callee.path[0] ?? '')) return undefined;
  const changed = ofArgument ? first && evaluator.evaluate(first, env) : callee.self;
  if (changed?.some(isKept) !== true) return undefined;
  const holder = (expression as { readonly expression?: Expression } | undefined)?.expression;
  const target = ofArgument ? first : holder;
  if (target !== undefined && isMemo(evaluator, target)) return undefined;
  const call = `${target?.getText().slice(0, 40) ?? callee.pkg}.${name}`;
  return { kind: 'memory', access: 'write', call };
}

/**
 * Returns true for a change that no later call can notice: the changed value is never read, or it
 * only remembers a result.
 */
function isMemo({ code }: Evaluator, target: Expression): boolean {
  const name = nameIn(target);
  const symbol = name && code.symbolAt(name);
  if (name === undefined || symbol === undefined) return false;
  const { text = '' } = name as { readonly text?: string };
  const isVariable = (symbol.flags & ts.SymbolFlags.Variable) !== 0;
  // Types can give one property several symbols, so its name counts.
  const uses = isVariable
    ? code.referencesOf(symbol)
    : code.identifiersNamed(text).filter((node) => !isDeclarationName(node));
  const isOwn =
    !ts.isPropertyAccessExpression(target) || target.expression.kind === ts.SyntaxKind.ThisKeyword;
  // An object's property can be read wherever the object is.
  if (isOwn && uses.every(isUnread)) return true;
  const { parent } = target;
  const isSet = ts.isBinaryExpression(parent) && parent.left === target;
  if (isSet && /^(?:\?\?|\|\|)=$/.test(parent.operatorToken.getText())) return true;
  const value = isSet
    ? parent.right
    : /\.set$/.test(parent.getText())
      ? callOf(parent)?.arguments[1]
      : undefined;
  const within = ts.findAncestor(target, ts.isFunctionLike);
  const isChecked = uses.some(
    (use) => use.pos < target.pos && within !== undefined && isLookup(use, within),
  );
  if (!isChecked || value === undefined) return false;
  const parts = [...partsOf(code, value)];
  const usesItself = parts.some((each) => ts.isIdentifier(each) && each.text === text);
  return parts.some(isWork) && !usesItself;
}

/** Returns the nodes of an expression, and of the local values that it uses. */
function partsOf(code: Code, node: Node, found = new Set<Node>()): ReadonlySet<Node> {
  if (found.has(node)) return found;
  found.add(node);
  const local = ts.isIdentifier(node) ? code.symbolAt(node) : undefined;
  for (const each of local === undefined ? [] : sourcesOf(code, local)) partsOf(code, each, found);
  ts.forEachChild(node, (child) => void partsOf(code, child, found));
  return found;
}

/** Returns what a local variable is set to. Where it's declared counts unless it gets a new value. */
function sourcesOf(code: Code, local: TsSymbol): readonly Expression[] {
  const initializer = local.valueDeclaration && initializerOf(local.valueDeclaration);
  if (initializer === undefined) return [];
  const assigned = code.assignedTo(local).flatMap((each) => each ?? initializer);
  const isNew =
    assigned.length > 0 && assigned.every((each) => !each.getText().includes(local.name));
  return isNew && !assigned.includes(initializer) ? assigned : [...assigned, initializer];
}

/** Returns true for a call, or for something that is waited for, but not for the time. */
function isWork(node: Node): boolean {
  const isCall = ts.isCallExpression(node) || ts.isNewExpression(node);
  return (
    (isCall || ts.isAwaitExpression(node)) && !/^(?:Date\.now|new Date)\(\)$/.test(node.getText())
  );
}

/** Returns the name that stands for a variable or field: of `cache` in `cache[key]`, of `seen` in `this.seen`. */
function nameIn(target: Expression): Node | undefined {
  if (ts.isIdentifier(target)) return target;
  if (ts.isElementAccessExpression(target)) return nameIn(target.expression);
  return ts.isPropertyAccessExpression(target) ? target.name : undefined;
}

/** Returns true for a use that only sets a value, and for a statement that only adds to one. */
function isUnread(use: Node): boolean {
  const target = assignedTo(use);
  const { parent } = target;
  const isAdded =
    ts.isPropertyAccessExpression(parent) &&
    /^(?:push|set|add|delete|clear|unshift)$/.test(parent.name.text);
  const isSet = ts.isBinaryExpression(parent) && parent.left === target && isAssignment(parent);
  const change = isAdded ? callOf(parent) : isSet || isUpdated(target) ? parent : undefined;
  return (
    change !== undefined &&
    (ts.isExpressionStatement(change.parent) || ts.isVoidExpression(change.parent))
  );
}

/** Returns true for a use in a function that looks something up, or decides what runs. */
function isLookup(use: Node, within: Node): boolean {
  const target = assignedTo(use);
  const { parent } = target;
  const isRead =
    (ts.isElementAccessExpression(parent) && parent.expression === target) ||
    (ts.isPropertyAccessExpression(parent) && /^(?:get|has|peek)$/.test(parent.name.text));
  let isDecisive = isRead;
  for (let at: Node = use; !ts.isSourceFile(at); at = at.parent) {
    if (at === within) return isDecisive;
    const { parent: up } = at;
    if (ts.isIfStatement(up)) isDecisive ||= up.expression === at;
    else if (ts.isConditionalExpression(up)) isDecisive ||= up.condition === at;
    else if (ts.isBinaryExpression(up) && up.left === at)
      isDecisive ||= /^(?:&&|\|\||\?\?)$/.test(up.operatorToken.getText());
  }
  return false;
}

/** Returns what a local variable is set to where it's declared, also for a name in a pattern. */
function initializerOf(node: Node): Expression | undefined {
  if (ts.isBindingElement(node)) return initializerOf(node.parent.parent);
  const isLocal = ts.isVariableDeclaration(node) && ts.findAncestor(node, ts.isFunctionLike);
  return isLocal ? (node as { readonly initializer?: Expression }).initializer : undefined;
}
