import { describe, expect, it } from 'vitest';
import {
  chat,
  scriptedModel,
  Session,
  streamChat,
  type ModelStep,
  type SessionSnapshot,
} from '../../src/chat.js';
import { ToolMetadataRegistry } from '../../src/index.js';
import { outputsOf, toolOf } from './chat-cases.js';
import { call, newCase } from './session-cases.js';

const copyOf = (session: Session): Session => Session.fromJSON(JSON.parse(JSON.stringify(session)));

describe('an approval', () => {
  it('an approval for one principal runs nothing for another', async () => {
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

  it("an approval with null as arguments doesn't run the model's arguments", async () => {
    const { engine, world } = newCase([{ calls: [call('a', 'pay')] }, 'done']);
    const { session } = await Session.create().start(engine, 'pay');
    const { session: done } = await session.approve('a', { input: null }).session.continue(engine);
    expect(done.status).toBe('awaiting_approval');
    expect(world.starts.size).toBe(0);
  });
});

describe('in the mode manual', () => {
  it('mode manual runs no call, wherever the last process ended', async () => {
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
      const { pending } =
        stored.status === 'idle' ? (await stored.continue(engine)).session : stored;
      expect(pending.map(({ kind, callId }) => `${kind} ${callId}`)).toEqual([
        'manual a',
        'manual b',
      ]);
    }
    expect(world.starts.size).toBe(0);
  });

  it("mode manual leaves approved calls pending, with the user's arguments", async () => {
    const { engine, world } = newCase([{ calls: [call('a', 'pay')] }, 'done']);
    const { session } = await Session.create().start(engine, 'pay');
    const { session: held, result } = await session
      .approve('a', { input: { of: 'a', amount: 7 } })
      .session.continue({ ...engine, mode: 'manual' });
    expect(result).toMatchObject({
      haltedReason: 'manual_tool_calls',
      pending: [{ kind: 'manual', callId: 'a', input: { of: 'a', amount: 7 } }],
    });
    expect(world.starts.size).toBe(0);
    expect(
      (await copyOf(held).submitToolResult('a', 'paid').session.continue(engine)).result.text,
    ).toBe('done');
  });
});

describe('a run that goes on with an open turn', () => {
  it('a run that continues an open turn counts its turns on', async () => {
    const { engine } = newCase([
      { calls: [call('a', 'auto')] },
      { calls: [call('b', 'pay')] },
      { calls: [call('c', 'auto')] },
      'done',
    ]);
    const { session } = await Session.create().start(engine, 'go');
    const { result } = await copyOf(session).approve('b').session.continue(engine);
    expect(result.turns.map(({ index }) => index)).toEqual([1, 2, 3]);
  });

  it('a resumed chat offers what the model found before, within the limits', async () => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll([
      toolOf('sign', undefined, { manual: true }),
      toolOf('count_zebras', () => 12, { keywords: ['zebra'] }),
      toolOf('sell_zebras', () => 'sold', {
        keywords: ['zebra'],
        accessMode: 'write',
        dangerLevel: 'high',
        executionCategory: 'write',
      }),
    ]);
    const settings = { tools: registry, selectTools: { maxTools: 1, maxDanger: 'low' } } as const;
    const held = await Session.create().start(
      {
        ...settings,
        model: scriptedModel([
          {
            calls: [
              { id: 'f', name: 'find_tools', input: { query: 'zebra' } },
              { id: 's', name: 'sign' },
            ],
          },
        ]),
      },
      'sign',
    );
    const model = scriptedModel([{ calls: [{ id: 'z', name: 'count_zebras' }] }, 'done']);
    const { session } = await copyOf(held.session)
      .submitToolResult('s', true)
      .session.continue({ ...settings, model });
    expect(outputsOf(session.messages)).toMatchObject({ z: { type: 'json', value: 12 } });
    const again = scriptedModel(['done']);
    const forged = JSON.parse(
      JSON.stringify(session.messages).replaceAll('count_zebras', 'sell_zebras'),
    ) as typeof session.messages;
    for (const messages of [session.messages, forged])
      await chat({ ...settings, model: again, messages, prompt: 'sign' });
    expect(again.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['find_tools', 'sign', 'count_zebras'],
      ['find_tools', 'sign'],
    ]);
  });
});

it('leaving streamChat while an event is awaited aborts a model that hangs', async () => {
  let signal: AbortSignal | undefined;
  const model: ModelStep = async function* (request) {
    ({ signal } = request);
    await new Promise(() => undefined);
    yield { type: 'text-delta', text: 'never' };
  };
  const reader = ReadableStream.from(streamChat({ model, prompt: 'hi' })).getReader();
  expect(await reader.read()).toMatchObject({ value: { type: 'turn-started' } });
  const next = reader.read();
  await reader.cancel();
  expect(signal?.aborted).toBe(true);
  expect(await next).toMatchObject({ done: true });
});
