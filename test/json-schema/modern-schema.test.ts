import { Ajv2020 } from 'ajv/dist/2020.js';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isToolError } from '../../src/core/errors.js';
import { toAnthropicTools, toMcpTools, toOpenAITools } from '../../src/interop.js';
import { toolsFromOpenApi } from '../../src/openapi.js';
import { defineTool } from '../../src/tool/tool-definition.js';
import { jsonSchemaOf, type JsonSchema } from '../../src/tool/tool-schema.js';

const DATA = resolve(import.meta.dirname, '../../../shared/data');
const HAS_DATA = existsSync(DATA);
const skipped = HAS_DATA ? '' : ' (skipped: ../shared/data is not there)';

const OPTIONS = { strict: false, logger: false } as const;
/** Compiles the meta-schema once for all schemas. */
const ajv = new Ajv2020(OPTIONS);

/** Returns what ajv has against a schema, or an empty list. */
function faultsOf(schema: object, compile = false): readonly string[] {
  if (ajv.validateSchema(schema) !== true) return [ajv.errorsText()];
  try {
    // Its own instance, because ids repeat.
    if (compile) new Ajv2020({ ...OPTIONS, validateSchema: false }).compile(schema);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

/** Valid schemas that ajv 8.20 can't compile, neither before nor after the conversion. */
const TOO_DEEP_FOR_AJV = [
  'draft2020-12/ref.json: refs with relative uris and defs',
  'draft2020-12/ref.json: relative refs with absolute uris and defs',
  'draft2020-12/ref.json: URN ref with nested pointer ref',
].map((schema) => `${schema}: Maximum call stack size exceeded`);

function converted(schema: JsonSchema): JsonSchema {
  return jsonSchemaOf(schema, 'output');
}

const CASES: readonly (readonly [what: string, old: JsonSchema, modern: JsonSchema])[] = [
  [
    'a tuple',
    { items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
    { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
  ],
  ['an empty tuple', { items: [], additionalItems: { type: 'null' } }, { items: { type: 'null' } }],
  ['items of a list', { items: {}, additionalItems: false }, { items: {} }],
  [
    'boolean bounds',
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { type: 'number', exclusiveMinimum: 0, maximum: 9 },
  ],
  [
    'definitions and references to them',
    {
      properties: { a: { $ref: '#/definitions/a' }, b: { $ref: '#/definitions/b/items/1' } },
      definitions: { a: {}, b: { items: [{ type: 'string' }, { type: 'null' }] } },
    },
    {
      properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/b/prefixItems/1' } },
      $defs: { a: {}, b: { prefixItems: [{ type: 'string' }, { type: 'null' }] } },
    },
  ],
  [
    'a reference outside of JSON Schema',
    {
      properties: { a: { $ref: '#/components/schemas/A' } },
      components: { schemas: { A: { items: [true] } } },
    },
    {
      properties: { a: { $ref: '#/$defs/A' } },
      components: { schemas: { A: { items: [true] } } },
      $defs: { A: { prefixItems: [true] } },
    },
  ],
  [
    'definitions and $defs with the same names',
    {
      properties: {
        a: { $ref: '#/definitions/A' },
        b: { $ref: '#/$defs/A' },
        c: { $ref: '#/definitions/C' },
        d: { $ref: '#/definitions/A/properties/x' },
      },
      $defs: { A: { type: 'string' }, A_: {} },
      definitions: {
        A: { properties: { x: { type: 'null' }, y: { $ref: '#/definitions/A' } } },
        C: { type: 'boolean' },
      },
    },
    {
      properties: {
        a: { $ref: '#/$defs/A__' },
        b: { $ref: '#/$defs/A' },
        c: { $ref: '#/$defs/C' },
        d: { $ref: '#/$defs/x' },
      },
      $defs: {
        A: { type: 'string' },
        A_: {},
        A__: { properties: { x: { type: 'null' }, y: { $ref: '#/$defs/A__' } } },
        C: { type: 'boolean' },
        x: { type: 'null' },
      },
    },
  ],
  [
    'escapes that Unicode patterns refuse',
    { type: 'string', pattern: String.raw`^[\w\-\:]+\_\\:$` },
    { type: 'string', pattern: String.raw`^[\w\-:]+_\\:$` },
  ],
  [
    'dependencies',
    { dependencies: { a: ['b', 'b'], c: { required: ['d'] } } },
    { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } },
  ],
  [
    'siblings of a reference in draft 7',
    {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { a: { $ref: '#/definitions/a', type: 'string', description: 'Kept' } },
      definitions: { a: { type: 'number' } },
    },
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      properties: { a: { $ref: '#/$defs/a', description: 'Kept' } },
      $defs: { a: { type: 'number' } },
    },
  ],
  [
    'an id and an anchor of draft 4',
    {
      $schema: 'http://json-schema.org/draft-04/schema#',
      id: 'https://example.com/x#',
      allOf: [{ id: '#a' }],
    },
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      allOf: [{ $anchor: 'a' }],
      $id: 'https://example.com/x',
    },
  ],
  [
    'annotations of a wrong type',
    { type: 'string', title: null, description: 5, examples: 'x', deprecated: 'no', format: null },
    { type: 'string' },
  ],
  [
    'empty lists and lists with a name twice',
    { type: ['string', 'string'], required: ['a', 'a'], allOf: [], anyOf: [], enum: [] },
    { type: ['string'], required: ['a'], not: {} },
  ],
  [
    'nullable',
    { type: 'string', nullable: true, enum: ['a'] },
    { type: ['string', 'null'], enum: ['a', null] },
  ],
  [
    'nullable beside a reference',
    {
      properties: { a: { nullable: true, allOf: [{ $ref: '#/$defs/a' }], description: 'An a' } },
      $defs: { a: {} },
    },
    {
      properties: {
        a: { description: 'An a', anyOf: [{ allOf: [{ $ref: '#/$defs/a' }] }, { type: 'null' }] },
      },
      $defs: { a: {} },
    },
  ],
  [
    'data that looks like keywords',
    {
      const: { definitions: {} },
      default: { items: [1] },
      properties: { nullable: { enum: [{ title: null }] } },
    },
    {
      const: { definitions: {} },
      default: { items: [1] },
      properties: { nullable: { enum: [{ title: null }] } },
    },
  ],
];

describe('schemas of older drafts', () => {
  it.each(CASES)('are converted to 2020-12: %s', (_, old, modern) => {
    expect(converted(old)).toEqual(modern);
    expect(converted(converted(old))).toEqual(modern);
    expect(faultsOf(converted(old), true)).toEqual([]);
  });

  it('are exported and hashed in their converted form', () => {
    const items = [{ type: 'string' }, { type: 'number' }];
    const tool = (list: object) =>
      defineTool({
        name: 'place',
        description: 'Places a value',
        inputSchema: { type: 'object', properties: { at: { type: 'array', ...list } } },
        execute: () => 1,
      });
    const [old, modern] = [tool({ items }), tool({ prefixItems: items })];
    expect(toAnthropicTools([old])).toEqual(toAnthropicTools([modern]));
    expect(toMcpTools([old])).toEqual(toMcpTools([modern]));
  });
});

describe(`schemas that leave the program${skipped}`, () => {
  const suite = HAS_DATA
    ? ['draft7', 'draft2020-12'].flatMap((draft) =>
        readdirSync(join(DATA, 'json-schema-suite', draft)).map((file) => `${draft}/${file}`),
      )
    : [];

  it.each(suite)('are valid 2020-12 for ajv: the suite, %s', (file) => {
    const groups = JSON.parse(readFileSync(join(DATA, 'json-schema-suite', file), 'utf8')) as {
      description: string;
      schema: JsonSchema;
    }[];
    const faults = groups.flatMap(({ description, schema: given }) => {
      const $schema = `http://json-schema.org/${file.startsWith('draft7') ? 'draft-07/schema#' : 'draft/2020-12/schema'}`;
      const schema = typeof given === 'boolean' ? { allOf: [given] } : { $schema, ...given };
      try {
        defineTool({
          name: 'a',
          description: 'A tool',
          inputSchema: {},
          outputSchema: schema,
          execute: () => 1,
        });
      } catch (error) {
        if (isToolError(error, 'INVALID_METADATA')) return []; // Refused, so it doesn't leave.
        throw error;
      }
      return faultsOf(converted(schema), true).map((fault) => `${file}: ${description}: ${fault}`);
    });
    const known = TOO_DEEP_FOR_AJV.filter((fault) => fault.startsWith(`${file}:`));
    expect(faults.sort()).toEqual(known.sort());
  });

  it.skipIf(!HAS_DATA).each(['slack', 'digitalocean', 'kubernetes', 'stripe', 'github'])(
    'are valid 2020-12 for ajv: every operation of %s',
    { timeout: 120_000 },
    async (name) => {
      const { tools } = await toolsFromOpenApi(join(DATA, `openapi/${name}.json`), {
        baseUrl: 'https://api.example.com',
      });
      const exported = [
        ...toOpenAITools(tools).map((each) => each.function.parameters),
        ...toMcpTools(tools).map((each) => each.inputSchema),
      ];
      const faults = exported.flatMap((schema) => faultsOf(schema as object));
      expect(faults.slice(0, 5)).toEqual([]);
      expect(exported.length).toBeGreaterThan(300);
    },
  );
});
