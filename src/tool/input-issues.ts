import type { z } from 'zod';
import { ToolError, type Issue } from '../core/errors.js';
import {
  expectationOf,
  expectedGot,
  formatIssues,
  isWordedByZod,
  REQUIRED,
} from '../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { clip, describeField, isSecretPath } from '../json-schema/schema-issues.js';
import type { StandardIssue } from './tool-schema.js';

export type Path = Issue['path'];

/** Issues listed at most: a model corrects the first ones and tries again. */
const MAX_ISSUES = 20;
/** Characters of one issue: schemas hold long lists and patterns. */
const MAX_MESSAGE = 300;
/** Characters of one line of a message: names of parameters may be as long as the input. */
const MAX_LINE = 600;

/** Returns an issue as a line of bounded length, with its place. */
export function issueLine(issue: Issue): string {
  return clip(formatIssues([issue]), MAX_LINE);
}

/** The error of an input that its schema refuses: one line per issue, at most 20 of them. */
export function invalidInput(
  toolName: string,
  issues: readonly Issue[],
  cause?: unknown,
): ToolError {
  const listed = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => Object.freeze({ path, message: clip(message, MAX_MESSAGE) }));
  const lines = listed.map(issueLine);
  if (issues.length > listed.length) lines.push(`and ${issues.length - listed.length} more`);
  const options = { details: { toolName, issues: Object.freeze(listed) } };
  return new ToolError(
    'INVALID_INPUT',
    `The input of ${toolName} is refused:\n  ${lines.join('\n  ')}`,
    cause === undefined ? options : { ...options, cause },
  );
}

/** The value at a place; `undefined` where there is none. */
function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step))
      return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/** The issues of a Standard Schema in this library's form. zod's say what was expected; for others their message is used. */
export function standardIssues(
  issues: readonly StandardIssue[],
  vendor: string,
  input: Json,
): readonly Issue[] {
  if (issues.length === 0)
    return [
      {
        path: [],
        message: expectedGot(
          'an input that the schema accepts',
          'one that it refuses without a reason',
        ),
      },
    ];
  return issues.map((issue) => toIssue(issue, vendor, input));
}

function toIssue(issue: StandardIssue, vendor: string, input: Json): Issue {
  const path = pathOf(issue);
  if (vendor === 'zod' && 'code' in issue)
    return { path, message: zodMessage(issue as z.core.$ZodIssue, path, input) };
  // A library's own words may repeat the value.
  return {
    path,
    message: expectedGot(
      'a value that the schema accepts',
      gotAt(input, path),
      sentenceOf(issue, path),
    ),
  };
}

function sentenceOf({ message }: StandardIssue, path: Path): string | undefined {
  return isSecretPath(path) ? undefined : String(message).replace(/[^.?!]$/, '$&.');
}

function zodMessage(issue: z.core.$ZodIssue, path: Path, input: Json): string {
  const expected = expectationOf(issue, true);
  if (issue.code === 'unrecognized_keys')
    return expectedGot(
      expected,
      issue.keys.map((key) => describeValue(key)).join(', '),
      'Leave them out.',
    );
  const got = gotAt(input, path);
  if (issue.code === 'invalid_type' && got === 'nothing') return expectedGot(REQUIRED, 'none');
  return expectedGot(expected, got, isWordedByZod(issue) ? undefined : sentenceOf(issue, path));
}

function gotAt(input: Json, path: Path): string {
  const value = valueAt(input, path);
  return value === undefined ? 'nothing' : describeField(path, value);
}

function pathOf({ path = [] }: Pick<StandardIssue, 'path'>): Path {
  return path
    .map((step) => (isPlainObject(step) ? step['key'] : step))
    .map((step) => (typeof step === 'number' ? step : String(step)));
}
