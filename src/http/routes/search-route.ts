import type { Parameter } from '../query/parameter.js';
import { text, wholeBetween, wrongParameter } from '../query/parameter.js';
import { contentAnswer } from '../answers/answer.js';
import { TOOL_FILTER_PARAMETERS, toolsOf, wantedTools } from '../query/tool-parameters.js';
import { openObject } from './content-schemas.js';
import type { Route } from './route.js';
import { ONE_PERSONA } from './tool-routes.js';

const LONGEST_REQUEST = 8_192;
const MOST_RESULTS = 200;
const USUAL_RESULTS = 10;

const FILTERS: ReadonlySet<string> = new Set(TOOL_FILTER_PARAMETERS.map(([name]) => name));

export const searchRoute: Route = {
  path: '/search',
  summary: 'The tools that fit a request, the best first, each with the words it was found by, where they stand, and its score.',
  parameters: new Map<string, Parameter>([
    ['q', text('The request, in the words of whoever asks.', { repeatable: false, longest: LONGEST_REQUEST })],
    ['persona', ONE_PERSONA],
    ['limit', wholeBetween(1, MOST_RESULTS, USUAL_RESULTS, 'At most so many tools.')],
    ...TOOL_FILTER_PARAMETERS,
  ]),
  content: openObject(['query', 'persona', 'count', 'revision', 'results']),
  answer: ({ capabilities, asked, query, conditions }) => {
    const request = asked.one<string>('q');
    if (request === undefined) throw wrongParameter('q', 'a text to search for', query === '' ? 'no parameters' : 'none');
    const persona = asked.one<string>('persona');
    const limit = asked.one<number>('limit') ?? USUAL_RESULTS;
    const results = capabilities.registryFor(persona).search(request, { limit, ...filterFor(capabilities, asked) });
    const found = results.map(({ toolName, score, matches, corrections, usage, explanation }) => {
      const tool = capabilities.tool(toolName, persona);
      return {
        name: toolName,
        persona: tool?.owner ?? null,
        description: tool?.entry.description ?? '',
        score,
        matches,
        corrections: corrections.map(({ word, readAs }) => ({ word, read_as: readAs })),
        usage,
        explanation,
      };
    });
    const truncated = results.some((result) => result.truncated);
    return contentAnswer(JSON.stringify({ query: request, persona: persona ?? null, count: found.length, revision: capabilities.revision, truncated, results: found }), conditions);
  },
};

type SearchRequest = Parameters<Route['answer']>[0];

function filterFor(capabilities: SearchRequest['capabilities'], asked: SearchRequest['asked']) {
  if (!asked.names.some((name) => FILTERS.has(name))) return {};
  const entries = new Set(toolsOf(capabilities, wantedTools(asked)).map(({ entry }) => entry));
  return { filter: (entry: Parameters<typeof entries.has>[0]) => entries.has(entry) };
}
