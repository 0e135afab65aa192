import { expect, it } from 'vitest';
import { z } from 'zod';
import { issuesOf } from '../../src/core/errors.js';
import {
  AccessMode,
  DangerLevel,
  defineTool,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolDefinition,
} from '../../src/index.js';
import { foreignSchema, uncheckedPatterns } from '../../src/json-schema/compile-json-schema.js';
import { entryToJson, toolsFromJson, toolToJson } from '../../src/tool/tool-data.js';
import { entryOf } from '../../src/tool/tool-definition.js';
import { registryOf, refusal, sample } from './sample-tools.js';

const work = () => 'done';
const digestOf = (tool: ToolDefinition) => new ToolMetadataRegistry().register(tool)[0]!.digest;
/** Converts the data to JSON text and back, as in a file or another process. */
const stored = (...tools: readonly ToolDefinition[]) =>
  JSON.parse(JSON.stringify(tools.map(toolToJson))) as Record<string, unknown>[];
/** Returns a stored tool that somebody has edited. */
const edited = (change: Readonly<Record<string, unknown>>, tool = sample({ execute: work })) => [
  { ...stored(tool)[0]!, ...change },
];
const issuesIn = (json: unknown) =>
  toolsFromJson(json, { sample: work }).refused.flatMap(({ error }) =>
    issuesOf(error).map(({ path, message }) => `${path.join('.')}: ${message}`),
  );

it('a stored tool is plain JSON with exactly what was declared', () => {
  const json = toolToJson(sample({ keywords: ['Words'], manual: true }));
  expect(json).toEqual(JSON.parse(JSON.stringify(json)));
  expect(json).toMatchObject({
    format: 'tooldex.tool/1',
    name: 'sample',
    keywords: ['words'],
    manual: true,
    code: [],
  });
  expect(Object.keys(json)).not.toContain('priority');
  expect(Object.isFrozen(json)).toBe(true);
});

it('a definition and its entry are stored as the same data', () => {
  const registry = registryOf({});
  expect(toolToJson(registry.require('sample'))).toEqual(
    toolToJson(registry.require('sample').definition),
  );
});

it('a stored tool lists its functions, and contains schemas as JSON Schema', () => {
  const tool = defineTool({
    name: 'pay',
    description: 'Pays',
    inputSchema: z.object({ cents: z.number().int() }),
    outputSchema: z.string(),
    dangerFor: () => DangerLevel.HIGH,
    available: () => true,
    execute: work,
  });
  const json = toolToJson(tool);
  expect(json.code).toEqual(['execute', 'dangerFor', 'available', 'inputSchema', 'outputSchema']);
  expect(json.inputSchema).toMatchObject({ type: 'object', required: ['cents'] });
  expect(json.outputSchema).toEqual({ type: 'string' });
});

it('restored tools get their function by name or handlerRef', async () => {
  const tools = [
    sample({ name: 'one', accessMode: AccessMode.READONLY, execute: work }),
    sample({
      name: 'two',
      accessMode: AccessMode.READONLY,
      handlerRef: 'billing/two',
      execute: work,
    }),
  ];
  for (const handlers of [
    { one: () => 1, 'billing/two': () => 2 },
    { one: () => 1, two: () => 2 },
  ]) {
    const registry = new ToolMetadataRegistry();
    registry.registerAll(toolsFromJson(stored(...tools), handlers).tools);
    const outcomes = await new ToolExecutor({ registry }).executeAll([
      { id: 'a', name: 'one', input: {} },
      { id: 'b', name: 'two', input: {} },
    ]);
    expect(outcomes.map((outcome) => outcome.status === 'ok' && outcome.value)).toEqual([1, 2]);
  }
});

it('a handler for the handlerRef takes precedence over a handler for the name', () => {
  const { tools } = toolsFromJson(stored(sample({ handlerRef: 'b', execute: work })), {
    sample: () => 'by name',
    b: () => 'by ref',
  });
  expect(tools[0]!.execute!({}, {})).toBe('by ref');
});

it('tools without a handler are reported', () => {
  expect(toolsFromJson(stored(sample({ execute: work })), { smaple: work })).toEqual({
    tools: [],
    missing: [{ name: 'sample', parts: ['execute'] }],
    changed: [],
    refused: [],
    jsonSchemaOnly: [],
  });
  expect(toolsFromJson(stored(sample())).missing).toEqual([{ name: 'sample', parts: ['execute'] }]);
});

it('stored tools need no handler if a user or provider answers their calls', () => {
  expect(
    toolsFromJson(
      stored(
        sample({ manual: true }),
        sample({ name: 'other', manual: true, execute: work }),
        sample({ name: 'third', providers: [{ name: 'x' }] }),
      ),
    ).tools.map(({ name }) => name),
  ).toEqual(['sample', 'other', 'third']);
});

it('a tool is reported as missing if any of its functions, such as dangerFor, is missing', () => {
  for (const [part, value] of Object.entries<() => unknown>({
    dangerFor: () => DangerLevel.CRITICAL,
    canonicalInput: () => ({}),
    conflictKeys: () => ['all'],
    cacheKey: () => undefined,
    available: () => false,
  })) {
    const json = stored(sample({ [part]: value, execute: work }));
    expect(toolsFromJson(json, { sample: work })).toMatchObject({
      tools: [],
      missing: [{ name: 'sample', parts: [part] }],
    });
    expect(
      toolsFromJson(json, { sample: { execute: work, [part]: value } }).tools[0],
    ).toHaveProperty(part, value);
  }
  // The digest reveals the removal, even if the list of functions was removed from the file.
  const [json] = stored(sample({ dangerFor: () => DangerLevel.CRITICAL, execute: work }));
  expect(toolsFromJson([{ ...json, code: ['execute'] }], { sample: work })).toMatchObject({
    tools: [],
    changed: [{ name: 'sample' }],
  });
});

it("tools whose zod schema isn't passed again are listed as jsonSchemaOnly", () => {
  const inputSchema = z.object({ path: z.string().refine((path) => !path.includes('..')) });
  const tool = defineTool({ name: 'sample', description: 'Reads', inputSchema, execute: work });
  expect(toolsFromJson(stored(tool), { sample: work })).toMatchObject({
    tools: [{ name: 'sample' }],
    jsonSchemaOnly: ['sample'],
  });
  for (const handler of [tool, { execute: work, inputSchema }]) {
    const { tools, jsonSchemaOnly } = toolsFromJson(stored(tool), { sample: handler });
    expect([tools[0]!.inputSchema, jsonSchemaOnly]).toEqual([inputSchema, []]);
  }
});

it('tools whose data or code has changed are reported with their current definition', () => {
  const before = sample({ accessMode: AccessMode.WRITE, execute: work });
  const [json] = stored(before);
  const tampered = toolsFromJson([{ ...json, accessMode: 'readonly' }], { sample: work });
  expect(tampered).toMatchObject({
    tools: [],
    changed: [{ name: 'sample', storedDigest: digestOf(before), tool: { accessMode: 'readonly' } }],
  });
  const now = sample({ accessMode: AccessMode.WRITE, description: 'Another', execute: work });
  const [changed] = toolsFromJson([json], { sample: now }).changed;
  expect([changed!.tool, changed!.digest]).toEqual([now, digestOf(now)]);
  expect(
    toolsFromJson([json], { sample: { execute: work, dangerFor: () => DangerLevel.HIGH } }).changed,
  ).toHaveLength(1);
});

it('an invalid stored tool is refused with its errors', () => {
  expect(issuesIn(edited({ code: ['magic'], digest: 'abc' }))).toEqual([
    expect.stringMatching(/^code\.0: /),
    expect.stringMatching(/^digest: /),
  ]);
  expect(
    issuesIn(
      edited({
        name: 'no spaces here',
        bogus: 1,
        execute: 'rm',
        inputSchema: { type: 'strin' },
      }),
    ).sort(),
  ).toEqual([
    expect.stringMatching(/^bogus: /),
    expect.stringMatching(/^execute: Expected a function/),
    expect.stringMatching(/^inputSchema: /),
    expect.stringMatching(/^name: /),
  ]);
  expect(issuesIn(edited({ format: 'tooldex.tool/2' }))).toEqual([
    'format: Expected "tooldex.tool/1", got "tooldex.tool/2". Did you mean "tooldex.tool/1"?',
  ]);
  expect(refusal(() => toolsFromJson({})).code).toBe('INVALID_ARGUMENT');
});

it('a foreign schema is restored as foreign, and changing its foreign mark counts as a change', () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^x$' } } };
  const foreign = sample({ inputSchema: foreignSchema(inputSchema), execute: work });
  const own = sample({ inputSchema, execute: work });
  expect(entryToJson(entryOf(foreign))['findings']).toEqual([
    { rule: 'pattern-unchecked', path: ['properties', 'a', 'pattern'], pattern: '^x$' },
  ]);
  expect(entryToJson(entryOf(own))).not.toHaveProperty('findings');
  const [again] = toolsFromJson(stored(foreign), { sample: work }).tools;
  expect(uncheckedPatterns(entryOf(again!).inputJsonSchema)).toHaveLength(1);
  expect(
    uncheckedPatterns(
      entryOf(toolsFromJson(stored(own), { sample: work }).tools[0]!).inputJsonSchema,
    ),
  ).toEqual([]);
  // Each schema has its own origin, so a tool's own input schema is enforced even if its output schema
  // comes from a server.
  const mixed = sample({ inputSchema, outputSchema: foreignSchema(inputSchema), execute: work });
  const { outputSchema, inputSchema: ownInput } = toolsFromJson(stored(mixed), { sample: work })
    .tools[0]!;
  expect([uncheckedPatterns(ownInput), uncheckedPatterns(outputSchema!).length]).toEqual([[], 1]);
  // An edit of the file can't turn off patterns.
  expect(
    toolsFromJson([{ ...stored(own)[0]!, foreignSchemas: ['inputSchema'] }], { sample: work }),
  ).toMatchObject({ tools: [], changed: [{ name: 'sample' }] });
  expect(
    toolsFromJson([{ ...stored(foreign)[0]!, foreignSchemas: undefined }], { sample: work }),
  ).toMatchObject({ tools: [], changed: [{ name: 'sample' }] });
});
