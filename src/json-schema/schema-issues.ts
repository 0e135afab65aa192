import type { Issue } from '../core/errors.js';
import { kindOf, REQUIRED } from '../core/issues.js';
import { describeValue, type Json } from '../core/plain-data.js';
import type { SchemaPath } from './schema-document.js';

/** The maximum length of a list of allowed values or names in a message, in characters. */
export const MAX_LISTED = 200;

/** Words that mark a name as secret, in singular form. */
const SECRET_WORDS: ReadonlySet<string> = new Set(
  'password passwd passphrase passcode pwd pin token secret key apikey authorization auth bearer credential cookie'.split(
    ' ',
  ),
);
/**
 * Matches compound words such as `accesstoken`. Shorter endings would also match `monkey` and
 * `spinner`.
 */
const SECRET_ENDS =
  /(?:password|passwd|passphrase|passcode|token|secret|apikey|privatekey|secretkey|accesskey|credential|authorization)s?$/;
/** The number of characters of a name that are examined. */
const LONGEST_NAME = 200;

/** An issue with one part of a value. */
export interface SchemaIssue extends Issue {
  /** The words after "Expected" in the message. */
  readonly expected: string;
}

/**
 * @param after Text to add after the value, such as its length.
 * @param shown The value as the message shows it.
 */
export function issueAt(
  path: SchemaPath,
  expected: string,
  value: Json,
  after = '',
  shown = describeField(path, value),
): SchemaIssue {
  return { path, expected, message: `Expected ${expected}, got ${shown}${after}.` };
}

export function missingIssue(path: SchemaPath, name: string): SchemaIssue {
  return {
    path: [...path, name],
    expected: REQUIRED,
    message: `Expected ${REQUIRED}, got nothing.`,
  };
}

export function unknownIssue(path: SchemaPath, key: string | number): SchemaIssue {
  return {
    path: [...path, key],
    expected: 'only known parameters',
    message: `Expected only known parameters, got ${describeValue(key)}. Remove it.`,
  };
}

/**
 * Returns the issues of a value that doesn't match any branch of a union. If the branches expect
 * different types, a single issue lists these types. In all other cases, returns the issues of the
 * closest branch.
 */
export function choiceIssues(
  path: SchemaPath,
  value: Json,
  branches: readonly (readonly SchemaIssue[])[],
): readonly SchemaIssue[] {
  const isHere = (issue: SchemaIssue) => issue.path.length === path.length;
  const elsewhere = branches
    .filter((issues) => issues.length > 0 && !issues.some(isHere))
    .sort((a, b) => a.length - b.length);
  if (elsewhere[0] !== undefined) return elsewhere[0];
  const expected = [
    ...new Set(
      branches.flatMap((issues) =>
        issues
          .filter(isHere)
          .slice(0, 1)
          .map((issue) => issue.expected),
      ),
    ),
  ];
  return [
    issueAt(path, clip(expected.join(', or '), MAX_LISTED) || 'one of several schemas', value),
  ];
}

/** Returns the start of a value's JSON, with at least as many characters as messages show. */
export function shortJson(value: unknown): string {
  return clip(JSON.stringify(value), MAX_LISTED);
}

export function listValues(values: readonly unknown[]): string {
  return clip(values.map((value) => JSON.stringify(value)).join(', '), MAX_LISTED);
}

export function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/**
 * Describes an input value for error messages: like `describeValue`, but with only the value's
 * kind if a name in its path looks secret (`apiKey`, `auth.value`, `tokens[0]`). Messages end up in
 * models, logs, and traces.
 */
export function describeField(path: SchemaPath, value: unknown): string {
  return isSecretPath(path) ? kindOf(value) : describeValue(value);
}

/** Returns true if a name in the path to a field looks secret. */
export function isSecretPath(path: SchemaPath): boolean {
  return path.some((step) => typeof step === 'string' && isSecretName(step));
}

function isSecretName(name: string): boolean {
  const words = name
    .slice(0, LONGEST_NAME)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/);
  return words.some(
    (word) =>
      SECRET_WORDS.has(word) || SECRET_WORDS.has(word.replace(/s$/, '')) || SECRET_ENDS.test(word),
  );
}
