import type { Provider, ProviderFactory } from '../providers/provider.js';
import type { ToolContext } from '../tool/tool-options.js';

/** A function that answers a fake provider's calls: it returns, throws, or does anything else. */
export type FakeAnswer = (input: unknown, context: ToolContext) => unknown;

/** A provider that does what a test says, and records its calls. */
export class FakeProvider implements Provider {
  /** The inputs it was called with, in order. */
  readonly inputs: unknown[] = [];
  /** The number of times its health was asked for. */
  checks = 0;
  /** The health check. */
  health: (signal: AbortSignal) => boolean | Promise<boolean> = () => true;
  readonly requires: readonly (string | readonly string[])[];
  #answer: FakeAnswer;

  /** @param answer answers calls until another answer is set. @default returns 'answered' */
  constructor(
    answer: FakeAnswer = () => 'answered',
    requires: readonly (string | readonly string[])[] = [],
  ) {
    this.#answer = answer;
    this.requires = requires;
  }

  /** The number of times it was called. */
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

  /** Answers calls from now on with a value, or with the result of a function. */
  answers(answer: FakeAnswer): void {
    this.#answer = answer;
  }

  /** Fails calls from now on, like an unreachable service. */
  fails(error: unknown = new Error('connection refused')): void {
    this.#answer = () => {
      throw error;
    };
  }
}
