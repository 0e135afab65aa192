import { parsePersonas } from '../../capability/query/persona-filter.js';
import { contentAnswer, JSON_TYPE, taggedAnswer } from '../answers/answer.js';
import { ONE_PERSONA, PERSONA, personasAsked } from '../query/personas.js';
import { openObject } from './content-schemas.js';
import { NO_PARAMETERS, type Route } from './route.js';

export const summaryRoute: Route = {
  path: '/summary',
  summary: 'Everything a persona, or everybody, can do: tools, skills, tasks and jobs with their health.',
  parameters: new Map([['persona', ONE_PERSONA]]),
  content: openObject(['revision', 'persona', 'tools', 'skills', 'tasks', 'jobs']),
  answer: ({ capabilities, asked, conditions }) => {
    const persona = asked.one<string>('persona');
    const summary = capabilities.summary(persona === undefined ? {} : { persona });
    // Configurations of providers may hold credentials.
    const tools = summary.tools.map((tool) => ({ ...tool, providers: tool.providers.map(({ name, priority, health_check_interval }) => ({ name, priority, health_check_interval })) }));
    return contentAnswer(JSON.stringify({ ...summary, tools }), conditions);
  },
};

export const findingsRoute: Route = {
  path: '/findings',
  summary: 'What to fix: entries of manifests that were left out or refer to what is not there, and what lint says of the tools.',
  parameters: new Map([['persona', PERSONA]]),
  content: openObject(['count', 'total', 'revision', 'findings']),
  answer: async ({ findings: looked, asked, conditions }) => {
    const { body, etag } = await looked.write(parsePersonas(asked.all<string>('persona')), personasAsked(asked));
    return taggedAnswer(body, etag, JSON_TYPE, conditions);
  },
};

export const healthRoute: Route = {
  path: '/health',
  summary: 'Whether the catalogue answers, and how much is in it.',
  parameters: NO_PARAMETERS,
  content: openObject(['status', 'revision', 'tools', 'skills', 'jobs', 'findings']),
  answer: ({ capabilities, conditions }) => {
    const { revision, findings } = capabilities;
    // What cannot be read now is served as it was read last.
    const status = findings.some(({ kind, severity }) => kind === 'unreadable' && severity === 'error') ? 'degraded' : 'ok';
    return contentAnswer(JSON.stringify({ status, revision, tools: capabilities.tools().length, skills: capabilities.skills().length, jobs: capabilities.jobs().length, findings: findings.length }), conditions);
  },
};
