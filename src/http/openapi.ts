import packageJson from '../../package.json' with { type: 'json' };
import { z } from 'zod';
import type { Route } from './routes.js';

type JsonSchema = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const ERROR = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: { code: text, message: text, parameter: text, expected: text, found: text },
      required: ['code', 'message'],
    },
  },
};

/** A route as described: the catalogue's routes are all GET. */
type Described = Omit<Route, 'answer'> & {
  readonly method?: string;
  readonly role?: string;
  readonly body?: z.ZodType | undefined;
};

/**
 * Returns the OpenAPI 3.1 description of the catalogue, generated from the schemas that parse
 * requests.
 */
export function openApiOf(routes: readonly Described[], needsToken: boolean) {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes)
    (paths[route.path.replace(PARAMETER, '{$1}')] ??= {})[route.method ?? 'get'] =
      operationOf(route);
  for (const [path, summary] of Object.entries(PROBES)) paths[path] = { get: probe(summary) };
  return {
    openapi: '3.1.0',
    info: {
      title: 'tooldex',
      version: packageJson.version,
      description: 'The tools, skills and jobs of agents, with their rights, costs and health.',
    },
    paths: { ...paths, '/events': { get: EVENTS }, '/openapi.json': { get: SELF } },
    components: {
      schemas: { Error: ERROR },
      ...(needsToken && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(needsToken && { security: [{ bearer: [] }] }),
  };
}

const PARAMETER = /:(\w+)/;
const PROBES = {
  '/healthz': 'Responds if the server is running.',
  '/livez': 'Responds if the server is running.',
  '/readyz': 'Responds if the state store also responds.',
};

function probe(summary: string) {
  return { summary, security: [], responses: { 200: ok('The answer.') } };
}

const SELF = { summary: 'Returns this description.', responses: { 200: ok('The answer.') } };
const EVENTS = {
  summary:
    'Streams changes as server-sent events: `ready` at the start, then `change` for each new revision.',
  responses: {
    200: {
      description: 'The stream.',
      content: contentOf('text/event-stream', text),
    },
    503: failure('Too many clients are already listening.'),
  },
};

function operationOf({ path, about, method = 'get', role, body, query }: Described) {
  const [, inPath] = PARAMETER.exec(path) ?? [];
  const { parameters, required } = query;
  const inQuery = Object.entries<JsonSchema>(parameters).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      description,
      required: required.includes(name) && !('default' in schema),
      schema,
    }),
  );
  const named = { name: inPath, in: 'path', required: true, schema: text };
  const isRefusable = role !== undefined && role !== 'view';
  return {
    summary: about,
    ...(role !== undefined && { description: `Needs a token with the role \`${role}\`.` }),
    parameters: [...(inPath === undefined ? [] : [named]), ...inQuery],
    ...(body && {
      requestBody: { content: contentOf('application/json', z.toJSONSchema(body, BODY)) },
    }),
    responses: {
      200: {
        ...ok('The answer.'),
        ...(method === 'get' && { headers: { ETag: { schema: text } } }),
      },
      ...(method === 'get' && {
        304: { description: 'The content still matches the ETag in If-None-Match.' },
      }),
      400: failure('An unknown parameter, or an invalid value.'),
      ...(isRefusable && { 403: failure("The token doesn't have the role.") }),
      ...((inPath !== undefined || 'persona' in parameters) && {
        404: failure('Nothing has this name or id, or the persona is unknown.'),
      }),
      ...(path.startsWith('/pending/') && {
        409: failure('The call has changed, or somebody has already answered it.'),
      }),
    },
  };
}

const BODY = { io: 'input', unrepresentable: 'any' } as const;

function ok(description: string) {
  return { description, content: contentOf('application/json', { type: 'object' }) };
}

function failure(description: string) {
  return {
    description,
    content: contentOf('application/json', { $ref: '#/components/schemas/Error' }),
  };
}

function contentOf(type: string, schema: object) {
  return { [type]: { schema } };
}
