import { compareText, digestOf } from '../../core/plain-data.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import { publicMessage } from '../../core/public-message.js';
import type { ToolContext } from '../../tool/metadata/tool-options.js';
import { defineTool, type ToolDefinition } from '../../tool/tool-definition.js';
import type { McpServerSettings, McpSettings } from '../settings/mcp-settings.js';
import { quoted } from '../translate/foreign-text.js';
import { translateListing } from '../translate/translate-listing.js';
import type { McpChange, McpDiscoveryFinding } from './server-status.js';

/** Says whether a definition may be used; `DefinitionPins` is one. */
export interface PinGuard {
  check(server: string, tool: unknown): PinAnswer | Promise<PinAnswer>;
}
type PinAnswer = { readonly ok: true } | { readonly ok: false; readonly reason: string };

interface TableTool {
  readonly definition: ToolDefinition;
  /** Of everything in the definition but its work. */
  readonly digest: string;
}

/** The usable tools of one server, by their names at the server. */
export interface ToolTable {
  readonly tools: ReadonlyMap<string, TableTool>;
  /** Their names at the server, by their names here. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Why tools that are listed may not be called. */
  readonly held: ReadonlyMap<string, string>;
  readonly findings: readonly McpDiscoveryFinding[];
}

export const EMPTY_TABLE: ToolTable = Object.freeze({ tools: new Map(), toolNames: new Map(), held: new Map(), findings: Object.freeze([]) });

export interface TableSources {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly pins: PinGuard | undefined;
  readonly patternEngine?: PatternEngine | undefined;
  /** Calls a tool by its name at the server, as the definition says that is called. */
  readonly call: (toolName: string, input: unknown, context: ToolContext, definition: ToolDefinition) => Promise<unknown>;
}

/** What a listing comes to. A tool that is as it was keeps its definition, so that registries see no change. */
export async function buildTable(listing: readonly unknown[], before: ToolTable, { server, settings, pins, patternEngine, call }: TableSources): Promise<ToolTable> {
  const translated = translateListing(listing, server, settings, patternEngine);
  const tools = new Map<string, TableTool>();
  const held = new Map<string, string>();
  const findings: McpDiscoveryFinding[] = [...translated.findings];
  const find = (kind: 'refused' | 'quarantined', toolName: string, message: string) => findings.push(Object.freeze({ kind, server: server.name, tool: quoted(toolName), message }));
  for (const { toolName, options, raw } of translated.tools) {
    const answer = await askPins(pins, server.name, raw);
    if (!answer.ok) {
      held.set(toolName, answer.reason);
      find('quarantined', toolName, answer.reason);
      continue;
    }
    const digest = digestOf(options);
    const known = before.tools.get(toolName);
    if (known?.digest === digest) {
      tools.set(toolName, known);
      continue;
    }
    try {
      const definition: ToolDefinition = defineTool({ ...options, execute: (input: unknown, context: ToolContext) => call(toolName, input, context, definition) });
      tools.set(toolName, { definition, digest });
    } catch (error) {
      // The settings may contradict themselves, such as readonly access of tools that write.
      find('refused', toolName, publicMessage(error));
    }
  }
  const toolNames = new Map([...tools].map(([toolName, { definition }]) => [definition.name, toolName]));
  return Object.freeze({ tools, toolNames, held, findings: Object.freeze(findings) });
}

/** A guard that breaks lets nothing pass. */
async function askPins(pins: PinGuard | undefined, server: string, raw: unknown): Promise<PinAnswer> {
  if (pins === undefined) return { ok: true };
  try {
    return await pins.check(server, raw);
  } catch (error) {
    return { ok: false, reason: `expected its definition to be checked, found a failure: ${publicMessage(error)}` };
  }
}

/** How a table differs from the one before it; `undefined` when it does not. */
export function changeOf(server: string, before: ToolTable, after: ToolTable): McpChange | undefined {
  const names = (table: ToolTable, only: (toolName: string, tool: TableTool) => boolean) =>
    Object.freeze([...table.tools].filter(([toolName, tool]) => only(toolName, tool)).map(([, { definition }]) => definition.name).sort(compareText));
  const added = names(after, (toolName) => !before.tools.has(toolName));
  const edited = names(after, (toolName, { definition }) => before.tools.has(toolName) && before.tools.get(toolName)!.definition !== definition);
  const removed = names(before, (toolName) => !after.tools.has(toolName));
  return added.length + edited.length + removed.length === 0 ? undefined : { server, added, edited, removed };
}
