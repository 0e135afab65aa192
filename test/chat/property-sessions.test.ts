import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  Session,
  SessionStore,
  type ChatPending,
  type DecisionResult,
  type ToolOutput,
} from '../../src/chat.js';
import { isToolError, type ToolExecutor } from '../../src/index.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { seededRandom } from '../../src/testing.js';
import { WRITES, watched } from './session-stores.js';
import { resultsIn } from './session-thread.js';
import {
  assertSendable,
  callId,
  KINDS,
  kindOf,
  newExecutor,
  scriptOf,
  World,
  type Kind,
  type Script,
} from './session-world.js';
import { propertyRuns } from '../property-runs.js';

/** The kinds of calls whose work never starts. */
const NEVER_BEGUN: ReadonlySet<Kind> = new Set(['manual', 'unknown', 'invalid']);

/**
 * A process that can be killed at one of its writes: before the write, or after the write but before the
 * answer.
 */
class Process {
  dead = false;
  readonly sessions: SessionStore;
  readonly executor: ToolExecutor;
  #left = Infinity;
  #afterWriting = false;
  #die: () => void = () => undefined;

  constructor(shared: StateStore, world: World, key?: Uint8Array) {
    const store = watched(shared, async (operation, _given, go) => {
      if (this.dead) return never();
      const isLast = WRITES.has(operation) && (this.#left -= 1) === 0;
      if (isLast && !this.#afterWriting) return this.#end();
      const answer = await go();
      return isLast ? this.#end() : answer;
    });
    this.sessions = new SessionStore({ store, ...(key && { key }) });
    this.executor = newExecutor(world, this);
  }

  /** Runs some work. Returns `died` if write number `at` killed the process. */
  async run<T>(work: () => Promise<T>, at: number, afterWriting: boolean): Promise<T | 'died'> {
    const died = new Promise<'died'>((resolve) => (this.#die = () => resolve('died')));
    this.#left = at;
    this.#afterWriting = afterWriting;
    try {
      return await Promise.race([work(), died]);
    } finally {
      this.#left = Infinity;
    }
  }

  #end(): Promise<never> {
    this.dead = true;
    this.#die();
    return never();
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

interface Played {
  readonly session: Session;
  readonly world: World;
  readonly deaths: number;
  readonly cancels: number;
  /** Calls whose outcome was unknown. */
  readonly uncertain: ReadonlySet<string>;
}

/** The store and the processes that play a script. */
interface Stage {
  readonly shared?: StateStore;
  readonly world?: World;
  readonly id?: string;
  readonly key?: Uint8Array;
}

/**
 * Plays a script in one process after another, with random user decisions and crashes, until the model
 * has given its last answer.
 */
async function play(
  script: Script,
  seed: number,
  { shared = new MemoryStateStore(), world = new World(), id = 's', key }: Stage = {},
): Promise<Played> {
  const random = seededRandom(seed);
  const chance = (of: number) => random() < of;
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const counts = { deaths: 0, cancels: 0 };
  const uncertain = new Set<string>();
  let here = new Process(shared, world, key);
  let session = here.sessions.create({ id });
  const elsewhere = async (): Promise<Session> => {
    here = new Process(shared, world, key);
    return (await here.sessions.open(id)) ?? here.sessions.create({ id });
  };

  for (let step = 0; step < 500; step += 1) {
    assertHealthy(session, script, world);
    if (session.status === 'completed' && session.haltedReason === 'completed')
      return { session, world, uncertain, ...counts };
    if (session.pending.length > 0 && !chance(0.1)) {
      session = decide(session, pick(session.pending));
      if (chance(0.5)) session = await session.save(); // Otherwise the decision is lost when the process dies.
      if (chance(0.2)) session = await elsewhere();
      continue;
    }
    session = await run(session);
  }
  throw new Error(`the session does not end: ${JSON.stringify(session)}`);

  function decide(from: Session, pending: ChatPending): Session {
    const { callId } = pending;
    if (pending.kind === 'uncertain') uncertain.add(callId);
    const take = decisionOn(pending);
    const once = take(from);
    expect(once).toMatchObject({ ok: true, applied: true });
    const twice = take(once.session);
    expect(twice).toMatchObject({ ok: true, applied: false });
    expect(twice.session).toBe(once.session);
    expect(from.pending).toContainEqual(pending);
    expect(once.session.submitToolResult('nobody', 1)).toMatchObject({
      ok: false,
      error: { code: 'UNKNOWN_CALL' },
    });
    if (pending.kind !== 'uncertain')
      expect(once.session.submitToolResult(callId, { other: seed })).toMatchObject({
        ok: false,
        error: { code: 'ALREADY_RESOLVED' },
      });
    return once.session;
  }

  function decisionOn(pending: ChatPending): (on: Session) => DecisionResult {
    const { callId } = pending;
    if (chance(0.15)) return (on) => on.deny(callId, 'not now');
    switch (pending.kind) {
      case 'manual':
        return (on) => on.submitToolResult(callId, { by: 'hand', callId });
      case 'question':
        return (on) => on.answer(callId, pending.options?.[0] ?? `answer to ${callId}`);
      case 'approval': {
        const amount = pick([undefined, 5, 5000]);
        return (on) =>
          on.approve(
            callId,
            amount === undefined ? {} : { input: { of: callId, amount }, pendingId: pending.id },
          );
      }
      case 'uncertain': {
        if (chance(0.5)) return (on) => on.submitToolResult(callId, { by: 'hand', callId });
        world.rerun(callId);
        return (on) => on.rerun(callId);
      }
    }
  }

  async function run(from: Session): Promise<Session> {
    const dies = counts.deaths < 4 && chance(0.4);
    const givenUp = new AbortController();
    let events = counts.cancels < 4 && chance(0.25) ? Math.floor(random() * 12) : Infinity;
    const engine = {
      model: scriptOf(script),
      executor: here.executor,
      onToolError: chance(0.3) ? ('halt' as const) : ('continue' as const),
      onEvent: () => {
        if ((events -= 1) < 0) givenUp.abort();
      },
    };
    const options = { signal: givenUp.signal };
    const go = () =>
      from.status === 'error'
        ? from.retry(engine, options)
        : from.messages.length === 0
          ? from.start(engine, 'Go', options)
          : from.continue(engine, options);
    try {
      const ended = await here.run(go, dies ? 1 + Math.floor(random() * 8) : Infinity, chance(0.5));
      if (givenUp.signal.aborted) counts.cancels += 1;
      if (ended !== 'died') return ended.session;
    } catch (error) {
      // The session was continued although something was pending.
      if (from.pending.length > 0 && isToolError(error, 'INVALID_STATE')) return from;
      throw error;
    }
    counts.deaths += 1;
    return elsewhere();
  }
}

/**
 * Checks what must always hold: the thread can be sent, the snapshot equals the session, and no call ran
 * twice unless a user requested it.
 */
function assertHealthy(session: Session, script: Script, world: World): void {
  assertSendable(session.messages);
  const copy = JSON.parse(JSON.stringify(session)) as unknown;
  expect(JSON.parse(JSON.stringify(Session.fromJSON(copy)))).toEqual(copy);
  for (const [id, starts] of world.starts) {
    const kind = kindOf(script, id);
    if (kind !== 'idempotent' && starts > 1 + (world.reruns.get(id) ?? 0))
      throw new Error(`${id} (${kind}) ran ${starts} times`);
    if (NEVER_BEGUN.has(kind)) throw new Error(`${id} (${kind}) ran`);
  }
}

/** Checks that a call's result matches the call's tool and the user's decisions. */
function assertResult(
  script: Script,
  id: string,
  output: ToolOutput,
  byHand: ReadonlySet<string>,
  world: World,
): void {
  const expected: Readonly<Record<Kind, readonly unknown[]>> = {
    auto: [world.deed(id)],
    idempotent: [world.deed(id)],
    slow: [world.deed(id)],
    pay: [world.deed(id)],
    halt: [world.deed(id)],
    manual: [{ by: 'hand', callId: id }],
    ask: [`answer to ${id}`],
    choose: ['red'],
    payAsk: [`answer to ${id}`],
    fail: [`${id} cannot`],
    throw: ['broken'],
    unknown: [expect.stringContaining('nobody')],
    invalid: [expect.stringContaining('of')],
  };
  const said = byHand.has(id) ? [{ by: 'hand', callId: id }] : [];
  const denied =
    output.type === 'execution-denied' ||
    (output.type === 'error-text' && output.value.includes('the user decided not to run it again'));
  if (denied) return;
  expect(
    'value' in output &&
      [...expected[kindOf(script, id)], ...said].some((each) => matches(output.value, each)),
    `${id} ${kindOf(script, id)} ${JSON.stringify(output)}`,
  ).toBe(true);
}

function matches(found: unknown, expected: unknown): boolean {
  try {
    expect(found).toEqual(expected);
    return true;
  } catch {
    return false;
  }
}

const scripts: fc.Arbitrary<Script> = fc.array(
  fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 6 }),
  { minLength: 1, maxLength: 4 },
);

it('each call gets one result and each effect happens at most once, despite crashes, aborts, and user decisions', async () => {
  let deaths = 0;
  let cancels = 0;
  let uncertain = 0;
  await fc.assert(
    fc.asyncProperty(scripts, fc.integer(), async (script, seed) => {
      const played = await play(script, seed);
      const results = resultsIn(played.session.messages);
      expect(results.map(([id]) => id)).toEqual(
        script.flatMap((turn, at) => turn.map((_, position) => callId(at, position))),
      );
      for (const [id, output] of results)
        assertResult(script, id, output, played.uncertain, played.world);
      deaths += played.deaths;
      cancels += played.cancels;
      uncertain += played.uncertain.size;
    }),
    { numRuns: propertyRuns(250) },
  );
  // Makes sure that crashes and aborts really happened.
  expect(Math.min(deaths, cancels, uncertain)).toBeGreaterThan(0);
});
