import { without } from '../../core/plain-data.js';
import { randomBytes } from 'node:crypto';
import type * as McpClient from '@modelcontextprotocol/client';
import type {
  AuthProvider,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Clock } from '../../core/clock.js';
import { isToolError, ToolError } from '../../core/errors.js';
import {
  aFunction,
  checkOptions,
  milliseconds,
  once,
  signal,
  type FieldsOf,
} from '../../core/options.js';
import { describeFailure } from '../../providers/run-attempt.js';
import {
  expandVariables,
  type EnvVariables,
  type McpOAuthSettings,
  type McpTransportSettings,
} from '../settings/transport-settings.js';
import { LoginCallback } from './callback.js';
import { inTime, serverLabel, loginNeeded, serverUnavailable } from './server-errors.js';
import { checkedAddress } from './checked-address.js';
import {
  loginKeyOf,
  loginOf,
  updateLogin,
  whileLocked,
  type Login,
  type LoginStore,
} from './login-store.js';

interface ServerLoginOptions {
  /** The server's name in the settings, for use in messages. */
  readonly server: string;
  readonly transport: Extract<McpTransportSettings, { readonly url: string }>;
  readonly store: LoginStore;
  readonly env: EnvVariables;
  readonly clock: Clock;
  readonly sdk: () => Promise<typeof McpClient>;
  readonly fetch: McpClient.FetchLike;
}

/** A login in a browser. */
export interface LogInOptions {
  /** Shows the user the URL for logging in. */
  readonly open: (address: string) => void | Promise<void>;
  /** Milliseconds in which the user must log in. @default 300,000 */
  readonly timeoutMs?: number;
  /** A signal that ends the wait for the user. @default none: only the timeout ends it */
  readonly signal?: AbortSignal;
}

const logInOptions = z.strictObject({
  open: aFunction<LogInOptions['open']>(),
  timeoutMs: milliseconds().default(300_000),
  signal: signal().optional(),
} satisfies FieldsOf<LogInOptions>);

const ANY_USER: McpOAuthSettings = Object.freeze({
  grant: 'authorization_code',
  scopes: Object.freeze([]),
});
/**
 * A callback address for refreshing. It's never called, but without an address the SDK would assume
 * a client without a user.
 */
const NO_CALLBACK = 'http://127.0.0.1/callback';
/**
 * Milliseconds that all requests of one login step to an authorization server may take together.
 */
const AUTH_TIMEOUT_MS = 30_000;
/**
 * The login at one server. Provides tokens for requests, refreshes them, and obtains them from the
 * user or with the program's own secret.
 *
 * The SDK handles OAuth. This class adds rules: nobody is asked unless `logIn` is called, tokens go
 * only to the server they're for, and refresh tokens and secrets go only to the authorization
 * server that issued them.
 */
export class ServerLogin implements AuthProvider {
  readonly #options: ServerLoginOptions;
  readonly #oauth: McpOAuthSettings;
  /** The SDK's login of a program that has its own secret. It keeps the tokens in memory. */
  readonly #machine = once(() => this.#createMachine());
  #renewal: Promise<void> | undefined;
  /** The token that requests got last. */
  #lastToken: string | undefined;

  constructor(options: ServerLoginOptions) {
    this.#options = options;
    this.#oauth = options.transport.oauth ?? ANY_USER;
  }

  async token(): Promise<string | undefined> {
    return (this.#lastToken = (await this.#read()).tokens?.access_token);
  }

  /**
   * Gets another token after the server has refused the current one.
   * @throws ToolError `TOOL_UNAVAILABLE` if only the user can get a token.
   */
  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    await (this.#renewal ??= this.#renew(response, this.#lastToken).finally(
      () => (this.#renewal = undefined),
    ));
  }

  /**
   * Gets a token with the missing scopes.
   * @throws ToolError `TOOL_UNAVAILABLE` if only the user can get a token.
   */
  async widen(missed: string | undefined): Promise<void> {
    const { computeScopeUnion } = await this.#options.sdk();
    const { tokens } = await this.#read();
    const wanted = computeScopeUnion(tokens?.scope, missed);
    if (await this.#machine()) return this.#authorize(without({ scope: wanted }));
    await this.#update((login) => ({ ...login, ...without({ wanted }) }));
    throw this.#needed('the current login lacks scopes that the server requires');
  }

  /**
   * Lets the user log in with a browser, and stores the login.
   *
   * @throws ToolError `PROVIDER_UNAVAILABLE` if the login is refused or unsafe. `TIMEOUT`,
   * `ABORTED`, and `INVALID_ARGUMENT` for invalid options.
   */
  async logIn(options: LogInOptions): Promise<void> {
    const {
      open,
      timeoutMs,
      signal: callerSignal,
    } = checkOptions(logInOptions, options, 'options of the login');
    if (await this.#machine()) return this.#authorize({});
    const url = this.#url;
    const state = randomBytes(32).toString('base64url');
    const callback = await LoginCallback.open(state, this.#oauth.callbackPort ?? 0);
    try {
      const { wanted } = await this.#read();
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      };
      const asked = await this.#inTime((stop) =>
        this.#options.fetch(url, {
          method: 'POST',
          headers,
          body: '{"jsonrpc":"2.0","id":0,"method":"tools/list"}',
          redirect: 'manual',
          signal: stop,
        }),
      );
      const about = await this.#requestedBy(asked, wanted);
      await asked.body?.cancel();
      let address = '';
      const provider = this.#provider({
        callback: callback.address,
        state,
        scope: about.scope,
        begin: (found) => void (address = checkedAddress(found, new URL(url))),
      });
      await this.#auth(provider, { ...about, forceReauthorization: true });
      const params = await callback.answer(() => open(address), {
        clock: this.#options.clock,
        timeoutMs,
        signal: callerSignal,
      });
      const code = params.get('code');
      if (code === null)
        throw serverUnavailable(
          /^[a-z_]{1,40}$/.test(params.get('error') ?? '')
            ? `The login was not approved: ${params.get('error')!}.`
            : 'The login was not approved: the response has no code.',
        );
      const iss = params.get('iss') ?? undefined;
      await this.#auth(provider, { ...about, authorizationCode: code, ...without({ iss }) });
    } catch (error) {
      throw this.#readable(error);
    } finally {
      await callback.close();
    }
  }

  /** Deletes the login. */
  async logOut(): Promise<void> {
    await this.#update(() => undefined);
  }

  /** The server's URL, with its variables filled in. */
  get #url(): string {
    return expandVariables(this.#options.transport.url, this.#options.env);
  }

  async #read(): Promise<Login> {
    const machine = await this.#machine();
    return machine
      ? without({ tokens: machine.tokens() })
      : loginOf(await this.#options.store.get(loginKeyOf(this.#url)));
  }

  async #update(change: (login: Login) => Login | undefined): Promise<void> {
    await updateLogin(this.#options.store, loginKeyOf(this.#url), change);
  }

  /**
   * Replaces a rejected token. A refresh token works only once, so one process refreshes it and the
   * others use the new token.
   */
  async #renew(response: Response, refused: string | undefined): Promise<void> {
    const about = await this.#requestedBy(response);
    if (await this.#machine()) return this.#authorize(about);
    const { store, clock } = this.#options;
    const hasAnother = ({ tokens }: Login) =>
      tokens !== undefined && tokens.access_token !== refused;
    try {
      await whileLocked(store, loginKeyOf(this.#url), clock, async () => {
        const login = await this.#read();
        if (hasAnother(login)) return;
        const { tokens } = login;
        if (tokens?.refresh_token === undefined)
          throw this.#needed(
            tokens === undefined ? 'nobody has logged in' : 'the last login has expired',
          );
        await this.#authorize(about);
      });
    } catch (error) {
      // A login by the user doesn't wait for the lock, so it may have happened by now.
      if (!hasAnother(await this.#read())) throw error;
    }
  }

  /** Returns the metadata URL and scopes that a refusal asks for. `more` is added to the scopes. */
  async #requestedBy(
    response: Response,
    more?: string,
  ): Promise<Pick<McpClient.AuthOptions, 'resourceMetadataUrl' | 'scope'>> {
    const { computeScopeUnion, extractWWWAuthenticateParams } = await this.#options.sdk();
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
    const wanted = computeScopeUnion(this.#oauth.scopes.join(' ') || scope, more);
    return without({ resourceMetadataUrl, scope: wanted });
  }

  async #authorize(options: Partial<McpClient.AuthOptions>): Promise<void> {
    try {
      await this.#auth((await this.#machine()) ?? this.#provider(), options);
    } catch (error) {
      throw this.#readable(error);
    }
  }

  /** Returns the login of a program that has its own secret or private key. */
  async #createMachine() {
    const { grant, clientId = '', clientKeyEnv, clientSecretEnv = '' } = this.#oauth;
    const { signingAlgorithm: algorithm = 'ES256', issuer = '', scopes } = this.#oauth;
    if (grant !== 'client_credentials') return undefined;
    const { ClientCredentialsProvider, PrivateKeyJwtProvider } = await this.#options.sdk();
    const scope = scopes.join(' ') || undefined;
    const own = { clientId, expectedIssuer: issuer, ...without({ scope }) };
    return clientKeyEnv === undefined
      ? new ClientCredentialsProvider({ ...own, clientSecret: this.#secret(clientSecretEnv) })
      : new PrivateKeyJwtProvider({ ...own, privateKey: this.#secret(clientKeyEnv), algorithm });
  }

  async #auth(
    provider: OAuthClientProvider,
    options: Partial<McpClient.AuthOptions>,
  ): Promise<void> {
    const { auth } = await this.#options.sdk();
    const url = this.#url;
    await this.#inTime((signal) =>
      auth(provider, {
        serverUrl: url,
        fetchFn: (address, init) =>
          this.#options.fetch(checkedAddress(new URL(address), new URL(url)), { ...init, signal }),
        ...options,
      }),
    );
  }

  #inTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return inTime(
      { clock: this.#options.clock, timeoutMs: AUTH_TIMEOUT_MS },
      () =>
        serverUnavailable(
          `The authorization server of ${this.#label} didn't respond within ${AUTH_TIMEOUT_MS / 1_000} seconds. Try again later.`,
        ),
      work,
    );
  }

  /** Returns the SDK's provider: for a login by the user, or for refreshing without a user. */
  #provider(user?: {
    readonly callback: string;
    readonly state: string;
    readonly scope: string | undefined;
    readonly begin: (address: URL) => void;
  }): OAuthClientProvider {
    const { clientId, clientMetadataUrl, clientSecretEnv, issuer, scopes } = this.#oauth;
    const redirect = user?.callback ?? NO_CALLBACK;
    let verifier = '';
    let discovered: OAuthDiscoveryState | undefined;
    // The registration for this login. It's stored with the tokens and valid only for them.
    let registered: StoredOAuthClientInformation | undefined;
    let isRefused = false;
    return {
      redirectUrl: redirect,
      clientMetadata: {
        client_name: 'tooldex',
        redirect_uris: [redirect],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      },
      ...without({ clientMetadataUrl }),
      clientInformation: async (context) => {
        if (
          issuer !== undefined &&
          context !== undefined &&
          trimmed(context.issuer) !== trimmed(issuer)
        )
          throw serverUnavailable(
            'The server specified an authorization server other than the issuer in the settings.',
          );
        if (clientId !== undefined)
          return {
            client_id: clientId,
            ...(clientSecretEnv !== undefined && { client_secret: this.#secret(clientSecretEnv) }),
          };
        const { client } = await this.#read();
        if (user === undefined)
          return client ?? Promise.reject(this.#needed('nobody has logged in'));
        return (
          registered ??
          (client !== undefined &&
          'redirect_uris' in client &&
          client.redirect_uris.includes(redirect)
            ? client
            : undefined)
        );
      },
      // The SDK only registers the program if this function exists.
      ...(clientId === undefined &&
        user !== undefined && {
          saveClientInformation: (client: StoredOAuthClientInformation) =>
            void (registered = client),
        }),
      tokens: async () => (isRefused ? undefined : (await this.#read()).tokens),
      saveTokens: async (tokens) =>
        this.#update(({ client = registered, tokens: before, wanted }) => {
          // Without scopes in the response, the requested or previous scopes are granted.
          const scope = tokens.scope ?? (user === undefined ? before?.scope : user.scope);
          return {
            ...(client && { client: registered ?? client }),
            tokens: { ...tokens, ...without({ scope }) },
            ...(user === undefined && without({ wanted })),
          };
        }),
      state: () => user?.state ?? '',
      redirectToAuthorization: (address) => {
        if (user === undefined) throw this.#needed('the last login has expired');
        user.begin(address);
      },
      saveCodeVerifier: (code) => void (verifier = code),
      codeVerifier: () => verifier,
      saveDiscoveryState: (found) => void (discovered = found),
      discoveryState: () => discovered,
      invalidateCredentials: () => void (isRefused = true),
    };
  }

  #secret(variable: string): string {
    const value = this.#options.env[variable];
    if (value === undefined || value === '')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `The settings of an MCP server need the environment variable ${variable}. Set it to a value that isn't empty.`,
        { details: { variable } },
      );
    return value;
  }

  #needed(found: string): ToolError {
    const advice = `Run \`tooldex mcp login ${this.#options.server}\`, or send a token in "headers".`;
    return loginNeeded(`${this.#label} needs a login, but ${found}. ${advice}`);
  }

  get #label(): string {
    return serverLabel(this.#options.server);
  }

  /**
   * Returns an error without the authorization server's text, which may be deliberately misleading.
   */
  #readable(error: unknown): unknown {
    return isToolError(error)
      ? error
      : serverUnavailable(
          `The authorization server of ${this.#label} refused the login: ${describeFailure(error)}.`,
          error,
        );
  }
}

/** Returns an issuer without a trailing slash, which some servers add. */
function trimmed(issuer: string): string {
  return issuer.replace(/\/$/, '');
}
