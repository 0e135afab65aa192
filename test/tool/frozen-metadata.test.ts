import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolMetadataRegistry, type ToolEntry } from '../../src/index.js';
import { isDeepFrozen } from '../core/json-values.js';
import { LEAST, sampleEntry } from './sample-tools.js';

/** Options whose every part the caller can change. */
function changeableOptions() {
  return {
    ...LEAST,
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string', enum: ['a'] } },
      required: ['path'],
    },
    outputSchema: { type: 'object', properties: { lines: { type: 'array' } } },
    aliases: ['alias'],
    keywords: ['keyword'],
    mandatoryKeywords: ['must'],
    stages: ['reading'],
    taskTypes: ['search'],
    examples: ['find it'],
    progressParams: ['path'],
    sideEffects: ['network' as const],
    invalidates: ['other'],
    capabilities: ['vision'],
    personaAllowlist: ['analyst'],
    auth: { required: true, scopes: ['read'], env: { TOKEN: 'required' as const } },
    providers: [{ name: 'p', config: { hosts: [{ url: 'x' }] } }],
    metadata: { owner: { teams: ['a'] } },
    execute: () => 1,
  };
}

/** Changes everything reachable from a value, in place. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  for (const [key, item] of Object.entries(value)) {
    spoil(item);
    (value as Record<string, unknown>)[key] = 'spoilt';
  }
  if (Array.isArray(value)) value.push('spoilt');
  else (value as Record<string, unknown>)['spoilt'] = 'spoilt';
}

function entryFrom(options: object): ToolEntry {
  return new ToolMetadataRegistry().register(defineTool(options as never))[0]!;
}

describe('metadata', () => {
  it('metadata is deeply frozen, on the entry and on the definition', () => {
    const entry = entryFrom(changeableOptions());
    expect(isDeepFrozen(entry)).toBe(true);
    expect(isDeepFrozen(entry.definition)).toBe(true);
    expect(() => (entry.keywords as string[]).push('x')).toThrow(TypeError);
    expect(() => Object.assign(entry, { accessMode: 'readonly' })).toThrow(TypeError);
    expect(() => Object.assign(entry.definition, { execute: () => 2 })).toThrow(TypeError);
    expect(() => Object.assign(entry.metadata!['owner'] as object, { x: 1 })).toThrow(TypeError);
  });

  it("metadata doesn't change when the caller changes the given options", () => {
    const options = changeableOptions();
    const entry = entryFrom(options);
    const before = JSON.stringify(entry);
    spoil(options);
    expect(JSON.stringify(entry)).toBe(before);
    expect(before).not.toContain('spoilt');
    expect(entry.inputSchema).toEqual(changeableOptions().inputSchema);
    expect(entry.inputJsonSchema).toEqual(changeableOptions().inputSchema);
    expect(entry.outputSchema).toEqual(changeableOptions().outputSchema);
    expect(entry.digest).toBe(entryFrom(changeableOptions()).digest);
  });

  it('a definition has one entry in every registry', () => {
    const definition = defineTool(changeableOptions());
    const [first] = new ToolMetadataRegistry().register(definition);
    const [second] = new ToolMetadataRegistry().register(definition);
    expect(second).toBe(first);
    expect(first!.definition).toBe(definition);
  });
});

describe('an input schema', () => {
  it("a zod schema's input is shown as JSON Schema without the dialect", () => {
    const schema = z.object({
      path: z.string().describe('Where'),
      depth: z.coerce.number().default(1),
      since: z.coerce.date().optional(),
    });
    const { inputJsonSchema } = sampleEntry({ inputSchema: schema });
    expect(inputJsonSchema).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string', description: 'Where' } },
      required: ['path'],
    });
    expect(inputJsonSchema).not.toHaveProperty('$schema');
    expect(isDeepFrozen(inputJsonSchema)).toBe(true);
  });

  it.each([
    [
      'without JSON Schema',
      { version: 1, vendor: 'acme', validate: () => ({ value: 1 }) },
      /includes JSON Schema.*"acme"/,
    ],
    [
      'that throws',
      {
        version: 1,
        vendor: 'acme',
        validate: () => ({ value: 1 }),
        jsonSchema: {
          input: () => {
            throw new Error('cannot convert');
          },
        },
      },
      /cannot convert/,
    ],
    [
      'that only says it is zod',
      { version: 1, vendor: 'zod', validate: () => ({ value: 1 }) },
      /includes JSON Schema/,
    ],
    [
      'that answers with no object',
      {
        version: 1,
        vendor: 'acme',
        validate: () => ({ value: 1 }),
        jsonSchema: { input: () => ({ type: 'string' }) },
      },
      /an object schema/,
    ],
  ])('a schema of another library %s is refused', (_, standard, message) => {
    expect(() => sampleEntry({ inputSchema: { '~standard': standard } })).toThrow(message);
  });

  it('a schema property named __proto__ is kept', () => {
    const schema: unknown = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
    );
    expect(
      Object.keys(sampleEntry({ inputSchema: schema }).inputJsonSchema['properties'] as object),
    ).toEqual(['__proto__']);
  });
});
