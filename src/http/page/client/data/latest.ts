/** Asks, and ignores the answers to earlier questions: they may come later than that of the last. */
export class Latest {
  #running: AbortController | undefined;

  /** @param onFailure is not called when a later question or `cancel` ended this one. */
  ask<T>(question: (signal: AbortSignal) => Promise<T>, onAnswer: (answer: T) => void, onFailure: (error: unknown) => void): void {
    this.cancel();
    const running = new AbortController();
    this.#running = running;
    question(running.signal).then(
      (answer) => {
        if (!running.signal.aborted) onAnswer(answer);
      },
      (error: unknown) => {
        if (!running.signal.aborted) onFailure(error);
      },
    );
  }

  cancel(): void {
    this.#running?.abort();
    this.#running = undefined;
  }
}
