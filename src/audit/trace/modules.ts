/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-member-access -- the syntax tree is untyped */
import { declaredNames, noteAssigned } from './declarations.js';
import { fromData } from './intrinsics.js';
import type { Machine } from './machine.js';
import type { Module, Node } from './program.js';
import {
  UNDEFINED,
  UNKNOWN,
  constant,
  unread,
  type Frame,
  type Obj,
  type Place,
  type Scope,
  type Value,
} from './values.js';

interface Loaded {
  readonly scope: Scope;
  readonly exports: Obj;
  readonly commonjs: Obj;
  readonly isModule: boolean;
}
/**
 * Loads each module once, as Node does, and returns its exports. Packages outside the audited code
 * aren't loaded, so only their names are known.
 */
export class Modules {
  readonly loaded = new Map<Module, Loaded>();

  constructor(
    private readonly m: Machine,
    private readonly runBody: (body: readonly Node[], scope: Scope) => void,
  ) {}

  load(module: Module): Loaded {
    const before = this.loaded.get(module);
    if (before !== undefined) return before;
    const { m } = this;
    const frame: Frame = { self: UNDEFINED, home: undefined, args: [], returns: [] };
    const isModule = module.body.some((node) => /^(?:Import|Export)/u.test(node.type));
    const { epoch } = m;
    m.epoch = 0;
    const scope = m.scope(undefined, frame, module);
    const exports = m.object();
    const commonjs = m.object([['exports', exports]]);
    const loaded: Loaded = { scope, exports, commonjs, isModule };
    this.loaded.set(module, loaded);
    const [first] = module.body;
    if (first?.type === 'Data') commonjs.props.set('exports', fromData(m, first['data']));
    else {
      if (!isModule) {
        m.declare(scope, 'module', commonjs);
        m.declare(scope, 'exports', exports);
      }
      m.declare(scope, '__filename', constant(module.file), true);
      m.declare(scope, '__dirname', constant(module.file.replace(/\/[^/]*$/u, '')), true);
      noteAssigned(module.body, m.assigned);
      const [conditions, via, stack] = [m.conditions, m.via, m.stack].map((list) => list.splice(0));
      for (const node of module.body) {
        if (node.type === 'ImportDeclaration') this.#bindImports(node, scope);
        if (/^Export/u.test(node.type)) this.#export(node, scope, exports);
      }
      m.attempt(() => this.runBody(module.body, scope), 4_000_000);
      m.conditions.push(...(conditions as typeof m.conditions));
      m.via.push(...(via as typeof m.via));
      m.stack.push(...(stack as typeof m.stack));
    }
    m.epoch = epoch;
    return loaded;
  }

  #bindImports(node: Node, scope: Scope): void {
    if (node['importKind'] === 'type') return;
    const place: Place = { module: scope.module, node };
    const all = (): Value => this.namespace(place, node['source'].value);
    all();
    for (const { imported, local, type } of node['specifiers'] as Node[]) {
      const name = type === 'ImportDefaultSpecifier' ? 'default' : imported && nameOf(imported);
      const get = (): Value => (name ? this.m.get(all(), name, UNKNOWN, place) : all());
      this.m.declare(scope, local.name, { t: 'accessor', get }, true);
    }
  }

  /** Returns the namespace object of the module that a specifier names. */
  namespace(place: Place, specifier: string): Value {
    const { m } = this;
    const target = m.program.resolve(place.module.file, specifier);
    if (target !== undefined && 'builtin' in target)
      return { t: 'native', module: target.builtin, path: [], args: [] };
    if (target !== undefined && 'pkg' in target)
      return { t: 'external', pkg: target.pkg, path: [], args: [] };
    const module = target && m.program.module(target.file);
    if (module === undefined) return unread(specifier);
    const loaded = this.load(module);
    if (loaded.isModule) return loaded.exports;
    const value = m.read(loaded.commonjs, 'exports', place);
    if (value.t === 'obj' && value.props.has('default') && value.props.has('__esModule'))
      return value;
    const namespace = m.object([...('props' in value ? value.props : []), ['default', value]]);
    if (value.t === 'obj') namespace.proto = value;
    return namespace;
  }

  require(place: Place, specifier: string): Value {
    const space = this.namespace(place, specifier);
    const target = this.m.program.resolve(place.module.file, specifier);
    const module = target && 'file' in target ? this.m.program.module(target.file) : undefined;
    const loaded = module && this.load(module);
    return loaded === undefined || loaded.isModule
      ? space
      : this.m.read(loaded.commonjs, 'exports', place);
  }

  #export(node: Node, scope: Scope, exports: Obj): void {
    const { m } = this;
    const place: Place = { module: scope.module, node };
    const from: string | undefined = node['source']?.value;
    const later = (name: string, get: () => Value): void =>
      void exports.props.set(name, { t: 'accessor', get });
    const variable = (name: string): Value => {
      const binding = scope.vars.get(name);
      return binding === undefined ? UNKNOWN : m.readBinding(binding, place);
    };
    if (node.type === 'ExportAllDeclaration') {
      const all = (): Value => this.namespace(place, from ?? '');
      if (node['exported'] !== null) {
        later(nameOf(node['exported']), all);
        return;
      }
      const value = all();
      if (value.t !== 'obj') exports.proto = value;
      else
        for (const key of value.props.keys())
          if (key !== 'default' && !exports.props.has(key))
            later(key, () => m.read(value, key, place));
    } else if (node.type === 'ExportDefaultDeclaration')
      later('default', () => variable('*default*'));
    else {
      for (const name of node['declaration'] ? declaredNames(node['declaration']) : [])
        later(name, () => variable(name));
      for (const { exported, local } of (node['specifiers'] ?? []) as Node[])
        later(nameOf(exported), () =>
          from === undefined
            ? variable(nameOf(local))
            : m.get(this.namespace(place, from), nameOf(local), UNKNOWN, place),
        );
    }
  }

  /** Runs the functions that a bundler generates for modules that load on demand. */
  initialiseBundled(): void {
    for (const [module, { scope }] of [...this.loaded])
      for (const { name, value } of [...scope.vars.values()])
        if (name.startsWith('init_') && value?.t === 'fn' && value.node['params'].length === 0)
          this.m.attempt(
            () => void this.m.invoke(value, UNDEFINED, [], { module, node: value.node }),
            100_000,
          );
  }
}

const nameOf = (node: Node): string => (node['name'] ?? node['value']) as string;
