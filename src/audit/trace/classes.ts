/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import { PERHAPS, type Machine } from './machine.js';
import { keyIn } from './patterns.js';
import type { Node } from './program.js';
import {
  UNDEFINED,
  UNKNOWN,
  join,
  options,
  unknownLike,
  type ClassValue,
  type Fn,
  type Obj,
  type Place,
  type Scope,
  type Value,
} from './values.js';

/** Methods that JavaScript may call implicitly, for example to convert an object to a string. */
const HOOKS = /^(?:toString|valueOf|toJSON|then|next|@@\w+)$/u;
const FIELD = /PropertyDefinition$|AccessorProperty$/u;
const MAX_INSTANCES = 8;

export const functionOf = (node: Node, scope: Scope, name = '', home?: ClassValue): Fn => ({
  t: 'fn',
  node,
  scope,
  module: scope.module,
  home,
  name: node['id']?.name ?? name,
  props: new Map(),
});

/** Calls the methods that JavaScript may call implicitly. */
function askLater(m: Machine, self: Value, methods: Iterable<readonly [string, Value]>, at: Place) {
  for (const [key, method] of m.epoch === 0 ? [] : methods)
    if (HOOKS.test(key) && method.t === 'fn')
      m.under(PERHAPS, () => m.invoke(method, self, [UNKNOWN], at));
}

/** Adds a getter or setter. An existing setter or getter of the same name is kept. */
function setAccessor(m: Machine, props: Map<string, Value>, key: string, kind: string, fn: Fn) {
  const old = props.get(key);
  const { get, set } = old?.t === 'accessor' ? old : { get: () => UNDEFINED, set: undefined };
  props.set(
    key,
    kind === 'get'
      ? { t: 'accessor', get: (self, place) => m.invoke(fn, self, [], place), set }
      : { t: 'accessor', get, set: fn },
  );
}

/** Creates classes, objects and instances, and looks up their methods. */
export class Classes {
  readonly methods = new Map<string, Set<ClassValue>>();
  /** The methods of object literals, by name. */
  readonly methodsOfObjects = new Map<string, Map<Node, Fn>>();
  /** The instances that the program creates while it starts, by class node. */
  readonly instances = new Map<Node, Obj[]>();
  readonly standIns = new Map<ClassValue, Obj>();
  /** A count that is above 0 while a representative instance is created. */
  #standingIn = 0;

  constructor(
    private readonly m: Machine,
    private readonly call: (
      callee: Value,
      self: Value,
      args: readonly Value[],
      place: Place,
      name: string,
    ) => Value,
  ) {}

  /** Creates an object from a literal. */
  objectOf(n: Node, s: Scope): Value {
    const { m } = this;
    const object = m.object();
    for (const property of n['properties'] as Node[]) {
      const place: Place = { module: s.module, node: property };
      if (property.type === 'SpreadElement') {
        this.#spread(object, m.evaluate(property['argument'], s), place);
        continue;
      }
      const [key] = keyIn(m, property, s);
      if (property['kind'] !== 'init') {
        const fn = functionOf(property['value'], s, key);
        if (key !== undefined) setAccessor(m, object.props, key, property['kind'], fn);
        continue;
      }
      const value = m.evaluate(property['value'], s, key);
      if (key === undefined) m.fill(object, value, place, '[…] =');
      else if (key !== '__proto__') m.write(object, key, value, place, 'making');
      if (
        m.epoch === 0 &&
        key !== undefined &&
        value.t === 'fn' &&
        value.node === property['value']
      )
        this.methodsOfObjects.set(
          key,
          (this.methodsOfObjects.get(key) ?? new Map<Node, Fn>()).set(value.node, {
            ...value,
            bound: { self: object, args: [] },
          }),
        );
    }
    askLater(m, object, object.props, { module: s.module, node: n });
    return object;
  }

  #spread(object: Obj, source: Value, place: Place): void {
    const { m } = this;
    const all = options(source);
    for (const one of all) {
      if (one.t === 'obj') {
        if (one.rest !== undefined) m.fill(object, one.rest, place, '...');
        for (const key of one.props.keys()) {
          const old = all.length > 1 ? object.props.get(key) : undefined;
          const value = m.read(one, key, place);
          m.write(object, key, old === undefined ? value : join(old, value), place, 'making');
        }
        if (one.cls !== undefined) [object.cls, object.proto] = [one.cls, one.proto];
      } else if (one.t === 'native') object.proto = one;
      else if (one.t !== 'const') m.fill(object, unknownLike(one), place, '...');
    }
  }

  /** Creates a class with its methods and static members. */
  classOf(node: Node, s: Scope, name = ''): ClassValue {
    const { m } = this;
    const scope = m.scope(s, s.frame, s.module);
    const given = node['superClass'] ? m.evaluate(node['superClass'], s) : undefined;
    const parent =
      given === undefined ? undefined : (options(given).find(({ t }) => t === 'class') ?? given);
    const methods = m.object();
    methods.proto =
      parent?.t === 'class'
        ? parent.methods
        : parent?.t === 'fn'
          ? parent.props.get('prototype')
          : parent;
    const cls: ClassValue = {
      t: 'class',
      node,
      scope,
      module: s.module,
      parent,
      props: new Map(),
      methods,
    };
    methods.cls = cls;
    const own: string = node['id']?.name ?? name;
    if (own !== '') m.declare(scope, own, cls, true);
    for (const member of node['body'].body as Node[]) {
      const isStatic = member['static'] === true;
      const target = isStatic ? cls.props : methods.props;
      if (member.type === 'StaticBlock') {
        const body = { ...member, type: 'BlockStatement' };
        const block = { ...member, type: 'FunctionExpression', params: [], body };
        m.invoke(functionOf(block, scope, 'static', cls), cls, [], {
          module: s.module,
          node: member,
        });
      } else if (FIELD.test(member.type)) {
        if (isStatic) this.#field(member, cls, cls);
      } else if (member.type === 'MethodDefinition' && member['kind'] !== 'constructor') {
        const [key] = keyIn(m, member, scope);
        if (key === undefined) continue;
        const fn = functionOf(member['value'], scope, key, cls);
        if (member['kind'] !== 'method') setAccessor(m, target, key, member['kind'], fn);
        else {
          target.set(key, fn);
          const known = this.methods.get(key) ?? new Set<ClassValue>();
          if (!isStatic && ![...known].some((other) => other.node === node))
            this.methods.set(key, known.add(cls));
        }
      }
    }
    return cls;
  }

  /** Sets a field of a class or of its new instance. */
  #field(member: Node, cls: ClassValue, self: Value): void {
    const { m } = this;
    const scope = m.scope(cls.scope, { self, home: cls, args: [], returns: [] }, cls.module);
    const [key] = keyIn(m, member, scope);
    const value = member['value'] ? m.evaluate(member['value'], scope, key) : UNDEFINED;
    m.write(self, key, value, { module: cls.module, node: member }, 'making');
  }

  construct(cls: ClassValue, args: readonly Value[], place: Place): Obj {
    const { m } = this;
    const instance = m.object();
    [instance.cls, instance.proto] = [cls, cls.methods];
    const made = this.instances.get(cls.node) ?? [];
    if (m.epoch === 0 && this.#standingIn === 0 && made.length < MAX_INSTANCES)
      this.instances.set(cls.node, [...made, instance]);
    if (m.stack.filter(({ node }) => node === cls.node).length >= 2) return instance;
    m.stack.push({ node: cls.node, name: cls.node['id']?.name ?? '' });
    try {
      this.#initialise(cls, instance, args, place);
      for (let at: Value | undefined = cls; at?.t === 'class'; at = at.parent)
        askLater(m, instance, at.methods.props, place);
    } finally {
      m.stack.pop();
    }
    return instance;
  }

  #initialise(cls: ClassValue, self: Value, args: readonly Value[], place: Place): void {
    const constructor = constructorOf(cls);
    if (cls.parent === undefined) this.#fields(cls, self);
    if (constructor !== undefined)
      this.m.invoke(functionOf(constructor, cls.scope, 'constructor', cls), self, args, place);
    else if (cls.parent !== undefined) this.super(cls, self, args, place);
  }

  /**
   * Runs `super(…)` in a constructor. The parent creates the instance, and then the fields are set.
   */
  super(cls: ClassValue, self: Value, args: readonly Value[], place: Place): void {
    const { parent = UNKNOWN } = cls;
    if (parent.t === 'class') this.#initialise(parent, self, args, place);
    else this.call(parent, self, args, place, 'super');
    this.#fields(cls, self);
  }

  #fields(cls: ClassValue, self: Value): void {
    for (const member of cls.node['body'].body as Node[])
      if (FIELD.test(member.type) && member['static'] !== true && member['declare'] !== true)
        this.#field(member, cls, self);
  }

  /**
   * Returns an instance of a class. If the program hasn't created any instance, returns a
   * representative instance.
   */
  instanceOf(cls: ClassValue): Obj {
    const known = this.instances.get(cls.node)?.[0] ?? this.standIns.get(cls);
    if (known !== undefined) return known;
    // Parameters with a default value get that value. All other arguments are unknown.
    const args = ((constructorOf(cls)?.['params'] ?? []) as Node[]).map((param) =>
      (param['parameter'] ?? param).type === 'AssignmentPattern' ? UNDEFINED : UNKNOWN,
    );
    const { run } = this.m;
    const met = run.entries;
    run.entries = [];
    this.#standingIn++;
    try {
      const object = this.construct(cls, args, { module: cls.module, node: cls.node });
      object.rest ??= UNKNOWN;
      this.standIns.set(cls, object);
      return object;
    } finally {
      this.#standingIn--;
      run.entries = met;
    }
  }

  /** Replaces a class's representative with the instances that the program has created. */
  madeOf(self: Value): Value {
    const cls = self.t === 'obj' ? self.cls : undefined;
    if (cls === undefined || this.standIns.get(cls) !== self) return self;
    return join(...(this.instances.get(cls.node) ?? [self]));
  }

  /**
   * Evaluates the decorators of a class and its members. Decorators are called with the class or
   * method, because they may register it as a tool.
   */
  decorate(cls: ClassValue, s: Scope): void {
    const { m } = this;
    const run = (node: Node, target: () => Value | undefined): void => {
      for (const { expression } of (node['decorators'] ?? []) as Node[]) {
        const value = expression.type === 'CallExpression' ? target() : undefined;
        if (value === undefined) continue;
        const args = (expression.arguments as Node[]).map((one) => m.evaluate(one, s));
        const name = `@${expression.callee.name ?? expression.callee.property?.name ?? ''}`;
        m.onCall({ name, own: false }, [...args, value], { module: s.module, node: expression });
      }
    };
    run(cls.node, () => cls);
    for (const member of cls.node['body'].body as Node[])
      run(member, () => {
        const method = m.lookup(cls.methods, keyIn(m, member, s)[0] ?? '');
        return method?.t === 'fn'
          ? { ...method, bound: { self: this.instanceOf(cls), args: [] } }
          : undefined;
      });
  }
}

const constructorOf = ({ node }: ClassValue): Node | undefined =>
  (node['body'].body as Node[]).find((member) => member['kind'] === 'constructor')?.['value'] as
    Node | undefined;
