import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { NEWER_PACKAGES, ROOT } from '../programs.js';
import { install } from './consumer.js';
import { SURFACE } from './surface.js';

const ROLLDOWN = join(NEWER_PACKAGES, 'rolldown/dist/index.mjs');

type Bundler = (input: string, output: string) => Promise<unknown>;
type Rolldown = (options: object) => Promise<{ write(options: object): Promise<unknown> }>;

// CommonJS packages such as redis and ws call `require`, which ES modules don't have.
const banner = {
  js: "import { createRequire as requireOfBundle } from 'node:module'; const require = requireOfBundle(import.meta.url);",
};
const bundlers: readonly (readonly [name: string, isInstalled: boolean, bundle: Bundler])[] = [
  [
    'esbuild',
    true,
    (input, output) =>
      esbuild({
        entryPoints: [input],
        outfile: output,
        bundle: true,
        platform: 'node',
        format: 'esm',
        target: 'node20',
        banner,
        logLevel: 'silent',
      }),
  ],
  [
    'rolldown',
    existsSync(ROLLDOWN),
    async (input, output) => {
      const { rolldown } = (await import(pathToFileURL(ROLLDOWN).href)) as { rolldown: Rolldown };
      const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
      await bundle.write({ file: output, format: 'esm', codeSplitting: false });
    },
  ],
];

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

/** This entry point extends a framework and needs it when it's imported. */
const NEEDS_NEST = 'tooldex/nestjs';

/**
 * Bundles a program that imports the entry point, and runs the bundle in an empty folder. Returns the
 * exported names and the outcomes of the calls.
 */
async function bundleAndRun(
  bundle: Bundler,
  entry: string,
  folder: string,
): Promise<{ readonly names: string[]; readonly messages: string[] }> {
  const input = join(folder, 'program.mjs');
  const calls = (NEEDS[entry] ?? []).map(([call]) => `async () => ${call}`);
  writeFileSync(
    input,
    `import { ToolExecutor, ToolMetadataRegistry } from 'tooldex';
     import * as all from '${entry}';
     const { ${SURFACE[entry]!.values.filter((name) => !['ToolExecutor', 'ToolMetadataRegistry'].includes(name)).join(', ')} } = all;
     const registry = new ToolMetadataRegistry();
     const executor = new ToolExecutor({ registry });
     const messages = [];
     for (const call of [${calls.join(', ')}]) messages.push(await call().then(() => '', (error) => String(error.message)));
     console.log(JSON.stringify({ names: Object.keys(all).sort(), messages }));`,
  );
  const output = join(folderWithout(), 'bundle.mjs');
  await bundle(input, output);
  return JSON.parse(
    execFileSync(process.execPath, [output], { cwd: tmpdir(), encoding: 'utf8', input: '' }),
  ) as { names: string[]; messages: string[] };
}

describe.each(bundlers)(
  'bundling with %s for Node (skipped without npm ci --prefix test/node22)',
  (_, isInstalled, bundle) => {
    it.skipIf(!isInstalled).each(Object.keys(SURFACE).filter((entry) => entry !== NEEDS_NEST))(
      'a bundle of %s builds without the optional packages, runs, and reports the packages that a call needs',
      async (entry) => {
        const { names, messages } = await bundleAndRun(bundle, entry, bare);
        expect(names).toEqual(SURFACE[entry]!.values);
        expect(messages).toEqual(
          (NEEDS[entry] ?? []).map(
            ([, name]) => expect.stringContaining(`npm install ${name}`) as string,
          ),
        );
      },
    );

    it.skipIf(!isInstalled).each(Object.keys(NEEDS))(
      'a bundle of %s includes the optional packages if they are installed',
      async (entry) => {
        const packages = NEEDS[entry]!.flatMap(([, ...names]) => names);
        const { messages } = await bundleAndRun(bundle, entry, folderWith(...packages));
        for (const message of messages) expect(message).not.toMatch(/to be installed|package/);
      },
    );
  },
);
