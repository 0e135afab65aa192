import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Lowers standard decorators: Node 20 does not parse them.
  esbuild: { target: 'es2022' },
  test: { include: ['test/**/*.test.ts'], testTimeout: 20_000 },
});
