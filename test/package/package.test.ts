import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as esbuild } from 'esbuild';
import ts from 'typescript';
import { build as vite } from 'vite';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Consumer, install, type DecoratorMode } from './consumer.js';
import { describeApi } from './describe-api.js';
import { API_FILE, SURFACE } from './surface.js';

interface Target {
  readonly types: string;
  readonly default: string;
}
interface Manifest {
  readonly version: string;
  readonly exports: Readonly<
    Record<string, string | { readonly import: Target; readonly require: Target }>
  >;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const fromRoot = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const manifest = JSON.parse(readFileSync(fromRoot('package.json'), 'utf8')) as Manifest;
const entries = Object.entries(manifest.exports).flatMap(([path, targets]) =>
  typeof targets === 'string' ? [] : [{ name: path.replace('.', 'tooldex'), ...targets }],
);
const declarations = ts.createProgram({
  rootNames: entries.flatMap((entry) => [
    fromRoot(entry.import.types),
    fromRoot(entry.require.types),
  ]),
  options: {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    noLib: true,
    types: [],
  },
});
const files = [
  ...entries.flatMap((entry) => [entry.import.default, entry.require.default]),
  manifest.bin['tooldex']!,
];
/** Bundles each built file, so a bundle's imports are the imports of the file and all its chunks. */
const { metafile: bundled } = await esbuild({
  absWorkingDir: fromRoot(''),
  entryPoints: files,
  outdir: fromRoot('.cache'),
  outExtension: { '.js': '.mjs' },
  entryNames: '[name]-[hash]',
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  write: false,
  metafile: true,
  logLevel: 'error',
});
const consumer = new Consumer();
afterAll(() => consumer.remove());

describe('the public API', () => {
  it('is recorded for every entry point', () => {
    expect(Object.keys(SURFACE)).toEqual(entries.map(({ name }) => name));
  });

  it('has exactly the recorded exports in ESM and CommonJS, and a default export only for ESLint', () => {
    const found = consumer.run(`
      import { createRequire } from 'node:module';
      const namesOf = (module) => Object.keys(module).sort();
      const found = {};
      for (const name of ${JSON.stringify(entries.map(({ name }) => name))})
        found[name] = { esm: namesOf(await import(name)), cjs: namesOf(createRequire(import.meta.url)(name)) };
      console.log(JSON.stringify(found));`);
    const recorded = Object.entries(SURFACE).map(([name, { values }]) => [
      name,
      { esm: values, cjs: values },
    ]);
    expect(found).toEqual(Object.fromEntries(recorded));
    const withDefault = entries.filter(({ name }) => SURFACE[name]?.values.includes('default'));
    expect(withDefault.map(({ name }) => name)).toEqual(['tooldex/eslint']);
  });

  it.each(['import', 'require'] as const)(
    'has the recorded names and signatures in the declarations for %s (to record changes: npx vitest run test/package/package.test.ts -u)',
    async (kind) => {
      const files = entries.map((entry) => [entry.name, fromRoot(entry[kind].types)] as const);
      const api = describeApi(declarations, Object.fromEntries(files), fromRoot('dist'));
      await expect(api).toMatchFileSnapshot(fileURLToPath(API_FILE));
    },
  );
});

describe('importing and installing the package', () => {
  const root = entries[0]!;

  it.each([root.import.default, root.require.default])(
    '%s imports only zod, two dependencies, and OpenTelemetry, which loads on request',
    (file) => {
      expect(importsOf(file)).toEqual([
        '@opentelemetry/api',
        'fuse.js/min-basic',
        'reflect-metadata/no-conflict',
        'zod',
      ]);
    },
  );

  it('the root entry point consists of two chunks, because each further file slows down every program', () => {
    const chunks = readFileSync(fromRoot(root.import.default), 'utf8').match(/"\.\/chunk-[^"]+"/g);
    expect(new Set(chunks).size).toBe(2);
  });

  it('the package has two dependencies, and lists bundled packages with their versions from the lockfile', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['fuse.js', 'reflect-metadata']);
    const { packages } = JSON.parse(readFileSync(fromRoot('package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string; license: string }>;
    };
    const { components } = JSON.parse(readFileSync(fromRoot('dist/bundled.cdx.json'), 'utf8')) as {
      components: { name: string; version: string; purl: string }[];
    };
    const listed = components.map(({ name, version }) => `${name} ${version}`);
    expect(listed).toEqual(
      components.map(({ name }) => `${name} ${packages[`node_modules/${name}`]!.version}`),
    );
    expect(components.map(({ name }) => name)).toEqual([
      '@hono/node-server',
      '@noble/hashes',
      'commander',
      'csv-parse',
      'diff',
      'entities',
      'fdir',
      'hono',
      'htm',
      'htmlparser2',
      'jsonc-parser',
      'picomatch',
      'preact',
      'semver',
      'tinyglobby',
      'yaml',
    ]);
    const licences = readFileSync(fromRoot('dist/THIRD-PARTY-LICENSES.txt'), 'utf8').split('\n');
    expect(listed.filter((line) => !licences.includes(line))).toEqual([]);
  });

  it('the CLI runs in a folder that contains only this package and zod', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-installed-')));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    install(folder);
    writeFileSync(
      join(folder, 'functions.json'),
      '[{"name": "greet", "description": "Greets", "access_mode": "readonly", "danger_level": "safe", "parameters": {"type": "object"}}]',
    );
    writeFileSync(
      join(folder, 'tools.mjs'),
      "import { defineTool } from 'tooldex'; export const own = defineTool({ name: 'own', description: 'Mine', inputSchema: { type: 'object' }, accessMode: 'readonly', execute: () => 1 });",
    );
    const program = (...args: readonly string[]) =>
      spawnSync(
        process.execPath,
        [join(folder, 'node_modules/tooldex', manifest.bin['tooldex']!), ...args],
        { cwd: folder, encoding: 'utf8' },
      );
    expect(program('--version').stdout.trim()).toBe(manifest.version);
    expect(JSON.parse(program('list', '--tools', '*.mjs', '--json').stdout)).toMatchObject([
      { name: 'own' },
    ]);
    // Without tsx, a TypeScript file is reported, and the other files still load.
    writeFileSync(join(folder, 'typed.ts'), 'export const one: number = 1;');
    const mixed = program('list', '--tools', '*.mjs', '--tools', 'typed.ts', '--json');
    expect([JSON.parse(mixed.stdout), mixed.status]).toMatchObject([[{ name: 'own' }], 0]);
    expect(mixed.stderr).toContain('typed.ts');
    expect(mixed.stderr.trim()).toBe(
      "not loaded typed.ts: The package tsx isn't installed or can't be loaded. TypeScript files need it: run npm install --save-dev tsx.",
    );
    expect(JSON.parse(program('validate', 'functions.json', '--json').stdout)).toMatchObject({
      usable: 1,
      errors: 0,
    });
    expect(program('serve', '--host', '0.0.0.0')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('requires a token'),
    });
    expect(program('lst')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("unknown command 'lst'"),
    });
  });

  it('the type declarations use only types from Node, dependencies, and peer dependencies', () => {
    const sources = declarations
      .getSourceFiles()
      .filter(({ fileName }) => fileName.startsWith(fromRoot('dist/types/')));
    const imported = sources
      .flatMap((file) => ts.preProcessFile(file.text).importedFiles.map(({ fileName }) => fileName))
      .filter((specifier) => !specifier.startsWith('.') && !isBuiltin(specifier));
    expect(sources.length).toBeGreaterThan(100);
    expect(imported.map(packageOf).filter((name) => !isDeclared(name))).toEqual([]);
  });

  it.each(files)('%s imports only Node and declared dependencies', (file) => {
    const packages = importsOf(file)
      .filter((specifier) => !isBuiltin(specifier))
      .map(packageOf);
    // The audit loads it in place of TypeScript 7, which has no compiler API.
    const isStandIn = (name: string) => name === '@typescript/typescript6';
    expect(packages.filter((name) => !isDeclared(name) && !isStandIn(name))).toEqual([]);
  });

  it('importing the package opens no resources and adds only the default registry to globalThis', () => {
    const source = `
      await import('zod'); // Has globals of its own.
      const before = Reflect.ownKeys(globalThis);
      const active = process.getActiveResourcesInfo().length;
      await import('tooldex');
      const added = Reflect.ownKeys(globalThis).filter((key) => !before.includes(key)).map(String);
      console.log(JSON.stringify({ added, patched: 'defineMetadata' in Reflect, opened: process.getActiveResourcesInfo().length - active }));`;
    expect(consumer.run(source)).toEqual({
      added: [`Symbol(tooldex/${manifest.version}/default-registry)`],
      patched: false,
      opened: 0,
    });
  });
});

function isDeclared(name: string): boolean {
  return name in manifest.dependencies || name in manifest.peerDependencies;
}

/** Returns the package that an import refers to. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Returns the imports of a built file and its chunks from outside the package, on load or later. */
function importsOf(file: string): string[] {
  const [, { imports }] = Object.entries(bundled.outputs).find(
    ([, { entryPoint }]) => fromRoot(entryPoint!) === fromRoot(file),
  )!;
  return [...new Set(imports.map(({ path }) => path))].sort();
}

const TOOLS = `
  import { z } from 'zod';
  export function declareWith({ tool, defineTool, ToolError }) {
    const options = (name) => ({ name, description: 'Tells ' + name, inputSchema: z.object({ city: z.string() }) });
    @tool(options('forecast'))
    class Forecast {
      execute({ city }) { return 'forecast of ' + city; }
    }
    class Toolkit {
      @tool(options('climate'))
      climate({ city }) { return 'climate of ' + city; }
      @tool(options('units'))
      static units({ city }) { return 'units of ' + city; }
    }
    const definition = defineTool({ ...options('season'), execute: ({ city }) => 'season of ' + city });
    return { sources: [Forecast, Toolkit, definition], error: new ToolError('INVALID_INPUT', 'expected a city') };
  }`;

describe('the ESM and CommonJS copies in one process', () => {
  it("share the default registry, and each copy accepts the other's registry", () => {
    const read = consumer.run(`
      import { createRequire } from 'node:module';
      import * as esm from 'tooldex';
      import { chat, scriptedModel } from 'tooldex/chat';
      import { createDiscoveryApp } from 'tooldex/http';
      const require = createRequire(import.meta.url);
      const cjs = require('tooldex');
      const greet = cjs.defineTool({ name: 'greet', description: 'Greets', inputSchema: { type: 'object' }, accessMode: 'readonly', execute: () => 'Hello' });
      cjs.defaultRegistry.register(greet);
      const capabilities = await require('tooldex/capability').CapabilityRegistry.load();
      const { text, messages } = await chat({ model: scriptedModel([{ calls: [{ id: 'c', name: 'greet', input: {} }] }, 'Done']), tools: cjs.defaultRegistry, prompt: 'Hi' });
      const { status } = await createDiscoveryApp(capabilities).request('http://localhost/health');
      console.log(JSON.stringify({ same: esm.defaultRegistry === cjs.defaultRegistry, names: [...esm.defaultRegistry].map(({ name }) => name), linted: Array.isArray(esm.lintTools(cjs.defaultRegistry)), text, turns: messages.length, status }));`);
    expect(read).toEqual({
      same: true,
      names: ['greet'],
      linted: true,
      text: 'Done',
      turns: 4,
      status: 200,
    });
  });

  describe.each<DecoratorMode>(['standard', 'legacy'])('%s decorators', (mode) => {
    it.each([
      ['esm', 'cjs'],
      ['cjs', 'esm'],
    ])('tools declared with the %s copy can be registered in the %s copy', (writer, reader) => {
      consumer.writeTypeScript(`${mode}-tools.mjs`, TOOLS, mode);
      const read = consumer.run(`
        import { createRequire } from 'node:module';
        import * as esm from 'tooldex';
        import { declareWith } from './${mode}-tools.mjs';
        const cjs = createRequire(import.meta.url)('tooldex');
        const copies = { esm, cjs };
        const { sources, error } = declareWith(copies.${writer});
        const entries = new copies.${reader}.ToolMetadataRegistry().registerAll(sources);
        console.log(JSON.stringify({
          copies: new Set([esm.tool, cjs.tool]).size,
          answers: Object.fromEntries(entries.map((entry) => [entry.name, entry.definition.execute({ city: 'Rome' }, {})])),
          error: { itsOwn: error instanceof copies.${reader}.ToolError, known: copies.${reader}.isToolError(error), code: copies.${reader}.isToolError(error, 'INVALID_INPUT'), other: copies.${reader}.isToolError(error, 'TIMEOUT') },
        }));`);
      expect(read).toEqual({
        copies: 2,
        answers: {
          forecast: 'forecast of Rome',
          climate: 'climate of Rome',
          units: 'units of Rome',
          season: 'season of Rome',
        },
        error: { itsOwn: false, known: true, code: true, other: false },
      });
    });
  });
});

// The package declares that it has no side effects, although loading it defines Symbol.metadata. These
// tests show that bundles work anyway.
describe('a bundle that imports only `tool`', () => {
  const bundlers: Readonly<Record<string, (input: string, output: string) => Promise<unknown>>> = {
    esbuild: (input, output) =>
      esbuild({
        entryPoints: [input],
        outfile: output,
        bundle: true,
        platform: 'node',
        format: 'esm',
        logLevel: 'error',
      }),
    rollup: (input, output) =>
      vite({
        root: consumer.folder,
        configFile: false,
        logLevel: 'error',
        ssr: { noExternal: true },
        build: {
          ssr: input,
          outDir: '.',
          emptyOutDir: false,
          rollupOptions: { output: { entryFileNames: output.slice(consumer.folder.length + 1) } },
        },
      }),
  };

  it.each(Object.keys(bundlers))('keeps the code for standard decorators (%s)', async (bundler) => {
    consumer.writeTypeScript(
      'toolkit.mjs',
      `import { tool } from 'tooldex';
       import { z } from 'zod';
       export class Toolkit {
         @tool({ name: 'climate', description: 'Tells the climate', inputSchema: z.object({}) })
         climate() { return 'mild'; }
       }`,
      'standard',
    );
    const output = `${bundler}.mjs`;
    await bundlers[bundler]!(consumer.path('toolkit.mjs'), consumer.path(output));
    expect(existsSync(consumer.path(output))).toBe(true);
    // The bundle is loaded first, and a copy of the package outside the bundle reads its tool.
    const names = consumer.run(`
      import { Toolkit } from './${output}';
      const { ToolMetadataRegistry } = await import('tooldex');
      console.log(JSON.stringify(new ToolMetadataRegistry().register(Toolkit).map(({ name }) => name)));`);
    expect(names).toEqual(['climate']);
  });
});
