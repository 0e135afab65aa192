import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { auditFolder } from '../../src/audit/judge/audit-tools.js';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { ToolMetadataRegistry } from '../../src/index.js';
import { createDefaultTools } from '../../tools/index.js';
import { folderOf } from './programs.js';

const ROOT = resolve(import.meta.dirname, '../..');
let tools: readonly ToolAudit[];

// One program for all cases: loading it takes most of the time.
beforeAll(async () => {
  const root = folderOf({
    'tsconfig.json': JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: [join(ROOT, 'tools'), join(ROOT, 'docs/examples')],
    }),
  });
  ({ tools } = await auditFolder({ root }));
});

it('no bundled tool and no tool of the examples lies', () => {
  const lies = tools.flatMap(({ name, findings }) =>
    findings.filter(({ kind }) => kind === 'lies').map(({ message }) => `${name} ${message}`),
  );
  expect(lies).toEqual([]);
});

it('the code and the metadata of every bundled tool are found, and few readonly tools are unknown', () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools({ root: ROOT }));
  const bundled = tools.filter(({ at }) => at.includes('/tools/') && !at.includes('/docs/'));
  const accessOf = ({ name, accessMode }: { name: string; accessMode?: unknown }) => [
    name,
    accessMode,
  ];
  expect(bundled.map(({ name, declared }) => accessOf({ name, ...declared })).sort()).toEqual(
    [...registry].map(({ name, definition }) => accessOf({ ...definition, name })).sort(),
  );
  const readonly = bundled.filter(({ declared }) => declared.accessMode === 'readonly');
  expect(readonly.length).toBe(35);
  const unknown = readonly.filter(({ verdict }) => verdict === 'unknown');
  expect(unknown.length).toBeLessThanOrEqual(12);
});

it('the examples in the documentation declare tools', () => {
  expect(tools.some(({ at }) => at.includes('/docs/examples/'))).toBe(true);
});
