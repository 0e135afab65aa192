import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import { FakeTerminal } from './fake-terminal.js';

const root = resolve(import.meta.dirname, '../..');

/** Runs a command line in this process, on a terminal of 160 columns. */
async function run(...args: string[]) {
  return runAt(160, ...args);
}

async function runAt(columns: number, ...args: string[]) {
  const terminal = new FakeTerminal({ columns });
  const code = await runCli(args, terminal, root);
  return { code, out: terminal.printed, err: terminal.told };
}

describe('tooldex', () => {
  it('explains wrong usage and exits with 2', async () => {
    for (const args of [
      ['nonsense'],
      ['list', '--access', 'read'],
      ['show'],
      ['search', 'x', '--limit', '0'],
      ['list', '--bogus'],
    ]) {
      const { code, err } = await run(...args);
      expect([args, code]).toEqual([args, 2]);
      expect(err).toContain('tooldex --help');
    }
  });

  it('names the command that a misspelt one looks like', async () => {
    for (const args of [['lsit'], ['lsit', '--category', 'git'], ['--json', 'lsit']])
      expect((await run(...args)).err).toMatch(/unknown command 'lsit'\n\(Did you mean list\?\)/);
  });

  it('ends with an error as JSON where JSON was asked for', async () => {
    const wrong = await run('list', '--danger', 'extreme', '--json');
    expect([wrong.code, JSON.parse(wrong.out)]).toEqual([
      2,
      {
        error: {
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining("'extreme' is invalid"),
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

  it('answers --help and --version', async () => {
    expect((await run('--version')).out.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await run('lint', '--help')).out).toContain('Examples:');
  });
});

describe('tooldex list', () => {
  it('narrows down by every axis', async () => {
    const { out } = await run('list', '--category', 'git', '--access', 'readonly', '--json');
    const tools = JSON.parse(out) as { name: string; category: string; accessMode: string }[];
    expect(tools.length).toBeGreaterThan(2);
    expect(
      tools.every(({ category, accessMode }) => category === 'git' && accessMode === 'readonly'),
    ).toBe(true);
  });

  it('takes several values of one option as any of them', async () => {
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
    expect((await run('list', '--danger', 'high', 'safe')).code).toBe(2);
    expect((await run('list', '--danger', 'high,')).err).toContain(
      'Expected a value before and after every comma, got "high,".',
    );
  });

  it('fits every terminal: stages go first, and nothing is cut where nobody reads', async () => {
    for (const columns of [40, 80, 120]) {
      const lines = (await runAt(columns, 'list')).out.split('\n');
      expect([columns, lines.filter((line) => line.length > columns)]).toEqual([columns, []]);
    }
    expect((await runAt(80, 'list')).out).toMatch(/^TOOL.*COST$/m);
    expect((await runAt(80, 'list')).out).not.toContain('…');
    const piped = (await runAt(Infinity, 'list')).out;
    expect(piped).toMatch(/^TOOL.*STAGES$/m);
    expect(piped).not.toContain('…');
  });
});

describe('tooldex show', () => {
  it('shows one tool with its schema', async () => {
    const { code, out } = await run('show', 'read_file');
    expect(code).toBe(0);
    expect(out).toContain('"path"');
    expect(out).toContain('keywords');
  });

  it('names the first tools that may not run beside it, and how many there are', async () => {
    expect((await run('show', 'git_commit')).out).toMatch(
      /^conflicts +(\w+, ){5}… \(\d+ in all\)$/m,
    );
  });

  it('suggests names for one that is unknown, and exits with 2', async () => {
    const { code, err } = await run('show', 'read_fil');
    expect(code).toBe(2);
    expect(err).toContain('read_file');
  });
});

describe('tooldex search', () => {
  it('ranks the tools for a request and says why', async () => {
    const { out } = await run('search', 'run', 'the', 'tests', '--limit', '3');
    expect(out).toContain('run_tests');
    expect(out).toMatch(/"tests" in name/);
  });

  it('says so when nothing fits', async () => {
    expect((await run('search', 'qqqq')).out).toContain('No tool fits');
  });
});

describe('tooldex stats', () => {
  it('breaks lines between values', async () => {
    const { out } = await runAt(60, 'stats');
    for (const line of out.split('\n')) expect(line).toMatch(/^.{0,60}$/);
    expect(out).toMatch(/^ {11}\w+ \d+/m);
    expect(out).toContain('  files 8  ');
  });
});

describe('tooldex lint', () => {
  it('finds nothing to fix in the bundled tools', async () => {
    const { code, out } = await run('lint');
    expect(out).toContain('nothing to fix');
    expect(code).toBe(0);
  });
});
