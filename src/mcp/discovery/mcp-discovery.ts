import { systemClock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { formatIssues, invalidArgument } from '../../core/issues.js';
import { Listeners } from '../../core/listeners.js';
import { checkOptions } from '../../core/options.js';
import { compareText, describeValue } from '../../core/plain-data.js';
import { withDeadline } from '../../execution/with-deadline.js';
import type { ToolMetadataRegistry } from '../../registry/tool-metadata-registry.js';
import type { Provider, ProviderFactory } from '../../providers/provider.js';
import type { CapabilitySource, SourceTools } from '../../tool/capability-source.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { isToolDefinition, type ToolDefinition } from '../../tool/tool-definition.js';
import type { ServerConnection } from '../connection/mcp-connection.js';
import { loginFolder, loginsIn } from '../login/login-store.js';
import type { LogInOptions } from '../login/server-login.js';
import type { ServerListing } from '../pins/definition-changes.js';
import { serverNameOf } from '../settings/read-mcp-settings.js';
import type { McpSettings } from '../settings/read-mcp-settings.js';
import { readMcpSettings } from '../settings/read-mcp-settings.js';
import { findingOf, type McpFinding } from '../translate/foreign-text.js';
import { ResourceOwners } from '../translate/resource-owners.js';
import { findLookAlikes, findSteering, type DiscoveredTool } from '../translate/tool-names.js';
import { DiscoveredServer } from './discovered-server.js';
import {
  discoveryOptions,
  WAIT_MS,
  type CheckedDiscoveryOptions,
  type McpChange,
  type McpDiscoveryOptions,
  type McpServerStatus,
  type ServerMessage,
} from './discovery-options.js';

/**
 * The tools of MCP servers, as definitions for any registry and executor.
 *
 * Nothing is opened until you call `refresh` or a tool, or a registry loads the tools. A listing is
 * fresh for the server's `healthCheckIntervalMs`, and stays in use while the tools are listed again
 * or the server is unreachable. A server that fails backs off for `exponentialBackoff(failures in a
 * row)`. If a server announces changes, its tools are listed again at once. A slow or failing
 * server doesn't affect the tools of other servers.
 *
 * ```js
 * const discovery = new McpDiscovery({ enabled: true, servers: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } } });
 * const capabilities = await CapabilityRegistry.load({ sources: discovery.sources() });
 * const executor = new ToolExecutor({ registry: capabilities.registryFor(), providers: { mcp: discovery.provider } });
 * ```
 */
export class McpDiscovery {
  /**
   * The provider to pass to a `ToolExecutor`, where its name is `mcp`. Calls made through the
   * executor get health checks and backoff.
   */
  readonly provider: ProviderFactory = (config) => new McpProvider(this, config);
  readonly #options: CheckedDiscoveryOptions;
  readonly #changes = new Listeners<McpChange>();
  readonly #messages = new Listeners<ServerMessage>();
  #settings: McpSettings;
  #servers: ReadonlyMap<string, DiscoveredServer> = new Map();
  #closed = false;

  /**
   * @param settings The same settings as for `readMcpSettings`.
   * @throws ToolError `INVALID_ARGUMENT`, which lists all errors in settings or options.
   */
  constructor(settings: unknown, options: McpDiscoveryOptions = {}) {
    this.#options = checkOptions(discoveryOptions, options, 'options of the discovery');
    this.#settings = readMcpSettings(settings);
    this.#servers = this.#serversOf(this.#settings);
  }

  /**
   * Lists the tools of all servers without a fresh listing, in parallel. Resolves when each server
   * has responded or failed.
   *
   * While you wait, you can already read the definitions of servers that have responded.
   *
   * @param options `force` also contacts servers that have a fresh listing or are backing off.
   * @throws ToolError `MISSING_PACKAGE`, before any server is contacted, if the SDK isn't installed.
   * Server errors are never thrown: see `status` and `findings`.
   */
  async refresh(options: { readonly force?: boolean } = {}): Promise<void> {
    const { force = false } = options;
    const servers = [...this.#active.values()];
    if (servers.length > 0) await this.#options.packages.client();
    await Promise.all(servers.map((server) => server.ask(force)));
  }

  /**
   * Returns all usable tools, by name. If a tool hasn't changed, its object is the same as in the
   * last call.
   */
  definitions(): readonly ToolDefinition[] {
    const all = [...this.#servers.values()].flatMap(({ tools }) => [...tools.values()]);
    return Object.freeze(all.sort((a, b) => compareText(a.name, b.name)));
  }

  /** Returns the state of each server, by name. */
  status(): readonly McpServerStatus[] {
    return Object.freeze([...this.#servers.values()].map(({ status }) => status));
  }

  /**
   * Returns all problems and suspicions: unreachable servers, and tools that are refused, withheld,
   * look like others, hide text or steer models.
   */
  findings(): readonly McpFinding[] {
    const servers = [...this.#servers.values()];
    const off = 'MCP is disabled in the settings. Set "enabled": true.';
    if (!this.#settings.enabled)
      return Object.freeze(servers.map(({ server }) => findingOf('disabled', server.name, off)));
    const findings = [...this.#settingFindings()];
    const named: DiscoveredTool[] = [];
    for (const { server, tools, ownTools, findings: own } of servers) {
      findings.push(...own);
      for (const [toolName, definition] of tools)
        if (!ownTools.has(toolName)) named.push({ server: server.name, toolName, definition });
    }
    findings.push(...findLookAlikes(named), ...findSteering(named));
    for (const { server, message } of new ResourceOwners(
      servers.map(({ uris }) => uris),
    ).problems())
      findings.push(findingOf('duplicate', server, message));
    return Object.freeze(findings);
  }

  /**
   * Returns each server's last listing unchanged, except that tools denied by the settings are left
   * out. Use it with `DefinitionPins.verify`.
   */
  rawListings(): readonly ServerListing[] {
    return Object.freeze([...this.#servers.values()].map(({ rawListing }) => rawListing));
  }

  /**
   * Calls `listener` with new, changed and removed tools. Returns a function that unsubscribes.
   *
   * While there are listeners, servers that failed are tried again in the background, with backoff.
   */
  onChange(listener: (change: McpChange) => void): () => void {
    const stop = this.#changes.add(listener);
    for (const server of this.#active.values()) server.retryLater();
    return stop;
  }

  /**
   * Registers the tools and keeps the registry up to date, until you call the returned function.
   * Call it after `discoverMcpTools`, which doesn't wait for slow servers.
   *
   * Tools that are already in the registry keep their names, and are joined with the servers' tools
   * as by `complete`.
   */
  follow(registry: ToolMetadataRegistry): () => void {
    const following = new Following(this, registry);
    following.take(this.definitions());
    return this.onChange((change) => following.apply(change));
  }

  /**
   * Calls `listener` with what servers tell besides their tools: log messages, and changes to
   * resources and prompts. Returns a function that unsubscribes.
   */
  onMessage(listener: (message: ServerMessage) => void): () => void {
    return this.#messages.add(listener);
  }

  /** Returns what servers say about their use. Instructions that steer models are left out. */
  instructions(): readonly { readonly server: string; readonly text: string }[] {
    return [...this.#active.values()].flatMap(({ server, instructions: text }) =>
      text === undefined ? [] : [{ server: server.name, text }],
    );
  }

  /** Returns true if a server may still offer resources or prompts, because it hasn't answered. */
  awaits(offer: 'resources' | 'prompts'): boolean {
    return [...this.#active.values()].some(
      ({ server, status }) => server[offer] && status.lastDiscoveredAt === null,
    );
  }

  /** The names and categories of tools that a gateway always lists, from the settings. */
  get alwaysListed(): readonly string[] {
    return this.#settings.include;
  }

  /**
   * Sends a server a request that isn't a call of a tool, and returns its unchanged response.
   * @throws ToolError like `callTool`, or the server's error.
   */
  async request(
    server: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<unknown> {
    return this.#require(server).connection.request(method, params, signal);
  }

  /** Sets the least severe level of the log messages that servers send. */
  setLogLevel(level: Parameters<ServerConnection['setLogLevel']>[0]): void {
    for (const { connection } of this.#active.values())
      void connection.setLogLevel(level).catch(() => undefined); // Set when it connects.
  }

  /**
   * Returns one source per server, for a `CapabilityRegistry`. A server's persona owns its tools.
   */
  sources(): readonly CapabilitySource[] {
    return Object.freeze(
      [...this.#servers.keys()].map((name) =>
        Object.freeze({
          name: name === '' ? 'mcp' : `mcp:${name}`,
          load: ({ force }: { readonly force: boolean }) => this.#load(name, force),
          onChange: (listener: (tools: SourceTools) => void) =>
            this.onChange(({ server }) => server === name && listener(this.#toolsOf(name))),
        }),
      ),
    );
  }

  /**
   * Joins a tool from the program or a manifest with the server's tool that answers its calls.
   * Returns other tools unchanged. A `CapabilityRegistry` does this automatically.
   *
   * If a tool has neither a function nor other providers, the discovered tool with the same name
   * answers. Your tool may add texts and tighten safety; the server provides the handler and
   * schema. A tool with a different name and the provider `mcp` takes the server's schema if it
   * describes no input.
   */
  complete(definition: ToolDefinition): ToolDefinition {
    if (!isToolDefinition(definition))
      throw invalidArgument('a tool made with defineTool', definition);
    for (const name of this.#servers.keys()) {
      const joined = this.#join(name, definition);
      if (joined !== undefined) return joined;
    }
    return definition;
  }

  /**
   * Calls a tool by the name it has at a server. Arguments are passed on unchanged.
   *
   * @param server The server's name.
   * @default the default server
   * @param digest The digest of the server's tool that the policy checked. If the tool has changed,
   * it isn't called.
   * @returns a plain value, or a failure that the server returned.
   * @throws ToolError `INVALID_ARGUMENT` for an unknown server, or `TOOL_CHANGED`.
   * @throws ToolError `TOOL_UNAVAILABLE` if the tool isn't listed, isn't allowed, or is withheld.
   * @throws ToolError `PROVIDER_UNAVAILABLE` if the server can't be reached.
   * @throws Error, and not a ToolError, if the connection breaks during the call.
   */
  async callTool(
    server: string | undefined,
    tool: string,
    input: unknown,
    context: ToolContext,
    digest?: string,
  ): Promise<unknown> {
    return this.#require(server).callTool(tool, input, context, digest);
  }

  /**
   * Resolves to true when a server responds to a ping.
   * @throws ToolError `INVALID_ARGUMENT` for an unknown server.
   */
  async check(server: string | undefined, signal: AbortSignal): Promise<boolean> {
    await this.#require(server).connection.ping(signal);
    return true;
  }

  /**
   * Logs in at the authorization server of an HTTP server, and lists the server's tools. The
   * discovery's `logins` option determines where the login is stored.
   *
   * @param options `open` is called with the URL at which the user logs in, in a browser on this
   * machine and within `timeoutMs` (five minutes). A login with `grant: "client_credentials"` needs
   * no user.
   * @throws ToolError `INVALID_ARGUMENT` for invalid options, an unknown server, or a server that
   * isn't reached over HTTP. `PROVIDER_UNAVAILABLE` if the login is refused or unsafe, `TIMEOUT`,
   * `ABORTED`.
   */
  async login(server: string | undefined, options: LogInOptions): Promise<void> {
    const target = this.#require(server);
    await target.login.logIn(options);
    await target.ask(true);
  }

  /** Deletes the login at a server. The authorization server isn't notified. */
  async logout(server: string | undefined): Promise<void> {
    await this.#require(server).login.logOut();
  }

  /**
   * Applies new settings. Servers with unchanged settings keep their tools and connections. All
   * other servers are closed.
   *
   * @throws ToolError `INVALID_ARGUMENT`, without changing anything.
   */
  async update(settings: unknown): Promise<void> {
    const next = readMcpSettings(settings);
    if (this.#closed) return;
    const before = this.#servers;
    this.#settings = next;
    this.#servers = this.#serversOf(next);
    const left = [...before].filter(([name, server]) => this.#servers.get(name) !== server);
    for (const [server, { tools }] of left) {
      const removed = [...tools.values()].map(({ name }) => name);
      this.#changes.tell({ server, added: [], edited: [], removed });
    }
    await Promise.all(left.map(([, server]) => server.close()));
  }

  /** Closes all connections and ends the processes behind them. Their tools are removed. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  #serversOf(settings: McpSettings): ReadonlyMap<string, DiscoveredServer> {
    const { env = process.env, logins: logInStore = loginFolder(env), ...options } = this.#options;
    const logins = typeof logInStore === 'string' ? loginsIn(logInStore) : logInStore;
    const listeners = {
      tell: (change: McpChange) => this.#changes.tell(change),
      tellMessage: (message: ServerMessage) => this.#messages.tell(message),
      isFollowed: () => this.#changes.size > 0,
    };
    return new Map(
      settings.servers.map((server) => {
        // If the new settings are disabled, all servers are closed and their tools removed.
        const current = settings.enabled ? this.#servers.get(server.name) : undefined;
        if (current?.server.signature === server.signature) return [server.name, current];
        const all = { ...options, ...listeners, env, logins, settings };
        return [server.name, new DiscoveredServer(server, all)];
      }),
    );
  }

  #settingFindings(): readonly McpFinding[] {
    return this.#settings.warnings.map((warning) => {
      const [, server] = warning.path;
      const name = server === undefined ? '' : serverNameOf(String(server));
      return findingOf('settings', name, formatIssues([warning]));
    });
  }

  /**
   * Returns a server's tools. Known tools are returned at once, even if the server must be
   * contacted again.
   */
  async #load(name: string, force: boolean): Promise<SourceTools> {
    const server = this.#active.get(name);
    if (server === undefined) return { definitions: [] };
    await this.#options.packages.client();
    const asked = server.ask(force);
    if (force || server.status.lastDiscoveredAt === null)
      await withDeadline(() => asked, {
        clock: this.#options.clock,
        timeoutMs: this.#options.waitMs,
      });
    return this.#toolsOf(name);
  }

  /** Returns the known tools of a server. */
  #toolsOf(name: string): SourceTools {
    const server = this.#active.get(name);
    if (server === undefined) return { definitions: [] };
    const { tools, findings } = server;
    return {
      definitions: [...tools.values()],
      persona: server.server.persona ?? null,
      issues: findings.map(({ tool, message }) =>
        tool === undefined ? message : `${tool}: ${message}`,
      ),
      join: (declared) => this.#join(name, declared),
    };
  }

  #join(name: string, declared: ToolDefinition): ToolDefinition | undefined {
    return this.#active.get(name)?.join(declared, name === this.#defaultServer);
  }

  /** The servers that may be contacted. */
  get #active(): ReadonlyMap<string, DiscoveredServer> {
    return this.#settings.enabled && !this.#closed ? this.#servers : new Map();
  }

  /** The server for calls that don't specify a server. */
  get #defaultServer(): string | undefined {
    return (
      this.#settings.defaultServer ??
      (this.#servers.size === 1 ? [...this.#servers.keys()][0] : undefined)
    );
  }

  #require(name: string | undefined): DiscoveredServer {
    const { enabled } = this.#settings;
    if (!enabled || this.#closed)
      throw new ToolError(
        'TOOL_UNAVAILABLE',
        this.#closed
          ? 'This discovery was closed. Create a new one.'
          : 'MCP is disabled. Set "enabled": true in its settings.',
      );
    const wanted = name ?? this.#defaultServer;
    const server = wanted === undefined ? undefined : this.#servers.get(wanted);
    if (server !== undefined) return server;
    const configured =
      [...this.#servers.keys()].map((each) => JSON.stringify(each)).join(', ') || 'none';
    throw new ToolError(
      'INVALID_ARGUMENT',
      wanted === undefined
        ? `The call specifies no MCP server, and there is no default_server. Specify one of: ${configured}.`
        : `There is no MCP server ${describeValue(wanted)} in the settings. Configured: ${configured}.`,
    );
  }
}

/**
 * Forwards a tool's calls to a tool of an MCP server.
 *
 * The configuration alone decides on the server and tool, even if an argument has a name like
 * `server`. A tool isn't called if the server doesn't list it, the settings deny it, or it's
 * withheld because its definition has changed.
 *
 * ```js
 * const executor = new ToolExecutor({ registry, providers: { mcp: discovery.provider } });
 * ```
 */
export class McpProvider implements Provider {
  /** Calls the tool. @throws ToolError like `McpDiscovery.callTool`. */
  readonly call: (input: unknown, context: ToolContext) => Promise<unknown>;
  /** Resolves to true when the server responds to a ping. */
  readonly check: (signal: AbortSignal) => Promise<boolean>;

  /**
   * @param config The same as in manifests. `tool` is the name at the server, and `server` is a
   * configured server (by default the default server, or the only one). `digest` identifies the
   * server's tool that a tool of the program was joined with.
   * @throws ToolError `INVALID_ARGUMENT` if `config` has no tool name.
   */
  constructor(
    discovery: Pick<McpDiscovery, 'callTool' | 'check'>,
    { server, tool, digest }: Readonly<Record<string, unknown>>,
  ) {
    const wanted = (what: string, got: unknown) =>
      invalidArgument(`the name of a ${what} in the configuration of the provider mcp`, got);
    if (typeof tool !== 'string' || tool.trim() === '') throw wanted('tool', tool);
    if (server !== undefined && typeof server !== 'string') throw wanted('server', server);
    const judged = typeof digest === 'string' ? digest : undefined;
    this.call = (input, context) => discovery.callTool(server, tool, input, context, judged);
    this.check = (signal) => discovery.check(server, signal);
  }
}

/** The tools that servers currently list, and everything needed to call them. */
export interface DiscoveredMcpTools {
  readonly definitions: readonly ToolDefinition[];
  readonly findings: readonly McpFinding[];
  /** The provider for an executor. Pass it under the name `mcp`. */
  readonly provider: ProviderFactory;
  /** The discovery, for refreshing later. */
  readonly discovery: McpDiscovery;
  /** Closes the connections. Until then they keep the program running. */
  readonly close: () => Promise<void>;
}

/**
 * Lists the tools of all configured servers once. Resolves when each server has responded or
 * failed, but after `waitMs` at the latest, so a slow server doesn't hold up the others. A slow
 * server is reported in `findings` as `unanswered`, and `discovery.follow(registry)` registers its
 * tools once they're available.
 *
 * ```js
 * const { discovery, close } = await discoverMcpTools({ mcpServers: { memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] } } });
 * discovery.follow(registry); // or registry.registerAll(definitions), which takes the tools available now
 * ```
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid settings and options, `MISSING_PACKAGE`. Servers
 * that fail are reported in `findings`.
 */
export async function discoverMcpTools(
  settings: unknown,
  options: McpDiscoveryOptions = {},
): Promise<DiscoveredMcpTools> {
  const discovery = new McpDiscovery(settings, options);
  const { clock = systemClock, waitMs = WAIT_MS } = options;
  const asked = await withDeadline(() => discovery.refresh(), { clock, timeoutMs: waitMs });
  if (asked.kind === 'threw') throw asked.error;
  return Object.freeze({
    definitions: discovery.definitions(),
    findings: discovery.findings(),
    provider: discovery.provider,
    discovery,
    close: () => discovery.close(),
  });
}

/** A registry that follows a discovery. */
class Following {
  /** The tools that the registry had before. They keep their names. */
  readonly #own: readonly ToolDefinition[];
  readonly #taken = new Set<string>();

  constructor(
    readonly discovery: McpDiscovery,
    readonly registry: ToolMetadataRegistry,
  ) {
    const discovered = new Set(discovery.definitions());
    const all = [...registry].map(({ definition }) => definition);
    this.#own = all.filter((definition) => !discovered.has(definition));
    for (const { name, aliases = [] } of this.#own)
      for (const each of [name, ...aliases]) this.#taken.add(each);
  }

  apply({ added, edited, removed }: McpChange): void {
    for (const name of removed) if (!this.#taken.has(name)) this.registry.unregister(name);
    const come = new Set([...added, ...edited]);
    this.take(this.discovery.definitions().filter(({ name }) => come.has(name)));
  }

  take(tools: readonly ToolDefinition[]): void {
    const free = tools.filter(({ name }) => !this.#taken.has(name));
    const joined = this.#own.map((definition) => this.discovery.complete(definition));
    const isNew = (tool: ToolDefinition) => this.registry.get(tool.name)?.definition !== tool;
    this.registry.registerAll([...free, ...joined].filter(isNew), { replace: true });
  }
}
