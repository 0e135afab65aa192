import { isPlainObject } from '../../core/plain-data.js';
import { quoted } from './foreign-text.js';

/** The keyword that repeats an argument in the header `Mcp-Param-<name>` (2026 protocol, HTTP). */
const KEY = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * Describes how the `x-mcp-header` keywords in a schema break the protocol's rules, or returns
 * `undefined` if they don't. Clients must skip such a tool. Each keyword specifies one header, on a
 * string, integer or boolean reached only through `properties`.
 */
export function wrongMirroredHeader(inputSchema: unknown): string | undefined {
  const names = new Set<string>();
  const visit = (node: unknown, isReachable: boolean, isRoot: boolean): string | undefined => {
    if (Array.isArray(node)) return first(node, (each) => visit(each, false, false));
    if (!isPlainObject(node)) return undefined;
    if (Object.hasOwn(node, KEY)) {
      const { [KEY]: name, type } = node;
      const shown = typeof name === 'string' ? quoted(name) : 'no text';
      if (!isReachable || isRoot || !TYPES.includes(type))
        return `"${KEY}" is only allowed on strings, integers and booleans reached through "properties" alone, but it is on ${shown}.`;
      if (typeof name !== 'string' || !TOKEN.test(name) || names.has(name.toLowerCase()))
        return `"${KEY}" must be the name of one header that no other argument uses, but it is ${shown}.`;
      names.add(name.toLowerCase());
    }
    return first(Object.entries(node), ([key, child]) =>
      key === 'properties' && isPlainObject(child)
        ? first(Object.values(child), (each) => visit(each, isReachable, false))
        : visit(child, false, false),
    );
  };
  return visit(inputSchema, true, true);
}

function first<T>(all: readonly T[], look: (each: T) => string | undefined): string | undefined {
  for (const each of all) {
    const found = look(each);
    if (found !== undefined) return found;
  }
  return undefined;
}
