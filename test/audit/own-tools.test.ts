import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { createDefaultTools } from '../../tools/index.js';
import { auditTools } from '../../src/audit.js';
import { ToolMetadataRegistry } from '../../src/index.js';

const root = resolve(import.meta.dirname, '../..');

it('the audit finds the code of every bundled tool and no lies', async () => {
  const registry = new ToolMetadataRegistry();
  registry.registerAll(createDefaultTools({ root }));
  const { tools } = await auditTools(registry, { root, entries: ['tools/index.ts'] });
  expect(tools.length).toBe(registry.size);
  expect(
    tools.flatMap(({ name, findings }) => findings.map(({ message }) => `${name} ${message}`)),
  ).toEqual([]);
  expect(tools.filter(({ handler }) => handler === undefined).map(({ name }) => name)).toEqual([]);
});
