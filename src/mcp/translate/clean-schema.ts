import type { Json } from '../../core/plain-data.js';
import { cleanText, hasHidden } from './foreign-text.js';

/** Keywords whose text only explains. */
const EXPLAINING: ReadonlySet<string> = new Set(['description', 'title', '$comment']);
/** Keywords whose value is data, and no schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples', 'required', 'pattern']);
/** Keywords whose members have names of the server's choice. */
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Characters of one explanation. */
const LONGEST = 4_096;

/**
 * A schema of a server with hidden characters taken out of its explanations, and those cut at 4,096 characters.
 *
 * Elsewhere they cannot be taken out without changing what the schema means; `hidden` says that there are some.
 */
export function cleanSchema(schema: Json): { readonly schema: Json; readonly hidden: boolean; readonly changed: boolean } {
  let hidden = false;
  let changed = false;

  function walk(value: Json, kind: 'schema' | 'names' | 'data'): Json {
    if (typeof value === 'string') hidden ||= hasHidden(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => walk(item as Json, kind));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]): [string, Json] => {
        hidden ||= hasHidden(key);
        if (kind === 'names') return [key, walk(item, 'schema')];
        if (kind === 'schema' && EXPLAINING.has(key) && typeof item === 'string') {
          const { text, changes } = cleanText(item, LONGEST);
          changed ||= changes.length > 0;
          return [key, text];
        }
        return [key, walk(item, kind === 'data' || DATA.has(key) ? 'data' : NAMED.has(key) ? 'names' : 'schema')];
      }),
    );
  }

  return { schema: walk(schema, 'schema'), hidden, changed };
}
