import { build } from 'esbuild';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Index from '../../../src/index.js';
import type * as Load from '../../../src/load.js';
import { PROGRAM_OPTIONS, ROOT } from '../../programs.js';
import type { RunOptions, RunReport, RunResult } from '../../../src/audit/run/run-tools.js';
import type { ToolEntry } from '../../../src/tool/tool-definition.js';

/** The modules of the built package. The modules for child processes are in a folder `audit`. */
export interface Shipped {
  readonly folder: string;
  readonly runTools: (
    entries: readonly ToolEntry[],
    subject:
      | { readonly files: readonly string[] }
      | {
          readonly args: readonly string[];
          readonly env: Readonly<Record<string, string>>;
        },
    options: RunOptions,
  ) => Promise<RunResult>;
  readonly toolsIn: (root: string) => Promise<readonly ToolEntry[]>;
}

/** Builds the modules that run tools, so child processes start without a compiler. */
export async function shipped(): Promise<Shipped> {
  const folder = mkdtempSync(join(tmpdir(), 'tooldex-audit-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
  const source = (file: string) => join(ROOT, 'src', file);
  const entryPoints = {
    cli: source('cli/main.ts'),
    index: source('index.ts'),
    load: source('load.ts'),
    run: source('audit/run/run-tools.ts'),
    'audit/preload': source('audit/run/preload.ts'),
    'audit/child': source('audit/run/child.ts'),
  };
  await build({
    entryPoints,
    outdir: folder,
    ...PROGRAM_OPTIONS,
  });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const load = <T>(name: string) =>
    import(/* @vite-ignore */ pathToFileURL(join(folder, `${name}.js`)).href) as Promise<T>;
  const { runTools } = await load<Pick<Shipped, 'runTools'>>('run');
  const { loadTools } = await load<typeof Load>('load');
  const { ToolMetadataRegistry } = await load<typeof Index>('index');
  const toolsIn = async (root: string) => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll((await loadTools('tools.mjs', { cwd: root })).tools);
    return [...registry];
  };
  return { folder, runTools, toolsIn };
}

/** Writes a project with one function per tool. The Node modules that the functions need are in scope. */
export function projectWith(
  { folder }: Pick<Shipped, 'folder'>,
  tools: Readonly<Record<string, string>>,
): string {
  const root = mkdtempSync(join(tmpdir(), 'audit-run-'));
  writeFileSync(join(root, 'package.json'), '{ "name": "subject", "type": "module" }');
  mkdirSync(join(root, 'data'));
  writeFileSync(join(root, 'data/old.txt'), 'old');
  symlinkSync(folder, join(root, 'link'));
  const definitions = Object.entries(tools).map(
    ([name, code]) =>
      `export const ${name} = defineTool({ name: '${name}', description: 'Does ${name}', accessMode: 'readonly', inputSchema: { type: 'object', properties: { path: { type: 'string' } }, examples: [{ path: 'data/old.txt' }] }, execute: ${code} });`,
  );
  writeFileSync(
    join(root, 'tools.mjs'),
    `import { defineTool } from ${JSON.stringify(pathToFileURL(join(folder, 'index.js')).href)};\n${HEAD}\n${definitions.join('\n')}\n`,
  );
  return root;
}

const HEAD = `import * as fs from 'node:fs';
import { appendFile, open, writeFile } from 'node:fs/promises';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import dns from 'node:dns';
import https from 'node:https';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
const require = createRequire(import.meta.url);
let count = 0;`;

/** Runs the tools of a project. Returns the reports by tool name. */
export async function runAll(
  package_: Shipped,
  tools: Readonly<Record<string, string>>,
  options: Partial<RunOptions> = {},
): Promise<RunResult & { readonly of: Readonly<Record<string, RunReport>> }> {
  const root = projectWith(package_, tools);
  try {
    const result = await package_.runTools(
      await package_.toolsIn(root),
      { files: ['tools.mjs'] },
      { root, ...options },
    );
    return {
      ...result,
      of: Object.fromEntries(result.tools.map((report) => [report.name, report])),
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
