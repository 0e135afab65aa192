import { expect, it } from 'vitest';
import { allowAll, brief, reader, setup, writer } from './fixtures/executor-setup.js';

function conversation(options: object = {}) {
  const tools = [
    reader('read', () => 1, { progressParams: ['path'] }),
    reader('plain', () => 1),
    writer('write', () => 1),
    writer('other_write', () => 1),
  ];
  const { executor } = setup(tools, { policy: allowAll, ...options });
  let id = 0;
  return {
    executor,
    /** Calls a tool and returns the outcome. */
    say: async (name: string, input: object = {}, context: object = { conversationId: 'c' }) =>
      brief(await executor.execute({ id: `${id++}`, name, input }, context)),
  };
}
const times = async (count: number, work: () => Promise<string>) => {
  const said: string[] = [];
  for (let index = 0; index < count; index++) said.push(await work());
  return said;
};
const LOOP = 'error LOOP_DETECTED';

it('the fifth equal call in a conversation is rejected', async () => {
  const { say } = conversation();
  expect(await times(6, () => say('plain', { a: 1 }))).toEqual([
    'ok 1',
    'ok 1',
    'ok 1',
    'ok 1',
    LOOP,
    LOOP,
  ]);
  expect(await say('plain', { a: 2 })).toBe('ok 1');
});

it('only a change in the progress parameters counts as progress', async () => {
  const { say } = conversation();
  let attempt = 0;
  expect(await times(5, () => say('read', { path: 'a', hint: attempt++ }))).toEqual([
    'ok 1',
    'ok 1',
    'ok 1',
    'ok 1',
    LOOP,
  ]);
  expect(await say('read', { path: 'b', hint: 0 })).toBe('ok 1');
  expect(await times(5, () => say('read', { hint: attempt++ }))).toEqual([
    'ok 1',
    'ok 1',
    'ok 1',
    'ok 1',
    LOOP,
  ]);
});

it("each conversation has its own count, and calls without a conversation aren't counted", async () => {
  const { say } = conversation();
  await times(5, () => say('plain'));
  expect(await say('plain', {}, { conversationId: 'd' })).toBe('ok 1');
  expect(new Set(await times(20, () => say('plain', {}, {})))).toEqual(new Set(['ok 1']));
});

it("a new write resets the counts, but a repeated write doesn't", async () => {
  const { say } = conversation();
  await times(4, () => say('plain'));
  expect(await say('plain')).toBe(LOOP);
  expect(await say('write', { text: 'a' })).toBe('ok 1');
  expect(await times(5, () => say('plain'))).toEqual(['ok 1', 'ok 1', 'ok 1', 'ok 1', LOOP]);
  expect(await say('write', { text: 'a' })).toBe('ok 1');
  expect(await say('plain')).toBe(LOOP);
  expect(await say('write', { text: 'b' })).toBe('ok 1');
  expect(await say('plain')).toBe('ok 1');
});

it("a call that is rejected as a loop isn't charged to the budget", async () => {
  const { executor } = setup([reader('plain', () => 1)], {
    maxRepeats: 1,
    budgets: [{ per: 'principal', calls: 2 }],
  });
  for (let index = 0; index < 5; index++)
    await executor.execute({ id: '1', name: 'plain' }, { conversationId: 'c' });
  expect(
    brief(
      await executor.execute({ id: '1', name: 'plain', input: { n: 1 } }, { conversationId: 'c' }),
    ),
  ).toBe('ok 1');
});
