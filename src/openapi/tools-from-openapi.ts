import { z } from 'zod';
import { AccessMode, DangerLevel, ExecutionCategory, Priority, SideEffect } from '../core/enums.js';
import { dangerRank, strictest } from '../core/enum-order.js';
import { isToolError, issuesOf, ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { aFunction, checkOptions, once, text, type FieldsOf } from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import { publicMessage } from '../core/public-message.js';
import { foreignSchema } from '../json-schema/compile-json-schema.js';
import { matchesPattern } from '../safety/name-pattern.js';
import { defineTool, type ToolDefinition } from '../tool/tool-definition.js';
import type { ToolContext, ToolOptions } from '../tool/tool-options.js';
import type { JsonSchema } from '../tool/tool-schema.js';
import type { ToolResult } from '../tool/outcome.js';
import { readResponse } from './answer.js';
import { authorizationFor, schemesOf, type Authorize, type Credentials } from './credentials.js';
import { operationsOf, type Operation, type OperationHead } from './operations.js';
import { listOf, partAt, readDocument, type ApiDocument, type Part } from './read-document.js';
import { isInside, requestFor, type ApiRequest, type Callable } from './request.js';

/**
 * The `defineTool` options for one operation's tool. They override everything else. `false`
 * excludes the operation.
 */
type OpenApiToolOptions =
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
  /**
   * The operations that only read, in the same format as `include`. Use it for APIs that send
   * everything with POST, such as `['*Get', '*List']`.
   * @default GET, HEAD and OPTIONS, unless a name, path or summary says that they write
   */
  readonly readonly?: readonly string[];
  /** The operations that write although they look as if they read. It overrides `readonly`. @default none */
  readonly write?: readonly string[];
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
   * - credentials: the operation, and others like it, needs credentials that `auth` doesn't contain
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
    readonly: z.array(text()).readonly().default([]),
    write: z.array(text()).readonly().default([]),
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
 * - Tools for GET, HEAD, and OPTIONS are readonly, unless their name, path or summary begins with a
 *   verb such as "create". POST, PUT, and PATCH write. DELETE, and writes that say they delete, are
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
  assertLoaded(Object.keys(settings.tools), operations);
  const tools: ToolDefinition[] = [];
  const findings: OpenApiFinding[] = [];
  const unauthorized = new Map<string, Operation[]>();
  for (const operation of operations) {
    const own = settings.tools[operation.name] ?? {};
    if (own === false) continue;
    const report = (kind: OpenApiFinding['kind'], message: string) =>
      void findings.push(finding(kind, operation, message));
    if ('refused' in operation) {
      report('refused', operation.refused);
      continue;
    }
    const authorize = authorizationFor(operation, schemes, settings.auth ?? {});
    try {
      const isReading = reads(operation, settings);
      const call = callOf(operation, { baseUrl, isReading, authorize, send });
      tools.push(
        defineTool({ ...metadataOf(operation, isReading, settings.trusted), ...own, ...call }),
      );
    } catch (error) {
      if (!isToolError(error)) throw error;
      report('refused', publicMessage(issuesOf(error)[0]?.message ?? error));
      continue;
    }
    for (const change of operation.changes) report('changed', change);
    if (authorize !== undefined) continue;
    const schemesNeeded = credentialsNeeded(operation);
    unauthorized.set(schemesNeeded, [...(unauthorized.get(schemesNeeded) ?? []), operation]);
  }
  for (const [needed, [first, ...others]] of unauthorized)
    findings.push(
      finding(
        'credentials',
        first!,
        `Calls of ${others.length === 0 ? 'this operation' : `${others.length + 1} operations`} are sent without credentials. Set auth for ${needed}.`,
      ),
    );
  return Object.freeze({
    tools: Object.freeze(tools),
    findings: Object.freeze(findings),
    baseUrl: baseUrl.href,
  });
}

function finding(
  kind: OpenApiFinding['kind'],
  { method, path, name }: OperationHead,
  message: string,
): OpenApiFinding {
  return Object.freeze({ kind, operation: `${method} ${path}`, tool: name, message });
}

/** Returns true if one of the patterns matches an operation's name, its call or one of its tags. */
function isIn({ name, method, path, tags }: OperationHead, patterns: readonly string[]): boolean {
  const spellings = [name, `${method} ${path}`, ...tags.map((tag) => `#${tag}`)];
  return patterns.some((pattern) => spellings.some((each) => matchesPattern(pattern, each)));
}

function isWanted(
  operation: OperationHead,
  {
    include,
    exclude,
  }: { readonly include?: readonly string[] | undefined; readonly exclude: readonly string[] },
): boolean {
  return (include === undefined || isIn(operation, include)) && !isIn(operation, exclude);
}

const DESTROYS = /^(?:delete|remove|purge|destroy|erase|wipe|drop|terminate)$/;
const WRITES =
  /^(?:create|add|insert|update|upsert|modify|edit|patch|put|rename|move|replace|attach|detach|cancel|revoke|reset|enable|disable|activate|deactivate|suspend|send|publish|approve|reject|assign|grant|invite|subscribe|unsubscribe|register|deregister|install|uninstall|restart|reboot|rotate|restore|upload|execute|associate|disassociate)$/;

/** Returns true for an operation that only reads, by its method, its words and the options. */
function reads(
  operation: Operation,
  { readonly, write }: { readonly readonly: readonly string[]; readonly write: readonly string[] },
): boolean {
  if (isIn(operation, write)) return false;
  if (isIn(operation, readonly)) return true;
  const saysWrite = operation.verbs.some((verb) => WRITES.test(verb) || DESTROYS.test(verb));
  return /^(?:GET|HEAD|OPTIONS)$/.test(operation.method) && !saysWrite;
}

function assertLoaded(names: readonly string[], operations: readonly OperationHead[]): void {
  const loaded = new Set(operations.map(({ name }) => name));
  for (const name of names)
    if (!loaded.has(name))
      throw wrongArgument(
        'options.tools with names of operations',
        JSON.stringify(name),
        'Use the names of the tools that are loaded.',
      );
}

/**
 * Returns the base URL. A fetched document can only name a server of its own origin, because its
 * author could otherwise send calls and credentials to any address, such as one in this network.
 */
function baseUrlOf({ root, url: home }: ApiDocument, configured: string | URL | undefined): URL {
  const named = addressOf(root) ?? (home === undefined ? '' : '/');
  const address = String(configured ?? named);
  if (!URL.canParse(address, home?.href))
    throw wrongArgument(
      'a base URL',
      address === '' ? 'a document without servers' : JSON.stringify(address),
      'Set options.baseUrl, such as "https://api.example.com/v1".',
    );
  const baseUrl = new URL(address, home);
  const isForeign =
    configured === undefined && home !== undefined && home.origin !== baseUrl.origin;
  if (!/^https?:$/.test(baseUrl.protocol) || isForeign)
    throw wrongArgument(
      'an http or https address of the API, at the origin of the document',
      JSON.stringify(baseUrl.href),
      'Set options.baseUrl if you mean this address.',
    );
  baseUrl.search = baseUrl.hash = '';
  return baseUrl;
}

/** Returns the URL of the document's first server, with the default values of its variables. */
function addressOf(root: Part): string | undefined {
  const { host, basePath = '', schemes } = root;
  if (typeof host === 'string')
    return `${(listOf(schemes) as readonly string[])[0] ?? 'http'}://${host}${String(basePath)}`;
  if (root['swagger'] !== undefined) return String(basePath) || undefined;
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
function metadataOf(operation: Operation, isReading: boolean, trusted: boolean): Metadata {
  const { method, tags, extension, verbs } = operation;
  const isDestroying =
    !isReading && (method === 'DELETE' || verbs.some((verb) => DESTROYS.test(verb)));
  const derived: Metadata = {
    name: operation.name,
    description: operation.description,
    inputSchema: foreignSchema(operation.inputSchema),
    accessMode: isReading ? AccessMode.READONLY : AccessMode.WRITE,
    ...(isReading && { executionCategory: ExecutionCategory.NETWORK }),
    ...(isDestroying && { dangerLevel: DangerLevel.HIGH }),
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
  { name, method, path, parameters, body }: Operation,
  {
    baseUrl,
    isReading,
    authorize,
    send,
  }: {
    readonly baseUrl: URL;
    readonly isReading: boolean;
    readonly authorize: Authorize | undefined;
    readonly send: typeof fetch;
  },
): Pick<Required<Metadata>, 'preview'> & {
  readonly execute: (input: Arguments, context: ToolContext) => Promise<ToolResult>;
} {
  // The operation itself would keep a second copy of the schema.
  const callable: Callable = { name, method, path, parameters, body };
  return {
    preview: (input: Arguments) => {
      const { url } = requestFor(callable, baseUrl, input);
      return { summary: `${method} ${url.href}`, recipients: [url.host] };
    },
    execute: async (input: Arguments, context) => {
      const request = requestFor(callable, baseUrl, input);
      const secrets = (await authorize?.(request, context)) ?? [];
      const response = await follow(request, baseUrl, (url) =>
        send(url, {
          method,
          headers: request.headers,
          redirect: 'manual',
          ...(request.body !== undefined && { body: request.body }),
          ...(context.signal && { signal: context.signal }),
        }),
      );
      return readResponse(response, {
        isReadonly: isReading,
        needsCredentials: authorize === undefined,
        secrets,
        parameters,
      });
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

/** Returns the credentials that an operation needs, in words. */
function credentialsNeeded({ security }: Operation): string {
  const sets = security.map((each) => {
    const names = Object.keys(each).map((name) => JSON.stringify(name));
    return names.length === 1 ? names[0] : `${names.join(' and ')} together`;
  });
  return [...new Set(sets)].join(', or ');
}
