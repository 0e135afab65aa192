import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ToolDefinition, ToolExecutor, ToolOutcome } from '../../src/index.js';
import type { MemoryStateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { allowAll, anyTool, reader, setup } from './fixtures/executor-setup.js';
import type { FailingStore } from './fixtures/failing-store.js';

/** What the tools read and write: a version for each thing, which every write raises. */
class World {
  readonly versions = new Map<string, number>();
  /** What a handler waits for before and after its work. */
  pause: (label: string) => Promise<void> | undefined = () => undefined;
  failing = false;

  constructor(readonly clock: ManualClock) {}

  versionOf(thing: string): number {
    return this.versions.get(thing) ?? 0;
  }

  raise(things: readonly string[]): void {
    for (const thing of things) this.versions.set(thing, this.versionOf(thing) + 1);
  }

  get tools(): readonly ToolDefinition[] {
    return [
      ...THINGS.map((thing) => this.#reader(thing)),
      ...Object.entries(WRITERS).map(([name, { things, extra }]) =>
        this.#writer(name, things, extra),
      ),
    ];
  }

  #reader(thing: string): ToolDefinition {
    return reader(
      `read_${thing}`,
      async (_, { principal }) => {
        await this.pause(`read_${thing} begins`);
        const answer = {
          thing,
          version: this.versionOf(thing),
          principal: principal ?? null,
          at: this.clock.elapsed(),
        };
        if (this.failing) throw new Error('failed');
        await this.pause(`read_${thing} ends`);
        return answer;
      },
      { cacheTtlMs: TTL, ...(thing !== 'loose' && { category: `category_${thing}` }) },
    );
  }

  #writer(name: string, things: readonly string[], extra: object): ToolDefinition {
    return anyTool(
      name,
      async () => {
        await this.pause(`${name} begins`);
        this.raise(things);
        await this.pause(`${name} ends`);
        if (this.failing) throw new Error('failed');
      },
      extra,
    );
  }
}

const TTL = 1_000;
const THINGS = ['a', 'b', 'loose'] as const;
const WRITERS: Readonly<
  Record<string, { readonly things: readonly string[]; readonly extra: object }>
> = {
  write_a: { things: ['a'], extra: { accessMode: 'write', category: 'category_a' } },
  write_b: {
    things: ['b'],
    extra: { accessMode: 'write', category: 'other', invalidates: ['read_b'] },
  },
  write_ab: {
    things: ['a', 'b'],
    extra: { accessMode: 'write', invalidates: ['category_a', 'category_b'] },
  },
  write_loose: { things: ['loose'], extra: { accessMode: 'write', invalidates: ['read_loose'] } },
  write_unsaid: { things: ['a', 'b', 'loose'], extra: { accessMode: 'write' } },
  run: { things: ['a', 'b', 'loose'], extra: { accessMode: 'execute', category: 'category_a' } },
  mixed: { things: ['a', 'b', 'loose'], extra: {} },
};
const PRINCIPALS = [undefined, '', 'null', 'ada', 'eve'] as const;

interface Answer {
  readonly thing: string;
  readonly version: number;
  readonly principal: string | null;
  readonly at: number;
}

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      thing: fc.constantFrom(...THINGS),
      principal: fc.constantFrom(...PRINCIPALS),
      who: fc.nat(1),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      tool: fc.constantFrom(...Object.keys(WRITERS)),
      who: fc.nat(1),
    }),
  },
);
const step = fc.oneof(
  { weight: 8, arbitrary: operation },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 400, 999, 1_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('fail' as const), failing: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('change' as const),
      thing: fc.constantFrom(...THINGS),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

let id = 0;
function make(executor: ToolExecutor, each: Operation): Promise<ToolOutcome> {
  const call = { id: `${id++}`, name: each.kind === 'read' ? `read_${each.thing}` : each.tool };
  return executor.execute(
    call,
    each.kind === 'read' && each.principal !== undefined ? { principal: each.principal } : {},
  );
}

/** One after the other, an answer is as new as the last write, and at most as old as its lifetime otherwise. */
async function checkOneByOne(
  steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
  executors: readonly ToolExecutor[],
  world: World,
): Promise<void> {
  /** Of each thing the version that the last write of a tool left: nothing older may be served. */
  const written = new Map<string, number>();
  for (const each of steps) {
    if (each.kind === 'wait') world.clock.advance(each.ms);
    else if (each.kind === 'fail') world.failing = each.failing;
    else if (each.kind === 'change') world.raise([each.thing]);
    else {
      const outcome = await make(executors[each.who % executors.length]!, each);
      if (each.kind === 'write')
        for (const thing of WRITERS[each.tool]!.things) written.set(thing, world.versionOf(thing));
      else if (outcome.status === 'ok') {
        const answer = outcome.value as Answer;
        expect(answer.thing).toBe(each.thing);
        expect(answer.principal).toBe(each.principal ?? null);
        expect(answer.version).toBeGreaterThanOrEqual(written.get(each.thing) ?? 0);
        expect(world.clock.elapsed() - answer.at).toBeLessThan(TTL);
        if (!outcome.cached) expect(answer.version).toBe(world.versionOf(each.thing));
      } else {
        expect(world.failing).toBe(true);
        expect(outcome.cached).toBe(false);
      }
    }
  }
}

/** At the same time, an answer is at least as new as every write that had ended when it was asked for. */
async function checkOverlapping(
  operations: readonly Operation[],
  executors: readonly ToolExecutor[],
  world: World,
  scheduler: fc.Scheduler,
): Promise<void> {
  world.pause = (label) => scheduler.schedule(Promise.resolve(), label);
  const ended = new Map<string, number>();
  const all = operations.map(async (each, index) => {
    await scheduler.schedule(Promise.resolve(), `call ${index}`);
    const least = each.kind === 'read' ? (ended.get(each.thing) ?? 0) : 0;
    const outcome = await make(executors[each.who % executors.length]!, each);
    if (each.kind === 'write')
      for (const thing of WRITERS[each.tool]!.things) ended.set(thing, (ended.get(thing) ?? 0) + 1);
    return { each, outcome, least };
  });
  await scheduler.waitFor(Promise.all(all));
  for (const { each, outcome, least } of await Promise.all(all)) {
    expect(outcome.status).toBe('ok');
    if (each.kind !== 'read' || outcome.status !== 'ok') continue;
    const answer = outcome.value as Answer;
    expect(answer.principal).toBe(each.principal ?? null);
    expect(answer.version).toBeGreaterThanOrEqual(least);
  }
}

function executorsOf(
  world: World,
  stores: readonly (MemoryStateStore | FailingStore | undefined)[],
  options: object = {},
): readonly ToolExecutor[] {
  const { tools } = world; // The same definitions in all: they stand for processes that run the same program.
  return stores.map(
    (store) =>
      setup(tools, {
        policy: allowAll,
        clock: world.clock,
        maxAttempts: 1,
        maxConcurrent: 100,
        ...options,
        ...(store && { store }),
      }).executor,
  );
}

describe('an answer never predates the latest write that concerns it, never crosses principals, and is never a kept failure', () => {
  it('one call after the other, in one process', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.constantFrom(1, 3, 1_000),
        async (steps, cacheEntries) => {
          const world = new World(new ManualClock());
          await checkOneByOne(steps, executorsOf(world, [undefined], { cacheEntries }), world);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('with calls that overlap in any order, in one process', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 2, maxLength: 10 }),
        fc.scheduler(),
        async (operations, scheduler) => {
          const world = new World(new ManualClock());
          await checkOverlapping(operations, executorsOf(world, [undefined]), world, scheduler);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('the cache', () => {
  it('never holds more than its bounds, whatever is asked', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ n: fc.nat(12), principal: fc.constantFrom('a', 'b') }), {
          maxLength: 60,
        }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 300 }),
        async (asked, cacheEntries, cacheSize) => {
          const answerOf = (n: number) => 'x'.repeat(n * 10);
          const { executor } = setup(
            [reader('read', ({ n }: { n?: number }) => answerOf(n!), { cacheTtlMs: 1_000 })],
            { cacheEntries, cacheSize },
          );
          for (const { n, principal } of asked)
            await executor.execute({ id: '1', name: 'read', input: { n } }, { principal });
          // The hits of one round over everything, each answer weighed once: a miss may push out what comes later, and only lowers the sum.
          let entries = 0;
          let size = 0;
          for (let n = 12; n >= 0; n--) {
            for (const principal of ['a', 'b']) {
              const outcome = await executor.execute(
                { id: '1', name: 'read', input: { n } },
                { principal },
              );
              if (!outcome.cached) continue;
              entries++;
              size += JSON.stringify(answerOf(n)).length;
            }
          }
          expect(entries).toBeLessThanOrEqual(cacheEntries);
          expect(size).toBeLessThanOrEqual(cacheSize);
        },
      ),
      { numRuns: 150 },
    );
  });
});
