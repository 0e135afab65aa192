import { expect, it } from 'vitest';
import { Session, type SessionSnapshot } from '../../src/chat.js';
import { call, newCase } from './session-cases.js';

const copyOf = (session: Session): Session => Session.fromJSON(JSON.parse(JSON.stringify(session)));

it("an approval for one principal doesn't let another principal run the call", async () => {
  const { engine, world } = newCase([{ calls: [call('a', 'pay')] }, 'done'], {
    principal: 'alice',
  });
  const { session } = await Session.create().start(engine, 'pay');
  const approved = session.approve('a').session;
  for (const principal of ['bob', undefined]) {
    const { principal: _alice, ...others } = engine;
    const { session: other } = await copyOf(approved).continue(
      principal === undefined ? others : { ...others, principal },
    );
    expect([other.status, other.pending[0]?.callId]).toEqual(['awaiting_approval', 'a']);
  }
  expect(world.starts.size).toBe(0);
  expect((await copyOf(approved).continue(engine)).session.status).toBe('completed');
  expect(world.starts.get('a')).toBe(1);
});

it('a session in manual mode runs no call, wherever the last process stopped', async () => {
  const { engine, world } = newCase([{ calls: [call('a', 'auto'), call('b', 'idempotent')] }], {
    mode: 'manual',
  });
  const steps: SessionSnapshot[] = [];
  await Session.create().start(engine, 'go', {
    onCheckpoint: (session) => void steps.push(session.snapshot()),
  });
  expect(steps.length).toBeGreaterThan(2);
  for (const snapshot of steps.filter(({ openTurn }) => openTurn !== undefined)) {
    const stored = Session.fromJSON(JSON.parse(JSON.stringify(snapshot)));
    const { pending } = stored.status === 'idle' ? (await stored.continue(engine)).session : stored;
    expect(pending.map(({ kind, callId }) => `${kind} ${callId}`)).toEqual([
      'manual a',
      'manual b',
    ]);
  }
  expect(world.starts.size).toBe(0);
});
