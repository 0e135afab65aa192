import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { checkOptions } from '../core/options.js';
import type { Role } from '../host/request-guard.js';
import type { GrantScope } from '../safety/calls.js';
import { HttpError } from './http-error.js';
import type { OperatorRoom, Parts } from './operator-room.js';
import { queryOf, readQuery, type Query, type QueryFields } from './read-query.js';
import { NO_STORE, searchOf, send, sendJson, type Env } from './send.js';

/** Maximum size of a request body in bytes. */
const MOST_BYTES = 262_144;

/** A request from an operator. */
interface Asked<Fields extends QueryFields, Body extends z.ZodType> {
  readonly room: OperatorRoom;
  /** The operator's name, which is recorded with actions. */
  readonly operator: string;
  readonly can: (role: Role) => boolean;
  /** The value of `:id` in the path. */
  readonly id: string;
  readonly query: z.output<z.ZodObject<Fields>>;
  readonly body: z.output<Body>;
}

/** A route for operators, which checks the role, parses, answers and describes requests. */
interface OperatorRoute {
  readonly method: 'get' | 'post' | 'delete';
  /** The path in Hono's syntax. */
  readonly path: string;
  readonly role: Role;
  readonly about: string;
  readonly query: Query;
  readonly body: z.ZodType | undefined;
  readonly answer: (asked: Asked<QueryFields, z.ZodType>) => Promise<object | string>;
}

function route<Fields extends QueryFields, Body extends z.ZodType = z.ZodNever>(
  [method, path, role]: [OperatorRoute['method'], string, Role],
  about: string,
  { query, body }: { readonly query?: Fields; readonly body?: Body },
  answer: (asked: Asked<Fields, Body>) => Promise<object | string>,
): OperatorRoute {
  const parsed = queryOf(query ?? {}) as Query;
  return { method, path, role, about, query: parsed, body, answer: answer as never };
}

const digest = z
  .string()
  .describe('The `digest` that the call had in `/pending`. A call that has changed is refused.');
const allowedTo = (can: (role: Role) => boolean) => ({
  allowed: { approve: can('approve'), run: can('run') },
});
const part = (of: string) => text().describe(`A part of the ${of}, in upper or lower case.`);
const text = () => z.string().optional();
const PARTS = {
  tool: part('name of the tool'),
  principal: part('principal'),
  conversation: part('id of the conversation'),
};
/** Returns the parts of names under the names that calls have. */
const partsOf = (query: z.output<z.ZodObject<typeof PARTS>>): Parts => ({
  toolName: query.tool,
  principal: query.principal,
  conversationId: query.conversation,
});

/** All routes for operators. */
export const OPERATOR_ROUTES: readonly OperatorRoute[] = [
  route(
    ['get', '/pending', 'view'],
    'Lists the calls that wait for a person, oldest first, and what the token allows.',
    {
      query: {
        id: text().describe('The id of a call. Returns only this call, if it waits.'),
        ...PARTS,
        after: text().describe('The id of the last call on the page before.'),
        limit: z.int().min(1).max(1_000).default(1_000).describe('The maximum number of calls.'),
      },
    },
    async ({ room, query: { id, after, limit, ...parts }, can }) => ({
      ...allowedTo(can),
      ...(await room.pending({ id, after, limit, ...partsOf(parts) })),
    }),
  ),
  route(
    ['post', '/pending/:id/approve', 'approve'],
    'Approves a call as it was shown, or with other arguments.',
    { body: z.strictObject({ digest, input: z.unknown().optional() }) },
    async ({ room, id, operator, body }) => {
      await room.desk!.approve(id, operator, body);
      return { done: 'approve' };
    },
  ),
  route(
    ['post', '/pending/:id/deny', 'approve'],
    'Denies a call.',
    { body: z.strictObject({ digest: text() }) },
    async ({ room, id, operator }) => {
      await room.desk!.deny(id, operator);
      return { done: 'deny' };
    },
  ),
  route(
    ['post', '/pending/:id/answer', 'approve'],
    'Answers a question, or provides the result of manual work.',
    { body: z.strictObject({ digest, value: z.unknown() }) },
    async ({ room, id, operator, body }) => {
      await room.desk!.answer(id, operator, body.value, body);
      return { done: 'answer' };
    },
  ),
  route(
    ['post', '/pending/:id/grant', 'approve'],
    'Approves a call and further calls like it, within limits.',
    {
      body: z.strictObject({
        digest,
        input: z.record(z.string(), z.unknown()).optional(),
        uses: z.number().optional(),
        until: z.number().optional(),
      }),
    },
    async ({ room, id, operator, body: { digest: shown, ...scope } }) => {
      await room.desk!.grant(id, operator, scope as GrantScope, { digest: shown });
      return { done: 'grant' };
    },
  ),
  route(
    ['get', '/grants', 'view'],
    'Lists active grants, and what the token allows.',
    {},
    async ({ room, can }) => ({ ...allowedTo(can), ...(await room.grants()) }),
  ),
  route(
    ['delete', '/grants/:id', 'approve'],
    'Revokes a grant.',
    {},
    async ({ room, id, operator }) => ({ revoked: await room.desk!.revoke(id, operator) }),
  ),
  route(['get', '/actions', 'view'], "Lists operators' actions, newest first.", {}, ({ room }) =>
    room.actions(),
  ),
  route(
    ['get', '/calls', 'view'],
    'Lists recent calls, newest first.',
    {
      query: { ...PARTS, status: text() },
    },
    ({ room, query: { status, ...parts } }) => room.calls({ status, ...partsOf(parts) } as never),
  ),
  route(
    ['get', '/timeline', 'view'],
    'Lists what happened in a conversation, oldest first: calls, labels, questions, answers and errors.',
    { query: { conversation: z.string().describe('The id of the conversation.') } },
    ({ room, query }) => room.timeline(query.conversation),
  ),
  route(
    ['get', '/overview', 'view'],
    'Summarizes the last hour: calls, failing and slow tools, and changed definitions. `waiting` counts up to 100 calls, and `cost` is what calls count against cost budgets.',
    {},
    async ({ room, can }) => ({ ...allowedTo(can), ...(await room.overview()) }),
  ),
  route(
    ['post', '/run', 'run'],
    "Runs a tool in the operator's name. Send the outcome's `callId` as `id` to run the same call after its approval.",
    {
      body: z.strictObject({
        name: z.string(),
        input: z.unknown().optional(),
        id: z
          .string()
          .regex(/^try-[\w-]{1,60}$/)
          .optional(),
      }),
    },
    ({ room, body, operator }) => room.run(body as { name: string }, operator),
  ),
  route(['get', '/metrics', 'view'], 'Returns metrics for Prometheus.', {}, ({ room }) =>
    room.metrics(),
  ),
];

/** Adds the routes for operators. Every change requires a token with the route's role. */
export function addOperatorRoutes(app: Hono<Env>, room: OperatorRoom): void {
  for (const each of OPERATOR_ROUTES)
    app.on(each.method.toUpperCase(), each.path, async (context) => {
      const { role, query, body, answer } = each;
      const can = (wanted: Role) => room.canDo(wanted) && context.get('roles').includes(wanted);
      if (role !== 'view') requireRole(role, room.canDo(role), can(role));
      const answered = await answer({
        room,
        can,
        operator: context.get('operator') ?? '',
        id: context.req.param('id') ?? '',
        query: readQuery(query, searchOf(context.req.url)),
        body: body && (await bodyOf(context, body)),
      });
      if (typeof answered !== 'string') return sendJson(context, answered);
      const type = 'text/plain; version=0.0.4; charset=utf-8';
      return send(200, answered, { ...NO_STORE, 'content-type': type });
    });
}

/** Refuses a token without the role. @throws HttpError 403. */
export function requireRole(role: Role, isOn: boolean, hasRole: boolean): void {
  if (hasRole) return;
  const flags = role === 'run' ? '--allow-run' : '--allow-approve and --approval-key-file';
  throw new HttpError(403, {
    code: 'FORBIDDEN',
    message: isOn
      ? `Expected a token with the role "${role}". Ask the person who runs this server for one.`
      : `This server doesn't let operators ${role}. Start it with ${flags}.`,
  });
}

/** Stops reading a body that is too large. */
const limitBody = bodyLimit({
  maxSize: MOST_BYTES,
  onError: () => {
    const message = `Expected a body of at most ${MOST_BYTES} bytes.`;
    throw new HttpError(413, { code: 'BODY_TOO_LARGE', message }, { connection: 'close' });
  },
});

/** Reads the JSON body of a request. @throws HttpError 400, 413. */
async function bodyOf(context: Context<Env, string>, schema: z.ZodType): Promise<unknown> {
  await limitBody(context, () => Promise.resolve());
  const text = await context.req.text();
  try {
    return checkOptions(schema, JSON.parse(text || '{}'), 'fields of the body');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new HttpError(400, { code: 'INVALID_ARGUMENT', message: "The body isn't valid JSON." });
  }
}
