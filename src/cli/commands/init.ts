import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { command, print } from '../command/command.js';
import { flag } from '../command/options.js';
import { EXIT } from '../terminal/exit-codes.js';
import { agrees } from '../terminal/terminal.js';

export const commands = {
  init: command({
    options: {
      yes: flag('overwrite existing files without asking'),
      dryRun: flag('show the files without writing them'),
    },
    examples: ['init', 'init --dry-run'],
    run: async (context) => {
      const { terminal, cwd, options } = context;
      const project = await projectAt(cwd);
      const written: NewFile[] = [];
      const kept: string[] = [];
      for (const file of filesFor(project)) {
        const path = join(cwd, file.path);
        const exists = (await textAt(path)) !== undefined;
        const asks = exists && !options.dryRun && !options.yes;
        if (asks && !(await agrees(terminal, `${file.path} exists. Overwrite it?`))) {
          kept.push(file.path);
          continue;
        }
        written.push(file);
        if (options.dryRun) continue;
        await mkdir(dirname(path), { recursive: true });
        // Doesn't overwrite a file that was created after the user was asked.
        await writeFile(path, file.text, { flag: exists ? 'w' : 'wx' });
      }
      const next = nextSteps(project);
      const paths = written.map(({ path }) => path);
      const data = { project, written: paths, kept, dry_run: options.dryRun, next };
      print(context, data, function* () {
        for (const { path, text } of written)
          yield options.dryRun ? `${path}\n\n${text}` : `wrote ${path}`;
        for (const path of kept)
          terminal.err(`kept ${path}, which already exists. To overwrite it, use --yes.`);
        yield `\nNext:\n${next.map((step) => `  ${step}`).join('\n')}`;
      });
      return kept.length > 0 ? EXIT.unconfirmed : EXIT.ok;
    },
  }),
};

/** Facts about a project that determine how its first tool is written. */
interface Project {
  /** True if there is a `package.json`. */
  readonly exists: boolean;
  readonly typescript: boolean;
  /** True if the project's `.js` and `.ts` files are ES modules. */
  readonly modules: boolean;
  readonly runner: 'vitest' | 'jest' | 'node:test';
  /** Packages that the files need but `package.json` doesn't list. */
  readonly missing: readonly string[];
  /** Packages that only tests and commands need. */
  readonly missingDev: readonly string[];
}

interface NewFile {
  readonly path: string;
  readonly text: string;
}

async function projectAt(cwd: string): Promise<Project> {
  const text = await textAt(join(cwd, 'package.json'));
  const manifest = objectIn(text);
  const { type } = manifest;
  const { dependencies, devDependencies } = manifest as Readonly<Record<string, object>>;
  const packages = new Set(Object.keys({ ...dependencies, ...devDependencies }));
  const typescript = packages.has('typescript') || existsSync(join(cwd, 'tsconfig.json'));
  const runner = packages.has('vitest') ? 'vitest' : packages.has('jest') ? 'jest' : 'node:test';
  const missingDev = typescript ? ['tsx'] : [];
  if (typescript && runner === 'jest') missingDev.push('@jest/globals');
  return {
    exists: text !== undefined,
    typescript,
    modules: type === 'module',
    runner,
    missing: ['tooldex', 'zod'].filter((name) => !packages.has(name)),
    missingDev: missingDev.filter((name) => !packages.has(name)),
  };
}

/** Parses a JSON file into an object. Returns an empty object if it is missing or broken. */
function objectIn(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text ?? '{}')) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}

function filesFor(project: Project): readonly NewFile[] {
  const { typescript, modules } = project;
  const extension = typescript ? 'ts' : 'js';
  // TypeScript code always uses `import`.
  const isModule = typescript || modules;
  const code = (text: string) => (isModule ? text : asCommonJs(text));
  return [
    {
      path: `tools/word-count.${extension}`,
      text: code(toolFor(isModule ? 'export const wordCount =' : 'exports.wordCount =')),
    },
    { path: `tools/word-count.test.${extension}`, text: code(testFor(project)) },
    {
      path: 'tooldex.config.json',
      text: '{\n  // The files with your tools. Commands use them if you pass no --tools.\n  "tools": ["tools"],\n  // The severity of individual rules of `tooldex lint`: "off", "warning" or "error".\n  "lint": { "rules": {} }\n}\n',
    },
  ];
}

const toolFor = (
  declaration: string,
) => `import { AccessMode, defineTool, ExecutionCategory } from 'tooldex';
import { z } from 'zod';

${declaration} defineTool({
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

function testFor({ runner, typescript, modules }: Project): string {
  const frame = {
    vitest: `import { expect, test } from 'vitest';\n`,
    jest: typescript ? `import { expect, test } from '@jest/globals';\n` : '',
    'node:test': `import { test } from 'node:test';\nimport assert from 'node:assert/strict';\n`,
  }[runner];
  const check =
    runner === 'node:test'
      ? "assert.deepEqual(outcome, { ...outcome, status: 'ok', value: { words: 3 } });"
      : "expect(outcome).toMatchObject({ status: 'ok', value: { words: 3 } });";
  // Jest doesn't find a `.ts` file under a `.js` name, unless an ESM configuration maps the names.
  const extension = typescript && runner === 'jest' && !modules ? '' : '.js';
  return `${frame}import { runTool } from 'tooldex/testing';
import { wordCount } from './word-count${extension}';

test('counts the words of a text', async () => {
  const { outcome } = await runTool(wordCount, { text: 'one two  three' });
  ${check}
});
`;
}

function asCommonJs(text: string): string {
  return text.replace(/^import (.+) from (.+);$/gm, 'const $1 = require($2);');
}

function nextSteps(project: Project): readonly string[] {
  const { exists, typescript, modules, runner, missing, missingDev } = project;
  const extension = typescript ? 'ts' : 'js';
  const jest = modules
    ? 'node --experimental-vm-modules node_modules/jest/bin/jest.js'
    : 'npx jest';
  const run = {
    vitest: 'npx vitest run',
    jest,
    'node:test': `node ${typescript ? '--import tsx ' : ''}--test`,
  }[runner];
  const steps = [
    !exists && 'npm init -y',
    missing.length > 0 && `npm install ${missing.join(' ')}`,
    missingDev.length > 0 && `npm install --save-dev ${missingDev.join(' ')}`,
    `${run} tools/word-count.test.${extension}`,
    'npx tooldex list',
    'npx tooldex lint',
  ];
  return steps.filter((step) => step !== false);
}

async function textAt(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
