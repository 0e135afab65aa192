/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { AuditKnowledge } from '../known/known-value.js';
import { Calls } from './calls.js';
import { declaredNames, hoist } from './declarations.js';
import { decorate } from './decorators.js';
import { Expressions } from './expressions.js';
import { iterate } from './callbacks.js';
import { EXHAUSTED, type Condition, type Entry, type Machine, type Place } from './machine.js';
import { Modules } from './modules.js';
import { isHook } from './objects.js';
import { lookup } from './patterns.js';
import type { Node } from './program.js';
import { idOf, signatureOf } from './signature.js';
import {
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  isFixed,
  join,
  mergeTags,
  options,
  tagsOf,
  truth,
  unknown,
  type ClassValue,
  type Fn,
  type Frame,
  type Scope,
  type Value,
} from './values.js';

/** How a statement ends: normally (undefined), or by leaving the loop or the function. */
type Completion = 'break' | 'continue' | 'return' | 'throw' | undefined;
interface Memo {
  count: number;
  result: Value;
  entries: readonly Entry[];
  base: number;
  readonly holds: unknown;
}

const MAX_DEPTH = 44;
const MAX_LOOP = 400;
/** Words of an answer that refuses the input. */
const REFUSAL =
  /error|invalid|required|missing|must\b|not (?:found|provided|allowed|supported|available)|please|fail/iu;

/** Runs the statements of a program as far as they are known: every branch that may be taken, each once. */
export class Interpreter {
  readonly calls: Calls;
  readonly expressions: Expressions;
  readonly modules: Modules;
  #memo = new Map<string, Memo>();

  constructor(
    private readonly m: Machine,
    known?: AuditKnowledge,
  ) {
    this.calls = new Calls(m, known);
    this.expressions = new Expressions(m, this.calls);
    m.invoke = (fn, self, args, place) => this.#invoke(fn, self, args, place);
    this.calls.construct = (cls, args, place) => this.construct(cls, args, place);
    this.calls.initialise = (cls, instance, args, place) =>
      this.#initialise(cls, instance, args, place);
    this.modules = new Modules(m, this.calls, {
      hoist: (body, scope) => this.#hoist(body, scope, true),
      statement: (node, scope) => void this.#statement(node, scope),
    });
    this.calls.require = (place, specifier) => this.modules.require(place, specifier);
    this.expressions.importModule = (place, specifier) => this.modules.namespace(place, specifier);
  }

  /** Forgets what functions gave, so that the next tool's call is followed with its own values. */
  forget(): void {
    this.#memo = new Map();
  }

  // ── functions ──
  #invoke(fn: Value, self: Value, args: readonly Value[], place: Place): Value {
    if (fn.t !== 'fn')
      return options(fn).length > 1 || fn.t === 'lazy'
        ? join(...options(fn).map((one) => this.#invoke(one, self, args, place)))
        : fn.t === 'const' || fn.t === 'obj'
          ? UNKNOWN
          : this.calls.call(fn, self, args, place, '');
    const { m } = this;
    m.step();
    if (fn.bound !== undefined)
      return this.#invoke(
        { ...fn, bound: undefined },
        this.calls.madeOf(fn.bound.self),
        [...fn.bound.args, ...args],
        place,
      );
    if (m.stack.filter((one) => one.node === fn.node).length >= 2) return DATA;
    if (m.stack.length >= MAX_DEPTH) {
      m.unknownCall(`${fn.name || 'a function'} is called deeper than is followed`);
      return UNKNOWN;
    }
    const arrow = fn.node.type === 'ArrowFunctionExpression';
    const key = `${idOf(fn.node)}/${idOf(fn.scope)}/${arrow ? '' : signatureOf(self)}/${args.map((arg) => signatureOf(arg)).join()}`;
    const known = this.#memo.get(key);
    // A list that was made in this call may have grown since; what else is handed over is the same.
    if (
      known !== undefined &&
      (++known.count > 3 ||
        !args.some((arg) => arg.t === 'obj' && arg.kind === 'array' && arg.born === m.epoch))
    ) {
      for (const entry of known.entries)
        if (m.entries.length < 4_000)
          m.entries.push({
            ...entry,
            conditions: [...m.conditions, ...entry.conditions.slice(known.base)],
          });
      return known.result;
    }
    const [conditions, via, stack, limit, from] = [
      m.conditions.length,
      m.via.length,
      m.stack.length,
      m.limit,
      m.entries.length,
    ];
    m.visited.add(fn.node);
    m.via.push(place);
    m.stack.push({ node: fn.node, name: fn.name });
    // What a call may take is bounded by half of what is left: what stands behind it is seen in any case.
    if (Number.isFinite(limit)) m.limit = m.steps + Math.max(2_000, (limit - m.steps) / 2);
    let result: Value = UNKNOWN;
    try {
      result = this.#run(fn, arrow, self, args);
    } catch (error) {
      if (!(error instanceof RangeError) && (error !== EXHAUSTED || m.steps >= limit)) throw error;
      m.unknownCall(`${fn.name || 'a function'} takes more steps than are followed`);
    } finally {
      m.limit = limit;
      m.conditions.length = conditions;
      m.via.length = via;
      m.stack.length = stack;
    }
    if (known === undefined)
      this.#memo.set(key, {
        count: 1,
        result,
        entries: m.entries.slice(from),
        base: conditions,
        holds: [fn, self, args],
      });
    else [known.result, known.entries, known.base] = [result, m.entries.slice(from), conditions];
    return result;
  }

  #run(fn: Fn, arrow: boolean, self: Value, args: readonly Value[]): Value {
    const { m } = this;
    const outer = fn.scope.frame;
    const frame: Frame = {
      self: arrow ? outer.self : self,
      home: arrow ? outer.home : fn.home,
      args,
      returns: [],
      yields: [],
      making: arrow ? outer.making === true : false,
    };
    const scope = m.scope(fn.scope, frame, fn.module);
    if (
      fn.node.type === 'FunctionExpression' &&
      fn.node['id'] !== null &&
      fn.node['id'] !== undefined
    )
      m.declare(scope, fn.node['id'].name, fn, true);
    this.#params(fn.node, args, scope);
    if (fn.node['body'] === null || fn.node['body'] === undefined) {
      m.unknownCall(`${fn.name} has no body`);
      return UNKNOWN;
    }
    if (fn.node['body'].type !== 'BlockStatement')
      return this.expressions.evaluate(fn.node['body'], scope);
    this.#hoist(fn.node['body'].body, scope, true);
    const completion = this.#block(fn.node['body'].body, scope);
    if (fn.node['generator'] === true) return m.object('array', frame.yields);
    if (completion === undefined && frame.returns.length > 0) frame.returns.push(UNDEFINED);
    return frame.returns.length === 0 ? UNDEFINED : join(...frame.returns);
  }

  #params(node: Node, args: readonly Value[], scope: Scope): void {
    for (const [index, param] of (node['params'] as Node[]).entries()) {
      const rest = param.type === 'RestElement';
      const value = rest ? this.m.object('array', args.slice(index)) : (args[index] ?? UNDEFINED);
      this.expressions.patterns.bind(param, value, scope, (name, one) =>
        this.m.declare(scope, name, one),
      );
    }
  }

  construct(cls: ClassValue, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const instance = m.object();
    instance.cls = cls;
    const made = this.calls.instances.get(cls.node) ?? [];
    if (m.epoch === 0 && this.calls.standingIn === 0 && made.length < 8)
      this.calls.instances.set(cls.node, [...made, instance]);
    if (m.stack.filter((one) => one.node === cls.node).length >= 2) return instance;
    m.stack.push({ node: cls.node, name: String(cls.node['id']?.name ?? '') });
    try {
      this.#initialise(cls, instance, args, place);
      for (let at: Value | undefined = cls; at?.t === 'class'; at = at.parent)
        for (const [key, method] of at.methods)
          if (isHook(key) && method.t === 'fn') this.calls.askedLater(method, instance, place);
    } finally {
      m.stack.pop();
    }
    return instance;
  }

  #initialise(cls: ClassValue, instance: Value, args: readonly Value[], place: Place): void {
    if (instance.t !== 'obj') return;
    const constructor = (cls.node['body'].body as Node[]).find(
      (member) => member['kind'] === 'constructor',
    );
    const { parent } = cls;
    if (parent === undefined) this.expressions.fields(cls, instance);
    if (constructor === undefined) {
      if (parent?.t === 'class') this.#initialise(parent, instance, args, place);
      else if (parent !== undefined) {
        instance.proto = parent;
        this.calls.call(parent, instance, args, place, 'super');
      }
      if (parent !== undefined) this.expressions.fields(cls, instance);
      return;
    }
    const fn: Fn = {
      t: 'fn',
      id: this.m.id(),
      node: constructor['value'],
      scope: cls.scope,
      module: cls.module,
      home: cls,
      name: 'constructor',
      props: new Map(),
      bound: undefined,
    };
    this.#invoke(fn, instance, args, place);
  }

  // ── statements ──
  #hoist(body: readonly Node[], scope: Scope, whole: boolean): void {
    hoist(this.m, body, scope, whole, (node, at, name) => this.expressions.fn(node, at, name));
  }

  #block(body: readonly Node[], scope: Scope): Completion {
    for (const node of body) {
      const completion = this.#statement(node, scope);
      if (completion !== undefined) return completion;
    }
    return undefined;
  }

  #nested(node: Node, scope: Scope): Completion {
    if (node.type !== 'BlockStatement') return this.#statement(node, scope);
    const inner = this.m.scope(scope, scope.frame, scope.module);
    this.#hoist(node['body'], inner, false);
    return this.#block(node['body'], inner);
  }

  #statement(n: Node, s: Scope): Completion {
    const { m, expressions } = this;
    m.step();
    switch (n.type) {
      case 'ExpressionStatement':
        expressions.evaluate(n['expression'], s);
        return undefined;
      case 'VariableDeclaration':
        this.#declare(n, s);
        return undefined;
      case 'ReturnStatement':
        s.frame.returns.push(
          n['argument'] === null ? UNDEFINED : expressions.evaluate(n['argument'], s),
        );
        return 'return';
      case 'ThrowStatement':
        expressions.evaluate(n['argument'], s);
        return 'throw';
      case 'IfStatement':
        return this.#if(n, s);
      case 'BlockStatement':
      case 'StaticBlock':
        return this.#nested(n, s);
      case 'ForOfStatement':
      case 'ForInStatement':
        return this.#forEach(n, s);
      case 'ForStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return this.#loop(n, s);
      case 'SwitchStatement':
        return this.#switch(n, s);
      case 'TryStatement':
        return this.#try(n, s);
      case 'BreakStatement':
        return 'break';
      case 'ContinueStatement':
        return 'continue';
      case 'LabeledStatement': {
        const completion = this.#statement(n['body'], s);
        return completion === 'break' || completion === 'continue' ? undefined : completion;
      }
      case 'ClassDeclaration': {
        const cls = expressions.classOf(n, s);
        if (n['id'] !== null) this.#initialiseBinding(s, n['id'].name, cls);
        decorate(this.m, this.calls, this.expressions, n, cls, s);
        return undefined;
      }
      case 'ExportNamedDeclaration':
        return n['declaration'] === null || n['declaration'] === undefined
          ? undefined
          : this.#statement(n['declaration'], s);
      case 'ExportDefaultDeclaration': {
        const { declaration } = n as unknown as { declaration: Node };
        if (declaration.type === 'FunctionDeclaration') return undefined;
        const value =
          declaration.type === 'ClassDeclaration'
            ? expressions.classOf(declaration, s, 'default')
            : expressions.evaluate(declaration, s, 'default');
        m.declare(s, '*default*', value, true);
        if (declaration.type === 'ClassDeclaration') {
          if (declaration['id'] !== null) this.#initialiseBinding(s, declaration['id'].name, value);
          decorate(this.m, this.calls, this.expressions, declaration, value as ClassValue, s);
        }
        return undefined;
      }
      case 'TSEnumDeclaration': {
        const object = m.object();
        for (const [index, member] of (
          (n['body']?.members ?? n['members'] ?? []) as Node[]
        ).entries())
          object.props.set(
            member['id'].name ?? member['id'].value,
            member['initializer'] === null || member['initializer'] === undefined
              ? constant(index)
              : expressions.evaluate(member['initializer'], s),
          );
        m.declare(s, n['id'].name, object, true);
        return undefined;
      }
      case 'TSExportAssignment': {
        const loaded = this.modules.loaded.get(s.module);
        if (loaded !== undefined)
          loaded.commonjs.props.set('exports', expressions.evaluate(n['expression'], s));
        return undefined;
      }
      case 'TSImportEqualsDeclaration':
        if (n['moduleReference'].expression !== undefined)
          m.declare(
            s,
            n['id'].name,
            this.modules.require(
              { module: s.module, node: n },
              n['moduleReference'].expression.value,
            ),
            true,
          );
        return undefined;
      default:
        return undefined;
    }
  }

  #initialiseBinding(s: Scope, name: string, value: Value): void {
    const binding = s.vars.get(name);
    if (binding === undefined) this.m.declare(s, name, value);
    else binding.value = value;
  }

  #declare(n: Node, s: Scope): void {
    for (const declarator of n['declarations'] as Node[]) {
      const named = declarator['id'].type === 'Identifier' ? (declarator['id'].name as string) : '';
      if (declarator['init'] === null && n['kind'] === 'var') continue;
      const value =
        declarator['init'] === null || declarator['init'] === undefined
          ? UNDEFINED
          : this.expressions.evaluate(declarator['init'], s, named);
      this.expressions.patterns.bind(declarator['id'], value, s, (name, one) => {
        const binding = n['kind'] === 'var' ? lookup(s, name) : s.vars.get(name);
        if (binding?.value === undefined && binding !== undefined) binding.value = one;
        else if (binding !== undefined && n['kind'] === 'var')
          binding.value =
            this.m.conditions.length > binding.depth ? join(binding.value ?? UNDEFINED, one) : one;
        else this.m.declare(s, name, one, n['kind'] === 'const');
      });
    }
  }

  #if(n: Node, s: Scope): Completion {
    const { m } = this;
    const test = this.expressions.test(n['test'], s);
    if (test.truth !== undefined)
      return test.truth
        ? this.#nested(n['consequent'], s)
        : n['alternate']
          ? this.#nested(n['alternate'], s)
          : undefined;
    const left: Condition[] = [];
    const yes = m.under(test.yes, () => {
      const before = m.conditions.length;
      const completion = this.#nested(n['consequent'], s);
      left.push(...m.conditions.slice(before));
      return completion;
    });
    const no = n['alternate'] ? m.under(test.no, () => this.#nested(n['alternate'], s)) : undefined;
    if (yes !== undefined && no !== undefined)
      return yes === no ? yes : yes === 'throw' ? no : no === 'throw' ? yes : 'return';
    // A branch that leaves in some cases, as with what a cache has, stands before what follows.
    if (yes === undefined && left.length > 0)
      m.conditions.push({
        tags: mergeTags(test.yes.tags, ...left.map(({ tags }) => tags)),
        special: false,
        kind: 'test',
      });
    // What follows a branch that leaves is reached by the other one only. A check that fails is no way to choose.
    const refuses = (completion: Completion, branch: Node): boolean =>
      completion === 'throw' ||
      REFUSAL.test(s.module.text.slice(branch.start, Math.min(branch.end, branch.start + 600)));
    if (yes !== undefined)
      m.conditions.push(refuses(yes, n['consequent']) ? { ...test.no, special: false } : test.no);
    if (no !== undefined)
      m.conditions.push(refuses(no, n['alternate']) ? { ...test.yes, special: false } : test.yes);
    return undefined;
  }

  #forEach(n: Node, s: Scope): Completion {
    const { m } = this;
    const source = this.expressions.evaluate(n['right'], s);
    const place: Place = { module: s.module, node: n };
    const keys = (): readonly Value[] =>
      options(source).flatMap((one) =>
        one.t === 'obj'
          ? [
              ...(one.kind === 'array'
                ? one.items.map((_, index) => constant(String(index)))
                : [...one.props.keys()].map((key) => constant(key))),
              ...(one.rest === undefined ? [] : [DATA]),
            ]
          : [unknown(tagsOf(one))],
      );
    const items = n.type === 'ForInStatement' ? keys() : (iterate(m, source) ?? [UNKNOWN]);
    return this.#bounded(() => {
      for (const item of items.slice(0, MAX_LOOP)) {
        const inner = m.scope(s, s.frame, s.module);
        if (n['left'].type === 'VariableDeclaration')
          this.expressions.patterns.bind(n['left'].declarations[0].id, item, inner, (name, value) =>
            m.declare(inner, name, value),
          );
        else this.expressions.patterns.assign(n['left'], item, s, place);
        const completion = m.under(
          item.t === 'unknown'
            ? {
                tags: item.tags.filter((tag) => !tag.startsWith('arg:')),
                special: false,
                kind: 'test',
              }
            : undefined,
          () => this.#nested(n['body'], inner),
        );
        if (completion === 'break') break;
        if (
          (completion === 'return' || completion === 'throw') &&
          items.length === 1 &&
          item.t !== 'unknown'
        )
          return completion;
        if (completion === 'return' || completion === 'throw') break;
      }
      return undefined;
    });
  }

  #loop(n: Node, s: Scope): Completion {
    const { m, expressions } = this;
    const inner = m.scope(s, s.frame, s.module);
    if (n['init']?.type === 'VariableDeclaration') {
      for (const name of declaredNames(n['init'])) m.declare(inner, name, undefined);
      this.#declare(n['init'], inner);
    } else if (n['init']) expressions.evaluate(n['init'], inner);
    return this.#bounded(() => {
      for (let round = 0; round < MAX_LOOP; round++) {
        const test =
          n['test'] && n.type !== 'DoWhileStatement'
            ? expressions.test(n['test'], inner)
            : undefined;
        if (test?.truth === false) return undefined;
        const body = m.scope(inner, s.frame, s.module);
        for (const [name, binding] of n['init']?.type === 'VariableDeclaration' ? inner.vars : [])
          body.vars.set(name, binding);
        const completion = m.under(
          test === undefined || test.truth === true ? undefined : test.yes,
          () => this.#nested(n['body'], body),
        );
        const endless =
          n.type !== 'DoWhileStatement' && (n['test'] === null || n['test']?.value === true);
        if (completion === 'break') return undefined;
        if (completion === 'return' || completion === 'throw')
          return endless || test?.truth === true ? completion : undefined;
        if (n['update'] ?? n.type === 'DoWhileStatement')
          expressions.evaluate(n['update'] ?? n['test'], inner);
        if (endless || test?.truth !== true) return undefined;
      }
      return undefined;
    });
  }

  /** Runs a loop; conditions that its body left behind end with it. */
  #bounded(run: () => Completion): Completion {
    const before = this.m.conditions.length;
    const completion = run();
    this.m.conditions.length = before;
    return completion;
  }

  #switch(n: Node, s: Scope): Completion {
    const { m, expressions } = this;
    const value = expressions.evaluate(n['discriminant'], s);
    const cases = n['cases'] as Node[];
    const inner = m.scope(s, s.frame, s.module);
    for (const one of cases) this.#hoist(one['consequent'], inner, false);
    const runFrom = (index: number): Completion => {
      for (const one of cases.slice(index)) {
        const completion = this.#block(one['consequent'], inner);
        if (completion !== undefined) return completion === 'break' ? undefined : completion;
      }
      return undefined;
    };
    return this.#bounded(() => {
      if (isFixed(value)) {
        for (const [index, one] of cases.entries()) {
          if (one['test'] === null) continue;
          const label = expressions.evaluate(one['test'], s);
          if (isFixed(label) && label.v === value.v) {
            m.hit(value.v, { module: s.module, node: one });
            return runFrom(index);
          }
        }
        const fallback = cases.findIndex((one) => one['test'] === null);
        if (
          cases.every(
            (one) => one['test'] === null || isFixed(expressions.evaluate(one['test'], s)),
          )
        )
          return fallback < 0 ? undefined : runFrom(fallback);
      }
      const ends = cases.map((one, index) => {
        // `switch (true)` tests each case by itself.
        const label = one['test'] === null ? UNDEFINED : expressions.evaluate(one['test'], s);
        const tags =
          value.t === 'const' && value.v === true && truth(value) === true && one['test'] !== null
            ? tagsOf(label)
            : tagsOf(value);
        const before = m.conditions.length;
        m.conditions.push({ tags, special: one['test'] !== null, kind: 'test' });
        const completion = one['consequent'].length === 0 ? undefined : runFrom(index);
        m.conditions.length = before;
        return one['consequent'].length === 0 ? 'return' : completion;
      });
      return cases.some((one) => one['test'] === null) &&
        ends.every((one) => one === 'return' || one === 'throw')
        ? 'return'
        : undefined;
    });
  }

  #try(n: Node, s: Scope): Completion {
    const { m } = this;
    const body = this.#nested(n['block'], s);
    let caught: Completion;
    if (n['handler'] !== null && n['handler'] !== undefined) {
      caught = m.under({ tags: [], special: false, kind: 'catch' }, () => {
        const inner = m.scope(s, s.frame, s.module);
        if (n['handler'].param)
          this.expressions.patterns.bind(n['handler'].param, DATA, inner, (name, value) =>
            m.declare(inner, name, value),
          );
        return this.#nested(n['handler'].body, inner);
      });
    }
    const last = n['finalizer'] ? m.leave(() => this.#nested(n['finalizer'], s)) : undefined;
    if (last !== undefined) return last;
    if (!n['handler']) return body;
    return body !== undefined && caught !== undefined
      ? body === 'throw'
        ? caught
        : body
      : undefined;
  }
}
