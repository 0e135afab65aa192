import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Demo, official, rawTool } from '../mcp/servers/start.js';
import { folderWith, tooldex as runTooldex, type CommandCase } from './command-line.js';

let folder: string;
beforeEach(() => void (folder = folderWith()));

function configure(servers: Readonly<Record<string, object>>): void {
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
}

const tooldex = (args: readonly string[], options: CommandCase = {}) =>
  runTooldex(args, { cwd: folder, ...options });

describe('tooldex mcp list', () => {
  it('lists each server and its tools, and exits with 1 if a server is unreachable', async () => {
    configure({
      demo: new Demo('read', 'write').process,
      gone: { command: join(folder, 'nothing') },
    });
    const { code, out } = await tooldex(['mcp', 'list']);
    expect(code).toBe(1);
    expect(out).toMatch(/^demo +ready .* 2/m);
    expect(out).toMatch(/^gone +(?:backing-off|failed) .* 0 +its command or folder doesn't exist/m);
    expect(out).toMatch(/^mcp\.demo\.read +high +yes/m);
  });

  it('reads the settings file from --mcp, and starts no other servers', async () => {
    const other = new Demo('other');
    configure({ other: other.process });
    const { process: demo } = new Demo('read');
    writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: { demo } }));
    const { out } = await tooldex(['--mcp', 'servers.json', 'mcp', 'list']);
    expect(out).toMatch(/^demo +ready/m);
    expect(out).not.toContain('other');
    expect(other.log('list')).toEqual([]);
  });

  it('reads the settings file that tooldex.config.json names, from any folder below', async () => {
    const { process: demo } = new Demo('read');
    const project = folderWith({
      'tooldex.config.json': { mcp: 'config/servers.json' },
      'config/servers.json': { mcpServers: { demo } },
      'below/README.md': '',
    });
    const below = (...args: readonly string[]) =>
      runTooldex(['mcp', ...args], { cwd: join(project, 'below') });
    expect(await below('list')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^demo +ready/m),
    });
    expect(await below('pins', 'approve', '--all', '--yes')).toMatchObject({ code: 0 });
    expect(await below('pins', 'verify')).toMatchObject({ code: 0 });
  });

  it("suggests settings that match the servers' annotations, and truncates long descriptions", async () => {
    const demo = new Demo();
    demo.list(
      rawTool('read', { annotations: { readOnlyHint: true, openWorldHint: false } }),
      rawTool('drop', { annotations: { destructiveHint: true }, description: 'x'.repeat(1_000) }),
      rawTool('other'),
    );
    configure({ demo: demo.process });
    const { out } = await tooldex(['mcp', 'list'], { columns: Infinity });
    expect(out).toMatch(/^mcp\.demo\.read +high +yes +Does read$/m);
    expect(out).toMatch(/^mcp\.demo\.drop .* x{109}…$/m);
    expect(out).toContain(`"tools": {
  "drop": {"access":"write","danger":"high"},
  "read": {"access":"readonly","consent":false}
}`);
    const { suggested } = JSON.parse((await tooldex(['mcp', 'list', '--json'])).out) as {
      suggested: { demo: object };
    };
    configure({ demo: { ...demo.process, tools: suggested.demo } });
    const { tools } = JSON.parse((await tooldex(['mcp', 'list', '--json'])).out) as {
      tools: { tool: string }[];
    };
    expect(tools.find(({ tool }) => tool === 'read')).toMatchObject({
      accessMode: 'readonly',
      requiresConsent: false,
    });
  });

  it('accepts comments and trailing commas in the settings, and reports the line of a syntax error', async () => {
    const { command, args } = new Demo('read').process;
    writeFileSync(
      join(folder, '.mcp.json'),
      `\uFEFF{ // mine\n  "mcpServers": { "demo": { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)}, /* later */ } },\n}`,
    );
    expect(await tooldex(['mcp', 'list'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^demo +ready .* 1/m),
    });
    writeFileSync(join(folder, '.mcp.json'), '{ // mine\n  "mcpServers" {} }');
    expect(await tooldex(['mcp', 'list'])).toMatchObject({
      code: 2,
      err: expect.stringContaining(".mcp.json isn't valid JSON: colon expected on line 2"),
    });
  });
});

describe('tooldex --mcp', () => {
  it("lists the servers' tools, and runs them after approval", async () => {
    configure({ everything: official('everything') });
    const listed = await tooldex(['--mcp', '.mcp.json', 'list', '--json']);
    expect(listed.out).toContain('"mcp.everything.echo"');
    const input = ['--input', '{"message":"hello"}'];
    expect(
      await tooldex(['--mcp', '.mcp.json', 'run', 'mcp.everything.echo', ...input]),
    ).toMatchObject({ code: 4, out: '' });
    expect(
      await tooldex([
        '--mcp',
        '.mcp.json',
        'run',
        'mcp.everything.echo',
        ...input,
        '--yes',
        'high',
      ]),
    ).toMatchObject({ code: 0, out: 'Echo: hello\n' });
  });

  it("exits with the code of the call's outcome, even if another server is down", async () => {
    configure({ everything: official('everything'), gone: { command: join(folder, 'nothing') } });
    const run = ['--mcp', '.mcp.json', 'run', 'mcp.everything.echo', '--yes', 'high'];
    expect(await tooldex([...run, '--input', '{"message":"hello"}'])).toMatchObject({
      code: 0,
      out: 'Echo: hello\n',
      err: expect.stringContaining('not loaded gone'),
    });
    expect((await tooldex([...run, '--input', '{}'])).code).not.toBe(0);
  });

  it("omits tools that aren't in the lockfile", async () => {
    const demo = new Demo('read');
    configure({ demo: demo.process });
    await tooldex(['mcp', 'pins', 'approve', '--all', '--yes']);
    demo.list(rawTool('read'), rawTool('added'));
    const { code, out, err } = await tooldex(['--mcp', '.mcp.json', 'list', '--json']);
    expect(code).toBe(0);
    expect(out).toContain('mcp.demo.read');
    expect(out).not.toContain('mcp.demo.added');
    expect(err).toContain('not loaded demo "added"');
  });

  it('merges manifest entries with the server tools that they describe', async () => {
    const inputSchema = {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
    };
    const demo = new Demo();
    demo.list(rawTool('read', { inputSchema }));
    configure({ demo: demo.process });
    writeFileSync(
      join(folder, 'functions.json'),
      JSON.stringify([
        {
          name: 'mcp.demo.read',
          description: 'Reads a note',
          parameters: { type: 'object' },
          category: 'notes',
        },
      ]),
    );
    const places = ['--mcp', '.mcp.json', '--manifests', '.'];
    const shown = await tooldex([...places, 'show', 'mcp.demo.read', '--json']);
    expect(JSON.parse(shown.out)).toMatchObject({
      description: 'Reads a note',
      category: 'notes',
      requiresConsent: true,
      inputSchema,
    });
    expect(
      await tooldex([
        ...places,
        'run',
        'mcp.demo.read',
        '--input',
        '{"path":"a"}',
        '--yes',
        'high',
      ]),
    ).toMatchObject({ code: 0 });
    expect(demo.log('call')).toEqual(['call read']);
  });
});
