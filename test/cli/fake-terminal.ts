import { Readable } from 'node:stream';
import { asShown, type AskOptions, type Dialog } from '../../src/cli/terminal/terminal.js';

type Answer = string | (() => string | undefined | Promise<string>);

export interface FakeTerminalOptions {
  readonly columns?: number;
  readonly color?: boolean;
  /**
   * What the user types in answer to each question. After the last answer, nobody responds. If it's
   * missing, nobody is at the terminal.
   */
  readonly answers?: readonly Answer[];
  /** Standard input. */
  readonly input?: string | Readable;
}

/** A terminal that records everything written to it. */
export class FakeTerminal implements Dialog {
  printed = '';
  told = '';
  /** The text on the input line when each question was asked. */
  readonly asked: { readonly question: string; readonly prefill: string | undefined }[] = [];
  readonly color: boolean;
  readonly columns: number;
  readonly interactive: boolean;
  readonly #answers: Answer[];
  readonly input: Readable;
  #isOpen = false;
  readonly #listeners = new Set<() => void>();

  constructor({ columns = 160, color = false, answers, input = '' }: FakeTerminalOptions = {}) {
    this.columns = columns;
    this.color = color;
    this.interactive = answers !== undefined;
    this.#answers = [...(answers ?? [])];
    this.input = typeof input === 'string' ? Readable.from([Buffer.from(input)]) : input;
  }

  /** The listeners that still wait for an interrupt. */
  get listeners(): number {
    return this.#listeners.size;
  }

  out = (text: string): void => void (this.printed += `${asShown(this.color, text)}\n`);

  write = (text: string): void => void (this.printed += text);

  err = (text: string): void => void (this.told += `${asShown(this.color, text)}\n`);

  async ask(question: string, { prefill, signal }: AskOptions = {}): Promise<string | undefined> {
    if (!this.interactive) return undefined;
    this.told += question;
    this.asked.push({ question, prefill });
    if (this.#isOpen) throw new Error('Expected one question at a time, got two.');
    this.#isOpen = true;
    await new Promise(setImmediate); // Other code gets the chance to ask first.
    const answer = this.#answers.shift();
    const givenUp = new Promise<undefined>((leave) =>
      signal?.aborted === true
        ? leave(undefined)
        : signal?.addEventListener('abort', () => leave(undefined), { once: true }),
    );
    const text = await Promise.race([typeof answer === 'function' ? answer() : answer, givenUp]);
    this.#isOpen = false;
    this.told += `${text ?? ''}\n`;
    return text;
  }

  onInterrupt(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves once a printed or reported text matches the pattern. */
  async prints(fits: RegExp): Promise<void> {
    while (!fits.test(this.printed + this.told)) await new Promise((wake) => setTimeout(wake, 5));
  }

  interrupt(): void {
    for (const listener of this.#listeners) listener();
  }
}
