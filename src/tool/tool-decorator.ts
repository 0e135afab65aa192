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
  if (typeof options === 'function' || more.length > 0)
    throw withoutOptions('@tool', '{ name, description, inputSchema }');
  const resolved = resolveMetadata(options);
  const who = `Tool "${resolved.metadata.name}"`;
  return (target: unknown, second?: unknown, descriptor?: unknown): unknown => {
    const place = placeOf(target, second, descriptor);
    if (place === undefined)
      throw invalidDecoration(
        who,
        '@tool on a class or a public method',
        isStandardContext(second) ? `a ${second.kind}` : describeValue(second ?? target),
        isOtherDialect(second ?? target) ? COMPILE_LEGACY : undefined,
      );
    declare(who, place, resolved);
    return place.ofClass ? target : undefined;
  };
}

/** Marks classes whose tools are already registered. A marked class can't declare more tools. */
const REGISTERED_KEY = Symbol.for('tooldex/registered/v1');

/** Returns a class decorator that declares a tool and then passes the class to `register`. */
export function toolClass<In, Out, Manual>(
  options: unknown,
  register: (Class: AnyClass) => void,
): ToolClassDecorator<In, Out, Manual> {
  const declareTool = tool(options as ToolOptions) as unknown as (
    target: object,
    context?: unknown,
  ) => object;
  return ((target: unknown, context?: unknown) => {
    assertClass(
      '@registry.tool',
      target,
      context,
      'Declare methods with @tool, and register their class.',
    );
    declareTool(target, context);
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

/** Returns the error for a decorator that is used without parentheses. */
export function withoutOptions(decorator: string, example: string): ToolError {
  return invalidDecoration(
    decorator,
    `${decorator}({…}) with its options`,
    `${decorator} without options`,
    `Write ${decorator}(${example}).`,
  );
}

/** Throws unless a decorator was applied to a class, in either mode or in a function call. */
export function assertClass(
  decorator: string,
  target: unknown,
  second: unknown,
  advice: string,
): asserts target is object {
  if (!isClassDecoration(target, second))
    throw invalidDecoration(
      decorator,
      `${decorator} on a class`,
      describeValue(second ?? target),
      isOtherDialect(second ?? target) ? COMPILE_LEGACY : advice,
    );
}

function isClassDecoration(target: unknown, second: unknown): target is object {
  return isStandardContext(second)
    ? second.kind === 'class'
    : second === undefined && typeof target === 'function';
}

function isStandardContext(value: unknown): value is DecoratorContext {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && 'addInitializer' in value
  );
}

/**
 * Returns true for what decorators of an earlier proposal get: an object with a `kind` but no
 * `addInitializer`. Next compiles decorators like this by default.
 */
function isOtherDialect(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && 'kind' in value && !isStandardContext(value)
  );
}

const COMPILE_LEGACY =
  'Your compiler uses an old draft of decorators. Add "experimentalDecorators": true to compilerOptions in tsconfig.json.';

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
 * The key under which decorators store declarations.
 *
 * The key is created with `Symbol.for`, so multiple loaded copies of the package (ESM and CJS, or
 * two versions) can read each other's data. The version suffix changes only if the shape of the
 * stored data changes. The only global change is defining `Symbol.metadata`. Without
 * `Symbol.metadata`, compilers don't give standard decorators any place to store data.
 */
const DECLARED_KEY = Symbol.for('tooldex/declared/v1');

// Node 20 doesn't define `Symbol.metadata`, although the type says that it exists.
if ((Symbol.metadata as symbol | undefined) === undefined)
  Object.defineProperty(Symbol, 'metadata', { value: Symbol.for('Symbol.metadata') });

/** The part of a class that a decorator declares as a tool. */
interface Declared {
  /** The method that runs the tool. */
  readonly method: PropertyKey;
  readonly static: boolean;
  /** True if the class itself is the tool, false if one of its methods is. */
  readonly ofClass: boolean;
}

/** A `@tool` declaration as stored by the decorator. */
interface StoredDeclaration extends Declared {
  readonly options: ResolvedOptions;
}

/** A `@tool` declaration and its location. */
export interface Declaration extends StoredDeclaration {
  /**
   * The class whose code contains the declaration: the class itself, or a class that it extends.
   */
  readonly declaredOn: object;
}

interface Place extends Declared {
  /** The class, or the metadata object that its standard decorators share. */
  readonly holder: object;
}

/** Returns the decorated part of a class, or `undefined` if it can't be a tool. */
function placeOf(target: unknown, second: unknown, descriptor: unknown): Place | undefined {
  if (isClassDecoration(target, second))
    return { holder: target, method: 'execute', static: false, ofClass: true };
  if (isStandardContext(second))
    return second.kind === 'method' && !second.private
      ? { holder: second.metadata, method: second.name, static: second.static, ofClass: false }
      : undefined;
  if (typeof (descriptor as PropertyDescriptor | undefined)?.value !== 'function') return undefined;
  const isStatic = typeof target === 'function';
  const holder = isStatic ? target : (target as object).constructor;
  return { holder, method: second as PropertyKey, static: isStatic, ofClass: false };
}

function storedIn(holder: object | undefined): readonly StoredDeclaration[] {
  const stored: unknown = holder && getOwnMetadata(DECLARED_KEY, holder);
  return (stored ?? []) as readonly StoredDeclaration[];
}

function isSame(one: Declared, other: Declared): boolean {
  return (
    one.method === other.method && one.static === other.static && one.ofClass === other.ofClass
  );
}

function declare(who: string, { holder, ...place }: Place, options: ResolvedOptions): void {
  const stored = storedIn(holder);
  const before = stored.find((each) => isSame(each, place));
  if (before !== undefined)
    throw invalidDecoration(
      who,
      `one @tool on ${place.ofClass ? 'a class' : `method ${String(place.method)}`}`,
      `a second @tool in addition to the tool "${before.options.metadata.name}"`,
      'Each class or method can be only one tool: declare the other tool on its own class or method.',
    );
  defineMetadata(DECLARED_KEY, [...stored, { ...place, options }], holder);
}

/** Returns the options declared on a class, with its toolkit's defaults applied. */
export type ReadDeclared = (options: ResolvedOptions, declaredOn: object) => ResolvedOptions;

/**
 * Returns the tools declared by a class and its base classes: the class itself, its methods, and its
 * static methods. If a class or method is declared more than once, the nearest declaration wins.
 */
export function declarationsOf(constructor: object, read: ReadDeclared): readonly Declaration[] {
  const found: Declaration[] = [];
  for (const declaredOn of inheritance(constructor)) {
    const shared: unknown = Object.getOwnPropertyDescriptor(declaredOn, Symbol.metadata)?.value;
    const stored = [declaredOn, shared as object | undefined].flatMap((holder) => storedIn(holder));
    for (const each of stored)
      if (!found.some((nearer) => isSame(nearer, each)))
        found.push({ ...each, options: read(each.options, declaredOn), declaredOn });
  }
  const rank = ({ ofClass, static: isStatic }: Declared) => (ofClass ? 0 : isStatic ? 2 : 1);
  return found.sort((one, other) => rank(one) - rank(other));
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
