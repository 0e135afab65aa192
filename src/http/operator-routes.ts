import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { randomUUID } from '../core/crypto.js';
import { digestOf } from '../core/plain-data.js';
import { readCallLog, type RecordedCall } from '../execution/call-log.js';
import { readCallSeries, type SeriesRecord } from '../execution/call-series.js';
import type { GrantScope, OperatorAction, Pending, ToolOutcome } from '../safety/calls.js';
import { grantChoices } from '../safety/grants.js';
import { readOutcome } from '../safety/read-outcome.js';
import { readTimeline } from '../safety/timeline.js';
import { countBy } from './facets.js';
import { metricsOf } from './metrics.js';
import type { OperatorRoom } from './operator-room.js';
import { DAY_MS, HOUR_MS, overviewOf } from './overview.js';
import { snakeCased } from './read-query.js';
import { change, get, type Asked, type Route } from './route.js';
import { MOST_COUNTED } from './values-on.js';

const text = () => z.string().optional();
const digest = z
  .string()
  .describe('The `digest` that the call had in `/pending`. A call that has changed is refused.');
const part = (of: string) => text().describe(`A part of the ${of}, in upper or lower case.`);
const PARTS = {
  tool: part('name of the tool'),
  principal: part('principal'),
  conversation: part('id of the conversation'),
};
const PENDING = {
  id: text().describe('The id of a call. Returns only this call, if it waits.'),
  ...PARTS,
  after: text().describe('The id of the last call on the page before.'),
  limit: z.int().min(1).max(1_000).default(1_000).describe('The maximum number of calls.'),
};

/** All routes for operators. */
export const OPERATOR_ROUTES: readonly Route[] = [
  get(
    '/pending',
    'Lists the calls that wait for a person, oldest first, and what the token allows.',
    PENDING,
    pendingCalls,
  ),
  change(
    'post',
    '/pending/:id/approve',
    'approve',
    'Approves a call as it was shown, or with other arguments.',
    z.strictObject({ digest, input: z.unknown().optional() }),
    ({ room, name, operator, body }) => room.desk!.approve(name, operator, body),
  ),
  change(
    'post',
    '/pending/:id/deny',
    'approve',
    'Denies a call.',
    z.strictObject({ digest: text() }),
    ({ room, name, operator }) => room.desk!.deny(name, operator),
  ),
  change(
    'post',
    '/pending/:id/answer',
    'approve',
    'Answers a question, or provides the result of manual work.',
    z.strictObject({ digest, value: z.unknown() }),
    ({ room, name, operator, body }) => room.desk!.answer(name, operator, body.value, body),
  ),
  change(
    'post',
    '/pending/:id/grant',
    'approve',
    'Approves a call and further calls like it, within limits.',
    z.strictObject({
      digest,
      input: z.record(z.string(), z.unknown()).optional(),
      uses: z.number().optional(),
      until: z.number().optional(),
    }),
    async ({ room, name, operator, body: { digest: shown, ...scope } }) => {
      await room.desk!.grant(name, operator, scope as GrantScope, { digest: shown });
    },
  ),
  get(
    '/grants',
    'Lists active grants, and what the token allows.',
    {},
    async ({ room, allowed }) => {
      const grants = (await room.desk?.grants()) ?? [];
      return {
        allowed,
        grants: grants.map(({ signature: _, storeIdentity: __, ...grant }) => snakeCase(grant)),
      };
    },
  ),
  change('delete', '/grants/:id', 'approve', 'Revokes a grant.', undefined, async (asked) => ({
    revoked: await asked.room.desk!.revoke(asked.name, asked.operator),
  })),
  get('/actions', "Lists operators' actions, newest first.", {}, async ({ room }) => ({
    actions: ((await room.desk?.actions()) ?? []).map(snakeCase),
  })),
  get(
    '/calls',
    'Lists recent calls, newest first.',
    { ...PARTS, status: text() },
    async ({ room, query }) => {
      const { status } = query;
      const calls = (await readCallLog(room.settings.store)).filter(
        (call) => (status ?? call.status) === call.status && isMeant(call, query),
      );
      return { total: calls.length, calls: calls.map(snakeCase) };
    },
  ),
  get(
    '/timeline',
    'Lists what happened in a conversation, oldest first: calls, labels, questions, answers and errors.',
    { conversation: z.string().describe('The id of the conversation.') },
    async ({ room, query }) => {
      type Item = RecordedCall | OperatorAction;
      const items = await readTimeline<Item>(room.settings.store, query.conversation);
      return { timeline: items.map(snakeCase) };
    },
  ),
  get(
    '/overview',
    'Summarizes the last hour: calls, failing and slow tools, and changed definitions. `waiting` counts up to 100 calls, and `cost` is what calls count against cost budgets.',
    {},
    overview,
  ),
  change(
    'post',
    '/run',
    'run',
    "Runs a tool in the operator's name. Send the outcome's `callId` as `id` to run the same call after its approval.",
    z.strictObject({
      name: z.string(),
      input: z.unknown().optional(),
      id: z
        .string()
        .regex(/^try-[\w-]{1,60}$/)
        .default(() => `try-${randomUUID()}`),
    }),
    ({ room, operator, body }) => run(room, operator, body),
  ),
  get('/metrics', 'Returns metrics for Prometheus.', {}, async ({ room, catalogue, clock }) => {
    room.totals.add(await lastHour(room, clock.now()));
    return metricsOf(catalogue, room.desk && (await countWaiting(room)), room.totals);
  }),
];

/** Returns the oldest waiting calls that a request means. */
async function pendingCalls({ room, catalogue, allowed, query }: Asked<typeof PENDING>) {
  const { id, after, limit, ...parts } = query;
  // Only some calls may have the parts, so all calls are read.
  const most = Object.keys(parts).length > 0 ? Infinity : limit;
  const calls =
    id === undefined
      ? ((await room.desk?.waiting({ after, limit: most })) ?? [])
      : [(await room.desk?.get(id)) ?? []].flat();
  const found = calls.filter((call) => isMeant(call, parts)).slice(0, limit);
  const next = found.length < limit ? null : found.at(-1)!.id;
  return { allowed, next, pending: found.map((call) => pendingWire(catalogue, call)) };
}

function pendingWire(catalogue: CapabilityRegistry, pending: Pending) {
  const [tool] = catalogue.tools({ filter: { name: pending.toolName } });
  const isApproval = tool !== undefined && pending.kind === 'approval';
  const { storeIdentity: _, ...shown } = { storeIdentity: '', ...pending };
  return {
    ...snakeCase(shown),
    digest: digestOf(pending),
    grant_choices: isApproval ? grantChoices(tool.entry, pending) : [],
  };
}

/** The response of `/overview`. */
export type Overview = Awaited<ReturnType<typeof overview>>;

async function overview({ room, clock, findings, allowed }: Asked) {
  const now = clock.now();
  return {
    allowed,
    waiting: await countWaiting(room),
    ...overviewOf(await lastHour(room, now), now),
    findings: countBy(findings(), ({ finding }) => [finding.severity]),
    changed_today: room.changed.filter(({ at }) => now - at < DAY_MS),
  };
}

/** The response of `/run`. */
export interface Tried {
  readonly outcome: ToolOutcome;
  readonly model_reads: string;
}

/**
 * Runs a tool in the operator's name. A call that had to wait runs, once, when it's tried again
 * with its id.
 */
async function run(
  { settings: { executor, context } }: OperatorRoom,
  principal: string,
  { id, name, input = {} }: { id: string; name: string; input?: unknown },
): Promise<Tried> {
  const options = { principal, conversationId: id, context };
  const outcome = await executor!.execute({ id, name, input }, options);
  const { text: read } = readOutcome(outcome);
  if (!('pending' in outcome)) return { outcome, model_reads: read };
  const pending = { ...outcome.pending, storeIdentity: undefined } as never;
  return { outcome: { ...outcome, pending }, model_reads: read };
}

/** Returns the counts of the last hour. */
function lastHour(room: OperatorRoom, now: number): Promise<readonly SeriesRecord[]> {
  return readCallSeries(room.settings.store, now - HOUR_MS, now);
}

async function countWaiting({ desk }: OperatorRoom): Promise<number> {
  return (await desk?.waiting({ limit: MOST_COUNTED }))?.length ?? 0;
}

/** Returns true if a call's names contain the parts in a request. */
function isMeant(
  call: Pick<RecordedCall, 'toolName' | 'principal' | 'conversationId'>,
  { tool, principal, conversation }: Asked<typeof PARTS>['query'],
): boolean {
  const places = [
    [call.toolName, tool],
    [call.principal, principal],
    [call.conversationId, conversation],
  ];
  return places.every(([name = '', wanted = '']) =>
    name.toLowerCase().includes(wanted.toLowerCase()),
  );
}

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** An object with keys in snake_case, like all objects in the HTTP API. */
export type Wire<T> = { readonly [Name in keyof T as SnakeCase<Name>]: T[Name] };

/** Returns an object with the keys in snake_case and the same values. */
function snakeCase<T extends object>(fields: T): Wire<T> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [snakeCased(name), value as unknown]),
  ) as Wire<T>;
}
