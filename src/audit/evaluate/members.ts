import type {
  BindingElement,
  ClassLikeDeclaration,
  Declaration,
  ElementAccessExpression,
  Expression,
  Node,
  ObjectLiteralExpression,
  ParameterDeclaration,
  PropertyAccessExpression,
  PropertyDeclaration,
  SignatureDeclaration,
  SpreadAssignment,
  SpreadElement,
  Symbol as TsSymbol,
  Type,
  TypeNode,
} from 'typescript';
import { memberName, type Member } from '../code/code.js';
import { ts } from '../code/typescript.js';
import { Activations } from './activations.js';
import {
  bindingName,
  constructorOf,
  isBodiless,
  membersOf,
  superCallIn,
  type Call,
} from './syntax.js';
import {
  closure,
  HOLE,
  isKept,
  MANY,
  NOTHING,
  outside,
  textsOf,
  UNKNOWN,
  type AnyValue,
  type Scope,
  type FunctionValue,
  type InstanceValue,
  type ObjectValue,
  type Value,
  type Values,
} from './values.js';

export type Flags = Pick<AnyValue, 'kept' | 'input'>;
/** A declaration that can have a type. */
export type Annotated = Declaration & { readonly name: Node; readonly type?: TypeNode | undefined };
/** A member as code names it: its name, if known, and what the checker knows about it. */
interface Wanted {
  readonly name: string | undefined;
  readonly symbol: TsSymbol | undefined;
  readonly type: Type;
}

/** Evaluates the members of values: properties, methods, fields and items. */
export abstract class Members extends Activations {
  abstract evaluate(node: Expression, env: Scope): Values;
  abstract declared(node: Declaration, env: Scope): Values;
  abstract parameter(node: ParameterDeclaration, scope: Scope): Values;
  abstract annotated(node: Annotated, flags: Flags): Values;
  abstract args(node: Call, env: Scope): readonly Values[];
  abstract returned(
    callee: FunctionValue,
    args: readonly Values[],
    env: Pick<Scope, 'kept'>,
  ): Values;
  abstract result(callee: Value, args: readonly Values[], node: Expression, env: Scope): Values;
  abstract typed(values: Values, node: Node): Values;

  /** Returns what a property access or element access evaluates to. */
  accessed(
    holders: Values,
    node: PropertyAccessExpression | ElementAccessExpression,
    env: Scope,
  ): Values {
    const type = this.code.typeAt(node.expression);
    const name = this.nameIn(node, env);
    const symbol = ts.isPropertyAccessExpression(node)
      ? this.code.symbolAt(node.name)
      : name && type.getProperty(name);
    const present = holders.filter((holder) => !isNullish(holder));
    if (present.length === 0 && ts.isOptionalChain(node)) return [NOTHING];
    return (present.length === 0 ? holders : present).flatMap((holder) =>
      this.member(holder, { name, type, symbol: symbol || undefined }),
    );
  }

  /** Returns the name that an access reads, or undefined if the code doesn't show it. */
  nameIn(node: PropertyAccessExpression | ElementAccessExpression, env: Scope): string | undefined {
    if (ts.isPropertyAccessExpression(node)) return node.name.text;
    const key = node.argumentExpression;
    if (/^Symbol\.\w+$/.test(key.getText())) return `[${key.getText()}]`;
    const [text = HOLE, ...more] = textsOf(this.evaluate(key, env));
    return more.length > 0 || text.includes(HOLE) ? undefined : text;
  }

  /** Returns a member of a value. Without a name, any of its members. */
  member(holder: Value, wanted: Wanted): Values {
    const { name } = wanted;
    if (holder.is === 'function' && /^(?:call|apply|bind)$/.test(name ?? ''))
      return [outside('global', ['Function', name!], false, { self: [holder] })];
    const own =
      holder.is === 'object'
        ? this.#ofObject(holder, name)
        : holder.is === 'instance'
          ? this.ofInstance(holder, name)
          : holder.is === 'class'
            ? this.#ofClass(holder.node, name, true, holder)
            : undefined;
    return own ?? this.#static(holder, wanted);
  }

  /** Returns what the checker knows of a member. */
  #static(holder: Value, wanted: Wanted): Values {
    const declarations = wanted.symbol?.declarations ?? [];
    if (declarations.length === 0) return this.#byPath(holder, wanted.name);
    return declarations.flatMap((declaration): Values => {
      const place = this.code.outsideOf(declaration);
      return place === undefined
        ? this.#ofOwnType(declaration, holder, wanted)
        : [outside(place.pkg, place.path, isKept(holder), ofHolder(holder))];
    });
  }

  /** Returns a member of a value that comes from a package without types. */
  #byPath(holder: Value, name: string | undefined): Values {
    const kept = isKept(holder);
    const isAdded = holder.is === 'any' && kept && /^(?:push|unshift|splice)$/.test(name ?? '');
    const ofLanguage = (owner: string) => [
      outside('global', [owner, name ?? ''], kept, { self: [holder] }),
    ];
    if (holder.is === 'literal' || isAdded || DATA_METHODS.test(name ?? ''))
      return ofLanguage('Array');
    if (holder.is !== 'outside') return [anyOf(holder)];
    const isTyped = holder.pkg === 'global' && /^[A-Z]/.test(holder.path[0] ?? '');
    if (name === undefined || isTyped) return [{ is: 'any', kept }];
    if (/^(?:then|catch|finally)$/.test(name) && holder.path.at(-1) === '()')
      return ofLanguage('Promise');
    const path = [...holder.path.filter((part) => part !== 'default'), name];
    return [outside(holder.pkg, path, kept, ofHolder(holder))];
  }

  /** Returns the members in own code that a member of a type stands for. */
  #ofOwnType(declaration: Node, holder: Value, { name = '', type }: Wanted): Values {
    const unknown: Values = [{ is: 'any', kept: isKept(holder) }];
    const owner = declaration.parent;
    const isOfClass = ts.isClassLike(owner);
    const isLiteral = ts.isObjectLiteralExpression(owner);
    if (
      !isOfClass &&
      !isLiteral &&
      !ts.isInterfaceDeclaration(owner) &&
      !ts.isTypeLiteralNode(owner)
    )
      return this.declared(declaration as Declaration, this.top);
    // Only functions are looked for in the program: data is what its type says. Several literals
    // can have one type, whose declaration is the first of them.
    const isData = isLiteral || ts.isPropertySignature(declaration) || isBodiless(declaration);
    if (isData && !this.code.isCallable(declaration)) return unknown;
    const found = new Set(this.code.implementationsOf(name, type));
    if (isLiteral || (isOfClass && !isBodiless(declaration))) found.add(declaration as Member);
    if (found.size === 0) return [anyOf(holder)];
    return [...found].flatMap((member) => this.#ofMember(member, isKept(holder)) ?? unknown);
  }

  #ofMember(member: Member, kept: boolean): Values | undefined {
    const owner = member.parent as ClassLikeDeclaration | ObjectLiteralExpression;
    const name = memberName(member.name);
    if (isBodiless(member)) return undefined;
    return ts.isObjectLiteralExpression(owner)
      ? this.#ofObject(
          { is: 'object', node: owner, env: this.scopeOf(owner), changes: [], kept },
          name,
        )
      : this.ofInstance(this.anInstance(owner, kept), name);
  }

  /** Returns a property of an object literal or an item of a list. Returns undefined for a missing one. */
  #ofObject(holder: ObjectValue, name: string | undefined): Values | undefined {
    const { node, env, changes, changedIn = env } = holder;
    const isList = ts.isArrayLiteralExpression(node);
    const own = isList ? this.#item(holder, name) : this.#property(node, env, holder, name);
    const changed = changes
      .filter((change) => change.name === undefined || name === undefined || change.name === name)
      .flatMap(({ value }) =>
        value === undefined ? [UNKNOWN] : this.evaluate(value, this.scopeOf(value, changedIn)),
      );
    // A change without a name can't replace the methods of lists.
    if (own === undefined && (changed.length === 0 || isList)) return undefined;
    return [...(own ?? [NOTHING]), ...changed];
  }

  #item(holder: ObjectValue, name: string | undefined): Values | undefined {
    if (name !== undefined && !/^\d+$/.test(name)) return undefined;
    const items = this.items([holder]);
    if (items === undefined) return [{ is: 'any', kept: holder.kept }];
    return name === undefined ? items.flat() : (items[Number(name)] ?? [NOTHING]);
  }

  #property(
    { properties }: ObjectLiteralExpression,
    env: Scope,
    self: ObjectValue,
    name: string | undefined,
  ): Values | undefined {
    const found: Value[] = [];
    for (const property of [...properties].reverse()) {
      if (ts.isSpreadAssignment(property)) {
        const spread = this.#spread(property, env, (values) =>
          values.map((each) =>
            each.is === 'literal'
              ? []
              : each.is === 'object'
                ? (this.#ofObject(each, name) ?? [])
                : [UNKNOWN],
          ),
        );
        found.push(...spread.flat());
        const isSure = spread.every(
          (each) => each.length > 0 && !each.includes(UNKNOWN) && !each.includes(NOTHING),
        );
        if (isSure && name !== undefined) return found;
      } else if (this.#isNamed(property.name, name, env)) {
        found.push(...this.#valueOf(property, env, self));
        if (name !== undefined && memberName(property.name) === name) return found;
      }
    }
    return found.length === 0 ? undefined : found;
  }

  readonly #spreading = new Set<Node>();

  /** Works on what is spread, or on something unknown for an object that is spread into itself. */
  #spread<T>(node: SpreadElement | SpreadAssignment, env: Scope, work: (values: Values) => T): T {
    if (this.#spreading.has(node)) return work([UNKNOWN]);
    this.#spreading.add(node);
    try {
      return work(this.evaluate(node.expression, env));
    } finally {
      this.#spreading.delete(node);
    }
  }

  #isNamed(node: Node, name: string | undefined, env: Scope): boolean {
    const own = memberName(node);
    if (name === undefined || own === name) return true;
    if (!ts.isComputedPropertyName(node) || own.startsWith('[Symbol.')) return false;
    const texts = textsOf(this.evaluate(node.expression, env));
    return texts.some((text) => text === name || text.includes(HOLE));
  }

  #valueOf(property: Node, env: Scope, self: Value): Values {
    if (ts.isPropertyAssignment(property)) return this.evaluate(property.initializer, env);
    if (ts.isShorthandPropertyAssignment(property)) return this.evaluate(property.name, env);
    return this.#method(property, env, self);
  }

  /** Returns a method, or the value of a getter. */
  #method(node: Node, env: Scope, self: Value): Values {
    const method = closure(node as SignatureDeclaration, env, [self]);
    if (ts.isSetAccessor(node)) return [NOTHING];
    return ts.isGetAccessor(node) ? this.returned(method, [], env) : [method];
  }

  /** Returns what a constructor's parameter with a default is: that, or what own code passes to `new`. */
  injected(node: ParameterDeclaration, initializer: Expression, scope: Scope): Values {
    const symbol = this.code.typeAt(node.parent.parent).symbol;
    const at = node.parent.parameters.indexOf(node);
    const given = this.code.referencesOf(symbol).flatMap(({ parent }) => {
      if (!ts.isNewExpression(parent) || this.code.isTest(parent)) return [];
      return this.args(parent, this.scopeOf(parent))[at] ?? [];
    });
    return [...this.evaluate(initializer, scope), ...given].filter((each) => !isMissing([each]));
  }

  ofInstance(holder: InstanceValue, name: string | undefined): Values | undefined {
    if (name === undefined) return [{ is: 'any', kept: holder.kept }];
    return this.#ofClass(holder.node, name, false, holder);
  }

  /** Returns a member of a class or of the classes that it extends. */
  #ofClass(
    node: ClassLikeDeclaration,
    name: string | undefined,
    isStatic: boolean,
    self: Value,
  ): Values | undefined {
    const own = membersOf(node, name, isStatic).flatMap((member) =>
      this.#field(member, node, self),
    );
    if (own.length > 0) return own;
    const inherited = this.bases(node).flatMap((base): Values => {
      if (base.is === 'class') return this.#ofClass(base.node, name, isStatic, self) ?? [];
      if (base.is !== 'outside' || name === undefined) return [UNKNOWN];
      return [outside(base.pkg, [...base.path, name], isKept(self), { self: [self] })];
    });
    return inherited.length === 0 ? undefined : inherited;
  }

  /** Returns the classes that a class extends. */
  bases(node: ClassLikeDeclaration): Values {
    const clause = node.heritageClauses?.find(
      ({ token }) => token === ts.SyntaxKind.ExtendsKeyword,
    );
    const [base] = clause?.types ?? [];
    return base === undefined ? [] : this.evaluate(base.expression, this.scopeOf(node));
  }

  /** Returns the object that `super` stands for. */
  base(self: Value, node: ClassLikeDeclaration | undefined): Values {
    if (self.is !== 'instance' || node === undefined) return [UNKNOWN];
    return this.bases(node).map((base) => {
      if (base.is === 'class') return { ...self, node: base.node };
      return base.is === 'outside'
        ? outside(base.pkg, base.path, self.kept, { self: [self] })
        : UNKNOWN;
    });
  }

  #field(member: Member, node: ClassLikeDeclaration, self: Value): Values {
    if (ts.isParameter(member))
      return self.is === 'instance'
        ? this.parameter(member, this.constructing(self, node))
        : [UNKNOWN];
    return ts.isPropertyDeclaration(member)
      ? this.#fieldValues(member, node, self)
      : this.#method(member, this.scopeOf(node), self);
  }

  #fieldValues(member: PropertyDeclaration, node: ClassLikeDeclaration, self: Value): Values {
    const kept = isKept(self) || self.is === 'class';
    const within = this.enter({ outer: this.scopeOf(node), self: [self], kept });
    const symbol = this.code.checker.getSymbolAtLocation(member.name);
    const values = [
      ...(member.initializer === undefined ? [] : this.evaluate(member.initializer, within)),
      ...(symbol === undefined ? [] : this.code.assignedTo(symbol)).flatMap((each) => {
        if (each === undefined) return [UNKNOWN];
        const isConstructed =
          self.is === 'instance' &&
          ts.findAncestor(each, ts.isConstructorDeclaration)?.parent === node;
        const env = isConstructed ? this.constructing(self, node) : within;
        return this.evaluate(each, this.scopeOf(each, env));
      }),
    ];
    const found = values.length === 0 ? this.annotated(member, { kept }) : values;
    return found.map((value) => (kept && value.is === 'any' ? { ...value, kept } : value));
  }

  /** Returns the activation of a class's constructor for an instance of it or of a subclass. */
  constructing(holder: InstanceValue, node: ClassLikeDeclaration): Scope {
    const own = constructorOf(node);
    const outer = this.scopeOf(node);
    const { kept } = holder;
    if (own === undefined) return this.enter({ outer, self: [holder], kept });
    const args = this.#constructorArgs(holder, node);
    const activation = this.activation(closure(own, outer, [holder]), args, kept);
    return args === undefined && kept ? this.enter({ ...activation, unbound: 'kept' }) : activation;
  }

  /** Returns what a constructor receives: the arguments of `new`, or those that a subclass passes on. */
  #constructorArgs(
    holder: InstanceValue,
    node: ClassLikeDeclaration,
  ): readonly Values[] | undefined {
    if (holder.node === node) return holder.args;
    const between = this.#pathTo(node, holder.node);
    const own = between && constructorOf(between);
    if (own === undefined) return between && this.#constructorArgs(holder, between);
    const passed = superCallIn(own);
    return passed && this.args(passed, this.constructing(holder, between!));
  }

  /** Returns the class on the way to a base class that extends it directly. */
  #pathTo(
    base: ClassLikeDeclaration,
    from: ClassLikeDeclaration,
  ): ClassLikeDeclaration | undefined {
    for (const each of this.bases(from)) {
      if (each.is !== 'class') continue;
      const found = each.node === base ? from : this.#pathTo(base, each.node);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns the values of a name in a destructuring pattern. */
  binding(node: BindingElement, env: Scope): Values {
    const pattern = node.parent;
    const type = this.code.typeAt(pattern);
    const index = (pattern.elements as readonly Node[]).indexOf(node);
    const name = ts.isArrayBindingPattern(pattern) ? String(index) : bindingName(node);
    const wanted = { name, type, symbol: name === undefined ? undefined : type.getProperty(name) };
    const isRest = node.dotDotDotToken !== undefined;
    const values = this.declared(pattern.parent, env).flatMap((each): Values => {
      if (each.is === 'any' && each.input === true) return [each];
      return isRest ? [UNKNOWN] : this.member(each, wanted);
    });
    const found = this.typed(values, node.name);
    if (node.initializer === undefined) return found;
    return [...found, ...this.evaluate(node.initializer, this.scopeOf(node, env))];
  }

  /** Returns the items of lists in their order. `undefined` stands for any number of unknown items. */
  #parts(lists: Values): readonly (Values | undefined)[] {
    const [list, ...more] = lists;
    if (list?.is === 'outside' && more.length === 0)
      return (list.items ?? [[MANY]]).map((each) => (each.includes(MANY) ? undefined : each));
    if (more.length > 0 || list?.is !== 'object' || !ts.isArrayLiteralExpression(list.node))
      return [undefined];
    if (!list.changes.every(({ appends }) => appends)) return [undefined];
    const found = list.node.elements.flatMap((each) =>
      ts.isSpreadElement(each)
        ? this.#spread(each, list.env, (values) => this.#parts(values))
        : [this.evaluate(each, list.env)],
    );
    return list.changes.length === 0 ? found : [...found, undefined];
  }

  /** Returns the items of lists, or undefined if the code doesn't show all of them. */
  items(lists: Values): readonly Values[] | undefined {
    const parts = this.#parts(lists);
    return parts.includes(undefined) ? undefined : (parts as readonly Values[]);
  }

  /** Returns the items of a list as texts, with a hole for each one that the code doesn't show. */
  words(lists: Values): readonly string[] {
    return this.#parts(lists).map((part) => onlyText(part ?? []));
  }

  /** Returns what a loop over values sees. */
  elements(lists: Values): Values {
    const found =
      this.items(lists)?.flat() ??
      this.#parts(lists.filter(({ is }) => is === 'outside')).flatMap((each) => each ?? []);
    return found.length > 0 ? found : [{ is: 'any', kept: lists.some(isKept) }];
  }

  /** Returns a field of values by its name alone. Objects without the field have `undefined`. */
  field(values: Values, name: string): Values {
    return values.flatMap((value): Values => {
      if (value.is === 'object') return this.#ofObject(value, name) ?? [NOTHING];
      return value.is === 'literal' || value.is === 'function' ? [NOTHING] : [UNKNOWN];
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
}

/** Methods of the language's own data, which have no types in JavaScript. */
export const DATA_METHODS =
  /^(?:map|filter|forEach|reduce|some|every|flatMap|slice|join|includes|indexOf|split|trim|toLowerCase|toUpperCase|startsWith|endsWith|replaceAll|toFixed|padStart|padEnd|match|matchAll|flat|toISOString|getTime|toString|charAt|substring)$/;

export const isNullish = (value: Value) => value.is === 'literal' && value.value == null;

/** Returns true if values are all `undefined`. */
export const isMissing = (values: Values | undefined) =>
  values?.every((each) => each.is === 'literal' && each.value === undefined) ?? true;

/** Returns the one text that values are, or a hole. */
export function onlyText(values: Values): string {
  const [text = HOLE, ...more] = textsOf(values);
  return more.length > 0 ? HOLE : text;
}

/** Returns something unknown that belongs to a value. */
function anyOf(holder: Value): Value {
  const input = holder.is === 'any' && holder.input === true;
  return { is: 'any', kept: isKept(holder), ...(input && { input }) };
}

const ofHolder = (holder: Value) => ({
  self: [holder],
  ...(holder.is === 'outside' && holder.made && { made: holder.made }),
});
