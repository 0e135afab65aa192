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
  const trial = new Trial(registry, before, request);
  const tools = new Set(misses.map(({ toolName }) => toolName));
  const ideas: Idea[] = [];
  for (const toolName of tools) ideas.push(...ideasFor(registry, toolName, before, misses));
  const fixes: SuggestedFix[] = [];
  for (const idea of ideas.slice(0, MOST_TRIED)) {
    const fix = trial.of(idea);
    if (fix.gain > 0) fixes.push(fix);
  }
  return fixes.sort((a, b) => b.gain - a.gain);
}

type Idea = Pick<SuggestedFix, 'toolName' | 'field' | 'value'>;

/** Returns the keywords and examples that could lead the missed requests to their tool. */
function ideasFor(
  registry: ToolMetadataRegistry,
  toolName: string,
  before: readonly Evaluated[],
  misses: readonly Miss[],
): readonly Idea[] {
  const texts: string[] = [];
  // A word of its neighbours, or of requests for other tools, doesn't tell the tool from them.
  const taken = new Set(stemsOf(registry.require(toolName)));
  for (const { toolName: missed, text, instead } of misses) {
    if (missed !== toolName) continue;
    texts.push(text);
    for (const { toolName: neighbour } of instead)
      for (const stem of stemsOf(registry.require(neighbour))) taken.add(stem);
  }
  for (const { wanted, text } of before)
    if (!wanted.includes(toolName)) for (const stem of stemsIn(text)) taken.add(stem);
  return [
    ...newWords(texts, taken).map((value) => ({ toolName, field: 'keywords', value }) as const),
    ...texts.map((value) => ({ toolName, field: 'examples', value }) as const),
  ];
}

/** Tries ideas on a copy of a registry. */
class Trial {
  readonly #copy = new ToolMetadataRegistry();
  readonly #before: readonly Evaluated[];
  readonly #request: Omit<SelectionRequest, 'text'>;

  constructor(
    registry: ToolMetadataRegistry,
    before: readonly Evaluated[],
    request: Omit<SelectionRequest, 'text'>,
  ) {
    this.#copy.registerAll([...registry].map(({ definition }) => definition));
    this.#before = before;
    this.#request = request;
  }

  of(idea: Idea): SuggestedFix {
    const { definition } = this.#copy.require(idea.toolName);
    const values = [...(definition[idea.field] ?? []), idea.value];
    this.#copy.register(definitionOf({ ...definition, [idea.field]: values }), { replace: true });
    const changes = this.#before.map((each) => this.#changeOf(each));
    this.#copy.register(definition, { replace: true });
    const textsAt = (sign: number) =>
      this.#before.flatMap(({ text }, at) => (Math.sign(changes[at]!) === sign ? text : []));
    return { ...idea, gain: mean(changes), fixes: textsAt(1), breaks: textsAt(-1) };
  }

  /** Returns by how much the recall of a request is higher than before. */
  #changeOf(before: Evaluated): number {
    const { text } = before;
    const selection = selectTools(this.#copy, { ...this.#request, text });
    return recallOf({ ...before, selection }) - recallOf(before);
  }
}
