import type {
  CallToolRequest,
  RequestStateCodec,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { isPlainObject } from '../../core/plain-data.js';
import { errorResult } from './call-result.js';
import type { Relays } from './relays.js';
import { contextOf } from './request-context.js';
import { CALL_TOOL, FIND_TOOLS, type ServedTools } from './served-tools.js';
import type { CheckedServerOptions } from './server-options.js';
import {
  canShow,
  type AskedBefore,
  type By,
  type Reply,
  type ServerSdk,
  type ToolCalls,
} from './tool-calls.js';

interface ConnectionParts {
  readonly sdk: ServerSdk;
  readonly options: CheckedServerOptions;
  readonly tools: ServedTools;
  readonly calls: ToolCalls;
  readonly relays: Relays;
  readonly codec: RequestStateCodec<AskedBefore>;
  /** Warns about calls without a conversation. */
  readonly warnAlone: () => void;
}

const INSTRUCTIONS = `More tools exist than are listed: find them with ${FIND_TOOLS}, and call them with ${CALL_TOOL}.`;

/** Serves the tools, resources and prompts to one client. */
export class Connection {
  readonly server: Server;
  readonly #conversation: { readonly conversationId?: string };

  /**
   * @param lasts True if the client sends all its requests to this object. They share a
   * conversation, unless the program specifies another. Standalone requests have no conversation.
   */
  constructor(
    readonly parts: ConnectionParts,
    readonly lasts: boolean,
  ) {
    this.#conversation = lasts ? { conversationId: randomUUID() } : {};
    this.server = this.#createServer();
    const { server } = this;
    server.onerror = (error) => parts.options.onError?.(error);
    server.setRequestHandler('tools/list', (_, request) => ({
      tools: parts.tools.list(this.#by(request).context),
    }));
    server.setRequestHandler('tools/call', ({ params }, request) => this.#call(params, request));
    parts.relays.serve(server, (request) => this.#by(request));
  }

  #createServer(): Server {
    const { sdk, options, tools, relays, codec } = this.parts;
    const { name, version, context } = options;
    const isSearched = tools.isSearched(typeof context === 'object' ? context : {});
    const instructions = [
      options.instructions,
      isSearched && INSTRUCTIONS,
      ...relays.instructions,
    ].filter(Boolean);
    return new sdk.Server(
      { name, version },
      {
        capabilities: { tools: { listChanged: true }, ...relays.capabilities },
        requestState: { verify: (state, request) => codec.verify(state, request) },
        // Reports all changes of one turn of the event loop together.
        debouncedNotificationMethods: ['tools', 'resources', 'prompts'].map(
          (list) => `notifications/${list}/list_changed`,
        ),
        ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
      },
    );
  }

  #by(request: ServerContext): By {
    const { sdk, options } = this.parts;
    const envelope = request.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
    const ofRequest = contextOf(sdk, options, request, this.server.getClientVersion());
    const context = { ...this.#conversation, ...ofRequest };
    const capabilities =
      envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? this.server.getClientCapabilities();
    return {
      context,
      client: this.lasts ? this.server : (context.principal ?? request),
      canAsk: (mode) => canShow(capabilities, mode),
    };
  }

  async #call(
    { name, arguments: input = {} }: CallToolRequest['params'],
    request: ServerContext,
  ): Reply {
    const { sdk, tools } = this.parts;
    const by = this.#by(request);
    // `isSearched` counts the tools, which takes time, so it's called only for these two names.
    if ((name === FIND_TOOLS || name === CALL_TOOL) && tools.isSearched(by.context))
      return name === FIND_TOOLS
        ? tools.find(input, by.context, request.mcpReq.signal)
        : this.#callFound(input, by, request);
    const called = this.#callTool(name, input, by, request);
    if (called !== undefined) return called;
    throw new sdk.ProtocolError(
      sdk.ProtocolErrorCode.InvalidParams,
      `This server has no tool named ${shown(name)}.`,
    );
  }

  /** Answers a call of `call_tool`. */
  async #callFound(
    { name, input = {} }: Readonly<Record<string, unknown>>,
    by: By,
    request: ServerContext,
  ): Reply {
    if (typeof name !== 'string' || !isPlainObject(input))
      return errorResult(
        'Expected { name, input }, with the name of a tool and an object with its arguments.',
      );
    return (
      this.#callTool(name, input, by, request) ??
      errorResult(`There is no tool named ${shown(name)}. Find one with ${FIND_TOOLS}.`)
    );
  }

  #callTool(name: string, input: unknown, by: By, request: ServerContext): Reply | undefined {
    const { tools, calls, warnAlone } = this.parts;
    const entry = tools.get(name, by.context);
    if (entry === undefined) return undefined;
    if (by.context.conversationId === undefined) warnAlone();
    return calls.call({ entry, input, ...by }, request);
  }
}

const shown = (unknown: string) => JSON.stringify(unknown.slice(0, 128));
