import { Hono, type Context } from 'hono';
import { cors } from 'hono/cors';
import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { systemClock, type Clock } from '../core/clock.js';
import { RecentMap } from '../core/recent-map.js';
import { isToolError, type ToolErrorCode } from '../core/errors.js';
import { checkOptions, clock, secret, wholeBetween, type FieldsOf } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import { allowedHosts, LOOPBACK_HOSTS, origin } from '../host/addresses.js';
import {
  bearerToken,
  bearerTokens,
  createGuard,
  LIVENESS_PATH,
  ROLES,
  tokenField,
  type NamedToken,
} from '../host/request-guard.js';
import { lintRulesField, type LintRules } from '../registry/lint/lint-tools.js';
import { findingsOf, type Findings } from './findings.js';
import { HttpError, type WireError } from './http-error.js';
import { openApiOf } from './openapi.js';
import { PAGE_FILES } from './page-files.js';
import { operatorField, type OperatorOptions } from './operator-options.js';
import { OperatorRoom } from './operator-room.js';
import { addOperatorRoutes, OPERATOR_ROUTES, requireRole } from './operator-routes.js';
import { personasIn } from './personas.js';
import { readQuery } from './read-query.js';
import { ROUTES, type Route } from './routes.js';
import {
  NO_STORE,
  SECURITY_HEADERS,
  searchOf,
  send,
  sendError,
  sendJson,
  sendTagged,
  tagged,
  type Tagged,
  type Env,
} from './send.js';
import { streamChanges } from './stream-changes.js';

/** Options for the catalogue app. */
export interface DiscoveryOptions {
  /**
   * The tokens that clients must send as `Authorization: Bearer <token>`. The page needs no token,
   * because it contains no data.
   * @default no token needed
   */
  readonly auth?: { readonly token: string } | { readonly tokens: readonly NamedToken[] };
  /**
   * Shows operators the waiting calls in a store. Operators can answer these calls and try tools.
   * @default none
   */
  readonly operator?: OperatorOptions | undefined;
  /** The host names that requests may use, without ports. @default localhost, 127.0.0.1, [::1] */
  readonly allowedHosts?: readonly string[];
  /**
   * Origins of other sites whose scripts may read responses, such as `https://tools.example`.
   * @default none
   */
  readonly allowedOrigins?: readonly string[];
  /** Serves the page for people at `/`. @default true */
  readonly page?: boolean;
  /** Maximum number of clients that listen to `/events` at the same time. @default 32 */
  readonly maxListeners?: number;
  /**
   * Changes the severity of lint rules in `/findings`, or turns rules off, like the `rules` option
   * of `lintTools`.
   * @default {}
   */
  readonly lintRules?: LintRules;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
}

/** Option fields shared by the app and `serve`. */
export const sharedFields = {
  allowedOrigins: z.array(origin).readonly().default([]),
  page: z.boolean().default(true),
  maxListeners: wholeBetween(0, 10_000).default(32),
  lintRules: lintRulesField(),
  operator: operatorField,
  clock: clock().default(systemClock),
};

/** Option field for tokens with names and roles. */
export const namedTokens = z
  .array(
    z.strictObject({
      token: tokenField,
      name: z.string().min(1).max(200),
      roles: z.array(z.enum(ROLES)).readonly().optional(),
      expiresAt: z.number().optional(),
    }),
  )
  .min(1)
  .readonly();

const authField = z.union([
  z.strictObject({ token: tokenField }),
  z.strictObject({ tokens: namedTokens }),
]);

const discoveryOptions = z.strictObject({
  ...sharedFields,
  allowedHosts: allowedHosts.default(LOOPBACK_HOSTS),
  // Error messages never show this value, because it may be a misplaced token.
  auth: secret<NonNullable<DiscoveryOptions['auth']>>(
    'an object { token } with 16 to 4096 visible ASCII characters, or { tokens } with a name for each',
    (value) => authField.safeParse(value).success,
    'Generate one with `openssl rand -hex 32`.',
  ).optional(),
} satisfies FieldsOf<DiscoveryOptions>);

/** Maximum number of requests whose responses are cached for a second. */
const KEPT_ANSWERS = 32;
const ALLOW = 'GET, HEAD';

/**
 * A catalogue as a web application. Any server or router that handles web requests can mount it.
 */
export interface DiscoveryApp {
  /** Handles a request. */
  readonly fetch: (request: Request, bindings?: object) => Response | Promise<Response>;
  /** Handles a `Request`, a URL or a path in the catalogue. Useful in tests. */
  readonly request: (input: string | Request, init?: RequestInit) => Response | Promise<Response>;
}

/**
 * Creates a read-only web application for a catalogue of tools: JSON for programs and a page for
 * people.
 *
 * The app serves GET and HEAD for `/tools`, `/tools/:name`, `/search`, `/skills`, `/tasks`,
 * `/jobs`, `/summary`, `/findings`, `/health`, `/events` (server-sent events) and `/openapi.json`.
 * `/healthz` needs no token. Names are in snake_case, and times in seconds since 1970.
 *
 * An invalid request gets `{error: {code, message, parameter?, expected?, found?}}`. Responses have
 * an ETag. Responses never contain credentials, provider configurations, stack traces or absolute
 * paths.
 *
 * Use `serve`, or mount the app in another app, such as Hono: `app.mount('/catalogue',
 * discovery.fetch)`. Behind a proxy, put the public host in `allowedHosts`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for invalid options.
 */
export function createDiscoveryApp(
  capabilities: CapabilityRegistry,
  options: DiscoveryOptions = {},
): DiscoveryApp {
  const checked = checkOptions(discoveryOptions, options, 'options of createDiscoveryApp');
  return new CatalogueApp(capabilities, checked).app;
}

/** The checked options, with defaults. */
type Settings = z.output<typeof discoveryOptions>;

/** Adds the parts of the application in the order in which a request passes them. */
class CatalogueApp {
  readonly app = new Hono<Env>();
  readonly #capabilities: CapabilityRegistry;
  readonly #settings: Settings;
  readonly #findings: Findings;
  /** Responses are cached for a second, because availability and health can change at any time. */
  readonly #kept = new RecentMap<string, Tagged>(KEPT_ANSWERS);
  #listeners = 0;

  constructor(capabilities: CapabilityRegistry, settings: Settings) {
    this.#capabilities = capabilities;
    this.#settings = settings;
    this.#findings = findingsOf(capabilities, settings.lintRules);
    const { operator, page, auth, clock } = settings;
    const files = page ? PAGE_FILES : [];
    const routes = [...ROUTES, ...(operator === undefined ? [] : OPERATOR_ROUTES)];
    this.app.onError((error) => sendError(refusalOf(error)));
    this.#addProbes();
    this.#addGuard(new Set(files.map(({ path }) => path)));
    for (const route of ROUTES) this.#addRoute(route);
    if (operator !== undefined)
      addOperatorRoutes(this.app, new OperatorRoom(operator, capabilities, this.#findings, clock));
    const description = openApiOf(routes, auth !== undefined);
    this.app.get('/openapi.json', (context) => sendJson(context, description));
    this.app.get('/events', (context) => this.#streamEvents(context));
    for (const { path, type, body, etag } of files)
      this.app.get(path, (context) => sendTagged(context, { body, etag }, type));
    this.app.notFound((context) => refuseUnknown(context, routes));
  }

  /** Adds the routes that need no token. */
  #addProbes(): void {
    for (const path of [LIVENESS_PATH, '/livez'])
      this.app.get(path, (context) => sendJson(context, { status: 'ok' }));
    this.app.get('/readyz', async (context) => {
      const { operator } = this.#settings;
      try {
        await operator?.store.now();
        return sendJson(context, { status: 'ok' });
      } catch {
        return sendError(notReady());
      }
    });
  }

  /** Lets other origins read, and refuses requests without a valid host, origin or token. */
  #addGuard(openPaths: ReadonlySet<string>): void {
    const { auth, allowedHosts, allowedOrigins, clock } = this.#settings;
    if (allowedOrigins.length > 0) this.app.use(cors({ ...CORS, origin: [...allowedOrigins] }));
    const authenticate =
      auth &&
      ('token' in auth ? bearerToken(auth.token) : bearerTokens(auth.tokens, () => clock.now()));
    const guard = createGuard({ allowedHosts, allowedOrigins, authenticate });
    this.app.use(async (context, next) => {
      const { raw, path } = context.req;
      const admission = await guard(raw, { isOpen: openPaths.has(path) });
      if (!admission.ok) {
        const { status, code, message, headers } = admission;
        throw new HttpError(status, { code, message }, headers);
      }
      const { operator, roles = [] } = admission;
      if (isRead(raw)) requireRole('view', true, operator === undefined || roles.includes('view'));
      context.set('operator', operator);
      context.set('roles', roles);
      await next();
    });
  }

  #addRoute({ path, query: parameters, answer }: Route): void {
    this.app.get(path, (context) => {
      const address = { path: context.req.path, query: searchOf(context.req.url) };
      const { revision, healthReports } = this.#capabilities;
      const second = Math.floor(this.#settings.clock.now() / 1_000);
      const key = `${revision} ${healthReports} ${second} ${address.path}?${address.query}`;
      let answered = this.#kept.get(key);
      if (answered === undefined) {
        const query = readQuery(parameters, address.query);
        const persona = query['persona'] as string | readonly string[] | undefined;
        answered = tagged(
          answer({
            catalogue: this.#capabilities,
            findings: this.#findings,
            query,
            personas: personasIn(this.#capabilities, persona),
            address,
            name: context.req.param('name') ?? '',
          }),
        );
        this.#kept.set(key, answered);
      }
      return sendTagged(context, answered);
    });
  }

  #streamEvents(context: Context<Env>): Response {
    const { maxListeners, clock } = this.#settings;
    if (this.#listeners >= maxListeners) {
      const message = `${maxListeners} clients are already listening to /events, which is the maximum. Try again later.`;
      throw new HttpError(503, { code: 'TOO_MANY_LISTENERS', message }, { 'retry-after': '10' });
    }
    if (context.req.method === 'HEAD') return send(200, null, EVENT_HEADERS);
    this.#listeners += 1;
    const onEnd = () => (this.#listeners -= 1);
    const stream = streamChanges(context, this.#capabilities, clock, onEnd);
    for (const [name, value] of Object.entries({ ...SECURITY_HEADERS, ...EVENT_HEADERS }))
      stream.headers.set(name, value);
    return stream;
  }
}

const CORS = {
  allowMethods: ['GET', 'HEAD'],
  allowHeaders: ['authorization', 'if-none-match'],
  exposeHeaders: ['etag', 'www-authenticate'],
  maxAge: 600,
};
const EVENT_HEADERS = {
  ...NO_STORE,
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
};

function notReady(): HttpError {
  const message = "The state store isn't responding. Try again later.";
  return new HttpError(503, { code: 'STATE_UNAVAILABLE', message });
}

/** Refuses a path that doesn't exist, or a method that a path doesn't have. */
function refuseUnknown({ req }: Context<Env>, routes: readonly { readonly path: string }[]) {
  if (!isRead(req.raw)) return sendError(readOnly(req.raw));
  const paths = [...routes.map(({ path }) => path), '/events', '/openapi.json'].join(', ');
  const message = `Expected one of ${paths}, got ${describeValue(req.path)}.`;
  return sendError(new HttpError(404, { code: 'NOT_FOUND', message }));
}

const isRead = ({ method }: Request) => method === 'GET' || method === 'HEAD';

/** Returns the refusal of a method that a path doesn't have. */
function readOnly({ method }: Request): HttpError {
  const message = `Expected ${ALLOW}, got ${describeValue(method)}. The catalogue is read-only.`;
  return new HttpError(405, { code: 'METHOD_NOT_ALLOWED', message }, { allow: ALLOW });
}

/** The HTTP status for each error that a request can cause. */
const STATUS_OF: Readonly<Partial<Record<ToolErrorCode, number>>> = {
  TOOL_NOT_FOUND: 404,
  UNKNOWN_CALL: 404,
  ALREADY_RESOLVED: 409,
  INVALID_APPROVAL: 409,
  INVALID_ARGUMENT: 400,
  INVALID_INPUT: 400,
  STATE_UNAVAILABLE: 503,
};

/**
 * Converts an error to an HTTP error. The message of an internal error isn't shown, because it may
 * quote files.
 */
function refusalOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const status = isToolError(error) ? STATUS_OF[error.code] : undefined;
  if (status !== undefined && isToolError(error)) {
    const { parameter, expected, found } = error.details as Partial<WireError>;
    const place = parameter === undefined ? {} : { parameter, expected: expected!, found: found! };
    return new HttpError(status, { code: error.code, message: error.message, ...place });
  }
  const message = "The server couldn't answer this request because of an internal error.";
  return new HttpError(500, { code: 'INTERNAL_ERROR', message });
}
