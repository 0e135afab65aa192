import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../src/cli/run-cli.js';
import { mcpServe } from '../../src/cli/commands/mcp.js';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { loadMcpTools } from '../../src/cli/load/load-mcp-tools.js';
import { loadRegistry } from '../../src/cli/load/load-registry.js';
import { overHttp, textOf } from '../mcp/server-clients.js';
import { official } from '../mcp/servers/start.js';
import { FakeTerminal } from './fake-terminal.js';

/** A terminal that tells when something is printed. */
class WatchedTerminal extends FakeTerminal {
  #waiting: (() => void)[] = [];

  override out = (text: string): void => {
    this.printed += `${text}\n`;
    for (const wake of this.#waiting.splice(0)) wake();
  };

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tooldex-mcp-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const USUAL = { mode: 'default' } as const;

async function overHttpCommand(
  options: Record<string, unknown>,
  test: (url: string, root: string, terminal: WatchedTerminal) => Promise<void>,
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  const root = folder();
  const terminal = new WatchedTerminal();
  const ended = mcpServe(
    terminal,
    await loadRegistry({}, root),
    { ...USUAL, http: true, port: 0, ...options },
    { input: new PassThrough(), env },
  );
  await Promise.race([terminal.until(() => /http:\S+/.test(terminal.printed)), ended]);
  try {
    await test(/http:[^\s"]+/.exec(terminal.printed)![0], root, terminal);
  } finally {
    terminal.interrupt();
  }
  return ended;
}

describe('tooldex mcp serve --http', () => {
  it.each(['auto', 'legacy', 'first'] as const)(
    'serves the bundled tools to a %s client, which work on the folder',
    async (kind) => {
      const code = await overHttpCommand({}, async (url, root) => {
        writeFileSync(join(root, 'note.txt'), 'written before');
        const client = await overHttp(url, kind, {
          answer: () => ({ action: 'accept', content: {} }),
        });
        expect((await client.tools()).length).toBeGreaterThan(40);
        expect(textOf(await client.call('read_file', { path: 'note.txt' }))).toContain(
          'written before',
        );
        expect(
          (await client.call('write_file', { path: 'new.txt', content: 'by mcp' })).isError ??
            false,
        ).toBe(false);
        expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('by mcp');
        expect(await client.call('read_file', { path: '../../etc/passwd' })).toMatchObject({
          isError: true,
        });
      });
      expect(code).toBe(0);
    },
  );

  it('runs what --yes covers without asking, and refuses the rest', async () => {
    await overHttpCommand({ yes: 'medium' }, async (url, root) => {
      const client = await overHttp(url, 'auto');
      expect(
        (await client.call('write_file', { path: 'new.txt', content: 'yes' })).isError ?? false,
      ).toBe(false);
      expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('yes');
      expect(textOf(await client.call('run_shell', { command: 'true' }))).toMatch(/was not run/);
    });
  });

  it('runs what --yes covers also where only a persona may', async () => {
    const registry = new ToolMetadataRegistry();
    registry.register(
      defineTool({
        name: 'note',
        description: 'Notes',
        inputSchema: z.object({}),
        accessMode: 'write',
        requiresConsent: true,
        personaAllowlist: ['Ada'],
        execute: () => 'noted',
      }),
    );
    const terminal = new WatchedTerminal();
    const ended = mcpServe(
      terminal,
      { registry, problems: [], fileOf: new Map() },
      { ...USUAL, http: true, port: 0, yes: 'medium', persona: 'Ada' },
      { input: new PassThrough(), env: {} },
    );
    await terminal.until(() => /http:\S+/.test(terminal.printed));
    const client = await overHttp(/http:[^\s"]+/.exec(terminal.printed)![0], 'auto');
    expect(textOf(await client.call('note'))).toBe('noted');
    terminal.interrupt();
    await ended;
  });

  it('keeps to the filter, the mode and the token of the environment', async () => {
    await overHttpCommand(
      { maxDanger: 'safe', json: true },
      async (url, _root, terminal) => {
        expect(JSON.parse(terminal.printed)).toMatchObject({ url });
        await expect(overHttp(url, 'auto')).rejects.toThrow();
        const client = await overHttp(
          url,
          'auto',
          {},
          { authorization: 'Bearer from-the-environment' },
        );
        const names = (await client.tools()).map(({ name }) => name);
        expect(names.length).toBeGreaterThan(0);
        expect(names).not.toContain('write_file');
      },
      { TOOLDEX_TOKEN: 'from-the-environment' },
    );
  });

  it('is not exposed to others without a token', async () => {
    const loaded = await loadRegistry({}, folder());
    await expect(
      mcpServe(
        new FakeTerminal(),
        loaded,
        { ...USUAL, http: true, host: '0.0.0.0' },
        { input: new PassThrough(), env: {} },
      ),
    ).rejects.toThrow(/token/);
    await expect(
      mcpServe(
        new FakeTerminal(),
        loaded,
        { ...USUAL, port: 1 },
        { input: new PassThrough(), env: {} },
      ),
    ).rejects.toThrow(/--port together with --http/);
  });
});

describe('tooldex mcp serve', () => {
  it('speaks the protocol on standard input and output and prints nothing else', async () => {
    const terminal = new WatchedTerminal();
    const input = new PassThrough();
    const ended = mcpServe(terminal, await loadRegistry({}, folder()), USUAL, { input, env: {} });
    const ask = async (id: number, method: string, params: object) => {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      await terminal.until(() => terminal.printed.includes(`"id":${id}`));
    };
    await ask(1, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'raw', version: '1' },
    });
    await ask(2, 'tools/call', { name: 'calculate', arguments: { expression: '6 * 7' } });
    input.end();
    expect(await ended).toBe(0);
    const messages = terminal.printed
      .trimEnd()
      .split('\n')
      .map(
        (line) => JSON.parse(line) as { jsonrpc: string; result: { content?: { text: string }[] } },
      );
    expect(messages.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(messages.at(-1)!.result.content![0]!.text).toContain('42');
    expect(terminal.listeners).toBe(0);
  });

  it('ends when the user interrupts it', async () => {
    const terminal = new WatchedTerminal();
    const input = new PassThrough();
    const ended = mcpServe(terminal, await loadRegistry({}, folder()), USUAL, { input, env: {} });
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
    await terminal.until(() => terminal.printed.includes('"id":1'));
    terminal.interrupt();
    expect(await ended).toBe(0);
  });
});

describe('tooldex mcp serve --mcp', () => {
  it('asks the user behind the client what a server asks in a call', async () => {
    const root = folder();
    const settings = { ...official('everything'), access_mode: 'readonly', consent: false };
    writeFileSync(join(root, '.mcp.json'), JSON.stringify({ mcpServers: { demo: settings } }));
    const terminal = new WatchedTerminal();
    const ended = runCli(
      ['--mcp', '.mcp.json', 'mcp', 'serve', '--http', '--port', '0'],
      terminal,
      root,
    );
    await Promise.race([terminal.until(() => /http:\S+/.test(terminal.printed)), ended]);
    const client = await overHttp(/http:[^\s"]+/.exec(terminal.printed)![0], 'auto', {
      answer: () => ({ action: 'accept', content: { name: 'Ada Lovelace' } }),
    });
    const answer = await client.call('mcp__demo__trigger-elicitation-request');
    expect(JSON.stringify(answer)).toContain('Ada Lovelace');
    terminal.interrupt();
    expect(await ended).toBe(0);
  });
});

describe('tooldex mcp serve --mcp, as a gateway for a client that cannot ask', () => {
  /** Serves the filesystem server with these settings of it, and calls its tools. */
  async function gateway(
    settings: Record<string, unknown>,
    options: Record<string, unknown>,
    test: (client: Awaited<ReturnType<typeof overHttp>>, root: string) => Promise<void>,
  ): Promise<void> {
    const root = realpathSync(folder());
    writeFileSync(join(root, 'note.txt'), 'tea at five');
    const { command, args } = official('filesystem', root);
    writeFileSync(
      join(root, '.mcp.json'),
      JSON.stringify({ mcpServers: { files: { command, args, ...settings } } }),
    );
    const terminal = new WatchedTerminal();
    const loaded = await loadMcpTools('.mcp.json', terminal, root);
    onTestFinished(() => loaded.close?.());
    const ended = mcpServe(
      terminal,
      loaded,
      { ...USUAL, http: true, port: 0, ...options },
      { input: new PassThrough(), env: {} },
    );
    await Promise.race([terminal.until(() => /http:\S+/.test(terminal.printed)), ended]);
    await test(await overHttp(/http:[^\s"]+/.exec(terminal.printed)![0], 'legacy'), root);
    terminal.interrupt();
    expect(await ended).toBe(0);
  }

  it('runs the reads of a trusted server, and names what would allow the rest', async () => {
    await gateway({ trusted: true }, {}, async (client, root) => {
      expect((await client.tools()).map(({ name }) => name)).toContain(
        'mcp__files__read_text_file',
      );
      expect(
        textOf(await client.call('mcp__files__read_text_file', { path: join(root, 'note.txt') })),
      ).toContain('tea at five');
      const written = await client.call('mcp__files__write_file', {
        path: join(root, 'new.txt'),
        content: 'new',
      });
      expect(written.isError).toBe(true);
      expect(textOf(written)).toMatch(
        /needs approval.*This client cannot ask the user\. The operator of this server can allow such calls: .*--yes high of tooldex mcp serve, or a rule of the policy\.$/,
      );
      expect(existsSync(join(root, 'new.txt'))).toBe(false);
    });
  });

  it('refuses a read of a server that is not trusted, and names the setting, which works', async () => {
    await gateway({}, {}, async (client, root) => {
      expect(
        textOf(await client.call('mcp__files__read_text_file', { path: join(root, 'note.txt') })),
      ).toContain('"consent":false}} for the server "files" in the settings of MCP');
    });
    await gateway(
      { access_mode: 'readonly', allow_tools: ['read_text_file'] },
      {},
      async (client, root) => {
        expect(
          textOf(await client.call('mcp__files__read_text_file', { path: join(root, 'note.txt') })),
        ).toContain('"consent":false}} for the server "files" in the settings of MCP');
      },
    );
    await gateway(
      {
        tools: { read_text_file: { access: 'readonly', consent: false } },
        allow_tools: ['read_text_file'],
      },
      {},
      async (client, root) => {
        expect(
          textOf(await client.call('mcp__files__read_text_file', { path: join(root, 'note.txt') })),
        ).toContain('tea at five');
      },
    );
  });

  it('writes with the --yes that the refusal names', async () => {
    await gateway({}, { yes: 'high' }, async (client, root) => {
      expect(
        (
          await client.call('mcp__files__write_file', {
            path: join(root, 'new.txt'),
            content: 'new',
          })
        ).isError ?? false,
      ).toBe(false);
      expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('new');
    });
  });
});
