import { z } from 'zod';
import { AccessMode, defineTool, ExecutionCategory } from '../../src/index.js';
import { createMcpServer } from '../../src/mcp/server/create-mcp-server.js';
import { sampleRegistry } from './server-tools.js';

// The program for server-stdio.test.ts. It serves on its standard streams until its input ends.

const registry = sampleRegistry();
let release!: () => void;
const released = new Promise<void>((resolve) => (release = resolve));
const reads = {
  accessMode: AccessMode.READONLY,
  executionCategory: ExecutionCategory.COMPUTE,
} as const;
const named = (name: string) =>
  defineTool({
    ...reads,
    name,
    description: 'New',
    inputSchema: z.object({}),
    execute: () => name,
  });

registry.registerAll([
  defineTool({
    ...reads,
    name: 'grow',
    description: 'Adds a tool',
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }, { reportProgress }) => {
      reportProgress?.('growing');
      await released;
      registry.register(named(name), { replace: true });
      return name;
    },
  }),
  defineTool({
    ...reads,
    name: 'prints',
    description: 'Prints while it works',
    inputSchema: z.object({}),
    execute: () => {
      console.log('printed by console.log');
      process.stdout.write('printed on stdout\n');
      console.error('printed by console.error');
      return 'printed';
    },
  }),
  defineTool({
    ...reads,
    name: 'release',
    description: 'Lets tools grow',
    inputSchema: z.object({}),
    execute: () => release(),
  }),
  defineTool({
    ...reads,
    name: 'wait',
    description: 'Waits until it is stopped',
    inputSchema: z.object({}),
    execute: (_, { signal, reportProgress }) =>
      new Promise((_resolve, reject) => {
        signal!.addEventListener('abort', () => {
          registry.register(named('stopped'));
          reject(new Error('stopped'));
        });
        reportProgress?.(1);
      }),
  }),
]);

const server = createMcpServer(registry, { name: 'sample' });
const { closed } = await server.serveStdio();
await closed;
await server.close();
