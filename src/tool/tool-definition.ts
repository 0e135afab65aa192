import type { ToolError } from '../core/errors.js';
import type { ToolResult } from './outcome.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';
import { resolveMetadata, type ResolvedOptions, type ToolMetadata } from './tool-metadata.js';
import type { ToolContext, ToolOptions } from './tool-options.js';

/**
 * A tool's work. It takes the checked input and returns a plain value or a result of `ok`, `fail`,
 * `askUser`, or `halt`.
 */
export type Execute<In = unknown, Out = unknown, Context = unknown> = (
  input: In,
  context: ToolContext<Context>,
) => Returned<Out> | Promise<Returned<Out>>;

type Returned<Out> = Out | ToolResult<Out>;

/**
 * A checked and frozen tool: what its author declared, and its work. It isn't in any registry until
 * you register it.
 *
 * The context that the work needs (`ToolContext<Context>`) isn't part of the type, because tools of
 * all kinds share a registry.
 */
export type ToolDefinition<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Name extends string = string,
  Result = SchemaInput<Out>,
> = ToolOptions<In, Out> & {
  readonly name: Name;
  /** The work. Missing for tools that a user or another program answers. */
  readonly execute?: Execute<InputOf<In>, Result>;
};

/**
 * The options of `defineTool`. The output schema appears next to `Result` for expressions whose
 * type can't be inferred, such as `new Promise`.
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

/** A tool's work, or an option saying that the work is done elsewhere. */
type ExecuteOption<E> =
  | { readonly execute: E }
  | ({ readonly execute?: E } & (
      | { readonly manual: true }
      | Required<Pick<ToolOptions, 'providers'>>
      | Required<Pick<ToolOptions, 'handlerRef'>>
    ));

/** A tool in a registry: its resolved metadata, and the definition that it comes from. */
export interface ToolEntry extends ToolMetadata {
  readonly definition: ToolDefinition;
}

/** The key under which a definition keeps its entry. Loaded copies of the package share it. */
const ENTRY = Symbol.for('tooldex/entry/v1'); // The suffix changes with the shape of entries, so entries of another shape aren't recognized.

/** Returns true for a value made by `defineTool` or taken from a decorated class. */
export function isToolDefinition(value: unknown): value is ToolDefinition {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (
      Object.hasOwn(value, ENTRY) &&
      (value as Record<typeof ENTRY, unknown>)[ENTRY] instanceof Object
    );
  } catch {
    return false; // The value is a revoked proxy.
  }
}

/** Returns the entry of a definition, always the same object. */
export function entryOf(definition: ToolDefinition): ToolEntry {
  return (definition as unknown as Record<typeof ENTRY, ToolEntry>)[ENTRY];
}

/** Combines checked options with the work that they describe. */
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
 * Defines a tool from a function. The type of its input is inferred from the schema. The types
 * require `execute`, or `manual`, `providers`, or `handlerRef`, which say that the work is done
 * elsewhere.
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
 * @throws ToolError `INVALID_METADATA` naming every wrong field, what it allows, and what came.
 */
export function defineTool<
  In extends ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Name extends string = string,
  Result extends SchemaInput<Out> = SchemaInput<Out>,
  Context = unknown,
>(options: Definable<In, Out, Name, Result, Context>): ToolDefinition<In, Out, Name, Result> {
  return definitionOf(options as ToolOptions) as ToolDefinition<In, Out, Name, Result>;
}

/**
 * Defines a tool that can lack its work: another program does it, or the code of a stored tool is
 * attached later. @throws ToolError `INVALID_METADATA` like `defineTool`.
 */
export function definitionOf(
  options: ToolOptions & { readonly execute?: Execute<never> | undefined },
): ToolDefinition {
  const resolved = resolveMetadata(options, ['execute']);
  return createDefinition(resolved, resolved.execute as Execute<never> | undefined);
}

/**
 * Returns the current tool in place of the tool that the call was judged by, or `undefined` if
 * there is none.
 */
type Renewal = (judged: ToolDefinition) => ToolDefinition | undefined;

/** The key under which an error keeps its renewal. Loaded copies of the package share it. */
const RENEWAL = Symbol.for('tooldex/renewal/v1');

/** Adds the current definition of a tool to the error of a call that wasn't sent. */
export function withRenewal(error: ToolError, renewal: Renewal): ToolError {
  return Object.defineProperty(error, RENEWAL, { value: renewal });
}

/** Returns the current tool if the call failed because the tool it was judged by is out of date. */
export function renewedTool(error: unknown, judged: ToolDefinition): ToolDefinition | undefined {
  try {
    const renewal: unknown =
      error instanceof Object && Object.hasOwn(error, RENEWAL)
        ? (error as { [RENEWAL]?: unknown })[RENEWAL]
        : undefined;
    return typeof renewal === 'function' ? (renewal as Renewal)(judged) : undefined;
  } catch {
    return undefined; // The error is a hostile proxy, or the tool can't be defined again.
  }
}
