import type { Answer, Conditions } from '../answers/answer.js';
import type { ToolJson } from '../answers/tool-json.js';
import type { Catalogue } from '../query/callers-catalogue.js';
import type { Asked, Parameters } from '../query/parameters.js';

/** The parts of a request that a route answers from. */
export interface RouteRequest {
  readonly capabilities: Catalogue;
  readonly tools: ToolJson;
  readonly asked: Asked;
  /** The query as it was sent, without the question mark. */
  readonly query: string;
  /** The path as it was sent: the app may be mounted under another one. */
  readonly path: string;
  /** The part of the path in place of `:name`. */
  readonly name: string;
  readonly conditions: Conditions;
}

/** One address of the catalogue. */
export interface Route {
  /** The path as Hono writes it. */
  readonly path: string;
  readonly summary: string;
  readonly parameters: Parameters;
  /** The JSON Schema of the answer's content. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly answer: (request: RouteRequest) => Answer | Promise<Answer>;
}

export const NO_PARAMETERS: Parameters = new Map();

type Schema = Readonly<Record<string, unknown>>;

/** The schema of an object that has at least these fields. */
export function openObject(fields: readonly string[]): Schema {
  return {
    type: 'object',
    required: fields,
    properties: Object.fromEntries(fields.map((field) => [field, {}])),
  };
}

/**
 * Returns the schema of a page of a list. Items may have fewer fields if fewer were requested.
 *
 * @param beside the fields beside the list, by name.
 */
export function listSchema(
  name: string,
  fields: readonly string[],
  beside: Readonly<Record<string, Schema>> = {},
): Schema {
  const count = { type: 'integer', minimum: 0 };
  return {
    type: 'object',
    required: ['count', 'total', 'revision', 'changed', 'next', name, ...Object.keys(beside)],
    properties: {
      count: { ...count, description: 'Items on this page.' },
      total: { ...count, description: 'Items on all pages.' },
      revision: { ...count, description: 'Rises with every change of the catalogue.' },
      changed: {
        type: 'boolean',
        description: 'Whether the catalogue has changed since the first page.',
      },
      next: { type: ['string', 'null'], description: 'The address of the next page.' },
      [name]: {
        type: 'array',
        items: {
          type: 'object',
          properties: Object.fromEntries(fields.map((field) => [field, {}])),
        },
      },
      ...beside,
    },
  };
}
