import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';

const MOST_KEY_CHARACTERS = 512;
const MOST_VALUE_BYTES = 1_048_576;

/**
 * A lone half of a character pair has no UTF-8 form: two different keys would become one, and a value would come back
 * changed.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Returns a key as it is. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` for one that stores do not take. */
export function checkKey(key: string): string {
  if (typeof key !== 'string' || key === '' || LONE_SURROGATE.test(key))
    throw invalidArgument('a key as well-formed text', key);
  if (key.length > MOST_KEY_CHARACTERS)
    throw new ToolError(
      'LIMIT_EXCEEDED',
      expectedGot(
        `a key of at most ${MOST_KEY_CHARACTERS} characters`,
        `${key.length}`,
        'Shorten it, for instance to a digest.',
      ),
    );
  return key;
}

/** Returns a text as it is. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` for one that stores do not take. */
export function checkValue(value: string): string {
  if (typeof value !== 'string' || LONE_SURROGATE.test(value))
    throw invalidArgument('a value as well-formed text', value);
  const bytes = value.length * 3 > MOST_VALUE_BYTES ? new TextEncoder().encode(value).length : 0;
  if (bytes > MOST_VALUE_BYTES)
    throw new ToolError(
      'LIMIT_EXCEEDED',
      expectedGot(
        `a value of at most ${MOST_VALUE_BYTES} bytes`,
        `${bytes}`,
        'Keep large data elsewhere and its address here.',
      ),
    );
  return value;
}

export function notANumber(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    expectedGot('a number under the key', 'other text', 'Use another key for counting.'),
  );
}

/** The refusal of an operation on a list that is for texts, or the other way round. */
export function wrongKind(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    'The key holds a list and the operation is for texts, or the other way round. Use another key.',
  );
}

export function closed(): ToolError {
  return new ToolError('STATE_UNAVAILABLE', 'The state store is closed. Use it before close().', {
    details: { reason: 'closed', sent: false },
  });
}

/** The refusal by a store that is not the one the caller means: it restarted, or another server took over. */
export function restarted(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    'The state store restarted, or another server took over, and may hold an older state. Begin again with the identity that now() returns.',
    { details: { reason: 'restarted', sent: false } },
  );
}

export function isRestarted(error: unknown): boolean {
  return (
    isToolError(error) &&
    error.code === 'STATE_UNAVAILABLE' &&
    error.details['reason'] === 'restarted'
  );
}
