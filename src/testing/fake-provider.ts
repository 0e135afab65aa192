import type { Provider, ProviderFactory } from '../providers/provider.js';
import type { ToolContext } from '../tool/metadata/tool-options.js';

/** What a fake provider does with a call: answer, throw, or anything a function does. */
export type FakeAnswer = (input: unknown, context: ToolContext) => unknown;

/** A provider that does as a test tells it, and remembers what it was asked. */
export class FakeProvider implements Provider {
  /** The inputs it was called with, in order. */
  readonly inputs: unknown[] = [];
  /** How often its health was asked for. */
  checks = 0;
  /** What its health check answers. */
  health: (signal: AbortSignal) => boolean | Promise<boolean> = () => true;
  readonly requires: readonly (string | readonly string[])[];
  #answer: FakeAnswer;

  /** @param answer what it does with calls until it is told otherwise. @default it returns 'answered' */
  constructor(answer: FakeAnswer = () => 'answered', requires: readonly (string | readonly string[])[] = []) {
    this.#answer = answer;
    this.requires = requires;
  }

  /** How often it was called. */
  get calls(): number {
    return this.inputs.length;
  }

  /** A factory that hands out this one provider. */
  get factory(): ProviderFactory {
    return () => this;
  }

  call(input: unknown, context: ToolContext): unknown {
    this.inputs.push(input);
    return this.#answer(input, context);
  }

  check(signal: AbortSignal): boolean | Promise<boolean> {
    this.checks += 1;
    return this.health(signal);
  }

  /** Answers calls from now on with a value, or as a function says. */
  answers(answer: FakeAnswer): void {
    this.#answer = answer;
  }

  /** Fails calls from now on, as a service that cannot be reached. */
  fails(error: unknown = new Error('connection refused')): void {
    this.#answer = () => {
      throw error;
    };
  }
}
