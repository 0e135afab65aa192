import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, tooldex } from './command-line.js';

const TOOL =
  "export const own = { name: 'own', description: 'Counts parcels', inputSchema: { type: 'object' }, accessMode: 'readonly', execute: () => 1 };";
const GREET = [{ name: 'greet', description: 'Greets', parameters: { type: 'object' } }];

/** Returns a folder that is its own repository, so no settings above it apply. */
const project = (config: object, files: Readonly<Record<string, unknown>> = {}) =>
  folderWith({
    '.git/HEAD': '',
    'tools/own.mjs': `import { defineTool } from '${join(import.meta.dirname, '../../src/index.ts')}'; ${TOOL.replace('= {', '= defineTool({').replace('};', '});')}`,
    'tooldex.config.json': config,
    ...files,
  });
const namesIn = ({ out }: { readonly out: string }) =>
  (JSON.parse(out) as { name: string }[]).map(({ name }) => name);

describe('tooldex.config.json', () => {
  it('names the tools of a project, for commands in every folder of it', async () => {
    const cwd = project({ tools: 'tools' });
    mkdirSync(join(cwd, 'sub'));
    for (const folder of [cwd, join(cwd, 'sub')])
      expect(namesIn(await tooldex(['list', '--json'], { cwd: folder }))).toEqual(['own']);
  });

  it('has next to it the hints, which commands in every folder read', async () => {
    const cwd = project(
      { tools: 'tools' },
      { 'tooldex.hints.json': { own: { keywords: ['packets'] } }, 'sub/a.txt': '' },
    );
    const { out } = await tooldex(['search', 'packets', '--json'], { cwd: join(cwd, 'sub') });
    expect(JSON.parse(out)).toMatchObject({ search: [{ toolName: 'own' }] });
  });

  it('is replaced by the places on the command line', async () => {
    const cwd = project({ tools: 'nowhere' });
    expect(namesIn(await tooldex(['list', '--json', '--tools', 'tools'], { cwd }))).toEqual([
      'own',
    ]);
  });

  it('can name the manifests for which --persona is used', async () => {
    const cwd = project({ manifests: 'm' }, { 'm/personas/Ada/functions.json': GREET });
    const list = ['list', '--json', '--persona', 'Ada'];
    expect(namesIn(await tooldex(list, { cwd }))).toEqual(['greet']);
    expect(await tooldex(list, { cwd: project({}) })).toMatchObject({
      code: 2,
      err: expect.stringContaining('--persona only works with --manifests'),
    });
  });

  it('is needed for lint and eval if the command line names no tools', async () => {
    const cwd = project({}, { 'requests.jsonl': '{"text": "a", "tools": ["own"]}' });
    for (const command of [['lint'], ['eval', 'requests.jsonl'], ['enrich', '--check']])
      expect(await tooldex(command, { cwd })).toMatchObject({
        code: 2,
        err: expect.stringContaining('Expected tools of yours'),
      });
  });

  it('with an unknown setting is refused', async () => {
    expect(await tooldex(['list'], { cwd: project({ tool: 'tools' }) })).toMatchObject({
      code: 2,
      err: expect.stringContaining('Did you mean "tools"'),
    });
  });
});
