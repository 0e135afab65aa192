import { sha256Of } from '../../core/crypto.js';
import { compareText, isPlainObject, mapValues } from '../../core/plain-data.js';
import { mapSchemas } from '../../tool/render-tool.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { propertiesOf, requiredOf } from '../schema/walk-schema.js';

/** Encodes and decodes the names of one export. */
export interface NameCodec {
  /** Returns the encoded name, or `undefined` for a name that isn't in this export. */
  readonly encode: (name: string) => string | undefined;
  /** Returns the original name, or `undefined` for a name that isn't in this export. */
  readonly decode: (encoded: string) => string | undefined;
}

/**
 * The names that OpenAI and Anthropic accept: at most 64 letters, digits, `_` and `-`. Source: the
 * comments on `FunctionDefinition.name` in the openai package, and Anthropic's API reference.
 */
export const FUNCTION_NAME_RULE = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The names that Gemini accepts: at most 64 letters, digits, `_` and `-`, starting with a letter or
 * `_`.
 *
 * Source: the comments on `FunctionDeclaration.name` in the @google/genai package. The comments
 * also allow dots and up to 128 characters, but older Gemini models don't. With this rule, most
 * tools have the same name for every target.
 */
export const GEMINI_NAME_RULE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/**
 * The parameter names that Anthropic accepts. Source: the API's own error message, "Property keys
 * should match pattern '^[a-zA-Z0-9_.-]{1,64}$'".
 */
export const ANTHROPIC_PARAMETER_RULE = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * The parameter names that Gemini accepts. Source: the comments on `FunctionDeclaration.parameters`
 * in the @google/genai package.
 */
export const GEMINI_PARAMETER_RULE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The maximum length of an encoded name. */
const LONGEST = 64;
/** The number of digest digits that distinguish similar names. */
const DIGEST_DIGITS = 8;

/**
 * Encodes names so that they match a rule, and decodes them again.
 *
 * Names that already match are kept. In all other names, a dot becomes `__` (`mcp.github.get_issue`
 * → `mcp__github__get_issue`), and any other forbidden character becomes `_`. If the result is too
 * long, or equal to the result for another name, it ends with `_` and the first digits of the
 * name's SHA-256. The order of the names doesn't matter.
 *
 * @param rule Matches the names that the target allows.
 * @param reserved Names that have a special meaning for the target.
 */
export function createNameCodec(
  names: Iterable<string>,
  rule: RegExp,
  reserved: Iterable<string> = [],
): NameCodec {
  const encodings = new Map<string, string>();
  /** The names that are taken, and the tools that have them. */
  const originals = new Map<string, string | undefined>();
  const assign = (encoded: string, name?: string): void => {
    originals.set(encoded, name);
    if (name !== undefined) encodings.set(name, encoded);
  };
  for (const name of reserved) assign(name);
  const readable = new Map<string, string>();
  const wanted = new Map<string, number>();
  for (const name of [...new Set(names)].sort(compareText)) {
    if (rule.test(name) && !originals.has(name)) assign(name, name);
    else {
      const plain = plainly(name, rule);
      readable.set(name, plain);
      wanted.set(plain, (wanted.get(plain) ?? 0) + 1);
    }
  }
  // Readable names that only one tool wants come first, so that a digest never takes one of them.
  for (const [name, plain] of readable)
    if (plain.length <= LONGEST && wanted.get(plain) === 1 && !originals.has(plain))
      assign(plain, name);
  for (const [name, plain] of readable)
    if (!encodings.has(name)) assign(marked(name, plain, originals), name);
  return Object.freeze({
    encode: (name: string) => encodings.get(name),
    decode: (encoded: string) => originals.get(encoded),
  });
}

/**
 * Returns the readable encoding of a name. The encoding may be too long, or equal to the encoding
 * of another name.
 */
function plainly(name: string, rule: RegExp): string {
  const plain = name.replaceAll('.', '__').replace(/[^A-Za-z0-9_-]/g, '_');
  const dashless = plain.replaceAll('-', '_');
  return [plain, dashless].find((text) => rule.test(text.slice(0, LONGEST))) ?? `_${dashless}`;
}

/** Returns the readable encoding with a digest, truncated to the maximum length. */
function marked(name: string, plain: string, taken: ReadonlyMap<string, unknown>): string {
  for (let attempt = 0; ; attempt += 1) {
    const digest = sha256Of(attempt === 0 ? name : `${name}\n${attempt}`).slice(0, DIGEST_DIGITS);
    const encoded = `${plain.slice(0, LONGEST - DIGEST_DIGITS - 1)}_${digest}`;
    if (!taken.has(encoded)) return encoded;
  }
}

/**
 * Renames parameters at every level if the target rejects their names (`$filter`, `@type`).
 * `restore` brings back the original names in a call's arguments.
 */
export function renameParameters<S extends JsonSchema>(
  schema: S,
  rule: RegExp,
): { readonly schema: S; readonly restore: (input: unknown) => unknown } {
  const names = new Set<string>();
  mapSchemas(schema, (each) => {
    for (const name of Object.keys(propertiesOf(each))) names.add(name);
    return each;
  });
  if ([...names].every((name) => rule.test(name))) return { schema, restore: (input) => input };
  // All levels share one codec, so a new name is never the name of another parameter.
  const codec = createNameCodec(names, rule);
  return {
    schema: mapSchemas(schema, (each) => withEncodedNames(each, codec)) as S,
    restore: (input) => withDecodedNames(input, codec),
  };
}

function withEncodedNames(schema: JsonSchema, codec: NameCodec): JsonSchema {
  if (!isPlainObject(schema['properties'])) return schema;
  const properties = renameKeys(schema['properties'], codec.encode);
  const required = requiredOf(schema).map((name) => codec.encode(name) ?? name);
  return { ...schema, properties, ...(required.length > 0 && { required }) };
}

function withDecodedNames(input: unknown, codec: NameCodec): unknown {
  if (Array.isArray(input)) return input.map((each) => withDecodedNames(each, codec));
  if (!isPlainObject(input)) return input;
  const restored = mapValues(input, ([, value]) => withDecodedNames(value, codec));
  return renameKeys(restored, codec.decode);
}

function renameKeys(
  value: Readonly<Record<string, unknown>>,
  rename: (key: string) => string | undefined,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [rename(key) ?? key, each]));
}
