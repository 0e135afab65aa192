import { describeValue, isPlainObject } from '../../../core/plain-data.js';

/** Where a keyword holds further schemas, and whether they look at the same value or at its parts. */
export type SubschemaKind = 'same' | 'part';

/** What the value of a keyword must be. */
export type KeywordKind =
  | { readonly schemas: 'one' | 'list' | 'map' | 'one-or-list' | 'map-or-names'; readonly of: SubschemaKind }
  | { readonly data: 'type' | 'count' | 'number' | 'positive' | 'names' | 'name-map' | 'switch' | 'values' | 'any' | 'text' };

const one = (of: SubschemaKind): KeywordKind => ({ schemas: 'one', of });
const list = (of: SubschemaKind): KeywordKind => ({ schemas: 'list', of });
const map = (of: SubschemaKind): KeywordKind => ({ schemas: 'map', of });
const data = (kind: Extract<KeywordKind, { data: unknown }>['data']): KeywordKind => ({ data: kind });

/**
 * The keywords that are checked; all others are ignored, as the specification says of unknown ones.
 *
 * `format` and `default` are not among them: they are annotations (JSON Schema 2020-12, Validation § 7 and § 9.2).
 * `$ref`, `pattern` and `patternProperties` are handled apart.
 */
export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map<string, KeywordKind>([
  ['allOf', list('same')],
  ['anyOf', list('same')],
  ['oneOf', list('same')],
  ['not', one('same')],
  ['if', one('same')],
  ['then', one('same')],
  ['else', one('same')],
  ['dependentSchemas', map('same')],
  ['dependencies', { schemas: 'map-or-names', of: 'same' }],
  ['properties', map('part')],
  ['additionalProperties', one('part')],
  ['unevaluatedProperties', one('part')],
  ['propertyNames', one('part')],
  ['prefixItems', list('part')],
  ['items', { schemas: 'one-or-list', of: 'part' }],
  ['additionalItems', one('part')],
  ['unevaluatedItems', one('part')],
  ['contains', one('part')],
  ['type', data('type')],
  ['const', data('any')],
  ['enum', data('values')],
  ['required', data('names')],
  ['dependentRequired', data('name-map')],
  ['minProperties', data('count')],
  ['maxProperties', data('count')],
  ['minItems', data('count')],
  ['maxItems', data('count')],
  ['minContains', data('count')],
  ['maxContains', data('count')],
  ['minLength', data('count')],
  ['maxLength', data('count')],
  ['uniqueItems', data('switch')],
  ['minimum', data('number')],
  ['maximum', data('number')],
  ['exclusiveMinimum', data('number')],
  ['exclusiveMaximum', data('number')],
  ['multipleOf', data('positive')],
  ['pattern', data('text')],
]);

/** References whose target depends on how the schema was reached. */
export const REFUSED_KEYWORDS: readonly string[] = ['$dynamicRef', '$recursiveRef'];

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** What a keyword's value should have been, or `undefined` when it is right. */
export function expectedData(kind: Extract<KeywordKind, { data: unknown }>['data'], value: unknown, maxValues: number): string | undefined {
  switch (kind) {
    case 'type':
      return (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type)) ? undefined : `a type (${[...TYPES].join(', ')}) or a list of them, found ${describeValue(value)}`;
    case 'count':
      return Number.isInteger(value) && (value as number) >= 0 ? undefined : `a whole number from 0, found ${describeValue(value)}`;
    case 'number':
      return typeof value === 'number' ? undefined : `a number, found ${describeValue(value)}`;
    case 'positive':
      return typeof value === 'number' && value > 0 ? undefined : `a number above 0, found ${describeValue(value)}`;
    case 'names':
      return isNames(value) ? undefined : `a list of names, found ${describeValue(value)}`;
    case 'name-map':
      return isPlainObject(value) && Object.values(value).every(isNames) ? undefined : `an object of lists of names, found ${describeValue(value)}`;
    case 'switch':
      return typeof value === 'boolean' ? undefined : `true or false, found ${describeValue(value)}`;
    case 'values':
      return Array.isArray(value) && value.length <= maxValues ? undefined : `a list of at most ${maxValues} values, found ${describeValue(value)}`;
    case 'text':
      return typeof value === 'string' ? undefined : `a text, found ${describeValue(value)}`;
    case 'any':
      return undefined;
  }
}

export function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string');
}
