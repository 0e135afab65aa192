import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planExecution } from '../../src/execution/plan-execution.js';
import { anyCalls, conflict, keysMeet, naiveBatches, registry, usual } from './naive-planner.js';

/** All keys that the input of a sample call has, whatever they are for. */
const keysOf = ({ input }: { readonly input?: unknown }) =>
  Object.values((input as { readonly keys: object }).keys)
    .flat()
    .map((key) => usual(key as string));

const RUNS = { numRuns: 1_500 };

describe('the plan of any calls', () => {
  it('is that of a comparison of all pairs', () => {
    fc.assert(
      fc.property(anyCalls, (calls) => {
        expect(planExecution(registry, calls).calls.map(({ batch }) => batch)).toEqual(
          naiveBatches(calls),
        );
      }),
      RUNS,
    );
  });

  it('has every call exactly once, in the batch that the call names, batches and positions ascending and none empty', () => {
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const plan = planExecution(registry, calls);
        expect(plan.batches.flat().sort((a, b) => a - b)).toEqual(
          calls.map((_, position) => position),
        );
        expect(plan.calls.map(({ position }) => position)).toEqual(
          calls.map((_, position) => position),
        );
        for (const [index, batch] of plan.batches.entries()) {
          expect(batch).toEqual(
            plan.calls.filter((call) => call.batch === index).map(({ position }) => position),
          );
          expect(batch).not.toEqual([]);
        }
      }),
      RUNS,
    );
  });

  it('puts no two conflicting calls into one batch, and keeps their order', () => {
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const plan = planExecution(registry, calls);
        for (const [later, call] of calls.entries()) {
          for (const [earlier, other] of calls.slice(0, later).entries()) {
            if (conflict(other, call))
              expect(plan.calls[earlier]!.batch).toBeLessThan(plan.calls[later]!.batch);
          }
        }
      }),
      RUNS,
    );
  });

  it('names for every call that waits a conflicting one of the batch before, and none for the others', () => {
    fc.assert(
      fc.property(anyCalls, (calls) => {
        const plan = planExecution(registry, calls);
        for (const { position, batch, after } of plan.calls) {
          expect(after === undefined).toBe(batch === 0);
          if (after === undefined) continue;
          expect(after.position).toBeLessThan(position);
          expect(plan.calls[after.position]!.batch).toBe(batch - 1);
          expect(conflict(calls[after.position]!, calls[position]!)).toBe(true);
          expect(
            after.reason.startsWith(
              `after call ${after.position}, ${plan.calls[after.position]!.toolName}: `,
            ),
          ).toBe(true);
          const [, shared] = / both touch (.*)$/.exec(after.reason) ?? [];
          if (shared === undefined) continue;
          // A long key is cut in the reason.
          for (const each of [after.position, position])
            expect(
              keysOf(calls[each]!).some(
                (key) => key.startsWith(shared.slice(0, 99)) || keysMeet(key, shared),
              ),
              after.reason,
            ).toBe(true);
        }
      }),
      RUNS,
    );
  });

  it('is the same when planned again, and does not change when calls follow', () => {
    fc.assert(
      fc.property(anyCalls, anyCalls, (calls, more) => {
        const plan = planExecution(registry, calls);
        expect(planExecution(registry, calls)).toEqual(plan);
        expect(planExecution(registry, [...calls, ...more]).calls.slice(0, calls.length)).toEqual(
          plan.calls,
        );
      }),
      RUNS,
    );
  });
});
