import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { allowsPersona } from '../../core/persona.js';
import { Priority } from '../../core/enums.js';
import { once } from '../../core/options.js';
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
import { createToolSearchTool, includedTools } from '../../selection/tool-search-tool.js';
import { checkInput } from '../../tool/check-input.js';
import { definitionOf, entryOf, type ToolEntry } from '../../tool/tool-definition.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { errorResult, outputSchemaOf } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';

/** The names of the two tools that give clients access to a large catalogue. */
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';

const caller = once(() =>
  entryOf(
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
  ),
);

type Caller = Pick<CallContext, 'persona' | 'scopes'>;
type Named = { readonly name: string };

/**
 * A registry's tools as a server shows them to a caller.
 *
 * Small catalogues are listed in full, by name. For larger catalogues, the list contains the tools
 * of priority `critical` and those that the option `include` names, `find_tools` and `call_tool`.
 * Tools with a list of personas are visible only to these personas, and tools with required scopes
 * only to callers with these scopes. Names on the wire are function names (`mcp.files.read` is
 * `mcp__files__read`), unless the option `names` is 'original'. A call may also use the registry's
 * name, or an alias.
 */
export class ServedTools {
  readonly #passes: (entry: ToolEntry) => boolean;
  /** The codec for all names in one revision of the registry. */
  #cachedCodec: { readonly revision: number; readonly codec: NameCodec } | undefined;

  constructor(
    readonly registry: ToolMetadataRegistry,
    readonly options: CheckedServerOptions,
  ) {
    this.#passes = compileFilter(options.filter);
  }

  /**
   * Returns the tool with this name or alias if it's served to the caller, even if it isn't listed.
   */
  get(name: string, by: Caller): ToolEntry | undefined {
    const entry = this.registry.get(this.#ownName(name));
    return entry !== undefined && this.#isServed(entry, by) ? entry : undefined;
  }

  /**
   * Returns the tools for servers' resources or prompts that are served to the caller, or to anyone
   * if you pass no caller.
   */
  offering(offers: string, by?: Caller): readonly ToolEntry[] {
    return [...this.registry].filter((entry) => {
      const mcp = entry.metadata?.['mcp'];
      if (!isPlainObject(mcp) || mcp['offers'] !== offers) return false;
      return by === undefined
        ? this.#passes(entry)
        : this.#isServed(entry, by) && isAvailable(entry);
    });
  }

  /** Returns the schema of the tool with this name or alias, no matter who may call it. */
  inputSchemaOf(name: string): JsonSchema | undefined {
    return this.registry.get(this.#ownName(name))?.inputJsonSchema;
  }

  /** Returns true if the caller finds tools by search. */
  isSearched(by: Caller): boolean {
    let count = 0;
    for (const entry of this.registry)
      if (this.#isServed(entry, by) && ++count > this.options.maxTools) return true;
    return false;
  }

  /** Returns the tools listed for the caller, by name. */
  list(by: Caller): Tool[] {
    const usable = [...this.registry].filter(
      (entry) => this.#isServed(entry, by) && isAvailable(entry),
    );
    const shown = this.isSearched(by) ? this.#alwaysShown(usable, by) : usable;
    return shown.sort((a, b) => compareText(a.name, b.name)).map((entry) => this.#toTool(entry));
  }

  /**
   * Answers a call of `find_tools`. The policy isn't consulted, because the caller could also list
   * these tools.
   */
  async find(input: unknown, by: Caller, signal: AbortSignal): Promise<CallToolResult> {
    const finder = this.#finderFor(by);
    const checked = await checkInput(finder, input);
    if (!checked.ok) return errorResult(checked.error.message);
    const asked = checked.value as { readonly names?: readonly string[] };
    const { found, tools, unknown } = (await finder.definition.execute!(
      { ...asked, ...(asked.names && { names: asked.names.map((name) => this.#ownName(name)) }) },
      { signal },
    )) as { found: readonly Named[]; tools: readonly Named[]; unknown: readonly string[] };
    const onWire = (each: Named) => ({ ...each, name: this.#wireName(each.name) });
    const answer = {
      found: found.map(onWire),
      tools: tools.map(onWire),
      unknown: unknown.map((name) => this.#wireName(name)),
    };
    return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
  }

  #alwaysShown(usable: readonly ToolEntry[], by: Caller): ToolEntry[] {
    const included = includedTools(this.registry, this.options.include);
    const isShown = (entry: ToolEntry) =>
      (entry.priority === Priority.CRITICAL || included.has(entry)) &&
      entry.name !== FIND_TOOLS &&
      entry.name !== CALL_TOOL;
    return [this.#finderFor(by), caller(), ...usable.filter(isShown)];
  }

  #isServed(entry: ToolEntry, by: Caller): boolean {
    return this.#passes(entry) && isFor(entry, by);
  }

  #codec(): NameCodec | undefined {
    if (this.options.names === 'original') return undefined;
    const { revision } = this.registry;
    if (this.#cachedCodec?.revision !== revision) {
      const entries = [...this.registry];
      const codec = createNameCodec(
        entries.map(({ name }) => name),
        FUNCTION_NAME_RULE,
        entries.flatMap(({ aliases }) => aliases),
      );
      this.#cachedCodec = { revision, codec };
    }
    return this.#cachedCodec.codec;
  }

  #wireName(name: string): string {
    return this.#codec()?.encode(name) ?? name;
  }

  /** Returns the registry's name for a name on the wire. An unknown name is returned unchanged. */
  #ownName(name: string): string {
    return this.#codec()?.decode(name) ?? name;
  }

  /** Returns a caller's `find_tools`, which finds only the tools served to this caller. */
  #finderFor(by: Caller): ToolEntry {
    const { filter, maxResults, include } = this.options;
    const exclude = [...this.registry].filter((entry) => !isFor(entry, by)).map(({ name }) => name);
    const options = { name: FIND_TOOLS, filter, exclude, include, maxResults };
    return entryOf(createToolSearchTool(this.registry, options));
  }

  #toTool(entry: ToolEntry): Tool {
    const { outputSchema, ...tool } = toMcpTools([entry.definition], { level: 'full' })[0]!;
    const name = this.#wireName(entry.name);
    return {
      ...tool,
      ...(name !== entry.name && { name, _meta: { ...tool._meta, 'tooldex/name': entry.name } }),
      ...(outputSchema && outputSchemaOf(entry) && { outputSchema }),
    };
  }
}

/**
 * Returns true for a tool that the caller may know about. Calls of all other tools would be denied.
 */
function isFor(entry: ToolEntry, { persona, scopes = [] }: Caller): boolean {
  return (
    allowsPersona(entry.personaAllowlist, persona) && missingScopes(entry, scopes).length === 0
  );
}

/** Returns the name of the server behind a tool, or '' if there is none or it has no name. */
export function serverOf({ providers }: ToolEntry): string {
  const server = providers[0]?.config?.['server'];
  return typeof server === 'string' ? server : '';
}
