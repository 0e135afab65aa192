import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
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
  type Role,
} from '../host/request-guard.js';
import { lintRulesField, type LintRules } from '../registry/lint/lint-tools.js';
import { findingsOf, type Findings } from './findings.js';
import { HttpError, type WireError } from './http-error.js';
import { openApiOf } from './openapi.js';
import { PAGE_FILES, type PageFile } from './page-files.js';
import { operatorField, type OperatorOptions } from './operator-options.js';
import { OperatorRoom } from './operator-room.js';
import { OPERATOR_ROUTES } from './operator-routes.js';
import { personasIn } from './personas.js';
import { readQuery } from './read-query.js';
import type { Route } from './route.js';
import { ROUTES } from './routes.js';
import {
  NO_STORE,
  SECURITY_HEADERS,
  searchOf,
  send,
  sendError,
  sendTagged,
  tagged,
  taggedText,
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
/** Maximum size of a request body in bytes. */
const MOST_BYTES = 262_144;

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

type Served = Context<Env, string>;

/** The checked options, with defaults. */
type Settings = z.output<typeof discoveryOptions>;

/** Adds the parts of the application in the order in which a request passes them. */
class CatalogueApp {
  readonly app = new Hono<Env>();
  readonly #capabilities: CapabilityRegistry;
  readonly #settings: Settings;
  readonly #findings: Findings;
  readonly #room: OperatorRoom | undefined;
  /** Responses are cached for a second, because availability and health can change at any time. */
  readonly #kept = new RecentMap<string, Tagged>(KEPT_ANSWERS);
  #listeners = 0;

  constructor(capabilities: CapabilityRegistry, settings: Settings) {
    const { operator, page, auth, clock } = settings;
    this.#capabilities = capabilities;
    this.#settings = settings;
    this.#findings = findingsOf(capabilities, settings.lintRules);
    this.#room = operator && new OperatorRoom(operator, capabilities, clock);
    const files = page ? PAGE_FILES : [];
    const routes = operator === undefined ? ROUTES : [...ROUTES, ...OPERATOR_ROUTES];
    this.app.onError(sendRefusal);
    this.#addProbes();
    this.#addGuard(files.map(({ path }) => path));
    this.#addRoutes(routes);
    const description = tagged(openApiOf(routes, auth !== undefined));
    this.app.get('/openapi.json', (context) => sendTagged(context, description));
    this.app.get('/events', (context) => this.#streamEvents(context));
    for (const file of files) this.#addFile(file);
    this.app.notFound(({ req }) => refuseUnknown(req, routes));
  }

  /** Adds routes. The operators' routes, which follow those of the catalogue, aren't cached. */
  #addRoutes(routes: readonly Route[]): void {
    for (const route of ROUTES)
      this.app.get(route.path, (context) => this.#answerFromCache(route, context));
    for (const route of routes.slice(ROUTES.length))
      this.app.on(route.method, route.path, (context) => this.#answer(route, context));
  }

  #addFile({ path, type, body }: PageFile): void {
    const file = taggedText(body);
    this.app.get(path, (context) => sendTagged(context, file, type));
  }

  /** Adds the routes that need no token. */
  #addProbes(): void {
    for (const path of [LIVENESS_PATH, '/livez', '/readyz'])
      this.app.get(path, async (context) => {
        if (path === '/readyz') await this.#settings.operator?.store.now();
        return sendTagged(context, tagged({ status: 'ok' }));
      });
  }

  /** Lets other origins read, and refuses requests without a valid host, origin or token. */
  #addGuard(openPaths: readonly string[]): void {
    const { auth, allowedHosts, allowedOrigins, clock } = this.#settings;
    if (allowedOrigins.length > 0) this.app.use(cors({ ...CORS, origin: [...allowedOrigins] }));
    const authenticate =
      auth &&
      ('token' in auth ? bearerToken(auth.token) : bearerTokens(auth.tokens, () => clock.now()));
    const guard = createGuard({ allowedHosts, allowedOrigins, authenticate });
    this.app.use(async (context, next) => {
      const { raw, path } = context.req;
      const admission = await guard(raw, { isOpen: openPaths.includes(path) });
      if (!admission.ok) {
        const { status, code, message, headers } = admission;
        throw new HttpError(status, { code, message }, headers);
      }
      const { operator = '', roles = [] } = admission;
      if (isRead(raw) && operator !== '' && !roles.includes('view')) throw forbidden('view', true);
      context.set('operator', operator);
      context.set('roles', roles);
      await next();
    });
  }

  /** Answers a request about the catalogue, which the same request within a second shares. */
  async #answerFromCache(route: Route, context: Served): Promise<Response> {
    const { revision, healthReports } = this.#capabilities;
    const second = Math.floor(this.#settings.clock.now() / 1_000);
    const key = `${revision} ${healthReports} ${second} ${context.req.url}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return sendTagged(context, kept);
    const answered = tagged(await this.#answerOf(route, context));
    this.#kept.set(key, answered);
    return sendTagged(context, answered);
  }

  async #answer(route: Route, context: Served): Promise<Response> {
    const { role, path } = route;
    const isOn = role === 'view' || this.#room!.canDo(role);
    if (role !== 'view' && !(isOn && context.get('roles').includes(role)))
      throw forbidden(role, isOn);
    const answered = await this.#answerOf(route, context);
    if (typeof answered === 'string') return send(200, answered, METRICS_HEADERS);
    return sendTagged(context, tagged(answered ?? { done: path.split('/').at(-1) }));
  }

  async #answerOf({ query: parameters, body, answer }: Route, context: Served) {
    const { req } = context;
    const address = { path: req.path, query: searchOf(req.url) };
    const query = readQuery(parameters, address.query);
    const room = this.#room!;
    const can = (role: Role) => room?.canDo(role) && context.get('roles').includes(role);
    return answer({
      catalogue: this.#capabilities,
      findings: this.#findings,
      clock: this.#settings.clock,
      query,
      personas: personasIn(this.#capabilities, query['persona'] as string | undefined),
      address,
      name: req.param('name') ?? req.param('id') ?? '',
      body: body && (await bodyOf(context, body)),
      room,
      operator: context.get('operator'),
      allowed: { approve: can('approve'), run: can('run') },
    });
  }

  #streamEvents(context: Served): Response {
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
const METRICS_HEADERS = {
  ...NO_STORE,
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
};

/** Returns the refusal of a token without a role, or of an action that this server doesn't allow. */
function forbidden(role: Role, isOn: boolean): HttpError {
  const flags = role === 'run' ? '--allow-run' : '--allow-approve and --approval-key-file';
  const message = isOn
    ? `Expected a token with the role "${role}". Ask the person who runs this server for one.`
    : `This server doesn't let operators ${role}. Start it with ${flags}.`;
  return new HttpError(403, { code: 'FORBIDDEN', message });
}

/** Stops reading a body that is too large. */
const limitBody = bodyLimit({
  maxSize: MOST_BYTES,
  onError: () => {
    const message = `Expected a body of at most ${MOST_BYTES} bytes.`;
    throw new HttpError(413, { code: 'BODY_TOO_LARGE', message }, { connection: 'close' });
  },
});

/** Reads the JSON body of a request. @throws HttpError 400, 413. */
async function bodyOf(context: Served, schema: z.ZodType): Promise<unknown> {
  await limitBody(context, () => Promise.resolve());
  const text = await context.req.text();
  try {
    return checkOptions(schema, JSON.parse(text || '{}'), 'fields of the body');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new HttpError(400, { code: 'INVALID_ARGUMENT', message: "The body isn't valid JSON." });
  }
}

const isRead = ({ method }: Pick<Request, 'method'>) => method === 'GET' || method === 'HEAD';

/** Refuses a path that doesn't exist, or a method that a path doesn't have. */
function refuseUnknown(
  { method, path }: Context<Env>['req'],
  routes: readonly Pick<Route, 'path'>[],
): Response {
  if (!isRead({ method })) {
    const message = `Expected GET, HEAD, got ${describeValue(method)}. The catalogue is read-only.`;
    const allow = 'GET, HEAD';
    return sendError(new HttpError(405, { code: 'METHOD_NOT_ALLOWED', message }, { allow }));
  }
  const paths = [...routes.map((route) => route.path), '/events', '/openapi.json'].join(', ');
  const message = `Expected one of ${paths}, got ${describeValue(path)}.`;
  return sendError(new HttpError(404, { code: 'NOT_FOUND', message }));
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

function sendRefusal(error: unknown): Response {
  return sendError(refusalOf(error));
}

/**
 * Converts an error to an HTTP error. The message of an internal error isn't shown, because it may
 * quote files.
 */
function refusalOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const status = isToolError(error) && STATUS_OF[error.code];
  if (status) {
    const { parameter, expected, found } = error.details as Partial<WireError>;
    const { code, message } = error;
    return new HttpError(status, { code, message, parameter, expected, found });
  }
  const message = "The server couldn't answer this request because of an internal error.";
  return new HttpError(500, { code: 'INTERNAL_ERROR', message });
}
