import type {
  CallToolResult,
  CompleteRequest,
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
import type { ToolResult } from '../../tool/outcome.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { blockOfPart } from '../translate/content-blocks.js';
import { outcomeResult } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';
import type { ServedTools } from './served-tools.js';
import type { By, ServerSdk, ToolCalls } from './tool-calls.js';
import { isMadeBy } from './uri-template.js';

/** The parts of a server that are needed to serve its resources and prompts. */
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

/** Timeout in milliseconds for a list if its tool has no timeout. */
const LIST_TIMEOUT_MS = 30_000;
/** Maximum number of completion values in one response, set by the protocol. */
const MOST_VALUES = 100;

/**
 * Returns the capabilities for resources and prompts, and a function that serves them. They're the
 * program's own, and those of discovered servers whose settings enable them.
 *
 * Lists never ask for approval. They omit a server if its list tool isn't served to the caller or
 * the policy denies it. A read runs the server's tool `read_resource` or `get_prompt` like any
 * other call.
 */
export function offersOf({ sdk, options, tools, calls }: OfferParts): {
  readonly capabilities: { readonly resources?: object; readonly prompts?: object };
  readonly serve: (server: Server, byOf: (request: ServerContext) => By) => void;
} {
  const { resources, prompts } = options;
  const invalid = (message: string) =>
    new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message);

  /** Runs one of the program's functions, and removes paths and secrets from its errors. */
  const program = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      options.onError?.(error);
      throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, publicMessage(error));
    }
  };

  /**
   * Returns what a list tool returns for each server that the caller may use. A server that fails
   * is omitted.
   */
  const listings = async (
    tool: 'list_resources' | 'list_prompts',
    { context, request }: Asked,
  ): Promise<readonly { readonly server: string; readonly value: unknown }[]> => {
    const asked = tools.offering(tool, context).map(async (entry) => {
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
      const result = (listing.kind === 'returned' ? listing.value : {}) as ToolResult;
      if (result.status === 'ok') return [{ server, value: result.value }];
      const message = `Could not list the resources or prompts of ${server || 'a server'}, so they are missing.`;
      options.onError?.(new Error(message, { cause: listing }));
      return [];
    });
    return (await Promise.all(asked)).flat();
  };

  /** Lists resources, or the templates for their URIs. */
  const listResources = async (key: 'uri' | 'uriTemplate', by: Asked): Promise<readonly Item[]> => {
    const isTemplates = key === 'uriTemplate';
    const own = resources
      .filter(({ uri }) => isTemplate(uri) === isTemplates)
      .map(({ uri, read: _, complete: __, ...rest }) => ({ [key]: uri, ...rest }));
    const field = isTemplates ? 'resourceTemplates' : 'resources';
    const relayed = await listings('list_resources', by);
    return [...own, ...relayed.flatMap(({ value }) => itemsOf(value, field))];
  };

  const listPrompts = async (by: Asked): Promise<Prompt[]> => {
    const own = prompts.map(({ get: _, arguments: fields = {}, ...prompt }) => ({
      ...prompt,
      arguments: Object.entries(fields).map(([name, { complete: __, ...field }]) => ({
        name,
        ...field,
      })),
    }));
    const relayed = (await listings('list_prompts', by)).flatMap(({ server, value }) =>
      itemsOf(value, 'prompts').map((item) => ({
        ...(item as Prompt),
        name: relayedName(server, String(item['name'])),
      })),
    );
    return [...own, ...relayed];
  };

  /**
   * Answers a request by calling a tool of a discovered server.
   * @throws ProtocolError with the text of a failed call.
   */
  const relay = async <R extends object>(
    entry: ToolEntry,
    input: unknown,
    { request, ...by }: Asked,
    read: (value: unknown, parts: readonly ContentPart[]) => R,
  ): Answer<R> => {
    let answer: R | undefined;
    const result = await calls.call(
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
    throw invalid(
      (result as CallToolResult).content
        .map((block) => (block.type === 'text' ? block.text : ''))
        .join('\n'),
    );
  };

  /**
   * Returns the tool that reads a URI. It's the tool of the first server that lists the URI, or
   * that lists a template with the same beginning.
   */
  const readerOf = async (uri: string, by: Asked): Promise<ToolEntry | undefined> => {
    const readers = tools.offering('read_resource', by.context);
    if (readers.length < 2) return readers[0]; // The tool itself checks if the server has the URI.
    const all = await listings('list_resources', by);
    const having = (field: string, has: (item: Item) => boolean) =>
      all.find(({ value }) => itemsOf(value, field).some(has));
    const found =
      having('resources', (item) => item['uri'] === uri) ??
      having('resourceTemplates', (item) =>
        uri.startsWith(String(item['uriTemplate']).split('{')[0]!),
      );
    return readers.find((entry) => found !== undefined && serverOf(entry) === found.server);
  };

  const read = async (uri: string, by: Asked): Answer<ReadResourceResult> => {
    for (const own of resources) {
      const variables =
        own.uri === uri
          ? {}
          : isTemplate(own.uri) && isMadeBy(own.uri, uri)
            ? new sdk.UriTemplate(own.uri).match(uri)
            : null;
      if (variables === null) continue;
      const content = await program(() => own.read(uri, variables, contextOf(by)));
      const isText = typeof content === 'string';
      const mimeType = own.mimeType ?? (isText ? 'text/plain' : 'application/octet-stream');
      const data = isText ? { text: content } : { blob: base64Of(content) };
      return { contents: [{ uri, mimeType, ...data }] };
    }
    const entry = await readerOf(uri, by);
    if (entry === undefined) throw new sdk.ResourceNotFoundError(uri);
    return relay(entry, { uri }, by, contentsOf);
  };

  const get = async (
    name: string,
    values: Readonly<Record<string, string>>,
    by: Asked,
  ): Answer<GetPromptResult> => {
    const own = prompts.find((prompt) => prompt.name === name);
    if (own === undefined) {
      const prefixOf = (entry: ToolEntry) => relayedName(serverOf(entry), '');
      const entry = tools
        .offering('get_prompt', by.context)
        .find((each) => name.startsWith(prefixOf(each)));
      if (entry === undefined)
        throw invalid(`This server has no prompt named ${JSON.stringify(name.slice(0, 128))}.`);
      const input = { name: name.slice(prefixOf(entry).length), arguments: values };
      return relay(entry, input, by, messagesOf);
    }
    for (const [argument, { required }] of Object.entries(own.arguments ?? {}))
      if (required === true && !Object.hasOwn(values, argument))
        throw invalid(
          `The prompt ${name} needs the argument ${JSON.stringify(argument)}, which is missing.`,
        );
    const given = await program(() => own.get(values, contextOf(by)));
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
  };

  const keyOf = (...place: readonly string[]) => JSON.stringify(place);
  /** The program's functions that suggest values for a template's variables or a prompt's arguments. */
  const completes = new Map([
    ...resources.flatMap(({ uri, complete = {} }) =>
      Object.entries(complete).map(
        ([name, suggest]) => [keyOf('ref/resource', uri, name), suggest] as const,
      ),
    ),
    ...prompts.flatMap(({ name: prompt, arguments: fields = {} }) =>
      Object.entries(fields).flatMap(([name, { complete: suggest }]) =>
        suggest === undefined ? [] : [[keyOf('ref/prompt', prompt, name), suggest] as const],
      ),
    ),
  ]);

  const complete = async ({ ref, argument, context }: CompleteRequest['params']) => {
    const owner = ref.type === 'ref/prompt' ? ref.name : ref.uri;
    const suggest = completes.get(keyOf(ref.type, owner, argument.name));
    const values = await program(() => suggest?.(argument.value, context?.arguments ?? {}) ?? []);
    const [total, hasMore] = [values.length, values.length > MOST_VALUES];
    return { completion: { values: values.slice(0, MOST_VALUES), total, hasMore } };
  };

  const has = (own: readonly object[], list: 'list_resources' | 'list_prompts') =>
    own.length > 0 || tools.offering(list).length > 0;
  const capabilities = {
    ...(has(resources, 'list_resources') && { resources: {} }),
    ...(has(prompts, 'list_prompts') && { prompts: {} }),
    ...(completes.size > 0 && { completions: {} }),
  };
  return {
    capabilities,
    serve(server, byOf) {
      const asked = (request: ServerContext): Asked => ({ ...byOf(request), request });
      if ('resources' in capabilities) {
        server.setRequestHandler('resources/list', async (_, request) => ({
          resources: (await listResources('uri', asked(request))) as Resource[],
        }));
        server.setRequestHandler('resources/templates/list', async (_, request) => ({
          resourceTemplates: (await listResources(
            'uriTemplate',
            asked(request),
          )) as ResourceTemplateType[],
        }));
        server.setRequestHandler('resources/read', ({ params }, request) =>
          read(params.uri, asked(request)),
        );
      }
      if ('prompts' in capabilities) {
        server.setRequestHandler('prompts/list', async (_, request) => ({
          prompts: await listPrompts(asked(request)),
        }));
        server.setRequestHandler('prompts/get', ({ params }, request) =>
          get(params.name, params.arguments ?? {}, asked(request)),
        );
      }
      if ('completions' in capabilities)
        server.setRequestHandler('completion/complete', ({ params }) => complete(params));
    },
  };
}

const contextOf = ({ context, request }: Asked) => ({ ...context, signal: request.mcpReq.signal });
const isTemplate = (uri: string) => uri.includes('{');

/**
 * Returns a prompt's name with its server's name, because prompts of two servers may have the same
 * name.
 */
const relayedName = (server: string, name: string) => (server === '' ? name : `${server}__${name}`);

function serverOf({ providers }: ToolEntry): string {
  const server = providers[0]?.config?.['server'];
  return typeof server === 'string' ? server : '';
}

/** Puts the bytes back into resource contents. The content part at the same index has them. */
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
