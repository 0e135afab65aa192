import { ignoreRejection } from '../core/plain-data.js';
import { freezePlain } from '../tool/bound-input.js';
import type { CheckedEngine } from './chat-engine.js';
import type { ChatEvent, ChatTurn } from './chat-result.js';
import { closeTurn, type ChatEnd, type ChatState, type OpenTurn } from './chat-state.js';
import { ToolOffers } from './tools-of-turn.js';

/** The options of one run of a chat. */
export interface ChatRunOptions {
  /** True if the model's text is streamed. */
  readonly stream: boolean;
  readonly conversationId: string;
  readonly signal?: AbortSignal | undefined;
  /**
   * A name that all copies of a stored chat share. Calls are claimed under this name, so that only
   * one copy runs them.
   */
  readonly origin?: string;
  /** The identity of the executor's store when the calls were decided. */
  readonly storeIdentity?: string | undefined;
  readonly onEvent?: (event: ChatEvent) => void;
  /**
   * Stores the state so that it survives a crash. The run waits for this function, and ends if it
   * throws.
   */
  readonly keep?: (state: ChatState) => Promise<void>;
}

/** One run of a chat: its state, and how that state is stored. */
export class ChatRun {
  readonly offers: ToolOffers;
  /** The turns in this run. The last turn may be incomplete. */
  readonly turns: ChatTurn[] = [];
  /**
   * The newest turn with calls, and the complete records of these calls. In the stored state, the
   * turn is closed once every call has its result.
   */
  turn: OpenTurn | undefined;
  /**
   * Aborts when the caller aborts, or when the state can't be stored. After the abort, nothing
   * starts.
   */
  readonly signal: AbortSignal;
  /** The reason for ending a run whose executor lost its store. */
  lost: ChatEnd | undefined;
  readonly #stop = new AbortController();
  #failure: { readonly error: unknown } | undefined;
  #kept: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(
    public state: ChatState,
    readonly engine: CheckedEngine,
    readonly options: ChatRunOptions,
  ) {
    this.offers = new ToolOffers(engine);
    this.turn = state.openTurn;
    const { signal } = options;
    this.signal = signal ? AbortSignal.any([signal, this.#stop.signal]) : this.#stop.signal;
  }

  get isCancelled(): boolean {
    return this.options.signal?.aborted === true;
  }

  /**
   * Sets the state, and resolves when it has been stored. If every call has its result, closes the
   * turn in the same step.
   *
   * Only one write runs at a time, and each write stores the newest state. If several calls change
   * the state while it's being written, their changes are stored together.
   *
   * @throws any error from `keep`.
   */
  async save(state: ChatState): Promise<void> {
    this.turn = state.openTurn ?? this.turn;
    this.state = closeTurn(freezePlain(state));
    this.throwIfFailed();
    const { keep } = this.options;
    if (keep === undefined) return;
    if (this.#next === undefined) {
      this.#next = this.#kept = this.#kept.then(() => {
        this.#next = undefined;
        return keep(this.state);
      });
      this.#next.catch(this.fail);
    }
    await this.#next;
  }

  tell(event: ChatEvent): void {
    for (const listener of [this.options.onEvent, this.engine.onEvent]) {
      try {
        void ignoreRejection<unknown>(listener?.(event));
      } catch {
        // Errors thrown by a listener are ignored.
      }
    }
  }

  /**
   * Ends the run, so that nothing more is started. If several errors occur, the first error ends
   * the run.
   */
  readonly fail = (error: unknown): void => {
    this.#failure ??= { error };
    this.#stop.abort();
  };

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
