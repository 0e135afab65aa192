import { describe, expect, it } from 'vitest';
import { registryOf } from '../tool/sample-tools.js';
import { tooldex } from './command-line.js';

const tools = registryOf(
  { name: 'files.read', description: 'Reads a file', accessMode: 'readonly' },
  { name: 'files.write', description: 'Writes a file', accessMode: 'write' },
);

/** Runs `tooldex export` with these arguments on the test's tools. */
async function run(words: string) {
  const { out } = await tooldex(['export', ...words.split(' ')], { tools });
  return JSON.parse(out) as unknown;
}

describe('tooldex export', () => {
  it('prints the tools as JSON for every target', async () => {
    const names = (value: unknown) =>
      [...JSON.stringify(value).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
    for (const target of ['openai', 'anthropic', 'gemini'])
      expect(names(await run(`--to ${target}`))).toEqual(['files__read', 'files__write']);
    expect(await run('--to mcp')).toMatchObject({
      tools: [{ name: 'files.read' }, { name: 'files.write' }],
    });
    expect(await run('--to gemini')).toMatchObject([{ functionDeclarations: [{}, {}] }]);
  });

  it('accepts the filters of tooldex list', async () => {
    expect(await run('--to anthropic --access readonly')).toMatchObject([{ name: 'files__read' }]);
    expect(await run('--to anthropic --access execute')).toEqual([]);
  });

  it.each([
    ['--json', '--to is required. Pass one of openai, anthropic, gemini, mcp'],
    ['--to nobody', '"nobody"'],
  ])('refuses %s', async (words, message) => {
    const { code, err } = await tooldex(['export', ...words.split(' ')]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
