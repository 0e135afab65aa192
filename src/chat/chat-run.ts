import { ToolError } from '../core/errors.js';
import { onAbort } from '../core/listeners.js';
import type { Approval } from '../safety/approvals.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatEvent, ChatTurn } from './chat-result.js';
import type { ChatState } from './chat-state.js';
import { ToolOffers } from './offer-tools.js';

export interface RunOptions {
  /** Whether somebody reads the text as it comes. */
  readonly stream: boolean;
  readonly conversationId: string;
  readonly signal?: AbortSignal | undefined;
  /** By which copies of one stored chat are known; its calls are claimed under it. */
  readonly origin?: string;
  /** The identity of the executor's store under which the calls were decided over. */
  readonly storeIdentity?: string | undefined;
  /** Approvals of calls that are open at the start. */
  readonly approvals?: readonly Approval[];
  /** Hears everything as it happens. */
  readonly tell?: (event: ChatEvent) => void;
  /** Keeps the state where a crash does not reach it; the run goes on when it has resolved, and ends when it throws. */
  readonly keep?: ((state: ChatState) => Promise<void>) | undefined;
}

/** Milliseconds that a state may take to be kept when the caller has given up. */
const KEEP_GRACE_MS = 1_000;

/** One run of a chat: its state, and how that is told and kept. */
export class ChatRun {
  readonly engine: CheckedEngine;
  readonly offers: ToolOffers;
  readonly conversationId: string;
  readonly origin: string | undefined;
  readonly storeIdentity: string | undefined;
  readonly approvals: readonly Approval[];
  readonly stream: boolean;
  /** Turns of this run whose calls are settled, and the last one as far as it came. */
  readonly turns: ChatTurn[] = [];
  readonly #options: RunOptions;
  readonly #stop = new AbortController();
  /** Fires when the caller gives up, and when the state cannot be kept: nothing further is started then. */
  readonly signal: AbortSignal;
  #state: ChatState;
  #failure: { readonly error: unknown } | undefined;
  /** What is being kept, or was kept last, and what is kept after it. */
  #keeping: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(state: ChatState, engine: CheckedEngine, options: RunOptions) {
    this.#state = state;
    this.engine = engine;
    this.#options = options;
    this.offers = new ToolOffers(engine);
    this.conversationId = options.conversationId;
    this.origin = options.origin;
    this.storeIdentity = options.storeIdentity;
    this.approvals = options.approvals ?? [];
    this.stream = options.stream;
    this.signal = options.signal === undefined ? this.#stop.signal : AbortSignal.any([options.signal, this.#stop.signal]);
  }

  get state(): ChatState {
    return this.#state;
  }

  /** Whether the caller gave up. */
  get isCancelled(): boolean {
    return this.#options.signal?.aborted === true;
  }

  /** Takes over a state, and resolves when it is kept. @throws what keeping throws. */
  async save(state: ChatState): Promise<void> {
    this.#state = state;
    this.throwIfFailed();
    if (this.#options.keep === undefined) return;
    try {
      await this.#unlessGivenUp((this.#next ??= this.#keepAfter(this.#keeping)));
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  tell(event: ChatEvent): void {
    for (const listener of [this.#options.tell, this.engine.onEvent]) {
      try {
        const returned: unknown = listener?.(event);
        if (returned instanceof Promise) returned.catch(() => undefined);
      } catch {
        // Who watches a chat cannot stop it.
      }
    }
  }

  /** Ends the run: nothing further is started. The first error counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort();
  }

  throwIfFailed(): void {
    if (this.#failure === undefined) return;
    throw this.#failure.error instanceof Error ? this.#failure.error : new ToolError('EXECUTION_FAILED', 'Expected the state of the chat to be kept, found that it cannot be', { cause: this.#failure.error });
  }

  /** What keeps the state may never answer; who gives the chat up waits for it a moment longer, and then no more. */
  #unlessGivenUp(kept: Promise<void>): Promise<void> {
    const { signal } = this.#options;
    if (signal === undefined) return kept;
    return new Promise((resolve, reject) => {
      let cancelTimer = () => {};
      const giveUp = () => {
        const error = () => new ToolError('STATE_UNAVAILABLE', `Expected the state of the chat to be kept within ${KEEP_GRACE_MS} ms after it was given up, found no answer; what was kept before is where it can go on`);
        cancelTimer = this.engine.clock.after(KEEP_GRACE_MS, () => reject(error()));
      };
      const stopListening = onAbort(signal, giveUp);
      if (signal.aborted) giveUp();
      const end = () => {
        stopListening();
        cancelTimer();
      };
      kept.finally(end).then(resolve, reject);
    });
  }

  /** One state is kept at a time, and the newest of those that wait: what many calls change meanwhile is kept together. */
  #keepAfter(before: Promise<void>): Promise<void> {
    const kept = before.then(() => {
      this.#next = undefined;
      return this.#options.keep!(this.#state);
    });
    kept.catch(() => undefined); // Whoever saves hears of it.
    return (this.#keeping = kept);
  }
}
