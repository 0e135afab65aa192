import { digestOf } from '../../core/plain-data.js';
import type { GrantScope, Pending } from '../../safety/calls.js';
import { Grants } from '../../safety/grants.js';
import { OperatorDesk } from '../../safety/operator-desk.js';
import type { StateStore } from '../../state/state-store.js';
import { command, print, type Context } from '../command/command.js';
import { flag, textOption, withDefault, type OptionValues } from '../command/options.js';
import { pendingLines } from '../execute/shown-call.js';
import { cut } from '../execute/show-calls.js';
import {
  connectRedis,
  KEY_OPTIONS,
  readApprovalKey,
  REDIS_OPTIONS,
} from '../load/connect-redis.js';
import { readJsonOption } from '../load/read-json.js';
import { EXIT } from '../terminal/exit-codes.js';
import { dangerStyle } from '../terminal/axis-row.js';
import { table, type Row } from '../terminal/table.js';
import { agrees, paint, type Dialog, type Terminal } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const OPTIONS = { ...REDIS_OPTIONS, ...KEY_OPTIONS };
const ANSWER_OPTIONS = {
  ...OPTIONS,
  operator: withDefault(
    textOption('<name>', 'your name, which is recorded with the answer', { env: 'USER' }),
    'terminal',
  ),
};
type AnswerContext = Context<OptionValues<typeof ANSWER_OPTIONS>>;
const STORE = '--redis redis://127.0.0.1:6379 --approval-key-file approval.key';

/** Runs `work` with the state store in the agents' Redis. */
async function withStore<T>(
  { redis, redisPrefix }: OptionValues<typeof REDIS_OPTIONS>,
  work: (store: StateStore) => Promise<T>,
): Promise<T> {
  if (redis === undefined)
    throw wrongUsage(
      "Pass the agents' Redis with --redis or TOOLDEX_REDIS_URL. Without Redis, calls and grants are only in the memory of one process.",
    );
  const store = await connectRedis(redis, redisPrefix);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Runs `work` with the calls that are waiting in the agents' Redis. */
async function withDesk(
  { options, cwd }: Context<OptionValues<typeof OPTIONS>>,
  work: (desk: OperatorDesk) => Promise<void>,
): Promise<void> {
  const { approvalKeyFile } = options;
  if (approvalKeyFile === undefined)
    throw wrongUsage("Pass --approval-key-file with the path to the agents' approval key.");
  const key = readApprovalKey(approvalKeyFile, cwd);
  return withStore(options, (store) => work(new OperatorDesk(store, key)));
}

const minuteOf = (time: number) => new Date(time).toISOString().slice(0, 16);

const WAITS_FOR = { approval: 'approval', question: 'answer', manual: 'result' };

/** Returns a waiting call without the fields that only the store needs. */
function shown(call: Pending): object {
  return { ...call, storeIdentity: undefined };
}

const SHORT_ID = 8;
const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** Returns how long ago a time was, in its largest unit: `5 min`. */
function ageOf(time: number): string {
  const age = Math.max(0, Date.now() - time);
  const [size, unit] = UNITS.find(([least]) => age >= least) ?? [1_000, 's'];
  return `${Math.floor(age / size)} ${unit}`;
}

/** Returns a call's row in the list. People see the start of its id, as far as it's unique. */
function waitingRow(call: Pending, all: readonly Pending[], { columns }: Terminal): Row {
  const { id, toolName, kind, principal, createdAt } = call;
  const isShort = all.filter((each) => each.id.startsWith(id.slice(0, SHORT_ID))).length === 1;
  return {
    ID: isShort && columns < Infinity ? id.slice(0, SHORT_ID) : id,
    TOOL: toolName,
    'WAITS FOR': WAITS_FOR[kind],
    DANGER: kind === 'approval' ? [call.danger, dangerStyle(call.danger)] : undefined,
    FOR: principal,
    AGE: ageOf(createdAt),
    // A row, not the whole call, which `pending <id>` shows.
    'QUESTION OR ARGUMENTS': cut(
      'question' in call ? call.question : JSON.stringify(call.input),
      columns / 2,
    ),
  };
}

/** The open calls of all pages. */
const allWaiting = (desk: OperatorDesk) => desk.waiting({ limit: Infinity });

/** Returns the call with this id, or the only call whose id starts with it. */
async function callOf(desk: OperatorDesk, id: string): Promise<Pending | undefined> {
  const stored = await desk.get(id);
  if (stored !== undefined) return stored;
  const found = (await allWaiting(desk)).filter((each) => each.id.startsWith(id));
  if (found.length > 1)
    throw wrongUsage(`${found.length} calls have ids that begin with ${id}. Type more of the id.`);
  return found[0];
}

/**
 * Makes sure that the user has seen a call that is too long to be shown at once: shows the whole call
 * and asks.
 */
async function requireSeen(terminal: Dialog, call: Pending): Promise<void> {
  const whole = pendingLines(terminal, call, true);
  if (pendingLines(terminal, call).length === whole.length) return;
  if (!terminal.interactive)
    throw wrongUsage(
      `This call has ${whole.length} lines. Read all of them with tooldex pending ${call.id}, then add --yes.`,
    );
  for (const line of whole) terminal.err(line);
  if (!(await agrees(terminal, 'Approve this call?')))
    throw wrongUsage('Nothing was approved, and the call is still waiting.');
}

/** Answers the call that the first operand identifies, and prints it. */
function answering(
  context: AnswerContext,
  did: string,
  answer: (
    desk: OperatorDesk,
    id: string,
    operator: string,
    call: Pending | undefined,
  ) => Promise<object | void>,
  edited: object = {},
): Promise<void> {
  return withDesk(context, async (desk) => {
    const { words, options } = context;
    const call = await callOf(desk, words[0]!);
    const id = call?.id ?? words[0]!;
    const result = await answer(desk, id, options.operator, call);
    print(context, { id, [did]: true, ...result }, () => [
      `${paint('green', did)} ${id}`,
      ...(call === undefined ? [] : pendingLines(context.terminal, { ...call, ...edited })),
    ]);
  });
}

export const commands = {
  pending: command({
    options: OPTIONS,
    examples: [`pending ${STORE}`, `pending 3f2a ${STORE}`],
    run: (context) =>
      withDesk(context, async (desk) => {
        const { terminal, words } = context;
        if (words[0] !== undefined) {
          const found = await callOf(desk, words[0]);
          if (found === undefined) throw wrongUsage(`No waiting call has the id ${words[0]}.`);
          return print(context, shown(found), () => [
            found.id,
            ...pendingLines(terminal, found, true),
          ]);
        }
        const waiting = await allWaiting(desk);
        const rows = waiting.map((each) => waitingRow(each, waiting, terminal));
        print(context, { pending: waiting.map(shown) }, () => [
          rows.length === 0
            ? 'nothing waits for an answer with this key'
            : table(terminal, rows, ['FOR']),
        ]);
      }),
  }),

  approve: command({
    options: {
      ...ANSWER_OPTIONS,
      yes: flag('approve a long call without showing all of it first'),
      input: textOption('<json>', 'other arguments to run the call with, as JSON, @file or -'),
      grant: textOption(
        '<json>',
        'also approve similar calls, within limits: {"uses": 5}, {"input": {…}} or {"until": <ms>}',
        { excludes: ['input'] },
      ),
    },
    examples: [
      `approve 3f2a ${STORE}`,
      `approve 3f2a --input '{"order": 7}' ${STORE}`,
      `approve 3f2a --grant '{"uses": 5}' ${STORE}`,
    ],
    run: async (context) => {
      const { terminal, cwd, options } = context;
      const { input, grant, yes } = options;
      const json = grant ?? input;
      const value = json === undefined ? undefined : await readJsonOption(json, terminal, cwd);
      const edited = input === undefined ? undefined : { input: value };
      return answering(
        context,
        'approved',
        async (desk, id, operator, call) => {
          if (call && !edited && !yes) await requireSeen(terminal, call);
          const seen = call && { digest: digestOf(call) };
          if (grant !== undefined)
            return { grant: (await desk.grant(id, operator, value as GrantScope, seen)).id };
          await desk.approve(id, operator, { ...seen, ...edited });
        },
        edited && { ...edited, preview: undefined },
      );
    },
  }),

  deny: command({
    options: ANSWER_OPTIONS,
    examples: [`deny 3f2a ${STORE}`],
    run: (context) => answering(context, 'denied', (desk, id, operator) => desk.deny(id, operator)),
  }),

  answer: command({
    options: ANSWER_OPTIONS,
    examples: [`answer 3f2a '"blue"' ${STORE}`, `answer 3f2a @result.json ${STORE}`],
    run: async (context) => {
      const { terminal, cwd, words } = context;
      const value = await readJsonOption(words[1]!, terminal, cwd, `answer ${words[0]!}`);
      return answering(context, 'answered', (desk, id, operator) =>
        desk.answer(id, operator, value),
      );
    },
  }),

  'grants list': command({
    options: REDIS_OPTIONS,
    examples: ['grants list --redis redis://127.0.0.1:6379'],
    run: (context) =>
      withStore(context.options, async (store) => {
        const grants = await new Grants(store).list();
        const rows = grants.map(({ conversationId, input, uses, ...grant }) => ({
          ID: grant.id,
          TOOL: grant.toolName,
          FOR: grant.principal,
          USED: `${grant.used} of ${uses ?? 'any number'}`,
          UNTIL: minuteOf(grant.expiresAt),
          'LIMITED TO': [
            conversationId && `conversation ${conversationId}`,
            input && JSON.stringify(input),
          ]
            .filter(Boolean)
            .join('; '),
        }));
        print(context, { grants: grants.map(({ signature: _, ...shown }) => shown) }, () => [
          rows.length === 0 ? 'no grants' : table(context.terminal, rows),
        ]);
      }),
  }),

  'grants revoke': command({
    options: { all: flag('revoke all grants'), ...REDIS_OPTIONS },
    examples: ['grants revoke 0d1c…', 'grants revoke --all'],
    run: (context) => {
      const { words, options } = context;
      if ((words.length === 0) !== options.all)
        throw wrongUsage(
          'Pass the grants to revoke, or use --all. To list them, run tooldex grants list.',
        );
      return withStore(options, async (store) => {
        const revoked = await revokeGrants(new Grants(store), options.all ? undefined : words);
        print(context, { grants: revoked }, () =>
          revoked.map(({ id, revoked }) => `${revoked ? 'revoked' : 'unknown'}  ${id}`),
        );
        return revoked.every(({ revoked }) => revoked) ? EXIT.ok : EXIT.findings;
      });
    },
  }),
};

/** Revokes the grants with these ids, or all grants. */
async function revokeGrants(grants: Grants, ids: readonly string[] | undefined) {
  const revoked: { readonly id: string; readonly revoked: boolean }[] = [];
  const listed = async () => (await grants.list()).map(({ id }) => id);
  // A listing contains at most a thousand grants, so it's repeated until no grants remain.
  for (let next = ids ?? (await listed()); next.length > 0; next = ids ? [] : await listed())
    for (const id of next) revoked.push({ id, revoked: await grants.revoke(id) });
  return revoked;
}
