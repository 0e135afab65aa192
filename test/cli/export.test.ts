import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { FIND_COMMANDS } from '../../src/cli/commands/find.js';
import type { RunOnTools } from '../../src/cli/load/options.js';
import type { ToolMetadataRegistry } from '../../src/index.js';
import { refusal, registryOf } from '../tool/sample-tools.js';
import { FakeTerminal } from './fake-terminal.js';

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
function run(words: string, tools: ToolMetadataRegistry = registry) {
  const screen = new FakeTerminal();
  const command = new Command('export')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  let work: RunOnTools = () => undefined;
  FIND_COMMANDS['export']!(command, {
    terminal: screen,
    cwd: '.',
    importOptions: {},
    onTools: (_command, _examples, run) => (work = run),
    alone: () => undefined,
  });
  command.parse(words.split(' '), { from: 'user' });
  const code = work({ registry: tools, problems: [], fileOf: new Map() }, command.opts(), []);
  return { code, out: JSON.parse(screen.printed) as never, err: screen.told };
}

describe('tooldex export', () => {
  it('prints the tools as JSON for every target', () => {
    const names = (value: unknown) =>
      [...JSON.stringify(value).matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
    for (const target of ['openai', 'anthropic', 'gemini'])
      expect(names(run(`--to ${target}`).out)).toEqual(['files__read', 'files__write']);
    expect(names(run('--to mcp').out)).toEqual(['files.read', 'files.write']);
    expect(run('--to mcp').out).toHaveProperty('tools');
    expect(run('--to gemini').out).toMatchObject([{ functionDeclarations: [{}, {}] }]);
  });

  it('takes the API and the level', () => {
    expect(run('--to openai --api responses').out).toMatchObject([
      { type: 'function', name: 'files__read', strict: false },
      {},
    ]);
    expect(run('--to anthropic --level stub').out).toMatchObject([
      { description: 'Reads a file.', input_schema: { properties: { path: { type: 'string' } } } },
      {},
    ]);
    expect(run('--to anthropic --level stub').out).not.toHaveProperty(
      '0.input_schema.properties.limit',
    );
  });

  it('takes the filters of the list', () => {
    expect(run('--to anthropic --access readonly').out).toMatchObject([{ name: 'files__read' }]);
    expect(run('--to anthropic --access execute').out).toEqual([]);
  });

  it('prints only what is selected for a request, within the filter', () => {
    expect(run('--to anthropic --select write').out).toMatchObject([{ name: 'files__write' }]);
    expect(run('--to anthropic --select write --access readonly').out).not.toMatchObject([
      { name: 'files__write' },
    ]);
    expect(run('--to anthropic --select file --max 1').out).toHaveLength(1);
  });

  it('says with exit code 1 that a selection is above its budget, and prints it all the same', () => {
    const critical = registryOf({ name: 'always', description: 'Always there', priority: 0 });
    const { code, out, err } = run('--to anthropic --select x --budget 1', critical);
    expect([code, (out as unknown[]).length]).toEqual([1, 1]);
    expect(err).toMatch(/^error .*always/);
  });

  it('refuses an option of another target, naming both', () => {
    const error = refusal(() => run('--to gemini --api chat --max 3'));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(error.message).toBe('Expected --to openai with --api, got --to gemini.');
  });

  it.each(['--to nobody', '', '--to openai --level huge'])('refuses "%s"', (words) => {
    expect(() => run(words)).toThrow();
  });
});
