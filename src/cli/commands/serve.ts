import { existsSync } from 'node:fs';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { serve as serveHttp, type ServeOptions } from '../../http/serve.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { NamedToken } from '../../host/request-guard.js';
import { PROCESSES, PublishedHealth } from '../../providers/published-health.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { RedisStateStore } from '../../state/redis/redis-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { command, type Context } from '../command/command.js';
import {
  connectRedis,
  KEY_OPTIONS,
  placeOf,
  readApprovalKey,
  REDIS_OPTIONS,
} from '../load/connect-redis.js';
import { importContext } from '../load/import-default.js';
import { hintsFileFor, lintRulesFor } from '../load/settings.js';
import { openMcpDiscovery } from '../load/load-mcp-tools.js';
import {
  definitionsOf,
  existingFolder,
  loadRegistry,
  placesOf,
  reportProblems,
} from '../load/load-registry.js';
import {
  amount,
  flag,
  given,
  repeated,
  textOption,
  TOOL_OPTIONS,
  type OptionValues,
} from '../command/options.js';
import { parseJsonc, readJsonFile } from '../load/read-json.js';
import { amountOf } from '../terminal/table.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { interruptible, paint, plainLine, whenAborted } from '../terminal/terminal.js';

/** Options for commands that listen on a port. */
export const HTTP_OPTIONS = {
  port: amount('<n>', 'the port; 0 picks a free one', { most: 65_535 }),
  host: textOption(
    '<address>',
    'the address to listen on; any other than 127.0.0.1 requires a token',
  ),
  token: textOption('<text>', 'the bearer token that clients must send', { env: 'TOOLDEX_TOKEN' }),
  allowedHost: repeated(
    '<name>',
    'a host name that clients may use besides localhost; can be repeated',
  ),
};

/**
 * Returns the options for a server. Keeps an empty token, for example from an empty variable, so
 * that the server refuses it.
 */
export function listenOptions({
  port,
  host,
  token,
  allowedHost,
}: OptionValues<typeof HTTP_OPTIONS>) {
  const allowedHosts = allowedHost && [...LOOPBACK_HOSTS, ...allowedHost];
  return given({ port, host, token, allowedHosts });
}

const { persona: _persona, ...PLACES } = TOOL_OPTIONS;
const OPTIONS = {
  ...PLACES,
  ...HTTP_OPTIONS,
  tokenFile: textOption(
    '<file>',
    'the JSON file with a token, a name and roles for each operator',
    {
      excludes: ['token'],
    },
  ),
  ...REDIS_OPTIONS,
  approvalKeyFile: { ...KEY_OPTIONS.approvalKeyFile, needs: ['redis'] },
  webhook: textOption(
    '<url>',
    'the address to tell when a call waits for a person (experimental)',
    {
      needs: ['approvalKeyFile'],
    },
  ),
  webhookSecret: textOption('<text>', 'the secret that signs the messages', {
    env: 'TOOLDEX_WEBHOOK_SECRET',
  }),
  publicUrl: textOption(
    '<url>',
    "the page's address for links in messages, if it's behind a proxy",
    {
      needs: ['webhook'],
    },
  ),
  allowApprove: flag('let operators answer waiting calls', {
    needs: ['tokenFile', 'approvalKeyFile'],
  }),
  allowRun: flag('let operators try tools', { needs: ['tokenFile'] }),
  context: textOption(
    '<module>',
    'the file whose default export is passed to tried tools as context.context; if it exports a function, its result is passed',
    { needs: ['allowRun'] },
  ),
};

type ServeContext = Context<OptionValues<typeof OPTIONS>>;

/** Functions that close everything that was opened, in the order of opening. */
type Closing = (() => unknown)[];

export const commands = {
  serve: command({
    options: OPTIONS,
    examples: [
      'serve',
      'serve --manifests ./manifests --port 8080',
      'serve --mcp .mcp.json',
      'serve --redis redis://127.0.0.1:6379',
      'serve --redis redis://127.0.0.1:6379 --approval-key-file approval.key --allow-approve --token-file tokens.json',
    ],
    notes:
      '\nThe default port is 4780. Manifests and MCP servers are watched. Each request selects its persona: /tools?persona=Atlas.',
    run: async (context) => {
      const { webhook, webhookSecret } = context.options;
      if (webhook !== undefined && webhookSecret === undefined)
        throw wrongUsage(
          'Expected a secret for --webhook, got none. Set TOOLDEX_WEBHOOK_SECRET, for example to the output of: openssl rand -hex 32',
        );
      const closing: Closing = [];
      try {
        const options = await placesOf(context.options, context.cwd);
        await serveCatalogue({ ...context, options }, closing);
      } finally {
        for (const close of closing.reverse()) await close();
      }
    },
  }),
};

/** Serves the catalogue until the user presses Ctrl-C. */
async function serveCatalogue(context: ServeContext, closing: Closing): Promise<void> {
  const { terminal, cwd, options } = context;
  const { manifests, mcp, openapi, tools, redis } = options;
  const lintRules = await lintRulesFor(cwd);
  const shared = redis === undefined ? undefined : await connectRedis(redis, options.redisPrefix);
  const health = shared && (await healthIn(shared, context, closing));
  const root = manifests && existingFolder('--manifests', manifests, cwd);
  const isOnlyCode = manifests === undefined && mcp === undefined;
  const code =
    isOnlyCode || tools !== undefined || openapi !== undefined
      ? await loadRegistry({
          ...context,
          options: { ...options, manifests: undefined, mcp: undefined },
        })
      : undefined;
  reportProblems(terminal, code?.problems ?? []);
  const discovery = mcp === undefined ? undefined : await openMcpDiscovery(context);
  closing.push(() => discovery?.close());
  const hints = await hintsFileFor(options.hints, cwd);
  const capabilities = await CapabilityRegistry.load({
    tools: definitionsOf(code?.registry ?? []),
    env: process.env,
    ...(existsSync(hints) && { hints }),
    ...given({ root, sources: discovery?.sources(), health }),
  });
  closing.push(() => capabilities.close());
  const operators = await operatorsOf(context, capabilities, shared, closing);
  const running = await serveHttp(capabilities, {
    lintRules,
    ...listenOptions(options),
    ...operators,
    ...webhookOf(context),
  });
  closing.push(
    () => running.close(),
    ...(isOnlyCode ? [] : [capabilities.watch()]),
    capabilities.onChange(({ revision, added, edited, removed }) =>
      terminal.err(
        `revision ${revision}: ${added.length} added, ${edited.length} edited, ${removed.length} removed; ${amountOf(capabilities.findings.length, 'problem')}`,
      ),
    ),
  );
  terminal.out(listeningText(running.url, capabilities, options));
  await interruptible(terminal, whenAborted);
}

/** Tells where the catalogue is served, and what is in it. */
function listeningText(
  url: string,
  capabilities: CapabilityRegistry,
  { redis, json }: ServeContext['options'],
): string {
  const tools = capabilities.tools().length;
  const problems = capabilities.findings.length;
  if (json) return JSON.stringify({ url, tools, problems });
  const found =
    problems === 0 ? 'no problems' : `${amountOf(problems, 'problem')} in files and sources`;
  const health = redis === undefined ? '' : `, health from Redis at ${placeOf(redis)}`;
  return `${paint('bold', url)}  ${amountOf(tools, 'tool')}, ${found}${health}; stop with Ctrl-C`;
}

/**
 * Returns the tool health that processes publish in Redis. Tells the user if no health data exists,
 * or if Redis stops responding.
 */
async function healthIn(
  store: RedisStateStore,
  { terminal, options }: ServeContext,
  closing: Closing,
): Promise<PublishedHealth> {
  const health = new PublishedHealth({ store });
  closing.push(
    () => store.close(),
    () => health.close(),
    store.onAvailability((available) =>
      terminal.err(
        available
          ? 'Redis is responding again'
          : "Redis isn't responding; showing the last health data that was read",
      ),
    ),
  );
  const published = await store.read(PROCESSES, { limit: 1 }).catch(() => undefined);
  if (published?.length === 0)
    terminal.err(
      plainLine(
        `This Redis has no health data with the prefix '${options.redisPrefix}' yet. If your processes use another prefix, pass it with --redis-prefix.`,
      ),
    );
  return health;
}

/** Returns the server options for messages about waiting calls. */
function webhookOf({ terminal, options }: ServeContext): Pick<ServeOptions, 'webhook'> {
  const { webhook: url, webhookSecret: secret, publicUrl: page } = options;
  if (url === undefined || secret === undefined) return {};
  const onFailure = (message: string) => terminal.err(message);
  return { webhook: { url, secret, page, onFailure } };
}

/** Returns the server options for operators: their names and permissions. */
async function operatorsOf(
  { terminal, cwd, imports, options }: ServeContext,
  capabilities: CapabilityRegistry,
  shared: StateStore | undefined,
  closing: Closing,
): Promise<Partial<ServeOptions>> {
  const { tokenFile, approvalKeyFile, allowApprove, allowRun, context } = options;
  const tokens = tokenFile && (await readJsonFile(tokenFile, terminal, cwd, parseJsonc));
  const who = given({ tokens: tokens as NamedToken[] | undefined });
  if (shared === undefined && !allowRun) return who;
  const store = shared ?? new MemoryStateStore();
  const approvalKey = approvalKeyFile ? readApprovalKey(approvalKeyFile, cwd) : undefined;
  const operator = { store, allowApprove, ...given({ approvalKey }) };
  if (!allowRun) return { operator, ...who };
  const registry = new ToolMetadataRegistry();
  const follow = () => {
    for (const { name } of [...registry]) registry.unregister(name);
    registry.registerAll(definitionsOf(capabilities.registryFor()));
  };
  follow();
  const executor = new ToolExecutor({ registry, store, ...given({ approvalKey }) });
  closing.push(capabilities.onChange(follow), () => executor.close());
  const made = context === undefined ? {} : { context: await importContext(context, cwd, imports) };
  return { operator: { ...operator, executor, ...made }, ...who };
}
