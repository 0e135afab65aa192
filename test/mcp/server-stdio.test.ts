import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { overStdio, signalled, textOf, type Told } from './server-clients.js';
import { program, ROOT } from '../programs.js';

const ARGUMENTS = [program('test/mcp/server-program.ts')];

it.each(['auto', 'legacy', 'first'] as const)(
  'a client of a stdio server lists and calls tools, gets progress, answers questions, and is told about changes (client type: %s)',
  async (kind) => {
    const changed = signalled();
    const client = await overStdio(process.execPath, ARGUMENTS, ROOT, kind, {
      answer: () => ({ action: 'accept', content: {} }),
      onListChanged: () => changed.fire(),
    });
    expect((await client.tools()).map(({ name }) => name)).toContain('add');
    expect((await client.call('add', { a: 2, b: 3 })).structuredContent).toEqual({ sum: 5 });
    expect((await client.call('files.write', { path: 'x' })).structuredContent).toEqual({
      path: 'x',
      length: 0,
    });
    const heard: Told[] = [];
    // The tool waits until its progress has arrived, because the SDK 1 client drops progress that
    // arrives with the answer.
    const onProgress = (told: Told) => {
      heard.push(told);
      void client.call('release');
    };
    expect(textOf(await client.call('grow', { name: 'grown' }, { onProgress }))).toBe('grown');
    expect(heard).toEqual([{ progress: 1, message: 'growing' }]);
    await changed.fired;
    expect((await client.tools()).map(({ name }) => name)).toContain('grown');
  },
);

describe('stdio servers', () => {
  it("survive lines that aren't messages, and exit when their input ends", async () => {
    const child = spawn(process.execPath, ARGUMENTS, {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    child.stdin.write('no json\n{"jsonrpc":"2.0"}\n[]\n');
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } } })}\n`,
    );
    const answer = JSON.parse((await lines.next()).value as string) as {
      id: number;
      result: { protocolVersion: string; serverInfo: object };
    };
    expect(answer).toMatchObject({
      id: 1,
      result: { protocolVersion: '2025-06-18', serverInfo: { name: 'sample' } },
    });
    child.stdin.end();
    const [code] = (await once(child, 'exit')) as [number];
    expect(code).toBe(0);
  });

  it("redirect tools' output to stderr, so clients read only messages", async () => {
    const child = spawn(process.execPath, ARGUMENTS, { cwd: ROOT, stdio: 'pipe' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [out, err] = [signalled<string>(), signalled<string>()];
    for (const [stream, whole] of [
      [child.stdout, out],
      [child.stderr, err],
    ] as const) {
      let text = '';
      stream
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('end', () => whole.fire(text));
    }
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    send({
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'raw', version: '1' },
      },
    });
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'prints', arguments: {} } });
    child.stdout.on(
      'data',
      (chunk: Buffer) => void (chunk.includes('"id":2') && child.stdin.end()),
    );
    const messages = (await out.fired)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly id?: number; readonly result?: object });
    expect(messages.find(({ id }) => id === 2)).toMatchObject({
      result: { content: [{ text: 'printed' }] },
    });
    for (const text of ['printed by console.log', 'printed on stdout', 'printed by console.error'])
      expect(await err.fired).toContain(text);
  });
});
