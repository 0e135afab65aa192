import { isToolError, issuesOf } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import {
  checkJsonSchema,
  foreignSchema,
  type PatternEngine,
} from '../../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from '../../tool/tool-schema.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { cleanText, hasHidden } from './foreign-text.js';

/** A usable schema, or the reason why it's refused. */
type ForeignSchema = { readonly schema: JsonSchema } | { readonly refused: string };

/**
 * Returns the input schema for a server's tool. A missing schema allows any object.
 *
 * It corrects small mistakes of real servers: the type is set to object, `properties` is dropped if
 * it isn't an object, and `required` becomes a list of names.
 */
export function inputSchemaOf(declared: Json | undefined, engine?: PatternEngine): ForeignSchema {
  const schema = declared ?? {};
  if (!isPlainObject(schema))
    return { refused: expectedGot('an input schema as an object', describeValue(schema)) };
  const { properties, required, ...rest } = schema;
  const names = namesIn(required);
  const repaired = {
    ...rest,
    type: 'object',
    properties: isPlainObject(properties) ? properties : {},
    ...(names.length > 0 ? { required: names } : {}),
  };
  return soundSchema(repaired, 'input', engine);
}

function namesIn(required: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(required) ? required : [required];
  return [
    ...new Set(
      list
        .filter((name): name is string => typeof name === 'string' && name.trim() !== '')
        .map((name) => name.trim()),
    ),
  ];
}

/**
 * Returns the schema if it can be enforced and hides nothing. Its patterns are checked by the
 * pattern engine, or by the server if there's no engine.
 */
export function soundSchema(
  declared: Json,
  side: 'input' | 'output',
  engine?: PatternEngine,
): ForeignSchema {
  const what = `The ${side} schema`;
  const { schema: clean, hidden } = cleanSchema(declared);
  if (hidden)
    return {
      refused: `${what} contains hidden characters in names or values.`,
    };
  try {
    const schema = jsonSchemaOf(foreignSchema(cloneFrozen(clean) as JsonSchema, engine), side);
    checkJsonSchema(schema);
    return { schema };
  } catch (error) {
    const reason = isToolError(error, 'INVALID_INPUT_SCHEMA')
      ? issuesOf(error)[0]?.message
      : undefined;
    return {
      refused: `${what} can't be enforced. ${publicMessage(reason ?? error)}`,
    };
  }
}

/** Keywords whose text only explains the schema. */
const EXPLAINING: ReadonlySet<string> = new Set(['description', 'title', '$comment']);
/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);
/** Maximum number of characters in one explanation. */
const LONGEST = 4_096;

/**
 * Returns a server's schema with its explanations cleaned: hidden characters are removed, and texts
 * are cut at 4,096 characters.
 *
 * `hidden` is true if other parts have hidden characters. These can't be removed without changing
 * the schema's meaning.
 */
function cleanSchema(schema: Json): {
  readonly schema: Json;
  readonly hidden: boolean;
} {
  let hidden = false;

  function walk(value: Json, isData: boolean): Json {
    if (typeof value === 'string') hidden ||= hasHidden(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => walk(item as Json, isData));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]): [string, Json] => {
        hidden ||= hasHidden(key);
        return isData || !EXPLAINING.has(key) || typeof item !== 'string'
          ? [key, walk(item, isData || DATA.has(key))]
          : [key, cleanText(item, LONGEST)];
      }),
    );
  }

  return { schema: walk(schema, false), hidden };
}
