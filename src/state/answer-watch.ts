import { nextTurn, type Clock, type TimerOptions } from '../core/clock.js';

/** The longest wait for one answer while others come, in counted time. */
export const LONGEST_WAIT_MS = 10_000;
/** The ticks of a time limit, and the longest of them. */
const TICKS = 8;
const LONGEST_TICK_MS = 125;

/** The rejection of an answer that did not come; `silent` if the store answered nothing else either. */
export class NoAnswer extends Error {
  constructor(readonly silent: boolean) {
    super('no answer in time');
  }
}

interface Wait {
  readonly since: number;
  readonly ms: number;
  readonly giveUp: (error: NoAnswer) => void;
}

/**
 * Waits for the answers of one store, and gives up when the store is silent.
 *
 * Only time in which this process could have read an answer counts: while an answer is awaited, a timer ticks; each
 * tick counts at most its own length, and is followed by a turn of the event loop that reads what has arrived. So
 * neither work that blocks the event loop nor a burst of operations is taken for a silent store.
 */
export class AnswerWatch {
  readonly #limitMs: number;
  readonly #tickMs: number;
  readonly #clock: Clock;
  readonly #timer: TimerOptions;
  readonly #waits = new Set<Wait>();
  /** The counted time until the last tick, the clock at that tick, and the counted time until the last answer. */
  #counted = 0;
  #tickedAt = 0;
  #answeredAt = 0;
  /** Stops the timer, if it ticks. */
  #stop: (() => void) | undefined;

  constructor(limitMs: number, clock: Clock, timer: TimerOptions = {}) {
    this.#limitMs = limitMs;
    this.#tickMs = Math.min(limitMs / TICKS, LONGEST_TICK_MS);
    this.#clock = clock;
    this.#timer = timer;
  }

  /**
   * Settles as the answer does; an answer that comes after the wait was given up is dropped.
   *
   * @param ms how long it waits while nothing at all is answered; while other answers come it waits 10 s.
   * @throws NoAnswer
   */
  wait<T>(answer: Promise<T>, ms = this.#limitMs): Promise<T> {
    if (this.#stop === undefined) this.#tick();
    return new Promise((resolve, reject) => {
      const wait: Wait = { since: this.#now(), ms, giveUp: reject };
      this.#waits.add(wait);
      answer.finally(() => this.#answered(wait)).then(resolve, reject);
    });
  }

  #answered(wait: Wait): void {
    this.#answeredAt = this.#now();
    this.#end(wait);
  }

  #tick(): void {
    this.#tickedAt = this.#clock.elapsed();
    this.#stop = this.#clock.after(
      this.#tickMs,
      () => {
        this.#counted += this.#tickMs;
        this.#tick();
        // One turn later: what arrived while this process was busy may lie unread.
        void nextTurn().then(() => this.#giveUpSilent());
      },
      this.#timer,
    );
  }

  #giveUpSilent(): void {
    const now = this.#counted;
    for (const wait of this.#waits) {
      const silent = now - Math.max(wait.since, this.#answeredAt) >= wait.ms;
      if (!silent && now - wait.since < Math.max(wait.ms, LONGEST_WAIT_MS)) continue;
      this.#end(wait);
      wait.giveUp(new NoAnswer(silent));
    }
  }

  #end(wait: Wait): void {
    this.#waits.delete(wait);
    if (this.#waits.size > 0) return;
    this.#counted = this.#now();
    this.#stop?.();
    this.#stop = undefined;
  }

  #now(): number {
    return this.#stop === undefined
      ? this.#counted
      : this.#counted + Math.min(this.#tickMs, this.#clock.elapsed() - this.#tickedAt);
  }
}
