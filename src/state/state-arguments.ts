import { isToolError, ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument } from '../core/issues.js';

const MOST_KEY_CHARACTERS = 512;
const MOST_VALUE_BYTES = 1_048_576;

/**
 * A lone surrogate has no UTF-8 form: two different keys would become the same key, and a value
 * would be changed.
 */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns the key unchanged. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` if stores
 * don't accept the key.
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
        'Shorten it, for example by using a digest.',
      ),
    );
  return key;
}

/**
 * Returns the value unchanged. @throws ToolError `INVALID_ARGUMENT` or `LIMIT_EXCEEDED` if stores
 * don't accept the value.
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
        'Store large data elsewhere, and store only its location here.',
      ),
    );
  return value;
}

export function notANumber(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    "The value of this key isn't a number. Use another key for counting.",
  );
}

/** Returns the error for an operation on a key of another type. */
export function wrongKind(): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    'This key contains another type: a text, a list, or an index. Use another key for this operation.',
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
 * Returns the error for a store whose identity has changed because it restarted or another server
 * took over.
 */
export function restarted(): ToolError {
  return new ToolError(
    'STATE_UNAVAILABLE',
    'The state store restarted or another server took over, so its state may be older. Start again with the identity that now() returns.',
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
