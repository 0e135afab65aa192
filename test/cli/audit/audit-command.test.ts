import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderWith, tooldex, type CommandCase } from '../command-line.js';

const TOOLS = `import { readFile } from 'node:fs/promises';
import { defineTool } from 'tooldex';
import { keep } from './store.ts';

const inputSchema = { type: 'object', properties: { name: { type: 'string' }, save: { type: 'boolean' } } };
export const look = defineTool({ name: 'look', description: 'Looks', inputSchema, accessMode: 'readonly', sideEffects: 'none', execute: ({ name }) => readFile(name, 'utf8') });
export const peek = defineTool({
  name: 'peek', description: 'Peeks', inputSchema, accessMode: 'readonly',
  execute: ({ name, save }) => {
    if (save) keep(name);
    return name;
  },
});
export const note = defineTool({ name: 'note', description: 'Notes', inputSchema, accessMode: 'readonly', execute: ({ name }) => keep(name) });
export const add = defineTool({ name: 'add', description: 'Adds', inputSchema, accessMode: 'write', dangerLevel: 'medium', execute: ({ name }) => keep(name) });
export const shy = defineTool({ name: 'shy', description: 'Is shy', inputSchema, accessMode: 'write', execute: ({ name }) => name.length });
export const mute = defineTool({ name: 'mute', description: 'Says nothing', inputSchema, execute: ({ name }) => keep(name) });
export const hand = defineTool({ name: 'hand', description: 'Is done by hand', inputSchema, accessMode: 'write', manual: true });
`;
const STORE = `import { writeFileSync } from 'node:fs';

export function keep(text: string) {
  writeFileSync('notes.txt', text);
  return text;
}
`;

let folder: string;
beforeEach(() => {
  folder = folderWith({
    'package.json': '{ "name": "notes", "type": "module" }',
    'src/tools.ts': TOOLS,
    'src/store.ts': STORE,
    'node_modules/tooldex/package.json': '{ "name": "tooldex", "types": "index.d.ts" }',
    'node_modules/tooldex/index.d.ts': 'export declare function defineTool(options: any): object;',
  });
});

async function audit(args: readonly string[], options: CommandCase = {}) {
  const { code, out, err } = await tooldex(['audit', ...args], {
    cwd: folder,
    columns: 80,
    ...options,
  });
  return { code, out, err };
}
const OWN = ['--tools', 'src/tools.ts'];

describe("tooldex audit of a program's tools", () => {
  it('lists every tool with what decides its verdict, and the path to each lie', async () => {
    const { code, out, err } = await audit(OWN);
    expect([code, err]).toEqual([1, '']);
    expect(out).toMatch(/^lies +note +readonly +changes files \(fs\.writeFileSync\)/m);
    expect(out).toMatch(/^agrees +look +readonly +only reads/m);
    expect(out).toContain(
      "peek\n  declares accessMode: 'readonly', and changes files (fs.writeFileSync)\n    src/tools.ts:10 → src/store.ts:4\n",
    );
    expect(out).toContain('skipped hand: a user, a provider or another program does its work');
    expect(out).toMatch(/✗ notes: 6 tools, 2 lies, 4 agrees\n$/);
  });

  it('prints the report as JSON, and annotations for GitHub', async () => {
    const { out } = await audit([...OWN, '--json']);
    const { tools } = JSON.parse(out) as { tools: { name: string; verdict: string }[] };
    expect(tools.map(({ name, verdict }) => [name, verdict])).toEqual(
      expect.arrayContaining([
        ['peek', 'lies'],
        ['add', 'agrees'],
      ]),
    );
    expect((await audit([...OWN, '--format', 'github'])).out.split('\n')).toContain(
      "::error file=src/store.ts,line=4,title=audit::note declares accessMode: 'readonly', and changes files (fs.writeFileSync)%0Asrc/tools.ts:14 → src/store.ts:4",
    );
  });

  it('takes what calls do from --known and from tooldex.config.json', async () => {
    writeFileSync(
      join(folder, 'src/tools.ts'),
      TOOLS.replace(
        'export const look',
        "import { sync, peek } from 'ledger-client';\nexport const look",
      ).replace("readFile(name, 'utf8')", '[sync(name), peek(name)]'),
    );
    writeFileSync(
      join(folder, 'tooldex.config.json'),
      '{ "audit": { "tools": ["src/tools.ts"], "known": { "calls": { "ledger-client.peek": "read" } } } }',
    );
    const { out } = await audit([]);
    expect(out).toMatch(/^unknown +look/m);
    expect(out).toContain('ledger-client.sync blocks 1 tool.');
    expect(out).not.toContain('ledger-client.peek');
    expect((await audit(['--known', 'ledger-client.sync=none'])).out).toMatch(/^agrees +look/m);
  });
});

describe('tooldex audit with a baseline', () => {
  const BASELINE = [...OWN, '--baseline', 'known.json'];

  it('exits with 0 for known lies, but with 1 for new lies', async () => {
    expect(await audit([...BASELINE, '--update-baseline'])).toMatchObject({
      code: 0,
      err: 'written known.json\n',
    });
    expect((await audit(BASELINE)).code).toBe(0);
    writeFileSync(join(folder, 'src/tools.ts'), TOOLS.replace('readFile(name,', 'keep(name,'));
    const { code, out } = await audit(BASELINE);
    expect([code, out]).toEqual([1, expect.stringContaining('look\n')]);
  });

  it('lists lies that are no longer found', async () => {
    await audit([...BASELINE, '--update-baseline']);
    writeFileSync(
      join(folder, 'src/tools.ts'),
      TOOLS.replace('=> keep(name) });\nexport const add', '=> name });\nexport const add'),
    );
    const { code, err } = await audit(BASELINE);
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(
        /^no longer found note accessMode \S+: remove it from the baseline with --update-baseline\n$/,
      ),
    ]);
    await audit([...BASELINE, '--update-baseline']);
    expect(readFileSync(join(folder, 'known.json'), 'utf8')).not.toContain('"note"');
  });
});

describe('tooldex audit refuses', () => {
  it.each([
    [
      'an effect that does not exist',
      ['--known', 'a.b=maybe'],
      /^error Expected --known to be call=read/,
    ],
    [
      'files that do not exist',
      ['--tools', 'src/none.ts'],
      /^error No file matches "src\/none\.ts"/,
    ],
    [
      "a file that isn't a baseline",
      [...OWN, '--baseline', 'package.json'],
      /^error This is not a baseline written by tooldex audit --update-baseline/,
    ],
  ])('%s', async (_, args, message) => {
    const { code, err } = await audit(args);
    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
  });
});
