import type { OutputUnit } from '@cfworker/json-schema';
import type { Issue } from '../../../core/errors.js';
import { describeValue, type Json } from '../../../core/plain-data.js';
import { describeField, isSecretPath } from '../describe-field.js';
import { clip, valueAt, type Path } from '../input-error.js';
import type { SchemaNode, ScreenedSchema } from './schema-node.js';

/** Characters of a list of allowed values or names in a message. */
const MAX_LISTED = 200;
/** Errors that are looked at, and characters of their places: a check may find tens of thousands, and few are told. */
const MAX_UNITS = 200;
const MAX_LOCATIONS = 100_000;

/** Errors that only say that there are others further inside. */
const WRAPPERS: ReadonlySet<string> = new Set(['$ref', 'allOf', 'properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties', 'items', 'prefixItems', 'additionalItems', 'unevaluatedItems', 'propertyNames', 'dependentSchemas', 'if']);
const CHOICES: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);
/** Keywords whose `not` refuses any value: what is there should not be there. */
const UNEXPECTED = /\/(?:additionalProperties|unevaluatedProperties)\/not$/;
/** A property may be called propertyNames too. */
const NAME = /(?<!\/properties)\/propertyNames\//;

/**
 * The validator's errors in the house's form: where in the input, what was expected there, and what was found.
 *
 * Of very many errors only the first are told; of one or more, at least one.
 */
export function schemaIssues(units: readonly OutputUnit[], schema: ScreenedSchema, input: Json): readonly Issue[] {
  const issues = tell(firstOf(units), schema, input);
  // No issue would mean that the input fits.
  if (issues.length === 0 && units.length > 0) return [{ path: [], message: 'expected an input that fits the schema, found another' }];
  return issues;
}

/** The first errors that say something themselves; at least one, however long its place is. */
function firstOf(units: readonly OutputUnit[]): readonly OutputUnit[] {
  const first: OutputUnit[] = [];
  let characters = 0;
  for (const unit of units) {
    if (WRAPPERS.has(unit.keyword)) continue;
    characters += unit.instanceLocation.length + unit.keywordLocation.length;
    if (first.length > 0 && (first.length >= MAX_UNITS || characters > MAX_LOCATIONS)) break;
    first.push(unit);
  }
  return first;
}

function tell(units: readonly OutputUnit[], schema: ScreenedSchema, input: Json): readonly Issue[] {
  const issues: Issue[] = [];
  for (let index = 0; index < units.length; index++) {
    const unit = units[index]!;
    if (!CHOICES.has(unit.keyword)) {
      issues.push(issueOf(unit, schema, input));
      continue;
    }
    // The errors of all branches follow; they are told as one.
    const inside: OutputUnit[] = [];
    const prefix = `${unit.keywordLocation}/`;
    while (units[index + 1]?.keywordLocation.startsWith(prefix)) inside.push(units[++index]!);
    issues.push(...choiceIssues(unit, inside, schema, input));
  }
  return issues;
}

/** Types at the place itself are joined; otherwise the branch that fits best speaks for all. */
function choiceIssues(unit: OutputUnit, inside: readonly OutputUnit[], schema: ScreenedSchema, input: Json): readonly Issue[] {
  const path = pathOf(unit.instanceLocation, input);
  const found = describeField(path, valueAt(input, path));
  const fitting = / \((\d+) matches\)/.exec(unit.error)?.[1];
  if (fitting !== undefined && fitting !== '0') return [{ path, message: `expected a value that fits exactly one form, found ${found}, which fits ${fitting}` }];

  const branches = new Map<string, OutputUnit[]>();
  for (const each of inside) {
    const branch = each.keywordLocation.slice(unit.keywordLocation.length + 1).split('/', 1)[0]!;
    const units = branches.get(branch);
    if (units === undefined) branches.set(branch, [each]);
    else units.push(each);
  }
  const told = [...branches.values()].map((units) => tell(units, schema, input));
  const isHere = (issue: Issue) => issue.path.length === path.length;
  const elsewhere = told.filter((issues) => issues.length > 0 && !issues.some(isHere)).sort((a, b) => a.length - b.length);
  if (elsewhere[0] !== undefined) return elsewhere[0];
  const expected = [...new Set(told.flatMap((issues) => issues.filter(isHere).slice(0, 1).map(({ message }) => message.replace(/^expected /, '').replace(/, found [^]*$/, ''))))];
  return [{ path, message: `expected ${clip(expected.join(', or '), MAX_LISTED) || 'one of several forms'}, found ${found}` }];
}

function issueOf(unit: OutputUnit, schema: ScreenedSchema, input: Json): Issue {
  const path = pathOf(unit.instanceLocation, input);
  const value = valueAt(input, path);
  if (UNEXPECTED.test(unit.keywordLocation)) return { path, message: `expected only known parameters, found ${describeValue(path.at(-1))}; leave it out` };
  if (unit.keyword === 'required') {
    const missing = /required property "([^]*)"\.$/.exec(unit.error)?.[1] ?? '';
    return { path: [...path, missing], message: 'expected a value (it is required), found none' };
  }
  // Names are checked as texts of their own.
  const isName = NAME.test(unit.keywordLocation);
  const checked = isName ? path.at(-1) : value;
  const found = isName ? describeValue(checked) : describeField(path, checked);
  const bound = keywordAt(unit.keywordLocation, schema);
  const expected = bound === undefined ? undefined : expectationOf(unit.keyword, bound);
  if (expected === undefined) {
    // The validator's own words may repeat the value.
    const why = isSecretPath(path) ? '' : ` (${clip(unit.error.replace(/\.$/, ''), MAX_LISTED)})`;
    return { path, message: `expected a value that fits the schema${why}, found ${found}` };
  }
  const measure = unit.keyword.endsWith('Length') && typeof checked === 'string' ? ` (${[...checked].length} characters)` : '';
  return { path, message: `expected ${expected}, found ${found}${measure}` };
}

function expectationOf(keyword: string, bound: unknown): string | undefined {
  const shown = clip(shortJson(bound), MAX_LISTED);
  switch (keyword) {
    case 'type':
      return (Array.isArray(bound) ? bound : [bound]).join(' or ');
    case 'enum':
      return `one of ${clip(listed(bound as readonly unknown[], ', '), MAX_LISTED)}`;
    case 'const':
      return shown;
    case 'minimum':
      return `at least ${shown}`;
    case 'maximum':
      return `at most ${shown}`;
    case 'exclusiveMinimum':
      return `more than ${shown}`;
    case 'exclusiveMaximum':
      return `less than ${shown}`;
    case 'multipleOf':
      return `a multiple of ${shown}`;
    case 'minLength':
      return `at least ${shown} characters`;
    case 'maxLength':
      return `at most ${shown} characters`;
    case 'minItems':
      return `at least ${shown} entries`;
    case 'maxItems':
      return `at most ${shown} entries`;
    case 'minProperties':
      return `at least ${shown} fields`;
    case 'maxProperties':
      return `at most ${shown} fields`;
    case 'uniqueItems':
      return 'entries that differ from each other';
    case 'pattern':
      return `a text that matches ${clip(String(bound), MAX_LISTED)}`;
    default:
      return undefined;
  }
}

/** The beginning of a value's JSON, with at least as many characters as are shown. */
function shortJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(clip(value, MAX_LISTED));
  if (Array.isArray(value)) return `[${listed(value, ',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).slice(0, MAX_LISTED);
  return `{${listed(names, ',', (name) => `${shortJson(name)}:${shortJson((value as Record<string, unknown>)[name as string])}`)}}`;
}

function listed(values: readonly unknown[], separator: string, write: (value: unknown) => string = shortJson): string {
  let text = '';
  for (const [index, value] of values.entries()) {
    if (text.length > MAX_LISTED) break;
    text += `${index === 0 ? '' : separator}${write(value)}`;
  }
  return text;
}

/** The value of the keyword that failed; `undefined` where its place cannot be told. */
function keywordAt(location: string, schema: ScreenedSchema): unknown {
  let at: unknown = schema.root;
  for (const step of stepsOf(location)) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = step === '$ref' ? schema.targets[(at as SchemaNode).$ref!] : (at as Record<string, unknown>)[step];
  }
  return at;
}

function pathOf(location: string, input: Json): Path {
  const path: (string | number)[] = [];
  let at: unknown = input;
  for (const step of stepsOf(location)) {
    path.push(Array.isArray(at) ? Number(step) : step);
    at = valueAt(at, path.slice(-1));
  }
  return path;
}

/** The steps of a JSON pointer in a URI fragment. */
function stepsOf(location: string): readonly string[] {
  return location.split('/').slice(1).map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
}
