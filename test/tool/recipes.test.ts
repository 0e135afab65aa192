import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { folderWith } from '../folder-with.js';
import { DEADLINE_MS, PROGRAM_OPTIONS, ROOT } from '../programs.js';

/** Returns the code of each step of a recipe in CONTRIBUTING.md. */
function stepsOf(recipe: string, count: number): readonly string[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const section = text.split(`## ${recipe}\n`)[1]!.split('\n## ')[0]!;
  const steps = [...section.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);
  expect(steps).toHaveLength(count);
  return steps;
}

/** Returns a function that edits files in a copy of the source. */
function copySource(folder: string) {
  for (const each of ['src', 'tools', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, each), join(folder, each), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return (file: string, change: (text: string) => string) => {
    const path = join(folder, file);
    const before = readFileSync(path, 'utf8');
    const after = change(before);
    expect(after, file).not.toBe(before);
    writeFileSync(path, after);
  };
}

/** Returns a copy of the source to which the axis and the option of CONTRIBUTING.md were added. */
function changedCopy(): string {
  const folder = folderWith({});
  const edit = copySource(folder);
  const importing = (text: string) => `import { Reach } from '../core/enums.js';\n${text}`;
  const after = (line: RegExp, added: string) => (text: string) =>
    text.replace(line, (found) => found + added);
  const [values, exported, axis, axisRow, getter] = stepsOf('Adding an axis', 5);
  edit('src/core/enums.ts', (text) => text + values!);
  edit('src/index.ts', (text) => text + exported!);
  edit('src/tool/tool-options.ts', after(/ {2}readonly costTier\?: CostTier;\n/, axis!));
  edit('src/tool/axes.ts', (text) =>
    importing(after(/const AXES = \{[^]*?\n {2}\},\n/, axisRow!)(text)),
  );
  edit('src/registry/tool-metadata-registry.ts', (text) =>
    importing(text.replace('\n  getByCategory(', (line) => `\n${getter!}${line}`)),
  );
  const [option, row, shown, fact] = stepsOf('Adding an option of tools', 4);
  edit('src/tool/tool-options.ts', after(/ {2}readonly costTier\?: CostTier;\n/, option!));
  edit('src/tool/tool-fields.ts', after(/const TOOL_FIELDS = \{\n/, row!));
  edit('src/http/wire-tool.ts', after(/const LIST_FIELDS: .*\[\n/, shown!));
  edit('src/http/page/shown-fields.ts', after(/const FACTS = \[\n/, shown!));
  edit('src/cli/terminal/axis-row.ts', after(/const FACTS: .*\{\n/, fact!));
  return folder;
}

/** Asks every consumer about the axis `reach` and the option `maintainer`, and prints the answers. */
const QUESTIONS = `
import { defineTool, Reach, ToolMetadataRegistry, toolToJson } from './src/index.js';
import { CapabilityRegistry, loadManifest, manifestJsonSchema } from './src/capability.js';
import { createDiscoveryApp } from './src/http.js';
import { toMcpTools } from './src/interop.js';
import { runCli } from './src/cli/run-cli.js';
import { FACTS, FILTERS } from './src/http/page/shown-fields.js';
import { mkdtempSync, writeFileSync } from 'node:fs';

const sample = (name, reach) =>
  defineTool({ name, description: name + ' text', inputSchema: { type: 'object' }, reach, maintainer: 'team ' + name, execute: () => name });
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
await runCli(['show', 'quiet', '--tools', 'tools.mjs'], terminal, process.cwd());
const manifests = mkdtempSync('manifests-');
writeFileSync(manifests + '/tools.json', JSON.stringify([
  { name: 'written', description: 'Written text', type: 'function', parameters: { type: 'object', properties: {} }, reach: 'team', maintainer: 'team written' },
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
  page: FILTERS.filter(({ key }) => key === 'reach').map(({ order }) => order),
  loaded: definitions.map(({ reach }) => reach),
  manifest: manifestJsonSchema.definitions.tool.properties.reach?.enum,
  option: {
    stored: toolToJson(tools[0]).maintainer,
    listed: (await get('/tools')).tools.map(({ maintainer }) => maintainer),
    loaded: definitions.map(({ maintainer }) => maintainer),
    manifest: manifestJsonSchema.definitions.tool.properties.maintainer?.description,
    page: FACTS.includes('maintainer'),
  },
  printed,
}));
`;

it('an axis and an option that are added as CONTRIBUTING.md says reach every consumer', async () => {
  const folder = changedCopy();
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
    option: {
      stored: 'team quiet',
      listed: ['team loud', 'team quiet'],
      loaded: ['team written'],
      manifest: 'The team that maintains the tool.',
      page: true,
    },
  });
  const lines = stripVTControlCharacters(printed);
  expect(lines.match(/\bREACH\b|^(?:quiet|loud) /gm)).toEqual([
    'REACH',
    'quiet ',
    'REACH',
    'quiet ',
    'quiet ',
  ]);
  expect(lines).toMatch(/^reach +nobody$/m);
  expect(lines).toMatch(/^maintainer +team quiet$/m);
});
