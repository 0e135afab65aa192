import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseSync } from 'oxc-parser';
import { globSync } from 'tinyglobby';
import { describe, expect, it } from 'vitest';
import { createDefaultTools } from '../../tools/index.js';
import { auditTools } from '../../src/audit.js';
import { defineTool, ToolMetadataRegistry, type ToolOptions } from '../../src/index.js';

const root = resolve(import.meta.dirname, '../..');

describe('the audit of honest tools', () => {
  it('reports nothing about the bundled tools, and finds the code of each', async () => {
    const registry = new ToolMetadataRegistry();
    registry.registerAll(createDefaultTools({ root }));
    const { tools } = await auditTools(registry, { root, entries: ['tools/index.ts'] });
    expect(tools.length).toBe(registry.size);
    expect(
      tools.flatMap(({ name, findings }) => findings.map(({ message }) => `${name} ${message}`)),
    ).toEqual([]);
    expect(tools.filter(({ handler }) => handler === undefined).map(({ name }) => name)).toEqual(
      [],
    );
  });

  it('finds no lies in the tools of the docs', async () => {
    const folder = join(root, 'docs/examples');
    const lies: string[] = [];
    let seen = 0;
    for (const file of globSync('**/*.ts', {
      cwd: folder,
      ignore: ['**/node_modules/**', '**/*.test.ts'],
    })) {
      const registry = new ToolMetadataRegistry();
      for (const options of optionsIn(readFileSync(join(folder, file), 'utf8')))
        registry.register(defineTool({ ...options, execute: () => null }));
      if (registry.size === 0) continue;
      const { tools } = await auditTools(registry, { root: folder, entries: [file] });
      seen += tools.filter(({ handler }) => handler !== undefined).length;
      lies.push(
        ...tools.flatMap(({ name, findings }) =>
          findings
            .filter(({ kind }) => kind === 'lies')
            .map(({ message }) => `${file} ${name} ${message}`),
        ),
      );
    }
    expect(lies).toEqual([]);
    expect(seen).toBeGreaterThan(8);
  });
});

type Syntax = Readonly<Record<string, unknown>>;

/** Returns the options of the tools that a file declares, as far as they are constants, with those of their toolkit. The examples are programs: they are read and not run. */
function optionsIn(text: string): ToolOptions[] {
  const found: ToolOptions[] = [];
  let toolkit: object = {};
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (typeof node !== 'object' || node === null) return;
    const {
      type,
      callee,
      arguments: args,
    } = node as { type?: string; callee?: { name?: string }; arguments?: Syntax[] };
    if (
      type === 'CallExpression' &&
      ['tool', 'defineTool', 'toolkit'].includes(callee?.name ?? '')
    ) {
      const options = Object.fromEntries(
        (
          (args![0]!['properties'] ?? []) as { key: { name: string }; value: { value?: unknown } }[]
        ).flatMap(({ key, value }) =>
          typeof value?.value === 'string' ? [[key.name, value.value]] : [],
        ),
      );
      if (callee!.name === 'toolkit') toolkit = options;
      else if ('name' in options)
        found.push({ inputSchema: {}, ...toolkit, ...options } as unknown as ToolOptions);
    }
    for (const [key, child] of Object.entries(node)) if (key !== 'parent') visit(child);
  };
  visit(parseSync('a.ts', text).program);
  return found;
}
