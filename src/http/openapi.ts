import packageJson from '../../package.json' with { type: 'json' };
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

/**
 * Returns the OpenAPI 3.1 description of the catalogue, generated from the schemas that parse
 * requests.
 */
export function openApiOf(routes: readonly Route[], needsToken: boolean) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'tooldex',
      version: packageJson.version,
      description:
        'The tools, skills and jobs of agents, with their rights, costs and health. Read-only.',
    },
    paths: {
      ...Object.fromEntries(
        routes.map((route) => [route.path.replace(':name', '{name}'), { get: operationOf(route) }]),
      ),
      '/events': { get: EVENTS },
    },
    components: {
      schemas: { Error: ERROR },
      ...(needsToken && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(needsToken && { security: [{ bearer: [] }] }),
  };
}

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

function operationOf({ path, about, query: { parameters, required } }: Route) {
  const isNamed = path.includes(':name');
  const inQuery = Object.entries<JsonSchema>(parameters).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      description,
      required: required.includes(name) && !('default' in schema),
      schema,
    }),
  );
  const name = { name: 'name', in: 'path', required: true, schema: text };
  return {
    summary: about,
    parameters: [
      ...(isNamed ? [{ ...name, description: "The tool's own name." }] : []),
      ...inQuery,
    ],
    responses: {
      200: {
        description: 'The answer.',
        headers: { ETag: { schema: text } },
        content: contentOf('application/json', { type: 'object' }),
      },
      304: { description: 'The content still matches the ETag in If-None-Match.' },
      400: failure('An unknown parameter, or an invalid value.'),
      ...((isNamed || 'persona' in parameters) && {
        404: failure(isNamed ? 'The tool or the persona is unknown.' : 'The persona is unknown.'),
      }),
    },
  };
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
