/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import type { Calls } from './calls.js';
import { declaredNames, noteAssigned } from './declarations.js';
import { fromData } from './intrinsics.js';
import { EXHAUSTED, OUT_OF_TIME, type Machine, type Place } from './machine.js';
import type { Module, Node } from './program.js';
import {
  UNDEFINED,
  UNKNOWN,
  constant,
  unread,
  type Frame,
  type Obj,
  type Scope,
  type Value,
} from './values.js';

interface Loaded {
  readonly scope: Scope;
  readonly exports: Obj;
  readonly commonjs: Obj;
  readonly isModule: boolean;
}
/** How the statements of a module are run. */
interface Runner {
  hoist(body: readonly Node[], scope: Scope): void;
  statement(node: Node, scope: Scope): void;
}

/** Loads modules as Node does, once each, and says what they export: of both kinds, and of packages outside the subject by name. */
export class Modules {
  readonly loaded = new Map<Module, Loaded>();

  constructor(
    private readonly m: Machine,
    private readonly calls: Calls,
    private readonly run: Runner,
  ) {}

  load(module: Module): Loaded {
    const before = this.loaded.get(module);
    if (before !== undefined) return before;
    const { m } = this;
    const frame: Frame = { self: UNDEFINED, home: undefined, args: [], returns: [], yields: [] };
    const isModule = module.body.some((node) => /^(?:Import|Export)/u.test(node.type));
    const epoch = m.epoch;
    m.epoch = 0;
    const scope = m.scope(undefined, frame, module);
    const exports = m.object();
    const commonjs = m.object('object', [], [['exports', exports]]);
    const loaded: Loaded = { scope, exports, commonjs, isModule };
    this.loaded.set(module, loaded);
    if (module.body[0]?.type === 'Data')
      commonjs.props.set('exports', fromData(m, module.body[0]['data']));
    else {
      if (!isModule) {
        m.declare(scope, 'module', commonjs);
        m.declare(scope, 'exports', exports);
      }
      m.declare(scope, '__filename', constant(module.file), true);
      m.declare(scope, '__dirname', constant(module.file.replace(/\/[^/]*$/u, '')), true);
      noteAssigned(module.body, m.assigned);
      this.#runTop(module, scope, exports);
    }
    m.epoch = epoch;
    return loaded;
  }

  #runTop(module: Module, scope: Scope, exports: Obj): void {
    const { m } = this;
    const [conditions, via, stack] = [m.conditions.splice(0), m.via.splice(0), m.stack.splice(0)];
    const saved = [m.limit, m.steps] as const;
    this.run.hoist(module.body, scope);
    for (const node of module.body)
      if (node.type === 'ImportDeclaration') this.#bindImports(node, scope);
    for (const node of module.body)
      if (/^Export/u.test(node.type)) this.#export(node, scope, exports);
    for (const node of module.body) {
      m.limit = Math.min(saved[0], m.steps + 400_000, saved[1] + 4_000_000);
      try {
        this.run.statement(node, scope);
      } catch (error) {
        if (error === OUT_OF_TIME || (error !== EXHAUSTED && !(error instanceof RangeError)))
          throw error;
      }
      m.conditions.length = m.via.length = m.stack.length = 0;
    }
    m.limit = saved[0];
    m.conditions.push(...conditions);
    m.via.push(...via);
    m.stack.push(...stack);
  }

  #bindImports(node: Node, scope: Scope): void {
    if (node['importKind'] === 'type') return;
    const place: Place = { module: scope.module, node };
    const all = (): Value => this.namespace(place, node['source'].value);
    all();
    for (const specifier of node['specifiers'] as Node[]) {
      const name =
        specifier.type === 'ImportSpecifier'
          ? (specifier['imported'].name ?? specifier['imported'].value)
          : specifier.type === 'ImportDefaultSpecifier'
            ? 'default'
            : undefined;
      this.m.declare(
        scope,
        specifier['local'].name,
        {
          t: 'lazy',
          read: () => (name === undefined ? all() : this.m.get(all(), name, UNKNOWN, place)),
        },
        true,
      );
    }
  }

  /** Returns what `import * as` gives for a specifier. */
  namespace(place: Place, specifier: string): Value {
    const target = this.m.program.resolve(place.module.file, specifier);
    const missing = unread(specifier);
    if (target === undefined) return missing;
    if ('builtin' in target) return { t: 'native', module: target.builtin, path: [], args: [] };
    if ('pkg' in target) return { t: 'external', pkg: target.pkg, path: [], args: [] };
    const module = this.m.program.module(target.file);
    if (module === undefined) return missing;
    const loaded = this.load(module);
    if (loaded.isModule) return loaded.exports;
    const value = this.m.read(loaded.commonjs, 'exports', place);
    if (
      value.t === 'obj' &&
      value.kind === 'object' &&
      value.props.has('default') &&
      value.props.has('__esModule')
    )
      return value;
    if (value.t !== 'obj')
      return this.m.object(
        'object',
        [],
        [['default', value], ...(value.t === 'fn' || value.t === 'class' ? value.props : [])],
      );
    const namespace = this.m.object('object', [], [...value.props, ['default', value]]);
    namespace.proto = value;
    return namespace;
  }

  require(place: Place, specifier: string): Value {
    const space = this.namespace(place, specifier);
    const target = this.m.program.resolve(place.module.file, specifier);
    if (target === undefined || !('file' in target)) return space;
    const module = this.m.program.module(target.file);
    const loaded = module === undefined ? undefined : this.load(module);
    return loaded === undefined || loaded.isModule
      ? space
      : this.m.read(loaded.commonjs, 'exports', place);
  }

  #export(node: Node, scope: Scope, exports: Obj): void {
    const { m } = this;
    const place: Place = { module: scope.module, node };
    const later = (name: string, read: () => Value): void =>
      void exports.props.set(name, { t: 'lazy', read });
    const variable = (name: string): Value => {
      const binding = scope.vars.get(name);
      return binding === undefined ? UNKNOWN : m.readBinding(binding);
    };
    if (node.type === 'ExportAllDeclaration') {
      const all = (): Value => this.namespace(place, node['source'].value);
      if (node['exported'] !== null) later(node['exported'].name ?? node['exported'].value, all);
      else {
        const value = all();
        if (value.t === 'obj')
          for (const key of value.props.keys())
            if (key !== 'default' && !exports.props.has(key))
              later(key, () => m.read(value, key, place));
        if (value.t === 'external' || value.t === 'native' || value.t === 'unknown')
          exports.proto = value;
      }
    } else if (node.type === 'ExportDefaultDeclaration')
      later('default', () => variable('*default*'));
    else if (node.type === 'ExportNamedDeclaration') {
      if (node['declaration'] !== null && node['declaration'] !== undefined)
        for (const name of declaredNames(node['declaration'])) later(name, () => variable(name));
      for (const specifier of (node['specifiers'] ?? []) as Node[]) {
        const name: string = specifier['exported'].name ?? specifier['exported'].value;
        const local: string = specifier['local'].name ?? specifier['local'].value;
        later(
          name,
          node['source'] === null || node['source'] === undefined
            ? () => variable(local)
            : () => this.m.get(this.namespace(place, node['source'].value), local, UNKNOWN, place),
        );
      }
    }
  }

  /** Runs what a bundler made of modules that are loaded when they are needed: functions of the bundle without parameters. */
  initialiseBundled(): void {
    const { m } = this;
    const limit = m.limit;
    for (const [module, { scope }] of [...this.loaded]) {
      for (const { name, value } of [...scope.vars.values()]) {
        if (!/^init_/u.test(name) || value?.t !== 'fn' || value.node['params'].length > 0) continue;
        m.limit = Math.min(limit, m.steps + 100_000);
        try {
          m.invoke(value, UNDEFINED, [], { module, node: value.node });
        } catch (error) {
          if (error !== EXHAUSTED && !(error instanceof RangeError)) throw error;
        }
        m.limit = limit;
      }
    }
  }
}
