import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isPlainObject } from '../../core/plain-data.js';
import type { CommandFamily } from '../load/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { plainJson, type Dialog } from '../terminal/terminal.js';

/** Begins a project's tools. */
export const INIT_COMMANDS: CommandFamily = {
  init: (command, { terminal, cwd, alone }) =>
    alone(
      command
        .option('--yes', 'overwrite files that exist, without asking')
        .option('--dry-run', 'show what would be written, and write nothing'),
      ['init', 'init --dry-run'],
      (options) => init(terminal, cwd, options),
    ),
};

/** The facts of a project that decide what its first tool looks like. */
interface Project {
  /** Says that there is a package.json. */
  readonly exists: boolean;
  readonly typescript: boolean;
  /** Says that its `.js` and `.ts` files are ES modules. */
  readonly modules: boolean;
  readonly runner: 'vitest' | 'jest' | 'node:test';
  /** Says that nothing there translates TypeScript for Jest, which reads none by itself. */
  readonly jestIsBare: boolean;
  /** Says that vitest translates TypeScript with vite 8, which leaves decorators of the standard as they are; `config` is the file that should say so. */
  readonly vitest8?: { readonly config: string | undefined };
  /** The packages that the files need and package.json does not name. */
  readonly missing: readonly string[];
  /** The packages that only tests and commands need. */
  readonly missingDev: readonly string[];
}

interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** Writes a tool, its test and a configuration for the project at `cwd`; returns 4 when a file exists and nobody agreed to replace it. */
async function init(
  terminal: Dialog,
  cwd: string,
  { dryRun, json, ...options }: Readonly<Record<string, unknown>>,
): Promise<number> {
  const project = await projectAt(cwd);
  const files = filesFor(project);
  const existing = new Set<string>();
  for (const { path } of files)
    if ((await textAt(join(cwd, path))) !== undefined) existing.add(path);
  const kept: string[] = [];
  if (dryRun !== true && options['yes'] !== true) {
    for (const path of existing) {
      const answer = await terminal.ask(`${path} exists. Overwrite it? [y/N] `);
      if (!/^y(?:es)?$/i.test(answer?.trim() ?? '')) kept.push(path);
    }
  }
  const written = files.filter(({ path }) => !kept.includes(path));
  if (dryRun !== true)
    for (const { path, text } of written) await write(join(cwd, path), text, existing.has(path));
  const next = nextSteps(project);
  if (json === true)
    terminal.out(
      plainJson({
        project,
        written: written.map(({ path }) => path),
        kept,
        dry_run: dryRun === true,
        next,
      }),
    );
  else {
    for (const { path, text } of written)
      terminal.out(dryRun === true ? `${path}\n\n${text}` : `wrote ${path}`);
    for (const path of kept) terminal.err(`kept ${path}: it exists. Use --yes to overwrite it.`);
    terminal.out(`\nNext:\n${next.map((step) => `  ${step}`).join('\n')}`);
  }
  return kept.length > 0 ? EXIT.unconfirmed : EXIT.ok;
}

async function projectAt(cwd: string): Promise<Project> {
  const text = await textAt(join(cwd, 'package.json'));
  let manifest: unknown;
  try {
    manifest = JSON.parse(text ?? '{}');
  } catch {
    // A damaged package.json says nothing of the project.
  }
  const { type, dependencies, devDependencies, jest } = isPlainObject(manifest) ? manifest : {};
  const packages = new Set(
    [dependencies, devDependencies].flatMap((each) =>
      isPlainObject(each) ? Object.keys(each) : [],
    ),
  );
  const typescript =
    packages.has('typescript') || (await textAt(join(cwd, 'tsconfig.json'))) !== undefined;
  const runner = packages.has('vitest') ? 'vitest' : packages.has('jest') ? 'jest' : 'node:test';
  const hasConfig =
    jest !== undefined ||
    TRANSLATORS.some((name) => packages.has(name)) ||
    (await readdir(cwd)).some((name) => /^jest\.config\.[cm]?[jt]s$/.test(name));
  const jestIsBare = typescript && runner === 'jest' && !hasConfig;
  const lacking = (...names: readonly string[]) => names.filter((name) => !packages.has(name));
  const missingDev = [
    ...(typescript ? ['tsx'] : []),
    ...(typescript && runner === 'jest' ? ['@jest/globals'] : []),
    ...(jestIsBare ? ['@swc/core', '@swc/jest'] : []),
  ];
  return {
    exists: text !== undefined,
    typescript,
    modules: type === 'module',
    runner,
    ...(typescript && runner === 'vitest' && (await vitest8At(cwd))),
    jestIsBare,
    missing: lacking('tooldex', 'zod'),
    missingDev: lacking(...missingDev),
  };
}

/** Returns whether tests need the line for vite 8: unless an older vite is installed, or decorators are those of TypeScript anyway. */
async function vitest8At(cwd: string): Promise<Pick<Project, 'vitest8'>> {
  const vite = JSON.parse((await textAt(join(cwd, 'node_modules/vite/package.json'))) ?? '{}') as {
    readonly version?: string;
  };
  const isLegacy = /"experimentalDecorators"\s*:\s*true/.test(
    (await textAt(join(cwd, 'tsconfig.json'))) ?? '',
  );
  if (isLegacy || Number.parseInt(vite.version ?? '8', 10) < 8) return {};
  const config = (await readdir(cwd)).find((name) =>
    /^vite(?:st)?\.config\.[cm]?[jt]s$/.test(name),
  );
  return { vitest8: { config } };
}

/** The option of vitest's configuration with which vite 8 translates decorators. */
const DECORATORS = 'oxc: { decorator: { legacy: true } }';

/** The packages with which Jest reads TypeScript. */
const TRANSLATORS = ['ts-jest', '@swc/jest', '@babel/preset-typescript', 'esbuild-jest'];

/** Marks JavaScript that is loaded with `require`; TypeScript is written with `import` everywhere. */
const isCommonJs = ({ typescript, modules }: Project) => !typescript && !modules;

function filesFor(project: Project): readonly NewFile[] {
  const extension = project.typescript ? 'ts' : 'js';
  return [
    { path: `tools/word-count.${extension}`, text: toolFor(project) },
    { path: `tools/word-count.test.${extension}`, text: testFor(project) },
    {
      path: 'tooldex.config.json',
      text: '{\n  // The severity of single rules of `tooldex lint`: "off", "warning" or "error".\n  "lint": { "rules": {} }\n}\n',
    },
    ...(project.vitest8 !== undefined && project.vitest8.config === undefined
      ? [
          {
            path: 'vitest.config.ts',
            text: `import { defineConfig } from 'vitest/config';\n\n// Without it, vite 8 leaves decorators in the code, and a test that imports a class with one is a SyntaxError.\nexport default defineConfig({ ${DECORATORS} });\n`,
          },
        ]
      : []),
    ...(project.jestIsBare ? [{ path: 'jest.config.json', text: jestConfigFor(project) }] : []),
  ];
}

/** Returns a configuration with which Jest reads TypeScript, with decorators too. */
function jestConfigFor({ modules }: Project): string {
  const swc = {
    jsc: {
      parser: { syntax: 'typescript', decorators: true },
      transform: { decoratorVersion: '2022-03' },
      target: 'es2022',
    },
  };
  const ofModules = {
    extensionsToTreatAsEsm: ['.ts'],
    moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  };
  return `${JSON.stringify({ transform: { '^.+\\.ts$': ['@swc/jest', swc] }, ...(modules && ofModules) }, null, 2)}\n`;
}

const importOf = (project: Project, names: string, from: string) =>
  isCommonJs(project)
    ? `const { ${names} } = require('${from}');`
    : `import { ${names} } from '${from}';`;

function toolFor(project: Project): string {
  return `${importOf(project, 'AccessMode, defineTool, ExecutionCategory', 'tooldex')}
${importOf(project, 'z', 'zod')}

${isCommonJs(project) ? 'exports.wordCount =' : 'export const wordCount ='} defineTool({
  name: 'word_count',
  description: 'Counts the words of a text',
  inputSchema: z.object({ text: z.string().describe('The text whose words are counted') }),
  accessMode: AccessMode.READONLY,
  executionCategory: ExecutionCategory.COMPUTE,
  category: 'text',
  keywords: ['count words', 'word count'],
  execute: ({ text }) => ({ words: text.split(/\\s+/).filter((word) => word !== '').length }),
});
`;
}

function testFor(project: Project): string {
  const { runner, typescript, modules } = project;
  // Jest finds TypeScript under its own name, unless its configuration maps the one that ES modules have to name.
  const tool = importOf(
    project,
    'wordCount',
    `./word-count${typescript && runner === 'jest' && !modules ? '' : '.js'}`,
  );
  const frame = {
    vitest: importOf(project, 'expect, test', 'vitest'),
    jest: typescript ? importOf(project, 'expect, test', '@jest/globals') : undefined,
    'node:test': `${importOf(project, 'test', 'node:test')}\n${isCommonJs(project) ? "const assert = require('node:assert/strict');" : "import assert from 'node:assert/strict';"}`,
  }[runner];
  const check =
    runner === 'node:test'
      ? "assert.deepEqual(outcome, { ...outcome, status: 'ok', value: { words: 3 } });"
      : "expect(outcome).toMatchObject({ status: 'ok', value: { words: 3 } });";
  return `${[frame, importOf(project, 'runTool', 'tooldex/testing'), tool].filter((line) => line !== undefined).join('\n')}

test('counts the words of a text', async () => {
  const { outcome } = await runTool(wordCount, { text: 'one two  three' });
  ${check}
});
`;
}

function nextSteps({
  exists,
  typescript,
  modules,
  runner,
  vitest8,
  missing,
  missingDev,
}: Project): readonly string[] {
  const extension = typescript ? 'ts' : 'js';
  const test = `tools/word-count.test.${extension}`;
  const jest = modules
    ? 'node --experimental-vm-modules node_modules/jest/bin/jest.js'
    : 'npx jest';
  const run = {
    vitest: `npx vitest run ${test}`,
    jest: `${jest} ${test}`,
    'node:test': `node ${typescript ? '--import tsx ' : ''}--test ${test}`,
  }[runner];
  const installed = [
    ...(missing.length > 0 ? [`npm install ${missing.join(' ')}`] : []),
    ...(missingDev.length > 0 ? [`npm install --save-dev ${missingDev.join(' ')}`] : []),
  ];
  return [
    ...(exists ? [] : ['npm init -y']),
    ...installed,
    ...(vitest8?.config === undefined
      ? []
      : [`add ${DECORATORS} to ${vitest8.config}, for decorators`]),
    run,
    `npx tooldex list --tools tools/word-count.${extension}`,
    `npx tooldex lint --tools tools/word-count.${extension}`,
  ];
}

async function textAt(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** Writes a file; one that did not exist when the user was asked is not overwritten if it exists now. */
async function write(path: string, text: string, overwrite: boolean): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: overwrite ? 'w' : 'wx' });
}
