import type { RequestStateCodec, Server, ServerContext } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { isPlainObject } from '../../core/plain-data.js';
import { errorResult } from './call-result.js';
import { offersOf, type OfferParts } from './offers.js';
import { contextOf } from './request-context.js';
import { CALL_TOOL, FIND_TOOLS } from './served-tools.js';
import { canShow, type AskedBefore, type By, type Reply } from './tool-calls.js';

interface ConnectionParts extends OfferParts {
  readonly codec: RequestStateCodec<AskedBefore>;
  /** Warns about calls without a conversation. */
  readonly warnAlone: () => void;
}

const INSTRUCTIONS = `More tools exist than are listed: find them with ${FIND_TOOLS}, and call them with ${CALL_TOOL}.`;

/**
 * Creates the SDK's server for one client, which serves the tools, resources and prompts.
 *
 * @param lasts True if the client sends all its requests to this server object. They share a
 * conversation, unless the program specifies another. Standalone requests have no conversation.
 */
export function createConnection(parts: ConnectionParts, lasts: boolean): Server {
  const { sdk, options, tools, calls, codec, warnAlone } = parts;
  const conversation = lasts ? { conversationId: randomUUID() } : {};
  const isSearched = tools.isSearched(typeof options.context === 'object' ? options.context : {});
  const instructions = [options.instructions, isSearched && INSTRUCTIONS].filter(Boolean);
  const offers = offersOf(parts);
  const server = new sdk.Server(
    { name: options.name, version: options.version },
    {
      capabilities: { tools: { listChanged: true }, ...offers.capabilities },
      requestState: { verify: (state, request) => codec.verify(state, request) },
      // Reports all changes of one turn of the event loop together.
      debouncedNotificationMethods: ['notifications/tools/list_changed'],
      ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    },
  );
  server.onerror = (error) => options.onError?.(error);

  const byOf = (request: ServerContext): By => {
    const envelope = request.mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
    const given = contextOf(sdk, options, request, server.getClientVersion());
    return {
      context: { ...conversation, ...given },
      canAsk: (mode) =>
        canShow(
          envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities(),
          mode,
        ),
    };
  };

  const callTool = (
    name: string,
    input: unknown,
    by: By,
    request: ServerContext,
  ): Reply | undefined => {
    const entry = tools.get(name, by.context);
    if (entry === undefined) return undefined;
    if (by.context.conversationId === undefined) warnAlone();
    return calls.call({ entry, input, ...by }, request);
  };

  server.setRequestHandler('tools/list', (_, request) => ({
    tools: tools.list(byOf(request).context),
  }));
  server.setRequestHandler('tools/call', ({ params }, request) => {
    const { name, arguments: input = {} } = params;
    const by = byOf(request);
    const shown = (unknown: string) => JSON.stringify(unknown.slice(0, 128));
    // `isSearched` counts the tools, which takes time, so it's called only for these two names.
    if ((name === FIND_TOOLS || name === CALL_TOOL) && tools.isSearched(by.context)) {
      if (name === FIND_TOOLS) return tools.find(input, by.context, request.mcpReq.signal);
      const { name: found, input: given = {} } = input;
      if (typeof found !== 'string' || !isPlainObject(given))
        return errorResult(
          'Expected { name, input }, with the name of a tool and an object with its arguments.',
        );
      return (
        callTool(found, given, by, request) ??
        errorResult(`There is no tool named ${shown(found)}. Find one with ${FIND_TOOLS}.`)
      );
    }
    const called = callTool(name, input, by, request);
    if (called !== undefined) return called;
    throw new sdk.ProtocolError(
      sdk.ProtocolErrorCode.InvalidParams,
      `This server has no tool named ${shown(name)}.`,
    );
  });
  offers.serve(server, byOf);
  return server;
}
