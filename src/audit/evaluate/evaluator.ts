import type {
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Declaration,
  ElementAccessExpression,
  Expression,
  Identifier,
  NewExpression,
  Node,
  ParameterDeclaration,
  PropertyAccessExpression,
  SignatureDeclaration,
  Type,
  TypeNode,
  VariableDeclaration,
} from 'typescript';
import type { Code } from '../code/code.js';
import { packageIn } from '../code/outside-code.js';
import { ts } from '../code/typescript.js';
import type { Call, Evaluating, Flags } from './evaluating.js';
import { Members } from './members.js';
import { containerOf, innerOf, loadedBy, requiredBy, returnsIn } from './syntax.js';
import { resultOfGlobal } from './global-results.js';
import {
  distinct,
  Environments,
  HOLE,
  isKept,
  literal,
  NOTHING,
  textsOf,
  UNKNOWN,
  type Env,
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
export class Evaluator implements Evaluating {
  readonly envs = new Environments();
  readonly members: Members;
  readonly #memo = new Map<Env, Map<Node, Values>>();
  readonly #active = new Map<Node, number>();
  #depth = 0;
  #steps = 0;
  #deadline = Infinity;

  constructor(readonly code: Code) {
    this.members = new Members(this);
  }

  /** Returns what an expression can evaluate to. */
  evaluate(node: Expression, env: Env): Values {
    const memo = this.#memo.get(env) ?? new Map<Node, Values>();
    this.#memo.set(env, memo);
    const known = memo.get(node);
    if (known !== undefined) return known;
    this.tick();
    let values: Values | undefined;
    memo.set(node, [UNKNOWN]); // While it's evaluated, a value can't say anything of itself.
    try {
      values = distinct(this.#evaluate(node, env));
    } finally {
      if (values === undefined) memo.delete(node);
      else memo.set(node, values);
    }
    return values;
  }

  /** Sets the milliseconds after which evaluation stops with `OutOfTime`. */
  limit(milliseconds: number): void {
    this.#deadline = this.#now() + milliseconds;
  }

  readonly #now = () => performance.now() - this.code.spent;

  /** Counts a step. @throws OutOfTime after the deadline. */
  tick(): void {
    this.#steps += 1;
    if (this.#steps % 64 === 0 && this.#now() > this.#deadline) throw new OutOfTime();
  }

  #evaluate(node: Expression, env: Env): Values {
    const inner = innerOf(node);
    if (inner !== undefined)
      return this.typed(this.#awaited(this.evaluate(inner, env), node), node);
    if (ts.isIdentifier(node)) return this.#identifier(node, env);
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node))
      return this.typed(this.#access(node, env), node);
    if (ts.isCallExpression(node)) return this.#call(node, env);
    if (ts.isNewExpression(node)) return this.#new(node, env);
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return [this.closure(node, env)];
    if (ts.isClassExpression(node)) return [{ is: 'class', node, env }];
    if (ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node))
      return [{ is: 'object', node, env, changes: [], kept: env.kept }];
    if (ts.isConditionalExpression(node)) return this.#conditional(node, env);
    if (ts.isBinaryExpression(node)) return this.#binary(node, env);
    if (node.kind === ts.SyntaxKind.ThisKeyword) return this.typed(selfIn(env), node);
    return this.#text(node, env) ?? this.ofType(this.typeAt(node), env);
  }

  /** Puts what the type says in place of promises that only their type describes. */
  #awaited(values: Values, node: Expression): Values {
    if (!ts.isAwaitExpression(node)) return values;
    return values.map((each) =>
      each.is === 'outside' && each.pkg === 'global' && each.path.join() === 'Promise'
        ? UNKNOWN
        : each,
    );
  }

  #text(node: Expression, env: Env): Values | undefined {
    if (ts.isStringLiteralLike(node)) return [literal(node.text)];
    if (ts.isNumericLiteral(node)) return [literal(Number(node.text))];
    if (node.kind === ts.SyntaxKind.TrueKeyword) return [literal(true)];
    if (node.kind === ts.SyntaxKind.FalseKeyword) return [literal(false)];
    if (node.kind === ts.SyntaxKind.NullKeyword) return [literal(null)];
    if (ts.isVoidExpression(node)) return [NOTHING];
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
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
      const truth = this.truth(node.operand, env);
      return truth === undefined ? undefined : [literal(!truth)];
    }
    return undefined;
  }

  /** Returns true or false if all values of a condition agree. */
  truth(node: Expression, env: Env): boolean | undefined {
    const found = new Set(this.evaluate(node, env).map(truthOf));
    return found.size === 1 ? [...found][0] : undefined;
  }

  #conditional(node: ConditionalExpression, env: Env): Values {
    const truth = this.truth(node.condition, env);
    return [
      ...(truth === false ? [] : this.evaluate(node.whenTrue, env)),
      ...(truth === true ? [] : this.evaluate(node.whenFalse, env)),
    ];
  }

  #binary({ left, right, operatorToken }: BinaryExpression, env: Env): Values {
    const values = (node: Expression) => this.evaluate(node, env);
    switch (ts.tokenToString(operatorToken.kind)) {
      case ',':
      case '=':
        return values(right);
      case '??':
      case '??=':
        return [...values(left).filter((each) => !isNullish(each)), ...values(right)];
      case '||':
      case '||=':
        return [...values(left).filter((each) => truthOf(each) !== false), ...values(right)];
      case '&&':
      case '&&=':
        return [...values(left).filter((each) => truthOf(each) !== true), ...values(right)];
      case '+':
        return joined(textsOf(values(left)), textsOf(values(right))).map(literal);
      case '|':
        return flagsOf(values(left), values(right)).map(literal);
      case '===':
      case '==':
        return [sameness(values(left), values(right), true)];
      case '!==':
      case '!=':
        return [sameness(values(left), values(right), false)];
      default:
        return [UNKNOWN];
    }
  }

  #identifier(node: Identifier, env: Env): Values {
    if (node.text === 'undefined') return [NOTHING];
    const symbol = this.code.symbolAt(node);
    const [first] = symbol?.declarations ?? [];
    const declaration = symbol?.valueDeclaration ?? first;
    if (declaration === undefined)
      return [
        {
          is: 'outside',
          pkg: 'global',
          path: node.text === 'globalThis' ? [] : [node.text],
          kept: true,
        },
      ];
    const outside = this.code.outsideOf(declaration);
    if (outside !== undefined) return [{ is: 'outside', kept: true, ...outside }];
    return this.typed(this.declared(declaration, env), node);
  }

  /** Returns what a declaration in own code declares, as code in `env` sees it. */
  declared(node: Declaration, env: Env): Values {
    if (ts.isParameter(node)) return this.parameter(node, this.scopeOf(node, env));
    if (ts.isBindingElement(node)) return this.members.binding(node, env);
    if (ts.isVariableDeclaration(node)) return this.#variable(node, env);
    if (ts.isFunctionDeclaration(node)) {
      const { symbol } = node as unknown as { readonly symbol: { declarations: Declaration[] } };
      const implemented = symbol.declarations.find((each) => 'body' in each) ?? node;
      return [this.closure(implemented as SignatureDeclaration, this.scopeOf(node, env))];
    }
    if (ts.isClassDeclaration(node)) return [{ is: 'class', node, env: this.scopeOf(node, env) }];
    if (ts.isEnumMember(node)) return [literal(this.code.checker.getConstantValue(node))];
    return this.#imported(node);
  }

  /** Returns what an import stands for that the checker couldn't resolve. */
  #imported(node: Declaration): Values {
    const declaration = ts.findAncestor(node, ts.isImportDeclaration);
    const specifier = declaration?.moduleSpecifier ?? requiredBy(node);
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return [UNKNOWN];
    if (/^[./]/.test(specifier.text)) return [UNKNOWN];
    const name = ts.isImportSpecifier(node) ? (node.propertyName ?? node.name).text : undefined;
    const path = name === undefined || name === 'default' ? [] : [name];
    return [{ is: 'outside', pkg: packageIn(specifier.text), path, kept: true }];
  }

  parameter(node: ParameterDeclaration, scope: Env): Values {
    const bound = scope.bound.get(node);
    const { initializer } = node;
    if (
      bound === undefined &&
      initializer !== undefined &&
      ts.isConstructorDeclaration(node.parent)
    )
      return this.members.injected(node, initializer, scope);
    const given = bound ?? this.#unbound(node, scope);
    if (initializer === undefined || !given.some(canBeMissing)) return given;
    return [...given.filter((each) => !isNullish(each)), ...this.evaluate(initializer, scope)];
  }

  #unbound(node: ParameterDeclaration, { unbound }: Env): Values {
    const isSecond = node.parent.parameters[0] !== node;
    // The context of a tool is injected, while its input belongs to the call.
    const input = unbound === 'input' && !isSecond;
    const kept = unbound === 'kept' || (unbound === 'input' && isSecond);
    return (
      this.annotated(node, { kept, input }) ?? this.ofType(this.typeAt(node.name), { kept, input })
    );
  }

  /** Returns what a type annotation names if the checker can't resolve its import. */
  annotated(
    { type }: { readonly type?: TypeNode | undefined },
    { kept }: Flags,
  ): Values | undefined {
    if (type === undefined || !ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName))
      return undefined;
    const [declaration] = this.code.symbolAt(type.typeName)?.declarations ?? [];
    if (declaration === undefined || !ts.isImportSpecifier(declaration)) return undefined;
    const found = this.#imported(declaration);
    return found[0]?.is === 'outside' ? [{ ...found[0], kept }] : undefined;
  }

  #variable(node: VariableDeclaration, env: Env): Values {
    const scope = this.scopeOf(node, env);
    const symbol = this.code.symbolAt(node.name);
    const loop = node.parent.parent;
    if (ts.isForOfStatement(loop))
      return this.members.elements(this.evaluate(loop.expression, scope));
    const own = node.initializer === undefined ? [] : this.evaluate(node.initializer, scope);
    const assigned = symbol === undefined ? [] : this.code.assignedTo(symbol);
    const values = [
      ...own,
      ...assigned.flatMap((each) =>
        each === undefined ? [UNKNOWN] : this.evaluate(each, this.scopeOf(each, scope, scope.kept)),
      ),
    ];
    if (values.length === 0)
      return this.annotated(node, scope) ?? this.ofType(this.typeAt(node.name), scope);
    const changes = symbol === undefined ? [] : this.code.changesOf(symbol);
    if (changes.length === 0) return values;
    return values.map((value) =>
      value.is === 'object' && value.changes.length === 0
        ? { ...value, changes, changedIn: scope }
        : value,
    );
  }

  #access(node: PropertyAccessExpression | ElementAccessExpression, env: Env): Values {
    return this.members.of(this.#holder(node.expression, env), node, env);
  }

  #holder(node: Expression, env: Env): Values {
    if (node.kind !== ts.SyntaxKind.SuperKeyword) return this.evaluate(node, env);
    return selfIn(env).flatMap((self) =>
      this.members.base(self, ts.findAncestor(node, ts.isClassLike)),
    );
  }

  /** Returns what is called: functions, classes, and things of packages. */
  callees({ expression }: Call, env: Env): Values {
    return this.evaluate(expression, env);
  }

  #call(node: CallExpression, env: Env): Values {
    const loaded = loadedBy(node);
    if (loaded !== undefined) {
      const [place] = this.#moduleOf(loaded);
      return place === undefined ? this.typed([UNKNOWN], node) : [place];
    }
    const args = this.args(node, env);
    return this.typed(
      this.callees(node, env).flatMap((callee) => this.result(callee, args, node, env)),
      node,
    );
  }

  #moduleOf(specifier: Expression): Values {
    if (!ts.isStringLiteralLike(specifier) || /^[./]/.test(specifier.text)) return [];
    return [{ is: 'outside', pkg: packageIn(specifier.text), path: [], kept: true }];
  }

  /** Returns the arguments of a call. After a spread of something unknown, all arguments are unknown. */
  args(node: Call, env: Env): readonly Values[] {
    const found: Values[] = [];
    for (const each of node.arguments ?? []) {
      if (!ts.isSpreadElement(each)) found.push(this.evaluate(each, env));
      else {
        const items = this.members.items(this.evaluate(each.expression, env));
        found.push(...(items ?? Array.from({ length: 6 }, () => [UNKNOWN])));
      }
    }
    return found;
  }

  /** Returns what a call of a value returns. */
  result(callee: Value, args: readonly Values[], node: Expression, env: Env): Values {
    if (callee.is === 'function') return this.returned(callee, args, env);
    if (callee.is !== 'outside') return [UNKNOWN];
    const special = resultOfGlobal(this, this.members, callee, args, node, env);
    if (special !== undefined) return special;
    const type = this.ofType(this.typeAt(node), env);
    const made = { made: node, args, kept: env.kept || isPartOfKept(callee) };
    const path = [...callee.path, '()'];
    const typed = type.filter(
      (each) => each.is !== 'any' && !(each.is === 'outside' && each.pkg === 'global'),
    );
    if (typed.length > 0)
      return typed.map((each) => (each.is === 'outside' ? { ...each, ...made } : each));
    return callee.pkg === 'global' && made.kept && type.length > 0
      ? type.map((each) => ('kept' in each ? { ...each, kept: true } : each))
      : [
          {
            is: 'outside',
            pkg: callee.pkg,
            path,
            ...made,
            ...(callee.self && { self: callee.self }),
          },
        ];
  }

  #new(node: NewExpression, env: Env): Values {
    const args = this.args(node, env);
    return this.callees(node, env).flatMap((callee): Values => {
      if (callee.is === 'class')
        return [{ is: 'instance', node: callee.node, env: callee.env, args, kept: env.kept }];
      if (callee.is !== 'outside') return this.typed([UNKNOWN], node);
      const path = [...callee.path, 'new'];
      return [{ is: 'outside', pkg: callee.pkg, path, made: node, args, kept: env.kept }];
    });
  }

  /** Returns what a function of own code returns. */
  returned(callee: FunctionValue, args: readonly Values[], { kept }: Pick<Env, 'kept'>): Values {
    const { node } = callee;
    const times = this.#active.get(node) ?? 0;
    if (this.#depth >= DEEPEST || times >= MOST_RECURSION) return [UNKNOWN];
    const env = this.activation(callee, args, kept);
    const { body, asteriskToken } = node as { readonly body?: Node; readonly asteriskToken?: Node };
    if (body === undefined || asteriskToken !== undefined) return [UNKNOWN];
    this.#active.set(node, times + 1);
    this.#depth += 1;
    try {
      if (!ts.isBlock(body)) return this.evaluate(body as Expression, env);
      const found = returnsIn(body);
      return found.length === 0 ? [NOTHING] : found.flatMap((each) => this.evaluate(each, env));
    } finally {
      this.#active.set(node, times);
      this.#depth -= 1;
    }
  }

  /** Returns the bindings of a function when it's called with the arguments. */
  activation(callee: FunctionValue, given: readonly Values[] | undefined, kept: boolean): Env {
    const { node, env: outer, self, first = [] } = callee;
    const bound = new Map<Node, Values>();
    const args = given === undefined ? undefined : [...first, ...given];
    const parameters = node.parameters.filter(({ name }) => name.getText() !== 'this');
    for (const [at, parameter] of parameters.entries()) {
      if (args === undefined) break;
      if (parameter.dotDotDotToken !== undefined) bound.set(parameter, [UNKNOWN]);
      else bound.set(parameter, args[at] ?? [NOTHING]);
    }
    return this.envs.enter({
      node,
      outer,
      bound,
      kept,
      unbound: 'value',
      ...(!ts.isArrowFunction(node) && { self: self ?? [UNKNOWN] }),
    });
  }

  closure(node: SignatureDeclaration, env: Env, self?: Values): FunctionValue {
    return { is: 'function', node, env, ...(self && { self }) };
  }

  /** Returns the activation that a node's code runs in, as seen from `env`. */
  scopeOf(node: Node, env: Env, kept = true): Env {
    const container = containerOf(node);
    if (container === undefined) return this.envs.top;
    for (let at: Env | undefined = env; at !== undefined; at = at.outer)
      if (at.node === container) return at;
    const method = ts.isClassLike(container.parent) ? container.parent : undefined;
    return this.envs.enter({
      node: container,
      outer: this.scopeOf(container, env, kept),
      bound: new Map(),
      kept,
      unbound: 'value',
      ...(!ts.isArrowFunction(container) && {
        self: method ? [this.members.anInstance(method, true)] : [UNKNOWN],
      }),
    });
  }

  typeAt(node: Node): Type {
    return this.code.typeAt(node);
  }

  /** Puts what the type says in place of values that are unknown. */
  typed(values: Values, node: Node): Values {
    if (!values.some((value) => value.is === 'any' && value.type === undefined)) return values;
    return values.flatMap((value) =>
      value.is === 'any' && value.type === undefined
        ? this.ofType(this.typeAt(node), value)
        : [value],
    );
  }

  /** Returns what a type says of its values. */
  ofType(type: Type, { kept, input = false }: Flags): Values {
    const any: Value = { is: 'any', type, kept, ...(input && { input }) };
    if (type.isUnion()) {
      const types = type.types.filter(({ flags }) => (flags & NULLISH()) === 0);
      if (types.length > 12 || types.length === 0) return [any];
      return distinct(types.flatMap((each) => this.ofType(each, { kept, input })));
    }
    const symbol = type.getSymbol();
    const [declaration] = symbol?.declarations ?? [];
    if (declaration === undefined || (type.flags & ts.TypeFlags.TypeParameter) !== 0) return [any];
    const outside = this.code.outsideOf(declaration);
    if (outside !== undefined) return input ? [any] : [{ is: 'outside', kept, ...outside }];
    if (
      ts.isClassLike(declaration) &&
      symbol!.valueDeclaration === declaration &&
      !isAbstract(declaration)
    )
      return [this.members.anInstance(declaration, kept)];
    const scope = this.scopeOf(declaration, this.envs.top);
    if (
      ts.isArrowFunction(declaration) ||
      ts.isFunctionExpression(declaration) ||
      ts.isFunctionDeclaration(declaration)
    )
      return 'body' in declaration ? [this.closure(declaration, scope)] : [any];
    return [any];
  }
}

/** Ends the audit of a tool that takes too long. */
export class OutOfTime extends Error {}

const NULLISH = () => ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Void;

const isAbstract = (node: Declaration) =>
  (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Abstract) !== 0;

/** Methods that return a part of their object. */
const PARTS =
  /^(?:get|at|find|findLast|pop|shift|values|entries|deref|filter|slice|concat|flat|toSorted|toReversed|sort|reverse)$/;
const isPartOfKept = ({ pkg, path, self = [] }: OutsideValue) =>
  pkg === 'global' && PARTS.test(path.at(-1) ?? '') && self.some(isKept);

export function selfIn(env: Env): Values {
  for (let at: Env | undefined = env; at !== undefined; at = at.outer)
    if (at.self !== undefined) return at.self;
  return [UNKNOWN];
}

function truthOf(value: Value): boolean | undefined {
  if (value.is === 'any' || value.is === 'outside') return undefined;
  if (value.is !== 'literal') return true;
  return typeof value.value === 'string' && value.value.includes(HOLE) && value.value.length < 2
    ? undefined
    : Boolean(value.value);
}

const isNullish = (value: Value) => value.is === 'literal' && value.value == null;
const canBeMissing = (value: Value) =>
  isNullish(value) || value.is === 'any' || value.is === 'outside';

/** Returns the names of flags that are combined, such as `O_RDONLY|O_NOFOLLOW`. */
function flagsOf(left: Values, right: Values): readonly string[] {
  const [a, b] = [left, right].map((values) =>
    textsOf(
      values.map((each) =>
        each.is === 'outside' && /^[A-Z][A-Z_\d]+$/.test(each.path.at(-1) ?? '')
          ? literal(each.path.at(-1))
          : each,
      ),
    ),
  );
  return joined(a!, ['|']).flatMap((head) => joined([head], b!));
}

function joined(heads: readonly string[], tails: readonly string[], end = ''): readonly string[] {
  if (heads.length * tails.length > 8) return [HOLE];
  const texts = heads.flatMap((head) => tails.map((tail) => head + tail + end));
  return texts.some(({ length }) => length > 20_000) ? [HOLE] : texts;
}

/** Compares values. The result is unknown unless all of them decide it. */
function sameness(a: Values, b: Values, same: boolean): Value {
  const results = new Set(a.flatMap((left) => b.map((right) => isSame(left, right))));
  const [first] = results;
  return results.size === 1 && first !== undefined ? literal(first === same) : UNKNOWN;
}

function isSame(a: Value, b: Value): boolean | undefined {
  if (a.is !== 'literal' || b.is !== 'literal') return undefined;
  if (String(a.value).includes(HOLE) || String(b.value).includes(HOLE)) return undefined;
  return a.value === b.value || (a.value == null && b.value == null);
}
