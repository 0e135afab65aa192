import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientOfVersion1 } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { createMcpServer } from '../../src/mcp.js';
import type { ToolSchema } from '../../src/tool/tool-schema.js';

const tree: z.ZodType = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

/** Output schemas, each with a value that matches it. */
const OUTPUTS: Readonly<Record<string, readonly [schema: ToolSchema, value: unknown]>> = {
  tuple: [z.object({ v: z.tuple([z.string(), z.number()]) }), { v: ['a', 1] }],
  tuple_with_rest: [z.object({ v: z.tuple([z.string()], z.boolean()) }), { v: ['a', true, false] }],
  tuple_with_optional: [
    z.object({ v: z.tuple([z.string(), z.number().optional()]) }),
    { v: ['a'] },
  ],
  record: [z.object({ v: z.record(z.string(), z.int()) }), { v: { a: 1 } }],
  union: [
    z.object({
      v: z.discriminatedUnion('k', [
        z.object({ k: z.literal('a') }),
        z.object({ k: z.literal('b') }),
      ]),
    }),
    { v: { k: 'b' } },
  ],
  nullable: [z.object({ v: z.string().nullable(), w: z.int().optional() }), { v: null }],
  default_value: [z.object({ v: z.string().default('x') }), { v: 'y' }],
  recursive: [z.object({ v: tree }), { v: { name: 'a', children: [{ name: 'b', children: [] }] } }],
  formats: [
    z.object({ v: z.iso.datetime(), w: z.uuid() }),
    { v: '2026-01-01T00:00:00Z', w: '7d5a8a52-0b9f-4d4e-9f57-2f6f5f7f2b11' },
  ],
  strict: [z.strictObject({ v: z.enum(['a', 'b']) }), { v: 'a' }],
  intersection: [
    z.object({ v: z.intersection(z.object({ a: z.int() }), z.object({ b: z.int() })) }),
    { v: { a: 1, b: 2 } },
  ],
  draft_4: [
    {
      $schema: 'http://json-schema.org/draft-04/schema#',
      type: 'object',
      properties: { v: { $ref: '#/definitions/v' } },
      definitions: { v: { type: 'number', minimum: 0, exclusiveMinimum: true } },
    },
    { v: 1 },
  ],
  draft_2020: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { v: { type: 'array', prefixItems: [{ type: 'string' }], items: false } },
    },
    { v: ['a'] },
  ],
  contains_none: [
    {
      type: 'object',
      properties: { v: { type: 'array', contains: { type: 'null' }, minContains: 0 } },
    },
    { v: [1] },
  ],
  boolean_schemas: [
    { type: 'object', properties: { v: true, w: false }, unevaluatedProperties: false },
    { v: 1 },
  ],
  alternatives_of_objects: [
    {
      type: 'object',
      oneOf: [
        { properties: { v: { type: 'string', format: 'ipv4' } } },
        { properties: { v: { type: 'string', format: 'ipv6' } } },
      ],
    },
    { v: '127.0.0.1' },
  ],
};

const registry = new ToolMetadataRegistry();
for (const [name, [outputSchema, value]] of Object.entries(OUTPUTS))
  registry.register(
    defineTool({
      name,
      description: `Returns a value: ${name}`,
      accessMode: 'readonly',
      inputSchema: { type: 'object', properties: { any: true } },
      outputSchema,
      execute: () => value,
    }),
  );

const CLIENTS = {
  1: () => new ClientOfVersion1({ name: 'test', version: '1.0.0' }),
  2: () => new Client({ name: 'test', version: '1.0.0' }),
};

it.each([1, 2] as const)(
  'a client of version %s of the MCP SDK accepts the results of every output schema',
  async (version) => {
    const server = createMcpServer(registry, {});
    const client = CLIENTS[version]();
    const [here, there] = InMemoryTransport.createLinkedPair();
    onTestFinished(() => server.close());
    await server.connect(there);
    await client.connect(here);
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(registry.size);
    for (const [name, [, value]] of Object.entries(OUTPUTS))
      expect((await client.callTool({ name })).structuredContent, name).toEqual(value);
  },
);
