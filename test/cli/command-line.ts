import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runCli } from '../../src/cli/run-cli.js';
import { DEADLINE_MS, program, ROOT } from '../programs.js';
import { folderWith } from '../folder-with.js';
import { FakeTerminal, type FakeTerminalOptions } from './fake-terminal.js';

export { folderWith };

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The tools of tests, which a file of tools exports. */
const exported: unknown[] = [];
Object.assign(globalThis, { exportedToTooldex: exported });

/** Returns the path of a file that exports tools of a test. */
function fileWith(tools: unknown): string {
  const text = `export const tools = globalThis.exportedToTooldex[${exported.length}];`;
  exported.push(tools);
  return join(folderWith({ 'tools.mjs': text }), 'tools.mjs');
}

export interface CommandCase extends FakeTerminalOptions {
  readonly cwd?: string;
  /** The tools that the command works on, instead of the bundled ones. */
  readonly tools?: unknown;
  readonly terminal?: FakeTerminal;
}

/** Runs a command line in this process. */
export async function tooldex(
  args: readonly string[],
  { cwd = ROOT, tools, terminal: given, ...options }: CommandCase = {},
) {
  const terminal = given ?? new FakeTerminal(options);
  const own = tools === undefined ? [] : ['--tools', fileWith(tools)];
  const code = await runCli([...args, ...own], terminal, cwd);
  return { code, out: terminal.printed, err: terminal.told, asked: terminal.asked, terminal };
}

/** The program as users have it: compiled, so that no loader but its own is there. */
export const cli = {
  /** The file that node runs. */
  get program(): string {
    return program('src/cli/main.ts');
  },

  /** A folder with files; `DEFINE` in one becomes the import of `defineTool` and `tool`. */
  project(files: Readonly<Record<string, string>>): string {
    const define = `import { defineTool, tool } from ${JSON.stringify(program('src/index.ts'))};`;
    const all = { 'package.json': '{ "type": "module" }', 'tsconfig.json': '{}', ...files };
    return folderWith(
      Object.fromEntries(
        Object.entries(all).map(([file, text]) => [file, text.replace('DEFINE', define)]),
      ),
    );
  },

  /** Runs a command line in a process of its own. */
  run(args: readonly string[], cwd = ROOT): Promise<Ended> {
    return end(
      spawn(process.execPath, [cli.program, ...args], {
        cwd,
        env: { ...process.env, NO_COLOR: '1' },
        timeout: DEADLINE_MS,
      }),
    );
  },

  /** With a reader of its output that leaves at once. */
  runUnread(args: readonly string[], cwd = ROOT): Promise<Ended> {
    const child = spawn(process.execPath, [cli.program, ...args], {
      cwd,
      env: { ...process.env, NO_COLOR: '1' },
      timeout: DEADLINE_MS,
    });
    child.stdout.destroy();
    return end(child);
  },
};

function end(child: ReturnType<typeof spawn>): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout!.on('data', (text) => (out += text));
  child.stderr!.on('data', (text) => (err += text));
  return new Promise((done) => child.on('close', (code) => done({ code, out, err })));
}
