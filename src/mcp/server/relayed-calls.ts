import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { onAbort } from '../../core/listeners.js';
import { abortError } from '../../providers/run-attempt.js';
import type { ToolOutcome } from '../../safety/calls.js';
import type { OnElicit } from '../connection/elicitation.js';

type Answer = Awaited<ReturnType<OnElicit>>;

/** A question from a server whose tool is running. */
interface RelayedQuestion {
  readonly server: string;
  /** The question as the server asked it. */
  readonly asked: Parameters<OnElicit>[1];
}

interface OpenQuestion extends RelayedQuestion {
  readonly answer: (answer: Answer) => void;
}

interface RunningCall {
  readonly outcome: Promise<ToolOutcome>;
  readonly controller: AbortController;
  readonly canAsk: (mode: 'form' | 'url') => boolean;
  readonly questions: Map<string, OpenQuestion>;
  /** Wakes the request that waits for the call, so that it can return a new question. */
  wake: () => void;
  /** Stops the timer that runs until the client returns with an answer. */
  stopClock: () => void;
}

/** The response to a request that waits for a call: the call's outcome or its open questions. */
type Round =
  { readonly outcome: ToolOutcome } | { readonly questions: ReadonlyMap<string, RelayedQuestion> };

/** Maximum milliseconds that a call waits for its client's answers. */
const PATIENCE_MS = 600_000;

/**
 * The running calls of clients. A call keeps running while its client asks the user a question from
 * a server. The client sends the answers in a new request, which must reach the same process.
 */
export class RelayedCalls {
  readonly #calls = new Map<string, RunningCall>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs a call until it ends or a server asks a question. Aborting `signal` ends the call.
   *
   * @param canAsk Returns true for questions that the client can show.
   */
  run(
    id: string,
    work: (signal: AbortSignal) => Promise<ToolOutcome>,
    canAsk: RunningCall['canAsk'],
    signal: AbortSignal,
  ): Promise<Round> {
    const controller = new AbortController();
    const nothing = () => undefined;
    const call: RunningCall = {
      outcome: work(controller.signal).finally(() => this.#calls.delete(id)),
      ...{ controller, canAsk, questions: new Map(), wake: nothing, stopClock: nothing },
    };
    this.#calls.set(id, call);
    return this.#next(call, signal);
  }

  /**
   * Answers the questions of a round, and waits like `run` for the outcome or more questions.
   *
   * @param answers The answers, by question key.
   * @returns `undefined` if the call has ended or is running in another process.
   */
  resume(
    id: string,
    answers: ReadonlyMap<string, Answer>,
    signal: AbortSignal,
  ): Promise<Round> | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    call.stopClock();
    for (const [key, answer] of answers) call.questions.get(key)?.answer(answer);
    return this.#next(call, signal);
  }

  /** Ends all calls that are waiting for their clients. */
  close(): void {
    for (const { controller } of this.#calls.values()) controller.abort();
  }

  /**
   * Asks a server's question through the client that made the call. If it isn't known which call
   * the question is about, nobody is asked.
   */
  readonly onElicit: OnElicit = (server, asked, { call: about, signal }) => {
    const call = about && this.#calls.get(about.id);
    const mode = asked['mode'] === 'url' ? 'url' : 'form';
    if (call === undefined || !call.canAsk(mode)) return Promise.resolve({ action: 'cancel' });
    return new Promise((resolve, reject) => {
      const key = randomUUID();
      const stop = onAbort(signal, () => {
        call.questions.delete(key);
        reject(abortError(signal));
      });
      const answer = (given: Answer) => {
        stop();
        call.questions.delete(key);
        resolve(given);
      };
      call.questions.set(key, { server, asked, answer });
      call.wake();
    });
  };

  async #next(call: RunningCall, signal: AbortSignal): Promise<Round> {
    const stop = onAbort(signal, () => call.controller.abort(signal.reason));
    const asked = new Promise<void>((resolve) => {
      call.wake = resolve;
      if (call.questions.size > 0) resolve();
    });
    try {
      const outcome = await Promise.race([call.outcome, asked]);
      if (outcome !== undefined) return { outcome };
    } finally {
      stop();
    }
    call.stopClock = this.#clock.after(PATIENCE_MS, () => call.controller.abort(), {
      background: true,
    });
    return { questions: new Map(call.questions) };
  }
}
