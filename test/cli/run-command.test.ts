import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { run } from '../../src/cli/commands/run.js';
import { shownArguments } from '../../src/cli/execute/shown-call.js';
import { runCli } from '../../src/cli/run-cli.js';
import {
  AccessMode,
  askUser,
  audio,
  defineTool,
  file,
  halt,
  image,
  ok,
  text,
  ToolMetadataRegistry,
  type DangerLevel,
  type AskUserOptions,
} from '../../src/index.js';
import { digestOf } from '../../src/core/plain-data.js';
import { cli } from './command-line.js';
import { FakeTerminal, type FakeTerminalOptions } from './fake-terminal.js';
import { RealTerminal } from './real-terminal.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooldex-run-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

/** Runs `tooldex run` with the bundled tools in a folder of the test. */
async function runBundled(args: readonly string[], options: FakeTerminalOptions = {}) {
  const terminal = new FakeTerminal(options);
  const code = await runCli(['run', ...args], terminal, folder);
  return { code, out: terminal.printed, err: terminal.told, asked: terminal.asked, terminal };
}

const readonly = {
  description: 'A tool',
  inputSchema: z.object({}),
  accessMode: AccessMode.READONLY,
};

/** Runs `tooldex run` on a tool of the test. */
async function runTool(
  tool: ReturnType<typeof defineTool>,
  options: FakeTerminalOptions & { readonly flags?: Readonly<Record<string, unknown>> } = {},
  terminal = new FakeTerminal(options),
) {
  const registry = new ToolMetadataRegistry();
  registry.register(tool);
  const code = await run(
    terminal,
    { registry, problems: [], fileOf: new Map() },
    tool.name,
    { mode: 'default', ...options.flags },
    folder,
  );
  return { code, out: terminal.printed, err: terminal.told, asked: terminal.asked, terminal };
}

const write = (content: string, more = {}) => [
  'write_file',
  '--input',
  JSON.stringify({ path: 'a.txt', content, ...more }),
];
const written = () =>
  existsSync(join(folder, 'a.txt')) ? readFileSync(join(folder, 'a.txt'), 'utf8') : undefined;

describe('tooldex run', () => {
  it('runs a tool that only reads without a question, in the current folder', async () => {
    writeFileSync(join(folder, 'a.txt'), 'Hello');
    const { code, out, err, asked } = await runBundled(
      ['read_file', '--input', '{"path":"a.txt"}'],
      { answers: [] },
    );
    expect([code, JSON.parse(out).text, asked]).toEqual([0, 'Hello', []]);
    expect(err).toMatch(/^ok .*1 attempt$/m);
  });

  it('keeps the bundled tools to another folder on demand, and refuses one that is not there', async () => {
    const { code, out } = await runBundled([
      'list_directory',
      '--root',
      join(import.meta.dirname, '../fixtures'),
      '--json',
    ]);
    expect([code, JSON.parse(out).status]).toEqual([0, 'ok']);
    expect(out).toContain('legacy');
    expect(await runBundled(['list_directory', '--root', 'nowhere'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Expected --root as a folder that exists'),
    });
    expect((await runBundled(['list_directory', '--root', '.', '--tools', '.'])).code).toBe(2);
  });

  it('takes the input from a file, from standard input, and as {} when there is none', async () => {
    writeFileSync(join(folder, 'input.json'), '\ufeff{"path":"input.json"}');
    expect((await runBundled(['read_file', '--input', '@input.json'])).code).toBe(0);
    expect(
      (await runBundled(['read_file', '--input', '-'], { input: '{"path":"input.json"}' })).code,
    ).toBe(0);
    expect((await runBundled(['list_directory'])).out).toContain('input.json');
  });

  it('exits with 2 for an unknown tool, input that is no JSON or not there, and input that the schema refuses', async () => {
    expect(await runBundled(['read_fil'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean read_file'),
    });
    expect(await runBundled(['read_file', '--input', '{path'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('Expected JSON in --input'),
    });
    expect(await runBundled(['read_file', '--input', '@nowhere.json'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('ENOENT'),
    });
    expect(await runBundled(['read_file', '--input', '{"pth":1}'])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/path: Expected.*\n.*tooldex show read_file/),
    });
    for (const args of [
      ['--timeout', '0'],
      ['--timeout', '3000000000'],
      ['--yes', 'sometimes'],
      ['--mode', 'allow-list'],
    ])
      expect([args, (await runBundled(['read_file', ...args])).code]).toEqual([args, 2]);
  });

  it('refuses a file of input that never ends', async () => {
    expect(await runBundled(['read_file', '--input', '@/dev/zero'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('bytes'),
    });
  });

  it('exits with 1 when the tool fails, and 2 only where it was not started', async () => {
    const { code, err, out } = await runBundled(['read_file', '--input', '{"path":"nowhere.txt"}']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^error Expected .*nowhere.txt/m);
    const careless = defineTool({
      ...readonly,
      name: 'careless',
      execute: () => z.object({ a: z.string() }).parse({}),
    });
    expect((await runTool(careless)).code).toBe(1);
  });

  it('prints texts as they are where a program reads, and without what steers a terminal where a user does', async () => {
    const tool = defineTool({
      ...readonly,
      name: 'colours',
      execute: () => 'one\ttwo\n\u001b[31mred\u202e',
    });
    expect((await runTool(tool, { columns: Infinity })).out).toBe(
      'one\ttwo\n\u001b[31mred\u202e\n',
    );
    expect((await runTool(tool, { columns: 80 })).out).toBe('one\ttwo\n\\u001b[31mred\\u202e\n');
  });

  it('prints every value that a tool may return', async () => {
    const circle: unknown[] = [1n];
    circle.push(circle);
    for (const value of [null, 0, '', false, [], { a: 1 }]) {
      const { code, out } = await runTool(
        defineTool({ ...readonly, name: 'any', execute: () => value }),
        { flags: { json: true } },
      );
      expect([code, JSON.parse(out).value]).toEqual([0, value]);
    }
    expect(
      await runTool(defineTool({ ...readonly, name: 'any', execute: () => circle })),
    ).toMatchObject({ code: 1, out: expect.stringContaining('1n') });
  });

  it('shows the whole outcome as JSON, also of a call that did not run', async () => {
    const { code, out } = await runBundled([...write('x'), '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([
      4,
      {
        status: 'approval_required',
        toolName: 'write_file',
        pending: { danger: 'medium', input: { path: 'a.txt' } },
      },
    ]);
  });

  it('lets nothing in JSON steer the terminal, and means the same', async () => {
    const { out } = await runTool(
      defineTool({ ...readonly, name: 'any', execute: () => '\u009b2J\u202e' }),
      { flags: { json: true } },
    );
    expect(out).not.toMatch(/[\u009b\u202e]/);
    expect(JSON.parse(out).value).toBe('\u009b2J\u202e');
  });

  it('shows progress while the tool works, one plain line each', async () => {
    const tool = defineTool({
      ...readonly,
      name: 'slow',
      execute: (_, { reportProgress }) =>
        void (reportProgress!('half\n\u001b[2Jway'), reportProgress!({ percent: 90 })),
    });
    expect((await runTool(tool)).err).toMatch(/^slow: half \[2Jway\nslow: \{"percent":90\}\nok/);
  });

  it('gives a tool the time that was named instead of its own', async () => {
    const tool = defineTool({
      ...readonly,
      name: 'slow',
      timeoutMs: 60_000,
      execute: () => new Promise(() => {}),
    });
    expect(await runTool(tool, { flags: { timeoutMs: undefined, timeout: 1 } })).toMatchObject({
      code: 1,
      err: expect.stringContaining('within 1 ms'),
    });
  });

  it('gives up when it is interrupted, and exits with 130', async () => {
    const terminal = new FakeTerminal();
    const tool = defineTool({
      ...readonly,
      name: 'slow',
      execute: () => new Promise(() => void terminal.interrupt()),
    });
    expect(await runTool(tool, {}, terminal)).toMatchObject({
      code: 130,
      out: '',
      err: expect.stringContaining('interrupted'),
    });
    expect(terminal.listeners).toBe(0);
  });
});

describe('a call that needs approval', () => {
  it('stays pending where nobody can answer: nothing runs, and the message names what approves it', async () => {
    const { code, out, err } = await runBundled(write('Hello'));
    expect([code, out, written()]).toEqual([4, '', undefined]);
    expect(err).toContain('--yes medium');
    expect(err).toContain('│ "Hello"');
  });

  it('runs after a y, and after nothing else', async () => {
    for (const answer of ['', 'n', 'yep', 'Y es', undefined]) {
      const { code, out } = await runBundled(write('Hello'), { answers: [() => answer] });
      expect([answer, code, out, written()]).toEqual([answer, 4, '', undefined]);
    }
    const { code, asked } = await runBundled(write('Hello'), { answers: ['y'] });
    expect([code, written(), asked.map(({ question }) => question)]).toEqual([
      0,
      'Hello',
      ['Run it? [y/N/e] '],
    ]);
  });

  it('shows the tool, the danger, the reason and the whole input before it asks', async () => {
    const content = `one\n${'long '.repeat(400)}\n\u001b[2J\u202eevil\u200b\u00a0end`;
    const { err } = await runBundled(write(content), { answers: ['n'], columns: 80 });
    const shown = err.slice(0, err.indexOf('Run it?'));
    expect(shown).toMatch(/^write_file {2}danger medium\n {2}write_file: it can change something/);
    expect(shown).toContain('\\u001b[2J\\u202eevil\\u200b\\u00a0end');
    const lines = [...shown.matchAll(/([│┆]) (.*)\n/g)].reduce<string[]>(
      (all, [, bar, piece]) =>
        bar === '│' ? [...all, piece!] : [...all.slice(0, -1), all.at(-1)! + piece!],
      [],
    );
    expect(lines[2]).toBe('long '.repeat(400));
    expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('colours the danger', async () => {
    const asked = await runBundled(write('x', { overwrite: true }), {
      answers: ['n'],
      color: true,
    });
    expect(asked.err).toContain('\u001b[31mdanger high\u001b[0m');
  });

  it('runs with changed arguments after an e, judged and shown again', async () => {
    const { code, err, asked } = await runBundled(write('Hello'), {
      answers: ['e', '{"path":"a.txt","content":"Bye","overwrite":true}', 'y'],
    });
    expect([code, written()]).toEqual([0, 'Bye']);
    expect(asked[1]!.prefill).toBe('{"path":"a.txt","content":"Hello"}');
    expect(err.indexOf('danger medium')).toBeLessThan(err.indexOf('danger high'));
    expect(err).toContain('"Bye"');
  });

  it('refuses changed arguments that are no JSON or not valid, and asks again about those before', async () => {
    const { code, err } = await runBundled(write('Hello'), {
      answers: ['e', '{', 'e', '{"path":1}', 'e', '{"path":"a.txt","content":"Bye"}', 'n'],
    });
    expect([code, written()]).toEqual([4, undefined]);
    expect(err.match(/^refused /gm)).toHaveLength(2);
  });

  it('is denied when the user interrupts', async () => {
    const terminal: FakeTerminal = new FakeTerminal({
      answers: [() => (terminal.interrupt(), undefined)],
    });
    expect(await runCli(['run', ...write('Hello')], terminal, folder)).toBe(130);
    expect(written()).toBeUndefined();
  });

  it('says when arguments are too many to show, with their digest and both ends, and shows them all on demand', async () => {
    const input = { path: 'a.txt', content: `begin${'x'.repeat(9_000)}END` };
    const { code, err, asked } = await runBundled(
      ['write_file', '--input', JSON.stringify(input)],
      { answers: ['a', 'n'] },
    );
    expect(code).toBe(4);
    expect(err).toContain(digestOf(input));
    expect(err).toMatch(/characters that are NOT shown/);
    expect(asked.map(({ question }) => question)).toEqual([
      'Run it? [y/N/e/a] (a shows all) ',
      'Run it? [y/N/e] ',
    ]);
    const [short, whole] = err.split('[y/N/e/a]');
    for (const part of ['begin', 'END'])
      expect([short, whole].every((text) => text!.includes(part))).toBe(true);
    expect([short!.match(/x/g)!.length < 5_000, whole!.match(/x/g)!.length >= 9_000]).toEqual([
      true,
      true,
    ]);
  });
});

describe('--yes', () => {
  it('covers calls up to the danger that it names, medium by itself, judged by their arguments', async () => {
    expect([(await runBundled([...write('one'), '--yes', 'low'])).code, written()]).toEqual([
      4,
      undefined,
    ]);
    expect([(await runBundled([...write('one'), '--yes'])).code, written()]).toEqual([0, 'one']);
    expect([
      (await runBundled([...write('two', { overwrite: true }), '--yes'])).code,
      written(),
    ]).toEqual([4, 'one']);
    expect([
      (await runBundled([...write('two', { overwrite: true }), '--yes', 'high'])).code,
      written(),
    ]).toEqual([0, 'two']);
  });

  it('asks the user about what it does not cover', async () => {
    const { code, asked } = await runBundled([...write('Hello'), '--yes', 'low'], {
      answers: ['y'],
    });
    expect([code, asked.length, written()]).toEqual([0, 1, 'Hello']);
  });

  it('covers tools that require consent by their danger', async () => {
    const tool = (dangerLevel: DangerLevel) =>
      defineTool({
        ...readonly,
        name: 'private',
        requiresConsent: true,
        dangerLevel,
        execute: () => 'done',
      });
    expect((await runTool(tool('low'), { flags: { yes: 'low' } })).out).toBe('done\n');
    expect((await runTool(tool('medium'), { flags: { yes: 'low' } })).code).toBe(4);
  });

  it('never loosens a mode', async () => {
    expect(
      (await runBundled([...write('Hello'), '--mode', 'read-only', '--yes', 'critical'])).code,
    ).toBe(3);
    expect(written()).toBeUndefined();
  });
});

describe('--mode', () => {
  it('denies what the mode does not allow, without a question, and exits with 3', async () => {
    for (const mode of ['read-only', 'unattended']) {
      const { code, err, asked } = await runBundled([...write('Hello'), '--mode', mode], {
        answers: ['y'],
      });
      expect([mode, code, asked, written()]).toEqual([mode, 3, [], undefined]);
      expect(err).toMatch(/^denied /m);
    }
  });
});

describe('other outcomes', () => {
  const asks = (options?: readonly string[] | AskUserOptions) =>
    defineTool({ ...readonly, name: 'asks', execute: () => askUser('Which one?', options) });

  it("hands a tool's question on: the answer is its result", async () => {
    expect(await runTool(asks(), { answers: ['the first'] })).toMatchObject({
      code: 0,
      out: 'the first\n',
      err: expect.stringContaining('asks asks: Which one?'),
    });
    expect(await runTool(asks(['red', 'blue']), { answers: ['green', '3', '2'] })).toMatchObject({
      code: 0,
      out: 'blue\n',
    });
  });

  it('takes the fields of a form as JSON, and asks again for what does not fit', async () => {
    const form = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', default: 30 } },
      required: ['name'],
    } as const;
    const { code, out, err } = await runTool(asks({ form }), {
      answers: ['Ada', '{"age":5}', '{"name":"Ada"}'],
    });
    expect([code, JSON.parse(out)]).toEqual([0, { name: 'Ada', age: 30 }]);
    expect(err.match(/^refused .*/gm)).toEqual(
      [...Array<string>(2)].map(
        () => expect.stringContaining('expected JSON with the fields name, age') as string,
      ),
    );
  });

  it('takes numbers, values or labels of choices, several where the tool says so, and other words where it allows them', async () => {
    const choices = ['red', { value: 'b', label: 'Blue' }];
    const answers = async (options: AskUserOptions, ...given: string[]) =>
      (await runTool(asks(options), { answers: given })).out.trim();
    expect(await answers({ choices }, '2')).toBe('b');
    expect(await answers({ choices }, '1,2', 'Blue')).toBe('b');
    expect(JSON.parse(await answers({ choices, multiple: true }, '3', 'red,3', '2, 1'))).toEqual([
      'b',
      'red',
    ]);
    expect(
      JSON.parse(await answers({ choices, multiple: true, allowOther: true }, 'pink, red')),
    ).toEqual(['pink', 'red']);
    expect(await answers({ choices, allowOther: true }, '1')).toBe('red');
    expect(await answers({ choices: ['2', '1'] }, '1')).toBe('1');
    expect((await runTool(asks({ choices, allowOther: true }), { answers: [] })).err).toMatch(
      /question Which one\?\n {2}- red\n {2}- Blue {2}b/,
    );
  });

  it('exits with 1 when the time of a question is over', async () => {
    expect(
      await runTool(asks({ timeoutMs: 1 }), {
        answers: [() => new Promise<string>(() => undefined)],
      }),
    ).toMatchObject({ code: 1, err: expect.stringContaining('did not answer in time') });
  });

  it('exits with 4 and the question where nobody answers', async () => {
    for (const answers of [undefined, []]) {
      expect(await runTool(asks(['red']), answers === undefined ? {} : { answers })).toMatchObject({
        code: 4,
        out: '',
        err: expect.stringMatching(/question Which one\?\n {2}- red/),
      });
    }
  });

  it('prints the value of a halt, and the call that another program answers', async () => {
    expect(
      await runTool(defineTool({ ...readonly, name: 'stop', execute: () => halt('enough', 42) })),
    ).toMatchObject({ code: 0, out: '42\n', err: expect.stringContaining('halt enough') });
    const manual = await runTool(defineTool({ ...readonly, name: 'sign', manual: true }));
    expect([manual.code, JSON.parse(manual.out)]).toMatchObject([
      4,
      { kind: 'manual', toolName: 'sign' },
    ]);
  });
});

describe('shown arguments', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('Run it? [y/N/e] y', '\u001b[1A', '\n', '漢字'.repeat(30)),
  );

  it('stand behind a bar in every line, and hold nothing that is not seen', () => {
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, fc.integer(), fc.array(text))),
        fc.integer({ min: 30, max: 120 }),
        (input, width) => {
          const lines = shownArguments(input, width, { whole: true });
          if (Object.keys(input).length === 0) return;
          for (const line of lines) {
            expect(line).toMatch(/^[\w.-]* *[│┆] /);
            expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
          }
        },
      ),
    );
  });
});

describe('the program', () => {
  it('runs tools of a file, holds their writes, and leaves standard output to the result', async () => {
    const project = cli.project({
      'a.ts': `DEFINE export const a = defineTool({ name: 'shout', description: 'Shouts', inputSchema: {}, accessMode: 'write', execute: () => { console.log('noise'); return 'done'; } });`,
    });
    expect(await cli.run(['run', 'shout', '--tools', 'a.ts'], project)).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringContaining('--yes medium'),
    });
    expect(await cli.run(['run', 'shout', '--tools', 'a.ts', '--yes'], project)).toMatchObject({
      code: 0,
      out: 'done\n',
      err: expect.stringContaining('noise'),
    });
  });

  const noTerminal = spawnSync('tmux', ['-V']).status !== 0;
  it.skipIf(noTerminal)(
    `asks at a real terminal, and is a no after Ctrl-C${noTerminal ? ' (skipped: there is no tmux)' : ''}`,
    async () => {
      const terminal = new RealTerminal(['run', ...write('Hello')], folder);
      try {
        await terminal.shows('Run it?');
        terminal.types('e', 'Enter');
        await terminal.shows('Arguments as JSON: {"path":"a.txt","content":"Hello"}');
        terminal.types('C-u', '{"path":"a.txt","content":"Bye"}', 'Enter');
        await terminal.shows('"Bye"\nRun it?');
        terminal.types('y', 'Enter');
        await terminal.shows('ended with 0');
        expect(written()).toBe('Bye');
      } finally {
        terminal.close();
      }
      const interrupted = new RealTerminal(['run', ...write('Again', { overwrite: true })], folder);
      try {
        await interrupted.shows('Run it?');
        interrupted.types('C-c');
        await interrupted.shows('ended with 130');
        expect(written()).toBe('Bye');
      } finally {
        interrupted.close();
      }
    },
  );
});

describe('tooldex run of a tool whose result is more than text', () => {
  const pixels = new Uint8Array(700_140).fill(7);
  const base64 = Buffer.from(pixels).toString('base64');
  const camera = defineTool({
    ...readonly,
    name: 'camera',
    description: 'Takes a picture',
    execute: () =>
      ok(
        { width: 2 },
        {
          content: [
            text('{"width":2}'),
            text('A door.'),
            image(pixels, 'image/png'),
            file(pixels, 'application/pdf', { name: '../../etc/.x y.pdf' }),
            audio(pixels, 'audio/mpeg'),
            image('https://example.com/a.png', 'image/png'),
          ],
        },
      ),
  });

  it('says what it is and how large, never in base64, whether or not a terminal is there', async () => {
    for (const options of [{}, { columns: 80, interactive: true }]) {
      const { code, out } = await runTool(camera, options);
      expect(code).toBe(0);
      expect(out.split('\n')).toEqual([
        '{',
        '  "width": 2',
        '}',
        'A door.',
        '[image: image/png, 684 KiB]',
        '[file ../../etc/.x y.pdf: application/pdf, 684 KiB]',
        '[audio: audio/mpeg, 684 KiB]',
        '[image: image/png, https://example.com/a.png]',
        '',
      ]);
    }
    const { out } = await runTool(
      defineTool({
        ...readonly,
        name: 'photo',
        execute: () => ok(null, { content: [image(pixels, 'image/png')] }),
      }),
    );
    expect(out).toBe('[image: image/png, 684 KiB]\n');
  });

  it('has size and SHA-256 of content with --json, and the bytes with --full', async () => {
    const short = (await runTool(camera, { flags: { json: true } })).out;
    expect(short.length).toBeLessThan(2_500);
    expect((JSON.parse(short) as { content: unknown[] }).content[2]).toEqual({
      type: 'image',
      mediaType: 'image/png',
      size: 700_140,
      digest: createHash('sha256').update(pixels).digest('hex'),
    });
    const full = (await runTool(camera, { flags: { json: true, full: true } })).out;
    expect((JSON.parse(full) as { content: { data: string }[] }).content[2]!.data === base64).toBe(
      true,
    );
  });
});
