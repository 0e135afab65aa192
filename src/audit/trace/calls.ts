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
  INTEROP,
  LIVE,
  METHODS,
  OF_LISTS,
  OF_OBJECTS,
  SPAWNERS,
  SQL_ONLY,
  browserThing,
  isKnownGlobal,
  isMutator,
  isOfData,
} from './call-names.js';
import { PURE, iterate, promiseMethod, runCallbacks, runsLater } from './callbacks.js';
import { Classes } from './classes.js';
import { arrayMethod, mapMethod } from './collections.js';
import { globalCall, pathCall, textMethod } from './intrinsics.js';
import { PERHAPS, type Machine } from './machine.js';
import { request, runSql, validated } from './requests.js';
import { chosen, startProgram } from './started-programs.js';
import {
  DATA,
  HOLE,
  UNDEFINED,
  UNKNOWN,
  allTags,
  constant,
  deepTags,
  isCallable,
  isData,
  isNothing,
  join,
  mergeTags,
  options,
  solid,
  stateOf,
  tagsOf,
  textOf,
  toPlain,
  truth,
  unknown,
  unknownLike,
  type External,
  type Native,
  type Obj,
  type Place,
  type Value,
} from './values.js';

/** Packages whose functions return items of the lists passed to them. */
const OF_DATA = /^(?:lodash|ramda|underscore|p-|async|rxjs|immer)/u;

/**
 * Evaluates calls. Follows functions of the audited code, records the effects of known functions,
 * and treats all other functions as unknown.
 */
export class Calls {
  readonly classes: Classes;

  constructor(
    private readonly m: Machine,
    private readonly known: AuditKnowledge | undefined,
    private readonly require: (place: Place, source: Value | undefined) => Value,
  ) {
    this.classes = new Classes(m, (...call) => this.call(...call));
  }

  call(callee: Value, self: Value, args: readonly Value[], place: Place, name: string): Value {
    const { m } = this;
    m.step();
    const all = options(callee);
    const own = all.some((one) => one.t === 'fn' || one.t === 'class');
    if (m.epoch === 0 && m.onCall({ name, own }, args, place))
      return callee.t === 'external' ? { ...callee, args } : UNKNOWN;
    const [first] = args;
    if (INTEROP.test(name) && (first?.t === 'native' || first?.t === 'external')) return first;
    const callable = all.filter((one) => one.t !== 'const' && one.t !== 'obj');
    if (callable.length === 0)
      m.unknownCall(`${name === '' ? 'a function' : name} is not known`, place);
    const tags = tagsOf(callee);
    const isChoice = callable.filter((one) => one.t !== 'unknown').length > 1;
    return callable.length === 0
      ? UNKNOWN
      : join(
          ...callable.map((one) =>
            m.under(
              !isChoice || one.t === 'unknown'
                ? undefined
                : { tags, special: true, kind: tags.length > 0 ? 'test' : 'later' },
              () => this.#callOne(one, self, args, place, name),
            ),
          ),
        );
  }

  #callOne(callee: Value, self: Value, args: readonly Value[], place: Place, name: string): Value {
    switch (callee.t) {
      case 'fn':
        return validated(this.m, name, args) ?? this.m.invoke(callee, self, args, place);
      case 'class':
        return this.classes.construct(callee, args, place);
      case 'host':
        return callee.call(args);
      case 'native':
        return this.#native(callee, args, place);
      case 'external':
        return this.#external(callee, args, place);
      default:
        return this.#unknown(callee, name, args, place, true);
    }
  }

  /** Creates an instance for `new`. */
  make(callee: Value, args: readonly Value[], place: Place, name: string): Value {
    return join(
      ...options(callee).map((one): Value => {
        if (one.t !== 'fn') return this.call(one, UNDEFINED, args, place, name);
        const self = this.m.object();
        self.proto = one.props.get('prototype');
        const result = this.m.invoke(one, self, args, place);
        return result.t === 'obj' || result.t === 'fn' ? result : self;
      }),
    );
  }

  /** Calls the method `key` of a value. */
  member(object: Value, key: string, args: readonly Value[], place: Place): Value {
    const { m } = this;
    m.step();
    const all = solid(object);
    const own = all.some((one) => one.t !== 'fn' && m.lookup(one, key) !== undefined);
    if (m.epoch === 0 && m.onCall({ name: key, own }, args, place)) return UNKNOWN;
    return join(...all.map((one) => this.#member(one, key, args, place)));
  }

  #member(object: Value, key: string, args: readonly Value[], place: Place): Value {
    const { m } = this;
    switch (object.t) {
      case 'obj':
      case 'class':
      case 'fn':
        return this.#ofMade(object, key, args, place);
      case 'native':
        return this.#ofNative(object, key, args, place);
      case 'external':
        return (
          promiseMethod(m, object, key, args, place) ??
          this.#external({ ...object, path: [...object.path, key] }, args, place)
        );
      case 'const':
        return (
          promiseMethod(m, object, key, args, place) ??
          (isNothing(object) ? undefined : textMethod(m, object, key, args, place)) ??
          this.#unknown(object, key, args, place)
        );
      default:
        return (
          promiseMethod(m, object, key, args, place) ?? this.#unknown(object, key, args, place)
        );
    }
  }

  /** Calls a method of an object that the audited code has created. */
  #ofMade(
    object: Value & { t: 'obj' | 'class' | 'fn' },
    key: string,
    args: readonly Value[],
    place: Place,
  ): Value {
    const { m } = this;
    if (m.lookup(object, key) !== undefined) {
      const value = m.read(object, key, place);
      const parsed = object.t === 'obj' && !isCallable(value) ? undefined : validated(m, key, args);
      return parsed ?? this.call(value, object, args, place, key);
    }
    const [self = UNDEFINED, ...rest] = args;
    if (object.t === 'fn') {
      if (key === 'bind') return { ...object, bound: { self, args: rest } };
      if (key === 'call') return this.call(object, self, rest, place, object.name);
      if (key === 'apply')
        return this.call(
          object,
          self,
          rest.flatMap((one) => iterate(m, one)),
          place,
          object.name,
        );
    }
    if (object.t === 'obj') {
      const special =
        object.kind === 'array'
          ? arrayMethod(m, object, key, args, place)
          : object.kind === 'object'
            ? undefined
            : mapMethod(m, object, key, args, place);
      const known = special ?? promiseMethod(m, object, key, args, place);
      if (known !== undefined) return known;
    }
    const base = m.base(object);
    if (base !== undefined && base.t !== 'fn') return this.#member(base, key, args, place);
    if (object.t === 'obj' && object.rest !== undefined)
      return this.call(m.read(object, key, place), object, args, place, key);
    return OF_OBJECTS.test(key)
      ? unknown(deepTags(object))
      : this.#unknown(unknown(deepTags(object), false), key, args, place);
  }

  /** Calls a method of a value that JavaScript or Node provides. */
  #ofNative(object: Native, key: string, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const { path } = object;
    if (path.at(-1) === '()') {
      const promised = promiseMethod(m, object, key, args, place);
      if (promised !== undefined) return promised;
      const effects = builtinEffects(
        object.module,
        [path[0] ?? '', key],
        args.map((arg) => toPlain(arg)),
      );
      for (const effect of effects ?? []) m.record(effect, place);
      runCallbacks(m, key, args, [DATA, DATA], place);
      if (key === 'getStore') return UNKNOWN;
      return runsLater(key) ? object : DATA;
    }
    // A built-in method may be called on any object, as in `Array.prototype.push.call(x)`.
    if (path[1] === 'prototype' && path.length > 2 && !PURE.has(path[2] ?? ''))
      return this.#unknown(UNKNOWN, key, args, place);
    if (key === 'bind') return object;
    if (key === 'call') return this.#native(object, args.slice(1), place);
    if (key === 'apply' && path[0] !== 'Reflect')
      return this.#native(
        object,
        args.slice(1).flatMap((one) => iterate(m, one)),
        place,
      );
    return this.#native({ ...object, path: [...path, key] }, args, place);
  }

  #record(
    effects: readonly CallEffect[] | undefined,
    what: string,
    place: Place,
    more: { temporary?: string } = {},
  ): void {
    if (effects === undefined) this.m.unknownCall(`${what} is not known`, place);
    for (const effect of effects ?? []) this.m.record(effect, place, more);
  }

  #native(native: Native, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const { module, path } = native;
    const [first = UNDEFINED] = args;
    const name = path.at(-1) ?? '';
    const call = module === 'global' ? path.join('.') : `${module}.${path.join('.')}`;
    const plain = args.map((arg) => toPlain(arg));
    const made: Value = LIVE.test(name) ? { t: 'native', module, path: [name, '()'], args } : DATA;
    switch (module) {
      case 'global': {
        if (name === 'fetch')
          return request(m, textOf(first), args[1] ?? UNDEFINED, 'fetch', place);
        if (path[0] === 'Request' && args[1] !== undefined) return args[1];
        const known = globalCall(m, path, args, place);
        if (known !== undefined) return known;
        runCallbacks(m, name, args, [DATA], place);
        const isKnown = isKnownGlobal(path[0] ?? '');
        this.#record(isKnown ? builtinEffects(module, path, plain) : undefined, call, place);
        return !isKnown ? UNKNOWN : made === DATA ? unknown(allTags(args)) : made;
      }
      case 'path':
      case 'path/posix':
        return pathCall(path, args);
      case 'util':
        return /^(?:promisify|callbackify|deprecate)$/u.test(name) ? first : unknown(allTags(args));
      case 'url':
        return first;
      case 'module':
        return name === 'createRequire'
          ? { ...native, path: ['require'] }
          : this.require(place, args[0]);
      case 'os':
        if (name === 'platform') return unknown(['platform']);
        if (name === 'tmpdir') return constant('/tmp', ['tmp']);
        break;
      case 'child_process':
        if (!SPAWNERS.test(name)) break;
        startProgram(m, this.known, name, args, place);
        runCallbacks(m, name, args, [DATA, DATA, DATA], place);
        return made;
      case 'http':
      case 'https': {
        if (name !== 'request' && name !== 'get') break;
        const settings = args.find((arg) => arg.t === 'obj');
        const given = name === 'get' ? undefined : settings;
        request(m, first.t === 'const' ? textOf(first) : HOLE, given ?? UNDEFINED, call, place);
        runCallbacks(m, name, args, [DATA, DATA, DATA], place);
        return made;
      }
      default:
    }
    // The flags for opening a file may come from the tool's argument.
    const flags = module.startsWith('fs') ? args.slice(1).map((arg) => deepTags(arg)) : [];
    const temporary = args.find((arg) => tagsOf(arg).includes('tmp'));
    this.#record(
      builtinEffects(module, path, plain)?.filter(
        (effect) => !chosen(m, effect, mergeTags(...flags), place),
      ),
      call,
      place,
      temporary === undefined ? {} : { temporary: textOf(temporary) },
    );
    runCallbacks(m, name, args, [DATA, DATA, DATA], place);
    return name.startsWith('mkdtemp') ? constant(`/tmp/${HOLE}`, ['tmp']) : made;
  }

  #external(external: External, args: readonly Value[], place: Place): Value {
    const { m } = this;
    const { pkg, path } = external;
    const name = path.at(-1) ?? 'default';
    const isListed = isKnownPackage(pkg);
    const result: Value = { ...schemaOf(m, external, name, args), path: path.slice(-8), args };
    // The result of a package's function is often a list or a string.
    if (
      PURE.has(name) &&
      (external.args.length > 0 ? OF_LISTS.test(name) : path.length > 1 && isListed) &&
      !HTTP_PACKAGES.has(pkg)
    ) {
      runCallbacks(m, name, args, [external, DATA], place);
      return join(external, unknown(allTags(args)));
    }
    const parsed = validated(m, name, args, external.shape);
    if (parsed !== undefined) return parsed;
    if (name === 'promisify' || name === 'pify') return args[0] ?? UNKNOWN;
    // Functions that work on lists return items of the list. All other functions return new values.
    const given =
      isListed && OF_DATA.test(pkg)
        ? unknownLike(...args.filter((arg) => !isCallable(arg)))
        : result;
    const got = runCallbacks(m, name, args, [given, given], place);
    if (HTTP_PACKAGES.has(pkg)) return this.#client(external, name, args, place) ?? result;
    const isDatabase = DATABASES.test(pkg);
    if (isDatabase && args.some(isReadOnly)) m.readOnlyData = true;
    // For a prepared statement, the arguments are values and not SQL.
    const takesSql =
      !path.slice(0, -1).includes('prepare') &&
      (SQL_ONLY.test(name) || /sqlite3?$|libsql/u.test(pkg));
    if (runSql(m, name, args, place, takesSql && isDatabase)) return result;
    const calls = path.filter((part) => part !== 'default');
    const found = clientEffects(
      pkg,
      calls,
      args.map((arg) => toPlain(arg)),
      this.known,
    );
    this.#record(found, `${pkg}: ${calls.join('.')}`, place);
    // A verb in a name can prove that a call is dangerous, but never that it's safe.
    if (!isListed && found?.every(({ access }) => access === 'read') === true && found.length > 0)
      m.unknownCall(`${pkg}: ${calls.join('.')} is known by its name only`, place);
    return got.t === 'unknown' ? result : join(got, result);
  }

  /** Calls an HTTP client. Returns undefined if the call sends no request. */
  #client(
    { path, pkg }: External,
    name: string,
    args: readonly Value[],
    place: Place,
  ): Value | undefined {
    const { m } = this;
    const isVerb = METHODS.test(name);
    const asks = isVerb || path.length <= 1 || name === 'request' || name === 'fetch';
    if (!asks || name === 'create' || name === 'extend') return undefined;
    const [first = UNDEFINED, body] = args;
    const verb = name === 'del' ? 'DELETE' : name.toUpperCase();
    const settings = isVerb
      ? m.object([
          ['method', constant(verb)],
          ...(body === undefined || /^(?:GET|DELETE)$/u.test(verb)
            ? []
            : [['body', body] as const]),
        ])
      : (args.find((arg) => arg.t === 'obj') ?? UNDEFINED);
    return request(m, first.t === 'obj' ? HOLE : textOf(first), settings, `${pkg}.${name}`, place);
  }

  /** Calls a method of an unknown value. With `bare`, calls the value itself. */
  #unknown(object: Value, key: string, args: readonly Value[], place: Place, bare = false): Value {
    const { m } = this;
    const { methods, methodsOfObjects } = this.classes;
    m.unread(object);
    const parsed = validated(m, key, args);
    if (parsed !== undefined) return parsed;
    const state = stateOf(object);
    if (state !== undefined && isMutator(key) && !bare)
      m.changed(`${state}[]`, place, {
        call: key,
        destructive: /^(?:delete|clear)$/u.test(key)
          ? true
          : /^(?:push|add)$/u.test(key)
            ? false
            : null,
        idempotent: key === 'push' ? false : null,
      });
    if (state !== undefined && key === 'kill')
      m.record(writes('process-spawn', key, true, true), place);
    // The variable's name or the method's name suggests a browser object.
    const thing = bare ? undefined : browserThing(place.node, key);
    const plain = args.map((arg) => toPlain(arg));
    const browser =
      thing === undefined ? [] : browserEffects(key, [thing, key].filter(Boolean).join('.'), plain);
    if (browser !== undefined && browser.length > 0) {
      this.#record(browser, key, place);
      runCallbacks(m, key, args, [UNKNOWN, UNKNOWN], place);
      return UNKNOWN;
    }
    if (isData(object) && !isNothing(object) && !bare && isOfData(object, key)) {
      runCallbacks(m, key, args, [unknown(tagsOf(object)), DATA], place);
      return unknown(allTags([object, ...args]));
    }
    if (runSql(m, key, args, place)) return UNKNOWN;
    const told = bare ? undefined : toldOf(this.known, '', key);
    if (told !== undefined) {
      if (told !== 'none')
        m.record(told === 'read' ? reads('net-read', key) : writes('net-write', key), place);
      return UNKNOWN;
    }
    if (!tagsOf(object).some((tag) => tag.startsWith('unread:')))
      m.unknownCall(`${key === '' ? 'a function' : key} is called on an unknown value`, place);
    // If at most three classes or one object have a method with this name, that method is probably
    // the one called.
    if (!bare && !COMMON.has(key)) {
      const classes = [...(methods.get(key) ?? [])];
      if (classes.length > 0 && classes.length <= 3)
        return m.under(classes.length > 1 ? PERHAPS : undefined, () =>
          join(
            ...classes.map((cls) => this.#ofMade(this.classes.instanceOf(cls), key, args, place)),
          ),
        );
      const [only, ...others] = methodsOfObjects.get(key)?.values() ?? [];
      if (only !== undefined && others.length === 0) return m.invoke(only, UNDEFINED, args, place);
    }
    const got = runCallbacks(m, key, args, [UNKNOWN, UNKNOWN], place);
    return got.t === 'unknown' ? unknown(tagsOf(object), false) : join(got, UNKNOWN);
  }
}

const isReadOnly = (arg: Value): boolean =>
  arg.t === 'obj' &&
  [...arg.props].some(([key, one]) => /^read_?only$/iu.test(key) && truth(one) === true);

/**
 * Returns the result of a call to a package. If the package builds an argument schema, the result
 * contains the schema's fields.
 */
function schemaOf(
  m: Machine,
  external: External,
  name: string,
  [first]: readonly Value[],
): External {
  const fields: Obj | undefined = first?.t === 'obj' ? first : undefined;
  const { fallback, optional, shape } = external;
  if (/^(?:strictO|looseO|o)bject$/u.test(name) && fields !== undefined)
    return { ...external, shape: fields };
  if (name === 'extend' && fields !== undefined && shape !== undefined)
    return { ...external, shape: m.object([...shape.props, ...fields.props]) };
  return {
    ...external,
    fallback: name === 'default' || name === 'prefault' ? first : fallback,
    optional: optional === true || /^(?:optional|nullish|default|prefault|catch)$/u.test(name),
  };
}
