import { ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import { contentAnswer } from '../answers/answer.js';
import { piecesAnswer } from '../answers/json-pieces.js';
import { LIST_END, listStart } from '../answers/list-json.js';
import { PAGE_PARAMETERS, pageOf } from '../query/page-of.js';
import { namesOf, text, type Parameter } from '../query/parameter.js';
import { PERSONA, TOOL_FILTER_PARAMETERS, toolsOf, wantedTools } from '../query/tool-parameters.js';
import { DETAIL_FIELDS, LIST_FIELDS } from '../wire/tool-json.js';
import { listSchema, openObject } from './content-schemas.js';
import type { Route } from './route.js';

const persona = text('For whom: a persona, which sees its own in place of what is shared.', { repeatable: false });
export const ONE_PERSONA: Parameter<string> = {
  ...persona,
  expected: `the name of one persona (filters such as -shared are for lists): ${persona.expected}`,
  read: (value) => (/^\s*[-!]|,/.test(value) ? undefined : persona.read(value)),
};

export const toolsRoute: Route = {
  path: '/tools',
  summary: 'The tools that meet all conditions, page by page: what is shared first, then by persona and name.',
  parameters: new Map([['persona', PERSONA], ...TOOL_FILTER_PARAMETERS, ...PAGE_PARAMETERS, ['fields', namesOf(LIST_FIELDS, 'Only these fields, separated by commas.')]]),
  content: listSchema('tools', LIST_FIELDS),
  answer: ({ capabilities, tools, asked, query, path, conditions }) => {
    const { revision } = capabilities;
    const found = toolsOf(capabilities, wantedTools(asked));
    const page = pageOf(found, asked, revision);
    const start = listStart({ name: 'tools', path, query, total: found.length, revision, page });
    const fields = asked.all<readonly string[]>('fields');
    if (fields === undefined) return piecesAnswer(start, page.items.map((tool) => tools.write(tool)), LIST_END, conditions);
    const chosen = [...new Set(fields.flat())];
    return contentAnswer(`${start}${page.items.map((tool) => tools.writeFields(tool, chosen)).join(',')}${LIST_END}`, conditions);
  },
};

export const toolRoute: Route = {
  path: '/tools/:name',
  summary: 'Everything known of one tool.',
  parameters: new Map([['persona', ONE_PERSONA]]),
  content: openObject([...LIST_FIELDS, ...DETAIL_FIELDS]),
  answer: ({ capabilities, tools, asked, name, conditions }) => {
    const persona = asked.one<string>('persona');
    const tool = capabilities.tool(name, persona);
    if (tool === undefined) throw new ToolError('TOOL_NOT_FOUND', `Expected the name of a tool ${persona === undefined ? 'that is shared (persona= asks for those of a persona)' : `of ${describeValue(persona)} or shared`}, found ${describeValue(name)}`);
    return contentAnswer(tools.writeDetail(tool), conditions);
  },
};
