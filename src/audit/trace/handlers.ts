import { argumentsOf } from './call-names.js';
import { readFileSync } from 'node:fs';
import { isNode } from './declarations.js';
import { runsLater } from './callbacks.js';
import type { Interpreter } from './interpret.js';
import { EXHAUSTED, type Machine, type Place } from './machine.js';
import { codeFiles, type Module, type Node, type Program } from './program.js';
import {
  UNKNOWN,
  constant,
  isCallable,
  options,
  unknown,
  type ClassValue,
  type Fn,
  type Obj,
  type Value,
} from './values.js';

/** A function that was found to handle a tool's calls. A lower rank is better evidence. */
export interface Candidate {
  readonly fn: Value;
  readonly self: Value;
  readonly rank: number;
  /** How the tool's arguments reach it: as its first parameter, by the names of parameters, or in a request. */
  readonly how: 'first' | 'named' | 'request';
  /** The fields of the schema of its arguments, where one stands beside it. */
  readonly shape?: Obj | undefined;
}

const HANDLERS = [
  'handler',
  'handle',
  'execute',
  'run',
  'call',
  'callback',
  'cb',
  'invoke',
  'fn',
  'func',
  'action',
  'implementation',
  'process',
  'perform',
  'toolCallback',
  'handleRequest',
  'handleCall',
  'toolHandler',
  'exec',
  'apply',
  'do',
  'method',
  'impl',
  'toolFunction',
  'function',
];
const NO_HANDLER =
  /schema|parse|valid|format|descri|enabled|available|visible|condition|when|filter|render|transform|serial|stringif|isA|annotation|permission|guard|summary|title|map/iu;
const NAMED_BY = /name$|^id$|^tool$|^command$|^operationId$|^key$|^method$/iu;
const REGISTERS =
  /^(?:registerTool|registerAppTool|tool|addTool|addTools|registerResource|registerResourceTemplate|resource|registerPrompt|prompt|setRequestHandler|setNotificationHandler|addResource|addPrompt)$/u;
/** The call by which a server of the protocol takes all calls of tools. */
const DISPATCHES = /setRequestHandler\s*\([^,]{0,60}(?:CallTool|tools\/call)/u;
const isNamedIn = (text: string, name: string): boolean =>
  [`'${name}'`, `"${name}"`, `\`${name}\``, `{${name}:`, `,${name}:`, ` ${name}:`].some((one) =>
    text.includes(one),
  );

/** Finds the functions that handle tools, by running the program's start and watching what is said together with a tool's name. */
export class Handlers {
  readonly found = new Map<string, Candidate[]>();
  readonly dispatchers: Candidate[] = [];
  readonly #named = new Map<Obj | ClassValue, Set<string>>();
  /** Objects whose keys are names of tools. */
  readonly #tables = new Map<Obj | ClassValue, readonly string[]>();

  constructor(
    private readonly m: Machine,
    private readonly interpreter: Interpreter,
    private readonly names: ReadonlySet<string>,
  ) {
    interpreter.calls.onCall = (callee, args, place) => this.#onCall(callee, args, place);
    m.onObject.push((object, key, value) => this.#onObject(object, key, value));
  }

  missing(): readonly string[] {
    return [...this.names].filter(
      (name) => !(this.found.get(name) ?? []).some(({ rank }) => rank < 7),
    );
  }

  #add(name: string, candidate: Candidate): void {
    const all = this.found.get(name) ?? [];
    if (all.length < 40) this.found.set(name, [...all, candidate]);
  }

  /** Returns the tool's name that a value is or carries. */
  #nameOf(value: Value): string | undefined {
    if (value.t === 'const')
      return typeof value.v === 'string' && this.names.has(value.v) ? value.v : undefined;
    const [name, ...more] =
      value.t === 'obj' || value.t === 'class' ? (this.#named.get(value) ?? []) : [];
    return more.length === 0 ? name : undefined;
  }

  /** Returns the function by which an object handles calls. */
  handlerIn(value: Value): { fn: Value; self: Value; usual?: boolean } | undefined {
    if (value.t === 'lazy') return this.handlerIn(value.read());
    if (value.t === 'union')
      return value.of.map((one) => this.handlerIn(one)).find((one) => one !== undefined);
    const object = value.t === 'class' ? this.interpreter.calls.instanceOf(value) : value;
    if (isCallable(value)) return { fn: value, self: UNKNOWN };
    // What a package makes of a tool is handled as the tool says.
    if (value.t === 'external')
      return value.args
        .map((arg) => (arg.t === 'obj' ? this.handlerIn(arg) : undefined))
        .find((one) => one?.usual === true);
    if (object.t !== 'obj') return undefined;
    for (const key of HANDLERS) {
      const found = this.m.lookup(object, key);
      if (found !== undefined && (isCallable(found) || found.t === 'lazy'))
        return { fn: found, self: object, usual: true };
    }
    const other = [...object.props].filter(
      ([key, one]) => isCallable(one) && !NO_HANDLER.test(key),
    );
    return other.length === 1 && other[0] !== undefined
      ? { fn: other[0][1], self: object }
      : undefined;
  }

  /** Returns the fields of a schema: of one made by a package, or of a plain object of such schemas. */
  #shapeIn(value: Value, depth = 2): Obj | undefined {
    if (value.t === 'external') return value.shape;
    if (value.t !== 'obj' || value.kind !== 'object' || depth === 0) return undefined;
    const fields = [...value.props.values()];
    if (fields.length > 0 && fields.every((one) => one.t === 'external' && one.path.length > 0))
      return value;
    for (const key of [
      'inputSchema',
      'parameters',
      'schema',
      'paramsSchema',
      'input',
      'args',
      'argsSchema',
    ]) {
      const inner = value.props.get(key);
      const found = inner === undefined ? undefined : this.#shapeIn(inner, depth - 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #onCall(
    { name, own }: { readonly name: string; readonly own: boolean },
    args: readonly Value[],
    place: Place,
  ): boolean {
    if (this.m.epoch > 0) return false;
    if (name === 'setRequestHandler' && args.length > 1) {
      const first = (place.node['arguments'] as Node[] | undefined)?.[0];
      const text = first === undefined ? '' : place.module.text.slice(first.start, first.end);
      const literal = args[0]?.t === 'const' ? String(args[0].v) : '';
      if (/CallTool|tools\/call/u.test(text + literal) && isCallable(args[1] as Value))
        this.dispatchers.push({ fn: args[1] as Value, self: UNKNOWN, rank: 3, how: 'request' });
      return true;
    }
    if (/prompt|resource/iu.test(name) && !/tool/iu.test(name)) return !own;
    const named = args.map((arg) => this.#nameOf(arg)).find((one) => one !== undefined);
    if (named !== undefined) {
      const handlers = args.map((arg) => this.handlerIn(arg)).filter((one) => one !== undefined);
      // The function that stands behind the name and its schema is the one that is called.
      const handler = handlers.at(-1);
      if (handler !== undefined) {
        // Listeners and commands of a command line have the names of tools too.
        if (runsLater(name) || /^(?:command|emit|dispatch|off|alias|describe|it|test)$/u.test(name))
          return false;
        this.#add(named, {
          ...handler,
          rank: own ? 5 : /tool|register|^add|^define/iu.test(name) ? 1 : 6,
          how: 'first',
          shape: args.map((arg) => this.#shapeIn(arg)).find((one) => one !== undefined),
        });
        return !own;
      }
    }
    return !own && REGISTERS.test(name);
  }

  #onObject(object: Obj | ClassValue, key: string, value: Value): void {
    if (this.m.epoch > 0) return;
    const text =
      value.t === 'const' && typeof value.v === 'string' && this.names.has(value.v)
        ? value.v
        : undefined;
    const inner = value.t === 'obj' && !HANDLERS.includes(key) ? this.#named.get(value) : undefined;
    for (const name of text !== undefined && NAMED_BY.test(key) ? [text] : (inner ?? [])) {
      const names = this.#named.get(object) ?? new Set<string>();
      if (names.size < 4) this.#named.set(object, names.add(name));
    }
    if (
      this.names.has(key) &&
      (this.names.size < 3 ||
        [...object.props.keys()].filter((one) => this.names.has(one)).length > 1)
    ) {
      const keys = [...object.props.keys()].filter((one) => this.names.has(one));
      this.#tables.set(object, keys);
    }
  }

  #addKeyed(table: Obj | ClassValue, key: string): void {
    const handler = this.handlerIn(table.props.get(key) ?? UNKNOWN);
    if (handler !== undefined) this.#add(key, { ...handler, rank: 7, how: 'first' });
  }

  /** Adds what objects with a tool's name handle it by; the objects are complete when the start is over. */
  collect(): void {
    for (const [object, names] of this.#named) {
      const handler = names.size === 1 ? this.handlerIn(object) : undefined;
      if (handler !== undefined)
        for (const name of names)
          this.#add(name, {
            ...handler,
            rank: object.t === 'class' ? 6 : handler.usual === true ? 4 : 6,
            how: 'named',
            shape: object.t === 'obj' ? this.#shapeIn(object) : undefined,
          });
    }
    for (const [table, keys] of this.#tables) for (const key of keys) this.#addKeyed(table, key);
    this.#named.clear();
    this.#tables.clear();
  }

  /** Reads code that the start did not reach and that has the missing names as texts, and runs the functions around them. */
  search(program: Program, folder: string): void {
    const wanted = (text: string): boolean =>
      DISPATCHES.test(text) || this.missing().some((name) => text.includes(name));
    for (const file of codeFiles(folder)) {
      if (this.missing().length === 0) return;
      try {
        if (wanted(readFileSync(file, 'utf8'))) {
          const module = program.module(file);
          if (module !== undefined) this.#attempt(() => void this.interpreter.modules.load(module));
        }
      } catch (error) {
        if (!(error instanceof Error) || !('code' in error)) throw error;
      }
    }
    this.collect();
    for (const module of program.modules) {
      const missing = new Set(this.missing());
      if (missing.size === 0) return;
      if (!DISPATCHES.test(module.text) && ![...missing].some((name) => module.text.includes(name)))
        continue;
      const has = (text: string): readonly string[] | undefined => {
        const here = [...missing].filter((name) => isNamedIn(text, name));
        return here.length > 0 || DISPATCHES.test(text) ? here : undefined;
      };
      for (const { fn, self, names } of this.#around(module, has)) {
        this.#attempt(
          () =>
            void this.m.invoke(
              fn,
              self,
              (fn.node['params'] as Node[]).map(() => UNKNOWN),
              { module, node: fn.node },
            ),
        );
        this.collect();
        for (const name of names)
          if (this.missing().includes(name)) this.#add(name, { fn, self, rank: 8, how: 'named' });
      }
    }
  }

  /** Reads the code that makes instances of classes which nothing that was read makes. */
  makers(program: Program, folder: string): void {
    const { instances, standIns } = this.interpreter.calls;
    const names = [...standIns.keys()]
      .filter(({ node }) => !instances.has(node))
      .flatMap(({ node }) => (node['id'] as { readonly name?: string } | null)?.name ?? []);
    if (names.length === 0) return;
    const has = (text: string): readonly string[] | undefined =>
      names.some((name) => text.includes(`new ${name}(`)) ? names : undefined;
    for (const file of codeFiles(folder)) {
      if (has(readFileSync(file, 'utf8')) === undefined) continue;
      const module = program.module(file);
      if (module === undefined) continue;
      this.#attempt(() => void this.interpreter.modules.load(module));
      for (const { fn, self } of this.#around(module, has))
        if (fn.node['body'] !== null)
          this.#attempt(
            () =>
              void this.m.invoke(
                fn,
                self,
                (fn.node['params'] as Node[]).map(() => UNKNOWN),
                { module, node: fn.node },
              ),
          );
    }
  }

  #attempt(run: () => void): void {
    const { m } = this;
    const limit = m.limit;
    m.limit = Math.min(limit, m.steps + 400_000);
    try {
      run();
    } catch (error) {
      if (error !== EXHAUSTED && !(error instanceof RangeError)) throw error;
    } finally {
      m.limit = limit;
    }
  }

  /** Returns the outermost functions of a module whose text has what is looked for. */
  #around(
    module: Module,
    has: (text: string) => readonly string[] | undefined,
  ): readonly { fn: Fn; self: Value; names: readonly string[] }[] {
    const { scope } = this.interpreter.modules.load(module);
    const all: { fn: Fn; self: Value; names: readonly string[] }[] = [];
    const classes = new Map(
      [...this.interpreter.calls.methods.values()].flatMap((set) =>
        [...set].map((cls) => [cls.node, cls] as const),
      ),
    );
    const stack: { node: unknown; cls: ClassValue | undefined }[] = module.body.map((node) => ({
      node,
      cls: undefined,
    }));
    while (stack.length > 0 && all.length < 60) {
      const { node, cls } = stack.pop() as { node: unknown; cls: ClassValue | undefined };
      if (Array.isArray(node)) for (const one of node) stack.push({ node: one, cls });
      if (!isNode(node)) continue;
      const inside = /^Class/u.test(node.type) ? (classes.get(node) ?? cls) : cls;
      if (/Function/u.test(node.type) && node['body']) {
        const text = module.text.slice(node.start, node.end);
        const here = has(text);
        if (here !== undefined)
          all.push({
            fn: this.interpreter.expressions.fn(node, inside?.scope ?? scope, '', inside),
            self: inside === undefined ? UNKNOWN : this.interpreter.calls.instanceOf(inside),
            names: here,
          });
        continue;
      }
      for (const key in node)
        if (key !== 'type' && typeof node[key] === 'object')
          stack.push({ node: node[key], cls: inside });
    }
    return all;
  }

  /** Returns the values of a handler's parameters for a call of the tool. */
  argumentsFor(candidate: Candidate, name: string): readonly Value[] {
    const { m } = this;
    const root =
      candidate.shape === undefined ? unknown(['arg:']) : argumentsOf(m, candidate.shape);
    const request = (): Obj =>
      m.object(
        'object',
        [],
        [
          ['method', constant('tools/call')],
          [
            'params',
            m.object(
              'object',
              [],
              [
                ['name', constant(name)],
                ['arguments', root],
              ],
            ),
          ],
        ],
      );
    if (candidate.how === 'request') return [request(), UNKNOWN];
    const fn = options(candidate.fn).find((one) => one.t === 'fn');
    const params = (fn?.node['params'] ?? []) as Node[];
    if (candidate.how === 'first') return [root, ...params.slice(1).map(() => UNKNOWN)];
    const nameOf = (param: Node): string =>
      param.type === 'AssignmentPattern'
        ? nameOf(param['left'] as Node)
        : param.type === 'TSParameterProperty'
          ? nameOf(param['parameter'] as Node)
          : String(param['name'] ?? '');
    const isArguments = (text: string): boolean =>
      /^_?(?:args?|arguments|params?|parameters|input|inputs|toolArgs|toolInput|rawArgs|payload|opts|options|data|body)\d*$/iu.test(
        text,
      );
    const known = params.some((param) => isArguments(nameOf(param)));
    return params.map((param, index): Value => {
      const text = nameOf(param);
      if (/^(?:tool)?_?name$|^tool$/iu.test(text)) return constant(name);
      if (/^req(?:uest)?$/iu.test(text))
        return candidate.rank < 8 && !known && index === 0 ? requestOr(m, root, name) : request();
      if (isArguments(text)) return root;
      if (param.type === 'ObjectPattern' && index === 0) {
        const keys = (param['properties'] as Node[]).map((one) =>
          String((one['key'] as Node | undefined)?.['name'] ?? ''),
        );
        const given = keys.filter((key) =>
          /^(?:args|arguments|params|input|parameters)$/u.test(key),
        );
        if (given.length === 0) return root;
        const object = m.object(
          'object',
          [],
          [...given.map((key) => [key, root] as const), ['name', constant(name)]],
        );
        object.rest = UNKNOWN;
        return object;
      }
      return !known && index === 0 ? argumentsOrHolder(m, root) : UNKNOWN;
    });
  }
}

/** An object that is the tool's arguments, or holds them under the usual names. */
function argumentsOrHolder(m: Machine, root: Value): Value {
  const object = m.object(
    'object',
    [],
    ['args', 'arguments', 'params', 'toolArgs'].map((key) => [key, root] as const),
  );
  object.proto = root;
  // Beside the arguments it may hold anything, as the page on which a tool works.
  object.rest = UNKNOWN;
  return object;
}

function requestOr(m: Machine, root: Value, name: string): Value {
  const params = m.object(
    'object',
    [],
    [
      ['name', constant(name)],
      ['arguments', root],
    ],
  );
  params.proto = root;
  const object = m.object(
    'object',
    [],
    [
      ['params', params],
      ['arguments', root],
    ],
  );
  object.proto = root;
  object.rest = UNKNOWN;
  return object;
}
