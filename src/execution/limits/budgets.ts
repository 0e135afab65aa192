import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { costRank } from '../../core/enum-order.js';
import { ToolError } from '../../core/errors.js';
import { digestOf } from '../../core/plain-data.js';
import type { CallContext } from '../../safety/calls.js';
import type { StateStore } from '../../state/state-store.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** How much may be called and spent, by each principal or in each conversation. */
export interface Budget {
  readonly per: 'principal' | 'conversation';
  /** At most so many calls. */
  readonly calls?: number | undefined;
  /** At most so much cost: each call's `costPerCall`, or the rank (0–3) of its cost tier. */
  readonly cost?: number | undefined;
  /** After how many milliseconds from the first call everything counts anew. @default never */
  readonly windowMs?: number | undefined;
}

/** One number that is kept below a limit. */
interface Counter {
  readonly key: string;
  readonly max: number;
  readonly unit: 'calls' | 'cost';
  readonly by: number;
  readonly budget: Budget;
}

/** A budget, and how many of the same kind stand before it: each counts by itself. */
interface Numbered {
  readonly budget: Budget;
  readonly nth: number;
}

/** Tells a store that was emptied from one in which nothing was spent yet. */
const EPOCH_KEY = 'budget-epoch';
/** Begins the mark of a store whose loss somebody has accepted. */
const ACCEPTED = 'accepted:';
/** Calls for nobody in particular share one budget: they must not be free. */
const NOBODY = '';

/** What a call costs: what its author said, or the rank of its tier (0 free – 3 high). */
export function costOf(entry: ToolEntry): number {
  return entry.costPerCall ?? costRank(entry.costTier);
}

/**
 * Counts calls and costs before they happen, in a store that processes may share.
 *
 * Whatever is reserved stays spent, also when the call fails. Budgets fail closed: no store, no call; and when the store has
 * lost its counters, calls are refused until `reset`, because what was spent is not known any more.
 */
export class Budgets {
  readonly #budgets: readonly Numbered[];
  readonly #store: StateStore;
  readonly #clock: Clock;
  #epoch: Promise<string> | undefined;
  /** `elapsed()` when the store was found emptied. */
  #lostAt: number | undefined;

  constructor(budgets: readonly Budget[], store: StateStore, clock: Clock) {
    this.#budgets = budgets.map((budget, index) => ({ budget, nth: budgets.slice(0, index).filter((other) => other.per === budget.per && other.windowMs === budget.windowMs).length }));
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Reserves one call of a tool in every budget; when one refuses, nothing is reserved, unless two calls race for the last of it.
   *
   * @throws ToolError `BUDGET_EXCEEDED` naming the budget that is used up, or `STATE_UNAVAILABLE`.
   */
  async reserve(entry: ToolEntry, context: CallContext): Promise<void> {
    const counters = this.#budgets.flatMap((budget) => countersOf(budget, context, entry));
    // Looked at first, so that a call that one budget refuses seldom costs the others: what was taken is not given back,
    // because its window may have ended meanwhile, and the next one would be overspent.
    if (counters.length > 1) await Promise.all(counters.map((counter) => this.#assertFits(counter)));
    for (const counter of counters) await this.#take(counter);
  }

  /**
   * Lets an owner (a principal or a conversation) start at nothing spent; without one, accepts that all counters were lost.
   *
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async reset(owner?: string): Promise<void> {
    await this.#currentEpoch();
    if (owner === undefined) return this.#acceptLoss();
    for (const numbered of this.#budgets) {
      const { budget } = numbered;
      for (const unit of ['calls', 'cost'] as const) {
        if (budget[unit] === undefined) continue;
        const key = keyOf(numbered, unit, owner);
        while (!(await this.#store.compareAndSet(key, await this.#store.get(key), '0', lifetime(budget)))) {
          // Somebody spent in between: again.
        }
      }
    }
  }

  async #take(counter: Counter): Promise<void> {
    const { key, by, max, budget } = counter;
    const epoch = await this.#currentEpoch();
    let sum = await this.#store.increment(key, by, { max, mustExist: true });
    if (sum.value === undefined) {
      await this.#assertNothingLost(budget, epoch);
      await this.#store.compareAndSet(key, undefined, '0', lifetime(budget));
      sum = await this.#store.increment(key, by, { max, mustExist: true });
    }
    if (!sum.applied) throw exceeded(counter, sum.value);
  }

  /** Tells all processes, by the store, that what was lost is to be forgotten. */
  async #acceptLoss(): Promise<void> {
    const accepted = `${ACCEPTED}${randomUUID()}`;
    while (!(await this.#store.compareAndSet(EPOCH_KEY, await this.#store.get(EPOCH_KEY), accepted))) {
      // Another process was faster: again, so that this acceptance is the last word.
    }
    this.#epoch = Promise.resolve(accepted);
    this.#lostAt = undefined;
  }

  async #assertFits(counter: Counter): Promise<void> {
    const spent = await this.#store.get(counter.key);
    if (spent !== undefined && Number(spent) + counter.by > counter.max) throw exceeded(counter, Number(spent));
  }

  async #assertNothingLost(budget: Budget, epoch: string): Promise<void> {
    const now = await this.#store.get(EPOCH_KEY);
    if (now !== epoch) {
      // The next loss is to be noticed too.
      this.#epoch = now === undefined ? undefined : Promise.resolve(now);
      this.#lostAt = now?.startsWith(ACCEPTED) === true ? undefined : this.#clock.elapsed();
      await this.#currentEpoch();
    }
    if (this.#lostAt === undefined) return;
    // What was spent before the loss has left a window that is shorter than the time since.
    if (budget.windowMs !== undefined && this.#clock.elapsed() - this.#lostAt > budget.windowMs) return;
    throw new ToolError('BUDGET_EXCEEDED', 'Expected the counters of a budget, found that the store has lost them; what was spent is not known, so calls are refused until the budget is reset');
  }

  /** The mark that this process found in the store, or put there. */
  async #currentEpoch(): Promise<string> {
    this.#epoch ??= this.#readEpoch();
    try {
      return await this.#epoch;
    } catch (error) {
      this.#epoch = undefined;
      throw error;
    }
  }

  async #readEpoch(): Promise<string> {
    await this.#store.compareAndSet(EPOCH_KEY, undefined, randomUUID());
    const epoch = await this.#store.get(EPOCH_KEY);
    if (epoch === undefined) throw new ToolError('STATE_UNAVAILABLE', 'Expected the store to keep what was written, found it gone');
    return epoch;
  }
}

function countersOf(numbered: Numbered, context: CallContext, entry: ToolEntry): readonly Counter[] {
  const { budget } = numbered;
  const owner = (budget.per === 'principal' ? context.principal : context.conversationId) ?? NOBODY;
  const counters: Counter[] = [];
  if (budget.calls !== undefined) counters.push({ key: keyOf(numbered, 'calls', owner), max: budget.calls, unit: 'calls', by: 1, budget });
  if (budget.cost !== undefined) counters.push({ key: keyOf(numbered, 'cost', owner), max: budget.cost, unit: 'cost', by: costOf(entry), budget });
  return counters;
}

/** Owners are told apart by their digest: names may be of any length and characters. */
function keyOf({ budget: { per, windowMs }, nth }: Numbered, unit: Counter['unit'], owner: string): string {
  return `budget:${per}:${unit}:${windowMs ?? 'ever'}:${nth}:${digestOf(owner)}`;
}

function lifetime({ windowMs }: Budget): { readonly ttlMs?: number } {
  return windowMs === undefined ? {} : { ttlMs: windowMs };
}

function exceeded({ budget, unit, by, max }: Counter, spent: number | undefined): ToolError {
  const details = { per: budget.per, unit, limit: max, spent: spent ?? null, needed: by };
  return new ToolError('BUDGET_EXCEEDED', `Expected at most ${max} ${unit} per ${budget.per}, found ${spent ?? 'an unknown amount'} spent and ${by} more needed; finish without this tool, or have the budget raised`, { details });
}
