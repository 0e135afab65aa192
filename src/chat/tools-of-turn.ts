import { ToolError } from '../core/errors.js';
import { describeValue, isPlainObject, without } from '../core/plain-data.js';
import { ToolExecutor } from '../execution/tool-executor.js';
import { isAvailable } from '../registry/tool-filter.js';
import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { compilePermission } from '../selection/permission.js';
import { selectTools } from '../selection/select-tools.js';
import type { SelectionLimits, SelectionRequest } from '../selection/selection-request.js';
import type { Selection } from '../selection/selection.js';
import { createToolSearchTool } from '../selection/tool-search-tool.js';
import {
  highestLevel,
  renderTool,
  type RenderedTool,
  type SchemaLevel,
} from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatState } from './chat-state.js';
import type { ChatMessage } from './thread.js';

/** The tools that a model sees in one turn. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** The tool that the model must call. */
  readonly forced?: string;
}

interface OfferedTool {
  readonly toolName: string;
  readonly level: SchemaLevel;
  readonly rendered: RenderedTool;
}

/**
 * Chooses the tools of each turn. A tool that was offered keeps its place and its bytes, so that
 * prompts stay cached.
 */
export class ToolOffers {
  readonly #engine: CheckedEngine;
  /**
   * The tool that the chat adds to find other tools, if any, and the executor that runs this tool.
   */
  readonly #search: { readonly entry: ToolEntry; readonly executor: ToolExecutor } | undefined;
  /**
   * Tools that a search found in this run or an earlier run. The model sees found tools in every
   * later turn.
   */
  readonly #found = new Set<string>();
  #hasOffered = false;

  /** @throws ToolError `DUPLICATE_TOOL` if another tool has the search tool's name. */
  constructor(engine: CheckedEngine) {
    this.#engine = engine;
    const { registry, selectTools: select } = engine;
    const {
      toolSearch = typeof select === 'object' ||
        (select === undefined && [...registry].some(({ compact }) => compact)),
    } = engine;
    if (!toolSearch || [...registry].some(isSearch)) return;
    const tool = createToolSearchTool(registry, limitsOf(select));
    if (registry.has(tool.name))
      throw new ToolError(
        'DUPLICATE_TOOL',
        `The chat adds a tool named ${tool.name} that explains other tools, and one of your tools already has this name. Rename your tool, or set toolSearch: false.`,
      );
    const own = new ToolMetadataRegistry();
    const [entry] = own.register(tool);
    const executor = new ToolExecutor({ registry: own, maxRepeats: Number.MAX_SAFE_INTEGER });
    this.#search = { entry: entry!, executor };
  }

  /** Returns the executor that runs a tool's calls. */
  executorOf(toolName: string): ToolExecutor {
    return this.#search?.entry.name === toolName ? this.#search.executor : this.#engine.executor;
  }

  /** Returns the names of all tools that can be called, shown or not. */
  names(): readonly string[] {
    const names = [...this.#engine.registry].map(({ name }) => name);
    return this.#search === undefined ? names : [...names, this.#search.entry.name];
  }

  /**
   * Returns true if the model may call a tool. A registered tool that wasn't selected can't be
   * called.
   */
  has(toolName: string, { offered }: ChatState): boolean {
    const entry = this.#engine.registry.get(toolName);
    if (this.#engine.selectTools === undefined || entry === undefined) return true;
    if (!this.#hasOffered && offered.length === 0) return true; // The thread doesn't come from this chat.
    return offered.some((tool) => tool.toolName === entry.name);
  }

  /** Remembers the tools that a search found. */
  noteFound(toolName: string, value: unknown): void {
    const entry = this.#engine.registry.get(toolName);
    if (this.#search?.entry.name !== toolName && !(entry && isSearch(entry))) return;
    if (!isPlainObject(value)) return;
    for (const each of [value['found'], value['tools']].flat() as readonly unknown[])
      if (isPlainObject(each) && typeof each['name'] === 'string') this.#found.add(each['name']);
  }

  /**
   * Returns the tools for the next turn: the search tool, the tools shown before, the selected
   * tools, and the tools that a search found. Limits apply to all these tools, but budgets only to
   * the selection.
   */
  async next(state: ChatState, index: number): Promise<Offer> {
    for (const message of state.messages)
      if (message.role === 'tool')
        for (const { toolName, output } of message.content)
          if (output.type === 'json') this.noteFound(toolName, output.value);
    const { registry, selectTools: select } = this.#engine;
    const isAllowed = typeof select === 'object' ? permissionOf(registry, select) : isAvailable;
    const before = this.#shownBefore(state, isAllowed);
    const chosen = await this.#choose(state, index, before, isAllowed);
    const tools = new Map<string, OfferedTool>();
    if (this.#search !== undefined) add(tools, shown(this.#search.entry, 'full'));
    for (const tool of chosen) add(tools, tool);
    for (const name of this.#found) {
      const entry = registry.get(name);
      if (entry !== undefined && isAllowed(entry)) add(tools, shown(entry));
    }
    this.#hasOffered = true;
    const forced = this.#force(tools);
    return { tools: [...tools.values()], ...without({ forced }) };
  }

  /** Returns the tools of earlier turns that are still allowed. */
  #shownBefore({ offered }: ChatState, isAllowed: Allows): readonly OfferedTool[] {
    const tools: OfferedTool[] = [];
    for (const { toolName, level } of offered) {
      const entry = this.#engine.registry.get(toolName);
      if (entry?.name === toolName && isAllowed(entry)) tools.push(shown(entry, level));
    }
    return tools;
  }

  /** Returns the name of the tool that the model must call, and shows its full definition. */
  #force(tools: Map<string, OfferedTool>): string | undefined {
    const { registry, toolChoice } = this.#engine;
    if (typeof toolChoice === 'string') return undefined;
    const entry = registry.get(toolChoice.toolName);
    if (entry !== undefined) tools.set(entry.name, shown(entry, 'full'));
    else if (!tools.has(toolChoice.toolName))
      throw new ToolError(
        'TOOL_NOT_FOUND',
        `There is no tool ${describeValue(toolChoice.toolName)}. Use the name of a registered tool in toolChoice.`,
      );
    return entry?.name ?? toolChoice.toolName;
  }

  async #choose(
    { offered, messages }: ChatState,
    index: number,
    before: readonly OfferedTool[],
    isAllowed: Allows,
  ): Promise<readonly OfferedTool[]> {
    const { registry, selectTools: select } = this.#engine;
    const text = lastRequest(messages);
    if (select === undefined)
      return [...before, ...[...registry].filter(isAllowed).map((entry) => shown(entry))];
    if (typeof select === 'function') {
      const previous = asSelection(offered);
      return (await select({ index, text, messages, previous })).tools;
    }
    const previous = without({ previous: asSelection(before) });
    const { tools, error } = selectTools(registry, { ...select, text, ...previous });
    if (error !== undefined && before.length === 0) throw error;
    // Omits tools that only fill the remaining space, because they would keep their place for the
    // whole thread.
    return [
      ...before,
      ...tools.filter(({ reason }) => reason !== 'high_priority' && reason !== 'weak_match'),
    ];
  }
}

type Allows = (entry: ToolEntry) => boolean;

/** Returns the tools of earlier turns in the form of a selection, or `undefined` if there are none. */
function asSelection(tools: readonly object[]): Selection | undefined {
  return tools.length === 0 ? undefined : ({ tools } as unknown as Selection);
}

function add(tools: Map<string, OfferedTool>, tool: OfferedTool): void {
  if (!tools.has(tool.toolName)) tools.set(tool.toolName, tool);
}

function isSearch({ metadata }: ToolEntry): boolean {
  return metadata?.['toolSearch'] === true;
}

function shown(entry: ToolEntry, level: SchemaLevel = highestLevel(entry)): OfferedTool {
  return { toolName: entry.name, level, rendered: renderTool(entry, level) };
}

function permissionOf(
  registry: ToolMetadataRegistry,
  select: Omit<SelectionRequest, 'text' | 'previous'>,
): Allows {
  const refusalOf = compilePermission(registry, limitsOf(select));
  return (entry) => refusalOf(entry) === undefined;
}

/** Returns the text of the user's last message. */
function lastRequest(messages: readonly ChatMessage[]): string {
  const { content = '' } = messages.findLast(({ role }) => role === 'user') ?? {};
  if (typeof content === 'string') return content;
  return content.map((part) => ('text' in part ? String(part.text) : '')).join(' ');
}

function limitsOf(select: CheckedEngine['selectTools']): SelectionLimits {
  if (typeof select !== 'object') return {};
  const { exclude, maxDanger, maxCostTier, accessModes, filter } = select;
  return without({ exclude, maxDanger, maxCostTier, accessModes, filter });
}
