import { relative, resolve } from 'node:path';
import { CapabilityRegistry } from '../../capability/capability-registry.js';
import { LOOPBACK_HOSTS } from '../../host/addresses.js';
import { serve as serveHttp, type ServeOptions } from '../../http/serve.js';
import type { OperatorOptions } from '../../http/operator-options.js';
import { ToolExecutor } from '../../execution/tool-executor.js';
import type { NamedToken } from '../../host/request-guard.js';
import { PROCESSES, PublishedHealth } from '../../providers/published-health.js';
import { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import { MemoryStateStore } from '../../state/memory-state-store.js';
import type { StateStore } from '../../state/state-store.js';
import { command, type Context } from '../command/command.js';
import { connectRedis, placeOf, REDIS_OPTIONS } from '../load/connect-redis.js';
import { KEY_OPTIONS, readApprovalKey } from '../load/approval-key.js';
import { importContext } from '../load/import-default.js';
import { lintRulesFor } from '../load/lint-settings.js';
import { existingFolder, loadRegistry, reportProblems } from '../load/load-registry.js';
import {
  amount,
  flag,
  given,
  repeated,
  text,
  TOOL_OPTIONS,
  type Values,
} from '../command/options.js';
import { parseJsonc, readJsonFile } from '../load/read-json.js';
import { amountOf } from '../terminal/table.js';
import { wrongUsage } from '../terminal/wrong-usage.js';
import { interruptible, paint, plainLine, untilAborted } from '../terminal/terminal.js';

/** The options of commands that listen on a port. */
export const HTTP_OPTIONS = {
  port: amount('<n>', 'the port; 0 takes any free one', { most: 65_535 }),
  host: text('<address>', 'the address to listen on; any but 127.0.0.1 needs a token'),
  token: text('<text>', 'the bearer token that clients must send', { env: 'TOOLDEX_TOKEN' }),
  allowedHost: repeated(
    '<name>',
    'a host name that clients may use besides localhost; repeat for more',
  ),
};

/** Returns the options of a server. An empty token, from an empty variable, is refused there. */
export function listenOptions({ port, host, token, allowedHost }: Values<typeof HTTP_OPTIONS>) {
  const allowedHosts = allowedHost && [...LOOPBACK_HOSTS, ...allowedHost];
  return given({ port, host, token, allowedHosts });
}

const { persona: _persona, ...PLACES } = TOOL_OPTIONS;
const OPTIONS = {
  ...PLACES,
  ...HTTP_OPTIONS,
  tokenFile: text('<file>', 'the JSON file with a token, a name and roles for each operator', {
    excludes: ['token'],
  }),
  ...REDIS_OPTIONS,
  ...KEY_OPTIONS,
  allowApprove: flag('let operators answer waiting calls', { needs: ['tokenFile'] }),
  allowRun: flag('let operators try tools', { needs: ['tokenFile'] }),
  context: text(
    '<module>',
    'the file whose default export tried tools get as context.context; if it exports a function, they get its result',
    { needs: ['allowRun'] },
  ),
};

export const serve = command({
  options: OPTIONS,
  examples: [
    'serve',
    'serve --manifests ./manifests --port 8080',
    'serve --mcp .mcp.json',
    'serve --redis redis://127.0.0.1:6379',
    'serve --redis redis://127.0.0.1:6379 --approval-key-file approval.key --allow-approve --token-file tokens.json',
  ],
  notes:
    '\nThe default port is 4780. Manifests and MCP servers are watched. Each request names its persona: /tools?persona=Atlas.',
  run: async (context) => {
    const { terminal, options } = context;
    const { redis, redisPrefix, approvalKeyFile, allowApprove } = options;
    if (redis === undefined) {
      if (allowApprove || approvalKeyFile !== undefined)
        throw wrongUsage(
          `${allowApprove ? '--allow-approve' : '--approval-key-file'} only works with the Redis of the agents. Name it with --redis or TOOLDEX_REDIS_URL.`,
        );
      return serveCatalogue(context, new MemoryStateStore());
    }
    if (allowApprove && approvalKeyFile === undefined)
      throw wrongUsage('--allow-approve only works with --approval-key-file.');
    const store = await connectRedis(redis, redisPrefix);
    const health = new PublishedHealth({ store });
    const stopReporting = store.onAvailability((available) =>
      terminal.err(
        available
          ? 'Redis answers again'
          : 'Redis does not answer; showing the health that was read last',
      ),
    );
    try {
      const known = await store.read(PROCESSES, { limit: 1 }).catch(() => undefined);
      if (known?.length === 0)
        terminal.err(
          plainLine(
            `This Redis has no health under the prefix '${redisPrefix}' yet. If your processes use another prefix, name it with --redis-prefix.`,
          ),
        );
      return await serveCatalogue(context, store, health);
    } finally {
      stopReporting();
      await health.close();
      await store.close();
    }
  },
});

/** Serves the catalogue until the user presses Ctrl-C. */
async function serveCatalogue(
  context: Context<Values<typeof OPTIONS>>,
  store: StateStore,
  health?: PublishedHealth,
): Promise<void> {
  const { terminal, cwd, options } = context;
  const { tools, manifests, mcp, openapi, baseUrl, auth, trustAutoApprove, redis, json } = options;
  const lintRules = await lintRulesFor(cwd);
  const root = manifests && existingFolder('--manifests', manifests, cwd);
  const isOnlyCode = manifests === undefined && mcp === undefined;
  const code =
    isOnlyCode || tools !== undefined || openapi !== undefined
      ? await loadRegistry({ ...context, options: { tools, openapi, baseUrl, auth, json } })
      : undefined;
  reportProblems(terminal, code?.problems ?? []);
  const discovery =
    mcp === undefined
      ? undefined
      : await (
          await import('../load/load-mcp-tools.js')
        ).openMcpDiscovery({ terminal, cwd, options: { mcp } }, trustAutoApprove);
  const capabilities = await CapabilityRegistry.load({
    tools: [...(code?.registry ?? [])].map(({ definition }) => definition),
    env: process.env,
    ...given({ root, sources: discovery?.sources(), health }),
  });
  const operators = await operatorsOf(context, capabilities, store);
  const running = await serveHttp(capabilities, {
    lintRules,
    ...listenOptions(options),
    ...operators.options,
  });
  const stopWatching = isOnlyCode ? () => {} : capabilities.watch();
  const stopReporting = capabilities.onChange(({ revision, added, edited, removed }) =>
    terminal.err(
      `revision ${revision}: ${added.length} added, ${edited.length} edited, ${removed.length} removed; ${amountOf(capabilities.findings.length, 'problem')}`,
    ),
  );
  try {
    const { url } = running;
    const counts = {
      url,
      tools: capabilities.tools().length,
      problems: capabilities.findings.length,
    };
    const facts = [
      amountOf(counts.tools, 'tool'),
      counts.problems === 0
        ? 'no problems'
        : `${amountOf(counts.problems, 'problem')} in files and sources`,
      ...(root === undefined ? [] : [`watching ${relative(cwd, resolve(root)) || '.'}`]),
      ...(health === undefined ? [] : [`health from Redis at ${placeOf(redis!)}`]),
    ];
    terminal.out(
      json
        ? JSON.stringify(counts)
        : `${paint(terminal, 'bold', url)}  ${facts.join(', ')}; stop with Ctrl-C`,
    );
    await interruptible(terminal, untilAborted);
  } finally {
    stopReporting();
    stopWatching();
    await running.close();
    await operators.close();
    capabilities.close();
    await discovery?.close();
  }
}

/** Returns the options of a server for operators: who they are, and what they may do. */
async function operatorsOf(
  { terminal, cwd, imports, options }: Context<Values<typeof OPTIONS>>,
  capabilities: CapabilityRegistry,
  store: StateStore,
): Promise<{ readonly options: Partial<ServeOptions>; close(): Promise<void> }> {
  const { tokenFile, redis, approvalKeyFile, allowApprove, allowRun, context } = options;
  const tokens =
    tokenFile === undefined
      ? undefined
      : ((await readJsonFile(tokenFile, terminal, cwd, parseJsonc)) as NamedToken[]);
  if (redis === undefined && !allowRun)
    return { options: given({ tokens }), close: async () => {} };
  const approvalKey = approvalKeyFile ? readApprovalKey(approvalKeyFile, cwd) : undefined;
  const registry = new ToolMetadataRegistry();
  const follow = () => {
    for (const { name } of [...registry]) registry.unregister(name);
    registry.registerAll([...capabilities.registryFor()].map(({ definition }) => definition));
  };
  follow();
  const stopFollowing = capabilities.onChange(follow);
  const executor = allowRun
    ? new ToolExecutor({ registry, store, ...given({ approvalKey }) })
    : undefined;
  const operator: OperatorOptions = {
    store,
    allowApprove,
    ...given({ approvalKey, executor }),
    ...(context !== undefined && { context: await importContext(context, cwd, imports) }),
  };
  return {
    options: { operator, ...given({ tokens }) },
    close: async () => {
      stopFollowing();
      await executor?.close();
    },
  };
}
