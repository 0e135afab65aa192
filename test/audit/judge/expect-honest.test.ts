import { AssertionError } from 'node:assert';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { auditTools, expectHonest, type AuditOptions, type Effect } from '../../../src/audit.js';
import { writeBaseline } from '../../../src/audit/judge/baseline.js';
import { defineTool, ToolMetadataRegistry } from '../../../src/index.js';

const registry = new ToolMetadataRegistry();
const tool = (name: string, metadata: object) =>
  registry.register(
    defineTool({
      name,
      description: `Does ${name}`,
      inputSchema: {},
      ...metadata,
      execute: () => name,
    }),
  );
tool('look', { accessMode: 'readonly' });
tool('note', { accessMode: 'readonly' });
tool('keep', { accessMode: 'write' });
registry.register(
  defineTool({
    name: 'by_hand',
    description: 'Is done by hand',
    inputSchema: {},
    accessMode: 'write',
    manual: true,
  }),
);
registry.register(
  defineTool({
    name: 'elsewhere',
    description: 'Is done elsewhere',
    inputSchema: {},
    accessMode: 'write',
    providers: [{ name: 'service' }],
  }),
);

const written: Effect = {
  kind: 'fs-write',
  access: 'write',
  destructive: true,
  idempotent: true,
  call: 'fs.writeFile',
  certainty: 'does',
  at: 'src/store.ts:30',
  via: ['src/tools.ts:5', 'src/store.ts:12'],
};
const root = import.meta.dirname;
const observed = new Map([
  ['note', [written]],
  ['keep', [written]],
]);

describe('expectHonest', () => {
  it('passes if no tool does more than it declares', async () => {
    await expect(expectHonest(registry, { root })).resolves.toBeUndefined();
    await expect(
      expectHonest(registry, { root, observed: new Map([['keep', [written]]]) }),
    ).resolves.toBeUndefined();
  });

  it('fails with each lie and the path to the call that proves it', async () => {
    const failure = await expectHonest(registry, { root, observed }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(AssertionError);
    expect((failure as Error).message).toMatchInlineSnapshot(`
      "Expected 3 tools that do what they declare, got 1 that does more.

        note
          declares accessMode: 'readonly', and changes files (fs.writeFile)
            src/tools.ts:5 → src/store.ts:12 → src/store.ts:30

      Correct the declarations: tooldex audit --fix shows how."
    `);
  });

  it('passes if all lies are in the baseline', async () => {
    const { tools } = await auditTools(registry, { root, observed });
    await expect(
      expectHonest(registry, { root, observed, baseline: JSON.parse(writeBaseline(tools)) }),
    ).resolves.toBeUndefined();
  });
});

describe('auditTools', () => {
  it("accepts the user's classification of unknown calls and programs", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'audit-known-'));
    writeFileSync(
      join(folder, 'tools.js'),
      `import { execFile } from 'node:child_process';
import { ledger } from 'ledger-client';
import { defineTool } from 'tooldex';
export const note = defineTool({ name: 'note', execute: () => ledger.sync() });
export const look = defineTool({ name: 'look', execute: () => execFile('deployctl', ['status']) });
`,
    );
    const verdicts = async (options: AuditOptions) =>
      Object.fromEntries(
        (await auditTools(registry, { root: folder, ...options })).tools.map(
          ({ name, verdict }) => [name, verdict],
        ),
      );
    expect(await verdicts({})).toMatchObject({ note: 'unknown', look: 'unknown' });
    expect(
      await verdicts({
        known: {
          calls: { 'ledger-client.sync': 'write' },
          programs: { 'deployctl status': 'read' },
        },
      }),
    ).toMatchObject({ note: 'lies', look: 'agrees' });
    await expect(verdicts({ known: { calls: { sync: 'writes' } } as never })).rejects.toMatchObject(
      { code: 'INVALID_ARGUMENT' },
    );
  });

  it('skips tools whose work is done by a person or a provider, and reports the reason', async () => {
    const { subject, skipped, tools } = await auditTools(registry, { root });
    expect(tools.map(({ name }) => name).sort()).toEqual(['keep', 'look', 'note']);
    expect(skipped).toEqual([
      { name: 'by_hand', reason: 'a user or another program does its work' },
      { name: 'elsewhere', reason: 'its work is done by service' },
    ]);
    expect(subject).toEqual({ kind: 'tools', name: 'judge', folder: 'test/audit/judge' });
  });

  it.each([
    ['a list of tools', [[]], 'Expected a ToolMetadataRegistry'],
    [
      "a root that isn't a folder",
      [registry, { root: 'no/such/folder' }],
      'Expected root as a folder that exists, got "no/such/folder"',
    ],
    ['an unknown option', [registry, { roots: '.' }], 'roots'],
  ])('rejects %s', async (_, args, message) => {
    await expect(
      auditTools(...(args as unknown as Parameters<typeof auditTools>)),
    ).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message) as string,
    });
  });
});
