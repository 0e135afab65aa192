import { z } from 'zod';
import { fileURLToPath } from 'node:url';
import { expectedGot, invalidArgument, suggestNames } from '../../core/issues.js';
import { checkOptions, text } from '../../core/options.js';
import { describeValue, isPlainObject } from '../../core/plain-data.js';
import type { ToolOptions } from '../../tool/metadata/tool-options.js';
import type { Execute } from '../../tool/tool-definition.js';

/** The source of manifests: files, or a folder with them. */
export type ManifestSource = string | URL | readonly (string | URL)[] | { readonly root: string | URL };

/** Functions by the name of their tool, or by its `handler_ref`. */
export type Handlers = ReadonlyMap<string, Execute<never>> | Readonly<Record<string, Execute<never>>>;

/** The fields that both loaders have; `handlerMap` checks each of the handlers. */
export const loadShape = { persona: text.optional(), handlers: z.custom<Handlers>().optional(), onInvalid: z.enum(['throw', 'quarantine']).default('throw') };
const rootSchema = z.strictObject({ root: z.unknown() });

/** Returns the files, or the folder to find them in, as paths. */
export function pathsOf(source: unknown): { readonly root: string } | { readonly paths: readonly string[] } {
  if (Array.isArray(source)) {
    if (source.length === 0) throw invalidArgument('at least one manifest file', source);
    return { paths: source.map(pathOf) };
  }
  if (!isPlainObject(source)) return { paths: [pathOf(source)] };
  return { root: pathOf(checkOptions(rootSchema, source, 'fields of the source of manifests').root) };
}

function pathOf(value: unknown): string {
  if (value instanceof URL && value.protocol === 'file:') return fileURLToPath(value);
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value;
  throw invalidArgument('the path of a manifest file, or {root: the path of a folder}', value);
}

/** Returns handlers as a map. @throws ToolError `INVALID_ARGUMENT` for anything but functions by name. */
export function handlerMap(handlers: unknown): ReadonlyMap<string, Execute<never>> {
  if (handlers === undefined) return new Map();
  if (!(handlers instanceof Map) && !isPlainObject(handlers)) throw invalidArgument('handlers as an object or Map of functions', handlers);
  const entries = handlers instanceof Map ? [...(handlers as Map<unknown, unknown>)] : Object.entries(handlers);
  for (const [name, handler] of entries) {
    if (typeof name !== 'string' || typeof handler !== 'function') throw invalidArgument(`a function as handler ${describeValue(name)}`, handler);
  }
  return new Map(entries as [string, Execute<never>][]);
}

/** A handler that belongs to no tool and would never be called. */
export interface UnusedHandler {
  readonly message: string;
  /** The name that was probably meant. */
  readonly close: string | undefined;
}

/** Returns the handlers whose name is neither the name nor the `handler_ref` of any of some tools. */
export function unusedHandlers(handlers: Iterable<string>, tools: readonly Pick<ToolOptions, 'name' | 'handlerRef'>[]): readonly UnusedHandler[] {
  const names = [...new Set(tools.flatMap(({ name, handlerRef }) => (handlerRef === undefined ? name : [name, handlerRef])))];
  return [...handlers].filter((handler) => !names.includes(handler)).map((handler) => {
    const close = suggestNames(handler, names)[0];
    const advice = close === undefined ? 'Nothing calls it.' : `Did you mean ${JSON.stringify(close)}?`;
    return { message: expectedGot('handlers by the name or handler_ref of a tool in the manifests', describeValue(handler), advice), close };
  });
}
