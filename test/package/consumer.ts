import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The packages that npm installs with this package. */
const DEPENDENCIES = ['fuse.js', 'reflect-metadata'];

/**
 * Copies the built package into a folder as npm would install it, with its dependencies, zod, and links
 * to the given packages. No other packages are available.
 */
export function install(folder: string, packages: Readonly<Record<string, string>> = {}): void {
  const installed = join(folder, 'node_modules/tooldex');
  for (const part of ['dist', 'package.json'])
    cpSync(join(ROOT, part), join(installed, part), { recursive: true });
  const own = ['zod', ...DEPENDENCIES].map((name) => [name, join(ROOT, 'node_modules', name)]);
  for (const [name, path] of [...own, ...Object.entries(packages)] as [string, string][]) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(path, join(folder, 'node_modules', name), 'junction');
  }
}

export type DecoratorMode = 'standard' | 'legacy';

/**
 * A separate project outside this project with the built package, zod, Node's types, and the given
 * packages.
 */
export class Consumer {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-consumer-')));

  constructor(...packages: readonly string[]) {
    mkdirSync(join(this.folder, 'node_modules'));
    symlinkSync(ROOT, join(this.folder, 'node_modules/tooldex'), 'junction');
    for (const name of ['zod', '@types', ...packages])
      symlinkSync(
        join(ROOT, 'node_modules', name),
        join(this.folder, 'node_modules', name),
        'junction',
      );
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  url(name: string): string {
    return pathToFileURL(this.path(name)).href;
  }

  /**
   * Writes a module compiled by TypeScript. Its standard decorators store nothing without
   * `Symbol.metadata`.
   */
  writeTypeScript(name: string, source: string, mode: DecoratorMode): void {
    const compilerOptions = {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ES2022,
      experimentalDecorators: mode === 'legacy',
    };
    writeFileSync(this.path(name), ts.transpileModule(source, { compilerOptions }).outputText);
  }

  /** Runs an ES module in plain Node. Returns the single JSON value that the module prints. */
  run(source: string): unknown {
    const script = this.path('script.mjs');
    writeFileSync(script, source);
    return JSON.parse(
      execFileSync(process.execPath, [script], { cwd: this.folder, encoding: 'utf8' }),
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
