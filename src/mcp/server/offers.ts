import type {
  CallToolResult,
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  InputRequiredResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Server,
  ServerContext,
} from '@modelcontextprotocol/server';
import { systemClock } from '../../core/clock.js';
import { base64Of } from '../../core/crypto.js';
import { isPlainObject, type Json } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { withDeadline } from '../../execution/with-deadline.js';
import type { ToolOutcome } from '../../safety/calls.js';
import type { ContentPart } from '../../tool/content.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { isMadeBy } from '../connection/offered-answers.js';
import { blockOfPart } from '../translate/content-blocks.js';
import { outcomeResult } from './call-result.js';
import type { McpPrompt, McpResource } from './own-offers.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServedTools } from './served-tools.js';
import type { RequestedCall, ServerSdk, ToolCalls } from './tool-calls.js';

interface OfferParts {
  readonly sdk: ServerSdk;
  readonly options: CheckedServerOptions;
  readonly tools: ServedTools;
  readonly calls: ToolCalls;
}

/** Tells what a connection knows of a request. */
type AboutRequest = (request: ServerContext) => Omit<RequestedCall, 'entry' | 'input'>;

/** The time for a list, of a tool that says none. */
const LIST_TIMEOUT_MS = 30_000;
/** Values of one answer to a request for completion, as the protocol has it. */
const MOST_VALUES = 100;

/**
 * Serves resources and prompts: those of the program, and those of the servers behind it, whose settings ask for them.
 *
 * A list asks nobody, as the list of tools doesn't: it leaves out servers whose tool for it is not served to the caller or
 * denied by the policy. A read is a call of the server's `read_resource` or `get_prompt`, with all that holds for calls.
 */
export class Offers {
  readonly #parts: OfferParts;

  constructor(parts: OfferParts) {
    this.#parts = parts;
  }

  /** The capabilities that a connection declares which is made now. */
  get capabilities(): { readonly resources?: object; readonly prompts?: object } {
    const { resources, prompts } = this.#parts.options;
    const { tools } = this.#parts;
    return {
      ...((resources.length > 0 || tools.offering('list_resources').length > 0) && {
        resources: {},
      }),
      ...((prompts.length > 0 || tools.offering('list_prompts').length > 0) && { prompts: {} }),
      ...([...resources, ...prompts].some(isCompleted) && { completions: {} }),
    };
  }

  serve(server: Server, about: AboutRequest): void {
    const capabilities = server.getCapabilities();
    if (capabilities.resources !== undefined) {
      server.setRequestHandler('resources/list', async (_, request) => ({
        resources: await this.#resources(about(request), request),
      }));
      server.setRequestHandler('resources/templates/list', async (_, request) => ({
        resourceTemplates: await this.#templates(about(request), request),
      }));
      server.setRequestHandler('resources/read', ({ params: { uri } }, request) =>
        this.#read(uri, about(request), request),
      );
    }
    if (capabilities.prompts !== undefined) {
      server.setRequestHandler('prompts/list', async (_, request) => ({
        prompts: await this.#prompts(about(request), request),
      }));
      server.setRequestHandler('prompts/get', ({ params }, request) =>
        this.#get(params.name, params.arguments ?? {}, about(request), request),
      );
    }
    if (capabilities.completions !== undefined)
      server.setRequestHandler('completion/complete', ({ params }) => this.#complete(params));
  }

  async #resources(by: About, request: ServerContext): Promise<Resource[]> {
    const own = this.#parts.options.resources.filter(({ uri }) => !isTemplate(uri)).map(shown);
    const relayed = await this.#listed('list_resources', 'resources', by, request);
    const all = [...own, ...relayed.map(({ item }) => item as Resource)];
    // Of two under one URI only the first can be read.
    return [...new Map(all.toReversed().map((each) => [each.uri, each])).values()].toReversed();
  }

  async #templates(by: About, request: ServerContext): Promise<ResourceTemplateType[]> {
    const own = this.#parts.options.resources
      .filter(({ uri }) => isTemplate(uri))
      .map((resource) => {
        const { uri: uriTemplate, ...rest } = shown(resource);
        return { ...rest, uriTemplate };
      });
    const relayed = await this.#listed('list_resources', 'resourceTemplates', by, request);
    return [...own, ...relayed.map(({ item }) => item as ResourceTemplateType)];
  }

  async #prompts(by: About, request: ServerContext): Promise<Prompt[]> {
    const own = this.#parts.options.prompts.map(
      ({ get: _, arguments: values = {}, ...prompt }) => ({
        ...prompt,
        arguments: Object.entries(values).map(([name, { complete: __, ...rest }]) => ({
          name,
          ...rest,
        })),
      }),
    );
    const relayed = await this.#listed('list_prompts', 'prompts', by, request);
    return [
      ...own,
      ...relayed.map(({ item, server }) => ({
        ...(item as Prompt),
        name: relayedName(server, textIn(item, 'name')),
      })),
    ];
  }

  async #read(
    uri: string,
    by: About,
    request: ServerContext,
  ): Promise<ReadResourceResult | InputRequiredResult> {
    const own = this.#ownResource(uri);
    if (own !== undefined) {
      const { resource, variables } = own;
      const content = await this.#readable(() =>
        resource.read(uri, variables, { ...by.context, signal: request.mcpReq.signal }),
      );
      const { mimeType } = resource;
      return {
        contents: [
          typeof content === 'string'
            ? { uri, mimeType: mimeType ?? 'text/plain', text: content }
            : { uri, mimeType: mimeType ?? 'application/octet-stream', blob: base64Of(content) },
        ],
      };
    }
    const entry = await this.#readerOf(uri, by, request);
    if (entry === undefined) throw new this.#parts.sdk.ResourceNotFoundError(uri);
    return this.#relay(entry, { uri }, by, request, contentsOf);
  }

  async #get(
    name: string,
    values: Readonly<Record<string, string>>,
    by: About,
    request: ServerContext,
  ): Promise<GetPromptResult | InputRequiredResult> {
    const own = this.#parts.options.prompts.find((prompt) => prompt.name === name);
    if (own !== undefined) {
      const missing = Object.entries(own.arguments ?? {}).find(
        ([argument, { required }]) => required === true && !Object.hasOwn(values, argument),
      );
      if (missing !== undefined)
        throw this.#invalid(
          `Expected the argument ${JSON.stringify(missing[0])} of the prompt ${name}, got none.`,
        );
      const messages = await this.#readable(() =>
        own.get(values, { ...by.context, signal: request.mcpReq.signal }),
      );
      return {
        ...(own.description !== undefined && { description: own.description }),
        messages: (typeof messages === 'string'
          ? [{ role: 'user' as const, content: messages }]
          : messages
        ).map(({ role, content }) => ({
          role,
          content:
            typeof content === 'string' ? { type: 'text', text: content } : blockOfPart(content),
        })),
      };
    }
    for (const entry of this.#parts.tools.offering('get_prompt', by.context)) {
      const prefix = relayedName(serverOf(entry), '');
      if (!name.startsWith(prefix)) continue;
      const input = { name: name.slice(prefix.length), arguments: values };
      return this.#relay(entry, input, by, request, messagesOf);
    }
    throw this.#invalid(
      `Expected the name of a prompt of this server, got ${JSON.stringify(name.slice(0, 128))}.`,
    );
  }

  async #complete({ ref, argument, context }: CompleteRequest['params']): Promise<CompleteResult> {
    const { resources, prompts } = this.#parts.options;
    const complete =
      ref.type === 'ref/prompt'
        ? fieldOf(prompts.find(({ name }) => name === ref.name)?.arguments, argument.name)?.complete
        : fieldOf(resources.find(({ uri }) => uri === ref.uri)?.complete, argument.name);
    const values = await this.#readable(
      () => complete?.(argument.value, context?.arguments ?? {}) ?? [],
    );
    return {
      completion: {
        values: values.slice(0, MOST_VALUES),
        total: values.length,
        hasMore: values.length > MOST_VALUES,
      },
    };
  }

  #ownResource(uri: string) {
    const { resources } = this.#parts.options;
    const named = resources.find((resource) => resource.uri === uri);
    if (named !== undefined) return { resource: named, variables: {} };
    for (const resource of resources) {
      if (!isTemplate(resource.uri) || !isMadeBy(resource.uri, uri)) continue;
      const variables = new this.#parts.sdk.UriTemplate(resource.uri).match(uri);
      if (variables !== null) return { resource, variables };
    }
    return undefined;
  }

  /** Returns the tool that reads a URI: of the first server that lists it, or else of the first with a template that makes it. */
  async #readerOf(uri: string, by: About, request: ServerContext): Promise<ToolEntry | undefined> {
    const readers = this.#parts.tools.offering('read_resource', by.context);
    if (readers.length < 2) return readers[0]; // It looks for itself whether the server has it.
    const listed = await this.#listed('list_resources', 'resources', by, request);
    const templates = await this.#listed('list_resources', 'resourceTemplates', by, request);
    const server = (
      listed.find(({ item }) => item['uri'] === uri) ??
      templates.find(({ item }) => isMadeBy(textIn(item, 'uriTemplate'), uri))
    )?.server;
    return readers.find((entry) => serverOf(entry) === server);
  }

  /** Returns a list of all servers behind this one that may be asked for it now; a server that fails is left out. */
  async #listed(
    tool: 'list_resources' | 'list_prompts',
    field: string,
    { context }: About,
    request: ServerContext,
  ): Promise<
    readonly { readonly server: string; readonly item: Readonly<Record<string, Json>> }[]
  > {
    const { options, tools, calls } = this.#parts;
    const lists = await Promise.all(
      tools.offering(tool, context).map(async (entry) => {
        const { verdict } = await calls.executor.decide({ name: entry.name, input: {} }, context);
        if (verdict === 'deny') return [];
        const listing = await withDeadline(
          ({ signal }) => entry.definition.execute!({}, { signal }),
          {
            clock: options.clock ?? systemClock,
            timeoutMs: entry.timeoutMs ?? LIST_TIMEOUT_MS,
            signal: request.mcpReq.signal,
          },
        );
        const result: unknown = listing.kind === 'returned' ? listing.value : undefined;
        const value = isPlainObject(result) && result['status'] === 'ok' ? result['value'] : {};
        const items = isPlainObject(value) ? value[field] : undefined;
        if (!Array.isArray(items))
          options.onError?.(
            new Error(
              `Could not list what ${serverOf(entry) || 'a server'} offers. Its part is left out.`,
              {
                cause: listing,
              },
            ),
          );
        return (Array.isArray(items) ? (items as Json[]) : [])
          .filter(isPlainObject)
          .map((item) => ({
            server: serverOf(entry),
            item: item as Readonly<Record<string, Json>>,
          }));
      }),
    );
    return lists.flat();
  }

  /** Answers with a call of a tool of a server behind this one. @throws ProtocolError with its text, for one that fails. */
  async #relay<R extends object>(
    entry: ToolEntry,
    input: unknown,
    by: About,
    request: ServerContext,
    read: (value: unknown, parts: readonly ContentPart[]) => R,
  ): Promise<R | InputRequiredResult> {
    const resultOf = (outcome: ToolOutcome): CallToolResult =>
      outcome.status === 'ok'
        ? { content: [], structuredContent: { ...read(outcome.value, outcome.content ?? []) } }
        : outcomeResult(entry, outcome);
    const result = await this.#parts.calls.call({ entry, input, ...by, resultOf }, request);
    if (!('content' in result)) return result;
    const { isError, content, structuredContent } = result as CallToolResult;
    if (isError !== true) return structuredContent as R;
    throw this.#invalid(
      content.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
    );
  }

  async #readable<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { ProtocolError, ProtocolErrorCode } = this.#parts.sdk;
      this.#parts.options.onError?.(error);
      throw new ProtocolError(ProtocolErrorCode.InternalError, publicMessage(error));
    }
  }

  #invalid(message: string): Error {
    const { ProtocolError, ProtocolErrorCode } = this.#parts.sdk;
    return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
}

type About = ReturnType<AboutRequest>;

const isTemplate = (uri: string) => uri.includes('{');

/** Prompts of servers have the server's name before theirs, as two may have the same. */
const relayedName = (server: string, name: string) => (server === '' ? name : `${server}__${name}`);

function shown({
  read: _,
  complete: __,
  ...resource
}: McpResource): Omit<McpResource, 'read' | 'complete'> {
  return resource;
}

function isCompleted(offer: McpResource | McpPrompt): boolean {
  return 'read' in offer
    ? offer.complete !== undefined
    : Object.values(offer.arguments ?? {}).some(({ complete }) => complete !== undefined);
}

function fieldOf<T>(fields: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function serverOf({ providers }: ToolEntry): string {
  return textIn(providers[0]?.config ?? {}, 'server');
}

function textIn(object: Readonly<Record<string, unknown>>, field: string): string {
  const value = object[field];
  return typeof value === 'string' ? value : '';
}

/** Puts the bytes back, which travel in the part of the same place. */
function contentsOf(value: unknown, parts: readonly ContentPart[]): ReadResourceResult {
  return {
    contents: itemsOf(value, 'contents').map((content, at) =>
      typeof content['text'] === 'string' ? content : { ...content, blob: dataOf(parts[at]) },
    ) as ReadResourceResult['contents'],
  };
}

function messagesOf(value: unknown, parts: readonly ContentPart[]): GetPromptResult {
  return {
    messages: itemsOf(value, 'messages').map((message, at) => {
      const content = message['content'] as Readonly<Record<string, unknown>>;
      const part = parts[at];
      return content['type'] === 'text' || part === undefined
        ? message
        : { ...message, content: blockOfPart(part) };
    }) as GetPromptResult['messages'],
  };
}

function itemsOf(value: unknown, field: string): readonly Readonly<Record<string, unknown>>[] {
  const items = isPlainObject(value) ? value[field] : undefined;
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}

function dataOf(part: ContentPart | undefined): string {
  return part !== undefined && 'data' in part ? (part.data ?? '') : '';
}
