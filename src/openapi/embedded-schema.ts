import { expectedGot } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
import { SUBSCHEMAS } from '../json-schema/schema-document.js';
import { listOf, partAt, resolveReference, type Part } from './read-document.js';

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
});

/**
 * Converts a schema in a document to a standalone schema: local references point to copies in
 * `$defs`.
 *
 * Definitions are copied breadth-first, until the schema has 64 KiB. Definitions beyond that limit,
 * and references that are external or dangling, allow any value. Nothing outside the document is
 * read. Fields marked `readOnly` are omitted, because requests don't contain them. Binary strings
 * become objects that contain a file.
 *
 * @param report Called with a sentence about each part that the copy lacks.
 */
export function embedSchema(root: Part, source: Part, report: (change: string) => void): Part {
  const $defs: Record<string, unknown> = {};
  const names = new Map<string, string>();
  let left = MOST_CHARACTERS;

  function referTo(reference: string): Part {
    const target = resolveReference(root, reference);
    if (!names.has(reference) && target === undefined) {
      report(
        expectedGot(
          'a reference to a schema inside the document',
          JSON.stringify(withoutHidden(reference.slice(0, 200))),
          ANY,
        ),
      );
      return {};
    }
    const last = reference
      .split('/')
      .at(-1)!
      .replace(/[^\w.-]+/g, '_');
    const name = names.get(reference) ?? (last in $defs ? `${last}_${names.size}` : last);
    names.set(reference, name);
    $defs[name] ??= true;
    return { $ref: `#/$defs/${name}` };
  }

  function copyOf(value: unknown): unknown {
    if (!isPlainObject(value)) return typeof value === 'boolean' ? value : {};
    const { $ref, ...keywords } = value;
    const copy: Record<string, unknown> = {};
    const properties = isPlainObject(keywords['properties']) ? keywords['properties'] : {};
    const isSent = (name: unknown) => partAt(root, properties[String(name)])['readOnly'] !== true;
    for (const [keyword, inner] of Object.entries(keywords))
      if (!UNUSED.test(keyword)) copy[keyword] = member(keyword, inner, isSent);
    if (isFile(value)) return { ...FILE, ...pick(copy, 'description') };
    return typeof $ref === 'string' ? { ...copy, ...referTo($ref) } : copy;
  }

  function member(keyword: string, value: unknown, isSent: (name: unknown) => boolean): unknown {
    if (keyword === 'required') return listOf(value).filter(isSent);
    if (keyword === 'description' || keyword === 'title')
      return withoutHidden(String(value))
        .slice(0, LONGEST_TEXT)
        .replace(/[\uD800-\uDBFF]$/, '');
    const kind = SUBSCHEMAS.get(keyword);
    if (kind === undefined) return value;
    if (Array.isArray(value)) return value.map(copyOf);
    if (kind !== 'map' || !isPlainObject(value)) return copyOf(value);
    const entries = Object.entries(value).filter(
      ([name]) => keyword !== 'properties' || isSent(name),
    );
    return Object.fromEntries(entries.map(([name, schema]) => [name, copyOf(schema)]));
  }

  const schema = copyOf(source) as Part;
  left -= JSON.stringify(schema).length;
  // Copying a definition can add more names to the map.
  for (const [reference, name] of names) {
    if (left <= 0) {
      report(`Its schema is too large, so definitions beyond 64 KiB are left out. ${ANY}`);
      break;
    }
    $defs[name] = copyOf(resolveReference(root, reference));
    left -= JSON.stringify($defs[name]).length;
  }
  return names.size === 0 ? schema : { ...schema, $defs };
}

function isFile(schema: Part): boolean {
  const { format, contentMediaType, contentEncoding } = schema;
  return format === 'binary' || (contentMediaType !== undefined && contentEncoding === undefined);
}

function pick(part: Part, key: string): Part {
  return part[key] === undefined ? {} : { [key]: part[key] };
}
