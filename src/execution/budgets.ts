import { costRank } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { digestOf } from '../core/plain-data.js';
import type { CallContext } from '../safety/calls.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/** A limit of what may be called and spent, by each principal or in each conversation. */
export interface Budget {
  /** Counts by `principal` or by `conversationId` of the call. */
  readonly per: 'principal' | 'conversation';
  /** Maximum number of calls. @default no limit */
  readonly calls?: number | undefined;
  /** Maximum cost: the sum of each call's `costPerCall`, or the rank (0–3) of its cost tier. @default no limit */
  readonly cost?: number | undefined;
  /** Milliseconds of one window. The first call starts it, and the first call after its end starts the next one. @default ever */
  readonly windowMs?: number | undefined;
}

const UNITS = ['calls', 'cost'] as const;

/** One number that is kept below a limit. */
interface Counter {
  readonly key: string;
  readonly max: number;
  readonly unit: (typeof UNITS)[number];
  readonly budget: Budget;
}

/** Calls for nobody in particular share one budget: they must not be free. */
const NOBODY = '';

/**
 * Counts calls and costs before they happen, in a store that processes may share: one counter for each window.
 *
 * What is spent stays spent, also when the call fails. Without the store there's no call. A counter that somebody removed
 * from the store starts again.
 */
export class Budgets {
  readonly #budgets: readonly Budget[];
  readonly #store: StateStore;

  constructor(budgets: readonly Budget[], store: StateStore) {
    this.#budgets = budgets;
    this.#store = store;
  }

  /**
   * Spends one call of a tool from every budget; when one refuses, nothing is spent, unless two calls race for the last of it.
   *
   * @throws ToolError `BUDGET_EXCEEDED` naming the budget that is used up, or `STATE_UNAVAILABLE`.
   */
  async spend(entry: ToolEntry, { principal, conversationId }: CallContext): Promise<void> {
    const counters = this.#counters(({ per }) =>
      per === 'principal' ? principal : conversationId,
    );
    const byOf = ({ unit }: Counter) =>
      unit === 'calls' ? 1 : (entry.costPerCall ?? costRank(entry.costTier));
    // Checked before spending, so a call that one budget refuses rarely uses up another.
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

  /** Lets an owner (a principal or a conversation; '' for calls without one) start at nothing spent. @throws ToolError `STATE_UNAVAILABLE`. */
  async reset(owner: string): Promise<void> {
    for (const { key } of this.#counters(() => owner))
      // Another call may spend in between: then again.
      while (!(await this.#store.compareAndSet(key, await this.#store.get(key), undefined)));
  }

  #counters(ownerOf: (budget: Budget) => string | undefined): readonly Counter[] {
    return this.#budgets.flatMap((budget, index) =>
      UNITS.flatMap((unit) => {
        const { per, windowMs = 'ever', [unit]: max } = budget;
        const isSame = (other: Budget) => other.per === per && other.windowMs === budget.windowMs;
        // Two budgets of the same kind count by themselves; other processes may have others between them.
        const nth = this.#budgets.slice(0, index).filter(isSame).length;
        // Owners are told apart by their digest: names may be of any length and characters.
        const owner = digestOf(ownerOf(budget) ?? NOBODY);
        const key = `budget:${per}:${unit}:${windowMs}:${nth}:${owner}`;
        return max === undefined ? [] : [{ key, max, unit, budget }];
      }),
    );
  }
}

function exceeded({ budget, unit, max }: Counter, spent: number, needed: number): ToolError {
  return new ToolError(
    'BUDGET_EXCEEDED',
    expectedGot(
      `at most ${max} ${unit} per ${budget.per}`,
      `${spent} spent and ${needed} more needed`,
      'Finish without this tool, or have the budget raised.',
    ),
    { details: { per: budget.per, unit, limit: max, spent, needed } },
  );
}
