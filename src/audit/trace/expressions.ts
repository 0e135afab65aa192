/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import { iterate } from './callbacks.js';
import { functionOf } from './classes.js';
import type { Condition, Machine } from './machine.js';
import { assign, isPositive, isPresence, keyIn, lookup, unwrapped, WRAPPERS } from './patterns.js';
import type { Node } from './program.js';
import {
  ELSEWHERE,
  DATA,
  UNDEFINED,
  UNKNOWN,
  allTags,
  argumentsIn,
  constant,
  isFixed,
  isNothing,
  isPartial,
  isSame,
  join,
  keyOf,
  operate,
  options,
  stateOf,
  tagsOf,
  textOf,
  textual,
  truth,
  unknown,
  unread,
  withTags,
  type Place,
  type Scope,
  type Value,
} from './values.js';

interface Test {
  readonly value: Value;
  readonly truth: boolean | undefined;
  readonly yes: Condition;
  readonly no: Condition;
}

/** Returns true if `?.` certainly ends the chain. */
const isSkipped = (n: Node, value: Value): boolean =>
  n['optional'] === true && options(value).every((one) => isFixed(one) && isNothing(one));

/** Evaluates expressions. An expression can have several possible values. */
export class Expressions {
  constructor(
    private readonly m: Machine,
    private readonly calls: Calls,
    /** Loads the modules that `import()` and `require` name. */
    private readonly load: (place: Place, specifier: string, how: 'import' | 'require') => Value,
  ) {}

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
        return this.#identifier(n['name'], s, place);
      case 'ThisExpression':
        return s.frame.self;
      case 'ArrayExpression':
        return m.array(this.args(n['elements'], s));
      case 'ObjectExpression':
        return this.calls.classes.objectOf(n, s);
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return functionOf(n, s, named);
      case 'ClassExpression':
        return this.calls.classes.classOf(n, s, named);
      case 'UnaryExpression':
        return n['operator'] === 'delete' ? this.#delete(n, s, place) : this.#unary(n, s);
      case 'UpdateExpression': {
        const old = m.quietly(() => this.evaluate(n['argument'], s));
        const value = operate(n['operator'][0], old, constant(1));
        assign(m, n['argument'], value, s, place);
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
        const branch = (part: string): Value => this.evaluate(n[part], s, named);
        if (test.truth !== undefined) return branch(test.truth ? 'consequent' : 'alternate');
        const yes = m.under(test.yes, () => branch('consequent'));
        const no = m.under(test.no, () => branch('alternate'));
        return withTags(join(yes, no), test.yes.tags);
      }
      case 'CallExpression':
        return this.#call(n, s, place);
      case 'NewExpression':
        return this.calls.make(
          this.evaluate(n['callee'], s),
          this.args(n['arguments'], s),
          place,
          n['callee'].name ?? n['callee'].property?.name ?? '',
        );
      case 'MemberExpression': {
        if (n['object'].type === 'MetaProperty')
          return constant(`${n['property'].name === 'url' ? 'file://' : ''}${s.module.file}`);
        const object = this.#objectOf(n, s);
        return m.get(object, ...keyIn(m, n, s), place);
      }
      case 'SequenceExpression':
        return (n['expressions'] as Node[]).map((one) => this.evaluate(one, s)).at(-1) ?? UNDEFINED;
      case 'YieldExpression': {
        const value = n['argument'] === null ? UNDEFINED : this.evaluate(n['argument'], s);
        s.frame.returns.push(...(n['delegate'] === true ? iterate(m, value) : [value]));
        return UNKNOWN;
      }
      case 'TaggedTemplateExpression': {
        const { expressions } = n['quasi'];
        const call = { ...n, callee: n['tag'], arguments: expressions };
        return this.#call(call, s, place, this.#template(n['quasi'], s));
      }
      case 'ImportExpression':
        return this.#loaded(this.evaluate(n['source'], s), place, 'import');
      default:
        return WRAPPERS.test(n.type) ? this.evaluate(unwrapped(n), s, named) : UNKNOWN;
    }
  }

  #loaded(source: Value, place: Place, how: 'import' | 'require'): Value {
    return join(
      ...options(source).map((one) =>
        one.t === 'const' && !isPartial(one)
          ? this.load(place, String(one.v), how)
          : unread('a module with a computed name'),
      ),
    );
  }

  #identifier(name: string, s: Scope, place: Place): Value {
    const binding = lookup(s, name);
    if (binding !== undefined) return this.m.readBinding(binding, place);
    if (name === 'undefined' || ELSEWHERE.has(name)) return UNDEFINED;
    if (name === 'NaN' || name === 'Infinity') return constant(Number(name));
    if (name === 'arguments') return this.m.array(s.frame.args);
    const path = name === 'globalThis' || name === 'global' ? [] : [name];
    return { t: 'native', module: 'global', path, args: [] };
  }

  #template(n: Node, s: Scope): Value {
    const parts = (n['expressions'] as Node[]).map((one) => this.evaluate(one, s));
    const tags = allTags(parts);
    // If a part has two possible strings, for example because of a conditional, the result has two
    // as well.
    const several = parts.findIndex(
      (part) =>
        part.t === 'union' && part.of.length <= 3 && part.of.every((one) => one.t === 'const'),
    );
    return join(
      ...options(parts[several] ?? UNDEFINED).map((choice) =>
        textual(
          (n['quasis'] as Node[])
            .map(({ value }, at) => {
              const part = at === several ? choice : parts[at];
              return `${value.cooked ?? ''}${part === undefined ? '' : textOf(part)}`;
            })
            .join(''),
          tags,
        ),
      ),
    );
  }

  args(nodes: readonly (Node | null)[], s: Scope): Value[] {
    return nodes.flatMap((node): readonly Value[] => {
      if (node === null) return [UNDEFINED];
      if (node.type !== 'SpreadElement') return [this.evaluate(node, s)];
      return iterate(this.m, this.evaluate(node['argument'], s));
    });
  }

  #delete(n: Node, s: Scope, place: Place): Value {
    const { m } = this;
    const target = unwrapped(n['argument']);
    if (target.type !== 'MemberExpression') return UNKNOWN;
    const [object, [key]] = m.quietly(
      () => [this.evaluate(target['object'], s), keyIn(m, target, s)] as const,
    );
    const how = { call: 'delete', destructive: true, idempotent: true };
    for (const one of options(object))
      if (one.t !== 'obj') {
        const state = stateOf(one);
        if (state !== undefined) m.changed(`${state}.${key ?? '[]'}`, place, how);
      } else if (key === undefined) m.changedIn(one, place, how);
      else if (m.epoch > one.born) m.changed(`o${one.id}.${key}`, place, how);
    return UNKNOWN;
  }

  #unary(n: Node, s: Scope): Value {
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
        if (value.t === 'const')
          return isFixed(value) || isPartial(value)
            ? constant(typeof value.v, tags)
            : unknown(tags);
        if (value.t === 'fn' || value.t === 'class') return constant('function');
        return value.t === 'obj' ? constant('object') : unknown(tags);
      case 'void':
        return UNDEFINED;
      case '-':
        return operate('-', constant(0), value);
      default:
        return unknown(tags);
    }
  }

  #binary(n: Node, s: Scope, place: Place): Value {
    const { m } = this;
    const operator: string = n['operator'];
    const left = n['left'].type === 'PrivateIdentifier' ? UNKNOWN : this.evaluate(n['left'], s);
    const right = this.evaluate(n['right'], s);
    const tags = allTags([left, right]);
    if (operator === 'in') {
      const key = keyOf(left);
      m.unread(right);
      if (right.t !== 'obj' || key === undefined) return unknown(tags);
      if (m.lookup(right, key) !== undefined) {
        m.hit(key, place);
        return constant(true, tags);
      }
      return right.rest === undefined && m.epoch === right.born
        ? constant(false, tags)
        : unknown(tags);
    }
    if (!/^[!=]==?$/u.test(operator)) return operate(operator, left, right);
    const verdicts = new Set(
      options(left).flatMap((one) =>
        options(right).map((other) =>
          operator.length === 2 && isNothing(one) && isNothing(other) ? true : isSame(one, other),
        ),
      ),
    );
    const found = [...verdicts].map((same) =>
      same === undefined ? unknown(tags) : constant(same === operator.startsWith('='), tags),
    );
    if (verdicts.size === 1 && verdicts.has(true) && isFixed(left)) m.hit(left.v, place);
    return found.length === 1 ? join(...found) : join(unknown(tags), ...found);
  }

  #logical(operator: string, test: Test, right: () => Value): Value {
    const { m } = this;
    const all = options(test.value);
    if (operator === '&&') {
      if (test.truth !== undefined) return test.truth ? right() : test.value;
      const falsy = all.filter((one) => one.t === 'const' && !one.v);
      return withTags(join(...falsy, m.under(test.yes, right)), test.yes.tags);
    }
    const isOr = operator === '||';
    const some = all.filter((one) => !(isFixed(one) && (isOr ? !one.v : isNothing(one))));
    const isCertain = isOr
      ? test.truth === true
      : some.length === all.length && some.every((one) => one.t !== 'unknown' && !isNothing(one));
    if (isCertain) return test.value;
    return some.length === 0 || (isOr && test.truth === false)
      ? right()
      : join(...some, m.under(test.no, right));
  }

  #assignment(n: Node, s: Scope, place: Place): Value {
    const { m } = this;
    const operator = (n['operator'] as string).slice(0, -1);
    const name: string = n['left'].name ?? n['left'].property?.name ?? '';
    const right = (): Value => this.evaluate(n['right'], s, name);
    const text = ({ start, end }: Node): string => s.module.text.slice(start, end);
    let value: Value;
    let lazily = false;
    if (operator === '') {
      value = right();
      // `x = x || y` is treated like `x ||= y`, which sets x on first use.
      lazily = n['right'].type === 'LogicalExpression' && text(n['left']) === text(n['right'].left);
    } else if (/^(?:\|\||&&|\?\?)$/u.test(operator)) {
      value = this.#logical(operator, this.test(n['left'], s), right);
      lazily = true;
    } else {
      const old = m.quietly(() => this.evaluate(n['left'], s));
      value = operate(operator, old, right());
    }
    assign(m, n['left'], value, s, place, lazily);
    return value;
  }

  /** Returns the object before the dot. For `super`, returns the parent's methods. */
  #objectOf(n: Node, s: Scope): Value {
    if (n['object'].type !== 'Super') return this.evaluate(n['object'], s);
    const parent = s.frame.home?.parent ?? UNKNOWN;
    return parent.t !== 'class' || s.frame.self.t === 'class' ? parent : parent.methods;
  }

  #call(n: Node, s: Scope, place: Place, ...before: readonly Value[]): Value {
    const { calls, m } = this;
    let callee = unwrapped(n['callee']);
    if (callee.type === 'SequenceExpression') callee = (callee['expressions'] as Node[]).at(-1)!;
    const args = (): readonly Value[] => [...before, ...this.args(n['arguments'], s)];
    if (callee.type === 'Super') {
      const { home, self } = s.frame;
      if (home !== undefined) calls.classes.super(home, self, args(), place);
      return UNDEFINED;
    }
    if (callee.type === 'MemberExpression') {
      const object = this.#objectOf(callee, s);
      const [key, index] = keyIn(m, callee, s);
      if (isSkipped(callee, object)) return UNDEFINED;
      if (key !== undefined && callee['object'].type !== 'Super')
        return calls.member(object, key, args(), place);
      const self = key === undefined ? object : s.frame.self;
      return calls.call(m.get(object, key, index, place), self, args(), place, key ?? '');
    }
    if (callee['name'] === 'require' && lookup(s, 'require') === undefined)
      return this.#loaded(args()[0] ?? UNKNOWN, place, 'require');
    const value = this.evaluate(callee, s);
    if (isSkipped(n, value)) return UNDEFINED;
    return calls.call(value, UNDEFINED, args(), place, callee['name'] ?? '');
  }

  /** Evaluates a test and returns the conditions of each branch. */
  test(n: Node, s: Scope): Test {
    const value = this.evaluate(n, s);
    const tags = tagsOf(value);
    const named = argumentsIn(tags);
    // A usual call omits the argument, so the default decides which branch runs.
    const usual = new Set(
      named.length === 0
        ? []
        : options(value)
            .filter(isFixed)
            .map((one) => Boolean(one.v)),
    );
    let special: readonly [boolean, boolean] = [isPositive(n), !isPositive(n)];
    if (named.length === 0 && !tags.some((tag) => tag.startsWith('env:'))) special = [true, false];
    else if (usual.size === 1) special = [!usual.has(true), !usual.has(false)];
    else if (
      named.length > 0 &&
      named.every((tag) => this.m.run.required.has(tag.slice(4))) &&
      isPresence(n)
    )
      special = [false, false];
    return {
      value,
      truth: truth(value),
      yes: { tags, special: special[0], kind: 'test' },
      no: { tags, special: special[1], kind: 'test' },
    };
  }
}
