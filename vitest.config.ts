import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const builtPackage = [
  'test/docs/**/*.test.ts',
  'test/package/**/*.test.ts',
  'test/types/**/*.test.ts',
  // Replaces node:path in the modules that it loads, so it needs modules of its own.
  'test/windows-paths.test.ts',
];

export default defineConfig({
  // Lowers standard decorators: Node 20 does not parse them.
  esbuild: { target: 'es2022' },
  test: {
    // A bound for what hangs, not for what is slow: a busy machine may take ten times as long.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // One more than cores: tests wait for programs, browsers and servers that they start, and a core would be idle meanwhile.
    maxWorkers: availableParallelism() + 1,
    globalSetup: 'test/temporary-folder.ts',
    projects: [
      // One module cache for all files of a worker: loading the sources again for each took two minutes. No file may leave anything behind.
      {
        extends: true,
        test: {
          name: 'source',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...builtPackage, '**/node_modules/**'],
        },
      },
      // These look at dist, as a user's project would.
      {
        extends: true,
        test: {
          name: 'package',
          include: builtPackage,
          globalSetup: 'test/package/build-if-stale.ts',
          maxConcurrency: 2,
        },
      },
    ],
  },
});
