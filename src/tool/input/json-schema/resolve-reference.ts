import { isPlainObject, type Json } from '../../../core/plain-data.js';
import type { Path } from '../input-error.js';

/** What a reference leads to, and where that is. */
export interface ReferenceTarget {
  readonly source: Json;
  readonly path: Path;
}

/**
 * Where a reference inside a schema leads: `#`, a JSON pointer (`#/$defs/name`, RFC 6901) or an anchor (`#name`).
 *
 * @returns undefined for anything outside of the document, and for what is not there.
 */
export function resolveReference(root: Json, reference: unknown): ReferenceTarget | undefined {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  const fragment = decode(reference.slice(1));
  if (fragment === undefined) return undefined;
  if (fragment !== '' && !fragment.startsWith('/')) return findAnchor(root, fragment);
  let source = root;
  const path: (string | number)[] = [];
  for (const step of fragment.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof source !== 'object' || source === null || !Object.hasOwn(source, name)) return undefined;
    path.push(Array.isArray(source) ? Number(name) : name);
    source = (source as Readonly<Record<string, Json>>)[name]!;
  }
  return { source, path };
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** The data is at most 64 levels deep, so recursion is safe. */
function findAnchor(source: Json, name: string, path: Path = []): ReferenceTarget | undefined {
  if (typeof source !== 'object' || source === null) return undefined;
  if (isPlainObject(source) && (source['$anchor'] === name || source['$dynamicAnchor'] === name)) return { source, path };
  for (const [key, value] of Object.entries(source)) {
    const found = findAnchor(value, name, [...path, Array.isArray(source) ? Number(key) : key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
