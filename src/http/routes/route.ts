import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { Answer, Conditions } from '../answers/answer.js';
import type { Asked, Parameters } from '../query/read-parameters.js';
import type { Findings } from './findings.js';
import type { ToolJson } from '../wire/tool-json.js';

/** The parts of a request that a route answers from. */
export interface RouteRequest {
  readonly capabilities: CapabilityRegistry;
  readonly tools: ToolJson;
  readonly findings: Findings;
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
