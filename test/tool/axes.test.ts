import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import * as root from '../../src/index.js';
import { AXES, AXIS_NAMES } from '../../src/tool/axes.js';
import { folderWith } from '../folder-with.js';
import { DEADLINE_MS, PROGRAM_OPTIONS, ROOT } from '../programs.js';

it('every axis has an enum that the root entry point exports', () => {
  const exported: readonly unknown[] = Object.values(root);
  expect(AXIS_NAMES.filter((name) => !exported.includes(AXES[name].values))).toEqual([]);
});

it('every axis has a getter on the registry that finds the tools with a value', () => {
  const registry = new root.ToolMetadataRegistry() as unknown as Record<
    string,
    (value: unknown) => unknown
  >;
  for (const name of AXIS_NAMES)
    for (const value of Object.values(AXES[name].values))
      expect(registry[`getBy${name[0]!.toUpperCase()}${name.slice(1)}`]?.(value), name).toEqual([]);
});

it('every axis has its own name as its kind and its condition', () => {
  for (const name of AXIS_NAMES)
    expect([AXES[name].kind, AXES[name].filter.condition]).toEqual([name, name]);
});

/** Returns the code of each step of "Adding an axis" in CONTRIBUTING.md. */
function steps(): readonly string[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const section = text.split('## Adding an axis\n')[1]!.split('\n## ')[0]!;
  return [...section.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);
}

/** Returns a copy of the source to which the axis of CONTRIBUTING.md was added as described there. */
function copyWithAxis(): string {
  const folder = folderWith({});
  for (const each of ['src', 'tools', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, each), join(folder, each), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const edit = (file: string, change: (text: string) => string) => {
    const path = join(folder, file);
    const before = readFileSync(path, 'utf8');
    const after = change(before);
    expect(after, file).not.toBe(before);
    writeFileSync(path, after);
  };
  const importing = (text: string) => `import { Reach } from '../core/enums.js';\n${text}`;
  const [values, exported, option, row, getter, ...others] = steps();
  expect(others).toEqual([]);
  edit('src/core/enums.ts', (text) => text + values!);
  edit('src/index.ts', (text) => text + exported!);
  edit('src/tool/tool-options.ts', (text) =>
    text.replace(/ {2}readonly costTier\?: CostTier;\n/, (line) => line + option!),
  );
  edit('src/tool/axes.ts', (text) =>
    importing(text.replace('\n} as const satisfies', () => `\n${row!}} as const satisfies`)),
  );
  edit('src/registry/tool-metadata-registry.ts', (text) =>
    importing(text.replace('\n  getByCategory(', (line) => `\n${getter!}${line}`)),
  );
  return folder;
}

/** Asks every consumer about the axis `reach`, and prints the answers as JSON. */
const QUESTIONS = `
import { defineTool, Reach, ToolMetadataRegistry } from './src/index.js';
import { CapabilityRegistry, loadManifest, manifestJsonSchema } from './src/capability.js';
import { createDiscoveryApp } from './src/http.js';
import { toMcpTools } from './src/interop.js';
import { runCli } from './src/cli/run-cli.js';
import { AXES } from './src/http/page/route.js';
import { mkdtempSync, writeFileSync } from 'node:fs';

const sample = (name, reach) =>
  defineTool({ name, description: name + ' text', inputSchema: { type: 'object' }, reach, execute: () => name });
const tools = [sample('quiet', Reach.NOBODY), sample('loud', undefined)];
const names = (list) => [...list].map(({ name }) => name);
const registry = new ToolMetadataRegistry();
registry.registerAll(tools);
const app = createDiscoveryApp(await CapabilityRegistry.load({ tools, env: {} }), { page: false });
const get = async (path) =>
  (await app.request('http://localhost' + path, { headers: { host: 'localhost' } })).json();
let printed = '';
const terminal = {
  color: false, columns: 400, interactive: false, write: (text) => (printed += text),
  out: (text) => (printed += text + '\\n'), err: (text) => (printed += text + '\\n'), onInterrupt: () => () => {},
};
globalThis.tools = tools;
writeFileSync('tools.mjs', 'export const tools = globalThis.tools;');
await runCli(['list', '--reach', 'nobody', '--tools', 'tools.mjs'], terminal, process.cwd());
await runCli(['list', '--max-reach', 'team', '--tools', 'tools.mjs'], terminal, process.cwd());
const manifests = mkdtempSync('manifests-');
writeFileSync(manifests + '/tools.json', JSON.stringify([
  { name: 'written', description: 'Written text', type: 'function', parameters: { type: 'object', properties: {} }, reach: 'team' },
]));
const { definitions } = await loadManifest(manifests + '/tools.json');
process.stdout.write('RESULT' + JSON.stringify({
  getter: names(registry.getByReach('nobody')),
  guessed: [registry.require('loud').reach, registry.require('loud').inferred.includes('reach')],
  filter: names(registry.filter({ reach: ['nobody', 'team'] })),
  most: names(registry.filter({ maxReach: 'team' })),
  summary: registry.summary().byReach,
  mcp: toMcpTools(registry).map(({ _meta }) => _meta['tooldex/axes'].reach),
  http: names((await get('/tools?reach=nobody')).tools),
  listed: (await get('/tools')).tools.map(({ reach }) => reach),
  facets: (await get('/tools?facets=true')).facets.reach,
  page: AXES.filter(({ key }) => key === 'reach').map(({ order }) => order),
  loaded: definitions.map(({ reach }) => reach),
  manifest: manifestJsonSchema.definitions.tool.properties.reach?.enum,
  printed,
}));
`;

it('an axis that is added as CONTRIBUTING.md says reaches every consumer', async () => {
  const folder = copyWithAxis();
  const { stdout: problems } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/typescript7/bin/tsc'), '-p', folder],
    { cwd: folder, encoding: 'utf8', timeout: DEADLINE_MS },
  );
  expect(problems).toBe('');
  writeFileSync(join(folder, 'questions.ts'), QUESTIONS);
  await build({
    ...PROGRAM_OPTIONS,
    entryPoints: [join(folder, 'questions.ts')],
    outdir: join(folder, 'built'),
    outExtension: { '.js': '.mjs' },
  });
  symlinkSync(join(folder, 'src/http/page'), join(folder, 'built/page'));
  const out = execFileSync(process.execPath, [join(folder, 'built/questions.mjs')], {
    cwd: folder,
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  });
  const { printed, ...answers } = JSON.parse(out.split('RESULT')[1]!) as { printed: string };
  expect(answers).toEqual({
    getter: ['quiet'],
    guessed: ['public', true],
    filter: ['quiet'],
    most: ['quiet'],
    summary: { nobody: 1, team: 0, public: 1 },
    mcp: ['nobody', 'public'],
    http: ['quiet'],
    listed: ['public', 'nobody'],
    facets: { nobody: 1, public: 1 },
    page: [['nobody', 'team', 'public']],
    loaded: ['team'],
    manifest: ['nobody', 'team', 'public'],
  });
  expect(stripVTControlCharacters(printed).match(/\bREACH\b|^quiet|^loud/gm)).toEqual([
    'REACH',
    'quiet',
    'REACH',
    'quiet',
  ]);
});
