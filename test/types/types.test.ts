import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Consumer } from '../package/consumer.js';
import { callersOf, entryPoints } from './callers.js';
import { compile, COMPILERS, type Compiler } from './compile.js';

const CASES = import.meta.dirname;
const MODES = ['standard', 'legacy'] as const;
const compilers = Object.keys(COMPILERS) as Compiler[];

/**
 * If both the oldest and the newest compiler accept something, the compilers between them accept it,
 * too.
 */
const OLDEST_AND_NEWEST: readonly Compiler[] = ['TypeScript 5.4', 'TypeScript 7.0'];

describe('the published types', () => {
  for (const compiler of compilers) {
    const atAnEnd = OLDEST_AND_NEWEST.includes(compiler);
    it.each(atAnEnd ? MODES : MODES.slice(0, 1))(
      `compile with ${compiler} and %s decorators`,
      async (mode) => {
        // Declaration files are the same in both decorator modes.
        const skipLibCheck = mode === 'legacy' || !atAnEnd;
        expect((await compile(compiler, join(CASES, mode), { skipLibCheck })).output).toBe('');
      },
    );
  }

  it.each(OLDEST_AND_NEWEST)('compile with %s in JavaScript with @ts-check', async (compiler) => {
    expect((await compile(compiler, join(CASES, 'javascript'))).output).toBe('');
  });

  // Module resolution doesn't depend on the decorator mode.
  it.each(OLDEST_AND_NEWEST)('compile with %s in projects that use a bundler', async (compiler) => {
    const options = { module: 'preserve', moduleResolution: 'bundler', skipLibCheck: true };
    expect((await compile(compiler, join(CASES, 'standard'), options)).output).toBe('');
  });
});

// Jest with ts-jest and older CommonJS projects find types through folders and `typesVersions`, not
// through `exports`.
describe('a CommonJS project with moduleResolution: node10', () => {
  const project = new Consumer();
  afterAll(() => project.remove());
  const { exports } = JSON.parse(readFileSync(join(CASES, '../../package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const names = Object.keys(exports)
    .filter((name) => name !== './package.json')
    .map((name) => name.replace('.', 'tooldex'));
  const imports = names.map(
    (name, index) => `import * as entry${index} from '${name}';\nvoid entry${index};`,
  );
  // Each class has only one declaration, so every entry point accepts instances created through another
  // entry point.
  const use =
    "import { ToolMetadataRegistry } from 'tooldex';\nimport { toOpenAITools } from 'tooldex/interop';\nvoid toOpenAITools(new ToolMetadataRegistry());";
  writeFileSync(project.path('entries.ts'), [...imports, use].join('\n'));
  writeFileSync(
    project.path('tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        module: 'commonjs',
        moduleResolution: 'node10',
        resolveJsonModule: true,
        strict: true,
        skipLibCheck: true,
        noEmit: true,
        types: ['node'],
      },
      files: ['entries.ts'],
    }),
  );

  it('finds the types of every entry point', async () => {
    expect((await compile('TypeScript 5.4', project.folder)).output).toBe('');
  });
});

describe('a library that exports values returned by our functions', () => {
  const library = new Consumer('hono');
  afterAll(() => library.remove());

  it(
    'can emit its declarations, because every type in the declarations is exported or can be inlined',
    { timeout: 300_000 },
    async () => {
      // A copy of the package, because the compiler follows links and would name types by their files in
      // this project.
      rmSync(library.path('node_modules/tooldex'));
      for (const part of ['package.json', 'dist/types'])
        cpSync(join(CASES, '../..', part), library.path(join('node_modules/tooldex', part)), {
          recursive: true,
        });
      cpSync(join(CASES, 'exported'), library.path('src'), { recursive: true });
      for (const entry of Object.keys(entryPoints()))
        writeFileSync(library.path(`src/${entry}-callers.ts`), callersOf(entry));
      writeFileSync(library.path('src/package.json'), '{ "type": "module" }');
      expect(
        (
          await compile('TypeScript 7.0', library.path('src'), {
            noEmit: false,
            emitDeclarationOnly: true,
            outDir: library.path('out'),
          })
        ).output,
      ).toBe('');
    },
  );
});

// A directive accepts any error. Without the directives, exactly the marked lines must fail.
describe('the lines marked as type errors', () => {
  const copy = new Consumer();
  afterAll(() => copy.remove());
  for (const folder of ['both', 'javascript', ...MODES])
    cpSync(join(CASES, folder), copy.path(folder), { recursive: true });
  const markedIn = (folder: string) =>
    readdirSync(copy.path(folder)).flatMap((name) => {
      const file = copy.path(join(folder, name));
      const lines = readFileSync(file, 'utf8').split('\n');
      writeFileSync(file, lines.map((line) => line.replace('@ts-expect-error', '')).join('\n'));
      return lines.flatMap((line, index) =>
        line.includes('@ts-expect-error') ? [`${folder}/${name}:${index + 2}`] : [],
      );
    });
  const [typed, plain] = [markedIn('both'), markedIn('javascript')];

  it.each([
    ...MODES.map((mode) => [`with ${mode} decorators`, mode, typed, 80] as const),
    ['in JavaScript', 'javascript', plain, 30] as const,
  ])('are exactly the lines that fail to compile %s', async (_, project, marked, least) => {
    const { places } = await compile('TypeScript 7.0', copy.path(project));
    expect(marked.length).toBeGreaterThan(least);
    expect(
      [...new Set(places.map((place) => place.split('/').slice(-2).join('/')))].sort(),
    ).toEqual([...marked].sort());
  });
});
