import type { Clock } from '../../core/clock.js';
import { AccessMode } from '../../core/enums.js';
import { isToolError, ToolError } from '../../core/errors.js';
import { describeValue } from '../../core/plain-data.js';
import { expectedGot, suggestNames } from '../../core/issues.js';
import type { PatternEngine } from '../../json-schema/compile-json-schema.js';
import { exponentialBackoff } from '../../providers/exponential-backoff.js';
import { abortError } from '../../providers/run-attempt.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { fail, type ToolResult } from '../../tool/outcome.js';
import { entryOf, type ToolDefinition } from '../../tool/tool-definition.js';
import {
  isBlind,
  McpConnection,
  type CallRequest,
  type McpConnectionOptions,
  type RawListing,
  type Session,
} from '../connection/mcp-connection.js';
import {
  callFailure,
  callResult,
  describeConnectionFailure,
  inAnySession,
} from '../connection/server-answers.js';
import { boundedFetch, type Credentials } from '../connection/transports.js';
import type { LoginStore } from '../login/login-store.js';
import { isLoginNeeded, labelOf, unavailable } from '../login/server-errors.js';
import { ServerLogin } from '../login/server-login.js';
import type { ServerListing } from '../pins/definition-changes.js';
import { isAllowed } from '../translate/tool-names.js';
import type { McpServerSettings, McpSettings } from '../settings/read-mcp-settings.js';
import type {
  HeadersFor,
  McpDiscoveryEvent,
  McpServerStatus,
  PinGuard,
} from './discovery-options.js';
import type { JoinedTools } from './joined-tools.js';
import { mcpProviderOf, takesServedSchema } from './join-definitions.js';
import { findingOf, type McpFinding } from '../translate/foreign-text.js';
import { offeredTools, type OfferedTools } from '../connection/offered-tools.js';
import { buildTable, changeOf, EMPTY_TABLE, type ToolTable } from './tool-table.js';

interface DiscoveredServerOptions extends Omit<
  McpConnectionOptions,
  keyof Credentials | 'isWanted' | 'onToolsChanged'
> {
  readonly clock: Clock;
  readonly random: () => number;
  readonly pins: PinGuard | undefined;
  readonly patternEngine?: PatternEngine | undefined;
  readonly settings: McpSettings;
  readonly logins: LoginStore;
  readonly headers?: HeadersFor | undefined;
  readonly tell: (event: McpDiscoveryEvent) => void;
  /** The joins with tools of a server of this name, also before its settings changed. */
  readonly joined: JoinedTools;
}

interface Failure {
  readonly error: unknown;
  /** True for a failure of a call, of which nothing is left when another has succeeded. */
  readonly isOfCall: boolean;
  readonly reason: string;
  readonly failures: number;
  /** The end of the pause by the clock's elapsed time, and as a date for users. */
  readonly until: number;
  readonly nextAttemptAt: number;
}

/** The shortest time between two questions to a server that says all the time that its tools have changed. */
const CHANGE_GAP_MS = 250;
/** Listings that one call waits for at most: a server may say all the time that its tools have changed. */
const MOST_LISTINGS = 2;
/** One server: its last listing, the time when it is asked again, and the calls to its tools. */
export class DiscoveredServer {
  readonly server: McpServerSettings;
  readonly #options: DiscoveredServerOptions;
  readonly #connection: McpConnection;
  readonly #login: ServerLogin | undefined;
  #table: ToolTable = EMPTY_TABLE;
  #listing:
    | (RawListing & { readonly offered: OfferedTools; readonly at: number; readonly date: number })
    | undefined;
  #failure: Failure | undefined;
  #askedAt = -Infinity;
  /** True when the server has said that its tools are different from those of the listing. */
  #changed = false;
  #running: Promise<void> | undefined;
  /** The question after the one that runs. */
  #next: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #closed = false;

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
      onToolsChanged: () => this.#heardOfChange(),
    });
  }

  /** The names of all tools that the server listed last; `undefined` before it did. */
  get names(): readonly string[] | undefined {
    return this.#listing?.names;
  }

  /** The usable tools, by their names at the server. */
  get tools(): ReadonlyMap<string, ToolDefinition> {
    return this.#table.tools;
  }

  /** The tools of this program for what the server offers beside its own. */
  get offered(): OfferedTools['tools'] {
    return this.#listing?.offered.tools ?? new Map();
  }

  get findings(): readonly McpFinding[] {
    if (this.#failure === undefined && this.#listing === undefined && this.#running !== undefined)
      return Object.freeze([
        findingOf(
          'unanswered',
          this.server.name,
          expectedGot(
            `${labelOf(this.server.name)} to list its tools by now`,
            'no answer yet',
            'It is asked still, and its tools follow.',
          ),
        ),
      ]);
    if (this.#failure === undefined) return this.#table.findings;
    const kept =
      this.#table.tools.size === 0
        ? ''
        : `; the ${this.#table.tools.size} tools listed last stay in use`;
    const unreachable = findingOf(
      'unreachable',
      this.server.name,
      `Expected ${labelOf(this.server.name)} to list its tools, got a failure: ${this.#failure.reason}${kept}`,
    );
    return Object.freeze([unreachable, ...this.#table.findings]);
  }

  get status(): McpServerStatus {
    const { clock } = this.#options;
    const { stderr } = this.#connection;
    const facts = {
      server: this.server.name,
      tools: this.#table.tools.size,
      findings: this.findings,
      lastDiscoveredAt: this.#listing?.date ?? null,
      era: this.#listing?.era ?? null,
      ...(stderr === '' ? {} : { stderr }),
    };
    if (this.#closed) return Object.freeze({ ...facts, state: 'closed' });
    if (this.#failure !== undefined) {
      const { reason, failures, until, nextAttemptAt } = this.#failure;
      return Object.freeze({
        ...facts,
        state: clock.elapsed() < until ? 'backing-off' : 'failed',
        reason,
        failures,
        nextAttemptAt,
      });
    }
    if (this.#listing !== undefined)
      return Object.freeze({ ...facts, state: this.#isFresh() ? 'ready' : 'stale' });
    return Object.freeze({ ...facts, state: this.#running === undefined ? 'idle' : 'discovering' });
  }

  /** The tools that the server lists and the settings allow, as it sent them; or the reason why they are not known. */
  get rawListing(): ServerListing {
    const server = this.server.name;
    if (this.#failure !== undefined || this.#listing === undefined)
      return Object.freeze({ server, error: this.#failure?.reason ?? 'it was not asked yet' });
    return Object.freeze({ server, tools: this.#listing.tools });
  }

  /**
   * Asks the server for its tools, if it is time; never rejects.
   *
   * @param force also if its listing is fresh, or it is left alone after failures. A question that runs is not enough:
   * it may have begun before what the caller wants to see. No caller waits for more than that one and the next, also when
   * a server changes all the time.
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
    const isLeftAlone =
      this.#failure === undefined
        ? this.#isFresh()
        : this.#options.clock.elapsed() < this.#failure.until;
    if (force || !isLeftAlone) return this.#run(() => this.#list());
    return this.#options.pins === undefined ? Promise.resolve() : this.#run(() => this.#rebuild());
  }

  /**
   * Calls a tool that the server lists, that the settings allow and whose definition is the pinned one.
   *
   * @param digest the digest of the definition by which the call was judged. @default the only definition that the server
   * has listed, for a tool of the program
   * @throws ToolError `TOOL_CHANGED` for a tool that is no longer the one that was judged, `TOOL_UNAVAILABLE` for other tools, `PROVIDER_UNAVAILABLE` when the server cannot be reached.
   * @throws Error that is no ToolError when the connection breaks during the call.
   */
  async callTool(
    toolName: string,
    input: unknown,
    context: ToolContext,
    digest?: string,
  ): Promise<unknown> {
    const { signal, reportProgress } = context;
    const sdk = await this.#options.packages.client();
    const attempt = async () => {
      const session = await this.#listedSession(toolName, signal);
      const definition = this.#callable(toolName);
      this.#options.joined.assertJudged(toolName, definition, context, digest);
      const offered = this.offered.get(toolName);
      if (offered !== undefined)
        return callResult(
          await this.#connection.askIn(session, context, (ask) => offered.answer(input, ask)),
        );
      // Without a listener the server need not tell.
      const onProgress: CallRequest['onProgress'] =
        reportProgress === undefined ? undefined : (progress) => reportProgress({ ...progress });
      const { inputSchema } = definition;
      const request = { tool: toolName, inputSchema, arguments: input, context, onProgress };
      // Its output schema is the definition's, which the executor holds answers to.
      return callResult(await this.#connection.callTool(session, request));
    };
    try {
      const result = await inAnySession(attempt);
      if (this.#failure?.isOfCall === true) this.#failure = undefined;
      return this.#withoutSecrets(result);
    } catch (error) {
      if (signal?.aborted === true) throw abortError(signal);
      try {
        return this.#withoutSecrets(callFailure(error, this.server.name, sdk));
      } catch (readable) {
        // That a login has ended since the listing is in the status, too.
        if (isLoginNeeded(readable) && readable !== this.#failure?.error)
          this.#failed(readable, true);
        throw readable;
      }
    }
  }

  #withoutSecrets<T>(result: ToolResult<T>): ToolResult<T> {
    return result.status === 'error'
      ? fail(this.#connection.hideSecrets(result.message), result.details)
      : result;
  }

  /**
   * Joins a tool of the program with the one of this server for which it stands; `undefined` when there is none.
   *
   * A tool without a function stands for the one of its name, or for the one that its provider `mcp` names, if that has
   * its name or the program describes no input.
   *
   * @param isDefault calls that name no server go to this one.
   */
  join(declared: ToolDefinition, isDefault: boolean): ToolDefinition | undefined {
    const toolName = this.#meantBy(declared, isDefault);
    const served = toolName === undefined ? undefined : this.#table.tools.get(toolName);
    if (served === undefined || (served.name !== declared.name && !takesServedSchema(declared)))
      return undefined;
    return this.#options.joined.join(declared, toolName!, served);
  }

  /** Resolves with true when the server answers. */
  async check(signal: AbortSignal): Promise<boolean> {
    await this.#connection.ping(signal);
    return true;
  }

  /** The login at the server. @throws ToolError `INVALID_ARGUMENT` for one that is reached otherwise. */
  get login(): ServerLogin {
    if (this.#login !== undefined) return this.#login;
    throw new ToolError(
      'INVALID_ARGUMENT',
      expectedGot(
        'a server that is reached over HTTP, without a token in its headers',
        labelOf(this.server.name),
      ),
    );
  }

  /** Ends the connection and the process behind it. Its tools are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    await this.#connection.close();
    await this.#running;
    this.#table = EMPTY_TABLE;
  }

  /**
   * Returns the session for a call, in which the server has listed its tools.
   *
   * It is asked again after its tools may have changed, when the listing is old, and, where it announces no changes, before
   * every call that is not readonly.
   */
  async #listedSession(toolName: string, signal: AbortSignal | undefined): Promise<Session> {
    if (this.#listing === undefined) await this.ask(false);
    if (this.#listing === undefined) throw this.#away('to list its tools', 'it is closed');
    const session = await this.#connection.open(signal).catch((error: unknown) => {
      // Settings that cannot work are no outage.
      if (isToolError(error) && error.code !== 'TIMEOUT') throw error;
      throw unavailable(
        `${labelOf(this.server.name)} to be there`,
        `a failure: ${describeConnectionFailure(error)}`,
        error,
      );
    });
    const tool = this.#table.tools.get(toolName);
    const isReadonly = tool !== undefined && entryOf(tool).accessMode === AccessMode.READONLY;
    const isUnsure = () =>
      // After a restart it may be another program, of which the listing before says nothing.
      this.#listing!.session !== session.number || !this.#isFresh() || this.#running !== undefined;
    let listings = 0;
    if (!isUnsure() && !isReadonly && isBlind(session)) listings = await this.#askOnce();
    while (listings < MOST_LISTINGS && isUnsure()) listings += await this.#askOnce();
    if (this.#listing.session !== session.number || (listings > 0 && this.#failure !== undefined))
      throw this.#away('to list its tools after they may have changed', 'it was lost once more');
    return session;
  }

  /** Makes the error for a server that could not be listed; that a user must log in is said as it is. */
  #away(expected: string, otherwise: string): ToolError {
    const { error, reason = otherwise } = this.#failure ?? {};
    return isLoginNeeded(error)
      ? error
      : unavailable(`${labelOf(this.server.name)} ${expected}`, `a failure: ${reason}`);
  }

  async #askOnce(): Promise<1> {
    await this.ask(true);
    return 1;
  }

  #meantBy(
    { name, execute, manual, providers = [] }: ToolDefinition,
    isDefault: boolean,
  ): string | undefined {
    if (execute !== undefined || manual === true) return undefined;
    if (providers.length === 0)
      return [...this.#table.tools].find(([, served]) => served.name === name)?.[0];
    const { server, tool } = mcpProviderOf(providers)?.config ?? {};
    return typeof tool === 'string' &&
      (server === undefined ? isDefault : server === this.server.name)
      ? tool
      : undefined;
  }

  #callable(toolName: string): ToolDefinition {
    const tool = this.#table.tools.get(toolName);
    tool?.available?.(); // It throws the reason.
    if (tool !== undefined) return tool;
    const label = labelOf(this.server.name);
    const withheld = this.#table.withheld.get(toolName);
    if (withheld !== undefined)
      throw new ToolError(
        'TOOL_UNAVAILABLE',
        expectedGot(
          `a tool of ${label} that may be called`,
          `${describeValue(toolName)}, which is withheld`,
          withheld,
        ),
      );
    if (!isAllowed(toolName, this.server, this.#options.settings))
      throw new ToolError(
        'TOOL_UNAVAILABLE',
        expectedGot(`a tool of ${label} that the settings allow`, describeValue(toolName)),
      );
    const suggestions = suggestNames(toolName, [...this.#table.tools.keys()]);
    const advice =
      suggestions.length === 0 ? undefined : `Did you mean ${suggestions.join(' or ')}?`;
    throw new ToolError(
      'TOOL_UNAVAILABLE',
      expectedGot(`a tool that ${label} lists`, describeValue(toolName), advice),
    );
  }

  #isFresh(): boolean {
    return (
      this.#listing !== undefined &&
      !this.#changed &&
      this.#options.clock.elapsed() - this.#listing.at < this.server.healthCheckIntervalMs
    );
  }

  #run(work: () => Promise<void>): Promise<void> {
    return (this.#running = work().finally(() => {
      this.#running = undefined;
    }));
  }

  /** Returns true for a tool that the settings allow, and for one without a name, which is a finding later. */
  #isWanted(tool: unknown): boolean {
    const name = (tool as { name?: unknown } | null | undefined)?.name;
    if (typeof name !== 'string') return true;
    return isAllowed(name, this.server, this.#options.settings);
  }

  async #list(): Promise<void> {
    const { clock, tell } = this.#options;
    this.#askedAt = clock.elapsed();
    const wasChanged = this.#changed;
    this.#changed = false;
    try {
      const listing = await this.#connection.listTools();
      if (this.#closed) return;
      const offered = offeredTools(this.server, listing.capabilities, listing.tools, (tool) =>
        this.#isWanted(tool),
      );
      this.#listing = {
        ...listing,
        tools: [...listing.tools, ...[...offered.tools.values()].map(({ raw }) => raw)],
        names: [...listing.names, ...offered.names],
        offered,
        at: clock.elapsed(),
        date: clock.now(),
      };
      this.#failure = undefined;
      await this.#rebuild();
      tell({
        type: 'listed',
        at: clock.now(),
        server: this.server.name,
        tools: this.#table.tools.size,
      });
    } catch (error) {
      this.#changed ||= wasChanged;
      if (!this.#closed) this.#failed(error);
    }
  }

  /** Makes the table of the listing again: what was withheld may have been approved since. */
  async #rebuild(): Promise<void> {
    if (this.#listing === undefined) return;
    const before = this.#table;
    const { pins, patternEngine, settings, clock, tell } = this.#options;
    const table = await buildTable(this.#listing.tools, before, {
      server: this.server,
      settings,
      pins,
      patternEngine,
      call: this.callTool.bind(this),
      names: this.#listing.names,
      offered: this.#listing.offered,
      repeatsInHeaders: this.#listing.era === 'modern' && this.server.transport.kind === 'http',
    });
    if (this.#closed) return;
    this.#options.joined.note(table.tools);
    this.#table = table;
    const change = changeOf(this.server.name, before, table);
    if (change !== undefined) tell({ type: 'changed', at: clock.now(), ...change });
  }

  #failed(error: unknown, isOfCall = false): void {
    const { clock, random, tell } = this.#options;
    const failures = (this.#failure?.failures ?? 0) + 1;
    const backoffMs = Math.ceil(exponentialBackoff(failures, { random }));
    const reason = describeConnectionFailure(error);
    this.#failure = {
      error,
      isOfCall,
      reason,
      failures,
      until: clock.elapsed() + backoffMs,
      nextAttemptAt: clock.now() + backoffMs,
    };
    tell({
      type: 'failed',
      at: clock.now(),
      server: this.server.name,
      reason,
      nextAttemptAt: this.#failure.nextAttemptAt,
    });
  }

  /** Asks again at once, and where that was done a moment ago, a moment later: many changes are one question. */
  #heardOfChange(): void {
    if (this.#closed) return;
    // Also while a question is due: a call may have listed since the change that it is due for, but not since this one.
    this.#changed = true;
    if (this.#cancelTimer !== undefined) return;
    const { clock, tell } = this.#options;
    tell({ type: 'list-changed', at: clock.now(), server: this.server.name });
    const waitMs = Math.max(0, this.#askedAt + CHANGE_GAP_MS - clock.elapsed());
    this.#cancelTimer = clock.after(
      waitMs,
      () => {
        this.#cancelTimer = undefined;
        if (this.#changed) void this.ask(true); // A call may have asked meanwhile.
      },
      { background: true },
    );
  }
}

/** Returns the login at a server, of one that is reached over HTTP and whose settings give no credentials of their own. */
function loginAt(
  { name, transport }: McpServerSettings,
  { clock, env, logins, packages }: DiscoveredServerOptions,
): ServerLogin | undefined {
  if (transport.kind !== 'http' && transport.kind !== 'sse') return undefined;
  if (
    transport.oauth === undefined &&
    Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization')
  )
    return undefined;
  return new ServerLogin({
    server: name,
    transport,
    clock,
    env,
    store: logins,
    sdk: packages.client,
    fetch: boundedFetch(),
  });
}

/** Asks for the headers of requests. @throws ToolError `PROVIDER_UNAVAILABLE`, which says nothing of them. */
async function headersOf(headersFor: HeadersFor, server: string): Promise<Headers> {
  try {
    return new Headers(await headersFor(server));
  } catch (error) {
    throw unavailable(`headers for ${labelOf(server)}`, 'an error', error);
  }
}
