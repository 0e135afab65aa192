import type {
  BinaryExpression,
  CallExpression,
  ClassLikeDeclaration,
  Expression,
  Identifier,
  IfStatement,
  NewExpression,
  Node,
  PropertyAccessExpression,
  Statement,
  TaggedTemplateExpression,
} from 'typescript';
import { isAssignment, isUpdated, memberName } from '../code/code.js';
import { ts } from '../code/typescript.js';
import type { CallEffect, Effect } from '../effect.js';
import { OutOfTime, selfIn, type Evaluator } from '../evaluate/evaluator.js';
import { constructorOf, loadedBy } from '../evaluate/syntax.js';
import { DATA_METHODS } from '../evaluate/members.js';
import { bind, withSelf } from '../evaluate/global-results.js';
import {
  isKept,
  literal,
  UNKNOWN,
  type ClassValue,
  type Env,
  type FunctionValue,
  type InstanceValue,
  type ObjectValue,
  type OutsideValue,
  type Value,
  type Values,
} from '../evaluate/values.js';
import { callName, nameOf, type KnownCalls } from '../known/known-calls.js';
import { verbOf } from '../known/words.js';
import { listenersOf } from './listeners.js';
import { Memory } from './memory.js';

/** A call that couldn't be resolved to something known. */
export interface Unknown {
  readonly call: string;
  readonly at: string;
  readonly via: readonly string[];
  /** True if the call's name begins with a verb for changes, such as `create`. */
  readonly perhapsWrites?: boolean;
}

/** The effects of a tool's code. */
export interface Followed {
  readonly effects: readonly Effect[];
  readonly unknowns: readonly Unknown[];
  /** True if the code uses the call's idempotency key. */
  readonly usesKey: boolean;
}

/** Milliseconds for one tool. */
const MOST_TIME = 3_000;
/** Activations of one function, after which its arguments are unknown. */
const MOST_ACTIVATIONS = 40;

/** Returns everything that a function does, in all the code that it calls. */
export function followCalls(
  evaluator: Evaluator,
  known: KnownCalls,
  handlers: Values,
  node: Node,
): Followed {
  const follower = new Follower(evaluator, known);
  evaluator.limit(MOST_TIME);
  try {
    follower.start(handlers, node);
  } catch (error) {
    if (!(error instanceof OutOfTime) && !(error instanceof RangeError)) throw error;
    const why =
      error instanceof OutOfTime
        ? `more calls than can be followed in ${MOST_TIME / 1_000} seconds`
        : 'code that is nested too deeply';
    follower.unknown(why, node);
  }
  return follower;
}

class Follower implements Followed {
  readonly effects: Effect[] = [];
  readonly unknowns: Unknown[] = [];
  usesKey = false;
  readonly #seen = new Set<Env>();
  readonly #times = new Map<Node, number>();
  readonly #path: Node[] = [];
  readonly #stack: Node[] = [];
  readonly #found = new Set<string>();
  /** Functions that were made, until they are called. */
  readonly #made = new Map<Node, FunctionValue>();
  readonly #called = new Set<Node>();
  #isPerhaps = false;
  readonly #memory: Memory;

  constructor(
    readonly evaluator: Evaluator,
    readonly known: KnownCalls,
  ) {
    this.#memory = new Memory(evaluator);
  }

  start(handlers: Values, node: Node): void {
    for (const handler of handlers) {
      if (handler.is !== 'function')
        this.#dispatch(handler, [[INPUT], [UNKNOWN]], node, this.evaluator.envs.top);
      else {
        this.#called.add(handler.node);
        const env = this.evaluator.activation(handler, handler.first && [], false);
        this.#body(handler.node, this.evaluator.envs.enter({ ...env, unbound: 'input' }));
      }
    }
    this.#isPerhaps = true;
    for (const [node, made] of this.#made)
      if (!this.#called.has(node)) this.#enter(made, undefined, node);
  }

  /** Reports a call that couldn't be resolved. */
  unknown(call: string, node: Node, perhapsWrites = false): void {
    const text = call.replace(/\s+/g, ' ').slice(0, 80);
    const at = this.evaluator.code.placeOf(node);
    if (this.#isNew(`${text} ${at}`))
      this.unknowns.push({
        call: text,
        at,
        via: this.#via(),
        ...(perhapsWrites && { perhapsWrites }),
      });
  }

  #isNew(key: string): boolean {
    const { size } = this.#found;
    return this.#found.add(key).size > size;
  }

  readonly #via = () => this.#path.map((node) => this.evaluator.code.placeOf(node));

  #record(effect: CallEffect, node: Node): void {
    if (effect.access === 'unknown') return this.unknown(effect.call, node);
    if (this.#isPerhaps && effect.access === 'write')
      return this.unknown(`${effect.call} in a function that was made and never seen called`, node);
    const at = this.evaluator.code.placeOf(node);
    if (this.#isNew(`${effect.access} ${effect.call} ${at}`))
      this.effects.push({ ...effect, at, via: this.#via() });
  }

  /** Follows the code of a function that is called. */
  #enter(callee: FunctionValue, given: readonly Values[] | undefined, node: Node): void {
    this.#called.add(callee.node);
    const times = this.#times.get(callee.node) ?? 0;
    const isDeep =
      this.#stack.filter((each) => each === callee.node).length >= 2 || times >= MOST_ACTIVATIONS;
    const env = this.evaluator.activation(callee, isDeep ? undefined : given, false);
    if (this.#seen.has(env)) return;
    this.#seen.add(env);
    this.#times.set(callee.node, times + 1);
    this.#path.push(node);
    this.#stack.push(callee.node);
    this.#body(callee.node, env);
    this.#stack.pop();
    this.#path.pop();
  }

  #body(node: Node, env: Env): void {
    const { parameters = [], body } = node as {
      readonly parameters?: readonly Node[];
      readonly body?: Node;
    };
    for (const each of parameters) this.#visit(each, env);
    if (body === undefined) this.unknown('code that only has a type', node);
    else this.#visit(body, env);
  }

  #visit(node: Node, env: Env): void {
    this.evaluator.tick();
    if (ts.isTypeNode(node)) return;
    if (ts.isFunctionLike(node)) return this.#make(node, env);
    if (ts.isClassLike(node)) return this.#declareClass(node, env);
    if (ts.isCaseClause(node)) this.#visit(node.expression, env);
    if (ts.isBlock(node) || ts.isCaseOrDefaultClause(node))
      return this.#statements(node.statements, env);
    if (ts.isIfStatement(node))
      return this.#branches(node.expression, node.thenStatement, node.elseStatement, env);
    if (ts.isConditionalExpression(node))
      return this.#branches(node.condition, node.whenTrue, node.whenFalse, env);
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) return this.#call(node, env);
    if (ts.isTaggedTemplateExpression(node)) return this.#template(node, env);
    ts.forEachChild(node, (child) => this.#visit(child, env));
    this.#effectOf(node, env);
  }

  /** Follows what a node does beside the nodes inside it. */
  #effectOf(node: Node, env: Env): void {
    if (ts.isBinaryExpression(node) && isAssignment(node)) this.#assign(node, env);
    else if (ts.isIdentifier(node)) this.#name(node, env);
    else if (ts.isPropertyAccessExpression(node)) this.#property(node, env);
    else if (ts.isForOfStatement(node) || ts.isSpreadElement(node))
      this.#iterate(node.expression, env);
    else if (ts.isYieldExpression(node) && node.asteriskToken && node.expression)
      this.#iterate(node.expression, env);
    else if (
      ts.isVariableDeclaration(node) &&
      ts.isArrayBindingPattern(node.name) &&
      node.initializer
    )
      this.#iterate(node.initializer, env);
    else if (
      (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) &&
      isUpdated(node.operand)
    )
      this.#set(node.operand, env);
    else if (ts.isDeleteExpression(node)) this.#set(node.expression, env);
  }

  #statements(statements: readonly Statement[], env: Env): void {
    for (const each of statements) {
      this.#visit(each, env);
      if (ts.isIfStatement(each) && this.#alwaysLeaves(each, env)) return;
    }
  }

  /** Returns true if a condition whose value is known ends the function. */
  #alwaysLeaves({ expression, thenStatement, elseStatement }: IfStatement, env: Env): boolean {
    const taken =
      leaves(thenStatement) || leaves(elseStatement)
        ? this.evaluator.truth(expression, env)
        : undefined;
    return (taken === true && leaves(thenStatement)) || (taken === false && leaves(elseStatement));
  }

  #branches(condition: Expression, yes: Node, no: Node | undefined, env: Env): void {
    this.#visit(condition, env);
    const truth = this.evaluator.truth(condition, env);
    if (truth !== false) this.#visit(yes, env);
    if (truth !== true && no !== undefined) this.#visit(no, env);
  }

  /** Remembers a function until it's called. A declaration is only made where something uses its name. */
  #make(node: Node, env: Env): void {
    if (!ts.isFunctionDeclaration(node) && 'body' in node) {
      const self = ts.isObjectLiteralExpression(node.parent)
        ? this.evaluator.evaluate(node.parent, env)
        : undefined;
      this.#made.set(node, this.evaluator.closure(node as never, env, self));
    }
  }

  #name(node: Identifier, env: Env): void {
    if (node.text === 'idempotencyKey') this.usesKey = true;
    if (ts.isPropertyAccessExpression(node.parent) || ts.isCallExpression(node.parent)) return;
    const symbol = this.evaluator.code.symbolAt(node);
    if (
      symbol === undefined ||
      (symbol.flags & ts.SymbolFlags.Function) === 0 ||
      node.parent === symbol.valueDeclaration
    )
      return;
    for (const each of this.evaluator.evaluate(node, env))
      if (each.is === 'function' && !this.#made.has(each.node)) this.#made.set(each.node, each);
  }

  /** Follows a class that is declared inside a function: its static parts run. */
  #declareClass(node: ClassLikeDeclaration, env: Env): void {
    for (const member of node.members) {
      const isStatic = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0;
      if (ts.isClassStaticBlockDeclaration(member)) this.#visit(member.body, env);
      else if (isStatic && ts.isPropertyDeclaration(member) && member.initializer)
        this.#visit(member.initializer, env);
    }
  }

  #call(node: CallExpression | NewExpression, env: Env): void {
    for (const each of node.arguments ?? []) this.#visit(each, env);
    const { expression } = node;
    if (expression.kind === ts.SyntaxKind.SuperKeyword)
      return this.#super(node as CallExpression, env);
    const isMember =
      ts.isPropertyAccessExpression(expression) || ts.isElementAccessExpression(expression);
    this.#visit(isMember ? expression.expression : expression, env);
    if (ts.isElementAccessExpression(expression)) this.#visit(expression.argumentExpression, env);
    const loaded = ts.isCallExpression(node) ? loadedBy(node) : undefined;
    if (loaded !== undefined) {
      if (!ts.isStringLiteralLike(loaded)) this.unknown('a module whose name is computed', node);
      return;
    }
    const callees = this.evaluator.callees(node, env).filter((each) => each.is !== 'literal');
    if (callees.length === 0) this.unknown(expression.getText(), node);
    for (const callee of callees) this.#dispatch(callee, this.evaluator.args(node, env), node, env);
  }

  #template(node: TaggedTemplateExpression, env: Env): void {
    ts.forEachChild(node.template, (child) => this.#visit(child, env));
    this.#visit(node.tag, env);
    const given = [this.evaluator.evaluate(node.template, env)];
    for (const callee of this.evaluator.evaluate(node.tag, env))
      this.#dispatch(callee, given, node, env);
  }

  #dispatch(callee: Value, given: readonly Values[], node: Node, env: Env): void {
    switch (callee.is) {
      case 'function':
        return this.#enter(
          callee,
          [...(callee.first ?? []), ...given].slice(callee.first?.length ?? 0),
          node,
        );
      case 'class':
        return this.#construct(callee, given, node);
      case 'outside':
        return this.#outside(callee, given, node, env);
      case 'any':
        if (callee.input !== true || !isDataMethod(node)) return this.unknown(textOf(node), node);
        // The input is data, so only the functions passed to it can run.
        return this.#callbacks(given, [UNKNOWN], node, env);
      case 'literal':
        return undefined;
      default:
        return this.unknown(textOf(node), node);
    }
  }

  #outside(callee: OutsideValue, given: readonly Values[], node: Node, env: Env): void {
    if (isIndirect(callee)) return this.#indirect(callee, given, node, env);
    const change = this.#memory.call(callee, node, env);
    if (change !== undefined) this.#record(change, node);
    const heard = listenersOf(this.evaluator, callee, given);
    for (const each of heard?.functions ?? [])
      this.#callback(each, [given[1] ?? [UNKNOWN]], node, env);
    if (heard !== undefined && !heard.isAll)
      this.unknown(`${callName(callee)}, whose listeners aren't known`, node);
    this.#look(callee, given, node);
    const passed = isPromisify(callee) ? [] : given;
    this.#callbacks(passed, elementsFor(this.evaluator, callee), node, env);
    for (const self of callee.self ?? []) if (self.is === 'instance') this.#makeMethods(self);
  }

  /** Looks up what a call of a package does. */
  #look(callee: OutsideValue, given: readonly Values[], node: Node): void {
    const { args = [], path } = callee;
    const isNew = ts.isNewExpression(node);
    const all = path.at(-1) === '()' ? given : [...args, ...given];
    const effects = this.known.effectsOf({ ...callee, given: all, isNew });
    if (effects === undefined) {
      const isWrite = verbOf(nameOf(callee))?.access === 'write';
      this.unknown(`${isNew ? 'new ' : ''}${callName(callee)}`, node, isWrite);
    }
    for (const effect of effects ?? []) this.#record(effect, node);
  }

  /** Follows `call`, `apply`, `Reflect.apply` and `Reflect.construct`. `bind` only makes a function. */
  #indirect(callee: OutsideValue, given: readonly Values[], node: Node, env: Env): void {
    const name = nameOf(callee);
    const isReflect = callee.path.includes('Reflect');
    const targets = isReflect ? (given[0] ?? []) : (callee.self ?? []);
    if (targets.length === 0 || targets.some(isIndirect)) return this.unknown(textOf(node), node);
    const rest = given.slice(isReflect ? 1 : 0);
    const list =
      name === 'call'
        ? rest.slice(1)
        : this.evaluator.members.items(rest[name === 'construct' ? 0 : 1] ?? []);
    for (const target of targets) {
      if (name === 'bind') this.#makeValue(bind(target, given));
      else if (name === 'construct') this.#dispatch(target, list ?? [], node, env);
      else
        this.#dispatch(withSelf(target, rest[0] ?? []), list ?? [[UNKNOWN], [UNKNOWN]], node, env);
    }
  }

  #makeValue(value: Value): void {
    if (value.is === 'function') this.#made.set(value.node, value);
  }

  /** Follows the functions among arguments: what they are passed to may call them. */
  #callbacks(given: readonly Values[], first: Values, node: Node, env: Env): void {
    const args = (node as Partial<CallExpression>).arguments ?? [];
    const { code } = this.evaluator;
    for (const [at, values] of given.entries())
      for (const value of values) {
        if (value.is === 'outside' && !this.#isFunction(value, args[at])) continue;
        if (
          value.is === 'any' &&
          value.input !== true &&
          ts.isCallLikeExpression(node) &&
          code.expectsFunction(node, at)
        )
          this.unknown((args[at] ?? node).getText(), node);
        this.#callback(value, [first], node, env);
      }
  }

  #isFunction(value: OutsideValue, node: Node | undefined): boolean {
    if (node === undefined || /^(?:\(\)|new)$/.test(value.path.at(-1) ?? '()')) return false;
    const type = this.evaluator.typeAt(node);
    return type.getCallSignatures().length > 0 && type.getConstructSignatures().length === 0;
  }

  #callback(value: Value, given: readonly Values[], node: Node, env: Env, depth = 0): void {
    if (value.is === 'function') this.#enter(value, [...given, ...REST], node);
    else if (value.is === 'outside') this.#look(value, given, node);
    else if (value.is === 'instance') this.#enterMethods(value, node);
    else if (value.is === 'object' && depth < 3)
      for (const each of this.#valuesIn(value))
        this.#callback(each, [[UNKNOWN]], node, env, depth + 1);
  }

  /** Returns the functions and objects in an object literal or a list. */
  #valuesIn(object: ObjectValue): Values {
    const values = ts.isArrayLiteralExpression(object.node)
      ? (this.evaluator.members.items([object])?.flat() ?? [])
      : object.node.properties.flatMap((each): Values => {
          if (ts.isPropertyAssignment(each))
            return this.evaluator.evaluate(each.initializer, object.env);
          if (ts.isShorthandPropertyAssignment(each))
            return this.evaluator.evaluate(each.name, object.env);
          return ts.isSpreadAssignment(each)
            ? []
            : [this.evaluator.closure(each, object.env, [object])];
        });
    return values.filter(({ is }) => is === 'function' || is === 'object');
  }

  #enterMethods(instance: InstanceValue, node: Node): void {
    for (const each of this.#methodsOf(instance)) this.#enter(each, undefined, node);
  }

  /** Remembers the methods of an object whose base class comes from a package, which may call them. */
  #makeMethods(instance: InstanceValue): void {
    for (const each of this.#methodsOf(instance))
      if (!this.#made.has(each.node)) this.#made.set(each.node, each);
  }

  #methodsOf(instance: InstanceValue): readonly FunctionValue[] {
    return instance.node.members
      .filter(
        (each) => (ts.isMethodDeclaration(each) || ts.isAccessor(each)) && each.body !== undefined,
      )
      .map((each) => this.evaluator.closure(each as never, instance.env, [instance]));
  }

  #construct(callee: ClassValue, given: readonly Values[], node: Node): void {
    const instance: InstanceValue = {
      is: 'instance',
      node: callee.node,
      env: callee.env,
      args: given,
      kept: false,
    };
    this.#path.push(node);
    this.#initialize(instance, callee.node, given, node);
    this.#path.pop();
    const implicit = this.#methodsOf(instance).filter(({ node: each }) =>
      IMPLICIT.test(memberName((each as { name?: Node }).name!)),
    );
    for (const each of implicit) this.#made.set(each.node, each);
  }

  /** Follows what creating an object of a class runs: fields, and its constructor or that of its base. */
  #initialize(
    instance: InstanceValue,
    node: ClassLikeDeclaration,
    given: readonly Values[],
    at: Node,
  ): void {
    const { evaluator } = this;
    const env = evaluator.envs.enter({
      outer: instance.env,
      bound: new Map(),
      self: [instance],
      kept: false,
      unbound: 'value',
    });
    for (const member of node.members)
      if (
        ts.isPropertyDeclaration(member) &&
        member.initializer &&
        !ts.isArrowFunction(member.initializer)
      )
        this.#visit(member.initializer, env);
    const own = constructorOf(node);
    if (own !== undefined) this.#enter(evaluator.closure(own, instance.env, [instance]), given, at);
    else for (const base of evaluator.members.bases(node)) this.#base(base, instance, given, at);
  }

  #base(base: Value, instance: InstanceValue, given: readonly Values[], at: Node): void {
    if (base.is === 'class') this.#initialize(instance, base.node, given, at);
    else if (base.is === 'outside') this.#makeMethods(instance);
    else this.unknown('the constructor of a base class', at);
  }

  #super(node: CallExpression, env: Env): void {
    const owner = ts.findAncestor(node, ts.isClassLike);
    const [self] = selfIn(env);
    if (owner === undefined || self?.is !== 'instance') return this.unknown('super', node);
    for (const base of this.evaluator.members.bases(owner))
      this.#base(base, self, this.evaluator.args(node, env), node);
  }

  #assign({ left }: BinaryExpression, env: Env): void {
    if (!ts.isObjectLiteralExpression(left) && !ts.isArrayLiteralExpression(left))
      return this.#set(left, env);
    ts.forEachChild(left, (child) => {
      const target = ts.isPropertyAssignment(child)
        ? child.initializer
        : ts.isShorthandPropertyAssignment(child)
          ? child.name
          : child;
      this.#set(target as Expression, env);
    });
  }

  #set(target: Expression, env: Env): void {
    const effect = this.#memory.assignment(target, env);
    if (effect !== undefined) this.#record(effect, target);
    if (ts.isPropertyAccessExpression(target)) this.#accessors(target, env, true);
  }

  #property(node: PropertyAccessExpression, env: Env): void {
    if (node.name.text === 'idempotencyKey') this.usesKey = true;
    this.#accessors(node, env, false);
  }

  /** Follows the getter or setter that a property access runs. */
  #accessors(node: PropertyAccessExpression, env: Env, isSet: boolean): void {
    const found = this.evaluator.code
      .membersNamed(node.name.text)
      .filter(isSet ? ts.isSetAccessor : ts.isGetAccessor);
    if (found.length === 0) return;
    const fitting = new Set(
      this.evaluator.code.implementationsOf(node.name.text, this.evaluator.typeAt(node.expression)),
    );
    for (const holder of this.evaluator.evaluate(node.expression, env))
      for (const each of found) {
        const self = holder.is === 'instance' || holder.is === 'object' ? holder : undefined;
        const accessor = this.evaluator.closure(
          each as never,
          self?.env ?? this.evaluator.scopeOf(each.parent, env),
          self && [self],
        );
        if (holder.is === 'object' ? holder.node === each.parent : fitting.has(each))
          this.#enter(accessor, undefined, node);
        else if (holder.is === 'any') this.#makeValue(accessor);
      }
  }

  /** Follows the iterator that a loop or a spread runs. */
  #iterate(node: Expression, env: Env): void {
    for (const name of ['[Symbol.iterator]', '[Symbol.asyncIterator]'])
      for (const member of this.evaluator.code.membersNamed(name))
        for (const value of this.evaluator.evaluate(node, env)) {
          const isOwn =
            (value.is === 'object' || value.is === 'instance') && value.node === member.parent;
          if (isOwn && 'body' in member)
            this.#enter(this.evaluator.closure(member as never, value.env, [value]), [], node);
        }
  }
}

const INPUT: Value = { is: 'any', kept: false, input: true };
const REST: readonly Values[] = Array.from({ length: 5 }, () => [UNKNOWN]);
/** Methods that the language calls by itself. */
const IMPLICIT = /^(?:toString|valueOf|toJSON|then|\[Symbol\..*\])$/;
/** Returns true for `call`, `apply`, `bind`, `Reflect.apply` and `Reflect.construct`. */
const isIndirect = (value: Value) =>
  value.is === 'outside' &&
  value.pkg === 'global' &&
  /^(?:\w*Function\.(?:call|apply|bind|prototype)|Reflect\.(?:apply|construct)|Function|FunctionConstructor)$/.test(
    value.path.slice(-2).join('.'),
  );
const isPromisify = ({ pkg, path }: OutsideValue) =>
  pkg === 'util' && /^(?:promisify|callbackify)$/.test(path.at(-1) ?? '');

/** Returns true for a call of a method that plain data has. */
function isDataMethod(node: Node): boolean {
  const { expression } = node as Partial<CallExpression>;
  return (
    expression !== undefined &&
    ts.isPropertyAccessExpression(expression) &&
    DATA_METHODS.test(expression.name.text)
  );
}

const textOf = (node: Node) => ((node as Partial<CallExpression>).expression ?? node).getText();

/** Returns what a callback receives first. */
function elementsFor(evaluator: Evaluator, { pkg, path, self = [] }: OutsideValue): Values {
  if (pkg !== 'global') return [UNKNOWN];
  if (path.at(-2) === 'Promise') return self;
  const found = evaluator.members.elements(self);
  return found.length === 0 ? [literal(undefined)] : self.some(isKept) ? found : found;
}

/** Returns true for a branch that ends its function. */
function leaves(node: Node | undefined): boolean {
  if (node === undefined) return false;
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return true;
  return ts.isBlock(node) && leaves(node.statements.at(-1));
}
