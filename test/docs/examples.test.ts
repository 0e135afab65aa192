import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { transformSync } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { Consumer } from '../package/consumer.js';

const root = resolve(import.meta.dirname, '../..');
const consumer = new Consumer('ai');
afterAll(() => consumer.remove());

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

const lowered = (code: string) => transformSync(code, { loader: 'ts', target: 'es2022' }).code;

const pages = ['README.md', ...readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)];
const examples = pages.flatMap((page) => examplesOf(page).map((code, index) => ({ page, index, code })));

describe('the examples in the documents', () => {
  const files = examples.map(({ page, index, code }) => {
    const file = consumer.path(`${page.replaceAll(/[^a-z]/gi, '-')}-${index}`);
    writeFileSync(`${file}.ts`, code);
    writeFileSync(`${file}.js`, lowered(code));
    return `${file}.js`;
  });
  writeFileSync(consumer.path('ai-sdk-provider.js'), lowered(readFileSync(resolve(import.meta.dirname, 'ai-sdk-provider.ts'), 'utf8')));
  writeFileSync(consumer.path('tsconfig.json'), JSON.stringify({ extends: join(root, 'tsconfig.json'), include: ['*.ts'] }));
  writeFileSync(consumer.path('package.json'), '{ "type": "module" }');

  it('are there', () => expect(examples.length).toBeGreaterThan(1));

  it('type-check', () => {
    execFileSync(process.execPath, [join(root, 'node_modules/typescript7/bin/tsc'), '-p', consumer.folder], { stdio: 'pipe' });
  });

  // A program that is loaded with nothing but Node, as users load it.
  it.concurrent.each(examples.map(({ page, index }, position) => ({ page, index: index + 1, file: files[position]! })))('run: $page, example $index', async ({ file }) => {
    await promisify(execFile)(process.execPath, ['--import', consumer.url('ai-sdk-provider.js'), file], { cwd: root });
  });
});
