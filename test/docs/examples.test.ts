import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
mkdirSync(join(root, '.cache'), { recursive: true });
const folder = mkdtempSync(join(root, '.cache/examples-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The ```ts blocks of a page, with `x; // → y` as an assertion; one after `<!-- continues -->` goes on where the block before it ended. */
function examplesOf(page: string): string[] {
  const examples: string[] = [];
  for (const [, continues, code] of readFileSync(join(root, page), 'utf8').matchAll(/(<!-- continues -->\n)?```ts\n([\s\S]*?)```/g)) {
    const checked = code!.replaceAll(/^(.+); \/\/ → (.+)$/gm, 'deepEqual($1, $2);');
    if (continues === undefined) examples.push(`import { deepEqual } from 'node:assert/strict';\n${checked}`);
    else examples.push(`${examples.pop() ?? ''}\n${checked}`);
  }
  return examples;
}

const pages = ['README.md', ...readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)];
const examples = pages.flatMap((page) => examplesOf(page).map((code, index) => ({ page, index, code })));

describe('the examples in the documents', () => {
  const files = examples.map(({ page, index, code }) => {
    const file = join(folder, `${page.replaceAll(/[^a-z]/gi, '-')}-${index}.ts`);
    writeFileSync(file, code);
    return file;
  });
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: relative(folder, join(root, 'tsconfig.json')),
      compilerOptions: { paths: { tooldex: [join(root, 'src/index.ts')], 'tooldex/tools': [join(root, 'tools/index.ts')], 'tooldex/*': [join(root, 'src/*.ts')] } },
      include: ['*.ts'],
    }),
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');

  it('are there', () => expect(examples.length).toBeGreaterThan(1));

  it('type-check', () => {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], { stdio: 'pipe' });
  });

  it.each(examples.map(({ page, index }, position) => ({ page, index, file: files[position]! })))('run: $page, example $index', ({ file }) => {
    execFileSync(process.execPath, ['--import', 'tsx', file], { cwd: root, env: { ...process.env, TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') }, stdio: 'pipe' });
  });
});
