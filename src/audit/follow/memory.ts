import type {
  BinaryExpression,
  CallExpression,
  Expression,
  Node,
  Symbol as TsSymbol,
} from 'typescript';
import { isUpdated } from '../code/code.js';
import { ts } from '../code/typescript.js';
import type { CallEffect } from '../effect.js';
import { type Evaluator } from '../evaluate/evaluator.js';
import { innerOf } from '../evaluate/syntax.js';
import { isKept, type Env, type OutsideValue } from '../evaluate/values.js';
import { callName, nameOf } from '../known/known-calls.js';

/** Methods that change the object they belong to. */
const MUTATING =
  /^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|set|add|delete|clear|append|setItem|removeItem|put|setMany|mset|take|del|flushAll|enqueue|dequeue|write)$/;
/** Packages whose objects keep values in memory. */
const CONTAINERS =
  /^(?:global|lru-cache|quick-lru|node-cache|keyv|mem|immutable|buffer|@isaacs\/ttlcache)$/;
/** Functions that change their first argument. */
const OF_ARGUMENT =
  /^(?:ObjectConstructor|Reflect)\.(?:assign|define\w+|set|setPrototypeOf|deleteProperty)$/;

/** Finds changes of memory that later calls of the tool can see. */
export class Memory {
  constructor(readonly evaluator: Evaluator) {}

  get #code() {
    return this.evaluator.code;
  }

  /** Returns the effect of setting a variable, a property or an element. */
  assignment(target: Expression, env: Env): CallEffect | undefined {
    const inner = innerOf(target);
    if (inner !== undefined) return this.assignment(inner, env);
    if (ts.isIdentifier(target)) return this.#variable(target, env);
    if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target))
      return undefined;
    // A regular expression's position is set before each use.
    if (ts.isPropertyAccessExpression(target) && target.name.text === 'lastIndex') return undefined;
    const holders = this.evaluator.evaluate(target.expression, env);
    const text = `${target.getText().replace(/\s+/g, ' ').slice(0, 60)} =`;
    const outside = holders.find(
      (each): each is OutsideValue => each.is === 'outside' && each.kept,
    );
    if (outside !== undefined && /\b(?:process|Process|ProcessEnv)\b/.test(outside.path.join('.')))
      return { kind: 'environment', access: 'write', call: text };
    if (!holders.some(isKept) || this.#isMemo(target)) return undefined;
    return write(text);
  }

  #variable(target: Expression, env: Env): CallEffect | undefined {
    const symbol = this.#code.symbolAt(target);
    const [declaration] = symbol?.declarations ?? [];
    const isOwn = declaration !== undefined && this.#code.outsideOf(declaration) === undefined;
    if (isOwn && !this.evaluator.scopeOf(declaration, env).kept) return undefined;
    return this.#isMemo(target) ? undefined : write(`${target.getText()} =`);
  }

  /** Returns the effect of a call that changes the object it's called on, or its first argument. */
  call(callee: OutsideValue, node: Node, env: Env): CallEffect | undefined {
    const { arguments: args = [] } = node as Partial<CallExpression>;
    const ofArgument = callee.pkg === 'global' && OF_ARGUMENT.test(callee.path.join('.'));
    if (!ofArgument && !(CONTAINERS.test(callee.pkg) && MUTATING.test(nameOf(callee))))
      return undefined;
    if (/^Weak/.test(callee.path[0] ?? '')) return undefined;
    const changed = ofArgument
      ? args[0] === undefined
        ? []
        : this.evaluator.evaluate(args[0], env)
      : (callee.self ?? []);
    if (!changed.some(isKept)) return undefined;
    const target = ofArgument ? args[0] : holderOf(node);
    return target !== undefined && this.#isMemo(target)
      ? undefined
      : write(
          target === undefined
            ? callName(callee)
            : `${target.getText().slice(0, 40)}.${nameOf(callee)}`,
        );
  }

  /**
   * Returns true for a change that no later call can tell: of something that nothing reads, and of
   * a value that is only remembered.
   */
  #isMemo(target: Expression): boolean {
    const name = nameNode(target);
    const symbol = name && this.#code.symbolAt(name);
    if (name === undefined || symbol === undefined) return false;
    const uses = this.#usesOf(symbol, name);
    // An object's property can be read wherever the object is.
    const isAlone =
      !ts.isPropertyAccessExpression(target) ||
      target.expression.kind === ts.SyntaxKind.ThisKeyword;
    if (isAlone && uses.every(isUnread)) return true;
    const change = changeAt(target);
    if (change === undefined) return false;
    const { value, operator } = change;
    if (operator === '??=' || operator === '||=') return true;
    const within = ts.findAncestor(target, ts.isFunctionLike);
    if (within === undefined || !this.#isComputed(value, symbol)) return false;
    const before = uses.filter(
      (use) => use.pos < target.pos && ts.findAncestor(use, (each) => each === within),
    );
    return before.some((use) => isLookedUp(use) || isCondition(use, within));
  }

  #usesOf(symbol: TsSymbol, name: Node): readonly Node[] {
    const isVariable = (symbol.flags & ts.SymbolFlags.Variable) !== 0;
    // Types can give one property several symbols, so its name counts.
    return isVariable
      ? this.#code.referencesOf(symbol)
      : this.#code
          .identifiersNamed((name as { readonly text?: string }).text ?? '')
          .filter((node) => !isDeclared(node));
  }

  /** Returns true if a value comes from a call, and not from what was remembered before. */
  #isComputed(value: Expression | undefined, remembered: TsSymbol, depth = 0): boolean {
    if (value === undefined || depth > 6) return false;
    let isCall = false;
    let isOld = false;
    const look = (node: Node): void => {
      if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isAwaitExpression(node))
        isCall ||= !isTimeCall(node);
      if (ts.isIdentifier(node)) {
        const symbol = this.#code.symbolAt(node);
        if (symbol === remembered) isOld = true;
        const initializer = initializerOf(symbol?.valueDeclaration);
        const isLocal = initializer !== undefined;
        if (isLocal && this.#mentions(initializer, remembered)) isOld = true;
        else if (isLocal && this.#isComputed(initializer, remembered, depth + 1)) isCall = true;
      }
      ts.forEachChild(node, look);
    };
    look(value);
    return isCall && !isOld;
  }

  #mentions(node: Node, symbol: TsSymbol): boolean {
    return (
      (ts.isIdentifier(node) && this.#code.symbolAt(node) === symbol) ||
      ts.forEachChild(node, (child) => this.#mentions(child, symbol) || undefined) === true
    );
  }
}

const write = (call: string): CallEffect => ({ kind: 'memory', access: 'write', call });

const isTimeCall = (node: Node) => /^(?:Date\.now\(\)|new Date\(\))$/.test(node.getText());

function holderOf(node: Node): Expression | undefined {
  const { expression } = node as Partial<CallExpression>;
  return expression !== undefined &&
    (ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression))
    ? expression.expression
    : undefined;
}

/** Returns the name that stands for a variable or field: of `cache` in `cache[key]`, of `seen` in `this.seen`. */
function nameNode(target: Expression): Node | undefined {
  if (ts.isIdentifier(target)) return target;
  if (ts.isElementAccessExpression(target)) return nameNode(target.expression);
  return ts.isPropertyAccessExpression(target) ? target.name : undefined;
}

/** Returns the value that a change sets. */
function changeAt(
  target: Expression,
): { readonly value?: Expression; readonly operator?: string } | undefined {
  const { parent } = target;
  if (ts.isBinaryExpression(parent) && parent.left === target)
    return { value: parent.right, operator: ts.tokenToString(parent.operatorToken.kind)! };
  if (!ts.isPropertyAccessExpression(parent) || !ts.isCallExpression(parent.parent))
    return undefined;
  const value = parent.name.text === 'set' ? parent.parent.arguments[1] : undefined;
  return value && { value };
}

const isDeclared = (node: Node) =>
  (node.parent as { readonly name?: Node }).name === node &&
  !ts.isPropertyAccessExpression(node.parent) &&
  !ts.isShorthandPropertyAssignment(node.parent);

/** Returns true for a use that only sets a value, and for a statement that only adds to one. */
function isUnread(use: Node): boolean {
  const target =
    ts.isPropertyAccessExpression(use.parent) && use.parent.name === use ? use.parent : use;
  const { parent } = target;
  if (ts.isBinaryExpression(parent) && parent.left === target) return isStatement(parent);
  if (isUpdated(target)) return isStatement(parent);
  const isCall =
    ts.isPropertyAccessExpression(parent) &&
    ts.isCallExpression(parent.parent) &&
    parent.parent.expression === parent;
  return (
    isCall &&
    /^(?:push|set|add|delete|clear|unshift)$/.test(parent.name.text) &&
    isStatement(parent.parent)
  );
}

const isStatement = ({ parent }: Node) =>
  ts.isExpressionStatement(parent) || ts.isVoidExpression(parent);

/** Returns true for `get`, `has` and an element that is read. */
function isLookedUp(use: Node): boolean {
  const target =
    ts.isPropertyAccessExpression(use.parent) && use.parent.name === use ? use.parent : use;
  const { parent } = target;
  if (ts.isElementAccessExpression(parent)) return parent.expression === target;
  return ts.isPropertyAccessExpression(parent) && /^(?:get|has|peek)$/.test(parent.name.text);
}

/** Returns true for a use in the condition of a branch. */
function isCondition(use: Node, within: Node): boolean {
  for (let at = use; at !== within && at.parent !== undefined; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && parent.expression === at) return true;
    if (ts.isConditionalExpression(parent) && parent.condition === at) return true;
    if (ts.isBinaryExpression(parent) && parent.left === at && isShortCircuit(parent)) return true;
  }
  return false;
}

const isShortCircuit = ({ operatorToken }: BinaryExpression) =>
  ['&&', '||', '??'].includes(ts.tokenToString(operatorToken.kind) ?? '');

/** Returns what a variable is set to where it's declared, also for a name in a pattern. */
function initializerOf(node: Node | undefined): Expression | undefined {
  if (node === undefined) return undefined;
  if (ts.isBindingElement(node)) return initializerOf(node.parent.parent);
  return ts.isVariableDeclaration(node) ? node.initializer : undefined;
}
