import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shownArguments } from '../../src/cli/execute/shown-call.js';
import {
  AccessMode,
  askUser,
  defineTool,
  file,
  halt,
  image,
  ok,
  text,
  type AskUserOptions,
} from '../../src/index.js';
import { folderWith, tooldex, type CommandCase } from './command-line.js';
import { FakeTerminal } from './fake-terminal.js';
import { RealTerminal } from './real-terminal.js';

let folder: string;
beforeEach(() => void (folder = folderWith()));

/** Runs `tooldex run` with the bundled tools in the test's folder. */
const runBundled = (args: readonly string[], options: CommandCase = {}) =>
  tooldex(['run', ...args], { cwd: folder, ...options });

const readonly = {
  description: 'A tool',
  inputSchema: z.object({}),
  accessMode: AccessMode.READONLY,
};

/** Runs `tooldex run` on a tool of the test. */
const runTool = (
  tool: ReturnType<typeof defineTool>,
  flags: readonly string[] = [],
  options: CommandCase = {},
) => tooldex(['run', tool.name, ...flags], { cwd: folder, tools: tool, ...options });

const write = (content: string, more = {}) => [
  'write_file',
  '--input',
  JSON.stringify({ path: 'a.txt', content, ...more }),
];
const written = () =>
  existsSync(join(folder, 'a.txt')) ? readFileSync(join(folder, 'a.txt'), 'utf8') : undefined;

describe('tooldex run', () => {
  it('runs a readonly tool without asking, in the current folder', async () => {
    writeFileSync(join(folder, 'a.txt'), 'Hello');
    const { code, out, err, asked } = await runBundled(
      ['read_file', '--input', '{"path":"a.txt"}'],
      { answers: [] },
    );
    expect([code, JSON.parse(out).text, asked]).toEqual([0, 'Hello', []]);
    expect(err).toMatch(/^ok .*1 attempt$/m);
  });

  it('confines the bundled tools to the folder from --root, and refuses a missing folder', async () => {
    const root = join(import.meta.dirname, '../fixtures');
    const { code, out } = await runBundled(['list_directory', '--root', root, '--json']);
    expect([code, JSON.parse(out).status]).toEqual([0, 'ok']);
    expect(out).toContain('legacy');
    expect(await runBundled(['list_directory', '--root', 'nowhere'])).toMatchObject({
      code: 2,
      err: expect.stringContaining("There's no folder for --root at nowhere"),
    });
    expect((await runBundled(['list_directory', '--root', '.', '--tools', '.'])).code).toBe(2);
  });

  it('reads the input from a file or standard input, and defaults to {}', async () => {
    writeFileSync(join(folder, 'input.json'), '\ufeff{"path":"input.json"}');
    expect((await runBundled(['read_file', '--input', '@input.json'])).code).toBe(0);
    const input = '{"path":"input.json"}';
    expect((await runBundled(['read_file', '--input', '-'], { input })).code).toBe(0);
    expect((await runBundled(['list_directory'])).out).toContain('input.json');
  });

  it.each([
    [['read_fil'], /Did you mean read_file/],
    [['read_file', '--input', '{path'], /--input isn't valid JSON/],
    [['read_file', '--input', '@/dev/zero'], /more than \d+ bytes/],
    [['read_file', '--yes=sometimes'], /Expected one of safe/],
  ])('exits with 2 for the arguments %j', async (args, message) => {
    expect(await runBundled(args)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(message),
    });
  });

  it('exits with 1 if the tool fails', async () => {
    const { code, err, out } = await runBundled(['read_file', '--input', '{"path":"nowhere.txt"}']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^error Expected .*nowhere.txt/m);
  });

  it('prints text unchanged for programs, and escapes control characters on a terminal', async () => {
    const execute = () => 'one\ttwo\n\u001b[31mred\u202e';
    const tool = defineTool({ ...readonly, name: 'colours', execute });
    expect((await runTool(tool, [], { columns: Infinity })).out).toBe(`${execute()}\n`);
    expect((await runTool(tool)).out).toBe('one\ttwo\n\\u001b[31mred\\u202e\n');
    const { out } = await runTool(tool, ['--json']);
    // eslint-disable-next-line no-control-regex
    expect(out).not.toMatch(/[\u001b\u202e]/);
    expect(JSON.parse(out).value).toBe(execute());
  });

  it('prints each progress report on one plain line', async () => {
    const tool = defineTool({
      ...readonly,
      name: 'slow',
      execute: (_, { reportProgress }) =>
        void (reportProgress!('half\n\u001b[2Jway'), reportProgress!({ percent: 90 })),
    });
    expect((await runTool(tool)).err).toMatch(/^slow: half \[2Jway\nslow: \{"percent":90\}\nok/);
  });

  it("overrides the tool's timeout with --timeout", async () => {
    const execute = () => new Promise(() => {});
    const tool = defineTool({ ...readonly, name: 'slow', timeoutMs: 60_000, execute });
    expect(await runTool(tool, ['--timeout', '1'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('within 1 ms'),
    });
  });

  it('exits with 130 if the user interrupts it', async () => {
    const terminal = new FakeTerminal();
    const execute = () => new Promise(() => void terminal.interrupt());
    const tool = defineTool({ ...readonly, name: 'slow', execute });
    expect(await runTool(tool, [], { terminal })).toMatchObject({
      code: 130,
      out: '',
      err: expect.stringContaining('interrupted'),
    });
    expect(terminal.listeners).toBe(0);
  });
});

describe('a call that needs approval', () => {
  it('stays pending if nobody can answer, and the message says which option approves it', async () => {
    const { code, out, err } = await runBundled(write('Hello'));
    expect([code, out, written()]).toEqual([4, '', undefined]);
    expect(err).toContain('--yes medium');
    expect(err).toContain('│ "Hello"');
    const json = await runBundled([...write('x'), '--json']);
    expect(JSON.parse(json.out)).toMatchObject({
      status: 'approval_required',
      pending: { danger: 'medium', input: { path: 'a.txt' } },
    });
  });

  it('runs after "y", but not after any other answer', async () => {
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

  it('is shown with the tool, the danger, the reason, and the entire input', async () => {
    const content = `one\n${'long '.repeat(90)}\n\u001b[2J\u202eevil\u200b\u00a0end`;
    const { err } = await runBundled(write(content), { answers: ['n'], columns: 80 });
    const shown = err.slice(0, err.indexOf('Run it?'));
    expect(shown).toMatch(/^write_file {2}danger medium\n {2}write_file: it can change something/);
    expect(shown).toContain('\\u001b[2J\\u202eevil\\u200b\\u00a0end');
    expect(shown.replace(/\n *┆ /g, '')).toContain(`│ ${'long '.repeat(90)}\n`);
    expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('runs with edited arguments after "e", once they have been checked and shown again', async () => {
    const { code, err, asked } = await runBundled(write('Hello'), {
      answers: ['e', '{"path":"a.txt","content":"Bye","overwrite":true}', 'y'],
    });
    expect([code, written()]).toEqual([0, 'Bye']);
    expect(asked[1]!.prefill).toBe('{"path":"a.txt","content":"Hello"}');
    expect(err.indexOf('danger medium')).toBeLessThan(err.indexOf('danger high'));
    expect(err).toContain('"Bye"');
  });

  it("asks again about the previous arguments if the edited arguments aren't valid", async () => {
    const { code, err } = await runBundled(write('Hello'), {
      answers: ['e', '{', 'e', '{"path":1}', 'e', '{"path":"a.txt","content":"Bye"}', 'n'],
    });
    expect([code, written()]).toEqual([4, undefined]);
    expect(err.match(/^refused /gm)).toHaveLength(2);
  });

  it('is denied if the user interrupts', async () => {
    const terminal: FakeTerminal = new FakeTerminal({
      answers: [() => (terminal.interrupt(), undefined)],
    });
    expect((await runBundled(write('Hello'), { terminal })).code).toBe(130);
    expect(written()).toBeUndefined();
  });

  it('shows how much of long arguments is hidden, and shows everything after "a"', async () => {
    const { code, err, asked } = await runBundled(write(`begin${'x'.repeat(9_000)}END`), {
      answers: ['a', 'n'],
      columns: 80,
    });
    expect(code).toBe(4);
    expect(asked.map(({ question }) => question)).toEqual([
      'Run it? [y/N/e/a] (a shows all) ',
      'Run it? [y/N/e] ',
    ]);
    const [short, whole] = err.split('[y/N/e/a]');
    expect(short).toMatch(/begin[^]*more lines are NOT shown/);
    expect([short!.includes('END'), whole!.includes('END')]).toEqual([false, true]);
  });
});

describe('--yes', () => {
  it("covers calls up to the given danger, by default medium, and the danger can depend on a call's arguments", async () => {
    const over = write('two', { overwrite: true });
    expect([(await runBundled([...write('one'), '--yes', 'low'])).code, written()]).toEqual([
      4,
      undefined,
    ]);
    expect([(await runBundled([...write('one'), '--yes'])).code, written()]).toEqual([0, 'one']);
    expect([(await runBundled([...over, '--yes'])).code, written()]).toEqual([4, 'one']);
    expect([(await runBundled([...over, '--yes', 'high'])).code, written()]).toEqual([0, 'two']);
  });
});

describe('--mode', () => {
  it.each([['read-only'], ['unattended'], ['read-only', '--yes', 'critical']])(
    'with the value %s, a write exits with 3 and nobody is asked for approval',
    async (...mode) => {
      const args = [...write('Hello'), '--mode', ...mode];
      const { code, err, asked } = await runBundled(args, { answers: ['y'] });
      expect([code, asked, written()]).toEqual([3, [], undefined]);
      expect(err).toMatch(/^denied /m);
    },
  );
});

describe("tooldex run of a tool that doesn't return a plain result", () => {
  const asks = (options?: readonly string[] | AskUserOptions) =>
    defineTool({ ...readonly, name: 'asks', execute: () => askUser('Which one?', options) });
  const answer = (options: Parameters<typeof asks>[0], ...answers: string[]) =>
    runTool(asks(options), [], { answers });

  it("asks the tool's question, and prints the answer as the result", async () => {
    expect(await answer(undefined, 'the first')).toMatchObject({
      code: 0,
      out: 'the first\n',
      err: expect.stringContaining('asks asks: Which one?'),
    });
    expect((await answer(['red', 'blue'], 'green', '3', '2')).out).toBe('blue\n');
  });

  it("reads the fields of a form as JSON, and asks again if they don't match", async () => {
    const form = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer', default: 30 } },
      required: ['name'],
    } as const;
    const { code, out, err } = await answer({ form }, 'Ada', '{"age":5}', '{"name":"Ada"}');
    expect([code, JSON.parse(out)]).toEqual([0, { name: 'Ada', age: 30 }]);
    expect(err).toMatch(/^refused Expected JSON with the fields name, age[^]*\nrefused name: /m);
  });

  it('reads the number of a choice, but prefers a choice that is this number', async () => {
    expect((await answer(['red', 'blue'], '1,2', '2')).out).toBe('blue\n');
    expect((await answer(['2', '1'], '1')).out).toBe('1\n');
  });

  it('exits with 4 and prints the question if nobody answers in time', async () => {
    const late = { answers: [() => new Promise<string>(() => undefined)] };
    for (const [tool, options] of [
      [asks(['red']), {}],
      [asks(['red']), { answers: [] }],
      [asks({ choices: ['red'], timeoutMs: 1 }), late],
    ] as const)
      expect(await runTool(tool, [], options)).toMatchObject({
        code: 4,
        out: '',
        err: expect.stringMatching(/question Which one\?\n {2}1 red/),
      });
  });

  it('prints the value of a halt, and the pending call of a manual tool', async () => {
    const stop = defineTool({ ...readonly, name: 'stop', execute: () => halt('enough', 42) });
    expect(await runTool(stop)).toMatchObject({
      code: 0,
      out: '42\n',
      err: expect.stringContaining('halt enough'),
    });
    const manual = await runTool(defineTool({ ...readonly, name: 'sign', manual: true }));
    expect([manual.code, JSON.parse(manual.out)]).toMatchObject([
      4,
      { kind: 'manual', toolName: 'sign' },
    ]);
  });
});

it('every line of displayed arguments starts with a bar, and control characters are escaped', () => {
  const words = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('Run it? [y/N/e] y', '\u001b[1A', '\n', '漢字'.repeat(30)),
  );
  fc.assert(
    fc.property(
      fc.dictionary(words, fc.oneof(words, fc.integer(), fc.array(words)), { minKeys: 1 }),
      fc.integer({ min: 30, max: 120 }),
      (input, width) => {
        for (const line of shownArguments(input, width)) {
          expect(line).toMatch(/^[\w.-]* *[│┆] /);
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }
      },
    ),
  );
});

describe('the tooldex program', () => {
  const noTerminal = spawnSync('tmux', ['-V']).status !== 0;
  it.skipIf(noTerminal)(
    `asks at a real terminal, and runs nothing after Ctrl-C${noTerminal ? ' (skipped: there is no tmux)' : ''}`,
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

describe('a result with images and files', () => {
  const pixels = new Uint8Array(700_140).fill(7);
  const camera = defineTool({
    ...readonly,
    name: 'camera',
    execute: () =>
      ok(
        { width: 2 },
        {
          content: [
            text('A door.'),
            image(pixels, 'image/png'),
            file(pixels, 'application/pdf', { name: '../../etc/.x y.pdf' }),
            image('https://example.com/a.png', 'image/png'),
          ],
        },
      ),
  });

  it('is printed as a description, never as base64', async () => {
    expect((await runTool(camera)).out.split('\n').slice(3)).toEqual([
      'A door.',
      '[image: image/png, 684 KiB]',
      '[file ../../etc/.x y.pdf: application/pdf, 684 KiB]',
      '[image: image/png, https://example.com/a.png]',
      '',
    ]);
  });
});
