import type {
  AuthInfo,
  CallToolResult,
  Implementation,
  InputRequiredResult,
  ListToolsResult,
  RequestStateCodec,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { digestOf, isPlainObject, type Json } from '../../core/plain-data.js';
import { checkInput } from '../../tool/check-input.js';
import type { ToolContext } from '../../tool/tool-options.js';
import { errorResult } from './call-result.js';
import type {
  CheckedServerOptions,
  McpAuthInfo,
  McpRequestInfo,
  RequestContext,
} from './server-options.js';
import { CALL_TOOL, FIND_TOOLS, type ServedTools } from './served-tools.js';
import { Offers } from './offers.js';
import {
  canShow,
  type AskedBefore,
  type RequestedCall,
  type ServerSdk,
  type ToolCalls,
} from './tool-calls.js';

interface ConnectionParts {
  readonly sdk: ServerSdk;
  readonly options: CheckedServerOptions;
  readonly tools: ServedTools;
  readonly calls: ToolCalls;
  readonly codec: RequestStateCodec<AskedBefore>;
  /** Hears of calls that belong to no conversation. */
  readonly warnAlone: () => void;
}

/** The part of a requested call that is known before its tool is. */
type About = Pick<RequestedCall, 'context' | 'canAsk'>;
type Named = { readonly name: string };
/** The answer of `find_tools`, by own names. */
interface FoundTools {
  readonly found: readonly Named[];
  readonly tools: readonly Named[];
  readonly unknown: readonly string[];
}

const INSTRUCTIONS = `More tools exist than are listed: find them with ${FIND_TOOLS}, and call them directly once they are listed, or with ${CALL_TOOL}.`;

/** One client's view of the served tools: the official SDK's server, and what the client has found so far. */
export class Connection {
  readonly server: Server;
  readonly #parts: ConnectionParts;
  readonly #lasts: boolean;
  /** The conversation of its calls, for which the program may name another; requests that stand alone have none. */
  readonly #conversation: RequestContext;
  /** The names of found tools, the longest unused first. */
  readonly #found = new Set<string>();

  /** @param lasts true when further requests of the client come to this same connection. */
  constructor(parts: ConnectionParts, lasts: boolean) {
    const { sdk, options, tools, codec } = parts;
    this.#parts = parts;
    const offers = new Offers(parts);
    this.#lasts = lasts;
    this.#conversation = lasts ? { conversationId: randomUUID() } : {};
    const instructions = [
      options.instructions,
      tools.isSearched(staticCaller(options)) ? INSTRUCTIONS : undefined,
    ]
      .filter((each) => each !== undefined)
      .join('\n\n');
    this.server = new sdk.Server(
      { name: options.name, version: options.version },
      {
        capabilities: { tools: { listChanged: true }, ...offers.capabilities },
        requestState: { verify: (state, request) => codec.verify(state, request) },
        ...(instructions !== '' && { instructions }),
      },
    );
    this.server.onerror = (error) => options.onError?.(error);
    offers.serve(this.server, (request) => this.#aboutOf(request));
    this.server.setRequestHandler('tools/list', ({ params }, request) =>
      this.#list(params?.cursor, request),
    );
    this.server.setRequestHandler(
      'tools/call',
      ({ params: { name, arguments: input = {} } }, request) => {
        const about = this.#aboutOf(request);
        // Whether tools are found by search is counted for these two names alone: most calls are of others.
        const isOurs = (own: string) => name === own && tools.isSearched(about.context);
        return isOurs(FIND_TOOLS)
          ? this.#find(input, about, request)
          : isOurs(CALL_TOOL)
            ? this.#callFound(input, about, request)
            : this.#callTool(name, input, about, request);
      },
    );
  }

  /** Tells the client that the list of tools has changed. */
  tellChange(): void {
    this.server.sendToolListChanged().catch(() => undefined); // It has gone.
  }

  #list(cursor: string | undefined, request: ServerContext): ListToolsResult {
    const page = this.#parts.tools.page(this.#found, cursor, this.#contextOf(request));
    if (page === undefined)
      throw this.#invalid(
        'Expected a cursor that a page of this list gave, got another. List the tools from the start.',
      );
    return { ...page };
  }

  async #callTool(
    name: string,
    input: unknown,
    about: About,
    request: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    const { tools, calls } = this.#parts;
    const entry = tools.find(name, about.context);
    if (entry === undefined)
      throw this.#invalid(
        `Expected the name of a tool of this server, got ${JSON.stringify(name.slice(0, 128))}.`,
      );
    if (about.context.conversationId === undefined) this.#parts.warnAlone();
    return calls.call({ entry, input, ...about }, request);
  }

  /** Calls a found tool as if it had been listed. */
  async #callFound(
    { name, input = {} }: Readonly<Record<string, unknown>>,
    about: About,
    request: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult> {
    if (typeof name !== 'string' || !isPlainObject(input))
      return errorResult(
        `Expected { name, input }, with the name of a tool and an object of arguments; got others.`,
      );
    if (this.#parts.tools.find(name, about.context) === undefined)
      return errorResult(
        `Expected the name of a tool, got ${JSON.stringify(name.slice(0, 128))}. Find one with ${FIND_TOOLS}.`,
      );
    return this.#callTool(name, input, about, request);
  }

  /** Finds tools. It only shows what lists show, so no policy is asked. */
  async #find(input: unknown, { context }: About, request: ServerContext): Promise<CallToolResult> {
    const { tools } = this.#parts;
    const finder = tools.finderFor(context);
    const checked = await checkInput(finder, input);
    if (!checked.ok) return errorResult(checked.error.message);
    const find = finder.definition.execute as (
      input: unknown,
      context: ToolContext,
    ) => Promise<FoundTools> | FoundTools;
    const asked = checked.value as { readonly names?: readonly string[] };
    const own = {
      ...asked,
      ...(asked.names && { names: asked.names.map((name) => tools.ownName(name)) }),
    };
    const { found, tools: shown, unknown } = await find(own, { signal: request.mcpReq.signal });
    if (this.#lasts) this.#remember([...found, ...shown].map(({ name }) => name));
    const renamed = (each: readonly Named[]) =>
      each.map((tool) => ({ ...tool, name: tools.wireName(tool.name) }));
    const answer = {
      found: renamed(found),
      tools: renamed(shown),
      unknown: unknown.map((name) => tools.wireName(name)),
    };
    return {
      content: [{ type: 'text', text: JSON.stringify(answer) }],
      structuredContent: answer as unknown as Record<string, Json>,
    };
  }

  #remember(names: readonly string[]): void {
    const hasNew = names.some((name) => !this.#found.has(name));
    for (const name of names) {
      this.#found.delete(name);
      this.#found.add(name);
    }
    while (this.#found.size > this.#parts.options.maxTools)
      this.#found.delete(this.#found.values().next().value!);
    if (hasNew) this.tellChange();
  }

  #contextOf(request: ServerContext): RequestContext {
    const given = contextOf(this.#parts, request, this.server.getClientVersion());
    return { ...this.#conversation, ...given };
  }

  #aboutOf(request: ServerContext): About {
    const envelope = request.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
    const capabilities = () =>
      envelope?.[this.#parts.sdk.CLIENT_CAPABILITIES_META_KEY] ??
      this.server.getClientCapabilities();
    return {
      context: this.#contextOf(request),
      canAsk: (mode) => canShow(capabilities(), mode),
    };
  }

  #invalid(message: string): Error {
    return new this.#parts.sdk.ProtocolError(
      this.#parts.sdk.ProtocolErrorCode.InvalidParams,
      message,
    );
  }
}

/**
 * Returns the context of a request: who makes it, and what its tool gets.
 *
 * @param initialized how a 2025 client named itself when it connected; later ones do so in each request.
 */
export function contextOf(
  { sdk, options }: Pick<ConnectionParts, 'sdk' | 'options'>,
  request: ServerContext,
  initialized?: Implementation,
): RequestContext {
  const {
    http,
    sessionId,
    mcpReq: { id: requestId, envelope },
  } = request;
  const { name, version } = ((envelope as Readonly<Record<string, unknown>> | undefined)?.[
    sdk.CLIENT_INFO_META_KEY
  ] ??
    initialized ??
    {}) as Readonly<Record<string, unknown>>;
  const client =
    typeof name === 'string' && typeof version === 'string' ? { name, version } : undefined;
  return givenContext(options, http?.authInfo, {
    requestId,
    ...(sessionId !== undefined && { sessionId }),
    ...(client && { client }),
  });
}

/** Returns the context that the program gives; what `verify` said of the token is part of it, and holds unless a function of the request says otherwise. */
function givenContext(
  { context = {}, persona, verify }: CheckedServerOptions,
  given: AuthInfo | undefined,
  request: McpRequestInfo,
): RequestContext {
  const authInfo = given as McpAuthInfo | undefined;
  const usual = persona === undefined ? {} : { persona };
  const verified =
    verify === undefined || authInfo === undefined
      ? {}
      : { principal: authInfo.clientId, scopes: authInfo.scopes };
  return typeof context === 'function'
    ? { ...usual, ...verified, ...context({ ...request, ...(authInfo && { authInfo }) }) }
    : { ...usual, ...context, ...verified };
}

/** Returns what is known of the caller of every request. */
function staticCaller({ context, persona }: CheckedServerOptions): RequestContext {
  return {
    ...(persona === undefined ? {} : { persona }),
    ...(typeof context === 'object' && context),
  };
}

/**
 * Returns the key of whose request it is. Sessions, and questions that travel through clients, belong to it.
 *
 * It is the principal; where the program names none, the token stands for one.
 */
export function ownerOf(options: CheckedServerOptions, authInfo: AuthInfo | undefined): string {
  const { principal } = givenContext(options, authInfo, { requestId: '' });
  if (principal !== undefined) return `principal ${principal}`;
  return authInfo === undefined ? '' : `token ${digestOf([authInfo.clientId, authInfo.token])}`;
}
