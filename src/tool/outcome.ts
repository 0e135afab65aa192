import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { cloneFrozen, isPlainObject } from '../core/plain-data.js';
import { checkContent, type ContentPart } from './content.js';
import { makeQuestion, type AskUserOptions, type Question } from './question.js';

/**
 * A result that `execute` can return instead of a plain value. Create a result with `ok`, `fail`,
 * `askUser`, or `halt`.
 */
export type ToolResult<T = unknown> =
  | { readonly status: 'ok'; readonly value: T; readonly content?: readonly ContentPart[] }
  | {
      readonly status: 'error';
      readonly message: string;
      readonly details?: Readonly<Record<string, unknown>>;
    }
  | ({ readonly status: 'ask_user' } & Question)
  | {
      readonly status: 'halt';
      readonly reason: string;
      readonly value: T;
      readonly content?: readonly ContentPart[];
    };

/**
 * Marks results created by the helpers. An object that only looks like a result is treated as a
 * plain value.
 */
const BRAND = Symbol.for('tooldex/result/v1');

function brand<R extends ToolResult>(result: R): R {
  Object.defineProperty(result, BRAND, { value: true });
  return Object.freeze(result);
}

/**
 * Returns a successful result. Equivalent to returning the plain value from `execute`.
 *
 * `content` adds images, audio, files, links, and text. Models read the text instead of the value.
 * Programs read the value, and the output schema validates it. If there is no value, write
 * `ok(null, { content })`.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the content wasn't created by `text`, `image`, `audio`,
 * `file`, or `resourceLink`, or has more than 100 parts or 128 MiB.
 */
export function ok<T>(
  value: T,
  options: { readonly content?: readonly ContentPart[] } = {},
): ToolResult<T> {
  const { content } = options;
  return brand(
    content === undefined
      ? { status: 'ok', value }
      : { status: 'ok', value, content: checkContent(content) },
  );
}

/**
 * Reports that the tool failed. `message` tells the model what went wrong and what to try.
 *
 * `details` are stored as JSON: bigints become strings, and dates become the result of `toJSON`. If
 * the details aren't JSON-serializable, for example because of a cycle, they're dropped and only
 * the message is kept.
 */
export function fail(
  message: string,
  details?: Readonly<Record<string, unknown>>,
): ToolResult<never> {
  const plain = details === undefined ? undefined : plainDetails(details);
  return brand(
    plain === undefined
      ? { status: 'error', message }
      : { status: 'error', message, details: plain },
  );
}

function plainDetails(
  details: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  try {
    const plain = cloneFrozen(
      JSON.parse(
        JSON.stringify(details, (_key, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        ),
      ) as unknown,
    );
    return isPlainObject(plain) ? plain : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Asks the user for the call's result: free text, or one of the strings in `options`.
 *
 * With `{ form }`, the answer matches a JSON Schema: several choices, or an object with fields.
 * `timeoutMs` limits the time to answer.
 *
 * @throws ToolError `INVALID_ARGUMENT` if an option is invalid.
 */
export function askUser(
  question: string,
  options?: readonly string[] | AskUserOptions,
): ToolResult<never> {
  return brand({ status: 'ask_user', ...makeQuestion(question, options) });
}

/**
 * Stops the whole run after this call, and records the `reason`. `value` is the call's result: a
 * plain value or `ok(value, { content })`. @throws ToolError `INVALID_ARGUMENT` for any other
 * result.
 */
export function halt(reason: string): ToolResult<null>;
export function halt<T>(reason: string, value: T | ToolResult<T>): ToolResult<T>;
export function halt(reason: string, value: unknown = null): ToolResult {
  if (!isToolResult(value)) return brand({ status: 'halt', reason, value });
  if (value.status !== 'ok')
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'a plain value or a result of ok',
        `a result with the status ${value.status}`,
        'Return that result instead.',
      ),
    );
  return brand({ ...value, status: 'halt', reason });
}

/**
 * Returns true for a value created by one of the helpers, including helpers from another copy of
 * the package.
 */
export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, BRAND);
}

/** Returns what a tool returned as a result. A plain value becomes `ok(value)`. */
export function asResult(returned: unknown): ToolResult {
  return isToolResult(returned) ? returned : ok(returned);
}

/**
 * Returns a result, or a changed copy of one, as a result, and `undefined` for anything else. A
 * copy has lost the result's brand, so it gets the brand again. Without the brand, a copied failure
 * would count as a success.
 */
export function changedResult(returned: unknown): ToolResult | undefined {
  if (isToolResult(returned)) return returned;
  return isPlainObject(returned) && STATUSES.has(returned['status'])
    ? brand({ ...returned } as ToolResult)
    : undefined;
}

const STATUSES = new Set<unknown>(['ok', 'error', 'ask_user', 'halt']);
