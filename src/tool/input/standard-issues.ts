import type { z } from 'zod';
import type { Issue } from '../../core/errors.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { expectationOf, expectedGot } from '../../core/issues.js';
import type { StandardIssue } from '../schema/standard-schema.js';
import { describeField, isSecretPath } from '../../json-schema/schema-issues.js';
import { valueAt, type Path } from './input-error.js';

/** The issues of a Standard Schema in the house's form. zod's say what was expected; of others their message is used. */
export function standardIssues(issues: readonly StandardIssue[], vendor: string, input: Json): readonly Issue[] {
  if (issues.length === 0) return [{ path: [], message: expectedGot('an input that the schema accepts', 'one that it refuses without a reason') }];
  return issues.map((issue) => toIssue(issue, vendor, input));
}

function toIssue(issue: StandardIssue, vendor: string, input: Json): Issue {
  const path = pathOf(issue);
  if (vendor === 'zod' && 'code' in issue) return { path, message: zodMessage(issue as z.core.$ZodIssue, path, input) };
  // A library's own words may repeat the value.
  return { path, message: expectedGot('a value that the schema accepts', gotAt(input, path), isSecretPath(path) ? undefined : String(issue.message).replace(/[^.?!]$/, '$&.')) };
}

function zodMessage(issue: z.core.$ZodIssue, path: Path, input: Json): string {
  if (issue.code === 'unrecognized_keys') return expectedGot(expectation(issue), issue.keys.map((key) => describeValue(key)).join(', '), 'Leave them out.');
  const got = gotAt(input, path);
  return expectedGot(expectation(issue), issue.code === 'invalid_type' && got === 'nothing' ? 'nothing (it is required)' : got);
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return 'only known parameters';
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return unionOf(issue.errors);
  return issue.code === 'invalid_type' && issue.expected !== 'int' ? issue.expected : expectationOf(issue); // The words of JSON Schema.
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
