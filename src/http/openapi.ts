import packageJson from '../../package.json' with { type: 'json' };
import type { Route } from './routes/route.js';

const ERROR_SCHEMA = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        parameter: { type: 'string', description: 'The parameter that was wrong.' },
        expected: { type: 'string' },
        found: { type: 'string' },
      },
    },
  },
};

/** Returns the catalogue's description as OpenAPI 3.1, made of the same tables that requests are read with. */
export function openApiOf(
  routes: readonly Route[],
  { needsToken }: { readonly needsToken: boolean },
): Readonly<Record<string, unknown>> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'tooldex',
      version: packageJson.version,
      description:
        'Tools, skills and jobs of agents: what they may do, what they cost, how they fare. Read only.',
    },
    paths: Object.fromEntries([
      ...routes.map(
        (route) => [route.path.replace(':name', '{name}'), { get: operationOf(route) }] as const,
      ),
      ['/events', { get: EVENTS }],
    ]),
    components: {
      schemas: { Error: ERROR_SCHEMA },
      ...(needsToken && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(needsToken && { security: [{ bearer: [] }] }),
  };
}

const EVENTS = {
  summary:
    'Changes of the catalogue as server-sent events: `ready` at the start, `change` with every new revision; with a persona, with every one that changes something it has.',
  responses: {
    200: {
      description: 'The stream.',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    503: error('Too many listen already.'),
  },
};

function operationOf({ path, summary, parameters, content }: Route) {
  const inPath = path.includes(':name')
    ? [
        {
          name: 'name',
          in: 'path',
          required: true,
          description: "The tool's own name.",
          schema: { type: 'string' },
        },
      ]
    : [];
  const inQuery = [...parameters].map(([name, { description, schema, repeatable }]) => ({
    name,
    in: 'query',
    description,
    required: name === 'q',
    ...(repeatable
      ? { schema: { type: 'array', items: schema }, style: 'form', explode: true }
      : { schema }),
  }));
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    responses: {
      200: {
        description: 'The answer.',
        headers: { ETag: { schema: { type: 'string' } } },
        content: { 'application/json': { schema: content } },
      },
      304: { description: 'Unchanged since the ETag in If-None-Match.' },
      400: error('An unknown parameter, or a wrong value.'),
      ...((inPath.length > 0 || parameters.has('persona')) && {
        404: error(
          inPath.length > 0 ? 'The tool or the persona is unknown.' : 'The persona is unknown.',
        ),
      }),
    },
  };
}

function error(description: string) {
  return {
    description,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  };
}
