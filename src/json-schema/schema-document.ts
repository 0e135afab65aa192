import { isPlainObject, type Json } from '../core/plain-data.js';

export type SchemaPath = readonly (string | number)[];
export type Plain = Readonly<Record<string, Json>>;

/** A part of a document with its own URI: the document itself, or a schema with an `$id`. */
export interface Resource {
  readonly uri: string;
  readonly root: Json;
  readonly anchors: Map<string, Plain>;
}

interface ReferenceTarget {
  readonly source: Json;
  readonly path: SchemaPath;
  readonly resource: Resource;
}

/** The keywords that contain schemas. `items` and `dependencies` can contain lists as well. */
const KINDS = {
  one: 'not if then else additionalProperties unevaluatedProperties propertyNames additionalItems unevaluatedItems contains',
  list: 'allOf anyOf oneOf prefixItems',
  map: 'properties patternProperties dependentSchemas dependencies $defs definitions',
  'one-or-list': 'items',
};
export const SUBSCHEMAS: ReadonlyMap<string, keyof typeof KINDS> = new Map(
  Object.entries(KINDS).flatMap(([kind, keywords]) =>
    keywords.split(' ').map((keyword) => [keyword, kind as keyof typeof KINDS] as const),
  ),
);

/** The URI used for a document that doesn't declare a URI. */
const NO_URI = 'schema:///';
/** The schemas to which references can point within one document. */
export class SchemaDocument {
  readonly root: Resource;
  readonly #resources = new Map<string, Resource>();
  readonly #homes = new Map<object, Resource>();

  /** @param source Frozen plain data, at most 64 levels deep. */
  constructor(source: Json) {
    this.root = this.#collect(source, undefined);
  }

  /** Returns the resource that contains a schema. */
  resourceOf(source: Json, otherwise: Resource): Resource {
    return (
      (typeof source === 'object' && source !== null ? this.#homes.get(source) : undefined) ??
      otherwise
    );
  }

  /**
   * Finds the target of a reference. A reference is a JSON pointer (`#/$defs/name`, RFC 6901), an
   * anchor (`#name`), or the URI of a schema in the document. A pointer or anchor can follow the
   * URI.
   *
   * @returns `undefined` if the target is outside the document or doesn't exist.
   */
  resolve(reference: string, from: Resource): ReferenceTarget | undefined {
    const hash = reference.indexOf('#');
    const address = hash === -1 ? reference : reference.slice(0, hash);
    const fragment = hash === -1 ? '' : decode(reference.slice(hash + 1));
    const resource = address === '' ? from : this.#resources.get(absolute(address, from.uri) ?? '');
    if (resource === undefined || fragment === undefined) return undefined;
    if (fragment === '' || fragment.startsWith('/')) return this.#follow(fragment, resource);
    const source = resource.anchors.get(fragment);
    return source === undefined ? undefined : { source, path: ['#', fragment], resource };
  }

  #follow(pointer: string, resource: Resource): ReferenceTarget | undefined {
    const source = pointedAt(resource.root, `#${pointer}`) as Json | undefined;
    if (source === undefined) return undefined;
    const path = stepsOf(pointer).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
    return { source, path, resource: this.resourceOf(source, resource) };
  }

  /** Records the URIs and anchors of a schema and of all schemas inside it. */
  #collect(source: Json, outer: Resource | undefined): Resource {
    if (!isPlainObject(source)) return outer ?? this.#resource(NO_URI, source);
    const { $id, $anchor, $dynamicAnchor } = source;
    const uri = typeof $id === 'string' ? absolute($id, outer?.uri ?? NO_URI) : undefined;
    const home =
      outer === undefined || uri !== undefined ? this.#resource(uri ?? NO_URI, source) : outer;
    this.#homes.set(source, home);
    for (const name of [$anchor, $dynamicAnchor])
      if (typeof name === 'string' && !home.anchors.has(name)) home.anchors.set(name, source);
    for (const keyword of Object.keys(source)) {
      const kind = SUBSCHEMAS.get(keyword);
      if (kind === undefined) continue;
      const value = source[keyword] as Json;
      if (kind === 'one' || (kind === 'one-or-list' && !Array.isArray(value)))
        this.#collect(value, home);
      else if (typeof value === 'object' && value !== null)
        for (const each of Object.values<Json>(value as Plain)) this.#collect(each, home);
    }
    return home;
  }

  #resource(uri: string, root: Json): Resource {
    const cached = this.#resources.get(uri);
    if (cached !== undefined) return cached;
    const resource: Resource = { uri, root, anchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }
}

/** Returns the value at a local reference (`#/$defs/name`, RFC 6901), or `undefined`. */
export function pointedAt(root: unknown, reference: string): unknown {
  let at = root;
  for (const step of stepsOf(decode(reference) ?? reference)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Plain)[step];
  }
  return at;
}

/** Returns the keys in a JSON pointer. */
function stepsOf(pointer: string): readonly string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function absolute(address: string, base: string): string | undefined {
  try {
    return new URL(address, base).href.replace(/#$/, '');
  } catch {
    return undefined;
  }
}
