import { mkdir, writeFile } from 'node:fs/promises';
import { defineConfig, type Options } from 'tsup';
import { manifestJsonSchema } from './src/capability/manifest/entry/manifest-entry.js';
import { PAGE_SOURCES } from './src/http/page/page-sources.js';

/** Puts the page into the package as text in place of the module that bundles it from its sources. */
const embedPage: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'embed-page',
  setup: (build) => build.onLoad({ filter: /[\\/]page-sources\.ts$/ }, () => ({ contents: `export const PAGE_SOURCES = Object.freeze(${JSON.stringify(PAGE_SOURCES)});` })),
};

/** Puts the JSON Schema of manifests into the package, for editors. */
const writeSchema: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'write-schema',
  setup: (build) =>
    build.onEnd(async () => {
      await mkdir('dist', { recursive: true });
      await writeFile('dist/manifest.schema.json', `${JSON.stringify(manifestJsonSchema, null, 2)}\n`);
    }),
};

export default defineConfig({
  entry: { index: 'src/index.ts', tools: 'tools/index.ts', providers: 'src/providers.ts', state: 'src/state.ts', testing: 'src/testing.ts', capability: 'src/capability.ts', http: 'src/http.ts', mcp: 'src/mcp.ts', interop: 'src/interop.ts', chat: 'src/chat.ts', cli: 'src/cli/main.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  // tsup hands `baseUrl` to the declaration compiler, which TypeScript 6 calls deprecated.
  dts: { entry: { index: 'src/index.ts', tools: 'tools/index.ts', providers: 'src/providers.ts', state: 'src/state.ts', testing: 'src/testing.ts', capability: 'src/capability.ts', http: 'src/http.ts', mcp: 'src/mcp.ts', interop: 'src/interop.ts', chat: 'src/chat.ts' }, compilerOptions: { ignoreDeprecations: '6.0', noEmit: false } },
  esbuildPlugins: [embedPage, writeSchema],
  // Bundlers and other runtimes tell built-in modules from packages by the prefix.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: false,
  sourcemap: false,
  clean: true,
});
