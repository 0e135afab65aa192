import { compareText } from '../core/plain-data.js';
import { SearchIndex, type SearchResult } from '../search/search-index.js';
import type { CheckedHints } from '../search/tool-hints.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { CapabilityTool } from './state/capability-items.js';
import { ownerKey } from './manifest/persona.js';
import type { CapabilityState } from './state/build-state.js';

/** The results of a catalogue search. */
export interface CapabilityHits {
  /** The best accepted tools and the reasons why they match, best first. */
  readonly hits: readonly (SearchResult & { readonly tool: CapabilityTool })[];
  /**
   * All tools that contain a word of the request, accepted or not. Use this list to count how many
   * tools other filters would match.
   */
  readonly having: readonly CapabilityTool[];
}

/** A search over the tools of all personas. The index is built by the first search. */
export class CatalogueSearch {
  readonly #index: SearchIndex;
  readonly #entries = new Set<ToolEntry>();
  #followed: CapabilityState | undefined;

  constructor(hints: CheckedHints) {
    this.#index = new SearchIndex({ hints });
  }

  /** Searches a state's tools. */
  find(
    state: CapabilityState,
    text: string,
    limit: number,
    accepts: (tool: CapabilityTool) => boolean,
  ): CapabilityHits {
    this.#follow(state);
    const owned = (entry: ToolEntry) => state.ownersOf.get(entry) ?? [];
    const { best, having } = this.#index.find(text, limit, (entry) => owned(entry).some(accepts));
    const hits: CapabilityHits['hits'][number][] = [];
    // One definition may belong to tools of several owners.
    for (const { entry, result } of best)
      for (const tool of owned(entry))
        if (accepts(tool)) hits.push(Object.freeze({ ...result, tool }));
    return {
      hits: Object.freeze(hits.sort(inOrder).slice(0, limit)),
      having: Object.freeze(having().flatMap(owned)),
    };
  }

  #follow(state: CapabilityState): void {
    if (this.#followed === state) return;
    for (const entry of this.#entries)
      if (!state.ownersOf.has(entry)) {
        this.#entries.delete(entry);
        this.#index.remove(entry);
      }
    for (const entry of state.ownersOf.keys())
      if (!this.#entries.has(entry)) {
        this.#entries.add(entry);
        this.#index.add(entry);
      }
    this.#followed = state;
  }
}

/**
 * Compares hits for sorting. The result doesn't depend on the order in which the tools were
 * indexed.
 */
function inOrder(a: CapabilityHits['hits'][number], b: CapabilityHits['hits'][number]): number {
  return (
    b.score - a.score ||
    a.tool.entry.priority - b.tool.entry.priority ||
    compareText(a.toolName, b.toolName) ||
    compareText(ownerKey(a.tool.owner), ownerKey(b.tool.owner))
  );
}
