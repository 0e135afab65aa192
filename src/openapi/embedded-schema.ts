import { expectedGot } from '../core/issues.js';
import { isPlainObject, sharedFrozen, type Json } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
import { modernSchema } from '../json-schema/modern-schema.js';
import { SUBSCHEMAS } from '../json-schema/schema-document.js';
import { listOf, partAt, targetOf, type Part } from './read-document.js';

/** Matches keywords that don't help models to fill in arguments. */
const UNUSED = /^(?:x-.*|xml|externalDocs|examples?|discriminator|\$schema)$/;
/**
 * The number of JSON characters after which no more definitions are embedded. The maximum for a
 * tool's schema is 262,144.
 */
const MOST_CHARACTERS = 65_536;
/** The maximum number of characters of one description. */
const LONGEST_TEXT = 1_024;
const ANY = 'Any value is allowed there.';

/** The schema for a file in an argument. */
const FILE = Object.freeze({
  type: 'object',
  properties: {
    text: { type: 'string', description: "The content, if it's text" },
    base64: { type: 'string', description: "The content as base64, if it isn't text" },
    filename: { type: 'string' },
  },
  anyOf: [{ required: ['text'] }, { required: ['base64'] }],
});

/** A copied schema. */
interface Copy {
  schema: Json;
  readonly hasFiles: boolean;
  /** The definitions that the copy refers to, as in the document. */
  readonly references: Set<string>;
  /** Sentences about each part that the copy lacks. */
  readonly changes: string[];
}

/**
 * The schemas of a document. Each definition is copied once, and all operations that need it share
 * the copy.
 */
export class DocumentSchemas {
  readonly #root: Part;
  readonly #names = new Map<string, string>();
  readonly #definitions = new Map<string, Copy>();

  constructor(root: Part) {
    this.#root = root;
  }

  /**
   * Converts a schema in the document to a standalone schema: local references point to copies in
   * `$defs`.
   *
   * Definitions are added breadth-first, until the schema has 64 KiB. Definitions beyond that
   * limit, and references that are external or dangling, allow any value. Nothing outside the
   * document is read. Fields marked `readOnly` are omitted, because requests don't contain them.
   *
   * @param report Called with a sentence about each part that the copy lacks.
   * @param hasFiles If true, binary strings become objects that contain a file. JSON has no files.
   */
  embed(source: Part, report: (change: string) => void, hasFiles: boolean): Part {
    const { schema, references, changes } = this.#copy(source, hasFiles);
    const $defs: Record<string, Json> = {};
    let left = MOST_CHARACTERS - JSON.stringify(schema).length;
    let isCut = false;
    // The loop adds more references to the set.
    for (const reference of references) {
      const name = this.#nameOf(reference);
      $defs[name] = true;
      isCut ||= left <= 0;
      if (isCut) continue;
      const definition = this.#definition(reference, hasFiles);
      for (const each of definition.references) references.add(each);
      changes.push(...definition.changes);
      $defs[name] = definition.schema;
      left -= JSON.stringify(definition.schema).length;
    }
    if (isCut)
      changes.push(`Its schema is too large, so definitions beyond 64 KiB are left out. ${ANY}`);
    changes.forEach(report);
    return references.size === 0 ? (schema as Part) : { ...(schema as Part), $defs };
  }

  #definition(reference: string, hasFiles: boolean): Copy {
    const key = `${hasFiles} ${reference}`;
    let copy = this.#definitions.get(key);
    if (copy !== undefined) return copy;
    copy = this.#copy(targetOf(this.#root, reference), hasFiles);
    if (isPlainObject(copy.schema)) copy.schema = sharedFrozen(modernSchema(copy.schema));
    this.#definitions.set(key, copy);
    return copy;
  }

  #nameOf(reference: string): string {
    let name = this.#names.get(reference);
    if (name !== undefined) return name;
    name = reference.replace(/^.*\//, '').replace(/[^\w.-]+/g, '_');
    if ([...this.#names.values()].includes(name)) name += `_${this.#names.size}`;
    this.#names.set(reference, name);
    return name;
  }

  #copy(source: unknown, hasFiles: boolean): Copy {
    const copy: Copy = { schema: {}, hasFiles, references: new Set(), changes: [] };
    copy.schema = this.#part(source, copy) as Json;
    return copy;
  }

  /** Copies a part of a schema, up to its references. */
  #part(value: unknown, into: Copy): unknown {
    if (!isPlainObject(value)) return typeof value === 'boolean' ? value : {};
    const { $ref, oneOf, ...keywords } = branchesNamed(value);
    const copy: Record<string, unknown> = {};
    for (const [keyword, inner] of Object.entries(keywords))
      if (!UNUSED.test(keyword) && !isEmptyText(keyword, inner))
        copy[keyword] = this.#member(keyword, inner, keywords, into);
    // Few documents mean that exactly one branch may match, and the API checks it in any case.
    if (Array.isArray(oneOf)) {
      const anyOf = oneOf.map((each) => this.#part(each, into));
      if (copy['anyOf'] === undefined) copy['anyOf'] = anyOf;
      else copy['allOf'] = [...listOf(copy['allOf']), { anyOf }];
    }
    if (keywords['x-nullable'] === true) copy['nullable'] = true;
    if (into.hasFiles && isFile(value)) return { ...FILE, ...pick(copy, 'description') };
    return typeof $ref === 'string' ? { ...copy, ...this.#reference($ref, into) } : copy;
  }

  #member(keyword: string, value: unknown, { properties }: Part, into: Copy): unknown {
    if (keyword === 'required')
      return listOf(value).filter((name) => this.#isSent(properties, String(name)));
    if (keyword === 'description' || keyword === 'title')
      return withoutHidden(String(value))
        .slice(0, LONGEST_TEXT)
        .replace(/[\uD800-\uDBFF]$/, '');
    const kind = SUBSCHEMAS.get(keyword);
    if (kind === undefined) return value;
    if (Array.isArray(value)) return value.map((each) => this.#part(each, into));
    if (kind !== 'map' || !isPlainObject(value)) return this.#part(value, into);
    const members: [string, unknown][] = [];
    for (const [name, schema] of Object.entries(value))
      if (keyword !== 'properties' || this.#isSent(properties, name))
        members.push([name, this.#part(schema, into)]);
    return Object.fromEntries(members);
  }

  #isSent(properties: unknown, name: string): boolean {
    return !isPlainObject(properties) || partAt(this.#root, properties[name])['readOnly'] !== true;
  }

  #reference(reference: string, into: Copy): Part {
    if (targetOf(this.#root, reference) === undefined) {
      const shown = JSON.stringify(withoutHidden(reference.slice(0, 200)));
      into.changes.push(expectedGot('a reference to a schema inside the document', shown, ANY));
      return {};
    }
    into.references.add(reference);
    return { $ref: `#/$defs/${this.#nameOf(reference)}` };
  }
}

/** Returns true for a title or description without text. Some documents contain `null`. */
function isEmptyText(keyword: string, value: unknown): boolean {
  return /^(?:title|description)$/.test(keyword) && !(typeof value === 'string' && value.trim());
}

/**
 * Adds the values of a discriminator to the branches that they choose, so that models see them.
 * Without a mapping, the branches themselves say which values they have.
 */
function branchesNamed(schema: Part): Part {
  const { propertyName, mapping } = (schema['discriminator'] ?? {}) as Part;
  if (typeof propertyName !== 'string' || !isPlainObject(mapping)) return schema;
  const copy: Record<string, unknown> = { ...schema };
  for (const keyword of ['oneOf', 'anyOf'])
    if (Array.isArray(schema[keyword]))
      copy[keyword] = listOf(schema[keyword]).map((each) => named(each, propertyName, mapping));
  return copy;
}

function named(branch: unknown, propertyName: string, mapping: Part): unknown {
  const reference = isPlainObject(branch) ? branch['$ref'] : undefined;
  if (typeof reference !== 'string') return branch;
  const values = Object.keys(mapping).filter(
    (value) => mapping[value] === reference || reference.endsWith(`/${String(mapping[value])}`),
  );
  if (values.length === 0) return branch;
  const properties = { [propertyName]: { enum: values } };
  return { $ref: reference, properties, required: [propertyName] };
}

function isFile(schema: Part): boolean {
  const { type, format, contentMediaType, contentEncoding } = schema;
  return (
    type === 'file' ||
    format === 'binary' ||
    (contentMediaType !== undefined && contentEncoding === undefined)
  );
}

function pick(part: Part, key: string): Part {
  return part[key] === undefined ? {} : { [key]: part[key] };
}
