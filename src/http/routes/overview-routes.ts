import type { CapabilityTool } from '../../capability/state/capability-items.js';
import { parsePersonas } from '../../capability/manifest/persona.js';
import { inSlices, type Work } from '../../core/clock.js';
import type { CapabilitySummary } from '../../capability/wire-types.js';
import { contentAnswer } from '../answers/answer.js';
import { listStart } from '../answers/list-json.js';
import { PAGE_PARAMETERS, pageOf } from '../query/page-of.js';
import type { Parameter } from '../query/parameter.js';
import { compatibilityFor, ONE_PERSONA, PERSONA, personasAsked } from '../query/personas.js';
import { listSchema, openObject } from './content-schemas.js';
import { FINDING_FIELDS } from './findings.js';
import { NO_PARAMETERS, type Route } from './route.js';

export const summaryRoute: Route = {
  path: '/summary',
  summary: 'Everything a persona, or everyone, can do: tools, skills, tasks and jobs with their health.',
  parameters: new Map([['persona', ONE_PERSONA]]),
  content: openObject(['revision', 'persona', 'tools', 'skills', 'tasks', 'jobs']),
  answer: async ({ capabilities, asked, conditions }) => {
    const persona = asked.one<string>('persona');
    const summary = await capabilities.summaryInSlices(persona === undefined ? {} : { persona });
    return contentAnswer(await inSlices(written(summary)), conditions);
  },
};

function* written({ revision, persona, tools, ...work }: CapabilitySummary): Work<string> {
  const items: string[] = [];
  for (const tool of tools) {
    yield;
    // Configurations of providers may hold credentials.
    const providers = tool.providers.map(({ name, priority, health_check_interval }) => ({ name, priority, health_check_interval }));
    items.push(JSON.stringify({ ...tool, providers }));
  }
  return `${JSON.stringify({ revision, persona }).slice(0, -1)},"tools":[${items.join(',')}],${JSON.stringify(work).slice(1)}`;
}

export const findingsRoute: Route = {
  path: '/findings',
  summary: 'What to fix, page by page: entries of manifests that were left out or have broken references, and findings of lint. Errors first; within a severity those of manifests first, then shared ones, then by persona and name.',
  parameters: new Map<string, Parameter>([['persona', PERSONA], ...PAGE_PARAMETERS]),
  content: listSchema('findings', [...FINDING_FIELDS, 'compatibility'], {
    severities: { type: 'object', description: 'Items on all pages, by severity.', additionalProperties: { type: 'integer', minimum: 0 } },
  }),
  answer: async ({ findings, asked, query, path, conditions }) => {
    const { revision, found, severities } = await findings.of(parsePersonas(asked.all<string>('persona')));
    const page = pageOf(found, asked, revision);
    const personas = personasAsked(asked);
    const items = page.items.map(({ finding, allowlist }) => JSON.stringify({ ...finding, compatibility: compatibilityFor(personas, finding.persona, allowlist) }));
    return contentAnswer(`${listStart({ name: 'findings', path, query, total: found.length, revision, page })}${items.join(',')}],"severities":${JSON.stringify(severities)}}`, conditions);
  },
};

export const healthRoute: Route = {
  path: '/health',
  summary: 'Whether the catalogue answers, how much is in it, how many problems its files and sources have (/findings lists them, beside those of lint), and which of its tools went on working after their calls were answered, the worst first.',
  parameters: NO_PARAMETERS,
  content: openObject(['status', 'revision', 'tools', 'skills', 'jobs', 'problems', 'abandoned']),
  answer: async ({ capabilities, conditions }) => {
    const { revision, findings } = capabilities;
    const tools = capabilities.tools();
    // Files and sources that cannot be read are served as last read.
    const status = findings.some(({ kind, severity }) => kind === 'unreadable' && severity === 'error') ? 'degraded' : 'ok';
    const counts = { tools: tools.length, skills: capabilities.skills().length, jobs: capabilities.jobs().length, problems: findings.length };
    return contentAnswer(JSON.stringify({ status, revision, ...counts, abandoned: await inSlices(abandonedBy(tools)) }), conditions);
  },
};

/** The largest number of tools named in the health of the catalogue. */
const MOST_NAMED = 20;

function* abandonedBy(tools: readonly CapabilityTool[]): Work<{ readonly calls: number; readonly tools: readonly object[] }> {
  const counted: { readonly name: string; readonly persona: string | null; readonly calls: number }[] = [];
  for (const { name, owner: persona, health } of tools) {
    yield;
    const calls = health.tool.abandoned ?? 0;
    if (calls > 0) counted.push({ name, persona, calls });
  }
  return { calls: counted.reduce((sum, { calls }) => sum + calls, 0), tools: counted.sort((a, b) => b.calls - a.calls).slice(0, MOST_NAMED) };
}
