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

/** The source of a tool file that exports the given tools. */
const exported: unknown[] = [];
Object.assign(globalThis, { exportedToTooldex: exported });

/** Returns the path of a file that exports the given tools. */
function fileWith(tools: unknown): string {
  const text = `export const tools = globalThis.exportedToTooldex[${exported.length}];`;
  exported.push(tools);
  return join(folderWith({ 'tools.mjs': text }), 'tools.mjs');
}

export interface CommandCase extends FakeTerminalOptions {
  readonly cwd?: string;
  /** The tools that the command uses instead of the bundled tools. */
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

/** The compiled program as users have it, so only its own loader is active. */
export const cli = {
  /** The file that node runs. */
  get program(): string {
    return program('src/cli/main.ts');
  },

  /** Returns a folder with these files. `DEFINE` in a file becomes the import of `defineTool` and `tool`. */
  project(files: Readonly<Record<string, string>>): string {
    const define = `import { defineTool, tool } from ${JSON.stringify(program('src/index.ts'))};`;
    const all = { 'package.json': '{ "type": "module" }', 'tsconfig.json': '{}', ...files };
    return folderWith(
      Object.fromEntries(
        Object.entries(all).map(([file, text]) => [file, text.replace('DEFINE', define)]),
      ),
    );
  },

  /** Runs a command line in a new process. */
  run(args: readonly string[], cwd = ROOT): Promise<Ended> {
    return end(
      spawn(process.execPath, [cli.program, ...args], {
        cwd,
        env: { ...process.env, NO_COLOR: '1' },
        timeout: DEADLINE_MS,
      }),
    );
  },

  /** Runs the command with a reader that closes the pipe at once. */
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
