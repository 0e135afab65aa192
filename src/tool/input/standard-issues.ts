import type { z } from 'zod';
import type { Issue } from '../../core/errors.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { expectationOf, expectedGot } from '../../core/issues.js';
import type { StandardIssue } from '../schema/standard-schema.js';
import { describeField, isSecretPath } from '../../json-schema/schema-issues.js';
import { valueAt, type Path } from './input-error.js';

/** The issues of a Standard Schema in this library's form. zod's say what was expected; for others their message is used. */
export function standardIssues(issues: readonly StandardIssue[], vendor: string, input: Json): readonly Issue[] {
  if (issues.length === 0) return [{ path: [], message: expectedGot('an input that the schema accepts', 'one that it refuses without a reason') }];
  return issues.map((issue) => toIssue(issue, vendor, input));
}

function toIssue(issue: StandardIssue, vendor: string, input: Json): Issue {
  const path = pathOf(issue);
  if (vendor === 'zod' && 'code' in issue) return { path, message: zodMessage(issue as z.core.$ZodIssue, path, input) };
  // A library's own words may repeat the value.
  return { path, message: expectedGot('a value that the schema accepts', gotAt(input, path), sentenceOf(issue, path)) };
}

function sentenceOf({ message }: StandardIssue, path: Path): string | undefined {
  return isSecretPath(path) ? undefined : String(message).replace(/[^.?!]$/, '$&.');
}

function zodMessage(issue: z.core.$ZodIssue, path: Path, input: Json): string {
  if (issue.code === 'unrecognized_keys') return expectedGot(expectation(issue), issue.keys.map((key) => describeValue(key)).join(', '), 'Leave them out.');
  const got = gotAt(input, path);
  const advice = ZODS_WORDS.test(issue.message) ? undefined : sentenceOf(issue, path);
  return expectedGot(expectation(issue), issue.code === 'invalid_type' && got === 'nothing' ? 'nothing (it is required)' : got, advice);
}

/** The beginning of zod's own messages; others are written by the schema's author. */
const ZODS_WORDS = /^(?:Invalid |Too (?:big|small): )/;

/** Returns what was expected, in the words of JSON Schema where it has some. */
function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'only known parameters';
    case 'invalid_union':
      return issue.errors.length > 0 ? unionOf(issue.errors) : choiceOf((issue as { readonly options?: unknown }).options);
    case 'invalid_format':
      return formatOf(issue);
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return 'a value that the schema accepts';
    default:
      return issue.code === 'invalid_type' && issue.expected !== 'int' ? issue.expected : expectationOf(issue);
  }
}

function formatOf(issue: z.core.$ZodIssueInvalidStringFormat): string {
  const { format, pattern, prefix, suffix, includes } = issue as z.core.$ZodIssueInvalidStringFormat & Readonly<Record<'prefix' | 'suffix' | 'includes', string | undefined>>;
  if (prefix !== undefined) return `a text that begins with ${JSON.stringify(prefix)}`;
  if (suffix !== undefined) return `a text that ends with ${JSON.stringify(suffix)}`;
  if (includes !== undefined) return `a text with ${JSON.stringify(includes)} in it`;
  return format === 'regex' ? `a text that matches ${pattern}` : `a valid ${issue.message.startsWith(INVALID) ? issue.message.slice(INVALID.length) : format}`;
}

const INVALID = 'Invalid ';

/** Returns the values that tell the branches of a union apart. */
function choiceOf(options: unknown): string {
  return Array.isArray(options) && options.length > 0 ? `one of ${options.map((value) => JSON.stringify(value)).join(', ')}` : 'another value';
}

/** Returns what the branches of a union expect, each by its first issue. */
function unionOf(branches: readonly (readonly z.core.$ZodIssue[])[]): string {
  const expected = branches.map(([first]) => {
    if (first === undefined) return 'another value';
    return first.path.length === 0 ? expectation(first) : `an object whose ${first.path.join('.')} is ${expectation(first)}`;
  });
  return [...new Set(expected)].join(', or ');
}

function gotAt(input: Json, path: Path): string {
  const value = valueAt(input, path);
  return value === undefined ? 'nothing' : describeField(path, value);
}

function pathOf({ path = [] }: Pick<StandardIssue, 'path'>): Path {
  return path.map((step) => (isPlainObject(step) ? step['key'] : step)).map((step) => (typeof step === 'number' ? step : String(step)));
}
