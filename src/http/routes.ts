import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { jobFields, skillFields, taskFields } from '../capability/capability-summary.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
} from '../capability/state/capability-items.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { countBy, countFacets } from './facets.js';
import { SEVERITIES } from './findings.js';
import { compatibilityFor, mayCall } from './personas.js';
import { get, type Asked, type Route } from './route.js';
import {
  HEALTH,
  labels,
  nearTo,
  ONE_PERSONA,
  PAGE,
  PERSONA,
  REQUEST,
  TOOL_FILTERS,
  WORK,
  wrongParameter,
  type QueryFields,
} from './read-query.js';
import { conditionsOf, toolKey, toolsOf } from './tools-of.js';
import { LIST_FIELDS, picked, wireDetail, wireTool } from './wire-tool.js';

/** Returns the requested page of a list, and facts about the whole list. */
function pageOf<Item>(items: readonly Item[], asked: Asked<typeof PAGE>) {
  const { limit, offset } = asked.query;
  const page = items.slice(offset, offset + limit);
  return { page, facts: { count: page.length, ...totalOf(items.length, asked) } };
}

function totalOf(total: number, { query, catalogue, address }: Asked<typeof PAGE>) {
  const end = query.offset + query.limit;
  const parameters = new URLSearchParams(address.query);
  parameters.set('offset', String(end));
  const next = end < total ? `${address.path}?${parameters.toString()}` : null;
  return { total, revision: catalogue.revision, next };
}

const HIT_FIELDS = ['score', 'matches', 'corrections', 'explanation'];
const TOOL_PAGE = {
  q: REQUEST.optional().describe(
    "A request in the user's words. Returns only matching tools, best first.",
  ),
  ...TOOL_FILTERS,
  callable: z
    .boolean()
    .optional()
    .describe(
      'If true, returns only tools that the personas may call: their own instead of shared tools with the same name. Searches always do this.',
    ),
  ...PAGE,
  fields: z
    .array(
      z
        .string()
        .refine(
          (value) =>
            namesIn(value).every((name) => (LIST_FIELDS as readonly string[]).includes(name)),
          `names of ${LIST_FIELDS.join(', ')}, separated by commas`,
        ),
    )
    .optional()
    .describe('The fields to return, separated by commas.'),
};

function namesIn(text: string): readonly string[] {
  return text.split(',').map((name) => name.trim());
}

/** The query parameters that filter tools, except the persona. */
const FILTER_NAMES = Object.keys(TOOL_FILTERS).filter((name) => name !== 'persona');

type AskedForTools = Pick<Asked, 'catalogue' | 'personas'> & {
  readonly query: Readonly<Record<string, unknown>>;
};

/**
 * Returns a function that returns the requested tools. The function's arguments are the query
 * parameters to ignore.
 */
function toolsMeant({ catalogue, personas, query }: AskedForTools, isCallable: boolean) {
  const fits = isCallable ? mayCall(catalogue, personas) : () => true;
  return (...without: readonly string[]): readonly CapabilityTool[] =>
    toolsOf(
      catalogue,
      Object.fromEntries(Object.entries(query).filter(([name]) => !without.includes(name))),
    ).filter(fits);
}

/** Returns the requested tools that best match a text, each with the words that matched. */
function ranked(asked: AskedForTools, text: string, limit: number) {
  const { catalogue, query } = asked;
  const meant = toolsMeant(asked, true);
  const wanted = new Set(meant().map(toolKey));
  const { hits, having } = catalogue.search(text, {
    limit,
    accepts: (tool) => wanted.has(toolKey(tool)),
  });
  const found = new Set(having.map(toolKey));
  const foundOf = (...without: readonly string[]) =>
    meant(...without).filter((tool) => found.has(toolKey(tool)));
  const tools = hits.map(({ tool, score, matches, corrections, explanation }) => ({
    ...wireFor(asked, tool),
    score,
    matches,
    corrections: corrections.map(({ word, readAs }) => ({ word, read_as: readAs })),
    explanation,
  }));
  return {
    tools,
    total: foundOf().length,
    facts: {
      searched: meant(...FILTER_NAMES).length,
      truncated: hits.some((hit) => hit.truncated),
      ...(query['facets'] === true && countFacets(query, foundOf)),
    },
  };
}

function wireFor({ personas }: Pick<Asked, 'personas'>, tool: CapabilityTool) {
  return wireTool(tool, compatibilityFor(personas, tool.owner, tool.entry.personaAllowlist));
}

const toolsRoute = get(
  '/tools',
  "Lists tools page by page: shared tools first, then by persona and name. If you pass a persona, the list includes shared tools that the persona's own tools replace. Search results don't include them.",
  TOOL_PAGE,
  (asked) => {
    const { query } = asked;
    const only = query.fields?.flatMap(namesIn);
    const shown = (tool: object) =>
      only === undefined ? tool : picked(tool, [...only, ...HIT_FIELDS]);
    if (query.q !== undefined) {
      const { tools, total, facts } = ranked(asked, query.q, query.offset + query.limit);
      const page = tools.slice(query.offset).map(shown);
      return { count: page.length, ...totalOf(total, asked), ...facts, tools: page };
    }
    const meant = toolsMeant(asked, query.callable === true);
    const { page, facts } = pageOf(meant(), asked);
    return {
      ...facts,
      ...(query.facets === true && {
        searched: meant(...FILTER_NAMES).length,
        ...countFacets(query, meant),
      }),
      tools: page.map((tool) => shown(wireFor(asked, tool))),
    };
  },
);

const toolRoute = get(
  '/tools/:name',
  'Returns everything about a tool.',
  ONE_PERSONA,
  ({ catalogue, query: { persona }, personas, name }) => {
    const tool =
      catalogue.tool(name, persona) ??
      (persona === undefined ? onlyTool(catalogue, name) : undefined);
    if (tool !== undefined) return { ...wireFor({ personas }, tool), ...wireDetail(tool) };
    const seen = catalogue.tools(persona === undefined ? {} : { personas: [persona] });
    throw new ToolError(
      'TOOL_NOT_FOUND',
      expectedGot(
        `the name of a tool${persona === undefined ? '' : ` of ${describeValue(persona)} or a shared one`}`,
        describeValue(name),
        nearTo(
          name,
          seen.map((each) => each.name),
        ),
      ),
    );
  },
);

/**
 * Returns the tool with this name if only one persona has such a tool. If several personas have a
 * tool with this name, the client must specify the persona.
 */
function onlyTool(catalogue: CapabilityRegistry, name: string): CapabilityTool | undefined {
  const owned = catalogue.tools({ filter: { name } });
  if (owned.length > 1)
    throw wrongParameter(
      'persona',
      `one of ${owned.map(({ owner }) => owner).join(', ')}, who each have a tool with this name`,
      undefined,
    );
  return owned[0];
}

const searchRoute = get(
  '/search',
  'Finds the tools that match a request, best first, with matched words and scores. With a persona, finds only tools that it may call.',
  {
    q: REQUEST.describe("The request in the user's words."),
    ...TOOL_FILTERS,
    limit: PAGE.limit.default(10),
  },
  (asked) => {
    const { catalogue, query, personas } = asked;
    const { tools, total, facts } = ranked(asked, query.q, query.limit);
    const persona = personas.length === 1 ? query.persona![0] : null;
    const { revision } = catalogue;
    return {
      query: query.q,
      persona,
      count: tools.length,
      total,
      revision,
      ...facts,
      results: tools,
    };
  },
);

type Work = CapabilitySkill | CapabilityTask | CapabilityJob;

/** Creates the route for skills, tasks or jobs. */
function workRoute<Item extends Work>(
  name: 'skills' | 'tasks' | 'jobs',
  about: string,
  fields: QueryFields,
  wire: (item: Item) => object,
): Route {
  return get(`/${name}`, about, { ...WORK, ...fields }, (asked) => {
    const items = asked.catalogue[name](conditionsOf(asked.query)) as readonly Work[];
    const { page, facts } = pageOf(items as readonly Item[], asked);
    const written = page.map((item) => ({
      ...wire(item),
      available: item.available,
      compatibility: compatibilityFor(
        asked.personas,
        item.owner,
        'personas' in item ? item.personas : undefined,
      ),
    }));
    return { ...facts, [name]: written };
  });
}

const SKILL = { skill: labels('A required skill. Repeat it to require several.') };
const REQUIRED_CAPABILITY = {
  required_capability: labels('A capability that items require. Repeat it to require several.'),
};

const skillsRoute = workRoute<CapabilitySkill>(
  'skills',
  'Lists skills page by page.',
  {
    capability: labels('A required capability tag. Repeat it to require several.'),
    ...REQUIRED_CAPABILITY,
  },
  (skill) => {
    const { summary = null, category = null, instruction_prompt, safety_notes } = skill.manifest;
    return { ...skillFields(skill), summary, category, instruction_prompt, safety_notes };
  },
);

const tasksRoute = workRoute<CapabilityTask>(
  'tasks',
  'Lists tasks page by page.',
  { ...SKILL, tag: labels('A required tag. Repeat it to require several.') },
  taskFields,
);

const RECURRENCE = ['frequency', 'interval', 'cron', 'timezone', 'start_date', 'end_date'];

const jobsRoute = workRoute<CapabilityJob>(
  'jobs',
  'Lists jobs page by page. With a persona, lists only jobs that it may schedule.',
  { ...SKILL, ...REQUIRED_CAPABILITY, ...HEALTH },
  (job) => {
    const { task_graph: tasks, recurrence, acceptance_criteria } = job.manifest;
    return {
      ...jobFields(job),
      task_graph: tasks.map((task) => picked(task, ['task', 'depends_on', 'description'])),
      recurrence: picked(recurrence, RECURRENCE) ?? null,
      acceptance_criteria,
    };
  },
);

const summaryRoute = get(
  '/summary',
  'Returns all tools, skills, tasks and jobs of a persona, or of everyone, with their health.',
  ONE_PERSONA,
  ({ catalogue, query: { persona } }) => {
    const { tools, ...rest } = catalogue.summary(persona === undefined ? {} : { persona });
    // Provider configurations may contain credentials.
    const shown = tools.map((tool) => ({
      ...tool,
      providers: tool.providers.map((each) =>
        picked(each, ['name', 'priority', 'health_check_interval']),
      ),
    }));
    return { ...rest, tools: shown };
  },
);

const findingsRoute = get(
  '/findings',
  'Lists things to fix page by page: invalid manifest entries, dangling references, and lint findings. Errors come first.',
  { ...PERSONA, ...PAGE },
  (asked) => {
    const { findings, query, personas } = asked;
    const found = findings(query.persona);
    const { page, facts } = pageOf(found, asked);
    return {
      ...facts,
      findings: page.map(({ finding, allowlist }) => ({
        ...finding,
        compatibility: compatibilityFor(personas, finding.persona, allowlist),
      })),
      severities: {
        ...Object.fromEntries(SEVERITIES.map((severity) => [severity, 0])),
        ...countBy(found, ({ finding }) => [finding.severity]),
      },
    };
  },
);

/** Maximum number of tools listed in `/health`. */
const MOST_NAMED = 20;

/** Returns the tools that kept running after their calls had been answered, worst first. */
function abandonedIn(tools: readonly CapabilityTool[]) {
  const found: { name: string; persona: string | null; calls: number }[] = [];
  let sum = 0;
  for (const { name, owner, health } of tools) {
    const { abandoned: calls = 0 } = health.tool;
    sum += calls;
    if (calls > 0) found.push({ name, persona: owner, calls });
  }
  return { calls: sum, tools: found.sort((a, b) => b.calls - a.calls).slice(0, MOST_NAMED) };
}

const healthRoute = get(
  '/health',
  'Reports whether the catalogue is up, how many items it has, how many problems its files and sources have (/findings lists them, together with lint findings), and which tools kept running after their calls had been answered, worst first.',
  {},
  ({ catalogue }) => {
    const { revision, personas, findings } = catalogue;
    const tools = catalogue.tools();
    // The catalogue still serves the last content of a file or source that can't be read.
    const isDegraded = findings.some(
      ({ kind, severity }) => kind === 'unreadable' && severity === 'error',
    );
    return {
      status: isDegraded ? 'degraded' : 'ok',
      revision,
      personas,
      tools: tools.length,
      skills: catalogue.skills().length,
      tasks: catalogue.tasks().length,
      jobs: catalogue.jobs().length,
      problems: findings.length,
      abandoned: abandonedIn(tools),
    };
  },
);

/** All routes that return JSON. */
export const ROUTES: readonly Route[] = [
  toolsRoute,
  toolRoute,
  searchRoute,
  skillsRoute,
  tasksRoute,
  jobsRoute,
  summaryRoute,
  findingsRoute,
  healthRoute,
];
