import type { CapabilityTool } from '../capability/state/capability-items.js';
import type { Clock } from '../core/clock.js';
import type { StateStore } from '../state/state-store.js';
import { toolKey } from './tools-of.js';
import { definitionFields } from './wire-tool.js';

type Fields = Readonly<Record<string, unknown>>;

/** Maximum length of a definition that is stored in full. */
const LONGEST = 65_536;

/** The changes to a tool's definition since it was first seen. */
export interface DefinitionHistory {
  /** Milliseconds since 1970. */
  readonly first_seen: number;
  readonly changes: readonly {
    readonly field: string;
    readonly before: unknown;
    readonly now: unknown;
  }[];
}

/** Stores each tool's definition as it was when the catalogue first saw the tool. */
export class FirstSeen {
  readonly #store: StateStore;
  readonly #clock: Clock;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Stores the definitions of tools that aren't in the store yet. If the store can't be reached,
   * the next call tries again.
   */
  async note(tools: readonly CapabilityTool[]): Promise<void> {
    try {
      for (const tool of tools) {
        const text = JSON.stringify({ at: this.#clock.now(), fields: definitionFields(tool) });
        if (text.length <= LONGEST) await this.#store.compareAndSet(keyOf(tool), undefined, text);
      }
    } catch {
      // The store can't be reached.
    }
  }

  /**
   * Returns the changes to a tool's definition, or `undefined` if the definition was never
   * recorded.
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async historyOf(tool: CapabilityTool): Promise<DefinitionHistory | undefined> {
    const text = await this.#store.get(keyOf(tool));
    if (text === undefined) return undefined;
    const { at, fields: before } = JSON.parse(text) as { at: number; fields: Fields };
    const now = definitionFields(tool);
    const changed = Object.keys({ ...before, ...now }).filter(
      (field) => JSON.stringify(before[field]) !== JSON.stringify(now[field]),
    );
    return {
      first_seen: at,
      changes: changed.map((field) => ({
        field,
        before: before[field] ?? null,
        now: now[field] ?? null,
      })),
    };
  }
}

const keyOf = (tool: CapabilityTool) => `first-seen:${toolKey(tool)}`;
