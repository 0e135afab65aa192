import { z } from 'zod';
import type { Clock } from '../core/clock.js';
import { hmacOf } from '../core/crypto.js';
import { LIMITS } from '../core/limits.js';
import { aFunction, type FieldsOf } from '../core/options.js';
import { digestOf } from '../core/plain-data.js';
import { isLoopback } from '../host/addresses.js';
import { tokenField } from '../host/request-guard.js';
import type { Pending } from '../safety/calls.js';
import type { OperatorDesk } from '../safety/operator-desk.js';
import type { StateStore } from '../state/state-store.js';

/** Options for messages about calls that wait for a person. */
export interface WebhookOptions {
  /** The address that receives the messages: https, or http on this machine. */
  readonly url: string;
  /** The secret that signs the messages, of at least 16 characters. */
  readonly secret: string;
  /** The address of the page, for links to waiting calls. @default the server's own address */
  readonly page?: string | undefined;
  /** Receives a description of each failure. @default none */
  readonly onFailure?: ((message: string) => void) | undefined;
}

const webUrl = (isPublicHttp: boolean, expected: string) =>
  z.custom<string>((value) => {
    if (typeof value !== 'string' || !URL.canParse(value)) return false;
    const { protocol, hostname } = new URL(value);
    const isLocal = isPublicHttp || isLoopback(hostname.replace(/^\[|\]$/g, ''));
    return protocol === 'https:' || (protocol === 'http:' && isLocal);
  }, expected);

/** Option field for the webhook. */
export const webhookField = z
  .strictObject({
    url: webUrl(false, 'an https URL, or an http URL on this machine'),
    secret: tokenField,
    page: webUrl(true, 'an http or https URL').optional(),
    onFailure: aFunction<NonNullable<WebhookOptions['onFailure']>>().optional(),
  } satisfies FieldsOf<WebhookOptions>)
  .optional();

/** Milliseconds between looks into the ledger, and the longest pause after failures. */
const LOOK_MS = 2_000;
const MOST_PAUSE_MS = 300_000;
const TIMEOUT_MS = 5_000;
/** Milliseconds after which another server takes over a message that a server didn't finish. */
const LEASE_MS = 30_000;
const SENDING = 'sending';
const SENT = 'sent';

/**
 * Posts a message about each call in the ledger that waits for a person. Servers that share a store
 * mark a message before they send it, so that each message is sent once. After a failure, it tries
 * again later, if the call is still waiting then.
 */
export class Webhook {
  readonly #desk: OperatorDesk;
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #options: WebhookOptions & { readonly page: string };
  #isClosed = false;
  /** The ids of open calls whose messages have been sent. */
  readonly #sent = new Set<string>();
  #failures = 0;
  #stopTimer: () => void = () => undefined;
  #looking: Promise<void> | undefined;

  constructor(
    desk: OperatorDesk,
    store: StateStore,
    clock: Clock,
    options: WebhookOptions & { readonly page: string },
  ) {
    this.#desk = desk;
    this.#store = store;
    this.#clock = clock;
    this.#options = options;
    this.#lookAfter(LOOK_MS);
  }

  /** Stops sending, and waits until the store knows what was sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#looking;
  }

  #lookAfter(ms: number): void {
    const look = () => void (this.#looking = this.#look());
    this.#stopTimer = this.#clock.after(ms, look, { background: true });
  }

  async #look(): Promise<void> {
    const failure = await this.#sendAll().catch(() => "The state store isn't responding.");
    if (this.#isClosed) return;
    this.#failures = failure === undefined ? 0 : this.#failures + 1;
    this.#lookAfter(Math.min(MOST_PAUSE_MS, LOOK_MS * 2 ** this.#failures));
    if (failure !== undefined) this.#options.onFailure?.(`${failure} It's tried again later.`);
  }

  /** Sends all messages that haven't been sent. @returns The failure, if one has to be repeated. */
  async #sendAll(): Promise<string | undefined> {
    const open = await this.#desk.waiting({ limit: Infinity });
    const ids = new Set(open.map(({ id }) => id));
    for (const id of this.#sent) if (!ids.has(id)) this.#sent.delete(id);
    for (const call of open) {
      if (this.#isClosed) break;
      const failure = this.#sent.has(call.id) ? undefined : await this.#send(call);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  async #send(call: Pending): Promise<string | undefined> {
    const mark = `webhook:${digestOf([this.#options.url, call.id])}`;
    const lease = { ttlMs: LEASE_MS };
    if (!(await this.#store.compareAndSet(mark, undefined, SENDING, lease))) {
      // Another server is sending it, or has sent it.
      if ((await this.#store.get(mark)) === SENT) this.#sent.add(call.id);
      return undefined;
    }
    const status = await this.#post(call);
    const failure = `The webhook ${status === 0 ? "isn't responding" : `answered ${status}`}.`;
    if (status === 0 || status === 408 || status === 429 || status >= 500) {
      await this.#store.compareAndSet(mark, SENDING, undefined);
      return failure;
    }
    if (status >= 300) this.#options.onFailure?.(`${failure} The call ${call.id} isn't announced.`);
    await this.#store.compareAndSet(mark, SENDING, SENT, { ttlMs: lifetimeOf(call) });
    this.#sent.add(call.id);
    return undefined;
  }

  /** Posts a message. @returns The HTTP status, or 0 if there's no response. */
  async #post(call: Pending): Promise<number> {
    const { url, secret, page } = this.#options;
    const body = JSON.stringify(messageOf(call, page));
    const timestamp = String(Math.floor(this.#clock.now() / 1_000));
    const signature = hmacOf(Buffer.from(secret), `${timestamp}.${body}`);
    try {
      const response = await fetch(url, {
        method: 'POST',
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          'content-type': 'application/json',
          'tooldex-timestamp': timestamp,
          'tooldex-signature': `sha256=${signature}`,
        },
      });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }
}

/** Returns what a message says. Arguments are left out, because they may be private. */
function messageOf(call: Pending, page: string) {
  return {
    id: call.id,
    call_id: call.callId,
    kind: call.kind,
    tool: call.toolName,
    danger: call.kind === 'approval' ? call.danger : null,
    principal: call.principal ?? null,
    conversation: call.conversationId ?? null,
    created_at: call.createdAt,
    url: `${page.replace(/\/$/, '')}/#/waiting?open=${call.id}`,
  };
}

function lifetimeOf(call: Pending): number {
  return call.kind === 'approval' ? call.expiresAt - call.createdAt : LIMITS.timerMs;
}
