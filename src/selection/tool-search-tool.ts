import { z } from 'zod';
import {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
  SideEffect,
} from '../core/enums.js';
import { LIMITS } from '../core/limits.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { metadataSchema } from '../tool/metadata-schema.js';
import { checkOptions, once, wholeBetween, type FieldsOf } from '../core/options.js';
import { renderTool } from '../tool/render-tool.js';
import { defineTool, type ToolDefinition, type ToolEntry } from '../tool/tool-definition.js';
import { compilePermission } from './permission.js';
import { requireRegistry, limitsShape, type SelectionLimits } from './selection-request.js';

export interface ToolSearchOptions extends SelectionLimits {
  /** The tool's name. @default 'find_tools' */
  readonly name?: string;
  /**
   * The maximum number of tools in one result. Tools in `include` don't count. @default 10
   */
  readonly maxResults?: number;
  /**
   * The names, aliases or categories of tools that every result contains, because a model should
   * always know of them. @default none
   */
  readonly include?: readonly string[];
}

const DEFAULT_RESULTS = 10;
const optionsSchema = once(() =>
  z.strictObject({
    ...limitsShape(),
    name: metadataSchema().shape.name.default('find_tools'),
    maxResults: wholeBetween(1).default(DEFAULT_RESULTS),
    include: z.array(z.string()).readonly().default([]),
  } satisfies FieldsOf<ToolSearchOptions>),
);

const Input = once(() =>
  z
    .object({
      query: z
        .string()
        .optional()
        .describe(
          "The action and the thing, in the API's own nouns, with several words and synonyms. Not the user's sentence.",
        ),
      names: z
        .array(z.string().max(LIMITS.labelLength))
        .max(20)
        .optional()
        .describe('Names of tools whose full description and parameters you want to see'),
    })
    .refine(
      ({ query = '', names = [] }) => query.trim() !== '' || names.length > 0,
      'Say what you want to do in query, such as "send an email", or pass names of tools.',
    ),
);

/**
 * Creates a tool that lets a model find more tools and read the full schema of any tool. Use this
 * tool if your catalogue is too large for the prompt, or if tools are shown in short form.
 *
 * The tool applies the same limits as a selection: it can't find or describe tools that are
 * excluded, unavailable, or above a limit. The tool reads the registry on every call, so it also
 * finds tools that are registered later.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid or unknown options.
 */
export function createToolSearchTool(
  registry: ToolMetadataRegistry,
  options: ToolSearchOptions = {},
): ToolDefinition<ReturnType<typeof Input>> {
  requireRegistry(registry, 'createToolSearchTool(registry)');
  const { name, maxResults, include, ...limits } = checkOptions(
    optionsSchema,
    options,
    'options of the tool search',
  );
  compilePermission(registry, limits); // Throws for an invalid filter now, rather than when the model calls the tool.

  return defineTool({
    name,
    description:
      'Finds tools for what you want to do, and shows the full description and parameters of tools by name. Use it if no tool you see fits, or before you call a tool that is shown in short form. Translate the request into the words of an API: name the thing and the action with several words, such as "update repository webhook url". If nothing fits, try again with synonyms.',
    inputSchema: Input(),
    priority: Priority.CRITICAL,
    accessMode: AccessMode.READONLY,
    dangerLevel: DangerLevel.SAFE,
    executionCategory: ExecutionCategory.COMPUTE,
    costTier: CostTier.FREE,
    sideEffects: SideEffect.NONE,
    category: 'tools',
    metadata: { toolSearch: true }, // Chats recognize the tool by this mark, whatever its name.
    keywords: ['find tool', 'which tool', 'tool help'],
    examples: ['Is there a tool that converts images?', 'How do I call the tool git_log?'],
    execute: ({ query, names = [] }) => {
      // The limits are compiled for each call, because an excluded alias can belong to a tool
      // registered later.
      const refusalOf = compilePermission(registry, limits);
      const isOffered = (entry: ToolEntry) => entry.name !== name && refusalOf(entry) === undefined;
      const always = [...includedTools(registry, include)].filter(isOffered);
      const found =
        query === undefined
          ? []
          : registry.search(query, {
              limit: maxResults,
              filter: (entry) => isOffered(entry) && !always.includes(entry),
            });
      const entries = names.map((asked) => ({ asked, entry: registry.get(asked) }));
      const shown = entries.flatMap(({ entry }) =>
        entry !== undefined && isOffered(entry) ? [entry] : [],
      );
      return {
        found: [
          ...(query === undefined ? [] : always).map((entry) => ({
            ...withoutSchema(renderTool(entry, 'stub')),
            why: 'always shown',
          })),
          ...found.map(({ toolName, explanation }) => ({
            ...withoutSchema(renderTool(registry.require(toolName), 'stub')),
            why: explanation,
          })),
        ],
        tools: [...new Set(shown)].map((entry) => renderTool(entry, 'full')),
        // Reports forbidden tools as unknown, because the model can't use them anyway.
        unknown: [
          ...new Set(
            entries.flatMap(({ asked, entry }) =>
              entry !== undefined && shown.includes(entry) ? [] : [asked],
            ),
          ),
        ],
      };
    },
  });
}

/** Returns the tools with these names or aliases, and those in these categories. */
export function includedTools(
  registry: ToolMetadataRegistry,
  include: readonly string[],
): ReadonlySet<ToolEntry> {
  return new Set(
    include.flatMap((each) => [
      ...(registry.get(each) === undefined
        ? registry.getByCategory(each)
        : [registry.require(each)]),
    ]),
  );
}

function withoutSchema({
  name,
  description,
}: {
  readonly name: string;
  readonly description: string;
}): { name: string; description: string } {
  return { name, description };
}
