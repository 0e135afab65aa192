import { ToolError } from '../../core/errors.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import { isAvailable } from '../../registry/tool-filter.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { selectTools } from '../../selection/select-tools.js';
import type { SelectedTool, Selection } from '../../selection/selection.js';
import { createToolSearchTool } from '../../selection/tool-search-tool.js';
import { highestLevel, renderTool, type RenderedTool, type SchemaLevel } from '../../tool/render/render-tool.js';
import type { CheckedEngine } from '../chat-engine.js';
import type { ChatState } from '../chat-state.js';
import type { ChatMessage } from '../thread/chat-message.js';

/** What a model is shown in one turn. */
export interface Offer {
  readonly tools: readonly { readonly toolName: string; readonly level: SchemaLevel; readonly rendered: RenderedTool }[];
}

/** Chooses the tools of each turn, so that what was offered once stays, in its place and with its bytes: prompts stay cached. */
export class ToolOffers {
  readonly #engine: CheckedEngine;
  /** The tool that finds others, when the user's registry has none; run apart from the user's tools. */
  readonly #search: { readonly name: string; readonly executor: ToolExecutor } | undefined;
  /** Found by the search in this run; the model may call them, so it is shown them from then on. */
  readonly #found = new Set<string>();

  /** @throws ToolError `DUPLICATE_TOOL` when another tool has the name of the tool that explains those shown in short. */
  constructor(engine: CheckedEngine) {
    this.#engine = engine;
    const { registry, toolSearch = engine.selectTools !== undefined || [...registry].some(({ compact }) => compact) } = engine;
    if (!toolSearch || [...registry].some(({ metadata }) => metadata?.['toolSearch'] === true)) return;
    const tool = createToolSearchTool(registry, limitsOf(engine.selectTools));
    if (registry.has(tool.name)) throw new ToolError('DUPLICATE_TOOL', `Expected no tool called ${tool.name}, found one: the chat adds a tool of this name that explains tools shown in short; rename yours, or set toolSearch: false`);
    const own = new ToolMetadataRegistry();
    own.register(tool);
    this.#search = { name: tool.name, executor: new ToolExecutor({ registry: own, maxRepeats: Number.MAX_SAFE_INTEGER }) };
  }

  /** Runs the calls of a tool. */
  executorOf(toolName: string): ToolExecutor {
    return this.#search?.name === toolName ? this.#search.executor : this.#engine.executor;
  }

  /** Remembers which tools an answer of the search named. */
  noteFound(toolName: string, value: unknown): void {
    const entry = this.#engine.registry.get(toolName);
    if (this.#search?.name !== toolName && entry?.metadata?.['toolSearch'] !== true) return;
    const { found = [], tools = [] } = value as { found?: readonly { name?: unknown }[]; tools?: readonly { name?: unknown }[] };
    for (const { name } of [...found, ...tools]) if (typeof name === 'string') this.#found.add(name);
  }

  /** The tools of the next turn. */
  async next(state: ChatState, messages: readonly ChatMessage[], index: number): Promise<Offer> {
    const { registry, selectTools: select, toolChoice } = this.#engine;
    const tools = select === undefined ? this.#everything(state) : await this.#select(state, messages, index);
    const search = this.#search && [...this.#search.executor.registry][0]!;
    const all = search === undefined ? tools : [...tools, { toolName: search.name, level: 'full' as const, rendered: renderTool(search, 'full') }];
    if (typeof toolChoice === 'string') return { tools: all };
    // A tool that must be called must be understood without a question.
    const { toolName } = toolChoice;
    const forced = registry.get(toolName);
    if (forced === undefined) throw new ToolError('TOOL_NOT_FOUND', `Expected toolChoice to name a known tool, found ${JSON.stringify(toolName)}`);
    const full = { toolName: forced.name, level: 'full' as const, rendered: renderTool(forced, 'full') };
    return { tools: all.some((tool) => tool.toolName === forced.name) ? all.map((tool) => (tool.toolName === forced.name ? full : tool)) : [...all, full] };
  }

  async #select(state: ChatState, messages: readonly ChatMessage[], index: number): Promise<readonly SelectedTool[]> {
    const { registry, selectTools: select } = this.#engine;
    const text = lastRequest(messages);
    const previous = { tools: state.offered } as unknown as Selection;
    if (typeof select === 'function') return (await select({ index, text, messages, previous: state.offered.length === 0 ? undefined : previous })).tools;
    const include = [...(select?.include ?? []), ...[...this.#found].filter((name) => registry.has(name))];
    const selection = selectTools(registry, { ...select, text, include, ...(state.offered.length > 0 && { previous }) });
    if (selection.error !== undefined && this.#found.size === 0) throw selection.error;
    return selection.tools;
  }

  /** All available tools; what was offered before stays first, so that one that came since changes nothing before it. */
  #everything({ offered }: ChatState): Offer['tools'] {
    const available = new Map([...this.#engine.registry].filter(isAvailable).map((entry) => [entry.name, { entry, level: highestLevel(entry) }]));
    const kept = offered.flatMap(({ toolName, level }) => {
      const tool = available.get(toolName);
      return tool !== undefined && available.delete(toolName) ? [{ ...tool, level }] : [];
    });
    return [...kept, ...available.values()].map(({ entry, level }) => ({ toolName: entry.name, level, rendered: renderTool(entry, level) }));
  }
}

/** What the user said last. */
function lastRequest(messages: readonly ChatMessage[]): string {
  const last = messages.findLast(({ role }) => role === 'user');
  if (last === undefined) return '';
  const { content } = last;
  return typeof content === 'string' ? content : content.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join(' ');
}

function limitsOf(select: CheckedEngine['selectTools']): Record<string, unknown> {
  if (select === undefined || typeof select === 'function') return {};
  const { exclude, maxDanger, maxCostTier, accessModes, filter } = select;
  return Object.fromEntries(Object.entries({ exclude, maxDanger, maxCostTier, accessModes, filter }).filter(([, value]) => value !== undefined));
}
