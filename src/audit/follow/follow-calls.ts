import type {
  CallExpression,
  ClassLikeDeclaration,
  Decorator,
  ElementAccessExpression,
  Expression,
  Identifier,
  IfStatement,
  NewExpression,
  Node,
  PropertyAccessExpression,
  SignatureDeclaration,
  Statement,
  TaggedTemplateExpression,
} from 'typescript';
import { memberName, type Member } from '../code/code.js';
import { ts } from '../code/typescript.js';
import type { CallEffect, Effect } from '../effect.js';
import { bind, withSelf } from '../evaluate/global-results.js';
import { OutOfSteps, selfIn, type Evaluator } from '../evaluate/evaluator.js';
import { DATA_METHODS } from '../evaluate/members.js';
import { constructorOf, loadedBy } from '../evaluate/syntax.js';
import {
  closure,
  MANY,
  NOTHING,
  UNKNOWN,
  type Scope,
  type FunctionValue,
  type InstanceValue,
  type OutsideValue,
  type Value,
  type Values,
} from '../evaluate/values.js';
import { callName, callNameOf, type KnownCalls } from '../known/known-calls.js';
import { convertedBy, iteratedBy, takenApart, targetsOf } from './implied-work.js';
import { listenersOf } from './listeners.js';
import { assignmentEffect, mutationEffect } from './memory.js';

/** A call that couldn't be resolved to something known. */
export interface Unknown {
  readonly call: string;
  readonly at: string;
  readonly via: readonly string[];
}

/** The effects of a tool's code. */
export interface Followed {
  readonly effects: readonly Effect[];
  readonly unknowns: readonly Unknown[];
  /** True if the code uses the call's idempotency key. */
  readonly usesKey: boolean;
}

/** Steps for one tool, which take about three seconds. Seconds would make verdicts depend on the machine. */
const MOST_STEPS = 100_000;
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
  evaluator.limit(MOST_STEPS);
  try {
    follower.start(handlers, node);
  } catch (error) {
    const isLong = error instanceof OutOfSteps;
    if (!isLong && !(error instanceof RangeError)) throw error;
    const long = `more code than ${MOST_STEPS} steps can follow`;
    follower.unknown(isLong ? long : 'code that is nested too deeply', node);
  }
  return follower;
}

class Follower implements Followed {
  readonly effects: Effect[] = [];
  readonly unknowns: Unknown[] = [];
  usesKey = false;
  readonly #entered = new Set<Scope>();
  /** The number of times that each function was entered. */
  readonly #times = new Map<Node, number>();
  /** The calls on the way, with the code that each one runs. */
  readonly #path: { readonly at: Node; readonly code: Node }[] = [];
  readonly #found = new Set<string>();
  /** Functions that were made. What is never called may be called by something that isn't followed. */
  readonly #made = new Map<Node, FunctionValue>();
  #isPerhaps = false;

  constructor(
    readonly evaluator: Evaluator,
    readonly known: KnownCalls,
  ) {}

  start(handlers: Values, node: Node): void {
    for (const handler of handlers) {
      if (handler.is !== 'function')
        this.#dispatch(handler, [[INPUT], [UNKNOWN]], node, this.evaluator.top);
      else {
        this.#times.set(handler.node, 1);
        for (const each of decoratorsOf(handler.node))
          if (each.expression !== node) this.#decorator(each);
        const env = this.evaluator.activation(handler, handler.first && [], false);
        this.#body(handler.node, this.evaluator.enter({ ...env, unbound: 'input' }));
      }
    }
    this.#isPerhaps = true;
    for (const [node, made] of this.#made)
      if (!this.#times.has(node)) this.#enter(made, undefined, node);
  }

  /** Reports a call that couldn't be resolved. */
  unknown(text: string, node: Node): void {
    const call = text.replace(/\s+/g, ' ').slice(0, 80);
    const place = this.#placeOf(node);
    if (this.#isNew(`${call} ${place.at}`)) this.unknowns.push({ call, ...place });
  }

  #isNew(key: string): boolean {
    const { size } = this.#found;
    return this.#found.add(key).size > size;
  }

  #placeOf(node: Node): Pick<Effect, 'at' | 'via'> {
    const { code } = this.evaluator;
    return { at: code.placeOf(node), via: this.#path.map(({ at }) => code.placeOf(at)) };
  }

  #record(effect: CallEffect | undefined, node: Node): void {
    if (effect === undefined) return;
    const { access, call } = effect;
    if (access === 'unknown') return this.unknown(call, node);
    if (this.#isPerhaps && access === 'write')
      return this.unknown(`${call} in a function that was made and never seen called`, node);
    const place = this.#placeOf(node);
    if (this.#isNew(`${access} ${call} ${place.at}`)) this.effects.push({ ...effect, ...place });
  }

  /** Follows the code of a function that is called. */
  #enter(callee: FunctionValue, given: readonly Values[] | undefined, node: Node): void {
    const { node: code } = callee;
    const times = this.#times.get(code) ?? 0;
    const isRecursion = this.#path.filter((each) => each.code === code).length >= 2;
    const isUnbound = isRecursion || times >= MOST_ACTIVATIONS;
    const env = this.evaluator.activation(callee, isUnbound ? undefined : given, false);
    if (this.#entered.has(env)) return;
    this.#entered.add(env);
    this.#times.set(code, times + 1);
    this.#path.push({ at: node, code });
    for (const each of decoratorsOf(code)) this.#decorator(each);
    this.#body(code, env);
    this.#path.pop();
  }

  /** Remembers the functions in a decorator of own code: one of them may run in place of the method. */
  #decorator({ expression }: Decorator): void {
    const scope = this.evaluator.scopeOf(expression);
    for (const value of this.evaluator.evaluate(expression, scope))
      if (value.is === 'function')
        this.#remember(
          functionsIn(value.node).map((each) =>
            closure(each, this.evaluator.activation(value, undefined, false)),
          ),
        );
      else if (value.is === 'outside') this.#look(value, [], expression);
      else this.unknown(expression.getText(), expression);
  }

  #body(node: SignatureDeclaration, env: Scope): void {
    const { body } = node as { readonly body?: Node };
    for (const each of node.parameters) this.#visit(each, env);
    if (body === undefined) this.unknown('code that only has a type', node);
    else this.#visit(body, env);
  }

  #visit(node: Node, env: Scope): void {
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
    if (ts.isIdentifier(node)) this.#name(node, env);
    else this.#reads(node, env);
    for (const each of convertedBy(node)) this.#convert(each, env);
    const iterated = iteratedBy(node);
    if (iterated !== undefined) this.#iterate(iterated, env);
    for (const target of targetsOf(node)) {
      this.#record(assignmentEffect(this.evaluator, target, env), target);
      if (isAccess(target)) this.#accessors(target.expression, target, env, ts.isSetAccessor);
    }
  }

  /** Follows the getters that a node runs: of one property, or of any if an object is spread or taken apart. */
  #reads(node: Node, env: Scope): void {
    const holder =
      isAccess(node) || ts.isSpreadAssignment(node) ? node.expression : takenApart(node);
    if (holder !== undefined) this.#accessors(holder, node, env, ts.isGetAccessor);
  }

  /** Follows the methods that the language calls to convert, await or test a value. */
  #convert(node: Expression, env: Scope): void {
    const type = this.evaluator.code.typeAt(node);
    for (const value of this.evaluator.evaluate(node, env))
      if (isOwner(value))
        for (const name of CONVERTS)
          for (const each of this.evaluator.member(value, { name, type, symbol: undefined }))
            if (each.is === 'function') this.#enter(each, [[UNKNOWN]], node);
  }

  #statements(statements: readonly Statement[], env: Scope): void {
    for (const each of statements) {
      this.#visit(each, env);
      if (ts.isIfStatement(each) && this.#alwaysLeaves(each, env)) return;
    }
  }

  /** Returns true if a condition whose value is known ends the function. */
  #alwaysLeaves({ expression, thenStatement, elseStatement }: IfStatement, env: Scope): boolean {
    if (!leaves(thenStatement) && !leaves(elseStatement)) return false;
    const truth = this.evaluator.truth(expression, env);
    return truth !== undefined && leaves(truth ? thenStatement : elseStatement);
  }

  #branches(condition: Expression, yes: Node, no: Node | undefined, env: Scope): void {
    this.#visit(condition, env);
    const truth = this.evaluator.truth(condition, env);
    if (truth !== false) this.#visit(yes, env);
    if (truth !== true && no !== undefined) this.#visit(no, env);
  }

  /** Remembers a function until it's called. A declaration is only made where something uses its name. */
  #make(node: SignatureDeclaration, env: Scope): void {
    if (ts.isFunctionDeclaration(node) || !('body' in node)) return;
    const isOfObject = ts.isObjectLiteralExpression(node.parent);
    const self = isOfObject ? this.evaluator.evaluate(node.parent, env) : undefined;
    this.#made.set(node, closure(node, env, self));
  }

  #name(node: Identifier, env: Scope): void {
    const { parent, text } = node;
    if (text === 'idempotencyKey') this.usesKey = true;
    if (ts.isPropertyAccessExpression(parent) || ts.isCallExpression(parent)) return;
    const symbol = this.evaluator.code.symbolAt(node);
    const isFunction = symbol !== undefined && (symbol.flags & ts.SymbolFlags.Function) !== 0;
    if (isFunction && parent !== symbol.valueDeclaration)
      this.#remember(this.evaluator.evaluate(node, env));
  }

  #remember(values: Values): void {
    for (const each of values)
      if (each.is === 'function' && !this.#made.has(each.node)) this.#made.set(each.node, each);
  }

  /** Follows a class that is declared inside a function: its static parts run. */
  #declareClass(node: ClassLikeDeclaration, env: Scope): void {
    for (const member of node.members) {
      const isStatic = (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0;
      if (ts.isClassStaticBlockDeclaration(member)) this.#visit(member.body, env);
      else if (isStatic && ts.isPropertyDeclaration(member) && member.initializer)
        this.#visit(member.initializer, env);
    }
  }

  #call(node: CallExpression | NewExpression, env: Scope): void {
    for (const each of node.arguments ?? []) this.#visit(each, env);
    const { expression } = node;
    if (expression.kind === ts.SyntaxKind.SuperKeyword)
      return this.#super(node as CallExpression, env);
    const isElement = ts.isElementAccessExpression(expression);
    if (isElement) this.#visit(expression.argumentExpression, env);
    const isMember = isElement || ts.isPropertyAccessExpression(expression);
    this.#visit(isMember ? expression.expression : expression, env);
    this.#reads(expression, env);
    const loaded = ts.isCallExpression(node) ? loadedBy(node) : undefined;
    if (loaded === undefined) this.#invoke(expression, this.evaluator.args(node, env), node, env);
    else if (!ts.isStringLiteralLike(loaded)) this.unknown('a module whose name is computed', node);
  }

  #template(node: TaggedTemplateExpression, env: Scope): void {
    ts.forEachChild(node.template, (child) => this.#visit(child, env));
    this.#visit(node.tag, env);
    this.#invoke(node.tag, [this.evaluator.evaluate(node.template, env)], node, env);
  }

  #invoke(callee: Expression, given: readonly Values[], node: Node, env: Scope): void {
    const callees = this.evaluator.evaluate(callee, env).filter((each) => each.is !== 'literal');
    if (callees.length === 0 && !ts.isOptionalChain(node)) this.unknown(callee.getText(), node);
    for (const each of callees) this.#dispatch(each, given, node, env);
  }

  #dispatch(callee: Value, given: readonly Values[], node: Node, env: Scope): void {
    if (callee.is === 'function') this.#enter(callee, given, node);
    else if (callee.is === 'class') this.#construct(callee.node, given, node);
    else if (callee.is === 'outside' && isTrapped(callee)) this.#traps(callee, node);
    else if (callee.is === 'outside') this.#outside(callee, given, node, env);
    // The input is data, so only the functions passed to it can run.
    else if (callee.is === 'any' && callee.input === true && isDataMethod(node))
      this.#callbacks(given, [UNKNOWN], node);
    else this.unknown(textOf(node), node);
  }

  #outside(callee: OutsideValue, given: readonly Values[], node: Node, env: Scope): void {
    if (isIndirect(callee)) return this.#indirect(callee, given, node, env);
    this.#record(mutationEffect(this.evaluator, callee, node, env), node);
    const heard = listenersOf(this.evaluator, callee, given);
    for (const each of heard?.functions ?? []) this.#callback(each, given[1] ?? [UNKNOWN], node);
    if (heard?.isAll === false)
      this.unknown(`${callName(callee)}, whose listeners aren't known`, node);
    this.#look(callee, given, node);
    // What `promisify` returns is called elsewhere.
    if (!/^util\.\w+ify$/.test(callName(callee)))
      this.#callbacks(given, this.#elementsFor(callee), node);
    for (const self of callee.self ?? [])
      if (self.is === 'instance') this.#remember(methodsOf(self));
  }

  /** Returns what a callback receives first: an item, what a promise becomes, or the client in a transaction. */
  #elementsFor(callee: OutsideValue): Values {
    const { pkg, path, self = [] } = callee;
    if (pkg !== 'global') return /transaction$/i.test(callNameOf(callee)) ? self : [UNKNOWN];
    if (path.at(-2) === 'Promise') return self;
    const found = this.evaluator.elements(self);
    return found.length === 0 ? [NOTHING] : found;
  }

  /** Looks up what a call of a package does. */
  #look(callee: OutsideValue, given: readonly Values[], node: Node): void {
    const { args = [], path } = callee;
    const isNew = ts.isNewExpression(node);
    const all = path.at(-1) === '()' ? given : [...args, ...given];
    const effects = this.known.effectsOf({ ...callee, given: all, isNew });
    if (effects === undefined) this.unknown(`${isNew ? 'new ' : ''}${callName(callee)}`, node);
    for (const effect of effects ?? []) this.#record(effect, node);
  }

  /** Follows `call`, `apply`, `Reflect.apply` and `Reflect.construct`. `bind` only makes a function. */
  #indirect(callee: OutsideValue, given: readonly Values[], node: Node, env: Scope): void {
    const name = callNameOf(callee);
    const isReflect = callee.path.includes('Reflect');
    const targets = (isReflect ? given[0] : callee.self) ?? [];
    if (targets.length === 0 || targets.some(isIndirect)) return this.unknown(textOf(node), node);
    if (name === 'bind') return this.#remember(targets.map((each) => bind(each, given)));
    const [self = [], ...args] = isReflect && name === 'apply' ? given.slice(1) : given;
    const [list = []] = args;
    const passed = name === 'call' ? args : (this.evaluator.items(list) ?? [[MANY], [MANY]]);
    for (const target of targets) this.#dispatch(withSelf(target, self), passed, node, env);
  }

  /** Follows the functions among arguments: what they are passed to may call them. */
  #callbacks(given: readonly Values[], first: Values, node: Node): void {
    const { arguments: args = [] } = node as Partial<CallExpression>;
    const { code } = this.evaluator;
    for (const [at, values] of given.entries())
      for (const value of values) {
        const arg = args[at];
        this.#traps(value, node);
        if (value.is === 'outside' && !this.#isFunction(value, arg)) continue;
        const isOpen = value.is === 'any' && value.input !== true && ts.isCallLikeExpression(node);
        if (isOpen && code.expectsFunction(node, at)) this.unknown((arg ?? node).getText(), node);
        this.#callback(value, first, node);
      }
  }

  #isFunction(value: OutsideValue, node: Node | undefined): boolean {
    if (node === undefined || /^(?:\(\)|new)$/.test(value.path.at(-1) ?? '()')) return false;
    const type = this.evaluator.code.typeAt(node);
    return type.getCallSignatures().length > 0 && type.getConstructSignatures().length === 0;
  }

  #callback(value: Value, first: Values, node: Node, depth = 0): void {
    if (value.is === 'function') this.#enter(value, [first, ...REST], node);
    else if (value.is === 'outside') this.#look(value, [first], node);
    else if (value.is === 'instance')
      for (const each of methodsOf(value)) this.#enter(each, undefined, node);
    else if (value.is === 'object' && depth < 3) {
      for (const each of this.evaluator.code.accessors)
        if (each.parent === value.node && ts.isGetAccessor(each))
          this.#enter(closure(each, value.env, [value]), [], node);
      for (const each of this.evaluator.anyOf(value))
        if (each.is === 'function' || each.is === 'object')
          this.#callback(each, [UNKNOWN], node, depth + 1);
        else if (each.is === 'instance') this.#remember(implicitOf(each));
    }
  }

  #construct(node: ClassLikeDeclaration, given: readonly Values[], at: Node): void {
    const env = this.evaluator.scopeOf(node);
    const instance: InstanceValue = { is: 'instance', node, env, args: given, kept: false };
    this.#path.push({ at, code: node });
    this.#initialize(instance, node, given, at);
    this.#path.pop();
    this.#remember(implicitOf(instance));
  }

  /** Follows what creating an object of a class runs: fields, and its constructor or that of its base. */
  #initialize(
    instance: InstanceValue,
    node: ClassLikeDeclaration,
    given: readonly Values[],
    at: Node,
  ): void {
    const { env: outer } = instance;
    const env = this.evaluator.enter({ outer, self: [instance] });
    for (const member of node.members) {
      const { initializer } = member as { readonly initializer?: Expression };
      if (initializer !== undefined && !ts.isArrowFunction(initializer))
        this.#visit(initializer, env);
    }
    const own = constructorOf(node);
    if (own === undefined) this.#bases(node, instance, given, at);
    else this.#enter(closure(own, outer, [instance]), given, at);
  }

  #bases(
    node: ClassLikeDeclaration,
    self: InstanceValue,
    given: readonly Values[],
    at: Node,
  ): void {
    for (const base of this.evaluator.bases(node)) {
      if (base.is === 'class') this.#initialize(self, base.node, given, at);
      // A base class of a package may call the methods.
      else if (base.is === 'outside') this.#remember(methodsOf(self));
      else this.unknown('the constructor of a base class', at);
    }
  }

  #super(node: CallExpression, env: Scope): void {
    const owner = ts.findAncestor(node, ts.isClassLike);
    const [self] = selfIn(env);
    if (owner === undefined || self?.is !== 'instance') return this.unknown('super', node);
    this.#bases(owner, self, this.evaluator.args(node, env), node);
  }

  /** Follows the getters or setters of an object that a node runs, and the traps of a proxy. */
  #accessors(holder: Expression, node: Node, env: Scope, is: (node: Node) => boolean): void {
    const { code } = this.evaluator;
    const name = isAccess(node) ? this.evaluator.nameIn(node, env) : undefined;
    if (name === 'idempotencyKey') this.usesKey = true;
    const found = code.accessors.filter(
      (each) => is(each) && (name === undefined || memberName(each.name) === name),
    );
    for (const value of this.evaluator.evaluate(holder, env)) {
      this.#traps(value, node);
      const fitting = found.filter((each) => this.#isRun(each, value, name && holder));
      for (const each of fitting) this.#enter(this.#accessor(each, value, env), undefined, node);
      if (value.is === 'any' && name !== undefined && fitting.length === 0)
        this.#remember(found.map((each) => this.#accessor(each, value, env)));
    }
  }

  /**
   * Returns true if a value has an accessor: in its own code, or, if the code names the accessor, in
   * its type. A type alone would fit too many accessors.
   */
  #isRun(accessor: Member, value: Value, written: Expression | '' | undefined): boolean {
    if (isOwner(value) && value.node === accessor.parent) return true;
    if (!written || value.is === 'object') return false;
    const { code } = this.evaluator;
    const name = memberName(accessor.name);
    return code.implementationsOf(name, code.typeAt(written)).includes(accessor);
  }

  #accessor(member: Member, holder: Value, env: Scope): FunctionValue {
    const node = member as Node as SignatureDeclaration;
    return isOwner(holder)
      ? closure(node, holder.env, [holder])
      : closure(node, this.evaluator.scopeOf(member.parent, env));
  }

  /** Follows the functions of a proxy, or of a property that was defined. */
  #traps(value: Value, node: Node): void {
    if (value.is === 'outside' && isTrapped(value) && value.args)
      this.#callbacks(value.args, [UNKNOWN], node);
  }

  /** Follows the iterator that a loop or a spread runs. */
  #iterate(node: Expression, env: Scope): void {
    for (const name of ['[Symbol.iterator]', '[Symbol.asyncIterator]'])
      for (const member of this.evaluator.code.membersNamed(name))
        for (const value of this.evaluator.evaluate(node, env)) {
          const isOwn =
            (value.is === 'object' || value.is === 'instance') && value.node === member.parent;
          if (isOwn && 'body' in member)
            this.#enter(
              closure(member as Node as SignatureDeclaration, value.env, [value]),
              [],
              node,
            );
        }
  }
}

const INPUT: Value = { is: 'any', kept: false, input: true };
const REST: readonly Values[] = Array.from({ length: 5 }, () => [UNKNOWN]);
/** Methods that the language calls to convert, await or test a value. */
const CONVERTS = ['toString', 'valueOf', 'then', '[Symbol.toPrimitive]', '[Symbol.hasInstance]'];
/** Methods that the language calls by itself. */
const IMPLICIT = /^(?:toString|valueOf|toJSON|then|\[Symbol\..*\])$/;
/** Returns true for `call`, `apply`, `bind`, `Reflect.apply` and `Reflect.construct`. */
const isIndirect = (value: Value) =>
  value.is === 'outside' &&
  value.pkg === 'global' &&
  /^(?:\w*Function\.(?:call|apply|bind|prototype)|Reflect\.(?:apply|construct)|Function|FunctionConstructor)$/.test(
    value.path.slice(-2).join('.'),
  );

/** Returns true for a proxy, and for an object with properties that were defined by functions. */
const isTrapped = ({ pkg, path }: OutsideValue) =>
  pkg === 'global' && /^(?:Proxy,new|ObjectConstructor,\w+,\(\))$/.test(path.join());

/** Returns the decorators of a method and its class. */
function decoratorsOf(node: Node): readonly Decorator[] {
  return [node, node.parent].flatMap((each) =>
    ts.canHaveDecorators(each) ? (ts.getDecorators(each) ?? []) : [],
  );
}

/** Returns the functions directly inside a function. */
function functionsIn(node: Node): readonly SignatureDeclaration[] {
  const found: SignatureDeclaration[] = [];
  const look = (each: Node): void => {
    if (ts.isFunctionLike(each) && 'body' in each) found.push(each);
    else ts.forEachChild(each, look);
  };
  ts.forEachChild(node, look);
  return found;
}

function methodsOf(instance: InstanceValue): readonly FunctionValue[] {
  return instance.node.members
    .filter((each) => (ts.isMethodDeclaration(each) || ts.isAccessor(each)) && each.body)
    .map((each) => closure(each as SignatureDeclaration, instance.env, [instance]));
}

function implicitOf(instance: InstanceValue): readonly FunctionValue[] {
  return methodsOf(instance).filter(({ node: { name } }) => IMPLICIT.test(memberName(name!)));
}

/** Returns true for a call of a method that plain data has. */
function isDataMethod(node: Node): boolean {
  const { expression } = node as Partial<CallExpression>;
  const isMember = expression !== undefined && ts.isPropertyAccessExpression(expression);
  return isMember && DATA_METHODS.test(expression.name.text);
}

const textOf = (node: Node) => ((node as Partial<CallExpression>).expression ?? node).getText();

/** Returns true for a branch that ends its function. */
function leaves(node: Node | undefined): boolean {
  if (node === undefined) return false;
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return true;
  return ts.isBlock(node) && leaves(node.statements.at(-1));
}

const isOwner = (value: Value) =>
  value.is === 'object' || value.is === 'instance' || value.is === 'class';

type Access = PropertyAccessExpression | ElementAccessExpression;

const isAccess = (node: Node): node is Access =>
  ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
