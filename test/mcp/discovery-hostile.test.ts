import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callResult, readAllPages } from '../../src/mcp/connection/server-answers.js';
import { fail, ok } from '../../src/tool/outcome.js';
import { ManualClock } from '../../src/testing/manual-clock.js';
import { Demo, discover, hostile, namesOf } from './servers/start.js';

async function ask(mode: string) {
  // Reading megabytes takes a busy machine longer than the usual time of a server.
  const discovery = discover({
    mcpServers: { bad: hostile(mode) },
    timeout: 600,
    startup_timeout_seconds: 600,
  });
  await discovery.refresh();
  const [status] = discovery.status();
  return { discovery, status: status!, names: namesOf(discovery), findings: discovery.findings() };
}

describe('a hostile server', () => {
  it.each([
    ['endless', 'more than 512 pages'],
    ['many', 'more than 1000 tools'],
    ['no list', 'The server returned a page without a list of tools'],
    ['odd cursor', 'a cursor as text'],
    ['too long', 'CONNECTION'],
    ['closes', 'Connection'],
    ['dies', 'it exited before it answered'],
  ])('is disconnected with a reason (%s)', async (mode, reason) => {
    const { status, names } = await ask(mode);
    expect(names).toEqual([]);
    expect(status).toMatchObject({
      state: expect.stringMatching(/backing-off|failed/) as string,
      failures: 1,
    });
    expect((status as { reason: string }).reason.toLowerCase()).toContain(reason.toLowerCase());
  });

  it('is read up to a cursor that it repeats', async () => {
    expect((await ask('same cursor')).names).toEqual(['mcp.bad.first', 'mcp.bad.second']);
  });

  it("still works if it floods stderr or prints lines that aren't messages", async () => {
    expect((await ask('flood')).names).toEqual(['mcp.bad.fine']);
    expect((await ask('junk')).names).toEqual(['mcp.bad.fine']);
  });

  it('loses only its bad tools, in the 2026 protocol too', async () => {
    const demo = new Demo();
    demo.list(
      { name: 'bad', inputSchema: 'none' },
      { name: 7 },
      { name: 'fine', description: 'Does it', inputSchema: { type: 'object' } },
    );
    const discovery = discover({ mcpServers: { demo: demo.start } });
    await discovery.refresh();
    expect(discovery.status()).toMatchObject([{ era: 'modern', state: 'ready' }]);
    expect(namesOf(discovery)).toEqual(['mcp.demo.fine']);
  });

  it('with a description of 10 MB has it cut or that one tool refused', async () => {
    const { discovery, names, findings } = await ask('long description');
    expect(names).toContain('mcp.bad.fine');
    expect(discovery.definitions().every(({ description }) => description.length <= 4_096)).toBe(
      true,
    );
    expect(findings).toMatchObject([{ tool: '"long"' }]);
  });

  it('loses the tools whose schemas are made to hang a checker', async () => {
    const { names, findings } = await ask('bombs');
    // Patterns are matched in linear time, whatever they are.
    expect(names).toEqual(['mcp.bad.fine', 'mcp.bad.pattern']);
    expect(findings.map(({ tool }) => tool)).toEqual(['"deep"', '"circle"']);
  });

  it("can't take the name of another server, or a reserved name", async () => {
    const demo = new Demo('echo');
    const discovery = discover({ mcpServers: { bad: hostile('names'), other: demo.start } });
    await discovery.refresh();
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

  it('is listed at most four times a second, however often it announces changes', async () => {
    const clock = new ManualClock();
    let lists = 0;
    const discovery = discover(
      { mcpServers: { bad: hostile('always changing') } },
      { clock, onEvent: ({ type }) => (lists += type === 'listed' ? 1 : 0) },
    );
    await discovery.refresh();
    for (let round = 2; round <= 4; round++) {
      while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(lists).toBe(round - 1);
      clock.advance(250);
      await discovery.refresh();
    }
    expect(lists).toBe(4);
    await discovery.close();
    expect(clock.pending).toBe(0);
  });

  it.each(['silent', 'mute listing', 'wrong id'])(
    'is given up after its time limit (%s)',
    async (mode) => {
      const discovery = discover({
        mcpServers: { bad: hostile(mode) },
        timeout: 0.6,
        startup_timeout_seconds: 0.6,
      });
      await discovery.refresh();
      expect(discovery.status()).toMatchObject([
        { tools: 0, reason: expect.stringContaining('after 600 ms') as string },
      ]);
    },
  );
});

describe('for anything a server sends', () => {
  it('reading its pages ends, with the pages read or refused', async () => {
    // As pages look where they are read: most of them sound, or reading would end with the first.
    const cursor = fc.oneof({ weight: 9, arbitrary: fc.string() }, fc.jsonValue());
    const sound = fc.record({
      'tooldex/raw-tools': fc.array(fc.jsonValue(), { maxLength: 40 }),
      nextCursor: cursor,
    });
    const page = fc.oneof(
      { weight: 30, arbitrary: sound },
      fc.record({ 'tooldex/raw-tools': fc.jsonValue(), nextCursor: cursor }),
      fc.jsonValue(),
    );
    let deepest = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(page, { maxLength: 70 }), async (pages) => {
        let asked = 0;
        const reading = readAllPages(
          () => Promise.resolve(pages[Math.min(asked++, pages.length - 1)]),
          { maxTools: 1_000, isWanted: () => true },
        );
        await reading.then(
          (tools) => expect(tools.length).toBeLessThanOrEqual(1_000),
          (error: unknown) => expect((error as Error).name).toBe('ListingError'),
        );
        expect(asked).toBeLessThanOrEqual(512);
        deepest = Math.max(deepest, asked);
      }),
    );
    expect(deepest).toBeGreaterThan(3);
  });

  it('an answer to a call becomes plain data or a failure', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.record({
            content: fc.array(
              fc.record({
                type: fc.constantFrom(
                  'text',
                  'image',
                  'audio',
                  'resource',
                  'resource_link',
                  'other',
                ),
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

  it('a part that is too large or unreadable becomes a text that says so, and the others stay', () => {
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

  it('texts for the user only are neither the value nor the error, and keep their audience', () => {
    const mine = { type: 'text', text: 'for the user', annotations: { audience: ['user'] } };
    const open = { type: 'text', text: 'for both' };
    expect(callResult({ content: [open, mine] })).toMatchObject({
      value: 'for both',
      content: [{ text: 'for both' }, { text: 'for the user', audience: ['user'] }],
    });
    expect(callResult({ content: [mine] })).toMatchObject({
      value: null,
      content: [{ text: 'for the user', audience: ['user'] }],
    });
    expect(
      callResult({ content: [mine, { type: 'image', mimeType: 'image/png', data: 'eA==' }] }),
    ).toMatchObject({ value: null });
    expect(callResult({ isError: true, content: [mine, open] })).toEqual(fail('for both'));
  });

  it("a text that repeats the structured content as JSON isn't a part, and every other text is", () => {
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
    ).toMatchObject({ value: structuredContent, content: [{ text: '{"a":1}' }] });
  });

  it("secrets in its errors don't reach the model, but paths do", () => {
    const answer = callResult({
      isError: true,
      content: [
        { type: 'text', text: 'cannot read /home/someone/keys/a.txt\napi_key=sk-abcdefghijklmnop' },
      ],
    });
    expect(answer).toEqual(fail('cannot read /home/someone/keys/a.txt\napi_key=[secret]'));
  });
});
