import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { AccessMode, defineTool, ToolMetadataRegistry } from '../../src/index.js';
import { browserPresent, openBrowser, warnIfNoBrowser } from '../http/page-fixture.js';

warnIfNoBrowser('the package in a browser');

/**
 * The work of a program in a page: declare, search, select, decide, run, approve, chat, save, and
 * continue.
 */
const PROGRAM = `
  import { AccessMode, defineTool, lintTools, planExecution, SafetyPolicy, selectTools, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
  import { chat, scriptedModel, Session } from 'tooldex/chat';
  import { ProviderRouter } from 'tooldex/providers';
  import { z } from 'zod';

  export async function run() {
    const registry = new ToolMetadataRegistry();
    registry.registerAll([
      defineTool({ name: 'count_words', description: 'Counts the words of a text', inputSchema: z.object({ text: z.string() }), accessMode: AccessMode.READONLY, keywords: ['words'], execute: ({ text }) => text.split(' ').length }),
      defineTool({ name: 'save_note', description: 'Saves a note', inputSchema: { type: 'object', properties: { text: { type: 'string' } } }, accessMode: AccessMode.WRITE, execute: ({ text }) => 'saved ' + text }),
    ]);
    const executor = new ToolExecutor({ registry });
    const write = { id: '2', name: 'save_note', input: { text: 'ä 🗝️' } };
    const asked = await executor.execute(write);
    await executor.approve(asked.pending);
    const key = crypto.getRandomValues(new Uint8Array(32));
    const { session } = await Session.create().start({ executor, model: scriptedModel([{ calls: [{ id: 'c', name: 'save_note', input: { text: 'later' } }] }, 'Saved.']) }, 'Save it');
    const again = Session.fromJSON(JSON.parse(JSON.stringify(session.snapshot({ key }))), { key }).approve('c').session;
    const { result } = await again.continue({ executor, model: scriptedModel(['Saved.']) });
    return {
      found: registry.search('how many words', { limit: 1 })[0].toolName,
      selected: selectTools(registry, { text: 'count words' }).tools.map(({ name }) => name).length > 0,
      verdict: (await new SafetyPolicy({ registry }).decide(write)).verdict,
      linted: Array.isArray(lintTools(registry)),
      router: typeof ProviderRouter,
      read: (await executor.execute({ id: '1', name: 'count_words', input: { text: 'a b c' } })).value,
      asked: asked.status,
      approved: (await executor.execute(write)).value,
      twice: (await executor.execute(write)).code,
      chat: (await chat({ executor, model: scriptedModel(['Hi']), prompt: 'Hello' })).text,
      session: result.text,
      digest: registry.get('save_note').digest,
      node: typeof process,
    };
  }`;

describe.skipIf(!browserPresent)('the package in a browser (skipped without chromium)', () => {
  it('registers, searches, selects, decides, runs, approves, and chats, and computes the same digests as Node', async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `${PROGRAM}\nglobalThis.outcome = run().catch((error) => String(error.stack));`,
        resolveDir: fileURLToPath(new URL('../../', import.meta.url)),
      },
      bundle: true,
      platform: 'browser',
      format: 'iife',
      target: 'es2022',
      write: false,
      logLevel: 'error',
      external: ['ai', '@opentelemetry/api'], // These packages are loaded only on use.
    });
    // Browsers provide random UUIDs only to pages from a server.
    const server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<!doctype html>'),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await page.addScriptTag({ content: outputFiles[0]!.text });
      const outcome = await page.evaluate('outcome');
      const { digest, ...rest } = outcome as { readonly digest: string };
      expect(rest).toEqual({
        found: 'count_words',
        selected: true,
        verdict: 'confirm',
        linted: true,
        router: 'function',
        read: 3,
        asked: 'approval_required',
        approved: 'saved ä 🗝️',
        twice: 'INVALID_APPROVAL',
        chat: 'Hi',
        session: 'Saved.',
        node: 'undefined',
      });
      const here = new ToolMetadataRegistry();
      here.register(
        defineTool({
          name: 'save_note',
          description: 'Saves a note',
          inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
          accessMode: AccessMode.WRITE,
          execute: () => 'saved',
        }),
      );
      expect(digest).toBe(here.require('save_note').digest);
    } finally {
      await browser.close();
      server.close();
    }
  });
});
