import { describe, expect, it } from 'vitest';
import { program } from '../programs.js';
import { cli, tooldex } from './command-line.js';

const namesIn = (out: string) => (JSON.parse(out) as { name: string }[]).map(({ name }) => name);
const toolText = (name: string, code = '1') =>
  `defineTool({ name: '${name}', description: 'The tool ${name}', inputSchema: {}, execute: () => ${code} })`;

describe('--tools', () => {
  it('loads a folder with standard decorators, counts a re-exported tool once, and reports files that fail', async () => {
    const { code, out, err } = await cli.run([
      'list',
      '--json',
      '--tools',
      'test/fixtures/standard',
    ]);
    expect(namesIn(out)).toEqual(['greet_standard', 'wave']);
    expect(err).toContain('broken.ts: Error: the database is not configured');
    expect(err).toContain('accessMode: Expected one of "readonly"');
    expect(err.match(/not loaded/g)).toHaveLength(2);
    expect(code).toBe(0);
  });

  it('loads legacy decorators with the nearest tsconfig', async () => {
    const { code, out } = await tooldex(['list', '--json', '--tools', 'test/fixtures/legacy/*.ts']);
    expect(namesIn(out)).toEqual(['first', 'second']);
    expect(code).toBe(0);
  });

  it('loads a CommonJS project with extensionless imports and the paths and decorators from its tsconfig', async () => {
    const { code, out, err } = await cli.run([
      'list',
      '--json',
      '--tools',
      'test/fixtures/commonjs-project',
    ]);
    expect([err, code]).toEqual(['', 0]);
    expect(namesIn(out)).toEqual(['clean_text']);
  });

  it('accepts one value, may be repeated, and works before or after the command', async () => {
    const folder = cli.project({
      'a.ts': `DEFINE export const a = ${toolText('tool_a')};`,
      'b.ts': `DEFINE export const b = ${toolText('tool_b')};`,
    });
    for (const args of [
      ['--tools', 'a.ts', 'list', '--json', '--tools', 'b.ts'],
      ['list', '--tools', 'a.ts', '--tools=b.ts', '--json'],
    ]) {
      expect(namesIn((await tooldex(args, { cwd: folder })).out)).toEqual(['tool_a', 'tool_b']);
    }
  });

  it('finds tools in objects, nested lists, sets, and maps', async () => {
    const [one, two, three, four] = ['one', 'two', 'three', 'four'].map((name) => toolText(name));
    const folder = cli.project({
      'a.ts': `DEFINE export const tools: any = { one: ${one}, more: [[${two}], new Set([${three}]), new Map([[1, ${four}]])] }; tools.self = tools;`,
    });
    expect(
      namesIn((await tooldex(['list', '--json', '--tools', '.'], { cwd: folder })).out),
    ).toEqual(['one', 'two', 'three', 'four']);
  });

  it('skips dist in a folder, unless the pattern includes it', async () => {
    const folder = cli.project({
      'dist/a.js': '',
      'dist/a.ts': `DEFINE export const a = ${toolText('one')};`,
    });
    expect((await tooldex(['list', '--tools', '.'], { cwd: folder })).code).toBe(1);
    for (const pattern of ['dist', 'dist/*.ts', './**/dist/*.ts'])
      expect(
        namesIn((await tooldex(['list', '--json', '--tools', pattern], { cwd: folder })).out),
      ).toEqual(['one']);
  });
});

describe('an export of a tool file', () => {
  const list = async (files: Readonly<Record<string, string>>) =>
    tooldex(['list', '--json', '--tools', '.'], { cwd: cli.project(files) });
  const ORDERS = `@tool({ name: 'orders', description: 'Orders', inputSchema: {} }) export class Orders { constructor(readonly key: string) {} execute() { return this.key; } }`;

  it('may be a registry, a list, a promise, or a function that returns one of them', async () => {
    const folder = {
      'a.ts': `import { ToolMetadataRegistry, defineTool } from ${JSON.stringify(program('src/index.ts'))}; export const all = new ToolMetadataRegistry(); all.register(${toolText('one')});`,
      'b.ts': `DEFINE export default async () => [${toolText('two')}];`,
      'c.ts': `DEFINE export function createTools() { return { three: ${toolText('three')} }; }`,
      'd.ts': `DEFINE export const later = Promise.resolve([${toolText('four')}]);`,
      'e.cjs': `module.exports = { makeOtherTools: () => [] };`,
    };
    const { code, out, err } = await list(folder);
    expect([err, code]).toEqual(['', 0]);
    expect(namesIn(out)).toEqual(['one', 'two', 'three', 'four']);
  });

  it("isn't called as a function if its name doesn't mention tools, or if it has parameters", async () => {
    const { err, out } = await list({
      'a.ts': `DEFINE const no = () => { throw new Error('called'); }; export default function main() { no(); } export const deleteTools = no, run = no; export function createTools(path: string) { no(); } export const a = ${toolText('one')};`,
    });
    expect([err, namesIn(out)]).toEqual(['', ['one']]);
  });

  it("is reported with the name of its file if it's a function that throws", async () => {
    expect(
      (
        await list({
          'a.ts': `export const createTools = () => { throw new Error('no database'); };`,
        })
      ).err,
    ).toContain('not loaded a.ts: Error: no database');
  });

  it("is reported if it's a class whose constructor requires arguments, and other exports are loaded", async () => {
    const { code, out, err } = await list({
      'a.ts': `DEFINE ${ORDERS} export const a = ${toolText('one')};`,
    });
    expect(err).toMatch(
      /^not loaded a\.ts: .* got Orders, whose constructor requires an argument\. Register an instance: .*Export the instance or the registry\.\n$/,
    );
    expect([code, namesIn(out)]).toEqual([0, ['one']]);
  });

  it.each(['export const orders = new Orders("key");'])(
    'may be a class that needs arguments if another file exports an instance: %s',
    async (code) => {
      const { err, out } = await list({
        'a.ts': `DEFINE ${ORDERS}`,
        'b.ts': `import { ToolMetadataRegistry } from ${JSON.stringify(program('src/index.ts'))}; import { Orders } from './a.js'; void ToolMetadataRegistry; ${code}`,
      });
      expect([err, namesIn(out)]).toEqual(['', ['orders']]);
    },
  );
});

describe('tools with the same name', () => {
  it('are reported once, with both files', async () => {
    const folder = cli.project({
      'a.ts': `DEFINE export const a = ${toolText('same', '1')};`,
      'b.ts': `DEFINE export const b = ${toolText('same', '2')}; export const c = ${toolText('other')};`,
      'c.ts': `export * from './a.js'; export { b as default } from './b.js';`,
    });
    const { code, out, err } = await tooldex(['list', '--json', '--tools', '.'], { cwd: folder });
    expect(namesIn(out)).toEqual(['same', 'other']);
    expect(err.trim().split('\n')).toEqual([
      expect.stringContaining('b.ts: "same" is already taken by the tool "same" in a.ts'),
    ]);
    expect(code).toBe(0);
  });
});

describe('tool files without tools', () => {
  it('are findings in tooldex lint, and make every other command fail', async () => {
    const args = ['--tools', 'test/fixtures/commonjs/tools.cjs'];
    const lint = await tooldex(['lint', '--json', ...args]);
    expect(JSON.parse(lint.out)).toMatchObject([
      {
        rule: 'load-error',
        severity: 'error',
        file: 'test/fixtures/commonjs/tools.cjs',
        message: expect.stringContaining('Export classes decorated with @tool'),
      },
    ]);
    expect([lint.code, lint.err]).toEqual([1, '']);
    const stats = await tooldex(['list', '--stats', ...args]);
    expect(stats).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('Export classes decorated with @tool'),
    });
    expect(JSON.parse((await tooldex(['list', '--stats', '--json', ...args])).out)).toMatchObject({
      error: { code: 'NOT_A_TOOL' },
    });
  });

  it('are reported only if their pattern matches no other file', async () => {
    const folder = cli.project({
      'a.ts': `DEFINE export const a = ${toolText('one')};`,
      'help.ts': 'export const help = 1;',
    });
    expect((await tooldex(['list', '--stats', '--tools', '.'], { cwd: folder })).code).toBe(0);
    expect(
      await tooldex(['list', '--stats', '--tools', 'a.ts', '--tools', 'help.ts'], { cwd: folder }),
    ).toMatchObject({ code: 0, err: expect.stringContaining('not loaded help.ts') });
  });
});

describe('--context', () => {
  const folder = () =>
    cli.project({
      'tools.ts': `DEFINE export const price = defineTool({
        name: 'price', description: 'The price of an order', inputSchema: {}, accessMode: 'readonly',
        execute: (_, { context }) => context.db.price(17) });`,
      'context.mjs': 'export default { db: { price: (order) => `${order} costs 12` } };',
      'connect.mjs':
        'export default async () => ({ db: { price: (order) => `${order} costs 13` } });',
      'empty.mjs': 'export const db = 1;',
    });

  it("passes a file's default export, or its function's return value, to the tools", async () => {
    const at = folder();
    const price = (file: string) =>
      tooldex(['run', 'price', '--tools', 'tools.ts', '--context', file], { cwd: at });
    expect((await price('context.mjs')).out).toBe('17 costs 12\n');
    expect((await price('connect.mjs')).out).toBe('17 costs 13\n');
  });

  it("is refused if the file has no default export or can't be imported", async () => {
    const at = folder();
    for (const [file, message] of [
      ['empty.mjs', 'empty.mjs has no default export'],
      ['missing.mjs', 'Could not import --context missing.mjs'],
    ] as const)
      expect(
        await tooldex(['run', 'price', '--tools', 'tools.ts', '--context', file], { cwd: at }),
      ).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});
