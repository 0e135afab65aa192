import type { Tool } from '@modelcontextprotocol/server';
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
import type { CallContext } from '../../safety/calls.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { createToolSearchTool } from '../../selection/tool-search-tool.js';
import { definitionOf, entryOf, type ToolEntry } from '../../tool/tool-definition.js';
import type { JsonSchema } from '../../tool/tool-schema.js';
import { outputSchemaOf } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';

/** The names under which a large catalogue is used. */
export const FIND_TOOLS = 'find_tools';
export const CALL_TOOL = 'call_tool';

const CallToolInput = z.object({
  name: z.string().describe('The name of a tool, as find_tools gives it'),
  input: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('The arguments of that tool, as its input schema says'),
});

/** The caller for whom tools are listed. */
type Caller = Pick<CallContext, 'persona' | 'scopes'>;

/** One page of the list of tools. */
interface ToolPage {
  readonly tools: Tool[];
  readonly nextCursor?: string;
}

/**
 * The tools of a registry as one server shows them.
 *
 * Small catalogues are listed whole, by name. Of large ones (`search`) the list holds the critical tools, `find_tools` to
 * find others, what a connection has found so far, and `call_tool` to call any by name: not every client asks for the
 * list again when it has changed, and a client of the 2026 protocol over HTTP has no connection that could remember.
 *
 * A tool with a list of personas exists for these only, and one with required scopes for callers who have them. Names are those of function calls (`mcp.files.read` is
 * `mcp__files__read`), unless `names` is 'original'; a call may also name a tool as the registry does, or by an alias.
 */
export class ServedTools {
  readonly #finder: ToolEntry;
  readonly #caller: ToolEntry;
  readonly #registry: ToolMetadataRegistry;
  readonly #options: CheckedServerOptions;
  readonly #passes: (entry: ToolEntry) => boolean;
  /** The names on the wire, by the registry as it was at a revision. */
  #codec: { readonly revision: number; readonly codec: NameCodec } | undefined;

  constructor(registry: ToolMetadataRegistry, options: CheckedServerOptions) {
    this.#registry = registry;
    this.#options = options;
    this.#passes = compileFilter(options.filter);
    this.#finder = this.#finderWithout([]);
    this.#caller = entryOf(
      definitionOf({
        name: CALL_TOOL,
        description:
          'Calls a tool by its name. Use it for tools that find_tools has found and that you are not offered directly; read their parameters first, with find_tools and the names.',
        inputSchema: CallToolInput,
      }),
    );
  }

  /** Returns a tool that is served to a caller by its name or alias, listed or not. */
  find(name: string, caller: Caller): ToolEntry | undefined {
    const entry = this.#registry.get(this.ownName(name));
    return entry !== undefined && this.#isServed(entry, caller) ? entry : undefined;
  }

  /** Returns the tools of this program that are served to a caller and reach what a server offers beside its tools. */
  offering(offers: string, caller: Caller): readonly ToolEntry[] {
    return [...this.#registry].filter(
      (entry) => doesOffer(entry, offers) && this.#isServed(entry, caller) && isAvailable(entry),
    );
  }

  /** Returns true when there is such a tool for anybody. */
  hasOffering(offers: string): boolean {
    return [...this.#registry].some((entry) => doesOffer(entry, offers) && this.#passes(entry));
  }

  /** Returns the schema of the tool with this name or alias, whoever may call it. */
  inputSchemaOf(name: string): JsonSchema | undefined {
    return this.#registry.get(this.ownName(name))?.inputJsonSchema;
  }

  /** Returns `find_tools` as a caller may use it: it finds what is served to them, and nothing else. */
  finderFor(caller: Caller): ToolEntry {
    const ofOthers = [...this.#registry]
      .filter((entry) => !isFor(entry, caller))
      .map(({ name }) => name);
    return ofOthers.length === 0 ? this.#finder : this.#finderWithout(ofOthers);
  }

  /** Returns true when a caller's tools are found by search now. */
  isSearched(caller: Caller): boolean {
    const { search, maxTools } = this.#options;
    if (search !== 'auto') return search;
    let count = 0;
    for (const entry of this.#registry)
      if (this.#isServed(entry, caller) && ++count > maxTools) return true;
    return false;
  }

  /** Returns a tool's name on the wire. */
  wireName(name: string): string {
    return this.#names?.encode(name) ?? name;
  }

  /** Returns the name for which one on the wire stands; one that was not given out stands for itself. */
  ownName(wireName: string): string {
    return this.#names?.decode(wireName) ?? wireName;
  }

  /**
   * Returns the tools of one page, in the order of their names; a cursor says where the page before has ended, so that tools that
   * come and go in between neither repeat nor hide others.
   *
   * @param found the tools that this connection has found.
   * @returns `undefined` for a cursor that was never given.
   */
  page(
    found: ReadonlySet<string>,
    cursor: string | undefined,
    caller: Caller,
  ): ToolPage | undefined {
    const after = cursor === undefined ? '' : nameIn(cursor);
    if (after === undefined) return undefined;
    const { pageSize } = this.#options;
    const rest = this.#listed(found, caller)
      .filter(({ name }) => compareText(name, after) > 0)
      .sort((a, b) => compareText(a.name, b.name));
    const shown = rest.slice(0, pageSize);
    const tools = shown.map((entry) => this.#toTool(entry));
    // The tools are in the order of their own names; those on the wire may have another.
    return rest.length <= pageSize
      ? { tools }
      : { tools, nextCursor: cursorOf(shown.at(-1)!.name) };
  }

  /** The codec of all names: who asks and what is filtered change no name. `undefined` where names stay as they are. */
  get #names(): NameCodec | undefined {
    if (this.#options.names === 'original') return undefined;
    const { revision } = this.#registry;
    if (this.#codec?.revision !== revision) {
      const entries = [...this.#registry];
      this.#codec = {
        revision,
        codec: createNameCodec(
          entries.map(({ name }) => name),
          FUNCTION_NAME_RULE,
          entries.flatMap(({ aliases }) => aliases),
        ),
      };
    }
    return this.#codec.codec;
  }

  #isServed(entry: ToolEntry, caller: Caller): boolean {
    return this.#passes(entry) && isFor(entry, caller);
  }

  #finderWithout(exclude: readonly string[]): ToolEntry {
    return entryOf(
      createToolSearchTool(this.#registry, {
        name: FIND_TOOLS,
        filter: this.#options.filter,
        exclude,
      }),
    );
  }

  #listed(found: ReadonlySet<string>, caller: Caller): readonly ToolEntry[] {
    const usable = [...this.#registry].filter(
      (entry) => this.#isServed(entry, caller) && isAvailable(entry),
    );
    if (!this.isSearched(caller)) return usable;
    const own = [this.#finder, this.#caller];
    return [
      ...own,
      ...usable.filter(
        ({ name, priority }) =>
          (priority === Priority.CRITICAL || found.has(name)) &&
          !own.some((each) => each.name === name),
      ),
    ];
  }

  #toTool(entry: ToolEntry): Tool {
    const { outputSchema, ...own } = toMcpTools([entry.definition], { level: 'full' })[0]!;
    const name = this.wireName(entry.name);
    const tool =
      name === entry.name
        ? own
        : { ...own, name, _meta: { ...own._meta, 'tooldex/name': entry.name } };
    return outputSchema === undefined || outputSchemaOf(entry) === undefined
      ? tool
      : { ...tool, outputSchema };
  }
}

function doesOffer({ metadata }: ToolEntry, offers: string): boolean {
  const mcp = metadata?.['mcp'];
  return isPlainObject(mcp) && mcp['offers'] === offers;
}

/** Returns true for a tool that a caller may know of; calls of all others would be denied. */
function isFor(entry: ToolEntry, { persona, scopes = [] }: Caller): boolean {
  return (
    allowsPersona(entry.personaAllowlist, persona) && missingScopes(entry, scopes).length === 0
  );
}

const NAME = /^[A-Za-z0-9._-]{1,128}$/;

function cursorOf(name: string): string {
  return Buffer.from(name).toString('base64url');
}

function nameIn(cursor: string): string | undefined {
  const name = Buffer.from(cursor, 'base64url').toString();
  return NAME.test(name) && cursorOf(name) === cursor ? name : undefined;
}
