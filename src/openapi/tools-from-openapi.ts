import { z } from 'zod';
import { AccessMode, DangerLevel, ExecutionCategory, Priority, SideEffect } from '../core/enums.js';
import { dangerRank } from '../core/enum-order.js';
import { isToolError, issuesOf, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { aFunction, checkOptions, once, text, type FieldsOf } from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { isLoopback } from '../host/addresses.js';
import { foreignSchema } from '../json-schema/compile-json-schema.js';
import { matchesPattern } from '../safety/name-pattern.js';
import { strictest } from '../tool/infer-metadata.js';
import { defineTool, type ToolDefinition } from '../tool/tool-definition.js';
import type { ToolContext, ToolOptions } from '../tool/tool-options.js';
import type { JsonSchema } from '../tool/tool-schema.js';
import type { ToolResult } from '../tool/outcome.js';
import { readAnswer } from './answer.js';
import { authorizationFor, schemesOf, type Authorize, type Credentials } from './credentials.js';
import { operationsOf, type Operation } from './operations.js';
import { listOf, partAt, readDocument, type ApiDocument, type Part } from './read-document.js';
import { isInside, requestFor, type ApiRequest } from './request.js';

/**
 * The `defineTool` options for one operation's tool. They override everything else. `false`
 * excludes the operation.
 */
export type OpenApiToolOptions =
  | false
  | Partial<Omit<ToolOptions<JsonSchema>, 'inputSchema' | 'outputSchema' | 'providers' | 'manual'>>;

/** The options of `toolsFromOpenApi`. */
export interface OpenApiOptions {
  /** The base URL. Calls can't go anywhere else. @default the document's first server */
  readonly baseUrl?: string | URL;
  /** Credentials, by security scheme. Models never see them. @default none */
  readonly auth?: Credentials;
  /**
   * The operations to load: tool names, `GET /pets`, or `#tag`. In each, `*` matches any
   * characters.
   * @default all
   */
  readonly include?: readonly string[];
  /** The operations to exclude, in the same format as `include`. @default none */
  readonly exclude?: readonly string[];
  /** Options for individual tools, by tool name. @default none */
  readonly tools?: Readonly<Record<string, OpenApiToolOptions>>;
  /**
   * Allows `x-tooldex` in the document to set any option. By default, `x-tooldex` can only make a
   * tool stricter.
   * @default false
   */
  readonly trusted?: boolean;
  /**
   * The function that sends requests. For example, it can use a proxy.
   * @default the global `fetch`
   */
  readonly fetch?: typeof fetch;
}

/** Information for operators about an operation. */
export interface OpenApiFinding {
  /**
   * - refused: there is no tool for the operation
   * - changed: the tool lacks something that the document describes for the operation
   * - credentials: the operation needs credentials that `auth` doesn't contain
   */
  readonly kind: 'refused' | 'changed' | 'credentials';
  /** The method and path, such as `GET /pets/{id}`. */
  readonly operation: string;
  /** The name of the operation's tool. */
  readonly tool: string;
  readonly message: string;
}

/** The tools for a document's operations. Register them with `registry.registerAll(api.tools)`. */
export interface OpenApiTools {
  readonly tools: readonly ToolDefinition[];
  readonly findings: readonly OpenApiFinding[];
  /** The base URL. Calls can't go anywhere else. */
  readonly baseUrl: string;
}

const schema = once(() =>
  z.strictObject({
    baseUrl: z.union([text(), z.instanceof(URL)]).optional(),
    auth: z
      .custom<Credentials>(isPlainObject, 'an object of credentials by security scheme')
      .optional(),
    include: z.array(text()).readonly().optional(),
    exclude: z.array(text()).readonly().default([]),
    tools: z
      .record(
        z.string(),
        z.custom<OpenApiToolOptions>(
          (value) => value === false || isPlainObject(value),
          'options of a tool, or false',
        ),
      )
      .default({}),
    trusted: z.boolean().default(false),
    fetch: aFunction<typeof fetch>().optional(),
  } satisfies FieldsOf<OpenApiOptions>),
);

/**
 * Returns one tool for each operation in an API description (Swagger 2, OpenAPI 3.0 or 3.1, as JSON
 * or YAML).
 *
 * - A tool is named after the operation's `operationId`, or after its method and path. Its
 *   arguments are the parameters by name, and `body` for the request body.
 * - Tools for GET, HEAD, and OPTIONS are readonly. POST, PUT, and PATCH write. DELETE writes and is
 *   dangerous.
 * - Results are labelled `untrusted`, because someone else may have written them.
 * - Calls can't leave `baseUrl`: arguments and redirects that lead elsewhere are refused.
 * - Every operation has a tool, or a finding that explains why it has none. References to other
 *   documents are never fetched.
 *
 * ```ts
 * const { tools, findings } = await toolsFromOpenApi('petstore.json', { auth: { apiKey: process.env.PETSTORE_KEY! } });
 * registry.registerAll(tools);
 * ```
 *
 * @param source The parsed document, its http(s) URL, or its file path.
 * @throws ToolError `INVALID_ARGUMENT` if the document can't be read or has no usable server, or if
 * an option is invalid.
 */
export async function toolsFromOpenApi(
  source: string | URL | object,
  options: OpenApiOptions = {},
): Promise<OpenApiTools> {
  const settings = checkOptions(schema, options, 'options of toolsFromOpenApi');
  const send = settings.fetch ?? fetch;
  const document = await readDocument(source, send);
  const baseUrl = baseUrlOf(document, settings.baseUrl);
  const schemes = schemesOf(document.root);
  const operations = operationsOf(document.root).filter((each) => isWanted(each, settings));
  assertKnown(Object.keys(settings.tools), operations);
  const tools: ToolDefinition[] = [];
  const findings: OpenApiFinding[] = [];
  for (const operation of operations) {
    const own = settings.tools[operation.name] ?? {};
    if (own === false) continue;
    const report = (kind: OpenApiFinding['kind'], message: string) =>
      void findings.push(
        Object.freeze({
          kind,
          operation: `${operation.method} ${operation.path}`,
          tool: operation.name,
          message,
        }),
      );
    if (operation.refused !== undefined) {
      report('refused', operation.refused);
      continue;
    }
    const authorize = authorizationFor(operation, schemes, settings.auth ?? {});
    try {
      const call = callOf(operation, baseUrl, authorize, send);
      tools.push(defineTool({ ...metadataOf(operation, settings.trusted), ...own, ...call }));
    } catch (error) {
      if (!isToolError(error)) throw error;
      report('refused', publicMessage(issuesOf(error)[0]?.message ?? error));
      continue;
    }
    for (const change of operation.changes) report('changed', change);
    if (authorize === undefined) report('credentials', credentialsNeeded(operation));
  }
  return Object.freeze({
    tools: Object.freeze(tools),
    findings: Object.freeze(findings),
    baseUrl: baseUrl.href,
  });
}

function isWanted(
  { name, method, path, tags }: Operation,
  {
    include,
    exclude,
  }: { readonly include?: readonly string[] | undefined; readonly exclude: readonly string[] },
): boolean {
  const spellings = [name, `${method} ${path}`, ...tags.map((tag) => `#${tag}`)];
  const has = (patterns: readonly string[]) =>
    patterns.some((pattern) => spellings.some((each) => matchesPattern(pattern, each)));
  return (include === undefined || has(include)) && !has(exclude);
}

function assertKnown(names: readonly string[], operations: readonly Operation[]): void {
  const known = new Set(operations.map(({ name }) => name));
  for (const name of names)
    if (!known.has(name))
      throw wrongArgument(
        'options.tools with names of operations',
        JSON.stringify(name),
        'Use the names of the tools that are loaded.',
      );
}

/**
 * Returns the base URL. A document from another machine can't refer to a server on this machine.
 */
function baseUrlOf({ root, url: home }: ApiDocument, given: string | URL | undefined): URL {
  const named = addressOf(root) ?? (home === undefined ? '' : '/');
  const address = String(given ?? named);
  if (!URL.canParse(address, home?.href))
    throw wrongArgument(
      'a base URL',
      address === '' ? 'a document without servers' : JSON.stringify(address),
      'Set options.baseUrl, such as "https://api.example.com/v1".',
    );
  const baseUrl = new URL(address, home);
  const isLocal = isLoopback(baseUrl.hostname.replace(/^\[|\]$/g, ''));
  const isForeign = given === undefined && home !== undefined && home.origin !== baseUrl.origin;
  if (!/^https?:$/.test(baseUrl.protocol) || (isForeign && isLocal))
    throw wrongArgument(
      'an http or https address of the API',
      JSON.stringify(baseUrl.href),
      'Set options.baseUrl if you mean this address.',
    );
  baseUrl.search = baseUrl.hash = '';
  return baseUrl;
}

/** Returns the URL of the document's first server, with the default values of its variables. */
function addressOf(root: Part): string | undefined {
  const { url, variables } = partAt(root, listOf(root['servers'])[0]);
  if (typeof url !== 'string') return undefined;
  const values = partAt(root, variables);
  return url.replace(/\{([^{}]+)\}/g, (_, name: string) =>
    String(partAt(root, values[name])['default']),
  );
}

function wrongArgument(expected: string, got: string, advice: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', expectedGot(expected, got, advice));
}

type Metadata = ToolOptions<JsonSchema>;
type Arguments = Readonly<Record<string, unknown>>;

/** Derives a tool's metadata from the operation's method, and from `x-tooldex` in the document. */
function metadataOf(operation: Operation, trusted: boolean): Metadata {
  const { method, tags, extension } = operation;
  const isReading = method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
  const derived: Metadata = {
    name: operation.name,
    description: operation.description,
    inputSchema: foreignSchema(operation.inputSchema),
    accessMode: isReading ? AccessMode.READONLY : AccessMode.WRITE,
    ...(isReading && { executionCategory: ExecutionCategory.NETWORK }),
    ...(method === 'DELETE' && { dangerLevel: DangerLevel.HIGH }),
    ...(operation.isDeprecated && { priority: Priority.LOW }),
    ...(tags[0] !== undefined && { category: tags[0].slice(0, 200) }),
    sideEffects: isReading
      ? [SideEffect.NETWORK, SideEffect.READ_EXTERNAL_SERVICE]
      : [SideEffect.NETWORK, SideEffect.WRITE],
    reads: ['untrusted'],
    metadata: { openapi: { method, path: operation.path } },
  };
  return trusted
    ? { ...derived, ...(extension as Partial<Metadata>) }
    : { ...derived, ...tightened(derived, extension) };
}

/**
 * Returns only the options that make a tool stricter. It keeps invalid enum values, because
 * `defineTool` reports them.
 */
function tightened(derived: Metadata, said: Partial<Metadata>): Partial<Metadata> {
  const accessMode =
    said.accessMode === undefined
      ? derived.accessMode!
      : strictest(said.accessMode, derived.accessMode);
  const { executionCategory: _, ...axes } = derived;
  const isStricter = accessMode !== derived.accessMode;
  const raised =
    said.dangerLevel !== undefined &&
    dangerRank(said.dangerLevel) > dangerRank(derived.dangerLevel ?? DangerLevel.LOW);
  return {
    ...(isStricter && { ...axes, accessMode, executionCategory: ExecutionCategory.MIXED }),
    ...(raised && { dangerLevel: said.dangerLevel }),
    ...(said.requiresConsent === true && { requiresConsent: true }),
    ...(said.allowParallel === false && { allowParallel: false }),
  };
}

const MOST_REDIRECTS = 5;

/** Returns the `execute` and `preview` functions of an operation's tool. */
function callOf(
  operation: Operation,
  baseUrl: URL,
  authorize: Authorize | undefined,
  send: typeof fetch,
): Pick<Required<Metadata>, 'preview'> & {
  readonly execute: (input: Arguments, context: ToolContext) => Promise<ToolResult>;
} {
  const isReadonly = operation.method === 'GET' || operation.method === 'HEAD';
  return {
    preview: (input: Arguments) => {
      const { method, url } = requestFor(operation, baseUrl, input);
      return { summary: `${method} ${url.href}`, recipients: [url.host] };
    },
    execute: async (input: Arguments, context) => {
      const request = requestFor(operation, baseUrl, input);
      await authorize?.(request, context);
      const response = await follow(request, baseUrl, (url) =>
        send(url, {
          method: request.method,
          headers: request.headers,
          redirect: 'manual',
          ...(request.body !== undefined && { body: request.body }),
          ...(context.signal && { signal: context.signal }),
        }),
      );
      return readAnswer(response, { isReadonly, needsCredentials: authorize === undefined });
    },
  };
}

/** Sends a request. For readonly calls, follows redirects that stay below the base URL. */
async function follow(
  { method, url }: ApiRequest,
  baseUrl: URL,
  send: (url: URL) => Promise<Response>,
): Promise<Response> {
  let response = await sent(url, send);
  for (let hops = 0; hops < MOST_REDIRECTS && (method === 'GET' || method === 'HEAD'); hops += 1) {
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) break;
    if (!URL.canParse(location, url.href)) break;
    const next = new URL(location, url);
    if (!isInside(next, baseUrl)) break;
    await response.body?.cancel();
    response = await sent(next, send);
  }
  return response;
}

async function sent(url: URL, send: (url: URL) => Promise<Response>): Promise<Response> {
  try {
    return await send(url);
  } catch (cause) {
    if (cause instanceof DOMException || isToolError(cause)) throw cause;
    const code = (cause as { readonly cause?: { readonly code?: unknown } }).cause?.code;
    throw new ToolError(
      'PROVIDER_UNAVAILABLE',
      `Couldn't reach ${url.host}${typeof code === 'string' ? ` (${code})` : ''}. Try again later.`,
      { cause },
    );
  }
}

function credentialsNeeded({ security }: Operation): string {
  const names = [...new Set(security.flatMap(Object.keys))].join('" or "');
  return `Calls are sent without credentials. Set auth for "${names}".`;
}
