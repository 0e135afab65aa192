/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import { iterate } from './callbacks.js';
import type { Condition, Machine, Place } from './machine.js';
import { classOf, fieldsOf, objectOf } from './objects.js';
import { Patterns, WRAPPERS, isPositive, isPresence, lookup } from './patterns.js';
import type { Node } from './program.js';
import {
  ELSEWHERE,
  DATA,
  UNDEFINED,
  UNKNOWN,
  arithmetic,
  constant,
  differs,
  isFixed,
  isNothing,
  isPartial,
  isSame,
  join,
  keyOf,
  mergeTags,
  options,
  plus,
  tagsOf,
  textOf,
  truth,
  unknown,
  unread,
  withTags,
  type ClassValue,
  type Fn,
  type Obj,
  type Scope,
  type Value,
} from './values.js';

interface Test {
  readonly value: Value;
  readonly truth: boolean | undefined;
  readonly yes: Condition;
  readonly no: Condition;
}

const GLOBALS_UNKNOWN = new Set(['arguments']);

/** Returns true where `?.` ends the chain: there is certainly nothing to go on with. */
const isSkipped = (n: Node, value: Value): boolean =>
  n['optional'] === true && options(value).every((one) => isFixed(one) && isNothing(one));

/** Reads expressions: each gives the value, or the values, that it may have. */
export class Expressions {
  /** Loads a module's exports; set by the interpreter. */
  importModule: (place: Place, specifier: string) => Value = () => UNKNOWN;

  readonly patterns: Patterns;

  constructor(
    private readonly m: Machine,
    private readonly calls: Calls,
  ) {
    this.patterns = new Patterns(m, calls, this);
  }

  evaluate(n: Node, s: Scope, named = ''): Value {
    const { m } = this;
    m.step();
    const place: Place = { module: s.module, node: n };
    switch (n.type) {
      case 'Literal':
        return n['regex'] === undefined ? constant(n['value']) : DATA;
      case 'TemplateLiteral':
        return this.#template(n, s);
      case 'Identifier':
        return this.#identifier(n['name'], s);
      case 'ThisExpression':
        return s.frame.self;
      case 'ArrayExpression':
        return m.object('array', this.args(n['elements'], s));
      case 'ObjectExpression':
        return objectOf(this.m, this.calls, this, n, s);
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return this.fn(n, s, named);
      case 'ClassExpression':
        return this.classOf(n, s, named);
      case 'UnaryExpression':
        return this.#unary(n, s);
      case 'UpdateExpression': {
        this.m.quiet++;
        const old = this.evaluate(n['argument'], s);
        this.m.quiet--;
        this.patterns.assign(
          n['argument'],
          isFixed(old) && typeof old.v === 'number'
            ? constant(old.v + (n['operator'] === '++' ? 1 : -1))
            : unknown(tagsOf(old)),
          s,
          place,
        );
        return unknown(tagsOf(old));
      }
      case 'BinaryExpression':
        return this.#binary(n, s, place);
      case 'LogicalExpression':
        return this.#logical(n['operator'], this.test(n['left'], s), () =>
          this.evaluate(n['right'], s),
        );
      case 'AssignmentExpression':
        return this.#assignment(n, s, place);
      case 'ConditionalExpression': {
        const test = this.test(n['test'], s);
        if (test.truth !== undefined)
          return this.evaluate(test.truth ? n['consequent'] : n['alternate'], s, named);
        const yes = m.under(test.yes, () => this.evaluate(n['consequent'], s, named));
        const no = m.under(test.no, () => this.evaluate(n['alternate'], s, named));
        return withTags(join(yes, no), test.yes.tags);
      }
      case 'CallExpression':
        return this.#call(n, s, place);
      case 'NewExpression':
        return this.#new(n, s, place);
      case 'MemberExpression': {
        if (n['object'].type === 'Super')
          return this.m.get(this.#super(s), this.key(n, s), UNKNOWN, place);
        if (
          n['object'].type === 'MetaProperty' ||
          (n['object'].type === 'Identifier' && n['object'].name === 'import')
        )
          return constant(`${n['property'].name === 'url' ? 'file://' : ''}${s.module.file}`);
        const object = this.evaluate(n['object'], s);
        const index = n['computed'] === true ? this.evaluate(n['property'], s) : UNKNOWN;
        return this.m.get(
          object,
          n['computed'] === true ? keyOf(index) : this.key(n, s),
          index,
          place,
        );
      }
      case 'SequenceExpression':
        return (n['expressions'] as Node[]).reduce<Value>(
          (_, one) => this.evaluate(one, s),
          UNDEFINED,
        );
      case 'YieldExpression': {
        const value = n['argument'] === null ? UNDEFINED : this.evaluate(n['argument'], s);
        s.frame.yields.push(
          ...(n['delegate'] === true ? (iterate(m, value) ?? [UNKNOWN]) : [value]),
        );
        return UNKNOWN;
      }
      case 'TaggedTemplateExpression': {
        const text = this.#template(n['quasi'], s);
        const tag: Node = n['tag'];
        const name = tag.type === 'MemberExpression' ? this.key(tag, s) : tag['name'];
        if (tag.type === 'MemberExpression') {
          const object = this.evaluate(tag['object'], s);
          return this.calls.member(object, name, [text], place, () => UNKNOWN);
        }
        const callee = this.evaluate(tag, s);
        if (callee.t === 'fn')
          return this.calls.call(
            callee,
            UNDEFINED,
            [
              m.object(
                'array',
                (n['quasi'].quasis as Node[]).map((one) => constant(one['value'].cooked)),
              ),
              ...this.args(n['quasi'].expressions, s),
            ],
            place,
            name ?? '',
          );
        return this.calls.call(callee, UNDEFINED, [text], place, name ?? '');
      }
      case 'ImportExpression': {
        const source = this.evaluate(n['source'], s);
        return join(
          ...options(source).map((one) =>
            one.t === 'const' && typeof one.v === 'string' && !isPartial(one)
              ? this.importModule(place, one.v)
              : unread('a module of a computed name'),
          ),
        );
      }
      case 'MetaProperty':
        return m.object(
          'object',
          [],
          [
            ['url', constant(`file://${s.module.file}`)],
            ['dirname', constant(s.module.file.replace(/\/[^/]*$/u, ''))],
            ['filename', constant(s.module.file)],
          ],
        );
      default: {
        const value = WRAPPERS.has(n.type)
          ? this.evaluate(n['expression'] ?? n['argument'], s, named)
          : UNKNOWN;
        return value;
      }
    }
  }

  #identifier(name: string, s: Scope): Value {
    const binding = lookup(s, name);
    if (binding !== undefined) return this.m.readBinding(binding);
    if (name === 'undefined' || ELSEWHERE.has(name)) return UNDEFINED;
    if (name === 'NaN' || name === 'Infinity') return constant(name === 'NaN' ? NaN : Infinity);
    if (name === 'arguments') return this.m.object('array', s.frame.args);
    if (name === 'globalThis' || name === 'global')
      return { t: 'native', module: 'global', path: [], args: [] };
    return GLOBALS_UNKNOWN.has(name)
      ? UNKNOWN
      : { t: 'native', module: 'global', path: [name], args: [] };
  }

  #template(n: Node, s: Scope): Value {
    const parts = (n['expressions'] as Node[]).map((one) => this.evaluate(one, s));
    // Two texts for one part, as of a conditional, give two texts: programs and addresses are then known for both.
    const choices = parts.map((part) =>
      options(part).length <= 3 && options(part).every((one) => one.t === 'const')
        ? options(part)
        : [part],
    );
    const make = (pick: (index: number) => Value): Value =>
      constant(
        (n['quasis'] as Node[])
          .map(
            (quasi, index) =>
              `${quasi['value'].cooked ?? ''}${index < parts.length ? textOf(pick(index)) : ''}`,
          )
          .join('')
          .slice(0, 20_000),
        mergeTags(...parts.map(tagsOf)),
      );
    const several = choices.findIndex((list) => list.length > 1);
    if (several < 0) return make((index) => parts[index] as Value);
    return join(
      ...(choices[several] as readonly Value[]).map((choice) =>
        make((index) => (index === several ? choice : (choices[index]?.[0] as Value))),
      ),
    );
  }

  args(nodes: readonly (Node | null)[], s: Scope): Value[] {
    return nodes.flatMap((node): readonly Value[] => {
      if (node === null) return [UNDEFINED];
      if (node.type !== 'SpreadElement') return [this.evaluate(node, s)];
      return iterate(this.m, this.evaluate(node['argument'], s)) ?? [UNKNOWN];
    });
  }

  /** Returns the name of a property, undefined where it is computed and not known. */
  key(n: Node, s: Scope): string | undefined {
    const node: Node = n['property'] ?? n['key'];
    if (n['computed'] === true) return keyOf(this.evaluate(node, s));
    return node.type === 'PrivateIdentifier'
      ? `#${node['name'] as string}`
      : node.type === 'Identifier'
        ? node['name']
        : String(node['value']);
  }

  fn(node: Node, s: Scope, name = '', home?: ClassValue): Fn {
    return {
      t: 'fn',
      id: this.m.id(),
      node,
      scope: s,
      module: s.module,
      home,
      name: (node['id']?.name as string | undefined) ?? name,
      props: new Map(),
      bound: undefined,
    };
  }

  classOf(node: Node, s: Scope, name = ''): ClassValue {
    return classOf(this.m, this.calls, this, node, s, name);
  }

  fields(cls: ClassValue, instance: Obj): void {
    fieldsOf(this.m, this, cls, instance);
  }

  #unary(n: Node, s: Scope): Value {
    if (n['operator'] === 'delete') {
      const target: Node =
        n['argument'].type === 'ChainExpression' ? n['argument'].expression : n['argument'];
      if (target.type !== 'MemberExpression') return UNKNOWN;
      const place: Place = { module: s.module, node: n };
      this.m.quiet++;
      const object = this.evaluate(target['object'], s);
      const key = this.key(target, s);
      this.m.quiet--;
      for (const one of options(object))
        if (one.t === 'obj' && this.m.epoch > one.born)
          this.m.changed(key === undefined ? `o${one.id}[]` : `o${one.id}.${key}`, place, {
            call: 'delete',
            destructive: true,
            idempotent: true,
          });
      if (tagsOf(object).some((tag) => tag.startsWith('state:')) && this.m.epoch > 0)
        this.m.write(object, key, UNDEFINED, place);
      return UNKNOWN;
    }
    const value = this.evaluate(n['argument'], s);
    const tags = tagsOf(value);
    switch (n['operator']) {
      case '!':
        return join(
          ...options(value).map((one) => {
            const verdict = truth(one);
            return verdict === undefined ? unknown(tags) : constant(!verdict, tags);
          }),
        );
      case 'typeof':
        return isFixed(value)
          ? constant(typeof value.v, tags)
          : value.t === 'fn' || value.t === 'class'
            ? constant('function')
            : value.t === 'obj'
              ? constant('object')
              : isPartial(value)
                ? constant('string', tags)
                : unknown(tags);
      case 'void':
        return UNDEFINED;
      case '-':
      case '+':
        return isFixed(value) && typeof value.v !== 'bigint'
          ? constant(n['operator'] === '-' ? -Number(value.v) : Number(value.v), tags)
          : unknown(tags);
      default:
        return unknown(tags);
    }
  }

  #binary(n: Node, s: Scope, place: Place): Value {
    const left =
      n['left'].type === 'PrivateIdentifier'
        ? constant(`#${n['left'].name as string}`)
        : this.evaluate(n['left'], s);
    const right = this.evaluate(n['right'], s);
    const tags = mergeTags(tagsOf(left), tagsOf(right));
    switch (n['operator']) {
      case '+':
        return plus(left, right, tags);
      case '===':
      case '==':
      case '!==':
      case '!=': {
        const wanted = n['operator'].startsWith('=');
        const verdicts = new Set(
          options(left).flatMap((one) =>
            options(right).map((other) =>
              n['operator'].length === 2 && isNothing(one) && isNothing(other)
                ? true
                : (isSame(one, other) ?? differs(one, other)),
            ),
          ),
        );
        if (verdicts.size !== 1 || verdicts.has(undefined))
          return join(
            unknown(tags),
            ...[...verdicts].flatMap((one) =>
              one === undefined ? [] : [constant(one === wanted, tags)],
            ),
          );
        if (verdicts.has(true) && isFixed(left)) this.m.hit(left.v, place);
        return constant(verdicts.has(true) === wanted, tags);
      }
      case 'in': {
        const key = keyOf(left);
        this.m.unread(right);
        if (right.t !== 'obj' || key === undefined) return unknown(tags);
        if (this.m.lookup(right, key) === undefined)
          return right.rest === undefined && this.m.epoch === right.born
            ? constant(false, tags)
            : unknown(tags);
        this.m.hit(key, place);
        return constant(true, tags);
      }
      case 'instanceof':
        return unknown(tags);
      default:
        return join(
          ...options(left).flatMap((one) =>
            options(right).map((other) =>
              isFixed(one) &&
              isFixed(other) &&
              typeof one.v === 'number' &&
              typeof other.v === 'number'
                ? constant(arithmetic(n['operator'], one.v, other.v), tags)
                : unknown(tags),
            ),
          ),
        );
    }
  }

  #logical(operator: string, test: Test, right: () => Value): Value {
    const { m } = this;
    const left = test.value;
    if (operator === '&&') {
      if (test.truth !== undefined) return test.truth ? right() : left;
      return withTags(
        join(
          ...options(left).filter((one) => one.t === 'const' && !one.v),
          m.under(test.yes, right),
        ),
        test.yes.tags,
      );
    }
    if (operator === '||') {
      if (test.truth !== undefined) return test.truth ? left : right();
      return join(
        ...options(left).filter((one) => !(isFixed(one) && !one.v)),
        m.under(test.no, right),
      );
    }
    const some = options(left).filter((one) => !(isFixed(one) && isNothing(one)));
    if (some.length === 0) return right();
    return some.length === options(left).length &&
      some.every((one) => one.t !== 'unknown' && !(one.t === 'const' && isNothing(one)))
      ? left
      : join(...some, m.under(test.no, right));
  }

  #assignment(n: Node, s: Scope, place: Place): Value {
    const { m } = this;
    const operator: string = n['operator'];
    const name = n['left'].type === 'Identifier' ? n['left'].name : '';
    if (operator === '=') {
      // `x = x || y` makes x when it is needed first, as `x ||= y` does.
      const again =
        n['right'].type === 'LogicalExpression' &&
        s.module.text.slice(n['left'].start, n['left'].end) ===
          s.module.text.slice(n['right'].left.start, n['right'].left.end);
      const value = this.evaluate(
        n['right'],
        s,
        name || (n['left'].type === 'MemberExpression' ? (n['left'].property.name ?? '') : ''),
      );
      this.patterns.assign(n['left'], value, s, place, again);
      return value;
    }
    if (/^(?:\|\||&&|\?\?)=$/u.test(operator)) {
      const test = this.test(n['left'], s);
      const value = this.#logical(operator.slice(0, -1), test, () =>
        this.evaluate(n['right'], s, name),
      );
      this.patterns.assign(n['left'], value, s, place, true);
      return value;
    }
    m.quiet++;
    const old = this.evaluate(n['left'], s);
    m.quiet--;
    const right = this.evaluate(n['right'], s);
    const tags = mergeTags(tagsOf(old), tagsOf(right));
    const value = operator === '+=' ? plus(old, right, tags) : unknown(tags);
    this.patterns.assign(n['left'], value, s, place);
    return value;
  }

  #super(s: Scope): Value {
    const home = s.frame.home;
    const parent = home?.parent;
    if (parent?.t !== 'class') return parent ?? UNKNOWN;
    return s.frame.self.t === 'class'
      ? parent
      : { ...this.m.object(), props: parent.methods, cls: parent };
  }

  #call(n: Node, s: Scope, place: Place): Value {
    let callee: Node = n['callee'];
    while (WRAPPERS.has(callee.type)) callee = callee['expression'] ?? callee['argument'];
    if (callee.type === 'Super') {
      const parent = s.frame.home?.parent ?? UNKNOWN;
      const args = this.args(n['arguments'], s);
      if (parent.t === 'class') this.calls.initialise(parent, s.frame.self, args, place);
      else {
        this.calls.call(parent, s.frame.self, args, place, 'super');
        if (s.frame.self.t === 'obj' && parent.t !== 'const') s.frame.self.proto = parent;
      }
      if (s.frame.home !== undefined && s.frame.self.t === 'obj')
        this.fields(s.frame.home, s.frame.self);
      return UNDEFINED;
    }
    if (callee.type === 'SequenceExpression')
      callee = (callee['expressions'] as Node[]).at(-1) as Node;
    if (callee.type === 'MemberExpression') {
      const object =
        callee['object'].type === 'Super' ? this.#super(s) : this.evaluate(callee['object'], s);
      const index = callee['computed'] === true ? this.evaluate(callee['property'], s) : UNKNOWN;
      const key = callee['computed'] === true ? keyOf(index) : this.key(callee, s);
      if (isSkipped(callee, object)) return UNDEFINED;
      const args = this.args(n['arguments'], s);
      if (callee['object'].type === 'Super')
        return this.calls.call(
          this.m.get(object, key, UNKNOWN, place),
          s.frame.self,
          args,
          place,
          key ?? '',
        );
      return this.calls.member(object, key, args, place, (one) =>
        this.m.get(one, key, index, place),
      );
    }
    if (
      callee.type === 'Identifier' &&
      callee['name'] === 'require' &&
      lookup(s, 'require') === undefined
    ) {
      const [source] = this.args(n['arguments'], s);
      return source === undefined
        ? UNKNOWN
        : join(
            ...options(source).map((one) =>
              one.t === 'const' && typeof one.v === 'string' && !isPartial(one)
                ? this.calls.require(place, one.v)
                : unread('a module of a computed name'),
            ),
          );
    }
    const value = this.evaluate(callee, s);
    if (isSkipped(n, value)) return UNDEFINED;
    return this.calls.call(
      value,
      UNDEFINED,
      this.args(n['arguments'], s),
      place,
      callee.type === 'Identifier' ? callee['name'] : '',
    );
  }

  #new(n: Node, s: Scope, place: Place): Value {
    const callee = this.evaluate(n['callee'], s);
    const args = this.args(n['arguments'], s);
    return join(
      ...options(callee).map((one): Value => {
        if (one.t === 'fn') {
          const self = this.m.object();
          const prototype = one.props.get('prototype');
          if (prototype !== undefined) self.proto = prototype;
          const result = this.m.invoke(one, self, args, place);
          return result.t === 'obj' || result.t === 'fn' ? result : self;
        }
        return one.t === 'class'
          ? this.calls.construct(one, args, place)
          : this.calls.call(
              one,
              UNDEFINED,
              args,
              place,
              n['callee'].name ?? n['callee'].property?.name ?? '',
            );
      }),
    );
  }

  /** Evaluates a test, and says under which conditions each of its branches is taken. */
  test(n: Node, s: Scope): Test {
    const value = this.evaluate(n, s);
    const tags = tagsOf(value);
    const named = tags.filter((tag) => tag.startsWith('arg:') && tag.length > 4);
    const asks = named.length > 0 || tags.some((tag) => tag.startsWith('env:'));
    // The default of an argument, where there is one, says which branch is taken without it.
    const usual = new Set(
      named.length === 0
        ? []
        : options(value).flatMap((one) => (isFixed(one) ? [Boolean(one.v)] : [])),
    );
    const given =
      named.length > 0 && named.every((tag) => this.m.required.has(tag.slice(4))) && isPresence(n);
    const [positive, negative] = !asks
      ? [true, false]
      : usual.size === 1
        ? [!usual.has(true), !usual.has(false)]
        : given
          ? [false, false]
          : [isPositive(n), !isPositive(n)];
    return {
      value,
      truth: truth(value),
      yes: { tags, special: positive, kind: 'test' },
      no: { tags, special: negative, kind: 'test' },
    };
  }
}
