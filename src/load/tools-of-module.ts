import { isToolError } from '../core/errors.js';
import { isPlainObject } from '../core/plain-data.js';
import { isRegistry } from '../registry/is-registry.js';
import { findDefinitions } from '../tool/find-definitions.js';
import { entryOf, isToolDefinition, type ToolEntry } from '../tool/tool-definition.js';

/** A tool and the exported value that it comes from: a definition, a class, or an instance. */
export interface ModuleTool {
  readonly entry: ToolEntry;
  readonly source: object;
}

/** A class whose tools need an instance that can't be created automatically. */
export interface RefusedClass {
  readonly source: object;
  readonly reason: string;
  readonly tools: readonly string[];
}

/**
 * Matches the names of exported functions that create tools, such as `tools`, `createTools`,
 * `makeOrderTools`, or `buildRegistry`.
 */
const MAKER =
  /^(?:(?:create|make|build|get|load|define)(?:[A-Z_]\w*?)?_?)?(?:tools?|toolkits?|registry)$/i;

/**
 * Returns the tools that a module exports: definitions, decorated classes and their instances,
 * registries, lists, sets, and objects of any of these, and functions that create them.
 *
 * A function is called without arguments if its name shows that it creates tools, or if it's an
 * unnamed default export. Promises are awaited. If both a class and its instance are exported, the
 * instance is used, because it was constructed with the right arguments. Different tools with the
 * same name are all returned.
 */
export async function toolsOfModule(module: object) {
  const values = await Promise.all(
    exportsOf(module).map(async ([name, value]) => (isMaker(name, value) ? await value() : value)),
  );
  // Instances come first: a tool that both an instance and its class have is added once.
  const sources = [...objectsIn(values)].sort(
    (one, other) => Number(typeof one === 'function') - Number(typeof other === 'function'),
  );
  const tools: ModuleTool[] = [];
  const refused: RefusedClass[] = [];
  for (const source of sources) {
    try {
      for (const entry of findDefinitions(source).map(entryOf)) {
        const tool = { entry, source };
        if (!tools.some((other) => other.entry.name === entry.name && isSameTool(other, tool)))
          tools.push(tool);
      }
    } catch (error) {
      const unmade = unmadeClass(source, error);
      if (unmade !== undefined) refused.push(unmade);
      else if (!isToolError(error, 'NOT_A_TOOL')) throw error;
    }
  }
  return { tools, refused };
}

/**
 * Returns the class and the reason if the error says that the class needs arguments. Returns
 * `undefined` for any other error.
 */
function unmadeClass(source: object, error: unknown): RefusedClass | undefined {
  if (!isToolError(error, 'INVALID_ARGUMENT') || !('requiredArguments' in error.details))
    return undefined;
  const { tools } = error.details as { tools: readonly string[] };
  return { source, tools, reason: `${error.message} Export the instance or the registry.` };
}

/**
 * Returns true if the tools of a refused class were found elsewhere, on an instance or in a
 * registry.
 */
export function isMade({ source, tools }: RefusedClass, made: readonly ModuleTool[]): boolean {
  return (
    tools.every((name) => made.some(({ entry }) => entry.name === name)) ||
    (typeof source === 'function' && made.some((tool) => tool.source instanceof source))
  );
}

/**
 * Returns true if an exported function creates tools. Classes can't be called, and functions with
 * parameters need arguments, so neither is called.
 */
function isMaker(exportName: string, value: unknown): value is () => unknown {
  if (
    typeof value !== 'function' ||
    value.length > 0 ||
    Function.prototype.toString.call(value).startsWith('class')
  )
    return false;
  const name = exportName === 'default' ? value.name : exportName;
  return MAKER.test(name) || (exportName === 'default' && ['', 'default'].includes(name));
}

/**
 * Returns true if two exports are the same tool: the same object, a class and its instance, or a
 * class or instance and its definition in a registry. In all other cases, two objects are different
 * tools, even if their metadata is equal.
 */
export function isSameTool(one: ModuleTool, other: ModuleTool): boolean {
  return (
    one.source === other.source ||
    classOf(one.source) === other.source ||
    one.source === classOf(other.source) ||
    (one.entry.digest === other.entry.digest &&
      isToolDefinition(one.source) !== isToolDefinition(other.source))
  );
}

/**
 * Returns true if two exports are the same tool from a file that was loaded twice, because their
 * metadata and code are equal.
 */
export function isSameCode(one: ModuleTool, other: ModuleTool): boolean {
  return one.entry.digest === other.entry.digest && codeOf(one.source) === codeOf(other.source);
}

function codeOf(source: object): string {
  const code = isToolDefinition(source) ? source.execute : (classOf(source) ?? source);
  return typeof code === 'function' ? Function.prototype.toString.call(code) : '';
}

function classOf(source: object): unknown {
  return typeof source === 'function'
    ? undefined
    : (Object.getPrototypeOf(source) as object | null)?.constructor;
}

/**
 * Returns a module's exports by name. If the default export is a CommonJS module's `exports`,
 * returns the members of that object.
 */
function exportsOf(module: object): readonly (readonly [name: string, value: unknown])[] {
  return Object.entries(module).flatMap(([name, value]: readonly [string, unknown]) =>
    // Getters may be called here, because they're a compiler's exports.
    name === 'default' && isPlainObject(value) && !isToolDefinition(value)
      ? Object.entries(value)
      : [[name, value] as const],
  );
}

/** Yields once each function and object in the values that could be a tool. */
function* objectsIn(values: Iterable<unknown>, seen = new Set<unknown>()): Generator<object> {
  for (const value of values) {
    const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
    if (!isObject || seen.has(value)) continue;
    seen.add(value);
    const inner = partsOf(value);
    if (inner === undefined) yield value;
    else yield* objectsIn(inner, seen);
  }
}

/**
 * Returns the values in a list, set, map, registry, or plain object, or `undefined` for anything
 * else.
 */
function partsOf(value: object): Iterable<unknown> | undefined {
  if (Array.isArray(value) || value instanceof Set || isRegistry(value))
    return value as Iterable<unknown>;
  if (value instanceof Map) return value.values();
  if (!isPlainObject(value) || isToolDefinition(value)) return undefined;
  // Getters are skipped, because they could do anything.
  return Object.values(Object.getOwnPropertyDescriptors(value)).map(
    (each) => each.value as unknown,
  );
}
