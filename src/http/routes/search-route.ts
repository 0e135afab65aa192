import { toolHealthWire } from '../../capability/capability-summary.js';
import type { CapabilityHits } from '../../capability/catalogue-search.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { contentAnswer } from '../answers/answer.js';
import { valueOf } from '../answers/tool-json.js';
import type { FacetsWire, HitWire } from '../answers/wire.js';
import { toolKey, type Catalogue } from '../query/callers-catalogue.js';
import {
  FACET_AXES,
  FacetCounter,
  healthLevelOf,
  valuesOn,
  type FacetAxis,
} from '../query/facets.js';
import {
  text,
  trueOrFalse,
  wholeBetween,
  wrongParameter,
  type Asked,
  type Parameter,
} from '../query/parameters.js';
import { compatibilityFor, mayCall, PERSONA, personasAsked } from '../query/personas.js';
import { TOOL_FILTER_PARAMETERS, toolsOf, wantedTools } from '../query/tool-parameters.js';
import { openObject, type Route } from './route.js';

const LONGEST_REQUEST = 8_192;
const MOST_RESULTS = 200;
const USUAL_RESULTS = 10;

export const searchRoute: Route = {
  path: '/search',
  summary:
    'The tools of all owners, or those that a persona may call, that fit a request: the best first, each with the words by which it was found, their fields, and its score.',
  parameters: new Map<string, Parameter>([
    [
      'q',
      text('The request, in the words of the user.', {
        repeatable: false,
        longest: LONGEST_REQUEST,
      }),
    ],
    ['persona', PERSONA],
    ['limit', wholeBetween(1, MOST_RESULTS, USUAL_RESULTS, 'The maximum number of tools.')],
    [
      'facets',
      trueOrFalse(
        'Whether to count, for every value of every filter, how many tools it would leave.',
      ),
    ],
    ...TOOL_FILTER_PARAMETERS,
  ]),
  content: openObject(['query', 'persona', 'count', 'total', 'searched', 'revision', 'results']),
  answer: ({ capabilities, asked, conditions }) => {
    const request = asked.one<string>('q');
    if (request === undefined) throw wrongParameter('q', 'a text to search for', undefined);
    const wanted = keysFor(capabilities, asked);
    const found = capabilities.search(request, {
      limit: asked.one<number>('limit') ?? USUAL_RESULTS,
      accepts: (tool: CapabilityTool) => wanted.has(toolKey(tool)),
    });
    return contentAnswer(written(capabilities, asked, request, wanted, found), conditions);
  },
};

/** Returns the requesting persona, if there is exactly one. */
function personaOf(asked: Asked): string | null {
  return personasAsked(asked).length === 1 ? asked.one<string>('persona')! : null;
}

/** Returns the answer as JSON. */
function written(
  capabilities: Catalogue,
  asked: Asked,
  query: string,
  wanted: ReadonlySet<string>,
  { hits, having }: CapabilityHits,
): string {
  const personas = personasAsked(asked);
  const results: HitWire[] = [];
  for (const { tool, toolName, score, matches, corrections, explanation } of hits) {
    results.push({
      name: toolName,
      persona: tool.owner,
      description: tool.entry.description,
      compatibility: compatibilityFor(personas, tool.owner, tool.entry.personaAllowlist),
      score,
      matches,
      corrections: corrections.map(({ word, readAs }) => ({ word, read_as: readAs })),
      explanation,
    });
  }
  const searched = keysFor(capabilities, asked.only(['persona'])).size;
  const total = having.filter((tool) => wanted.has(toolKey(tool))).length;
  const answer = {
    query,
    persona: personaOf(asked),
    count: results.length,
    total,
    searched,
    revision: capabilities.revision,
    truncated: hits.some((hit) => hit.truncated),
    results,
  };
  const facets =
    asked.one<boolean>('facets') === true ? { facets: facetsOf(capabilities, asked, having) } : {};
  return JSON.stringify({ ...answer, ...facets });
}

/** Returns the keys of the requested tools that the requesting personas may call. */
function keysFor(capabilities: Catalogue, asked: Asked): ReadonlySet<string> {
  return new Set(
    toolsOf(capabilities, wantedTools(asked))
      .filter(mayCall(capabilities, personasAsked(asked)))
      .map(toolKey),
  );
}

/** Returns `{<parameter>: {<value>: <count>}}` over the tools that have a word of the request. */
function facetsOf(
  capabilities: Catalogue,
  asked: Asked,
  having: readonly CapabilityTool[],
): FacetsWire {
  const axes = new Set(FACET_AXES.map(({ key }) => key));
  const inScope = keysFor(capabilities, asked.only(asked.names.filter((name) => !axes.has(name))));
  const chosen: { readonly axis: FacetAxis; readonly passing: ReadonlySet<string> }[] = [];
  for (const axis of FACET_AXES) {
    if (asked.all(axis.key) !== undefined)
      chosen.push({
        axis,
        passing: new Set(toolsOf(capabilities, wantedTools(asked.only([axis.key]))).map(toolKey)),
      });
  }
  const counter = new FacetCounter(FACET_AXES);
  for (const tool of having) {
    const key = toolKey(tool);
    if (inScope.has(key))
      counter.add(
        chosen.flatMap(({ axis, passing }) => (passing.has(key) ? [] : [axis])),
        (axis) => axisValues(tool, axis),
      );
  }
  return Object.fromEntries(
    FACET_AXES.map((axis) => [axis.key, Object.fromEntries(counter.of(axis))]),
  );
}

function axisValues(tool: CapabilityTool, { field }: FacetAxis): readonly string[] {
  return field === 'health'
    ? [healthLevelOf(toolHealthWire(tool.health).tool)]
    : valuesOn(valueOf(tool, field));
}
