import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { comparePins } from '../../src/cli/commands/mcp-pins.js';
import { DefinitionPins } from '../../src/mcp/pins/definition-pins.js';
import { Demo, discover, rawTool } from '../mcp/servers/start.js';
import { folderWith, tooldex } from './command-line.js';
import { FakeTerminal, type FakeTerminalOptions } from './fake-terminal.js';

let folder: string;
beforeEach(() => void (folder = folderWith()));

const lock = () => join(folder, 'tooldex-pins.json');

function configure(servers: Readonly<Record<string, object>>, file = '.mcp.json'): void {
  writeFileSync(join(folder, file), JSON.stringify({ mcpServers: servers }));
}

type Listing = NonNullable<Parameters<typeof comparePins>[2]>;
type Action = Parameters<typeof comparePins>[1];
type Options = Partial<Parameters<typeof comparePins>[0]['options']> & { readonly all?: boolean };

/** Lists the servers as the command does, including servers in this process. */
const listHere: Listing = async (settings) => {
  const discovery = discover(settings);
  await discovery.refresh({ force: true });
  return discovery.rawListings();
};

async function pins(
  action: Action,
  words: readonly string[] = [],
  { all: _all, ...given }: Options = {},
  terminalOptions: FakeTerminalOptions = {},
) {
  const terminal = new FakeTerminal(terminalOptions);
  const options = { config: undefined, mcp: undefined, json: false, ...given };
  const context = { terminal, cwd: folder, words, imports: {}, options };
  const code = await comparePins(context, action, listHere);
  expect(terminal.listeners).toBe(0);
  return { code, out: terminal.printed, err: terminal.told };
}

describe('tooldex mcp pins', () => {
  it('pins the tools that servers list, and reports nothing until one of the tools changes', async () => {
    const demo = new Demo('read', 'write');
    configure({ demo: demo.start });
    expect(await pins('approve', [], { all: true, yes: true })).toMatchObject({
      code: 0,
      out: '✓ 2 approved, 2 tools pinned\n',
    });
    const text = readFileSync(lock(), 'utf8');
    expect(await pins('verify')).toMatchObject({
      code: 0,
      out: '✓ 2 tools pinned, nothing differs\n',
    });
    demo.list(rawTool('write', { description: 'Sends it elsewhere' }), rawTool('added'));
    const { code, out } = await pins('verify');
    expect([
      code,
      out
        .trimEnd()
        .split('\n')
        .map((line) => line.trimEnd()),
    ]).toEqual([
      1,
      [
        'new     mcp.demo.added',
        'removed mcp.demo.read',
        'changed mcp.demo.write  /description',
        '✗ 2 tools pinned, 1 changed, 1 new, 1 removed',
      ],
    ]);
    expect(readFileSync(lock(), 'utf8')).toBe(text);
  });

  it('shows the old and new values of a change completely, with hidden characters escaped', async () => {
    const demo = new Demo('write');
    configure({ demo: demo.start });
    await pins('approve', [], { all: true, yes: true });
    const long = `${'x'.repeat(6_000)}\u200bEND\u001b[2J`;
    demo.list(
      rawTool('write', { description: long }),
      rawTool('added', { title: 'New\u202e one' }),
    );
    const { code, out } = await pins('diff');
    expect(code).toBe(1);
    const joined = out.replace(/\n +┆ /g, '').replace(/x{6000}/, '(6000 x)');
    expect(joined).toMatch(
      /changed mcp\.demo\.write(?:\n {2}hidden-text .*){2}\n {2}\/description\n/,
    );
    expect(joined).toContain(
      '  /description\n    before │ "Does write"\n    after  │ "(6000 x)\\u200bEND\\u001b[2J"\n',
    );
    expect(out).toContain('New\\u202e one');
    // eslint-disable-next-line no-control-regex
    expect(out).not.toMatch(/[\u200b\u001b\u202e]/);
    const one = await pins('diff', ['mcp.demo.added']);
    expect(one.out).toContain('mcp.demo.added');
    expect(one.out).not.toContain('mcp.demo.write');
  });

  it('approves only the named tools, and reports the remaining changes', async () => {
    const demo = new Demo('a', 'b', 'c');
    configure({ demo: demo.start });
    for (const name of ['mcp.demo.a', 'mcp.demo.b', 'mcp.demo.c'])
      expect((await pins('approve', [name], { yes: true })).code).toBe(0);
    expect((await DefinitionPins.load(lock())).size).toBe(3);
    demo.list(rawTool('a', { title: '2' }), rawTool('b', { title: '2' }));
    await pins('approve', ['mcp.demo.a'], { yes: true });
    expect((await pins('verify')).out).toContain('✗ 3 tools pinned, 1 changed, 1 removed\n');
  });

  it('shows each definition and asks before it approves it', async () => {
    const demo = new Demo('write');
    configure({ demo: demo.start });
    for (const answers of [['n'], [''], [], ['yes please']]) {
      expect(await pins('approve', ['mcp.demo.write'], {}, { answers })).toMatchObject({
        code: 4,
        out: '',
        err: expect.stringMatching(
          /new {5}mcp\.demo\.write[^]*description +│ "Does write"[^]*Approve this\? \[y\/N\][^]*Nothing was approved/,
        ),
      });
    }
    expect(existsSync(lock())).toBe(false);
    expect((await pins('approve', ['mcp.demo.write'], {}, { answers: ['y'] })).code).toBe(0);
    expect((await pins('verify')).code).toBe(0);
  });

  it('prints JSON with --json', async () => {
    const demo = new Demo('write');
    configure({ demo: demo.start });
    expect(
      JSON.parse((await pins('approve', [], { all: true, yes: true, json: true })).out),
    ).toEqual({ approved: ['mcp.demo.write'], pinned: 1, findings: [] });
    demo.list(rawTool('write', { title: 'x' }));
    expect(JSON.parse((await pins('verify', [], { json: true })).out)).toEqual({
      pinned: 1,
      findings: [
        {
          kind: 'changed',
          server: 'demo',
          tool: 'write',
          definition: rawTool('write', { title: 'x' }),
          changes: [{ path: '/title', after: 'x' }],
        },
      ],
    });
  });

  it("exits with 3 if a server is unreachable, but with 1 if another server's tools have changed", async () => {
    const demo = new Demo('write');
    configure({ demo: demo.start });
    await pins('approve', [], { all: true, yes: true });
    configure({ demo: demo.start, dead: { command: join(folder, 'nothing-here') } });
    expect(await pins('verify')).toMatchObject({
      code: 3,
      out: expect.stringMatching(/unreachable dead {2}.*ENOENT[^]*✗ 1 tool pinned, 1 unreachable/),
    });
    demo.list(rawTool('write', { title: 'x' }));
    expect((await pins('verify')).code).toBe(1);
    expect((await pins('approve', [], { all: true, yes: true })).code).toBe(3);
    expect(
      (await DefinitionPins.load(lock())).check('demo', rawTool('write', { title: 'x' })).ok,
    ).toBe(true);
  });

  it('refuses wrong usage without starting a server', async () => {
    const demo = new Demo('write');
    await expect(pins('verify')).rejects.toThrow(
      /no MCP settings in \.mcp\.json or mcp\.json\. Pass the file with --config/,
    );
    configure({ demo: demo.start }, 'mcp.json');
    await expect(pins('verify')).rejects.toThrow(/lock file .*tooldex-pins\.json doesn't exist/);
    for (const args of [[], ['write', '--all']])
      expect(await tooldex(['mcp', 'pins', 'approve', ...args], { cwd: folder })).toMatchObject({
        code: 2,
        err: expect.stringContaining('Pass the tools to approve, or use --all.'),
      });
    expect(demo.log()).toEqual([]);
  });

  it('accepts another settings file with --config, and starts stdio servers as processes', async () => {
    configure({ demo: new Demo('write').process }, 'servers.json');
    const files = ['--config', 'servers.json'];
    const run = async (...args: readonly string[]) =>
      (await tooldex(['mcp', 'pins', ...args, ...files], { cwd: folder })).code;
    expect(await run('approve', '--all', '--yes')).toBe(0);
    expect(existsSync(lock())).toBe(true);
    expect(await run('verify')).toBe(0);
  });
});
