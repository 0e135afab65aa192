import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export type DecoratorMode = 'standard' | 'legacy';

/** A project of its own, outside of this one, that has the built package, zod, Node's types and the given packages installed. */
export class Consumer {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-consumer-')));

  constructor(...packages: readonly string[]) {
    mkdirSync(join(this.folder, 'node_modules'));
    symlinkSync(ROOT, join(this.folder, 'node_modules/tooldex'), 'junction');
    for (const name of ['zod', '@types', ...packages]) symlinkSync(join(ROOT, 'node_modules', name), join(this.folder, 'node_modules', name), 'junction');
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  url(name: string): string {
    return pathToFileURL(this.path(name)).href;
  }

  /** Writes a module, lowered by TypeScript, whose standard decorators need `Symbol.metadata` to keep anything. */
  writeTypeScript(name: string, source: string, mode: DecoratorMode): void {
    const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022, experimentalDecorators: mode === 'legacy' };
    writeFileSync(this.path(name), ts.transpileModule(source, { compilerOptions }).outputText);
  }

  /** Runs an ES module in plain Node and returns the one JSON value that it prints. */
  run(source: string): unknown {
    const script = this.path('script.mjs');
    writeFileSync(script, source);
    return JSON.parse(execFileSync(process.execPath, [script], { cwd: this.folder, encoding: 'utf8' }));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
