type Schema = Readonly<Record<string, unknown>>;

/** A tool's parameter, described in words. */
export interface SchemaRow {
  /** The parameter's path: `options.depth`, `files[].path`. */
  readonly path: string;
  readonly isNested: boolean;
  readonly isRequired: boolean;
  readonly type: string;
  readonly schema: Schema;
  /** Further rules: defaults, bounds, patterns. */
  readonly rules: string;
}

/** Limits on how much is shown. A schema can be recursive, or as large as its author likes. */
const DEEPEST = 5;
const MOST_ROWS = 300;
const MOST_VALUES = 12;

/** Keywords that aren't rules, or that are shown elsewhere. */
const NO_RULES = new Set(['$ref', 'type', 'description', 'title', 'const', 'additionalProperties']);

/** Returns the parameters in a JSON Schema, outer ones first. */
export function schemaRows(root: Schema): readonly SchemaRow[] {
  const rows: SchemaRow[] = [];
  const add = (owner: Schema, prefix: string, depth: number) => {
    if (depth > DEEPEST) return;
    for (const [name, value] of Object.entries(owner['properties'] ?? {})) {
      if (rows.length >= MOST_ROWS) return;
      const schema = resolve(root, value);
      const path = prefix + name;
      const { required } = owner;
      rows.push({
        path,
        isNested: depth > 0,
        isRequired: Array.isArray(required) && required.includes(name),
        type: typeOf(root, schema),
        schema,
        rules: rulesOf(schema),
      });
      add(schema, `${path}.`, depth + 1);
      add(resolve(root, schema['items']), `${path}[].`, depth + 1);
    }
  };
  add(root, '', 0);
  return rows;
}

function typeOf(root: Schema, value: unknown, depth = 0): string {
  if (depth > DEEPEST) return '…';
  const schema = resolve(root, value);
  const { type, enum: values = 'const' in schema ? [schema['const']] : undefined } = schema;
  const choices = schema['anyOf'] ?? schema['oneOf'];
  const listed = (words: readonly string[]) =>
    [...new Set(words)].slice(0, MOST_VALUES).join(' | ') +
    (words.length > MOST_VALUES ? ` | … (${words.length})` : '');
  if (Array.isArray(values)) return listed(values.map((each) => JSON.stringify(each)));
  if (Array.isArray(choices)) return listed(choices.map((each) => typeOf(root, each, depth + 1)));
  if (type === 'array') return `${typeOf(root, schema['items'], depth + 1)}[]`;
  return ([type ?? 'any'].flat() as string[]).join(' | ');
}

/** Returns rules under their names in JSON Schema. Omits the bounds of safe integers. */
function rulesOf(schema: Schema): string {
  return Object.entries(schema)
    .filter(
      ([key, value]) =>
        key === 'default' ||
        !(
          NO_RULES.has(key) ||
          typeof value === 'object' ||
          Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER
        ),
    )
    .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ');
}

/**
 * Follows one local reference. Returns `{}` for remote references and anything that isn't a schema.
 */
function resolve(root: Schema, value: unknown): Schema {
  if (!isSchema(value)) return {};
  const { $ref: reference } = value;
  if (typeof reference !== 'string') return value;
  const parts = reference.split('/').slice(1);
  const found = parts.reduce<unknown>(
    (at, part) => (isSchema(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
    root,
  );
  return reference.startsWith('#') && isSchema(found) ? found : {};
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
