import type {
  BinaryExpression,
  CallExpression,
  Declaration,
  Expression,
  Identifier,
  NewExpression,
  Node,
  ParameterDeclaration,
  SignatureDeclaration,
  Type,
  VariableDeclaration,
} from 'typescript';
import { packageIn } from '../code/outside-code.js';
import { ts } from '../code/typescript.js';
import { resultOfGlobal } from './global-results.js';
import { isNullish, Members, type Annotated, type Flags } from './members.js';
import { innerOf, loadedBy, requiredBy, returnsIn, type Call } from './syntax.js';
import {
  closure,
  distinct,
  HOLE,
  isKept,
  literal,
  MANY,
  NOTHING,
  outside,
  textsOf,
  UNKNOWN,
  type Scope,
  type FunctionValue,
  type OutsideValue,
  type Value,
  type Values,
} from './values.js';

/** Depth of nested activations after which values are unknown. */
const DEEPEST = 40;
/** Activations of one function inside each other after which values are unknown. */
const MOST_RECURSION = 2;

/**
 * Evaluates expressions without running them. Everything that the code doesn't show is an unknown
 * value, with the type that the checker knows.
 */
export class Evaluator extends Members {
  readonly #memo = new Map<Scope, Map<Node, Values>>();
  readonly #active: Node[] = [];
  #steps = Infinity;

  /** Returns what an expression can evaluate to. */
  evaluate(node: Expression, env: Scope): Values {
    const memo = this.#memo.get(env) ?? new Map<Node, Values>();
    this.#memo.set(env, memo);
    const cached = memo.get(node);
    if (cached !== undefined) return cached;
    this.tick();
    memo.set(node, [UNKNOWN]); // While it's evaluated, a value can't say anything of itself.
    try {
      const values = distinct(this.#evaluate(node, env));
      memo.set(node, values);
      return values;
    } catch (error) {
      memo.delete(node);
      throw error;
    }
  }

  /** Allows a number of steps, after which evaluation ends with `OutOfSteps`. */
  limit(steps: number): void {
    this.#steps = steps;
  }

  /** Counts a step. @throws OutOfSteps after the last one. */
  tick(): void {
    this.#steps -= 1;
    if (this.#steps < 0) throw new OutOfSteps();
  }

  #evaluate(node: Expression, env: Scope): Values {
    const inner = innerOf(node);
    if (inner !== undefined) {
      const values = this.evaluate(inner, env);
      // Of some promises only the type is known, and the type of what they become says more.
      return this.typed(ts.isAwaitExpression(node) ? values.map(awaited) : values, node);
    }
    if (ts.isIdentifier(node)) return this.#identifier(node, env);
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node))
      return this.typed(this.accessed(this.#holder(node.expression, env), node, env), node);
    if (ts.isCallExpression(node)) return this.#call(node, env);
    if (ts.isNewExpression(node)) return this.#new(node, env);
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return [closure(node, env)];
    if (ts.isClassExpression(node)) return [{ is: 'class', node, env }];
    if (ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node))
      return [{ is: 'object', node, env, changes: [], kept: env.kept }];
    if (ts.isConditionalExpression(node)) {
      const truth = this.truth(node.condition, env);
      const yes = truth === false ? [] : this.evaluate(node.whenTrue, env);
      return truth === true ? yes : [...yes, ...this.evaluate(node.whenFalse, env)];
    }
    if (ts.isBinaryExpression(node)) return this.#binary(node, env);
    if (node.kind === ts.SyntaxKind.ThisKeyword) return this.typed(selfIn(env), node);
    if (ts.isStringLiteralLike(node)) return [literal(node.text)];
    if (ts.isNumericLiteral(node)) return [literal(Number(node.text))];
    if (ts.isTemplateExpression(node)) {
      let texts: readonly string[] = [node.head.text];
      for (const { expression, literal: tail } of node.templateSpans)
        texts = joined(texts, textsOf(this.evaluate(expression, env)), tail.text);
      return texts.map(literal);
    }
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken)
      return this.evaluate(node.operand, env).map((each) =>
        each.is === 'literal' ? literal(-Number(each.value)) : each,
      );
    return CONSTANTS.get(ts.tokenToString(node.kind)) ?? this.ofType(this.code.typeAt(node), env);
  }

  /** Returns true or false if all values of a condition agree. */
  truth(node: Expression, env: Scope): boolean | undefined {
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      const truth = this.truth(node.operand, env);
      return truth === undefined ? undefined : !truth;
    }
    const [first, ...more] = new Set(this.evaluate(node, env).map(truthOf));
    return more.length === 0 ? first : undefined;
  }

  #binary({ left, right, operatorToken }: BinaryExpression, env: Scope): Values {
    const operator = ts.tokenToString(operatorToken.kind)!;
    const ends = ENDING[operator.replace(/=$/, '')];
    const second = this.evaluate(right, env);
    if (operator === ',' || operator === '=') return second;
    const first = this.evaluate(left, env);
    if (ends !== undefined) return [...first.filter((each) => !ends(each)), ...second];
    if (operator === '+') return joined(textsOf(first), textsOf(second)).map(literal);
    if (operator === '|')
      return joined(joined(textsOf(first), ['|']), textsOf(second)).map(literal);
    return /^[!=]==?$/.test(operator)
      ? [sameness(first, second, operator.startsWith('='))]
      : [UNKNOWN];
  }

  #identifier(node: Identifier, env: Scope): Values {
    if (node.text === 'undefined') return [NOTHING];
    const symbol = this.code.symbolAt(node);
    const declaration = symbol?.valueDeclaration ?? symbol?.declarations?.[0];
    if (declaration === undefined)
      return [outside('global', node.text === 'globalThis' ? [] : [node.text], true)];
    const place = this.code.outsideOf(declaration);
    return place === undefined
      ? this.typed(this.declared(declaration, env), node)
      : [outside(place.pkg, place.path, true)];
  }

  /** Returns what a declaration in own code declares, as code in `env` sees it. */
  declared(node: Declaration, env: Scope): Values {
    const scope = this.scopeOf(node, env);
    if (ts.isParameter(node)) return this.parameter(node, scope);
    if (ts.isBindingElement(node)) return this.binding(node, env);
    if (ts.isVariableDeclaration(node)) return this.#variable(node, scope);
    if (ts.isFunctionDeclaration(node)) {
      const { symbol } = node as unknown as { readonly symbol: { declarations: Declaration[] } };
      const implemented = symbol.declarations.find((each) => 'body' in each) ?? node;
      return [closure(implemented as SignatureDeclaration, scope)];
    }
    if (ts.isClassDeclaration(node)) return [{ is: 'class', node, env: scope }];
    if (ts.isEnumMember(node)) return [literal(this.code.checker.getConstantValue(node))];
    return [this.#imported(node) ?? UNKNOWN];
  }

  /** Returns what an import of a package stands for that the checker couldn't resolve. */
  #imported(node: Declaration): OutsideValue | undefined {
    const specifier =
      ts.findAncestor(node, ts.isImportDeclaration)?.moduleSpecifier ?? requiredBy(node);
    const name = ts.isImportSpecifier(node) ? (node.propertyName ?? node.name).text : 'default';
    return moduleOf(specifier, name === 'default' ? [] : [name]);
  }

  parameter(node: ParameterDeclaration, scope: Scope): Values {
    const bound = scope.bound.get(node);
    const { initializer } = node;
    if (bound === undefined && initializer && ts.isConstructorDeclaration(node.parent))
      return this.injected(node, initializer, scope);
    const given = bound ?? this.#unbound(node, scope);
    if (initializer === undefined || !given.some(canBeMissing)) return given;
    return [...given.filter((each) => !isNullish(each)), ...this.evaluate(initializer, scope)];
  }

  #unbound(node: ParameterDeclaration, { unbound }: Scope): Values {
    const isFirst = node.parent.parameters[0] === node;
    // The context of a tool is injected, while its input belongs to the call.
    const input = unbound === 'input' && isFirst;
    return this.annotated(node, {
      kept: unbound === 'kept' || (unbound === 'input' && !isFirst),
      input,
    });
  }

  /** Returns what the type of a declaration says, also of an import that the checker can't resolve. */
  annotated({ type, name }: Annotated, flags: Flags): Values {
    const isNamed = type && ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName);
    const [declaration] = (isNamed && this.code.symbolAt(type.typeName)?.declarations) || [];
    const found = declaration && this.#imported(declaration);
    return found === undefined
      ? this.ofType(this.code.typeAt(name), flags)
      : [{ ...found, kept: flags.kept }];
  }

  #variable(node: VariableDeclaration, scope: Scope): Values {
    const { initializer, name, parent } = node;
    if (ts.isForOfStatement(parent.parent))
      return this.elements(this.evaluate(parent.parent.expression, scope));
    const symbol = this.code.symbolAt(name);
    const values = [
      ...(initializer === undefined ? [] : this.evaluate(initializer, scope)),
      ...(symbol === undefined ? [] : this.code.assignedTo(symbol)).flatMap((each) =>
        each === undefined ? [UNKNOWN] : this.evaluate(each, this.scopeOf(each, scope, scope.kept)),
      ),
    ];
    if (values.length === 0) return this.annotated(node, scope);
    const changes = symbol === undefined ? [] : this.code.changesOf(symbol);
    if (changes.length === 0) return values;
    return values.map((value) =>
      value.is === 'object' && value.changes.length === 0
        ? { ...value, changes, changedIn: scope }
        : value,
    );
  }

  #holder(node: Expression, env: Scope): Values {
    if (node.kind !== ts.SyntaxKind.SuperKeyword) return this.evaluate(node, env);
    return selfIn(env).flatMap((self) => this.base(self, ts.findAncestor(node, ts.isClassLike)));
  }

  #call(node: CallExpression, env: Scope): Values {
    const loaded = loadedBy(node);
    if (loaded !== undefined) return this.typed([moduleOf(loaded, []) ?? UNKNOWN], node);
    const args = this.args(node, env);
    const callees = this.evaluate(node.expression, env);
    return this.typed(
      callees.flatMap((callee) => this.result(callee, args, node, env)),
      node,
    );
  }

  /** Returns the arguments of a call. After a spread of something unknown, all arguments are unknown. */
  args(node: Call, env: Scope): readonly Values[] {
    return (node.arguments ?? []).flatMap((each) => {
      if (!ts.isSpreadElement(each)) return [this.evaluate(each, env)];
      return (
        this.items(this.evaluate(each.expression, env)) ?? Array.from({ length: 6 }, () => [MANY])
      );
    });
  }

  /** Returns what a call of a value returns. */
  result(callee: Value, args: readonly Values[], node: Expression, env: Scope): Values {
    if (callee.is === 'function') return this.returned(callee, args, env);
    if (callee.is !== 'outside') return [UNKNOWN];
    const special = resultOfGlobal(this, callee, args, node, env);
    if (special !== undefined) return special;
    const { pkg, path, self } = callee;
    const kept = env.kept || isPartOfKept(callee);
    const types = this.ofType(this.code.typeAt(node), { kept });
    const made = { made: node, args };
    const typed = types.filter(
      (each) => each.is !== 'any' && !(each.is === 'outside' && each.pkg === 'global'),
    );
    if (typed.length > 0)
      return typed.map((each) => (each.is === 'outside' ? { ...each, ...made } : each));
    if (pkg === 'global' && kept) return types;
    return [outside(pkg, [...path, '()'], kept, { ...made, ...(self && { self }) })];
  }

  #new(node: NewExpression, env: Scope): Values {
    const args = this.args(node, env);
    const { kept } = env;
    return this.evaluate(node.expression, env).flatMap((callee): Values => {
      if (callee.is === 'class')
        return [{ is: 'instance', node: callee.node, env: callee.env, args, kept }];
      if (callee.is !== 'outside') return this.typed([UNKNOWN], node);
      return [outside(callee.pkg, [...callee.path, 'new'], kept, { made: node, args })];
    });
  }

  /** Returns what a function of own code returns. */
  returned(callee: FunctionValue, args: readonly Values[], { kept }: Pick<Scope, 'kept'>): Values {
    const { node } = callee;
    const { body, asteriskToken } = node as { readonly body?: Node; readonly asteriskToken?: Node };
    const times = this.#active.filter((each) => each === node).length;
    const isDeep = this.#active.length >= DEEPEST || times >= MOST_RECURSION;
    if (isDeep || body === undefined || asteriskToken !== undefined) return [UNKNOWN];
    const env = this.activation(callee, args, kept);
    this.#active.push(node);
    try {
      const found = ts.isBlock(body) ? returnsIn(body) : [body as Expression];
      return found.length === 0 ? [NOTHING] : found.flatMap((each) => this.evaluate(each, env));
    } finally {
      this.#active.pop();
    }
  }

  /** Puts what the type says in place of values that are unknown. */
  typed(values: Values, node: Node): Values {
    return values.flatMap((value) =>
      value.is === 'any' && value.type === undefined
        ? this.ofType(this.code.typeAt(node), value)
        : [value],
    );
  }

  /** Returns what a type says of its values. */
  ofType(type: Type, { kept, input = false }: Flags): Values {
    const any: Values = [{ is: 'any', type, kept, ...(input && { input }) }];
    if (type.isUnion()) {
      const nothing = ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void;
      const types = type.types.filter(({ flags }) => (flags & nothing) === 0);
      if (types.length > 12 || types.length === 0) return any;
      return distinct(types.flatMap((each) => this.ofType(each, { kept, input })));
    }
    const { declarations: [declaration] = [], valueDeclaration } = type.getSymbol() ?? {};
    if (declaration === undefined || (type.flags & ts.TypeFlags.TypeParameter) !== 0) return any;
    const place = this.code.outsideOf(declaration);
    if (place !== undefined) return input ? any : [outside(place.pkg, place.path, kept)];
    if (ts.isClassLike(declaration) && valueDeclaration === declaration && !isAbstract(declaration))
      return [this.anInstance(declaration, kept)];
    const isFunction =
      ts.isArrowFunction(declaration) ||
      ts.isFunctionExpression(declaration) ||
      ts.isFunctionDeclaration(declaration);
    return isFunction && 'body' in declaration
      ? [closure(declaration, this.scopeOf(declaration))]
      : any;
  }
}

/** Ends the audit of a tool that takes too long. */
export class OutOfSteps extends Error {}

const isAbstract = (node: Declaration) =>
  (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Abstract) !== 0;

const awaited = (value: Value) =>
  value.is === 'outside' && value.pkg === 'global' && value.path.join() === 'Promise'
    ? UNKNOWN
    : value;

/** Returns the package that a specifier names. Files of the program aren't packages. */
function moduleOf(specifier: Node | undefined, path: readonly string[]): OutsideValue | undefined {
  return specifier === undefined ||
    !ts.isStringLiteralLike(specifier) ||
    /^[./]/.test(specifier.text)
    ? undefined
    : outside(packageIn(specifier.text), path, true);
}

/** Methods that return a part of their object. */
const PARTS =
  /^(?:get|at|find|findLast|pop|shift|values|entries|deref|filter|slice|concat|flat|toSorted|toReversed|sort|reverse)$/;
const isPartOfKept = ({ pkg, path, self = [] }: OutsideValue) =>
  pkg === 'global' && PARTS.test(path.at(-1) ?? '') && self.some(isKept);

export function selfIn(env: Scope): Values {
  for (let at: Scope | undefined = env; at !== undefined; at = at.outer)
    if (at.self !== undefined) return at.self;
  return [UNKNOWN];
}

function truthOf(value: Value): boolean | undefined {
  if (value.is === 'any' || value.is === 'outside') return undefined;
  if (value.is !== 'literal') return true;
  return value.value === HOLE ? undefined : Boolean(value.value);
}

const canBeMissing = (value: Value) =>
  isNullish(value) || value.is === 'any' || value.is === 'outside';

const CONSTANTS = new Map<string | undefined, Values>([
  ['true', [literal(true)]],
  ['false', [literal(false)]],
  ['null', [literal(null)]],
]);

/** Returns true for values of the left side that an operator doesn't return. */
const ENDING: Readonly<Record<string, (value: Value) => boolean>> = {
  '??': isNullish,
  '||': (value) => truthOf(value) === false,
  '&&': (value) => truthOf(value) === true,
};

function joined(heads: readonly string[], tails: readonly string[], end = ''): readonly string[] {
  if (heads.length * tails.length > 8) return [HOLE];
  const texts = heads.flatMap((head) => tails.map((tail) => head + tail + end));
  return texts.some(({ length }) => length > 20_000) ? [HOLE] : texts;
}

/** Compares values. The result is unknown unless all of them decide it. */
function sameness(a: Values, b: Values, same: boolean): Value {
  const [first, ...more] = new Set(a.flatMap((left) => b.map((right) => isSame(left, right))));
  return more.length > 0 || first === undefined ? UNKNOWN : literal(first === same);
}

function isSame(a: Value, b: Value): boolean | undefined {
  if (a.is !== 'literal' || b.is !== 'literal') return undefined;
  if (`${a.value}${b.value}`.includes(HOLE)) return undefined;
  return a.value === b.value || (a.value == null && b.value == null);
}
