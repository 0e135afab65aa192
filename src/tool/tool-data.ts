import { isToolError, issuesOf, ToolError, type Issue } from '../core/errors.js';
import { cloneFrozen, describeValue, isPlainObject, type Json } from '../core/plain-data.js';
import {
  FUNCTION_OPTIONS,
  SCHEMA_OPTIONS,
  type OptionOfKind,
  type SchemaOption,
} from './tool-fields.js';
import { foreignSchemasOf } from './tool-metadata.js';
import type { ToolOptions } from './tool-options.js';
import { expectedGot, formatIssues, invalidArgument, refusal } from '../core/issues.js';
import { foreignSchema, uncheckedPatterns } from '../json-schema/compile-json-schema.js';
import { jsonSchemaOf } from './tool-schema.js';
import { isStandardSchema, type JsonSchema } from './tool-schema.js';
import {
  definitionOf,
  entryOf,
  isToolDefinition,
  type Execute,
  type ToolDefinition,
  type ToolEntry,
} from './tool-definition.js';

const FORMAT = 'tooldex.tool/1';
const FUNCTIONS = ['execute', ...FUNCTION_OPTIONS] as const;
const PARTS = [...FUNCTIONS, ...SCHEMA_OPTIONS] as const;

/** A tool as plain JSON: what its author declared, with schemas as JSON Schema. */
export interface ToolJson extends Omit<ToolOptions, OptionOfKind<'function' | 'input' | 'output'>> {
  readonly format: typeof FORMAT;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  /**
   * The schemas that come from an MCP server. Their patterns are left to the server. Missing if
   * there are none.
   */
  readonly foreignSchemas?: readonly SchemaOption[];
  /**
   * The parts that are code: functions, and schemas that can check more than JSON Schema can
   * express.
   */
  readonly code: readonly (typeof PARTS)[number][];
  /** The digest of the tool's entry. */
  readonly digest: string;
}

/** The code of a stored tool: only its work, all its parts, or the tool as it's defined now. */
export type ToolHandler = Execute<never> | ToolCode | ToolDefinition;

type ToolCode = { readonly execute?: Execute<never> } & Partial<
  Pick<ToolOptions, OptionOfKind<'input' | 'output'>>
> & {
    readonly [Option in OptionOfKind<'function'>]?: (input: never) => unknown;
  };

/** The stored tools that have their code again, and the problems with the others. */
export interface RestoredTools {
  /** The tools that match what was stored and have all their functions. */
  readonly tools: readonly ToolDefinition[];
  /**
   * The tools that lack some of their functions. They're left out, because a tool that lost
   * `dangerFor` would be less careful.
   */
  readonly missing: readonly { readonly name: string; readonly parts: readonly string[] }[];
  /**
   * The tools that no longer match what was stored. `tool` is the current form, in case you accept
   * it.
   */
  readonly changed: readonly {
    readonly name: string;
    readonly tool: ToolDefinition;
    readonly storedDigest: string;
    readonly digest: string;
  }[];
  /**
   * The values that aren't stored tools of this format, by their position in the list, with
   * everything that is wrong.
   */
  readonly refused: readonly { readonly position: number; readonly error: ToolError }[];
  /** The names of the `tools` whose schema was code and is now only JSON Schema. */
  readonly jsonSchemaOnly: readonly string[];
  /** The handlers that don't belong to any tool. */
  readonly unused: readonly string[];
}

/**
 * Returns a tool as plain JSON, without its functions. `toolsFromJson` adds them again.
 *
 * @throws ToolError `NOT_A_TOOL` unless it gets a definition or an entry.
 */
export function toolToJson(tool: ToolDefinition | ToolEntry): ToolJson {
  const definition: unknown = isToolDefinition(tool)
    ? tool
    : isPlainObject(tool)
      ? tool['definition']
      : undefined;
  if (!isToolDefinition(definition))
    throw new ToolError(
      'NOT_A_TOOL',
      `Expected a tool made with defineTool, or an entry of a registry, got ${describeValue(tool)}.`,
    );
  const { inputSchema, outputSchema, ...others } = definition;
  const data = Object.entries(others).filter(([, value]) => typeof value !== 'function');
  const code = PARTS.filter(
    (part) => typeof definition[part] === 'function' || isStandardSchema(definition[part]),
  );
  return Object.freeze({
    format: FORMAT,
    ...(Object.fromEntries(data) as Omit<
      ToolDefinition,
      OptionOfKind<'function' | 'input' | 'output'>
    >),
    inputSchema: jsonSchemaOf(inputSchema, 'input'),
    ...(outputSchema !== undefined && { outputSchema: jsonSchemaOf(outputSchema, 'output') }),
    ...foreignSchemasOf({ inputSchema, outputSchema }),
    code: Object.freeze(code),
    digest: entryOf(definition).digest,
  });
}

/** Returns an entry as plain JSON: schemas as JSON Schema, functions by their option names. */
export function entryToJson(entry: ToolEntry): Record<string, unknown> {
  const {
    definition,
    inputSchema: _schema,
    inputJsonSchema,
    outputSchema: _output,
    ...rest
  } = entry;
  const data = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => typeof value !== 'function'),
  );
  const functions = [
    ...FUNCTION_OPTIONS.filter((option) => entry[option] !== undefined),
    ...(definition.execute === undefined ? [] : ['execute']),
  ];
  const findings = uncheckedPatterns(inputJsonSchema).map(({ path, pattern }) => ({
    rule: 'pattern-unchecked',
    path,
    pattern,
  }));
  return {
    ...data,
    inputSchema: inputJsonSchema,
    functions,
    ...(findings.length > 0 && { findings }),
  };
}

/**
 * Joins stored tools, made by `toolToJson`, with their code.
 *
 * A handler belongs to the tool with that `handlerRef` or that name. A handler is the tool's
 * `execute`, an object with several parts, or the current definition. `manual` tools need no
 * handler. Tools that are incomplete, changed, or wrong are reported and left out of `tools`;
 * nothing is guessed.
 *
 * ```ts
 * import { defineTool, toolsFromJson, toolToJson } from 'tooldex';
 *
 * const add = defineTool({ name: 'add', description: 'Adds', inputSchema: { type: 'object' }, execute: ({ a, b }) => a
 * + b });
 * const stored = JSON.stringify([toolToJson(add)]);
 * toolsFromJson(JSON.parse(stored), { add: ({ a, b }: { a: number; b: number }) => a + b }).tools.length; // → 1
 * toolsFromJson(JSON.parse(stored), {}).missing; // → [{ name: 'add', parts: ['execute'] }]
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` if the stored tools aren't a list, or a handler has a wrong
 * type.
 */
export function toolsFromJson(
  stored: unknown,
  handlers: Readonly<Record<string, ToolHandler>> | ReadonlyMap<string, ToolHandler> = {},
): RestoredTools {
  if (!Array.isArray(stored))
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected stored tools as a list, got ${describeValue(stored)}.`,
    );
  const code = readHandlers(handlers);
  const unused = new Set(code.keys());
  const names = new Set<string>();
  const report = {
    tools: [] as ToolDefinition[],
    missing: [] as RestoredTools['missing'][number][],
    changed: [] as RestoredTools['changed'][number][],
    refused: [] as RestoredTools['refused'][number][],
    jsonSchemaOnly: [] as string[],
  };
  for (const [position, each] of (stored as readonly unknown[]).entries()) {
    const read = readTool(each, names);
    if (read instanceof ToolError) {
      report.refused.push(Object.freeze({ position, error: read }));
      continue;
    }
    const { definition, code: parts, digest: storedDigest } = read;
    const { name, handlerRef } = definition;
    names.add(name);
    const key = handlerRef !== undefined && code.has(handlerRef) ? handlerRef : name;
    const handler = code.get(key);
    unused.delete(key);
    const lacking = FUNCTIONS.filter(
      (part) =>
        handler?.[part] === undefined &&
        (parts.includes(part)
          ? part !== 'execute' || definition.manual !== true
          : part === 'execute' && !answersElsewhere(definition)),
    );
    if (lacking.length > 0) {
      report.missing.push(Object.freeze({ name, parts: Object.freeze(lacking) }));
      continue;
    }
    const tool = isToolDefinition(handler)
      ? handler
      : handler === undefined
        ? definition
        : definitionOf({ ...definition, ...handler } as ToolDefinition);
    const { digest } = entryOf(tool);
    if (digest !== storedDigest)
      report.changed.push(Object.freeze({ name, tool, storedDigest, digest }));
    else {
      report.tools.push(tool);
      if (SCHEMA_OPTIONS.some((part) => parts.includes(part) && !isStandardSchema(tool[part])))
        report.jsonSchemaOnly.push(name);
    }
  }
  for (const list of Object.values(report)) Object.freeze(list);
  return Object.freeze({ ...report, unused: Object.freeze([...unused]) });
}

/** Returns true for a tool whose calls are answered elsewhere. */
function answersElsewhere({ manual, providers = [] }: ToolDefinition): boolean {
  return manual === true || providers.length > 0;
}

interface StoredTool {
  /** The tool without its code. */
  readonly definition: ToolDefinition;
  readonly code: readonly (typeof PARTS)[number][];
  readonly digest: string;
}

/** Returns a stored tool, or an error that names everything wrong with it. */
function readTool(given: unknown, names: ReadonlySet<string>): StoredTool | ToolError {
  if (!isPlainObject(given))
    return refusedTool([
      { path: [], message: expectedGot('a stored tool as an object', describeValue(given)) },
    ]);
  const { format, code, digest, foreignSchemas, ...options } = given;
  // A newer format can give fields another meaning, so no other issue is reported.
  if (format !== FORMAT)
    return refusedTool([
      {
        path: ['format'],
        message: expectedGot(
          JSON.stringify(FORMAT),
          describeValue(format),
          typeof format === 'string' && format.startsWith('tooldex.tool/')
            ? 'Another version of tooldex stored it.'
            : 'Store tools with toolToJson.',
        ),
      },
    ]);
  const issues: Issue[] = [];
  if (!(Array.isArray(code) && code.every((part) => (PARTS as readonly unknown[]).includes(part))))
    issues.push({
      path: ['code'],
      message: expectedGot(`a list of ${PARTS.join(', ')}`, describeValue(code)),
    });
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest))
    issues.push({
      path: ['digest'],
      message: expectedGot('64 hexadecimal digits', describeValue(digest)),
    });
  const foreign: readonly unknown[] = Array.isArray(foreignSchemas) ? foreignSchemas : [];
  if (
    foreignSchemas !== undefined &&
    !(
      Array.isArray(foreignSchemas) &&
      foreign.every((part) => (SCHEMA_OPTIONS as readonly unknown[]).includes(part))
    )
  )
    issues.push({
      path: ['foreignSchemas'],
      message: expectedGot(
        `a list of ${SCHEMA_OPTIONS.join(' and ')}`,
        describeValue(foreignSchemas),
      ),
    });
  if (typeof options['name'] === 'string' && names.has(options['name']))
    issues.push({
      path: ['name'],
      message: expectedGot('a name that no other stored tool has', describeValue(options['name'])),
    });
  for (const part of FUNCTIONS)
    if (Object.hasOwn(options, part))
      issues.push({
        path: [part],
        message: expectedGot('data instead of a function', describeValue(options[part])),
      });
  const data = Object.fromEntries(
    Object.entries(options).filter(([key]) => !(FUNCTIONS as readonly string[]).includes(key)),
  );
  try {
    for (const part of SCHEMA_OPTIONS) {
      if (!Object.hasOwn(data, part)) continue;
      const schema = cloneFrozen(data[part] as Json); // The schema is plain data, so it needs no code.
      data[part] = foreign.includes(part) && isPlainObject(schema) ? foreignSchema(schema) : schema;
    }
    const definition = definitionOf(data as unknown as ToolDefinition);
    if (issues.length === 0)
      return {
        definition,
        code: code as readonly (typeof PARTS)[number][],
        digest: digest as string,
      };
  } catch (error) {
    issues.push(
      ...(isToolError(error)
        ? issuesOf(error)
        : [
            {
              path: ['inputSchema'],
              message: `Expected ${error instanceof Error ? error.message : 'plain data'}.`,
            },
          ]),
    );
  }
  return refusedTool(issues, options['name']);
}

function refusedTool(issues: readonly Issue[], name?: unknown): ToolError {
  const who = typeof name === 'string' ? `The stored tool ${describeValue(name)}` : 'A stored tool';
  return new ToolError('INVALID_METADATA', `${who} is refused:\n  ${formatIssues(issues)}`, {
    details: { issues },
  });
}

/**
 * Returns the handlers by key, each split into its parts. @throws ToolError `INVALID_ARGUMENT`
 * naming every handler of a wrong type.
 */
function readHandlers(handlers: unknown): ReadonlyMap<string, ToolDefinition | ToolCode> {
  const entries: readonly (readonly [unknown, unknown])[] | undefined =
    handlers instanceof Map
      ? [...(handlers as ReadonlyMap<unknown, unknown>)]
      : isPlainObject(handlers)
        ? Object.entries(handlers)
        : undefined;
  if (entries === undefined) throw invalidArgument('handlers as an object or a Map', handlers);
  const issues: Issue[] = [];
  const code = new Map<string, ToolDefinition | ToolCode>();
  for (const [key, handler] of entries) {
    const place = typeof key === 'string' ? [key] : [];
    if (typeof key !== 'string')
      issues.push({ path: place, message: expectedGot('names as keys', describeValue(key)) });
    else if (typeof handler === 'function') code.set(key, { execute: handler as Execute<never> });
    else if (isToolDefinition(handler)) code.set(key, handler);
    else if (isPlainObject(handler)) {
      for (const part of Object.keys(handler))
        if (!(PARTS as readonly string[]).includes(part))
          issues.push({
            path: [...place, part],
            message: expectedGot(`one of ${PARTS.join(', ')}`, describeValue(part)),
          });
      for (const part of FUNCTIONS)
        if (handler[part] !== undefined && typeof handler[part] !== 'function')
          issues.push({
            path: [...place, part],
            message: expectedGot('a function', describeValue(handler[part])),
          });
      code.set(
        key,
        Object.fromEntries(Object.entries(handler).filter(([, part]) => part !== undefined)),
      );
    } else
      issues.push({
        path: place,
        message: expectedGot('a function, its parts or a tool', describeValue(handler)),
      });
  }
  if (issues.length > 0) throw refusal('The handlers are refused', issues);
  return code;
}
