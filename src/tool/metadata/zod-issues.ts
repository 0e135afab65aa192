import type { z } from 'zod';
import type { Issue } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';

/** zod's issues in the house's form: where, what was expected, what was found. */
export function toIssues(error: z.ZodError, input: unknown): readonly Issue[] {
  return error.issues.map((issue) => {
    const path = issue.path.filter((step): step is string | number => typeof step !== 'symbol');
    if (issue.code === 'unrecognized_keys') return { path, message: `expected only known options, found ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}` };
    return { path, message: `expected ${expectation(issue)}, found ${describeValue(valueAt(input, path))}` };
  });
}

/** One line per issue, each beginning with the path of what is wrong. */
export function formatIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path.length > 0 ? `${formatPath(path)}: ${message}` : message)).join('\n  ');
}

/** zod's words for types, where they are not everybody's. */
const EXPECTED: Readonly<Record<string, string>> = { nonoptional: 'a value (it is required)', int: 'a whole number' };

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_type':
      return EXPECTED[issue.expected] ?? issue.expected;
    case 'too_big':
      return `at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : ''}`;
    case 'too_small':
      return `at least ${issue.minimum}${issue.origin === 'string' ? ' characters' : issue.origin === 'array' ? ' entries' : ''}`;
    default:
      return issue.message.replace(/^expected /, ''); // Messages of refinements may be whole sentences.
  }
}

function formatPath(path: Issue['path']): string {
  return path.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('');
}

function valueAt(input: unknown, path: Issue['path']): unknown {
  return path.reduce<unknown>((value, step) => {
    if (typeof value === 'object' && value !== null) return (value as Record<PropertyKey, unknown>)[step];
    return step === 0 ? value : undefined; // One value where a list may be given counts as a list of it.
  }, input);
}
