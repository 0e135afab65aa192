import { randomUUID } from '../core/crypto.js';
import type { Clock } from '../core/clock.js';
import { digestOf } from '../core/plain-data.js';
import type { StateStore } from '../state/state-store.js';

/** A life of all counters: one begins with the first call, with each loss that is noticed, and with each that is accepted. */
interface Era {
  readonly id: string;
  /** The identity of the store in which they were counted. */
  readonly identity: string;
  /** The time of their loss, by the store's clock. */
  readonly lostAt?: number | undefined;
  /** Begun by an operator: what was lost before is accepted. */
  readonly accepted?: true | undefined;
}

/** The last reset or loss of one owner's counters; it counts in its era alone. */
interface OwnerMark {
  readonly id: string;
  readonly era: string;
  readonly lostAt?: number;
  /** Stands while the counters are being removed: what they show meanwhile says nothing of what they show afterwards. */
  readonly isUnderWay?: true;
}

/** The knowledge of this process of an owner's counters. */
export interface KnownOwner {
  readonly era: Era;
  /** The owner's mark in the store. */
  readonly text: string | undefined;
  /** Milliseconds of `clock.elapsed()`. */
  readonly readAt: number;
  /** The time of a loss of the counters, by the store's clock, unless it was accepted since. */
  readonly lostAt: number | undefined;
  /** The store's time when this was read; only after a loss. */
  readonly time: number | undefined;
  /** Sums that were certainly added since the marks stand, by the keys of the counters. */
  readonly sums: Map<string, CertainSum>;
}

/** The certain part of a counter: the highest value seen, and the window in which this process counted last, and when. */
export interface CertainSum {
  readonly value: number;
  readonly window?: { readonly born: string; readonly elapsed: number; readonly date: number };
}

const ERA_KEY = 'budget-epoch';
/** Milliseconds for which marks are believed that say that all is well. */
const REREAD_MS = 1_000;
const MOST_OWNERS = 10_000;

/**
 * Knows whether the counters of budgets are still what was counted, and tells other processes by marks in the store.
 *
 * Everything was lost when the store has another identity, or the mark of its era is gone; one owner's counters were lost when one
 * of them is lower than this process knows. Both stay on record until an operator accepts it.
 */
export class BudgetMarks {
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #owners = new Map<string, KnownOwner>();
  readonly #reading = new Map<string, Promise<KnownOwner>>();
  #era: Era | undefined;
  #eraText: string | undefined;

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns what is known of an owner, asked of the store at most once a second while `isFine` says yes. */
  async look(owner: string, isFine: (known: KnownOwner) => boolean): Promise<KnownOwner> {
    const known = this.#owners.get(owner);
    if (
      known !== undefined &&
      known.era === this.#era &&
      this.#clock.elapsed() - known.readAt < REREAD_MS &&
      isFine(known)
    )
      return known;
    const reading =
      this.#reading.get(owner) ?? this.read(owner).finally(() => this.#reading.delete(owner));
    this.#reading.set(owner, reading);
    return reading;
  }

  /** Returns what the store says of an owner now. @param hasRestarted when the store may have another identity. */
  async read(owner: string, hasRestarted = false): Promise<KnownOwner> {
    const readAt = this.#clock.elapsed();
    const [era, text] = await Promise.all([
      this.#readEra(hasRestarted),
      this.#store.get(ownerKey(owner)),
    ]);
    const before = this.#owners.get(owner);
    const isSameEra = before?.era === era;
    if (isSameEra && before.text !== undefined && text === undefined)
      return this.#close(owner, before, undefined);
    const mark = parsed<OwnerMark>(text);
    const lostAt = mark?.era === era.id ? mark.lostAt : era.lostAt;
    const time = lostAt === undefined ? undefined : (await this.#store.now()).time;
    const isUnderWay = mark?.isUnderWay === true;
    const sums =
      isSameEra && before.text === text && !isUnderWay
        ? before.sums
        : new Map<string, CertainSum>();
    return this.#keep(owner, {
      era,
      text,
      readAt: isUnderWay ? -Infinity : readAt,
      lostAt,
      time,
      sums,
    });
  }

  /**
   * Follows up a counter that is lower than `known` says: it was reset by another process, or it was lost.
   *
   * @returns what holds from now on; after a loss, with the time of it, which other processes read too.
   */
  async followUp(owner: string, known: KnownOwner): Promise<KnownOwner> {
    const now = await this.read(owner);
    return now.era !== known.era || now.text !== known.text
      ? now
      : this.#close(owner, now, now.text);
  }

  /**
   * Lets an owner's counters begin again. Marks stand around their removal, so that no process that counts meanwhile takes it for a loss.
   */
  async reset(
    owner: string,
    { era }: KnownOwner,
    removeCounters: () => Promise<void>,
  ): Promise<void> {
    const mark = (more: Partial<OwnerMark>) =>
      this.#write(
        ownerKey(owner),
        () => ({ id: randomUUID(), era: era.id, ...more }) satisfies OwnerMark,
        era.identity,
      );
    await mark({ isUnderWay: true });
    await removeCounters();
    await mark({});
    this.#owners.delete(owner);
  }

  /** Accepts whatever was lost, for all processes. */
  async accept(): Promise<void> {
    const { identity } = await this.#store.now();
    const era: Era = { id: randomUUID(), identity, accepted: true };
    this.#eraText = await this.#write(ERA_KEY, () => era, identity);
    this.#era = era;
  }

  /** Puts a loss on record, unless the owner's mark changed meanwhile: then that holds. */
  async #close(
    owner: string,
    { era }: KnownOwner,
    before: string | undefined,
  ): Promise<KnownOwner> {
    const readAt = this.#clock.elapsed();
    const { time } = await this.#store.now();
    const text = JSON.stringify({
      id: randomUUID(),
      era: era.id,
      lostAt: time,
    } satisfies OwnerMark);
    if (
      (await this.#store.compareAndSet(ownerKey(owner), before, text, {
        identity: era.identity,
      })) !== true
    )
      return this.read(owner);
    return this.#keep(owner, { era, text, readAt, lostAt: time, time, sums: new Map() });
  }

  async #readEra(hasRestarted: boolean): Promise<Era> {
    for (;;) {
      const known = this.#era;
      const text = await this.#store.get(ERA_KEY);
      if (!hasRestarted && known !== undefined && text === this.#eraText) return known;
      const { time, identity } = await this.#store.now();
      const found = parsed<Era>(text);
      // An era that is new to this process, and that nobody began by accepting a loss, was begun in a store that lost the one before.
      const goesOn =
        found?.identity === identity &&
        (known === undefined ||
          found.id === known.id ||
          found.accepted === true ||
          found.lostAt !== undefined);
      if (goesOn) return this.#enter(found, text);
      const next: Era = {
        id: randomUUID(),
        identity,
        ...((known !== undefined || text !== undefined) && { lostAt: time }),
      };
      const nextText = JSON.stringify(next);
      if ((await this.#store.compareAndSet(ERA_KEY, text, nextText, { identity })) === true)
        return this.#enter(next, nextText);
    }
  }

  #enter(era: Era, text: string | undefined): Era {
    this.#eraText = text;
    return (this.#era = this.#era?.id === era.id ? this.#era : era);
  }

  /** Writes a mark over whatever stands there, as the last word. */
  async #write(key: string, next: () => object, identity: string): Promise<string> {
    for (;;) {
      const text = JSON.stringify(next());
      if (
        (await this.#store.compareAndSet(key, await this.#store.get(key), text, { identity })) ===
        true
      )
        return text;
    }
  }

  #keep(owner: string, known: KnownOwner): KnownOwner {
    this.#owners.delete(owner);
    this.#owners.set(owner, known);
    if (this.#owners.size > MOST_OWNERS) this.#owners.delete(this.#owners.keys().next().value!);
    return known;
  }
}

function ownerKey(owner: string): string {
  return `budget-epoch:${digestOf(owner)}`;
}

/** A mark as it was written; other text is none. */
function parsed<T>(text: string | undefined): T | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}
