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

/** The maximum number of issues listed. Models fix the first few issues and try again. */
const MAX_ISSUES = 20;
/** The maximum length of one issue, in characters. Schemas can contain long lists and patterns. */
const MAX_MESSAGE = 300;
/**
 * The maximum length of one line, in characters. Parameter names can be as long as the whole input.
 */
const MAX_LINE = 600;

/** Formats an issue and its path as one line, truncated if it's too long. */
export function issueLine(issue: Issue): string {
  return clip(formatIssues([issue]), MAX_LINE);
}

/**
 * Returns the error for an input that doesn't match the schema: one line per issue, at most 20
 * lines.
 */
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
    `Invalid input for ${toolName}:\n  ${lines.join('\n  ')}`,
    cause === undefined ? options : { ...options, cause },
  );
}

/** Returns the value at a path, or `undefined`. */
function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step))
      return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/**
 * Converts Standard Schema issues to tooldex's format. zod issues say what was expected; other
 * libraries' messages are used unchanged.
 */
export function standardIssues(
  issues: readonly StandardIssue[],
  vendor: string,
  input: Json,
): readonly Issue[] {
  if (issues.length === 0)
    return [
      {
        path: [],
        message: 'The schema rejected this input without giving a reason.',
      },
    ];
  return issues.map((issue) => toIssue(issue, vendor, input));
}

function toIssue(issue: StandardIssue, vendor: string, input: Json): Issue {
  const path = pathOf(issue);
  if (vendor === 'zod' && 'code' in issue)
    return { path, message: zodMessage(issue as z.core.$ZodIssue, path, input) };
  // Other libraries' messages can repeat the value.
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
      'Remove them.',
    );
  const got = gotAt(input, path);
  if (issue.code === 'invalid_type' && got === 'nothing') return expectedGot(REQUIRED, 'nothing');
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
