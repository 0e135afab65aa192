import type { Clock } from '../core/clock.js';
import { costRank } from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { expectedGot } from '../core/issues.js';
import { digestOf } from '../core/plain-data.js';
import type { CallContext } from '../safety/calls.js';
import { isRestarted } from '../state/state-arguments.js';
import type { Increment, StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { BudgetMarks, type CertainSum, type KnownOwner } from './budget-marks.js';

/** A limit of what may be called and spent, by each principal or in each conversation. */
export interface Budget {
  /** Counts by `principal` or by `conversationId` of the call. */
  readonly per: 'principal' | 'conversation';
  /** Maximum number of calls. @default no limit */
  readonly calls?: number | undefined;
  /** Maximum cost: the sum of each call's `costPerCall`, or the rank (0–3) of its cost tier. @default no limit */
  readonly cost?: number | undefined;
  /** Milliseconds within which it counts, any such time, by the clock of the state store; up to an eighth more are counted. @default ever */
  readonly windowMs?: number | undefined;
}

/** One number that is kept below a limit. */
interface Counter {
  readonly key: string;
  readonly owner: string;
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

/** Calls for nobody in particular share one budget: they must not be free. */
const NOBODY = '';

/** Returns what a call costs: what its author said, or the rank of its tier (0 free – 3 high). */
function costOf(entry: ToolEntry): number {
  return entry.costPerCall ?? costRank(entry.costTier);
}

/**
 * Counts calls and costs before they happen, in a store that processes may share.
 *
 * Whatever is reserved stays spent, also when the call fails. Budgets fail closed: no store, no call; and when the store has
 * lost what was counted (see `BudgetMarks`), calls are refused until `reset`, or for one window, because what was spent is not known any more.
 */
export class Budgets {
  readonly #budgets: readonly Numbered[];
  readonly #store: StateStore;
  readonly #marks: BudgetMarks;

  constructor(budgets: readonly Budget[], store: StateStore, clock: Clock) {
    this.#budgets = budgets.map((budget, index) => ({
      budget,
      nth: budgets
        .slice(0, index)
        .filter((other) => other.per === budget.per && other.windowMs === budget.windowMs).length,
    }));
    this.#store = store;
    this.#marks = new BudgetMarks(store, clock);
  }

  /**
   * Reserves one call of a tool in every budget; when one refuses, nothing is reserved, unless two calls race for the last of it.
   *
   * @throws ToolError `BUDGET_EXCEEDED` naming the budget that is used up or closed, or `STATE_UNAVAILABLE`.
   */
  async reserve(entry: ToolEntry, context: CallContext): Promise<void> {
    const counters = this.#budgets.flatMap((budget) => countersOf(budget, context, entry));
    // Looked at first, so that a call that one budget refuses seldom costs the others: what was taken is not given back,
    // because its window may have ended meanwhile, and the next one would be overspent.
    if (counters.length > 1)
      await Promise.all(counters.map((counter) => this.#assertFits(counter)));
    for (const counter of counters) await this.#take(counter);
  }

  /**
   * Lets an owner (a principal or a conversation) start at nothing spent; without one, accepts that counters were lost.
   *
   * @throws ToolError `STATE_UNAVAILABLE`.
   */
  async reset(owner?: string): Promise<void> {
    if (owner === undefined) return this.#marks.accept();
    const known = await this.#marks.read(owner, true);
    const { identity } = known.era;
    await this.#marks.reset(owner, known, async () => {
      for (const numbered of this.#budgets) {
        for (const unit of ['calls', 'cost'] as const) {
          const key = keyOf(numbered, unit, owner);
          while (
            numbered.budget[unit] !== undefined &&
            !(await this.#store.compareAndSet(key, await this.#store.get(key), undefined, {
              identity,
            }))
          ) {
            // Another call spent in between: again.
          }
        }
      }
    });
  }

  async #take(counter: Counter): Promise<void> {
    const { key, owner, by, max, budget } = counter;
    let known = await this.#open(counter);
    let sum: Increment | undefined;
    while (sum === undefined) {
      const before = known.sums.get(key);
      try {
        sum = await this.#store.increment(key, by, {
          max,
          identity: known.era.identity,
          ...window(budget),
        });
      } catch (error) {
        if (!isRestarted(error)) throw error;
        known = await this.#marks.read(owner, true);
        assertOpen(counter, known);
        continue;
      }
      if (this.#isLost(before, sum, counter))
        await this.#beginAgain(counter, await this.#marks.followUp(owner, known));
      else known.sums.set(key, seen(known.sums.get(key), sum));
    }
    if (!sum.applied) throw exceeded(counter, sum.value ?? 0);
  }

  /**
   * Learns the sum of a counter that another process reset: with what this call just added unknown, the next loss of the
   * counter would go unnoticed. The sum is certain only if no reset came between two looks at the owner's mark.
   */
  async #beginAgain(counter: Counter, known: KnownOwner): Promise<void> {
    assertOpen(counter, known);
    const { key, owner, budget } = counter;
    const sum = await this.#store
      .increment(key, 0, { mustExist: true, identity: known.era.identity, ...window(budget) })
      .catch(ignoreRestart);
    const now = await this.#marks.read(owner);
    if (sum !== undefined && now.sums === known.sums) now.sums.set(key, seen(undefined, sum));
  }

  async #assertFits(counter: Counter): Promise<void> {
    const { key, by, max, budget } = counter;
    const { identity } = (await this.#open(counter)).era;
    const spent =
      budget.windowMs === undefined
        ? await this.#store.get(key)
        : await this.#store
            .increment(key, 0, { mustExist: true, identity, ...window(budget) })
            .then(({ value }) => value, ignoreRestart);
    if (spent !== undefined && Number(spent) + by > max) throw exceeded(counter, Number(spent));
  }

  async #open(counter: Counter): Promise<KnownOwner> {
    const known = await this.#marks.look(
      counter.owner,
      (known) => !isClosed(counter.budget, known),
    );
    assertOpen(counter, known);
    return known;
  }

  /** Tells that a counter was removed or went back: it is less than this process has seen, or a window that should live began again. */
  #isLost(
    known: CertainSum | undefined,
    { applied, value = 0 }: Increment,
    { by, budget: { windowMs } }: Counter,
  ): boolean {
    // A window ends by itself.
    if (known === undefined || windowMs !== undefined) return false;
    return isBelow(value, known.value + (applied ? by : 0));
  }
}

/** Adds an answer of the store to what is certain. */
function seen(before: CertainSum | undefined, { value = 0 }: Increment): CertainSum {
  return { value: Math.max(value, before?.value ?? 0) };
}

/** Compares sums that may have been added up in another order. */
function isBelow(value: number, least: number): boolean {
  return value < least - 1e-9 * Math.max(1, least);
}

function window({ windowMs }: Budget): { readonly windowMs?: number } {
  return windowMs === undefined ? {} : { windowMs };
}

/** Leaves a restart to the operation that follows. */
function ignoreRestart(error: unknown): undefined {
  if (!isRestarted(error)) throw error;
}

function isClosed({ windowMs }: Budget, { lostAt, time = 0 }: KnownOwner): boolean {
  return lostAt !== undefined && (windowMs === undefined || time <= lostAt + windowMs);
}

function countersOf(
  numbered: Numbered,
  context: CallContext,
  entry: ToolEntry,
): readonly Counter[] {
  const { budget } = numbered;
  const owner = (budget.per === 'principal' ? context.principal : context.conversationId) ?? NOBODY;
  const counters: Counter[] = [];
  if (budget.calls !== undefined)
    counters.push({
      key: keyOf(numbered, 'calls', owner),
      owner,
      max: budget.calls,
      unit: 'calls',
      by: 1,
      budget,
    });
  if (budget.cost !== undefined)
    counters.push({
      key: keyOf(numbered, 'cost', owner),
      owner,
      max: budget.cost,
      unit: 'cost',
      by: costOf(entry),
      budget,
    });
  return counters;
}

/** Owners are told apart by their digest: names may be of any length and characters. */
function keyOf(
  { budget: { per, windowMs }, nth }: Numbered,
  unit: Counter['unit'],
  owner: string,
): string {
  return `budget:${per}:${unit}:${windowMs ?? 'ever'}:${nth}:${digestOf(owner)}`;
}

/** @throws ToolError `BUDGET_EXCEEDED` when what was spent is not known, with when and by what the budget opens again. */
function assertOpen({ budget, unit, max }: Counter, known: KnownOwner): void {
  if (!isClosed(budget, known)) return;
  const { per, windowMs } = budget;
  const lostAt = known.lostAt!;
  const reopensAt = windowMs === undefined ? undefined : lostAt + windowMs;
  const advice = `${reopensAt === undefined ? 'Ask an operator' : `Wait until ${dateOf(reopensAt)}, or ask an operator`} to accept that: resetBudgets() for all owners, resetBudgets(owner) for this one.`;
  const got = `a state store that restarted or lost them by ${dateOf(lostAt)}: what was spent is not known`;
  throw new ToolError(
    'BUDGET_EXCEEDED',
    expectedGot(`the counters of the budget of ${max} ${unit} per ${per}`, got, advice),
    {
      details: {
        per,
        unit,
        limit: max,
        reason: 'lost',
        lostAt,
        ...(reopensAt !== undefined && { reopensAt }),
      },
    },
  );
}

function dateOf(time: number): string {
  return new Date(time).toISOString();
}

function exceeded({ budget, unit, by, max }: Counter, spent: number): ToolError {
  const details = { per: budget.per, unit, limit: max, spent, needed: by };
  return new ToolError(
    'BUDGET_EXCEEDED',
    expectedGot(
      `at most ${max} ${unit} per ${budget.per}`,
      `${spent} spent and ${by} more needed`,
      'Finish without this tool, or have the budget raised.',
    ),
    { details },
  );
}
