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
import { refusal } from '../tool/sample-tools.js';
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

/** The code with which something is refused; fails when it is not. */
async function code(action: () => unknown): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (isToolError(error)) return error.code;
    throw error;
  }
  throw new Error('expected a refusal, nothing was thrown');
}

describe('an approval', () => {
  it('lets the call run that was approved, once', async () => {
    const pending = await approvals.request(CALL, DECISION);
    expect(pending).toMatchObject({
      kind: 'approval',
      ...CALL,
      danger: 'medium',
      reason: 'it writes',
      rule: 'axes',
      createdAt: START,
      expiresAt: START + 1_000,
      storeIdentity: (await store.now()).identity,
    });
    const approval = await approvals.grant(pending);
    expect(isDeepFrozen(pending) && isDeepFrozen(approval)).toBe(true);
    expect(approvals.verify(approval, CALL)).toEqual(approval);
    await approvals.redeem(approval);
    expect(await code(() => approvals.redeem(approval))).toBe('INVALID_APPROVAL');
  });

  it('is not given for a pending call of which anything was changed, and a try does not use it up', async () => {
    const pending = await approvals.request(CALL, DECISION);
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

  it('of which anything was changed is refused, and a try does not use it up', async () => {
    const approval = await granted();
    const leaves = leavesOf(approval);
    expect(leaves.length).toBe(11);
    for (const path of leaves) {
      for (const leaf of ['changed', null, true, 0, {}]) {
        const changed = withLeaf(approval, path, leaf) as Approval;
        expect([path, await code(() => approvals.verify(changed, CALL))]).toEqual([
          path,
          'INVALID_APPROVAL',
        ]);
        expect([path, await code(() => approvals.redeem(changed))]).toEqual([
          path,
          'INVALID_APPROVAL',
        ]);
      }
    }
    await approvals.redeem(approval);
  });

  it('of one call is none of any other', async () => {
    const anyCall = fc.record({
      callId: fc.string(),
      toolName: fc.string(),
      definitionDigest: fc.string(),
      principal: fc.option(fc.string(), { nil: undefined }),
      conversationId: fc.option(fc.constantFrom('', 'a', 'b'), { nil: undefined }),
      input: fc.jsonValue(),
    }) as fc.Arbitrary<ApprovedCall>;
    await fc.assert(
      fc.asyncProperty(
        anyCall,
        anyCall,
        fc.subarray([
          'callId',
          'toolName',
          'definitionDigest',
          'principal',
          'conversationId',
          'input',
        ] as const),
        async (one, other, fields) => {
          const mixed = {
            ...one,
            ...Object.fromEntries(fields.map((field) => [field, other[field]])),
          };
          const approval = await granted(one);
          const same =
            canonical({ ...mixed, input: 0 }) === canonical({ ...one, input: 0 }) &&
            canonical(mixed.input) === canonical(one.input);
          if (same) approvals.verify(approval, mixed);
          else expect(await code(() => approvals.verify(approval, mixed))).toBe('INVALID_APPROVAL');
        },
      ),
      { numRuns: 200 },
    );
  });

  it('says what differs', async () => {
    const approval = await granted();
    for (const [change, word] of [
      [{ callId: 'x' }, 'id'],
      [{ toolName: 'x' }, 'tool'],
      [{ definitionDigest: 'x' }, 'definition of the tool'],
      [{ principal: 'bob' }, 'principal'],
      [{ conversationId: 'other' }, 'conversation'],
      [{ conversationId: undefined }, 'conversation'],
      [{ input: {} }, 'input'],
    ] as const) {
      expect(refusal(() => approvals.verify(approval, { ...CALL, ...change })).message).toContain(
        `another call: ${word} differs`,
      );
    }
  });

  it('cannot be had by shifting text between fields', async () => {
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

  it('cannot be made from the signature of a pending call', async () => {
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

  it('is for the principal it was given for, and nobody is not the empty name', async () => {
    const forNobody = await granted({ ...CALL, principal: undefined });
    approvals.verify(forNobody, { ...CALL, principal: undefined });
    approvals.verify(forNobody, { ...CALL, principal: null as never });
    expect(await code(() => approvals.verify(forNobody, { ...CALL, principal: '' }))).toBe(
      'INVALID_APPROVAL',
    );
    const forEmpty = await granted({ ...CALL, principal: '' });
    expect(await code(() => approvals.verify(forEmpty, { ...CALL, principal: undefined }))).toBe(
      'INVALID_APPROVAL',
    );
    const forName = await granted({ ...CALL, principal: 'constructor' });
    approvals.verify(forName, { ...CALL, principal: 'constructor' });
    for (const principal of [undefined, '', '__proto__'])
      expect(await code(() => approvals.verify(forName, { ...CALL, principal }))).toBe(
        'INVALID_APPROVAL',
      );
  });
});

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort())
      : item,
  );
}

describe('an answer', () => {
  it('counts once: whoever answers first, decides', async () => {
    const [first, second, third] = [
      await approvals.request(CALL, DECISION),
      await approvals.request(CALL, DECISION),
      await approvals.request(CALL, DECISION),
    ];
    const approval = await approvals.grant(first);
    expect(await code(() => approvals.grant(first))).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.deny(first))).toBe('INVALID_APPROVAL');
    await approvals.redeem(approval);
    expect(await code(() => approvals.grant(first))).toBe('INVALID_APPROVAL');
    await approvals.deny(second);
    expect(await code(() => approvals.grant(second))).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.deny(second))).toBe('INVALID_APPROVAL');
    const answers = await Promise.allSettled([
      approvals.grant(third),
      approvals.deny(third),
      approvals.grant(third),
    ]);
    expect(answers.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  it('with other arguments approves these, and only these', async () => {
    const input = { path: 'b.txt' };
    const approval = await approvals.grant(await approvals.request(CALL, DECISION), { input });
    approvals.verify(approval, { ...CALL, input });
    expect(await code(() => approvals.verify(approval, CALL))).toBe('INVALID_APPROVAL');
    input.path = 'c.txt';
    expect(await code(() => approvals.verify(approval, { ...CALL, input }))).toBe(
      'INVALID_APPROVAL',
    );
  });

  it('with arguments that are no plain data is refused, and the call still waits', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const circle: unknown[] = [];
    circle.push(circle);
    for (const edited of [
      { input: undefined },
      { input: () => 1 },
      { input: { date: new Date() } },
      { input: NaN },
      { input: circle },
      {},
      { inputs: {} },
      { input: {}, more: 1 },
      null,
      'x',
    ]) {
      expect(await code(() => approvals.grant(pending, edited as never))).toBe('INVALID_ARGUMENT');
    }
    await approvals.redeem(await approvals.grant(pending));
  });

  it('can only be given in time', async () => {
    const [pending, other] = [
      await approvals.request(CALL, DECISION),
      await approvals.request(CALL, DECISION),
    ];
    clock.advance(999);
    const approval = await approvals.grant(pending);
    approvals.verify(approval, CALL);
    clock.advance(1);
    expect(await code(() => approvals.grant(other))).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.deny(other))).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.redeem(approval))).toBe('INVALID_APPROVAL');
    expect(await code(() => approvals.assertUnused(approval))).toBe('INVALID_APPROVAL');
  });

  it('keeps the time that is left: neither answer nor use lengthens it', async () => {
    const pending = await approvals.request(CALL, DECISION);
    clock.advance(600);
    const approval = await approvals.grant(pending);
    clock.advance(400);
    expect(await code(() => approvals.redeem(approval))).toBe('INVALID_APPROVAL');
  });
});

describe('the store is the truth:', () => {
  it('of 100 attempts at once exactly one uses an approval', async () => {
    const approval = await granted();
    const others = Array.from(
      { length: 4 },
      () => new Approvals({ store, key: KEY, ttlMs: 1_000 }),
    );
    const answers = await Promise.allSettled(
      Array.from({ length: 100 }, (_, at) => others[at % 4]!.redeem(approval)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled').length).toBe(1);
  });

  it('an empty one refuses, before the answer and after it', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await granted();
    const flushed = new Approvals({ store: new MemoryStateStore({ clock }), key: KEY });
    flushed.verify(approval, CALL);
    expect(await code(() => flushed.redeem(approval))).toBe('INVALID_APPROVAL');
    expect(await code(() => flushed.grant(pending))).toBe('INVALID_APPROVAL');
  });

  it('one that fails lets nothing through', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await granted();
    await store.close();
    for (const action of [
      () => approvals.request(CALL, DECISION),
      () => approvals.grant(pending),
      () => approvals.deny(pending),
      () => approvals.redeem(approval),
    ])
      expect(await code(action)).toBe('STATE_UNAVAILABLE');
  });

  it('one that answers rubbish lets nothing through', async () => {
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
});

describe('a store that restarted', () => {
  let restarting: RestartingStore;
  const others = (of: typeof Approvals = Approvals) =>
    new of({ store: restarting, key: KEY, ttlMs: 1_000 });
  beforeEach(() => {
    restarting = new RestartingStore(clock);
    approvals = others();
  });

  it('as it was before an approval was used lets nobody use it again', async () => {
    const approval = await granted();
    const [here, there] = [approvals, others(await approvalsOfAnotherProcess())];
    restarting.save();
    await here.redeem(approval);
    await restarting.restart('saved');
    for (const each of [here, there, others(await approvalsOfAnotherProcess())])
      expect(await code(() => each.redeem(approval))).toBe('INVALID_APPROVAL');
    await expect(there.redeem(approval)).rejects.toThrow(
      'The state store has restarted or been replaced since the question. Ask again.',
    );
  });

  it('voids questions and approvals of before, used or not, and takes new ones', async () => {
    for (const kept of ['all', 'nothing'] as const) {
      const [pending, denied, approval] = [
        await approvals.request(CALL, DECISION),
        await approvals.request(CALL, DECISION),
        await granted(),
      ];
      await restarting.restart(kept);
      for (const action of [
        () => approvals.grant(pending),
        () => approvals.deny(denied),
        () => approvals.redeem(approval),
      ])
        expect(await code(action)).toBe('INVALID_APPROVAL');
      await approvals.redeem(await granted());
    }
  });

  it('and is trusted goes on with them, also with one whose use it came back without', async () => {
    restarting.trusted = true;
    approvals = others();
    const [used, unused] = [await granted(), await granted()];
    restarting.save();
    await approvals.redeem(used);
    await restarting.restart('saved');
    await approvals.redeem(used);
    await approvals.redeem(unused);
  });

  it('never lets an approval be used twice, whatever happens in between', async () => {
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

describe('a redemption that is not answered', () => {
  it('is an error, whether it happened or not, and never happens twice', async () => {
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
});

describe('the key', () => {
  it('must be the same', async () => {
    const pending = await approvals.request(CALL, DECISION);
    const approval = await granted();
    for (const key of [randomBytes(32), Uint8Array.from([0, ...KEY])]) {
      const other = new Approvals({ store, key });
      expect(await code(() => other.grant(pending))).toBe('INVALID_APPROVAL');
      expect(await code(() => other.verify(approval, CALL))).toBe('INVALID_APPROVAL');
      expect(await code(() => other.redeem(approval))).toBe('INVALID_APPROVAL');
    }
  });
});
