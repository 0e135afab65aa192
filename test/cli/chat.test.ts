import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Session } from '../../src/chat.js';
import {
  AccessMode,
  defineTool,
  image,
  ok,
  type JsonSchema,
  type ToolDefinition,
} from '../../src/index.js';
import { chatIn, Effects, folderWith, MODEL_FILE, type ChatCase } from './chat-cases.js';
import { FakeTerminal } from './fake-terminal.js';

/** A chat with the tools of the test and a model that answers what the prompt lists. */
function scripted(
  answers: readonly unknown[],
  { flags, ...more }: ChatCase = {},
  {
    tools,
    cwd = folderWith({ 'model.mjs': MODEL_FILE }),
  }: { tools: readonly ToolDefinition[]; cwd?: string } = new Effects(),
) {
  return chatIn(cwd, {
    prompt: JSON.stringify(answers),
    tools,
    ...more,
    flags: { model: './model.mjs', ...flags },
  });
}

/** What a user types: first answers to questions, then nothing more. */
const types = (...answers: readonly string[]) => ({ answers });

const sessionIn = (folder: string) =>
  Session.fromJSON(JSON.parse(readFileSync(join(folder, 's.json'), 'utf8')));

/** Work in the middle of which the user presses Ctrl-C. */
function untilStopped(terminal: FakeTerminal, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')));
    terminal.interrupt();
  });
}

const WRITE = 'write_file {"path":"notes.md","content":"Hi"}';

describe('tooldex chat without a user', () => {
  it('runs the tool that a request names, and lists the calls that wait for approval', async () => {
    const folder = folderWith({ 'a.txt': 'A' });
    const { code, out, err } = await chatIn(folder, { prompt: 'list_directory' });
    expect([code, out]).toEqual([0, expect.stringMatching(/^It answered: .*a\.txt/)]);
    expect(err).toMatch(/▸ list_directory {2}\{\}\n {2}✓ list_directory .*a\.txt/);
    const write = await chatIn(folder, { prompt: WRITE });
    expect([write.code, write.out]).toEqual([4, '']);
    expect(write.err).toMatch(
      /write_file {2}danger medium\n[^]*In a terminal, tooldex chat --session/,
    );
  });

  it('says what an image is and how large, and keeps it beside the file of the session, for the model to see again', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const pixels = new Uint8Array(700_140).fill(7);
    const camera = defineTool({
      name: 'camera',
      description: 'Takes a picture',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => ok(null, { content: [image(pixels, 'image/png')] }),
    });
    const { code, err } = await scripted(
      [[['camera', {}]], 'A door.'],
      { flags: { session: 's.json' } },
      { tools: [camera], cwd },
    );
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/✓ camera .*\[image: image\/png, 684 KiB\]/) as string,
    ]);
    expect(readFileSync(join(cwd, 's.json'), 'utf8').length).toBeLessThan(3_000);
    expect(
      readdirSync(join(cwd, 's.json.blobs')).map(
        (file) => statSync(join(cwd, 's.json.blobs', file)).size,
      ),
    ).toEqual([700_140]);
    const { out } = await scripted(
      [[['camera', {}]], 'A door.'],
      { flags: { json: true } },
      { tools: [camera], cwd },
    );
    expect([out.length < 10_000, out.includes('"size":700140')]).toEqual([true, true]);
  });

  it('shows an image that the demonstration reads in words', async () => {
    const folder = folderWith();
    writeFileSync(
      join(folder, 'a.png'),
      Buffer.concat([
        Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
        Buffer.alloc(2_040),
      ]),
    );
    const { out, err } = await chatIn(folder, { prompt: 'read_file {"path":"a.png"}' });
    expect([
      out.includes('[image/png]'),
      err.includes('[image a.png: image/png, 2 KiB]'),
      `${out}${err}`.includes('AAAAAAAA'),
    ]).toEqual([true, true, false]);
  });

  it('goes on from a file in the next process, until the model has answered', async () => {
    const folder = folderWith();
    const flags = { session: 's.json' };
    const first = await chatIn(folder, { prompt: WRITE, flags });
    expect([first.code, first.err]).toEqual([
      4,
      expect.stringMatching(/write_file {2}danger medium\n/),
    ]);
    expect((await chatIn(folder, { flags })).code).toBe(4);
    expect(existsSync(join(folder, 'notes.md'))).toBe(false);
    const second = await chatIn(folder, { answers: ['y'], flags });
    expect([second.code, second.out]).toEqual([0, expect.stringMatching(/^It answered: /)]);
    expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toBe('Hi');
    expect(sessionIn(folder).status).toBe('completed');
    expect(readdirSync(folder).sort()).toEqual(['notes.md', 's.json']);
    expect(statSync(join(folder, 's.json')).mode & 0o077).toBe(0);
  });

  it('goes on with no other model than the one that the conversation was begun with, unless another is named', async () => {
    const effects = new Effects();
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    await scripted(
      [[['pay', { cents: 5 }]], 'thanks'],
      { flags: { session: 's.json' } },
      { tools: effects.tools, cwd },
    );
    await expect(
      chatIn(cwd, { tools: effects.tools, flags: { session: 's.json' } }),
    ).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('(--model ./model.mjs)') as string,
    });
    expect(effects.made).toEqual([]);
  });

  it('answers the one question that waits with the next prompt', async () => {
    const effects = new Effects();
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    await scripted(
      [[['ask']], 'bye'],
      { flags: { session: 's.json' } },
      { tools: effects.tools, cwd },
    );
    expect(
      await chatIn(cwd, {
        prompt: 'red',
        tools: effects.tools,
        flags: { model: './model.mjs', session: 's.json' },
      }),
    ).toMatchObject({ code: 0, out: 'bye\n' });
  });

  it('prints every event as one line of JSON, and where the session stands', async () => {
    const { code, out, err } = await scripted([[['look'], ['sign']], 'done'], {
      ...types('never'),
      flags: { json: true },
    });
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect([code, err]).toEqual([4, '']);
    const of = (name: string) =>
      events
        .filter((event) => 'toolName' in event && event.toolName === name)
        .map(({ type }) => type);
    expect([of('look'), of('sign')]).toEqual([
      ['tool-started', 'tool-completed', 'tool-encoded'],
      ['tool-pending'],
    ]);
    expect(events.filter((event) => !('toolName' in event)).map(({ type }) => type)).toEqual([
      'turn-started',
      'model-answered',
      'turn-completed',
      'chat-completed',
      'session',
    ]);
    expect(events.at(-1)).toMatchObject({
      status: 'awaiting_tools',
      haltedReason: 'manual_tool_calls',
      pending: [{ kind: 'manual', callId: 'c2' }],
    });
  });

  it('exits with 1 for a failing model and can be tried again, with 1 when the turns are used up, and with 0 for a tool that halts', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const effects = new Effects();
    expect(
      await scripted(['fail'], { flags: { session: 's.json' } }, { tools: effects.tools, cwd }),
    ).toMatchObject({ code: 1, err: expect.stringContaining('the service is down') });
    writeFileSync(join(cwd, 'better.mjs'), MODEL_FILE.replace("'fail'", "'never'"));
    expect(
      await chatIn(cwd, {
        tools: effects.tools,
        flags: { model: './better.mjs', session: 's.json' },
      }),
    ).toMatchObject({ code: 0, out: 'fail\n' });
    expect(await scripted([[['look']], 'done'], { flags: { maxTurns: 1 } })).toMatchObject({
      code: 1,
      err: expect.stringContaining('--max-turns'),
    });
    expect(await scripted([[['stop']], 'done'])).toMatchObject({
      code: 0,
      err: expect.stringContaining('halt enough'),
    });
  });

  it('runs no tool with --manual, and what --yes covers without a question', async () => {
    const effects = new Effects();
    expect([
      (await scripted([[['look']]], { flags: { manual: true } }, { tools: effects.tools })).code,
      effects.made,
    ]).toEqual([4, []]);
    expect([
      (
        await scripted(
          [[['pay', { cents: 2 }]], 'ok'],
          { flags: { yes: 'medium' } },
          { tools: effects.tools },
        )
      ).code,
      effects.made,
    ]).toEqual([0, ['pay 2']]);
  });

  it('gives up on Ctrl-C, keeps what it knows, and does not run again what may have run', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const terminal = new FakeTerminal();
    let runs = 0;
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.WRITE,
      execute: () => new Promise(() => void (runs++, terminal.interrupt())),
    });
    expect(
      (
        await scripted(
          [[['slow']], 'done'],
          { terminal, flags: { session: 's.json', yes: 'high' } },
          { tools: [slow], cwd },
        )
      ).code,
    ).toBe(130);
    expect(terminal.listeners).toBe(0);
    const again = { tools: [slow], flags: { model: './model.mjs', session: 's.json' } };
    expect([await chatIn(cwd, again), runs]).toEqual([
      expect.objectContaining({ code: 4, err: expect.stringContaining('was started') }),
      1,
    ]);
    expect(await chatIn(cwd, { ...again, answers: ['it went through'] })).toMatchObject({
      code: 0,
      out: 'done\n',
    });
    expect(runs).toBe(1);
  });

  it('does not run calls of tools that are declared otherwise now, unless it is told to', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const effects = new Effects();
    await scripted(
      [[['pay', { cents: 2 }]], 'ok'],
      { flags: { session: 's.json' } },
      { tools: effects.tools, cwd },
    );
    const tools = [
      ...effects.tools.filter(({ name }) => name !== 'pay'),
      defineTool({
        name: 'pay',
        description: 'Pays at once',
        inputSchema: { type: 'object' },
        accessMode: AccessMode.WRITE,
        execute: () => effects.made.push('other'),
      }),
    ];
    const flags = { model: './model.mjs', session: 's.json' };
    const refused = await chatIn(cwd, { tools, answers: ['y'], flags });
    expect([refused.err.includes('Nothing was run'), effects.made]).toEqual([true, []]);
    const { asked } = await chatIn(cwd, {
      tools,
      answers: ['n'],
      flags: { ...flags, acceptChanged: true },
    });
    expect(effects.made).toEqual([]);
    expect(asked[0]!.question).toContain('Run it?'); // The approval was for another tool.
  });

  it('refuses files that are no session, files of others, and models that are none', async () => {
    const folder = folderWith({
      'text.json': 'Hello',
      'other.json': '{"format":"other"}',
      'no-model.mjs': 'export default 7;',
      'throws.mjs': 'throw new Error("broken")',
    });
    const refused = (flags: Readonly<Record<string, unknown>>) =>
      chatIn(folder, { prompt: 'hi', flags }).then(
        () => 'accepted',
        (error: { code: string }) => error.code,
      );
    expect(
      await Promise.all(
        [
          { session: 'text.json' },
          { session: 'other.json' },
          { session: '.' },
          { session: 'no/folder/s.json' },
        ].map(refused),
      ),
    ).toEqual(['INVALID_SNAPSHOT', 'INVALID_SNAPSHOT', 'INVALID_ARGUMENT', 'INVALID_ARGUMENT']);
    expect(
      await Promise.all(
        [
          { model: './no-model.mjs' },
          { model: './throws.mjs' },
          { model: './missing.mjs' },
          { model: 'gpt' },
        ].map(refused),
      ),
    ).toEqual(Array(4).fill('INVALID_ARGUMENT'));
    await expect(chatIn(folder, {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('notices that another program went on with the same file', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    await scripted(
      [[['sign']]],
      { flags: { session: 's.json' } },
      { tools: new Effects().tools, cwd },
    );
    const other = readFileSync(join(cwd, 's.json'), 'utf8').replace('"rev":', '"rev":1');
    const meddling = [
      ...new Effects().tools.filter(({ name }) => name !== 'look'),
      defineTool({
        name: 'look',
        description: 'Looks',
        inputSchema: { type: 'object' },
        accessMode: AccessMode.READONLY,
        execute: () => writeFileSync(join(cwd, 's.json'), other),
      }),
    ];
    await chatIn(cwd, {
      tools: meddling,
      answers: ['1'],
      flags: { model: './model.mjs', session: 's.json' },
    });
    await expect(
      scripted([[['look']]], { flags: { session: 's.json' } }, { tools: meddling, cwd }),
    ).rejects.toMatchObject({ code: 'STALE_SESSION' });
    expect(readFileSync(join(cwd, 's.json'), 'utf8')).toBe(other);
  });
});

describe('tooldex chat with a user', () => {
  it('asks for what calls wait for, in their order, and goes on', async () => {
    const effects = new Effects();
    const { code, out, err, asked } = await scripted(
      [[['sign'], ['pay', { cents: 5 }], ['ask']], 'all done'],
      types('{"signed":true}', 'y', '2'),
      effects,
    );
    expect([code, out, effects.made]).toEqual([0, 'all done\n', ['pay 5']]);
    expect(asked.map(({ question }) => question)).toEqual([
      'Result (JSON or text): ',
      'Run it? [y/N/e/g] ',
      'Answer (1–2): ',
      '› ',
    ]);
    expect(err).toMatch(/pay {2}danger medium\n[^]*cents │ 5/);
  });

  it('runs edited arguments after they were shown again, and nothing after a no', async () => {
    const effects = new Effects();
    const { code, err } = await scripted(
      [
        [
          ['pay', { cents: 5 }],
          ['pay', { cents: 6 }],
        ],
        'ok',
      ],
      types('e', '{"cents":1}', 'y', 'n'),
      effects,
    );
    expect([code, effects.made]).toEqual([0, ['pay 1']]);
    expect(err).toMatch(/▸ pay \(medium\) {2}\{"cents":1\}/);
  });

  it('leaves calls open when nobody answers, keeps them, and asks again next time', async () => {
    const effects = new Effects();
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const first = await scripted(
      [[['sign']], 'ok'],
      { answers: [() => undefined], flags: { session: 's.json' } },
      { tools: effects.tools, cwd },
    );
    expect(first.code).toBe(4);
    const second = await chatIn(cwd, {
      answers: ['', 'signed'],
      tools: effects.tools,
      flags: { model: './model.mjs', session: 's.json' },
    });
    expect([second.code, second.out]).toEqual([0, 'ok\n']);
    expect(second.asked.map(({ question }) => question)).toEqual([
      'Result (JSON or text): ',
      'Result (JSON or text): ',
      '› ',
    ]);
  });

  it('stops a turn on Ctrl-C; an empty line goes on with it, and text drops its calls without running them', async () => {
    const made: string[] = [];
    const terminal: FakeTerminal = new FakeTerminal({ answers: ['', 'r', '["thanks"]'] });
    const write = { inputSchema: { type: 'object' }, accessMode: AccessMode.WRITE } as const;
    const slow = defineTool({
      ...write,
      name: 'slow',
      description: 'Stops once',
      execute: (_, { signal }) => (made.push('slow'), untilStopped(terminal, signal!)),
    });
    const next = defineTool({
      ...write,
      name: 'next',
      description: 'Comes after it',
      execute: () => void made.push('next'),
    });
    const flags = { yes: 'high' };
    // The empty line asks what came of it: it runs again (r), and is stopped again; then there is other text.
    const { code, err, out } = await scripted(
      [[['slow'], ['next']], 'done'],
      { terminal, flags },
      { tools: [slow, next] },
    );
    expect([code, made, out]).toEqual([0, ['slow', 'slow'], 'thanks\n']);
    expect(err).toContain('An empty line goes on');
    expect(err).toMatch(/✗ next .*gave this turn up/);
    expect(terminal.listeners).toBe(0);
  });

  it('leaves on a second Ctrl-C', async () => {
    const terminal: FakeTerminal = new FakeTerminal({ answers: ['never asked'] });
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => new Promise(() => (terminal.interrupt(), terminal.interrupt())),
    });
    expect([
      (await scripted([[['slow']]], { terminal }, { tools: [slow] })).code,
      terminal.asked,
    ]).toEqual([130, []]);
  });

  it('goes on after an error of the model: an empty line tries again, and text asks something else', async () => {
    const { code, out, err } = await scripted(['fail'], types('', '["better"]'));
    expect([code, out]).toEqual([0, 'better\n']);
    expect(err.match(/the service is down/g)).toHaveLength(2);
  });

  it('lets the script be told which tool to call, and says what it understands', async () => {
    const folder = folderWith({ 'a.txt': 'Hello' });
    const { out } = await chatIn(folder, {
      ...types('read_file {"path":', 'nothing of that'),
      prompt: 'read_file {"path":"a.txt"}',
    });
    expect(out).toMatch(/^It answered: \{"path":"a\.txt","text":"Hello"/);
    expect(out).toContain('Expected the arguments of read_file as a JSON object');
    expect(
      (await chatIn(folder, { prompt: 'anything', tools: new Effects().tools })).out,
    ).toContain('understand only the name of a tool');
  });

  it('says first that it is a demonstration and how it gets a model, with the package and the key of each service', async () => {
    const { err } = await chatIn(folderWith(), { answers: [], columns: 80 });
    const lines = err.split('\n');
    expect(lines[0]).toBe(
      'Demonstration: a script answers, calls are real. A model: --model ./model.mjs',
    );
    for (const line of [
      /@ai-sdk\/openai +OPENAI_API_KEY$/,
      /@ai-sdk\/anthropic +ANTHROPIC_API_KEY$/,
      /@ai-sdk\/google +GOOGLE_GENERATIVE_AI_API_KEY$/,
      /--model openai\/gpt-5-mini.* AI_GATEWAY_API_KEY$/,
    ])
      expect(lines).toContainEqual(expect.stringMatching(line));
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await chatIn(folderWith(), { prompt: 'list_directory' })).err).toMatch(
      /^Demonstration: .*\n {2}▸ /,
    );
    expect((await scripted(['hello'])).err).not.toContain('Demonstration');
    expect((await scripted(['hello'], types())).err).toMatch(
      /^The model is \.\/model\.mjs\.\nCtrl-C stops a turn/,
    );
  });

  it('suggests a call of the loaded tools that their schemas accept, and none where there is none', async () => {
    const tools = (inputSchema: JsonSchema, more: object = {}) => [
      defineTool({
        name: 'my.tool',
        description: 'Works',
        inputSchema,
        accessMode: AccessMode.READONLY,
        execute: () => 'it works',
        ...more,
      }),
    ];
    const cases: readonly (readonly [JsonSchema, string | undefined])[] = [
      [{ type: 'object', additionalProperties: false }, 'my.tool {}'],
      [
        {
          type: 'object',
          required: ['text', 'kind', 'n'],
          properties: {
            text: { type: 'string' },
            kind: { enum: ['b', 'a'] },
            n: { type: 'integer', minimum: 5 },
            other: { type: 'string' },
          },
        },
        'my.tool {"text":"text","kind":"b","n":5}',
      ],
      [
        {
          type: 'object',
          required: ['n', 'debt'],
          properties: {
            n: {
              type: 'integer',
              minimum: Number.MIN_SAFE_INTEGER,
              maximum: Number.MAX_SAFE_INTEGER,
            },
            debt: { type: 'number', maximum: 0 },
          },
        },
        'my.tool {"n":1,"debt":0}',
      ],
      [
        {
          type: 'object',
          required: ['code'],
          properties: { code: { type: 'string', pattern: '^[0-9]{5}$' } },
        },
        undefined,
      ],
      [
        {
          type: 'object',
          required: ['code'],
          properties: { code: { type: 'string', pattern: '^[0-9]{5}$', examples: ['12345'] } },
        },
        'my.tool {"code":"12345"}',
      ],
    ];
    for (const [schema, call] of cases) {
      const { err, out } = await chatIn(folderWith(), {
        answers: ['hello', call ?? 'hello'],
        tools: tools(schema),
      });
      expect(err.includes('A request such as')).toBe(call !== undefined);
      if (call !== undefined)
        expect([err, out]).toEqual([
          expect.stringContaining(`A request such as ${call} calls that tool.`),
          expect.stringContaining(`arguments:\n${call}\n`),
        ]);
      expect(out.includes('It answered: it works')).toBe(call !== undefined);
    }
    expect(
      (
        await chatIn(folderWith(), {
          answers: [],
          tools: tools({ type: 'object' }, { available: () => false }),
        })
      ).err,
    ).not.toContain('A request such as');
    expect(
      (
        await chatIn(folderWith(), {
          answers: [],
          tools: [
            ...tools({ type: 'object', required: ['a'], properties: { a: { type: 'string' } } }),
            ...new Effects().tools,
          ],
        })
      ).err,
    ).toContain('A request such as look {} calls');
    expect((await chatIn(folderWith(), { answers: [] })).err).toContain(
      'A request such as list_directory {} calls',
    );
  });

  it('shows no character of a model or a tool that steers the terminal', async () => {
    const tool = defineTool({
      name: 'look',
      description: 'Looks',
      inputSchema: { type: 'object' },
      accessMode: AccessMode.READONLY,
      execute: () => '\u001b[2Jgone\u202e',
    });
    const { out, err } = await scripted(
      [[['look', { a: '\u001b[2J' }]], 'a\u001b[2Jb'],
      {},
      { tools: [tool] },
    );
    // eslint-disable-next-line no-control-regex
    expect(out + err).not.toMatch(/[\u001b\u202e]/);
  });

  it('breaks long text between words as it comes', async () => {
    const { out } = await scripted([`${'word '.repeat(40)}\n\nend`], { columns: 50 });
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(50);
    expect(out).toMatch(/word\n\nend\n$/);
  });
});
