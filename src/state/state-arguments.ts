import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';

const MOST_KEY_CHARACTERS = 512;
const MOST_VALUE_BYTES = 1_048_576;

/**
 * A lone surrogate has no UTF-8 form: two different keys would become one, and a value would come
 * back changed.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns the key unchanged. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` for a key
 * that stores don't accept.
 */
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

/**
 * Returns the value unchanged. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` for a value
 * that stores don't accept.
 */
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
        'Keep large data elsewhere, and store its address here.',
      ),
    );
  return value;
}

export function notANumber(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    "The key doesn't hold a number. Use another key for counting.",
  );
}

/** Returns the error for a text operation on a list, or a list operation on a text. */
export function wrongKind(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    "This operation doesn't fit the key: one is for lists, the other for texts. Use another key.",
  );
}

export function closed(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    'The state store is closed. Call close() only after the last operation.',
    {
      details: { reason: 'closed', sent: false },
    },
  );
}

/**
 * Returns the error of a store that isn't the one the caller means: it restarted, or another server
 * took over.
 */
export function restarted(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    'The state store restarted, or another server took over, so it may hold an older state. Start again with the identity that now() returns.',
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
