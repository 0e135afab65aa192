import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { BUNDLERS, NEWER_PACKAGES, ROOT } from '../programs.js';
import { install } from './consumer.js';
import { SURFACE } from './surface.js';

const INSTALLED = join(BUNDLERS, 'webpack');
const VITE = join(NEWER_PACKAGES, 'vite/dist/node/index.js');

/** Bundles the files of `input`, a name and a path each, into a folder. @throws if the build fails. */
type Bundler = (input: Readonly<Record<string, string>>, output: string) => Promise<unknown>;

/** Nest loads its own optional packages by computed names, so its users never bundle it. */
const external = ['@nestjs/common', '@nestjs/core'];
// CommonJS packages such as redis and ws call `require`, which ES modules don't have.
const banner = {
  js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
};

interface Stats {
  toJson(options: object): { readonly errors: readonly { readonly message: string }[] };
}
type Webpack = (options: object, done: (error: Error | null, stats: Stats) => void) => unknown;

const packWith =
  (webpack: () => Promise<Webpack>): Bundler =>
  async (entry, path) => {
    const options = {
      mode: 'production',
      optimization: { minimize: false },
      target: 'node20',
      entry,
      externals: Object.fromEntries(external.map((name) => [name, `commonjs ${name}`])),
      output: { path, filename: '[name].cjs', chunkFilename: '[name].cjs' },
    };
    const pack = await webpack();
    const stats = await new Promise<Stats>((resolve, reject) => {
      pack(options, (error, made) => (error === null ? resolve(made) : reject(error)));
    });
    const { errors } = stats.toJson({ all: false, errors: true });
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  };
const imported = async <Module>(file: string): Promise<Module> =>
  (await import(pathToFileURL(file).href)) as Module;
type Plugin = (options?: object) => object;
const rollupPlugin = async (name: string) =>
  (await imported<{ default: Plugin }>(join(BUNDLERS, '@rollup', name, 'dist/es/index.js')))
    .default;

const bundlers: Readonly<Record<string, readonly [needs: string, bundle: Bundler]>> = {
  webpack: [
    INSTALLED,
    packWith(() =>
      Promise.resolve(createRequire(import.meta.url)(join(BUNDLERS, 'webpack')) as Webpack),
    ),
  ],
  rspack: [
    INSTALLED,
    packWith(async () => {
      const file = join(BUNDLERS, '@rspack/core/dist/index.js');
      return (await imported<{ rspack: Webpack }>(file)).rspack;
    }),
  ],
  rollup: [
    INSTALLED,
    async (input, dir) => {
      const [resolve, commonjs, json] = await Promise.all(
        ['plugin-node-resolve', 'plugin-commonjs', 'plugin-json'].map(rollupPlugin),
      );
      const { rollup } = await imported<{
        rollup: (options: object) => Promise<{ write(options: object): Promise<unknown> }>;
      }>(join(BUNDLERS, 'rollup/dist/es/rollup.js'));
      const bundle = await rollup({
        input,
        external,
        treeshake: false, // takes most of the time
        plugins: [
          resolve!({ preferBuiltins: true, exportConditions: ['node'] }),
          commonjs!(),
          json!(),
        ],
        onwarn: () => undefined,
      });
      await bundle.write({ dir, entryFileNames: '[name].mjs', chunkFileNames: '[hash].mjs' });
    },
  ],
  esbuild: [
    join(ROOT, 'node_modules/esbuild'),
    (entryPoints, outdir) =>
      esbuild({
        entryPoints,
        outdir,
        external,
        bundle: true,
        splitting: true,
        platform: 'node',
        format: 'esm',
        target: 'node20',
        outExtension: { '.js': '.mjs' },
        banner,
        logLevel: 'silent',
      }),
  ],
  vite: [
    VITE,
    async (input, outDir) => {
      const { build } = await imported<{ build: (options: object) => Promise<unknown> }>(VITE);
      const output = { entryFileNames: '[name].mjs', chunkFileNames: '[hash].mjs' };
      await build({
        root: outDir,
        configFile: false,
        logLevel: 'silent',
        ssr: { noExternal: true, external, target: 'node' },
        build: { ssr: true, outDir, minify: false, rollupOptions: { input, output } },
      });
    },
  ],
};

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function folderWithout(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-bundle-')));
  folders.push(folder);
  return folder;
}

/** Returns a folder with this package, zod, and the given packages of this project. */
function folderWith(...names: readonly string[]): string {
  const folder = folderWithout();
  install(
    folder,
    Object.fromEntries(names.map((name) => [name, join(ROOT, 'node_modules', name)])),
  );
  return folder;
}
const bare = folderWith();

it('TypeScript tools load from a bundle, which leaves tsx to Node', async () => {
  const folder = folderWith('tsx');
  writeFileSync(
    join(folder, 'tools.ts'),
    "import { defineTool } from 'tooldex'; export const one = defineTool({ name: 'one', description: 'One', inputSchema: {}, execute: (input: unknown) => input });",
  );
  writeFileSync(
    join(folder, 'program.mjs'),
    "import { loadTools } from 'tooldex/load'; loadTools('tools.ts').then(({ tools, problems }) => console.log(JSON.stringify([tools.map(({ name }) => name), problems])));",
  );
  const outfile = join(folder, 'bundle.mjs');
  await esbuild({
    entryPoints: [join(folder, 'program.mjs')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner,
    logLevel: 'silent',
  });
  expect(
    JSON.parse(execFileSync(process.execPath, [outfile], { cwd: folder, encoding: 'utf8' })),
  ).toEqual([['one'], []]);
});

/** The calls of each entry point that need optional packages, with those packages. */
const NEEDS: Readonly<Record<string, readonly (readonly [call: string, ...packages: string[]])[]>> =
  {
    'tooldex/state': [
      [
        "RedisStateStore.connect({ url: 'redis://127.0.0.1:1' }).then((store) => store.close())",
        'redis',
      ],
    ],
    'tooldex/mcp': [
      [
        "discoverMcpTools({ enabled: true, servers: { socket: { url: 'ws://127.0.0.1:1' } } })",
        '@modelcontextprotocol/client',
        'ws',
      ],
      [
        'createMcpServer(registry).serveStdio().then((served) => served.close())',
        '@modelcontextprotocol/server',
      ],
    ],
    'tooldex/interop': [['toLangChainTools(registry, { executor })', '@langchain/core']],
    'tooldex/chat': [
      [
        "chat({ prompt: 'Hi', model: { specificationVersion: 'v3', provider: 'p', modelId: 'm', supportedUrls: {}, doGenerate: () => Promise.reject(new Error('no answer')), doStream: () => undefined }, modelOptions: { maxRetries: 0 } }).then(({ metadata }) => Promise.reject(metadata.error))",
        'ai',
      ],
    ],
    tooldex: [['openTelemetry()', '@opentelemetry/api']],
  };

const entries = Object.keys(SURFACE);
const isNest = (entry: string) => entry === 'tooldex/nestjs';

/** Writes a program for each entry point, which prints the exported names and the outcomes of its calls. */
function programsIn(folder: string, built: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    built.map((entry, index) => {
      const file = join(folder, `entry-${index}.mjs`);
      const calls = (NEEDS[entry] ?? []).map(([call]) => `async () => ${call}`);
      writeFileSync(
        file,
        `import { ToolExecutor, ToolMetadataRegistry } from 'tooldex';
         import * as all from '${entry}';
         const { ${SURFACE[entry]!.values.filter((name) => !['ToolExecutor', 'ToolMetadataRegistry', 'default'].includes(name)).join(', ')} } = all;
         async function run() {
           const registry = new ToolMetadataRegistry();
           const executor = new ToolExecutor({ registry });
           const messages = [];
           for (const call of [${calls.join(', ')}]) messages.push(await call().then(() => '', (error) => String(error.message)));
           console.log(JSON.stringify({ entry: '${entry}', names: Object.keys(all).sort(), messages }));
         }
         void run();`,
      );
      return [`entry-${index}`, file];
    }),
  );
}

interface Found {
  readonly entry: string;
  readonly names: readonly string[];
  readonly messages: readonly string[];
}

/** Bundles every entry point, and runs the bundles in a folder without packages, all but Nest's. */
async function bundleAndRun(
  bundle: Bundler,
  folder: string,
  built: readonly string[],
): Promise<readonly Found[]> {
  const output = folderWithout();
  await bundle(programsIn(folder, built), output);
  const files = readdirSync(output).filter(
    (file) => /^entry-\d+\./.test(file) && !isNest(built[Number(/\d+/.exec(file))]!),
  );
  writeFileSync(
    join(output, 'all.mjs'),
    files.map((file) => `await import('./${file}');`).join('\n'),
  );
  const printed = execFileSync(process.execPath, ['all.mjs'], {
    cwd: output,
    encoding: 'utf8',
    input: '',
  });
  return printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Found);
}

describe.each(Object.entries(bundlers))(
  'bundles of every entry point by %s (skipped without npm ci --prefix test/bundlers)',
  (_, [needs, bundle]) => {
    it.skipIf(!existsSync(needs))(
      'build without the optional packages, run, and report the packages that a call needs',
      async () => {
        const found = await bundleAndRun(bundle, bare, entries);
        expect(found.map(({ entry }) => entry).sort()).toEqual(
          entries.filter((entry) => !isNest(entry)).sort(),
        );
        for (const { entry, names, messages } of found) {
          expect(names).toEqual(SURFACE[entry]!.values);
          expect(messages).toEqual(
            (NEEDS[entry] ?? []).map(
              ([, name]) => expect.stringContaining(`npm install ${name}`) as string,
            ),
          );
        }
      },
    );

    it.skipIf(!existsSync(needs))(
      'include the optional packages if they are installed',
      async () => {
        const packages = Object.values(NEEDS).flatMap((calls) =>
          calls.flatMap(([, ...names]) => names),
        );
        const found = await bundleAndRun(bundle, folderWith(...packages), entries);
        const messages = found.flatMap((each) => each.messages);
        expect(messages.length).toBeGreaterThanOrEqual(6);
        for (const message of messages) expect(message).not.toMatch(/isn't installed|npm install/);
      },
    );
  },
);
