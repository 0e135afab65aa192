import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isPlainObject } from '../../core/plain-data.js';
import type { CommandFamily } from '../load/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { plainJson, type Dialog } from '../terminal/terminal.js';

/** Begins a project's tools. */
export const INIT_COMMANDS: CommandFamily = {
  init: (command, { terminal, cwd, alone }) =>
    alone(
      command.option('--yes', 'overwrite files that exist, without asking').option('--dry-run', 'show what would be written, and write nothing'),
      ['init', 'init --dry-run'],
      (options) => init(terminal, cwd, options),
    ),
};

/** The facts of a project that decide what its first tool looks like. */
interface Project {
  readonly typescript: boolean;
  /** Marks JavaScript that is loaded with `require`; TypeScript is written with `import` everywhere. */
  readonly commonjs: boolean;
  readonly runner: 'vitest' | 'jest' | 'node:test';
  /** The packages that the files need and package.json does not name. */
  readonly missing: readonly string[];
}

interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** Writes a tool, its test and a configuration for the project at `cwd`; returns 4 when a file exists and nobody agreed to replace it. */
async function init(terminal: Dialog, cwd: string, { dryRun, json, ...options }: Readonly<Record<string, unknown>>): Promise<number> {
  const project = await projectAt(cwd);
  const files = filesFor(project);
  const existing = new Set<string>();
  for (const { path } of files) if ((await textAt(join(cwd, path))) !== undefined) existing.add(path);
  const kept: string[] = [];
  if (dryRun !== true && options['yes'] !== true) {
    for (const path of existing) {
      const answer = await terminal.ask(`${path} exists. Overwrite it? [y/N] `);
      if (!/^y(?:es)?$/i.test(answer?.trim() ?? '')) kept.push(path);
    }
  }
  const written = files.filter(({ path }) => !kept.includes(path));
  if (dryRun !== true) for (const { path, text } of written) await write(join(cwd, path), text, existing.has(path));
  const next = nextSteps(project);
  if (json === true) terminal.out(plainJson({ project, written: written.map(({ path }) => path), kept, dry_run: dryRun === true, next }));
  else {
    for (const { path, text } of written) terminal.out(dryRun === true ? `${path}\n\n${text}` : `wrote ${path}`);
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
  const { type, dependencies, devDependencies } = isPlainObject(manifest) ? manifest : {};
  const packages = new Set([dependencies, devDependencies].flatMap((each) => (isPlainObject(each) ? Object.keys(each) : [])));
  const typescript = packages.has('typescript') || (await textAt(join(cwd, 'tsconfig.json'))) !== undefined;
  const runner = packages.has('vitest') ? 'vitest' : packages.has('jest') ? 'jest' : 'node:test';
  const needed = ['tooldex', 'zod', ...(typescript && runner === 'node:test' ? ['tsx'] : [])];
  return { typescript, commonjs: !typescript && type !== 'module', runner, missing: needed.filter((name) => !packages.has(name)) };
}

function filesFor(project: Project): readonly NewFile[] {
  const extension = project.typescript ? 'ts' : 'js';
  return [
    { path: `tools/word-count.${extension}`, text: toolFor(project) },
    { path: `tools/word-count.test.${extension}`, text: testFor(project) },
    { path: 'tooldex.config.json', text: '{\n  // The severity of single rules of `tooldex lint`: "off", "warning" or "error".\n  "lint": { "rules": {} }\n}\n' },
  ];
}

const importOf = ({ commonjs }: Project, names: string, from: string) => (commonjs ? `const { ${names} } = require('${from}');` : `import { ${names} } from '${from}';`);

function toolFor(project: Project): string {
  return `${importOf(project, 'AccessMode, defineTool, ExecutionCategory', 'tooldex')}
${importOf(project, 'z', 'zod')}

${project.commonjs ? 'exports.wordCount =' : 'export const wordCount ='} defineTool({
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
  const { runner, typescript } = project;
  // Jest finds TypeScript under its own name only.
  const tool = importOf(project, 'wordCount', `./word-count${typescript && runner === 'jest' ? '' : '.js'}`);
  const frame = { vitest: importOf(project, 'expect, test', 'vitest'), jest: undefined, 'node:test': `${importOf(project, 'test', 'node:test')}\n${project.commonjs ? "const assert = require('node:assert/strict');" : "import assert from 'node:assert/strict';"}` }[runner];
  const check = runner === 'node:test' ? "assert.deepEqual(outcome, { ...outcome, status: 'ok', value: { words: 3 } });" : "expect(outcome).toMatchObject({ status: 'ok', value: { words: 3 } });";
  return `${[frame, importOf(project, 'runTool', 'tooldex/testing'), tool].filter((line) => line !== undefined).join('\n')}

test('counts the words of a text', async () => {
  const { outcome } = await runTool(wordCount, { text: 'one two  three' });
  ${check}
});
`;
}

function nextSteps({ typescript, runner, missing }: Project): readonly string[] {
  const test = `tools/word-count.test.${typescript ? 'ts' : 'js'}`;
  const run = { vitest: `npx vitest run ${test}`, jest: `npx jest ${test}`, 'node:test': `node ${typescript ? '--import tsx ' : ''}--test ${test}` }[runner];
  return [...(missing.length > 0 ? [`npm install ${missing.join(' ')}`] : []), run, 'npx tooldex list --tools "tools/*.{js,ts}"', 'npx tooldex lint --tools "tools/*.{js,ts}"'];
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
