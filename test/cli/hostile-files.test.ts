import { describe, expect, it } from 'vitest';
import { importModules } from '../../src/load/import-modules.js';
import { cli } from './command-line.js';

const TOOL = `export const a = defineTool({ name: 'one', description: 'The one tool', inputSchema: {} });`;

describe('a tool file', () => {
  it("that exits the process makes the command fail with an error that contains the file's name", async () => {
    const folder = cli.project({
      'a.js': 'process.exit(0);',
      'b.js': 'queueMicrotask(() => process.exit());await 1;',
    });
    for (const file of ['a.js', 'b.js']) {
      const { code, err } = await cli.run(['lint', '--tools', file], folder);
      expect(err).toContain(`while importing ${file}`);
      expect(code).toBe(1);
    }
    expect(
      JSON.parse((await cli.run(['lint', '--json', '--tools', 'a.js'], folder)).out),
    ).toMatchObject({ error: { code: 'EXECUTION_FAILED' } });
  });

  it('that never finishes loading fails at the deadline, and the next file is imported', async () => {
    const folder = cli.project({
      'a.mjs': 'await new Promise(() => {});',
      'b.mjs': 'export const b = 1;',
    });
    const seen: (string | undefined)[] = [];
    const results = [];
    for await (const { file, error } of importModules(['a.mjs', 'b.mjs'], folder, {
      deadlineMs: 5_000,
      onImport: (each) => seen.push(each),
    }))
      results.push([file, error]);
    expect(results).toEqual([
      [
        'a.mjs',
        expect.objectContaining({
          code: 'TIMEOUT',
          message: expect.stringContaining('longer than 5 s'),
        }),
      ],
      ['b.mjs', undefined],
    ]);
    expect(seen).toEqual(['a.mjs', 'b.mjs', undefined]);
  });

  it("that leaves a timer running doesn't keep the command from exiting", async () => {
    const folder = cli.project({ 'a.ts': `DEFINE setInterval(() => {}, 1000); ${TOOL}` });
    expect(await cli.run(['list', '--stats', '--tools', 'a.ts'], folder)).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 tool,'),
    });
  });

  it("that prints something writes to standard error, not to the command's output", async () => {
    const folder = cli.project({
      'a.ts': `DEFINE console.log('noise'); process.stdout.write('more\\n'); setImmediate(() => console.log('late')); ${TOOL}`,
    });
    const { out, err } = await cli.run(['list', '--json', '--tools', 'a.ts'], folder);
    expect(JSON.parse(out)).toMatchObject([{ name: 'one' }]);
    expect(err).toContain('noise\nmore\n');
  });
});

describe('a pipe that closes early', () => {
  it("doesn't change the exit code", async () => {
    expect(await cli.runUnread(['list', '--json'])).toMatchObject({ code: 0, err: '' });
    expect(
      await cli.runUnread(['lint', '--json', '--tools', 'test/fixtures/legacy']),
    ).toMatchObject({ code: 1, err: '' });
  });
});
