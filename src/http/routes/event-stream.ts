import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { CapabilityChange } from '../../capability/state/build-state.js';
import { ownerMatches, type PersonaFilter } from '../../capability/manifest/persona.js';
import type { Clock } from '../../core/clock.js';
import {
  errorAnswer,
  SECURITY_HEADERS,
  type Answer,
  type AnswerHeaders,
} from '../answers/answer.js';

/** The interval of comments, which keep a proxy from closing idle connections and reveal dead ones. */
const HEARTBEAT_MS = 15_000;
/** Events that wait for a client that does not read; then it is disconnected, and may connect again. */
const MOST_WAITING = 64;
/** The milliseconds after which a browser connects again. */
const RETRY_MS = 2_000;

/**
 * Sends changes to clients as server-sent events: `ready` at the start and `change` with every new revision, each with
 * `{"revision": …}` as data and the revision as id. A client that names a persona hears of shared and its own items.
 *
 * It listens to the registry only while it has clients.
 */
export class EventStream {
  readonly #capabilities: CapabilityRegistry;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #clients = new Map<ReadableStreamDefaultController<Uint8Array>, PersonaFilter>();
  #stop: (() => void) | undefined;

  constructor(capabilities: CapabilityRegistry, clock: Clock, most: number) {
    this.#capabilities = capabilities;
    this.#clock = clock;
    this.#most = most;
  }

  get clients(): number {
    return this.#clients.size;
  }

  answer(extra: AnswerHeaders, withBody: boolean, personas: PersonaFilter): Answer {
    if (this.#clients.size >= this.#most) {
      return errorAnswer(
        503,
        {
          code: 'TOO_MANY_LISTENERS',
          message: `Expected at most ${this.#most} listeners at a time, got one more. Ask again later.`,
        },
        { ...extra, 'retry-after': '10' },
      );
    }
    const headers = {
      ...SECURITY_HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      ...extra,
    };
    return { status: 200, headers, body: withBody ? this.#open(personas) : null };
  }

  #open(personas: PersonaFilter): ReadableStream<Uint8Array> {
    let client: ReadableStreamDefaultController<Uint8Array>;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          client = controller;
          this.#clients.set(client, personas);
          this.#stop ??= this.#listen();
          client.enqueue(
            encode(`retry: ${RETRY_MS}\n${eventText('ready', this.#capabilities.revision)}`),
          );
        },
        cancel: () => this.#drop(client),
      },
      { highWaterMark: MOST_WAITING },
    );
  }

  #listen(): () => void {
    const stopListening = this.#capabilities.onChange((change) =>
      this.#send(eventText('change', change.revision), (personas) => concerns(change, personas)),
    );
    let stopBeat: () => void;
    const beat = () => {
      stopBeat = this.#clock.after(HEARTBEAT_MS, () => {
        this.#send(': alive\n\n');
        beat();
      });
    };
    beat();
    return () => {
      stopListening();
      stopBeat();
    };
  }

  #send(text: string, isFor: (personas: PersonaFilter) => boolean = () => true): void {
    const bytes = encode(text);
    for (const [client, personas] of [...this.#clients]) {
      if (!isFor(personas)) continue;
      if ((client.desiredSize ?? 0) > 0) client.enqueue(bytes);
      else {
        this.#drop(client);
        client.close();
      }
    }
  }

  #drop(client: ReadableStreamDefaultController<Uint8Array>): void {
    this.#clients.delete(client);
    if (this.#clients.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }
}

/**
 * Returns true for a change of something that these personas have. One without names changed only findings, and may
 * concern any persona.
 */
function concerns({ added, edited, removed }: CapabilityChange, personas: PersonaFilter): boolean {
  const changed = [...added, ...edited, ...removed];
  return changed.length === 0 || changed.some(({ owner }) => ownerMatches(personas, owner));
}

function eventText(event: string, revision: number): string {
  return `event: ${event}\nid: ${revision}\ndata: {"revision":${revision}}\n\n`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
