import { isToolError, ToolError } from '../../core/errors.js';
import { findDefinitions } from '../../tool/find-definitions.js';
import { entryOf, isToolDefinition, type ToolEntry } from '../../tool/tool-definition.js';

/** A tool, and the exported value it comes from: a definition, a class or an instance. */
export interface FoundTool {
  readonly entry: ToolEntry;
  readonly source: object;
}

/** No file has so many, or so deep, by intent. */
const MOST_OBJECTS = 100_000;
const DEEPEST = 32;

/**
 * The tools a module exports: definitions, decorated classes, instances of them, and lists, sets and objects of any of these.
 *
 * Where a class and its instance are both exported, the instance counts: it has what its constructor was given. Different
 * tools of one name are all in the answer.
 */
export function toolsOfModule(module: object): readonly FoundTool[] {
  const exported = [...objectsIn(module)];
  const found: FoundTool[] = [];
  for (const source of [...exported.filter((each) => typeof each !== 'function'), ...exported.filter((each) => typeof each === 'function')]) {
    for (const entry of entriesOf(source)) {
      const tool = { entry, source };
      if (!found.some((other) => other.entry.name === entry.name && isSameTool(other, tool))) found.push(tool);
    }
  }
  return found;
}

/** Whether two findings are the same tool: the same object, or a class and its instance. Equal metadata says nothing. */
export function isSameTool(one: FoundTool, other: FoundTool): boolean {
  return one.source === other.source || classOf(one.source) === other.source || one.source === classOf(other.source);
}

/** Whether two findings are one tool of a file that was loaded twice: everything declared and every line of code are equal. */
export function isSameCode(one: FoundTool, other: FoundTool): boolean {
  return one.entry.digest === other.entry.digest && codeOf(one.source) === codeOf(other.source);
}

function codeOf(source: object): string {
  if (isToolDefinition(source)) return source.execute === undefined ? '' : Function.prototype.toString.call(source.execute);
  const constructor = typeof source === 'function' ? source : classOf(source);
  return typeof constructor === 'function' ? Function.prototype.toString.call(constructor) : '';
}

function classOf(source: object): unknown {
  return typeof source === 'function' ? undefined : (Object.getPrototypeOf(source) as object | null)?.constructor;
}

/** Every function and object below a module that may be a tool, each once. */
function* objectsIn(module: object): Generator<object> {
  const seen = new Set<unknown>();
  function* walk(value: unknown, depth: number): Generator<object> {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || depth > DEEPEST) return;
    if (seen.size === MOST_OBJECTS) throw new ToolError('LIMIT_EXCEEDED', `Expected a file that exports at most ${MOST_OBJECTS} objects, found more. Export the tools from a file of their own`);
    seen.add(value);
    const inner = partsOf(value);
    if (inner === undefined) yield value;
    else for (const each of inner) yield* walk(each, depth + 1);
  }
  for (const value of Object.values(module) as unknown[]) {
    // Where a CommonJS module hides behind the default export, its getters are exports and not the user's own code.
    const isModule = value === (module as { default?: unknown }).default && isPlainObject(value) && !isToolDefinition(value);
    for (const each of isModule ? (Object.values(value) as unknown[]) : [value]) yield* walk(each, 0);
  }
}

/** What a list, set, map or plain object holds; `undefined` for everything else. */
function partsOf(value: object): Iterable<unknown> | undefined {
  if (Array.isArray(value) || value instanceof Set) return value as Iterable<unknown>;
  if (value instanceof Map) return value.values();
  if (!isPlainObject(value) || isToolDefinition(value)) return undefined;
  if (Object.hasOwn(value, '__esModule') || Object.prototype.toString.call(value) === '[object Module]') return Object.values(value) as unknown[];
  return Object.values(Object.getOwnPropertyDescriptors(value)).map((each) => each.value as unknown);
}

function entriesOf(value: object): readonly ToolEntry[] {
  try {
    return findDefinitions(value).map(entryOf);
  } catch (error) {
    if (isToolError(error, 'NOT_A_TOOL')) return [];
    throw error;
  }
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
