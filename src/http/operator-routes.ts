import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import type { CapabilityTool } from '../capability/state/capability-items.js';
import type { Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { checkOptions } from '../core/options.js';
import type { ToolEvent } from '../core/tool-event.js';
import { readCallLog, type RecordedCall } from '../execution/call-log.js';
import type { Role } from '../host/request-guard.js';
import type { GrantScope, ToolOutcome } from '../safety/calls.js';
import { OperatorDesk } from '../safety/operator-desk.js';
import { readOutcome } from '../safety/read-outcome.js';
import { countBy } from './facets.js';
import { FirstSeen } from './first-seen.js';
import { HttpError } from './http-error.js';
import type { operatorField } from './operator-options.js';
import { NO_STORE, sendJson, send, type Env } from './send.js';

type Settings = z.output<NonNullable<typeof operatorField>>;
type Ask = Context<Env>;

/** Maximum size of a request body in bytes. */
const MOST_BYTES = 262_144;
/** Maximum number of waiting calls in one response. */
const MOST_WAITING = 1_000;
/** Maximum number of events shown for a call that an operator tries. */
const MOST_EVENTS = 100;

const grantBody = z.strictObject({
  input: z.record(z.string(), z.unknown()).optional(),
  uses: z.number().optional(),
  until: z.number().optional(),
});
const runBody = z.strictObject({ name: z.string(), input: z.unknown().optional() });

/** A change to a tool since the server started. */
interface ToolChange {
  readonly name: string;
  readonly persona: string | null;
  readonly change: string;
  readonly at: number;
}

/** The response of `/overview`. */
export interface Overview extends ReturnType<typeof overviewOf> {
  readonly waiting: number;
  /** The number of findings by severity. */
  readonly findings: Readonly<Record<string, number>>;
  readonly changed_today: readonly ToolChange[];
}

/** The response of `/run`. */
export interface Tried {
  readonly outcome: ToolOutcome;
  readonly events: readonly ToolEvent[];
  readonly model_reads: string;
}

/** The paths that accept bodies and methods other than GET and HEAD. */
export const ACTION_PATHS =
  /^\/(?:pending\/[^/]+\/(?:approve|deny|answer|grant)|run|grants\/[^/]+)$/;

/**
 * Adds the routes for operators: waiting calls and their answers, past calls, grants, an overview,
 * and trying tools.
 *
 * Every change requires a token with the matching role. Without tokens, the routes are read-only.
 */
export function addOperatorRoutes(
  app: Hono<Env>,
  capabilities: CapabilityRegistry,
  settings: NonNullable<Settings>,
  clock: Clock,
  findings: () => readonly { readonly finding: { readonly severity: string } }[],
): void {
  const { store, executor } = settings;
  const desk =
    settings.approvalKey && new OperatorDesk(store, settings.approvalKey, settings.onAction);
  const mayApprove = desk !== undefined && settings.allowApprove;
  const waitingCalls = async (after?: string) =>
    (await desk?.waiting({ limit: MOST_WAITING, after })) ?? [];
  const canDo = (context: Ask) => ({
    approve: mayApprove && hasRole(context, 'approve'),
    run: executor !== undefined && hasRole(context, 'run'),
  });

  const firstSeen = new FirstSeen(store, clock);
  const changed: ToolChange[] = [];
  void firstSeen.note(capabilities.tools());
  capabilities.onChange(({ added, edited, removed }) => {
    for (const [change, items] of Object.entries({ added, edited, removed }))
      for (const { kind, name, owner } of items)
        if (kind === 'tool') changed.unshift({ name, persona: owner, change, at: clock.now() });
    changed.length = Math.min(changed.length, MOST_CHANGES);
    const isNew = (tool: CapabilityTool) =>
      added.some(({ name, owner }) => name === tool.name && owner === tool.owner);
    void firstSeen.note(capabilities.tools().filter(isNew));
  });

  app.get('/definitions/:name', async (context) => {
    const tool = capabilities.tool(context.req.param('name'), context.req.query('persona'));
    const history = tool && (await firstSeen.historyOf(tool));
    return sendJson(context, history ?? { first_seen: null, changes: [] });
  });
  app.get('/pending', async (context) => {
    const pending = (await waitingCalls(context.req.query('after'))).map((each) => {
      const { storeIdentity: _, ...shown } = { storeIdentity: '', ...each };
      const choices = each.kind === 'approval' && executor ? executor.grantChoices(each) : [];
      return { ...snakeCase(shown), grant_choices: choices };
    });
    return sendJson(context, { allowed: canDo(context), pending });
  });
  app.get('/grants', async (context) =>
    sendJson(context, {
      grants: (await desk?.grants())?.map(({ signature: _, ...each }) => snakeCase(each)) ?? [],
    }),
  );
  app.get('/actions', async (context) =>
    sendJson(context, { actions: (await desk?.actions())?.map(snakeCase) ?? [] }),
  );
  app.get('/calls', async (context) => {
    const { tool, principal, conversation, status } = context.req.query();
    const wanted = { toolName: tool, principal, conversationId: conversation, status };
    const calls = (await readCallLog(store)).filter((call) =>
      Object.entries(wanted).every(
        ([field, value]) => value === undefined || call[field as keyof RecordedCall] === value,
      ),
    );
    return sendJson(context, { total: calls.length, calls: calls.map(snakeCase) });
  });
  app.get('/overview', async (context) => {
    return sendJson(context, {
      waiting: (await waitingCalls()).length,
      ...overviewOf(await readCallLog(store), clock.now()),
      findings: countBy(findings(), ({ finding }) => [finding.severity]),
      changed_today: changed.filter(({ at }) => clock.now() - at < DAY_MS),
    } satisfies Overview);
  });

  const act = <Body extends z.ZodType>(
    name: 'approve' | 'deny' | 'answer' | 'grant',
    schema: Body,
    work: (id: string, operator: string, body: z.output<Body>) => Promise<unknown>,
  ) =>
    app.post(`/pending/:id/${name}`, async (context) => {
      const operator = requireRole(context, 'approve', mayApprove);
      await work(context.req.param('id'), operator, await bodyOf(context, schema));
      return sendJson(context, { done: name });
    });
  act('approve', z.strictObject({ input: z.unknown().optional() }), (id, operator, body) =>
    desk!.approve(id, operator, 'input' in body ? { input: body.input } : undefined),
  );
  act('deny', z.strictObject({}), (id, operator) => desk!.deny(id, operator));
  act('answer', z.strictObject({ value: z.unknown() }), (id, operator, { value }) =>
    desk!.answer(id, operator, value),
  );
  act('grant', grantBody, (id, operator, scope) => desk!.grant(id, operator, scope as GrantScope));
  app.delete('/grants/:id', async (context) => {
    const operator = requireRole(context, 'approve', mayApprove);
    return sendJson(context, { revoked: await desk!.revoke(context.req.param('id'), operator) });
  });

  app.post('/run', async (context) => {
    const operator = requireRole(context, 'run', executor !== undefined);
    const { name, input } = await bodyOf(context, runBody);
    const id = `try-${randomUUID()}`;
    const events: ToolEvent[] = [];
    const stop = executor!.on((event) => {
      if ('callId' in event && event.callId === id && events.length < MOST_EVENTS)
        events.push(event);
    });
    const outcome = await executor!
      .execute(
        { id, name, input: input ?? {} },
        { principal: operator, conversationId: id, context: settings.context },
      )
      .finally(stop);
    const model_reads = readOutcome(outcome).text;
    return sendJson(context, { outcome, events, model_reads } satisfies Tried);
  });
  app.get('/metrics', async () => {
    const waiting = desk && (await waitingCalls()).length;
    const type = 'text/plain; version=0.0.4; charset=utf-8';
    return send(200, metricsOf(capabilities, waiting), {
      ...NO_STORE,
      'content-type': type,
    });
  });
}

function hasRole(context: Ask, role: Role): boolean {
  return context.get('roles').includes(role);
}

/**
 * Returns the operator's name if the token has the role. Requests that change something require a
 * role.
 * @throws HttpError 403.
 */
function requireRole(context: Ask, role: Role, isOn: boolean): string {
  const operator = context.get('operator');
  if (isOn && operator !== undefined && hasRole(context, role)) return operator;
  throw new HttpError(403, {
    code: 'FORBIDDEN',
    message: isOn
      ? `Expected a token with the role "${role}". Ask the person who runs this server for one.`
      : `This server doesn't let operators ${role}. Start it with ${role === 'run' ? '--allow-run' : '--allow-approve and --approval-key-file'}.`,
  });
}

/** Reads the JSON body of a request. @throws HttpError 400, 413. */
async function bodyOf<S extends z.ZodType>({ req }: Ask, schema: S): Promise<z.output<S>> {
  const refuse = (status: number, code: string, message: string) =>
    new HttpError(status, { code, message }, { connection: 'close' });
  const text = await req.text();
  if (text.length > MOST_BYTES)
    throw refuse(413, 'BODY_TOO_LARGE', `Expected a body of at most ${MOST_BYTES} bytes.`);
  let body: unknown;
  try {
    body = JSON.parse(text || '{}');
  } catch {
    throw refuse(400, 'INVALID_ARGUMENT', "The body isn't valid JSON.");
  }
  return checkOptions(schema, body, 'fields of the body') as z.output<S>;
}

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** An object with keys in snake_case, like all objects in the HTTP API. */
export type Wire<T> = { readonly [Name in keyof T as SnakeCase<Name>]: T[Name] };

/** Returns an object with the keys in snake_case and the same values. */
function snakeCase<T extends object>(fields: T): Wire<T> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value as unknown,
    ]),
  ) as Wire<T>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MOST_CHANGES = 100;
const SLOTS = 12;
const MOST_NAMED = 10;

/** Returns the failing and slow tools of the last hour. The log may cover less than an hour. */
function overviewOf(calls: readonly RecordedCall[], now: number) {
  const recent = calls.filter(({ at }) => now - at < HOUR_MS);
  const slots = Array.from({ length: SLOTS }, () => ({ calls: 0, errors: 0 }));
  const tools = new Map<string, { calls: number; errors: number; totalMs: number }>();
  for (const { at, status, toolName, durationMs } of recent) {
    const isError = Number(status === 'error');
    const slot = slots[SLOTS - 1 - Math.floor((Math.max(0, now - at) / HOUR_MS) * SLOTS)]!;
    slot.calls += 1;
    slot.errors += isError;
    const tool = tools.get(toolName) ?? { calls: 0, errors: 0, totalMs: 0 };
    tools.set(toolName, {
      calls: tool.calls + 1,
      errors: tool.errors + isError,
      totalMs: tool.totalMs + durationMs,
    });
  }
  const rows = [...tools].map(([name, { totalMs, ...counts }]) => ({
    name,
    ...counts,
    mean_ms: Math.round(totalMs / counts.calls),
  }));
  return {
    last_hour: slots,
    failing: rows
      .filter(({ errors }) => errors > 0)
      .sort((a, b) => b.errors - a.errors)
      .slice(0, MOST_NAMED),
    slowest: rows.sort((a, b) => b.mean_ms - a.mean_ms).slice(0, MOST_NAMED),
  };
}

/** Returns metrics in the Prometheus text format. */
function metricsOf(capabilities: CapabilityRegistry, waiting: number | undefined): string {
  const tools = capabilities.tools();
  const label = (text: string) => text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
  const lines = [
    '# HELP tooldex_tools The tools in the catalogue.',
    '# TYPE tooldex_tools gauge',
    `tooldex_tools ${tools.length}`,
  ];
  if (waiting !== undefined)
    lines.push(
      '# HELP tooldex_pending_calls The calls that are waiting for a person.',
      '# TYPE tooldex_pending_calls gauge',
      `tooldex_pending_calls ${waiting}`,
    );
  lines.push(
    '# HELP tooldex_recent_calls The recent calls of each tool from which its health is computed, at most 100.',
    '# TYPE tooldex_recent_calls gauge',
  );
  for (const { name, owner, health } of tools) {
    const { total, success, failure } = health.tool;
    if (total === 0) continue;
    const place = `tool="${label(name)}",persona="${label(owner ?? '')}"`;
    lines.push(
      `tooldex_recent_calls{${place},result="success"} ${success}`,
      `tooldex_recent_calls{${place},result="failure"} ${failure}`,
    );
  }
  return `${lines.join('\n')}\n`;
}
