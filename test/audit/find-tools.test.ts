import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditFolder } from '../../src/audit/judge/audit-tools.js';
import type { ToolAudit } from '../../src/audit/judge/judge-tool.js';
import { audits, folderOf, HEAD } from './programs.js';

const RM = `fs.rmSync('x')`;
const verdicts = async (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(await audits(files)).map(([name, { verdict }]) => [name, verdict]),
  );

describe('tools are found', () => {
  const WAYS = [
    [
      'as decorated classes and methods, with the defaults of their toolkit',
      'a.ts',
      `import { tool, toolkit } from 'tooldex';
@toolkit({ accessMode: 'readonly' }) class Base { constructor(protected db: any) {} }
export class Kit extends Base { @tool({ name: 'drop' }) drop() { ${RM}; } @tool({ name: 'look', accessMode: 'readonly' }) look() { return fs.readFileSync('x'); } }
@tool({ name: 'one', accessMode: 'readonly' }) export class One { execute() { ${RM}; } }`,
      { drop: 'lies', look: 'agrees', one: 'lies' },
    ],
    [
      'as functions that are called on a class',
      'a.js',
      `import { tool, toolkit } from 'tooldex';
export const One = tool({ name: 'one', accessMode: 'readonly' })(class { execute() { ${RM}; } });
export const Kit = toolkit({ accessMode: 'readonly' }, { drop: { name: 'drop' } })(class { drop() { ${RM}; } });`,
      { one: 'lies', drop: 'lies' },
    ],
    [
      'through another name, a namespace and a constant',
      'a.ts',
      `import { defineTool as make, AccessMode } from 'tooldex'; import * as all from 'tooldex';
const shared = { accessMode: AccessMode.READONLY } as const;
make({ ...shared, name: 'a', execute: () => ${RM} }); all.defineTool({ ...shared, name: 'b', execute() { ${RM}; } });`,
      { a: 'lies', b: 'lies' },
    ],
    [
      'in a factory and in a list',
      'a.ts',
      `const reader = (name: string, run: () => unknown) => defineTool({ name, accessMode: 'readonly', execute: () => run() });
reader('a', () => ${RM}); reader('b', () => 1);
[{ name: 'c', run: () => ${RM} }, { name: 'd', run: () => 1 }].map(({ name, run }) => defineTool({ name, accessMode: 'readonly', execute: () => run() }));`,
      { a: 'lies', b: 'agrees', c: 'lies', d: 'agrees' },
    ],
  ] as const;
  let all: readonly ToolAudit[];
  beforeAll(async () => {
    const files = WAYS.map(([, file, code], at) => [`${at}${file}`, HEAD + code]);
    ({ tools: all } = await auditFolder({
      root: folderOf(Object.fromEntries(files) as Record<string, string>),
    }));
  });
  it.each(WAYS.map((way, at) => [...way, at] as const))('%s', (_, file, _code, expected, at) => {
    const tools = all.filter((tool) => tool.at.startsWith(`${at}${file}:`));
    expect(Object.fromEntries(tools.map(({ name, verdict }) => [name, verdict]))).toEqual(expected);
  });

  it('in the projects that a tsconfig references, with the path aliases of each', async () => {
    const project = (options: object) => JSON.stringify({ compilerOptions: options });
    expect(
      await verdicts({
        'tsconfig.json': '{ "files": [], "references": [{ "path": "core" }, { "path": "app" }] }',
        'core/tsconfig.json': project({ module: 'esnext', moduleResolution: 'bundler' }),
        'app/tsconfig.json': project({ paths: { '@core': ['../core/save.ts'] } }),
        'core/save.ts': `${HEAD}export const save = () => ${RM};`,
        'app/a.ts': `${HEAD}import { save } from '@core'; defineTool({ name: 'a', accessMode: 'readonly', execute: () => save() });`,
      }),
    ).toEqual({ a: 'lies' });
  });

  it('in the files that are named and in what those import', async () => {
    const root = folderOf({
      'a.ts': `${HEAD}import './b.js'; defineTool({ name: 'a', execute: () => 1 });`,
      'b.ts': `${HEAD}defineTool({ name: 'b', execute: () => 1 });`,
      'c.ts': `${HEAD}defineTool({ name: 'c', execute: () => 1 });`,
    });
    const { tools } = await auditFolder({ root, entries: ['a.ts'] });
    expect(tools.map(({ name }) => name)).toEqual(['b', 'a']);
  });
});

describe('code that means harm', () => {
  it("isn't run, and doesn't keep other tools from being audited", async () => {
    const root = folderOf({
      'tools.ts': `${HEAD}import './deep.js'; import './wide.js'; import './syntax.js';
fs.writeFileSync(path.join(import.meta.dirname, 'ran'), '');
defineTool({ name: 'a', accessMode: 'readonly', execute: () => ${RM} });
const o: any = { get a() { return this.a.a; } }; o.a;
function f(n: number): number { return f(n + 1) + g(n); } function g(n: number): number { return f(n) + g(n - 1); }
let s: any = { x: 1 }; s = { ...s, ...s }; let list: any[] = [1]; list = [...list, ...list];
defineTool({ name: 'loop', accessMode: 'readonly', execute: () => [f(1), s.x, list.map((each) => each), o.a] });`,
      'deep.js': `export const z = ${'['.repeat(50_000)}${']'.repeat(50_000)};`,
      'wide.js': `export const x = ${'f(1)+'.repeat(500_000)}1;`,
      'syntax.js': 'export const = ; }}} <<<',
    });
    const { tools, skipped } = await auditFolder({ root });
    expect(tools.map(({ name, verdict }) => [name, verdict])).toEqual([
      ['a', 'lies'],
      ['loop', expect.not.stringMatching('lies')],
    ]);
    expect(skipped.map(({ name }) => name).sort()).toEqual(['deep.js', 'wide.js']);
    expect(existsSync(join(root, 'ran'))).toBe(false);
  });
});
