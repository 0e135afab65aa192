import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, tooldex } from './command-line.js';

const root = resolve(import.meta.dirname, '../..');

async function overview(
  options: {
    readonly columns?: number;
    readonly args?: readonly string[];
    readonly cwd?: string;
    readonly answers?: readonly string[];
  } = {},
) {
  const { columns = 80, args = [], cwd = root, answers } = options;
  const run = await tooldex(args, { cwd, columns, ...(answers && { answers }) });
  return { ...run, lines: run.out.trimEnd().split('\n') };
}

const widest = (lines: readonly string[]) => Math.max(...lines.map((line) => line.length));

describe('the overview', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tooldex-overview-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('fits 80 columns without cutting anything, on a terminal and without one', async () => {
    for (const columns of [80, Infinity]) {
      const { code, lines } = await overview({ columns });
      expect([code, widest(lines) <= 80, lines.some((line) => line.includes('…'))]).toEqual([
        0,
        true,
        false,
      ]);
    }
    const piped = await cli.run([]);
    expect([piped.code, piped.err]).toEqual([0, '']);
    expect(widest(piped.out.split('\n'))).toBeLessThanOrEqual(80);
  });

  it('names in each section the API that it shows, and ends with the commands that show more', async () => {
    const { out } = await overview();
    for (const heading of [
      /^48 tools {2}ToolMetadataRegistry/m,
      /^Select {2}selectTools/m,
      /^Plan {2}ToolExecutor/m,
      /^Approve {2}SafetyPolicy/m,
    ])
      expect(out).toMatch(heading);
    expect(out.slice(out.indexOf('\nNext'))).toMatch(
      /list, stats[^]*search, select[^]*chat[^]*--tools[^]*--help/,
    );
  });

  it('selects for a failing test the tools to search, read, run and edit', async () => {
    const { selection } = JSON.parse((await overview({ args: ['--json'] })).out) as {
      selection: { tools: { toolName: string }[]; error: unknown };
    };
    expect(selection.error).toBeNull();
    expect(selection.tools.map(({ toolName }) => toolName)).toEqual(
      expect.arrayContaining(['search_text', 'read_file', 'run_tests', 'edit_file']),
    );
    expect(selection.tools.length).toBeLessThanOrEqual(5);
  });

  it('runs a read of the current folder, and shows what it answered', async () => {
    const { out } = await overview({});
    expect(out).toMatch(
      /\nRun {2}ToolExecutor[^]*\nlist_directory {2}ok[^]*\n\d+ entries, among them /,
    );
  });

  it('plans calls and shows which needs approval, but asks nobody and runs none of them', async () => {
    const { out, asked } = await overview({ answers: ['y', 'y'] });
    expect(asked).toEqual([]);
    expect(out).toMatch(/ 1 +0 {2}read_file[^]* 2 +2 {2}write_file[^]*waits after call 0/);
    expect(out).toMatch(
      /write_file {2}danger medium\n[^]*Run it\?[^]*tooldex run write_file --input '/,
    );
    expect(existsSync(join(root, 'draft.md'))).toBe(false);
  });

  it('works in an empty folder, and shows the same as JSON', async () => {
    const { code, out } = await overview({ cwd: folder, args: ['--json'] });
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        summary: { tools: 48 },
        calls: { batches: [[0, 1], [2]] },
        run: { toolName: 'list_directory', status: 'ok' },
      },
    ]);
    expect(existsSync(join(folder, 'draft.md'))).toBe(false);
  });

  it('matches the purpose of one of your own tools, and plans no calls of them', async () => {
    const { out, lines } = await overview({ args: ['--tools', 'test/fixtures/legacy'] });
    expect(out).toMatch(
      /\* inferred, not declared\n[^]*“first”:\n[^]*\nfirst +full +\d+ +\d+\.\d {2}search: /m,
    );
    expect(widest(lines)).toBeLessThanOrEqual(80);
    const json = JSON.parse(
      (await overview({ args: ['--json', '--tools', 'test/fixtures/legacy'] })).out,
    ) as object;
    expect(Object.hasOwn(json, 'calls')).toBe(false);
  });
});
