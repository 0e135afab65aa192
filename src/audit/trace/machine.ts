import type { CallEffect } from '../effect.js';
import { placeOf, type Node, type Program } from './program.js';
import { perhaps } from './uncertain-words.js';
import {
  ELSEWHERE,
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  fillWith,
  contents,
  isPartial,
  join,
  mergeTags,
  options,
  solid,
  stateOf,
  tagsOf,
  unknown,
  unknownLike,
  unread,
  withTags,
  type Binding,
  type ClassValue,
  type Fn,
  type Frame,
  type Native,
  type Obj,
  type Place,
  type Scope,
  type Tags,
  type Value,
} from './values.js';

/** A condition for reaching some code. A test is `special` if ordinary input doesn't pass it. */
export interface Condition {
  readonly tags: Tags;
  readonly special: boolean;
  readonly kind: 'test' | 'catch' | 'later';
}
/** The condition of code inside a `catch`. */
export const CAUGHT: Condition = { tags: [], special: false, kind: 'catch' };
/** The condition of code in a callback that runs later, or in one of several alternatives. */
export const PERHAPS: Condition = { tags: [], special: false, kind: 'later' };

/** An effect, with the conditions and calls that led to it. */
export interface Entry {
  readonly effect: CallEffect;
  readonly place: Place;
  readonly conditions: readonly Condition[];
  readonly via: readonly Place[];
  readonly names: readonly string[];
  /** The function that contains the effect. */
  readonly by: Node | undefined;
  /** The path of a temporary file. If the code removes the file again, the effect is ignored. */
  readonly temporary?: string;
  /** The memory that the effect changes, if any. */
  readonly state?: string;
}

/** The observations from following one tool's call. */
class Run {
  entries: Entry[] = [];
  /** The memory that was read, and the functions that read it. */
  readonly reads = new Map<string, Set<Node | undefined>>();
  readonly unknowns = new Set<string>();
  /** The functions that the call ran. */
  readonly visited = new Set<Node>();
  /** The arguments that the tool's schema requires. */
  readonly required = new Set<string>();
  /** Counts how often the code uses the tool's name as a key. */
  hits = 0;
  firstHit: Place | undefined;
  /** Functions that restore the memory from before the call. */
  readonly undo: (() => void)[] = [];
}

/** Thrown when a call reaches its limit of steps or time. */
const EXHAUSTED = new Error('more steps or time than is taken');

/** A change that a call makes to memory. */
interface Change {
  readonly call: string;
  readonly destructive: boolean | null;
  readonly idempotent: boolean | null;
}
const setting = (what: string): Change => ({
  call: `${what} =`,
  destructive: null,
  idempotent: true,
});

const MAX_ENTRIES = 4_000;
const MAX_ITEMS = 2_000;
/** Members of `process` that are plain data. */
const PROCESS_DATA = /^(?:versions?|arch|p?pid|release|title|config|features|exitCode|argv0)$/u;
/** Built-in modules whose functions have effects outside the process. */
const ACTING =
  /^(?:fs|fs\/promises|child_process|https?|net|tls|dgram|vm|worker_threads|process|sqlite)$/u;
/** Parameter names that handlers use for the object with all arguments. */
const ALL_ARGUMENTS = /^arg:(?:params|args|arguments|input|options)?$/u;

/** The state while code is followed: limits, conditions, observations and memory. */
export class Machine {
  /** 0 during the program's start, 1 during a call. Values from the start outlive the call. */
  epoch = 0;
  steps = 0;
  limit = Infinity;
  readonly conditions: Condition[] = [];
  readonly via: Place[] = [];
  readonly stack: { readonly node: Node; readonly name: string }[] = [];
  run = new Run();
  /** Memory that the code tests before it sets the memory, such as a cache. */
  readonly once = new Set<string>();
  /** The memory that a `finally` restores. */
  readonly released = new Set<string>();
  /** A count that is above 0 while a `finally` runs. */
  #leaving = 0;
  #quiet = 0;
  /** True if the code has opened a database in read-only mode. */
  readOnlyData = false;
  /** The name of the tool that is followed. Code that uses an equal string increases `hits`. */
  toolName: string | undefined;
  /** The names of properties and variables that the code reassigns. */
  readonly assigned = new Set<string>();
  /** Receives calls during the start. Returns true if the call registers a handler. */
  onCall: (
    callee: { readonly name: string; readonly own: boolean },
    args: readonly Value[],
    place: Place,
  ) => boolean = () => false;
  onObject: (object: Obj | ClassValue, key: string, value: Value) => void = () => undefined;
  // The interpreter sets these fields:
  invoke: (fn: Value, self: Value, args: readonly Value[], place: Place) => Value = () => UNKNOWN;
  evaluate: (node: Node, scope: Scope, named?: string) => Value = () => UNKNOWN;
  #ids = 0;
  #isLate = false;

  constructor(
    readonly program: Program,
    readonly deadline: number,
    private readonly now: () => number,
  ) {}

  /** True if the time limit is reached. */
  get isOver(): boolean {
    return this.now() > this.deadline;
  }

  step(): void {
    if (++this.steps % 4096 === 0) this.#isLate ||= this.isOver;
    if (this.steps > this.limit || this.#isLate) throw EXHAUSTED;
  }

  /** Runs `work` with a limited number of steps. Returns false if the limit is reached. */
  attempt(run: () => void, steps = Infinity): boolean {
    const { limit } = this;
    this.limit = Math.min(limit, this.steps + steps);
    try {
      run();
      return true;
    } catch (error) {
      if (error !== EXHAUSTED && !(error instanceof RangeError)) throw error;
      return false;
    } finally {
      this.limit = limit;
    }
  }

  // ── values that the code creates ──
  object(
    props: Iterable<readonly [string, Value]> = [],
    kind: Obj['kind'] = 'object',
    items: readonly Value[] = [],
  ): Obj {
    return {
      t: 'obj',
      id: ++this.#ids,
      kind,
      props: new Map(props),
      items: [...items],
      rest: undefined,
      open: false,
      cls: undefined,
      proto: undefined,
      born: this.epoch,
      depth: this.conditions.length,
    };
  }

  array(items: readonly Value[]): Obj {
    return this.object([], 'array', items.slice(0, MAX_ITEMS));
  }

  declare(scope: Scope, name: string, value: Value | undefined, fixed = false): void {
    const id = ++this.#ids;
    const { epoch: born, conditions } = this;
    scope.vars.set(name, { value, id, name, born, depth: conditions.length, fixed });
  }

  scope(parent: Scope | undefined, frame: Frame, module: Scope['module']): Scope {
    return { vars: new Map(), parent, frame, module };
  }

  // ── variables ──
  readBinding(binding: Binding, place: Place): Value {
    const kept = binding.value ?? UNKNOWN;
    const value = kept.t === 'accessor' ? kept.get(UNDEFINED, place) : kept;
    return this.epoch > binding.born && !binding.fixed && this.assigned.has(binding.name)
      ? this.#fromState(value, `v${binding.id}`)
      : value;
  }

  assignBinding(binding: Binding, value: Value, place: Place, lazily = false): void {
    if (this.epoch > binding.born && !lazily)
      this.changed(`v${binding.id}`, place, setting(binding.name));
    const old = binding.value;
    const strong =
      old === undefined || (binding.depth >= this.conditions.length && binding.born === this.epoch);
    this.#undoable(() => (binding.value = old));
    binding.value = strong ? value : join(old, value);
  }

  // ── properties ──
  /** Returns a stored property: the object's own, or an inherited one. */
  lookup(object: Value, key: string): Value | undefined {
    for (let at: Value | undefined = object, depth = 0; depth < 16; depth++) {
      if (at?.t !== 'obj' && at?.t !== 'class' && at?.t !== 'fn') return undefined;
      const own = at.props.get(key);
      if (own !== undefined) return own;
      at = at.t === 'obj' ? at.proto : at.t === 'class' ? at.parent : undefined;
    }
    return undefined;
  }

  /** Returns the parent of an object or class if it comes from elsewhere, such as a package. */
  base(object: Value): Value | undefined {
    let at: Value | undefined = object;
    for (let depth = 0; depth < 16 && (at?.t === 'obj' || at?.t === 'class'); depth++)
      at = at.t === 'obj' ? at.proto : at.parent;
    return at;
  }

  /** Reads a member of a value. Without a key, reads all members. */
  get(object: Value, key: string | undefined, index: Value, place: Place): Value {
    return join(...solid(object).map((one) => this.#get(one, key, index, place)));
  }

  #get(one: Value, key: string | undefined, index: Value, place: Place): Value {
    switch (one.t) {
      case 'obj':
      case 'class':
      case 'fn':
        return key === undefined
          ? one.t === 'obj'
            ? this.#anyOf(one, index)
            : UNKNOWN
          : this.read(one, key, place);
      case 'native':
        return this.#getNative(one, key);
      case 'external':
        return key === undefined
          ? UNKNOWN
          : key === 'default'
            ? one
            : { ...one, path: [...one.path, key].slice(-8) };
      case 'unknown':
        return this.#getUnknown(one, key);
      case 'const':
        if (key === 'href') return one;
        return key === 'length' && typeof one.v === 'string' && !isPartial(one)
          ? constant(one.v.length, one.tags)
          : unknown(one.tags);
      default:
        return UNKNOWN;
    }
  }

  #anyOf(object: Obj, index: Value): Value {
    const all = contents(object);
    return all.length === 0
      ? this.readContents(object, unknown(tagsOf(index), false))
      : withTags(join(...all, unknownLike(...all)), tagsOf(index));
  }

  #getNative(one: Native, key: string | undefined): Value {
    const { module, path } = one;
    if (path.at(-1) === '()') return /^std(?:in|out|err)$/u.test(key ?? '') ? one : DATA;
    if (module === 'global' && path.length === 0 && ELSEWHERE.has(key ?? '')) return UNDEFINED;
    if (path[0] === 'process' || (module === 'process' && path.length === 0)) {
      if (path.at(-1) === 'env') return unknown([`env:${key ?? ''}`]);
      if (key === 'execPath') return constant('node');
      if (key === 'platform') return unknown(['platform']);
      if (PROCESS_DATA.test(key ?? '')) return DATA;
      if (key === 'argv' || key === 'execArgv') return unknown(['env:argv']);
    }
    if (key === 'default' || (key === 'promises' && module !== 'fs')) return one;
    if (key !== undefined) return { ...one, path: [...path, key] };
    return ACTING.test(module) || path.length === 0
      ? unread(`a computed member of ${module}`)
      : UNKNOWN;
  }

  #getUnknown(one: Value & { t: 'unknown' }, key: string | undefined): Value {
    const [only = '', ...more] = one.tags;
    if (only === 'unread:a proxy') this.unread(one);
    // A handler's context always has an `AbortSignal`.
    if (key === 'signal' && !one.data && !one.tags.some((tag) => tag.startsWith('unread:')))
      return DATA;
    if (more.length === 0 && ALL_ARGUMENTS.test(only))
      return key === 'length' ? one : unknown([`arg:${key ?? only.slice(4)}`]);
    const from = stateOf(one);
    if (from === undefined || key === undefined || !this.assigned.has(key) || from.length > 60)
      return one;
    return this.#fromState(one, `${from}.${key}`);
  }

  /** Reads a property of an object, function or class. */
  read(object: Obj | ClassValue | Fn, key: string, place: Place): Value {
    const found = this.lookup(object, key);
    if (found !== undefined) {
      this.hit(key, place);
      if (found.t === 'accessor') return found.get(object, place);
      return object.t === 'obj' && object.props.has(key)
        ? this.#ofObject(object, key, found)
        : found;
    }
    if (key === 'prototype') {
      if (object.t === 'class') return object.methods;
      const made = this.object();
      object.props.set(key, made);
      return made;
    }
    if (key === 'name' && object.t !== 'obj')
      return constant(
        object.t === 'fn'
          ? object.name
          : String((object.node['id'] as Node | null)?.['name'] ?? ''),
      );
    const base = this.base(object);
    if (object.t === 'obj') {
      const isIndex = object.kind === 'array' && /^\d+$/u.test(key);
      if (isIndex || key === 'length' || (key === 'size' && object.kind !== 'object'))
        return this.readContents(
          object,
          isIndex ? (object.items[Number(key)] ?? object.rest ?? UNDEFINED) : this.#sizeOf(object),
        );
      if (base === undefined) {
        const { rest } = object;
        return this.#ofObject(
          object,
          key,
          rest === undefined ? UNDEFINED : join(rest, unknownLike(rest)),
        );
      }
    }
    return base !== undefined
      ? this.get(base, key, UNKNOWN, place)
      : key === 'constructor'
        ? UNKNOWN
        : UNDEFINED;
  }

  #sizeOf({ born, items, kind, open, props, rest }: Obj): Value {
    return rest !== undefined || open || (kind !== 'array' && this.epoch > born)
      ? DATA
      : kind === 'object'
        ? UNDEFINED
        : constant(items.length + (kind === 'array' ? 0 : props.size));
  }

  #ofObject(object: Obj, key: string, value: Value): Value {
    return this.epoch > object.born && this.assigned.has(key)
      ? this.#fromState(value, `o${object.id}.${key}`)
      : value;
  }

  write(
    object: Value,
    key: string | undefined,
    value: Value,
    place: Place,
    how: 'set' | 'lazily' | 'making' = 'set',
  ): void {
    for (const one of options(object)) {
      if (one.t === 'unknown') {
        const from = stateOf(one);
        this.unread(one);
        if (from !== undefined && key !== undefined)
          this.changed(`${from}.${key}`, place, setting(key));
      }
      if (one.t === 'native') this.#patch(one, key);
      if (one.t !== 'obj' && one.t !== 'fn' && one.t !== 'class') continue;
      if (key === undefined || (one.t === 'obj' && one.kind === 'array' && /^\d/u.test(key))) {
        if (one.t === 'obj') this.fill(one, value, place, '[…] =');
        continue;
      }
      const old = one.props.get(key);
      const kept = this.lookup(one, key);
      if (kept?.t === 'accessor' && value.t !== 'accessor') {
        if (kept.set !== undefined) this.invoke(kept.set, one, [value], place);
        continue;
      }
      if (one.t === 'obj' && this.epoch > one.born && how === 'set')
        this.changed(`o${one.id}.${key}`, place, setting(key));
      const strong =
        one.t !== 'obj' ||
        how === 'making' ||
        (one.born === this.epoch && one.depth >= this.conditions.length);
      this.#undoable(() => (old === undefined ? one.props.delete(key) : one.props.set(key, old)));
      one.props.set(key, strong ? value : join(old ?? UNDEFINED, value));
      if (one.t !== 'fn') this.onObject(one, key, value);
    }
  }

  /** Records that a built-in function or object was changed and now does something unknown. */
  #patch({ module, path }: Native, key: string | undefined): void {
    // Servers replace `console` functions to redirect their own output, which isn't an effect.
    if (
      path.at(-1) === '()' ||
      path[0] === 'console' ||
      (path[0] === 'process' && path[1] !== 'env') ||
      key === 'stackTraceLimit'
    )
      return;
    this.unknownCall(`${[module, ...path, key ?? '[…]'].join('.')} is replaced`);
  }

  /** Adds a value under an unknown key. The value may replace any other value. */
  fill(
    object: Obj,
    value: Value,
    place: Place,
    call: string,
    idempotent: boolean | null = null,
  ): void {
    this.changedIn(object, place, { call, destructive: false, idempotent });
    this.#undoable(fillWith(object, value));
  }

  push(array: Obj, values: readonly Value[], place: Place, call = 'push'): void {
    this.changedIn(array, place, { call, destructive: false, idempotent: false });
    const { items, open } = array;
    this.#undoable(() => ([array.items, array.open] = [items, open]));
    const under = this.conditions.slice(array.depth);
    array.open ||= under.length > 0;
    const added = values.map((value) => perhaps(value, under));
    const all = call === 'unshift' ? [...added, ...items] : [...items, ...added];
    array.items = all.slice(0, MAX_ITEMS);
  }

  /** Marks the content of an array, Map or Set as read. */
  readContents(object: Obj, value: Value): Value {
    return this.epoch > object.born ? this.#fromState(value, `o${object.id}[]`) : value;
  }

  /** Marks memory in a value as read if the value is older than the call. Returns its tags. */
  touch(value: Value, depth = 4): Tags {
    if (value.t === 'union') return mergeTags(...value.of.map((one) => this.touch(one, depth)));
    if (value.t !== 'obj' || depth === 0) return [];
    const keys = [...value.props.keys()].slice(0, 50).map((key) => `.${key}`);
    const places =
      this.epoch > value.born ? ['[]', ...keys].map((key) => `o${value.id}${key}`) : [];
    const inner = contents(value).slice(0, 50);
    return mergeTags(
      ...places.map((place) => tagsOf(this.#fromState(DATA, place))),
      ...inner.map((one) => this.touch(one, depth - 1)),
    );
  }

  #fromState(value: Value, place: string): Value {
    if (this.#quiet === 0 && this.epoch > 0) {
      const readers = this.run.reads.get(place) ?? new Set();
      this.run.reads.set(place, readers.add(this.stack.at(-1)?.node));
    }
    return withTags(value, [`state:${place}`]);
  }

  /** Reads a value only to change it, so the read isn't recorded. */
  quietly<T>(run: () => T): T {
    this.#quiet++;
    try {
      return run();
    } finally {
      this.#quiet--;
    }
  }

  /** Runs a `finally`, which restores the memory that it sets. */
  leave<T>(run: () => T): T {
    this.#leaving++;
    try {
      return run();
    } finally {
      this.#leaving--;
    }
  }

  // ── effects ──
  record(
    effect: CallEffect,
    place: Place,
    more: { readonly temporary?: string; readonly state?: string } = {},
  ): void {
    const { conditions, epoch, run, stack, via } = this;
    if (epoch === 0 || run.entries.length > MAX_ENTRIES) return;
    run.entries.push({
      effect,
      place,
      conditions: [...conditions],
      via: [...via],
      names: stack.map(({ name }) => name),
      by: stack.at(-1)?.node,
      ...more,
    });
  }

  /** Records an effect a second time, under different conditions. */
  again(entry: Entry, conditions: readonly Condition[]): void {
    if (this.run.entries.length <= MAX_ENTRIES) this.run.entries.push({ ...entry, conditions });
  }

  /** Records a change inside an object, if the object is older than the call. */
  changedIn(object: Obj, place: Place, how: Change): void {
    if (this.epoch > object.born) this.changed(`o${object.id}[]`, place, how);
  }

  changed(state: string, place: Place, how: Change): void {
    if (this.epoch === 0) return;
    if (this.#leaving > 0) this.released.add(state);
    const object = /^o\d+/u.exec(state)?.[0];
    // If the code tested the same memory before changing it, the memory is a cache.
    const cached = this.conditions.some(({ tags }) =>
      tags.some(
        (tag) =>
          tag === `state:${state}` ||
          (object !== undefined && !state.includes('[].') && tag.startsWith(`state:${object}.`)),
      ),
    );
    if (cached) this.once.add(state);
    else this.record({ kind: 'memory-state', access: 'write', ...how }, place, { state });
  }

  /** Records the reason why some code wasn't followed, and the place if it's given. */
  unknownCall(reason: string, place?: Place): void {
    if (this.epoch > 0 && this.run.unknowns.size < 60)
      this.run.unknowns.add(place === undefined ? reason : `${reason} (${this.at(place)})`);
  }

  /** Records a call to an export of a module that wasn't read. */
  unread(value: Value): void {
    const tag = tagsOf(value).find((one) => one.startsWith('unread:'));
    if (tag !== undefined) this.unknownCall(`${tag.slice(7)} was not read`);
  }

  // ── conditions ──
  under<T>(condition: Condition | undefined, run: () => T): T {
    const before = this.conditions.length;
    if (condition !== undefined) this.conditions.push(condition);
    try {
      return run();
    } finally {
      if (condition !== undefined) this.conditions.length = before;
    }
  }

  /** Runs a tool's call, restores the memory, and returns the observations. */
  isolated(run: () => void): Run {
    const outer = this.run;
    const met = new Run();
    this.epoch++;
    this.run = met;
    try {
      run();
    } finally {
      for (const undo of met.undo.reverse()) undo();
      this.run = outer;
      this.epoch--;
      this.conditions.length = this.via.length = this.stack.length = 0;
    }
    return met;
  }

  #undoable(undo: () => void): void {
    if (this.epoch > 0) this.run.undo.push(undo);
  }

  // ── the name of the tool, where the code uses it as a key ──
  hit(text: unknown, place: Place): void {
    if (text !== this.toolName || this.toolName === undefined) return;
    this.run.hits++;
    this.run.firstHit ??= place;
  }

  at(place: Place): string {
    return placeOf(place.module, place.node.start);
  }
}
