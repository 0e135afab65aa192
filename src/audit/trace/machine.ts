import type { CallEffect } from '../effect.js';
import { placeOf, type Module, type Node, type Program } from './program.js';
import {
  ACTING,
  ELSEWHERE,
  DATA,
  UNDEFINED,
  UNKNOWN,
  constant,
  contents,
  isPartial,
  join,
  mergeTags,
  options,
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
  type Scope,
  type Tags,
  type Value,
} from './values.js';

/** Why a place is reached: a test on these sources, a `catch`, a callback that runs later. `special` is true where the test asks for an input of its own. */
export interface Condition {
  readonly tags: Tags;
  readonly special: boolean;
  readonly kind: 'test' | 'catch' | 'later';
}
export interface Place {
  readonly module: Module;
  readonly node: Node;
}
/** One effect as it was met, with the conditions and calls that led there. */
export interface Entry {
  readonly effect: CallEffect;
  readonly place: Place;
  readonly conditions: readonly Condition[];
  readonly via: readonly Place[];
  readonly names: readonly string[];
  /** The function in which it was met. */
  readonly by: Node | undefined;
  /** For a temporary path: the path, so that a file that is removed again is not counted. */
  readonly temporary?: string;
  /** For a change of memory: what is changed. */
  readonly state?: string;
}

/** Thrown where a bound of steps is reached; the call that was given them is then unknown. */
export const EXHAUSTED = new Error('more steps than are taken');
export const OUT_OF_TIME = new Error('more time than is taken');

/** The state of one run through the code: bounds, conditions, the way there, what was met, and the memory that the code made. */
export class Machine {
  /** 0 while the program starts; then 1 in a tool's call. What was made in an earlier epoch outlives the call. */
  epoch = 0;
  steps = 0;
  limit = Infinity;
  readonly conditions: Condition[] = [];
  readonly via: Place[] = [];
  readonly stack: { readonly node: Node; readonly name: string }[] = [];
  entries: Entry[] = [];
  /** The memory that was read, each with the functions that read it. */
  reads = new Map<string, Set<Node | undefined>>();
  /** Memory that is set back in a `finally`. */
  readonly released = new Set<string>();
  /** Above 0 while a `finally` runs. */
  leaving = 0;
  unknowns = new Set<string>();
  /** Memory that is set because it was asked before: caches, and what is made when it is needed first. */
  readonly once = new Set<string>();
  /** The arguments that the tool's schema requires. */
  required = new Set<string>();
  quiet = 0;
  /** True once the code opened a database for reading only. */
  readOnlyData = false;
  /** The tool that is traced: texts equal to it count its uses as a key. */
  toolName: string | undefined;
  toolHits = 0;
  firstHit: Place | undefined;
  /** The functions that were run in the tool's call. */
  visited = new Set<Node>();
  /** Names of properties and variables that the code assigns after they are made. */
  readonly assigned = new Set<string>();
  readonly onObject: ((object: Obj | ClassValue, key: string, value: Value) => void)[] = [];
  /** Runs a function; set by the interpreter. */
  invoke: (fn: Value, self: Value, args: readonly Value[], place: Place) => Value = () => UNKNOWN;
  #trail: (() => void)[] = [];
  #ids = 0;

  constructor(
    readonly program: Program,
    readonly deadline: number,
    private readonly now: () => number,
  ) {}

  step(): void {
    if (++this.steps > this.limit) throw EXHAUSTED;
    if (this.steps % 4096 === 0 && this.now() > this.deadline) throw OUT_OF_TIME;
  }

  id(): number {
    return ++this.#ids;
  }

  // ── what the code makes ──
  object(
    kind: Obj['kind'] = 'object',
    items: readonly Value[] = [],
    props: Iterable<readonly [string, Value]> = [],
  ): Obj {
    return {
      t: 'obj',
      id: this.id(),
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

  declare(scope: Scope, name: string, value: Value | undefined, fixed = false): Binding {
    const binding: Binding = {
      value,
      id: this.id(),
      name,
      born: this.epoch,
      depth: this.conditions.length,
      fixed,
    };
    scope.vars.set(name, binding);
    return binding;
  }

  scope(parent: Scope | undefined, frame: Frame, module: Module): Scope {
    return { vars: new Map(), parent, frame, module };
  }

  // ── variables ──
  readBinding(binding: Binding): Value {
    const value =
      binding.value === undefined
        ? UNKNOWN
        : binding.value.t === 'lazy'
          ? binding.value.read()
          : binding.value;
    return this.epoch > binding.born && !binding.fixed && this.assigned.has(binding.name)
      ? this.#fromState(value, `v${binding.id}`)
      : value;
  }

  assignBinding(binding: Binding, value: Value, place: Place, lazily = false): void {
    if (this.epoch > binding.born && !lazily)
      this.changed(`v${binding.id}`, place, {
        call: `${binding.name} =`,
        destructive: null,
        idempotent: true,
      });
    const old = binding.value;
    const strong =
      old === undefined || (binding.depth >= this.conditions.length && binding.born === this.epoch);
    this.#undoable(() => (binding.value = old));
    binding.value = strong ? value : join(old, value);
  }

  // ── properties ──
  read(object: Value, key: string, place: Place): Value {
    if (object.t !== 'obj' && object.t !== 'fn' && object.t !== 'class') return UNKNOWN;
    const found = this.lookup(object, key);
    if (found === undefined) {
      if (object.t !== 'obj') return UNDEFINED;
      const open =
        object.rest !== undefined ||
        object.proto?.t === 'external' ||
        object.proto?.t === 'unknown';
      const fallback = open
        ? join(object.rest ?? UNKNOWN, unknownLike(object.rest ?? UNKNOWN))
        : UNDEFINED;
      return this.epoch > object.born && this.assigned.has(key)
        ? this.#fromState(fallback, `o${object.id}.${key}`)
        : fallback;
    }
    if (found.t === 'accessor')
      return found.get === undefined ? UNDEFINED : this.invoke(found.get, object, [], place);
    const value = found.t === 'lazy' ? found.read() : found;
    return object.t === 'obj' &&
      this.epoch > object.born &&
      this.assigned.has(key) &&
      object.props.has(key)
      ? this.#fromState(value, `o${object.id}.${key}`)
      : value;
  }

  /** Reads a member of a value. Without a key, everything that it holds. */
  get(object: Value, key: string | undefined, index: Value, place: Place): Value {
    return join(
      ...options(object)
        .filter(
          (one, _, { length }) =>
            length === 1 || one.t !== 'const' || (one.v !== undefined && one.v !== null),
        )
        .map((one): Value => {
          switch (one.t) {
            case 'obj':
              if (key === undefined)
                return contents(one).length === 0
                  ? this.readContents(one, unknown(tagsOf(index), false))
                  : withTags(join(...contents(one), unknownLike(...contents(one))), tagsOf(index));
              if (one.kind === 'array' && key === 'length')
                return this.readContents(
                  one,
                  one.rest === undefined && !one.open ? constant(one.items.length) : DATA,
                );
              if (one.kind === 'array' && /^\d+$/u.test(key))
                return this.readContents(one, one.items[Number(key)] ?? one.rest ?? UNDEFINED);
              if (one.kind !== 'object' && key === 'size')
                return this.readContents(
                  one,
                  this.epoch > one.born || one.rest !== undefined
                    ? DATA
                    : constant(one.props.size + one.items.length),
                );
              if (this.lookup(one, key) !== undefined) this.hit(key, place);
              if (
                one.proto !== undefined &&
                one.proto.t !== 'obj' &&
                this.lookup(one, key) === undefined
              )
                return this.get(one.proto, key, index, place);
              return this.read(one, key, place);
            case 'class':
              if (key === 'prototype') return { ...this.object(), props: one.methods, cls: one };
              if (key === 'name')
                return constant(
                  String((one.node['id'] as { readonly name?: string } | undefined)?.name ?? ''),
                );
              return key === undefined
                ? UNKNOWN
                : one.parent !== undefined &&
                    one.parent.t !== 'class' &&
                    this.lookup(one, key) === undefined
                  ? this.get(one.parent, key, index, place)
                  : this.read(one, key, place);
            case 'fn':
              if (key === 'name') return constant(one.name);
              if (key === 'constructor') return UNKNOWN;
              if (key === 'prototype' && !one.props.has(key)) one.props.set(key, this.object());
              return key === undefined ? UNKNOWN : this.read(one, key, place);
            case 'native':
              if (
                one.module === 'global' &&
                one.path.length === 0 &&
                key !== undefined &&
                ELSEWHERE.has(key)
              )
                return UNDEFINED;
              if (one.module === 'global' && one.path[0] === 'process') {
                if (one.path[1] === 'env') return unknown([`env:${key ?? ''}`]);
                if (key === 'execPath') return constant('node');
                if (key === 'platform') return unknown(['platform']);
                if (
                  key !== undefined &&
                  /^(?:versions?|arch|p?pid|release|title|config|features|exitCode|argv0)$/u.test(
                    key,
                  )
                )
                  return DATA;
                if (key === 'argv' || key === 'execArgv') return unknown(['env:argv']);
              }
              if (one.path.at(-1) === '()')
                return key === 'stdin' || key === 'stdout' || key === 'stderr' ? one : DATA;
              if (key === 'default' || (key === 'promises' && one.module !== 'fs')) return one;
              if (key === undefined)
                return ACTING.has(one.module) || (one.module === 'global' && one.path.length === 0)
                  ? unread(`a computed member of ${one.module}`)
                  : UNKNOWN;
              return { ...one, path: [...one.path, key] };
            case 'external':
              return key === undefined
                ? UNKNOWN
                : key === 'default'
                  ? one
                  : { ...one, path: [...one.path, key].slice(-8) };
            case 'unknown': {
              if (one.tags.includes('unread:a proxy')) this.unread(one);
              const root = one.tags.length === 1 && one.tags[0] === 'arg:';
              const [only] = one.tags;
              // Every context has the signal of the language.
              if (
                key === 'signal' &&
                !one.data &&
                !one.tags.some((tag) => tag.startsWith('unread:'))
              )
                return DATA;
              if (root && key === 'length') return one;
              if (
                root ||
                (one.tags.length === 1 &&
                  only !== undefined &&
                  /^arg:(?:params|args|arguments|input|options)$/u.test(only))
              )
                return unknown([`arg:${key ?? only?.slice(4) ?? ''}`]);
              const from = one.tags.filter((tag) => tag.startsWith('state:')).at(-1);
              if (
                from === undefined ||
                key === undefined ||
                !this.assigned.has(key) ||
                from.length > 60
              )
                return one;
              if (this.quiet === 0 && this.epoch > 0) this.#noteRead(`${from.slice(6)}.${key}`);
              return withTags(one, [`${from}.${key}`]);
            }
            case 'const':
              if (key === 'href') return one;
              if (key === 'length' && typeof one.v === 'string')
                return isPartial(one) ? unknown(one.tags) : constant(one.v.length, one.tags);
              return unknown(one.tags);
            default:
              return UNKNOWN;
          }
        }),
    );
  }

  /** Returns the property as it is kept: own, of the class, or of what it extends. */
  lookup(object: Obj | Fn | ClassValue, key: string): Value | undefined {
    const own = object.props.get(key);
    if (own !== undefined) return own;
    if (object.t === 'class')
      return object.parent?.t === 'class' ? this.lookup(object.parent, key) : undefined;
    if (object.t !== 'obj') return undefined;
    for (
      let cls = object.cls, depth = 0;
      cls !== undefined && depth < 12;
      cls = cls.parent?.t === 'class' ? cls.parent : undefined, depth++
    ) {
      const method = cls.methods.get(key);
      if (method !== undefined) return method;
    }
    return object.proto?.t === 'obj' && object.proto !== object
      ? this.lookup(object.proto, key)
      : undefined;
  }

  write(
    object: Value,
    key: string | undefined,
    value: Value,
    place: Place,
    how: { lazily?: boolean; making?: boolean } = {},
  ): void {
    for (const one of options(object)) {
      if (one.t === 'unknown') {
        const from = one.tags.find((tag) => tag.startsWith('state:'));
        this.unread(one);
        if (from !== undefined && key !== undefined && this.epoch > 0)
          this.changed(`${from.slice(6)}.${key}`, place, {
            call: `${key} =`,
            destructive: null,
            idempotent: true,
          });
      }
      if (one.t === 'native') this.#patch(one, key);
      if (one.t !== 'obj' && one.t !== 'fn' && one.t !== 'class') continue;
      if (key === undefined) {
        if (one.t === 'obj') this.fill(one, value, place, '[…] =');
        continue;
      }
      const old = one.props.get(key);
      const setter = old ?? (one.t === 'obj' ? this.lookup(one, key) : undefined);
      if (setter?.t === 'accessor' && value.t !== 'accessor') {
        if (setter.set !== undefined) this.invoke(setter.set, one, [value], place);
        continue;
      }
      if (one.t === 'obj' && this.epoch > one.born && how.lazily !== true && how.making !== true)
        this.changed(`o${one.id}.${key}`, place, {
          call: `${key} =`,
          destructive: null,
          idempotent: true,
        });
      const strong =
        one.t !== 'obj' ||
        how.making === true ||
        (one.born === this.epoch && one.depth >= this.conditions.length);
      this.#undoable(() => (old === undefined ? one.props.delete(key) : one.props.set(key, old)));
      one.props.set(key, strong ? value : join(old ?? UNDEFINED, value));
      if (one.t !== 'fn') for (const listen of this.onObject) listen(one, key, value);
    }
  }

  /** Notes what is set on an object of the language or of Node: what that does afterwards is not known. */
  #patch({ module, path }: Native, key: string | undefined): void {
    // Servers redirect what is printed; that is no effect.
    if (
      path.at(-1) === '()' ||
      path[0] === 'console' ||
      (path[0] === 'process' && path[1] !== 'env') ||
      key === 'stackTraceLimit'
    )
      return;
    this.unknownCall(`${[module, ...path, key ?? '[…]'].join('.')} is replaced`);
  }

  /** Adds a value under a key that is not known, or at an array's end. */
  fill(
    object: Obj,
    value: Value,
    place: Place,
    call: string,
    idempotent: boolean | null = null,
  ): void {
    if (this.epoch > object.born)
      this.changed(`o${object.id}[]`, place, { call, destructive: false, idempotent });
    const { rest } = object;
    this.#undoable(() => (object.rest = rest));
    object.rest = rest === undefined ? value : join(rest, value);
  }

  push(array: Obj, values: readonly Value[], place: Place, call = 'push'): void {
    if (this.epoch > array.born)
      this.changed(`o${array.id}[]`, place, { call, destructive: false, idempotent: false });
    const { items, open } = array;
    this.#undoable(() => ([array.items, array.open] = [items, open]));
    array.open ||= this.conditions.length > array.depth;
    array.items =
      call === 'unshift' ? [...values, ...items] : [...items, ...values].slice(0, 2_000);
  }

  /** Marks the read of what an array, Map or Set holds. */
  readContents(object: Obj, value: Value): Value {
    return this.epoch > object.born ? this.#fromState(value, `o${object.id}[]`) : value;
  }

  /** Marks all that an object from before the call holds as read, and returns where it comes from. */
  touch(value: Value, depth = 4): Tags {
    if (value.t === 'union') return mergeTags(...value.of.map((one) => this.touch(one, depth)));
    if (value.t !== 'obj' || depth === 0) return [];
    const places =
      this.epoch > value.born
        ? [
            `o${value.id}[]`,
            ...[...value.props.keys()].slice(0, 50).map((key) => `o${value.id}.${key}`),
          ]
        : [];
    for (const place of places) this.#noteRead(place);
    return mergeTags(
      places.map((place) => `state:${place}`),
      ...contents(value)
        .slice(0, 50)
        .map((one) => this.touch(one, depth - 1)),
    );
  }

  #noteRead(place: string): void {
    const readers = this.reads.get(place) ?? new Set();
    this.reads.set(place, readers.add(this.stack.at(-1)?.node));
  }

  /** Runs a `finally`: what it sets is put back. */
  leave<T>(run: () => T): T {
    this.leaving++;
    try {
      return run();
    } finally {
      this.leaving--;
    }
  }

  #fromState(value: Value, place: string): Value {
    if (this.quiet === 0) this.#noteRead(place);
    return withTags(value, [`state:${place}`]);
  }

  // ── effects ──
  record(
    effect: CallEffect,
    place: Place,
    more: { readonly temporary?: string; readonly state?: string } = {},
  ): void {
    if (this.epoch === 0 || this.entries.length > 4_000) return;
    this.entries.push({
      effect,
      place,
      conditions: [...this.conditions],
      via: [...this.via],
      names: this.stack.map(({ name }) => name),
      by: this.stack.at(-1)?.node,
      ...more,
    });
  }

  changed(
    state: string,
    place: Place,
    how: {
      readonly call: string;
      readonly destructive: boolean | null;
      readonly idempotent: boolean | null;
    },
  ): void {
    if (this.epoch === 0) return;
    if (this.leaving > 0) this.released.add(state);
    const object = /^o\d+/u.exec(state)?.[0];
    // A change that is made because the same memory was asked before is a cache, or something made when it is needed first.
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

  /** Notes that something was not followed; with the place where, unless the reason names it. */
  unknownCall(reason: string, place?: Place): void {
    if (this.epoch > 0 && this.unknowns.size < 60)
      this.unknowns.add(place === undefined ? reason : `${reason} (${this.at(place)})`);
  }

  /** Notes the call of what a module exports that was not read. */
  unread(value: Value): void {
    const tag = tagsOf(value).find((one) => one.startsWith('unread:'));
    if (tag !== undefined) this.unknownCall(`${tag.slice(7)} was not read`);
  }

  // ── conditions ──
  under<T>(condition: Condition | undefined, run: () => T): T {
    if (condition === undefined) return run();
    const before = this.conditions.length;
    this.conditions.push(condition);
    try {
      return run();
    } finally {
      this.conditions.length = before;
    }
  }

  /** Runs one tool's call and puts the memory back as it was. */
  isolated<T>(run: () => T): T {
    const { epoch, entries, reads, unknowns } = this;
    const trail = this.#trail;
    [this.toolHits, this.firstHit, this.visited, this.required] = [
      0,
      undefined,
      new Set(),
      new Set(),
    ];
    [this.epoch, this.entries, this.reads, this.unknowns, this.#trail] = [
      epoch + 1,
      [],
      new Map<string, Set<Node | undefined>>(),
      new Set(),
      [],
    ];
    try {
      return run();
    } finally {
      for (const undo of this.#trail.reverse()) undo();
      [this.epoch, this.entries, this.reads, this.unknowns, this.#trail] = [
        epoch,
        entries,
        reads,
        unknowns,
        trail,
      ];
      this.conditions.length = this.via.length = this.stack.length = 0;
    }
  }

  #undoable(undo: () => void): void {
    if (this.epoch > 0) this.#trail.push(undo);
  }

  // ── the name of the tool, where the code uses it as a key ──
  hit(text: unknown, place: Place): void {
    if (text !== this.toolName || this.toolName === undefined) return;
    this.toolHits++;
    this.firstHit ??= place;
  }

  at(place: Place): string {
    return placeOf(place.module, place.node.start);
  }
}
