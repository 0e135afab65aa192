import type { CallEffect } from '../effect.js';
import { builtinEffects } from '../known/builtins.js';
import { browserEffects } from '../known/browsers.js';
import { clientEffects, toldOf } from '../known/clients.js';
import { isKnownPackage } from '../known/packages.js';
import { reads, writes, type AuditKnowledge } from '../known/known-value.js';
import {
  COMMON,
  DATABASES,
  HTTP_PACKAGES,
  KNOWN_GLOBALS,
  OF_LISTS,
  OF_OBJECTS,
  isOfData,
  INTEROP,
  LIVE,
  METHODS,
  MUTATORS,
  SPAWNERS,
  SQL_ONLY,
  browserThing,
} from './call-names.js';
import { PURE, promiseMethod, runCallbacks, runsLater } from './callbacks.js';
import { arrayMethod, mapMethod } from './collections.js';
import { globalCall, pathCall, textMethod } from './intrinsics.js';
import type { Machine, Place } from './machine.js';
import type { Node } from './program.js';
import { request, runSql, validated } from './requests.js';
import { LATER, chosen, startProgram } from './started-programs.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  constant,
  deepTags,
  isCallable,
  isData,
  isNothing,
  isPartial,
  join,
  mergeTags,
  options,
  tagsOf,
  textOf,
  toPlain,
  truth,
  unknown,
  unknownLike,
  unread,
  type ClassValue,
  type External,
  type Fn,
  type Native,
  type Obj,
  type Plain,
  type Value,
} from './values.js';

/** Returns the arguments that a list of them holds. */
const listed = (list: Value | undefined): readonly Value[] =>
  list?.t === 'obj' ? list.items : list === undefined ? [] : [UNKNOWN, UNKNOWN, UNKNOWN];

/** The call that registers handlers, seen while the program starts. Returns true when it was one, so that it is not followed. */
type CallListener = (
  callee: { readonly name: string; readonly own: boolean },
  args: readonly Value[],
  place: Place,
  receiver: Value | undefined,
) => boolean;

export class Calls {
  onCall: CallListener | undefined;
  readonly methods = new Map<string, Set<ClassValue>>();
  /** Methods that stand in objects, by their names. */
  readonly methodsOfObjects = new Map<string, Map<Node, Fn>>();
  /** The instances that the program makes while it starts, by the node of their class. */
  readonly instances = new Map<Node, Obj[]>();
  readonly standIns = new Map<ClassValue, Obj>();
  /** Above 0 while an instance is made that stands for others. */
  standingIn = 0;
  /** Loads what `require` names; set by the interpreter. */
  require: (place: Place, specifier: string) => Value = () => UNKNOWN;
  /** Runs a class's fields and constructor on an instance; set by the interpreter, as is `construct`. */
  initialise: (cls: ClassValue, instance: Value, args: readonly Value[], place: Place) => void =
    () => undefined;
  construct: (cls: ClassValue, args: readonly Value[], place: Place) => Value = () => UNKNOWN;

  constructor(
    private readonly m: Machine,
    private readonly known: AuditKnowledge | undefined,
  ) {}

  call(callee: Value, self: Value, args: readonly Value[], place: Place, name: string): Value {
    const { m } = this;
    m.step();
    const all = options(callee);
    if (
      this.onCall?.(
        { name, own: all.some((one) => one.t === 'fn' || one.t === 'class') },
        args,
        place,
        self,
      ) === true
    )
      return callee.t === 'external' ? { ...callee, args } : UNKNOWN;
    if (INTEROP.test(name) && (args[0]?.t === 'native' || args[0]?.t === 'external'))
      return args[0];
    const callable = all.filter((one) => one.t !== 'const' && one.t !== 'obj');
    const results = callable.map((one) =>
      m.under(
        callable.filter((other) => other.t !== 'unknown').length < 2 || one.t === 'unknown'
          ? undefined
          : {
              tags: tagsOf(callee),
              special: true,
              kind: tagsOf(callee).length > 0 ? 'test' : 'later',
            },
        () => this.#callOne(one, self, args, place, name),
      ),
    );
    if (results.length === 0)
      m.unknownCall(`${name === '' ? 'a function' : name} is not known`, place);
    return results.length === 0 ? UNKNOWN : join(...results);
  }

  #callOne(callee: Value, self: Value, args: readonly Value[], place: Place, name: string): Value {
    switch (callee.t) {
      case 'fn':
        return validated(this.m, name, args) ?? this.m.invoke(callee, self, args, place);
      case 'class':
        return this.construct(callee, args, place);
      case 'host':
        return callee.call(args);
      case 'native':
        return this.#native(callee, args, place);
      case 'external':
        return this.#external(callee, args, place);
      default:
        return this.#unknownMember(callee, name, args, place, true);
    }
  }

  /** Calls the method `key` of a value. */
  member(
    object: Value,
    key: string | undefined,
    args: readonly Value[],
    place: Place,
    read: (object: Value) => Value,
  ): Value {
    const { m } = this;
    m.step();
    if (key === undefined) return this.call(read(object), object, args, place, '');
    const all = options(object).filter(
      (one, _, { length }) =>
        length === 1 || one.t !== 'const' || (one.v !== undefined && one.v !== null),
    );
    const own = all.some(
      (one) => (one.t === 'obj' || one.t === 'class') && m.lookup(one, key) !== undefined,
    );
    if (this.onCall?.({ name: key, own }, args, place, object) === true) return UNKNOWN;
    return join(...all.map((one) => this.#member(one, key, args, place)));
  }

  #member(object: Value, key: string, args: readonly Value[], place: Place): Value {
    const { m } = this;
    if (object.t === 'obj' || object.t === 'class' || object.t === 'fn') {
      const found = m.lookup(object, key);
      if (found !== undefined) {
        const value = m.read(object, key, place);
        const parsed =
          object.t === 'obj' && !isCallable(value) ? undefined : validated(m, key, args);
        return parsed ?? this.call(value, object, args, place, key);
      }
      if (object.t === 'fn') {
        if (key === 'call')
          return this.call(object, args[0] ?? UNDEFINED, args.slice(1), place, object.name);
        if (key === 'apply')
          return this.call(
            object,
            args[0] ?? UNDEFINED,
            args[1]?.t === 'obj' ? args[1].items : args.slice(1),
            place,
            object.name,
          );
        if (key === 'bind')
          return { ...object, bound: { self: args[0] ?? UNDEFINED, args: args.slice(1) } };
      }
      if (object.t !== 'obj')
        return object.t === 'fn' || object.parent === undefined
          ? this.#unknownMember(UNKNOWN, key, args, place, false)
          : this.#member(object.parent, key, args, place);
      const special =
        object.kind === 'array'
          ? arrayMethod(m, object, key, args, place)
          : object.kind === 'object'
            ? undefined
            : (mapMethod(m, object, key, args, place) ?? (key === 'size' ? DATA : undefined));
      if (special !== undefined) return special;
      const promised = promiseMethod(m, object, key, args, place);
      if (promised !== undefined) return promised;
      if (object.proto !== undefined && object.proto.t !== 'obj')
        return this.#member(object.proto, key, args, place);
      if (object.rest !== undefined)
        return this.call(m.read(object, key, place), object, args, place, key);
      return OF_OBJECTS.has(key)
        ? unknown(deepTags(object))
        : this.#unknownMember(unknown(deepTags(object), false), key, args, place, false);
    }
    const promised = promiseMethod(m, object, key, args, place);
    if (promised !== undefined) return promised;
    switch (object.t) {
      case 'const':
        return (
          (object.v === undefined || object.v === null
            ? undefined
            : textMethod(m, object, key, args, place)) ??
          this.#unknownMember(object, key, args, place, false)
        );
      case 'native':
        if (object.path.at(-1) === '()') return this.#nativeResult(object, key, args, place);
        // A method of the language that is taken for another object does with it what is asked there.
        if (
          object.path[1] === 'prototype' &&
          object.path.length > 2 &&
          !PURE.has(object.path[2] ?? '')
        )
          return this.#unknownMember(UNKNOWN, key, args, place, false);
        if (key === 'bind') return object;
        if (key === 'call') return this.#native(object, args.slice(1), place);
        if (key === 'apply' && object.path[0] !== 'Reflect')
          return this.#native(object, listed(args[1]), place);
        return this.#native({ ...object, path: [...object.path, key] }, args, place);
      case 'external':
        return this.#external({ ...object, path: [...object.path, key] }, args, place);
      case 'host':
        return UNKNOWN;
      default:
        return this.#unknownMember(object, key, args, place, false);
    }
  }

  #effects(
    effects: readonly CallEffect[] | undefined,
    what: string,
    place: Place,
    more: { temporary?: string } = {},
  ): void {
    if (effects === undefined && what !== '') this.m.unknownCall(`${what} is not known`, place);
    else if (effects === undefined) return;
    else for (const effect of effects) this.m.record(effect, place, more);
  }

  #native(native: Native, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const { module, path } = native;
    const name = path.at(-1) ?? '';
    if (module === 'global') {
      if (name === 'fetch')
        return request(
          m,

          textOf(args[0] ?? UNDEFINED),
          args[1] ?? UNDEFINED,
          'fetch',
          place,
          'GET',
        );
      if (path[0] === 'Request' && args[1] !== undefined) return args[1];
      const known = globalCall(m, path, args, place);
      if (known !== undefined) return known;
      runCallbacks(m, name, args, [DATA], place);
      if (!KNOWN_GLOBALS.test(path[0] ?? '')) {
        m.unknownCall(`${path.join('.')} is not known`, place);
        return UNKNOWN;
      }
      this.#effects(
        builtinEffects(
          'global',
          path,
          args.map((arg) => toPlain(arg)),
        ),
        path.join('.'),
        place,
      );
      return LIVE.has(name)
        ? { t: 'native', module, path: [name, '()'], args }
        : unknown(mergeTags(...args.map(tagsOf)));
    }
    if (module === 'path' || module === 'path/posix') return pathCall(path, args) ?? DATA;
    if (module === 'os' && name === 'platform') return unknown(['platform']);
    if (module === 'os' && name === 'tmpdir') return constant('/tmp', ['tmp']);
    if (module === 'util')
      return name === 'promisify' || name === 'callbackify' || name === 'deprecate'
        ? (args[0] ?? UNKNOWN)
        : unknown(mergeTags(...args.map(tagsOf)));
    if (module === 'url' && /^(?:fileURLToPath|pathToFileURL|URL)$/u.test(name))
      return args[0] ?? UNKNOWN;
    if (module === 'module' && name === 'createRequire')
      return { t: 'native', module: 'module', path: ['require'], args: [] };
    if (module === 'module' && name === 'require')
      return args[0]?.t === 'const' && !isPartial(args[0])
        ? this.require(place, String(args[0].v))
        : unread('a module of a computed name');
    const temporary = args.find((arg) => tagsOf(arg).includes('tmp'));
    if (module === 'child_process' && SPAWNERS.has(name))
      startProgram(m, this.known, name, args, place);
    else if ((module === 'http' || module === 'https') && (name === 'request' || name === 'get')) {
      const given = args.find((arg) => arg.t === 'obj');
      request(
        m,

        args[0]?.t === 'const' ? textOf(args[0]) : HOLE,
        name === 'get' || given === undefined ? UNDEFINED : given,
        `${module}.${name}`,
        place,
        'GET',
      );
    } else {
      // The flags with which a file is opened may be the tool's own argument.
      const flags = module.startsWith('fs')
        ? mergeTags(...args.slice(1).map((arg) => deepTags(arg)))
        : [];
      const effects = builtinEffects(
        module,
        path,
        args.map((arg) => toPlain(arg)),
      );
      this.#effects(
        effects?.filter((effect) => !chosen(m, effect, flags, place)),
        `${module}.${path.join('.')}`,
        place,
        temporary === undefined ? {} : { temporary: textOf(temporary) },
      );
    }
    runCallbacks(m, name, args, [DATA, DATA, DATA], place);
    if (/^mkdtemp/u.test(name)) return constant(`/tmp/${HOLE}`, ['tmp']);
    return LIVE.has(name) ? { t: 'native', module, path: [name, '()'], args } : DATA;
  }

  #nativeResult(object: Native, key: string, args: readonly Value[], place: Place): Value {
    const [made = ''] = object.path;
    if (object.path.length <= 2)
      this.#effects(
        builtinEffects(
          object.module,
          [made, key],
          args.map((arg) => toPlain(arg)),
        ) ?? [],
        '',
        place,
      );
    runCallbacks(this.m, key, args, [DATA, DATA], place);
    return key === 'getStore' ? UNKNOWN : PURE.has(key) || !runsLater(key) ? DATA : object;
  }

  #external(external: External, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const { pkg, path } = external;
    const name = path.at(-1) ?? 'default';
    const [first] = args;
    const shape =
      /^(?:strictO|looseO|o)bject$/u.test(name) && first?.t === 'obj'
        ? first
        : name === 'extend' && first?.t === 'obj' && external.shape !== undefined
          ? m.object('object', [], [...external.shape.props, ...first.props])
          : external.shape;
    const facts = {
      shape,
      fallback: name === 'default' || name === 'prefault' ? first : external.fallback,
      optional:
        external.optional === true || /^(?:optional|nullish|default|prefault|catch)$/u.test(name),
    };
    const result: Value = { t: 'external', pkg, path: path.slice(-8), args, ...facts };
    // What a package gave is a list or a text as often as not.
    if (
      (external.args.length > 0 ? OF_LISTS.has(name) : path.length > 1 && isKnownPackage(pkg)) &&
      PURE.has(name) &&
      !HTTP_PACKAGES.has(pkg)
    ) {
      runCallbacks(m, name, args, [external, DATA], place);
      return join(external, unknown(mergeTags(...args.map(tagsOf))));
    }
    const parsed = validated(m, name, args, external.shape);
    if (parsed !== undefined) return parsed;
    if (name === 'promisify' || name === 'pify') return args[0] ?? UNKNOWN;
    // What works on lists gives back what is in them, anything else its own things.
    const given =
      isKnownPackage(pkg) && /^(?:lodash|ramda|underscore|p-|async|rxjs|immer)/u.test(pkg)
        ? unknownLike(...args.filter((arg) => !isCallable(arg)))
        : result;
    const got = runCallbacks(m, name, args, [given, given], place);
    if (
      DATABASES.test(pkg) &&
      args.some(
        (arg) =>
          arg.t === 'obj' &&
          [...arg.props].some(([key, one]) => /^read_?only$/iu.test(key) && truth(one) === true),
      )
    )
      m.readOnlyData = true;
    // What a prepared statement is run with is no SQL.
    const takesSql =
      !path.slice(0, -1).includes('prepare') &&
      (SQL_ONLY.test(name) || /sqlite3?$|libsql/u.test(pkg));
    if (runSql(m, name, args, place, takesSql && DATABASES.test(pkg))) return result;
    if (HTTP_PACKAGES.has(pkg)) {
      const verb = METHODS.has(name) ? name : undefined;
      if (verb !== undefined || path.length <= 1 || name === 'request' || name === 'fetch') {
        if (name !== 'create' && name !== 'extend') {
          const settings =
            verb === undefined
              ? (args.find((arg) => arg.t === 'obj') ?? UNDEFINED)
              : m.object(
                  'object',
                  [],
                  [
                    ['method', constant(verb === 'del' ? 'DELETE' : verb.toUpperCase())],
                    ...(args[1] === undefined || verb === 'get' || verb === 'delete'
                      ? []
                      : [['body', args[1]] as const]),
                  ],
                );
          request(
            m,

            args[0]?.t === 'obj' ? HOLE : textOf(args[0] ?? UNDEFINED),
            settings,
            `${pkg}.${name}`,
            place,
            'GET',
          );
          return DATA;
        }
      }
      return result;
    }
    const plain: readonly Plain[] = args.map((arg) => toPlain(arg));
    const calls = path.filter((part) => part !== '()' && part !== 'default');
    const found = clientEffects(pkg, calls, plain, this.known);
    this.#effects(found, `${pkg}: ${calls.join('.')}`, place);
    // A verb in a name is a reason to fear something, and none to trust.
    if (
      found !== undefined &&
      found.length > 0 &&
      found.every(({ access }) => access === 'read') &&
      !isKnownPackage(pkg)
    )
      m.unknownCall(`${pkg}: ${calls.join('.')} is known by its name only`, place);
    return args.some(isCallable) && got.t !== 'unknown' ? join(got, result) : result;
  }

  #unknownMember(
    object: Value,
    key: string,
    args: readonly Value[],
    place: Place,
    bare: boolean,
  ): Value {
    const { m } = this;
    const tags = mergeTags(tagsOf(object), ...args.map(tagsOf));
    m.unread(object);
    const state = tagsOf(object)
      .filter((tag) => tag.startsWith('state:'))
      .at(-1);
    const parsed = validated(m, key, args);
    if (parsed !== undefined) return parsed;
    if (state !== undefined && MUTATORS.has(key) && !bare && m.epoch > 0)
      m.changed(`${state.slice(6)}[]`, place, {
        call: key,
        destructive:
          key === 'delete' || key === 'clear'
            ? true
            : key === 'push' || key === 'add'
              ? false
              : null,
        idempotent: key === 'push' ? false : null,
      });
    if (state !== undefined && key === 'kill')
      m.record(
        {
          kind: 'process-spawn',
          access: 'write',
          destructive: true,
          idempotent: true,
          call: 'kill',
        },
        place,
      );
    // A receiver that is named as the things of a browser are, with one of their documented methods.
    const thing = bare ? undefined : browserThing(place.node, key);
    const browsers =
      thing === undefined
        ? []
        : (browserEffects(
            key,
            `${thing}.${key}`.replace(/^\./u, ''),
            args.map((arg) => toPlain(arg)),
          ) ?? []);
    if (browsers.length > 0) {
      this.#effects(browsers, key, place);
      runCallbacks(m, key, args, [UNKNOWN, UNKNOWN], place);
      return UNKNOWN;
    }
    if (isData(object) && !isNothing(object) && !bare && isOfData(object, key)) {
      runCallbacks(m, key, args, [unknown(tagsOf(object)), DATA], place);
      return unknown(tags);
    }
    if (runSql(m, key, args, place)) return UNKNOWN;
    const told = bare ? undefined : toldOf(this.known, '', key);
    if (told !== undefined) {
      if (told !== 'none')
        m.record(told === 'read' ? reads('net-read', key) : writes('net-write', key), place);
      return UNKNOWN;
    }
    if (!tagsOf(object).some((tag) => tag.startsWith('unread:')))
      m.unknownCall(
        `${key === '' ? 'a function' : key} is called on something that is not known`,
        place,
      );
    const classes = bare || COMMON.has(key) ? [] : [...(this.methods.get(key) ?? [])];
    if (classes.length > 0 && classes.length <= 3) {
      return m.under(classes.length > 1 ? LATER : undefined, () =>
        join(
          ...classes.map((cls) =>
            this.call(cls.methods.get(key) as Value, this.instanceOf(cls), args, place, key),
          ),
        ),
      );
    }
    const [only, ...others] =
      bare || COMMON.has(key) ? [] : (this.methodsOfObjects.get(key)?.values() ?? []);
    if (only !== undefined && others.length === 0) return m.invoke(only, UNDEFINED, args, place);
    const got = runCallbacks(m, key, args, [UNKNOWN, UNKNOWN], place);
    return got.t === 'unknown' ? unknown(tagsOf(object), false) : join(got, UNKNOWN);
  }

  /** Notes what a method does that the language may call by itself. */
  askedLater(fn: Fn, self: Value, place: Place): void {
    this.m.under(LATER, () => this.m.invoke(fn, self, [UNKNOWN], place));
  }

  /** Returns an instance of a class: one that the program made, or one that stands for those that it will make. */
  instanceOf(cls: ClassValue): Obj {
    const known = this.instances.get(cls.node)?.[0] ?? this.standIns.get(cls);
    if (known !== undefined) return known;
    const { body } = cls.node['body'] as { readonly body: readonly Node[] };
    const constructor = body.find((member) => member['kind'] === 'constructor')?.['value'] as
      Node | undefined;
    // What the constructor takes by default is what it gets; of the rest nothing is known.
    const args = ((constructor?.['params'] as Node[] | undefined) ?? []).map((param) =>
      ((param['parameter'] as Node | undefined) ?? param).type === 'AssignmentPattern'
        ? UNDEFINED
        : UNKNOWN,
    );
    const met = this.m.entries;
    this.m.entries = [];
    this.standingIn++;
    try {
      const object = this.construct(cls, args, { module: cls.module, node: cls.node }) as Obj;
      object.rest ??= UNKNOWN;
      this.standIns.set(cls, object);
      return object;
    } finally {
      this.standingIn--;
      this.m.entries = met;
    }
  }

  /** Returns the instances that the program made of a class, in the place of the one that stands for them. */
  madeOf(self: Value): Value {
    const cls = self.t === 'obj' ? self.cls : undefined;
    if (cls === undefined || this.standIns.get(cls) !== self) return self;
    return join(...(this.instances.get(cls.node) ?? [self]));
  }
}
