import { isToolError } from '../../core/errors.js';
import type { StateStore } from '../../state/state-store.js';

/** Scopes whose step waits for the store to come back; more than that become one step of everything. */
const MOST_WAITING = 1_000;

/** The state of some scopes: as long as it is equal, nothing of them was dropped. */
export interface Stamp {
  /** What this process dropped itself. */
  readonly own: string;
  /** What all processes dropped; `undefined` while that is not known, or not all of it was told. */
  readonly shared: string | undefined;
}

export function isSameStamp(a: Stamp, b: Stamp): boolean {
  return a.own === b.own && a.shared === b.shared;
}

/**
 * Numbers the states of scopes: answers are good as long as the numbers of their scopes stand.
 *
 * With a shared store the numbers are everybody's. When it cannot be reached, the process goes on with its own, and tells
 * the store what was dropped meanwhile as soon as it answers again.
 */
export class Generations {
  readonly #own = new Map<string, number>();
  readonly #store: StateStore | undefined;
  readonly #everything: string;
  readonly #waiting = new Set<string>();
  readonly #stopListening: (() => void) | undefined;

  constructor(store: StateStore | undefined, everything: string) {
    this.#store = store;
    this.#everything = everything;
    this.#stopListening = store?.onAvailability((available) => {
      if (available) void this.#tellWaiting();
    });
  }

  /** The state of some scopes now. */
  async stamp(scopes: readonly string[]): Promise<Stamp> {
    if (this.#waiting.size > 0) await this.#tellWaiting();
    const shared = this.#store === undefined || scopes.some((scope) => this.#waiting.has(scope)) ? [undefined] : await Promise.all([...scopes.map((scope) => this.#shared(scope)), this.#identity()]);
    // Read last: what is dropped while the store is asked counts.
    const own = scopes.map((scope) => this.#own.get(scope) ?? 0).join('.');
    return { own, shared: shared.includes(undefined) ? undefined : shared.join('.') };
  }

  /** Makes all answers of some scopes stale. */
  async drop(scopes: readonly string[]): Promise<void> {
    for (const scope of scopes) this.#own.set(scope, (this.#own.get(scope) ?? 0) + 1);
    await Promise.all(scopes.map((scope) => this.#tell(scope)));
  }

  close(): void {
    this.#stopListening?.();
  }

  /** The store's identity, asked for after the numbers: a store that restarted may have gone back to older ones, and to older answers with them. */
  async #identity(): Promise<string | undefined> {
    try {
      return (await this.#store!.now()).identity;
    } catch (error) {
      // Otherwise the cache goes on alone.
      return isToolError(error) && error.details['reason'] === 'no_identity' ? '' : undefined;
    }
  }

  async #shared(scope: string): Promise<string | undefined> {
    try {
      const number = await this.#store!.get(storeKey(scope));
      if (number !== undefined) return number;
      return String((await this.#store!.increment(storeKey(scope), step())).value);
    } catch {
      return undefined; // The cache goes on alone.
    }
  }

  async #tell(scope: string): Promise<void> {
    if (this.#store === undefined) return;
    try {
      await this.#store.increment(storeKey(scope), step());
      this.#waiting.delete(scope);
    } catch {
      if (this.#waiting.size < MOST_WAITING) this.#waiting.add(scope);
      else this.#waiting.add(this.#everything);
    }
  }

  async #tellWaiting(): Promise<void> {
    await Promise.all([...this.#waiting].map((scope) => this.#tell(scope)));
  }
}

/** Steps of a generation are random, so that numbers in a store that was emptied never meet the old ones. */
function step(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! || 1;
}

function storeKey(scope: string): string {
  return `cache-generation:${scope}`;
}
