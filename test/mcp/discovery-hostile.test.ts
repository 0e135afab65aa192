import fc from 'fast-check';
import { expect, it } from 'vitest';
import { callResult } from '../../src/mcp/connection/server-answers.js';
import { fail, ok } from '../../src/tool/outcome.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { Demo, discover, hostile, namesOf, listed } from './servers/start.js';

async function ask(mode: string) {
  // Longer than the default timeout, because a busy machine needs time to read megabytes.
  const discovery = discover({
    mcpServers: { bad: hostile(mode) },
    timeout: 600,
    startup_timeout_seconds: 600,
  });
  await discovery.refresh();
  const [status] = discovery.status();
  return { discovery, status: status!, names: namesOf(discovery), findings: discovery.findings() };
}

it.each([
  ['endless', 'more than 512 pages'],
  ['many', 'more than 1000 tools'],
  ['too long', 'CONNECTION'],
  ['dies', 'it exited before it responded'],
])(
  'a server with a malicious listing (%s) is skipped, and the reason is reported',
  async (mode, reason) => {
    const { status, names } = await ask(mode);
    expect(names).toEqual([]);
    expect(status).toMatchObject({
      state: expect.stringMatching(/backing-off|failed/),
      failures: 1,
    });
    expect((status as { reason: string }).reason.toLowerCase()).toContain(reason.toLowerCase());
  },
);

it('a listing ends when a cursor is repeated', async () => {
  expect((await ask('same cursor')).names).toEqual(['mcp.bad.first', 'mcp.bad.second']);
});

it('a server that floods stderr or prints garbage can still be used', async () => {
  expect((await ask('flood')).names).toEqual(['mcp.bad.fine']);
  expect((await ask('junk')).names).toEqual(['mcp.bad.fine']);
});

it('a 2026-protocol server with invalid tools loses only those tools', async () => {
  const demo = new Demo();
  demo.list(
    { name: 'bad', inputSchema: 'none' },
    { name: 7 },
    { name: 'fine', description: 'Does it', inputSchema: { type: 'object' } },
  );
  const discovery = await listed({ demo: demo.start });
  expect(discovery.status()).toMatchObject([{ era: 'modern', state: 'ready' }]);
  expect(namesOf(discovery)).toEqual(['mcp.demo.fine']);
});

it('a tool with a 10 MB description is truncated or rejected without affecting other tools', async () => {
  const { discovery, names, findings } = await ask('long description');
  expect(names).toContain('mcp.bad.fine');
  expect(discovery.definitions().every(({ description }) => description.length <= 4_096)).toBe(
    true,
  );
  expect(findings).toMatchObject([{ tool: '"long"' }]);
});

it('tools with schemas designed to hang a validator are rejected', async () => {
  const { names, findings } = await ask('bombs');
  // Every pattern is matched in linear time.
  expect(names).toEqual(['mcp.bad.fine', 'mcp.bad.pattern']);
  expect(findings.map(({ tool }) => tool)).toEqual(['"deep"', '"circle"']);
});

it("a server can't take the name of another server's tool or a name with a special meaning", async () => {
  const demo = new Demo('echo');
  const discovery = await listed({ bad: hostile('names'), other: demo.start });
  const names = namesOf(discovery);
  expect(names).toContain('mcp.other.echo');
  expect(names.filter((name) => !name.startsWith('mcp.bad.'))).toEqual(['mcp.other.echo']);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain('mcp.bad.__proto__');
  await discovery.callTool('other', 'echo', {}, {});
  expect(demo.log('call')).toEqual(['call echo']);
  expect(await discovery.callTool('bad', '__proto__', {}, {})).toMatchObject({
    status: 'ok',
    value: { tool: '__proto__' },
  });
  await expect(discovery.callTool('bad', 'toString', {}, {})).rejects.toMatchObject({
    code: 'TOOL_UNAVAILABLE',
  });
});

it('a server that constantly announces changes is listed at most four times a second', async () => {
  const clock = new ManualClock();
  const discovery = discover({ mcpServers: { bad: hostile('always changing') } }, { clock });
  const start = clock.now();
  const listedAfter = () => discovery.status()[0]!.lastDiscoveredAt! - start;
  await discovery.refresh();
  for (let round = 2; round <= 4; round++) {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(listedAfter()).toBe((round - 2) * 250);
    clock.advance(250);
    await discovery.refresh();
  }
  expect(listedAfter()).toBe(750);
  await discovery.close();
  expect(clock.pending).toBe(0);
});

it.each(['mute listing'])(
  'a server that never answers (%s) is given up after its timeout',
  async (mode) => {
    const discovery = discover({
      mcpServers: { bad: hostile(mode) },
      timeout: 0.6,
      startup_timeout_seconds: 0.6,
    });
    await discovery.refresh();
    expect(discovery.status()).toMatchObject([
      { tools: 0, reason: expect.stringContaining('after 600 ms') },
    ]);
  },
);

it('any result becomes plain data or a failure', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.jsonValue(),
        fc.record({
          content: fc.array(
            fc.record({
              type: fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link', 'other'),
              text: fc.jsonValue(),
              data: fc.jsonValue(),
              resource: fc.jsonValue(),
            }),
          ),
          isError: fc.jsonValue(),
        }),
      ),
      (result) => {
        const outcome = callResult(result);
        expect(['ok', 'error']).toContain(outcome.status);
        expect(() => JSON.stringify(outcome)).not.toThrow();
      },
    ),
  );
});

it("a part that is too large or can't be read is replaced by an explanation, and the other parts are kept", () => {
  const answer = callResult({
    content: [
      { type: 'text', text: 'pictures' },
      { type: 'image', mimeType: 'image/png', data: 'x'.repeat(45 * 2 ** 20) },
      { type: 'image', mimeType: 'no type', data: 'eA==' },
      { type: 'hologram' },
    ],
  });
  expect(answer).toMatchObject({
    status: 'ok',
    value: 'pictures',
    content: [
      { text: 'pictures' },
      { text: expect.stringContaining('larger than 32 MiB') },
      { type: 'text', text: expect.stringMatching(/^\[image/) },
      { text: expect.stringMatching(/^\[hologram/) },
    ],
  });
});

it('text intended only for the user is omitted from the value and from error messages', () => {
  const mine = { type: 'text', text: 'for the user', annotations: { audience: ['user'] } };
  const open = { type: 'text', text: 'for both' };
  expect(callResult({ content: [open, mine] })).toMatchObject({
    value: 'for both',
    content: [{ text: 'for both' }, { text: 'for the user', audience: ['user'] }],
  });
  expect(callResult({ isError: true, content: [mine, open] })).toEqual(fail('for both'));
  expect(callResult({ content: [mine] })).toMatchObject({
    value: 'The result is for the user only.',
  });
});

it('a model reads the structured content beside other text, and only once', () => {
  const structuredContent = { a: 1, b: [2] };
  expect(
    callResult({ structuredContent, content: [{ type: 'text', text: '{ "b": [2], "a": 1 }' }] }),
  ).toEqual(ok(structuredContent));
  expect(
    callResult({
      structuredContent,
      content: [
        { type: 'text', text: '{"a":1,"b":[2]}' },
        { type: 'text', text: '{"a":1}' },
      ],
    }),
  ).toMatchObject({
    value: structuredContent,
    content: [{ text: '{"a":1,"b":[2]}' }, { text: '{"a":1}' }],
  });
  const summary = { type: 'text', text: '2 rows' };
  expect(callResult({ structuredContent, content: [summary] })).toMatchObject({
    value: structuredContent,
    content: [{ text: '2 rows' }, { text: '{"a":1,"b":[2]}' }],
  });
  expect(callResult({ structuredContent, content: Array(5_000).fill(summary) })).toMatchObject({
    content: expect.arrayContaining([{ type: 'text', text: '{"a":1,"b":[2]}' }]),
  });
  expect(callResult({ structuredContent, isError: true, content: [summary] })).toEqual(
    fail('2 rows\n{"a":1,"b":[2]}'),
  );
});

it("a failed call's message hides secrets but keeps paths", () => {
  const answer = callResult({
    isError: true,
    content: [
      { type: 'text', text: 'cannot read /home/someone/keys/a.txt\napi_key=sk-abcdefghijklmnop' },
    ],
  });
  expect(answer).toEqual(fail('cannot read /home/someone/keys/a.txt\napi_key=[secret]'));
});
