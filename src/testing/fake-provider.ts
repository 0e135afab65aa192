import type { Provider, ProviderFactory } from '../providers/provider.js';
import type { ToolContext } from '../tool/tool-options.js';

/** A function that answers a fake provider's calls, or throws. */
type FakeAnswer = (input: unknown, context: ToolContext) => unknown;

/** A provider that behaves as a test tells it to, and records its calls. */
export class FakeProvider implements Provider {
  /** The inputs of all calls, in order. */
  readonly inputs: unknown[] = [];
  /** The number of health checks. */
  checks = 0;
  /** The health check. */
  health: (signal: AbortSignal) => boolean | Promise<boolean> = () => true;
  readonly requires: readonly (string | readonly string[])[];
  #answer: FakeAnswer;

  /** @param answer Answers calls until it's replaced. @default returns 'answered' */
  constructor(
    answer: FakeAnswer = () => 'answered',
    requires: readonly (string | readonly string[])[] = [],
  ) {
    this.#answer = answer;
    this.requires = requires;
  }

  /** The number of calls. */
  get calls(): number {
    return this.inputs.length;
  }

  /** A factory that always returns this provider. */
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

  /** Sets the function that answers calls from now on. */
  answers(answer: FakeAnswer): void {
    this.#answer = answer;
  }

  /** Makes calls fail from now on, as if the service couldn't be reached. */
  fails(error: unknown = new Error('connection refused')): void {
    this.#answer = () => {
      throw error;
    };
  }
}
