import { describe, expect, it } from 'vitest';
import { trace } from './subject.js';

const HEAD = `import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import fs from 'node:fs';
import { z } from 'zod';
const server = new McpServer();
`;
/** Returns the calls that change something. `whole` is true if every call was followed. */
async function followed(code: string, before = '', files: Readonly<Record<string, string>> = {}) {
  const {
    tools: [tool],
  } = await trace(
    {
      ...files,
      'index.js': `${HEAD}${before}\nserver.registerTool('a', { inputSchema: { text: z.string(), list: z.array(z.string()) } }, async (args, context) => { ${code} });`,
    },
    ['a'],
  );
  return {
    whole: tool!.unknowns.length === 0,
    changes: tool!.effects.filter(({ access }) => access !== 'read').map(({ call }) => call),
  };
}

describe('methods on known and unknown values', () => {
  it.each([
    ['a string from the schema', `return args.text.startsWith('a') ? args.text.trim() : 1;`],
    ['a list from the schema', `return args.list.map((one) => one.toUpperCase()).join(',');`],
    [
      'data that Node reads',
      `return JSON.parse(fs.readFileSync('x', 'utf8').trim()).rows.slice(1);`,
    ],
    [
      'a network response',
      `return (await (await fetch('https://a.example/x')).json()).a.map(String);`,
    ],
    ['a date or a literal', `return new Date().toISOString().slice(0, 'abc'.indexOf('b'));`],
    ['an environment variable', `return (process.env.A ?? '').split(',');`],
    ["a context's signal", `context.signal.throwIfAborted(); return 1;`],
  ])('a method is known if it is called on %s', async (_, code) => {
    expect(await followed(code)).toEqual({ whole: true, changes: [] });
  });
});

it.each([
  ['an unknown property of the context', `return context.client.get('x');`],
  [
    'a value that an exported function sets',
    `return stop.toString();`,
    `let stop; export const set = (it) => { stop = it; };`,
  ],
  [
    'an instance from a package',
    `return new Client().get('x');`,
    `import { Client } from 'acme-client';`,
  ],
  ['an undefined function', `return helper();`, `const helper = globalThis.helper;`],
  ['an object without that method', `return store.read();`, `const store = {};`],
  [
    'a variable that another module can set',
    `return client?.list();`,
    `let client; export const connect = (it) => { client = it; };`,
  ],
])('a method is unknown if it is called on %s', async (_, code, before = '') => {
  expect(await followed(code, before)).toEqual({ whole: false, changes: [] });
});

describe('constructor arguments', () => {
  const TOOL = `export class Pay { constructor(client) { this.client = client; } async run({ id }) { return this.client.send(id); } }`;
  const CLIENT = `export class Client { async send(id) { return fetch('https://pay.example/' + id, { method: 'DELETE' }); } }`;
  it('are followed from where the instance is created', async () => {
    expect(
      await followed(
        'return tool.run(args);',
        `import { Pay } from './pay.js'; import { Client } from './client.js'; const tool = new Pay(new Client());`,
        { 'pay.js': TOOL, 'client.js': CLIENT },
      ),
    ).toEqual({ whole: true, changes: ['DELETE https://pay.example/x'] });
  });

  it('are followed from another file into a decorated class', async () => {
    const { tools } = await trace(
      {
        'package.json': '{"type":"module","main":"pay.ts"}',
        'pay.ts': `import { tool } from 'tooldex'; import type { Client } from './client.js';\n@tool({ name: 'a' }) export class Pay { constructor(private readonly client: Client) {} async execute({ id }: { id: string }) { return this.client.send(id); } }`,
        'client.js': CLIENT,
        'main.ts': `import { Pay } from './pay.js'; import { Client } from './client.js'; export function main(registry) { registry.register(new Pay(new Client())); }`,
      },
      ['a'],
    );
    expect(tools[0]).toMatchObject({
      effects: [{ call: 'DELETE https://pay.example/x' }],
      unknowns: [],
    });
  });

  it('a field is unknown if it is set from unknown constructor arguments', async () => {
    const { tools } = await trace(
      {
        'package.json': '{"type":"module","main":"pay.ts"}',
        'pay.ts': `import { tool } from 'tooldex';\n@tool({ name: 'a' }) export class Pay { constructor(private readonly client: unknown) {} async execute() { return this.client.list(); } }`,
      },
      ['a'],
    );
    expect(tools[0]).toMatchObject({ effects: [], unknowns: [expect.stringContaining('list')] });
  });
});

describe('effects shared by tools', () => {
  it("an effect isn't shared if the tools' handler is only a guess", async () => {
    const { tools, shared } = await trace(
      {
        'index.js': `${HEAD}export function dispatch(kind, input) { const NAMES = ['a', 'b', 'c', 'd']; fs.writeFileSync('x', input[kind]); return NAMES; }`,
      },
      ['a', 'b', 'c', 'd'],
    );
    expect(tools.map(({ effects }) => effects.map(({ call }) => call))).toEqual(
      Array.from({ length: 4 }, () => ['fs.writeFileSync']),
    );
    expect(shared).toEqual([]);
  });

  it('an effect is shared only if all tools have it', async () => {
    const { tools } = await trace(
      {
        'index.js': `${HEAD}const around = (run) => async (args) => { fs.writeFileSync('x', ''); return run(args); };\n${['a', 'b', 'c', 'd'].map((name) => `server.registerTool('${name}', {}, around(() => 1));`).join('')}server.registerTool('e', {}, () => 1);`,
      },
      ['a', 'b', 'c', 'd', 'e'],
    );
    expect(tools.map(({ effects }) => effects.length)).toEqual([1, 1, 1, 1, 0]);
  });
});

it.each([
  [
    'a lock',
    `let last = Promise.resolve(); const around = (run) => { const next = last.then(run, run); last = next.catch(() => undefined); return next; };`,
  ],
  [
    'a rate limit',
    `let at = 0; let calls = 0; const around = (run) => { if (Date.now() - at > 1000) { at = Date.now(); calls = 0; } calls += 1; if (calls > 10) throw new Error('too many'); return run(); };`,
  ],
  [
    'a map of running calls that each call cleans up',
    `const running = new Map(); const around = async (run) => { running.set('x', 1); try { return await run(); } finally { running.delete('x'); } };`,
  ],
  [
    'a retry counter',
    `const around = async (run) => { for (let tries = 0; ; tries++) { try { return await run(); } catch (error) { if (tries > 2) throw error; } } };`,
  ],
])("%s in memory isn't reported as an effect of a tool", async (_, before) => {
  const { tools } = await trace(
    {
      'index.js': `${HEAD}${before}\nserver.registerTool('a', {}, () => around(() => fs.readFileSync('x'))); server.registerTool('b', {}, () => around(() => 1));`,
    },
    ['a', 'b'],
  );
  expect(
    tools.map(({ effects, unknowns }) => [
      effects.filter(({ access }) => access !== 'read'),
      unknowns,
    ]),
  ).toEqual([
    [[], []],
    [[], []],
  ]);
});

it("a server generated from an OpenAPI document gets the effects of that document's operations", async () => {
  const document = {
    openapi: '3.1.0',
    paths: {
      '/users/{id}': { get: { operationId: 'get-user' }, delete: { operationId: 'deleteUser' } },
    },
  };
  const { tools } = await trace(
    {
      'index.js': `${HEAD}for (const tool of JSON.parse(fs.readFileSync(process.argv[2]))) server.registerTool(tool.name, {}, () => 1);`,
      'api/openapi.json': JSON.stringify(document, null, 1),
    },
    ['API-get-user', 'delete_user', 'other'],
  );
  expect(tools).toMatchObject([
    { handler: 'api/openapi.json:6', effects: [{ call: 'GET /users/x' }], unknowns: [] },
    { handler: 'api/openapi.json:9', effects: [{ call: 'DELETE /users/x', certainty: 'does' }] },
    { handler: undefined },
  ]);
});

it("calls to tooldex's own result helpers are followed and have no effects", async () => {
  expect(
    await followed(
      `if (args.text === '') return fail('empty'); return args.text === 'x' ? askUser('which?') : ok([text('a'), file('b')]);`,
      `import { askUser, fail, file, ok, text } from 'tooldex';`,
    ),
  ).toEqual({ whole: true, changes: [] });
});
