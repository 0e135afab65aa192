import type { JobQuery, SkillQuery } from '../../capability/capability-query.js';
import { contentAnswer } from '../answers/answer.js';
import { LIST_END, listStart } from '../answers/list-json.js';
import { PAGE_PARAMETERS, pageOf } from '../query/page-of.js';
import { text, type Parameter } from '../query/parameter.js';
import type { Asked } from '../query/read-parameters.js';
import { compatibilityFor, PERSONA, personasAsked } from '../query/personas.js';
import { AVAILABLE, commonQuery, HEALTH_PARAMETERS, healthQuery } from '../query/tool-parameters.js';
import { jobWire, skillWire } from '../wire/work-wire.js';
import { listSchema } from './content-schemas.js';
import type { Route } from './route.js';

const TOOL = text('A tool that it needs; all of these.');
const REQUIRED_CAPABILITY = text('A capability that it requires; all of these.');

export const skillsRoute: Route = {
  path: '/skills',
  summary: 'The skills that meet all conditions, page by page.',
  parameters: new Map<string, Parameter>([['persona', PERSONA], ['capability', text('A capability tag; all of these.')], ['required_capability', REQUIRED_CAPABILITY], ['tool', TOOL], ['available', AVAILABLE], ...PAGE_PARAMETERS]),
  content: listSchema('skills', ['name', 'persona', 'version', 'capability_tags', 'required_capabilities', 'required_tools', 'unresolved', 'available', 'compatibility']),
  answer: ({ capabilities, asked, query, path, conditions }) => {
    const wanted: SkillQuery = { ...commonQuery(asked), ...lists(asked, [['capability', 'capability'], ['required_capability', 'requiredCapability'], ['tool', 'tool']]) };
    const { revision } = capabilities;
    const personas = personasAsked(asked);
    const found = capabilities.skills(wanted);
    const page = pageOf(found, asked, revision);
    const start = listStart({ name: 'skills', path, query, total: found.length, revision, page });
    return contentAnswer(`${start}${page.items.map((skill) => JSON.stringify({ ...skillWire(skill), compatibility: compatibilityFor(personas, skill.owner, undefined) })).join(',')}${LIST_END}`, conditions);
  },
};

export const jobsRoute: Route = {
  path: '/jobs',
  summary: 'The jobs that meet all conditions, page by page; with a persona those that it may schedule.',
  parameters: new Map<string, Parameter>([['persona', PERSONA], ['skill', text('A skill that it needs; all of these.')], ['required_capability', REQUIRED_CAPABILITY], ['tool', TOOL], ['available', AVAILABLE], ...HEALTH_PARAMETERS, ...PAGE_PARAMETERS]),
  content: listSchema('jobs', ['name', 'persona', 'summary', 'description', 'personas', 'required_skills', 'required_tools', 'required_capabilities', 'unresolved', 'available', 'health', 'compatibility']),
  answer: ({ capabilities, asked, query, path, conditions }) => {
    const wanted: JobQuery = { ...commonQuery(asked), ...healthQuery(asked), ...lists(asked, [['skill', 'skill'], ['required_capability', 'requiredCapability'], ['tool', 'tool']]) };
    const { revision } = capabilities;
    const personas = personasAsked(asked);
    const found = capabilities.jobs(wanted);
    const page = pageOf(found, asked, revision);
    const start = listStart({ name: 'jobs', path, query, total: found.length, revision, page });
    return contentAnswer(`${start}${page.items.map((job) => JSON.stringify({ ...jobWire(job), compatibility: compatibilityFor(personas, job.owner, job.personas) })).join(',')}${LIST_END}`, conditions);
  },
};

function lists(asked: Asked, conditions: readonly (readonly [name: string, condition: string])[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    conditions.flatMap(([name, condition]) => {
      const values = asked.all<string>(name);
      return values === undefined ? [] : [[condition, values]];
    }),
  );
}
