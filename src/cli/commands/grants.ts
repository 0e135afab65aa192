import { Grants, type Grant } from '../../safety/grants.js';
import { command, print } from '../command/command.js';
import { connectRedis, REDIS_OPTIONS } from '../load/connect-redis.js';
import { flag, type Values } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { table } from '../terminal/table.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** Does work with the grants in a Redis. */
async function withGrants(
  { redis, redisPrefix }: Values<typeof REDIS_OPTIONS>,
  work: (grants: Grants) => Promise<number | void>,
): Promise<number | void> {
  if (redis === undefined)
    throw wrongUsage(
      'Name the Redis that holds the grants with --redis or TOOLDEX_REDIS_URL. Grants without a Redis are in the memory of one process: executor.grants() lists them.',
    );
  const store = await connectRedis(redis, redisPrefix);
  try {
    return await work(new Grants(store));
  } finally {
    await store.close();
  }
}

export const listGrants = command({
  options: REDIS_OPTIONS,
  examples: ['grants list --redis redis://127.0.0.1:6379'],
  run: (context) =>
    withGrants(context.options, async (grants) => {
      const found = await grants.list();
      print(context, { grants: found }, () =>
        found.length === 0
          ? ['no grants']
          : [
              table(
                context.terminal,
                found.map((grant) => ({
                  ID: grant.id,
                  TOOL: [grant.toolName, 'bold'],
                  FOR: grant.principal ?? '–',
                  USED: grant.uses === undefined ? '–' : `${grant.used} of ${grant.uses}`,
                  UNTIL: new Date(grant.expiresAt).toISOString().slice(0, 16),
                  'LIMITED TO': limitsOf(grant),
                })),
                ['FOR'],
              ),
            ],
      );
    }),
});

function limitsOf({ conversationId, input }: Grant): string {
  const limits = [
    conversationId && `conversation ${conversationId}`,
    input && JSON.stringify(input),
  ];
  return limits.filter(Boolean).join('; ');
}

export const revokeGrants = command({
  options: { all: flag('revoke all grants'), ...REDIS_OPTIONS },
  examples: ['grants revoke 0d1c…', 'grants revoke --all'],
  run: (context) => {
    const { words, options } = context;
    if ((words.length === 0) !== options.all)
      throw wrongUsage(
        'Name the grants to revoke, or use --all. To see them, run tooldex grants list.',
      );
    return withGrants(options, async (grants) => {
      const ended: { id: string; revoked: boolean }[] = [];
      const revoke = async (ids: readonly string[]) => {
        for (const id of ids) ended.push({ id, revoked: await grants.revoke(id) });
      };
      await revoke(words);
      // A list is bounded; the next one has the rest.
      while (options.all) {
        const ids = (await grants.list()).map(({ id }) => id);
        const before = ended.length;
        await revoke(ids);
        if (!ended.slice(before).some(({ revoked }) => revoked)) break;
      }
      print(context, { grants: ended }, () =>
        ended.map(({ id, revoked }) => `${revoked ? 'revoked' : 'unknown'}  ${id}`),
      );
      return ended.every(({ revoked }) => revoked) ? EXIT.ok : EXIT.findings;
    });
  },
});
