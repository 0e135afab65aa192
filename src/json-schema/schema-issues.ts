import type { Issue } from '../core/errors.js';
import { kindOf, REQUIRED } from '../core/issues.js';
import { describeValue, type Json } from '../core/plain-data.js';
import type { Path } from './schema-document.js';

/** Characters of a list of allowed values or names in a message. */
export const MAX_LISTED = 200;

/** Words of names whose values are secrets, in the singular. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  'password',
  'passwd',
  'passphrase',
  'passcode',
  'pwd',
  'pin',
  'token',
  'secret',
  'key',
  'apikey',
  'authorization',
  'auth',
  'bearer',
  'credential',
  'cookie',
]);
/** Words written as one, such as `accesstoken`; shorter ones would also match `monkey` and `spinner`. */
const SECRET_ENDS =
  /(?:password|passwd|passphrase|passcode|token|secret|apikey|privatekey|secretkey|accesskey|credential|authorization)s?$/;
/** Characters of a name that are read. */
const LONGEST_NAME = 200;

/** An issue at one place of a value. */
export interface SchemaIssue extends Issue {
  /** The expectation, without the words around it. */
  readonly expected: string;
}

/**
 * @param after the text behind the value, such as its length.
 * @param shown the value as it is shown; a member's name is shown as it is, because names are no secrets.
 */
export function issueAt(
  path: Path,
  expected: string,
  value: Json,
  after = '',
  shown = describeField(path, value),
): SchemaIssue {
  return { path, expected, message: `Expected ${expected}, got ${shown}${after}.` };
}

export function missingIssue(path: Path, name: string): SchemaIssue {
  return {
    path: [...path, name],
    expected: REQUIRED,
    message: `Expected ${REQUIRED}, got none.`,
  };
}

export function unknownIssue(path: Path, key: string | number): SchemaIssue {
  return {
    path: [...path, key],
    expected: 'only known parameters',
    message: `Expected only known parameters, got ${describeValue(key)}. Leave it out.`,
  };
}

/**
 * The branches of a choice as one report: types at the place itself are joined; otherwise the branch that fits best
 * speaks for all.
 */
export function choiceIssues(
  path: Path,
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
  return [issueAt(path, clip(expected.join(', or '), MAX_LISTED) || 'one of several forms', value)];
}

/** The beginning of a value's JSON, with at least as many characters as are shown. */
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
 * A value of an input as an error message shows it: as `describeValue` does, but only its kind where a name on the way
 * to it looks like that of a secret (`apiKey`, `auth.value`, `tokens[0]`). Messages reach models, logs and traces.
 */
export function describeField(path: Path, value: unknown): string {
  return isSecretPath(path) ? kindOf(value) : describeValue(value);
}

/** Returns true if a name on the way to a field looks like that of a secret. */
export function isSecretPath(path: Path): boolean {
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
