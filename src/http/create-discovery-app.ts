import { Hono, type Context } from 'hono';
import { z } from 'zod';
import type { CapabilityRegistry } from '../capability/capability-registry.js';
import { parsePersonas, personaKey } from '../capability/manifest/persona.js';
import { systemClock, type Clock } from '../core/clock.js';
import { isToolError, type ToolError } from '../core/errors.js';
import { expectedGot, invalidArgument, suggestNames } from '../core/issues.js';
import { checkOptions, clock, secret, wholeBetween, type FieldsOf } from '../core/options.js';
import { describeValue } from '../core/plain-data.js';
import { allowedHosts, LOOPBACK_HOSTS, origin } from '../host/addresses.js';
import { createCors } from '../host/cors.js';
import {
  bearerToken,
  createGuard,
  hasBody,
  LIVENESS_PATH,
  tokenField,
  type GuardedRequest,
} from '../host/request-guard.js';
import {
  createVerifiedTokens,
  verifyFields,
  type ProtectedResource,
  type VerifyToken,
} from '../host/verified-tokens.js';
import { lintRulesField, type LintRules } from '../registry/lint/lint-tools.js';
import {
  contentAnswer,
  errorAnswer,
  sendAnswer,
  taggedAnswer,
  type Answer,
  type AnswerHeaders,
  type Conditions,
  type WireError,
} from './answers/answer.js';
import { ToolJson } from './answers/tool-json.js';
import { openApiOf } from './openapi.js';
import { PAGE_FILES } from './page-files.js';
import { callersCatalogue } from './query/callers-catalogue.js';
import { readParameters, type Asked, type Parameters } from './query/parameters.js';
import { PERSONA, SHARED } from './query/personas.js';
import { EventStream } from './routes/event-stream.js';
import { findingsRoute } from './routes/findings.js';
import { healthRoute, jobsRoute, skillsRoute, summaryRoute } from './routes/overview-routes.js';
import { NO_PARAMETERS, type Route } from './routes/route.js';
import { searchRoute } from './routes/search-route.js';
import { toolRoute, toolsRoute } from './routes/tool-routes.js';

/** The options of the catalogue app. */
export interface DiscoveryOptions {
  /**
   * The credentials of clients: they send `Authorization: Bearer <token>`. The page itself, which has no data in it, is
   * open. @default open to all
   */
  readonly auth?: { readonly token: string };
  /** Checks the tokens of clients, in place of `auth`: gives who sends one, or `undefined` to refuse it. Clients don't see the tools whose `auth.scopes` they lack. @default none is asked for */
  readonly verify?: VerifyToken;
  /** Tells clients where to get a token (RFC 9728), beside `verify`. @default its address alone */
  readonly resource?: ProtectedResource;
  /** The host names under which the catalogue is asked for, without port. @default localhost, 127.0.0.1, [::1] */
  readonly allowedHosts?: readonly string[];
  /** The origins of other sites whose scripts may read answers, such as `https://tools.example`. @default none */
  readonly allowedOrigins?: readonly string[];
  /** Serves the page for users under `/`. @default true */
  readonly page?: boolean;
  /** The number of clients that may listen to `/events` at a time. @default 32 */
  readonly maxListeners?: number;
  /** The rules of lint that are switched off in `/findings`, or have another severity there: as `rules` of `lintTools`. @default {} */
  readonly lintRules?: LintRules;
  /** The clock. @default the system's */
  readonly clock?: Clock;
}

/** The option fields of the app and of `serve` alike. */
export const sharedFields = {
  allowedOrigins: z.array(origin).readonly().default([]),
  page: z.boolean().default(true),
  maxListeners: wholeBetween(0, 10_000).default(32),
  lintRules: lintRulesField(),
  ...verifyFields,
  clock: clock().default(systemClock),
};

const discoveryOptions = z
  .strictObject({
    ...sharedFields,
    allowedHosts: allowedHosts.default(LOOPBACK_HOSTS),
    // The whole value may be a token given in the wrong place, so no message shows it.
    auth: secret<{ readonly token: string }>(
      'an object { token } with 16 to 4096 visible ASCII characters',
      (value) => z.strictObject({ token: tokenField }).safeParse(value).success,
      'Make them with `openssl rand -hex 32`.',
    ).optional(),
  } satisfies FieldsOf<DiscoveryOptions>)
  .refine(
    ({ auth, verify }) => auth === undefined || verify === undefined,
    'either a token or verify',
  );

/** Bytes of a request's address. */
const LONGEST_URL = 8_192;
const ALLOW = 'GET, HEAD';

const EVENT_PARAMETERS: Parameters = new Map([['persona', PERSONA]]);

/** A catalogue as an application of web requests, which any server or router of such applications can mount. */
export interface DiscoveryApp {
  /** Answers a request. */
  readonly fetch: (request: Request, bindings?: object) => Response | Promise<Response>;
  /** Answers a request for an address, or for a path of the catalogue alone, as a test has it. */
  readonly request: (input: string | Request, init?: RequestInit) => Response | Promise<Response>;
}

/**
 * Creates an app that shows a catalogue of tools over HTTP, read only: as JSON for programs, as a page for users.
 *
 * GET and HEAD of `/tools`, `/tools/:name`, `/search`, `/skills`, `/jobs`, `/summary`, `/findings`, `/health`,
 * `/events` (server-sent), `/openapi.json`, `/healthz` (without a token), and the page under `/`. Names are in snake_case, times in seconds since
 * 1970. A wrong request is refused with `{error: {code, message, parameter?, expected?, found?}}`. Answers carry an
 * ETag. No credential, provider configuration, stack or absolute path leaves it.
 *
 * It can be mounted in another app (in one of Hono: `app.mount('/catalogue', discovery.fetch)`), or served by `serve`. Behind a proxy, name the public host in `allowedHosts`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options.
 */
export function createDiscoveryApp(
  capabilities: CapabilityRegistry,
  options: DiscoveryOptions = {},
): DiscoveryApp {
  const isCapabilityRegistry =
    typeof capabilities === 'object' && capabilities !== null && 'registryFor' in capabilities; // It may come from the other build.
  if (!isCapabilityRegistry)
    throw invalidArgument(
      'a CapabilityRegistry',
      capabilities,
      'Make one with CapabilityRegistry.load.',
    );
  const {
    auth,
    verify,
    resource = {},
    allowedHosts,
    allowedOrigins,
    page,
    maxListeners,
    lintRules,
    clock,
  } = checkOptions(discoveryOptions, options, 'options of createDiscoveryApp');
  const tokens = verify && createVerifiedTokens(verify, resource, '');
  const guard = createGuard({
    allowedHosts,
    allowedOrigins,
    authenticate: auth ? bearerToken(auth.token) : tokens?.authenticate,
  });
  const cors = createCors({
    allowedOrigins,
    methods: ALLOW,
    requestHeaders: 'authorization, if-none-match',
    exposedHeaders: 'etag, www-authenticate',
  });
  const tools = new ToolJson();
  const routes: readonly Route[] = [
    toolsRoute,
    toolRoute,
    searchRoute,
    skillsRoute,
    jobsRoute,
    summaryRoute,
    findingsRoute(capabilities, lintRules),
    healthRoute,
  ];
  const events = new EventStream(capabilities, clock, maxListeners);
  const description = JSON.stringify(
    openApiOf(routes, { needsToken: auth !== undefined || verify !== undefined }),
  );

  const app = new Hono();
  const answerTo = async (
    request: Request,
    answer: (conditions: Conditions, scopes?: readonly string[]) => Answer | Promise<Answer>,
    isOpen: boolean,
  ): Promise<Answer> => {
    const headers = cors.headersOf(request);
    const preflight = cors.preflightOf(request);
    const admission = await guard(request, { isOpen: isOpen || preflight !== undefined });
    if (!admission.ok)
      return errorAnswer(
        admission.status,
        { code: admission.code, message: admission.message },
        { ...headers, ...admission.headers },
      );
    if (preflight !== undefined) return { status: 204, headers: preflight, body: null };
    try {
      return (
        refuseUnreadable(request, headers) ??
        (await answer(
          {
            ifNoneMatch: request.headers.get('if-none-match') ?? undefined,
            extra: headers,
          },
          admission.scopes,
        ))
      );
    } catch (error) {
      return refusalOf(error, headers);
    }
  };
  const guarded =
    (
      answer: (
        context: Context,
        conditions: Conditions,
        scopes?: readonly string[],
      ) => Answer | Promise<Answer>,
      { isOpen = false } = {},
    ) =>
    async (context: Context): Promise<Response> =>
      sendAnswer(
        await answerTo(context.req.raw, (...given) => answer(context, ...given), isOpen),
        context.env,
      );

  for (const route of routes) {
    const answer = guarded((context, conditions, scopes) => {
      const query = queryOf(context.req.url);
      const asked = readParameters(query, route.parameters);
      const unknown = unknownPersona(capabilities, asked);
      if (unknown !== undefined) return errorAnswer(404, unknown, conditions.extra);
      return route.answer({
        capabilities: callersCatalogue(capabilities, scopes),
        tools,
        asked,
        query,
        path: context.req.path,
        name: context.req.param('name') ?? '',
        conditions,
      });
    });
    app.get(route.path, answer);
  }
  const withoutParameters = (context: Context) =>
    readParameters(queryOf(context.req.url), NO_PARAMETERS);
  app.get(
    '/openapi.json',
    guarded(
      (context, conditions) => (withoutParameters(context), contentAnswer(description, conditions)),
    ),
  );
  const listen = guarded((context, { extra }) => {
    const asked = readParameters(queryOf(context.req.url), EVENT_PARAMETERS);
    const unknown = unknownPersona(capabilities, asked);
    return unknown === undefined
      ? events.answer(
          extra,
          context.req.method !== 'HEAD',
          parsePersonas(asked.all<string>('persona')),
        )
      : errorAnswer(404, unknown, extra);
  });
  app.get('/events', listen);
  for (const { path, type, body, etag } of page ? PAGE_FILES : [])
    app.get(
      path,
      guarded((_, conditions) => taggedAnswer(body, etag, type, conditions), { isOpen: true }),
    );
  app.get(LIVENESS_PATH, ({ env }) =>
    sendAnswer(
      contentAnswer('{"status":"ok"}', { ifNoneMatch: undefined, extra: {} }),
      env as object,
    ),
  );
  if (tokens !== undefined)
    app.get(
      '/.well-known/oauth-protected-resource',
      guarded(
        (context, conditions) =>
          contentAnswer(JSON.stringify(tokens.metadataFor(context.req.raw)), conditions),
        { isOpen: true },
      ),
    );
  app.notFound(
    guarded((context, { extra }) =>
      errorAnswer(
        404,
        {
          code: 'NOT_FOUND',
          message: `Expected one of ${[...routes.map(({ path }) => path), '/events', '/openapi.json'].join(', ')}, got ${describeValue(context.req.path)}.`,
        },
        extra,
      ),
    ),
  );
  return app;
}

/** The largest number of personas named in an error. */
const MOST_NAMED = 10;

/** Returns the refusal of a persona, wanted or left out, that the catalogue does not know; `undefined` when it knows all. */
function unknownPersona(
  { personas: known }: CapabilityRegistry,
  asked: Asked,
): WireError | undefined {
  const { wanted, excluded } = parsePersonas(asked.all<string>('persona'));
  const keys = new Set([SHARED, ...known.map(personaKey)]);
  const found = [...wanted, ...excluded].find((name) => !keys.has(name));
  if (found === undefined) return undefined;
  const suggested = suggestNames(found, known);
  const named = known.slice(0, MOST_NAMED).join(', ');
  const advice =
    suggested.length > 0
      ? `Did you mean ${suggested.join(' or ')}?`
      : known.length === 0
        ? 'The catalogue has none.'
        : `There are ${named}${known.length > MOST_NAMED ? ' and others' : ''}.`;
  const expected = 'the name of a persona of the catalogue';
  return {
    code: 'PERSONA_NOT_FOUND',
    message: expectedGot(`persona as ${expected}`, describeValue(found), advice),
    parameter: 'persona',
    expected,
    found: found.slice(0, 60),
  };
}

/** Refuses what a read-only service never needs: other methods, endless addresses, bodies. */
function refuseUnreadable(request: GuardedRequest, cors: AnswerHeaders): Answer | undefined {
  const { method, url } = request;
  const headers = hasBody(request) ? { ...cors, connection: 'close' } : cors;
  if (method !== 'GET' && method !== 'HEAD')
    return errorAnswer(
      405,
      {
        code: 'METHOD_NOT_ALLOWED',
        message: `Expected ${ALLOW}, got ${describeValue(method)}. The catalogue is read only.`,
      },
      { ...headers, allow: ALLOW },
    );
  if (url.length > LONGEST_URL)
    return errorAnswer(
      414,
      {
        code: 'URL_TOO_LONG',
        message: `Expected an address of at most ${LONGEST_URL} bytes, got ${url.length}.`,
      },
      headers,
    );
  if (hasBody(request))
    return errorAnswer(
      400,
      {
        code: 'BODY_NOT_ALLOWED',
        message: 'Expected a request without a body, got one with a body.',
      },
      headers,
    );
  return undefined;
}

/** Returns an error as an answer. An error that is not about the request is not shown: it may name files, and quote them. */
function refusalOf(error: unknown, headers: Conditions['extra']): Answer {
  if (isToolError(error, 'INVALID_ARGUMENT'))
    return errorAnswer(
      400,
      { code: 'INVALID_ARGUMENT', message: error.message, ...parameterOf(error) },
      headers,
    );
  if (isToolError(error, 'TOOL_NOT_FOUND'))
    return errorAnswer(404, { code: 'TOOL_NOT_FOUND', message: error.message }, headers);
  return errorAnswer(
    500,
    { code: 'INTERNAL_ERROR', message: 'The catalogue failed to answer. It goes on working.' },
    headers,
  );
}

function parameterOf({ details: { parameter, expected, found } }: ToolError): Partial<WireError> {
  if (typeof parameter !== 'string' || typeof expected !== 'string' || typeof found !== 'string')
    return {};
  return { parameter, expected, found };
}

function queryOf(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return '';
  const end = url.indexOf('#', start);
  return url.slice(start + 1, end === -1 ? undefined : end);
}
