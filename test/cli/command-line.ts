import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';

export const ROOT = resolve(import.meta.dirname, '../..');

/** What a test starts does not outlive it. */
const DEADLINE_MS = 15_000;

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The program as users have it: compiled, so that no loader but its own is there. Built once for each test file. */
export class CommandLine {
  // Beside the packages that it imports.
  readonly #folder = join(ROOT, 'node_modules', '.cache', `tooldex-cli-${process.pid}-${Math.random().toString(36).slice(2)}`);
  readonly #projects: string[] = [];

  async build(): Promise<void> {
    await build({
      entryPoints: [join(ROOT, 'src/cli/main.ts')],
      outdir: this.#folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      logLevel: 'error',
    });
  }

  /** The file that node runs. */
  get program(): string {
    return join(this.#folder, 'main.mjs');
  }

  remove(): void {
    for (const folder of [this.#folder, ...this.#projects]) rmSync(folder, { recursive: true, force: true });
  }

  /** A folder with files; `DEFINE` in one becomes the import of `defineTool` and `tool`. */
  project(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'tooldex-cli-'));
    this.#projects.push(folder);
    for (const [file, text] of Object.entries({ 'package.json': '{ "type": "module" }', 'tsconfig.json': '{}', ...files })) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text.replace('DEFINE', `import { defineTool, tool } from ${JSON.stringify(join(ROOT, 'src/index.ts'))};`));
    }
    return folder;
  }

  run(args: readonly string[], cwd = ROOT): Promise<Ended> {
    return end(spawn(process.execPath, [this.program, ...args], { cwd, env: { ...process.env, NO_COLOR: '1' }, timeout: DEADLINE_MS }));
  }

  /** With a reader of its output that leaves at once. */
  runUnread(args: readonly string[], cwd = ROOT): Promise<Ended> {
    const child = spawn(process.execPath, [this.program, ...args], { cwd, env: { ...process.env, NO_COLOR: '1' }, timeout: DEADLINE_MS });
    child.stdout.destroy();
    return end(child);
  }
}

function end(child: ReturnType<typeof spawn>): Promise<Ended> {
  let out = '';
  let err = '';
  child.stdout!.on('data', (text) => (out += text));
  child.stderr!.on('data', (text) => (err += text));
  return new Promise((done) => child.on('close', (code) => done({ code, out, err })));
}
