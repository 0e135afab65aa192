import type { ToolError } from '../core/errors.js';
import { isToolError } from '../core/errors.js';
import { expectedGot, kindOf } from '../core/issues.js';
import { ignoreRejection, isPlainObject, isPromise, type Json } from '../core/plain-data.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import { isStandardSchema, type StandardResult, type StandardSchema } from './tool-schema.js';
import type { ToolEntry } from './tool-definition.js';
import { boundInput } from './bound-input.js';
import { freezePlain } from './bound-input.js';
import { invalidInput } from './input-issues.js';
import { standardIssues } from './input-issues.js';

/** The result of checking an input: accepted, or refused with an error. */
export type InputCheck =
  | {
      readonly ok: true;
      /**
       * A frozen copy of the original input. Approvals and cached results are bound to this copy.
       */
      readonly raw: Json;
      /**
       * The input that the tool receives: the schema's output, with defaults and conversions
       * applied, in canonical form.
       */
      readonly value: unknown;
    }
  | { readonly ok: false; readonly error: ToolError };

/**
 * Checks the input of one call. Returns a promise only if the schema validates asynchronously.
 *
 * The input is copied before anything else reads it (see `boundInput`). The input must be an
 * object; the schema checks the rest. Strings that contain JSON aren't parsed. A missing input
 * becomes `{}`, and so does `null`, which some models send when there are no arguments.
 *
 * zod and other Standard Schemas parse the input: `value` is their output, with plain objects and
 * arrays frozen and class instances unchanged. Plain JSON Schema only validates: `value` is `raw`.
 * The tool's `canonicalInput` runs last.
 *
 * Never throws. The error is `LIMIT_EXCEEDED` if the input is too large or too deep, or if checking
 * it takes too many steps. The error is `INVALID_INPUT` if the schema refuses the input or throws;
 * `details.issues` lists up to 20 issues.
 */
export function checkInput(entry: ToolEntry, input: unknown): InputCheck | Promise<InputCheck> {
  try {
    const raw = boundInput(input === null ? {} : input);
    if (!isPlainObject(raw))
      throw invalidInput(entry.name, [
        {
          path: [],
          message: expectedGot(
            'an object of named parameters',
            kindOf(raw),
            typeof raw === 'string' ? 'Parse the JSON text first.' : undefined,
          ),
        },
      ]); // The string isn't shown: it can contain a whole input, including secrets.
    return askSchema(entry, raw);
  } catch (error) {
    return refused(isToolError(error) ? error : notCheckable(entry.name, error));
  }
}

function askSchema(entry: ToolEntry, raw: Json): InputCheck | Promise<InputCheck> {
  const { name, inputSchema, inputJsonSchema } = entry;
  if (isStandardSchema(inputSchema)) return parse(entry, inputSchema, raw);
  const issues = compileJsonSchema(inputJsonSchema).check(raw);
  return issues.length === 0 ? accepted(entry, raw, raw) : refused(invalidInput(name, issues));
}

function parse(
  entry: ToolEntry,
  schema: StandardSchema,
  raw: Json,
): InputCheck | Promise<InputCheck> {
  const { vendor } = schema['~standard'];
  const settle = (result: StandardResult<unknown>): InputCheck => {
    if (result.issues !== undefined)
      return refused(invalidInput(entry.name, standardIssues(result.issues, vendor, raw)));
    return accepted(entry, raw, freezePlain(result.value));
  };
  const fail = (error: unknown): InputCheck => refused(notCheckable(entry.name, error));
  try {
    const result = schema['~standard'].validate(raw);
    return isPromise(result) ? result.then(settle).catch(fail) : settle(result);
  } catch (error) {
    return fail(error);
  }
}

/**
 * Returns an accepted input in its canonical form. @throws whatever the tool's `canonicalInput`
 * throws, because the policy evaluates the canonical input.
 */
function accepted({ canonicalInput }: ToolEntry, raw: Json, value: unknown): InputCheck {
  if (canonicalInput === undefined) return Object.freeze({ ok: true, raw, value });
  const canonical: unknown = freezePlain(ignoreRejection<unknown>(canonicalInput(value as never)));
  if (!isPlainObject(canonical)) throw new TypeError('not an input');
  return Object.freeze({ ok: true, raw, value: canonical });
}

function refused(error: ToolError): InputCheck {
  return Object.freeze({ ok: false, error });
}

/**
 * Returns the error for an input that made the schema throw. The thrown error can contain anything,
 * so it's only attached as the cause.
 */
function notCheckable(toolName: string, cause: unknown): ToolError {
  return invalidInput(
    toolName,
    [
      {
        path: [],
        message: 'The schema threw while checking this input. Change the input.',
      },
    ],
    cause,
  );
}
