import { expectedGot } from '../core/issues.js';
import { isPlainObject } from '../core/plain-data.js';
import { withoutHidden } from '../core/visible-text.js';
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

/**
 * Converts a schema in a document to a standalone schema: local references point to copies in
 * `$defs`.
 *
 * Definitions are copied breadth-first, until the schema has 64 KiB. Definitions beyond that limit,
 * and references that are external or dangling, allow any value. Nothing outside the document is
 * read. Fields marked `readOnly` are omitted, because requests don't contain them.
 *
 * @param report Called with a sentence about each part that the copy lacks.
 * @param hasFiles If true, binary strings become objects that contain a file. JSON has no files.
 */
export function embedSchema(
  root: Part,
  source: Part,
  report: (change: string) => void,
  hasFiles: boolean,
): Part {
  const $defs: Record<string, unknown> = {};
  const names = new Map<string, string>();
  let left = MOST_CHARACTERS;

  function referTo(reference: string): Part {
    const target = targetOf(root, reference);
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
    const { $ref, oneOf, ...keywords } = branchesNamed(value);
    const copy: Record<string, unknown> = {};
    const properties = isPlainObject(keywords['properties']) ? keywords['properties'] : {};
    const isSent = (name: unknown) => partAt(root, properties[String(name)])['readOnly'] !== true;
    for (const [keyword, inner] of Object.entries(keywords))
      if (!UNUSED.test(keyword) && !isEmptyText(keyword, inner))
        copy[keyword] = member(keyword, inner, isSent);
    // Few documents mean that exactly one branch may match, and the API checks it in any case.
    if (Array.isArray(oneOf)) {
      const anyOf = oneOf.map(copyOf);
      if (copy['anyOf'] === undefined) copy['anyOf'] = anyOf;
      else copy['allOf'] = [...listOf(copy['allOf']), { anyOf }];
    }
    if (keywords['x-nullable'] === true) copy['nullable'] = true;
    if (hasFiles && isFile(value)) return { ...FILE, ...pick(copy, 'description') };
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
    $defs[name] = copyOf(targetOf(root, reference));
    left -= JSON.stringify($defs[name]).length;
  }
  return names.size === 0 ? schema : { ...schema, $defs };
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
  const named = (branch: unknown): unknown => {
    const reference = isPlainObject(branch) ? branch['$ref'] : undefined;
    if (typeof reference !== 'string') return branch;
    const values = Object.keys(mapping).filter(
      (value) => mapping[value] === reference || reference.endsWith(`/${String(mapping[value])}`),
    );
    return values.length === 0
      ? branch
      : {
          $ref: reference,
          properties: { [propertyName]: { enum: values } },
          required: [propertyName],
        };
  };
  const lists = ['oneOf', 'anyOf'].filter((keyword) => Array.isArray(schema[keyword]));
  return {
    ...schema,
    ...Object.fromEntries(lists.map((keyword) => [keyword, listOf(schema[keyword]).map(named)])),
  };
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
