import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { describeValue } from '../../core/plain-data.js';
import { contentAnswer, LIST_END, listStart, piecesAnswer } from '../answers/answer.js';
import { DETAIL_FIELDS, LIST_FIELDS } from '../answers/tool-json.js';
import type { Catalogue } from '../query/callers-catalogue.js';
import { PAGE_PARAMETERS, pageOf } from '../query/page-of.js';
import { namesOf, nearTo, wrongParameter } from '../query/parameters.js';
import { ONE_PERSONA, PERSONA, personasAsked } from '../query/personas.js';
import { TOOL_FILTER_PARAMETERS, toolsOf, wantedTools } from '../query/tool-parameters.js';
import { listSchema, openObject, type Route } from './route.js';

export const toolsRoute: Route = {
  path: '/tools',
  summary:
    'The tools that meet all conditions, page by page: shared ones first, then by persona and name. With a persona also the shared ones that its own replace, which a search does not find.',
  parameters: new Map([
    ['persona', PERSONA],
    ...TOOL_FILTER_PARAMETERS,
    ...PAGE_PARAMETERS,
    ['fields', namesOf(LIST_FIELDS, 'Only these fields, separated by commas.')],
  ]),
  content: listSchema('tools', LIST_FIELDS),
  answer: ({ capabilities, tools, asked, query, path, conditions }) => {
    const { revision } = capabilities;
    const found = toolsOf(capabilities, wantedTools(asked));
    const page = pageOf(found, asked, revision);
    const start = listStart({ name: 'tools', path, query, total: found.length, revision, page });
    const personas = personasAsked(asked);
    const fields = asked.all<readonly string[]>('fields');
    if (fields === undefined)
      return piecesAnswer(
        start,
        page.items.map((tool) => tools.write(tool, personas)),
        LIST_END,
        conditions,
      );
    const chosen = [...new Set(fields.flat())];
    return contentAnswer(
      `${start}${page.items.map((tool) => tools.writeFields(tool, chosen, personas)).join(',')}${LIST_END}`,
      conditions,
    );
  },
};

export const toolRoute: Route = {
  path: '/tools/:name',
  summary: 'Everything known of one tool.',
  parameters: new Map([['persona', ONE_PERSONA]]),
  content: openObject([...LIST_FIELDS, ...DETAIL_FIELDS]),
  answer: ({ capabilities, tools, asked, name, conditions }) => {
    const persona = asked.one<string>('persona');
    const tool =
      capabilities.tool(name, persona) ??
      (persona === undefined ? onlyTool(capabilities, name) : undefined);
    if (tool === undefined) {
      const seen = capabilities
        .tools(persona === undefined ? {} : { personas: [persona] })
        .map((each) => each.name);
      throw new ToolError(
        'TOOL_NOT_FOUND',
        expectedGot(
          `the name of a tool${persona === undefined ? '' : ` of ${describeValue(persona)} or a shared one`}`,
          describeValue(name),
          nearTo(name, seen),
        ),
      );
    }
    return contentAnswer(tools.writeDetail(tool, personasAsked(asked)), conditions);
  },
};

/** Returns the only persona's tool of this name; if there are several, the client must name one. */
function onlyTool(capabilities: Catalogue, name: string): CapabilityTool | undefined {
  const owned = capabilities.tools({ filter: { name } });
  if (owned.length > 1)
    throw wrongParameter(
      'persona',
      `one of ${owned.map(({ owner }) => owner).join(', ')}, who each have a tool of this name`,
      undefined,
    );
  return owned[0];
}
