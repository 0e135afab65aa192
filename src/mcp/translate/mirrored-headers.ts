import { expectedGot } from '../../core/issues.js';
import { isPlainObject } from '../../core/plain-data.js';
import { quoted } from './foreign-text.js';

/** The keyword that repeats an argument in the header `Mcp-Param-<name>` (protocol of 2026, HTTP). */
const KEY = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: readonly unknown[] = ['string', 'integer', 'boolean'];

/**
 * Returns why the `x-mcp-header` keywords of a schema break the rules of the protocol, and `undefined` if they don't. Clients
 * must leave such a tool out. Each keyword names one header, in a text, integer or boolean reached through `properties` alone.
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
        return expectedGot(
          `"${KEY}" in arguments that are texts, integers or booleans, reached through "properties" alone`,
          `${shown} elsewhere`,
        );
      if (typeof name !== 'string' || !TOKEN.test(name) || names.has(name.toLowerCase()))
        return expectedGot(`"${KEY}" as the name of one header`, shown);
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
