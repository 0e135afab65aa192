import fc from 'fast-check';
import { expect, it } from 'vitest';
import { halt } from '../../src/index.js';
import { anyTool, reader, setup, writer } from './fixtures/executor-setup.js';
import { FailingStore } from './fixtures/failing-store.js';

const tools = [
  reader('fine', () => 1, { cacheTtlMs: 50 }),
  reader('throws', () => {
    throw new Error('x');
  }),
  reader('stops', () => halt('r', 1)),
  reader('slow', () => new Promise(() => undefined), { timeoutMs: 20 }),
  reader('strict', () => 1, { inputSchema: { type: 'object', required: ['n'] } }),
  reader('off', () => 1, { available: () => false }),
  writer('write', () => 1),
  anyTool('mixed', () => 1),
  writer('by_hand', undefined, { manual: true }),
  reader('empty', undefined),
  reader('talks', (_, { reportProgress }) => {
    reportProgress!({ done: 1 });
    reportProgress!(() => 1);
    return 1;
  }),
];

/** Returns true if the user changes the arguments. */
function edits(confirm: unknown): boolean {
  try {
    return typeof confirm === 'function' && typeof (confirm as () => unknown)() === 'object';
  } catch {
    return false;
  }
}

it('every call emits exactly one decision event and one call-settled event, whatever its outcome', async () => {
  const call = fc.record({
    name: fc.constantFrom(...tools.map(({ name }) => name), 'unknown', '__proto__', ''),
    input: fc.constantFrom<unknown>({}, { n: 1 }, 5, null, { f: () => 1 }),
    confirm: fc.constantFrom<unknown>(
      undefined,
      () => true,
      () => false,
      () => ({ input: { n: 2 } }),
      () => ({ input: 5 }),
      () => {
        throw new Error('x');
      },
      'no function',
    ),
    approval: fc.constantFrom<unknown>(undefined, undefined, undefined, {}, 'rubbish', null),
    mode: fc.constantFrom<unknown>(undefined, undefined, 'read-only', 'unattended', 'rubbish'),
    principal: fc.constantFrom<unknown>(undefined, 'ada', 5),
    abort: fc.constantFrom('no', 'no', 'before', 'during'),
    conversationId: fc.constantFrom(undefined, 'c'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (calls, storeFails) => {
        const store = new FailingStore();
        store.fails = () => storeFails;
        const { executor, clock, events } = setup(tools, {
          store,
          maxRepeats: 2,
          maxConcurrent: 2,
          budgets: [{ per: 'principal', calls: 4 }],
        });
        const running = calls.map(({ name, input, abort, ...context }, index) => {
          const controller = new AbortController();
          if (abort === 'before') controller.abort();
          if (abort === 'during') clock.after(10, () => controller.abort());
          return executor.execute(
            { id: `call ${index}`, name, input },
            {
              ...Object.fromEntries(
                Object.entries(context).filter(([, value]) => value !== undefined),
              ),
              signal: controller.signal,
            },
          );
        });
        await clock.advanceAsync(60_000);
        const outcomes = await Promise.all(running);
        for (const [index, outcome] of outcomes.entries()) {
          const told = events.filter(
            (event) => 'callId' in event && event.callId === `call ${index}`,
          );
          // Arguments that the user changed get a second decision.
          const decisions = told.filter(({ type }) => type === 'decision').length;
          expect(
            decisions === 1 || (decisions === 2 && edits(calls[index]!.confirm)),
            JSON.stringify(calls[index]),
          ).toBe(true);
          expect(told.filter(({ type }) => type === 'call-settled')).toMatchObject([
            {
              status: outcome.status,
              attempts: outcome.attempts,
              cached: outcome.cached,
              durationMs: outcome.durationMs,
            },
          ]);
          expect(told[0]?.type).toBe('decision');
          expect(
            told.filter(({ type }) => type !== 'late-result' && type !== 'call-abandoned').at(-1)
              ?.type,
          ).toBe('call-settled');
          expect(told.filter(({ type }) => type === 'call-started').length).toBeLessThanOrEqual(1);
        }
      },
    ),
    { numRuns: 150 },
  );
});

it('events report when the store becomes unreachable and when it is back', async () => {
  const store = new FailingStore();
  const { executor, events } = setup([], { store });
  store.tellAvailable(false);
  store.tellAvailable(true);
  expect(events).toEqual([
    { type: 'state-unavailable', at: 1_000_000 },
    { type: 'state-available', at: 1_000_000 },
  ]);
  await executor.close();
  store.tellAvailable(false);
  expect(events).toHaveLength(2);
});
