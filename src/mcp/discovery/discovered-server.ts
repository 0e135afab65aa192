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
  ServerConnection,
  type ServerConnectionOptions,
} from '../connection/mcp-connection.js';
import { resourceTools, type ResourceTools } from '../connection/resource-tools.js';
import {
  callFailure,
  callResult,
  describeConnectionFailure,
  errorLineOf,
  inAnySession,
} from '../connection/server-answers.js';
import type { ServerSession } from '../connection/session.js';
import type { RequestAuth } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import { isLoginNeeded, serverLabel, serverUnavailable } from '../login/server-errors.js';
import type { ServerLogin } from '../login/server-login.js';
import type { ServerListing } from '../pins/definition-changes.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import { findingOf, quoted, type McpFinding } from '../translate/foreign-text.js';
import { isAllowed } from '../translate/tool-names.js';
import { screenedInstructions } from '../translate/instructions.js';
import { urisIn, type ServerUris } from '../translate/resource-owners.js';
import { headersOf, loginAt } from './server-credentials.js';
import type { Failure, Known, Listing, State } from './server-state.js';
import type {
  HeadersFor,
  McpChange,
  McpServerStatus,
  PinGuard,
  ServerMessage,
} from './discovery-options.js';
import {
  declaredPart,
  digestIn,
  joinDefinitions,
  mcpProviderOf,
  takesServedSchema,
} from './join-definitions.js';
import { buildTable, changeOf, EMPTY_TABLE, isServed, type ToolTable } from './tool-table.js';

interface DiscoveredServerOptions extends Omit<
  ServerConnectionOptions,
  keyof RequestAuth | 'isWanted' | 'onToolsChanged' | 'onDoubt' | 'onNotification'
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
  /** Reports what the server tells clients of a gateway. */
  readonly tellMessage: (message: ServerMessage) => void;
  /** Returns true while somebody waits for changes. */
  readonly isFollowed: () => boolean;
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
  readonly connection: ServerConnection;
  readonly #login: ServerLogin | undefined;
  #state: State = { is: 'idle' };
  #listed: Known | undefined;
  /**
   * `announced` if the server announced that its tools differ from the listing, `possible` if they
   * may have changed without an announcement, for example after a reconnection. Both end when a
   * listing starts. The next call lists the tools again.
   */
  #doubt: 'none' | 'possible' | 'announced' = 'none';
  #askedAt = -Infinity;
  #cancelTimer: (() => void) | undefined;
  /**
   * The digest of each tool in the server's first listing. The program's own tools were written for
   * these definitions.
   */
  readonly #first = new RecentMap<string, string>(MOST_REMEMBERED);
  /** The names in the last listing, including those of tools that the settings exclude. */
  readonly #names = new Set<string>();

  constructor(
    readonly server: McpServerSettings,
    readonly options: DiscoveredServerOptions,
  ) {
    this.#login = loginAt(server, options);
    const { headers } = options;
    this.connection = new ServerConnection(server, {
      ...options,
      login: this.#login,
      ...(headers && { ownHeaders: () => headersOf(headers, server.name) }),
      isWanted: (tool) => this.#isWanted(tool),
      onToolsChanged: () => this.#listSoon(),
      onDoubt: () => this.#noteDoubt(),
      onNotification: (method, params) =>
        options.tellMessage({ server: server.name, method, params }),
    });
  }

  /** The usable tools, by their names at the server. */
  get tools(): ReadonlyMap<string, ToolDefinition> {
    return this.#table.tools;
  }

  /** Tools of this program for the server's resources and prompts. */
  get ownTools(): ResourceTools {
    return this.#listed?.listing.ownTools ?? new Map();
  }

  /** The resources that the server listed, if its settings enable them. */
  get uris(): ServerUris {
    return this.#listed?.listing.uris ?? urisIn(this.server.name, {});
  }

  /** The server's instructions for models, unless they hide something or steer models. */
  get instructions(): string | undefined {
    return this.#listed?.listing.screened.text;
  }

  get findings(): readonly McpFinding[] {
    const { name } = this.server;
    const failure = this.#failure;
    const { findings } = this.#table;
    if (failure !== undefined) {
      const { stderr } = this.connection;
      const line = errorLineOf(stderr);
      const message = `${serverLabel(name)} could not list its tools: ${failure.reason}${line === '' ? '' : `; its stderr says: ${line}`}`;
      return Object.freeze([
        { ...findingOf('unreachable', name, message), ...(stderr !== '' && { stderr }) },
        ...findings,
      ]);
    }
    if (this.#listed === undefined && this.#state.is === 'listing') {
      const message = `${serverLabel(name)} hasn't listed its tools yet. They will be added when it responds.`;
      return Object.freeze([findingOf('unanswered', name, message), ...findings]);
    }
    return Object.freeze([...findings, ...(this.#listed?.listing.screened.findings ?? [])]);
  }

  get status(): McpServerStatus {
    const { stderr } = this.connection;
    const { error: _, ...failure } = this.#failure ?? {};
    return Object.freeze({
      server: this.server.name,
      state: this.#shownState,
      tools: this.#table.tools.size,
      findings: this.findings,
      lastDiscoveredAt: this.#listed?.listing.at ?? null,
      era: this.#listed?.listing.era ?? null,
      ...(stderr !== '' && { stderr }),
      ...failure,
    });
  }

  get #shownState(): McpServerStatus['state'] {
    if (this.#state.is === 'closed') return 'closed';
    if (this.#failure !== undefined) return this.#isLeftAlone ? 'backing-off' : 'failed';
    if (this.#listed !== undefined) return this.#isLeftAlone ? 'ready' : 'stale';
    return this.#state.is === 'listing' ? 'discovering' : 'idle';
  }

  get #table(): ToolTable {
    return this.#state.is === 'closed' ? EMPTY_TABLE : (this.#listed?.table ?? EMPTY_TABLE);
  }

  get #failure(): Failure | undefined {
    return 'failure' in this.#state ? this.#state.failure : undefined;
  }

  /**
   * The server's unchanged tools that the settings allow, or the reason why the tools aren't known.
   */
  get rawListing(): ServerListing {
    const server = this.server.name;
    return Object.freeze(
      this.#failure !== undefined || this.#listed === undefined
        ? { server, error: this.#failure?.reason ?? 'the server has not been asked yet' }
        : { server, tools: this.#listed.listing.tools },
    );
  }

  /** The login at the server. @throws ToolError `INVALID_ARGUMENT` if the server has none. */
  get login(): ServerLogin {
    if (this.#login !== undefined) return this.#login;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${serverLabel(this.server.name)} has no login, because only HTTP servers without a token in their headers need one.`,
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
    const state = this.#state;
    if (state.is === 'closed') return Promise.resolve();
    if (state.is === 'listing')
      return force ? (state.again ??= state.done.then(() => this.ask(true))) : state.done;
    const isDue = force || !this.#isLeftAlone;
    if (!isDue && this.options.pins === undefined) return Promise.resolve();
    const work = isDue ? this.#list() : this.#rebuild().then(() => state);
    const done = work.then((next) => {
      if (this.#state.is !== 'closed') this.#state = next;
    });
    this.#state = { is: 'listing', done, failure: this.#failure };
    return done;
  }

  /** Tries again in the background, if the last listing failed and the discovery is followed. */
  retryLater(): void {
    const failure = this.#failure;
    if (failure === undefined || !this.options.isFollowed()) return;
    this.#later(failure.nextAttemptAt - this.options.clock.now(), () => void this.ask(false));
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
    const { signal } = context;
    try {
      const result = await inAnySession(() => this.#callOnce(toolName, input, context, digest));
      this.#recovered();
      // The executor checks the result against the definition's output schema.
      return this.#withoutSecrets(callResult(result, this.ownTools.has(toolName)));
    } catch (error) {
      if (signal?.aborted === true) throw abortError(signal);
      const sdk = await this.options.packages.client();
      try {
        return this.#withoutSecrets(callFailure(error, this.server.name, sdk));
      } catch (readable) {
        // Records in the status that the login has ended.
        const isNews = isLoginNeeded(readable) && readable !== this.#failure?.error;
        if (isNews && this.#state.is !== 'listing') this.#state = this.#failedState(readable);
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

  /** Closes the connection and ends the process behind it. Its tools are removed. */
  async close(): Promise<void> {
    const running = this.#state.is === 'listing' ? this.#state.done : undefined;
    this.#state = { is: 'closed' };
    this.#cancelTimer?.();
    await this.connection.close();
    await running;
  }

  /** True while the listing is fresh or the server is backing off. */
  get #isLeftAlone(): boolean {
    const now = this.options.clock.now();
    if (this.#failure !== undefined) return now < this.#failure.nextAttemptAt;
    return (
      this.#listed !== undefined &&
      this.#doubt !== 'announced' &&
      now - this.#listed.listing.at < this.server.healthCheckIntervalMs
    );
  }

  async #callOnce(
    toolName: string,
    input: unknown,
    context: ToolContext,
    digest: string | undefined,
  ): Promise<unknown> {
    const { signal, reportProgress } = context;
    const session = await this.#listedSession(toolName, signal);
    const tool = this.#callable(toolName);
    if (context.toolName !== undefined || digest !== undefined)
      this.#assertJudged(toolName, tool, digest);
    const own = this.ownTools.get(toolName);
    return this.connection.useIn(session, signal, ({ client, elicitation }, options) => {
      if (own !== undefined)
        return own.answer(input as Record<string, unknown>, (method, params) =>
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
  }

  /**
   * Returns the session for a call, with an up-to-date listing.
   *
   * The tools are listed again if they may have changed or the listing is old. If the server
   * doesn't announce changes, they're also listed before every call that isn't read-only.
   */
  async #listedSession(toolName: string, signal: AbortSignal | undefined): Promise<ServerSession> {
    if (this.#listed === undefined) await this.ask(false);
    if (this.#listed === undefined) throw this.#away('could not list its tools');
    const session = await this.connection.open(signal).catch((error: unknown) => {
      // Invalid settings aren't an outage.
      if (isToolError(error) && error.code !== 'TIMEOUT') throw error;
      throw serverUnavailable(
        `${serverLabel(this.server.name)} can't be reached: ${describeConnectionFailure(error).replace(/\.$/, '')}.`,
        error,
      );
    });
    const isUnsure = () =>
      this.#doubt !== 'none' || this.#state.is === 'listing' || !this.#isLeftAlone;
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
      : serverUnavailable(
          `${serverLabel(this.server.name)} ${failed}: ${reason.replace(/\.$/, '')}.`,
        );
  }

  #callable(toolName: string): ToolDefinition {
    const { tools, withheld } = this.#table;
    const tool = tools.get(toolName);
    if (tool !== undefined) return tool;
    const named = `tool ${describeValue(toolName)} of ${serverLabel(this.server.name)}`;
    const reason = withheld.get(toolName);
    throw new ToolError(
      'TOOL_UNAVAILABLE',
      reason === undefined
        ? `There is no ${named}, or the settings don't allow it.`
        : `The ${named} is withheld: ${reason}`,
    );
  }

  /**
   * Checks that the policy saw the current definition of the server's tool.
   *
   * If there are pins, the program's own tools aren't checked here, because the pins check them.
   *
   * @throws ToolError `TOOL_CHANGED`. The executor then uses the new definition.
   */
  #assertJudged(toolName: string, now: ToolDefinition, judged: string | undefined): void {
    const isPinned = this.options.pins !== undefined;
    const digest = digestIn(now);
    if (judged === undefined ? isPinned || this.#first.get(toolName) === digest : judged === digest)
      return;
    const error = new ToolError(
      'TOOL_CHANGED',
      `The tool ${quoted(toolName)} of ${serverLabel(this.server.name)} changed after this call was checked, so nothing was sent. Call it again to have it checked against the new definition.`,
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
    const isPinned = this.options.pins !== undefined;
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
      ? fail(this.connection.hideSecrets(result.message), result.details)
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
    return typeof name !== 'string' || isAllowed(name, this.server, this.options.settings);
  }

  /** Lists the tools. Returns the state after that. */
  async #list(): Promise<State> {
    const { clock } = this.options;
    this.#askedAt = clock.now();
    try {
      const listing = await this.connection.listTools(() => {
        this.#doubt = 'none';
        this.#names.clear();
      });
      if (this.#state.is === 'closed') return this.#state;
      const ownTools = resourceTools(this.server, listing.capabilities, listing.tools, (tool) =>
        this.#isWanted(tool),
      );
      const full: Listing = {
        ...listing,
        tools: [...listing.tools, ...[...ownTools.values()].map(({ raw }) => raw)],
        ...{ ownTools, at: clock.now() },
        uris: await this.#listUris(ownTools),
        screened: screenedInstructions(this.server.name, listing.instructions),
      };
      this.#recovered();
      await this.#build(full);
      return { is: 'ready' };
    } catch (error) {
      this.#noteDoubt();
      return this.#failedState(error);
    }
  }

  /** Returns the URIs of the server's resources. Nothing is known of them if it fails to list them. */
  async #listUris(ownTools: ResourceTools): Promise<ServerUris> {
    const asked = ownTools
      .get('list_resources')
      ?.answer({}, (method, params) => this.connection.request(method, params));
    const listed = (await asked?.catch(() => undefined)) as
      { structuredContent?: unknown } | undefined;
    return urisIn(this.server.name, listed?.structuredContent);
  }

  /** Rebuilds the table from the last listing, because tools may have been approved since then. */
  async #rebuild(): Promise<void> {
    if (this.#listed !== undefined) await this.#build(this.#listed.listing);
  }

  async #build(listing: Listing): Promise<void> {
    const before = this.#table;
    const { pins, patternEngine, settings, tell } = this.options;
    const table = await buildTable(listing.tools, before, {
      server: this.server,
      settings,
      pins,
      patternEngine,
      call: this.callTool.bind(this),
      names: this.#names,
      ownTools: listing.ownTools,
      repeatsInHeaders: listing.era === 'modern' && this.server.transport.kind === 'http',
    });
    if (this.#state.is === 'closed') return;
    for (const [toolName, tool] of table.tools)
      if (!this.#first.has(toolName)) this.#first.set(toolName, digestIn(tool)!);
    this.#listed = { listing, table };
    const change = changeOf(this.server.name, before, table);
    if (change !== undefined) tell(change);
  }

  #noteDoubt(): void {
    if (this.#doubt === 'none') this.#doubt = 'possible';
  }

  /** Records that the server has answered. */
  #recovered(): void {
    if (this.#state.is === 'listing') this.#state.failure = undefined;
    else if (this.#state.is === 'failed') this.#state = { is: this.#listed ? 'ready' : 'idle' };
  }

  #failedState(error: unknown): State {
    const { clock, random, isFollowed } = this.options;
    if (this.#state.is === 'closed') return this.#state;
    const failures = (this.#failure?.failures ?? 0) + 1;
    const reason = describeConnectionFailure(error);
    const waitMs = Math.ceil(exponentialBackoff(failures, { random }));
    if (isFollowed()) this.#later(waitMs, () => void this.ask(false));
    return {
      is: 'failed',
      failure: { error, reason, failures, nextAttemptAt: clock.now() + waitMs },
    };
  }

  /**
   * Schedules another listing of the tools. It waits a moment, so that many changes cause a single
   * listing.
   */
  #listSoon(): void {
    // A listing in progress may have started before this change.
    this.#doubt = 'announced';
    this.#later(this.#askedAt + CHANGE_GAP_MS - this.options.clock.now(), () => {
      if (this.#doubt === 'announced') void this.ask(true);
    });
  }

  /** Replaces the timer. */
  #later(ms: number, work: () => void): void {
    if (this.#state.is === 'closed') return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.options.clock.after(Math.max(0, ms), work, { background: true });
  }
}
