import { Grants, type Grant } from '../../safety/grants.js';
import type { CommandFamily } from '../load/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { table } from '../terminal/table.js';
import { plainJson, type Terminal } from '../terminal/terminal.js';
import { connectRedis, REDIS_VARIABLE } from './serve.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The options of `tooldex grants`. */
interface GrantsOptions {
  readonly redis?: string;
  readonly redisPrefix?: string;
  readonly all?: boolean;
  readonly json?: boolean;
}

/** The command that shows and ends what users approved in advance. */
export const GRANTS_COMMANDS: CommandFamily = {
  grants: (command, { terminal, alone }) => {
    const onRedis = (each: typeof command) =>
      each
        .option(
          '--redis <url>',
          `the Redis of the processes that ask (default: the variable ${REDIS_VARIABLE}, which other users cannot see)`,
        )
        .option(
          '--redis-prefix <text>',
          'what those processes put before their keys (default: tooldex:)',
        );
    alone(
      onRedis(command.command('list').description('the grants that count')),
      ['grants list --redis redis://127.0.0.1:6379'],
      (options) => onGrants(options, (grants) => list(terminal, grants, options)),
    );
    const revoke = onRedis(
      command
        .command('revoke [ids...]')
        .description('ends grants: calls that have not begun need approval again'),
    ).option('--all', 'all of them');
    alone(revoke, ['grants revoke 0d1c…', 'grants revoke --all'], (options, ids) =>
      onGrants(options, (grants) => end(terminal, grants, ids, options)),
    );
  },
};

async function onGrants(
  options: GrantsOptions,
  work: (grants: Grants) => Promise<number>,
): Promise<number> {
  const { redis = process.env[REDIS_VARIABLE], redisPrefix } = options;
  if (redis === undefined)
    throw wrongUsage(
      `--redis, or ${REDIS_VARIABLE}`,
      'neither',
      'Grants of one process are in its memory: executor.grants() lists them.',
    );
  const store = await connectRedis(redis, redisPrefix);
  try {
    return await work(new Grants(store));
  } finally {
    await store.close();
  }
}

async function list(terminal: Terminal, grants: Grants, { json }: GrantsOptions): Promise<number> {
  const found = await grants.list();
  if (json === true) terminal.out(plainJson({ grants: found }, 2));
  else if (found.length === 0) terminal.out('no grants');
  else {
    terminal.out(
      table(terminal, found, [
        { title: 'id', value: ({ id }) => id },
        { title: 'tool', value: ({ toolName }) => toolName },
        { title: 'for', value: ({ principal }) => principal ?? 'nobody named', narrow: 'drop' },
        {
          title: 'used',
          value: ({ used, uses }) => (uses === undefined ? '–' : `${used} of ${uses}`),
        },
        {
          title: 'until',
          value: ({ expiresAt }) => new Date(expiresAt).toISOString().slice(0, 16),
        },
        { title: 'limited to', value: limitsOf, narrow: 'wrap' },
      ]),
    );
  }
  return EXIT.ok;
}

function limitsOf({ conversationId, input }: Grant): string {
  const limits = [
    ...(conversationId === null ? [] : [`conversation ${conversationId}`]),
    ...(input === undefined ? [] : [JSON.stringify(input)]),
  ];
  return limits.join('; ');
}

async function end(
  terminal: Terminal,
  grants: Grants,
  ids: readonly string[],
  { all, json }: GrantsOptions,
): Promise<number> {
  if ((ids.length === 0) !== (all === true))
    throw wrongUsage(
      'ids of grants, or --all',
      ids.length === 0 ? 'neither' : 'both',
      'See tooldex grants list.',
    );
  const ended: { id: string; revoked: boolean }[] = [];
  // A list is bounded; what it leaves out comes with the next list.
  for (let ending = ids, goesOn = true; goesOn;) {
    if (all === true) ending = (await grants.list()).map(({ id }) => id);
    const before = ended.length;
    for (const id of ending) ended.push({ id, revoked: await grants.revoke(id) });
    goesOn = all === true && ended.slice(before).some(({ revoked }) => revoked);
  }
  if (json === true) terminal.out(plainJson({ grants: ended }, 2));
  else
    for (const { id, revoked } of ended) terminal.out(`${revoked ? 'revoked' : 'unknown'}  ${id}`);
  return ended.every(({ revoked }) => revoked) ? EXIT.ok : EXIT.findings;
}
