import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { CapabilityChange } from '../../capability/state/build-state.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { expectedGot } from '../../core/issues.js';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { serve } from '../../http/serve.js';
import { PROCESSES, PublishedHealth } from '../../providers/published-health.js';
import { DEFAULT_PREFIX, isRedisUrl } from '../../state/redis/redis-options.js';
import { RedisStateStore } from '../../state/redis/redis-state-store.js';
import { EXIT } from '../terminal/exit-codes.js';
import type { ImportOptions } from '../../load/import-modules.js';
import { lintRulesFor } from '../load/lint-settings.js';
import { existingFolder, loadRegistry } from '../load/load-registry.js';
import {
  repeated,
  TOKEN_VARIABLE,
  wholeNumber,
  type CommandFamily,
  type CommandOptions,
} from '../load/options.js';
import { amountOf } from '../terminal/table.js';
import { plainLine, paint, placeText, type Dialog } from '../terminal/terminal.js';
import { wrongUsage } from '../terminal/wrong-usage.js';

/** The variable that gives the Redis in which processes keep health together. */
export const REDIS_VARIABLE = 'TOOLDEX_REDIS_URL';

/** Serves the catalogue. */
export const SERVE_COMMANDS: CommandFamily = {
  serve: (command, { terminal, cwd, importOptions, alone }) => {
    command
      .option(
        '--port <n>',
        'the port to listen on; 0 takes any that is free (default: 4780)',
        wholeNumber,
      )
      .option('--host <address>', 'the address to listen on; any but 127.0.0.1 needs a token')
      .option(
        '--token <text>',
        'what clients must send as a bearer token (default: the variable TOOLDEX_TOKEN, which other users cannot see)',
      )
      .option(
        '--allowed-host <name>',
        'a name under which it is asked for instead of localhost; may be repeated',
        repeated,
      )
      .option(
        '--redis <url>',
        'shows the health that all processes on this Redis measured (default: the variable TOOLDEX_REDIS_URL, which other users cannot see)',
      )
      .option(
        '--redis-prefix <text>',
        'what those processes put before their keys: `prefix` of RedisStateStore (default: tooldex:)',
      );
    alone(
      command,
      [
        'serve',
        'serve --manifests ./manifests --port 8080',
        'serve --mcp .mcp.json',
        'serve --redis redis://127.0.0.1:6379',
      ],
      (options) => serveCatalogue(terminal, options, cwd, importOptions),
    );
  },
};

/** The options of `tooldex serve`. */
export interface ServeCommandOptions extends Pick<
  CommandOptions,
  'tools' | 'manifests' | 'mcp' | 'persona' | 'trustAutoApprove' | 'json'
> {
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
  readonly allowedHost?: readonly string[];
  /** The address of the Redis in which the processes that run the tools keep their health. */
  readonly redis?: string;
  /** The prefix of the keys there; without it the one of RedisStateStore. */
  readonly redisPrefix?: string;
}

/** Serves the catalogue until the user interrupts the program; manifests are watched meanwhile. */
export async function serveCatalogue(
  terminal: Dialog,
  options: ServeCommandOptions,
  cwd: string,
  importOptions: ImportOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<number> {
  const { redis = env[REDIS_VARIABLE], redisPrefix, ...rest } = options;
  if (redis === undefined) {
    if (redisPrefix !== undefined)
      throw wrongUsage(
        `--redis, or ${REDIS_VARIABLE}, with --redis-prefix`,
        '--redis-prefix alone',
      );
    return serveWith(terminal, rest, cwd, importOptions, env);
  }
  const store = await connectRedis(redis, redisPrefix);
  const health = new PublishedHealth({ store });
  const stopTelling = store.onAvailability((available) =>
    terminal.err(
      available ? 'Redis answers again' : 'Redis does not answer: health stays as it was read last',
    ),
  );
  try {
    const known = await store.read(PROCESSES, { limit: 1 }).catch(() => undefined);
    if (known?.length === 0)
      terminal.err(
        plainLine(
          `no health in this Redis under the prefix '${redisPrefix ?? DEFAULT_PREFIX}' yet: if your processes give RedisStateStore another prefix, say it with --redis-prefix`,
        ),
      );
    return await serveWith(terminal, rest, cwd, importOptions, env, {
      health,
      place: placeOf(redis),
    });
  } finally {
    stopTelling();
    await health.close();
    await store.close();
  }
}

/** Connects to Redis. @throws ToolError what keeps from using it, in words that hold no password. */
export async function connectRedis(url: string, prefix = DEFAULT_PREFIX): Promise<RedisStateStore> {
  if (!isRedisUrl(url))
    throw wrongUsage(
      `--redis, or ${REDIS_VARIABLE}, as redis://host:port, or rediss:// with encryption`,
      'another text',
      'A user, a password and the number of a database may be in it.',
    );
  const store = await RedisStateStore.connect({ url, prefix });
  try {
    await store.get('health');
    return store;
  } catch (cause) {
    await store.close();
    if (!isToolError(cause)) throw cause;
    const why =
      cause.details['code'] ?? /\(([^)]+)\)/.exec(cause.message)?.[1] ?? cause.details['reason'];
    throw new ToolError(
      'STATE_UNAVAILABLE',
      expectedGot(
        `a Redis that answers at ${placeOf(url)}`,
        `none (${String(why)})`,
        `Start it, or correct --redis or ${REDIS_VARIABLE}.`,
      ),
      { cause },
    );
  }
}

/** Returns the place of a Redis without what is secret. */
function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || 'localhost'}:${port || '6379'}`;
}

/** The health that is shown, and the place where it is kept. */
interface Shared {
  readonly health: PublishedHealth;
  readonly place: string;
}

async function serveWith(
  terminal: Dialog,
  options: Omit<ServeCommandOptions, 'redis'>,
  cwd: string,
  importOptions: ImportOptions,
  env: NodeJS.ProcessEnv,
  shared?: Shared,
): Promise<number> {
  const {
    tools: patterns,
    manifests,
    mcp,
    persona,
    trustAutoApprove,
    port,
    host,
    token = env[TOKEN_VARIABLE],
    allowedHost,
    json,
  } = options;
  if (persona !== undefined)
    throw wrongUsage(
      'serve without --persona',
      'it',
      'Each request asks for its own, as /tools?persona=Atlas.',
    );
  const lintRules = await lintRulesFor(cwd);
  const code =
    (manifests !== undefined || mcp !== undefined) && patterns === undefined
      ? undefined
      : await loadRegistry({ patterns }, cwd, importOptions);
  for (const each of code?.problems ?? [])
    terminal.err(
      `${paint(terminal, 'red', 'not loaded')} ${placeText(each)}: ${plainLine(each.reason)}`,
    );
  const definitions =
    code === undefined ? [] : [...code.registry].map(({ definition }) => definition);
  const discovery =
    mcp === undefined
      ? undefined
      : await (
          await import('../load/load-mcp-tools.js')
        ).openMcpDiscovery(mcp, terminal, cwd, trustAutoApprove);
  const capabilities = await CapabilityRegistry.load({
    tools: definitions,
    env,
    ...(manifests === undefined ? {} : { root: existingFolder('--manifests', manifests, cwd) }),
    ...(discovery && { sources: discovery.sources() }),
    ...(shared && { health: shared.health }),
  });

  const running = await serve(capabilities, {
    lintRules,
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(token === undefined ? {} : { token }), // An empty one, of a variable that is not set, is refused.
    ...(allowedHost === undefined ? {} : { allowedHosts: [...LOOPBACK_HOSTS, ...allowedHost] }),
  });
  const stopWatching =
    manifests === undefined && mcp === undefined ? () => {} : capabilities.watch();
  const stopTelling = capabilities.onChange((change) =>
    terminal.err(changeLine(change, capabilities.findings.length)),
  );
  try {
    const counts = {
      url: running.url,
      tools: capabilities.tools().length,
      problems: capabilities.findings.length,
    };
    if (json === true) terminal.out(JSON.stringify(counts));
    else {
      const watched =
        manifests === undefined
          ? ''
          : `, watching ${relative(cwd, resolve(cwd, manifests)) || '.'}`;
      terminal.out(
        `${paint(terminal, 'bold', running.url)}  ${amountOf(counts.tools, 'tool')}, ${counts.problems === 0 ? 'no problems' : `${amountOf(counts.problems, 'problem')} of files and sources`}${watched}${shared === undefined ? '' : `, health from Redis at ${shared.place}`}; Ctrl-C ends it`,
      );
    }
    await new Promise<void>((resolve) => {
      const stop = terminal.onInterrupt(() => {
        stop();
        resolve();
      });
    });
  } finally {
    stopTelling();
    stopWatching();
    await running.close();
    capabilities.close();
    await discovery?.close();
  }
  return EXIT.ok;
}

function changeLine(
  { revision, added, edited, removed }: CapabilityChange,
  problems: number,
): string {
  return `revision ${revision}: ${added.length} added, ${edited.length} edited, ${removed.length} removed; ${amountOf(problems, 'problem')}`;
}
