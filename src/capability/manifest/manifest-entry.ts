import { toJSONSchema, z } from 'zod';
import { PRIORITY_NAMES } from '../../core/enum-order.js';
import { SideEffect } from '../../core/enums.js';
import { LIMITS } from '../../core/limits.js';
import { cloneFrozen } from '../../core/plain-data.js';
import { listField, optionKinds, textField } from '../../tool/metadata-schema.js';
import {
  type FieldKind,
  MANIFEST_FIELDS,
  type ManifestField,
  SAFETY_LEVELS,
  type TOOL_FIELDS,
} from '../../tool/tool-fields.js';
import type { JsonSchema } from '../../tool/tool-schema.js';

/** Maximum duration of a timer in seconds. */
const LONGEST_SECONDS = Math.floor(LIMITS.timerMs / 1_000);

const labels = listField(textField());
/**
 * Returns the schema for a map. The schema checks the map without rebuilding it, because zod would
 * drop a key called `__proto__`.
 */
const mapOf = <T extends z.ZodType>(item: T) => z.record(z.string(), item);
const plainObject = () => mapOf(z.unknown());

const quoted = (values: readonly string[]) =>
  values.map((value) => JSON.stringify(value)).join(', ');

const parameters = z.looseObject({
  type: z.literal('object').describe('Always "object": a tool\'s input has named fields.'),
  properties: plainObject().optional().describe('A JSON Schema for each field.'),
  required: z
    .array(z.string().min(1))
    .optional()
    .describe('The fields that every call must include.'),
  additionalProperties: z
    .union([z.boolean(), plainObject()], { error: 'true, false or a schema' })
    .optional()
    .describe('Whether other fields are allowed, or the schema they must match.'),
});

const needOfVariable = z.union(
  [
    textField(),
    z.looseObject({
      required: z.boolean().optional().describe('Whether the tool fails without the variable.'),
      optional: z.boolean().optional().describe('Whether the tool works without the variable.'),
      providers: z.array(z.string()).optional().describe('The providers that use the variable.'),
    }),
  ],
  { error: 'the name of a variable, or an object with "required" or "optional"' },
);

const auth = z.strictObject({
  required: z.boolean().describe('Whether calls fail without credentials.'),
  type: textField().optional().describe('The kind of credentials, such as "api_key" or "oauth2".'),
  env: z
    .union([textField(), mapOf(textField())], {
      error: 'the name of a variable, or an object of them',
    })
    .optional()
    .describe('The environment variable with the credentials; newer manifests use "envs".'),
  envs: mapOf(needOfVariable)
    .optional()
    .describe(
      'The environment variables with the credentials: {"VARIABLE": {"required": true}}, or {"label": "VARIABLE"}.',
    ),
  docs: optionKinds().sentence.optional().describe('How to get access.'),
  scopes: z
    .union([z.string().max(LIMITS.sentenceLength), listField(z.string().max(LIMITS.labelLength))], {
      error: 'a list of scopes, or one text with spaces between them',
    })
    .optional()
    .describe('The permissions that the credentials must include.'),
});

const provider = z.strictObject({
  name: textField().describe('The kind of service, as registered by the application.'),
  priority: z.int().optional().describe('Providers are tried in ascending order; 100 if missing.'),
  health_check_interval: z
    .number()
    .min(0)
    .optional()
    .describe('Seconds between two health checks; 0 for none.'),
  config: plainObject()
    .optional()
    .describe('Settings of the provider. No secrets: name the variables that hold them.'),
});

const idempotencyKey = z.union(
  [
    z.boolean(),
    z.looseObject({
      required: z.boolean().describe('Whether repeated calls need an idempotency key.'),
      scope: textField().optional().describe('The scope within which the key is unique.'),
      guidance: optionKinds().sentence.optional().describe('How to generate the key.'),
    }),
  ],
  { error: 'true, false, or an object with "required"' },
);

/** The allowed values for each kind of key. `define-entry.ts` converts the values. */
const KINDS = {
  ...optionKinds(),
  requests: listField(z.unknown()),
  label: textField(),
  labels,
  words: labels,
  tags: listField(z.string().max(LIMITS.labelLength)),
  personas: labels,
  wholeSeconds: z.int().min(0).max(LONGEST_SECONDS),
  seconds: z.number().min(0).max(LONGEST_SECONDS),
  object: plainObject(),
  input: parameters,
  output: plainObject(),
  priority: z.union([z.enum(PRIORITY_NAMES), z.int().min(0).max(3)], {
    error: `one of ${quoted(PRIORITY_NAMES)}, or their numbers 0 to 3`,
  }),
  safetyLevel: z.enum(SAFETY_LEVELS),
  sideEffects: z.union([z.enum(SideEffect), listField(z.enum(SideEffect))], {
    error: `one of ${quoted(Object.values(SideEffect))}, or a list of them`,
  }),
  idempotency: idempotencyKey,
  auth,
  providers: listField(provider),
  any: z.unknown(),
  flags: z.union([textField(), labels, mapOf(labels)], {
    error: 'a list of flags, or an object with a list of flags for each operation',
  }),
} satisfies { readonly [Kind in FieldKind]?: z.ZodType };

type Fields = typeof TOOL_FIELDS;
type Checked<Name extends ManifestField> = (typeof KINDS)[Fields[Name]['kind']];
type RequiredName = 'name' | 'description';
type Shape = {
  [Name in ManifestField as Fields[Name]['wire']]: Name extends RequiredName
    ? Checked<Name>
    : z.ZodOptional<Checked<Name>>;
};

const shape = Object.fromEntries(
  MANIFEST_FIELDS.map(([name, { wire, kind, about }]) => {
    const schema: z.ZodType = KINDS[kind as keyof typeof KINDS];
    return [
      wire,
      (name === 'name' || name === 'description' ? schema : schema.optional()).describe(about),
    ];
  }),
) as Shape;

/**
 * The schema of one manifest tool, in the manifest's own format: snake_case keys, times in seconds.
 *
 * An unknown key is an issue in this schema. `checkEntry` turns that issue into a warning.
 */
export const manifestEntrySchema = z.strictObject({
  ...shape,
  type: z
    .literal('function')
    .optional()
    .describe('Allowed because the function-calling form has it; has no effect.'),
});

type Plain = Readonly<Record<string, unknown>>;
/**
 * A checked manifest tool. Each documented key has a value of the documented type. All other keys
 * may have any value.
 */
export type ManifestEntry = Readonly<z.input<typeof manifestEntrySchema>> & Plain;

/**
 * The known keys of an entry, of its `auth` and of its `providers`. All other keys are reported.
 */
export const KNOWN_KEYS = {
  entry: Object.keys(manifestEntrySchema.shape),
  auth: Object.keys(auth.shape),
  providers: Object.keys(provider.shape),
};

/** The draft of JSON Schema that editors support best. */
const TARGET = 'draft-7';

/**
 * The JSON Schema (draft 7) of a manifest file, for editors and other validators.
 *
 * This schema is generated from the schema that parses manifests, with a description of every
 * field. The generated schema accepts unknown keys. Problems that involve several fields or files,
 * such as contradictions and duplicate names, are reported only when the manifest is loaded.
 */
export const manifestJsonSchema: JsonSchema = createManifestJsonSchema();

function createManifestJsonSchema(): JsonSchema {
  const { $schema, ...tool } = toJSONSchema(manifestEntrySchema, {
    target: TARGET,
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as Record<string, unknown>;
  const { properties } = tool as { properties: Record<string, unknown> };
  const tools = {
    type: 'array',
    items: { anyOf: [{ $ref: '#/definitions/tool' }, { $ref: '#/definitions/function' }] },
  };
  return cloneFrozen({
    $schema,
    title: 'Tool manifest',
    description: "An agent's tools, with the facts it needs to choose and run them safely.",
    anyOf: [
      tools,
      { type: 'object', properties: { $schema: { type: 'string' }, tools }, required: ['tools'] },
    ],
    definitions: {
      tool: {
        ...tool,
        // Only a tool that wraps an MCP server's tool may have no parameters.
        anyOf: [
          { required: ['parameters'] },
          {
            required: ['providers'],
            properties: {
              providers: {
                contains: {
                  type: 'object',
                  required: ['name'],
                  properties: { name: { const: 'mcp' } },
                },
              },
            },
          },
        ],
      },
      function: {
        description:
          'A tool in the function-calling form. Its metadata is next to "function" or inside it.',
        type: 'object',
        properties: { ...properties, function: { type: 'object', properties } },
        required: ['function'],
      },
    },
  });
}
