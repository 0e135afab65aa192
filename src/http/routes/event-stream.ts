import type { CapabilityRegistry } from '../../capability/capability-registry.js';
import type { Clock } from '../../core/clock.js';
import { errorAnswer, SECURITY_HEADERS, type Answer, type AnswerHeaders } from '../answers/answer.js';

/** A comment this often keeps connections alive that something between would close, and finds those that are gone. */
const HEARTBEAT_MS = 15_000;
/** Events that wait for a client which does not read; then it is let go, and may connect again. */
const MOST_WAITING = 64;
/** After how many milliseconds a browser connects again. */
const RETRY_MS = 2_000;

/**
 * Tells clients of changes, as server-sent events: `ready` at the start and `change` with every new revision, each with
 * `{"revision": …}` as data and the revision as id.
 *
 * It listens to the registry only while somebody listens to it.
 */
export class EventStream {
  readonly #capabilities: CapabilityRegistry;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #clients = new Set<ReadableStreamDefaultController<Uint8Array>>();
  #stop: (() => void) | undefined;

  constructor(capabilities: CapabilityRegistry, clock: Clock, most: number) {
    this.#capabilities = capabilities;
    this.#clock = clock;
    this.#most = most;
  }

  get clients(): number {
    return this.#clients.size;
  }

  answer(extra: AnswerHeaders, withBody: boolean): Answer {
    if (this.#clients.size >= this.#most) {
      return errorAnswer(503, { code: 'TOO_MANY_LISTENERS', message: `Expected at most ${this.#most} listeners at a time, found one more; ask again later` }, { ...extra, 'retry-after': '10' });
    }
    const headers = { ...SECURITY_HEADERS, 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no', ...extra };
    return { status: 200, headers, body: withBody ? this.#open() : null };
  }

  #open(): ReadableStream<Uint8Array> {
    let client: ReadableStreamDefaultController<Uint8Array>;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          client = controller;
          this.#clients.add(client);
          this.#stop ??= this.#listen();
          client.enqueue(encode(`retry: ${RETRY_MS}\n${eventText('ready', this.#capabilities.revision)}`));
        },
        cancel: () => this.#drop(client),
      },
      { highWaterMark: MOST_WAITING },
    );
  }

  #listen(): () => void {
    const stopListening = this.#capabilities.onChange(({ revision }) => this.#send(eventText('change', revision)));
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

  #send(text: string): void {
    const bytes = encode(text);
    for (const client of [...this.#clients]) {
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

function eventText(event: string, revision: number): string {
  return `event: ${event}\nid: ${revision}\ndata: {"revision":${revision}}\n\n`;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
