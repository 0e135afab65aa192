import type { GrantScope, StoredPending } from '../../safety/calls.js';
import { OperatorDesk } from '../../safety/operator-desk.js';
import { command, print, type Context } from '../command/command.js';
import { text, withDefault, type Values } from '../command/options.js';
import { pendingLines } from '../execute/shown-call.js';
import { KEY_OPTIONS, readApprovalKey } from '../load/approval-key.js';
import { connectRedis, REDIS_OPTIONS } from '../load/connect-redis.js';
import { readJsonOption } from '../load/read-json.js';
import { table } from '../terminal/table.js';
import { paint } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

const OPTIONS = { ...REDIS_OPTIONS, ...KEY_OPTIONS };
const ANSWER_OPTIONS = {
  ...OPTIONS,
  operator: withDefault(
    text('<name>', 'your name, which is recorded with the answer', { env: 'USER' }),
    'terminal',
  ),
};
const STORE = '--redis redis://127.0.0.1:6379 --approval-key-file approval.key';

/** Does work with the calls that wait in a Redis. */
async function withDesk<O extends Values<typeof OPTIONS>>(
  { options, cwd }: Context<O>,
  work: (desk: OperatorDesk) => Promise<void>,
): Promise<void> {
  const { redis, redisPrefix, approvalKeyFile } = options;
  if (redis === undefined || approvalKeyFile === undefined)
    throw wrongUsage(
      'Name the Redis of the agents with --redis or TOOLDEX_REDIS_URL, and their key with --approval-key-file.',
    );
  const key = readApprovalKey(approvalKeyFile, cwd);
  const store = await connectRedis(redis, redisPrefix);
  try {
    await work(new OperatorDesk(store, key));
  } finally {
    await store.close();
  }
}

export const pending = command({
  options: OPTIONS,
  examples: [`pending ${STORE}`, `pending 3f2a ${STORE}`],
  run: (context) =>
    withDesk(context, async (desk) => {
      const { terminal, words } = context;
      const waiting = await desk.waiting();
      if (words[0] !== undefined) {
        const found = callOf(waiting, words[0]);
        if (found === undefined) throw wrongUsage(`No call waits under the id ${words[0]}.`);
        return print(context, shown(found), () => [found.id, ...pendingLines(terminal, found)]);
      }
      print(context, { pending: waiting.map(shown) }, () =>
        waiting.length === 0
          ? ['nothing waits']
          : [
              table(
                terminal,
                waiting.map((each) => ({
                  ID: each.id,
                  TOOL: [each.toolName, 'bold'],
                  'WAITS FOR': each.kind === 'manual' ? 'a result' : `an ${WAITS_FOR[each.kind]}`,
                  FOR: each.principal ?? '–',
                  SINCE: new Date(each.createdAt).toISOString().slice(0, 16),
                  ARGUMENTS: JSON.stringify(each.input),
                })),
                ['SINCE', 'FOR'],
              ),
            ],
      );
    }),
});

const WAITS_FOR = { approval: 'approval', question: 'answer' } as const;

/** Returns a waiting call without what only the store needs. */
function shown(call: StoredPending): object {
  const {
    signature: _,
    storeIdentity: __,
    ...rest
  } = { signature: '', storeIdentity: '', ...call };
  return rest;
}

/** Returns the call that an id, or its unique beginning, names. */
function callOf(waiting: readonly StoredPending[], id: string): StoredPending | undefined {
  const found = waiting.filter((each) => each.id.startsWith(id));
  if (found.length > 1)
    throw wrongUsage(`${found.length} calls have ids that begin with ${id}. Write more of it.`);
  return found[0];
}

/** Answers the call that the first operand names, and prints it. */
function answering(
  context: Context<Values<typeof ANSWER_OPTIONS>>,
  did: string,
  answer: (desk: OperatorDesk, id: string) => Promise<unknown>,
): Promise<void> {
  return withDesk(context, async (desk) => {
    const { terminal, words } = context;
    const call = callOf(await desk.waiting(), words[0]!);
    const id = call?.id ?? words[0]!;
    const result = await answer(desk, id);
    print(context, { id, [did]: true, ...(result as object | undefined) }, () => [
      `${paint(terminal, 'green', did)} ${id}`,
      ...(call === undefined ? [] : pendingLines(terminal, call)),
    ]);
  });
}

export const approve = command({
  options: {
    ...ANSWER_OPTIONS,
    input: text('<json>', 'other arguments to run the call with, as JSON, @file or -'),
    grant: text(
      '<json>',
      'also approve further calls like it, within limits: {"uses": 5}, {"input": {…}} or {"until": <ms>}',
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
    const { input, grant, operator } = options;
    const read = (json: string) => readJsonOption(json, terminal, cwd);
    const edited = input === undefined ? undefined : { input: await read(input) };
    const scope = grant === undefined ? undefined : ((await read(grant)) as GrantScope);
    await answering(context, 'approved', async (desk, id) =>
      scope === undefined
        ? desk.approve(id, operator, edited)
        : { grant: (await desk.grant(id, operator, scope)).id },
    );
  },
});

export const deny = command({
  options: ANSWER_OPTIONS,
  examples: [`deny 3f2a ${STORE}`],
  run: (context) =>
    answering(context, 'denied', (desk, id) => desk.deny(id, context.options.operator)),
});

export const answer = command({
  options: ANSWER_OPTIONS,
  examples: [`answer 3f2a '"Berlin"' ${STORE}`, `answer 3f2a @result.json ${STORE}`],
  run: async (context) => {
    const { terminal, cwd, options, words } = context;
    const value = await readJsonOption(words[1]!, terminal, cwd);
    await answering(context, 'answered', (desk, id) => desk.answer(id, options.operator, value));
  },
});
