import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Session } from '../../src/chat.js';
import { defineTool, type AccessMode, type ToolDefinition } from '../../src/index.js';
import { chatIn, Effects, MODEL_FILE, type ChatCase } from './chat-cases.js';
import { folderWith } from './command-line.js';
import { FakeTerminal } from './fake-terminal.js';

const MODEL = ['--model', './model.mjs'];
const SESSION = ['--session', 's.json'];

/** A chat with the test's tools and a model whose answers are in the prompt. */
function scripted(
  answers: readonly unknown[],
  { flags = [], ...more }: ChatCase = {},
  {
    tools,
    cwd = folderWith({ 'model.mjs': MODEL_FILE }),
  }: { tools: readonly ToolDefinition[]; cwd?: string } = new Effects(),
) {
  return chatIn(cwd, {
    prompt: JSON.stringify(answers),
    tools,
    ...more,
    flags: [...MODEL, ...flags],
  });
}

const tool = (name: string, execute: ToolDefinition['execute'], accessMode: AccessMode = 'write') =>
  defineTool({
    name,
    description: `The tool ${name}`,
    inputSchema: { type: 'object' },
    accessMode,
    execute: execute!,
  });

const WRITE = 'write_file {"path":"notes.md","content":"Hi"}';

describe('tooldex chat without a user', () => {
  it('runs the tool named in the prompt, and lists the calls that need approval', async () => {
    const folder = folderWith({ 'a.txt': 'A' });
    const { code, out, err } = await chatIn(folder, { prompt: 'list_directory' });
    expect([code, out]).toEqual([0, expect.stringMatching(/^The tool returned: .*a\.txt/)]);
    expect(err).toMatch(/▸ list_directory \{\}\n {2}✓ list_directory .*a\.txt/);
    const write = await chatIn(folder, { prompt: WRITE });
    expect([write.code, write.out]).toEqual([4, '']);
    expect(write.err).toMatch(/write_file {2}danger medium\n[^]*To decide, run tooldex chat/);
  });

  it('continues the session in the next process until the model has answered', async () => {
    const folder = folderWith();
    expect((await chatIn(folder, { prompt: WRITE, flags: SESSION })).code).toBe(4);
    expect((await chatIn(folder, { flags: SESSION })).code).toBe(4);
    expect(existsSync(join(folder, 'notes.md'))).toBe(false);
    const second = await chatIn(folder, { answers: ['y'], flags: SESSION });
    expect([second.code, second.out]).toEqual([0, expect.stringMatching(/^The tool returned: /)]);
    expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toBe('Hi');
    expect(readdirSync(folder).sort()).toEqual(['notes.md', 's.json']);
    expect(statSync(join(folder, 's.json')).mode & 0o077).toBe(0);
    const stored = readFileSync(join(folder, 's.json'), 'utf8');
    expect(Session.fromJSON(JSON.parse(stored)).status).toBe('completed');
  });

  it('answers a pending question with the next prompt', async () => {
    const { tools } = new Effects();
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    await scripted([[['ask']], 'bye'], { flags: SESSION }, { tools, cwd });
    expect(
      await chatIn(cwd, { prompt: 'red', tools, flags: [...MODEL, ...SESSION] }),
    ).toMatchObject({ code: 0, out: 'bye\n' });
  });

  it("prints every event as a line of JSON with --json, and then the session's status", async () => {
    const { code, out, err } = await scripted([[['look'], ['sign']], 'done'], {
      answers: ['never'],
      flags: ['--json'],
    });
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; toolName?: string });
    expect([code, err]).toEqual([4, '']);
    expect(events.filter(({ toolName }) => toolName === 'look').map(({ type }) => type)).toEqual([
      'tool-started',
      'tool-completed',
      'tool-encoded',
    ]);
    expect(events.at(-1)).toMatchObject({
      type: 'session',
      status: 'awaiting_tools',
      pending: [{ kind: 'manual', callId: 'c2' }],
    });
  });

  it('exits with 1 if the model fails or after --max-turns, and with 0 if a tool halts', async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const { tools } = new Effects();
    expect(await scripted(['fail'], { flags: SESSION }, { tools, cwd })).toMatchObject({
      code: 1,
      err: expect.stringContaining('the service is down'),
    });
    writeFileSync(join(cwd, 'better.mjs'), MODEL_FILE.replace("'fail'", "'never'"));
    const better = ['--model', './better.mjs', ...SESSION];
    expect(await chatIn(cwd, { tools, flags: better })).toMatchObject({ code: 0, out: 'fail\n' });
    const turns = await scripted([[['look']], 'done'], { flags: ['--max-turns', '1'] });
    expect(turns).toMatchObject({ code: 1, err: expect.stringContaining('--max-turns') });
    const halted = await scripted([[['stop']], 'done']);
    expect(halted).toMatchObject({ code: 0, err: expect.stringContaining('stopped: enough') });
  });

  it('runs no tools with --manual, and runs calls covered by --yes without asking', async () => {
    const effects = new Effects();
    const manual = await scripted([[['look']]], { flags: ['--manual'] }, effects);
    expect([manual.code, effects.made]).toEqual([4, []]);
    const paid = await scripted(
      [[['pay', { cents: 2 }]], 'ok'],
      { flags: ['--yes', 'medium'] },
      effects,
    );
    expect([paid.code, effects.made]).toEqual([0, ['pay 2']]);
  });

  it("stops on Ctrl-C, keeps the session, and doesn't rerun a call that may have run", async () => {
    const cwd = folderWith({ 'model.mjs': MODEL_FILE });
    const terminal = new FakeTerminal();
    let runs = 0;
    const tools = [tool('slow', () => new Promise(() => void (runs++, terminal.interrupt())))];
    const flags = [...SESSION, '--yes', 'high'];
    expect((await scripted([[['slow']], 'done'], { terminal, flags }, { tools, cwd })).code).toBe(
      130,
    );
    expect(terminal.listeners).toBe(0);
    const again = { tools, flags: [...MODEL, ...SESSION] };
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

  it.each([
    ['--session', 'text.json', /text\.json/],
    ['--session', 'no/folder/s.json', /Could not write --session .*ENOENT/],
    ['--model', './throws.mjs', /Could not import --model .*broken/],
  ])('refuses %s %s', async (option, value, message) => {
    const folder = folderWith({
      'text.json': 'Hello',
      'other.json': '{"format":"other"}',
      'no-model.mjs': 'export default 7;',
      'throws.mjs': 'throw new Error("broken")',
    });
    const prompt = value === 'new.json' ? {} : { prompt: 'hi' };
    const { code, err } = await chatIn(folder, { ...prompt, flags: [option, value] });
    expect([code === 1 || code === 2, err]).toEqual([true, expect.stringMatching(message)]);
  });
});

describe('tooldex chat with a user', () => {
  it('asks for the results, approvals, and answers that calls need, in order, and continues', async () => {
    const effects = new Effects();
    const { code, out, err, asked } = await scripted(
      [[['sign'], ['pay', { cents: 5 }], ['ask']], 'all done'],
      { answers: ['{"signed":true}', 'y', '2'] },
      effects,
    );
    expect([code, out, effects.made]).toEqual([0, 'all done\n', ['pay 5']]);
    expect(asked.map(({ question }) => question)).toEqual([
      'Result (JSON or text): ',
      'Run it? [y/N/e] ',
      'Answer (1–2): ',
      '› ',
    ]);
    expect(err).toMatch(/pay {2}danger medium\n[^]*cents │ 5/);
  });

  it('shows edited arguments again before it runs them, and runs nothing after "n"', async () => {
    const effects = new Effects();
    const calls = [
      ['pay', { cents: 5 }],
      ['pay', { cents: 6 }],
    ];
    const answers = ['e', '{"cents":1}', 'y', 'n'];
    const { code, err } = await scripted([calls, 'ok'], { answers }, effects);
    expect([code, effects.made]).toEqual([0, ['pay 1']]);
    expect(err).toContain('▸ pay {"cents":1}');
  });

  it('stops a turn on Ctrl-C; Enter resumes the turn, and a new prompt drops its calls', async () => {
    const made: string[] = [];
    const terminal: FakeTerminal = new FakeTerminal({ answers: ['', 'r', '["thanks"]'] });
    const untilStopped = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
        terminal.interrupt();
      });
    const tools = [
      tool('slow', (_, { signal }) => (made.push('slow'), untilStopped(signal!))),
      tool('next', () => void made.push('next')),
    ];
    // Enter asks about the call's outcome. With "r", the call runs again and is interrupted again. Then
    // the user enters another text.
    const { code, err, out } = await scripted(
      [[['slow'], ['next']], 'done'],
      { terminal, flags: ['--yes', 'high'] },
      { tools },
    );
    expect([code, made, out]).toEqual([0, ['slow', 'slow'], 'thanks\n']);
    expect(err).toContain('Press Enter to continue');
    expect(terminal.listeners).toBe(0);
  });

  it('continues after a model error: Enter retries, and text is a new prompt', async () => {
    const { code, out, err } = await scripted(['fail'], { answers: ['', '["better"]'] });
    expect([code, out]).toEqual([0, 'better\n']);
    expect(err.match(/the service is down/g)).toHaveLength(2);
  });

  it('explains that the chat is a demo, how to use a model, and what the script understands', async () => {
    const folder = folderWith({ 'a.txt': 'Hello' });
    const { out, err } = await chatIn(folder, {
      answers: ['read_file {"path":', 'nothing of that'],
      prompt: 'read_file {"path":"a.txt"}',
    });
    expect(err).toMatch(/^Demo: a script stands in for the model[^]*--model; tooldex chat --help/);
    expect(out).toMatch(/^The tool returned: .*Hello/);
    expect(out.match(/I only understand/g)).toHaveLength(2);
  });

  it('never prints control characters from a model or a tool', async () => {
    const tools = [tool('look', () => '\u001b[2Jgone\u202e', 'readonly')];
    const answers = [[['look', { a: '\u001b[2J' }]], 'a\u001b[2Jb'];
    const { out, err } = await scripted(answers, {}, { tools });
    // eslint-disable-next-line no-control-regex
    expect(out + err).not.toMatch(/[\u001b\u202e]/);
  });
});
