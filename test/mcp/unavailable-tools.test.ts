import { expect, it } from 'vitest';
import { Demo, hostile, namesOf, listed } from './servers/start.js';

it('a tool that runs only as a task is reported and not used', async () => {
  const discovery = await listed({ demo: hostile('tasks') });
  expect(discovery.findings()).toMatchObject([
    {
      kind: 'refused',
      server: 'demo',
      tool: '"render"',
      message: "This tool can only run as a task, which isn't supported.",
    },
  ]);
  expect(namesOf(discovery)).toEqual(['mcp.demo.preview']);
});

it('structured content becomes the message of a failed call that has no text', async () => {
  const demo = new Demo('fails_structured', 'shows');
  const discovery = await listed({ demo: demo.start });
  expect(await discovery.callTool('demo', 'fails_structured', {}, {})).toMatchObject({
    status: 'error',
    message: '{"error":"the disk is full","free":0}',
  });
  expect(await discovery.callTool('demo', 'shows', {}, {})).toMatchObject({
    status: 'ok',
    value: { width: 1 },
    content: [
      { type: 'text', text: 'a pixel' },
      { type: 'image', mediaType: 'image/png' },
      { type: 'text', text: '{"width":1}' },
    ],
  });
});
