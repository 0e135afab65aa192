import type { JobQuery, SkillQuery } from '../../capability/capability-query.js';
import { jobFields, skillFields } from '../../capability/capability-summary.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTool,
} from '../../capability/state/capability-items.js';
import type { CapabilitySummary } from '../../capability/wire-types.js';
import { contentAnswer, LIST_END, listStart, type Answer } from '../answers/answer.js';
import { picked } from '../answers/tool-json.js';
import type { ListedJob, ListedSkill } from '../answers/wire.js';
import { PAGE_PARAMETERS, pageOf } from '../query/page-of.js';
import { text, type Asked, type Parameter } from '../query/parameters.js';
import { compatibilityFor, ONE_PERSONA, PERSONA, personasAsked } from '../query/personas.js';
import {
  AVAILABLE,
  commonQuery,
  HEALTH_PARAMETERS,
  healthQuery,
} from '../query/tool-parameters.js';
import { listSchema, NO_PARAMETERS, openObject, type Route, type RouteRequest } from './route.js';

const TOOL = text('A tool that it needs; all of these.');
const REQUIRED_CAPABILITY = text('A capability that it requires; all of these.');

export const skillsRoute: Route = {
  path: '/skills',
  summary: 'The skills that meet all conditions, page by page.',
  parameters: new Map<string, Parameter>([
    ['persona', PERSONA],
    ['capability', text('A capability tag; all of these.')],
    ['required_capability', REQUIRED_CAPABILITY],
    ['tool', TOOL],
    ['available', AVAILABLE],
    ...PAGE_PARAMETERS,
  ]),
  content: listSchema('skills', [
    'name',
    'persona',
    'version',
    'capability_tags',
    'required_capabilities',
    'required_tools',
    'unresolved',
    'available',
    'compatibility',
  ]),
  answer: (request) => {
    const wanted: SkillQuery = {
      ...commonQuery(request.asked),
      ...lists(request.asked, [
        ['capability', 'capability'],
        ['required_capability', 'requiredCapability'],
        ['tool', 'tool'],
      ]),
    };
    return listAnswer('skills', request, request.capabilities.skills(wanted), skillWire);
  },
};

export const jobsRoute: Route = {
  path: '/jobs',
  summary:
    'The jobs that meet all conditions, page by page; with a persona those that it may schedule.',
  parameters: new Map<string, Parameter>([
    ['persona', PERSONA],
    ['skill', text('A skill that it needs; all of these.')],
    ['required_capability', REQUIRED_CAPABILITY],
    ['tool', TOOL],
    ['available', AVAILABLE],
    ...HEALTH_PARAMETERS,
    ...PAGE_PARAMETERS,
  ]),
  content: listSchema('jobs', [
    'name',
    'persona',
    'summary',
    'description',
    'personas',
    'required_skills',
    'required_tools',
    'required_capabilities',
    'unresolved',
    'available',
    'health',
    'compatibility',
  ]),
  answer: (request) => {
    const { asked, capabilities } = request;
    const wanted: JobQuery = {
      ...commonQuery(asked),
      ...healthQuery(asked),
      ...lists(asked, [
        ['skill', 'skill'],
        ['required_capability', 'requiredCapability'],
        ['tool', 'tool'],
      ]),
    };
    return listAnswer('jobs', request, capabilities.jobs(wanted), jobWire);
  },
};

function listAnswer<Item extends CapabilitySkill | CapabilityJob>(
  name: string,
  { capabilities, asked, query, path, conditions }: RouteRequest,
  items: readonly Item[],
  write: (item: Item) => object,
): Answer {
  const { revision } = capabilities;
  const personas = personasAsked(asked);
  const page = pageOf(items, asked, revision);
  const written = page.items.map((item) =>
    JSON.stringify({
      ...write(item),
      compatibility: compatibilityFor(
        personas,
        item.owner,
        'personas' in item ? item.personas : undefined,
      ),
    }),
  );
  return contentAnswer(
    `${listStart({ name, path, query, total: items.length, revision, page })}${written.join(',')}${LIST_END}`,
    conditions,
  );
}

function lists(
  asked: Asked,
  conditions: readonly (readonly [name: string, condition: string])[],
): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    conditions.flatMap(([name, condition]) => {
      const values = asked.all<string>(name);
      return values === undefined ? [] : [[condition, values]];
    }),
  );
}

export const summaryRoute: Route = {
  path: '/summary',
  summary:
    'Everything a persona, or everyone, can do: tools, skills, tasks and jobs with their health.',
  parameters: new Map([['persona', ONE_PERSONA]]),
  content: openObject(['revision', 'persona', 'tools', 'skills', 'tasks', 'jobs']),
  answer: ({ capabilities, asked, conditions }) => {
    const persona = asked.one<string>('persona');
    const summary = capabilities.summary(persona === undefined ? {} : { persona });
    return contentAnswer(written(summary), conditions);
  },
};

function written({ revision, persona, tools, ...work }: CapabilitySummary): string {
  const items = tools.map((tool) => {
    // Configurations of providers may hold credentials.
    const providers = tool.providers.map(({ name, priority, health_check_interval }) => ({
      name,
      priority,
      health_check_interval,
    }));
    return JSON.stringify({ ...tool, providers });
  });
  return `${JSON.stringify({ revision, persona }).slice(0, -1)},"tools":[${items.join(',')}],${JSON.stringify(work).slice(1)}`;
}

export const healthRoute: Route = {
  path: '/health',
  summary:
    'Whether the catalogue answers, how much is in it, how many problems its files and sources have (/findings lists them, beside those of lint), and which of its tools went on working after their calls were answered, the worst first.',
  parameters: NO_PARAMETERS,
  content: openObject(['status', 'revision', 'tools', 'skills', 'jobs', 'problems', 'abandoned']),
  answer: ({ capabilities, conditions }) => {
    const { revision, findings } = capabilities;
    const tools = capabilities.tools();
    // Files and sources that cannot be read are served as last read.
    const status = findings.some(
      ({ kind, severity }) => kind === 'unreadable' && severity === 'error',
    )
      ? 'degraded'
      : 'ok';
    const counts = {
      tools: tools.length,
      skills: capabilities.skills().length,
      jobs: capabilities.jobs().length,
      problems: findings.length,
    };
    return contentAnswer(
      JSON.stringify({
        status,
        revision,
        ...counts,
        abandoned: abandonedBy(tools),
      }),
      conditions,
    );
  },
};

/** The largest number of tools named in the health of the catalogue. */
const MOST_NAMED = 20;

function abandonedBy(tools: readonly CapabilityTool[]): {
  readonly calls: number;
  readonly tools: readonly object[];
} {
  const counted: {
    readonly name: string;
    readonly persona: string | null;
    readonly calls: number;
  }[] = [];
  for (const { name, owner: persona, health } of tools) {
    const calls = health.tool.abandoned ?? 0;
    if (calls > 0) counted.push({ name, persona, calls });
  }
  return {
    calls: counted.reduce((sum, { calls }) => sum + calls, 0),
    tools: counted.sort((a, b) => b.calls - a.calls).slice(0, MOST_NAMED),
  };
}

/** Returns a skill as its file has it, and its state. */
function skillWire(skill: CapabilitySkill): ListedSkill {
  const { summary = null, category = null, instruction_prompt, safety_notes } = skill.manifest;
  return {
    ...skillFields(skill),
    summary,
    category,
    instruction_prompt,
    safety_notes,
    available: skill.available,
  };
}

/** Returns a job: the personas that may schedule it, its needs, and its health. */
function jobWire(job: CapabilityJob): ListedJob {
  const { task_graph: tasks, recurrence, acceptance_criteria } = job.manifest;
  return {
    ...jobFields(job),
    task_graph: tasks.map((task) => picked(task, ['task', 'depends_on', 'description'])),
    recurrence:
      picked(recurrence, ['frequency', 'interval', 'cron', 'timezone', 'start_date', 'end_date']) ??
      null,
    acceptance_criteria,
  };
}
