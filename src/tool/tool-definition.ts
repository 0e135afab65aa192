import type { ToolError } from '../core/errors.js';
import type { ToolResult } from './outcome.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';
import { resolveMetadata, type ResolvedOptions, type ToolMetadata } from './tool-metadata.js';
import type { ToolContext, ToolOptions } from './tool-options.js';

/**
 * The function that does a tool's work. The function receives the validated input and returns a
 * plain value or a result created by `ok`, `fail`, `askUser`, or `halt`.
 */
export type Execute<In = unknown, Out = unknown, Context = unknown> = (
  input: In,
  context: ToolContext<Context>,
) => Returned<Out> | Promise<Returned<Out>>;

type Returned<Out> = Out | ToolResult<Out>;

declare const CONTEXT: unique symbol;

/**
 * A validated and frozen tool: the options that its author declared, and its `execute` function.
 * The tool isn't in any registry until you register it.
 *
 * `Context` is the type of the context that `execute` needs. `execute` itself doesn't have this type
 * here, because a registry contains tools with different contexts.
 */
export type ToolDefinition<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Name extends string = string,
  Result = SchemaInput<Out>,
  Context = unknown,
> = ToolOptions<In, Out> & {
  readonly name: Name;
  /** Exists only as a type. */
  readonly [CONTEXT]?: Context;
  /**
   * The function that does the work. Missing for tools whose calls are answered by a user or
   * another program.
   */
  readonly execute?: Execute<InputOf<In>, Result>;
};

/**
 * The options of `defineTool`. `execute` may return `Result` or the output schema's type, which
 * gives a type to expressions such as `new Promise`.
 */
type Definable<
  In extends ToolSchema,
  Out extends ToolSchema,
  Name extends string,
  Result,
  Context,
> = ToolOptions<In, Out, Context> & {
  readonly name: Name;
} & ExecuteOption<Execute<InputOf<In>, Result | SchemaInput<Out>, Context>>;

/** A tool's `execute`, or an option that says the work is done elsewhere. */
type ExecuteOption<E> =
  | { readonly execute: E }
  | ({ readonly execute?: E } & (
      | { readonly manual: true }
      | Required<Pick<ToolOptions, 'providers'>>
      | Required<Pick<ToolOptions, 'handlerRef'>>
    ));

/** A tool in a registry: its resolved metadata and its definition. */
export interface ToolEntry extends ToolMetadata {
  readonly definition: ToolDefinition;
}

/**
 * The key under which a definition stores its entry. All loaded copies of the package share this
 * key.
 */
const ENTRY = Symbol.for('tooldex/entry/v1'); // The suffix changes whenever the shape of entries changes, so entries of another shape aren't recognized.

/** Returns true for a value made by `defineTool` or taken from a decorated class. */
export function isToolDefinition(value: unknown): value is ToolDefinition {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, ENTRY);
}

/** Returns a definition's registry entry. Always returns the same object. */
export function entryOf(definition: ToolDefinition): ToolEntry {
  return (definition as unknown as Record<typeof ENTRY, ToolEntry>)[ENTRY];
}

/** Combines validated options and the tool's `execute` into a definition. */
export function createDefinition(
  { declared, metadata }: ResolvedOptions,
  execute: Execute<never> | undefined,
): ToolDefinition {
  const definition = (
    execute === undefined ? { ...declared } : { ...declared, execute }
  ) as ToolDefinition;
  Object.defineProperty(definition, ENTRY, { value: Object.freeze({ ...metadata, definition }) });
  return Object.freeze(definition);
}

/**
 * Defines a tool from a function. The input type is inferred from the schema. The types require
 * either `execute` or one of `manual`, `providers`, and `handlerRef`, which mean that the work is
 * done elsewhere.
 *
 * ```ts
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers',
 *   inputSchema: z.object({ a: z.number(), b: z.number() }),
 *   accessMode: AccessMode.READONLY,
 *   executionCategory: ExecutionCategory.COMPUTE,
 *   execute: ({ a, b }) => a + b,
 * });
 * ```
 *
 * @throws ToolError `INVALID_METADATA` listing every invalid field, its allowed values, and the
 * actual value.
 */
export function defineTool<
  In extends ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Name extends string = string,
  Result extends SchemaInput<Out> = SchemaInput<Out>,
  Context = unknown,
>(
  options: Definable<In, Out, Name, Result, Context>,
): ToolDefinition<In, Out, Name, Result, Context> {
  return definitionOf(options as ToolOptions) as ToolDefinition<In, Out, Name, Result, Context>;
}

/**
 * Defines a tool whose `execute` may be missing, because another program does the work or the code
 * of a stored tool is attached later. @throws ToolError `INVALID_METADATA` like `defineTool`.
 */
export function definitionOf(
  options: ToolOptions & { readonly execute?: Execute<never> | undefined },
): ToolDefinition {
  const resolved = resolveMetadata(options, ['execute']);
  return createDefinition(resolved, resolved.execute as Execute<never> | undefined);
}

/**
 * Returns the current version of the tool for which the call was approved, or `undefined` if the
 * tool no longer exists.
 */
type Renewal = (judged: ToolDefinition) => ToolDefinition | undefined;

/**
 * The key under which an error stores its renewal function. All loaded copies of the package share
 * this key.
 */
const RENEWAL = Symbol.for('tooldex/renewal/v1');

/**
 * Attaches a renewal function to the error of a call that wasn't sent. The function returns the
 * tool's current definition.
 */
export function withRenewal(error: ToolError, renewal: Renewal): ToolError {
  return Object.defineProperty(error, RENEWAL, { value: renewal });
}

/**
 * Returns the current tool if the call failed because the tool's definition had changed since the
 * policy evaluated the call.
 */
export function renewedTool(error: unknown, judged: ToolDefinition): ToolDefinition | undefined {
  return error instanceof Error
    ? (error as { readonly [RENEWAL]?: Renewal })[RENEWAL]?.(judged)
    : undefined;
}
