import type { LoggingLevel } from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { ToolError } from '../../core/errors.js';
import { onAbort } from '../../core/listeners.js';
import { abortError } from '../../providers/run-attempt.js';
import type { ToolOutcome } from '../../safety/calls.js';
import type { OnElicit } from '../connection/elicitation.js';

type Answer = Awaited<ReturnType<OnElicit>>;

/** A question from a server whose tool is running. */
export interface RelayedQuestion {
  readonly server: string;
  /** The question as the server asked it. */
  readonly asked: Parameters<OnElicit>[1];
}

interface OpenQuestion extends RelayedQuestion {
  readonly answer: (answer: Answer) => void;
}

/** The client that made a call, and how to reach it. */
interface CallingClient {
  /** Equal for all calls of one client. */
  readonly client: unknown;
  /** The server whose tool runs. */
  readonly server: string;
  /** Returns true for questions that the client can show. */
  readonly canAsk: (mode: 'form' | 'url') => boolean;
  /** Sends a log message with the request that made the call. */
  readonly log: (level: LoggingLevel, data: unknown, logger: string) => Promise<void>;
}

interface RunningCall extends CallingClient {
  readonly outcome: Promise<ToolOutcome>;
  readonly controller: AbortController;
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

  constructor(readonly clock: Clock) {}

  /** Runs a call until it ends or a server asks a question. Aborting `signal` ends the call. */
  run(
    id: string,
    work: (signal: AbortSignal) => Promise<ToolOutcome>,
    client: CallingClient,
    signal: AbortSignal,
  ): Promise<Round> {
    const controller = new AbortController();
    const nothing = () => undefined;
    const call: RunningCall = {
      ...client,
      outcome: work(controller.signal),
      ...{ controller, questions: new Map(), wake: nothing, stopClock: nothing },
    };
    this.#calls.set(id, call);
    return this.#next(id, call, signal);
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
    return this.#next(id, call, signal);
  }

  /** Ends all calls that are waiting for their clients. */
  close(): void {
    for (const { controller } of this.#calls.values()) controller.abort();
  }

  /**
   * Asks a server's question through the client that made the call. If several calls of one client
   * may be meant, this client is asked. The server is told if it isn't known which client to ask.
   */
  readonly onElicit: OnElicit = (server, asked, { call: about, calls = [], signal }) => {
    const meant = about ? [about] : calls;
    const found = meant.flatMap(({ id }) => this.#calls.get(id) ?? []);
    const mode = asked['mode'] === 'url' ? 'url' : 'form';
    if (found.length < meant.length || new Set(found.map(({ client }) => client)).size !== 1)
      return Promise.reject(unknownClient());
    if (mode === 'url' && !/^https?:\/\//i.test(String(asked['url'])))
      return Promise.reject(
        new ToolError('INVALID_ARGUMENT', 'Expected an http or https URL in the question.'),
      );
    const call = found.findLast(({ canAsk }) => canAsk(mode));
    if (call === undefined) return Promise.resolve({ action: 'cancel' });
    return new Promise((resolve, reject) => {
      const key = randomUUID();
      const stop = onAbort(signal, () => {
        call.questions.delete(key);
        reject(abortError(signal));
      });
      const answer = (reply: Answer) => {
        stop();
        call.questions.delete(key);
        resolve(reply);
      };
      call.questions.set(key, { server, asked, answer });
      call.wake();
    });
  };

  /**
   * Passes a server's log message to the client that has calls running there. Nobody gets it if
   * several clients have, because it may be about either client's data.
   */
  log(
    server: string,
    { level, data, logger }: Readonly<Record<string, unknown>>,
    isWanted: (client: unknown, level: LoggingLevel) => boolean,
  ): void {
    const running = [...this.#calls.values()].filter((call) => call.server === server);
    const [call] = running;
    if (call === undefined || running.some(({ client }) => client !== call.client)) return;
    const said = level as LoggingLevel;
    const name = typeof logger === 'string' ? `${server}/${logger}` : server;
    if (isWanted(call.client, said)) void call.log(said, data, name).catch(() => undefined); // The client may be gone.
  }

  async #next(id: string, call: RunningCall, signal: AbortSignal): Promise<Round> {
    const stop = onAbort(signal, () => call.controller.abort(signal.reason));
    const asked = new Promise<void>((resolve) => {
      call.wake = resolve;
      if (call.questions.size > 0) resolve();
    });
    try {
      const outcome = await Promise.race([asked, call.outcome]);
      if (outcome !== undefined && call.questions.size === 0) {
        this.#calls.delete(id);
        return { outcome };
      }
    } catch (error) {
      this.#calls.delete(id);
      throw error;
    } finally {
      stop();
    }
    call.stopClock = this.clock.after(PATIENCE_MS, () => this.#giveUp(id, call), {
      background: true,
    });
    return { questions: new Map(call.questions) };
  }

  #giveUp(id: string, call: RunningCall): void {
    this.#calls.delete(id);
    call.controller.abort();
    for (const { answer } of call.questions.values()) answer({ action: 'cancel' });
  }
}

/** The server that asked sees this message. */
function unknownClient(): ToolError {
  return new ToolError(
    'TOOL_UNAVAILABLE',
    "Nobody was asked, because several clients have calls running at this server and the question doesn't say which of them it's about. Ask in the result of the call (2026-07-28 protocol).",
  );
}
