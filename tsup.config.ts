import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', tools: 'tools/index.ts', providers: 'src/providers.ts', state: 'src/state.ts', testing: 'src/testing.ts', cli: 'src/cli/main.ts' },
  format: ['esm', 'cjs'],
  target: 'node20',
  // tsup hands `baseUrl` to the declaration compiler, which TypeScript 6 calls deprecated.
  dts: { entry: { index: 'src/index.ts', tools: 'tools/index.ts', providers: 'src/providers.ts', state: 'src/state.ts', testing: 'src/testing.ts' }, compilerOptions: { ignoreDeprecations: '6.0', noEmit: false } },
  // Bundlers and other runtimes tell built-in modules from packages by the prefix.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: false,
  sourcemap: false,
  clean: true,
});
