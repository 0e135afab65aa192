import type {
  BindingElement,
  ClassLikeDeclaration,
  ElementAccessExpression,
  Expression,
  Node,
  ObjectLiteralExpression,
  ParameterDeclaration,
  PropertyAccessExpression,
  PropertyDeclaration,
  SignatureDeclaration,
  Symbol as TsSymbol,
  Type,
} from 'typescript';
import { memberName, type Member } from '../code/code.js';
import { ts } from '../code/typescript.js';
import type { Evaluating } from './evaluating.js';
import { bindingName, constructorOf, isBodiless, membersOf, superCallIn } from './syntax.js';
import {
  HOLE,
  isKept,
  NOTHING,
  UNKNOWN,
  type Env,
  type InstanceValue,
  type ObjectValue,
  type OutsideValue,
  type Value,
  textsOf,
  type Values,
} from './values.js';

type Access = PropertyAccessExpression | ElementAccessExpression;
/** A member as code names it: its name, if known, and what the checker knows about it. */
interface Wanted {
  readonly name: string | undefined;
  readonly symbol: TsSymbol | undefined;
  readonly type: Type;
}

/** Evaluates the members of values: properties, methods, fields and elements. */
export class Members {
  constructor(readonly evaluator: Evaluating) {}

  get #code() {
    return this.evaluator.code;
  }

  /** Returns what a property access or element access evaluates to. */
  of(holders: Values, node: Access, env: Env): Values {
    const wanted = this.#wanted(node, env);
    return holders.flatMap((holder) => this.member(holder, wanted));
  }

  #wanted(node: Access, env: Env): Wanted {
    const type = this.evaluator.typeAt(node.expression);
    if (ts.isPropertyAccessExpression(node))
      return { name: node.name.text, symbol: this.#code.symbolAt(node.name), type };
    const [key, ...more] = this.evaluator.evaluate(node.argumentExpression, env);
    const isKnown = more.length === 0 && key?.is === 'literal' && !String(key.value).includes(HOLE);
    const name = isKnown
      ? String(key.value)
      : /^Symbol\.\w+$/.test(node.argumentExpression.getText())
        ? `[${node.argumentExpression.getText()}]`
        : undefined;
    return { name, type, symbol: name === undefined ? undefined : type.getProperty(name) };
  }

  /** Returns a member of a value. Without a name, any of its members. */
  member(holder: Value, wanted: Wanted): Values {
    const { name } = wanted;
    switch (holder.is) {
      case 'object':
        return this.#ofObject(holder, name) ?? this.#static(holder, wanted);
      case 'instance':
        return this.ofInstance(holder, name) ?? this.#static(holder, wanted);
      case 'class':
        return this.#ofClass(holder.node, name, true, [holder]) ?? this.#static(holder, wanted);
      case 'function':
        return name === 'call' || name === 'apply' || name === 'bind'
          ? [
              {
                is: 'outside',
                pkg: 'global',
                path: ['Function', name],
                self: [holder],
                kept: false,
              },
            ]
          : this.#static(holder, wanted);
      default:
        return this.#static(holder, wanted);
    }
  }

  /** Returns what the checker knows of a member. */
  #static(holder: Value, wanted: Wanted): Values {
    const { name, symbol } = wanted;
    const kept = isKept(holder);
    const declarations = symbol?.declarations ?? [];
    if (declarations.length === 0) return this.#byPath(holder, name);
    return declarations.flatMap((declaration): Values => {
      const outside = this.#code.outsideOf(declaration);
      if (outside !== undefined)
        return [{ is: 'outside', ...outside, kept, self: [holder], ...madeBy(holder) }];
      const found = this.#ofOwnType(declaration, holder, wanted);
      return kept ? found.map((each) => (each === UNKNOWN ? { is: 'any', kept } : each)) : found;
    });
  }

  /** Returns a member of a package's value that has no types. */
  #byPath(holder: Value, name: string | undefined): Values {
    const isAdded =
      holder.is === 'any' && holder.kept && /^(?:push|unshift|splice)$/.test(name ?? '');
    if (holder.is === 'literal' || isAdded || (name !== undefined && DATA_METHODS.test(name)))
      return [
        {
          is: 'outside',
          pkg: 'global',
          path: ['Array', name ?? ''],
          kept: isKept(holder),
          self: [holder],
        },
      ];
    if (holder.is !== 'outside')
      return [
        { is: 'any', kept: isKept(holder), ...('input' in holder && { input: holder.input }) },
      ];
    const isTyped = holder.pkg === 'global' && /^[A-Z]/.test(holder.path[0] ?? '');
    if (name === undefined || isTyped) return [{ is: 'any', kept: holder.kept }];
    const isGlobal = /^(?:then|catch|finally)$/.test(name) && holder.path.at(-1) === '()';
    const place = isGlobal
      ? { pkg: 'global', path: ['Promise', name] }
      : { pkg: holder.pkg, path: [...holder.path.filter((part) => part !== 'default'), name] };
    return [{ is: 'outside', ...place, kept: holder.kept, self: [holder], ...madeBy(holder) }];
  }

  /** Returns the members in own code that a member of a type stands for. */
  #ofOwnType(declaration: Node, holder: Value, { name = '', type }: Wanted): Values {
    const isNamed = (declaration as Partial<Member>).name !== undefined;
    if (!isNamed) return [UNKNOWN];
    const owner = declaration.parent;
    const isOfClass = ts.isClassLike(owner);
    const isTyped = isOfClass || ts.isInterfaceDeclaration(owner) || ts.isTypeLiteralNode(owner);
    const isLiteral = ts.isObjectLiteralExpression(owner);
    if (!isTyped && !isLiteral)
      return this.evaluator.declared(declaration as never, this.evaluator.envs.top);
    // Only functions are looked for in the program: data is what its type says. Several literals
    // can have one type, whose declaration is the first of them.
    const isData = isLiteral || ts.isPropertySignature(declaration) || isBodiless(declaration);
    if (isData && !this.#isCallable(declaration)) return [UNKNOWN];
    const found = new Set(this.#code.implementationsOf(name, type));
    if (isLiteral || (isOfClass && !isBodiless(declaration))) found.add(declaration as Member);
    if (found.size === 0)
      return [
        { is: 'any', kept: isKept(holder), ...('input' in holder && { input: holder.input }) },
      ];
    return [...found].flatMap((member) => this.#ofMember(member, isKept(holder)));
  }

  #isCallable(declaration: Node): boolean {
    const type = this.#code.ask((checker) =>
      checker.getNonNullableType(checker.getTypeAtLocation(declaration)),
    );
    return (
      type.getCallSignatures().length > 0 ||
      (type.isUnion() && type.types.some((each) => each.getCallSignatures().length > 0))
    );
  }

  #ofMember(member: Member, kept: boolean): Values {
    if (isBodiless(member)) return [{ is: 'any', kept }];
    const owner = member.parent;
    if (ts.isClassLike(owner)) {
      const instance = this.anInstance(owner, kept);
      return this.ofInstance(instance, memberName(member.name)) ?? [UNKNOWN];
    }
    const env = this.evaluator.scopeOf(owner, this.evaluator.envs.top);
    const object = {
      is: 'object',
      node: owner as ObjectLiteralExpression,
      env,
      changes: [],
      kept,
    } as const;
    return this.#ofObject(object, memberName(member.name)) ?? [UNKNOWN];
  }

  /** Returns a property of an object literal or an item of a list. Returns undefined for a missing one. */
  #ofObject(holder: ObjectValue, name: string | undefined): Values | undefined {
    const { node, changes, changedIn = holder.env } = holder;
    const own = ts.isArrayLiteralExpression(node)
      ? this.#item(holder, name)
      : this.#property(holder, name);
    const changed = changes
      .filter((change) => change.name === undefined || name === undefined || change.name === name)
      .map(({ value }) =>
        value === undefined
          ? [UNKNOWN]
          : this.evaluator.evaluate(value, this.evaluator.scopeOf(value, changedIn)),
      );
    // A change without a name can't replace the methods of lists.
    if (own === undefined && (changed.length === 0 || ts.isArrayLiteralExpression(node)))
      return undefined;
    return [...(own ?? []), ...changed.flat()];
  }

  #item(holder: ObjectValue, name: string | undefined): Values | undefined {
    if (name !== undefined && !/^\d+$/.test(name)) return undefined;
    const items = this.items([holder]);
    if (items === undefined) return [{ is: 'any', kept: holder.kept }];
    return name === undefined ? items.flat() : (items[Number(name)] ?? [NOTHING]);
  }

  #property(holder: ObjectValue, name: string | undefined): Values | undefined {
    const found: Value[] = [];
    const { properties } = holder.node as ObjectLiteralExpression;
    for (const property of [...properties].reverse()) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.#spread(property.expression, holder.env);
        for (const each of spread) {
          if (each.is === 'literal') continue;
          const inner = this.#within(property, () =>
            each.is === 'object' ? this.#ofObject(each, name) : undefined,
          );
          if (inner !== undefined) found.push(...inner);
          else if (each.is !== 'object') found.push(UNKNOWN);
        }
        const isSure = spread.length === 1 && spread[0]!.is === 'object' && found.length > 0;
        if (isSure && name !== undefined && !found.includes(UNKNOWN)) return found;
      } else if (this.#isNamed(property.name, name, holder.env)) {
        found.push(...this.#valueOf(property, holder));
        if (name !== undefined && memberName(property.name) === name) return found;
      }
    }
    return found.length === 0 ? undefined : found;
  }

  readonly #spreading = new Set<Node>();

  /** Returns what is spread, or something unknown for an object that is spread into itself. */
  #spread(node: Expression, env: Env): Values {
    return this.#spreading.has(node.parent) ? [UNKNOWN] : this.evaluator.evaluate(node, env);
  }

  #within<T>(node: Node, work: () => T): T {
    this.#spreading.add(node);
    try {
      return work();
    } finally {
      this.#spreading.delete(node);
    }
  }

  #isNamed(node: Node, name: string | undefined, env: Env): boolean {
    const own = memberName(node);
    if (name === undefined || own === name) return true;
    if (!ts.isComputedPropertyName(node) || own.startsWith('[Symbol.')) return false;
    return this.evaluator
      .evaluate(node.expression, env)
      .some((each) => each.is !== 'literal' || String(each.value) === name);
  }

  #valueOf(property: Node, holder: ObjectValue): Values {
    const { evaluator } = this;
    if (ts.isPropertyAssignment(property))
      return evaluator.evaluate(property.initializer, holder.env);
    if (ts.isShorthandPropertyAssignment(property))
      return evaluator.evaluate(property.name, holder.env);
    return this.#method(property, holder.env, [holder]);
  }

  /** Returns a method, or the value of a getter. */
  #method(node: Node, env: Env, self: Values): Values {
    const method = this.evaluator.closure(node as SignatureDeclaration, env, self);
    if (ts.isSetAccessor(node)) return [NOTHING];
    return ts.isGetAccessor(node) ? this.evaluator.returned(method, [], env) : [method];
  }

  /** Returns an instance of a class whose constructor's arguments are unknown. */
  anInstance(node: ClassLikeDeclaration, kept: boolean): InstanceValue {
    return {
      is: 'instance',
      node,
      env: this.evaluator.scopeOf(node, this.evaluator.envs.top),
      kept,
    };
  }

  /** Returns what a constructor's parameter with a default is: that, or what own code passes to `new`. */
  injected(node: ParameterDeclaration, initializer: Expression, scope: Env): Values {
    const owner = node.parent.parent as ClassLikeDeclaration;
    const symbol = this.#code.symbolOfClass(owner);
    const at = node.parent.parameters.indexOf(node);
    const found = [...this.evaluator.evaluate(initializer, scope)];
    for (const use of symbol === undefined ? [] : this.#code.referencesOf(symbol)) {
      const made = use.parent;
      if (!ts.isNewExpression(made) || made.expression !== use || this.#code.isTest(made)) continue;
      const { top } = this.evaluator.envs;
      found.push(...(this.evaluator.args(made, this.evaluator.scopeOf(made, top))[at] ?? []));
    }
    return found.filter((each) => each.is !== 'literal' || each.value !== undefined);
  }

  ofInstance(holder: InstanceValue, name: string | undefined): Values | undefined {
    if (name === undefined) return [{ is: 'any', kept: holder.kept }];
    return this.#ofClass(holder.node, name, false, [holder]);
  }

  /** Returns a member of a class or of the classes that it extends. */
  #ofClass(
    node: ClassLikeDeclaration,
    name: string | undefined,
    isStatic: boolean,
    self: Values,
  ): Values | undefined {
    const found = membersOf(node, name, isStatic);
    if (found.length > 0) return found.flatMap((member) => this.#field(member, node, self));
    const inherited = this.#inherited(node, name, isStatic, self);
    return inherited.length === 0 ? undefined : inherited;
  }

  #inherited(
    node: ClassLikeDeclaration,
    name: string | undefined,
    isStatic: boolean,
    self: Values,
  ): Values {
    return this.bases(node).flatMap((base): Values => {
      if (base.is === 'class') return this.#ofClass(base.node, name, isStatic, self) ?? [];
      if (base.is !== 'outside' || name === undefined) return [UNKNOWN];
      return [
        { is: 'outside', pkg: base.pkg, path: [...base.path, name], kept: isKept(self[0]!), self },
      ];
    });
  }

  /** Returns the classes that a class extends. */
  bases(node: ClassLikeDeclaration): Values {
    const clause = node.heritageClauses?.find(
      ({ token }) => token === ts.SyntaxKind.ExtendsKeyword,
    );
    const [base] = clause?.types ?? [];
    if (base === undefined) return [];
    return this.evaluator.evaluate(
      base.expression,
      this.evaluator.scopeOf(node, this.evaluator.envs.top),
    );
  }

  /** Returns the object that `super` stands for. */
  base(self: Value, node: ClassLikeDeclaration | undefined): Values {
    if (self.is !== 'instance' || node === undefined) return [UNKNOWN];
    return this.bases(node).map((base) =>
      base.is === 'class'
        ? { ...self, node: base.node }
        : base.is === 'outside'
          ? { is: 'outside', pkg: base.pkg, path: base.path, kept: self.kept, self: [self] }
          : UNKNOWN,
    );
  }

  #field(member: Member, node: ClassLikeDeclaration, self: Values): Values {
    const env = this.evaluator.scopeOf(node, this.evaluator.envs.top);
    if (ts.isParameter(member)) {
      const [holder] = self;
      return holder?.is === 'instance'
        ? this.evaluator.parameter(member, this.constructing(holder, node))
        : [UNKNOWN];
    }
    if (!ts.isPropertyDeclaration(member)) return this.#method(member, env, self);
    return this.#fieldValues(member, node, self, env);
  }

  #fieldValues(
    member: PropertyDeclaration,
    node: ClassLikeDeclaration,
    self: Values,
    env: Env,
  ): Values {
    const [holder] = self;
    const kept = holder !== undefined && (isKept(holder) || holder.is === 'class');
    const within = this.evaluator.envs.enter({
      outer: env,
      bound: new Map(),
      self,
      kept,
      unbound: 'value',
    });
    const values: Value[] = [];
    if (member.initializer !== undefined)
      values.push(...this.evaluator.evaluate(member.initializer, within));
    const symbol = this.#code.checker.getSymbolAtLocation(member.name);
    for (const each of symbol === undefined ? [] : this.#code.assignedTo(symbol))
      values.push(
        ...(each === undefined
          ? [UNKNOWN]
          : this.evaluator.evaluate(each, this.#assigning(each, node, holder, within))),
      );
    if (values.length === 0)
      return (
        this.evaluator.annotated(member, { kept }) ??
        this.evaluator.ofType(this.evaluator.typeAt(member.name), { kept })
      );
    return values.map((value) => (kept && value.is === 'any' ? { ...value, kept } : value));
  }

  /** Returns the activation in which an assignment to a field is evaluated. */
  #assigning(
    value: Expression,
    node: ClassLikeDeclaration,
    holder: Value | undefined,
    within: Env,
  ): Env {
    const isConstructed =
      holder?.is === 'instance' &&
      ts.findAncestor(value, ts.isConstructorDeclaration)?.parent === node;
    return this.evaluator.scopeOf(value, isConstructed ? this.constructing(holder, node) : within);
  }

  /** Returns the activation of a class's constructor for an instance of it or of a subclass. */
  constructing(holder: InstanceValue, node: ClassLikeDeclaration): Env {
    const own = constructorOf(node);
    const env = this.evaluator.scopeOf(node, this.evaluator.envs.top);
    const args = this.#constructorArgs(holder, node);
    if (own === undefined)
      return this.evaluator.envs.enter({
        outer: env,
        bound: new Map(),
        self: [holder],
        kept: holder.kept,
        unbound: 'value',
      });
    const activation = this.evaluator.activation(
      this.evaluator.closure(own, env, [holder]),
      args,
      holder.kept,
    );
    return args === undefined && holder.kept
      ? this.evaluator.envs.enter({ ...activation, unbound: 'kept' })
      : activation;
  }

  /** Returns what a constructor receives: the arguments of `new`, or those that a subclass passes on. */
  #constructorArgs(
    holder: InstanceValue,
    node: ClassLikeDeclaration,
  ): readonly Values[] | undefined {
    if (holder.node === node) return holder.args;
    const between = this.#pathTo(node, holder.node);
    if (between === undefined) return undefined;
    const own = constructorOf(between);
    if (own === undefined) return this.#constructorArgs(holder, between);
    const passed = superCallIn(own);
    return passed && this.evaluator.args(passed, this.constructing(holder, between));
  }

  /** Returns the class on the way to a base class that extends it directly. */
  #pathTo(
    base: ClassLikeDeclaration,
    from: ClassLikeDeclaration,
  ): ClassLikeDeclaration | undefined {
    for (const each of this.bases(from)) {
      if (each.is !== 'class') continue;
      if (each.node === base) return from;
      const further = this.#pathTo(base, each.node);
      if (further !== undefined) return further;
    }
    return undefined;
  }

  /** Returns the values of a name in a destructuring pattern. */
  binding(node: BindingElement, env: Env): Values {
    const { evaluator } = this;
    const pattern = node.parent;
    const source = evaluator.declared(pattern.parent, env);
    const type = evaluator.typeAt(pattern);
    if (node.dotDotDotToken !== undefined)
      return evaluator.ofType(evaluator.typeAt(node.name), {
        kept: false,
        input: source.some((each) => each.is === 'any' && each.input === true),
      });
    const name = ts.isArrayBindingPattern(pattern)
      ? String(pattern.elements.indexOf(node))
      : bindingName(node);
    const wanted = { name, type, symbol: name === undefined ? undefined : type.getProperty(name) };
    const values = source.flatMap((each) =>
      each.is === 'any' && each.input === true ? [each] : this.member(each, wanted),
    );
    const found = evaluator.typed(values, node.name);
    if (node.initializer === undefined) return found;
    const scope = evaluator.scopeOf(node, env);
    return [...found, ...evaluator.evaluate(node.initializer, scope)];
  }

  /** Returns the items of lists, or undefined if the code doesn't show all of them. */
  items(lists: Values): readonly Values[] | undefined {
    const [list, ...more] = lists;
    if (more.length > 0 || list?.is !== 'object' || !ts.isArrayLiteralExpression(list.node))
      return undefined;
    const items: Values[] = [];
    for (const each of list.node.elements) {
      if (!ts.isSpreadElement(each)) items.push(this.evaluator.evaluate(each, list.env));
      else {
        const spread = this.#spread(each.expression, list.env);
        const inner = this.#within(each, () => this.items(spread));
        if (inner === undefined) return undefined;
        items.push(...inner);
      }
    }
    return list.changes.length > 0 ? undefined : items;
  }

  /** Returns a field of values by its name alone. Objects without the field have `undefined`. */
  field(values: Values, name: string): Values {
    return values.flatMap((value): Values => {
      if (value.is === 'object') return this.#ofObject(value, name) ?? [NOTHING];
      return value.is === 'literal' ? [NOTHING] : [UNKNOWN];
    });
  }

  /** Returns what any of an object's properties can be. */
  anyOf(value: Value): Values {
    return (value.is === 'object' ? this.#ofObject(value, undefined) : undefined) ?? [UNKNOWN];
  }

  /** Returns the names in object literals, with a hole for names that the code doesn't show. */
  keys(value: Value): readonly string[] {
    if (value.is !== 'object' || ts.isArrayLiteralExpression(value.node)) return [HOLE];
    return value.node.properties.map((each) =>
      ts.isSpreadAssignment(each) || ts.isComputedPropertyName(each.name)
        ? HOLE
        : memberName(each.name),
    );
  }

  /** Returns the texts at the start of a list of a program's arguments. The rest is one hole. */
  words(lists: Values): readonly string[] {
    const words: string[] = [];
    const [list, ...more] = lists;
    if (more.length > 0 || list?.is !== 'object' || !ts.isArrayLiteralExpression(list.node))
      return [HOLE];
    for (const each of list.node.elements) {
      if (ts.isSpreadElement(each)) {
        const spread = this.#spread(each.expression, list.env);
        words.push(...this.#within(each, () => this.words(spread)));
        continue;
      }
      const texts = textsOf(this.evaluator.evaluate(each, list.env));
      words.push(texts.length === 1 ? texts[0]! : HOLE);
    }
    const isAppended = list.changes.every(({ appends }) => appends);
    return list.changes.length === 0 ? words : isAppended ? [...words, HOLE] : [HOLE];
  }

  /** Returns what a loop over values sees. */
  elements(lists: Values): Values {
    const kept = lists.some(isKept);
    const known = lists.flatMap((each) => (each.is === 'outside' ? (each.items ?? []) : []));
    return this.items(lists)?.flat() ?? (known.length > 0 ? known : [{ is: 'any', kept }]);
  }
}

/** Methods of the language's own data, which have no types in JavaScript. */
export const DATA_METHODS =
  /^(?:map|filter|forEach|reduce|some|every|flatMap|slice|join|includes|indexOf|split|trim|toLowerCase|toUpperCase|startsWith|endsWith|replaceAll|toFixed|padStart|padEnd|match|matchAll|flat|toISOString|getTime|toString|charAt|substring)$/;

const madeBy = (holder: Value): Pick<OutsideValue, 'made'> =>
  holder.is === 'outside' && holder.made !== undefined ? { made: holder.made } : {};
