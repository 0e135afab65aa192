import { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import { selectTools } from '../selection/select-tools.js';
import type { SelectionRequest } from '../selection/selection-request.js';
import { definitionOf } from '../tool/tool-definition.js';
import {
  mean,
  newWords,
  recallOf,
  stemsIn,
  stemsOf,
  type Evaluated,
  type Miss,
} from './evaluated.js';

/** A keyword or example for one tool, evaluated on all requests. */
export interface SuggestedFix {
  readonly toolName: string;
  readonly field: 'keywords' | 'examples';
  readonly value: string;
  /** The increase in mean recall. */
  readonly gain: number;
  /** The requests for which more of the wanted tools are offered. */
  readonly fixes: readonly string[];
  /** The requests for which fewer of the wanted tools are offered. */
  readonly breaks: readonly string[];
}

/** The maximum number of suggestions to try. Each suggestion requires one selection per request. */
const MOST_TRIED = 100;

/**
 * Returns the keywords and examples that fix misses, with the largest gain first.
 *
 * Tries words from the missed requests as keywords, and the requests themselves as examples. A
 * keyword is more likely to help with future requests. An example that repeats a request may fix
 * only that request. The registry isn't changed.
 */
export function suggestFixes(
  registry: ToolMetadataRegistry,
  before: readonly Evaluated[],
  misses: readonly Miss[],
  request: Omit<SelectionRequest, 'text'>,
): readonly SuggestedFix[] {
  const copy = new ToolMetadataRegistry();
  copy.registerAll([...registry].map(({ definition }) => definition));
  const ideas = [...new Set(misses.map(({ toolName }) => toolName))].flatMap((toolName) => {
    const missed = misses.filter((miss) => miss.toolName === toolName);
    const texts = missed.map(({ text }) => text);
    // A word of its neighbours, or of requests for other tools, doesn't tell the tool from them.
    const neighbours = missed.flatMap(({ instead }) => instead.map((each) => each.toolName));
    const words = newWords(
      texts,
      new Set([
        ...[toolName, ...neighbours].flatMap((name) => stemsOf(registry.require(name))),
        ...before
          .filter(({ wanted }) => !wanted.includes(toolName))
          .flatMap(({ text }) => stemsIn(text)),
      ]),
    );
    return [
      ...words.map((value) => ({ toolName, field: 'keywords', value }) as const),
      ...texts.map((value) => ({ toolName, field: 'examples', value }) as const),
    ];
  });
  const tried = ideas.slice(0, MOST_TRIED).map((idea): SuggestedFix => {
    const { definition } = registry.require(idea.toolName);
    const values = [...(definition[idea.field] ?? []), idea.value];
    copy.register(definitionOf({ ...definition, [idea.field]: values }), { replace: true });
    const changes = before.map((each) => ({
      text: each.text,
      change:
        recallOf({ ...each, selection: selectTools(copy, { ...request, text: each.text }) }) -
        recallOf(each),
    }));
    copy.register(definition, { replace: true });
    return {
      ...idea,
      gain: mean(changes.map(({ change }) => change)),
      fixes: changes.filter(({ change }) => change > 0).map(({ text }) => text),
      breaks: changes.filter(({ change }) => change < 0).map(({ text }) => text),
    };
  });
  return tried.filter(({ gain }) => gain > 0).sort((a, b) => b.gain - a.gain);
}
