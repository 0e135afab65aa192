import type {
  CompleteRequest,
  CompleteResult,
  LoggingLevel,
  Resource,
  ResourceTemplateType,
  Server,
  ServerCapabilities,
  ServerContext,
} from '@modelcontextprotocol/server';
import type { ServerMessage } from '../discovery/discovery-options.js';
import type { Asked, Relay } from './relay.js';
import { RelayedPrompts } from './relayed-prompts.js';
import { RelayedResources } from './relayed-resources.js';
import type { RelayedCalls } from './relayed-calls.js';
import type { CheckedServerOptions, ServersBehind } from './server-options.js';
import { serverOf } from './served-tools.js';
import type { By } from './tool-calls.js';

/** A list that a client can be told has changed. */
export type Changed = 'tools' | 'resources' | 'prompts';

const LEVELS: readonly LoggingLevel[] = [
  ...(['debug', 'info', 'notice', 'warning', 'error', 'critical'] as const),
  ...(['alert', 'emergency'] as const),
];

/**
 * Forwards all but tools from the servers behind this one to clients: resources, prompts,
 * completions, updates of resources, log messages and instructions. Only resources and prompts are
 * available without the option `discovery`.
 */
export class Relays {
  readonly #relay: Relay;
  readonly #behind: ServersBehind | undefined;
  readonly #resources: RelayedResources;
  readonly #prompts: RelayedPrompts;
  readonly #running: RelayedCalls;
  readonly #tell: (what: Changed) => void;
  /** Functions that tell clients that a resource was updated, by server and URI. */
  readonly #subscribers = new Map<string, Set<() => void>>();
  /** The log levels that clients have set. */
  readonly #levels = new Map<Server, LoggingLevel>();
  readonly #stop: () => void;

  constructor(
    relay: Relay,
    { discovery, names }: CheckedServerOptions,
    running: RelayedCalls,
    tell: (what: Changed) => void,
  ) {
    this.#relay = relay;
    this.#behind = discovery;
    this.#running = running;
    this.#tell = tell;
    this.#resources = new RelayedResources(relay);
    this.#prompts = new RelayedPrompts(relay, names);
    this.#stop = discovery?.onMessage((message) => this.#take(message)) ?? (() => undefined);
  }

  get instructions(): readonly string[] {
    return (this.#behind?.instructions() ?? []).map(
      ({ server, text }) => `Instructions of ${server || 'the server behind this one'}:\n${text}`,
    );
  }

  get capabilities(): Pick<
    ServerCapabilities,
    'resources' | 'prompts' | 'completions' | 'logging'
  > {
    const behind = this.#behind;
    const has = (offer: 'resources' | 'prompts') =>
      behind?.awaits(offer) === true || this.#relay.tools.offering(`list_${offer}`).length > 0;
    const isLive = behind !== undefined;
    return {
      ...(has('resources') && {
        resources: isLive ? { subscribe: true, listChanged: true } : {},
      }),
      ...(has('prompts') && { prompts: isLive ? { listChanged: true } : {} }),
      ...(isLive && (has('resources') || has('prompts')) && { completions: {} }),
      ...(isLive && { logging: {} }),
    };
  }

  /** Answers a client's requests. */
  serve(server: Server, byOf: (request: ServerContext) => By): void {
    const asked = (request: ServerContext): Asked => ({ ...byOf(request), request });
    const { capabilities } = this;
    if ('resources' in capabilities) this.#serveResources(server, asked);
    if ('prompts' in capabilities) {
      server.setRequestHandler('prompts/list', async (_, request) => ({
        prompts: await this.#prompts.list(asked(request)),
      }));
      server.setRequestHandler('prompts/get', ({ params }, request) =>
        this.#prompts.get(params.name, params.arguments ?? {}, asked(request)),
      );
    }
    if ('completions' in capabilities)
      server.setRequestHandler('completion/complete', ({ params }, request) =>
        this.#complete(params, asked(request)),
      );
    if ('logging' in capabilities) this.#serveLogLevels(server);
  }

  close(): void {
    this.#stop();
  }

  #serveResources(server: Server, asked: (request: ServerContext) => Asked): void {
    server.setRequestHandler('resources/list', async (_, request) => ({
      resources: (await this.#resources.list(asked(request))) as Resource[],
    }));
    server.setRequestHandler('resources/templates/list', async (_, request) => ({
      resourceTemplates: (await this.#resources.listTemplates(
        asked(request),
      )) as ResourceTemplateType[],
    }));
    server.setRequestHandler('resources/read', ({ params }, request) =>
      this.#resources.read(params.uri, asked(request)),
    );
    if (this.#behind === undefined) return;
    const own = new Map<string, () => Promise<void>>();
    const leave = async (uri: string) => {
      const stop = own.get(uri);
      own.delete(uri);
      await stop?.();
      return {};
    };
    server.setRequestHandler('resources/subscribe', async ({ params: { uri } }, request) => {
      if (!own.has(uri)) own.set(uri, await this.#subscribe(uri, server, asked(request)));
      return {};
    });
    server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => leave(uri));
    onClose(server, () => void Promise.allSettled([...own.keys()].map(leave)));
  }

  /** Subscribes a client to a resource. Returns a function that ends the subscription. */
  async #subscribe(served: string, client: Server, by: Asked): Promise<() => Promise<void>> {
    const { entry, server, uri } = await this.#resources.owner(served, by);
    if (await this.#relay.isDenied(entry, by, { uri })) throw this.#relay.notFound(served);
    const key = JSON.stringify([server, uri]);
    const tell = () => void client.sendResourceUpdated({ uri: served }).catch(() => undefined); // The client may be gone.
    const others = this.#subscribers.get(key) ?? new Set();
    this.#subscribers.set(key, others.add(tell));
    const behind = this.#behind!;
    if (others.size === 1) await behind.request(server, 'resources/subscribe', { uri });
    return async () => {
      others.delete(tell);
      if (others.size === 0) await behind.request(server, 'resources/unsubscribe', { uri });
    };
  }

  async #complete(params: CompleteRequest['params'], by: Asked): Promise<CompleteResult> {
    const { ref } = params;
    const { entry, ownRef } = await this.#ownerOf(ref, by);
    if (await this.#relay.isDenied(entry, by)) return { completion: { values: [] } };
    const asked = { ...params, ref: ownRef };
    const { signal } = by.request.mcpReq;
    const request = this.#behind!.request(serverOf(entry), 'completion/complete', asked, signal);
    return (await request) as CompleteResult;
  }

  async #ownerOf(ref: CompleteRequest['params']['ref'], by: Asked) {
    if (ref.type === 'ref/prompt') {
      const { entry, own } = this.#prompts.owner(ref.name, by);
      return { entry, ownRef: { ...ref, name: own } };
    }
    const { entry, uri } = await this.#resources.owner(ref.uri, by);
    return { entry, ownRef: { ...ref, uri } };
  }

  /** The servers get the lowest level of all clients. Each client gets the levels that it wants. */
  #serveLogLevels(server: Server): void {
    server.setRequestHandler('logging/setLevel', ({ params: { level } }) => {
      this.#levels.set(server, level);
      const lowest = LEVELS.find((each) => [...this.#levels.values()].includes(each));
      this.#behind!.setLogLevel(lowest ?? level);
      return {};
    });
    onClose(server, () => void this.#levels.delete(server));
  }

  #take({ server, method, params }: ServerMessage): void {
    if (method === 'notifications/resources/list_changed') return this.#tell('resources');
    if (method === 'notifications/prompts/list_changed') return this.#tell('prompts');
    if (method === 'notifications/message')
      return this.#running.log(server, params, (client, level) => {
        const wanted = this.#levels.get(client as Server);
        return wanted === undefined || LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
      });
    for (const tell of this.#subscribers.get(JSON.stringify([server, params['uri']])) ?? []) tell();
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
