import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';

const root = resolve(import.meta.dirname, '../..');

/** Runs a command line in this process. */
async function run(...args: string[]) {
  let out = '';
  let err = '';
  const terminal = { out: (text: string) => void (out += `${text}\n`), err: (text: string) => void (err += `${text}\n`), color: false, columns: 160 };
  const code = await runCli(args, terminal, root);
  return { code, out, err };
}

/** Runs a command line in a process of its own, where a TypeScript loader can be installed. */
function spawn(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return new Promise((done) => {
    execFile(process.execPath, ['--import', 'tsx', resolve(root, 'src/cli/main.ts'), ...args], { cwd: root, env: { ...process.env, NO_COLOR: '1' } }, (error, out, err) =>
      done({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

describe('tooldex', () => {
  it('shows the catalogue, the derived sets and matches for requests when called without a command', async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    for (const part of ['By axis', 'Derived sets', 'By stage', '“run the tests”', '“show diff”', '“commit changes”', 'git_diff']) expect(out).toContain(part);
  });

  it('prints the same overview as JSON', async () => {
    const { summary, sets, requests } = JSON.parse((await run('--json')).out);
    expect(summary.tools).toBeGreaterThanOrEqual(30);
    expect(sets.write).toContain('write_file');
    expect(requests[1].matches[0].toolName).toBe('git_diff');
  });

  it('explains wrong usage and exits with 2', async () => {
    for (const args of [['nonsense'], ['list', '--access', 'read'], ['show'], ['search', 'x', '--limit', '0'], ['list', '--bogus']]) {
      const { code, err } = await run(...args);
      expect([args, code]).toEqual([args, 2]);
      expect(err).toContain('tooldex --help');
    }
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
    expect(tools.every(({ category, accessMode }) => category === 'git' && accessMode === 'readonly')).toBe(true);
  });

  it('takes several values of one option as any of them', async () => {
    const { out } = await run('list', '--danger', 'high', 'critical', '--json');
    expect(new Set((JSON.parse(out) as { dangerLevel: string }[]).map(({ dangerLevel }) => dangerLevel))).toContain('high');
  });
});

describe('tooldex show', () => {
  it('shows one tool with its schema', async () => {
    const { code, out } = await run('show', 'read_file');
    expect(code).toBe(0);
    expect(out).toContain('"path"');
    expect(out).toContain('keywords');
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

describe('tooldex lint', () => {
  it('finds nothing to mend in the bundled tools', async () => {
    const { code, out } = await run('lint');
    expect(out).toContain('nothing to mend');
    expect(code).toBe(0);
  });
});

describe('--tools', () => {
  it('loads a folder in standard decorator mode, counts a re-exported tool once and names the files that fail', async () => {
    const { code, out, err } = await spawn('list', '--json', '--tools', 'test/fixtures/standard');
    expect((JSON.parse(out) as { name: string }[]).map(({ name }) => name)).toEqual(['greet_standard', 'wave']);
    expect(err).toContain('broken.ts: Error: the database is not configured');
    expect(err).toContain('accessMode: expected one of "readonly"');
    expect(code).toBe(1);
  });

  it('loads legacy decorators with the settings of the tsconfig beside them', async () => {
    const { code, out } = await spawn('list', '--json', '--tools', 'test/fixtures/legacy/*.ts');
    expect((JSON.parse(out) as { name: string }[]).map(({ name }) => name)).toEqual(['first', 'second']);
    expect(code).toBe(0);
  });

  it('says what to export when files have no tools, and what was expected when nothing matches', async () => {
    expect((await spawn('stats', '--tools', 'test/fixtures/commonjs/tools.cjs')).err).toContain('Export classes decorated with @tool');
    const { code, err } = await spawn('stats', '--tools', 'no/such/folder');
    expect(err).toContain('expected a file, folder or glob');
    expect(code).toBe(1);
  });

  it('prints findings as annotations with the file, and exits with 1', async () => {
    const { code, out } = await spawn('lint', '--format', 'github', '--tools', 'test/fixtures/legacy/toolkit.ts');
    expect(out).toMatch(/^::warning file=test\/fixtures\/legacy\/toolkit\.ts,title=inferred-safety::first: /m);
    expect(code).toBe(1);
  });
});
