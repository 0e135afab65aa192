import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { auditTools, expectHonest, type AuditReport } from '../../src/audit.js';
import {
  applyBaseline,
  newLies,
  readBaseline,
  writeBaseline,
} from '../../src/audit/judge/baseline.js';
import { defineTool, ToolMetadataRegistry, type AccessMode } from '../../src/index.js';
import { folderOf, HEAD, reader } from './programs.js';

const options = { description: 'A tool.', inputSchema: z.object({}) };
const loaded = (name: string, accessMode: AccessMode = 'readonly') =>
  defineTool({ ...options, name, accessMode, execute: () => 1 });

const FILES = {
  'a.ts': `${HEAD}${reader('drop', `fs.rmSync('x');`)}${reader('note', `fs.appendFileSync('x', '');`)}${reader('look', `return fs.readFileSync('x');`)}`,
};

const LIARS = [loaded('drop'), loaded('note')];
let root: string;
/** What the audit says about the liars. */
let tools: AuditReport['tools'];
beforeAll(async () => {
  root = folderOf(FILES);
  ({ tools } = await auditTools(LIARS, { root }));
});

describe('expectHonest', () => {
  it('accepts tools that do what they declare', async () => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll([loaded('look'), loaded('drop', 'write')]);
    await expectHonest(registry, { root });
  });

  it('fails with every lie of the metadata that the program declares, and the path to it', async () => {
    const failure = expectHonest([loaded('look'), loaded('drop'), loaded('note')], { root });
    await expect(failure).rejects.toMatchObject({
      name: 'AssertionError',
      actual: ['drop', 'note'],
      message: `Expected tools that do what they declare, got 2 that do more.

  drop
    declares accessMode: 'readonly', and changes files (fs.rmSync)
      a.ts:7
  note
    declares accessMode: 'readonly', and changes files (fs.appendFileSync)
      a.ts:8

Correct the declarations or the code.`,
    });
  });

  it('accepts the lies of a baseline, and fails for new ones', async () => {
    const known = tools.filter(({ name }) => name === 'drop');
    const baseline: unknown = JSON.parse(writeBaseline(known));
    await expect(expectHonest(LIARS, { root, baseline })).rejects.toMatchObject({
      actual: ['note'],
    });
    await expect(expectHonest(LIARS, { root, baseline: { version: 2 } })).rejects.toThrow(
      'This is not a baseline written by tooldex audit --update-baseline',
    );
  });

  it("reports a tool without code, and one whose code isn't in the folder", async () => {
    const { tools, skipped } = await auditTools(
      [loaded('gone'), defineTool({ ...options, name: 'ask', manual: true })],
      { root },
    );
    expect(tools.map(({ name, verdict, unknowns }) => [name, verdict, unknowns[0]!.call])).toEqual([
      ['gone', 'unknown', 'the code of the tool, which was not found'],
    ]);
    expect(skipped.map(({ name }) => name)).toEqual(['ask']);
  });

  it('refuses what holds no tools, and a folder that is absent', async () => {
    await expect(expectHonest([{}] as never)).rejects.toThrow('a list of tool definitions');
    await expect(expectHonest([loaded('look')], { root: 'absent' })).rejects.toThrow('root');
  });
});

describe('a baseline', () => {
  it('still fits after edits elsewhere in the file, and names entries that nothing matches any more', async () => {
    const after = await auditTools(LIARS, {
      root: folderOf({
        'a.ts': `${HEAD}\n// A comment.\n${reader('drop', `fs.rmSync('x');`)}${reader('note', `return 1;`)}`,
      }),
    });
    const known = readBaseline(JSON.parse(writeBaseline(tools)));
    expect(newLies(applyBaseline(tools, known).tools)).toEqual([]);
    const { tools: later, gone } = applyBaseline(after.tools, known);
    expect(newLies(later)).toEqual([]);
    expect(gone).toEqual([
      { tool: 'note', axis: 'accessMode', kind: 'files', call: 'fs.appendFileSync' },
    ]);
  });

  it('is the same text for the same lies in another order', () => {
    expect(writeBaseline([...tools].reverse())).toBe(writeBaseline(tools));
  });
});
