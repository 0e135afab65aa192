import { ToolError } from '../../core/errors.js';
import { isStandardSchema, type JsonSchema, type StandardIssue, type StandardResult, type StandardSchema, type ToolSchema } from '../../tool/schema/standard-schema.js';

/** The AI SDK knows its schemas by this key. Source: `schemaSymbol` in @ai-sdk/provider-utils 3 and 4. */
const SCHEMA = Symbol.for('vercel.ai.schema');

/** The AI SDK's own form of a check. */
export type Validation = { readonly success: true; readonly value: unknown } | { readonly success: false; readonly error: Error };

/** A schema as the AI SDK takes it; to its types it is a Standard Schema. */
export interface AISDKSchema extends StandardSchema {
  readonly jsonSchema: JsonSchema;
  readonly validate?: (value: unknown) => Promise<Validation>;
}

/**
 * A schema for the AI SDK that shows a JSON Schema.
 *
 * It is the same object that `jsonSchema` of the AI SDK makes, which is therefore not needed.
 *
 * @param check gives the value as it came, or an error for the model. What a schema converts is converted by the executor:
 * the AI SDK compares what was approved with what its schema gives, and would refuse. @default everything is accepted
 */
export function aiSDKSchema(json: JsonSchema, check?: (value: unknown) => Promise<Validation>): AISDKSchema {
  const validate = check ?? ((value: unknown): Promise<Validation> => Promise.resolve({ success: true, value }));
  const standard: StandardSchema['~standard'] = {
    version: 1,
    vendor: 'tooldex',
    validate: async (value): Promise<StandardResult<unknown>> => {
      const result = await validate(value);
      return result.success ? { value } : { issues: [{ message: result.error.message }] };
    },
  };
  return { [SCHEMA]: true, jsonSchema: json, ...(check && { validate }), '~standard': { ...standard, jsonSchema: { input: () => json, output: () => json } } } as AISDKSchema;
}

/**
 * A schema of the AI SDK as one of ours: zod and other Standard Schemas are taken as they are, and what `jsonSchema` and
 * `zodSchema` made is asked to validate, if it can.
 *
 * @throws ToolError `INVALID_INPUT_SCHEMA` for what holds no JSON Schema, or only a promise of one.
 */
export function fromAISDKSchema(schema: unknown, toolName: string): ToolSchema {
  if (schema === undefined || schema === null) return { type: 'object', properties: {}, additionalProperties: false };
  if (isAISDKSchema(schema)) {
    const json: unknown = schema.jsonSchema;
    if (typeof json !== 'object' || json === null || 'then' in json) throw refused(toolName, 'a JSON Schema', 'something else, or a promise of one; await it first');
    return schema.validate === undefined ? (json as JsonSchema) : standardSchema(json as JsonSchema, schema.validate);
  }
  if (isStandardSchema(schema)) {
    if (schema['~standard'].vendor === 'zod' && !('_zod' in schema)) throw refused(toolName, 'a schema of zod 4', 'one of zod 3; wrap it in zodSchema() of the AI SDK');
    return schema;
  }
  if (typeof schema === 'function') return fromAISDKSchema((schema as () => unknown)(), toolName);
  throw refused(toolName, 'a schema of the AI SDK', 'something else; wrap it in jsonSchema() of the AI SDK');
}

interface ForeignSchema {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => unknown;
}

function isAISDKSchema(value: unknown): value is ForeignSchema {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[SCHEMA] === true;
}

function standardSchema(json: JsonSchema, validate: (value: unknown) => unknown): ToolSchema {
  const check = async (value: unknown): Promise<StandardResult<unknown>> => {
    const result = (await validate(value)) as Validation;
    return result.success ? { value: result.value } : { issues: issuesOf(result.error) };
  };
  const standard = { version: 1, vendor: 'ai', validate: check, jsonSchema: { input: () => json, output: () => json } } as const;
  return { '~standard': standard } satisfies StandardSchema;
}

/** An error of zod carries a list; the message of any other may repeat the whole input. */
function issuesOf(error: unknown): readonly StandardIssue[] {
  const issues: unknown = typeof error === 'object' && error !== null ? (error as { issues?: unknown }).issues : undefined;
  return Array.isArray(issues) ? (issues as StandardIssue[]) : [{ message: 'expected an input that the schema accepts' }];
}

function refused(toolName: string, expected: string, got: string): ToolError {
  return new ToolError('INVALID_INPUT_SCHEMA', `Tool ${JSON.stringify(toolName)} is refused: expected ${expected}, got ${got}`);
}
