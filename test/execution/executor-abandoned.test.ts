import { expect, it } from 'vitest';
import { defineTool } from '../../src/index.js';
import { allowAll, brief, Gate, reader, setup, writer } from './fixtures/executor-setup.js';

const never = () => new Promise<never>(() => undefined);
const TIMES = { timeoutMs: 100 };

it('a call that is still running after its deadline is reported as abandoned in the outcome, in health, and by abandoned()', async () => {
  const { executor, clock, events } = setup([reader('slow', never)], TIMES);
  const running = executor.execute({ id: 'c1', name: 'slow' }, { principal: 'ada' });
  await clock.advanceAsync(100);
  expect(await running).toMatchObject({ status: 'error', code: 'TIMEOUT', abandoned: true });
  expect(executor.health.summary('tool', 'slow')).toMatchObject({ failure: 1, abandoned: 1 });
  expect(events.map(({ type }) => type)).toEqual([
    'decision',
    'call-started',
    'call-abandoned',
    'call-settled',
  ]);
  expect(executor.abandoned()).toEqual([
    { callId: 'c1', toolName: 'slow', principal: 'ada', since: 1_000_100 },
  ]);
});

it('an abandoned call to a parallel readonly tool frees its concurrency slot at once', async () => {
  const { executor, clock } = setup([reader('slow', never), reader('other', () => 1)], {
    ...TIMES,
    maxConcurrent: 1,
  });
  void executor.execute({ id: '1', name: 'slow' });
  await clock.advanceAsync(100);
  expect(brief(await executor.execute({ id: '2', name: 'other' }))).toBe('ok 1');
});

it.each([
  ['a write', { accessMode: 'write' }],
  ['a tool that declares nothing', {}],
] as const)('an abandoned call to %s keeps its slot until its work ends', async (_, extra) => {
  const gate = new Gate<string>();
  let starts = 0;
  const tool = defineTool({
    name: 'tool',
    description: 'Hangs once',
    inputSchema: { type: 'object' },
    ...extra,
    execute: () => (starts++ === 0 ? gate.promise : 'done'),
  });
  const { executor, clock } = setup([tool], { ...TIMES, policy: allowAll });
  void executor.execute({ id: 'c1', name: 'tool' });
  await clock.advanceAsync(100);
  const second = executor.execute({ id: 'c2', name: 'tool' });
  await clock.advanceAsync(100);
  expect(await second).toMatchObject({
    code: 'TIMEOUT',
    attempts: 0,
    message: expect.stringContaining('the abandoned call "c1" is still running'),
  });
  gate.open('late');
  await clock.advanceAsync(0);
  expect(executor.abandoned()).toEqual([]);
  expect(brief(await executor.execute({ id: 'c3', name: 'tool' }))).toBe('ok "done"');
  expect(starts).toBe(2);
});

it('releasing an abandoned call frees its slot once, even if the call finishes later', async () => {
  const gate = new Gate<string>();
  let starts = 0;
  const { executor, clock, events } = setup(
    [writer('save', () => (starts++ === 0 ? gate.promise : 'done'))],
    { ...TIMES, policy: allowAll },
  );
  void executor.execute({ id: 'c1', name: 'save' });
  expect(executor.release('c1')).toBe(false);
  await clock.advanceAsync(100);
  expect(executor.release('other')).toBe(false);
  expect(executor.release('c1')).toBe(true);
  expect(executor.release('c1')).toBe(false);
  expect(brief(await executor.execute({ id: 'c2', name: 'save' }))).toBe('ok "done"');
  gate.open('late');
  await clock.advanceAsync(0);
  expect(events.filter(({ type }) => type === 'late-result')).toHaveLength(1);
  expect(brief(await executor.execute({ id: 'c3', name: 'save' }))).toBe('ok "done"');
});
