import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  CapabilityRegistry,
  type CapabilityChange,
  type CapabilitySource,
  type SourceTools,
} from '../../src/capability.js';
import { defineTool, type ToolDefinition } from '../../src/index.js';
import { ManualClock } from '../../src/testing.js';
import { jobEntry, ManifestTree, owned, skillEntry, toolEntry } from './manifest-tree.js';
import { definitionOf } from '../../src/tool/tool-definition.js';
import { propertyRuns } from '../property-runs.js';

const definition = (name: string, description = 'A tool'): ToolDefinition =>
  definitionOf({ name, description, inputSchema: { type: 'object' } });

/** A source whose next answer the test decides. */
class TestSource implements CapabilitySource {
  readonly name = 'server';
  readonly asked: boolean[] = [];
  answer: () => readonly ToolDefinition[];
  persona: string | null = null;

  constructor(...definitions: readonly ToolDefinition[]) {
    this.answer = () => definitions;
  }

  async load({ force }: { readonly force: boolean }): Promise<SourceTools> {
    this.asked.push(force);
    await Promise.resolve();
    return { definitions: this.answer(), persona: this.persona };
  }
}

it('a refresh reports added, edited, and removed items, and increases the revision only if there are any', async () => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('a'), toolEntry('b')] });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  expect(registry.revision).toBe(1);
  expect(await registry.refresh()).toMatchObject({
    revision: 1,
    changed: false,
    added: [],
    edited: [],
    removed: [],
  });

  tree.write('functions.json', [toolEntry('a', { version: '2.0.0' }), toolEntry('c')]);
  tree.write('personas/Atlas/Jobs/jobs.json', [jobEntry('J')]);
  expect(await registry.refresh()).toMatchObject({
    revision: 2,
    changed: true,
    added: [
      { kind: 'tool', owner: null, name: 'c' },
      { kind: 'job', owner: 'Atlas', name: 'J' },
    ],
    edited: [{ kind: 'tool', owner: null, name: 'a' }],
    removed: [{ kind: 'tool', owner: null, name: 'b' }],
  });
  tree.remove('personas');
  expect(await registry.refresh()).toMatchObject({
    removed: [{ kind: 'job', owner: 'Atlas', name: 'J' }],
  });
});

it("a refresh detects an edit that keeps the file's date and size", async () => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('aa')] });
  const file = join(tree.root, 'functions.json');
  utimesSync(file, 1_000, 1_000);
  const registry = await CapabilityRegistry.load({ root: tree.root });
  tree.write('functions.json', [toolEntry('bb')]);
  utimesSync(file, 1_000, 1_000);
  await registry.refresh();
  expect(owned(registry.tools())).toEqual(['bb@shared']);
});

it("a refresh reports no change if only a file's formatting differs", async () => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('a')] });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  const [tool] = registry.tools();
  tree.write('functions.json', JSON.stringify([toolEntry('a')], null, 4));
  expect((await registry.refresh()).changed).toBe(false);
  expect((await registry.refresh({ force: true })).changed).toBe(false);
  expect(registry.tools()[0]).toBe(tool);
});

it('a refresh keeps the last valid content of a broken file until the file is valid again', async () => {
  const tree = new ManifestTree({
    'functions.json': [toolEntry('a')],
    'personas/Nova/functions.json': [toolEntry('n')],
    'skills.json': [skillEntry('S')],
  });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  tree.write('functions.json', '[{"name": "a", ');
  tree.write('skills.json', '{}');
  tree.write('personas/Nova/functions.json', [toolEntry('n', { version: '2.0.0' })]);
  const change = await registry.refresh();
  expect(change.edited).toEqual([{ kind: 'tool', owner: 'Nova', name: 'n' }]);
  expect([owned(registry.tools()), owned(registry.skills())]).toEqual([
    ['a@shared', 'n@Nova'],
    ['S@shared'],
  ]);
  expect(registry.findings).toMatchObject([
    {
      severity: 'error',
      kind: 'unreadable',
      file: 'functions.json',
      line: 1,
      message: expect.stringMatching(/the file's last valid content stays in use\.$/),
    },
    { severity: 'error', kind: 'unreadable', file: 'skills.json' },
  ]);
  // The file is broken in a different way, and the content from before both edits is kept.
  tree.write('functions.json', 'null');
  await registry.refresh();
  expect(owned(registry.tools())).toEqual(['a@shared', 'n@Nova']);
  tree.write('functions.json', []);
  tree.write('skills.json', []);
  await registry.refresh();
  expect([owned(registry.tools()), registry.findings]).toEqual([['n@Nova'], []]);
});

it('a refresh keeps everything and reports an error if the folder is gone', async () => {
  const tree = new ManifestTree({
    'functions.json': [toolEntry('a')],
    'personas/Nova/functions.json': [toolEntry('n')],
  });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  tree.remove('.');
  await registry.refresh();
  expect(owned(registry.tools())).toEqual(['a@shared', 'n@Nova']);
  expect(registry.findings).toMatchObject([{ kind: 'unreadable', severity: 'error' }]);
});

it('a refresh leads to the same state as loading a new registry, after any edits', async () => {
  const file = fc.constantFrom(
    'functions.json',
    'personas/Atlas/functions.json',
    'personas/Nova/Toolbox/functions.json',
  );
  const content = fc.option(
    fc.uniqueArray(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c', 'constructor', '__proto__'),
        version: fc.constantFrom('1.0.0', '2.0.0'),
      }),
      { selector: ({ name }) => name, maxLength: 3 },
    ),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(file, content), { minLength: 1, maxLength: 5 }),
      async (edits) => {
        const tree = new ManifestTree({ 'functions.json': [] });
        const registry = await CapabilityRegistry.load({ root: tree.root });
        for (const [path, tools] of edits) {
          if (tools !== null)
            tree.write(
              path,
              tools.map(({ name, version }) => toolEntry(name, { version })),
            );
          else if (registry.tools().some(({ source }) => source === path)) tree.remove(path);
          await registry.refresh();
        }
        const fresh = await CapabilityRegistry.load({ root: tree.root });
        const { revision: _, ...summary } = registry.summary();
        const { revision: __, ...expected } = fresh.summary();
        expect(summary).toEqual(expected);
        expect(registry.findings).toEqual(fresh.findings);
      },
    ),
    { numRuns: propertyRuns(40) },
  );
});

it("a refresh doesn't change lists and registries that the program already has", async () => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('a', { version: '1.0.0' })] });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  const before = registry.tools();
  const view = registry.registryFor();
  tree.write('functions.json', []);
  await registry.refresh();
  expect([before[0]!.entry.version, view.size, registry.registryFor().size]).toEqual([
    '1.0.0',
    1,
    0,
  ]);
  expect(Object.isFrozen(before)).toBe(true);
});

it('a refresh makes the changes of two files visible at the same time', async () => {
  const tree = new ManifestTree({
    'functions.json': [toolEntry('a', { version: '1.0.0' })],
    'personas/Atlas/functions.json': [toolEntry('b', { version: '1.0.0' })],
  });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  tree.write('functions.json', [toolEntry('a', { version: '2.0.0' })]);
  tree.write('personas/Atlas/functions.json', [toolEntry('b', { version: '2.0.0' })]);
  const seen = new Set<string>();
  const look = () =>
    seen.add(
      registry
        .tools()
        .map(({ entry }) => entry.version)
        .join(),
    );
  let done = false;
  const refreshing = registry.refresh().finally(() => (done = true));
  while (!done) {
    look();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await refreshing;
  look();
  expect([...seen]).toEqual(['1.0.0,1.0.0', '2.0.0,2.0.0']);
});

it('a source that fails keeps its last tools, and the error is reported without secrets', async () => {
  const source = new TestSource(definition('remote'));
  const registry = await CapabilityRegistry.load({ sources: [source] });
  source.answer = () => {
    throw new Error('refused: token=abcdef123456');
  };
  expect(await registry.refresh()).toMatchObject({
    changed: true,
    added: [],
    edited: [],
    removed: [],
  });
  expect(owned(registry.tools())).toEqual(['remote@shared']);
  expect(registry.findings).toMatchObject([
    {
      kind: 'unreadable',
      file: 'server',
      line: null,
      message: expect.stringMatching(/The last 1 tools stay/),
    },
  ]);
  expect(registry.findings[0]!.message).not.toContain('abcdef123456');
});

it("a source can replace a tool's function without a new revision", async () => {
  const source = new TestSource(definition('remote'));
  const registry = await CapabilityRegistry.load({ sources: [source] });
  const again = defineTool({ ...definition('remote'), execute: () => 1 });
  source.answer = () => [again];
  expect((await registry.refresh()).changed).toBe(false);
  expect(registry.tool('remote')!.entry.definition).toBe(again);
  expect(registry.registryFor().get('remote')!.definition).toBe(again);
});

it('a source is overridden by tools of the same name in code and files, and the duplicate is reported', async () => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('x'), toolEntry('y')] });
  const registry = await CapabilityRegistry.load({
    root: tree.root,
    tools: [definition('x')],
    sources: [new TestSource(definition('y'), definition('z'))],
  });
  expect(registry.tools().map(({ name, source }) => `${name} ${source}`)).toEqual([
    'x code',
    'y functions.json',
    'z server',
  ]);
  expect(registry.findings).toMatchObject([
    { kind: 'duplicate', file: 'functions.json', line: 1, entryName: 'x' },
    { kind: 'duplicate', file: 'server', entryName: 'y' },
  ]);
});

it('watch refreshes at every interval, calls listeners only for changes, and can be stopped', async () => {
  const clock = new ManualClock();
  const source = new TestSource(definition('a'));
  const registry = await CapabilityRegistry.load({ sources: [source], clock });
  const changes: CapabilityChange[] = [];
  registry.onChange((change) => changes.push(change));
  const stop = registry.watch({ intervalMs: 500 });
  await clock.advanceAsync(1_000);
  expect([source.asked.length, changes.length]).toEqual([3, 0]);
  source.answer = () => [definition('a', 'Another tool')];
  await clock.advanceAsync(500);
  expect(changes).toMatchObject([
    { revision: 2, edited: [{ kind: 'tool', owner: null, name: 'a' }] },
  ]);
  stop();
  await clock.advanceAsync(5_000);
  expect([source.asked.length, clock.pending]).toEqual([4, 0]);
});

it.each<[string, unknown, RegExp]>([
  ['a missing folder', { root: './no/such/folder' }, /root as a folder/],
  [
    'an unknown option',
    { roots: '.' },
    /Expected a known option, got "roots"\. Did you mean "root"\?/,
  ],
  ['a tool instead of a list', { tools: 'tool' }, /tools: Expected a list of tools, got "tool"\./],
])('CapabilityRegistry.load refuses %s', async (_, options, message) => {
  await expect(CapabilityRegistry.load(options as never)).rejects.toThrow(message);
});

it('CapabilityRegistry.load refuses two sources with the same name', async () => {
  await expect(
    CapabilityRegistry.load({ sources: [new TestSource(), new TestSource()] }),
  ).rejects.toThrow(/different names/);
});

/** A source that announces changes. */
class TellingSource extends TestSource {
  readonly listeners = new Set<(tools: SourceTools) => void>();

  onChange(listener: (tools: SourceTools) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  tell(...definitions: readonly ToolDefinition[]): void {
    this.answer = () => definitions;
    for (const listener of this.listeners) listener({ definitions });
  }
}

const turn = () => Promise.resolve();

it('a source that announces changes updates the registry immediately until the registry is closed', async () => {
  const source = new TellingSource(definition('a'));
  const registry = await CapabilityRegistry.load({ sources: [source] });
  const changes: CapabilityChange[] = [];
  registry.onChange((change) => changes.push(change));
  source.tell(definition('d'));
  expect(changes).toMatchObject([
    { revision: 2, added: [{ name: 'd' }], removed: [{ name: 'a' }] },
  ]);
  expect([owned(registry.tools()), registry.registryFor().has('d'), source.asked]).toEqual([
    ['d@shared'],
    true,
    [true],
  ]);
  source.tell(...source.answer());
  await turn();
  expect(registry.revision).toBe(2);

  registry.close();
  expect(source.listeners.size).toBe(0);
  source.answer = () => [definition('e')];
  expect(await registry.refresh()).toMatchObject({ added: [{ name: 'e' }] });
});
