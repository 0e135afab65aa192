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

/** One of your users' requests, with the tools that should reach the model for it. */
export interface LabelledRequest {
  /** The request in the user's words. */
  readonly text: string;
  /** The tools' names or aliases, at least one. */
  readonly tools: readonly string[];
}

/** The options of `evaluateSelection`: those of `selectTools`, without the request's text. */
export interface EvaluationOptions extends Omit<SelectionRequest, 'text' | 'previous'> {
  /**
   * Looks for keywords and examples that would fix misses, too. This selects again for every idea.
   * @default false
   */
  readonly suggest?: boolean;
}

/** Two tools that are confused: the wrong one was offered. */
interface Confusion {
  readonly wanted: string;
  readonly offered: string;
  /** The number of requests where that happened. */
  readonly requests: number;
  /**
   * Words in these requests that neither tool has. As keywords of the wanted tool, they would tell
   * the two apart.
   */
  readonly words: readonly string[];
}

/** Reports how well a registry's selection serves labelled requests. */
export interface SelectionEvaluation {
  readonly requests: number;
  /** The mean share of a request's wanted tools that reached the model. */
  readonly recall: number;
  /** The mean nDCG of the offered tools in their order. */
  readonly ndcg: number;
  /** The mean tokens of a selection, of all tools in full, and of the first `maxTools` search results in full. */
  readonly tokens: {
    readonly selected: number;
    readonly allTools: number;
    readonly firstInFull: number;
  };
  readonly misses: readonly Miss[];
  /** The pairs of tools that are confused, the most frequent first. */
  readonly confused: readonly Confusion[];
  /** The tools that weren't selected for any request. */
  readonly neverSelected: readonly string[];
  /** Ideas that fix misses. Only with `suggest`. */
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
 * Measures what reaches the model: selects tools for each request and compares them with the wanted ones.
 *
 * Recall is the share of wanted tools among the offered ones. nDCG counts a wanted tool at place i as 1 / log2(i + 1),
 * divided by the best possible sum (Järvelin and Kekäläinen, 2002). Both are means over the requests.
 *
 * ```ts
 * const { recall, misses } = evaluateSelection(registry, [{ text: 'Where is my parcel?', tools: ['order_status'] }]);
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for a request without text or tools, a tool that isn't registered, and wrong options.
 */
export function evaluateSelection(
  registry: ToolMetadataRegistry,
  requests: readonly LabelledRequest[],
  options: EvaluationOptions = {},
): SelectionEvaluation {
  const { suggest = false, ...request } = options;
  const labelled = checkOptions(requestsSchema, { requests }, 'labelled requests').requests.map(
    ({ text: asked, tools }) => ({
      text: asked,
      wanted: tools.map((name) => nameIn(registry, name)),
    }),
  );
  const evaluated = labelled.map((each): Evaluated => ({
    ...each,
    selection: selectTools(registry, { ...request, text: each.text }),
  }));
  const entries = [...registry];
  const count = request.countTokens ?? estimateTokens;
  const cost = (entry: ToolEntry) => count(JSON.stringify(renderTool(entry, 'full')));
  const misses = evaluated.flatMap((each) => missesOf(registry, each));
  const offered = new Set(evaluated.flatMap(({ selection }) => namesOf(selection)));
  return {
    requests: evaluated.length,
    recall: mean(evaluated.map(recallOf)),
    ndcg: mean(evaluated.map(ndcgOf)),
    tokens: {
      selected: Math.round(mean(evaluated.map(({ selection }) => selection.tokens))),
      allTools: entries.map(cost).reduce(sum, 0),
      firstInFull: Math.round(
        mean(
          evaluated.map(({ text: asked, selection: { maxTools } }) =>
            registry
              .search(asked, { limit: Math.max(1, maxTools) })
              .map(({ toolName }) => cost(registry.require(toolName)))
              .reduce(sum, 0),
          ),
        ),
      ),
    },
    misses,
    confused: confusionsIn(registry, misses),
    neverSelected: entries.map(({ name }) => name).filter((name) => !offered.has(name)),
    suggestions: suggest ? suggestFixes(registry, evaluated, misses, request) : [],
  };
}

function nameIn(registry: ToolMetadataRegistry, name: string): string {
  const entry = registry.get(name);
  if (entry !== undefined) return entry.name;
  const [similar] = registry.search(name.replaceAll(/[_.-]/g, ' '), { limit: 1 });
  throw new ToolError(
    'INVALID_ARGUMENT',
    expectedGot(
      'labels with names of registered tools',
      JSON.stringify(name),
      similar === undefined ? 'Register it first.' : `Did you mean "${similar.toolName}"?`,
    ),
  );
}

function missesOf(registry: ToolMetadataRegistry, { text: asked, wanted, selection }: Evaluated) {
  const offered = namesOf(selection);
  const missed = wanted.filter((name) => !offered.includes(name));
  if (missed.length === 0) return [];
  const ranked = registry.search(asked, { limit: registry.size }).map(({ toolName }) => toolName);
  return missed.map((toolName): Miss => {
    const place = ranked.indexOf(toolName) + 1;
    const left = selection.dropped.find((each) => each.toolName === toolName);
    return {
      text: asked,
      toolName,
      ...(place > 0 && { place }),
      reason:
        left?.explanation ??
        (place === 0
          ? 'none of its words is in the request'
          : `${place - 1} other tools match better`),
      instead: selection.tools
        .filter((each) => !wanted.includes(each.toolName))
        .map(({ toolName: name, explanation }) => ({ toolName: name, explanation })),
    };
  });
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
  return [...pairs.values()]
    .map(({ wanted, offered, texts }) => {
      const known = new Set([wanted, offered].flatMap((name) => stemsOf(registry.require(name))));
      return { wanted, offered, requests: texts.length, words: newWords(texts, known) };
    })
    .sort((a, b) => b.requests - a.requests);
}
