import { expect, it } from 'vitest';
import { z } from 'zod';
import { askUser, defineTool, fail, halt, ok } from '../../src/index.js';
import { brief, reader, setup, writer } from './fixtures/executor-setup.js';

/** Returns the outcome of one call to a tool with this function. */
async function outcomeOf(execute: () => unknown, extra = {}) {
  const { executor, events } = setup([reader('work', execute, extra)], { maxAttempts: 1 });
  const outcome = await executor.execute({ id: 'c1', name: 'work', input: {} });
  return { outcome, events };
}

/** Returns the outcome's error message for a tool that throws this value. */
async function messageOf(error: unknown): Promise<string> {
  const { outcome } = await outcomeOf(() => {
    throw error;
  });
  if (outcome.status !== 'error') throw new Error(`expected an error, found ${outcome.status}`);
  return outcome.message;
}

it("a plain return value becomes the outcome's value", async () => {
  for (const value of [
    0,
    '',
    false,
    null,
    [],
    { status: 'error', message: 'I only look like one' },
  ])
    expect((await outcomeOf(() => value)).outcome).toMatchObject({
      status: 'ok',
      value,
      callId: 'c1',
      toolName: 'work',
      attempts: 1,
      cached: false,
    });
});

it('undefined becomes null', async () => {
  expect((await outcomeOf(() => undefined)).outcome).toMatchObject({ status: 'ok', value: null });
  expect((await outcomeOf(() => ok(undefined))).outcome).toMatchObject({
    status: 'ok',
    value: null,
  });
  expect((await outcomeOf(() => halt('done', undefined))).outcome).toMatchObject({
    status: 'halt',
    value: null,
  });
});

it('ok, fail, halt, and askUser determine the outcome', async () => {
  expect((await outcomeOf(() => ok([1]))).outcome).toMatchObject({ status: 'ok', value: [1] });
  expect((await outcomeOf(() => fail('no such note', { name: 'x' }))).outcome).toMatchObject({
    status: 'error',
    code: 'EXECUTION_FAILED',
    message: 'no such note',
    details: { name: 'x' },
  });
  expect((await outcomeOf(() => halt('all done', 7))).outcome).toMatchObject({
    status: 'halt',
    reason: 'all done',
    value: 7,
  });
  expect((await outcomeOf(() => askUser('Which?', ['a', 'b']))).outcome).toMatchObject({
    status: 'ask_user',
    question: 'Which?',
    options: ['a', 'b'],
    pending: {
      kind: 'question',
      callId: 'c1',
      toolName: 'work',
      question: 'Which?',
      options: ['a', 'b'],
    },
  });
  expect((await outcomeOf(() => askUser('Why?'))).outcome).not.toHaveProperty('options');
});

it('whatever a tool throws, the call has an error outcome', async () => {
  for (const thrown of ['text', 5, undefined, new Error('e'), Object.create(null)]) {
    const { outcome, events } = await outcomeOf(() => {
      throw thrown;
    });
    expect(brief(outcome)).toBe('error EXECUTION_FAILED');
    expect(events.filter(({ type }) => type === 'call-settled')).toHaveLength(1);
    expect((await outcomeOf(() => Promise.reject(thrown as Error))).outcome).toMatchObject({
      status: 'error',
      code: 'EXECUTION_FAILED',
    });
  }
});

it('an error outcome contains no stack trace', async () => {
  const error = new Error('bad');
  error.message = error.stack!;
  expect(await messageOf(error)).not.toContain('executor-outcomes');
});

const tools = [reader('read_note', () => 1), reader('read_file', () => 1, { aliases: ['cat'] })];

it('a call to an unknown tool returns an error that suggests similar names', async () => {
  const { executor } = setup(tools);
  const outcome = await executor.execute({ id: '1', name: 'raed_note' });
  expect(outcome).toMatchObject({
    status: 'error',
    code: 'TOOL_NOT_FOUND',
    toolName: 'raed_note',
    attempts: 0,
  });
  expect(outcome.status === 'error' && outcome.message).toContain('read_note');
});

it('an error about invalid input includes the path and the expected type', async () => {
  const strict = defineTool({
    name: 'strict',
    description: 'd',
    accessMode: 'readonly',
    inputSchema: z.object({ list: z.array(z.object({ count: z.number() })) }),
    execute: () => 1,
  });
  const json = reader('json', () => 1, {
    inputSchema: {
      type: 'object',
      properties: {
        list: {
          type: 'array',
          items: { type: 'object', properties: { count: { type: 'number' } } },
        },
      },
    },
  });
  const { executor } = setup([strict, json]);
  for (const name of ['strict', 'json']) {
    const outcome = await executor.execute({
      id: '1',
      name,
      input: { list: [{ count: 'two' }] },
    });
    expect(brief(outcome)).toBe('error INVALID_INPUT');
    expect(outcome.status === 'error' && outcome.message).toMatch(/list\[0\]\.count: .*number/i);
  }
});

it.each([
  ['a number', 5, 'INVALID_INPUT'],
  ['an object that contains a date', { when: new Date() }, 'INVALID_INPUT'],
  ['300 KiB of text', { text: 'x'.repeat(300 * 1024) }, 'LIMIT_EXCEEDED'],
  [
    'an object nested 100 levels deep',
    JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`) as unknown,
    'LIMIT_EXCEEDED',
  ],
])('a call with %s as input is rejected', async (_, input, code) => {
  let runs = 0;
  const { executor } = setup([reader('work', () => runs++)]);
  expect(brief(await executor.execute({ id: '1', name: 'work', input }))).toBe(`error ${code}`);
  expect(runs).toBe(0);
});

it.each<[string, object, string?, Parameters<typeof reader>[2]?]>([
  ['that is called by its alias', { status: 'ok', value: {}, toolName: 'work' }, 'alias', {}],
  ['without a handler', { code: 'NOT_EXECUTABLE' }],
  ['that is unavailable', { code: 'TOOL_UNAVAILABLE' }, 'work', { available: () => false }],
  [
    'whose availability check throws',
    { code: 'TOOL_UNAVAILABLE' },
    'work',
    {
      available: () => {
        throw new Error('x');
      },
    },
  ],
])('a call without input to a tool %s results in %j', async (_, outcome, name = 'work', extra) => {
  const work = reader('work', extra && ((input) => input), { aliases: ['alias'], ...extra });
  expect(await setup([work]).executor.execute({ id: '1', name })).toMatchObject(outcome);
});

it('a call to a manual tool waits for a person', async () => {
  const { executor } = setup([writer('sign', undefined, { manual: true })]);
  expect(
    await executor.execute({ id: '1', name: 'sign', input: { page: 2 } }, { principal: 'ada' }),
  ).toMatchObject({
    status: 'manual',
    attempts: 0,
    pending: {
      kind: 'manual',
      toolName: 'sign',
      callId: '1',
      input: { page: 2 },
      principal: 'ada',
    },
  });
});
