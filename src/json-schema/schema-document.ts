import { isPlainObject, type Json } from '../core/plain-data.js';

export type Path = readonly (string | number)[];
export type Plain = Readonly<Record<string, Json>>;

/** A part of a document with its own URI: the document itself, or a schema with an `$id`. */
export interface Resource {
  readonly uri: string;
  readonly root: Json;
  readonly dialect: Dialect;
  readonly anchors: Map<string, Plain>;
}

/**
 * The JSON Schema drafts that need different treatment. Draft 6 is read as 7, and 2019-09 as 2020-12. `open` means
 * that the document doesn't declare a draft.
 */
type Dialect = 4 | 7 | 2020 | 'open';

/** The target of a reference. */
interface ReferenceTarget {
  readonly source: Json;
  readonly path: Path;
  readonly resource: Resource;
}

/** The keywords that contain schemas. `items` and `dependencies` can contain lists as well. */
export const SUBSCHEMAS: ReadonlyMap<string, 'one' | 'list' | 'map' | 'one-or-list'> = new Map([
  ...(
    [
      'not',
      'if',
      'then',
      'else',
      'additionalProperties',
      'unevaluatedProperties',
      'propertyNames',
      'additionalItems',
      'unevaluatedItems',
      'contains',
    ] as const
  ).map((keyword) => [keyword, 'one'] as const),
  ...(['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const).map(
    (keyword) => [keyword, 'list'] as const,
  ),
  ...(
    [
      'properties',
      'patternProperties',
      'dependentSchemas',
      'dependencies',
      '$defs',
      'definitions',
    ] as const
  ).map((keyword) => [keyword, 'map'] as const),
  ['items', 'one-or-list'],
]);

/** The URI used for a document that doesn't declare a URI. */
const NO_URI = 'schema:///';
const DRAFT =
  /^https?:\/\/json-schema\.org\/(?:draft-0(?<old>[467])\/|draft\/(?:2019-09|2020-12)\/)?schema#?$/;
const OPENAPI = /^https:\/\/spec\.openapis\.org\/oas\/3\.\d\/dialect\/[\w-]+#?$/;

/** The schemas to which references can point within one document. */
export class SchemaDocument {
  readonly root: Resource;
  /**
   * The unknown dialects in the document. An unknown dialect could give keywords a different
   * meaning.
   */
  readonly unknownDialects: { readonly path: Path; readonly uri: Json }[] = [];
  readonly #resources = new Map<string, Resource>();
  readonly #homes = new Map<object, Resource>();

  /** @param source Frozen plain data, at most 64 levels deep. */
  constructor(source: Json) {
    this.root = this.#collect(source, undefined, []);
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
    let source = resource.root;
    const path: (string | number)[] = [];
    for (const step of pointer.split('/').slice(1)) {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof source !== 'object' || source === null || !Object.hasOwn(source, name))
        return undefined;
      path.push(Array.isArray(source) ? Number(name) : name);
      source = (source as Plain)[name]!;
    }
    // References can also point to schemas in unknown keywords.
    if (isPlainObject(source) && !this.#homes.has(source)) this.#collect(source, resource, path);
    return { source, path, resource: this.resourceOf(source, resource) };
  }

  /** Records the URIs and anchors of a schema and of all schemas inside it. */
  #collect(source: Json, outer: Resource | undefined, path: Path): Resource {
    if (!isPlainObject(source)) return outer ?? this.#resource(NO_URI, source, 'open');
    const dialect = this.#dialectOf(source, outer, path);
    // Before 2019-09, a reference overrides all other keywords in the same schema.
    const id =
      isOld(dialect) && typeof source['$ref'] === 'string'
        ? undefined
        : source[dialect === 4 ? 'id' : '$id'];
    const uri =
      typeof id === 'string' && !id.startsWith('#')
        ? absolute(id.replace(/#$/, ''), outer?.uri ?? NO_URI)
        : undefined;
    const home =
      outer === undefined || uri !== undefined
        ? this.#resource(uri ?? NO_URI, source, dialect)
        : outer;
    this.#homes.set(source, home);
    const names = [
      source['$anchor'],
      source['$dynamicAnchor'],
      typeof id === 'string' && id.startsWith('#') ? id.slice(1) : undefined,
    ];
    for (const name of names)
      if (typeof name === 'string' && !home.anchors.has(name)) home.anchors.set(name, source);
    for (const keyword of Object.keys(source)) {
      const kind = SUBSCHEMAS.get(keyword);
      if (kind === undefined) continue;
      const value = source[keyword] as Json;
      if (kind === 'one' || (kind === 'one-or-list' && !Array.isArray(value)))
        this.#collect(value, home, [...path, keyword]);
      else if (typeof value === 'object' && value !== null)
        for (const [name, each] of Object.entries<Json>(value as Plain))
          this.#collect(each, home, [...path, keyword, Array.isArray(value) ? Number(name) : name]);
    }
    return home;
  }

  #resource(uri: string, root: Json, dialect: Dialect): Resource {
    const known = this.#resources.get(uri);
    if (known !== undefined) return known;
    const resource: Resource = { uri, root, dialect, anchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }

  #dialectOf(source: Plain, outer: Resource | undefined, path: Path): Dialect {
    const uri = Object.hasOwn(source, '$schema') ? source['$schema'] : undefined;
    if (uri === undefined || (outer !== undefined && typeof source['$id'] !== 'string'))
      return outer?.dialect ?? 'open';
    const draft = typeof uri === 'string' ? DRAFT.exec(uri) : null;
    if (draft === null && !(typeof uri === 'string' && OPENAPI.test(uri)))
      this.unknownDialects.push({ path: [...path, '$schema'], uri });
    const old = draft?.groups?.['old'];
    return old === undefined ? 2020 : old === '4' ? 4 : 7;
  }
}

/** Returns true for the drafts in which a reference replaces the schema that contains it. */
export function isOld(dialect: Dialect): boolean {
  return dialect === 4 || dialect === 7;
}

function decode(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
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
