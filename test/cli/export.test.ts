import { describe, expect, it } from 'vitest';
import type { ToolMetadataRegistry } from '../../src/index.js';
import { registryOf } from '../tool/sample-tools.js';
import { tooldex } from './command-line.js';

const properties = { path: { type: 'string', description: 'Where' }, limit: { type: 'integer' } };
const registry = registryOf(
  {
    name: 'files.read',
    description: 'Reads a file. More.',
    inputSchema: { type: 'object', properties, required: ['path'] },
    accessMode: 'readonly',
    keywords: ['read'],
  },
  { name: 'files.write', description: 'Writes a file', accessMode: 'write', keywords: ['write'] },
);

/** Runs `tooldex export` with these words on the tools of the test. */
async function run(words: string, tools: ToolMetadataRegistry = registry) {
  const { code, out, err } = await tooldex(['export', ...words.split(' ')], { tools });
  return { code, out: (out === '' ? undefined : JSON.parse(out)) as never, err };
}

describe('tooldex export', () => {
  it('prints the tools as JSON for every target', async () => {
    const names = (value: unknown) =>
      [...JSON.stringify(value).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
    for (const target of ['openai', 'anthropic', 'gemini'])
      expect(names((await run(`--to ${target}`)).out)).toEqual(['files__read', 'files__write']);
    expect(names((await run('--to mcp')).out)).toEqual(['files.read', 'files.write']);
    expect((await run('--to mcp')).out).toHaveProperty('tools');
    expect((await run('--to gemini')).out).toMatchObject([{ functionDeclarations: [{}, {}] }]);
  });

  it('takes the API and the level', async () => {
    expect((await run('--to openai --api responses')).out).toMatchObject([
      { type: 'function', name: 'files__read', strict: false },
      {},
    ]);
    expect((await run('--to anthropic --level stub')).out).toMatchObject([
      { description: 'Reads a file.', input_schema: { properties: { path: { type: 'string' } } } },
      {},
    ]);
    expect((await run('--to anthropic --level stub')).out).not.toHaveProperty(
      '0.input_schema.properties.limit',
    );
  });

  it('takes the filters of the list', async () => {
    expect((await run('--to anthropic --access readonly')).out).toMatchObject([
      { name: 'files__read' },
    ]);
    expect((await run('--to anthropic --access execute')).out).toEqual([]);
  });

  it('prints only what is selected for a request, within the filter', async () => {
    expect((await run('--to anthropic --select write')).out).toMatchObject([
      { name: 'files__write' },
    ]);
    expect((await run('--to anthropic --select write --access readonly')).out).not.toMatchObject([
      { name: 'files__write' },
    ]);
    expect((await run('--to anthropic --select file --max 1')).out).toHaveLength(1);
  });

  it('says with exit code 1 that a selection is above its budget, and prints it all the same', async () => {
    const critical = registryOf({ name: 'always', description: 'Always there', priority: 0 });
    const { code, out, err } = await run('--to anthropic --select x --budget 1', critical);
    expect([code, (out as unknown[]).length]).toEqual([1, 1]);
    expect(err).toMatch(/^error .*always/);
  });

  it.each([
    ['--to gemini --api chat', '--api only works with --to openai.'],
    ['--to mcp --max 3', '--max only works with --select.'],
    ['--json', 'Expected --to openai, anthropic, gemini or mcp'],
    ['--to nobody', '"nobody"'],
    ['--to openai --level huge', '"huge"'],
  ])('refuses %s', async (words, message) => {
    const { code, err } = await tooldex(['export', ...words.split(' ')]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
