import { toJSONSchema } from 'zod';
import { cloneFrozen } from '../../../core/plain-data.js';
import type { JsonSchema } from '../../../tool/schema/standard-schema.js';
import { manifestEntrySchema } from './manifest-entry.js';

/** The draft that editors know best. */
const TARGET = 'draft-7';

/**
 * JSON Schema (draft 7) of a manifest file, for editors and other validators.
 *
 * It is made from the schema that reads manifests, with a description of every field. Unknown keys pass it; what spans
 * several fields or files (contradictions, duplicate names) is found by reading only.
 */
export const manifestJsonSchema: JsonSchema = createManifestJsonSchema();

function createManifestJsonSchema(): JsonSchema {
  const { $schema, ...tool } = toJSONSchema(manifestEntrySchema, { target: TARGET, io: 'input' }) as Record<string, unknown>;
  const { properties } = tool as { properties: Record<string, unknown> };
  const tools = { type: 'array', items: { anyOf: [{ $ref: '#/definitions/tool' }, { $ref: '#/definitions/function' }] } };
  return cloneFrozen({
    $schema,
    title: 'Tool manifest',
    description: 'The tools of an agent, with what it needs to know to choose and run them safely.',
    anyOf: [tools, { type: 'object', properties: { $schema: { type: 'string' }, tools }, required: ['tools'] }],
    definitions: {
      tool: {
        ...tool,
        // Only an MCP server may be asked for the parameters.
        anyOf: [{ required: ['parameters'] }, { required: ['providers'], properties: { providers: { contains: { type: 'object', required: ['name'], properties: { name: { const: 'mcp' } } } } } }],
      },
      function: {
        description: 'A tool in the function-calling form; its metadata stands beside "function" or inside of it.',
        type: 'object',
        properties: { ...properties, function: { type: 'object', properties } },
        required: ['function'],
      },
    },
  });
}
