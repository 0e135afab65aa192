import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { mcpServe } from '../../src/cli/commands/mcp.js';
import { defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { loadRegistry } from '../../src/cli/load/load-registry.js';
import { overHttp, textOf } from '../mcp/server-clients.js';
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

async function overHttpCommand(options: Record<string, unknown>, test: (url: string, root: string, terminal: WatchedTerminal) => Promise<void>, env: NodeJS.ProcessEnv = {}): Promise<number> {
  const root = folder();
  const terminal = new WatchedTerminal();
  const ended = mcpServe(terminal, await loadRegistry({}, root), { ...USUAL, http: true, port: 0, ...options }, { input: new PassThrough(), env });
  await Promise.race([terminal.until(() => /http:\S+/.test(terminal.printed)), ended]);
  try {
    await test(/http:[^\s"]+/.exec(terminal.printed)![0], root, terminal);
  } finally {
    terminal.interrupt();
  }
  return ended;
}

describe('tooldex mcp serve --http', () => {
  it.each(['auto', 'legacy', 'first'] as const)('serves the bundled tools to a %s client, which work on the folder', async (kind) => {
    const code = await overHttpCommand({}, async (url, root) => {
      writeFileSync(join(root, 'note.txt'), 'written before');
      const client = await overHttp(url, kind, { answer: () => ({ action: 'accept', content: {} }) });
      expect((await client.tools()).length).toBeGreaterThan(40);
      expect(textOf(await client.call('read_file', { path: 'note.txt' }))).toContain('written before');
      expect((await client.call('write_file', { path: 'new.txt', content: 'by mcp' })).isError ?? false).toBe(false);
      expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('by mcp');
      expect(await client.call('read_file', { path: '../../etc/passwd' })).toMatchObject({ isError: true });
    });
    expect(code).toBe(0);
  });

  it('runs what --yes covers without asking, and refuses the rest', async () => {
    await overHttpCommand({ yes: 'medium' }, async (url, root) => {
      const client = await overHttp(url, 'auto');
      expect((await client.call('write_file', { path: 'new.txt', content: 'yes' })).isError ?? false).toBe(false);
      expect(readFileSync(join(root, 'new.txt'), 'utf8')).toBe('yes');
      expect(textOf(await client.call('run_shell', { command: 'true' }))).toMatch(/was not run/);
    });
  });

  it('runs what --yes covers also where only a persona may', async () => {
    const registry = new ToolMetadataRegistry();
    registry.register(defineTool({ name: 'note', description: 'Notes', inputSchema: z.object({}), accessMode: 'write', requiresConsent: true, personaAllowlist: ['Ada'], execute: () => 'noted' }));
    const terminal = new WatchedTerminal();
    const ended = mcpServe(terminal, { registry, problems: [], fileOf: new Map() }, { ...USUAL, http: true, port: 0, yes: 'medium', persona: 'Ada' }, { input: new PassThrough(), env: {} });
    await terminal.until(() => /http:\S+/.test(terminal.printed));
    const client = await overHttp(/http:[^\s"]+/.exec(terminal.printed)![0], 'auto');
    expect(textOf(await client.call('note'))).toBe('noted');
    terminal.interrupt();
    await ended;
  });

  it('keeps to the filter, the mode and the token of the environment', async () => {
    await overHttpCommand({ maxDanger: 'safe', json: true }, async (url, _root, terminal) => {
      expect(JSON.parse(terminal.printed)).toMatchObject({ url });
      await expect(overHttp(url, 'auto')).rejects.toThrow();
      const client = await overHttp(url, 'auto', {}, { authorization: 'Bearer from-the-environment' });
      const names = (await client.tools()).map(({ name }) => name);
      expect(names.length).toBeGreaterThan(0);
      expect(names).not.toContain('write_file');
    }, { TOOLDEX_TOKEN: 'from-the-environment' });
  });

  it('is not exposed to others without a token', async () => {
    const loaded = await loadRegistry({}, folder());
    await expect(mcpServe(new FakeTerminal(), loaded, { ...USUAL, http: true, host: '0.0.0.0' }, { input: new PassThrough(), env: {} })).rejects.toThrow(/token/);
    await expect(mcpServe(new FakeTerminal(), loaded, { ...USUAL, port: 1 }, { input: new PassThrough(), env: {} })).rejects.toThrow(/--port together with --http/);
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
    await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } });
    await ask(2, 'tools/call', { name: 'calculate', arguments: { expression: '6 * 7' } });
    input.end();
    expect(await ended).toBe(0);
    const messages = terminal.printed.trimEnd().split('\n').map((line) => JSON.parse(line) as { jsonrpc: string; result: { content?: { text: string }[] } });
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
