import { expectedGot } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
import { SUBSCHEMAS } from '../json-schema/schema-document.js';
import { listOf, partAt, resolveReference, type Part } from './read-document.js';

/** Keywords that say nothing to whoever fills in the arguments. */
const UNUSED = /^(?:x-.*|xml|externalDocs|examples?|discriminator|\$schema)$/;
/** Characters of JSON after which no further definitions are embedded. A tool's schema may have 262,144. */
const MOST_CHARACTERS = 65_536;
/** Characters of one explanation. */
const LONGEST_TEXT = 1_024;
const ANY = 'Any value is allowed there.';

/** A file as a model gives it. */
const FILE = Object.freeze({
  type: 'object',
  properties: {
    text: { type: 'string', description: 'The content, if it is text' },
    base64: { type: 'string', description: 'The content as base64, if it is not text' },
    filename: { type: 'string' },
  },
});

/**
 * Returns a schema of a document as one that stands alone: local references lead to copies in `$defs`.
 *
 * Definitions are copied breadth first, until the schema has 64 KiB. Beyond that, and if a reference leaves the
 * document or leads nowhere, any value is allowed. Nothing outside the document is read. Fields marked `readOnly` are
 * left out, because requests don't send them. Binary strings become objects with the file's content.
 *
 * @param report receives a sentence for everything that the copy lacks.
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
  // Copying a definition may append the names of others.
  for (const [reference, name] of names) {
    if (left <= 0) {
      report(`Definitions beyond 64 KiB are left out of its schema. ${ANY}`);
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
