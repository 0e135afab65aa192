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
import { isPlainObject } from '../../core/plain-data.js';
import { publicMessage } from '../../core/public-message.js';
import { withDeadline } from '../../execution/with-deadline.js';
import type { ContentPart } from '../../tool/content.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { isMadeBy } from '../connection/offered-answers.js';
import { blockOfPart } from '../translate/content-blocks.js';
import { outcomeResult } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServedTools } from './served-tools.js';
import type { By, ServerSdk, ToolCalls } from './tool-calls.js';

/** The parts of a server that its resources and prompts need. */
export interface OfferParts {
  readonly sdk: ServerSdk;
  readonly options: CheckedServerOptions;
  readonly tools: ServedTools;
  readonly calls: ToolCalls;
}

type Item = Readonly<Record<string, unknown>>;
/** A request with its caller. */
interface Asked extends By {
  readonly request: ServerContext;
}
type Answer<R> = Promise<R | InputRequiredResult>;

/** Timeout in milliseconds for a list whose tool has none of its own. */
const LIST_TIMEOUT_MS = 30_000;
/** Maximum number of completion values in one response, set by the protocol. */
const MOST_VALUES = 100;

/**
 * Serves resources and prompts: the program's own, and those of servers behind it whose settings
 * enable them.
 *
 * Lists never ask for approval. They omit a server if its list tool isn't served to the caller or
 * the policy denies it. A read is a call of the server's `read_resource` or `get_prompt`, like any
 * other call.
 */
export class Offers {
  readonly #parts: OfferParts;

  constructor(parts: OfferParts) {
    this.#parts = parts;
  }

  /** The capabilities that a new connection declares. */
  get capabilities(): { readonly resources?: object; readonly prompts?: object } {
    const { options, tools } = this.#parts;
    const { resources, prompts } = options;
    const completes = [
      ...resources.flatMap(({ complete = {} }) => Object.values(complete)),
      ...prompts.flatMap((prompt) =>
        Object.values(prompt.arguments ?? {}).map((each) => each.complete),
      ),
    ];
    return {
      ...((resources.length > 0 || tools.offering('list_resources').length > 0) && {
        resources: {},
      }),
      ...((prompts.length > 0 || tools.offering('list_prompts').length > 0) && { prompts: {} }),
      ...(completes.some((complete) => complete !== undefined) && { completions: {} }),
    };
  }

  serve(server: Server, byOf: (request: ServerContext) => By): void {
    const { resources, prompts, completions } = server.getCapabilities();
    const asked = (request: ServerContext): Asked => ({ ...byOf(request), request });
    if (resources !== undefined) {
      server.setRequestHandler('resources/list', async (_, request) => ({
        resources: await this.#resources(asked(request)),
      }));
      server.setRequestHandler('resources/templates/list', async (_, request) => ({
        resourceTemplates: await this.#templates(asked(request)),
      }));
      server.setRequestHandler('resources/read', ({ params }, request) =>
        this.#read(params.uri, asked(request)),
      );
    }
    if (prompts !== undefined) {
      server.setRequestHandler('prompts/list', async (_, request) => ({
        prompts: await this.#prompts(asked(request)),
      }));
      server.setRequestHandler('prompts/get', ({ params }, request) =>
        this.#get(params.name, params.arguments ?? {}, asked(request)),
      );
    }
    if (completions !== undefined)
      server.setRequestHandler('completion/complete', ({ params }) => this.#complete(params));
  }

  async #resources(by: Asked): Promise<Resource[]> {
    const own = this.#parts.options.resources.filter(({ uri }) => !isTemplate(uri)).map(shown);
    const relayed = await this.#listed('list_resources', 'resources', by);
    // If two resources have the same URI, only the first can be read.
    const byUri = new Map<string, Resource>();
    for (const each of [...own, ...relayed.map(({ item }) => item as Resource)])
      if (!byUri.has(each.uri)) byUri.set(each.uri, each);
    return [...byUri.values()];
  }

  async #templates(by: Asked): Promise<ResourceTemplateType[]> {
    const own = this.#parts.options.resources
      .filter(({ uri }) => isTemplate(uri))
      .map((resource) => {
        const { uri: uriTemplate, ...rest } = shown(resource);
        return { ...rest, uriTemplate };
      });
    const relayed = await this.#listed('list_resources', 'resourceTemplates', by);
    return [...own, ...relayed.map(({ item }) => item as ResourceTemplateType)];
  }

  async #prompts(by: Asked): Promise<Prompt[]> {
    const own = this.#parts.options.prompts.map(
      ({ get: _, arguments: fields = {}, ...prompt }) => ({
        ...prompt,
        arguments: Object.entries(fields).map(([name, { complete: __, ...rest }]) => ({
          name,
          ...rest,
        })),
      }),
    );
    const relayed = await this.#listed('list_prompts', 'prompts', by);
    return [
      ...own,
      ...relayed.map(({ item, server }) => ({
        ...(item as Prompt),
        name: relayedName(server, String(item['name'])),
      })),
    ];
  }

  async #read(uri: string, by: Asked): Answer<ReadResourceResult> {
    const own = this.#ownResource(uri);
    if (own === undefined) {
      const entry = await this.#readerOf(uri, by);
      if (entry === undefined) throw new this.#parts.sdk.ResourceNotFoundError(uri);
      return this.#relay(entry, { uri }, by, contentsOf);
    }
    const content = await this.#program(() => own.read(contextOf(by)));
    const isText = typeof content === 'string';
    const mimeType = own.mimeType ?? (isText ? 'text/plain' : 'application/octet-stream');
    return {
      contents: [{ uri, mimeType, ...(isText ? { text: content } : { blob: base64Of(content) }) }],
    };
  }

  async #get(
    name: string,
    values: Readonly<Record<string, string>>,
    by: Asked,
  ): Answer<GetPromptResult> {
    const own = this.#parts.options.prompts.find((prompt) => prompt.name === name);
    if (own === undefined) {
      const entry = this.#parts.tools
        .offering('get_prompt', by.context)
        .find((each) => name.startsWith(relayedName(serverOf(each), '')));
      if (entry === undefined)
        throw this.#invalid(
          `This server has no prompt named ${JSON.stringify(name.slice(0, 128))}.`,
        );
      const own = name.slice(relayedName(serverOf(entry), '').length);
      return this.#relay(entry, { name: own, arguments: values }, by, messagesOf);
    }
    for (const [argument, { required }] of Object.entries(own.arguments ?? {}))
      if (required === true && !Object.hasOwn(values, argument))
        throw this.#invalid(
          `The prompt ${name} needs the argument ${JSON.stringify(argument)}, which is missing.`,
        );
    const given = await this.#program(() => own.get(values, contextOf(by)));
    const messages =
      typeof given === 'string' ? [{ role: 'user' as const, content: given }] : given;
    return {
      ...(own.description !== undefined && { description: own.description }),
      messages: messages.map(({ role, content }) => ({
        role,
        content:
          typeof content === 'string' ? { type: 'text', text: content } : blockOfPart(content),
      })),
    };
  }

  async #complete({ ref, argument, context }: CompleteRequest['params']): Promise<CompleteResult> {
    const { resources, prompts } = this.#parts.options;
    const completes =
      ref.type === 'ref/resource'
        ? resources.find(({ uri }) => uri === ref.uri)?.complete
        : Object.fromEntries(
            Object.entries(prompts.find(({ name }) => name === ref.name)?.arguments ?? {}).map(
              ([name, { complete }]) => [name, complete],
            ),
          );
    const complete = new Map(Object.entries(completes ?? {})).get(argument.name);
    const values = await this.#program(
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

  /** Returns the program's resource for a URI, and a function to read it. */
  #ownResource(uri: string) {
    for (const resource of this.#parts.options.resources) {
      const variables =
        resource.uri === uri
          ? {}
          : isTemplate(resource.uri) && isMadeBy(resource.uri, uri)
            ? new this.#parts.sdk.UriTemplate(resource.uri).match(uri)
            : null;
      if (variables !== null)
        return {
          mimeType: resource.mimeType,
          read: (by: ReturnType<typeof contextOf>) => resource.read(uri, variables, by),
        };
    }
    return undefined;
  }

  /**
   * Returns the tool that reads a URI: that of the first server that lists it, or of the first with
   * a matching template.
   */
  async #readerOf(uri: string, by: Asked): Promise<ToolEntry | undefined> {
    const readers = this.#parts.tools.offering('read_resource', by.context);
    if (readers.length < 2) return readers[0]; // The tool itself checks if the server has the URI.
    const listed = await this.#listed('list_resources', 'resources', by);
    const templates = await this.#listed('list_resources', 'resourceTemplates', by);
    const found =
      listed.find(({ item }) => item['uri'] === uri) ??
      templates.find(({ item }) => isMadeBy(String(item['uriTemplate']), uri));
    return readers.find((entry) => found !== undefined && serverOf(entry) === found.server);
  }

  /**
   * Returns a combined list from all servers behind this one that may be asked now. A server that
   * fails is omitted.
   */
  async #listed(
    tool: 'list_resources' | 'list_prompts',
    field: string,
    { context, request }: Asked,
  ): Promise<readonly { readonly server: string; readonly item: Item }[]> {
    const { options, tools, calls } = this.#parts;
    const lists = tools.offering(tool, context).map(async (entry) => {
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
      const server = serverOf(entry);
      const result = (listing.kind === 'returned' ? listing.value : {}) as { value?: unknown };
      const items = isPlainObject(result.value) ? result.value[field] : undefined;
      if (Array.isArray(items))
        return (items as unknown[]).filter(isPlainObject).map((item) => ({ server, item }));
      const message = `Could not list the resources or prompts of ${server || 'a server'}, so they are missing.`;
      options.onError?.(new Error(message, { cause: listing }));
      return [];
    });
    return (await Promise.all(lists)).flat();
  }

  /**
   * Answers by calling a tool of a server behind this one.
   * @throws ProtocolError with the text of a failed call.
   */
  async #relay<R extends object>(
    entry: ToolEntry,
    input: unknown,
    { request, ...by }: Asked,
    read: (value: unknown, parts: readonly ContentPart[]) => R,
  ): Answer<R> {
    let answer: R | undefined;
    const result = await this.#parts.calls.call(
      {
        ...{ entry, input, ...by },
        resultOf: (outcome) => {
          if (outcome.status === 'ok') answer = read(outcome.value, outcome.content ?? []);
          return outcomeResult(entry, outcome);
        },
      },
      request,
    );
    if (answer !== undefined) return answer;
    if (!('content' in result)) return result;
    throw this.#invalid(
      (result as CallToolResult).content
        .map((block) => (block.type === 'text' ? block.text : ''))
        .join('\n'),
    );
  }

  /** Runs one of the program's functions. Clients see no paths or secrets from its errors. */
  async #program<T>(work: () => T | Promise<T>): Promise<T> {
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

const contextOf = ({ context, request }: Asked) => ({ ...context, signal: request.mcpReq.signal });
const isTemplate = (uri: string) => uri.includes('{');

/**
 * Adds the server's name to the names of its prompts, because two servers may use the same name.
 */
const relayedName = (server: string, name: string) => (server === '' ? name : `${server}__${name}`);

function shown<T extends { readonly read: unknown; readonly complete?: unknown }>(resource: T) {
  const { read: _, complete: __, ...rest } = resource;
  return rest;
}

function serverOf({ providers }: ToolEntry): string {
  const server = providers[0]?.config?.['server'];
  return typeof server === 'string' ? server : '';
}

/** Puts the bytes back into resource contents. They're in the part at the same index. */
function contentsOf(value: unknown, parts: readonly ContentPart[]): ReadResourceResult {
  return {
    contents: itemsOf(value, 'contents').map((content, at) => {
      const part = parts[at];
      return typeof content['text'] === 'string'
        ? content
        : { ...content, blob: part !== undefined && 'data' in part ? (part.data ?? '') : '' };
    }) as ReadResourceResult['contents'],
  };
}

function messagesOf(value: unknown, parts: readonly ContentPart[]): GetPromptResult {
  return {
    messages: itemsOf(value, 'messages').map((message, at) => {
      const part = parts[at];
      return (message['content'] as Item)['type'] === 'text' || part === undefined
        ? message
        : { ...message, content: blockOfPart(part) };
    }) as GetPromptResult['messages'],
  };
}

function itemsOf(value: unknown, field: string): readonly Item[] {
  const items = isPlainObject(value) ? value[field] : undefined;
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}
