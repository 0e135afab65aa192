/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { AuditKnowledge } from '../known/known-value.js';
import { Calls } from './calls.js';
import { functionOf, type Classes } from './classes.js';
import { declaredNames, hoist } from './declarations.js';
import { Expressions } from './expressions.js';
import { iterate } from './callbacks.js';
import { CAUGHT, type Condition, type Entry, type Machine } from './machine.js';
import { Modules } from './modules.js';
import { bind, assign, lookup } from './patterns.js';
import type { Node } from './program.js';
import { signatureOf } from './signature.js';
import {
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  isFixed,
  isPartial,
  join,
  mergeTags,
  options,
  tagsOf,
  truth,
  unknown,
  unread,
  type Fn,
  type Frame,
  type Place,
  type Scope,
  type Value,
} from './values.js';

/** The way in which a statement ends: normally (undefined), or by leaving its loop or function. */
type Completion = 'break' | 'continue' | 'return' | 'throw' | undefined;
interface Memo {
  count: number;
  result: Value;
  entries: readonly Entry[];
  base: number;
  /**
   * Keeps the values in the memo's key from being garbage-collected, so that `idOf` never gives
   * their numbers to other values.
   */
  readonly holds: unknown;
}

const MAX_DEPTH = 44;
const MAX_LOOP = 400;
/** Matches the text of code that rejects the input. */
const REFUSAL =
  /error|invalid|required|missing|must\b|not (?:found|provided|allowed|supported|available)|please|fail/iu;
const leaves = (completion: Completion): boolean =>
  completion === 'return' || completion === 'throw';

/**
 * Follows the statements of a program as far as their values are known. Takes every possible branch
 * once.
 */
export class Interpreter {
  readonly classes: Classes;
  readonly modules: Modules;
  readonly #calls: Calls;
  readonly #expressions: Expressions;
  #memo = new Map<string, Memo>();

  constructor(
    private readonly m: Machine,
    known?: AuditKnowledge,
  ) {
    this.modules = new Modules(m, (body, scope) => this.#body(body, scope));
    this.#calls = new Calls(m, known, (place, source) =>
      source?.t === 'const' && !isPartial(source)
        ? this.modules.require(place, String(source.v))
        : unread('a module with a computed name'),
    );
    this.classes = this.#calls.classes;
    this.#expressions = new Expressions(m, this.#calls, (place, specifier, how) =>
      how === 'import'
        ? this.modules.namespace(place, specifier)
        : this.modules.require(place, specifier),
    );
    m.invoke = (fn, self, args, place) => this.#invoke(fn, self, args, place);
    m.evaluate = (node, scope, named) => this.#expressions.evaluate(node, scope, named);
  }

  /**
   * Clears the cached results of functions, because the results for one tool's call aren't valid
   * for the next tool's call.
   */
  forget(): void {
    this.#memo = new Map();
  }

  // ── functions ──
  #invoke(fn: Value, self: Value, args: readonly Value[], place: Place): Value {
    const { m } = this;
    if (fn.t === 'union') return join(...fn.of.map((one) => this.#invoke(one, self, args, place)));
    if (fn.t === 'const' || fn.t === 'obj') return UNKNOWN;
    if (fn.t !== 'fn') return this.#calls.call(fn, self, args, place, '');
    m.step();
    if (fn.bound !== undefined)
      return this.#invoke(
        { ...fn, bound: undefined },
        this.classes.madeOf(fn.bound.self),
        [...fn.bound.args, ...args],
        place,
      );
    if (m.stack.filter(({ node }) => node === fn.node).length >= 2) return DATA;
    const name = fn.name || 'a function';
    if (m.stack.length >= MAX_DEPTH) {
      m.unknownCall(`${name} is called too deeply to be followed`);
      return UNKNOWN;
    }
    const isArrow = fn.node.type === 'ArrowFunctionExpression';
    const key = [fn, ...(isArrow ? [] : [self]), ...args].map(signatureOf).join('/');
    const known = this.#memo.get(key);
    // If an argument is an array created in this call, it may have grown since, so the stored
    // result isn't reused.
    if (
      known !== undefined &&
      (++known.count > 3 ||
        !args.some((arg) => arg.t === 'obj' && arg.kind === 'array' && arg.born === m.epoch))
    ) {
      for (const entry of known.entries)
        m.again(entry, [...m.conditions, ...entry.conditions.slice(known.base)]);
      return known.result;
    }
    const { conditions, limit, run, stack, steps, via } = m;
    const [base, from, depth, way] = [
      conditions.length,
      run.entries.length,
      stack.length,
      via.length,
    ];
    run.visited.add(fn.node);
    via.push(place);
    stack.push({ node: fn.node, name: fn.name });
    let result: Value = UNKNOWN;
    // A call gets at most half of the remaining steps, so that some steps remain for the code after
    // the call.
    const isDone = m.attempt(
      () => (result = this.#run(fn, isArrow, self, args)),
      Math.max(2_000, (limit - steps) / 2),
    );
    conditions.length = base;
    stack.length = depth;
    via.length = way;
    if (!isDone) m.unknownCall(`${name} takes too many steps to be followed`);
    const entries = run.entries.slice(from);
    this.#memo.set(key, {
      count: known?.count ?? 1,
      result,
      entries,
      base,
      holds: [fn, self, args],
    });
    return result;
  }

  #run(fn: Fn, isArrow: boolean, self: Value, args: readonly Value[]): Value {
    const { m } = this;
    const { node } = fn;
    const frame: Frame = {
      ...(isArrow ? fn.scope.frame : { self, home: fn.home }),
      args,
      returns: [],
    };
    const { returns } = frame;
    const scope = m.scope(fn.scope, frame, fn.module);
    if (node.type === 'FunctionExpression' && node['id'])
      m.declare(scope, node['id'].name, fn, true);
    for (const [index, param] of (node['params'] as Node[]).entries()) {
      const rest = param.type === 'RestElement';
      const value = rest ? m.array(args.slice(index)) : (args[index] ?? UNDEFINED);
      bind(m, param, value, scope, (name, one) => m.declare(scope, name, one));
    }
    if (!node['body']) {
      m.unknownCall(`${fn.name} has no body`);
      return UNKNOWN;
    }
    if (node['body'].type !== 'BlockStatement') return m.evaluate(node['body'], scope);
    this.#hoist(node['body'].body, scope, true);
    const completion = this.#block(node['body'].body, scope);
    if (node['generator'] === true) return m.array(returns);
    return join(...returns, ...(completion === undefined ? [UNDEFINED] : []));
  }

  // ── statements ──
  #hoist(body: readonly Node[], scope: Scope, whole: boolean): void {
    hoist(this.m, body, scope, whole, functionOf);
  }

  /**
   * Follows the statements of a module. If a statement reaches its limit, the statements after it
   * are still followed.
   */
  #body(body: readonly Node[], scope: Scope): void {
    const { m } = this;
    this.#hoist(body, scope, true);
    for (const node of body) {
      m.attempt(() => void this.#statement(node, scope), 400_000);
      m.conditions.length = m.via.length = m.stack.length = 0;
    }
  }

  #block(body: readonly Node[], scope: Scope): Completion {
    for (const node of body) {
      const completion = this.#statement(node, scope);
      if (completion !== undefined) return completion;
    }
    return undefined;
  }

  #statement(n: Node, s: Scope): Completion {
    const { m } = this;
    m.step();
    switch (n.type) {
      case 'ExpressionStatement':
        m.evaluate(n['expression'], s);
        return undefined;
      case 'VariableDeclaration':
        this.#declare(n, s);
        return undefined;
      case 'ReturnStatement':
        s.frame.returns.push(n['argument'] === null ? UNDEFINED : m.evaluate(n['argument'], s));
        return 'return';
      case 'ThrowStatement':
        m.evaluate(n['argument'], s);
        return 'throw';
      case 'IfStatement':
        return this.#if(n, s);
      case 'BlockStatement': {
        const inner = m.scope(s, s.frame, s.module);
        this.#hoist(n['body'], inner, false);
        return this.#block(n['body'], inner);
      }
      case 'ForOfStatement':
      case 'ForInStatement':
        return this.#bounded(() => this.#forEach(n, s));
      case 'ForStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
        return this.#bounded(() => this.#loop(n, s));
      case 'SwitchStatement':
        return this.#bounded(() => this.#switch(n, s));
      case 'TryStatement':
        return this.#try(n, s);
      case 'BreakStatement':
        return 'break';
      case 'ContinueStatement':
        return 'continue';
      case 'LabeledStatement': {
        const completion = this.#statement(n['body'], s);
        return leaves(completion) ? completion : undefined;
      }
      case 'ClassDeclaration':
        this.#class(n, s);
        return undefined;
      case 'ExportNamedDeclaration':
        return n['declaration'] ? this.#statement(n['declaration'], s) : undefined;
      case 'ExportDefaultDeclaration': {
        const inner: Node = n['declaration'];
        if (inner.type === 'FunctionDeclaration') return undefined;
        const value =
          inner.type === 'ClassDeclaration'
            ? this.#class(inner, s)
            : m.evaluate(inner, s, 'default');
        m.declare(s, '*default*', value, true);
        return undefined;
      }
      case 'TSEnumDeclaration': {
        const members: readonly Node[] = n['body']?.members ?? n['members'] ?? [];
        const object = m.object(
          members.map(({ id, initializer }, index) => [
            id.name ?? id.value,
            initializer ? m.evaluate(initializer, s) : constant(index),
          ]),
        );
        m.declare(s, n['id'].name, object, true);
        return undefined;
      }
      case 'TSExportAssignment':
        this.modules.load(s.module).commonjs.props.set('exports', m.evaluate(n['expression'], s));
        return undefined;
      case 'TSImportEqualsDeclaration': {
        const source: string | undefined = n['moduleReference'].expression?.value;
        if (source !== undefined)
          m.declare(
            s,
            n['id'].name,
            this.modules.require({ module: s.module, node: n }, source),
            true,
          );
        return undefined;
      }
      default:
        return undefined;
    }
  }

  #class(n: Node, s: Scope): Value {
    const cls = this.classes.classOf(n, s, 'default');
    if (n['id'] !== null) this.#set(s, n['id'].name, cls, true);
    this.classes.decorate(cls, s);
    return cls;
  }

  /** Initializes a variable. A `var` that is declared again gets the new value. */
  #set(s: Scope, name: string, value: Value, fixed: boolean, isVar = false): void {
    const binding = isVar ? lookup(s, name) : s.vars.get(name);
    if (binding === undefined || (binding.value !== undefined && !isVar))
      this.m.declare(s, name, value, fixed);
    else
      binding.value =
        binding.value !== undefined && this.m.conditions.length > binding.depth
          ? join(binding.value, value)
          : value;
  }

  #declare(n: Node, s: Scope): void {
    const isVar = n['kind'] === 'var';
    for (const { id, init } of n['declarations'] as Node[]) {
      if (!init && isVar) continue;
      const value = init ? this.m.evaluate(init, s, id.name ?? '') : UNDEFINED;
      bind(this.m, id, value, s, (name, one) =>
        this.#set(s, name, one, n['kind'] === 'const', isVar),
      );
    }
  }

  #if(n: Node, s: Scope): Completion {
    const { m } = this;
    const test = this.#expressions.test(n['test'], s);
    const branch = (node: Node | null | undefined): Completion =>
      node ? this.#statement(node, s) : undefined;
    if (test.truth !== undefined) return branch(test.truth ? n['consequent'] : n['alternate']);
    const left: Condition[] = [];
    const yes = m.under(test.yes, () => {
      const before = m.conditions.length;
      const completion = branch(n['consequent']);
      left.push(...m.conditions.slice(before));
      return completion;
    });
    const no = m.under(test.no, () => branch(n['alternate']));
    if (yes !== undefined && no !== undefined)
      return yes === no || no === 'throw' ? yes : yes === 'throw' ? no : 'return';
    // If some code in the `then` branch leaves the function, the conditions of that code also apply
    // to the code after the `if`.
    if (yes === undefined && left.length > 0)
      m.conditions.push({
        tags: mergeTags(test.yes.tags, ...left.map(({ tags }) => tags)),
        special: false,
        kind: 'test',
      });
    // If one branch always leaves the function, the condition of the other branch applies to the
    // code after the `if`. If the branch that leaves only rejects invalid input, the condition
    // isn't `special`.
    const [gone, branchGone, other] =
      yes !== undefined
        ? [yes, n['consequent'] as Node, test.no]
        : [no, n['alternate'] as Node, test.yes];
    if (gone !== undefined) {
      const { start, end } = branchGone;
      const text = s.module.text.slice(start, Math.min(end, start + 600));
      const isRefusal = gone === 'throw' || REFUSAL.test(text);
      m.conditions.push({ ...other, special: other.special && !isRefusal });
    }
    return undefined;
  }

  #forEach(n: Node, s: Scope): Completion {
    const { m } = this;
    const source = m.evaluate(n['right'], s);
    const isIn = n.type === 'ForInStatement';
    const items = isIn ? keysOf(source) : iterate(m, source);
    for (const item of items.slice(0, MAX_LOOP)) {
      const inner = m.scope(s, s.frame, s.module);
      if (n['left'].type === 'VariableDeclaration')
        bind(m, n['left'].declarations[0].id, item, inner, (name, value) =>
          m.declare(inner, name, value),
        );
      else assign(m, n['left'], item, s, { module: s.module, node: n });
      const named = item.t === 'unknown' ? item.tags : undefined;
      const completion = m.under(
        named && {
          tags: named.filter((tag) => !tag.startsWith('arg:')),
          special: false,
          kind: 'test',
        },
        () => this.#statement(n['body'], inner),
      );
      if (leaves(completion)) return items.length === 1 && !named ? completion : undefined;
      if (completion === 'break') return undefined;
    }
    return undefined;
  }

  #loop(n: Node, s: Scope): Completion {
    const { m } = this;
    const isDo = n.type === 'DoWhileStatement';
    const inner = m.scope(s, s.frame, s.module);
    if (n['init']?.type === 'VariableDeclaration') {
      for (const name of declaredNames(n['init'])) m.declare(inner, name, undefined);
      this.#declare(n['init'], inner);
    } else if (n['init']) m.evaluate(n['init'], inner);
    const isEndless = !isDo && (!n['test'] || n['test'].value === true);
    for (let round = 0; round < MAX_LOOP; round++) {
      const test = isEndless || isDo ? undefined : this.#expressions.test(n['test'], inner);
      if (test?.truth === false) return undefined;
      const completion = m.under(test?.truth === true ? undefined : test?.yes, () =>
        this.#statement(n['body'], m.scope(inner, s.frame, s.module)),
      );
      if (leaves(completion)) return isEndless || test?.truth === true ? completion : undefined;
      if (completion === 'break') return undefined;
      if (n['update'] ?? isDo) m.evaluate(n['update'] ?? n['test'], inner);
      if (test?.truth !== true) return undefined;
    }
    return undefined;
  }

  /** Runs a loop. After the loop, drops the conditions that the loop's body added. */
  #bounded(run: () => Completion): Completion {
    const before = this.m.conditions.length;
    const completion = run();
    this.m.conditions.length = before;
    return completion;
  }

  #switch(n: Node, s: Scope): Completion {
    const { m } = this;
    const value = m.evaluate(n['discriminant'], s);
    const cases = n['cases'] as Node[];
    const inner = m.scope(s, s.frame, s.module);
    for (const one of cases) this.#hoist(one['consequent'], inner, false);
    const runFrom = (index: number): Completion => {
      const body = cases.slice(index).flatMap((one) => one['consequent'] as Node[]);
      const completion = this.#block(body, inner);
      return completion === 'break' ? undefined : completion;
    };
    const labels = cases.map((one) =>
      one['test'] === null ? undefined : m.evaluate(one['test'], s),
    );
    const usual = labels.indexOf(undefined);
    if (isFixed(value)) {
      const at = labels.findIndex((label) => label && isFixed(label) && label.v === value.v);
      if (at >= 0) m.hit(value.v, { module: s.module, node: cases[at] as Node });
      if (at >= 0 || labels.every((label) => !label || isFixed(label)))
        return at >= 0 ? runFrom(at) : usual >= 0 ? runFrom(usual) : undefined;
    }
    const ends = cases.map((one, index) => {
      if (one['consequent'].length === 0) return 'return';
      // `switch (true)` tests each case separately.
      const tags = tagsOf(truth(value) === true ? (labels[index] ?? value) : value);
      return this.#bounded(() =>
        m.under({ tags, special: one['test'] !== null, kind: 'test' }, () => runFrom(index)),
      );
    });
    return usual >= 0 && ends.every(leaves) ? 'return' : undefined;
  }

  #try(n: Node, s: Scope): Completion {
    const { m } = this;
    const { block, finalizer, handler } = n;
    const body = this.#statement(block, s);
    const caught = m.under(CAUGHT, () => {
      if (!handler) return undefined;
      const inner = m.scope(s, s.frame, s.module);
      if (handler.param)
        bind(m, handler.param, DATA, inner, (name, value) => m.declare(inner, name, value));
      return this.#statement(handler.body, inner);
    });
    const last = finalizer ? m.leave(() => this.#statement(finalizer, s)) : undefined;
    if (last !== undefined || !handler) return last ?? body;
    if (body === undefined || caught === undefined) return undefined;
    return body === 'throw' ? caught : body;
  }
}

/** Returns the keys that a `for…in` loop visits. */
function keysOf(value: Value): readonly Value[] {
  return options(value).flatMap((one) =>
    one.t === 'obj'
      ? [
          ...[...one.items.keys(), ...one.props.keys()].map((key) => constant(String(key))),
          ...(one.rest === undefined ? [] : [DATA]),
        ]
      : [unknown(tagsOf(one))],
  );
}
