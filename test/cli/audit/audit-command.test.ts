import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { program } from '../../programs.js';
import { folderWith, tooldex, type CommandCase } from '../command-line.js';

const TOOLS = `import { readFile } from 'node:fs/promises';
import { defineTool } from '${program('src/index.ts')}';
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

const HONEST = TOOLS.replace(/(?=export const peek)[^]*(?=export const add)/, '').replace(
  /(?=export const shy)[^]*/,
  '',
);

let folder: string;
beforeEach(() => {
  folder = folderWith({
    'package.json': '{ "name": "notes", "type": "module" }',
    'src/tools.ts': TOOLS,
    'src/store.ts': STORE,
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
  it('lists each tool that differs from its declaration, with the path to the call that proves it', async () => {
    expect(await audit(OWN)).toMatchInlineSnapshot(`
      {
        "code": 1,
        "err": "",
        "out": "VERDICT        TOOL  SAYS     DOES
      lies           note  reads    changes files (fs.writeFileSync)
      lies           peek  reads    changes files (fs.writeFileSync) where "save" says
                                    so
      undeclared     mute  nothing  changes files (fs.writeFileSync)
      over-cautious  shy   write    computes

      note
        declares accessMode: 'readonly', and changes files (fs.writeFileSync)
          src/tools.ts:14 → src/store.ts:4
      peek
        declares accessMode: 'readonly', and changes files (fs.writeFileSync) where "save" says so
          src/tools.ts:10 → src/store.ts:4
      skipped hand: a user or another program does its work
      ✗ notes: 6 tools, 2 lies, 1 undeclared, 1 over-cautious, 2 agrees
      ",
      }
    `);
  });

  it('proposes corrected metadata with --fix', async () => {
    expect(
      (await audit([...OWN, '--fix'])).out.split('\n').filter((line) => /^(?:@@|[-+] )/.test(line)),
    ).toMatchInlineSnapshot(`
      [
        "@@ mute src/tools.ts:17",
        "+   accessMode: 'write',",
        "+   dangerLevel: 'medium',",
        "+   sideEffects: ['write', 'filesystem'],",
        "@@ note src/tools.ts:14",
        "-   accessMode: 'readonly',",
        "+   accessMode: 'write',",
        "+   dangerLevel: 'medium',",
        "+   sideEffects: ['write', 'filesystem'],",
        "@@ peek src/tools.ts:9",
        "-   accessMode: 'readonly',",
        "+   accessMode: 'write',",
        "+   dangerLevel: 'medium',",
        "+   sideEffects: ['write', 'filesystem'],",
      ]
    `);
  });

  it('prints the report as JSON with --json', async () => {
    const { code, out } = await audit([...OWN, '--json']);
    const { subject, tools, skipped } = JSON.parse(out) as {
      subject: unknown;
      tools: { name: string; verdict: string; declared: object; found: { effects: object[] } }[];
      skipped: unknown;
    };
    expect([code, subject, skipped]).toEqual([
      1,
      { kind: 'tools', name: 'notes', folder: expect.any(String) as string },
      [{ name: 'hand', reason: 'a user or another program does its work' }],
    ]);
    expect(Object.fromEntries(tools.map(({ name, verdict }) => [name, verdict]))).toEqual({
      look: 'agrees',
      peek: 'lies',
      note: 'lies',
      add: 'agrees',
      shy: 'over-cautious',
      mute: 'undeclared',
    });
    expect(tools.find(({ name }) => name === 'peek')).toMatchObject({
      declared: { readOnly: true, axes: { accessMode: 'readonly' } },
      found: {
        readOnly: false,
        destructive: true,
        idempotent: true,
        openWorld: false,
        effects: [
          {
            kind: 'fs-write',
            certainty: 'may',
            argument: 'save',
            call: expect.stringContaining('writeFileSync') as string,
            at: 'src/store.ts:4',
          },
        ],
      },
    });
  });

  it('prints GitHub annotations on the lines that contradict a declaration', async () => {
    const { out } = await audit([...OWN, '--format', 'github']);
    expect(out.split('\n')).toEqual(
      expect.arrayContaining([
        "::error file=src/store.ts,line=4,title=audit::note declares accessMode: 'readonly', and changes files (fs.writeFileSync)%0Asrc/tools.ts:14 → src/store.ts:4",
        "::warning file=src/tools.ts,line=16,title=audit::shy declares accessMode: 'write', and only reads",
      ]),
    );
  });

  it("exits with 1 if a file didn't load, and reports the file", async () => {
    writeFileSync(join(folder, 'src/tools.ts'), HONEST);
    writeFileSync(join(folder, 'src/broken.ts'), "export { nothing } from './nowhere.ts';");
    const { code, out } = await audit(['--tools', 'src/broken.ts', ...OWN, '--json']);
    expect([code, JSON.parse(out)]).toMatchObject([1, { skipped: [{ name: 'src/broken.ts' }] }]);
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
    expect([code, out]).toEqual([1, expect.stringContaining('look\n') as string]);
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
      ) as string,
    ]);
    await audit([...BASELINE, '--update-baseline']);
    expect(readFileSync(join(folder, 'known.json'), 'utf8')).not.toContain('"note"');
  });
});

describe('tooldex audit of an MCP server', () => {
  const SERVER = `import { appendFileSync } from 'node:fs';
const server = { registerTool() {} };
server.registerTool('log', { description: 'Logs', annotations: { readOnlyHint: true } }, async ({ text }) => appendFileSync('log.txt', text));
server.registerTool('echo', { description: 'Echoes', annotations: { readOnlyHint: true } }, async ({ text }) => ({ content: [{ type: 'text', text }] }));
`;
  const LISTING = {
    tools: [
      { name: 'log', annotations: { readOnlyHint: true } },
      { name: 'echo', annotations: { readOnlyHint: true } },
    ],
  };

  it('compares a listing with the code of a server that is given by its settings, file, command, or folder', async () => {
    writeFileSync(join(folder, 'server.js'), SERVER);
    writeFileSync(join(folder, 'listing.json'), JSON.stringify(LISTING));
    writeFileSync(
      join(folder, '.mcp.json'),
      '{ "mcpServers": { /* mine */ "files": { "command": "node", "args": ["server.js"] }, "other": { "command": "x" } } }',
    );
    for (const server of ['.mcp.json:files', 'server.js', 'node server.js', '.']) {
      if (server === '.')
        writeFileSync(
          join(folder, 'package.json'),
          '{ "name": "notes", "type": "module", "main": "server.js" }',
        );
      const { code, out } = await audit([
        '--mcp',
        server,
        '--listing',
        'listing.json',
        '--format',
        'github',
      ]);
      expect([code, out.replace(/::.*::/, '')]).toEqual([
        1,
        expect.stringMatching(
          /^log declares readOnlyHint: true, and changes files \(.*appendFileSync\)%0A.*server\.js:3\n$/,
        ) as string,
      ]);
    }
  });
});

describe('names with terminal or workflow commands', () => {
  it.each([[[]], [['--format', 'github']], [['--json']]])(
    'are escaped in the output of %j',
    async (format) => {
      const name = '\u001b[31mred\u001b[0m\n::error file=x::boo%0A\u202e';
      writeFileSync(
        join(folder, 'server.js'),
        `import { appendFileSync } from 'node:fs';\nconst server = { registerTool() {} };\nserver.registerTool(${JSON.stringify(name)}, {}, async ({ text }) => appendFileSync('log.txt', text));\n`,
      );
      writeFileSync(
        join(folder, 'listing.json'),
        JSON.stringify([{ name, annotations: { readOnlyHint: true } }]),
      );
      const { code, out } = await audit([
        '--mcp',
        'server.js',
        '--listing',
        'listing.json',
        ...format,
      ]);
      expect(code).toBe(1);
      // eslint-disable-next-line no-control-regex
      expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]|^::error file=x/m);
    },
  );
});

describe('tooldex audit refuses', () => {
  it.each([
    [
      '--listing without --mcp',
      [...OWN, '--listing', 'x.json'],
      /^error --listing only works with --mcp\./,
    ],
    [
      '--mcp together with --tools',
      ['--mcp', 'x', ...OWN],
      /'--mcp <server>' cannot be used with option '--tools <path>'/,
    ],
    [
      "a file that isn't a baseline",
      [...OWN, '--baseline', 'package.json'],
      /^error This is not a baseline written by tooldex audit --update-baseline/,
    ],
  ])('%s', async (_, args, message) => {
    const { code, err } = await audit(args);
    expect([code, err]).toEqual([2, expect.stringMatching(message) as string]);
  });
});
