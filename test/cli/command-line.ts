import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCli } from '../../src/cli/run-cli.js';
import { DEADLINE_MS, program, ROOT } from '../programs.js';
import { FakeTerminal } from './fake-terminal.js';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The program as users have it: compiled, so that no loader but its own is there. */
export const cli = {
  /** The file that node runs. */
  get program(): string {
    return program('src/cli/main.ts');
  },

  /** A folder with files; `DEFINE` in one becomes the import of `defineTool` and `tool`. */
  project(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'tooldex-cli-'));
    for (const [file, text] of Object.entries({
      'package.json': '{ "type": "module" }',
      'tsconfig.json': '{}',
      ...files,
    })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(
        join(folder, file),
        text.replace(
          'DEFINE',
          `import { defineTool, tool } from ${JSON.stringify(program('src/index.ts'))};`,
        ),
      );
    }
    return folder;
  },

  /** Runs a command line in this process: much faster, where what is tested is not the process. */
  async call(args: readonly string[], cwd = ROOT): Promise<Ended> {
    const terminal = new FakeTerminal();
    const code = await runCli(args, terminal, cwd);
    return { code, out: terminal.printed, err: terminal.told };
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
