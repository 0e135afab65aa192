import { isPlainObject, isShared, mapValues, type Json } from '../core/plain-data.js';
import { pointedAt, SUBSCHEMAS, type Plain } from './schema-document.js';

/** The dialect of every schema inside this program. */
export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const DRAFT =
  /^https?:\/\/json-schema\.org\/(?:draft-0(?<old>[467])\/|draft\/(?:2019-09|2020-12)\/)?schema#?$/;
const OPENAPI = /^https:\/\/spec\.openapis\.org\/oas\/3\.\d\/dialect\/[\w-]+#?$/;

/**
 * The drafts that need different treatment. Draft 6 is read as 7, and 2019-09 as 2020-12. `open`
 * means that the schema doesn't declare a draft.
 */
type Dialect = 4 | 7 | 2020 | 'open';
type Keywords = Record<string, Json>;

/** The keywords that stay beside a reference of an old draft, where others don't count. */
const BESIDE_REFERENCE = /^(?:\$ref|\$schema|\$defs|definitions|title|description)$/;
/** The keywords whose list can't be empty. */
const LISTS = /^(?:type|allOf|anyOf|oneOf|prefixItems)$/;
const TEXTS = /^(?:title|description|\$comment|format|content(?:Encoding|MediaType))$/;
const SWITCHES = /^(?:deprecated|readOnly|writeOnly)$/;
/** The keywords of a nullable schema that don't become part of an alternative. */
const OUTSIDE = /^(?:\$(?!ref)|title|description|default|examples|deprecated|readOnly|writeOnly)/;
/** The keywords that can refuse `null` even if the type allows it. */
const REFUSES_NULL = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'const'];
const RENAMED: Readonly<Record<string, string>> = {
  definitions: '$defs',
  dependencies: 'dependentSchemas',
  additionalItems: 'items',
};

/**
 * Converts a schema of draft 4 to 2019-09, or of OpenAPI 3.0, to draft 2020-12. A schema of draft
 * 2020-12 stays the same. Annotations of a wrong type and empty lists are left out.
 *
 * References follow the keywords that are renamed. If a reference points to a keyword that isn't
 * part of JSON Schema (`#/components/…`), or to one of `definitions` whose name is also in `$defs`,
 * its target is copied to `$defs` under a free name. An unknown draft stays, and
 * `compileJsonSchema` refuses it.
 *
 * @param schema Plain data, at most 64 levels deep. Shared parts are already converted.
 */
export function modernSchema(schema: Plain): Plain {
  return new Conversion(schema).result();
}

class Conversion {
  readonly #root: Plain;
  /** The names of the copied definitions, by reference. */
  readonly #copied = new Map<string, string>();

  constructor(root: Plain) {
    this.#root = root;
  }

  result(): Plain {
    const dialect = dialectOf(this.#root, 'open');
    const schema = this.#schema(this.#root, dialect) as Keywords;
    if (this.#copied.size === 0) return schema;
    const copies: Keywords = {};
    // Converting a copy can add more references.
    for (const [reference, name] of this.#copied)
      copies[name] = this.#schema(pointedAt(this.#root, reference) as Json, dialect);
    return { ...schema, $defs: { ...(schema['$defs'] as Plain | undefined), ...copies } };
  }

  #schema(source: Json, outer: Dialect): Json {
    if (!isPlainObject(source) || isShared(source)) return source;
    const { $id, $ref, $schema, nullable } = source;
    const dialect = typeof $id === 'string' ? dialectOf(source, outer) : outer;
    const isReplaced = (dialect === 4 || dialect === 7) && typeof $ref === 'string';
    const keywords: Keywords = Object.fromEntries(
      Object.entries<Json>(source as Plain)
        .filter(([keyword]) => !isReplaced || BESIDE_REFERENCE.test(keyword))
        .filter(([keyword, value]) => isSound(keyword, value))
        .map(([keyword, value]) => [keyword, this.#valueOf(keyword, value, dialect)]),
    );
    if (typeof $ref === 'string') keywords['$ref'] = this.#reference($ref);
    if (isKnown($schema)) keywords['$schema'] = DIALECT;
    identify(keywords, dialect === 4 ? 'id' : '$id');
    rename(keywords);
    return nullable === true && (dialect === 'open' || dialect === 4)
      ? withNull(keywords)
      : keywords;
  }

  /** Converts the schemas in a keyword's value. */
  #valueOf(keyword: string, value: Json, dialect: Dialect): Json {
    const kind = SUBSCHEMAS.get(keyword);
    if (keyword === 'pattern' && typeof value === 'string')
      return value.replace(/\\(.)/gs, (pair, each: string) =>
        /[:;@#%&,<>="'!~_]/.test(each) ? each : pair,
      );
    if (kind === undefined)
      return keyword === 'type' || keyword === 'required' ? unique(value) : value;
    if (Array.isArray(value)) return value.map((each) => this.#schema(each as Json, dialect));
    return kind === 'map' && isPlainObject(value)
      ? mapValues(value, ([, each]) => this.#schema(unique(each as Json), dialect))
      : this.#schema(value, dialect);
  }

  /** Returns a reference to the place that a schema has after the conversion. */
  #reference(reference: string): string {
    const [address, fragment = ''] = reference.split('#');
    if (!fragment.startsWith('/')) return reference;
    const steps = fragment.split('/').slice(1);
    const renamed: string[] = [];
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at]!;
      const kind = SUBSCHEMAS.get(step);
      const twin = [...steps.slice(0, at), '$defs', ...steps.slice(at + 1, at + 2)].join('/');
      if (kind === undefined || (step === 'definitions' && pointedAt(this.#root, `#/${twin}`)))
        return address === '' ? this.#copy(reference) : reference;
      const isListed = kind === 'one-or-list' && /^\d+$/.test(steps[at + 1] ?? '');
      renamed.push(isListed ? 'prefixItems' : (RENAMED[step] ?? step));
      if (isListed || kind === 'list' || kind === 'map') renamed.push(...steps.slice(++at, at + 1));
    }
    return `${address}#/${renamed.join('/')}`;
  }

  #copy(reference: string): string {
    if (pointedAt(this.#root, reference) === undefined) return reference;
    const { $defs, definitions } = this.#root;
    const taken = new Set([$defs, definitions].flatMap((each) => Object.keys(each ?? {})));
    for (const [other, name] of this.#copied) if (other !== reference) taken.add(name);
    let name = reference.replace(/^.*\//, '').replace(/[^\w.-]+/g, '_');
    while (taken.has(name)) name += '_';
    this.#copied.set(reference, name);
    return `#/$defs/${name}`;
  }
}

function dialectOf({ $schema }: { readonly $schema?: unknown }, outer: Dialect): Dialect {
  if (!isKnown($schema)) return outer;
  const old = DRAFT.exec($schema)?.groups?.['old'];
  return old === undefined ? 2020 : old === '4' ? 4 : 7;
}

/** Returns true for the address of a draft that can be converted. */
function isKnown(uri: unknown): uri is string {
  return typeof uri === 'string' && (DRAFT.test(uri) || OPENAPI.test(uri));
}

/** Returns false for annotations of a wrong type, and for keywords that 2020-12 doesn't have. */
function isSound(keyword: string, value: Json): boolean {
  if (TEXTS.test(keyword)) return typeof value === 'string';
  if (SWITCHES.test(keyword)) return typeof value === 'boolean';
  if (keyword === 'examples') return Array.isArray(value);
  if (LISTS.test(keyword)) return !Array.isArray(value) || value.length > 0;
  return keyword !== 'nullable';
}

function unique(value: Json): Json {
  return Array.isArray(value) ? [...new Set(value as Json[])] : value;
}

/** Converts a schema's URI. Before 2019-09, an anchor is a URI that has only a fragment. */
function identify(keywords: Keywords, keyword: 'id' | '$id'): void {
  const id = keywords[keyword];
  const [uri, anchor] = typeof id === 'string' ? id.split('#') : [];
  if (id === undefined || (keyword === '$id' && uri === id)) return;
  delete keywords[keyword];
  if (uri) keywords['$id'] = uri;
  else if (anchor) keywords['$anchor'] = anchor;
}

/** Gives the keywords of older drafts their names in 2020-12. */
function rename(keywords: Keywords): void {
  const move = (from: string, to: string, value: Json | undefined) => {
    delete keywords[from];
    if (value !== undefined) keywords[to] = value;
  };
  if (Array.isArray(keywords['enum']) && keywords['enum'].length === 0) move('enum', 'not', {});
  // Draft 4 and OpenAPI 3.0 use the form {minimum: 0, exclusiveMinimum: true}.
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    const { [exclusive]: isExclusive, [bound]: value } = keywords;
    if (typeof isExclusive === 'boolean') delete keywords[exclusive];
    if (isExclusive === true && typeof value === 'number') move(bound, exclusive, value);
  }
  const { items, additionalItems, definitions, dependencies } = keywords;
  if (Array.isArray(items)) {
    move('items', 'prefixItems', items.length > 0 ? (items as Json) : undefined);
    move('additionalItems', 'items', additionalItems);
  } else delete keywords['additionalItems'];
  if (isPlainObject(definitions))
    move('definitions', '$defs', { ...definitions, ...(keywords['$defs'] as Plain) });
  if (!isPlainObject(dependencies)) return;
  delete keywords['dependencies'];
  for (const [name, value] of Object.entries(dependencies)) {
    const keyword = Array.isArray(value) ? 'dependentRequired' : 'dependentSchemas';
    keywords[keyword] = { [name]: value, ...(keywords[keyword] as Plain | undefined) };
  }
}

/** Returns a schema that also accepts `null`. */
function withNull(keywords: Keywords): Plain {
  if (REFUSES_NULL.some((keyword) => keyword in keywords)) {
    const [outside, inside] = [true, false].map((is) =>
      Object.fromEntries(
        Object.entries(keywords).filter(([keyword]) => OUTSIDE.test(keyword) === is),
      ),
    );
    return { ...outside, anyOf: [inside!, { type: 'null' }] };
  }
  const { type, enum: values } = keywords;
  const types = Array.isArray(type) ? (type as Json[]) : [type];
  if (type !== undefined) keywords['type'] = unique([...types, 'null'] as Json[]);
  if (Array.isArray(values)) keywords['enum'] = unique([...(values as Json[]), null]);
  return keywords;
}
