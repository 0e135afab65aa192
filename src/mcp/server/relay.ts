import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { systemClock } from '../../core/clock.js';
import { isPlainObject } from '../../core/plain-data.js';
import { withDeadline } from '../../execution/with-deadline.js';
import type { ContentPart } from '../../tool/content.js';
import type { ToolResult } from '../../tool/outcome.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { outcomeResult } from './call-result.js';
import type { CheckedServerOptions } from './server-options.js';
import { serverOf, type ServedTools } from './served-tools.js';
import type { By, ServerSdk, ToolCalls } from './tool-calls.js';

export type Item = Readonly<Record<string, unknown>>;
/** A request with its caller. */
export interface Asked extends By {
  readonly request: ServerContext;
}
export type Answer<R> = Promise<R | InputRequiredResult>;
type ListTool = 'list_resources' | 'list_prompts';

/** A list of a server behind this one, and the tool that returned it. */
export interface Listed {
  readonly server: string;
  readonly entry: ToolEntry;
  readonly value: unknown;
}

/** Timeout in milliseconds for a list if its tool has no timeout. */
const LIST_TIMEOUT_MS = 30_000;

/**
 * Forwards requests for resources and prompts to the servers behind this one.
 *
 * Lists never ask for approval. They omit a server if its list tool isn't served to the caller or
 * the policy denies it. A read runs the server's tool `read_resource` or `get_prompt` like any
 * other call.
 */
export class Relay {
  readonly tools: ServedTools;
  readonly #sdk: ServerSdk;
  readonly #options: CheckedServerOptions;
  readonly #calls: ToolCalls;

  constructor(sdk: ServerSdk, options: CheckedServerOptions, tools: ServedTools, calls: ToolCalls) {
    this.#sdk = sdk;
    this.#options = options;
    this.tools = tools;
    this.#calls = calls;
  }

  /**
   * Returns what a list tool returns for each server that the caller may use. A server that fails
   * is omitted.
   */
  async lists(tool: ListTool, by: Asked): Promise<readonly Listed[]> {
    const asked = this.tools
      .offering(tool, by.context)
      .map(async (entry) => ((await this.isDenied(entry, by)) ? [] : this.#list(entry, by)));
    return (await Promise.all(asked)).flat();
  }

  /** Returns true if the policy denies the caller a tool. */
  async isDenied(entry: ToolEntry, { context }: Asked, input: object = {}): Promise<boolean> {
    const { verdict } = await this.#calls.executor.decide({ name: entry.name, input }, context);
    return verdict === 'deny';
  }

  /**
   * Answers a request by calling a tool of a server.
   * @throws ProtocolError with the text of a failed call.
   */
  async call<R extends object>(
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
    const result = await this.#calls.call({ entry, input, ...by, resultOf }, request);
    if (answer !== undefined) return answer;
    if (!('content' in result)) return result;
    const texts = (result as CallToolResult).content.map((block) =>
      block.type === 'text' ? block.text : '',
    );
    throw this.invalid(texts.join('\n'));
  }

  invalid(message: string): Error {
    return new this.#sdk.ProtocolError(this.#sdk.ProtocolErrorCode.InvalidParams, message);
  }

  notFound(uri: string): Error {
    return new this.#sdk.ResourceNotFoundError(uri);
  }

  async #list(entry: ToolEntry, { request }: Asked): Promise<readonly Listed[]> {
    const { clock = systemClock, onError } = this.#options;
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
}

export function itemsIn(value: unknown, field: string): readonly Item[] {
  const items = isPlainObject(value) ? value[field] : undefined;
  return Array.isArray(items) ? items.filter(isPlainObject) : [];
}
