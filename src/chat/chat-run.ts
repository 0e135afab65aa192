import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import type { Approval } from '../safety/approvals.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatEvent, ChatTurn } from './chat-result.js';
import type { ChatEnd, ChatState } from './chat-state.js';
import { ToolOffers } from './offer-tools.js';

interface RunOptions {
  /** `true` when the text is read as it comes. */
  readonly stream: boolean;
  readonly conversationId: string;
  readonly signal?: AbortSignal | undefined;
  /** The name that all copies of one stored chat share; its calls are claimed under it. */
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

/** One run of a chat: its state, and how that is told and kept. */
export class ChatRun {
  readonly engine: CheckedEngine;
  readonly options: RunOptions;
  readonly offers: ToolOffers;
  /** Turns of this run whose calls are settled, and the last one as far as it came. */
  readonly turns: ChatTurn[] = [];
  readonly #stop = new AbortController();
  /** Fires when the caller gives up, and when the state cannot be kept: nothing further is started then. */
  readonly signal: AbortSignal;
  #state: ChatState;
  #failure: { readonly error: unknown } | undefined;
  /** The end of a run whose executor's store does not answer. */
  lost: ChatEnd | undefined;
  /** The state that is being kept, or was kept last, and the one that is kept after it. */
  #keeping: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(state: ChatState, engine: CheckedEngine, options: RunOptions) {
    this.#state = state;
    this.engine = engine;
    this.options = options;
    this.offers = new ToolOffers(engine);
    this.signal =
      options.signal === undefined
        ? this.#stop.signal
        : AbortSignal.any([options.signal, this.#stop.signal]);
  }

  get state(): ChatState {
    return this.#state;
  }

  /** `true` when the caller gave up. */
  get isCancelled(): boolean {
    return this.options.signal?.aborted === true;
  }

  /** Takes over a state, and resolves when it is kept. @throws what keeping throws. */
  async save(state: ChatState): Promise<void> {
    this.#state = state;
    this.throwIfFailed();
    if (this.options.keep === undefined) return;
    try {
      await (this.#next ??= this.#keepAfter(this.#keeping));
    } catch (error) {
      this.fail(error);
      throw error;
    }
  }

  tell(event: ChatEvent): void {
    for (const listener of [this.options.tell, this.engine.onEvent]) {
      try {
        const returned: unknown = listener?.(event);
        if (returned instanceof Promise) returned.catch(() => undefined);
      } catch {
        // A listener cannot stop the chat.
      }
    }
  }

  /** Ends the run: nothing further is started. The first error counts. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stop.abort();
  }

  /** Ends the run with the calls that have begun: without the store nobody knows what else may run. */
  loseStore({ code, message }: { readonly code: string; readonly message: string }): void {
    this.lost ??= Object.freeze({ reason: 'error', error: Object.freeze({ code, message }) });
  }

  throwIfFailed(): void {
    if (this.#failure === undefined) return;
    const { error } = this.#failure;
    throw error instanceof Error
      ? error
      : new ToolError(
          'EXECUTION_FAILED',
          expectedGot('the state of the chat to be kept', 'a failure'),
          { cause: error },
        );
  }

  /** Keeps one state at a time, and then the newest: what many calls change meanwhile is kept together. */
  #keepAfter(before: Promise<void>): Promise<void> {
    const kept = before.then(() => {
      this.#next = undefined;
      return this.options.keep!(this.#state);
    });
    kept.catch(() => undefined); // Whoever saves hears of it.
    return (this.#keeping = kept);
  }
}
