import { defineMetadata, getOwnMetadata } from 'reflect-metadata/no-conflict';
import { ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import type { Execute } from './tool-definition.js';
import { resolveMetadata, type ResolvedOptions } from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';

/** A class with a fitting `execute`. A property of function type: a method signature would also accept stricter inputs. */
export interface Executable<In, Out> {
  execute: Execute<In, Out, never>;
}

// `never` makes the constructor's own parameters irrelevant.
type Constructor<T> = abstract new (...args: never[]) => T;

/** A decorator of classes and methods, in both decorator modes; a class with `manual: true` needs no `execute`. */
export interface ToolDecorator<In, Out, Manual = false> {
  <This, Method extends Execute<In, Out, never>>(method: Method, context: ClassMethodDecoratorContext<This, Method>): void;
  <Class extends Constructor<Manual extends true ? object : Executable<In, Out>>>(target: Class, context?: ClassDecoratorContext<Class>): void;
  <Method extends Execute<In, Out, never>>(target: object, key: string | symbol, descriptor: TypedPropertyDescriptor<Method>): void;
}

/**
 * Declares a class with `execute` (a `manual` one needs none), or one method of a toolkit, as a tool.
 *
 * Works as a standard and as a legacy (`experimentalDecorators`) decorator. It registers nothing: hand the class or an
 * instance to a registry. Subclasses inherit the declaration unless they carry their own.
 *
 * ```ts
 * @tool({ name: 'greet', description: 'Greets a person', inputSchema: Input, accessMode: AccessMode.READONLY })
 * class Greet {
 *   execute({ name }: z.infer<typeof Input>) {
 *     return `Hello ${name}`;
 *   }
 * }
 * ```
 *
 * @throws ToolError `INVALID_METADATA` when an option is wrong, `INVALID_DECORATION` on anything but a class or a public method.
 */
export function tool<In extends ToolSchema, Out extends ToolSchema = ToolSchema, Manual extends boolean = false, Context = unknown>(
  options: ToolOptions<In, Out, Context> & { readonly manual?: Manual },
): ToolDecorator<InputOf<In>, SchemaInput<Out>, Manual> {
  const resolved = resolveMetadata(options);
  const { name } = resolved.metadata;
  return ((target: unknown, second?: unknown, descriptor?: unknown): void => {
    if (isStandardContext(second)) {
      if (second.kind === 'class') storeOnClass(target as object, resolved);
      else if (second.kind !== 'method') throw invalidDecoration(name, `a ${String((second as { kind: unknown }).kind)}`);
      else if (second.private) throw invalidDecoration(name, `the private method ${String(second.name)}`);
      else if (second.metadata === undefined) throw invalidDecoration(name, 'a method of a class defined before tooldex was imported (its Symbol.metadata is missing)');
      else storeOnStandardMethod(second.metadata, second.static ? 'static' : 'instance', second.name, resolved);
    } else if (second === undefined && typeof target === 'function') {
      storeOnClass(target, resolved);
    } else if ((typeof second === 'string' || typeof second === 'symbol') && isMethodDescriptor(descriptor)) {
      if (typeof target === 'function') storeOnLegacyMethod(target, 'static', second, resolved);
      else storeOnLegacyMethod((target as object).constructor, 'instance', second, resolved);
    } else {
      throw invalidDecoration(name, describeValue(second ?? target));
    }
  });
}

function isStandardContext(value: unknown): value is ClassDecoratorContext | ClassMethodDecoratorContext {
  return typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value;
}

function isMethodDescriptor(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as PropertyDescriptor).value === 'function';
}

function invalidDecoration(name: string, found: string): ToolError {
  return new ToolError('INVALID_DECORATION', `Tool "${name}": expected @tool on a class or a public method, got ${found}`, { details: { name } });
}


/**
 * The place where decorators leave what they were given.
 *
 * The keys come from `Symbol.for`, so that two loaded copies of the package (ESM and CJS, or two versions) read each
 * other; the suffix changes only with the shape of what is stored. Nothing global is patched but `Symbol.metadata`,
 * without which compilers give standard decorators no place to store anything.
 */
const CLASS_KEY = Symbol.for('tooldex/class/v1');
const METHODS_KEY = Symbol.for('tooldex/methods/v1');

// Node 20 lacks it, although its type says otherwise.
if ((Symbol.metadata as symbol | undefined) === undefined) Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') });

export type MethodSide = 'instance' | 'static';
type MethodRecord = Map<PropertyKey, ResolvedOptions>;
type MethodRecords = Partial<Record<MethodSide, MethodRecord>>;

function storeOnClass(target: object, options: ResolvedOptions): void {
  defineMetadata(CLASS_KEY, options, target);
}

/** The options that a class was decorated with, itself or through the nearest decorated class it extends. */
export function classOptions(constructor: object): ResolvedOptions | undefined {
  for (const each of inheritance(constructor)) {
    const own = getOwnMetadata(CLASS_KEY, each) as ResolvedOptions | undefined;
    if (own !== undefined) return own;
  }
  return undefined;
}

/** Stores options for legacy decorators, which receive the class or its prototype. */
function storeOnLegacyMethod(constructor: object, side: MethodSide, key: PropertyKey, options: ResolvedOptions): void {
  const records = (getOwnMetadata(METHODS_KEY, constructor) as MethodRecords | undefined) ?? {};
  // Own records only: adding to an inherited one would decorate the base class.
  if (!getOwnMetadata(METHODS_KEY, constructor)) defineMetadata(METHODS_KEY, records, constructor);
  (records[side] ??= new Map()).set(key, options);
}

/** Stores options for standard decorators, which share one metadata object per class. */
function storeOnStandardMethod(metadata: DecoratorMetadataObject, side: MethodSide, key: PropertyKey, options: ResolvedOptions): void {
  if (!Object.hasOwn(metadata, METHODS_KEY)) Object.defineProperty(metadata, METHODS_KEY, { value: {} });
  const records = (metadata as Record<symbol, unknown>)[METHODS_KEY] as MethodRecords;
  (records[side] ??= new Map()).set(key, options);
}

/** The decorated methods of a class and of those it extends; the nearest declaration of a method wins. */
export function methodOptions(constructor: object, side: MethodSide): ReadonlyMap<PropertyKey, ResolvedOptions> {
  const found: MethodRecord = new Map();
  for (const each of inheritance(constructor)) {
    const legacy = getOwnMetadata(METHODS_KEY, each) as MethodRecords | undefined;
    for (const records of [legacy, standardRecords(each)]) {
      for (const [key, options] of records?.[side] ?? []) if (!found.has(key)) found.set(key, options);
    }
  }
  return found;
}

function standardRecords(constructor: object): MethodRecords | undefined {
  const metadata = Object.hasOwn(constructor, Symbol.metadata) ? (constructor as Record<symbol, unknown>)[Symbol.metadata] : undefined;
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, METHODS_KEY)) return undefined;
  return (metadata as Record<symbol, MethodRecords>)[METHODS_KEY];
}

/**
 * Returns a class and the classes it extends, nearest first. Not every compiler chains metadata objects, so classes are
 * walked.
 */
function* inheritance(constructor: object): Generator<object> {
  for (let each: object | null = constructor; each !== null && each !== Function.prototype && each !== Object.prototype; each = Object.getPrototypeOf(each) as object | null) {
    yield each;
  }
}
