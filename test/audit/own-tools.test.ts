import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { auditTools } from '../../src/audit.js';
import { auditFolder } from '../../src/audit/judge/audit-tools.js';
import { ToolMetadataRegistry } from '../../src/index.js';
import { createDefaultTools } from '../../tools/index.js';

const root = resolve(import.meta.dirname, '../..');

it('the audit finds the code of every bundled tool, no lies, and few readonly tools that are unknown', async () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools({ root }));
  const { tools } = await auditTools(registry, { root, entries: ['tools/index.ts'] });
  expect(tools.length).toBe(registry.size);
  const lies = tools.flatMap(({ name, findings }) =>
    findings.filter(({ kind }) => kind === 'lies').map(({ message }) => `${name} ${message}`),
  );
  expect(lies).toEqual([]);
  expect(tools.filter(({ at }) => at === '').map(({ name }) => name)).toEqual([]);
  const unknown = tools.filter(
    ({ declared, verdict }) => declared.accessMode === 'readonly' && verdict === 'unknown',
  );
  expect(unknown.length).toBeLessThanOrEqual(12);
});

it('no tool of the examples in the documentation lies', async () => {
  const { tools } = await auditFolder({ root: resolve(root, 'docs/examples'), entries: [] });
  expect(tools.length).toBeGreaterThan(0);
  expect(
    tools.filter(({ verdict }) => verdict === 'lies').map(({ name, findings }) => [name, findings]),
  ).toEqual([]);
});
