import { validate } from '@cfworker/json-schema';
import { isToolError, ToolError, type Issue } from '../../core/errors.js';
import type { Json } from '../../core/plain-data.js';
import { boundInput } from './bound-input.js';
import { clip, formatPath, MAX_ISSUES } from './input-error.js';
import { schemaIssues } from './json-schema/schema-issues.js';
import type { ScreenedSchema } from './json-schema/schema-node.js';
import { screenSchema, type Screening } from './json-schema/screen-schema.js';
import { ValidationWork } from './json-schema/validation-work.js';

/** Bytes of a schema's JSON at most: 64 KiB. */
const MAX_SCHEMA_BYTES = 65_536;

/** A JSON Schema that was found safe to evaluate. */
export interface CompiledJsonSchema {
  /**
   * What is wrong with an input; empty when it fits.
   *
   * @param input as `boundInput` returns it.
   * @throws ToolError `LIMIT_EXCEEDED` when checking this input would take too long.
   */
  check(input: Json): readonly Issue[];
  /** What of the schema is not checked. */
  readonly findings: readonly Issue[];
}

interface Screened {
  readonly screening: Screening;
  readonly compiled: CompiledJsonSchema | undefined;
}

/** Screening takes up to milliseconds, and schemas of tools are frozen. */
const screened = new WeakMap<object, Screened>();

/**
 * A plain JSON Schema (any draft) as a check of inputs; nothing of it is compiled to code.
 *
 * The schema may come from anywhere: it is screened first, and what could make checking slow is refused. Screening and
 * each check are bounded to about ten milliseconds.
 *
 * `format` is not checked and `default` is not filled in; both are annotations to the specification, and the tool gets
 * exactly what was approved. A `pattern` that is not known to be safe is not checked, see `findings`.
 *
 * One schema object is screened once; changing it afterwards changes nothing.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` with the reasons: more than 64 KiB, nested more than 32 deep, more than 2,000
 * schemas or 10,000 when references are written out, more than 2,048 characters of different patterns, more than 256
 * properties or enum values in one place, references that are external, dynamic or lead nowhere, and keywords with values
 * of a wrong type. It stops after 20 reasons.
 */
export function compileJsonSchema(schema: object): CompiledJsonSchema {
  const { screening, compiled } = screen(schema);
  if (compiled !== undefined) return compiled;
  const issues = screening.refused.slice(0, MAX_ISSUES).map(({ path, message }) => ({ path, message: clip(message, 300) }));
  const lines = issues.map(({ path, message }) => (path.length === 0 ? message : `${formatPath(path)}: ${message}`));
  throw new ToolError('INVALID_INPUT_SCHEMA', `The schema is refused:\n  ${lines.join('\n  ')}`, { details: { issues } });
}

/** What is wrong with a plain JSON Schema: why it is refused, or what of it is not checked; empty for a good one. */
export function schemaFindings(schema: object): readonly Issue[] {
  const { screening } = screen(schema);
  return screening.refused.length > 0 ? screening.refused : screening.dropped;
}

function screen(schema: object): Screened {
  const known = screened.get(schema);
  if (known !== undefined) return known;
  const screening = screeningOf(schema);
  const compiled = screening.refused.length > 0 ? undefined : compiledFrom(screening);
  const result = { screening, compiled };
  screened.set(schema, result);
  return result;
}

function compiledFrom({ schema, dropped }: Screening): CompiledJsonSchema {
  const work = new ValidationWork(schema);
  return Object.freeze({ check: (input: Json) => check(schema, work, input), findings: dropped });
}

function screeningOf(schema: object): Screening {
  try {
    return screenSchema(boundInput(schema, MAX_SCHEMA_BYTES));
  } catch (error) {
    if (!isToolError(error)) throw error;
    const message = error.message.replace('an input', 'a schema').replace('; send less, or in several calls', '').replace('; flatten it', '');
    return { schema: { root: {}, targets: {}, patterns: new Map(), draft: '2020-12' }, refused: [{ path: [], message }], dropped: [] };
  }
}

function check(schema: ScreenedSchema, work: ValidationWork, input: Json): readonly Issue[] {
  try {
    if (!work.isBounded(input)) throw new ToolError('LIMIT_EXCEEDED', 'expected an input that can be checked quickly, found one too large for its schema; send shorter texts and lists');
    // Not its short circuit: it would tell of the first wrong field only, and saves no work where a schema has branches.
    const { valid, errors } = validate(input, schema.root, schema.draft, schema.targets, false);
    return valid ? [] : schemaIssues(errors, schema, input);
  } catch (error) {
    if (isToolError(error, 'LIMIT_EXCEEDED')) throw error;
    // The validator overflows on deep values in deep schemas, and fails on names with half a surrogate pair.
    return [{ path: [], message: 'expected an input that the schema can check, found one on which the check fails; flatten it, and use plain names' }];
  }
}
