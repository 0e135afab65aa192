import { defineMetadata, getOwnMetadata } from 'reflect-metadata/no-conflict';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import type { Execute } from './tool-definition.js';
import { resolveMetadata, type ResolvedOptions } from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';

/**
 * A class with a matching `execute`. `execute` is typed as a property, because a method signature
 * would also accept an `execute` with stricter inputs.
 */
interface Executable<In, Out> {
  execute: Execute<In, Out, never>;
}

// A class with any constructor parameters.
export type Constructor<T> = abstract new (...args: never[]) => T;

/**
 * A class decorator for both decorator modes (standard and legacy). A class with `manual: true`
 * doesn't need `execute`.
 */
export type ToolClassDecorator<In, Out, Manual = false> = <
  Class extends Constructor<Manual extends true ? object : Executable<In, Out>>,
>(
  target: Class,
  context?: ClassDecoratorContext<Class>,
) => Class;

/**
 * A decorator for classes and methods, in both decorator modes (standard and legacy). A class with
 * `manual: true` doesn't need `execute`. When called as a function, the decorator returns the
 * class.
 */
export interface ToolDecorator<In, Out, Manual = false> extends ToolClassDecorator<
  In,
  Out,
  Manual
> {
  <This, Method extends Execute<In, Out, never>>(
    method: Method,
    // `keyof` excludes private methods.
    context: ClassMethodDecoratorContext<This, Method> & { readonly name: keyof This },
  ): void;
  <Target extends object, Method extends Execute<In, Out, never>>(
    target: Target,
    key: keyof Target,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

/**
 * Declares a class with `execute`, or a method of a toolkit, as a tool. A class with `manual: true`
 * doesn't need `execute`.
 *
 * `@tool` works as both a standard and a legacy (`experimentalDecorators`) decorator. `@tool`
 * doesn't register the tool: pass the class or an instance to a registry. Subclasses inherit the
 * declaration unless they have their own. If your build doesn't compile decorators, call `tool` as
 * a function: `const Greet = tool({…})(class { … })`.
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
 * @throws ToolError `INVALID_METADATA` if an option is invalid. `INVALID_DECORATION` if `@tool` is
 * applied to anything but a class or a public method.
 */
export function tool<
  In extends ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Manual extends boolean = false,
  Context = unknown,
>(
  options: ToolOptions<In, Out, Context> & { readonly manual?: Manual },
): ToolDecorator<InputOf<In>, SchemaInput<Out>, Manual>;
export function tool(options: unknown, ...more: readonly unknown[]): unknown {
  assertCalled('tool', options, more);
  const resolved = resolveMetadata(options);
  const who = `Tool "${resolved.metadata.name}"`;
  return (target: unknown, second?: unknown, descriptor?: unknown): unknown => {
    if (isClassDecoration(target, second)) return storeOnClass(who, target, resolved);
    if (isStandardContext(second)) {
      if (second.kind !== 'method') throw invalidDecoration(who, PLACES, `a ${second.kind}`);
      if (second.private)
        throw invalidDecoration(
          who,
          PLACES,
          `the private method ${String(second.name)}`,
          'Make it public.',
        );
      if (second.metadata === undefined)
        throw invalidDecoration(
          who,
          PLACES,
          'a method of a class that was defined before tooldex was imported (its Symbol.metadata is missing)',
        );
      storeOnMethod(
        who,
        recordsIn(second.metadata),
        second.static ? 'static' : 'instance',
        second.name,
        resolved,
      );
    } else if (
      (typeof second === 'string' || typeof second === 'symbol') &&
      isMethodDescriptor(descriptor)
    ) {
      const isStatic = typeof target === 'function';
      storeOnMethod(
        who,
        recordsOf(isStatic ? target : (target as object).constructor),
        isStatic ? 'static' : 'instance',
        second,
        resolved,
      );
    } else {
      throw invalidDecoration(who, PLACES, describeValue(second ?? target));
    }
    return undefined;
  };
}

/** Marks classes whose tools are already registered. A marked class can't declare more tools. */
const REGISTERED_KEY = Symbol.for('tooldex/registered/v1');

/** Returns a class decorator that declares a tool and then passes the class to `register`. */
export function toolClass<In, Out, Manual>(
  options: unknown,
  register: (Class: AnyClass) => void,
): ToolClassDecorator<In, Out, Manual> {
  const declare = tool(options as ToolOptions) as unknown as (
    target: object,
    context?: unknown,
  ) => object;
  return ((target: unknown, context?: unknown) => {
    if (!isClassDecoration(target, context))
      throw invalidDecoration(
        '@registry.tool',
        '@registry.tool on a class',
        describeValue(context ?? target),
        'Declare methods with @tool, and register their class.',
      );
    declare(target, context);
    defineMetadata(REGISTERED_KEY, true, target);
    // Standard decorators add a class's methods and defaults after its initializers have run.
    if (context === undefined) register(target as AnyClass);
    else
      (context as ClassDecoratorContext).addInitializer(function (this: unknown) {
        register(this as AnyClass);
      });
    return target;
  }) as ToolClassDecorator<In, Out, Manual>;
}

/** Any class with a name. */
type AnyClass = Constructor<unknown> & { readonly name: string };

/**
 * Throws if another decorator of tooldex is placed above `@registry.tool`, because it would take
 * effect too late.
 */
export function assertUnregistered(decorator: string, target: object): void {
  if (getOwnMetadata(REGISTERED_KEY, target) !== undefined)
    throw invalidDecoration(
      decorator,
      `${decorator} below @registry.tool`,
      'it above, after the class has been registered',
      'Make @registry.tool the topmost decorator.',
    );
}

const PLACES = '@tool on a class or a public method';

/**
 * Throws if a decorator is used without parentheses and so receives the class or method directly.
 */
export function assertCalled(
  decorator: 'tool' | 'toolkit',
  options: unknown,
  more: readonly unknown[],
): void {
  if (typeof options !== 'function' && !isStandardContext(more[0]) && !isMethodDescriptor(more[1]))
    return;
  const decorated =
    typeof options === 'function' && options.name !== ''
      ? options.name
      : typeof more[0] === 'string'
        ? more[0]
        : 'a class or method';
  throw invalidDecoration(
    `@${decorator}`,
    `@${decorator}({…}) with its options`,
    `@${decorator} without options on ${decorated}`,
    decorator === 'tool'
      ? 'Write @tool({ name, description, inputSchema }).'
      : "Write @toolkit({ category: '…' }).",
  );
}

/**
 * Returns true if the arguments are those of a class decorator, in either mode or in a function
 * call.
 */
export function isClassDecoration(target: unknown, second: unknown): target is object {
  return isStandardContext(second)
    ? second.kind === 'class'
    : second === undefined && typeof target === 'function';
}

function isStandardContext(value: unknown): value is DecoratorContext {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value
  );
}

function isMethodDescriptor(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as PropertyDescriptor).value === 'function'
  );
}

export function invalidDecoration(
  who: string,
  expected: string,
  got: string,
  advice?: string,
): ToolError {
  return new ToolError(
    'INVALID_DECORATION',
    `${who}: ${expectedGot(expected, got, advice).replace(/^E/, 'e')}`,
    { details: { name: /^Tool "(.*)"$/.exec(who)?.[1] } },
  );
}

/**
 * The key under which decorators store options.
 *
 * The keys are created with `Symbol.for`, so multiple loaded copies of the package (ESM and CJS, or
 * two versions) can read each other's data. The version suffix changes only if the shape of the
 * stored data changes. The only global change is defining `Symbol.metadata`. Without
 * `Symbol.metadata`, compilers don't give standard decorators any place to store data.
 */
const CLASS_KEY = Symbol.for('tooldex/class/v1');
const METHODS_KEY = Symbol.for('tooldex/methods/v1');

// Node 20 doesn't define `Symbol.metadata`, although the type says that it exists.
if ((Symbol.metadata as symbol | undefined) === undefined)
  Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') });

type MethodSide = 'instance' | 'static';
type MethodRecord = Map<PropertyKey, ResolvedOptions>;
type MethodRecords = Partial<Record<MethodSide, MethodRecord>>;

function storeOnClass(who: string, target: object, options: ResolvedOptions): object {
  const before = getOwnMetadata(CLASS_KEY, target) as ResolvedOptions | undefined;
  if (before !== undefined)
    throw declaredTwice(
      who,
      `class ${(target as { readonly name?: string }).name ?? ''}`.trim(),
      before,
    );
  defineMetadata(CLASS_KEY, options, target);
  return target;
}

function declaredTwice(who: string, what: string, before: ResolvedOptions): ToolError {
  return invalidDecoration(
    who,
    `one @tool on ${what}`,
    `a second @tool in addition to the tool "${before.metadata.name}"`,
    'Each class or method can be only one tool: declare the other tool on its own class or method.',
  );
}

/** Returns the options declared on a class, with its toolkit's defaults applied. */
export type Declared = (options: ResolvedOptions, declaredOn: object) => ResolvedOptions;

/** A `@tool` declaration and its location. */
export interface Declaration {
  readonly options: ResolvedOptions;
  /**
   * The class whose code contains the declaration: the class itself, or a class that it extends.
   */
  readonly declaredOn: object;
  /** The method that runs the tool. */
  readonly method: PropertyKey;
  readonly static: boolean;
  /** True if the class itself is the tool, false if one of its methods is. */
  readonly ofClass: boolean;
}

/**
 * Returns the tools declared by a class and its base classes. If a class or method is declared more
 * than once, the nearest declaration wins.
 */
export function declarationsOf(constructor: object, read: Declared): readonly Declaration[] {
  const found = new Map<unknown, Declaration>();
  for (const declaredOn of inheritance(constructor)) {
    const own = getOwnMetadata(CLASS_KEY, declaredOn) as ResolvedOptions | undefined;
    if (own !== undefined && !found.has(CLASS_KEY))
      found.set(CLASS_KEY, {
        options: read(own, declaredOn),
        declaredOn,
        method: 'execute',
        static: false,
        ofClass: true,
      });
  }
  for (const side of ['instance', 'static'] as const) {
    const methods = new Map<PropertyKey, Declaration>();
    for (const declaredOn of inheritance(constructor)) {
      const legacy = getOwnMetadata(METHODS_KEY, declaredOn) as MethodRecords | undefined;
      for (const records of [legacy, standardRecords(declaredOn)])
        for (const [method, options] of records?.[side] ?? [])
          if (!methods.has(method))
            methods.set(method, {
              options: read(options, declaredOn),
              declaredOn,
              method,
              static: side === 'static',
              ofClass: false,
            });
    }
    for (const each of methods.values()) found.set(each, each);
  }
  return [...found.values()];
}

/**
 * Returns the method records that legacy decorators store on a class. Each class gets its own
 * records, because adding to inherited records would also decorate the base class.
 */
function recordsOf(constructor: object): MethodRecords {
  const own = getOwnMetadata(METHODS_KEY, constructor) as MethodRecords | undefined;
  const records = own ?? {};
  if (own === undefined) defineMetadata(METHODS_KEY, records, constructor);
  return records;
}

/**
 * Returns the records of standard decorators. Standard decorators share one metadata object per
 * class.
 */
function recordsIn(metadata: DecoratorMetadataObject): MethodRecords {
  if (!Object.hasOwn(metadata, METHODS_KEY))
    Object.defineProperty(metadata, METHODS_KEY, { value: {} });
  return (metadata as Record<symbol, unknown>)[METHODS_KEY] as MethodRecords;
}

function storeOnMethod(
  who: string,
  records: MethodRecords,
  side: MethodSide,
  key: PropertyKey,
  options: ResolvedOptions,
): void {
  const record = (records[side] ??= new Map());
  const before = record.get(key);
  if (before !== undefined) throw declaredTwice(who, `method ${String(key)}`, before);
  record.set(key, options);
}

function standardRecords(constructor: object): MethodRecords | undefined {
  const metadata = Object.hasOwn(constructor, Symbol.metadata)
    ? (constructor as Record<symbol, unknown>)[Symbol.metadata]
    : undefined;
  if (typeof metadata !== 'object' || metadata === null || !Object.hasOwn(metadata, METHODS_KEY))
    return undefined;
  return (metadata as Record<symbol, MethodRecords>)[METHODS_KEY];
}

/**
 * Returns a class and its base classes, nearest first. Walks the prototype chain of the classes,
 * because not every compiler chains metadata objects.
 */
export function* inheritance(constructor: object): Generator<object> {
  for (
    let each: object | null = constructor;
    each !== null && each !== Function.prototype && each !== Object.prototype;
    each = Object.getPrototypeOf(each) as object | null
  ) {
    yield each;
  }
}
