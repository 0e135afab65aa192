import { suggestNames } from '../../core/issues.js';
import { compareText, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { matchesPattern } from '../../safety/name-pattern.js';
import { defineTool, entryOf, type ToolDefinition } from '../../tool/tool-definition.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import type { ResourceTools } from '../connection/resource-tools.js';
import { withReading } from '../settings/tool-settings.js';
import { findingOf, quoted, type McpFinding } from '../translate/foreign-text.js';
import { isAllowed, prefixOf, spellingsOf } from '../translate/tool-names.js';
import { wrongMirroredHeader } from '../translate/mirrored-headers.js';
import { translateMcpTool, type McpTranslation } from '../translate/translate-mcp-tool.js';
import type { McpChange, PinAnswer, PinGuard } from './discovery-options.js';

/** The tools of one server, created from one listing. */
export interface ToolTable {
  /** The usable tools, by their names at the server. */
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  /** The reasons why listed tools can't be called, by their names at the server. */
  readonly withheld: ReadonlyMap<string, string>;
  readonly findings: readonly McpFinding[];
}

export const EMPTY_TABLE: ToolTable = Object.freeze({
  tools: new Map(),
  withheld: new Map(),
  findings: Object.freeze([]),
});

interface TableSources {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly pins: PinGuard | undefined;
  readonly patternEngine?: PatternEngine | undefined;
  /** The names of all tools that the server lists, including those that the settings exclude. */
  readonly names: Iterable<string>;
  readonly ownTools: ResourceTools;
  /** True if calls repeat arguments in headers, which the 2026 protocol requires over HTTP. */
  readonly repeatsInHeaders: boolean;
  /**
   * Calls a tool by the name it has at the server. `digest` identifies the definition that the
   * caller used.
   */
  readonly call: (
    toolName: string,
    input: unknown,
    context: ToolContext,
    digest: string,
  ) => Promise<unknown>;
}

/**
 * Builds the table for a listing. An unchanged tool keeps its definition, so registries see no
 * change.
 */
export async function buildTable(
  listing: readonly unknown[],
  before: ToolTable,
  { server, settings, pins, patternEngine, call, names, ownTools, repeatsInHeaders }: TableSources,
): Promise<ToolTable> {
  const translated = translateListing(listing, server, settings, patternEngine, ownTools);
  const tools = new Map<string, ToolDefinition>();
  const withheld = new Map<string, string>();
  const findings: McpFinding[] = [...translated.findings, ...unmatched(server, names)];
  for (const { toolName, options, raw } of translated.tools) {
    const find = (kind: McpFinding['kind'], message: string) =>
      findings.push(findingOf(kind, server.name, message, toolName));
    const wrongHeader = repeatsInHeaders ? wrongMirroredHeader(options.inputSchema) : undefined;
    if (wrongHeader !== undefined) {
      find('refused', wrongHeader);
      continue;
    }
    const answer = pins && (await askPins(pins, server.name, raw));
    if (answer?.ok === false) {
      withheld.set(toolName, answer.reason);
      find('quarantined', answer.reason);
      continue;
    }
    try {
      const digest = digestOf(options);
      const known = before.tools.get(toolName);
      const definition: ToolDefinition = defineTool({
        ...options,
        providers: [{ name: 'mcp', config: { server: server.name, tool: toolName, digest } }],
        execute: (input: unknown, context: ToolContext) => call(toolName, input, context, digest),
      });
      served.add(definition);
      tools.set(toolName, known && isSame(known, definition) ? known : definition);
    } catch (error) {
      // Settings may be contradictory, such as read-only access for a tool that writes.
      find('refused', publicMessage(error));
    }
  }
  return Object.freeze({ tools, withheld, findings: Object.freeze(findings) });
}

/** Definitions created from servers' listings. */
const served = new WeakSet<ToolDefinition>();

/** Returns true for a tool that discovery created and nobody has changed or joined since. */
export function isServed(tool: ToolDefinition): boolean {
  return served.has(tool);
}

const isSame = (one: ToolDefinition, other: ToolDefinition) =>
  entryOf(one).digest === entryOf(other).digest;

/**
 * Finds names and patterns in the settings that match none of a server's tools, because a misspelt
 * filter may leave a tool enabled.
 */
function unmatched(server: McpServerSettings, listed: Iterable<string>): readonly McpFinding[] {
  const own = [...listed].map((tool) => tool.trim());
  const full = own.flatMap((tool) => spellingsOf(tool, server));
  const lists = [
    ['tools', server.tools.map(({ pattern }) => pattern), own],
    ['allow_tools', server.allowTools ?? [], full],
    ['deny_tools', server.denyTools, full],
  ] as const;
  return lists.flatMap(([list, patterns, spellings]) =>
    patterns
      .filter((pattern) => !spellings.some((each) => matchesPattern(pattern, each)))
      .map((pattern) => {
        const [meant] = suggestNames(pattern, own);
        const message = `${quoted(pattern)} in "${list}" matches none of the server's tools.${meant ? ` Did you mean ${quoted(meant)}?` : ''}`;
        return findingOf('settings', server.name, message);
      }),
  );
}

/** Checks a definition with the guard. If the guard fails, the tool is withheld. */
async function askPins(guard: PinGuard, server: string, raw: unknown): Promise<PinAnswer> {
  try {
    return await guard.check(server, raw);
  } catch (error) {
    return { ok: false, reason: `Its definition couldn't be checked: ${publicMessage(error)}` };
  }
}

/**
 * Returns the differences between a table and the previous one, or `undefined` if there are none.
 */
export function changeOf(
  server: string,
  { tools: before }: ToolTable,
  { tools: after }: ToolTable,
): McpChange | undefined {
  const names = (tools: readonly (readonly [string, ToolDefinition])[]) =>
    tools.map(([, { name }]) => name).sort(compareText);
  const added = names([...after].filter(([key]) => !before.has(key)));
  const edited = names([...after].filter(([key, tool]) => (before.get(key) ?? tool) !== tool));
  const removed = names([...before].filter(([key]) => !after.has(key)));
  return added.length + edited.length + removed.length === 0
    ? undefined
    : { server, added, edited, removed };
}

/** A usable tool. `raw` is the unchanged definition from the server, and pins cover all of it. */
type TranslatedTool = Extract<McpTranslation, { readonly options: unknown }> & {
  readonly raw: unknown;
};

/**
 * Translates all tools of a listing that the settings allow, in order. An invalid tool is reported
 * and doesn't affect the other tools.
 *
 * If two tools have the same name, the first is used, so that no later tool can take over the calls
 * of an approved tool.
 */
export function translateListing(
  listing: readonly unknown[],
  server: McpServerSettings,
  settings: Pick<McpSettings, 'allowTools' | 'denyTools'>,
  engine?: PatternEngine,
  ownTools?: ResourceTools,
): { readonly tools: readonly TranslatedTool[]; readonly findings: readonly McpFinding[] } {
  const tools = new Map<string, TranslatedTool>();
  const findings: McpFinding[] = [];
  const own = new Set<unknown>([...(ownTools?.values() ?? [])].map(({ raw }) => raw));
  for (const raw of listing) {
    const translated = own.has(raw)
      ? offering(server, translateMcpTool(raw, withReading(server), engine))
      : translateMcpTool(raw, server, engine);
    const { toolName } = translated;
    // A denied tool isn't reported.
    if (toolName !== undefined && !isAllowed(toolName, server, settings)) continue;
    const find = (kind: McpFinding['kind'], message: string) =>
      findings.push(findingOf(kind, server.name, message, toolName));
    for (const { rule, message, path, offset } of translated.texts ?? []) {
      const text = `The tool's text has ${message}. Review the definition before you approve calls.`;
      findings.push(findingOf(rule, server.name, text, toolName, { path, offset }));
    }
    if ('refused' in translated) find('refused', translated.refused);
    else if (tools.has(translated.name))
      find(
        'duplicate',
        `Another tool of this server is already called ${translated.name}, so this one isn't used.`,
      );
    else {
      tools.set(translated.name, Object.freeze({ ...translated, raw }));
      for (const change of translated.changes) find('changed', change);
    }
  }
  return Object.freeze({
    tools: Object.freeze([...tools.values()]),
    findings: Object.freeze(findings),
  });
}

/**
 * Marks a tool of this program that gives access to resources or prompts. A server can't set this
 * mark on its own tools.
 */
function offering(server: McpServerSettings, translated: McpTranslation): McpTranslation {
  if ('refused' in translated) return translated;
  const { metadata } = translated.options;
  const mcp = {
    ...(metadata?.['mcp'] as object),
    offers: translated.toolName,
    prefix: prefixOf(server),
  };
  return {
    ...translated,
    options: { ...translated.options, metadata: { ...metadata, mcp } },
  };
}
