import type {
  CompleteRequest,
  ListResourcesResult,
  LoggingLevel,
  Server,
  ServerCapabilities,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { ServerMessage } from '../discovery/discovery-options.js';
import type { Asked, Item, RelayedLists } from './relayed-lists.js';
import type { RelayedCalls } from './relayed-calls.js';
import type { ServersBehind } from './server-options.js';
import { serverOf } from './served-tools.js';
import type { By } from './tool-calls.js';

type CompleteParams = CompleteRequest['params'];

/** A list that a client can be told has changed. */
export type Changed = 'tools' | 'resources' | 'prompts';

const LEVELS: readonly LoggingLevel[] = [
  ...(['debug', 'info', 'notice', 'warning', 'error', 'critical'] as const),
  ...(['alert', 'emergency'] as const),
];

type Handler = (params: Item, by: Asked, client: Server) => unknown;

/** A client that wants to know when a resource is updated. */
interface Subscription {
  readonly client: Server;
  /** The URI under which the client knows the resource. */
  readonly served: string;
  readonly server: string;
  readonly uri: string;
}

/**
 * Forwards all but tools from the servers behind this one to clients: resources, prompts,
 * completions, updates of resources, log messages and instructions. Only resources and prompts are
 * available without the option `discovery`.
 */
export class Relays {
  readonly #tell: (what: Changed) => void;
  readonly #subscriptions = new Set<Subscription>();
  /** The log levels that clients have set. */
  readonly #levels = new Map<Server, LoggingLevel>();
  readonly #stop: (() => void) | undefined;
  /** The methods of each capability. */
  readonly #handlers: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
    resources: {
      'resources/list': async (_, by) => ({ resources: await this.lists.resources(by) }),
      'resources/templates/list': async (_, by) => ({
        resourceTemplates: await this.lists.templates(by),
      }),
      'resources/read': ({ uri }, by) => this.lists.read(String(uri), by),
    },
    subscribe: {
      'resources/subscribe': ({ uri }, by, client) => this.#subscribe(String(uri), by, client),
      'resources/unsubscribe': ({ uri }, _, client) => this.#unsubscribe(client, uri),
    },
    prompts: {
      'prompts/list': async (_, by) => ({ prompts: await this.lists.prompts(by) }),
      'prompts/get': ({ name, arguments: values = {} }, by) =>
        this.lists.getPrompt(String(name), values, by),
    },
    completions: {
      'completion/complete': (params, by) => this.#complete(params as CompleteParams, by),
    },
    logging: { 'logging/setLevel': ({ level }, _, client) => this.#setLevel(client, level) },
  };

  constructor(
    readonly lists: RelayedLists,
    readonly behind: ServersBehind | undefined,
    readonly running: RelayedCalls,
    tell: (what: Changed) => void,
  ) {
    this.#tell = tell;
    this.#stop = behind?.onMessage((message) => this.#take(message));
  }

  get instructions(): readonly string[] {
    return (this.behind?.instructions() ?? []).map(
      ({ server, text }) => `Instructions of ${server || 'the server behind this one'}:\n${text}`,
    );
  }

  get capabilities(): ServerCapabilities {
    const isLive = this.behind !== undefined;
    const [resources, prompts] = (['resources', 'prompts'] as const).map(
      (offer) => this.behind?.awaits(offer) === true || this.lists.has(offer),
    );
    return {
      ...(resources && { resources: isLive ? { subscribe: true, listChanged: true } : {} }),
      ...(prompts && { prompts: isLive ? { listChanged: true } : {} }),
      ...(isLive && (resources || prompts) && { completions: {} }),
      ...(isLive && { logging: {} }),
    };
  }

  /** Answers a client's requests. */
  serve(client: Server, byOf: (request: ServerContext) => By): void {
    const { capabilities } = this;
    const offered: Item = { ...capabilities, subscribe: capabilities.resources?.subscribe };
    for (const [capability, handlers] of Object.entries(this.#handlers))
      for (const [method, answer] of offered[capability] ? Object.entries(handlers) : [])
        client.setRequestHandler(
          method as 'resources/list',
          ({ params = {} }, request) =>
            answer(params, { ...byOf(request), request }, client) as ListResourcesResult,
        );
    onClose(client, () => {
      this.#levels.delete(client);
      void this.#unsubscribe(client).catch(() => undefined); // The server may be gone.
    });
  }

  close(): void {
    this.#stop?.();
  }

  #subscribersOf(server: string, uri: unknown): readonly Subscription[] {
    return [...this.#subscriptions].filter((each) => each.server === server && each.uri === uri);
  }

  async #subscribe(served: string, by: Asked, client: Server): Promise<object> {
    const { entry, own: uri } = await this.lists.resource(served, by);
    if (await this.lists.isDenied(entry, by, { uri })) throw this.lists.notFound(served);
    const server = serverOf(entry);
    const others = this.#subscribersOf(server, uri);
    if (others.some((each) => each.client === client && each.served === served)) return {};
    this.#subscriptions.add({ client, served, server, uri });
    if (others.length === 0) await this.behind!.request(server, 'resources/subscribe', { uri });
    return {};
  }

  /** Ends a client's subscription, or all of them if no URI is given. */
  async #unsubscribe(client: Server, served?: unknown): Promise<object> {
    for (const each of [...this.#subscriptions]) {
      if (each.client !== client || (served ?? each.served) !== each.served) continue;
      const { server, uri } = each;
      this.#subscriptions.delete(each);
      if (this.#subscribersOf(server, uri).length === 0)
        await this.behind!.request(server, 'resources/unsubscribe', { uri });
    }
    return {};
  }

  async #complete(params: CompleteParams, by: Asked): Promise<object> {
    const { ref } = params;
    const { entry, own } =
      ref.type === 'ref/prompt'
        ? this.lists.prompt(ref.name, by)
        : await this.lists.resource(ref.uri, by);
    if (await this.lists.isDenied(entry, by)) return { completion: { values: [] } };
    const asked = {
      ...params,
      ref: ref.type === 'ref/prompt' ? { ...ref, name: own } : { ...ref, uri: own },
    };
    const { signal } = by.request.mcpReq;
    const request = this.behind!.request(serverOf(entry), 'completion/complete', asked, signal);
    return (await request) as object;
  }

  /** The servers get the lowest level of all clients. Each client gets the levels that it wants. */
  #setLevel(client: Server, level: unknown): object {
    this.#levels.set(client, level as LoggingLevel);
    const wanted = [...this.#levels.values()];
    this.behind!.setLogLevel(LEVELS.find((each) => wanted.includes(each))!);
    return {};
  }

  #take({ server, method, params }: ServerMessage): void {
    if (method === 'notifications/resources/list_changed') return this.#tell('resources');
    if (method === 'notifications/prompts/list_changed') return this.#tell('prompts');
    if (method === 'notifications/message')
      return this.running.log(server, params, (client, level) => {
        const wanted = this.#levels.get(client as Server);
        return wanted === undefined || LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
      });
    for (const { client, served } of this.#subscribersOf(server, params['uri']))
      void client.sendResourceUpdated({ uri: served }).catch(() => undefined); // The client may be gone.
  }
}

/** Runs a function when a client's server closes, after those that were added before. */
export function onClose(server: Server, run: () => void): void {
  const before = server.onclose;
  server.onclose = () => {
    before?.();
    run();
  };
}
