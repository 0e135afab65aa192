import packageJson from '../../package.json' with { type: 'json' };
import { z } from 'zod';
import type { Route } from './route.js';

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

/** The paths without a row in the table of routes. The probes need no token. */
const OTHERS = {
  '/healthz': operation('Responds if the server is running.', { security: [] }),
  '/livez': operation('Responds if the server is running.', { security: [] }),
  '/readyz': operation('Responds if the state store also responds.', { security: [] }),
  '/events': operation(
    'Streams changes as server-sent events: `ready` at the start, then `change` for each new revision.',
    {},
    'text/event-stream',
  ),
  '/openapi.json': operation('Returns this description.'),
};
const PARAMETER = /:(\w+)/;

/**
 * Returns the OpenAPI 3.1 description of the catalogue, generated from the schemas that parse
 * requests.
 */
export function openApiOf(routes: readonly Route[], needsToken: boolean) {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes)
    (paths[route.path.replace(PARAMETER, '{$1}')] ??= {})[route.method] = operationOf(route);
  for (const [path, get] of Object.entries(OTHERS)) paths[path] = { get };
  return {
    openapi: '3.1.0',
    info: {
      title: 'tooldex',
      version: packageJson.version,
      description: 'The tools, skills and jobs of agents, with their rights, costs and health.',
    },
    paths,
    components: {
      schemas: { Error: ERROR },
      ...(needsToken && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(needsToken && { security: [{ bearer: [] }] }),
  };
}

function operationOf({ path, about, role, body, query: { parameters, required } }: Route) {
  const inPath = PARAMETER.exec(path)?.[1];
  const named = { name: inPath, in: 'path', required: true, schema: text };
  const inQuery = Object.entries<JsonSchema>(parameters).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      description,
      required: required.includes(name) && !('default' in schema),
      schema,
    }),
  );
  return operation(about, {
    ...(role !== 'view' && { description: `Needs a token with the role \`${role}\`.` }),
    parameters: [...(inPath === undefined ? [] : [named]), ...inQuery],
    ...(body && {
      requestBody: { content: contentOf(z.toJSONSchema(body, BODY)) },
    }),
  });
}

const BODY = { io: 'input', unrepresentable: 'any' } as const;

/** Describes a request and its responses. All errors have the same form. */
function operation(summary: string, more: object = {}, type?: string) {
  const error = contentOf({ $ref: '#/components/schemas/Error' });
  return {
    summary,
    ...more,
    responses: {
      200: { description: 'The answer.', content: contentOf({}, type) },
      default: { description: 'The request was refused.', content: error },
    },
  };
}

function contentOf(schema: object, type = 'application/json') {
  return { [type]: { schema } };
}
