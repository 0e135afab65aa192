import { defineMetadata, getOwnMetadata } from 'reflect-metadata/no-conflict';
import type { ResolvedOptions } from './metadata/tool-metadata.js';

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

export function storeOnClass(target: object, options: ResolvedOptions): void {
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
export function storeOnLegacyMethod(constructor: object, side: MethodSide, key: PropertyKey, options: ResolvedOptions): void {
  const records = (getOwnMetadata(METHODS_KEY, constructor) as MethodRecords | undefined) ?? {};
  // Own records only: adding to an inherited one would decorate the base class.
  if (!getOwnMetadata(METHODS_KEY, constructor)) defineMetadata(METHODS_KEY, records, constructor);
  (records[side] ??= new Map()).set(key, options);
}

/** Stores options for standard decorators, which share one metadata object per class. */
export function storeOnStandardMethod(metadata: DecoratorMetadataObject, side: MethodSide, key: PropertyKey, options: ResolvedOptions): void {
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
