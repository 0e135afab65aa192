import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askUser,
  DangerLevel,
  isToolError,
  SafetyPolicy,
  ToolExecutor,
  type ToolContext,
  type ToolEvent,
} from '../../src/index.js';
import { createMcpServer, type McpRequestInfo } from '../../src/mcp.js';
import { manyTools, reading, sampleRegistry } from './server-tools.js';
import { serverOf, signalled, textOf, WAYS, type Elicited, type Told } from './server-clients.js';

describe.each(WAYS)('a served registry, for $way', ({ open }) => {
  it('lists every available tool by name, with its title, schemas, and all four annotations', async () => {
    const client = await open(serverOf());
    const tools = await client.tools();
    expect(tools.map(({ name }) => name)).toEqual([
      'add',
      'asks',
      'asks_anything',
      'by_hand',
      'circular',
      'fails',
      'files__write',
      'halts',
      'lies',
      'list',
      'nothing',
      'say',
      'throws',
    ]);
    expect(tools[0]).toMatchObject({
      description: 'Adds two numbers',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
    });
    for (const { annotations } of tools)
      expect(Object.keys(annotations!)).toEqual(
        expect.arrayContaining([
          'readOnlyHint',
          'destructiveHint',
          'idempotentHint',
          'openWorldHint',
        ]),
      );
    expect(tools.find(({ name }) => name === 'files__write')!.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
    });
  });

  it('tells clients when tools are added or removed', async () => {
    const registry = sampleRegistry();
    const changed = signalled();
    const client = await open(serverOf({}, registry), { onListChanged: () => changed.fire() });
    await client.tools();
    registry.unregister('say');
    await changed.fired;
    expect((await client.tools()).map(({ name }) => name)).not.toContain('say');
  });

  it('tool calls return text, and structured content if the value is an object', async () => {
    const client = await open(serverOf());
    await client.tools();
    expect(await client.call('add', { a: 1, b: 2 })).toMatchObject({
      content: [{ type: 'text', text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    });
    const said = await client.call('say', { text: 'hello' });
    expect([textOf(said), said.structuredContent, said.isError ?? false]).toEqual([
      'hello',
      undefined,
      false,
    ]);
    expect(textOf(await client.call('list'))).toBe('[1,2]');
    expect(textOf(await client.call('nothing'))).toBe('null');
  });

  it("tool calls omit structured content that doesn't match the output schema", async () => {
    const client = await open(serverOf());
    await client.tools();
    const result = await client.call('lies');
    expect(result).toMatchObject({ isError: true });
    expect(result.structuredContent).toBeUndefined();
    expect(textOf(result)).toBe(
      "lies ran, but its result doesn't match its output schema and isn't shown. Continue without it, or ask the user.",
    );
    expect(await client.call('circular')).toMatchObject({ isError: true });
  });

  it('tool calls return errors that explain the problem without paths and secrets', async () => {
    const client = await open(serverOf());
    expect(await client.call('fails')).toMatchObject({
      isError: true,
      content: [{ text: 'no luck today' }],
    });
    const thrown = textOf(await client.call('throws'));
    expect(thrown).toContain('keys.txt');
    expect(thrown).not.toMatch(/ada|abcdefgh/);
    expect(textOf(await client.call('add', { a: 'one' }))).toMatch(/a: Expected/);
    expect(textOf(await client.call('by_hand'))).toMatch(/answered by a user or another program/);
    expect(textOf(await client.call('absent'))).toMatch(/available/);
    expect(textOf(await client.call('halts'))).toBe(
      '{"left":0}\nThe tool asks you to stop here: all is done',
    );
  });

  it('tool calls are rejected for unknown tools, even if the name is an object property', async () => {
    const client = await open(serverOf());
    for (const name of [
      'nowhere',
      'constructor',
      '__proto__',
      'toString',
      'find_tools',
      'call_tool',
      '',
    ])
      await expect(client.call(name)).rejects.toThrow(/no tool named/);
  });

  it('tool calls send increasing progress to clients that requested it', async () => {
    const counts = reading('counts', (_, { reportProgress }) => {
      for (const told of [0, { progress: 2, total: 4, message: 'half' }, 'still at it'])
        reportProgress?.(told);
      return 'counted';
    });
    const client = await open(serverOf({}, sampleRegistry(counts)));
    const heard: Told[] = [];
    expect(
      textOf(await client.call('counts', {}, { onProgress: (told) => heard.push(told) })),
    ).toBe('counted');
    expect(heard).toEqual([
      { progress: 0 },
      { progress: 2, total: 4, message: 'half' },
      { progress: 3, message: 'still at it' },
    ]);
    expect(textOf(await client.call('counts'))).toBe('counted');
  });

  it('tool calls are aborted if the client cancels them', async () => {
    const [started, gone] = [signalled(), signalled()];
    const waits = reading(
      'waits',
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal!.addEventListener('abort', () => {
            gone.fire();
            reject(new Error('gone'));
          });
          started.fire();
        }),
    );
    const client = await open(serverOf({}, sampleRegistry(waits)));
    const cancel = new AbortController();
    const call = client.call('waits', {}, { signal: cancel.signal });
    call.catch(() => undefined);
    await started.fired;
    cancel.abort();
    await expect(call).rejects.toThrow();
    await gone.fired;
  });

  it('an approved call runs exactly as shown', async () => {
    const events: ToolEvent[] = [];
    const registry = sampleRegistry();
    const executor = new ToolExecutor({ registry });
    executor.on((event) => void events.push(event));
    const asked: string[] = [];
    const client = await open(serverOf({ executor }, registry), {
      answer: ({ message, requestedSchema }) => {
        asked.push(message);
        expect(requestedSchema.properties).toEqual({});
        return { action: 'accept', content: {} };
      },
    });
    expect(
      (await client.call('files.write', { path: 'a.txt', text: 'hi\u202e' })).structuredContent,
    ).toEqual({ path: 'a.txt', length: 3 });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(
      /Run files\.write\? Danger: medium\.[^]*"path": "a\.txt"[^]*"text": "hi\\u202e"/,
    );
    expect(events.flatMap((event) => (event.type === 'approval' ? [event.state] : []))).toEqual([
      'requested',
      'granted',
      'redeemed',
    ]);
  });

  it.each(['decline', 'cancel'] as const)(
    "a call doesn't run if the user answers with the action %s",
    async (action) => {
      const events: ToolEvent[] = [];
      const registry = sampleRegistry();
      const executor = new ToolExecutor({ registry });
      executor.on((event) => void events.push(event));
      const client = await open(serverOf({ executor }, registry), { answer: () => ({ action }) });
      const result = await client.call('files.write', { path: 'a.txt' });
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(/the user denied this call/);
      expect(events.some(({ type }) => type === 'call-started')).toBe(false);
    },
  );

  it("a call that needs approval is rejected with the reason if the client can't ask the user", async () => {
    const client = await open(serverOf());
    const result = await client.call('files.write', { path: 'a.txt' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(
      /files\.write hasn't run yet: this call needs approval\. .*write/,
    );
  });

  it('long arguments are shown by their beginning, end, length, and digest', async () => {
    let asked = '';
    const client = await open(serverOf(), {
      answer: ({ message }) => {
        asked = message;
        return { action: 'decline' };
      },
    });
    await client.call('files.write', { path: 'a', text: 'x'.repeat(100_000) });
    expect(asked.length).toBeLessThan(4_000);
    expect(asked).toMatch(/100\d\d\d characters, SHA-256 [0-9a-f]{64}[^]*NOT shown/);
  });

  it("the user sees a tool's question with its options, and the answer becomes the result", async () => {
    const forms: unknown[] = [];
    const client = await open(serverOf(), {
      answer: ({ message, requestedSchema }) => {
        forms.push([message, requestedSchema.properties['answer'], requestedSchema.required]);
        return { action: 'accept', content: { answer: 'blue' } };
      },
    });
    expect(textOf(await client.call('asks'))).toBe('blue');
    expect(textOf(await client.call('asks_anything'))).toBe('blue');
    expect(forms).toEqual([
      [
        'asks asks: Which colour?',
        { type: 'string', title: 'Answer', enum: ['red', 'blue'] },
        ['answer'],
      ],
      ['asks_anything asks: Your name?', { type: 'string', title: 'Answer' }, ['answer']],
    ]);
  });

  const choices = {
    type: 'array',
    minItems: 1,
    items: {
      anyOf: [
        { const: 'r', title: 'Red' },
        { const: 'b', title: 'Blue' },
      ],
    },
  } as const;
  const stops = { type: 'array', items: { type: 'object' } } as const;
  it.each([
    ['choices becomes a field with these choices', choices, choices, ['b', 'r'], '["b","r"]'],
    [
      'anything else becomes a text field for JSON',
      stops,
      { type: 'string', title: `JSON that matches ${JSON.stringify(stops)}` },
      '[{"at":"Rome"}]',
      '[{"at":"Rome"}]',
    ],
  ])('a question for a list of %s', async (_, form, field, answer, result) => {
    const registry = sampleRegistry(reading('several', () => askUser('Which?', { form })));
    const forms: unknown[] = [];
    const client = await open(serverOf({}, registry), {
      answer: ({ requestedSchema }) => {
        forms.push([requestedSchema.properties, requestedSchema.required]);
        return { action: 'accept', content: { answer } };
      },
    });
    expect(textOf(await client.call('several'))).toBe(result);
    expect(forms).toEqual([[{ answer: field }, ['answer']]]);
  });

  it('a question with several fields returns an object with defaults, validated by the form and the output schema', async () => {
    const form = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', default: 30 } },
      required: ['name'],
    } as const;
    const ask = () => askUser('Who?', { form });
    const registry = sampleRegistry(
      reading('who', ask),
      reading('other', ask, { outputSchema: { type: 'object', required: ['street'] } }),
    );
    const asked: Elicited[] = [];
    const contents = [{ age: 5 }, { name: 'Ada' }];
    const client = await open(serverOf({}, registry), {
      answer: (form) => ({
        action: 'accept',
        content: contents[asked.push(form) - 1] ?? { name: 'Eve', age: 7 },
      }),
    });
    // Some clients enforce the form themselves. With other clients, the user is asked again.
    const who = await client.call('who').catch(() => client.call('who'));
    expect(who).toMatchObject({
      structuredContent: { name: 'Ada', age: 30 },
      content: [{ text: '{"name":"Ada","age":30}' }],
    });
    expect(asked[0]).toMatchObject({ message: 'who asks: Who?', requestedSchema: form });
    expect(await client.call('other')).toMatchObject({ isError: true });
  });

  it("a question causes an error if the user cancels or the client can't ask the user", async () => {
    const server = serverOf();
    const silent = await open(server, { answer: () => ({ action: 'cancel' }) });
    expect(await silent.call('asks')).toMatchObject({ isError: true });
    const unable = await open(server);
    const result = await unable.call('asks');
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/Which colour\? \(one of "red", "blue"\)/);
  });

  it('the context function gets the request, and tools get the returned context unchanged', async () => {
    class Database {
      readonly #rows = new Map([['1', 'Ada']]);
      find = (id: string) => this.#rows.get(id);
    }
    const db = new Database();
    const seen: ToolContext<{ readonly db: Database; readonly request: McpRequestInfo }>[] = [];
    const find = reading(
      'find',
      (input, context) => {
        seen.push(context as (typeof seen)[number]);
        return db.find((input as { id: string }).id);
      },
      { inputSchema: z.looseObject({ id: z.string() }) },
    );
    const context = (request: McpRequestInfo) => ({
      principal: 'ada',
      conversationId: 'k1',
      context: { db, request },
    });
    const client = await open(serverOf({ context }, sampleRegistry(find)));
    expect(
      textOf(await client.call('find', { id: '1', principal: 'eve', context: { db: 'none' } })),
    ).toBe('Ada');
    expect(seen).toMatchObject([
      {
        toolName: 'find',
        principal: 'ada',
        conversationId: 'k1',
        context: { request: { client: { name: 'test', version: '1.0.0' } } },
      },
    ]);
    expect(seen[0]!.context.db).toBe(db);
  });

  it("a filtered tool can't be listed or called", async () => {
    const client = await open(serverOf({ filter: { maxDanger: DangerLevel.SAFE } }));
    expect((await client.tools()).map(({ name }) => name)).not.toContain('files__write');
    for (const name of ['files__write', 'files.write', 'write'])
      await expect(client.call(name, { path: 'a' })).rejects.toThrow(/no tool named/);
  });

  it('finds and calls tools in a large catalogue, and rejects unknown tools', async () => {
    const registry = manyTools(20);
    registry.register(reading('main', () => 'main', { priority: 0 }));
    const client = await open(serverOf({ maxTools: 10 }, registry));
    expect((await client.tools()).map(({ name }) => name)).toEqual([
      'call_tool',
      'find_tools',
      'main',
    ]);
    expect(client.instructions).toMatch(/find_tools/);
    const result = await client.call('find_tools', { query: 'thing17' });
    const { found } = result.structuredContent as { found: { name: string }[] };
    expect(found[0]!.name).toBe('tool_017');
    expect(
      (await client.call('call_tool', { name: 'tool_017', input: { x: 1 } })).structuredContent,
    ).toEqual({ name: 'tool_017', x: 1 });
    expect((await client.call('tool_017', { x: 2 })).structuredContent).toEqual({
      name: 'tool_017',
      x: 2,
    });
    expect(textOf(await client.call('call_tool', { name: 'constructor' }))).toMatch(
      /no tool named/,
    );
    expect(
      await client.call('call_tool', { name: 'call_tool', input: { name: 'main' } }),
    ).toMatchObject({ isError: true });
    expect(await client.call('call_tool', { input: {} })).toMatchObject({ isError: true });
    expect(await client.call('find_tools', { query: 1 })).toMatchObject({ isError: true });
  });
});

it('clients use the 2026 or 2025 protocol version, whichever they support', async () => {
  const server = serverOf();
  const versions = await Promise.all(WAYS.map(async ({ open }) => (await open(server)).version));
  expect(versions).toEqual([
    '2026-07-28',
    '2025-11-25',
    undefined,
    '2026-07-28',
    '2025-11-25',
    undefined,
  ]);
});

it('all invalid options are reported in one error, without the token', () => {
  const registry = sampleRegistry();
  const wrong = {
    maxTools: 0,
    token: 'short',
    executor: new ToolExecutor({ registry }),
    policy: new SafetyPolicy({ registry }),
    nonsense: 1,
  };
  let message = '';
  try {
    createMcpServer(registry, wrong);
  } catch (error) {
    expect(isToolError(error, 'INVALID_ARGUMENT')).toBe(true);
    message = (error as Error).message;
  }
  for (const option of ['maxTools', 'token', 'nonsense']) expect(message).toContain(option);
  expect(message).not.toContain('short');
  expect(() =>
    createMcpServer(registry, { executor: wrong.executor, policy: wrong.policy }),
  ).toThrow(/no policy or store together with an executor/);
  expect(() => createMcpServer(registry, { filter: { nonsense: 1 } as never })).toThrow(/filter/);
});
