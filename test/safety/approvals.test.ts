import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { ToolError, isToolError } from '../../src/core/errors.js';
import { Approvals, type Approval, type ApprovedCall } from '../../src/safety/approvals.js';
import type { Decision, PendingApproval } from '../../src/safety/calls.js';
import { MemoryStateStore } from '../../src/state/memory-state-store.js';
import type { StateStore } from '../../src/state/state-store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { RestartingStore } from '../execution/fixtures/restarting-store.js';
import { isDeepFrozen, leavesOf, withLeaf } from '../core/json-values.js';
import { approvalsOfAnotherProcess } from './another-process.js';

const CALL: ApprovedCall = {
  callId: 'call-1',
  toolName: 'write_file',
  definitionDigest: 'a'.repeat(64),
  principal: 'ada',
  conversationId: 'talk',
  input: { path: 'a.txt', lines: [1, 'two', null] },
};
const DECISION: Decision = {
  verdict: 'confirm',
  reason: 'it writes',
  rule: 'axes',
  danger: 'medium',
};
const KEY = randomBytes(32);
const START = 1_700_000_000_000;

let clock: ManualClock;
let store: MemoryStateStore;
let approvals: Approvals;
beforeEach(() => {
  clock = new ManualClock(START);
  store = new MemoryStateStore({ clock });
  approvals = new Approvals({ store, key: KEY, ttlMs: 1_000 });
});

const granted = async (call: ApprovedCall = CALL) =>
  approvals.grant(await approvals.request(call, DECISION));

/** Returns the error code of a refused operation. Fails if the operation succeeds. */
async function code(action: () => unknown): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (isToolError(error)) return error.code;
    throw error;
  }
  throw new Error('expected a refusal, nothing was thrown');
}

describe('approvals', () => {
  it("a pending call with any modified field can't be approved or denied, and stays open", async () => {
    const pending = await approvals.request(CALL, DECISION);
    expect(isDeepFrozen(pending) && isDeepFrozen(await granted())).toBe(true);
    const leaves = leavesOf(pending);
    expect(leaves.length).toBe(18);
    for (const path of leaves) {
      for (const leaf of ['changed', false, 0, true, {}]) {
        expect([
          path,
          await code(() => approvals.grant(withLeaf(pending, path, leaf) as PendingApproval)),
        ]).toEqual([path, 'INVALID_APPROVAL']);
        expect(
          await code(() => approvals.deny(withLeaf(pending, path, leaf) as PendingApproval)),
        ).toBe('INVALID_APPROVAL');
      }
    }
    for (const field of Object.keys(pending)) {
      const { [field as 'id']: _, ...rest } = pending;
      expect([field, await code(() => approvals.grant(rest as PendingApproval))]).toEqual([
        field,
        'INVALID_APPROVAL',
      ]);
    }
    expect(await code(() => approvals.grant({ ...pending, more: 1 } as PendingApproval))).toBe(
      'INVALID_APPROVAL',
    );
    await approvals.grant(pending);
  });

  it("an approval can't be forged by moving text from one field to another", async () => {
    const approval = await granted({ ...CALL, callId: 'a","b', toolName: 'c' });
    for (const [callId, toolName] of [
      ['a', 'b","c'],
      ['a","b","c', ''],
      ['a\nb', 'c'],
      ['a","b\n', 'c'],
    ] as const) {
      expect(
        await code(() =>
          approvals.verify({ ...approval, callId, toolName }, { ...CALL, callId, toolName }),
        ),
      ).toBe('INVALID_APPROVAL');
    }
  });

  it("the signature of a pending call can't be used as an approval", async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await approvals.grant(pending);
    expect(
      await code(() => approvals.verify({ ...approval, signature: pending.signature }, CALL)),
    ).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.verify(pending as unknown as Approval, CALL))).toBe(
      'INVALID_APPROVAL',
    );
    expect(await code(() => approvals.redeem(pending as unknown as Approval))).toBe(
      'INVALID_APPROVAL',
    );
    expect(await code(() => approvals.deny(approval as unknown as PendingApproval))).toBe(
      'INVALID_APPROVAL',
    );
  });
});

it("an approval isn't redeemed if the store returns an invalid answer", async () => {
  const approval = await granted();
  for (const answer of [undefined, null, 'OK', 1, {}, false]) {
    const odd = new Approvals({
      store: {
        compareAndSet: () => Promise.resolve(answer),
        get: () => Promise.resolve(answer),
        now: () => Promise.resolve(answer),
      } as unknown as StateStore,
      key: KEY,
    });
    expect(await code(() => odd.redeem(approval))).toBe('INVALID_APPROVAL');
  }
});

describe('after the store restarts', () => {
  let restarting: RestartingStore;
  const others = (of: typeof Approvals = Approvals) =>
    new of({ store: restarting, key: KEY, ttlMs: 1_000 });
  beforeEach(() => {
    restarting = new RestartingStore(clock);
    approvals = others();
  });

  it('pending calls and approvals from before the restart are rejected, even if the store kept the records', async () => {
    for (const kept of ['saved', 'all', 'nothing'] as const) {
      const [pending, denied, used, unused] = [
        await approvals.request(CALL, DECISION),
        await approvals.request(CALL, DECISION),
        await granted(),
        await granted(),
      ];
      const another = others(await approvalsOfAnotherProcess());
      restarting.save();
      await approvals.redeem(used);
      await restarting.restart(kept);
      for (const by of [approvals, another, others(await approvalsOfAnotherProcess())])
        for (const action of [
          () => by.grant(pending),
          () => by.deny(denied),
          () => by.redeem(used),
          () => by.redeem(unused),
        ])
          expect(await code(action), kept).toBe('INVALID_APPROVAL');
      await expect(another.redeem(unused)).rejects.toThrow(
        'The state store has restarted or been replaced since this approval was requested. Request a new approval.',
      );
      await approvals.redeem(await granted());
    }
  });

  it('approvals from before the restart are accepted if the store has a trusted identity', async () => {
    restarting.trusted = true;
    approvals = others();
    const [used, unused] = [await granted(), await granted()];
    restarting.save();
    await approvals.redeem(used);
    await restarting.restart('saved');
    await approvals.redeem(used);
    await approvals.redeem(unused);
  });

  it('no approval can be used twice, in any order of restarts, uses, and delays', async () => {
    const step = fc.oneof(
      fc.record({ by: fc.nat(2), redeem: fc.nat(4) }),
      fc.record({ by: fc.nat(2), ask: fc.boolean() }),
      fc.constantFrom('save', 'restart saved', 'restart all', 'restart nothing', 'wait'),
    );
    const copies = [
      Approvals,
      await approvalsOfAnotherProcess(),
      await approvalsOfAnotherProcess(),
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        restarting = new RestartingStore(clock);
        const processes = copies.map((each) => others(each));
        const given: Approval[] = [];
        const used = new Set<string>();
        for (const each of steps) {
          if (each === 'save') restarting.save();
          else if (each === 'wait') clock.advance(400);
          else if (typeof each === 'string')
            await restarting.restart(each.slice('restart '.length) as 'saved');
          else if ('ask' in each)
            given.push(
              await processes[each.by]!.grant(await processes[each.by]!.request(CALL, DECISION)),
            );
          else if (given[each.redeem] !== undefined) {
            const { pendingId } = given[each.redeem]!;
            const done = await processes[each.by]!.redeem(given[each.redeem]!).then(
              () => true,
              () => false,
            );
            expect(done && used.has(pendingId)).toBe(false);
            if (done) used.add(pendingId);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

it("if the store doesn't confirm a redemption, the approval counts as used only if the store recorded it", async () => {
  for (const isLostBefore of [true, false]) {
    const approval = await granted();
    const lossy = Object.create(store) as MemoryStateStore;
    lossy.compareAndSet = async (...args) => {
      if (!isLostBefore) await store.compareAndSet(...args);
      throw new ToolError('STATE_UNAVAILABLE', 'no answer');
    };
    const behind = new Approvals({ store: lossy, key: KEY });
    expect(await code(() => behind.redeem(approval))).toBe('STATE_UNAVAILABLE');
    const again = approvals.redeem(approval).then(
      () => 'redeemed',
      (error: ToolError) => error.code,
    );
    expect(await again).toBe(isLostBefore ? 'redeemed' : 'INVALID_APPROVAL');
  }
});

it('an approval that was signed with another key is rejected', async () => {
  const pending = await approvals.request(CALL, DECISION);
  const approval = await granted();
  for (const key of [randomBytes(32), Uint8Array.from([0, ...KEY])]) {
    const other = new Approvals({ store, key });
    expect(await code(() => other.grant(pending))).toBe('INVALID_APPROVAL');
    expect(await code(() => other.verify(approval, CALL))).toBe('INVALID_APPROVAL');
    expect(await code(() => other.redeem(approval))).toBe('INVALID_APPROVAL');
  }
});
