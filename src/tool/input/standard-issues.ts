import type { z } from 'zod';
import type { Issue } from '../../core/errors.js';
import { describeValue, isPlainObject, type Json } from '../../core/plain-data.js';
import { expectationOf } from '../../core/issues.js';
import type { StandardIssue } from '../schema/standard-schema.js';
import { describeField, isSecretPath } from '../../json-schema/schema-issues.js';
import { valueAt, type Path } from './input-error.js';

/** The issues of a Standard Schema in the house's form. zod's say what was expected; of others their message is used. */
export function standardIssues(issues: readonly StandardIssue[], vendor: string, input: Json): readonly Issue[] {
  if (issues.length === 0) return [{ path: [], message: 'expected an input that the schema accepts, found one that it refuses without a reason' }];
  return issues.map((issue) => toIssue(issue, vendor, input));
}

function toIssue(issue: StandardIssue, vendor: string, input: Json): Issue {
  const path = pathOf(issue);
  const zodIssue = vendor === 'zod' && 'code' in issue ? (issue as z.core.$ZodIssue) : undefined;
  if (zodIssue !== undefined) return { path, message: zodMessage(zodIssue, path, input) };
  // A library's own words may repeat the value.
  const expected = isSecretPath(path) ? 'expected a value that the schema accepts' : String(issue.message);
  return { path, message: `${expected}, found ${found(input, path)}` };
}

function zodMessage(issue: z.core.$ZodIssue, path: Path, input: Json): string {
  if (issue.code === 'unrecognized_keys') return `expected only known parameters, found ${issue.keys.map((key) => describeValue(key)).join(', ')}; leave them out`;
  if (issue.code === 'invalid_type' && found(input, path) === 'nothing') return `expected ${issue.expected}, found nothing (it is required)`;
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return `expected ${unionOf(issue, input)}, found ${found(input, path)}`;
  const expected = issue.code === 'invalid_type' && issue.expected !== 'int' ? issue.expected : expectationOf(issue); // The words of JSON Schema.
  return `expected ${expected}, found ${found(input, path)}`;
}

/** What the branches of a union expect, each by its first issue. */
function unionOf(issue: Extract<z.core.$ZodIssue, { code: 'invalid_union' }>, input: Json): string {
  const expected = issue.errors.map(([first]) => {
    if (first === undefined) return 'another value';
    const inner = zodMessage({ ...first, path: [...issue.path, ...first.path] }, [...pathOf(issue), ...pathOf(first)], input).replace(/^expected /, '').replace(/, found [^]*$/, '');
    return first.path.length === 0 ? inner : `an object whose ${first.path.join('.')} is ${inner}`;
  });
  return [...new Set(expected)].join(', or ');
}

function found(input: Json, path: Path): string {
  const value = valueAt(input, path);
  return value === undefined ? 'nothing' : describeField(path, value);
}

function pathOf({ path = [] }: Pick<StandardIssue, 'path'>): Path {
  return path.map((step) => (isPlainObject(step) ? step['key'] : step)).map((step) => (typeof step === 'number' ? step : String(step)));
}
