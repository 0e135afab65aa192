import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { describeValue, isPlainObject } from '../core/plain-data.js';
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
import type { CheckedEngine, SelectTools } from './chat-engine.js';
import type { ChatState } from './chat-state.js';
import type { ChatMessage } from './thread.js';

/** The tools that a model is shown in one turn. */
export interface Offer {
  readonly tools: readonly OfferedTool[];
  /** The tool that the model must call. */
  readonly forced?: string;
}

type OfferedTool = {
  readonly toolName: string;
  readonly level: SchemaLevel;
  readonly rendered: RenderedTool;
};

/** Chooses the tools of each turn, so that what was offered once stays, in its place and with its bytes: prompts stay cached. */
export class ToolOffers {
  readonly #engine: CheckedEngine;
  /** The tool that finds others, when the user's registry has none; run apart from the user's tools. */
  readonly #search: { readonly name: string; readonly executor: ToolExecutor } | undefined;
  /** Tools that the search named in this run or before; the model may call them, so it is shown them from then on. */
  readonly #found = new Set<string>();
  #hasOffered = false;

  /** @throws ToolError `DUPLICATE_TOOL` when another tool has the name of the tool that explains those shown in short. */
  constructor(engine: CheckedEngine) {
    this.#engine = engine;
    const {
      registry,
      toolSearch = typeof engine.selectTools === 'object' ||
        (engine.selectTools === undefined && [...registry].some(({ compact }) => compact)),
    } = engine;
    if (!toolSearch || [...registry].some(({ metadata }) => metadata?.['toolSearch'] === true))
      return;
    const tool = createToolSearchTool(registry, limitsOf(engine.selectTools));
    if (registry.has(tool.name))
      throw new ToolError(
        'DUPLICATE_TOOL',
        expectedGot(
          `no tool called ${tool.name}`,
          'one',
          'The chat adds a tool of this name that explains tools shown in short: rename yours, or set toolSearch: false.',
        ),
      );
    const own = new ToolMetadataRegistry();
    own.register(tool);
    this.#search = {
      name: tool.name,
      executor: new ToolExecutor({ registry: own, maxRepeats: Number.MAX_SAFE_INTEGER }),
    };
  }

  /** Returns the executor that runs the calls of a tool. */
  executorOf(toolName: string): ToolExecutor {
    return this.#search?.name === toolName ? this.#search.executor : this.#engine.executor;
  }

  /** Returns the names of all tools that can be called, shown or not. */
  names(): readonly string[] {
    const names = [...this.#engine.registry].map(({ name }) => name);
    return this.#search === undefined ? names : [...names, this.#search.name];
  }

  /** Returns true if the model was shown a tool that there is: what was not selected for it, it may not call. */
  wasOffered(toolName: string, { offered }: ChatState): boolean {
    const entry = this.#engine.registry.get(toolName);
    if (this.#engine.selectTools === undefined || entry === undefined) return true;
    if (!this.#hasOffered && offered.length === 0) return true; // The thread comes from elsewhere.
    return offered.some((tool) => tool.toolName === entry.name);
  }

  /** Remembers which tools an answer of the search named. */
  noteFound(toolName: string, value: unknown): void {
    const isSearch =
      this.#search?.name === toolName ||
      this.#engine.registry.get(toolName)?.metadata?.['toolSearch'] === true;
    if (!isSearch || !isPlainObject(value)) return;
    for (const list of [value['found'], value['tools']]) {
      for (const each of Array.isArray(list) ? (list as readonly unknown[]) : [])
        if (isPlainObject(each) && typeof each['name'] === 'string') this.#found.add(each['name']);
    }
  }

  /** Returns the tools of the next turn. */
  async next(state: ChatState, index: number): Promise<Offer> {
    const { registry, selectTools: select, toolChoice } = this.#engine;
    const { messages } = state;
    for (const message of messages)
      if (message.role === 'tool')
        for (const { toolName, output } of message.content)
          if (output.type === 'json') this.noteFound(toolName, output.value);
    const chosen =
      select === undefined
        ? this.#everything(state)
        : typeof select === 'function'
          ? await this.#asSaid(select, state, index)
          : this.#select(select, state);
    this.#hasOffered = true;
    // The search comes first: behind it the list can grow, and stays the beginning of the next.
    const search = this.#search && [...this.#search.executor.registry][0]!;
    const tools = search === undefined ? chosen : [shown(search, 'full'), ...chosen];
    if (typeof toolChoice === 'string') return { tools };
    if (toolChoice.toolName === search?.name) return { tools, forced: search.name };
    const entry = registry.get(toolChoice.toolName);
    if (entry === undefined)
      throw new ToolError(
        'TOOL_NOT_FOUND',
        expectedGot('toolChoice to name a known tool', describeValue(toolChoice.toolName)),
      );
    // A tool that must be called must be understood without a question.
    const full = shown(entry, 'full');
    return {
      tools: tools.some(({ toolName }) => toolName === entry.name)
        ? tools.map((tool) => (tool.toolName === entry.name ? full : tool))
        : [...tools, full],
      forced: entry.name,
    };
  }

  /** Asks the user's own function; tools that the model searched for come after its selection. */
  async #asSaid(
    select: SelectTools,
    { offered, messages }: ChatState,
    index: number,
  ): Promise<readonly OfferedTool[]> {
    const previous =
      offered.length === 0 ? undefined : ({ tools: offered } as unknown as Selection);
    const { tools } = await select({ index, text: lastRequest(messages), messages, previous });
    return this.#withFound(tools);
  }

  /** Selects: what was shown before, then what is selected in addition, then what the model searched for. */
  #select(
    select: Omit<SelectionRequest, 'text' | 'previous'>,
    { offered, messages }: ChatState,
  ): readonly OfferedTool[] {
    const { registry } = this.#engine;
    const refusalOf = compilePermission(registry, limitsOf(select));
    const kept = offered.flatMap(({ toolName, level }) => {
      const entry = registry.get(toolName);
      return entry === undefined || entry.name !== toolName || refusalOf(entry) !== undefined
        ? []
        : [shown(entry, level)];
    });
    const previous = { tools: kept } as unknown as Selection;
    const selection = selectTools(registry, {
      ...select,
      text: lastRequest(messages),
      ...(kept.length > 0 && { previous }),
    });
    if (selection.error !== undefined && kept.length === 0) throw selection.error;
    const before = new Set(kept.map(({ toolName }) => toolName));
    // What stays for the whole thread must not fill the places of what later turns need.
    return this.#withFound([
      ...kept,
      ...selection.tools.filter(
        ({ toolName, reason }) => !before.has(toolName) && reason !== 'high_priority',
      ),
    ]);
  }

  /** Adds what the model searched for: budgets do not count for it; limits do, because a thread may come from elsewhere. */
  #withFound(tools: readonly OfferedTool[]): readonly OfferedTool[] {
    const { registry, selectTools: select } = this.#engine;
    const before = new Set(tools.map(({ toolName }) => toolName));
    const refusalOf = compilePermission(registry, limitsOf(select));
    const found = [...this.#found]
      .flatMap((name) => registry.get(name) ?? [])
      .filter(
        (entry) => !before.has(entry.name) && isAvailable(entry) && refusalOf(entry) === undefined,
      );
    return [...tools, ...[...new Set(found)].map((entry) => shown(entry, highestLevel(entry)))];
  }

  /** Returns all available tools; what was offered before stays first, so that a newer tool changes nothing before it. */
  #everything({ offered }: ChatState): readonly OfferedTool[] {
    const available = new Map(
      [...this.#engine.registry].filter(isAvailable).map((entry) => [entry.name, entry]),
    );
    const kept = offered.flatMap(({ toolName, level }) => {
      const entry = available.get(toolName);
      return entry !== undefined && available.delete(toolName) ? [shown(entry, level)] : [];
    });
    return [...kept, ...[...available.values()].map((entry) => shown(entry, highestLevel(entry)))];
  }
}

function shown(entry: ToolEntry, level: SchemaLevel): OfferedTool {
  return { toolName: entry.name, level, rendered: renderTool(entry, level) };
}

/** Returns what the user said last. */
function lastRequest(messages: readonly ChatMessage[]): string {
  const { content = '' } = messages.findLast(({ role }) => role === 'user') ?? {};
  return typeof content === 'string'
    ? content
    : content
        .map((part) => ('text' in part && typeof part.text === 'string' ? part.text : ''))
        .join(' ');
}

function limitsOf(select: CheckedEngine['selectTools']): SelectionLimits {
  if (select === undefined || typeof select === 'function') return {};
  const { exclude, maxDanger, maxCostTier, accessModes, filter } = select;
  return Object.fromEntries(
    Object.entries({ exclude, maxDanger, maxCostTier, accessModes, filter }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
