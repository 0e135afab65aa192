import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import type { JsonSchema } from '../../tool/schema/standard-schema.js';
import { exportedTools, levelShape, type ExportInput, type ExportOptions } from './export-input.js';
import { answerTo, fieldOf, objectsIn, OWN_ID, withMethods, type CallResult, type ModelTools, type RawCall } from './model-calls.js';
import { createNameCodec, GEMINI_NAME_RULE, type NameCodec } from './name-codec.js';
import { geminiSchema, type GeminiSchema } from './schema/gemini-schema.js';
import { objectSchema } from './schema/object-schema.js';
import { GEMINI_PARAMETER_RULE, renameParameters } from './schema/parameter-names.js';

export interface GeminiFunction {
  name: string;
  description: string;
  /** A `GeminiSchema`; the package's own type has an enum for its types, which no plain data fits. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  parameters?: any;
  parametersJsonSchema?: unknown;
}

export interface GeminiTool {
  functionDeclarations: GeminiFunction[];
}

/** The answers to the calls of one message. */
export interface GeminiMessage {
  role: 'user';
  parts: { functionResponse: { id?: string; name: string; response: Record<string, unknown> } }[];
}

export interface GeminiOptions extends ExportOptions {
  /**
   * How parameters are described: `openapi` as `parameters`, in the subset that every model and service takes; `json-schema`
   * as `parametersJsonSchema`, whole, for models that take it. @default 'openapi'
   */
  readonly schema?: 'openapi' | 'json-schema';
}

export type GeminiTools = ModelTools<GeminiTool, GeminiMessage> & { readonly functionDeclarations: GeminiFunction[] };

const optionsSchema = z.strictObject({ ...levelShape, schema: z.enum(['openapi', 'json-schema']).default('openapi') } satisfies FieldsOf<GeminiOptions>);

/**
 * The tools as Gemini takes them: `ai.models.generateContent({ model, contents, config: { tools: toGeminiTools(selection) } })`.
 *
 * The list has one member with all declarations, or none when there are no tools. Equal input gives equal bytes, in the
 * given order; all are copies that the caller may change. Parameters whose names the service refuses are renamed, and
 * `toCalls` gives them back.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toGeminiTools(input: ExportInput, options: GeminiOptions = {}): GeminiTools {
  const { level, schema } = checkOptions(optionsSchema, options, 'options of the export to Gemini');
  const exported = exportedTools(input, { level });
  const codec = createNameCodec(exported.map(({ entry }) => entry.name), GEMINI_NAME_RULE);
  const restore = new Map<string, (input: unknown) => unknown>();
  const functionDeclarations = exported.map(({ entry, rendered }): GeminiFunction => {
    const parameters = schema === 'openapi' ? geminiSchema(rendered.inputSchema) : objectSchema(rendered.inputSchema);
    const declaration = { name: codec.encode(entry.name)!, description: rendered.description };
    if (parameters === undefined) return declaration;
    const renamed = renameParameters(parameters as GeminiSchema & JsonSchema, GEMINI_PARAMETER_RULE);
    restore.set(entry.name, renamed.restore);
    return schema === 'openapi' ? { ...declaration, parameters: renamed.schema } : { ...declaration, parametersJsonSchema: renamed.schema };
  });
  const tools = functionDeclarations.length === 0 ? [] : [{ functionDeclarations }];
  const names = functionDeclarations.map(({ name }) => name);
  const list = withMethods(tools, { codec, restore }, names, rawCalls, (results) => toMessages(results, codec));
  return Object.defineProperty(list, 'functionDeclarations', { value: functionDeclarations, enumerable: false }) as GeminiTools;
}

/** From a response, one of its contents, or a list of calls or parts. */
function rawCalls(response: unknown): RawCall[] {
  const content = fieldOf(objectsIn(fieldOf(response, 'candidates'))[0], 'content') ?? response;
  const members = objectsIn(Array.isArray(content) ? content : (fieldOf(content, 'parts') ?? fieldOf(content, 'functionCalls')));
  const calls = members.flatMap((member) => ('functionCall' in member ? objectsIn([member['functionCall']]) : 'args' in member || 'name' in member ? [member] : []));
  return calls.map((call) => ({ id: call['id'], name: call['name'], input: call['args'] }));
}

/** The id goes along only where the service gave one. */
function toMessages(results: Iterable<CallResult>, codec: NameCodec): GeminiMessage[] {
  const parts = [...results].map((result) => {
    const { id, name, failed, text, data } = answerTo(result);
    const written = 'error' in result ? name : (codec.encode(name) ?? name);
    const response = failed ? { error: text } : { output: data };
    return { functionResponse: { ...(id.startsWith(OWN_ID) ? {} : { id }), name: written, response } };
  });
  return parts.length === 0 ? [] : [{ role: 'user', parts }];
}
