import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { Consumer } from '../package/consumer.js';

const root = resolve(import.meta.dirname, '../..');
const consumer = new Consumer('@nestjs', 'ai', 'jose');
afterAll(() => consumer.remove());

interface Example {
  readonly code: string;
  /** The file name on the page. Later examples on the page can import the file. */
  readonly file?: string;
}

/**
 * Returns the ```ts blocks of a page, with `x; // → y` as an assertion. A block after `<!-- continues
 * -->` is appended to the block before it. A block that begins with ```ts [name.ts] becomes a file with
 * that name.
 */
function examplesOf(page: string): Example[] {
  const examples: Example[] = [];
  for (const [, continues, file, code] of readFileSync(join(root, page), 'utf8').matchAll(
    /(<!-- continues -->\n)?```ts(?: \[([\w.-]+)\.ts\])?\n([\s\S]*?)```/g,
  )) {
    const checked = code!.replaceAll(/^(.+); \/\/ → (.+)$/gm, 'deepEqual($1, $2);');
    if (continues === undefined)
      examples.push({
        code: `import { deepEqual } from 'node:assert/strict';\n${checked}`,
        ...(file !== undefined && { file }),
      });
    else examples.push({ code: `${examples.pop()?.code ?? ''}\n${checked}` });
  }
  return examples;
}

const folderOf = (page: string) => page.replaceAll(/[^a-z]/gi, '-');
const lowered = (code: string) => transformSync(code, { loader: 'ts', target: 'es2022' }).code;

const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
  'docs/examples/toolkit-with-a-database.md',
];
const examples = pages.flatMap((page) =>
  examplesOf(page).map((example, index) => ({ page, index, ...example })),
);

describe('the code examples in the docs', () => {
  const files = examples.map(({ page, index, code, file: name = `example-${index}` }) => {
    const folder = consumer.path(folderOf(page));
    mkdirSync(folder, { recursive: true });
    const file = join(folder, name);
    writeFileSync(`${file}.ts`, code);
    writeFileSync(`${file}.js`, lowered(code));
    return `${file}.js`;
  });
  writeFileSync(
    consumer.path('ai-sdk-provider.js'),
    lowered(readFileSync(resolve(import.meta.dirname, 'ai-sdk-provider.ts'), 'utf8')),
  );
  writeFileSync(
    consumer.path('tsconfig.json'),
    JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*/*.ts'] }),
  );
  writeFileSync(consumer.path('package.json'), '{ "type": "module" }');

  it('include more than one example', () => expect(examples.length).toBeGreaterThan(1));

  it('type-check', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/typescript7/bin/tsc'), '-p', consumer.folder],
      { encoding: 'utf8' },
    );
    expect(stdout).toBe('');
  });

  // Each page is one program that only Node loads, as in a user's project.
  it.concurrent.each(pages.filter((page) => examples.some((example) => example.page === page)))(
    'run without errors: %s',
    async (page) => {
      const imports = [
        consumer.path('ai-sdk-provider.js'),
        ...files.filter((_, index) => examples[index]!.page === page),
      ];
      const script = consumer.path(`run-${folderOf(page)}.mjs`);
      writeFileSync(
        script,
        imports
          .map((file) => `await import(${JSON.stringify(pathToFileURL(file).href)});\n`)
          .join(''),
      );
      await promisify(execFile)(process.execPath, [script], { cwd: root });
    },
  );
});
