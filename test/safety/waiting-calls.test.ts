import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { ToolError, isToolError } from '../../src/core/errors.js';
import type { PendingApproval, PendingQuestion } from '../../src/safety/calls.js';
import { Signer } from '../../src/safety/signer.js';
import { WaitingCalls, type AskedCall } from '../../src/safety/waiting-calls.js';
import type { StateStore } from '../../src/state/state-store.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { RestartingStore } from '../execution/fixtures/restarting-store.js';
import { isDeepFrozen, leavesOf, withLeaf } from '../core/json-values.js';
import { ListedStore } from '../state/listed-store.js';
import { waitingCallsOfAnotherProcess } from './another-process.js';

const CALL = {
  callId: 'call-1',
  toolName: 'write_file',
  definitionDigest: 'a'.repeat(64),
  principal: 'ada',
  conversationId: 'talk',
  input: { path: 'a.txt', lines: [1, 'two', null] },
};
const KEY = randomBytes(32);
const START = 1_700_000_000_000;

let clock: ManualClock;
let store: ListedStore;
let waiting: WaitingCalls;
beforeEach(() => {
  clock = new ManualClock(START);
  store = new ListedStore({ clock });
  waiting = on(store);
});

const on = (of: StateStore, key: Uint8Array = KEY) => new WaitingCalls(of, new Signer(key));

/** Stores a call that waits for approval. */
async function ask(
  call: AskedCall = CALL,
  by: WaitingCalls = waiting,
  of: StateStore = store,
): Promise<PendingApproval> {
  const { time: createdAt, identity: storeIdentity } = await of.now();
  const pending: PendingApproval = {
    kind: 'approval',
    id: by.idFor(call, 'approval', createdAt),
    ...(call as typeof CALL),
    ...{ danger: 'medium', reason: 'it writes', rule: 'axes' },
    ...{ createdAt, expiresAt: createdAt + 1_000, storeIdentity },
  };
  return (await by.ask({ pending })).pending as PendingApproval;
}

async function approved(call: AskedCall = CALL): Promise<PendingApproval> {
  const pending = await ask(call);
  await waiting.approve(pending);
  return pending;
}

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

describe('waiting calls', () => {
  it("a pending call with any modified field can't be approved or denied, and stays open", async () => {
    const pending = await ask();
    expect(isDeepFrozen(pending)).toBe(true);
    const leaves = leavesOf(pending);
    expect(leaves.length).toBe(17);
    for (const path of leaves) {
      for (const leaf of ['changed', false, 0, true, {}]) {
        const changed = withLeaf(pending, path, leaf) as PendingApproval;
        expect([path, await code(() => waiting.approve(changed))]).toEqual([
          path,
          'INVALID_APPROVAL',
        ]);
        expect(await code(() => waiting.deny(changed))).toBe('INVALID_APPROVAL');
      }
    }
    for (const field of Object.keys(pending)) {
      const { [field as 'id']: _, ...rest } = pending;
      expect([field, await code(() => waiting.approve(rest as PendingApproval))]).toEqual([
        field,
        'INVALID_APPROVAL',
      ]);
    }
    expect(await code(() => waiting.approve({ ...pending, more: 1 } as PendingApproval))).toBe(
      'INVALID_APPROVAL',
    );
    await waiting.approve(pending);
  });

  it.each([null, undefined, 'text', 5, [], {}, { id: 5 }, { pending: {} }])(
    "%o isn't accepted as a pending call",
    async (given) => {
      expect(await code(() => waiting.approve(given as never))).toBe('INVALID_APPROVAL');
    },
  );

  it('only one of 100 concurrent uses of an approval succeeds', async () => {
    const pending = await approved();
    const ends = await Promise.allSettled(Array.from({ length: 100 }, () => waiting.use(pending)));
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it("an approval can't be used after it has expired", async () => {
    const pending = await approved();
    clock.advance(1_000);
    expect(await code(() => waiting.use(pending))).toBe('INVALID_APPROVAL');
  });

  it('a record that was signed with another key is ignored', async () => {
    const pending = await approved();
    for (const key of [randomBytes(32), Uint8Array.from([0, ...KEY])]) {
      const other = on(store, key);
      expect(await other.find(CALL, 'approval')).toBeUndefined();
      expect(await other.list()).toEqual([]);
      expect(await code(() => other.approve(pending))).toBe('INVALID_APPROVAL');
    }
  });

  it('an approval and a question about the same call are separate records', async () => {
    const approval = await approved();
    const { danger: _, reason: __, rule: ___, storeIdentity: ____, ...facts } = approval;
    const id = waiting.idFor(CALL, 'question', START);
    const asked: PendingQuestion = { ...facts, kind: 'question', id, question: 'Which?' };
    await waiting.ask({ pending: asked });
    await waiting.answer(asked, 'this one');
    expect((await waiting.find(CALL, 'question'))?.state).toMatchObject({ value: 'this one' });
    expect((await waiting.find(CALL, 'approval'))?.state).toMatchObject({ is: 'approved' });
  });
});

describe('the list of waiting calls', () => {
  const numbered = (n: number, principal = 'ada') => ({ ...CALL, callId: `call-${n}`, principal });

  it('answered and expired calls leave the list, and open calls stay however many are answered', async () => {
    const oldest = await ask(numbered(0));
    for (let n = 1; n <= 1_100; n++) await waiting.deny(await ask(numbered(n, 'eve')));
    expect(await waiting.list()).toEqual([oldest]);
    expect((await waiting.get(oldest.id))?.pending).toEqual(oldest);
    await waiting.approve(oldest);
    expect(await waiting.list()).toEqual([]);
    await ask(numbered(2_000));
    clock.advance(1_000);
    expect(await waiting.list()).toEqual([]);
  });

  it('is read page by page, newest first, even if the last call of a page was answered since', async () => {
    const asked: PendingApproval[] = [];
    for (let n = 0; n < 250; n++) {
      asked.unshift(await ask(numbered(n, n % 2 ? 'ada' : 'eve')));
      clock.advance(1); // Within a millisecond, the counter that keeps the order may start again.
    }
    const first = await waiting.list({ limit: 50 });
    expect(first).toEqual(asked.slice(0, 50));
    await waiting.deny(first.at(-1) as PendingApproval);
    expect(await waiting.list({ limit: 50, after: first.at(-1)!.id })).toEqual(
      asked.slice(50, 100),
    );
    expect(await waiting.list({ limit: Infinity })).toHaveLength(249);
    const ofEve = { principal: 'eve', conversationId: 'talk', limit: 200 };
    expect(await waiting.list(ofEve)).toHaveLength(125 - Number(first.at(-1)!.principal === 'eve'));
    expect(await waiting.list({ ...ofEve, callId: 'call-4' })).toHaveLength(1);
    expect(await waiting.list({ principal: null })).toEqual([]);
  });

  it('keeps no entries of expired calls, even if nobody lists the calls', async () => {
    for (let n = 0; n < 1_000; n++) {
      await ask(numbered(n, `principal ${n}`));
      clock.advance(1_000);
    }
    expect((await store.pageOfIndex('waiting-calls', { limit: 2_000 })).length).toBeLessThan(200);
  });

  it("one conversation can't have more than a thousand waiting calls, and expired calls don't count", async () => {
    for (let n = 0; n < 1_000; n++) await ask(numbered(n, 'eve'));
    expect(await code(() => ask(numbered(1_000, 'eve')))).toBe('LIMIT_EXCEEDED');
    await ask(numbered(0, 'ada'));
    clock.advance(61_000);
    await ask(numbered(1_000, 'eve'));
    expect(await waiting.list()).toHaveLength(1);
  });
});

it("an approval isn't used if the store returns an invalid answer", async () => {
  const pending = await approved();
  for (const answer of [undefined, null, 'OK', 1, {}, false]) {
    const odd = on({
      compareAndSet: () => Promise.resolve(answer),
      now: () => Promise.resolve({ time: START, identity: 'odd' }),
    } as unknown as StateStore);
    expect(await code(() => odd.use(pending))).toBe('INVALID_APPROVAL');
  }
});

describe('after the store restarts', () => {
  let restarting: RestartingStore;
  const others = (of: typeof WaitingCalls = WaitingCalls) => new of(restarting, new Signer(KEY));
  const asking = async (n: number) => ask({ ...CALL, callId: `${n}` }, waiting, restarting);
  const granted = async (n: number) => {
    const pending = await asking(n);
    await waiting.approve(pending);
    return pending;
  };
  beforeEach(() => {
    restarting = new RestartingStore(clock);
    waiting = others();
  });

  it('pending calls and approvals from before the restart are rejected, even if the store kept the records', async () => {
    for (const kept of ['saved', 'all', 'nothing'] as const) {
      const [pending, denied, used, unused] = [
        await asking(1),
        await asking(2),
        await granted(3),
        await granted(4),
      ];
      const another = others(await waitingCallsOfAnotherProcess());
      restarting.save();
      await waiting.use(used);
      await restarting.restart(kept);
      for (const by of [waiting, another, others(await waitingCallsOfAnotherProcess())])
        for (const action of [
          () => by.approve(pending),
          () => by.deny(denied),
          () => by.use(used),
          () => by.use(unused),
        ])
          expect(await code(action), kept).toBe('INVALID_APPROVAL');
      expect(await another.find({ ...CALL, callId: '4' }, 'approval')).toBeUndefined();
      await expect(another.use(unused)).rejects.toThrow(
        'The state store has restarted or been replaced since this approval was requested. Request a new approval.',
      );
      await waiting.use(await granted(5));
    }
  });

  it('approvals from before the restart are accepted if the store has a trusted identity', async () => {
    restarting.trusted = true;
    waiting = others();
    const [used, unused] = [await granted(1), await granted(2)];
    restarting.save();
    await waiting.use(used);
    await restarting.restart('saved');
    await waiting.use(used);
    await waiting.use(unused);
  });

  it('no approval can be used twice, in any order of restarts, uses, and delays', async () => {
    const step = fc.oneof(
      fc.record({ by: fc.nat(2), use: fc.nat(4) }),
      fc.record({ by: fc.nat(2), ask: fc.boolean() }),
      fc.constantFrom('save', 'restart saved', 'restart all', 'restart nothing', 'wait'),
    );
    const copies = [
      WaitingCalls,
      await waitingCallsOfAnotherProcess(),
      await waitingCallsOfAnotherProcess(),
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        restarting = new RestartingStore(clock);
        const processes = copies.map((each) => others(each));
        const given: PendingApproval[] = [];
        const used = new Set<string>();
        for (const each of steps) {
          if (each === 'save') restarting.save();
          else if (each === 'wait') clock.advance(400);
          else if (typeof each === 'string')
            await restarting.restart(each.slice('restart '.length) as 'saved');
          else if ('ask' in each) {
            const pending = await ask(CALL, processes[each.by], restarting);
            await processes[each.by]!.approve(pending);
            given.push(pending);
          } else if (given[each.use] !== undefined) {
            const pending = given[each.use]!;
            const done = await processes[each.by]!.use(pending).then(
              () => true,
              () => false,
            );
            expect(done && used.has(pending.id)).toBe(false);
            if (done) used.add(pending.id);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

it("if the store doesn't confirm a use, the approval counts as used only if the store recorded it", async () => {
  for (const isLostBefore of [true, false]) {
    const pending = await approved();
    const lossy = Object.create(store) as ListedStore;
    lossy.now = () => store.now();
    lossy.compareAndSet = async (...args) => {
      if (!isLostBefore) await store.compareAndSet(...args);
      throw new ToolError('STATE_UNAVAILABLE', 'no answer');
    };
    expect(await code(() => on(lossy).use(pending))).toBe('STATE_UNAVAILABLE');
    const again = waiting.use(pending).then(
      () => 'used',
      (error: ToolError) => error.code,
    );
    expect(await again).toBe(isLostBefore ? 'used' : 'INVALID_APPROVAL');
  }
});
