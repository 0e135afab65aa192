/** A tool's parameter, described in words. */
interface SchemaRow {
  /** The parameter's path: `options.depth`, `files[].path`. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** Further rules: defaults, bounds, patterns. */
  readonly rules: readonly string[];
}

/** Limits on how much is shown. A schema can be recursive, or as large as its author likes. */
const DEEPEST = 5;
const MOST_ROWS = 300;
const MOST_VALUES = 12;

type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns the parameters in a JSON Schema, outer ones first. Everything else is only shown as raw
 * JSON.
 */
export function schemaRows(schema: unknown): readonly SchemaRow[] {
  const rows: SchemaRow[] = [];
  if (isSchema(schema)) addProperties(schema, schema, '', 0, rows);
  return rows;
}

function addProperties(
  root: Schema,
  owner: Schema,
  prefix: string,
  depth: number,
  rows: SchemaRow[],
): void {
  const properties = own(owner, 'properties');
  if (!isSchema(properties) || depth > DEEPEST) return;
  const required = own(owner, 'required');
  for (const [name, value] of Object.entries(properties)) {
    if (rows.length >= MOST_ROWS) return;
    const schema = resolve(root, value);
    const path = prefix + name;
    const description = own(schema, 'description');
    rows.push({
      path,
      type: typeOf(root, schema),
      required: Array.isArray(required) && required.includes(name),
      description: typeof description === 'string' ? description : '',
      rules: rulesOf(schema),
    });
    addProperties(root, schema, `${path}.`, depth + 1, rows);
    addProperties(root, resolve(root, own(schema, 'items')), `${path}[].`, depth + 1, rows);
  }
}

function typeOf(root: Schema, schema: Schema, depth = 0): string {
  if (depth > DEEPEST) return '…';
  if (Object.hasOwn(schema, 'const')) return JSON.stringify(schema['const']);
  const values = own(schema, 'enum');
  if (Array.isArray(values)) return listed(values.map((value) => JSON.stringify(value)));
  for (const key of ['anyOf', 'oneOf']) {
    const choices = own(schema, key);
    if (Array.isArray(choices))
      return listed([
        ...new Set(choices.map((choice) => typeOf(root, resolve(root, choice), depth + 1))),
      ]);
  }
  const type = own(schema, 'type');
  if (type === 'array') return `${typeOf(root, resolve(root, own(schema, 'items')), depth + 1)}[]`;
  if (Array.isArray(type)) return type.map(String).join(' | ');
  return typeof type === 'string' ? type : 'any';
}

function listed(values: readonly string[]): string {
  return values.length <= MOST_VALUES
    ? values.join(' | ')
    : `${values.slice(0, MOST_VALUES).join(' | ')} | … (${values.length})`;
}

const RULES: readonly (readonly [string, string])[] = [
  ['default', 'default'],
  ['format', 'format'],
  ['minimum', '≥'],
  ['exclusiveMinimum', '>'],
  ['maximum', '≤'],
  ['exclusiveMaximum', '<'],
  ['minLength', 'length ≥'],
  ['maxLength', 'length ≤'],
  ['minItems', 'items ≥'],
  ['maxItems', 'items ≤'],
  ['pattern', 'pattern'],
];

/**
 * Returns a schema's rules. Omits the bounds of safe integers, because schema libraries add them to
 * every integer.
 */
function rulesOf(schema: Schema): readonly string[] {
  return RULES.flatMap(([key, word]) => {
    const value = own(schema, key);
    if (
      value === undefined ||
      (typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER)
    )
      return [];
    return [
      `${word} ${typeof value === 'string' && key !== 'default' ? value : JSON.stringify(value)}`,
    ];
  });
}

/**
 * Follows one local reference. Returns `{}` for remote references and anything that isn't a schema.
 */
function resolve(root: Schema, value: unknown): Schema {
  if (!isSchema(value)) return {};
  const reference = own(value, '$ref');
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return value;
  let found: unknown = root;
  for (const part of reference.slice(2).split('/'))
    found = isSchema(found)
      ? own(found, part.replaceAll('~1', '/').replaceAll('~0', '~'))
      : undefined;
  return isSchema(found) ? found : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(schema: Schema, key: string): unknown {
  return Object.hasOwn(schema, key) ? schema[key] : undefined;
}
