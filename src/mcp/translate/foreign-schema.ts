import { isToolError, issuesOf } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { cloneFrozen, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { compileJsonSchema, foreignSchema, type PatternEngine } from '../../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from '../../tool/schema/json-schema-of.js';
import type { JsonSchema } from '../../tool/schema/standard-schema.js';
import { cleanSchema } from './clean-schema.js';

/** A schema that is sound, with what was changed in it, or why it is not. */
export type ForeignSchema = { readonly schema: JsonSchema; readonly changes: readonly string[] } | { readonly refused: string };

/**
 * The input schema of a server's tool.
 *
 * Small mistakes that real servers make are put right as the original system did: the type is always object,
 * `properties` that are no object are dropped, `required` is a list of the names in it. Nothing given means any object.
 */
export function inputSchemaOf(given: Json | undefined, engine?: PatternEngine): ForeignSchema {
  if (given === undefined || given === null) return { schema: foreignSchema({ type: 'object', properties: Object.freeze({}) }), changes: [] };
  if (!isPlainObject(given)) return { refused: expectedGot('an input schema as an object', 'something else') };
  const changes: string[] = [];
  const { type, properties, required, ...rest } = given;
  if (type !== undefined && type !== 'object') changes.push('its type was set to object');
  if (properties !== undefined && !isPlainObject(properties)) changes.push('its properties, which are no object, were dropped');
  const names = namesIn(required);
  if (required !== undefined && !(Array.isArray(required) && names.length === required.length)) changes.push('its list of required fields was put right');
  const repaired = { ...rest, type: 'object', properties: isPlainObject(properties) ? properties : {}, ...(names.length > 0 ? { required: names } : {}) };
  const sound = soundSchema(repaired, 'input', engine);
  return 'refused' in sound ? sound : { schema: sound.schema, changes: [...changes, ...sound.changes] };
}

function namesIn(required: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(required) ? required : [required];
  return [...new Set(list.filter((name): name is string => typeof name === 'string' && name.trim() !== '').map((name) => name.trim()))];
}

/** A schema that can be enforced and in which nothing is hidden. Its patterns are left to the server, or to an engine. */
export function soundSchema(given: Json, side: 'input' | 'output', engine?: PatternEngine): ForeignSchema {
  const what = `an ${side} schema`;
  const { schema: clean, hidden, changed } = cleanSchema(given);
  if (hidden) return { refused: expectedGot(`${what} of visible characters`, 'hidden ones in names or values') };
  try {
    const schema = jsonSchemaOf(foreignSchema(cloneFrozen(clean) as JsonSchema, engine), side);
    compileJsonSchema(schema);
    return { schema, changes: changed ? [`explanations in its ${side} schema were cleaned or cut`] : [] };
  } catch (error) {
    const reason = isToolError(error, 'INVALID_INPUT_SCHEMA') ? issuesOf(error)[0]?.message : undefined;
    return { refused: expectedGot(`${what} that can be enforced`, 'one that cannot', publicMessage(reason ?? error)) };
  }
}
