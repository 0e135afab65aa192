import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { allowsPersona } from '../../capability/manifest/persona.js';
import { Priority } from '../../core/enums.js';
import { compareText, isPlainObject } from '../../core/plain-data.js';
import {
  createNameCodec,
  FUNCTION_NAME_RULE,
  type NameCodec,
} from '../../interop/export/name-codec.js';
import { toMcpTools } from '../../interop/export/to-mcp-tools.js';
import { compileFilter, isAvailable, missingScopes } from '../../registry/tool-filter.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { CallContext } from '../../safety/calls.js';
import { createToolSearchTool } from '../../selection/tool-search-tool.js';
import { checkInput } from '../../tool/check-input.js';
import { definitionOf, entryOf, type ToolEntry } from '../../tool/tool-definition.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { errorResult, outputSchemaOf } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';

/** The names of the two tools that give clients access to a large catalogue. */
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';

const caller = entryOf(
  definitionOf({
    name: CALL_TOOL,
    description:
      "Calls a tool by its name. Use it for tools that find_tools has found and that you can't call directly. Read their parameters first, by passing their names to find_tools.",
    inputSchema: z.object({
      name: z.string().describe('The name of a tool, as returned by find_tools'),
      input: z
        .record(z.string(), z.unknown())
        .default({})
        .describe('The arguments of that tool, matching its input schema'),
    }),
  }),
);

type Caller = Pick<CallContext, 'persona' | 'scopes'>;
type Named = { readonly name: string };

/** A registry's tools as a server shows them to a caller. */
export interface ServedTools {
  /**
   * Returns the tool with this name or alias if it's served to the caller, even if it isn't listed.
   */
  get(name: string, by: Caller): ToolEntry | undefined;
  /**
   * Returns the tools for servers' resources or prompts that are served to the caller, or to anyone
   * if you pass no caller.
   */
  offering(offers: string, by?: Caller): readonly ToolEntry[];
  /** Returns the schema of the tool with this name or alias, no matter who may call it. */
  inputSchemaOf(name: string): JsonSchema | undefined;
  /** Returns true if the caller finds tools by search. */
  isSearched(by: Caller): boolean;
  /** Returns the tools listed for the caller, by name. */
  list(by: Caller): Tool[];
  /**
   * Answers a call of `find_tools`. The policy isn't consulted, because the caller could also list
   * these tools.
   */
  find(input: unknown, by: Caller, signal: AbortSignal): Promise<CallToolResult>;
}

/**
 * Returns the tools that a server shows.
 *
 * Small catalogues are listed in full, by name. For larger catalogues, the list contains the tools
 * of priority `critical`, `find_tools` and `call_tool`. Tools with a list of personas are visible
 * only to these personas, and tools with required scopes only to callers with these scopes. Names
 * on the wire are function names (`mcp.files.read` is `mcp__files__read`), unless the option
 * `names` is 'original'. A call may also use the registry's name, or an alias.
 */
export function servedTools(
  registry: ToolMetadataRegistry,
  { filter, names, maxTools }: CheckedServerOptions,
): ServedTools {
  const passes = compileFilter(filter);
  const isServed = (entry: ToolEntry, by: Caller) => passes(entry) && isFor(entry, by);

  /** The codec for all names in one revision of the registry. */
  let known: { readonly revision: number; readonly codec: NameCodec } | undefined;
  const codec = (): NameCodec | undefined => {
    if (names === 'original') return undefined;
    const { revision } = registry;
    if (known?.revision !== revision) {
      const entries = [...registry];
      const codec = createNameCodec(
        entries.map(({ name }) => name),
        FUNCTION_NAME_RULE,
        entries.flatMap(({ aliases }) => aliases),
      );
      known = { revision, codec };
    }
    return known.codec;
  };
  const wireName = (name: string) => codec()?.encode(name) ?? name;
  /** Returns the registry's name for a name on the wire. An unknown name is returned unchanged. */
  const ownName = (name: string) => codec()?.decode(name) ?? name;

  /** Returns a caller's `find_tools`, which finds only the tools served to this caller. */
  const finderFor = (by: Caller) => {
    const exclude = [...registry].filter((entry) => !isFor(entry, by)).map(({ name }) => name);
    return entryOf(createToolSearchTool(registry, { name: FIND_TOOLS, filter, exclude }));
  };

  const toTool = (entry: ToolEntry): Tool => {
    const { outputSchema, ...tool } = toMcpTools([entry.definition], { level: 'full' })[0]!;
    const name = wireName(entry.name);
    return {
      ...tool,
      ...(name !== entry.name && { name, _meta: { ...tool._meta, 'tooldex/name': entry.name } }),
      ...(outputSchema && outputSchemaOf(entry) && { outputSchema }),
    };
  };

  const isSearched = (by: Caller): boolean => {
    let count = 0;
    for (const entry of registry) if (isServed(entry, by) && ++count > maxTools) return true;
    return false;
  };

  return {
    isSearched,
    get(name, by) {
      const entry = registry.get(ownName(name));
      return entry !== undefined && isServed(entry, by) ? entry : undefined;
    },
    offering: (offers, by) =>
      [...registry].filter((entry) => {
        const mcp = entry.metadata?.['mcp'];
        if (!isPlainObject(mcp) || mcp['offers'] !== offers) return false;
        return by === undefined ? passes(entry) : isServed(entry, by) && isAvailable(entry);
      }),
    inputSchemaOf: (name) => registry.get(ownName(name))?.inputJsonSchema,
    list(by) {
      const usable = [...registry].filter((entry) => isServed(entry, by) && isAvailable(entry));
      const isOwn = ({ name }: Named) => name === FIND_TOOLS || name === CALL_TOOL;
      const shown = isSearched(by)
        ? [
            ...[finderFor(by), caller],
            ...usable.filter((each) => each.priority === Priority.CRITICAL && !isOwn(each)),
          ]
        : usable;
      return shown.sort((a, b) => compareText(a.name, b.name)).map(toTool);
    },
    async find(input, by, signal) {
      const finder = finderFor(by);
      const checked = await checkInput(finder, input);
      if (!checked.ok) return errorResult(checked.error.message);
      const asked = checked.value as { readonly names?: readonly string[] };
      const { found, tools, unknown } = (await finder.definition.execute!(
        { ...asked, ...(asked.names && { names: asked.names.map(ownName) }) },
        { signal },
      )) as { found: readonly Named[]; tools: readonly Named[]; unknown: readonly string[] };
      const onWire = (each: Named) => ({ ...each, name: wireName(each.name) });
      const answer = {
        found: found.map(onWire),
        tools: tools.map(onWire),
        unknown: unknown.map(wireName),
      };
      return {
        content: [{ type: 'text', text: JSON.stringify(answer) }],
        structuredContent: answer,
      };
    },
  };
}

/**
 * Returns true for a tool that the caller may know about. Calls of all other tools would be denied.
 */
function isFor(entry: ToolEntry, { persona, scopes = [] }: Caller): boolean {
  return (
    allowsPersona(entry.personaAllowlist, persona) && missingScopes(entry, scopes).length === 0
  );
}
