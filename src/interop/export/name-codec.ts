import { sha256Of } from '../../core/crypto.js';
import { compareText } from '../../core/plain-data.js';
import { mapSchemas } from '../../tool/render-tool.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { alongSchema, propertiesOf, requiredOf } from '../schema/walk-schema.js';

/** The names of one export, there and back. */
export interface NameCodec {
  /** The name as the target sees it; undefined for names that are not in this export. */
  encode(name: string): string | undefined;
  /** The name that the target's name stands for; undefined for names that were never given out. */
  decode(encoded: string): string | undefined;
}

/** Letters, digits, `_` and `-`, 64 at most. Source: the comments of `FunctionDefinition.name` in the openai package, and the API reference of Anthropic. */
export const FUNCTION_NAME_RULE = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The same, and no digit or hyphen at the start.
 *
 * Source: the comments of `FunctionDeclaration.name` in the @google/genai package. They allow dots and 128 characters as
 * well, but older Gemini models do not; and so a tool has the same name at every target.
 */
export const GEMINI_NAME_RULE = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

/** Source: the API's own refusal, "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'". */
export const ANTHROPIC_PARAMETER_RULE = /^[A-Za-z0-9_.-]{1,64}$/;

/** Source: the comments of `FunctionDeclaration.parameters` in the @google/genai package. */
export const GEMINI_PARAMETER_RULE = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Characters of the longest name that a target takes whose names are not all allowed. */
const LONGEST = 64;
/** Digits of the digest that tells names apart: with 8, two of 1,000 names meet once in 8,000 exports, and then the next ones are taken. */
const DIGEST_DIGITS = 8;

/**
 * Gives every name one that the rule allows, and knows the way back.
 *
 * Names that fit stay as they are. In others a dot becomes `__` (`mcp.github.get_issue` → `mcp__github__get_issue`) and
 * whatever else is not allowed `_`, which also goes before a start that is not; a name that would be too long or equal to
 * another one ends in `_` and the first digits of its SHA-256. The order of the names changes nothing, and a name is encoded
 * alike in every export in which it collides with none.
 *
 * @param rule matches the names that the target allows.
 * @param reserved names that mean something else to the target.
 */
export function createNameCodec(
  names: Iterable<string>,
  rule: RegExp,
  reserved: Iterable<string> = [],
): NameCodec {
  const all = [...new Set(names)].sort(compareText);
  const taken = new Set(reserved);
  const encodings = new Map(
    all.filter((name) => rule.test(name) && !taken.has(name)).map((name) => [name, name]),
  );
  for (const name of encodings.keys()) taken.add(name);

  const others = all
    .filter((name) => !encodings.has(name))
    .map((name) => ({ name, plain: plainly(name, rule) }));
  const wanted = new Map<string, number>();
  for (const { plain } of others) wanted.set(plain, (wanted.get(plain) ?? 0) + 1);
  const isFree = (plain: string) =>
    plain.length <= LONGEST && wanted.get(plain) === 1 && !taken.has(plain);
  const free = new Set(others.filter(({ plain }) => isFree(plain)));
  for (const { plain } of free) taken.add(plain);
  for (const other of others) {
    const encoded = free.has(other) ? other.plain : marked(other.name, other.plain, taken);
    encodings.set(other.name, encoded);
    taken.add(encoded);
  }

  const originals = new Map([...encodings].map(([name, encoded]) => [encoded, name]));
  return Object.freeze({
    encode: (name: string) => encodings.get(name),
    decode: (encoded: string) => originals.get(encoded),
  });
}

/** Returns the readable encoding; it may be too long, or that of another name too. */
function plainly(name: string, rule: RegExp): string {
  const plain = name.replaceAll('.', '__').replace(/[^A-Za-z0-9_-]/g, '_');
  const dashless = plain.replaceAll('-', '_');
  return [plain, dashless].find((text) => rule.test(text.slice(0, LONGEST))) ?? `_${dashless}`;
}

/** Returns the readable encoding and a digest, cut to what is allowed. A name made to meet the digest of another gets the next. */
function marked(name: string, plain: string, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt += 1) {
    const digest = sha256Of(attempt === 0 ? name : `${name}\n${attempt}`).slice(0, DIGEST_DIGITS);
    const encoded = `${plain.slice(0, LONGEST - DIGEST_DIGITS - 1)}_${digest}`;
    if (!taken.has(encoded)) return encoded;
  }
}

/** Renames parameters whose names the target refuses (`$filter`, `@type`), on every level; `restore` gives those of a call their own names back. */
export function renameParameters<S extends JsonSchema>(
  schema: S,
  rule: RegExp,
): { readonly schema: S; readonly restore: (input: unknown) => unknown } {
  const codecs = new Map<unknown, NameCodec>();
  const renamed = mapSchemas(schema, (each) => {
    const names = Object.keys(propertiesOf(each));
    if (names.every((name) => rule.test(name))) return each;
    const codec = createNameCodec(names, rule);
    const properties = Object.fromEntries(
      Object.entries(propertiesOf(each)).map(([name, property]) => [codec.encode(name)!, property]),
    );
    const copy: JsonSchema = {
      ...each,
      properties,
      ...(each['required'] === undefined
        ? {}
        : { required: requiredOf(each).map((name) => codec.encode(name) ?? name) }),
    };
    codecs.set(copy['properties'], codec);
    return copy;
  });
  if (codecs.size === 0) return { schema: renamed as S, restore: (input) => input };
  const restore = (input: unknown) =>
    alongSchema(input, renamed, (object, each) => {
      const codec = codecs.get(each['properties']);
      return codec === undefined
        ? { ...object }
        : Object.fromEntries(
            Object.entries(object).map(([name, value]) => [codec.decode(name) ?? name, value]),
          );
    });
  return { schema: structuredClone(renamed) as S, restore }; // The caller may change its copy; the way back must stay.
}
