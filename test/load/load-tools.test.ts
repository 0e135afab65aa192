import { describe, expect, it } from 'vitest';
import { ToolMetadataRegistry } from '../../src/index.js';
import { loadTools } from '../../src/load.js';
import { cli } from '../cli/command-line.js';
import { program } from '../programs.js';

const toolText = (name: string) =>
  `defineTool({ name: '${name}', description: 'The tool ${name}', inputSchema: {}, execute: () => '${name}' })`;

describe('loadTools', () => {
  it('returns the definitions from all files that match the globs, each with its file', async () => {
    const cwd = cli.project({
      'src/a.mjs': `DEFINE export const one = ${toolText('one')}; export const createTools = async () => [${toolText('two')}];`,
      'src/deep/b.mjs': `DEFINE export default { three: ${toolText('three')} };`,
      'more.mjs': `DEFINE export const four = ${toolText('four')};`,
    });
    const { tools, problems, fileOf } = await loadTools(['src/**/*.mjs', 'more.mjs'], { cwd });
    const registry = new ToolMetadataRegistry();
    registry.registerAll(tools);
    expect(problems).toEqual([]);
    expect([...registry].map(({ name }) => [name, fileOf.get(name)])).toEqual([
      ['four', 'more.mjs'],
      ['one', 'src/a.mjs'],
      ['two', 'src/a.mjs'],
      ['three', 'src/deep/b.mjs'],
    ]);
  });

  it('maps a name to the file of the registered tool, even if an earlier tool with that name was rejected for its alias', async () => {
    const cwd = cli.project({
      'a.mjs': `DEFINE export const x = ${toolText('x')};`,
      'b.mjs': `DEFINE export const y = defineTool({ name: 'y', aliases: ['x'], description: 'The first y', inputSchema: {}, execute: () => 'b' });`,
      'c.mjs': `DEFINE export const y = ${toolText('y')};`,
    });
    const { fileOf, problems } = await loadTools('*.mjs', { cwd });
    expect([fileOf.get('y'), problems.map(({ file }) => file)]).toEqual(['c.mjs', ['b.mjs']]);
  });

  it("doesn't blame decorators if code in a decorated file throws a SyntaxError", async () => {
    const cwd = cli.project({
      'a.ts': `DEFINE\n@tool({ name: 'greet', description: 'Greets', inputSchema: {} }) export class Greet { execute(): string { return 'hello'; } } JSON.parse('bad');`,
    });
    const { problems } = await loadTools('a.ts', { cwd });
    expect(problems).toEqual([{ file: 'a.ts', reason: expect.not.stringContaining('decorator') }]);
  });

  it('loads TypeScript with decorators through tsx', async () => {
    const cwd = cli.project({
      'a.ts': `DEFINE @tool({ name: 'greet', description: 'Greets', inputSchema: {} }) export class Greet { execute(): string { return 'hello'; } }`,
    });
    const { tools, problems } = await loadTools('a.ts', { cwd });
    expect([tools.map(({ name }) => name), problems]).toEqual([['greet'], []]);
  });

  it('keeps the resolver of an exported registry and uses it for a class in another file', async () => {
    const cwd = cli.project({
      'place.ts': `DEFINE @tool({ name: 'place', description: 'Says where', inputSchema: {} }) export class Place { constructor(readonly name: string) {} execute(): string { return this.name; } }`,
      'registry.ts': `import { ToolMetadataRegistry } from ${JSON.stringify(program('src/index.ts'))}; import { Place } from './place.ts'; export const registry = new ToolMetadataRegistry({ resolve: async () => new Place('Bern') }); registry.register(Place);`,
    });
    const { tools, problems } = await loadTools('*.ts', { cwd });
    expect(problems).toEqual([]);
    expect(await tools[0]!.execute!({}, {})).toBe('Bern');
  });

  it('reports a file that fails, a name that is taken, and a glob that matches nothing, and loads the other tools', async () => {
    const cwd = cli.project({
      'a.mjs': `DEFINE export const one = ${toolText('one')};`,
      'b.mjs': `throw new Error('no database');`,
      'c.mjs': `DEFINE export const other = ${toolText('one')};`,
    });
    const { tools, problems } = await loadTools(['*.mjs', 'nothing/*.ts'], { cwd });
    expect(tools.map(({ name }) => name)).toEqual(['one']);
    expect(problems).toEqual([
      { file: 'b.mjs', reason: 'Error: no database' },
      {
        file: 'c.mjs',
        reason: '"one" is already taken by the tool "one" in a.mjs. Rename one of them.',
      },
      {
        file: 'nothing/*.ts',
        reason: 'No TypeScript or JavaScript file matches this file, folder or glob.',
      },
    ]);
  });

  it.each([
    [[], 'Expected a file, folder or glob, or a list of them, got a list of 0. Call loadTools'],
    [undefined, 'Expected a file, folder or glob, or a list of them, got undefined'],
    [[' '], 'Expected a file, folder or glob, or a list of them, got a list of 1.'],
  ])('throws for %j instead of a glob', async (globs, message) => {
    await expect(loadTools(globs as string[])).rejects.toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(message),
      }),
    );
  });

  it('throws for unknown options', async () => {
    await expect(loadTools('a.ts', { cdw: '.' } as object)).rejects.toThrow('cdw');
  });
});

describe("files that Node can't parse", () => {
  // Runs in its own process, because Vite would parse the files in this process.
  const reasonFor = async (files: Readonly<Record<string, string>>) =>
    (
      JSON.parse(
        (await cli.run(['lint', '--json', '--tools', 'a.*js'], cli.project(files))).out,
      ) as { message: string }[]
    )[0]!.message;

  it.each([
    ['an ES module', { 'a.mjs': '@tool() export class Greet {}' }],
    ['a CommonJS file', { 'a.cjs': '@tool() class Greet {}' }],
    ['an imported file', { 'a.mjs': "import './b.mjs';", 'b.mjs': '@tool() class Greet {}' }],
  ])('the error for a decorator in %s explains how to load the file', async (_, files) => {
    expect(await reasonFor(files)).toMatch(
      /^SyntaxError: Invalid or unexpected token\. .* has a decorator \(@\).*install tsx.*without decorator syntax/,
    );
  });

  it("any other syntax error is reported with Node's own message", async () => {
    expect(await reasonFor({ 'a.mjs': '/**\n * @param a\n */\nconst = 1;' })).toBe(
      "SyntaxError: Unexpected token '='",
    );
    expect(await reasonFor({ 'a.mjs': "import { no } from './b.mjs';", 'b.mjs': '' })).toBe(
      "SyntaxError: The requested module './b.mjs' does not provide an export named 'no'",
    );
  });
});
