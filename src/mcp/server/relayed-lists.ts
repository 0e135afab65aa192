import type {
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  ReadResourceResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { systemClock } from '../../core/clock.js';
import { withDeadline } from '../../execution/with-deadline.js';
import type { ContentPart } from '../../tool/content.js';
import type { ToolResult } from '../../tool/outcome.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { blockOfPart } from '../translate/content-blocks.js';
import { itemsIn } from '../translate/foreign-text.js';
import { ResourceOwners, urisIn } from '../translate/resource-owners.js';
import { outcomeResult } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';
import { serverOf, type ServedTools } from './served-tools.js';
import type { By, ServerSdk, ToolCalls } from './tool-calls.js';

export type Item = Readonly<Record<string, unknown>>;
/** A request with its caller. */
export interface Asked extends By {
  readonly request: ServerContext;
}
type Answer<R> = Promise<R | InputRequiredResult>;

/** A resource, template or prompt at its server. */
interface Owned {
  /** The tool that reads or gets it. */
  readonly entry: ToolEntry;
  /** The URI or name at the server. */
  readonly own: string;
}

/** A list of a server behind this one, and the tool that returned it. */
interface Listed {
  readonly server: string;
  readonly entry: ToolEntry;
  readonly value: unknown;
}

/** Timeout in milliseconds for a list if its tool has no timeout. */
const LIST_TIMEOUT_MS = 30_000;

/**
 * The resources and prompts of the servers behind this one. Prompts are named like tools.
 *
 * Lists never ask for approval. They omit a server if its list tool isn't served to the caller or
 * the policy denies it. A read runs the server's tool `read_resource` or `get_prompt` like any
 * other call.
 */
export class RelayedLists {
  constructor(
    readonly sdk: ServerSdk,
    readonly options: CheckedServerOptions,
    readonly tools: ServedTools,
    readonly calls: ToolCalls,
  ) {}

  /** Returns true if anyone may get such a list. */
  has(offer: 'resources' | 'prompts'): boolean {
    return this.tools.offering(`list_${offer}`).length > 0;
  }

  async resources(by: Asked): Promise<readonly Item[]> {
    const { listed, owners } = await this.#resources(by);
    return listed.flatMap(({ server, value }) =>
      itemsIn(value, 'resources').map((item) => ({
        ...item,
        uri: owners.servedUri(server, String(item['uri'])),
      })),
    );
  }

  async templates(by: Asked): Promise<readonly Item[]> {
    const { listed, owners } = await this.#resources(by);
    return listed.flatMap(({ server, value }) =>
      itemsIn(value, 'resourceTemplates').filter(
        (item) => listed.length === 1 || owners.counts(server, String(item['uriTemplate'])),
      ),
    );
  }

  async prompts(by: Asked): Promise<readonly Item[]> {
    const listed = await this.#lists('list_prompts', by);
    return listed.flatMap(({ entry, value }) =>
      itemsIn(value, 'prompts').map((item) => ({
        ...item,
        name: this.#prefixOf(entry) + String(item['name']),
      })),
    );
  }

  async read(uri: string, by: Asked): Answer<ReadResourceResult> {
    const { entry, own } = await this.resource(uri, by);
    return this.#call(entry, { uri: own }, by, (value, parts) => ({
      contents: itemsIn(value, 'contents').map((content, at) =>
        withBytes(content['uri'] === own ? { ...content, uri } : content, parts[at]),
      ) as unknown as ReadResourceResult['contents'],
    }));
  }

  async getPrompt(name: string, values: unknown, by: Asked): Answer<GetPromptResult> {
    const { entry, own } = this.prompt(name, by);
    return this.#call(entry, { name: own, arguments: values }, by, (value, parts) => ({
      messages: itemsIn(value, 'messages').map((message, at) => {
        const part = parts[at];
        return (message['content'] as Item)['type'] === 'text' || part === undefined
          ? message
          : { ...message, content: blockOfPart(part) };
      }) as GetPromptResult['messages'],
    }));
  }

  /**
   * Returns the resource or template with this URI.
   * @throws ProtocolError if it belongs to no server that the caller may use, or to several.
   */
  async resource(uri: string, by: Asked): Promise<Owned> {
    const readers = this.tools.offering('read_resource', by.context);
    // The server itself checks if it has the URI.
    if (readers.length === 1) return { entry: readers[0]!, own: uri };
    const { listed, owners } = await this.#resources(by);
    const ofTemplate = listed.find(({ value }) =>
      itemsIn(value, 'resourceTemplates').some((item) => item['uriTemplate'] === uri),
    );
    const found = ofTemplate ? { server: ofTemplate.server, uri } : owners.find(uri);
    const entry = readers.find((each) => serverOf(each) === found?.server);
    if (found !== undefined && entry !== undefined) return { entry, own: found.uri };
    const servers = owners.listing(uri);
    if (servers.length < 2) throw this.notFound(uri);
    const uris = servers.map((server) => owners.servedUri(server, uri)).join(' or ');
    throw this.#invalid(`Several servers list this resource. Read ${uris}.`);
  }

  /** Returns the prompt with this name. @throws ProtocolError if no server has it. */
  prompt(name: string, by: Asked): Owned {
    const entries = this.tools.offering('get_prompt', by.context);
    const entry = entries.find((each) => name.startsWith(this.#prefixOf(each)));
    if (entry === undefined)
      throw this.#invalid(`This server has no prompt named ${JSON.stringify(name.slice(0, 128))}.`);
    return { entry, own: name.slice(this.#prefixOf(entry).length) };
  }

  /** Returns true if the policy denies the caller a tool. */
  async isDenied(entry: ToolEntry, { context }: Asked, input: object = {}): Promise<boolean> {
    const { verdict } = await this.calls.executor.decide({ name: entry.name, input }, context);
    return verdict === 'deny';
  }

  notFound(uri: string): Error {
    return new this.sdk.ResourceNotFoundError(uri);
  }

  async #resources(by: Asked): Promise<{ listed: readonly Listed[]; owners: ResourceOwners }> {
    const listed = await this.#lists('list_resources', by);
    const owners = new ResourceOwners(listed.map(({ server, value }) => urisIn(server, value)));
    return { listed, owners };
  }

  /** Returns the lists of all servers that the caller may use. A server that fails is omitted. */
  async #lists(tool: 'list_resources' | 'list_prompts', by: Asked): Promise<readonly Listed[]> {
    const asked = this.tools
      .offering(tool, by.context)
      .map(async (entry) => ((await this.isDenied(entry, by)) ? [] : this.#list(entry, by)));
    return (await Promise.all(asked)).flat();
  }

  async #list(entry: ToolEntry, { request }: Asked): Promise<readonly Listed[]> {
    const { clock = systemClock, onError } = this.options;
    const listing = await withDeadline(({ signal }) => entry.definition.execute!({}, { signal }), {
      clock,
      timeoutMs: entry.timeoutMs ?? LIST_TIMEOUT_MS,
      signal: request.mcpReq.signal,
    });
    const server = serverOf(entry);
    const result = (listing.kind === 'returned' ? listing.value : {}) as ToolResult;
    if (result.status === 'ok') return [{ server, entry, value: result.value }];
    const message = `Could not list the resources or prompts of ${server || 'a server'}, so they are missing.`;
    onError?.(new Error(message, { cause: listing }));
    return [];
  }

  /**
   * Answers a request by calling a tool of a server.
   * @throws ProtocolError with the text of a failed call.
   */
  async #call<R extends object>(
    entry: ToolEntry,
    input: unknown,
    { request, ...by }: Asked,
    read: (value: unknown, parts: readonly ContentPart[]) => R,
  ): Answer<R> {
    let answer: R | undefined;
    const resultOf: Parameters<ToolCalls['call']>[0]['resultOf'] = (outcome) => {
      if (outcome.status === 'ok') answer = read(outcome.value, outcome.content ?? []);
      return outcomeResult(entry, outcome);
    };
    const result = await this.calls.call({ entry, input, ...by, resultOf }, request);
    if (answer !== undefined) return answer;
    if (!('content' in result)) return result;
    const texts = (result as CallToolResult).content.map((block) =>
      block.type === 'text' ? block.text : '',
    );
    throw this.#invalid(texts.join('\n'));
  }

  #prefixOf({ metadata }: ToolEntry): string {
    const { prefix = '' } = (metadata?.['mcp'] ?? {}) as { readonly prefix?: string };
    return this.options.names === 'safe' ? prefix.replaceAll('.', '__') : prefix;
  }

  #invalid(message: string): Error {
    return new this.sdk.ProtocolError(this.sdk.ProtocolErrorCode.InvalidParams, message);
  }
}

/** Puts the bytes back into a resource's content. The content part at the same index has them. */
function withBytes(content: Item, part: ContentPart | undefined): Item {
  if (typeof content['text'] === 'string') return content;
  return { ...content, blob: part !== undefined && 'data' in part ? (part.data ?? '') : '' };
}
