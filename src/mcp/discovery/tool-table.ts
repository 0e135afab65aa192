import { ToolError } from '../../core/errors.js';
import { expectedGot, suggestNames } from '../../core/issues.js';
import { compareText, digestOf } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import type { PoisonedText } from '../../core/poisoned-text.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { defineTool, type ToolDefinition } from '../../tool/tool-definition.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import type { OfferedTools } from '../connection/offered-tools.js';
import { withReading } from '../settings/tool-settings.js';
import { findingOf, quoted, type McpFinding } from '../translate/foreign-text.js';
import { isAllowed } from '../translate/tool-names.js';
import { translateMcpTool, type McpTranslation } from '../translate/translate-mcp-tool.js';
import type { McpChange, PinAnswer, PinGuard } from './discovery-options.js';

/** The tools of one server after a listing. */
export interface ToolTable {
  /** The usable tools, by their names at the server. */
  readonly tools: ReadonlyMap<string, ToolDefinition>;
  /** The names at the server, by the names here. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** The reasons why tools that are listed may not be called, by their names at the server. */
  readonly withheld: ReadonlyMap<string, string>;
  readonly findings: readonly McpFinding[];
}

export const EMPTY_TABLE: ToolTable = Object.freeze({
  tools: new Map(),
  toolNames: new Map(),
  withheld: new Map(),
  findings: Object.freeze([]),
});

/** A name or pattern in the settings that no tool of a server has matched: misspelt, it leaves open what it was to close. */
export interface UnmatchedName {
  readonly list: 'tools' | 'allow_tools' | 'deny_tools';
  readonly pattern: string;
  /** True for lists for all servers: another may have the tool. */
  readonly isOfAll: boolean;
}

/** The digests of everything in a definition but its work. */
const digests = new WeakMap<ToolDefinition, string>();

interface TableSources {
  readonly server: McpServerSettings;
  readonly settings: McpSettings;
  readonly pins: PinGuard | undefined;
  readonly patternEngine?: PatternEngine | undefined;
  /** The patterns of the settings that no tool matches. */
  readonly unmatched: readonly UnmatchedName[];
  readonly offered: OfferedTools;
  /** Calls a tool by its name at the server, as the definition says that is called. */
  readonly call: (
    toolName: string,
    input: unknown,
    context: ToolContext,
    definition: ToolDefinition,
  ) => Promise<unknown>;
}

/** Makes the table of a listing. A tool that is as it was keeps its definition, so that registries see no change. */
export async function buildTable(
  listing: readonly unknown[],
  before: ToolTable,
  { server, settings, pins, patternEngine, call, unmatched, offered }: TableSources,
): Promise<ToolTable> {
  const translated = translateListing(listing, server, settings, patternEngine, offered);
  const tools = new Map<string, ToolDefinition>();
  const withheld = new Map<string, string>();
  const findings: McpFinding[] = [
    ...translated.findings,
    ...offered.findings,
    ...settingFindings(server.name, translated.tools, unmatched),
  ];
  for (const { toolName, options, raw, unavailable } of translated.tools) {
    if (unavailable !== undefined)
      findings.push(findingOf('unavailable', server.name, unavailable, toolName));
    const answer = await askPins(pins, server.name, raw);
    if (!answer.ok) {
      withheld.set(toolName, answer.reason);
      findings.push(findingOf('quarantined', server.name, answer.reason, toolName));
      continue;
    }
    const digest = digestOf(options);
    const known = before.tools.get(toolName);
    if (known !== undefined && digests.get(known) === digest) {
      tools.set(toolName, known);
      continue;
    }
    try {
      const definition: ToolDefinition = defineTool({
        ...options,
        ...(unavailable !== undefined && { available: () => refused(unavailable) }),
        execute: (input: unknown, context: ToolContext) =>
          call(toolName, input, context, definition),
      });
      digests.set(definition, digest);
      tools.set(toolName, definition);
    } catch (error) {
      // The settings may contradict themselves, such as readonly access of tools that write.
      findings.push(findingOf('refused', server.name, publicMessage(error), toolName));
    }
  }
  const toolNames = new Map([...tools].map(([toolName, { name }]) => [name, toolName]));
  return Object.freeze({ tools, toolNames, withheld, findings: Object.freeze(findings) });
}

const refused = (reason: string): never => {
  throw new ToolError('TOOL_UNAVAILABLE', reason);
};

const EXPECTED_TEXT: Readonly<Record<PoisonedText['rule'], string>> = {
  'hidden-text': 'texts that users see as they are',
  'mixed-alphabets': 'words in one alphabet',
  'instruction-text': 'texts that say what the tool does',
};

/** Names of tools in one finding. */
const MOST_NAMES = 3;

/** Finds settings that do nothing, and those that are not enough for what they seem to say. */
function settingFindings(
  server: string,
  tools: readonly TranslatedTool[],
  unmatched: readonly UnmatchedName[],
): readonly McpFinding[] {
  const open = tools.filter(({ isOpen }) => isOpen).map(({ toolName }) => quoted(toolName));
  const shown =
    open.length > MOST_NAMES
      ? `${open.slice(0, MOST_NAMES).join(', ')} and ${open.length - MOST_NAMES} more`
      : open.join(', ');
  const names = tools.map(({ toolName }) => toolName);
  return [
    ...unmatched
      .filter(({ isOfAll }) => !isOfAll)
      .map(({ list, pattern }) =>
        findingOf(
          'settings',
          server,
          expectedGot(
            `a name or pattern in "${list}" that matches a tool of the server`,
            quoted(pattern),
            didYouMean(pattern, names),
          ),
        ),
      ),
    ...(open.length === 0
      ? []
      : [
          findingOf(
            'settings',
            server,
            expectedGot(
              `the access of ${shown} beside "consent": false`,
              'none, so that they may write and their calls still need approval',
              'Say "access": "readonly" of tools that only read.',
            ),
          ),
        ]),
  ];
}

function didYouMean(name: string, names: readonly string[]): string | undefined {
  const suggestions = suggestNames(name, names).map(quoted);
  return suggestions.length === 0 ? undefined : `Did you mean ${suggestions.join(' or ')}?`;
}

/** Asks the guard; one that breaks lets nothing pass. */
async function askPins(
  pins: PinGuard | undefined,
  server: string,
  raw: unknown,
): Promise<PinAnswer> {
  if (pins === undefined) return { ok: true };
  try {
    return await pins.check(server, raw);
  } catch (error) {
    return {
      ok: false,
      reason: expectedGot('its definition to be checked', 'a failure', publicMessage(error)),
    };
  }
}

/** Returns how a table differs from the one before it; `undefined` when it does not. */
export function changeOf(
  server: string,
  before: ToolTable,
  after: ToolTable,
): McpChange | undefined {
  const names = (table: ToolTable, isOne: (toolName: string, tool: ToolDefinition) => boolean) =>
    Object.freeze(
      [...table.tools]
        .filter(([toolName, tool]) => isOne(toolName, tool))
        .map(([, { name }]) => name)
        .sort(compareText),
    );
  const added = names(after, (toolName) => !before.tools.has(toolName));
  const edited = names(
    after,
    (toolName, tool) => before.tools.has(toolName) && before.tools.get(toolName) !== tool,
  );
  const removed = names(before, (toolName) => !after.tools.has(toolName));
  return added.length + edited.length + removed.length === 0
    ? undefined
    : { server, added, edited, removed };
}

/** A tool that can be used; `raw` is its definition as the server sent it, which pins are about. */
type TranslatedTool = Extract<McpTranslation, { readonly options: unknown }> & {
  readonly raw: unknown;
};

/**
 * Translates all tools of a listing that the settings allow, in its order; what is wrong with one is a finding, and takes no
 * other down.
 *
 * The first of two tools with one name is used: a later one could otherwise take over the calls of a tool that was
 * looked at and approved.
 */
export function translateListing(
  listing: readonly unknown[],
  server: McpServerSettings,
  settings: Pick<McpSettings, 'allowTools' | 'denyTools'>,
  engine?: PatternEngine,
  offered?: OfferedTools,
): { readonly tools: readonly TranslatedTool[]; readonly findings: readonly McpFinding[] } {
  const tools = new Map<string, TranslatedTool>();
  const findings: McpFinding[] = [];
  const own = new Set<unknown>([...(offered?.tools.values() ?? [])].map(({ raw }) => raw));
  for (const raw of listing) {
    const translated = translateMcpTool(raw, own.has(raw) ? withReading(server) : server, engine);
    const { toolName } = translated;
    // Before anything is said of it: what is denied is not told of.
    if (toolName !== undefined && !isAllowed(toolName, server, settings)) continue;
    const find = (kind: McpFinding['kind'], message: string) =>
      findings.push(findingOf(kind, server.name, message, toolName));
    for (const { rule, message, path, offset } of translated.texts ?? [])
      findings.push(
        findingOf(
          rule,
          server.name,
          expectedGot(
            EXPECTED_TEXT[rule],
            message,
            'Read the definition before its calls are approved.',
          ),
          toolName,
          { path, offset },
        ),
      );
    if ('refused' in translated) find('refused', translated.refused);
    else if (tools.has(translated.name))
      find(
        'duplicate',
        expectedGot('every name once', `${translated.name} again`, 'The first is used.'),
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
