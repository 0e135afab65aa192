import { Hono, type Context } from 'hono';
import { CapabilityRegistry } from '../capability/capability-registry.js';
import { isToolError, ToolError } from '../core/errors.js';
import { describeValue } from '../core/plain-data.js';
import { contentAnswer, errorAnswer, taggedAnswer, type Answer, type Conditions, type WireError } from './answers/answer.js';
import { sendAnswer } from './answers/send-answer.js';
import { checkDiscoveryOptions, type DiscoveryOptions } from './discovery-options.js';
import { createGuard } from './guard/request-guard.js';
import { openApiOf } from './openapi.js';
import { pageFiles } from './page/page-files.js';
import { readParameters } from './query/read-parameters.js';
import { EventStream } from './routes/event-stream.js';
import { Findings } from './routes/findings.js';
import { findingsRoute, healthRoute, summaryRoute } from './routes/overview-routes.js';
import { NO_PARAMETERS, type Route } from './routes/route.js';
import { searchRoute } from './routes/search-route.js';
import { toolRoute, toolsRoute } from './routes/tool-routes.js';
import { jobsRoute, skillsRoute } from './routes/work-routes.js';
import { ToolJson } from './wire/tool-json.js';

const ROUTES: readonly Route[] = [toolsRoute, toolRoute, searchRoute, skillsRoute, jobsRoute, summaryRoute, findingsRoute, healthRoute];

/**
 * A Hono app that shows a catalogue of tools over HTTP, for reading only: as JSON for programs, as a page for people.
 *
 * GET and HEAD of `/tools`, `/tools/:name`, `/search`, `/skills`, `/jobs`, `/summary`, `/findings`, `/health`, `/events`
 * (server-sent), `/openapi.json`, and the page under `/`. Names are in snake_case, times in seconds since 1970. Whatever
 * is wrong with a request is refused with `{error: {code, message, parameter?, expected?, found?}}`. Answers carry an
 * ETag. No credential, provider configuration, stack or absolute path leaves it.
 *
 * It can be mounted in another app, or served by `serve`. Behind a proxy, name the public host in `allowedHosts`.
 *
 * @throws ToolError `INVALID_ARGUMENT` for wrong options.
 */
export function createDiscoveryApp(capabilities: CapabilityRegistry, options: DiscoveryOptions = {}): Hono {
  if (!(capabilities instanceof CapabilityRegistry)) throw new ToolError('INVALID_ARGUMENT', `Expected a CapabilityRegistry, found ${describeValue(capabilities)}; make one with CapabilityRegistry.load`);
  const { mayEnter, allowedHosts, allowedOrigins, page, maxListeners, clock } = checkDiscoveryOptions(options);
  const guard = createGuard({ allowedHosts, allowedOrigins, mayEnter });
  const tools = new ToolJson();
  const findings = new Findings(capabilities);
  const events = new EventStream(capabilities, clock, maxListeners);
  const description = JSON.stringify(openApiOf(ROUTES, { needsToken: mayEnter !== undefined }));

  const app = new Hono();
  const answerTo = (context: Context, answer: (conditions: Conditions) => Answer, isOpen: boolean): Answer => {
    const header = (name: string) => context.req.header(name);
    const passage = guard({ method: context.req.method, url: context.req.url, isOpen, header });
    if (!passage.passes) return passage.answer;
    try {
      return answer({ ifNoneMatch: header('if-none-match'), extra: passage.headers });
    } catch (error) {
      return refusalOf(error, passage.headers);
    }
  };
  const guarded =
    (answer: (context: Context, conditions: Conditions) => Answer, { isOpen = false } = {}) =>
    (context: Context): Response =>
      sendAnswer(answerTo(context, (conditions) => answer(context, conditions), isOpen), context.env);

  for (const route of ROUTES) {
    const answer = guarded((context, conditions) => {
      const query = queryOf(context.req.url);
      return route.answer({ capabilities, tools, findings, asked: readParameters(query, route.parameters), query, path: context.req.path, name: context.req.param('name') ?? '', conditions });
    });
    app.get(route.path, answer);
  }
  const withoutParameters = (context: Context) => readParameters(queryOf(context.req.url), NO_PARAMETERS);
  app.get('/openapi.json', guarded((context, conditions) => (withoutParameters(context), contentAnswer(description, conditions))));
  app.get('/events', guarded((context, { extra }) => (withoutParameters(context), events.answer(extra, context.req.method !== 'HEAD'))));
  for (const { path, type, body, etag } of page ? pageFiles() : []) app.get(path, guarded((_, conditions) => taggedAnswer(body, etag, type, conditions), { isOpen: true }));
  app.notFound(guarded((context, { extra }) => errorAnswer(404, { code: 'NOT_FOUND', message: `Expected one of ${[...ROUTES.map(({ path }) => path), '/events', '/openapi.json'].join(', ')}, found ${describeValue(context.req.path)}` }, extra)));
  return app;
}

/** An error as an answer. What is not about the request stays inside: it may say where files are, and what is in them. */
function refusalOf(error: unknown, headers: Conditions['extra']): Answer {
  if (isToolError(error, 'INVALID_ARGUMENT')) return errorAnswer(400, { code: 'INVALID_ARGUMENT', message: error.message, ...parameterOf(error) }, headers);
  if (isToolError(error, 'TOOL_NOT_FOUND')) return errorAnswer(404, { code: 'TOOL_NOT_FOUND', message: error.message }, headers);
  return errorAnswer(500, { code: 'INTERNAL_ERROR', message: 'The catalogue failed to answer; it goes on working' }, headers);
}

function parameterOf({ details: { parameter, expected, found } }: ToolError): Partial<WireError> {
  if (typeof parameter !== 'string' || typeof expected !== 'string' || typeof found !== 'string') return {};
  return { parameter, expected, found };
}

function queryOf(url: string): string {
  const start = url.indexOf('?');
  if (start === -1) return '';
  const end = url.indexOf('#', start);
  return url.slice(start + 1, end === -1 ? undefined : end);
}
