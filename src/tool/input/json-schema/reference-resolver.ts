import { isPlainObject, type Json } from '../../../core/plain-data.js';
import type { Path } from '../input-error.js';

/** What a reference leads to, and where that is. */
export interface ReferenceTarget {
  readonly source: Json;
  readonly path: Path;
}

/** Finds what the references inside one schema lead to. */
export class ReferenceResolver {
  readonly #root: Json;
  readonly #known = new Map<string, ReferenceTarget | undefined>();
  /** Collected at the first reference to one: to look for each anew took seconds for thousands of references. */
  #anchors: ReadonlyMap<string, ReferenceTarget> | undefined;

  /** @param root frozen plain data, at most 64 levels deep. */
  constructor(root: Json) {
    this.#root = root;
  }

  /**
   * Where a reference leads: `#`, a JSON pointer (`#/$defs/name`, RFC 6901) or an anchor (`#name`).
   *
   * @returns undefined for anything outside of the document, and for what is not there.
   */
  resolve(reference: unknown): ReferenceTarget | undefined {
    if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
    if (this.#known.has(reference)) return this.#known.get(reference);
    const target = this.#find(reference);
    this.#known.set(reference, target);
    return target;
  }

  #find(reference: string): ReferenceTarget | undefined {
    const fragment = decode(reference.slice(1));
    if (fragment === undefined) return undefined;
    if (fragment === '' || fragment.startsWith('/')) return this.#follow(fragment);
    this.#anchors ??= anchorsOf(this.#root);
    return this.#anchors.get(fragment);
  }

  #follow(pointer: string): ReferenceTarget | undefined {
    let source = this.#root;
    const path: (string | number)[] = [];
    for (const step of pointer.split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof source !== 'object' || source === null || !Object.hasOwn(source, name)) return undefined;
      path.push(Array.isArray(source) ? Number(name) : name);
      source = (source as Readonly<Record<string, Json>>)[name]!;
    }
    return { source, path };
  }
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

/** All anchors of a document; of equal ones the first counts. */
function anchorsOf(root: Json): ReadonlyMap<string, ReferenceTarget> {
  const anchors = new Map<string, ReferenceTarget>();
  const path: (string | number)[] = [];
  const collect = (source: Json): void => {
    if (typeof source !== 'object' || source === null) return;
    if (isPlainObject(source)) {
      for (const name of [source['$anchor'], source['$dynamicAnchor']]) {
        if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, { source, path: [...path] });
      }
    }
    for (const [key, value] of Object.entries<Json>(source as Readonly<Record<string, Json>>)) {
      if (typeof value !== 'object') continue;
      path.push(Array.isArray(source) ? Number(key) : key);
      collect(value);
      path.pop();
    }
  };
  collect(root);
  return anchors;
}
