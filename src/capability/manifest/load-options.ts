import { fileURLToPath } from 'node:url';
import { ToolError } from '../../core/errors.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { Execute } from '../../tool/tool-definition.js';

/** Where manifests are: files, or a folder with them. */
export type ManifestSource = string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions by the name of their tool, or by its `handler_ref`. */
export type Handlers = ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** @throws ToolError `INVALID_ARGUMENT` for unknown options: a misspelt one that was ignored would change an answer without a word. */
export function requireKnown(options: unknown, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isPlainObject(options)) throw invalid('options as an object', options);
  for (const key of Object.keys(options)) if (!known.includes(key)) throw invalid(`only the options ${known.join(', ')}`, key);
  return options;
}

/** @throws ToolError `INVALID_ARGUMENT` */
export function requireOneOf<T extends string>(option: string, value: unknown, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T;
  throw invalid(`${option} as one of ${allowed.map((each) => JSON.stringify(each)).join(', ')}`, value);
}

/** @throws ToolError `INVALID_ARGUMENT` */
export function requirePersona(persona: unknown): string | undefined {
  if (persona === undefined || (typeof persona === 'string' && persona.trim() !== '')) return persona;
  throw invalid('persona as a name', persona);
}

/** Files, or the folder to find them in, as paths. */
export function pathsOf(source: unknown): { readonly root: string } | { readonly paths: readonly string[] } {
  if (Array.isArray(source)) {
    if (source.length === 0) throw invalid('at least one manifest file', source);
    return { paths: source.map(pathOf) };
  }
  if (!isPlainObject(source)) return { paths: [pathOf(source)] };
  return { root: pathOf(requireKnown(source, ['root'])['root']) };
}

function pathOf(value: unknown): string {
  if (value instanceof URL && value.protocol === 'file:') return fileURLToPath(value);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw invalid('the path of a manifest file, or {root: the path of a folder}', value);
}

/** @throws ToolError `INVALID_ARGUMENT` for what is no map of functions. */
export function handlerMap(handlers: unknown): ReadonlyMap<string, Execute<never>> {
  if (handlers === undefined) return new Map();
  if (!(handlers instanceof Map) && !isPlainObject(handlers)) throw invalid('handlers as an object or Map of functions', handlers);
  const entries = handlers instanceof Map ? [...(handlers as Map<unknown, unknown>)] : Object.entries(handlers);
  for (const [name, handler] of entries) {
    if (typeof name !== 'string' || typeof handler !== 'function') throw invalid(`a function as handler ${describeValue(name)}`, handler);
  }
  return new Map(entries as [string, Execute<never>][]);
}

export function invalid(expected: string, found: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', `expected ${expected}, found ${describeValue(found)}`);
}
