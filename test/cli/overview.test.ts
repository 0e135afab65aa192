import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cli, folderWith, tooldex } from './command-line.js';

describe('tooldex without a command', () => {
  it('prints at most 80 columns, with and without a terminal', async () => {
    const outputs = [(await tooldex([], { columns: 80 })).out, (await cli.run([])).out];
    for (const out of outputs) expect(out).toMatch(/^(?:.{0,80}\n)+$/);
  });

  it('shows a choice, a plan, real reads, a question and a stopped call, and changes nothing', async () => {
    const cwd = folderWith();
    const { out, asked } = await tooldex([], { cwd, columns: 80, answers: ['y', 'y'] });
    expect([asked, existsSync(join(cwd, 'draft.md'))]).toEqual([[], false]);
    expect(out.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
    expect(out).toMatch(
      /1 choose +5 of 48 tools[^]*together[^]*write_file +waits[^]*✓ list_directory[^]*\+# Draft[^]*Run it\?[^]*✗ [^\n]*outside/,
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
        results: [
          { toolName: 'list_directory', status: 'ok' },
          { toolName: 'list_tests', status: 'ok' },
          { toolName: 'write_file', status: 'approval_required' },
          { toolName: 'read_file', status: 'error' },
        ],
      },
    ]);
  });
});
