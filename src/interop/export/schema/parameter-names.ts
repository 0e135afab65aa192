import type { JsonSchema } from '../../../tool/schema/standard-schema.js';
import { createNameCodec, type NameCodec, type NameRule } from '../name-codec.js';
import { alongSchema, mapSchemas, propertiesOf, requiredOf } from './walk-schema.js';

const ANTHROPIC_PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/;
const GEMINI_PARAMETER = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Source: the API's own refusal, "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'". */
export const ANTHROPIC_PARAMETER_RULE: NameRule = Object.freeze({ fits: (name: string) => ANTHROPIC_PARAMETER.test(name), maxLength: 64 });

/** Source: the comments of `FunctionDeclaration.parameters` in the @google/genai package. */
export const GEMINI_PARAMETER_RULE: NameRule = Object.freeze({ fits: (name: string) => GEMINI_PARAMETER.test(name), maxLength: 64 });

export interface RenamedSchema<S extends JsonSchema> {
  readonly schema: S;
  /** Gives the parameters of a call their own names back. */
  readonly restore: (input: unknown) => unknown;
}

/** Renames parameters whose names the target refuses (`$filter`, `@type`), on every level. */
export function renameParameters<S extends JsonSchema>(schema: S, rule: NameRule): RenamedSchema<S> {
  const codecs = new Map<unknown, NameCodec>();
  const renamed = mapSchemas(schema, (each) => {
    const names = Object.keys(propertiesOf(each));
    if (names.every(rule.fits)) return each;
    const codec = createNameCodec(names, rule);
    const properties = Object.fromEntries(Object.entries(propertiesOf(each)).map(([name, property]) => [codec.encode(name)!, property]));
    const copy: JsonSchema = { ...each, properties, ...(each['required'] === undefined ? {} : { required: requiredOf(each).map((name) => codec.encode(name) ?? name) }) };
    codecs.set(copy['properties'], codec);
    return copy;
  });
  if (codecs.size === 0) return { schema: renamed as S, restore: (input) => input };
  const restore = (input: unknown) =>
    alongSchema(input, renamed, (object, each) => {
      const codec = codecs.get(each['properties']);
      return codec === undefined ? { ...object } : Object.fromEntries(Object.entries(object).map(([name, value]) => [codec.decode(name) ?? name, value]));
    });
  return { schema: structuredClone(renamed) as S, restore }; // The caller may change its copy; the way back must stay.
}
