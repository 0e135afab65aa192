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
  readonly settings: Pick<McpSettings, 'allowTools' | 'denyTools'>;
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
 * Builds the table for a listing, in order. An unchanged tool keeps its definition, so registries see
 * no change. An invalid tool is reported and doesn't affect the other tools.
 *
 * If two tools have the same name, the first is used, so that no later tool can take over the calls
 * of an approved tool.
 */
export async function buildTable(
  listing: readonly unknown[],
  before: ToolTable,
  sources: TableSources,
): Promise<ToolTable> {
  const { server, settings, pins, names } = sources;
  const tools = new Map<string, ToolDefinition>();
  const withheld = new Map<string, string>();
  const findings = [...unmatched(server, names)];
  const taken = new Set<string>();
  for (const raw of listing) {
    const translated = translate(raw, sources);
    const { toolName } = translated;
    // A denied tool isn't reported.
    if (toolName !== undefined && !isAllowed(toolName, server, settings)) continue;
    findings.push(...findingsAbout(translated, server.name));
    if ('refused' in translated) continue;
    const { name } = translated;
    const find = (kind: McpFinding['kind'], message: string) =>
      findings.push(findingOf(kind, server.name, message, translated.toolName));
    if (taken.has(name)) {
      find(
        'duplicate',
        `Another tool of this server is already called ${name}, so this one isn't used.`,
      );
      continue;
    }
    taken.add(name);
    const answer = pins && (await askPins(pins, server.name, raw));
    if (answer?.ok === false) {
      withheld.set(translated.toolName, answer.reason);
      find('quarantined', answer.reason);
      continue;
    }
    try {
      tools.set(translated.toolName, define(translated, before, sources));
    } catch (error) {
      // Settings may be contradictory, such as read-only access for a tool that writes.
      find('refused', publicMessage(error));
    }
  }
  return Object.freeze({ tools, withheld, findings: Object.freeze(findings) });
}

function translate(raw: unknown, sources: TableSources): McpTranslation {
  const { server, patternEngine, ownTools, repeatsInHeaders } = sources;
  const isOwn = [...ownTools.values()].some((own) => own.raw === raw);
  const translated = translateMcpTool(raw, isOwn ? withReading(server) : server, patternEngine);
  if ('refused' in translated) return translated;
  const { toolName, texts, options } = translated;
  const refused = repeatsInHeaders ? wrongMirroredHeader(options.inputSchema) : undefined;
  if (refused !== undefined) return { refused, toolName, texts };
  if (!isOwn) return translated;
  // A server can't set this mark on its own tools.
  const offer = { offers: toolName, prefix: prefixOf(server) };
  const mcp = { ...(options.metadata?.['mcp'] as object), ...offer };
  return { ...translated, options: { ...options, metadata: { ...options.metadata, mcp } } };
}

function findingsAbout(translated: McpTranslation, server: string): readonly McpFinding[] {
  const { toolName, texts = [] } = translated;
  const problems = 'refused' in translated ? [translated.refused] : translated.changes;
  const kind = 'refused' in translated ? 'refused' : 'changed';
  return [
    ...texts.map(({ rule, message, path, offset }) => {
      const text = `The tool's text has ${message}. Review the definition before you approve calls.`;
      return findingOf(rule, server, text, toolName, { path, offset });
    }),
    ...problems.map((problem) => findingOf(kind, server, problem, toolName)),
  ];
}

/** @throws ToolError if the options contradict each other. */
function define(
  { toolName, options }: Extract<McpTranslation, { readonly options: unknown }>,
  before: ToolTable,
  { server, call }: TableSources,
): ToolDefinition {
  const digest = digestOf(options);
  const definition: ToolDefinition = defineTool({
    ...options,
    providers: [{ name: 'mcp', config: { server: server.name, tool: toolName, digest } }],
    execute: (input: unknown, context: ToolContext) => call(toolName, input, context, digest),
  });
  served.add(definition);
  const previous = before.tools.get(toolName);
  return previous && entryOf(previous).digest === entryOf(definition).digest
    ? previous
    : definition;
}

/** Definitions created from servers' listings. */
const served = new WeakSet<ToolDefinition>();

/** Returns true for a tool that discovery created and nobody has changed or joined since. */
export function isServed(tool: ToolDefinition): boolean {
  return served.has(tool);
}

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
  const findings: McpFinding[] = [];
  for (const [list, patterns, spellings] of lists)
    for (const pattern of patterns) {
      if (spellings.some((each) => matchesPattern(pattern, each))) continue;
      const [meant] = suggestNames(pattern, own);
      const advice = meant ? ` Did you mean ${quoted(meant)}?` : '';
      const message = `${quoted(pattern)} in "${list}" matches none of the server's tools.${advice}`;
      findings.push(findingOf('settings', server.name, message));
    }
  return findings;
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
  const added: string[] = [];
  const edited: string[] = [];
  const removed: string[] = [];
  for (const [key, tool] of after)
    if (!before.has(key)) added.push(tool.name);
    else if (before.get(key) !== tool) edited.push(tool.name);
  for (const [key, { name }] of before) if (!after.has(key)) removed.push(name);
  for (const names of [added, edited, removed]) names.sort(compareText);
  return added.length + edited.length + removed.length === 0
    ? undefined
    : { server, added, edited, removed };
}
