import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, folderWith, tooldex } from './command-line.js';

describe('tooldex without a command', () => {
  it('prints at most 80 columns, with and without a terminal', async () => {
    const outputs = [(await tooldex([], { columns: 80 })).out, (await cli.run([])).out];
    for (const out of outputs) expect(out).toMatch(/^(?:.{0,80}\n)+$/);
  });

  it('plans sample calls and shows which calls need approval, but runs no calls', async () => {
    const cwd = folderWith();
    const { out, asked } = await tooldex([], { cwd, columns: 80, answers: ['y', 'y'] });
    expect([asked, existsSync(join(cwd, 'draft.md'))]).toEqual([[], false]);
    expect(out).toMatch(/^1 +0 +read_file[^]*\n2 +2 +write_file/m);
    expect(out).toMatch(
      /write_file {2}danger medium\n[^]*Run it\?[^]*tooldex run write_file --input '/,
    );
  });

  it('prints the same facts as JSON with --json', async () => {
    const { code, out } = await tooldex(['--json']);
    const selected = ['search_text', 'read_file', 'run_tests', 'edit_file'];
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      {
        summary: { tools: 48 },
        selection: {
          tools: expect.arrayContaining(
            selected.map((toolName) => expect.objectContaining({ toolName }) as object),
          ) as object,
          error: null,
        },
        calls: { batches: [[0, 1], [2]] },
        run: { toolName: 'list_directory', status: 'ok' },
      },
    ]);
  });
});
