import { z } from 'zod';
import { checkOptions } from '../../core/options.js';
import { objectSchema } from '../schema/object-schema.js';
import { geminiParts } from './result-content.js';
import {
  exportTools,
  exportShape,
  type ExportInput,
  type ExportOptions,
} from './exported-tools.js';
import {
  fieldOf,
  objectsIn,
  OWN_ID,
  withCallMethods,
  type CallAnswer,
  type ModelTools,
  type RawCall,
} from './model-calls.js';
import { GEMINI_NAME_RULE, GEMINI_PARAMETER_RULE, renameParameters } from './name-codec.js';

/** A tool in the format of the Gemini API. */
export type GeminiTool = {
  functionDeclarations: {
    name: string;
    description: string;
    /** The parameters as JSON Schema. Missing if the tool has no parameters. */
    parametersJsonSchema?: unknown;
  }[];
};
type GeminiFunction = GeminiTool['functionDeclarations'][number];

/** The answers to the calls in one message. */
type GeminiMessage = {
  role: 'user';
  parts: {
    functionResponse: {
      id?: string;
      name: string;
      response: Record<string, unknown>;
      parts?: ReturnType<typeof geminiParts>;
    };
  }[];
};

type GeminiTools = ModelTools<GeminiTool, GeminiMessage> & {
  readonly functionDeclarations: GeminiFunction[];
};

const optionsSchema = z.strictObject(exportShape);

/**
 * Returns the tools in Gemini's format: `ai.models.generateContent({ model, contents, config: {
 * tools: toGeminiTools(selection) } })`.
 *
 * The list has a single member with all declarations. If there are no tools, the list is empty.
 * Equal input produces identical bytes. You can modify the list and its schemas. Parameters whose
 * names the service rejects are renamed, and `toCalls` restores the original names.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toGeminiTools(input: ExportInput, options: ExportOptions = {}): GeminiTools {
  const checked = checkOptions(optionsSchema, options, 'options for exporting to Gemini');
  const exported = exportTools(input, checked, GEMINI_NAME_RULE);
  const functionDeclarations = exported.tools.map(({ entry, name, rendered }): GeminiFunction => {
    const declared = { name, description: rendered.description };
    const parameters = objectSchema(rendered.inputSchema);
    if (Object.keys(parameters.properties).length === 0) return declared;
    const { schema, restore } = renameParameters(parameters, GEMINI_PARAMETER_RULE);
    exported.restore.set(entry.name, restore);
    return { ...declared, parametersJsonSchema: schema };
  });
  const tools = functionDeclarations.length === 0 ? [] : [{ functionDeclarations }];
  const list = withCallMethods(tools, exported, { find: callsIn, answer });
  return Object.defineProperty(list, 'functionDeclarations', {
    value: functionDeclarations,
    enumerable: false,
  }) as GeminiTools;
}

/** Finds the calls in a response, in one of its contents, or in a list of calls or parts. */
function callsIn(response: unknown): RawCall[] {
  const content = fieldOf(objectsIn(fieldOf(response, 'candidates'))[0], 'content') ?? response;
  const members = objectsIn(
    Array.isArray(content)
      ? content
      : (fieldOf(content, 'parts') ?? fieldOf(content, 'functionCalls')),
  );
  const calls = members.flatMap((member) =>
    'functionCall' in member
      ? objectsIn([member['functionCall']])
      : 'args' in member || 'name' in member
        ? [member]
        : [],
  );
  return calls.map((call) => ({ id: call['id'], name: call['name'], input: call['args'] }));
}

/** Returns the answers to calls. An id is included only if the service provided it. */
function answer(answers: readonly CallAnswer[]): GeminiMessage[] {
  const parts = answers.map(({ id, name, failed, text, content, data }) => {
    const media = geminiParts(content);
    // For images, files, and long results, the service gets a text instead of the value.
    const output = text === (typeof data === 'string' ? data : JSON.stringify(data)) ? data : text;
    return {
      functionResponse: {
        ...(!id.startsWith(OWN_ID) && { id }),
        name,
        response: failed ? { error: text } : { output },
        ...(media.length > 0 && { parts: media }),
      },
    };
  });
  return parts.length === 0 ? [] : [{ role: 'user', parts }];
}
