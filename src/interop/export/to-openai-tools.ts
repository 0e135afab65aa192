import { z } from 'zod';
import { checkOptions, type FieldsOf } from '../../core/options.js';
import { isPlainObject, mapValues } from '../../core/plain-data.js';
import { mapSchemas } from '../../tool/render-tool.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { noted, objectSchema, withoutKeys, type ObjectSchema } from '../schema/object-schema.js';
import {
  alongSchema,
  alternativesOf,
  asSchema,
  dereference,
  propertiesOf,
  requiredOf,
  typesOf,
} from '../schema/walk-schema.js';
import {
  exportTools,
  exportShape,
  type ExportedTool,
  type ExportedTools,
  type ExportInput,
  type ExportOptions,
} from './exported-tools.js';
import {
  fieldOf,
  objectsIn,
  withMethods,
  type CallAnswer,
  type ModelTools,
  type RawCall,
} from './model-calls.js';
import { FUNCTION_NAME_RULE } from './name-codec.js';
import { openAIContent } from './result-content.js';

/** A tool as OpenAI's Chat Completions API takes it. */
export interface OpenAIChatTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: Record<string, unknown>;
    strict?: boolean;
  };
}

/** A tool as OpenAI's Responses API takes it. */
export type OpenAIResponsesTool = { type: 'function' } & Required<OpenAIChatTool['function']>;

/** An answer to one call, in the chat API. */
type OpenAIChatMessage = { role: 'tool'; tool_call_id: string; content: string };

/** An answer to one call, in the responses API. */
type OpenAIResponsesMessage = {
  type: 'function_call_output';
  call_id: string;
  output: ReturnType<typeof openAIContent>;
};

interface OpenAIOptions extends ExportOptions {
  /** The interface for which the tools are written. @default 'chat' */
  readonly api?: 'chat' | 'responses';
  /**
   * Makes the service hold the model to the schema, where a tool's schema has the form that this needs. @default false
   *
   * Optional parameters are then nullable, and `toCalls` takes their nulls out. Tools with free keys, with values of any type
   * or shown as a stub stay as they are.
   */
  readonly strict?: boolean;
  /** Characters of a description; longer ones are cut. @default 1,024, above which the service refuses the whole request ("string too long") */
  readonly maxDescription?: number;
}

const schema = z.strictObject({
  ...exportShape,
  api: z.enum(['chat', 'responses']).default('chat'),
  strict: z.boolean().default(false),
  maxDescription: z.number().min(1).or(z.literal(Infinity)).default(1_024),
} satisfies FieldsOf<OpenAIOptions>);

/**
 * Returns the tools as OpenAI's APIs take them: `client.chat.completions.create({ model, messages, tools: toOpenAITools(selection) })`,
 * and with `api: 'responses'` the same for `client.responses.create`.
 *
 * Equal input gives equal bytes, in the given order. The list and the schemas are copies that the caller may change. The
 * service takes at most 128 tools and no empty list; make a selection of a large registry first.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toOpenAITools(
  input: ExportInput,
  options: OpenAIOptions & { readonly api: 'responses' },
): ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage>;
export function toOpenAITools(
  input: ExportInput,
  options?: OpenAIOptions & { readonly api?: 'chat' },
): ModelTools<OpenAIChatTool, OpenAIChatMessage>;
export function toOpenAITools(
  input: ExportInput,
  options: OpenAIOptions = {},
):
  | ModelTools<OpenAIChatTool, OpenAIChatMessage>
  | ModelTools<OpenAIResponsesTool, OpenAIResponsesMessage> {
  const { api, strict, maxDescription, level, resolve } = checkOptions(
    schema,
    options,
    'options of the export to OpenAI',
  );
  const exported = exportTools(input, { level, resolve }, FUNCTION_NAME_RULE);
  const functions = exported.tools.map((tool) => ({
    name: tool.name,
    description: limitText(tool.rendered.description, maxDescription),
    ...parametersOf(tool, strict, exported),
  }));
  if (api === 'responses') {
    const tools = functions.map((each): OpenAIResponsesTool => ({ type: 'function', ...each }));
    return withMethods(tools, exported, {
      find: responsesCalls,
      answer: (answers) =>
        answers.map((each): OpenAIResponsesMessage => ({
          type: 'function_call_output',
          call_id: each.id,
          output: each.failed ? answerText(each) : openAIContent(each.content),
        })),
    });
  }
  const tools = functions.map(({ strict: isStrict, ...each }): OpenAIChatTool => ({
    type: 'function',
    function: isStrict ? { ...each, strict: true } : each,
  }));
  return withMethods(tools, exported, {
    find: chatCalls,
    answer: (answers) =>
      answers.map((each): OpenAIChatMessage => ({
        role: 'tool',
        tool_call_id: each.id,
        content: answerText(each),
      })),
  });
}

function parametersOf(
  { entry, level, rendered }: ExportedTool,
  strict: boolean,
  { restore }: ExportedTools,
): { parameters: ObjectSchema; strict: boolean } {
  const loose = objectSchema(rendered.inputSchema);
  // A stub hides the optional parameters, and a closed schema would forbid them.
  const closed = strict && level !== 'stub' ? strictSchema(loose) : undefined;
  if (closed === undefined)
    return { parameters: mapSchemas(loose, withItems) as ObjectSchema, strict: false };
  restore.set(entry.name, (input) => withoutNulls(input, loose));
  return { parameters: closed, strict: true };
}

/** The service refuses "array schema missing items", although a list without them is one of anything. */
function withItems(each: JsonSchema): JsonSchema {
  return typesOf(each).includes('array') && each['items'] === undefined
    ? { ...each, items: {} }
    : each;
}

/** Finds the calls of a completion, its message, or a list of tool calls. */
function chatCalls(response: unknown): RawCall[] {
  const message = fieldOf(objectsIn(fieldOf(response, 'choices'))[0], 'message') ?? response;
  const calls = objectsIn(Array.isArray(message) ? message : fieldOf(message, 'tool_calls'));
  return calls.map((call) => ({
    id: call['id'],
    name: fieldOf(call['function'], 'name'),
    input: fieldOf(call['function'], 'arguments'),
  }));
}

/** Finds the calls of a response or its output. */
function responsesCalls(response: unknown): RawCall[] {
  const items = objectsIn(Array.isArray(response) ? response : fieldOf(response, 'output')).filter(
    ({ type }) => type === 'function_call',
  );
  return items.map((item) => ({
    id: item['call_id'],
    name: item['name'],
    input: item['arguments'],
  }));
}

function answerText({ failed, text }: CallAnswer): string {
  return failed ? JSON.stringify({ error: text }) : text;
}

/** Returns a text of at most so many characters, none of them halved. */
function limitText(text: string, longest: number): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The keywords that strict mode takes. Source: "Supported schemas" in OpenAI's guide to structured outputs. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'items',
  'properties',
  'required',
  'anyOf',
  '$ref',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'title',
]);
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);
/** Keywords that leave open which keys or items there are: no strict schema says the same. */
const OPEN: readonly string[] = [
  'patternProperties',
  'prefixItems',
  'allOf',
  'definitions',
  '$anchor',
  '$id',
];
/** Keywords that are left out: what only narrows is written into the description, and the tool checks it itself. */
const SILENT: ReadonlySet<string> = new Set([
  'description',
  '$defs',
  '$schema',
  '$comment',
  'additionalProperties',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
  'oneOf',
  'unevaluatedProperties',
]);
const MOST_LEVELS = 5;

/** Thrown and caught in this file only: a schema that has no strict form is an answer, not a mistake. */
class NoStrictForm extends Error {}

/**
 * Returns a schema in the form that strict mode demands, or undefined when it has none: objects with free keys, values of any
 * type, tuples, more than 5 levels, more than 1,000 listed values.
 *
 * Every object is closed and requires all its properties; optional ones may be null instead, which `withoutNulls` undoes.
 */
export function strictSchema(schema: ObjectSchema): ObjectSchema | undefined {
  const budget = { values: 1_000 };
  const convert = (value: unknown, level: number): JsonSchema => {
    const node = asSchema(value);
    if (level > MOST_LEVELS || OPEN.some((keyword) => node[keyword] !== undefined))
      throw new NoStrictForm();
    const said = Object.entries(node).filter(([, each]) => each !== undefined);
    const isKept = ([keyword, each]: [string, unknown]) =>
      KEPT.has(keyword) ||
      (keyword === 'format' && FORMATS.has(each)) ||
      (keyword === 'pattern' && typeof each === 'string' && !each.includes('(?'));
    const kept: Record<string, unknown> = Object.fromEntries(said.filter(isKept));
    const notes = said.filter((each) => !isKept(each) && !SILENT.has(each[0]));
    const description = noted(node['description'], notes);
    if (description !== undefined) kept['description'] = description;
    if (Array.isArray(node['enum']) && (budget.values -= node['enum'].length) < 0)
      throw new NoStrictForm();

    const alternatives = alternativesOf(node);
    if (alternatives.length > 0) {
      if (node['anyOf'] !== undefined && node['oneOf'] !== undefined) throw new NoStrictForm();
      if (
        ['type', 'properties', 'items', 'enum', 'const', '$ref'].some(
          (keyword) => node[keyword] !== undefined,
        )
      )
        throw new NoStrictForm();
      return { ...kept, anyOf: alternatives.map((each) => convert(each, level)) };
    }
    if (node['$ref'] !== undefined) {
      if (
        typeof node['$ref'] !== 'string' ||
        !/^#(?:\/\$defs\/[^/]+)?$/.test(node['$ref']) ||
        dereference(node, schema) === undefined
      )
        throw new NoStrictForm();
      return { $ref: node['$ref'], ...(description === undefined ? {} : { description }) };
    }
    const types = typesOf(node);
    if (types.length === 0) return withValueType(kept);
    if (types.includes('array')) {
      if (!isPlainObject(node['items'])) throw new NoStrictForm();
      kept['items'] = convert(node['items'], level + 1);
    }
    if (types.includes('object')) Object.assign(kept, closed(node, level));
    return kept;
  };

  const closed = (node: JsonSchema, level: number): JsonSchema => {
    const properties = propertiesOf(node);
    const isOpen =
      node['additionalProperties'] !== undefined && node['additionalProperties'] !== false;
    const saysNothing =
      Object.keys(properties).length === 0 &&
      node['additionalProperties'] === undefined &&
      level > 0;
    if (isOpen || saysNothing) throw new NoStrictForm();
    const required = requiredOf(node);
    return {
      properties: mapValues(properties, ([name, property]) =>
        required.includes(name)
          ? convert(property, level + 1)
          : nullable(convert(property, level + 1)),
      ),
      required: Object.keys(properties),
      additionalProperties: false,
    };
  };

  try {
    const definitions = isPlainObject(schema['$defs'])
      ? { $defs: mapValues(schema['$defs'], ([, each]) => convert(each, 1)) }
      : {};
    return structuredClone({ ...convert(schema, 0), ...definitions }) as ObjectSchema;
  } catch (error) {
    if (error instanceof NoStrictForm) return undefined;
    throw error;
  }
}

/** Adds a type: strict mode wants one beside `enum` and `const`. */
function withValueType(schema: Record<string, unknown>): JsonSchema {
  const values = Array.isArray(schema['enum'])
    ? (schema['enum'] as unknown[])
    : Object.hasOwn(schema, 'const')
      ? [schema['const']]
      : [];
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))];
  if (types.length === 0 || types.includes('object')) throw new NoStrictForm();
  return { ...schema, type: types.length === 1 ? types[0] : types };
}

function nullable(schema: JsonSchema): JsonSchema {
  const { anyOf, const: constant, enum: values, type, description, ...rest } = schema;
  const described = description === undefined ? {} : { description };
  if (Array.isArray(anyOf))
    return acceptsNull(schema, schema)
      ? schema
      : { ...schema, anyOf: [...(anyOf as unknown[]), { type: 'null' }] };
  if (type === undefined)
    return { ...described, anyOf: [withoutKeys(schema, ['description']), { type: 'null' }] };
  const allowed = Array.isArray(values)
    ? (values as unknown[])
    : Object.hasOwn(schema, 'const')
      ? [constant]
      : undefined;
  return {
    type: [...new Set([...typesOf(schema), 'null'])],
    ...(allowed === undefined ? {} : { enum: [...new Set([...allowed, null])] }),
    ...described,
    ...rest,
  };
}

/** Takes out the nulls that stand for a missing optional parameter; nulls that the tool itself allows stay. */
export function withoutNulls(input: unknown, schema: ObjectSchema): unknown {
  return alongSchema(input, schema, (object, node) => {
    const properties = propertiesOf(node);
    const required = requiredOf(node);
    const isPlaceholder = (name: string, value: unknown) =>
      value === null &&
      Object.hasOwn(properties, name) &&
      !required.includes(name) &&
      !acceptsNull(properties[name]!, schema);
    return Object.fromEntries(
      Object.entries(object).filter(([name, value]) => !isPlaceholder(name, value)),
    );
  });
}

function acceptsNull(schema: JsonSchema, root: JsonSchema, depth = 0): boolean {
  const node = depth > MOST_LEVELS ? undefined : dereference(schema, root);
  if (node === undefined) return false;
  if (Array.isArray(node['enum'])) return node['enum'].includes(null);
  if (Object.hasOwn(node, 'const')) return node['const'] === null;
  const alternatives = alternativesOf(node);
  if (alternatives.length > 0)
    return alternatives.some((each) => acceptsNull(each, root, depth + 1));
  const types = typesOf(node);
  return types.length === 0 || types.includes('null');
}
