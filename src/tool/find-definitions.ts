import { z } from 'zod';
import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument } from '../core/issues.js';
import { checkOptions, instanceOf, once, type FieldsOf } from '../core/options.js';
import { describeValue, ignoreRejection, isPlainObject, isPromise } from '../core/plain-data.js';
import {
  declarationsOf,
  invalidDecoration,
  type Constructor,
  type Declaration,
} from './tool-decorator.js';
import type { ResolvedOptions, ToolMetadata } from './tool-metadata.js';
import type { ToolContext, ToolOptions } from './tool-options.js';
import { isToolkit, withDefaults } from './toolkit.js';
import {
  createDefinition,
  definitionOf,
  isToolDefinition,
  type Execute,
  type ToolDefinition,
} from './tool-definition.js';

/**
 * A value that a registry accepts: a definition, a decorated class or toolkit class, or an instance
 * of a decorated class. If a class's constructor takes arguments, register an instance, or pass
 * `resolve` to the registry.
 */
export type ToolSource =
  | ToolDefinition
  | (new (...args: never[]) => unknown)
  | (object & {
      readonly prototype?: never;
      readonly [Symbol.iterator]?: never;
      readonly then?: never;
    });

/**
 * Returns the instance to use for a call, for example `(Class) => container.get(Class)`.
 *
 * The function is called for every call and may be async, so your container decides how long an
 * instance lives. `call` is missing if the instance is needed for `conflictKeys` or
 * `canonicalInput`. The two options are synchronous: if `resolve` returns a promise, they run
 * without `this`.
 */
export type ResolveInstance = (
  // Containers accept classes that wouldn't be assignable if this were `never[]`.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  Class: new (...args: any[]) => object,
  call?: ToolContext,
) => unknown;

/** The options of `findDefinitions`. */
interface Finding {
  /** Creates the instances of classes. @default `new Class()`, once */
  readonly resolve?: ResolveInstance | undefined;
  /** The source's position in the list. Appears in error messages. */
  readonly position?: number;
}

/**
 * Returns the tools declared by a value (at least one).
 *
 * Without `resolve`, a class is instantiated once, without arguments: when one of its tools first
 * runs or its `conflictKeys` are first read, or now if only an instance can tell whether `execute`
 * is a field. With `resolve`, the first call finds that out.
 *
 * @throws ToolError `NOT_A_TOOL` if the value declares no tools. `INVALID_ARGUMENT` if its tools
 * need an instance of a class whose constructor requires arguments. Both messages explain how to
 * fix the problem.
 */
export function findDefinitions(
  source: unknown,
  { resolve, position }: Finding = {},
): readonly ToolDefinition[] {
  if (isToolDefinition(source)) return [source];
  const found =
    typeof source === 'function'
      ? fromClass(source as AnyFunction, resolve)
      : typeof source === 'object' && source !== null
        ? fromInstance(source)
        : [];
  if (found.length > 0) return found;
  const place = position === undefined ? '' : ` at position ${position} of the list`;
  const toolkit = emptyToolkit(source);
  const advice =
    adviceFor(source) ??
    (toolkit && 'Decorate its methods with @tool({…}).') ??
    `${place === '' ? '' : 'Remove it, or turn it into a tool. '}Wrap plain options in defineTool({…}), or decorate classes or methods with @tool({…}).`;
  throw new ToolError(
    'NOT_A_TOOL',
    expectedGot(
      `a tool (made with defineTool, or a class or instance decorated with @tool)${place}`,
      toolkit ??
        (typeof source === 'function'
          ? `the undecorated ${source.name || 'function'}`
          : (instanceOf(source) ?? describeValue(source))),
      advice,
    ),
  );
}

/** Describes a toolkit, or an instance of one, none of whose methods is a tool. */
function emptyToolkit(source: unknown): string | undefined {
  const Class: unknown =
    typeof source === 'object' && source !== null
      ? (Object.getPrototypeOf(source) as object | null)?.constructor
      : source;
  return typeof Class === 'function' && isToolkit(Class)
    ? `the toolkit ${Class.name}, which has no methods with @tool`
    : undefined;
}

/** Returns advice for a value that is often passed by mistake instead of a tool or a list of tools. */
function adviceFor(source: unknown): string | undefined {
  if (isPromise(source)) return AWAIT;
  if (Array.isArray(source)) return 'Register a list of tools with registerAll(list).';
  if (isObjectWith(source, 'jsonSchema', 'validate'))
    return 'A schema describes only the input of a tool: write defineTool({ name, description, inputSchema, execute }).';
  if (isForeignTool(source) || (isPlainObject(source) && Object.values(source).some(isForeignTool)))
    return 'Convert tools of the AI SDK with registerAll(fromAISDKTools({ name: tool })) from tooldex/interop.';
  if (isObjectWith(source, 'invoke', 'schema'))
    return 'Convert LangChain tools with registerAll(fromLangChainTools([tool])) from tooldex/interop.';
  if (typeof source === 'string')
    return 'Pass the tool itself instead of its name, or load files with loadTools from tooldex/load.';
  return Object.prototype.toString.call(source) === '[object Module]'
    ? "Register a module's exports with registerAll(Object.values(module))."
    : undefined;
}

function isObjectWith(value: unknown, ...keys: readonly string[]): value is object {
  return typeof value === 'object' && value !== null && keys.every((key) => key in value);
}

/** Returns true for a tool of the AI SDK, whose name is its key in a tool set. */
function isForeignTool(value: unknown): boolean {
  return isObjectWith(value, 'inputSchema') && !('name' in value);
}

type AnyFunction = (...args: never[]) => unknown;

function fromClass(
  constructor: AnyFunction,
  resolve: ResolveInstance | undefined,
): ToolDefinition[] {
  const Class = constructor as unknown as new () => object;
  let instance: object | undefined;
  const make: MakeInstance =
    resolve === undefined ? () => (instance ??= new Class()) : (call) => resolve(Class, call);
  const declarations = declarationsOf(constructor, withDefaults);
  if (resolve === undefined)
    assertConstructible(
      constructor,
      declarations.filter(needsInstance).map(({ options }) => options.metadata.name),
    );
  return declarations.map((each) => definitionFrom(each, constructor, make, resolve === undefined));
}

function needsInstance({ options: { declared }, static: isStatic }: Declaration): boolean {
  return !isStatic && (declared.manual !== true || BOUND.some((each) => declared[each]));
}

function assertConstructible(constructor: AnyFunction, tools: readonly string[]): void {
  const count = constructor.length;
  if (tools.length === 0 || count === 0) return;
  const name = constructor.name || 'the class';
  const advice = `Register an instance: registry.register(new ${constructor.name || 'TheClass'}(…)). Or let your container create it: new ToolMetadataRegistry({ resolve: (Class) => container.get(Class) }).`;
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      'an instance, or a class that is constructed without arguments',
      `${name}, whose constructor requires ${count === 1 ? 'an argument' : `${count} arguments`}`,
      advice,
    ),
    { details: { className: constructor.name, requiredArguments: count, tools } },
  );
}

function fromInstance(instance: object): ToolDefinition[] {
  const constructor: unknown = (Object.getPrototypeOf(instance) as object | null)?.constructor;
  if (typeof constructor !== 'function') return [];
  return declarationsOf(constructor, withDefaults)
    .filter((each) => !each.static)
    .map((each) => definitionFrom(each, constructor as AnyFunction, () => instance, true));
}

/** Returns the instance for one call, or a promise for it. */
type MakeInstance = (call?: ToolContext) => unknown;

function definitionFrom(
  { options, method, static: isStatic, ofClass }: Declaration,
  constructor: AnyFunction,
  make: MakeInstance,
  isOneInstance: boolean,
): ToolDefinition {
  if (isStatic)
    return createDefinition(
      options,
      workOf(constructor, method, () => constructor),
    );
  const { prototype } = constructor as unknown as { readonly prototype: object };
  const isOnPrototype = !ofClass || 'execute' in prototype;
  // As with `defineTool`, a manual tool without `execute` gets a definition without `execute`.
  if (!isOnPrototype && options.declared.manual === true)
    return createDefinition(bound(options, make), undefined);
  // `execute` may also be a field, which only an instance has.
  const instance = isOnPrototype || !isOneInstance ? undefined : atOnce(make);
  if (instance instanceof Object) assertExecutes(options, constructor, instance);
  return createDefinition(bound(options, make), workOf(instance ?? prototype, method, make));
}

/** Names that other libraries use instead of `execute`. */
const WORK_NAMES = ['run', 'handler', 'handle', 'func', 'call', 'invoke', 'exec'];

/** Throws if an instance of a class needs `execute`, as a method or as a field, and has none. */
function assertExecutes(
  { metadata: { name, providers, handlerRef } }: ResolvedOptions,
  constructor: AnyFunction,
  holder: object,
): void {
  if (providers.length > 0 || handlerRef !== undefined || 'execute' in holder) return;
  const other = WORK_NAMES.find((each) => typeof Reflect.get(holder, each) === 'function');
  const advice =
    other === undefined
      ? 'Add execute(input, context), as a method or a field, or declare manual: true.'
      : `Rename its method ${JSON.stringify(other)} to execute.`;
  throw invalidDecoration(
    `Tool "${name}"`,
    'a class with execute',
    `${constructor.name || 'a class'} without execute`,
    advice,
  );
}

/** The options that are called with the instance as `this`. */
const BOUND = ['canonicalInput', 'conflictKeys', 'preview'] as const;

/**
 * Binds the `BOUND` options to the instance. `preview` waits for an async instance. The two
 * synchronous options run without `this` if creating the instance is async.
 */
function bound({ declared, metadata }: ResolvedOptions, make: MakeInstance): ResolvedOptions {
  const onInstance: Partial<Record<(typeof BOUND)[number], unknown>> = {};
  for (const option of BOUND) {
    const method = declared[option] as ((...args: unknown[]) => unknown) | undefined;
    if (method === undefined) continue;
    onInstance[option] =
      option === 'preview'
        ? (input: unknown, context: ToolContext) =>
            whenThere(make(context), (instance) => method.call(instance, input, context))
        : (input: unknown) => method.call(atOnce(make), input);
  }
  return {
    declared: { ...declared, ...onInstance } as ToolOptions,
    metadata: { ...metadata, ...onInstance } as ResolvedOptions['metadata'],
  };
}

/** Returns the instance, or `undefined` if creating it is async or fails. */
function atOnce(make: MakeInstance): unknown {
  try {
    const made = make();
    if (!isPromise(made)) return made;
    void ignoreRejection(made);
  } catch {
    // The call itself will report the error.
  }
  return undefined;
}

function whenThere<T>(made: unknown, use: (instance: unknown) => T): T | Promise<T> {
  return isPromise(made) ? made.then(use) : use(made);
}

/**
 * Returns a function that calls the method and has the same number of parameters. The linter uses
 * this number to find out whether the tool uses its context.
 */
function workOf(declaredOn: object, key: PropertyKey, make: MakeInstance): Execute {
  const work: Execute = (input, context) =>
    whenThere(make(context), (holder) => {
      const method = (holder as Record<PropertyKey, unknown> | undefined)?.[key];
      if (typeof method === 'function') return method.call(holder, input, context) as unknown;
      throw new ToolError(
        'NOT_A_TOOL',
        expectedGot(
          `an instance with the method or field ${String(key)}`,
          instanceOf(holder) ?? describeValue(holder),
          'Add it to the class, or return an instance of the class from resolve.',
        ),
      );
    });
  const method: unknown = Reflect.get(declaredOn, key);
  return Object.defineProperty(work, 'length', {
    value: typeof method === 'function' ? method.length : work.length,
  });
}

/** The metadata of one tool that a class declares, and where the class declares it. */
export interface ClassToolMetadata extends ToolMetadata {
  /**
   * The class whose code contains the declaration: the class itself, or a class that it extends.
   */
  readonly declaredOn: Constructor<unknown>;
  /** The method that runs the tool: `execute` if the class itself is the tool. */
  readonly method: string | symbol;
  readonly static: boolean;
}

/**
 * Returns the metadata of each tool that a class declares or inherits, without creating an
 * instance. Returns an empty list unless the value is a decorated class.
 */
export function metadataOf(Class: unknown): readonly ClassToolMetadata[] {
  if (typeof Class !== 'function') return [];
  return declarationsOf(Class, withDefaults).map(
    ({ options, declaredOn, method, static: isStatic }) =>
      Object.freeze({ ...options.metadata, declaredOn, method, static: isStatic }),
  ) as readonly ClassToolMetadata[];
}

/** The options of `register` and `registerAll`. */
export interface RegisterOptions {
  /** Replaces existing tools that have the same name instead of throwing. @default false */
  readonly replace?: boolean;
  /**
   * A prefix for the name and aliases of each tool, such as `eu_`. Use it to register two instances
   * of one toolkit. @default none
   */
  readonly prefix?: string;
}

const OPTIONS = once(() =>
  z.strictObject({
    replace: z.boolean().optional(),
    prefix: z.string().optional(),
  } satisfies FieldsOf<RegisterOptions>),
);

/**
 * Returns the tools declared by all sources in a list.
 *
 * @throws ToolError like `findDefinitions`, and `INVALID_ARGUMENT` if `sources` isn't a list or the
 * options aren't valid.
 */
export function definitionsOfAll(
  sources: unknown,
  options: RegisterOptions,
  resolve?: ResolveInstance,
): readonly ToolDefinition[] {
  if (typeof sources !== 'object' || sources === null || !(Symbol.iterator in sources))
    throw invalidArgument(
      'a list of tools',
      sources,
      adviceFor(sources) ??
        'Use register for a single tool, or registerAll(Object.values(tools)) for an object of tools.',
    );
  const { prefix = '' } = checkOptions(OPTIONS, options, 'options for registering tools');
  const found = [...(sources as Iterable<unknown>)].flatMap((source, position) =>
    findDefinitions(source, { resolve, position }),
  );
  return prefix === '' ? found : withPrefix(found, prefix);
}

/** Adds a prefix to tool names, and updates references between the tools. */
function withPrefix(
  definitions: readonly ToolDefinition[],
  prefix: string,
): readonly ToolDefinition[] {
  const named = (name: string) => `${prefix}${name}`;
  const names = new Set(definitions.map(({ name }) => name));
  return definitions.map((definition) => {
    const { name, aliases, invalidates } = definition;
    return definitionOf({
      ...definition,
      name: named(name),
      ...(aliases && { aliases: aliases.map(named) }),
      ...(invalidates && {
        invalidates: invalidates.map((each) => (names.has(each) ? named(each) : each)),
      }),
    });
  });
}
