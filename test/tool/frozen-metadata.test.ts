import { expect, it } from 'vitest';
import { defineTool, ToolMetadataRegistry, type ToolEntry } from '../../src/index.js';
import { isDeepFrozen } from '../core/json-values.js';
import { EVERY_VALUE, LEAST, sampleEntry } from './sample-tools.js';

/** Options in which the caller can change every part. */
const changeableOptions = () => ({
  ...structuredClone({ ...LEAST, ...EVERY_VALUE }),
  execute: () => 1,
});

/** Changes everything that is reachable from a value. */
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

it('metadata is deeply frozen, on the entry and on the definition', () => {
  const entry = entryFrom(changeableOptions());
  expect(isDeepFrozen(entry)).toBe(true);
  expect(isDeepFrozen(entry.definition)).toBe(true);
  expect(() => (entry.keywords as string[]).push('x')).toThrow(TypeError);
  expect(() => Object.assign(entry, { accessMode: 'readonly' })).toThrow(TypeError);
  expect(() => Object.assign(entry.definition, { execute: () => 2 })).toThrow(TypeError);
  expect(() => Object.assign(entry.metadata!['requires_flags'] as object, { x: 1 })).toThrow(
    TypeError,
  );
});

it("metadata doesn't change when the caller changes the options object", () => {
  const options = changeableOptions();
  const entry = entryFrom(options);
  const before = JSON.stringify(entry);
  spoil(options);
  expect(JSON.stringify(entry)).toBe(before);
  expect(before).not.toContain('spoilt');
  expect(entry.inputSchema).toEqual(EVERY_VALUE['inputSchema']);
  expect(entry.inputJsonSchema).toEqual(EVERY_VALUE['inputSchema']);
  expect(entry.outputSchema).toEqual(EVERY_VALUE['outputSchema']);
  expect(entry.digest).toBe(entryFrom(changeableOptions()).digest);
});

it('a definition has the same entry in every registry', () => {
  const definition = defineTool(changeableOptions());
  const [first] = new ToolMetadataRegistry().register(definition);
  const [second] = new ToolMetadataRegistry().register(definition);
  expect(second).toBe(first);
  expect(first!.definition).toBe(definition);
});

it('a schema property named __proto__ is kept', () => {
  const schema: unknown = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"}}}',
  );
  expect(
    Object.keys(sampleEntry({ inputSchema: schema }).inputJsonSchema['properties'] as object),
  ).toEqual(['__proto__']);
});
