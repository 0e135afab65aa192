import type { Clock } from '../../core/clock.js';
import { AccessMode } from '../../core/enums.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { LIMITS } from '../../core/limits.js';
import { describeValue } from '../../core/plain-data.js';
import { RecentMap } from '../../core/recent-map.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import { exponentialBackoff } from '../../providers/exponential-backoff.js';
import { abortError } from '../../providers/run-attempt.js';
import { fail, type ToolResult } from '../../tool/outcome.js';
import { entryOf, withRenewal, type ToolDefinition } from '../../tool/tool-definition.js';
import type { ToolContext } from '../../tool/tool-options.js';
import {
  ANYTHING,
  McpConnection,
  type McpConnectionOptions,
  type RawListing,
} from '../connection/mcp-connection.js';
import { offeredTools, type OfferedTools } from '../connection/offered-tools.js';
import {
  callFailure,
  callResult,
  describeConnectionFailure,
  inAnySession,
} from '../connection/server-answers.js';
import type { Session } from '../connection/session.js';
import { boundedFetch, type Credentials } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import { isLoginNeeded, labelOf, unavailable } from '../login/server-errors.js';
import { ServerLogin } from '../login/server-login.js';
import type { ServerListing } from '../pins/definition-changes.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import { findingOf, quoted, type McpFinding } from '../translate/foreign-text.js';
import { isAllowed } from '../translate/tool-names.js';
import type { HeadersFor, McpChange, McpServerStatus, PinGuard } from './discovery-options.js';
import {
  declaredPart,
  digestIn,
  joinDefinitions,
  mcpProviderOf,
  takesServedSchema,
} from './join-definitions.js';
import { buildTable, changeOf, EMPTY_TABLE, isServed, type ToolTable } from './tool-table.js';

interface DiscoveredServerOptions extends Omit<
  McpConnectionOptions,
  keyof Credentials | 'isWanted' | 'onToolsChanged' | 'onDoubt'
> {
  readonly clock: Clock;
  readonly random: () => number;
  readonly pins?: PinGuard | undefined;
  readonly patternEngine?: PatternEngine | undefined;
  readonly settings: McpSettings;
  readonly logins: LoginStore;
  readonly headers?: HeadersFor | undefined;
  /** Reports changed tools. */
  readonly tell: (change: McpChange) => void;
}

interface Listing extends RawListing {
  readonly offered: OfferedTools;
  /** Time at which the tools were listed, in milliseconds since 1970. */
  readonly at: number;
}

interface Failure {
  readonly error: unknown;
  readonly reason: string;
  readonly failures: number;
  /** End of the backoff, in milliseconds since 1970. */
  readonly nextAttemptAt: number;
}

/**
 * Maximum number of listings that one call waits for. Without a limit, a server that keeps
 * announcing changes would block the call forever.
 */
const MOST_LISTINGS = 2;
/** Minimum milliseconds between two listings of a server that keeps announcing changes. */
const CHANGE_GAP_MS = 250;
/** Maximum number of tools whose name or first definition is remembered. */
const MOST_REMEMBERED = 10_000;

/** One server: its last listing, the time of the next listing, and the calls to its tools. */
export class DiscoveredServer {
  readonly server: McpServerSettings;
  readonly #options: DiscoveredServerOptions;
  readonly #connection: McpConnection;
  readonly #login: ServerLogin | undefined;
  #table: ToolTable = EMPTY_TABLE;
  #listing: Listing | undefined;
  #failure: Failure | undefined;
  #askedAt = -Infinity;
  /** True if the server announced that its tools differ from the listing. */
  #isChanged = false;
  /**
   * True if the server's tools may have changed without an announcement, for example after a
   * reconnection. The next call then lists the tools again.
   */
  #isInDoubt = false;
  #running: Promise<void> | undefined;
  /** The listing that follows the one in progress. */
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #closed = false;
  /**
   * The digest of each tool in the server's first listing. The program's own tools were written for
   * these definitions.
   */
  readonly #first = new RecentMap<string, string>(MOST_REMEMBERED);
  /** The names in the last listing, including those of tools that the settings exclude. */
  readonly #names = new Set<string>();

  constructor(server: McpServerSettings, options: DiscoveredServerOptions) {
    this.server = server;
    this.#options = options;
    this.#login = loginAt(server, options);
    const { headers } = options;
    this.#connection = new McpConnection(server, {
      ...options,
      login: this.#login,
      ...(headers && { ownHeaders: () => headersOf(headers, server.name) }),
      isWanted: (tool) => this.#isWanted(tool),
      onToolsChanged: () => this.#listSoon(),
      onDoubt: () => (this.#isInDoubt = true),
    });
  }

  /** The usable tools, by their names at the server. */
  get tools(): ReadonlyMap<string, ToolDefinition> {
    return this.#table.tools;
  }

  /** Tools of this program for the server's resources and prompts. */
  get offered(): OfferedTools {
    return this.#listing?.offered ?? new Map();
  }

  get findings(): readonly McpFinding[] {
    const { name } = this.server;
    const own = (kind: McpFinding['kind'], message: string) =>
      Object.freeze([findingOf(kind, name, message), ...this.#table.findings]);
    if (this.#failure !== undefined)
      return own(
        'unreachable',
        `${labelOf(name)} could not list its tools: ${this.#failure.reason}`,
      );
    if (this.#listing === undefined && this.#running !== undefined)
      return own(
        'unanswered',
        `${labelOf(name)} hasn't listed its tools yet. They will be added when it responds.`,
      );
    return this.#table.findings;
  }

  get status(): McpServerStatus {
    const { stderr } = this.#connection;
    const { error: _, ...failure } = this.#failure ?? {};
    return Object.freeze({
      server: this.server.name,
      state: this.#state,
      tools: this.#table.tools.size,
      findings: this.findings,
      lastDiscoveredAt: this.#listing?.at ?? null,
      era: this.#listing?.era ?? null,
      ...(stderr !== '' && { stderr }),
      ...failure,
    });
  }

  get #state(): McpServerStatus['state'] {
    if (this.#closed) return 'closed';
    if (this.#failure !== undefined) return this.#isLeftAlone ? 'backing-off' : 'failed';
    if (this.#listing !== undefined) return this.#isLeftAlone ? 'ready' : 'stale';
    return this.#running === undefined ? 'idle' : 'discovering';
  }

  /**
   * The server's unchanged tools that the settings allow, or the reason why the tools aren't known.
   */
  get rawListing(): ServerListing {
    const server = this.server.name;
    return Object.freeze(
      this.#failure !== undefined || this.#listing === undefined
        ? { server, error: this.#failure?.reason ?? 'the server has not been asked yet' }
        : { server, tools: this.#listing.tools },
    );
  }

  /** The login at the server. @throws ToolError `INVALID_ARGUMENT` if the server has none. */
  get login(): ServerLogin {
    if (this.#login !== undefined) return this.#login;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${labelOf(this.server.name)} has no login, because only HTTP servers without a token in their headers need one.`,
    );
  }

  /**
   * Lists the server's tools if a listing is due. Never rejects.
   *
   * @param force Lists even if the listing is fresh or the server is backing off. A listing in
   * progress may have started before the change that the caller wants to see, so another listing
   * follows it. Everyone who calls in between shares the second listing.
   */
  ask(force: boolean): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#running !== undefined) {
      if (!force) return this.#running;
      return (this.#next ??= this.#running.then(() => {
        this.#next = undefined;
        return this.ask(true);
      }));
    }
    if (!force && this.#isLeftAlone && this.#options.pins === undefined) return Promise.resolve();
    const work = force || !this.#isLeftAlone ? this.#list() : this.#rebuild();
    return (this.#running = work.finally(() => (this.#running = undefined)));
  }

  /**
   * Calls a tool that the server lists, that the settings allow and whose definition matches its
   * pin.
   *
   * @param digest The digest of the server's tool that the policy checked. A tool written by the
   * program has no digest, so the server's tool is compared with the first listing.
   * @throws ToolError `TOOL_CHANGED` if the tool has changed since the policy checked the call,
   * `TOOL_UNAVAILABLE` if it can't be called, `PROVIDER_UNAVAILABLE` if the server can't be
   * reached.
   * @throws Error, and not a ToolError, if the connection breaks during the call.
   */
  async callTool(
    toolName: string,
    input: unknown,
    context: ToolContext,
    digest?: string,
  ): Promise<unknown> {
    const { signal, reportProgress } = context;
    const sdk = await this.#options.packages.client();
    try {
      const result = await inAnySession(async () => {
        const session = await this.#listedSession(toolName, signal);
        const tool = this.#callable(toolName);
        if (context.toolName !== undefined || digest !== undefined)
          this.#assertJudged(toolName, tool, digest);
        const offered = this.offered.get(toolName);
        return this.#connection.useIn(session, signal, ({ client, elicitation }, options) => {
          if (offered !== undefined)
            return offered.answer(input as Record<string, unknown>, (method, params) =>
              client.request({ method, params }, ANYTHING, options),
            );
          const call = { name: toolName, arguments: input as Record<string, unknown> };
          const all = {
            ...options,
            // Keeps the SDK from compiling the server's (possibly hostile) output schema.
            toolDefinition: { name: toolName, inputSchema: tool.inputSchema as { type: 'object' } },
            // If `onprogress` is set, the SDK asks the server for progress.
            ...(reportProgress && { onprogress: (told: object) => reportProgress({ ...told }) }),
          };
          return elicitation === undefined
            ? client.callTool(call, all)
            : elicitation.call(client, call, all, context);
        });
      });
      this.#failure = undefined;
      // The executor checks the result against the definition's output schema.
      return this.#withoutSecrets(callResult(result, this.offered.has(toolName)));
    } catch (error) {
      if (signal?.aborted === true) throw abortError(signal);
      try {
        return this.#withoutSecrets(callFailure(error, this.server.name, sdk));
      } catch (readable) {
        // Records in the status that the login has ended.
        if (isLoginNeeded(readable) && readable !== this.#failure?.error) this.#failed(readable);
        throw readable;
      }
    }
  }

  /**
   * Joins a tool of the program with the server's tool that answers its calls. Returns `undefined`
   * if the server has no such tool.
   *
   * If a tool has neither a function nor providers, the server's tool with the same name answers.
   * If the program describes no input, the tool named in the provider `mcp` can answer too.
   *
   * @param isDefault True if calls without a server name go to this server.
   */
  join(declared: ToolDefinition, isDefault: boolean): ToolDefinition | undefined {
    const toolName = this.#meantBy(declared, isDefault);
    const served = toolName === undefined ? undefined : this.#table.tools.get(toolName);
    if (served === undefined || (served.name !== declared.name && !takesServedSchema(declared)))
      return undefined;
    return this.#joined(declared, toolName!, served);
  }

  /** Resolves to true when the server responds. */
  async check(signal: AbortSignal): Promise<boolean> {
    await this.#connection.ping(signal);
    return true;
  }

  /** Closes the connection and ends the process behind it. Its tools are removed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    await this.#connection.close();
    await this.#running;
    this.#table = EMPTY_TABLE;
  }

  /** True while the listing is fresh or the server is backing off. */
  get #isLeftAlone(): boolean {
    const now = this.#options.clock.now();
    if (this.#failure !== undefined) return now < this.#failure.nextAttemptAt;
    return (
      this.#listing !== undefined &&
      !this.#isChanged &&
      now - this.#listing.at < this.server.healthCheckIntervalMs
    );
  }

  /**
   * Returns the session for a call, with an up-to-date listing.
   *
   * The tools are listed again if they may have changed or the listing is old. If the server
   * doesn't announce changes, they're also listed before every call that isn't read-only.
   */
  async #listedSession(toolName: string, signal: AbortSignal | undefined): Promise<Session> {
    if (this.#listing === undefined) await this.ask(false);
    if (this.#listing === undefined) throw this.#away('could not list its tools');
    const session = await this.#connection.open(signal).catch((error: unknown) => {
      // Invalid settings aren't an outage.
      if (isToolError(error) && error.code !== 'TIMEOUT') throw error;
      throw unavailable(
        `${labelOf(this.server.name)} can't be reached: ${describeConnectionFailure(error).replace(/\.$/, '')}.`,
        error,
      );
    });
    const isUnsure = () => this.#isInDoubt || this.#running !== undefined || !this.#isLeftAlone;
    const tool = this.#table.tools.get(toolName);
    const isReadonly = tool !== undefined && entryOf(tool).accessMode === AccessMode.READONLY;
    let mustList = isUnsure() || (!isReadonly && !session.announces);
    for (let count = 0; mustList && count < MOST_LISTINGS; count += 1) {
      await this.ask(true);
      if (this.#failure !== undefined)
        throw this.#away('could not list its tools again, although they may have changed');
      mustList = isUnsure();
    }
    return session;
  }

  /**
   * Returns the error for a server whose tools couldn't be listed, or the login error if the user
   * must log in.
   */
  #away(failed: string): ToolError {
    const { error, reason = 'it is closed' } = this.#failure ?? {};
    return isLoginNeeded(error)
      ? error
      : unavailable(`${labelOf(this.server.name)} ${failed}: ${reason.replace(/\.$/, '')}.`);
  }

  #callable(toolName: string): ToolDefinition {
    const { tools, withheld } = this.#table;
    const tool = tools.get(toolName);
    if (tool !== undefined) return tool;
    const label = labelOf(this.server.name);
    const called = describeValue(toolName);
    const refused = (message: string) => new ToolError('TOOL_UNAVAILABLE', message);
    const reason = withheld.get(toolName);
    if (reason !== undefined)
      throw refused(`The tool ${called} of ${label} is withheld: ${reason}`);
    if (!isAllowed(toolName, this.server, this.#options.settings))
      throw refused(`The settings don't allow the tool ${called} of ${label}.`);
    throw refused(`${label} has no tool ${called}.`);
  }

  /**
   * Checks that the policy saw the current definition of the server's tool.
   *
   * If there are pins, the program's own tools aren't checked here, because the pins check them.
   *
   * @throws ToolError `TOOL_CHANGED`. The executor then uses the new definition.
   */
  #assertJudged(toolName: string, now: ToolDefinition, given: string | undefined): void {
    const isPinned = this.#options.pins !== undefined;
    const digest = digestIn(now);
    if (given === undefined ? isPinned || this.#first.get(toolName) === digest : given === digest)
      return;
    const error = new ToolError(
      'TOOL_CHANGED',
      `The tool ${quoted(toolName)} of ${labelOf(this.server.name)} changed after this call was checked, so nothing was sent. Call it again to have it checked against the new definition.`,
    );
    throw withRenewal(error, (judged) =>
      isServed(judged) ? now : this.#joined(declaredPart(judged) ?? judged, toolName, now),
    );
  }

  /**
   * Joins two tools. Without pins, the joined tool requires consent if the server's tool has
   * changed since the first listing.
   */
  #joined(declared: ToolDefinition, toolName: string, served: ToolDefinition): ToolDefinition {
    const isPinned = this.#options.pins !== undefined;
    const isOther = this.#first.get(toolName) !== digestIn(served);
    return joinDefinitions(declared, served, !isPinned && isOther);
  }

  #meantBy(
    { name, execute, manual, providers = [] }: ToolDefinition,
    isDefault: boolean,
  ): string | undefined {
    if (execute !== undefined || manual === true) return undefined;
    if (providers.length === 0)
      return [...this.#table.tools].find(([, served]) => served.name === name)?.[0];
    const { server, tool } = mcpProviderOf(providers)?.config ?? {};
    const isHere = server === undefined ? isDefault : server === this.server.name;
    return typeof tool === 'string' && isHere ? tool : undefined;
  }

  #withoutSecrets<T>(result: ToolResult<T>): ToolResult<T> {
    return result.status === 'error'
      ? fail(this.#connection.hideSecrets(result.message), result.details)
      : result;
  }

  /**
   * Returns true for a tool that the settings allow. Lets a tool without a name pass, because it's
   * reported later.
   */
  #isWanted(tool: unknown): boolean {
    const name = (tool as { name?: unknown } | null | undefined)?.name;
    if (typeof name === 'string' && this.#names.size < MOST_REMEMBERED)
      this.#names.add(name.slice(0, LIMITS.labelLength));
    return typeof name !== 'string' || isAllowed(name, this.server, this.#options.settings);
  }

  async #list(): Promise<void> {
    const { clock } = this.#options;
    this.#askedAt = clock.now();
    try {
      const listing = await this.#connection.listTools(() => {
        this.#isChanged = this.#isInDoubt = false;
        this.#names.clear();
      });
      if (this.#closed) return;
      const offered = offeredTools(this.server, listing.capabilities, listing.tools, (tool) =>
        this.#isWanted(tool),
      );
      this.#listing = {
        ...listing,
        tools: [...listing.tools, ...[...offered.values()].map(({ raw }) => raw)],
        offered,
        at: clock.now(),
      };
      this.#failure = undefined;
      await this.#rebuild();
    } catch (error) {
      this.#isInDoubt = true;
      if (!this.#closed) this.#failed(error);
    }
  }

  /** Rebuilds the table from the last listing, because tools may have been approved since then. */
  async #rebuild(): Promise<void> {
    if (this.#listing === undefined) return;
    const before = this.#table;
    const { pins, patternEngine, settings, tell } = this.#options;
    const { tools, offered, era } = this.#listing;
    const table = await buildTable(tools, before, {
      server: this.server,
      settings,
      pins,
      patternEngine,
      call: this.callTool.bind(this),
      names: this.#names,
      offered,
      repeatsInHeaders: era === 'modern' && this.server.transport.kind === 'http',
    });
    if (this.#closed) return;
    for (const [toolName, tool] of table.tools)
      if (!this.#first.has(toolName)) this.#first.set(toolName, digestIn(tool)!);
    this.#table = table;
    const change = changeOf(this.server.name, before, table);
    if (change !== undefined) tell(change);
  }

  #failed(error: unknown): void {
    const { clock, random } = this.#options;
    const failures = (this.#failure?.failures ?? 0) + 1;
    const reason = describeConnectionFailure(error);
    const nextAttemptAt = clock.now() + Math.ceil(exponentialBackoff(failures, { random }));
    this.#failure = { error, reason, failures, nextAttemptAt };
  }

  /**
   * Schedules another listing of the tools. It waits a moment, so that many changes cause a single
   * listing.
   */
  #listSoon(): void {
    if (this.#closed) return;
    // A listing in progress may have started before this change.
    this.#isChanged = true;
    if (this.#cancelTimer !== undefined) return;
    const { clock } = this.#options;
    this.#cancelTimer = clock.after(
      Math.max(0, this.#askedAt + CHANGE_GAP_MS - clock.now()),
      () => {
        this.#cancelTimer = undefined;
        if (this.#isChanged) void this.ask(true);
      },
      { background: true },
    );
  }
}

/** Returns the login for an HTTP server whose settings contain no token. */
function loginAt(
  { name, transport }: McpServerSettings,
  { clock, env, logins, packages }: DiscoveredServerOptions,
): ServerLogin | undefined {
  if (transport.kind !== 'http' && transport.kind !== 'sse') return undefined;
  const hasToken = Object.keys(transport.headers).some((key) => /^authorization$/i.test(key));
  return hasToken && transport.oauth === undefined
    ? undefined
    : new ServerLogin({
        ...{ server: name, transport, clock, env, store: logins },
        sdk: packages.client,
        fetch: boundedFetch(),
      });
}

/**
 * Asks the program for a request's headers.
 * @throws ToolError `PROVIDER_UNAVAILABLE`, without the program's error text.
 */
async function headersOf(headersFor: HeadersFor, server: string): Promise<Headers> {
  try {
    return new Headers(await headersFor(server));
  } catch (error) {
    throw unavailable(`The \`headers\` function failed for ${labelOf(server)}.`, error);
  }
}
