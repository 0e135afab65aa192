import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { program } from '../programs.js';
import { chatIn, Effects, MODEL_FILE } from './chat-cases.js';
import { cli, folderWith } from './command-line.js';
import { RealTerminal } from './real-terminal.js';

/** Simulates a user of the program at a terminal. */
async function at(
  args: readonly string[],
  folder: string,
  work: (terminal: RealTerminal) => Promise<void>,
) {
  const terminal = new RealTerminal(['chat', ...args], folder);
  try {
    await work(terminal);
  } finally {
    terminal.close();
  }
}

describe('tooldex chat in a terminal', () => {
  it('runs a write after approval, and the script reports the result', async () => {
    const folder = folderWith();
    await at(['--session', 's.json'], folder, async (terminal) => {
      await terminal.shows('›');
      terminal.types('write_file {"path":"notes.md","content":"Hi"}', 'Enter');
      await terminal.shows('Run it? [y/N/e');
      expect(existsSync(join(folder, 'notes.md'))).toBe(false);
      terminal.types('y', 'Enter');
      await terminal.shows('}}\n›');
      terminal.types('C-d');
      await terminal.shows('ended with 0');
    });
    expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toBe('Hi');
  });

  it('stops a turn on Ctrl-C, exits on a second Ctrl-C, and resumes the turn in another process', async () => {
    const folder = folderWith();
    const prompt = ['write_file', '{"path":"notes.md","content":"Hi"}'];
    await at(['--session', 's.json', ...prompt], folder, async (terminal) => {
      await terminal.shows('Run it? [y/N/e');
      terminal.types('C-c');
      await terminal.shows('Press Enter to continue');
      terminal.types('C-c');
      await terminal.shows('ended with 4');
    });
    await at(['--session', 's.json'], folder, async (terminal) => {
      await terminal.shows('write_file  danger medium');
      terminal.types('n', 'Enter');
      await terminal.shows('The tool returned:');
    });
    expect(existsSync(join(folder, 'notes.md'))).toBe(false);
  });

  it("resumes after being killed during a call, and doesn't run the call twice", async () => {
    const folder = folderWith({
      'model.mjs': MODEL_FILE,
      'tools.ts': `
        import { appendFileSync } from 'node:fs';
        import { defineTool } from ${JSON.stringify(program('src/index.ts'))};
        const dies = () => { appendFileSync('paid.txt', 'once '); process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}); };
        export const pay = defineTool({ name: 'pay', description: 'Pays', inputSchema: { type: 'object' }, accessMode: 'write', execute: dies });`,
      'package.json': '{ "type": "module" }',
      'tsconfig.json': '{}',
    });
    const flags = [
      'chat',
      '--tools',
      'tools.ts',
      '--model',
      './model.mjs',
      '--session',
      's.json',
      '--yes',
      'high',
    ];
    expect((await cli.run([...flags, '[[["pay"]],"thanks"]'], folder)).code).toBeNull();
    const listed = await cli.run(flags, folder);
    expect([listed.code, listed.err]).toEqual([
      4,
      expect.stringMatching(/pay {2}was started, and its outcome is unknown\n/),
    ]);
    await at(flags.slice(1), folder, async (terminal) => {
      await terminal.shows('r runs it again');
      terminal.types('it was paid', 'Enter');
      await terminal.shows('thanks');
    });
    expect(readFileSync(join(folder, 'paid.txt'), 'utf8')).toBe('once ');
  });
});

describe('an AI SDK model', () => {
  it('is loaded from a file, and its text is printed as it streams', async () => {
    const sdk = (name: string) => pathToFileURL(createRequire(import.meta.url).resolve(name)).href;
    const usage = '{ inputTokens: { total: 1 }, outputTokens: { total: 1 } }';
    const chunks = (...parts: readonly string[]) =>
      `{ stream: simulateReadableStream({ chunks: [{ type: 'stream-start', warnings: [] }, ${parts.join(', ')}] }) }`;
    const folder = folderWith({
      'model.mjs': `import sdk from '${sdk('ai')}'; import test from '${sdk('ai/test')}';
        const { simulateReadableStream } = sdk;
        export default new test.MockLanguageModelV3({ doStream: [
          ${chunks("{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}' }", `{ type: 'finish', finishReason: { unified: 'tool-calls' }, usage: ${usage} }`)},
          ${chunks("{ type: 'text-start', id: '1' }", "{ type: 'text-delta', id: '1', delta: 'All ' }", "{ type: 'text-delta', id: '1', delta: 'good.' }", "{ type: 'text-end', id: '1' }", `{ type: 'finish', finishReason: { unified: 'stop' }, usage: ${usage} }`)},
        ] });`,
    });
    const effects = new Effects();
    expect(
      await chatIn(folder, {
        prompt: 'look',
        tools: effects.tools,
        flags: ['--model', './model.mjs'],
      }),
    ).toMatchObject({ code: 0, out: 'All good.\n' });
    expect(effects.made).toEqual(['look']);
  });
});
