import type { ToolError } from '../core/errors.js';
import type { ToolResult } from './outcome.js';
import type { InputOf, SchemaInput, ToolSchema } from './tool-schema.js';
import { resolveMetadata, type ResolvedOptions, type ToolMetadata } from './tool-metadata.js';
import type { ToolContext, ToolOptions } from './tool-options.js';

/** A tool's work: from checked input to a plain value or a result of `ok`, `fail`, `askUser` or `halt`. */
export type Execute<In = unknown, Out = unknown, Context = unknown> = (
  input: In,
  context: ToolContext<Context>,
) => Returned<Out> | Promise<Returned<Out>>;

type Returned<Out> = Out | ToolResult<Out>;

/**
 * A tool, checked and frozen: what its author declared, and its work. It is in no registry until it is registered.
 *
 * The context that the work needs (`ToolContext<Context>`) is not part of the type: tools of all kinds share a registry.
 */
export type ToolDefinition<
  In extends ToolSchema = ToolSchema,
  Out extends ToolSchema = ToolSchema,
  Name extends string = string,
  Result = SchemaInput<Out>,
> = ToolOptions<In, Out> & {
  readonly name: Name;
  /** The work; missing for tools that a user or another program answers. */
  readonly execute?: Execute<InputOf<In>, Result>;
};

/** The options of `defineTool`. The output schema stands beside `Result` for what says nothing itself, such as `new Promise`. */
type Definable<
  In extends ToolSchema,
  Out extends ToolSchema,
  Name extends string,
  Result,
  Context,
> = ToolOptions<In, Out, Context> & {
  readonly name: Name;
} & ExecuteOption<Execute<InputOf<In>, Result | SchemaInput<Out>, Context>>;

/** The work of a tool, or what says that it is done elsewhere. */
type ExecuteOption<E> =
  | { readonly execute: E }
  | ({ readonly execute?: E } & (
      | { readonly manual: true }
      | Required<Pick<ToolOptions, 'providers'>>
      | Required<Pick<ToolOptions, 'handlerRef'>>
    ));

/** A tool as registries hold it: its resolved metadata, and the definition it comes from. */
export interface ToolEntry extends ToolMetadata {
  readonly definition: ToolDefinition;
}

/** The key under which a definition keeps its entry; shared between loaded copies of the package. */
const ENTRY = Symbol.for('tooldex/entry/v1'); // The suffix changes with the shape of entries: other shapes are not recognized.

/** Returns true for a value made by `defineTool` or taken from a decorated class. */
export function isToolDefinition(value: unknown): value is ToolDefinition {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (
      Object.hasOwn(value, ENTRY) &&
      (value as Record<typeof ENTRY, unknown>)[ENTRY] instanceof Object
    );
  } catch {
    return false; // A revoked proxy.
  }
}

/** The entry of a definition: always the same object. */
export function entryOf(definition: ToolDefinition): ToolEntry {
  return (definition as unknown as Record<typeof ENTRY, ToolEntry>)[ENTRY];
}

/** Joins checked options and the work they describe. */
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
 * Defines a tool from a function; the type of its input is inferred from the schema. The types ask for `execute`, or for one of
 * `manual`, `providers` and `handlerRef`, which say that the work is done elsewhere.
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
 * @throws ToolError `INVALID_METADATA` naming every wrong field, what is allowed there and what came.
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

/** Defines a tool whose work may be missing: other programs do it, or the code of a stored tool is attached later. @throws ToolError `INVALID_METADATA` as `defineTool`. */
export function definitionOf(
  options: ToolOptions & { readonly execute?: Execute<never> | undefined },
): ToolDefinition {
  const resolved = resolveMetadata(options, ['execute']);
  return createDefinition(resolved, resolved.execute as Execute<never> | undefined);
}

/** Returns the current tool in place of the one by which a call was judged; `undefined` if it is not known. */
type Renewal = (judged: ToolDefinition) => ToolDefinition | undefined;

/** The key under which an error keeps its renewal; shared between loaded copies of the package. */
const RENEWAL = Symbol.for('tooldex/renewal/v1');

/** Adds to the error of a call, of which nothing was sent, how its tool is judged from now on. */
export function withRenewal(error: ToolError, renewal: Renewal): ToolError {
  return Object.defineProperty(error, RENEWAL, { value: renewal });
}

/** Returns the tool in place of the one by which a call was judged, if the call failed because that is outdated. */
export function renewedTool(error: unknown, judged: ToolDefinition): ToolDefinition | undefined {
  try {
    const renewal: unknown =
      error instanceof Object && Object.hasOwn(error, RENEWAL)
        ? (error as { [RENEWAL]?: unknown })[RENEWAL]
        : undefined;
    return typeof renewal === 'function' ? (renewal as Renewal)(judged) : undefined;
  } catch {
    return undefined; // A hostile proxy, or a tool that cannot be defined again.
  }
}
