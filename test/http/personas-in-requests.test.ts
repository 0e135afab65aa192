import { describe, expect, it } from 'vitest';
import { ManifestTree, toolEntry } from '../capability/manifest-tree.js';
import { sample, type Item, type Json } from './catalogue-fixture.js';

const LISTS = [
  '/tools',
  '/search?q=alpha+beta+only_atlas+only_nova',
  '/findings',
  '/skills',
  '/jobs',
];
const with_ = (path: string, query: string) => `${path}${path.includes('?') ? '&' : '?'}${query}`;
const itemsOf = ({ tools, results, findings, skills, jobs }: Json): readonly Item[] =>
  tools ?? results ?? findings ?? skills ?? jobs;
const owners = (items: readonly Item[]) => new Set(items.map(({ persona }) => persona));

describe('the persona parameter', () => {
  it.each(LISTS)(
    "limits %s to shared items and the persona's own items, each with its compatibility",
    async (path) => {
      const { json } = await sample();
      const everything = itemsOf(await json(path));
      expect(everything.length).toBeGreaterThan(0);
      for (const { persona, compatibility } of everything)
        expect(compatibility).toMatchObject({
          persona,
          persona_specific: persona !== null,
          matches_request: true,
        });
      const nova = itemsOf(await json(with_(path, 'persona=nova')));
      expect([...owners(nova)].every((owner) => owner === null || owner === 'Nova')).toBe(true);
      for (const { persona, compatibility } of nova)
        expect(compatibility).toMatchObject({ persona, matches_request: true });
      // All skills of the sample are shared.
      expect(nova.length < everything.length).toBe(path !== '/skills');
    },
  );

  it('marks shared tools that the persona may not use as incompatible, and excludes them from searches', async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('guarded', { persona_allowlist: ['Nova'] })],
      'personas/Atlas/functions.json': [toolEntry('own')],
    });
    const { json } = await sample({}, tree);
    const fits = async (path: string) =>
      itemsOf(await json(path))
        .filter(({ name }) => name === 'guarded')
        .map(
          ({ compatibility }) => (compatibility as { matches_request: boolean }).matches_request,
        );
    expect([
      await fits('/tools'),
      await fits('/tools?persona=Nova'),
      await fits('/tools?persona=Atlas'),
      await fits('/tools?persona=Atlas,Nova'),
    ]).toEqual([[true], [true], [false], [true]]);
    expect((await json('/tools/guarded?persona=Atlas')) as unknown).toMatchObject({
      compatibility: { matches_request: false, allowlist: ['Nova'] },
    });
    expect([...new Set(await fits('/findings?persona=Atlas'))]).toEqual([false]);
    expect([
      await fits('/search?q=guarded'),
      await fits('/search?q=guarded&persona=Nova'),
      await fits('/search?q=guarded&persona=Atlas'),
    ]).toEqual([[true], [true], []]);
  });

  it("lists the persona's own tool and the shared tool of that name, but lookups and searches find only the persona's own tool", async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('ours')],
      'personas/Atlas/functions.json': [toolEntry('ours')],
    });
    const { json } = await sample({}, tree);
    const ownersIn = async (path: string) =>
      itemsOf(await json(path))
        .filter(({ name }) => name === 'ours')
        .map(({ persona }) => persona);
    expect([
      await ownersIn('/tools?persona=Atlas'),
      await ownersIn('/search?q=ours&persona=Atlas'),
    ]).toEqual([[null, 'Atlas'], ['Atlas']]);
    expect(await json('/tools/ours?persona=Atlas')).toMatchObject({ persona: 'Atlas' });
  });

  it.each([...LISTS, '/tools/alpha', '/summary'])(
    "is refused by %s with a suggestion if the catalogue doesn't have that persona",
    async (path) => {
      const { get } = await sample();
      const response = await get(with_(path, 'persona=Atals'));
      expect(response.status).toBe(404);
      expect(((await response.json()) as Json).error).toEqual({
        code: 'PERSONA_NOT_FOUND',
        message:
          'Expected persona as the name of a persona in the catalogue, got "atals". Did you mean Atlas?',
        parameter: 'persona',
        expected: 'the name of a persona in the catalogue',
        found: 'atals',
      });
    },
  );

  it('is refused if it excludes an unknown persona, and the error lists all personas if no name is similar', async () => {
    const { json } = await sample();
    expect((await json('/tools?persona=-zzzzzz')).error.message).toContain(
      'The personas are Atlas, Nova.',
    );
  });

  it('can be omitted for a tool that only one persona has, but is required if several personas have the tool', async () => {
    const tree = new ManifestTree({
      'personas/Atlas/functions.json': [toolEntry('mine'), toolEntry('ours')],
      'personas/Nova/functions.json': [toolEntry('ours')],
    });
    const { get, json } = await sample({}, tree);
    expect(await json('/tools/mine')).toMatchObject({ name: 'mine', persona: 'Atlas' });
    expect((await get('/tools/ours')).status).toBe(400);
    expect((await json('/tools/ours')).error.message).toContain('one of Atlas, Nova');
  });
});

describe('a search with filters', () => {
  it('returns the numbers of matching tools, all tools, and matches for every other filter value', async () => {
    const { json, capabilities } = await sample();
    capabilities.recordTool('beta', { success: false, latencyMs: 1 });
    type Counted = Json & {
      readonly searched: number;
      readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
    };
    const counted = async (query: string) =>
      (await json(
        `/search?q=alpha+beta+gam.ma+only_atlas+only_nova&facets=true&limit=1&${query}`,
      )) as Counted;
    const all = await counted('');
    expect([all.count, all.total, all.searched]).toEqual([1, 6, 6]);
    expect(all.facets).toMatchObject({
      danger_level: { low: 4, medium: 1, critical: 1 },
      provider: { Primary: 1, primary: 1, backup: 1 },
      health: { failing: 1, 'no calls': 5 },
      priority: { high: 1, medium: 5 },
    });
    const writes = await counted('access_mode=write&name=beta&name=alpha');
    expect([writes.total, writes.searched]).toEqual([1, 6]);
    // A filter changes the counts of other axes, but not the counts of its own axis.
    expect(writes.facets).toMatchObject({
      access_mode: { write: 1, readonly: 2 },
      danger_level: { medium: 1 },
    });
    expect((await counted('health=failing')).total).toBe(1);
    expect((await counted('persona=Atlas')).searched).toBe(4);
    expect('facets' in (await json('/search?q=alpha'))).toBe(false);
  });
});

describe('findings', () => {
  it('are reported for every tool, including tools that only some personas may use', async () => {
    const tree = new ManifestTree({
      'functions.json': [toolEntry('guarded', { persona_allowlist: ['Nova'] })],
    });
    expect(
      (await (await sample({}, tree)).json('/findings')).findings.map(({ name }) => name),
    ).toContain('guarded');
  });

  it("report similar descriptions only if there's a persona that may call both tools", async () => {
    const same = { description: 'Looks up the price of a share on the exchange' };
    const tree = new ManifestTree({
      'functions.json': [
        toolEntry('price', same),
        toolEntry('for_nova', { ...same, persona_allowlist: ['Nova'] }),
      ],
      'personas/Atlas/functions.json': [toolEntry('price', same), toolEntry('quote', same)],
      'personas/Nova/functions.json': [toolEntry('value', same)],
    });
    const { json } = await sample({}, tree);
    const alike = (await json('/findings')).findings
      .filter(({ rule }) => rule === 'near-duplicate-description')
      .map(
        ({ name, persona, message }) =>
          `${name}@${persona ?? 'shared'}: ${/that of (\w+)/.exec(String(message))![1]}`,
      );
    expect(alike).toEqual(['price@shared: for_nova', 'quote@Atlas: price', 'value@Nova: for_nova']);
  });
});
