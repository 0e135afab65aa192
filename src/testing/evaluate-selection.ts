import { z } from 'zod';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { checkOptions, once, text } from '../core/options.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { selectTools } from '../selection/select-tools.js';
import type { SelectionRequest } from '../selection/selection-request.js';
import { estimateTokens, renderTool } from '../tool/render-tool.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import {
  mean,
  namesOf,
  ndcgOf,
  newWords,
  recallOf,
  stemsOf,
  sum,
  type Evaluated,
  type Miss,
} from './evaluated.js';
import { suggestFixes, type SuggestedFix } from './suggest-fixes.js';

/** A user's request, and the tools that the model should be offered for it. */
export interface LabelledRequest {
  /** The request, in the user's words. */
  readonly text: string;
  /** The names or aliases of at least one tool. */
  readonly tools: readonly string[];
}

/** The options of `evaluateSelection`: all options of `selectTools` except those of one request. */
interface EvaluationOptions extends Omit<SelectionRequest, 'text' | 'vector' | 'previous'> {
  /**
   * Looks for keywords and examples that would fix misses. With `suggest`, the selection is
   * repeated for every suggestion that is tried.
   * @default false
   */
  readonly suggest?: boolean;
}

/** A pair of tools that are confused: one was wanted, and the other was offered instead. */
interface Confusion {
  readonly wanted: string;
  readonly offered: string;
  /** The number of requests for which the tools were confused. */
  readonly requests: number;
  /**
   * Words in these requests that neither tool contains. As keywords of the wanted tool, these words
   * would tell the two tools apart.
   */
  readonly words: readonly string[];
}

/** A report on how well a registry's selection works for labelled requests. */
export interface SelectionEvaluation {
  readonly requests: number;
  /** The fraction of wanted tools that were offered to the model, averaged over all requests. */
  readonly recall: number;
  /** The nDCG of the offered tools in their order, averaged over all requests. */
  readonly ndcg: number;
  /**
   * Three numbers of tokens: the average in a selection, the total in all tools with full details,
   * and the average in the first `maxTools` search results with full details.
   */
  readonly tokens: {
    readonly selected: number;
    readonly allTools: number;
    readonly firstInFull: number;
  };
  readonly misses: readonly Miss[];
  /** The pairs of tools that are confused, most frequent first. */
  readonly confused: readonly Confusion[];
  /** The tools that weren't selected for any request. */
  readonly neverSelected: readonly string[];
  /** Changes that would fix misses. Present only with the `suggest` option. */
  readonly suggestions: readonly SuggestedFix[];
}

const requestsSchema = once(() =>
  z.strictObject({
    requests: z
      .array(z.object({ text: text(), tools: z.array(text()).min(1).readonly() }).readonly())
      .min(1)
      .readonly(),
  }),
);

/**
 * Measures how well tools are selected. For each request, the tools are selected and compared with
 * the wanted tools.
 *
 * Recall is the fraction of wanted tools that were offered. nDCG counts a wanted tool at position i
 * as 1 / log2(i + 1), divided by the best possible sum (Järvelin and Kekäläinen, 2002). Recall and
 * nDCG are averaged over all requests.
 *
 * ```ts
 * const { recall, misses } = evaluateSelection(registry, [{ text: 'Where is my parcel?', tools: ['order_status'] }]);
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for a request without text or tools, a tool that isn't
 * registered, or invalid options.
 */
export function evaluateSelection(
  registry: ToolMetadataRegistry,
  requests: readonly LabelledRequest[],
  options: EvaluationOptions = {},
): SelectionEvaluation {
  const { suggest = false, ...request } = options;
  const { requests: labelled } = checkOptions(requestsSchema, { requests }, 'labelled requests');
  const evaluated: Evaluated[] = [];
  for (const { text: asked, tools } of labelled) {
    const wanted = tools.map((name) => nameIn(registry, name));
    const selection = selectTools(registry, { ...request, text: asked });
    evaluated.push({ text: asked, wanted, selection });
  }
  const misses = evaluated.flatMap((each) => missesOf(registry, each));
  const neverSelected = new Set([...registry].map(({ name }) => name));
  for (const { selection } of evaluated)
    for (const name of namesOf(selection)) neverSelected.delete(name);
  return {
    requests: evaluated.length,
    recall: mean(evaluated.map(recallOf)),
    ndcg: mean(evaluated.map(ndcgOf)),
    tokens: tokensIn(registry, evaluated, request.countTokens ?? estimateTokens),
    misses,
    confused: confusionsIn(registry, misses),
    neverSelected: [...neverSelected],
    suggestions: suggest ? suggestFixes(registry, evaluated, misses, request) : [],
  };
}

function tokensIn(
  registry: ToolMetadataRegistry,
  evaluated: readonly Evaluated[],
  count: (text: string) => number,
): SelectionEvaluation['tokens'] {
  const cost = (entry: ToolEntry) => count(JSON.stringify(renderTool(entry, 'full')));
  const costOfFirst = ({ text: asked, selection: { maxTools } }: Evaluated) =>
    registry
      .search(asked, { limit: Math.max(1, maxTools) })
      .map(({ toolName }) => cost(registry.require(toolName)))
      .reduce(sum, 0);
  return {
    selected: Math.round(mean(evaluated.map(({ selection }) => selection.tokens))),
    allTools: [...registry].map(cost).reduce(sum, 0),
    firstInFull: Math.round(mean(evaluated.map(costOfFirst))),
  };
}

function nameIn(registry: ToolMetadataRegistry, name: string): string {
  const entry = registry.get(name);
  if (entry !== undefined) return entry.name;
  const [similar] = registry.search(name.replaceAll(/[_.-]/g, ' '), { limit: 1 });
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      'names of registered tools as labels',
      JSON.stringify(name),
      similar === undefined ? 'Register it first.' : `Did you mean "${similar.toolName}"?`,
    ),
  );
}

function missesOf(registry: ToolMetadataRegistry, request: Evaluated): readonly Miss[] {
  const { text: asked, wanted, selection } = request;
  const offered = namesOf(selection);
  const missed = wanted.filter((name) => !offered.includes(name));
  if (missed.length === 0) return [];
  const ranked = registry.search(asked, { limit: registry.size }).map(({ toolName }) => toolName);
  return missed.map((toolName) => missOf(request, toolName, ranked.indexOf(toolName) + 1));
}

function missOf({ text: asked, wanted, selection }: Evaluated, toolName: string, place: number) {
  const left = selection.dropped.find((each) => each.toolName === toolName);
  const unmatched =
    place === 0 ? 'none of its words is in the request' : `${place - 1} other tools match better`;
  const instead = selection.tools.filter((each) => !wanted.includes(each.toolName));
  return {
    text: asked,
    toolName,
    ...(place > 0 && { place }),
    reason: left?.explanation ?? unmatched,
    instead: instead.map(({ toolName: name, explanation }) => ({ toolName: name, explanation })),
  };
}

function confusionsIn(
  registry: ToolMetadataRegistry,
  misses: readonly Miss[],
): readonly Confusion[] {
  const pairs = new Map<string, { wanted: string; offered: string; texts: string[] }>();
  for (const { text: asked, toolName: wanted, instead } of misses)
    for (const { toolName: offered } of instead) {
      const key = JSON.stringify([wanted, offered]);
      const pair = pairs.get(key) ?? { wanted, offered, texts: [] };
      pairs.set(key, { ...pair, texts: [...pair.texts, asked] });
    }
  const confused: Confusion[] = [];
  for (const { wanted, offered, texts } of pairs.values()) {
    const taken = new Set([wanted, offered].flatMap((name) => stemsOf(registry.require(name))));
    confused.push({ wanted, offered, requests: texts.length, words: newWords(texts, taken) });
  }
  return confused.sort((a, b) => b.requests - a.requests);
}
