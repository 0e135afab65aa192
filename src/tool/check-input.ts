import type { ToolError } from '../core/errors.js';
import { isToolError } from '../core/errors.js';
import { expectedGot, kindOf } from '../core/issues.js';
import { describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import { compileJsonSchema } from '../json-schema/compile-json-schema.js';
import { isStandardSchema, type StandardResult, type StandardSchema } from './tool-schema.js';
import type { ToolEntry } from './tool-definition.js';
import { boundInput } from './bound-input.js';
import { freezePlain } from './bound-input.js';
import { invalidInput } from './input-issues.js';
import { standardIssues } from './input-issues.js';

/** An input that its tool's schema accepts, or the reason why it does not. */
export type InputCheck =
  | {
      readonly ok: true;
      /** The input as it was given, copied and frozen: approvals and caches are bound to it. */
      readonly raw: Json;
      /**
       * The input as the schema returns it, with defaults and conversions, in its canonical form: the tool is called with
       * it.
       */
      readonly value: unknown;
    }
  | { readonly ok: false; readonly error: ToolError };

/** The checks made ahead, by the copy of the input, until that copy is checked. */
const ahead = new WeakMap<
  object,
  {
    readonly schema: ToolEntry['inputSchema'];
    readonly canonicalInput: ToolEntry['canonicalInput'];
    readonly check: InputCheck;
  }
>();

/**
 * Checks an input before its call is known, for frameworks that do so: the next check of the very copy that this one
 * makes (`raw`), by the same schema, is this one. The copy is frozen, so that nothing can change in between.
 */
export async function checkAhead(entry: ToolEntry, input: unknown): Promise<InputCheck> {
  const check = await checkInput(entry, input);
  if (check.ok)
    ahead.set(check.raw as object, {
      schema: entry.inputSchema,
      canonicalInput: entry.canonicalInput,
      check,
    });
  return check;
}

/**
 * Checks the input of one call; returns a promise only if the schema does.
 *
 * The input is copied once before anything reads it (see `boundInput`), must be an object, and is then given to the
 * schema. Text that holds JSON is not parsed; a missing input is `{}`, and so is `null`, which models send for no
 * arguments, if the schema accepts `{}` and does not accept `null` itself.
 *
 * zod and other Standard Schemas parse: `value` is what they return, its plain objects and lists frozen, instances of
 * classes (dates, maps) as they are. Plain JSON Schema only checks: `value` is `raw`. A tool's `canonicalInput` runs
 * last.
 *
 * It never throws. It answers `LIMIT_EXCEEDED` for an input that is too large, too deep, or takes too many steps to
 * check, and `INVALID_INPUT` with `details.issues` (at most 20) for one that the schema refuses or fails on.
 */
export function checkInput(entry: ToolEntry, input: unknown): InputCheck | Promise<InputCheck> {
  const before = typeof input === 'object' && input !== null ? ahead.get(input) : undefined;
  if (before?.schema === entry.inputSchema && before.canonicalInput === entry.canonicalInput) {
    ahead.delete(input as object);
    return before.check;
  }
  try {
    const raw = boundInput(input);
    if (raw === null) return checkNull(entry);
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
      ]); // Text may hold a whole input with its secrets.
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

function checkNull(entry: ToolEntry): InputCheck | Promise<InputCheck> {
  const orRefused = (check: InputCheck) =>
    check.ok
      ? check
      : refused(
          invalidInput(entry.name, [
            {
              path: [],
              message: expectedGot('an object of named parameters', 'null', requiredIn(entry)),
            },
          ]),
        );
  const orEmpty = (check: InputCheck): InputCheck | Promise<InputCheck> => {
    if (check.ok) return check;
    const empty = askSchema(entry, boundInput({}));
    return empty instanceof Promise ? empty.then(orRefused) : orRefused(empty);
  };
  // A schema that takes everything does not ask for null.
  const takesNull = /"null"|"const":null|"enum"/.test(JSON.stringify(entry.inputJsonSchema))
    ? askSchema(entry, null)
    : refused(invalidInput(entry.name, []));
  return takesNull instanceof Promise ? takesNull.then(orEmpty) : orEmpty(takesNull);
}

function requiredIn({ inputJsonSchema: { required } }: ToolEntry): string | undefined {
  return Array.isArray(required) && required.length > 0
    ? `Required ${required.length === 1 ? 'is' : 'are'} ${required.map(describeValue).join(', ')}.`
    : undefined;
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
    return isThenable(result) ? Promise.resolve(result).then(settle).catch(fail) : settle(result);
  } catch (error) {
    return fail(error);
  }
}

/** Returns true for a promise, also one of another realm or library. */
function isThenable(result: object): result is PromiseLike<StandardResult<unknown>> {
  return typeof (result as { readonly then?: unknown }).then === 'function';
}

/**
 * Accepts an input in its canonical form. @throws whatever the tool's `canonicalInput` throws: a call whose input has
 * no single form is not judged.
 */
function accepted({ canonicalInput }: ToolEntry, raw: Json, value: unknown): InputCheck {
  if (canonicalInput === undefined) return Object.freeze({ ok: true, raw, value });
  const canonical: unknown = freezePlain(canonicalInput(value as never));
  if (canonical instanceof Promise) canonical.catch(() => undefined); // An async function does not fit the option's type.
  if (typeof canonical !== 'object' || canonical === null || canonical instanceof Promise)
    throw new TypeError('not an input');
  return Object.freeze({ ok: true, raw, value: canonical });
}

function refused(error: ToolError): InputCheck {
  return Object.freeze({ ok: false, error });
}

/**
 * The refusal of an input on which the schema threw. The error may hold anything: it is kept as the cause and not
 * repeated.
 */
function notCheckable(toolName: string, cause: unknown): ToolError {
  return invalidInput(
    toolName,
    [
      {
        path: [],
        message: expectedGot(
          'an input that the schema can check',
          'one on which it failed',
          'Change the input.',
        ),
      },
    ],
    cause,
  );
}
