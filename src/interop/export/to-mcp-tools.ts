import { z } from 'zod';
import { AccessMode, DangerLevel, ExecutionCategory, SideEffect } from '../../core/enums.js';
import { dangerRank } from '../../core/enum-order.js';
import { checkOptions } from '../../core/options.js';
import { isPlainObject, mapValues } from '../../core/plain-data.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { AXIS_NAMES } from '../../tool/axes.js';
import { TOOL_FIELDS } from '../../tool/tool-fields.js';
import type { ToolOptions } from '../../tool/tool-options.js';
import { mapSchemas } from '../../tool/render-tool.js';
import { jsonSchemaOf, type JsonSchema } from '../../tool/tool-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import {
  exportTools,
  exportShape,
  type ExportInput,
  type ExportOptions,
} from './exported-tools.js';

/** An object schema, as in `tools/list`. */
type McpSchema = { type: 'object'; [keyword: string]: unknown };

/** A tool, as in `tools/list`. */
export interface McpTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: McpSchema;
  outputSchema?: McpSchema;
  annotations: ToolAnnotations;
  /**
   * Metadata for clients that support it: the tool's safety metadata in snake_case, under
   * `tooldex/axes`.
   */
  _meta: Record<string, unknown>;
}

const schema = z.strictObject(exportShape);

/**
 * Returns the tools in the format in which an MCP server lists them, with all four annotations.
 *
 * Names are unchanged. An output schema is included only if it describes an object, as the protocol
 * requires. Equal input produces identical bytes. You can modify the list and its schemas.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toMcpTools(
  input: ExportInput,
  options: ExportOptions = {},
): McpTool[] & { readonly tools: McpTool[] } {
  const checked = checkOptions(schema, options, 'options for exporting to MCP');
  const tools = exportTools(input, checked).tools.map(({ entry, rendered }): McpTool => {
    const annotations = { ...annotationsOf(entry) };
    const { title } = annotations;
    const outputSchema = outputOf(entry);
    return {
      name: entry.name,
      ...(title !== undefined && { title }),
      description: rendered.description,
      // Only clients need to know the schema's dialect.
      inputSchema: listed({
        ...(entry.inputJsonSchema['$schema'] !== undefined && {
          $schema: entry.inputJsonSchema['$schema'],
        }),
        ...rendered.inputSchema,
        type: 'object',
      }),
      ...(outputSchema && { outputSchema }),
      annotations,
      _meta: { 'tooldex/axes': axesOf(entry) },
    };
  });
  return Object.defineProperty(tools, 'tools', { value: tools, enumerable: false }) as McpTool[] & {
    readonly tools: McpTool[];
  };
}

function outputOf({ outputSchema }: ToolEntry): McpSchema | undefined {
  const json = outputSchema === undefined ? undefined : jsonSchemaOf(outputSchema, 'output');
  return json?.['type'] === 'object'
    ? listed({ ...mapSchemas(json, inBothDrafts), type: 'object' })
    : undefined;
}

/**
 * Returns a copy of a schema that clients accept. Clients of version 1 of the SDK refuse the whole
 * list if a parameter's schema is `true` or `false`.
 */
function listed(schema: McpSchema): McpSchema {
  const copy = structuredClone(schema);
  const { properties } = copy;
  if (isPlainObject(properties))
    copy['properties'] = mapValues(properties, ([, each]) =>
      typeof each === 'boolean' ? (each ? {} : { not: {} }) : each,
    );
  return copy;
}

/**
 * Leaves out the keywords that would refuse valid results under draft 7, with which clients of
 * version 1 of the SDK check results. There, `items` applies to every item of a tuple, and
 * `contains` always requires an item.
 */
function inBothDrafts(schema: JsonSchema): JsonSchema {
  const { items, contains, ...rest } = schema;
  const { prefixItems, maxItems, minContains } = rest;
  const isTuple = Array.isArray(prefixItems);
  return {
    ...rest,
    ...(isTuple && items === false && maxItems === undefined && { maxItems: prefixItems.length }),
    ...(!isTuple && items !== undefined && { items }),
    ...(minContains !== 0 && contains !== undefined && { contains }),
  };
}

/** The axes that clients see. A priority only matters where the tools are selected. */
const SHOWN_AXES = [
  ...AXIS_NAMES.filter((axis) => axis !== 'priority'),
  ...(['sideEffects', 'allowParallel', 'requiresConsent'] as const),
];

function axesOf(entry: ToolEntry): Record<string, unknown> {
  const declared = Object.fromEntries(
    SHOWN_AXES.map((axis): [string, unknown] => [
      TOOL_FIELDS[axis].wire,
      structuredClone(entry[axis]),
    ]),
  );
  return {
    ...declared,
    requires_approval: requiresApproval(entry),
    [TOOL_FIELDS.idempotencyKey.wire]: entry.idempotencyKey ?? false,
  };
}

/**
 * A tool's annotations in the Model Context Protocol.
 *
 * All four hints are always present, because clients assume the default for a missing hint. By
 * default, `destructiveHint` is true, so a tool that only reads would look destructive.
 *
 * Source: `ToolAnnotations` in the protocol's schema, 2025-06-18 and later.
 */
export type ToolAnnotations = {
  title?: string;
  /** True if the tool doesn't change anything. */
  readOnlyHint: boolean;
  /** True if the tool can delete or overwrite something, rather than only add to it. */
  destructiveHint: boolean;
  /** True if a second call with the same arguments has no further effect. */
  idempotentHint: boolean;
  /** True if the tool interacts with an open set of outside things, such as the web. */
  openWorldHint: boolean;
};

/**
 * The side effects that stay on this machine. `write` isn't included, because it doesn't say where
 * the data goes.
 */
const CLOSED: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.FILESYSTEM,
]);

/**
 * Derives frozen hints from a tool's safety metadata. For an unknown value, the worse case is
 * assumed.
 *
 * - `readOnlyHint`: true if the access mode is `readonly` and the danger below high. Clients don't
 *   ask the user before they call such a tool.
 * - `destructiveHint`: false for such tools, and for tools with danger `safe` or `low` whose
 *   arguments can't raise the danger.
 * - `idempotentHint`: true if the access mode is `readonly`, or `idempotencyKey` is set.
 * - `openWorldHint`: false only if all declared side effects are local (none, compute, filesystem,
 *   with or without write) and the execution category isn't network.
 * - `title`: `metadata.title`, if it's a string.
 */
export function annotationsOf(entry: ToolEntry): Readonly<ToolAnnotations> {
  const { accessMode, dangerLevel, sideEffects, executionCategory, metadata } = entry;
  const reads = accessMode === AccessMode.READONLY;
  const readOnlyHint = reads && dangerRank(dangerLevel) < dangerRank(DangerLevel.HIGH);
  const title =
    metadata !== undefined && Object.hasOwn(metadata, 'title') ? metadata['title'] : undefined;
  return Object.freeze({
    ...(typeof title === 'string' && title.trim() !== '' ? { title } : {}),
    readOnlyHint,
    destructiveHint:
      !readOnlyHint &&
      (entry.dangerFor !== undefined || dangerRank(dangerLevel) > dangerRank(DangerLevel.LOW)),
    idempotentHint: reads || entry.idempotencyKey === true,
    openWorldHint: executionCategory === ExecutionCategory.NETWORK || !staysLocal(sideEffects),
  });
}

function staysLocal(effects: readonly SideEffect[]): boolean {
  const places = effects.filter((effect) => effect !== SideEffect.WRITE);
  return places.length > 0 && places.every((effect) => CLOSED.has(effect));
}

/** The safety metadata that can be derived from hints. */
export type AnnotatedAxes = Pick<
  ToolOptions,
  | 'accessMode'
  | 'dangerLevel'
  | 'sideEffects'
  | 'requiresConsent'
  | 'allowParallel'
  | 'idempotencyKey'
  | 'reads'
  | 'sends'
>;

/**
 * Derives safety metadata from the hints of a foreign tool. The derived metadata overrides the
 * defaults for foreign tools: side effects `network` (and therefore mixed access, high danger, no
 * caching, and no retries), consent required, not parallel, no idempotency key.
 *
 * Hints from an untrusted server can only make a tool stricter, because a hostile server would
 * claim whatever gets its tools called. Of an untrusted server's hints, only `readOnlyHint: false`
 * and `destructiveHint: true` are used. Hints from a trusted server:
 *
 * | hints | axes | |---|---|
 * | readOnlyHint, and no destructiveHint | readonly, reads an external service, needs no consent,
 * parallel, repeatable |
 * | destructiveHint: false | write, low danger, default consent |
 * | idempotentHint | repeatable |
 * | openWorldHint: false | sends nowhere |
 *
 * A missing or invalid hint means the protocol's default: not read-only, destructive, not
 * idempotent, open. `openWorldHint` doesn't change the side effects, because every call to a remote
 * server leaves this machine.
 *
 * @param annotations Any value; only plain objects can contain hints.
 */
export function axesFromAnnotations(
  annotations: unknown,
  { trusted }: { readonly trusted: boolean },
): AnnotatedAxes {
  const readOnly = hintOf(annotations, 'readOnlyHint');
  const destructive = hintOf(annotations, 'destructiveHint');
  const closed: AnnotatedAxes =
    trusted && hintOf(annotations, 'openWorldHint') === false ? { sends: 'nowhere' } : {};
  if (destructive === true)
    return {
      accessMode: AccessMode.MIXED,
      dangerLevel: DangerLevel.HIGH,
      ...closed,
      ...repeatable(annotations, trusted),
    };
  if (!trusted) return readOnly === false ? { accessMode: AccessMode.MIXED } : {};
  if (readOnly === true) {
    return {
      accessMode: AccessMode.READONLY,
      sideEffects: SideEffect.READ_EXTERNAL_SERVICE,
      requiresConsent: false,
      allowParallel: true,
      idempotencyKey: true,
      ...closed,
    };
  }
  return {
    ...(destructive === false
      ? { accessMode: AccessMode.WRITE, dangerLevel: DangerLevel.LOW }
      : {}),
    ...closed,
    ...repeatable(annotations, trusted),
  };
}

function repeatable(annotations: unknown, trusted: boolean): AnnotatedAxes {
  return trusted && hintOf(annotations, 'idempotentHint') === true ? { idempotencyKey: true } : {};
}

function hintOf(annotations: unknown, hint: keyof ToolAnnotations): boolean | undefined {
  if (!isPlainObject(annotations) || !Object.hasOwn(annotations, hint)) return undefined;
  const value = annotations[hint];
  return typeof value === 'boolean' ? value : undefined;
}

const SHARED_FIELDS = [
  'name',
  'version',
  'category',
  ...AXIS_NAMES,
  'allowParallel',
  'requiresConsent',
  'manual',
  'digest',
] as const;

/**
 * A tool's metadata for other frameworks, as plain JSON, without providers, auth, and custom
 * metadata. `tooldex.name` is the tool's own name, which can differ from the name that models see.
 */
export type BridgeMetadata = {
  annotations: ToolAnnotations;
  tooldex: Pick<ToolEntry, (typeof SHARED_FIELDS)[number]>;
};

/** Returns a tool's metadata for other frameworks. */
export function bridgeMetadataOf(entry: ToolEntry): BridgeMetadata {
  const shared = SHARED_FIELDS.filter((field) => entry[field] !== undefined).map((field) => [
    field,
    entry[field],
  ]);
  return {
    annotations: { ...annotationsOf(entry) },
    tooldex: Object.fromEntries(shared) as BridgeMetadata['tooldex'],
  };
}
