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
import { countFacets } from './facets.js';
import { findingFields, SEVERITIES, type Findings } from './findings.js';
import { pageOf } from './page-of.js';
import { compatibilityFor, mayCall } from './personas.js';
import {
  CAPABILITY,
  HEALTH,
  nearTo,
  ONE_PERSONA,
  PAGE,
  PERSONA,
  queryOf,
  REQUEST,
  REQUIRED_CAPABILITY,
  SKILL,
  TAG,
  TOOL_FILTERS,
  WORK,
  wrongParameter,
  type Query,
  type QueryFields,
} from './read-query.js';
import { toolKey, toolsOf } from './tools-of.js';
import { DETAIL_FIELDS, LIST_FIELDS, picked, wireDetail, wireTool } from './wire-tool.js';

/** The parts of a request that its response depends on. */
interface Asked<Fields extends QueryFields = QueryFields> {
  readonly catalogue: CapabilityRegistry;
  readonly findings: Findings;
  readonly query: z.output<z.ZodObject<Fields>>;
  /** The requesting personas, normalized for comparison. Empty if the request has no persona. */
  readonly personas: readonly string[];
  /** The path and query as the client sent them. The app may be mounted under another path. */
  readonly address: { readonly path: string; readonly query: string };
  /** The value of `:name` in the path. */
  readonly name: string;
}

/** A route of the catalogue. It parses, answers and describes requests. */
export interface Route {
  /** The path in Hono's syntax. */
  readonly path: string;
  readonly about: string;
  readonly query: Query;
  /** The schema of the response. */
  readonly content: z.ZodType;
  readonly answer: (asked: Asked) => object;
}

function route<Fields extends QueryFields>(
  path: string,
  about: string,
  fields: Fields,
  content: z.ZodType,
  answer: (asked: Asked<Fields>) => object,
): Route {
  const query = queryOf(fields) as unknown as Query;
  return { path, about, query, content, answer: answer as unknown as Route['answer'] };
}

const objectOf = (fields: readonly string[]) =>
  z.looseObject(Object.fromEntries(fields.map((field) => [field, z.unknown()])));
const count = () => z.int().min(0);

/** Returns the schema for a page of a list. Items have fewer fields if fewer were requested. */
const listOf = (name: string, fields: readonly string[], beside: z.ZodRawShape = {}) =>
  z.looseObject({
    count: count().describe('The number of items on this page.'),
    total: count().describe('The number of items on all pages.'),
    revision: count().describe('Increases with every change to the catalogue.'),
    changed: z.boolean().describe('True if the catalogue has changed since the first page.'),
    next: z.string().nullable().describe('The address of the next page.'),
    left_out: count().describe("The number of items that the requested personas don't have."),
    [name]: z.array(objectOf(fields).partial()),
    ...beside,
  });

const HIT_FIELDS = ['score', 'matches', 'corrections', 'explanation'];
const TOOL_PAGE = {
  q: REQUEST.optional().describe(
    "A request in the user's words. Returns only matching tools, best first, on a single page.",
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
          (value) => namesIn(value).every((name) => LIST_FIELDS.includes(name)),
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
 * Returns a function that returns the requested tools. It can ignore the filters of some
 * parameters.
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
    facts: {
      count: tools.length,
      total: foundOf().length,
      searched: meant(...FILTER_NAMES).length,
      truncated: hits.some((hit) => hit.truncated),
      ...(query['facets'] === true && countFacets(query, foundOf)),
    },
  };
}

function wireFor({ personas }: Pick<Asked, 'personas'>, tool: CapabilityTool) {
  return wireTool(tool, compatibilityFor(personas, tool.owner, tool.entry.personaAllowlist));
}

const toolsRoute = route(
  '/tools',
  "Lists tools page by page: shared tools first, then by persona and name. With a persona, it also lists shared tools that the persona's own replace; a search doesn't.",
  TOOL_PAGE,
  listOf('tools', LIST_FIELDS),
  (asked) => {
    const { catalogue, query, address } = asked;
    const { revision } = catalogue;
    const only = query.fields?.flatMap(namesIn);
    const shown = (tool: object) =>
      only === undefined ? tool : picked(tool, [...only, ...HIT_FIELDS]);
    const left_out = leftOut(asked, catalogue.tools.bind(catalogue));
    if (query.q !== undefined) {
      if (query.cursor !== undefined)
        throw wrongParameter('cursor', 'omitted for a search, which has one page', '');
      const { tools, facts } = ranked(asked, query.q, query.limit);
      return { ...facts, revision, changed: false, next: null, left_out, tools: tools.map(shown) };
    }
    const meant = toolsMeant(asked, query.callable === true);
    const page = pageOf(meant(), query, revision, address);
    return {
      ...page.facts,
      left_out,
      ...(query.facets === true && {
        searched: meant(...FILTER_NAMES).length,
        ...countFacets(query, meant),
      }),
      tools: page.items.map((tool) => shown(wireFor(asked, tool))),
    };
  },
);

/** Returns the number of items omitted because the requested personas don't have them. */
function leftOut(
  { query: { persona } }: { readonly query: { readonly persona?: readonly string[] | undefined } },
  list: (query?: { readonly personas: readonly string[] }) => readonly unknown[],
): number {
  return persona === undefined ? 0 : list().length - list({ personas: persona }).length;
}

const toolRoute = route(
  '/tools/:name',
  'Returns everything about a tool.',
  ONE_PERSONA,
  objectOf([...LIST_FIELDS, ...DETAIL_FIELDS]),
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
 * Returns the tool with this name if only one persona has one. If several do, the client must
 * specify the persona.
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

const searchRoute = route(
  '/search',
  'Finds the tools that match a request, best first, with matched words and scores. With a persona, finds only tools that it may call.',
  {
    q: REQUEST.describe("The request in the user's words."),
    ...TOOL_FILTERS,
    limit: PAGE.limit.default(10),
  },
  objectOf(['query', 'persona', 'count', 'total', 'searched', 'revision', 'results']),
  (asked) => {
    const { catalogue, query, personas } = asked;
    const { tools, facts } = ranked(asked, query.q, query.limit);
    const persona = personas.length === 1 ? query.persona![0] : null;
    return { query: query.q, persona, ...facts, revision: catalogue.revision, results: tools };
  },
);

/** Returns a page of skills, tasks or jobs. */
function workAnswer<Item extends CapabilitySkill | CapabilityTask | CapabilityJob>(
  name: string,
  asked: Asked<typeof PERSONA & typeof PAGE>,
  list: (query?: { readonly personas: readonly string[] }) => readonly Item[],
  items: readonly Item[],
  wire: (item: Item) => object,
) {
  const { catalogue, query, personas, address } = asked;
  const page = pageOf(items, query, catalogue.revision, address);
  const written = page.items.map((item) => ({
    ...wire(item),
    available: item.available,
    compatibility: compatibilityFor(
      personas,
      item.owner,
      'personas' in item ? item.personas : undefined,
    ),
  }));
  return { ...page.facts, left_out: leftOut(asked, list), [name]: written };
}

const WORK_FIELDS = [
  'name',
  'persona',
  'required_tools',
  'unresolved',
  'available',
  'compatibility',
];

const skillsRoute = route(
  '/skills',
  'Lists skills page by page.',
  { ...WORK, ...CAPABILITY, ...REQUIRED_CAPABILITY },
  listOf('skills', [...WORK_FIELDS, 'version', 'capability_tags', 'required_capabilities']),
  (asked) => {
    const { persona: personas, tool, available, capability, required_capability } = asked.query;
    const list = asked.catalogue.skills.bind(asked.catalogue);
    const wanted = given({
      personas,
      tool,
      available,
      capability,
      requiredCapability: required_capability,
    });
    return workAnswer('skills', asked, list, list(wanted), (skill) => {
      const { summary = null, category = null, instruction_prompt, safety_notes } = skill.manifest;
      return { ...skillFields(skill), summary, category, instruction_prompt, safety_notes };
    });
  },
);

const tasksRoute = route(
  '/tasks',
  'Lists tasks page by page.',
  { ...WORK, ...SKILL, ...TAG },
  listOf('tasks', [...WORK_FIELDS, 'summary', 'required_skills', 'tags']),
  (asked) => {
    const { persona: personas, tool, available, skill, tag } = asked.query;
    const list = asked.catalogue.tasks.bind(asked.catalogue);
    const wanted = given({ personas, tool, available, skill, tag });
    return workAnswer('tasks', asked, list, list(wanted), taskFields);
  },
);

const jobsRoute = route(
  '/jobs',
  'Lists jobs page by page. With a persona, lists only jobs that it may schedule.',
  { ...WORK, ...SKILL, ...REQUIRED_CAPABILITY, ...HEALTH },
  listOf('jobs', [
    ...WORK_FIELDS,
    ...['summary', 'description', 'personas', 'required_skills', 'required_capabilities', 'health'],
  ]),
  (asked) => {
    const { persona: personas, tool, available, skill, ...query } = asked.query;
    const list = asked.catalogue.jobs.bind(asked.catalogue);
    const wanted = given({
      ...{ personas, tool, available, skill },
      requiredCapability: query.required_capability,
      minSuccessRate: query.min_success_rate,
      requireCalls: query.require_calls,
    });
    return workAnswer('jobs', asked, list, list(wanted), (job) => {
      const { task_graph: tasks, recurrence, acceptance_criteria } = job.manifest;
      return {
        ...jobFields(job),
        task_graph: tasks.map((task) => picked(task, ['task', 'depends_on', 'description'])),
        recurrence:
          picked(recurrence, [
            'frequency',
            'interval',
            'cron',
            'timezone',
            'start_date',
            'end_date',
          ]) ?? null,
        acceptance_criteria,
      };
    });
  },
);

type Given<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Returns the conditions that have a value. */
function given<T extends object>(conditions: T): Given<T> {
  return Object.fromEntries(
    Object.entries(conditions).filter(([, value]) => value !== undefined),
  ) as Given<T>;
}

const summaryRoute = route(
  '/summary',
  'Returns all tools, skills, tasks and jobs of a persona, or of everyone, with their health.',
  ONE_PERSONA,
  objectOf(['revision', 'persona', 'tools', 'skills', 'tasks', 'jobs']),
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

const findingsRoute = route(
  '/findings',
  'Lists things to fix page by page: invalid manifest entries, dangling references, and lint findings. Errors come first.',
  { ...PERSONA, ...PAGE },
  listOf('findings', [...findingFields, 'compatibility'], {
    severities: z
      .record(z.string(), count())
      .describe('The number of items on all pages, by severity.'),
  }),
  ({ catalogue, findings, query, personas, address }) => {
    const all = findings();
    const found = query.persona === undefined ? all : findings(query.persona);
    const { items, facts } = pageOf(found, query, catalogue.revision, address);
    const countOf = (severity: string) =>
      found.filter(({ finding }) => finding.severity === severity).length;
    return {
      ...facts,
      left_out: all.length - found.length,
      findings: items.map(({ finding, allowlist }) => ({
        ...finding,
        compatibility: compatibilityFor(personas, finding.persona, allowlist),
      })),
      severities: Object.fromEntries(SEVERITIES.map((severity) => [severity, countOf(severity)])),
    };
  },
);

/** Maximum number of tools listed in `/health`. */
const MOST_NAMED = 20;

const healthRoute = route(
  '/health',
  'Reports whether the catalogue is up, how many items it has, how many problems its files and sources have (/findings lists them, together with lint findings), and which tools kept running after their calls had been answered, worst first.',
  {},
  objectOf([
    'status',
    'revision',
    'personas',
    'tools',
    'skills',
    'tasks',
    'jobs',
    'problems',
    'abandoned',
  ]),
  ({ catalogue }) => {
    const { revision, personas, findings } = catalogue;
    const tools = catalogue.tools();
    const abandoned = tools
      .map(({ name, owner, health }) => ({
        name,
        persona: owner,
        calls: health.tool.abandoned ?? 0,
      }))
      .filter(({ calls }) => calls > 0)
      .sort((a, b) => b.calls - a.calls);
    // If a file or source can't be read, its last content is served.
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
      abandoned: {
        calls: abandoned.reduce((sum, { calls }) => sum + calls, 0),
        tools: abandoned.slice(0, MOST_NAMED),
      },
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
