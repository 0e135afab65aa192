import { z } from 'zod';
import { AccessMode, DangerLevel, ExecutionCategory, SideEffect } from '../../core/enums.js';
import { dangerRank } from '../../core/enum-order.js';
import { checkOptions } from '../../core/options.js';
import { isPlainObject } from '../../core/plain-data.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { TOOL_FIELDS } from '../../tool/tool-fields.js';
import type { ToolOptions } from '../../tool/tool-options.js';
import { jsonSchemaOf } from '../../tool/tool-schema.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import {
  exportTools,
  exportShape,
  type ExportInput,
  type ExportOptions,
} from './exported-tools.js';

/** An object schema as `tools/list` wants it. */
type McpSchema = { type: 'object'; [keyword: string]: unknown };

/** A tool of `tools/list`. */
export interface McpTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: McpSchema;
  outputSchema?: McpSchema;
  annotations: ToolAnnotations;
  /** Holds the tool's axes in snake_case under `tooldex/axes`: clients that know them need not guess from the hints. */
  _meta: Record<string, unknown>;
}

const schema = z.strictObject(exportShape);

/**
 * Returns the tools as an MCP server lists them, with all four annotations.
 *
 * Names stay as they are: the protocol allows the same ones. An output schema goes along where it is one of an object, as
 * the protocol demands. Equal input gives equal bytes, in the given order; all are copies that the caller may change.
 *
 * @throws ToolError `INVALID_ARGUMENT`, `NOT_A_TOOL` or `DUPLICATE_TOOL`.
 */
export function toMcpTools(
  input: ExportInput,
  options: ExportOptions = {},
): McpTool[] & { readonly tools: McpTool[] } {
  const checked = checkOptions(schema, options, 'options of the export to MCP');
  const tools = exportTools(input, checked).tools.map(({ entry, rendered }): McpTool => {
    const annotations = { ...annotationsOf(entry) };
    const { title } = annotations;
    const outputSchema = outputOf(entry);
    return {
      name: entry.name,
      ...(title !== undefined && { title }),
      description: rendered.description,
      // Clients read a schema by the dialect that it names; models are told none.
      inputSchema: structuredClone({
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
  return json?.['type'] === 'object' ? structuredClone({ ...json, type: 'object' }) : undefined;
}

const AXES = [
  'accessMode',
  'dangerLevel',
  'executionCategory',
  'costTier',
  'sideEffects',
  'allowParallel',
  'requiresConsent',
] as const;

function axesOf(entry: ToolEntry): Record<string, unknown> {
  const declared = Object.fromEntries(
    AXES.map((axis): [string, unknown] => [TOOL_FIELDS[axis].wire, structuredClone(entry[axis])]),
  );
  return {
    ...declared,
    requires_approval: requiresApproval(entry),
    [TOOL_FIELDS.idempotencyKey.wire]: entry.idempotencyKey ?? false,
  };
}

/**
 * The annotations by which the Model Context Protocol lets a tool tell of itself.
 *
 * All four hints are always present: to clients a missing one means its default, and the default of `destructiveHint`
 * is true, so that tools that only read look destructive.
 *
 * Source: `ToolAnnotations` in the schema of the protocol, 2025-06-18 and later.
 */
export type ToolAnnotations = {
  title?: string;
  /** True for a tool that changes nothing. */
  readOnlyHint: boolean;
  /** True for one that may delete or overwrite, rather than only add. */
  destructiveHint: boolean;
  /** True when a second call with the same arguments changes nothing more. */
  idempotentHint: boolean;
  /** True for one that deals with what lies outside, rather than with a closed domain. */
  openWorldHint: boolean;
};

/** The effects that stay within the machine. `write` alone does not say where it writes. */
const CLOSED: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.FILESYSTEM,
]);

/**
 * Returns the hints that follow from a tool's axes, frozen; what is not known counts as the worse.
 *
 * - `readOnlyHint`: access `readonly`, unless the danger is high or more: clients let such calls pass without a question.
 * - `destructiveHint`: false for those, and for tools of danger `safe` or `low` whose arguments cannot raise it.
 * - `idempotentHint`: access `readonly`, or `idempotencyKey`.
 * - `openWorldHint`: false only where side effects are declared that all stay local: none, compute, filesystem (with or
 *   without write), and the category is not network.
 * - `title`: `metadata.title`, where that is a text.
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

/** The axes that hints can tell of. */
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
 * Returns what the hints of a foreign tool mean here, to be laid over the defaults of foreign tools: side effects `network` (and
 * so mixed access, high danger, no cache and no retry), with consent, not parallel, no idempotency key.
 *
 * Hints of a server that is not trusted only tighten: `readOnlyHint: false` and `destructiveHint: true` are believed, and
 * nothing else, since a hostile server claims what gets its tools called unseen. Of a trusted server:
 *
 * | hints | axes |
 * |---|---|
 * | readOnlyHint, and no destructiveHint | readonly, reads an external service, no consent, parallel, repeatable |
 * | destructiveHint: false | write, danger low; consent as by default |
 * | idempotentHint | repeatable |
 * | openWorldHint: false | sends nowhere |
 *
 * A missing hint, or one of a wrong type, means the protocol's default: not read-only, destructive, not idempotent, open.
 * `openWorldHint` is no side effect: a call to a foreign server leaves the machine whatever lies behind that server.
 *
 * @param annotations anything; what is no plain object says nothing.
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
  'priority',
  'accessMode',
  'dangerLevel',
  'executionCategory',
  'costTier',
  'allowParallel',
  'requiresConsent',
  'manual',
  'digest',
] as const;

/** The part of a tool's metadata that other frameworks are given: plain JSON, nothing of providers, auth or free metadata. Under `tooldex` is the tool's own name, which may differ from the one that models are given. */
export type BridgeMetadata = {
  annotations: ToolAnnotations;
  tooldex: Pick<ToolEntry, (typeof SHARED_FIELDS)[number]>;
};

/** Returns the metadata that goes along with a tool to another framework. */
export function metadataOf(entry: ToolEntry): BridgeMetadata {
  const shared = SHARED_FIELDS.filter((field) => entry[field] !== undefined).map((field) => [
    field,
    entry[field],
  ]);
  return {
    annotations: { ...annotationsOf(entry) },
    tooldex: Object.fromEntries(shared) as BridgeMetadata['tooldex'],
  };
}
