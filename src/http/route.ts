import type { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import type { Clock } from '../core/clock.js';
import type { Role } from '../host/request-guard.js';
import type { Findings } from './findings.js';
import type { Allowed, OperatorRoom } from './operator-room.js';
import { queryOf, type Query, type QueryFields } from './read-query.js';

/** The parts of a request that determine its response, and what the response is made from. */
export interface Asked<Fields extends QueryFields = QueryFields, Body = unknown> {
  readonly catalogue: CapabilityRegistry;
  readonly findings: Findings;
  readonly clock: Clock;
  readonly query: z.output<z.ZodObject<Fields>>;
  /**
   * The requesting personas, normalized for comparison. The list is empty if the request has no
   * persona.
   */
  readonly personas: readonly string[];
  /** The path and query as the client sent them. The app may be mounted under another path. */
  readonly address: { readonly path: string; readonly query: string };
  /** The value of `:name` or `:id` in the path. */
  readonly name: string;
  readonly body: Body;
  /** The operators' room. Only the operators' routes are used with a room, and only they read it. */
  readonly room: OperatorRoom;
  /** The operator's name, which is recorded with actions. */
  readonly operator: string;
  readonly allowed: Allowed;
}

/** A route: the app parses, admits, answers and describes requests by this row. */
export interface Route {
  readonly method: 'get' | 'post' | 'delete';
  /** The path in Hono's syntax. */
  readonly path: string;
  readonly role: Role;
  readonly about: string;
  readonly query: Query;
  readonly body?: z.ZodType;
  /** Returns the response as an object, or as text. Changes may return nothing. */
  readonly answer: (asked: Asked) => unknown;
}

/** Returns a route that only reads. */
export function get<Fields extends QueryFields>(
  path: string,
  about: string,
  fields: Fields,
  answer: (asked: Asked<Fields>) => unknown,
): Route {
  const query = queryOf(fields) as unknown as Query;
  return { method: 'get', path, role: 'view', about, query, answer: answer as Route['answer'] };
}

/** Returns a route that changes something, which requires a role. */
export function change<Body extends z.ZodType>(
  method: 'post' | 'delete',
  path: string,
  role: Role,
  about: string,
  body: Body | undefined,
  answer: (asked: Asked<QueryFields, z.output<Body>>) => unknown,
): Route {
  const row = { ...get(path, about, {}, answer as Route['answer']), method, role };
  return body === undefined ? row : { ...row, body };
}
