import type { CapabilityTool } from '../../capability/capability-items.js';
import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import { toolHealthWire } from '../../capability/wire/capability-summary.js';
import { inSlices, type Work } from '../../core/clock.js';
import { contentAnswer } from '../answers/answer.js';
import { FACET_AXES, FacetCounter, valuesOn, type FacetAxis } from '../query/facets.js';
import { text, trueOrFalse, wholeBetween, wrongParameter, type Parameter } from '../query/parameter.js';
import { compatibilityFor, mayCall, PERSONA, personasAsked } from '../query/personas.js';
import type { Asked } from '../query/read-parameters.js';
import { TOOL_FILTER_PARAMETERS, toolsOf, wantedTools } from '../query/tool-parameters.js';
import { healthLevelOf } from '../wire/health-level.js';
import { valueOf } from '../wire/tool-json.js';
import { openObject } from './content-schemas.js';
import type { Route } from './route.js';

const LONGEST_REQUEST = 8_192;
const MOST_RESULTS = 200;
const USUAL_RESULTS = 10;

export const searchRoute: Route = {
  path: '/search',
  summary: 'The tools that fit a request, whoever owns them or among what a persona may call: the best first, each with the words it was found by, where they stand, and its score.',
  parameters: new Map<string, Parameter>([
    ['q', text('The request, in the words of whoever asks.', { repeatable: false, longest: LONGEST_REQUEST })],
    ['persona', PERSONA],
    ['limit', wholeBetween(1, MOST_RESULTS, USUAL_RESULTS, 'At most so many tools.')],
    ['facets', trueOrFalse('Whether to count, for every value of every filter, how many tools it would leave.')],
    ...TOOL_FILTER_PARAMETERS,
  ]),
  content: openObject(['query', 'persona', 'count', 'total', 'searched', 'revision', 'results']),
  answer: async ({ capabilities, asked, query, conditions }) => {
    const request = asked.one<string>('q');
    if (request === undefined) throw wrongParameter('q', 'a text to search for', query === '' ? 'no parameters' : 'none');
    const personas = personasAsked(asked);
    const persona = personas.length === 1 ? asked.one<string>('persona')! : null;
    // What is asked for is looked up when the index is ready: the catalogue may have changed meanwhile.
    let wanted: ReadonlySet<CapabilityTool> | undefined;
    const isWanted = (tool: CapabilityTool) => (wanted ??= toolsFor(capabilities, asked)).has(tool);
    const { hits, having } = await capabilities.search(request, { limit: asked.one<number>('limit') ?? USUAL_RESULTS, accepts: isWanted, persona });
    const searched = toolsFor(capabilities, asked.only(['persona']));
    const results = hits.map(({ tool, toolName, score, matches, corrections, usage, explanation }) => ({
      name: toolName,
      persona: tool.owner,
      description: tool.entry.description,
      compatibility: compatibilityFor(personas, tool.owner, tool.entry.personaAllowlist),
      score,
      matches,
      corrections: corrections.map(({ word, readAs }) => ({ word, read_as: readAs })),
      usage,
      explanation,
    }));
    const answer = { query: request, persona, count: results.length, total: having.filter(isWanted).length, searched: searched.size, revision: capabilities.revision, truncated: hits.some((hit) => hit.truncated), results };
    const facets = asked.one<boolean>('facets') === true ? { facets: await inSlices(facetsOf(capabilities, asked, having)) } : {};
    return contentAnswer(JSON.stringify({ ...answer, ...facets }), conditions);
  },
};

/** The tools that are asked for, as far as those that ask may call them. */
function toolsFor(capabilities: CapabilityRegistry, asked: Asked): ReadonlySet<CapabilityTool> {
  return new Set(toolsOf(capabilities, wantedTools(asked)).filter(mayCall(capabilities, personasAsked(asked))));
}

/** `{<parameter>: {<value>: <count>}}` over the tools that have a word of the request. */
function* facetsOf(capabilities: CapabilityRegistry, asked: Asked, having: readonly CapabilityTool[]): Work<Readonly<Record<string, Readonly<Record<string, number>>>>> {
  const axes = new Set(FACET_AXES.map(({ key }) => key));
  const inScope = toolsFor(capabilities, asked.only(asked.names.filter((name) => !axes.has(name))));
  const chosen = FACET_AXES.filter(({ key }) => asked.all(key) !== undefined).map((axis) => ({ axis, passing: new Set(toolsOf(capabilities, wantedTools(asked.only([axis.key])))) }));
  const counter = new FacetCounter(FACET_AXES);
  for (const tool of having) {
    yield;
    if (inScope.has(tool)) counter.add(chosen.flatMap(({ axis, passing }) => (passing.has(tool) ? [] : [axis])), (axis) => axisValues(tool, axis));
  }
  return Object.fromEntries(FACET_AXES.map((axis) => [axis.key, Object.fromEntries(counter.of(axis))]));
}

function axisValues(tool: CapabilityTool, { field }: FacetAxis): readonly string[] {
  return field === 'health' ? [healthLevelOf(toolHealthWire(tool.health).tool)] : valuesOn(valueOf(tool, field));
}
