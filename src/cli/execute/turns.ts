import type { Dialog } from '../terminal.js';

/** Who may speak on a terminal: one question at a time, and nothing else while one is open. */
export class Turns {
  readonly #terminal: Dialog;
  #last: Promise<unknown> = Promise.resolve();
  #open = 0;
  #kept: string[] = [];

  constructor(terminal: Dialog) {
    this.#terminal = terminal;
  }

  /** Writes a diagnostic; while a question is open, after it: text between question and answer could change what is answered. */
  tell(text: string): void {
    if (this.#open > 0) this.#kept.push(text);
    else this.#terminal.err(text);
  }

  /** Asks when all who came before have their answer. */
  take<T>(ask: () => Promise<T>): Promise<T> {
    this.#open += 1;
    const turn = this.#last.then(ask).finally(() => {
      this.#open -= 1;
      if (this.#open > 0) return;
      for (const text of this.#kept.splice(0)) this.#terminal.err(text);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }
}
