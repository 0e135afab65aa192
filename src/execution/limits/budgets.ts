import { randomUUID } from 'node:crypto';
import type { Clock } from '../../core/clock.js';
import { costRank } from '../../core/enum-order.js';
import { ToolError } from '../../core/errors.js';
import { digestOf } from '../../core/plain-data.js';
import type { CallContext } from '../../safety/tool-call.js';
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
   * Reserves one call of a tool in every budget, or in none.
   *
   * @throws ToolError `BUDGET_EXCEEDED` naming the budget that is used up, or `STATE_UNAVAILABLE`.
   */
  async reserve(entry: ToolEntry, context: CallContext): Promise<void> {
    const taken: Counter[] = [];
    for (const counter of this.#budgets.flatMap((budget) => countersOf(budget, context, entry))) {
      try {
        await this.#take(counter);
        taken.push(counter);
      } catch (error) {
        // Best effort: a counter that cannot be given back stays too high, which is the safe side.
        await Promise.allSettled(taken.map(({ key, by }) => this.#store.increment(key, -by, { mustExist: true })));
        throw error;
      }
    }
  }

  /**
   * Lets an owner (a principal or a conversation) start at nothing spent; without one, accepts that all counters were lost.
   *
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async reset(owner?: string): Promise<void> {
    await this.#currentEpoch();
    if (owner === undefined) {
      this.#epoch = undefined;
      this.#lostAt = undefined;
      await this.#currentEpoch();
      return;
    }
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

  async #assertNothingLost(budget: Budget, epoch: string): Promise<void> {
    if (this.#lostAt === undefined && (await this.#store.get(EPOCH_KEY)) !== epoch) this.#lostAt = this.#clock.elapsed();
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
