import { expect, it } from 'vitest';
import { z } from 'zod';
import { scriptedModel, Session } from '../../src/chat.js';
import { defineTool, fail, ok } from '../../src/index.js';
import { resultsIn } from './session-thread.js';

async function pendingCall(outputSchema?: object) {
  const sign = defineTool({
    name: 'sign',
    description: 'Signs',
    inputSchema: { type: 'object' },
    manual: true,
    ...(outputSchema && { outputSchema: outputSchema as never }),
  });
  const engine = {
    tools: [sign],
    model: scriptedModel([{ calls: [{ id: 'c', name: 'sign' }] }, 'done']),
  };
  const { session } = await Session.create().start(engine, 'Go');
  return { engine, session: Session.fromJSON(JSON.parse(JSON.stringify(session))) };
}

it.each<[string, object]>([
  [
    'JSON Schema',
    { type: 'object', properties: { pages: { type: 'number' } }, required: ['pages'] },
  ],
  ['zod', z.object({ pages: z.number() })],
])('the result of a manual call must match the output schema (%s)', async (_, outputSchema) => {
  const { engine, session } = await pendingCall(outputSchema);
  for (const wrong of [{ pages: 'many' }, {}, null, undefined, ok({ pages: 'many' })]) {
    expect(session.submitToolResult('c', wrong)).toMatchObject({
      ok: false,
      session,
      error: { code: 'INVALID_INPUT', details: { callId: 'c', issues: [{}] } },
    });
  }
  for (const right of [{ pages: 2 }, ok({ pages: 2 })]) {
    const { result } = await session.submitToolResult('c', right).session.continue(engine);
    expect(resultsIn(result.messages)).toEqual([['c', { type: 'json', value: { pages: 2 } }]]);
  }
  expect(session.submitToolResult('c', fail('no pen'))).toMatchObject({ ok: true });
});

it("the model reads a failed manual call's message and details", async () => {
  const { engine, session } = await pendingCall();
  const { result } = await session
    .submitToolResult('c', fail('no money', { have: 3 }))
    .session.continue(engine);
  expect(resultsIn(result.messages)).toEqual([
    ['c', { type: 'error-text', value: 'no money\nDetails: {"have":3}' }],
  ]);
});
