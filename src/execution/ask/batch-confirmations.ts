import type { Confirm } from '../executor-options.js';

/**
 * Asks a person about the calls of one batch, one after the other.
 *
 * Arguments that a person changed were not planned: such a call runs after all others of its batch that are not asked about
 * themselves, and no two calls that were asked about run at the same time.
 */
export class BatchConfirmations {
  readonly #confirm: Confirm;
  /** Of each call, settled when it has ended or waits for the person. */
  readonly #parted: readonly PromiseWithResolver[];
  readonly #ended: PromiseWithResolver[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(confirm: Confirm, calls: number) {
    this.#confirm = confirm;
    this.#parted = Array.from({ length: calls }, newPromise);
    this.#ended = Array.from({ length: calls }, newPromise);
  }

  /** What asks about one call of the batch. */
  confirmFor(index: number): Confirm {
    return async (pending, options) => {
      this.#parted[index]!.resolve();
      const before = this.#turn;
      this.#turn = this.#ended[index]!.promise;
      await before;
      const answer = await this.#confirm(pending, options);
      if (typeof answer === 'object') await Promise.all(this.#parted.filter((_, other) => other !== index).map(({ promise }) => promise));
      return answer;
    };
  }

  /** Must be called when a call has ended, asked about or not. */
  end(index: number): void {
    this.#parted[index]!.resolve();
    this.#ended[index]!.resolve();
  }
}

interface PromiseWithResolver {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function newPromise(): PromiseWithResolver {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
