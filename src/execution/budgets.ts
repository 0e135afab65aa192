import { costRank } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { digestOf } from '../core/plain-data.js';
import type { CallContext } from '../safety/calls.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A limit on how many calls each principal or conversation can make, or how much they can cost. */
export interface Budget {
  /** Counts per principal or per conversation. */
  readonly per: 'principal' | 'conversation';
  /** The maximum number of calls. @default no limit */
  readonly calls?: number | undefined;
  /**
   * The maximum total cost. A call costs its `costPerCall`, or the rank (0–3) of its cost tier.
   * @default no limit
   */
  readonly cost?: number | undefined;
  /**
   * The length of a window in milliseconds. The first call starts a window, and the first call
   * after its end starts the next window.
   * @default never resets
   */
  readonly windowMs?: number | undefined;
}

const UNITS = ['calls', 'cost'] as const;

/** A counter that must not exceed its limit. */
interface Counter {
  readonly key: string;
  readonly max: number;
  readonly unit: (typeof UNITS)[number];
  readonly budget: Budget;
}

/**
 * Calls without a principal share one budget. With a budget for each of these calls, they would be
 * unlimited.
 */
const NOBODY = '';

/**
 * Counts each call and its cost before the call runs, in a store that processes can share. Each window has its own
 * counter.
 *
 * Failed calls count too. If the store can't be reached, the call doesn't run. A counter that is deleted from the
 * store starts again at zero.
 */
export class Budgets {
  readonly #budgets: readonly Budget[];
  readonly #store: StateStore;

  constructor(budgets: readonly Budget[], store: StateStore) {
    this.#budgets = budgets;
    this.#store = store;
  }

  /**
   * Charges one call to every budget. If any budget refuses the call, no budget is charged. The
   * exception is two calls that compete for the rest of a budget.
   *
   * @throws ToolError `BUDGET_EXCEEDED` with the exhausted budget, or `STATE_UNAVAILABLE`.
   */
  async spend(entry: ToolEntry, { principal, conversationId }: CallContext): Promise<void> {
    const counters = this.#counters(({ per }) =>
      per === 'principal' ? principal : conversationId,
    );
    const byOf = ({ unit }: Counter) => (unit === 'calls' ? 1 : costOf(entry));
    // Checks all budgets first, so a call that one budget refuses rarely uses up another.
    if (counters.length > 1)
      for (const counter of counters) {
        const spent = Number((await this.#store.get(counter.key)) ?? 0);
        if (spent + byOf(counter) > counter.max) throw exceeded(counter, spent, byOf(counter));
      }
    for (const counter of counters) {
      const { key, max, budget } = counter;
      const ttl = budget.windowMs === undefined ? {} : { ttlMs: budget.windowMs };
      const sum = await this.#store.increment(key, byOf(counter), { max, ...ttl });
      if (!sum.applied) throw exceeded(counter, sum.value ?? 0, byOf(counter));
    }
  }

  /**
   * Resets the budgets of a principal or conversation. Pass '' for calls without a principal or
   * conversation. @throws ToolError `STATE_UNAVAILABLE`.
   */
  async reset(owner: string): Promise<void> {
    for (const { key } of this.#counters(() => owner))
      // Retries if another call charged the budget in between.
      while (!(await this.#store.compareAndSet(key, await this.#store.get(key), undefined)));
  }

  #counters(ownerOf: (budget: Budget) => string | undefined): readonly Counter[] {
    return this.#budgets.flatMap((budget, index) =>
      UNITS.flatMap((unit) => {
        const { per, windowMs = 'ever', [unit]: max } = budget;
        const isSame = (other: Budget) => other.per === per && other.windowMs === budget.windowMs;
        // Two budgets of the same kind count separately.
        // Numbered within their kind: other processes may have other budgets.
        const nth = this.#budgets.slice(0, index).filter(isSame).length;
        // The owner's name is hashed, because it can have any length and contain any characters.
        const owner = digestOf(ownerOf(budget) ?? NOBODY);
        const key = `budget:${per}:${unit}:${windowMs}:${nth}:${owner}`;
        return max === undefined ? [] : [{ key, max, unit, budget }];
      }),
    );
  }
}

/** Returns the cost of one call of a tool, and 0 for an unknown tool. */
export function costOf(entry: ToolEntry | undefined): number {
  return entry === undefined ? 0 : (entry.costPerCall ?? costRank(entry.costTier));
}

function exceeded({ budget, unit, max }: Counter, spent: number, needed: number): ToolError {
  return new ToolError(
    'BUDGET_EXCEEDED',
    `This call would exceed the limit of ${max} ${unit} per ${budget.per}: ${spent} already used, ${needed} more needed. Finish without this tool, or ask for a higher limit.`,
    { details: { per: budget.per, unit, limit: max, spent, needed } },
  );
}
