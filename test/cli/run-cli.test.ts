import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { table } from '../../src/cli/terminal/table.js';
import { defineTool } from '../../src/index.js';
import { tooldex } from './command-line.js';

const run = (...args: string[]) => tooldex(args);
const runAt = (columns: number, ...args: string[]) => tooldex(args, { columns });

describe('tooldex', () => {
  it.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['lsit', '--category', 'git'], 'Did you mean list?'],
    [['list', '--access', 'read'], 'got "read". Did you mean readonly?'],
    [['list', '--categry', 'git'], 'Did you mean --category?'],
    [['search', 'x', '--limit', '0'], 'Expected a whole number of at least 1, got "0".'],
    [['list', '--base-url', 'https://x.example'], '--base-url only works with --openapi.'],
    [['mcp', 'list', '--config', 'a', '--mcp', 'b'], 'cannot be used with option'],
  ])('reports what is wrong with the arguments %j, and exits with 2', async (args, message) => {
    expect(await run(...args)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });

  it('prints errors as JSON with --json', async () => {
    const wrong = await run('list', '--danger', 'extreme', '--json');
    expect([wrong.code, JSON.parse(wrong.out)]).toEqual([
      2,
      {
        error: {
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('"extreme"'),
        },
      },
    ]);
    const unknown = await run('show', 'read_fil', '--json');
    expect([unknown.code, JSON.parse(unknown.out)]).toEqual([
      2,
      { error: { code: 'TOOL_NOT_FOUND', message: expect.stringContaining('read_file') } },
    ]);
    expect((await run('show', 'read_fil')).out).toBe('');
  });

  it('leaves columns out of a narrow list rather than breaking names', async () => {
    const name = `export_${'a'.repeat(40)}`;
    const tools = [
      defineTool({ name, description: 'Exports', inputSchema: z.object({}), execute: () => 1 }),
    ];
    const { out } = await tooldex(['list'], { columns: 80, tools });
    expect(out).toContain(name);
    expect(out).toMatch(/DANGER/);
    expect(out).not.toContain('COST');
    expect((await tooldex(['list'], { tools })).out).toContain('COST');
  });

  it('breaks words only if a table is wider than the terminal with all words whole', () => {
    const row = { TOOL: 'a'.repeat(40), AGE: '12 min', ARGUMENTS: 'b'.repeat(200) };
    const lines = stripVTControlCharacters(table({ columns: 80 }, [row])).split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it("prints its version, and each command's help", async () => {
    expect((await run('--version')).out.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    const { out } = await runAt(80, 'lint', '--help');
    expect(out).toMatch(/--rule <name=severity> [^]*Examples:/);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await run('help', 'mcp', 'pins')).out).toMatch(/^ {2}verify /m);
    expect((await run('--help')).out).toMatch(/ select .*\n[^]*mcp /);
  });
});

describe('tooldex list', () => {
  it('accepts several values for a filter, and matches any of them', async () => {
    for (const values of [
      ['--danger', 'high', '--danger', 'safe'],
      ['--danger', 'high,safe'],
      ['--danger=high, safe'],
    ]) {
      const { out } = await run('list', ...values, '--json');
      expect(
        [
          ...new Set(
            (JSON.parse(out) as { dangerLevel: string }[]).map(({ dangerLevel }) => dangerLevel),
          ),
        ].sort(),
      ).toEqual(['high', 'safe']);
    }
  });

  it('fits terminals of any width', async () => {
    for (const columns of [40, 80, 120]) {
      const lines = (await runAt(columns, 'list')).out.split('\n');
      expect([columns, lines.filter((line) => line.length > columns)]).toEqual([columns, []]);
    }
  });
});

describe('tooldex show', () => {
  it("shows a tool's schema and the tools that it conflicts with", async () => {
    const { code, out } = await run('show', 'git_commit');
    expect(code).toBe(0);
    expect(out).toContain('"message"');
    expect(out).toMatch(/^keywords +\w/m);
    expect(out).toMatch(/^conflicts +(\w+, ){5}/m);
  });
});

describe('tooldex search', () => {
  it('ranks the tools for a request and explains the ranking', async () => {
    const { out } = await run('search', 'run', 'the', 'tests', '--limit', '3');
    expect(out).toContain('run_tests');
    expect(out).toMatch(/"tests" in name/);
  });

  it('reports that nothing matches', async () => {
    expect((await run('search', 'qqqq')).out).toContain('No tool matches');
  });
});

it('tooldex list --stats counts the tools on every axis', async () => {
  const { out } = await runAt(60, 'list', '--stats');
  expect(out).toMatch(/^48 tools, .*\n\nAXIS[^]*\ncategory +files:8 /);
  expect(out).toMatch(/requiringApproval:\d+/);
});

it('tooldex lint finds nothing to fix in the bundled tools', async () => {
  expect(await run('lint', '--bundled')).toMatchObject({
    code: 0,
    out: expect.stringContaining('nothing to fix'),
  });
});

it('tooldex lint without tools is a usage error that names --tools', async () => {
  expect(await run('lint')).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      'Expected tools of yours, got none. Name their files with --tools',
    ),
  });
});
