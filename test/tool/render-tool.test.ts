import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  estimateTokens,
  highestLevel,
  renderTool,
  SCHEMA_LEVELS,
  type SchemaLevel,
} from '../../src/tool/render-tool.js';
import { sampleEntry, type LooseOptions } from './sample-tools.js';

const LONG =
  'All of it, told at length and with every detail that there may be of any use to anybody. ';
const rendered = (options: LooseOptions, level: SchemaLevel) =>
  renderTool(sampleEntry(options), level);

describe('a tool rendered at a level', () => {
  const schema = {
    type: 'object',
    properties: {
      path: { type: 'string', description: LONG, default: '.', examples: ['a'] },
      depth: { type: 'integer', minimum: 1, description: 'Short' },
    },
    required: ['path'],
    additionalProperties: false,
  };
  const options = {
    name: 'tree',
    description: `Shows a tree.\n\n${LONG.repeat(4)}`,
    inputSchema: schema,
  };

  it('a tool rendered in full includes everything exactly as declared', () => {
    expect(rendered(options, 'full')).toEqual({
      name: 'tree',
      description: options.description,
      inputSchema: schema,
    });
  });

  it('a compact tool keeps the first sentence of its description and every parameter, with short descriptions', () => {
    const { name, description, inputSchema } = rendered(options, 'compact');
    expect([name, description]).toEqual(['tree', 'Shows a tree.']);
    const properties = inputSchema['properties'] as Record<string, { description: string }>;
    expect(Object.keys(properties)).toEqual(['path', 'depth']);
    expect(properties['path']).toEqual({
      type: 'string',
      description: 'All of it, told at length and with every detail t…',
      default: '.',
      examples: ['a'],
    });
    expect(properties['depth']!.description).toBe('Short');
  });

  it('a stub has one line and the types of the required parameters', () => {
    expect(rendered(options, 'stub')).toEqual({
      name: 'tree',
      description: 'Shows a tree.',
      inputSchema: {
        type: 'object',
        properties: { path: { type: 'string' } },
        required: ['path'],
        additionalProperties: false,
      },
    });
  });

  it('a stub keeps an empty parameters object, because some services require one', () => {
    const optional = { type: 'object', properties: { depth: { type: 'integer' } } };
    expect(rendered({ inputSchema: optional }, 'stub').inputSchema).toEqual({
      type: 'object',
      properties: {},
    });
    expect(
      rendered({ inputSchema: { type: 'object', properties: {} } }, 'stub').inputSchema,
    ).toEqual({ type: 'object', properties: {} });
    expect(rendered({ inputSchema: { type: 'object' } }, 'stub').inputSchema).toEqual({
      type: 'object',
    });
  });

  it('rendering shortens nested descriptions and drops unused definitions', () => {
    const node: z.ZodType = z.lazy(() =>
      z.object({ text: z.string().describe(LONG), children: z.array(node) }).meta({ id: 'Node' }),
    );
    const inputSchema = z
      .object({
        filter: z.object({
          text: z.string().describe(LONG),
          any: z.array(z.union([z.string().describe(LONG), z.number()])),
        }),
        tree: node.optional(),
      })
      .describe(LONG);
    const full = JSON.stringify(rendered({ inputSchema }, 'full'));
    expect(full.split(LONG)).toHaveLength(5);
    const compact = JSON.stringify(rendered({ inputSchema }, 'compact'));
    expect(compact).not.toContain(LONG);
    expect(compact.split('All of it, told').length).toBeGreaterThan(4);
    const stub = JSON.stringify(rendered({ inputSchema }, 'stub'));
    expect(stub).not.toContain('All of it');
    expect(stub).not.toContain('Node');
    const needed = JSON.stringify(rendered({ inputSchema: z.object({ tree: node }) }, 'stub'));
    expect(needed).toContain('$defs');
  });

  it('rendering keeps definitions that are referenced, even indirectly', () => {
    const word = { type: 'string' };
    const $defs = {
      A: { type: 'array', items: { $ref: '#/$defs/B' } },
      B: word,
      C: { items: { anyOf: [{ $ref: '#/$defs/C' }, { $ref: '#' }] } },
    };
    const stubOf = (inputSchema: object) =>
      rendered({ inputSchema: { type: 'object', ...inputSchema } }, 'stub').inputSchema;
    expect(
      stubOf({
        properties: { a: { $ref: '#/$defs/A' }, self: { $ref: '#' }, c: { $ref: '#/$defs/C' } },
        required: ['a', 'self'],
        $defs,
      }),
    ).toEqual({
      type: 'object',
      properties: { a: { $ref: '#/$defs/A' }, self: { $ref: '#' } },
      required: ['a', 'self'],
      $defs: { A: $defs.A, B: word },
    });
  });

  it('rendering never cuts a character in half', () => {
    const long = '🔥'.repeat(100);
    for (const level of SCHEMA_LEVELS) {
      for (const start of ['', 'x']) {
        const { description } = rendered({ description: `${start}${long}` }, level);
        expect(JSON.stringify(description)).not.toMatch(/\\ud[89ab]/i);
      }
    }
  });
});

it('the highest level is stub for compact tools, and full for other tools', () => {
  expect([highestLevel(sampleEntry({ compact: true })), highestLevel(sampleEntry())]).toEqual([
    'stub',
    'full',
  ]);
});

it('the token estimate is a quarter of the number of characters, rounded up', () => {
  expect(['', 'a', 'abcd', 'abcde'].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});
