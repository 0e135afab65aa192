import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolCall,
  type ToolOutcome,
} from '../../src/index.js';
import { createDefaultTools } from '../../tools/index.js';

let root: string;
let executor: ToolExecutor;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-executor-')));
  mkdirSync(join(root, 'work'));
  writeFileSync(join(root, 'work', 'a.txt'), 'milk\nbread\n');
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools({ root: join(root, 'work') }));
  executor = new ToolExecutor({ registry });
});
afterEach(async () => {
  await executor.close();
  rmSync(root, { recursive: true, force: true });
});

let id = 0;
const make = (name: string, input: object, options: object = {}) =>
  executor.execute({ id: `${id++}`, name, input }, options);

async function withYes(call: ToolCall): Promise<ToolOutcome> {
  const held = await executor.execute(call);
  if (held.status !== 'approval_required')
    throw new Error(`expected approval_required, found ${JSON.stringify(held)}`);
  await executor.approve(held.pending);
  return executor.execute(call);
}

describe('bundled tools in the executor', () => {
  it('an approved command runs in the root folder', async () => {
    expect(
      await withYes({ id: 's', name: 'run_shell', input: { command: 'cat a.txt' } }),
    ).toMatchObject({ status: 'ok', value: { exitCode: 0, stdout: 'milk\nbread\n' } });
  });

  it("an error about a missing file doesn't reveal the root folder", async () => {
    for (const [name, input] of [
      ['read_file', { path: 'missing.txt' }],
      ['list_directory', { path: 'missing' }],
      ['git_status', {}],
      ['search_text', { query: 'x', path: 'missing' }],
    ] as const) {
      const outcome = await make(name, input);
      expect(outcome.status, name).toBe('error');
      expect(JSON.stringify(outcome), name).not.toContain(root);
    }
  });

  it('every bundled tool returns an outcome for empty input without revealing the root folder', async () => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll(createDefaultTools({ root: join(root, 'work') }));
    for (const { name } of registry) {
      if (name === 'run_tests') continue; // This tool would start programs.
      const outcome = await make(name, {});
      expect(outcome.status, name).toMatch(/^(ok|error|approval_required|denied)$/);
      if (name !== 'system_info' && name !== 'environment_variables')
        expect(JSON.stringify(outcome), name).not.toContain(root);
    }
  });
});
