import { readFileSync } from 'node:fs';
import { functionOf } from './classes.js';
import { walk } from './declarations.js';
import { runsLater } from './callbacks.js';
import type { Interpreter } from './interpret.js';
import type { Machine } from './machine.js';
import { codeFiles, type Module, type Node, type Program } from './program.js';
import { argumentsOf } from './requests.js';
import {
  UNKNOWN,
  constant,
  isCallable,
  options,
  unknown,
  type ClassValue,
  type Fn,
  type Obj,
  type Place,
  type Value,
} from './values.js';

/** A function that may be a tool's handler. A lower rank means better evidence. */
export interface Candidate {
  readonly fn: Value;
  readonly self: Value;
  readonly rank: number;
  /**
   * The way in which the handler gets the tool's arguments: as the first parameter, by parameter
   * name, or in a request.
   */
  readonly how: 'first' | 'named' | 'request';
  /** The fields of the argument schema that was passed next to the function, if any. */
  readonly shape?: Obj | undefined;
}

/**
 * The ranks of three kinds of candidates: functions that only contain the tool's name, entries in a
 * table of tools, and objects that have the name.
 */
export const GUESSED = 8;
const TABLED = 7;
const BESIDE = 6;

/** The usual names of handlers, most likely first. */
const HANDLERS =
  'handler handle execute run call callback cb invoke fn func action implementation process perform toolCallback handleRequest handleCall toolHandler exec apply do method impl toolFunction function'.split(
    ' ',
  );
const SCHEMAS = 'inputSchema parameters schema paramsSchema input args argsSchema'.split(' ');
const NO_HANDLER =
  /schema|parse|valid|format|descri|enabled|available|visible|condition|when|filter|render|transform|serial|stringif|isA|annotation|permission|guard|summary|title|map/iu;
const NAMED_BY = /name$|^id$|^tool$|^command$|^operationId$|^key$|^method$/iu;
const REGISTERS =
  /^(?:registerTool|registerAppTool|tool|addTool|addTools|registerResource|registerResourceTemplate|resource|registerPrompt|prompt|setRequestHandler|setNotificationHandler|addResource|addPrompt)$/u;
/**
 * Functions that add listeners or commands. A listener or command may have the same name as a tool.
 */
const OTHERS = /^(?:command|emit|dispatch|off|alias|describe|it|test)$/u;
const IS_ARGUMENTS =
  /^_?(?:args?|arguments|params?|parameters|input|inputs|toolArgs|toolInput|rawArgs|payload|opts|options|data|body)\d*$/iu;
/** Matches the function that sets an MCP server's handler for all tools. */
const DISPATCHES = /setRequestHandler\s*\([^,]{0,60}(?:CallTool|tools\/call)/u;
const isNamedIn = (text: string, name: string): boolean =>
  [`'${name}'`, `"${name}"`, `\`${name}\``, `{${name}:`, `,${name}:`, ` ${name}:`].some((one) =>
    text.includes(one),
  );

/** A function of the audited code, with its instance if it's a method. */
interface Method {
  readonly fn: Value;
  readonly self: Value;
  readonly usual?: boolean;
}

/**
 * Finds the handlers of tools. Follows the program's start and looks for functions that are passed
 * along with a tool's name.
 */
export class Handlers {
  readonly found = new Map<string, Candidate[]>();
  readonly dispatchers: Candidate[] = [];
  readonly #named = new Map<Obj | ClassValue, Set<string>>();
  /** The objects whose keys are tool names. */
  readonly #tables = new Set<Obj | ClassValue>();

  constructor(
    private readonly m: Machine,
    private readonly interpreter: Interpreter,
    private readonly names: ReadonlySet<string>,
  ) {
    m.onCall = ({ name, own }, args, place) => this.#onCall(name, own, args, place);
    m.onObject = (object, key, value) => this.#onObject(object, key, value);
  }

  missing(): readonly string[] {
    return [...this.names].filter(
      (name) => !(this.found.get(name) ?? []).some(({ rank }) => rank < TABLED),
    );
  }

  #add(name: string, candidate: Candidate): void {
    const all = this.found.get(name) ?? [];
    if (all.length < 40) this.found.set(name, [...all, candidate]);
  }

  #toolNamed(value: Value): string | undefined {
    const text = value.t === 'const' ? String(value.v) : '';
    return this.names.has(text) ? text : undefined;
  }

  /** Returns the tool's name in a value, if the value contains the name of exactly one tool. */
  #nameOf(value: Value): string | undefined {
    if (value.t !== 'obj' && value.t !== 'class') return this.#toolNamed(value);
    const [name, ...more] = this.#named.get(value) ?? [];
    return more.length === 0 ? name : undefined;
  }

  /** Returns an object's function for handling calls. */
  #handlerIn(value: Value): Method | undefined {
    if (isCallable(value)) return { fn: value, self: UNKNOWN };
    if (value.t === 'union') return firstOf(value.of, (one) => this.#handlerIn(one));
    // If a package wraps a tool, the tool's own handler is used.
    if (value.t === 'external')
      return firstOf(value.args, (arg) => {
        const inner = arg.t === 'obj' ? this.#handlerIn(arg) : undefined;
        return inner?.usual === true ? inner : undefined;
      });
    const self = value.t === 'class' ? this.interpreter.classes.instanceOf(value) : value;
    if (self.t !== 'obj') return undefined;
    const usual = firstOf(HANDLERS, (key) => {
      const fn = this.m.lookup(self, key);
      return fn !== undefined && isCallable(fn) ? fn : undefined;
    });
    if (usual !== undefined) return { fn: usual, self, usual: true };
    const others = [...self.props].filter(([key, one]) => isCallable(one) && !NO_HANDLER.test(key));
    return others.length === 1 && others[0] ? { fn: others[0][1], self } : undefined;
  }

  /**
   * Returns the fields of a schema. The schema comes from a package, or is a plain object of
   * schemas from a package.
   */
  #shapeIn(value: Value, depth = 2): Obj | undefined {
    if (value.t === 'external') return value.shape;
    if (value.t !== 'obj' || value.kind !== 'object' || depth === 0) return undefined;
    const fields = [...value.props.values()];
    if (fields.length > 0 && fields.every((one) => one.t === 'external' && one.path.length > 0))
      return value;
    return firstOf(SCHEMAS, (key) => {
      const inner = value.props.get(key);
      return inner === undefined ? undefined : this.#shapeIn(inner, depth - 1);
    });
  }

  #onCall(name: string, own: boolean, args: readonly Value[], place: Place): boolean {
    if (name === 'setRequestHandler' && args.length > 1) {
      const [first] = (place.node['arguments'] ?? []) as Node[];
      const text = first === undefined ? '' : place.module.text.slice(first.start, first.end);
      const literal = args[0]?.t === 'const' ? String(args[0].v) : '';
      const fn = args[1] as Value;
      if (/CallTool|tools\/call/u.test(text + literal) && isCallable(fn))
        this.dispatchers.push({ fn, self: UNKNOWN, rank: 3, how: 'request' });
      return true;
    }
    if (/prompt|resource/iu.test(name) && !/tool/iu.test(name)) return !own;
    const named = firstOf(args, (arg) => this.#nameOf(arg));
    // The handler is the function after the name and the schema.
    const handler =
      named === undefined ? undefined : firstOf([...args].reverse(), (arg) => this.#handlerIn(arg));
    if (named === undefined || handler === undefined) return !own && REGISTERS.test(name);
    if (runsLater(name) || OTHERS.test(name)) return false;
    this.#add(named, {
      ...handler,
      rank: own ? 5 : /tool|register|^add|^define/iu.test(name) ? 1 : BESIDE,
      how: 'first',
      shape: firstOf(args, (arg) => this.#shapeIn(arg)),
    });
    return !own;
  }

  #onObject(object: Obj | ClassValue, key: string, value: Value): void {
    if (this.m.epoch > 0) return;
    const own = NAMED_BY.test(key) ? this.#toolNamed(value) : undefined;
    const inner = value.t === 'obj' && !HANDLERS.includes(key) ? this.#named.get(value) : undefined;
    for (const name of own === undefined ? (inner ?? []) : [own]) {
      const names = this.#named.get(object) ?? new Set();
      if (names.size < 4) this.#named.set(object, names.add(name));
    }
    if (this.names.has(key)) this.#tables.add(object);
  }

  /**
   * Adds the handlers in objects that have a tool's name. Call it after the start, when the objects
   * are complete.
   */
  collect(): void {
    for (const [object, names] of this.#named) {
      const [name, ...more] = names;
      const handler = more.length === 0 ? this.#handlerIn(object) : undefined;
      if (handler === undefined || name === undefined) continue;
      const isObject = object.t === 'obj';
      this.#add(name, {
        ...handler,
        rank: isObject && handler.usual === true ? 4 : BESIDE,
        how: 'named',
        shape: isObject ? this.#shapeIn(object) : undefined,
      });
    }
    for (const { props } of this.#tables) {
      const keys = [...props.keys()].filter((key) => this.names.has(key));
      for (const key of this.names.size < 3 || keys.length > 1 ? keys : []) {
        const handler = this.#handlerIn(props.get(key) ?? UNKNOWN);
        if (handler !== undefined) this.#add(key, { ...handler, rank: TABLED, how: 'first' });
      }
    }
    this.#named.clear();
    this.#tables.clear();
  }

  /**
   * Looks for missing tools in code that the start didn't reach. Runs the functions that contain
   * the names of missing tools.
   */
  search(program: Program, folder: string): void {
    const has = (text: string): readonly string[] | undefined => {
      const here = this.missing().filter((name) => isNamedIn(text, name));
      return here.length > 0 || DISPATCHES.test(text) ? here : undefined;
    };
    for (const file of codeFiles(folder)) {
      if (this.missing().length === 0) return;
      if (has(readFileSync(file, 'utf8')) !== undefined) this.#load(program, file);
    }
    this.collect();
    for (const module of program.modules) {
      if (this.missing().length === 0) return;
      if (has(module.text) === undefined) continue;
      for (const { fn, self, names } of this.#around(module, has)) {
        this.#run(fn, self);
        this.collect();
        for (const name of names)
          if (this.missing().includes(name))
            this.#add(name, { fn, self, rank: GUESSED, how: 'named' });
      }
    }
  }

  /** Finds the classes without an instance, and looks for code that creates an instance. */
  makers(program: Program, folder: string): void {
    const { instances, standIns } = this.interpreter.classes;
    const names = [...standIns.keys()].flatMap(({ node }) =>
      instances.has(node) ? [] : ((node['id'] as { readonly name?: string } | null)?.name ?? []),
    );
    if (names.length === 0) return;
    const has = (text: string): readonly string[] | undefined =>
      names.some((name) => text.includes(`new ${name}(`)) ? names : undefined;
    for (const file of codeFiles(folder)) {
      if (has(readFileSync(file, 'utf8')) === undefined) continue;
      const module = this.#load(program, file);
      for (const { fn, self } of module ? this.#around(module, has) : []) this.#run(fn, self);
    }
  }

  #load(program: Program, file: string): Module | undefined {
    const module = program.module(file);
    if (module !== undefined)
      this.m.attempt(() => void this.interpreter.modules.load(module), 400_000);
    return module;
  }

  #run(fn: Fn, self: Value): void {
    const { module, node } = fn;
    const args = (node['params'] as Node[]).map(() => UNKNOWN);
    this.m.attempt(() => void this.m.invoke(fn, self, args, { module, node }), 400_000);
  }

  /** Returns a module's outermost functions whose text passes a test. */
  #around(
    module: Module,
    has: (text: string) => readonly string[] | undefined,
  ): readonly { fn: Fn; self: Value; names: readonly string[] }[] {
    const { classes, modules } = this.interpreter;
    const { scope } = modules.load(module);
    const known = new Map(
      [...classes.methods.values()].flatMap((set) => [...set].map((cls) => [cls.node, cls])),
    );
    const all: { fn: Fn; self: Value; names: readonly string[] }[] = [];
    const look = (below: unknown, cls?: ClassValue): void =>
      walk(below, (node) => {
        const inner = known.get(node);
        if (inner !== undefined && inner !== cls) {
          look(node, inner);
          return false;
        }
        if (!/Function/u.test(node.type) || !node['body'] || all.length >= 60) return true;
        const names = has(module.text.slice(node.start, node.end));
        if (names !== undefined)
          all.push({
            fn: functionOf(node, cls?.scope ?? scope, '', cls),
            self: cls === undefined ? UNKNOWN : classes.instanceOf(cls),
            names,
          });
        return false;
      });
    look(module.body);
    return all;
  }

  /** Returns the values of a handler's parameters when the tool is called. */
  argumentsFor({ fn, how, rank, shape }: Candidate, name: string): readonly Value[] {
    const { m } = this;
    const tool = constant(name);
    const root = shape === undefined ? unknown(['arg:']) : argumentsOf(m, shape);
    /**
     * Returns an object that contains the tool's arguments under each of the keys. With `also`, the
     * object may have other keys, or may itself be the arguments.
     */
    const holder = (keys: readonly string[], also?: Value): Obj => {
      const object = m.object([['name', tool], ...keys.map((key) => [key, root] as const)]);
      if (also === root) object.props.delete('name');
      [object.proto, object.rest] = [also === root ? root : undefined, also && UNKNOWN];
      return object;
    };
    const request = (also?: Value): Obj => {
      const object = holder([], also);
      object.props.set('method', constant('tools/call'));
      object.props.set('params', holder(['arguments'], also));
      return object;
    };
    if (how === 'request') return [request(), UNKNOWN];
    const params = (options(fn).find((one) => one.t === 'fn')?.node['params'] ?? []) as Node[];
    if (how === 'first') return [root, ...params.slice(1).map(() => UNKNOWN)];
    const isKnown = params.some((param) => IS_ARGUMENTS.test(nameOf(param)));
    return params.map((param, index): Value => {
      const text = nameOf(param);
      const isFirst = index === 0 && !isKnown;
      if (/^(?:tool)?_?name$|^tool$/iu.test(text)) return tool;
      if (/^req(?:uest)?$/iu.test(text))
        return request(isFirst && rank < GUESSED ? root : undefined);
      if (IS_ARGUMENTS.test(text)) return root;
      if (param.type !== 'ObjectPattern' || index > 0)
        return isFirst ? holder(['args', 'arguments', 'params', 'toolArgs'], root) : UNKNOWN;
      const keys = (param['properties'] as Node[])
        .map((one) => String((one['key'] as Node | undefined)?.['name'] ?? ''))
        .filter((key) => /^(?:args|arguments|params|input|parameters)$/u.test(key));
      return keys.length === 0 ? root : holder(keys, UNKNOWN);
    });
  }
}

/** Returns the name of a parameter. */
function nameOf(param: Node): string {
  const inner = (param['left'] ?? param['parameter']) as Node | undefined;
  return inner === undefined ? String(param['name'] ?? '') : nameOf(inner);
}

function firstOf<T, R>(list: readonly T[], of: (one: T) => R | undefined): R | undefined {
  for (const one of list) {
    const found = of(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
