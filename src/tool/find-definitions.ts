import { ToolError } from '../core/errors.js';
import { AWAIT, expectedGot, invalidArgument } from '../core/issues.js';
import { instanceOf } from '../core/options.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
import { classOptions, inheritance, invalidDecoration, methodOptions } from './tool-decorator.js';
import type { ResolvedOptions } from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import { toolkitOf, withDefaults } from './toolkit.js';
import {
  createDefinition,
  isToolDefinition,
  type Execute,
  type ToolDefinition,
} from './tool-definition.js';

/**
 * The values that a registry accepts: a definition, a decorated class or toolkit class that is constructed without
 * arguments, or an instance of any decorated class. A class whose constructor requires arguments is refused: create an
 * instance of it.
 */
export type ToolSource =
  | ToolDefinition
  | (new () => unknown)
  | (object & {
      readonly prototype?: never;
      readonly [Symbol.iterator]?: never;
      readonly then?: never;
    });

/**
 * Returns the tools that a value stands for, at least one.
 *
 * A class is not instantiated here: its instance is made, without arguments, when one of its tools first runs or its
 * `conflictKeys` are first read.
 *
 * @param position its place in the list it comes from, for the message.
 * @throws ToolError `NOT_A_TOOL` when it holds no tool, `INVALID_ARGUMENT` for a class whose tools need an instance
 * that cannot be constructed without arguments; both with what to do.
 */
export function findDefinitions(source: unknown, position?: number): readonly ToolDefinition[] {
  if (isToolDefinition(source)) return [source];
  const found =
    typeof source === 'function'
      ? fromClass(source as AnyFunction)
      : typeof source === 'object' && source !== null
        ? fromInstance(source)
        : [];
  if (found.length > 0) return found;
  const place = position === undefined ? '' : ` at position ${position} of the list`;
  const advice =
    SOURCE_ADVICE.find(([is]) => is(source))?.[1] ??
    `${place === '' ? '' : 'Leave it out, or make it a tool. '}Wrap plain options in defineTool({…}); decorate classes or methods with @tool({…}).`;
  throw new ToolError(
    'NOT_A_TOOL',
    expectedGot(
      `a tool (made with defineTool, or a class or instance decorated with @tool)${place}`,
      describeSource(source),
      advice,
    ),
  );
}

function describeSource(source: unknown): string {
  const toolkit = toolkitOf(source);
  if (toolkit !== undefined) return `the toolkit ${toolkit.name || 'class'} without tool methods`;
  return typeof source === 'function'
    ? `the undecorated ${source.name || 'function'}`
    : (instanceOf(source) ?? describeValue(source));
}

/** The advice for values that are often given in place of a tool. */
const SOURCE_ADVICE: readonly (readonly [is: (source: unknown) => boolean, advice: string])[] = [
  [Array.isArray, 'Register the tools of a list with registerAll(list).'],
  [(source) => source instanceof Promise, AWAIT],
  [
    (source) => Object.prototype.toString.call(source) === '[object Module]',
    'Register the exports of a module with registerAll(Object.values(module)).',
  ],
  [
    (source) => typeof source === 'string',
    'Register the tool itself, without its name, or load files with loadTools of tooldex/load.',
  ],
  [(source) => toolkitOf(source) !== undefined, 'Decorate its methods with @tool({…}).'],
];

type AnyFunction = (...args: never[]) => unknown;

function fromClass(constructor: AnyFunction): ToolDefinition[] {
  let instance: object | undefined;
  const lazily = () => (instance ??= new (constructor as unknown as new () => object)());
  const own = definitionsOn(constructor, lazily);
  assertConstructible(
    constructor,
    own.flatMap(({ manual, canonicalInput, conflictKeys, preview, name }) =>
      manual === true && (canonicalInput ?? conflictKeys ?? preview) === undefined ? [] : [name],
    ),
  );
  return [...own, ...staticDefinitions(constructor)];
}

function assertConstructible(constructor: AnyFunction, tools: readonly string[]): void {
  const count = tools.length === 0 ? 0 : requiredArguments(constructor);
  if (count === 0) return;
  const name = constructor.name || 'the class';
  const advice = `Register an instance: registry.register(new ${constructor.name || 'TheClass'}(…)).`;
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

/**
 * A constructor that passes all its arguments on: compilers write one for classes that initialize fields and declare no
 * constructor.
 */
const HANDS_ON = /\bsuper\(\s*\.\.\.(?:arguments|args)\s*\)/;

/**
 * The number of arguments that `new` requires; those after the first one with a default value cannot be seen.
 *
 * The length of a class that extends another is 0 where it has no constructor of its own: the one it inherits counts.
 */
function requiredArguments(constructor: AnyFunction): number {
  const parent: unknown = Object.getPrototypeOf(constructor);
  if (constructor.length > 0 || typeof parent !== 'function' || parent === Function.prototype)
    return constructor.length;
  const code = Function.prototype.toString.call(constructor);
  return code.includes('constructor') && !HANDS_ON.test(code)
    ? 0
    : requiredArguments(parent as AnyFunction);
}

function fromInstance(instance: object): ToolDefinition[] {
  const constructor: unknown = (Object.getPrototypeOf(instance) as object | null)?.constructor;
  if (typeof constructor !== 'function') return [];
  return definitionsOn(constructor, () => instance, instance);
}

function definitionsOn(
  constructor: object,
  instance: () => object,
  given?: object,
): ToolDefinition[] {
  const options = classOptions(constructor, withDefaults);
  const { prototype } = constructor as { readonly prototype: object };
  if (options !== undefined)
    assertExecutes(options, constructor, given ?? prototype, given !== undefined);
  // A manual class without execute gives a definition without it, as defineTool does.
  const isAnsweredElsewhere = options?.declared.manual === true && !('execute' in prototype);
  const own =
    options === undefined
      ? []
      : [
          createDefinition(
            bound(options, instance),
            isAnsweredElsewhere ? undefined : workOf(prototype, 'execute', instance),
          ),
        ];
  return [
    ...own,
    ...[...methodOptions(constructor, 'instance', withDefaults)].map(([key, each]) =>
      createDefinition(bound(each, instance), workOf(prototype, key, instance)),
    ),
  ];
}

/** The names that other libraries have for `execute`. */
const WORK_NAMES = ['run', 'handler', 'handle', 'func', 'call', 'invoke', 'exec'];

/** Refuses a class without `execute`, unless its calls are answered elsewhere. Fields are seen in the code of a class. */
function assertExecutes(
  { metadata: { name, manual, providers, handlerRef } }: ResolvedOptions,
  constructor: object,
  holder: object,
  isInstance: boolean,
): void {
  if (manual || providers.length > 0 || handlerRef !== undefined || 'execute' in holder) return;
  if (
    !isInstance &&
    [...inheritance(constructor)].some((each) =>
      /\bexecute\b|\[native code\]/.test(Function.prototype.toString.call(each)),
    )
  )
    return;
  const other = WORK_NAMES.find((each) => typeof Reflect.get(holder, each) === 'function');
  const advice =
    other === undefined
      ? 'Add execute(input, context), declare manual: true, or register an instance that has it.'
      : `Did you mean to call its method ${JSON.stringify(other)} execute?`;
  throw invalidDecoration(
    `Tool "${name}"`,
    'a class with a method execute',
    `${(constructor as { readonly name?: string }).name || 'one'} without`,
    advice,
  );
}

/** Binds to the instance the functions that read what a path in its inputs means. */
function bound({ declared, metadata }: ResolvedOptions, instance: () => object): ResolvedOptions {
  const { canonicalInput, conflictKeys, preview } = declared;
  const onInstance: Pick<ToolOptions, 'canonicalInput' | 'conflictKeys' | 'preview'> = {
    ...(canonicalInput && {
      canonicalInput: (input) => canonicalInput.call(instance(), input) as unknown,
    }),
    ...(conflictKeys && { conflictKeys: (input) => conflictKeys.call(instance(), input) }),
    ...(preview && { preview: (input, context) => preview.call(instance(), input, context) }),
  };
  return { declared: { ...declared, ...onInstance }, metadata: { ...metadata, ...onInstance } };
}

function staticDefinitions(constructor: object): ToolDefinition[] {
  return [...methodOptions(constructor, 'static', withDefaults)].map(([key, each]) =>
    createDefinition(
      each,
      workOf(constructor, key, () => constructor),
    ),
  );
}

/** A function that calls a method and takes as many parameters: lint reads from them whether the tool uses its context. */
function workOf(declaredOn: object, key: PropertyKey, holder: () => object): Execute {
  const work: Execute = (input, context) =>
    (holder() as Record<PropertyKey, Execute>)[key]!(input, context);
  const method: unknown = Reflect.get(declaredOn, key);
  return Object.defineProperty(work, 'length', {
    value: typeof method === 'function' ? method.length : work.length,
  });
}

/**
 * Returns the tools of a list of sources, for a registry.
 *
 * @throws ToolError as `findDefinitions`, and `INVALID_ARGUMENT` for what is no list, or for options that are none.
 */
export function definitionsOfAll(sources: unknown, options: unknown): readonly ToolDefinition[] {
  if (typeof sources !== 'object' || sources === null || !(Symbol.iterator in sources))
    throw invalidArgument('a list of tools', sources, adviceForList(sources));
  const found = [...(sources as Iterable<unknown>)].flatMap((source, position) =>
    findDefinitions(source, position),
  );
  if (!isPlainObject(options) || Object.keys(options).some((key) => key !== 'replace'))
    throw invalidArgument(
      '{ replace } or nothing as the second argument',
      options,
      'Register several tools with registerAll([…]).',
    );
  return found;
}

/** Returns what to do with a value that was given in place of a list of tools. */
function adviceForList(given: unknown): string {
  if (given instanceof Promise) return AWAIT;
  if (typeof given === 'string') return 'Load the tools of files with loadTools of tooldex/load.';
  const isTool =
    typeof given !== 'object' ||
    given === null ||
    isToolDefinition(given) ||
    !(isPlainObject(given) || Object.prototype.toString.call(given) === '[object Module]');
  return isTool
    ? 'register takes a single one.'
    : 'Give the values of a module or an object: registerAll(Object.values(module)).';
}
