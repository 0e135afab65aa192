import { describe, expect, it } from 'vitest';
import { Session, SessionStore } from '../../src/chat.js';
import { ToolError } from '../../src/index.js';
import { MemoryStateStore, type StateStore } from '../../src/state.js';
import { ManualClock } from '../../src/testing.js';
import { call, codeOf, newCase } from './session-cases.js';
import { watched, type Operation } from './session-stores.js';
import { World } from './session-world.js';

const KEY = new Uint8Array(32).fill(7);
const LONG = 'long '.repeat(80_000);

interface Log {
  readonly key: string;
  readonly items: readonly string[];
}

async function logOf(store: StateStore, id = 's'): Promise<Log> {
  const key = `session-log/${id}/${await store.get(`session/${id}`)}`;
  return { key, items: await store.read(key, { limit: 1_000 }) };
}

/** A store in which the log of a session has other items. */
async function forged({ key, items }: Log, id = 's'): Promise<StateStore> {
  const store = new MemoryStateStore();
  await store.compareAndSet(`session/${id}`, undefined, key.split('/')[2]);
  for (const item of items) await store.append(key, item, { max: 10_000 });
  return store;
}

/** A session with a log of many items, some decisions among them. */
async function written(
  key?: Uint8Array,
): Promise<{ readonly store: MemoryStateStore; readonly log: Log; readonly session: Session }> {
  const store = new MemoryStateStore();
  const { engine } = newCase([
    { calls: [call('a', 'auto'), call('p', 'pay'), call('q', 'pay'), call('m', 'manual')] },
    'done',
  ]);
  let { session } = await new SessionStore({ store, ...(key && { key }) })
    .create({ id: 's' })
    .start(engine, 'Go');
  session = await session.approve('p').session.save();
  session = await session.deny('q').session.save();
  ({ session } = await session.submitToolResult('m', 1).session.continue(engine));
  return { store, session, log: await logOf(store) };
}

describe('the log of a session, signed with a key', () => {
  it('opens with this key only, which the store of sessions has copied', async () => {
    const { store, session } = await written(KEY);
    const key = Uint8Array.from(KEY);
    const sessions = new SessionStore({ store, key });
    key.fill(0);
    expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
    expect(await codeOf(new SessionStore({ store, key: new Uint8Array(32) }).open('s'))).toBe(
      'INVALID_SNAPSHOT',
    );
    const unsigned = await written();
    expect(await codeOf(new SessionStore({ store: unsigned.store, key: KEY }).open('s'))).toBe(
      'INVALID_SNAPSHOT',
    );
  });

  it('is refused with any item changed, left out, twice, or in another place', async () => {
    const { log } = await written(KEY);
    expect(log.items.length).toBeGreaterThan(8);
    const refused = async (items: readonly string[]) =>
      expect(
        await codeOf(
          new SessionStore({ store: await forged({ ...log, items }), key: KEY }).open('s'),
        ),
      ).toBe('INVALID_SNAPSHOT');
    for (const [at, item] of log.items.entries()) {
      const others = (...between: readonly string[]) => [
        ...log.items.slice(0, at),
        ...between,
        ...log.items.slice(at + 1),
      ];
      for (const changed of [
        item.slice(0, -1),
        `${item} `,
        item.replace(':', ''),
        `é${item.slice(1)}`,
        item.slice(65),
      ])
        await refused(others(changed));
      await refused(others(item, item));
      if (at < log.items.length - 1) await refused(others());
      if (at > 0)
        await refused([
          ...log.items.slice(0, at - 1),
          item,
          log.items[at - 1]!,
          ...log.items.slice(at + 1),
        ]);
    }
  });

  it('is refused under another id, and as another log of the same session', async () => {
    const { log } = await written(KEY);
    const other = { ...log, key: log.key.replace('/s/', '/t/') };
    expect(
      await codeOf(new SessionStore({ store: await forged(other, 't'), key: KEY }).open('t')),
    ).toBe('INVALID_SNAPSHOT');
    const again = { ...log, key: `session-log/s/${crypto.randomUUID()}` };
    expect(await codeOf(new SessionStore({ store: await forged(again), key: KEY }).open('s'))).toBe(
      'INVALID_SNAPSHOT',
    );
  });

  it('cut off at its end opens as the session was then, which no signature can tell from now', async () => {
    const { log } = await written(KEY);
    const revs: number[] = [];
    for (let length = 2; length <= log.items.length; length += 1) {
      const store = await forged({ ...log, items: log.items.slice(0, length) });
      const session = (await new SessionStore({ store, key: KEY }).open('s'))!;
      expect(JSON.stringify(Session.fromJSON(session.toJSON()))).toBe(JSON.stringify(session));
      revs.push(session.rev);
    }
    expect(revs).toEqual([...revs].sort((a, b) => a - b));
    expect(new Set(revs).size).toBeGreaterThan(5);
  });
});

describe('the log of a session, without a key', () => {
  it('is refused when its changes do not fit the session, or are no changes', async () => {
    const { log } = await written();
    const [header, snapshot, ...changes] = log.items as [string, string, ...string[]];
    const open = async (items: readonly string[]) =>
      codeOf(new SessionStore({ store: await forged({ ...log, items }) }).open('s'));
    expect(await open(log.items)).toBe('fine');
    const junk = [
      '',
      ':',
      ':5',
      ':null',
      ':[]',
      ':{}',
      ':{"rev":-1}',
      ':{"rev":1e9,"extra":1}',
      ':{"rev":1e9,"calls":[[0,{"state":"approved"}]]}',
      ':{"rev":1e9,"messages":{"from":99,"items":[]}}',
      ':{"rev":1e9,"turnEnd":{}}',
      ':{"moved":"x"}',
    ];
    for (const item of junk)
      expect([item, await open([...log.items, item])]).toEqual([item, 'INVALID_SNAPSHOT']);
    for (const [at, item] of junk.entries())
      expect([
        at,
        await open([item, snapshot, ...changes]),
        await open([header, item, ...changes]),
      ]).toEqual([at, 'INVALID_SNAPSHOT', 'INVALID_SNAPSHOT']);
    expect(await open([header, snapshot, ...changes.toReversed()])).toBe('INVALID_SNAPSHOT');
    expect(await open([header])).toBe('INVALID_SNAPSHOT');
    expect(await open([header.replace('"pieces":1', '"pieces":2'), snapshot])).toBe(
      'INVALID_SNAPSHOT',
    );
    expect(await open([])).toBe('INVALID_SNAPSHOT');
    expect(await open([`:{"moved":"${log.key.split('/')[2]}"}`])).toBe('INVALID_SNAPSHOT');
    expect(await open([header, snapshot, `:{"moved":"${log.key.split('/')[2]}"}`])).toBe(
      'INVALID_SNAPSHOT',
    );
  });
});

describe('a log that is written afresh', () => {
  it('loses nothing when its process dies before or after any operation, also several times, and leaves nothing that is read', async () => {
    let points = 0;
    for (const afterwards of [false, true]) {
      for (let at = 1; ; at += 1) {
        const memory = new MemoryStateStore();
        const { engine } = newCase(['hello', 'again', 'and again', 'last']);
        let { session } = await new SessionStore({ store: memory, key: KEY })
          .create({ id: 's' })
          .start(engine, 'Go');
        let died = false;
        for (const text of ['Two ', 'Three ']) {
          const known = session.messages.length;
          let left = at;
          // A process that dies leaves what it had written; the error stands for its end.
          const store = watched(memory, async (_operation, _given, go) => {
            left -= 1;
            if (left > 0) return go();
            died = true;
            if (left === 0 && afterwards) await go();
            throw new Error('dead');
          });
          const opened = await new SessionStore({ store, key: KEY })
            .open('s')
            .catch(() => undefined);
          await opened?.reply(engine, text + LONG).catch(() => undefined);
          session = (await new SessionStore({ store: memory, key: KEY }).open('s'))!;
          expect(session.messages.length).toBeGreaterThanOrEqual(known);
          expect(session.messages[0]).toEqual({ role: 'user', content: 'Go' });
          points += 1;
        }
        ({ session } = await session.reply(engine, LONG));
        const stored = (await new SessionStore({ store: memory, key: KEY }).open('s'))!;
        expect(stored.toJSON()).toEqual(session.toJSON());
        expect((await logOf(memory)).items.length).toBeGreaterThan(2);
        await new SessionStore({ store: memory }).delete('s');
        expect(await codeOf(stored.reply(engine, 'Hello?'))).toBe('STALE_SESSION');
        if (!died) break;
      }
    }
    expect(points).toBeGreaterThan(40);
  });

  it('is there for a process that reads it between the steps; of two that write it afresh one wins, wherever the other is', async () => {
    for (let at = 1; at <= 12; at += 1) {
      const memory = new MemoryStateStore();
      const { engine } = newCase(['hello', 'one', 'two', 'three', 'four']);
      await new SessionStore({ store: memory }).create({ id: 's' }).start(engine, 'Go');
      const rival = (await new SessionStore({ store: memory }).open('s'))!;
      let operations = -Infinity;
      let rivals: string | undefined;
      const seen: number[] = [];
      const store = watched(memory, async (_operation, _given, go) => {
        operations += 1;
        seen.push((await new SessionStore({ store: memory }).open('s'))!.messages.length);
        if (operations === at) rivals = await codeOf(rival.reply(engine, `R${LONG}`));
        return go();
      });
      const own = (await new SessionStore({ store }).open('s'))!;
      operations = 0;
      const mine = await codeOf(own.reply(engine, `M${LONG}`));
      const wins = [mine, rivals].filter((code) => code === 'fine').length;
      expect([
        at,
        wins <= 1,
        [mine, rivals].every(
          (code) => code === undefined || code === 'fine' || code === 'STALE_SESSION',
        ),
      ]).toEqual([at, true, true]);
      const texts = (await new SessionStore({ store: memory }).open('s'))!.messages.map(
        ({ content }) => (typeof content === 'string' ? content[0] : undefined),
      );
      expect(texts.filter((first) => first === 'R' || first === 'M').length).toBe(1);
      expect(seen).toEqual([...seen].sort((a, b) => a - b));
      expect(Math.min(...seen)).toBeGreaterThan(1);
    }
  });

  it('goes on from a log that its key does not name yet, however long ago it was written, and then names the newest', async () => {
    const clock = new ManualClock(1_000_000);
    const memory = new MemoryStateStore({ clock });
    const { engine } = newCase(['hello', 'one', 'two', 'three', 'four']);
    let { session } = await new SessionStore({ store: memory })
      .create({ id: 's' })
      .start(engine, 'Go');
    const first = session;
    const head = await memory.get('session/s');
    let naming = false;
    const store = watched(memory, (operation, _given, go) =>
      operation === 'compareAndSet' && !naming
        ? Promise.reject(new ToolError('STATE_UNAVAILABLE', 'Expected an answer, got none.'))
        : go(),
    );
    session = (await new SessionStore({ store }).open('s'))!;
    for (const text of ['One', 'Two']) {
      ({ session } = await session.reply(engine, text + LONG));
      clock.advance(1_000_000);
      expect(await memory.get('session/s')).toBe(head);
      expect((await new SessionStore({ store: memory }).open('s'))!.toJSON()).toEqual(
        session.toJSON(),
      );
    }
    naming = true;
    ({ session } = await session.reply(engine, LONG));
    clock.advance(1_000_000);
    expect(await memory.get('session/s')).not.toBe(head);
    expect((await new SessionStore({ store: memory }).open('s'))!.toJSON()).toEqual(
      session.toJSON(),
    );
    expect(await memory.list('session')).toHaveLength(2);
    expect(await codeOf(first.reply(engine, 'Late'))).toBe('STALE_SESSION');
  });
});

describe('what a run writes', () => {
  it('grows with the number of its calls, and not with its square: characters and operations', async () => {
    const costs: { readonly operations: number; readonly characters: number }[] = [];
    for (const count of [100, 200, 400, 800]) {
      let operations = 0;
      let characters = 0;
      const store = watched(new MemoryStateStore(), (operation: Operation, given, go) => {
        operations += 1;
        const text =
          operation === 'append' ? given[1] : operation === 'compareAndSet' ? given[2] : undefined;
        if (typeof text === 'string') characters += text.length;
        return go();
      });
      const calls = Array.from({ length: count }, (_, at) => call(`c${at}`, 'pay'));
      const { engine, world } = newCase([{ calls }, 'done'], {}, new World());
      const sessions = new SessionStore({ store, key: KEY });
      let { session } = await sessions.create({ id: 's' }).start(engine, 'Go');
      for (const { callId } of session.pending) session = session.approve(callId).session;
      ({ session } = await session.continue(engine));
      expect(world.starts.size).toBe(count);
      expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
      costs.push({ operations, characters });
    }
    for (const [at, { operations, characters }] of costs.entries()) {
      if (at === 0) continue;
      // Twice the calls, twice the cost; a log that is written afresh in between may bring a little more.
      expect([
        at,
        operations / costs[at - 1]!.operations < 2.2,
        characters / costs[at - 1]!.characters < 2.5,
      ]).toEqual([at, true, true]);
    }
    expect(costs[3]!.characters / costs[0]!.characters).toBeLessThan(10);
  });

  it('after many turns is still small: a turn costs what it says, not what was said before', async () => {
    let characters = 0;
    let rewritten = 0;
    const store = watched(new MemoryStateStore(), (operation, given, go) => {
      if (operation === 'append') characters += String(given[1]).length;
      if (operation === 'append' && String(given[1]).includes('{"moved":')) rewritten += 1;
      return go();
    });
    const sessions = new SessionStore({ store });
    const said = 'x'.repeat(5_000);
    let session = sessions.create({ id: 's' });
    const { engine } = newCase(Array.from({ length: 200 }, () => said));
    for (let turn = 0; turn < 200; turn += 1) ({ session } = await session.reply(engine, said));
    const size = JSON.stringify(session).length;
    expect(size).toBeGreaterThan(2_000_000);
    expect(rewritten).toBeGreaterThan(3);
    // Each rewriting is paid by what was appended since the last: at most two snapshots in all for each character.
    expect(characters).toBeLessThan(4 * size);
    expect((await sessions.open('s'))!.toJSON()).toEqual(session.toJSON());
  });
});
