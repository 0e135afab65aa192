import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { atlas, owned, present, readShared, warnIfAbsent } from './manifest-tree.js';

warnIfAbsent('the recorded manifest folder');

type Item = Readonly<Record<string, unknown>> & {
  readonly name: string;
  readonly persona: string | null;
};
type Recorded = Readonly<Record<'tools' | 'skills' | 'tasks' | 'jobs', readonly Item[]>>;

const keyOf = ({ name, persona }: { readonly name: string; readonly persona: string | null }) =>
  `${name}@${persona ?? 'shared'}`;

describe.runIf(present)('the recorded manifest folder', () => {
  const load = () => CapabilityRegistry.load({ root: atlas, env: {} });

  it('has the recorded dangling references in its skills', async () => {
    const recorded = (
      readShared('data/atlas/real-tree.json') as {
        readonly dangling: readonly (readonly [string, string | null, string, string, string])[];
      }
    ).dangling;
    const expected = recorded.map(([, , skill, , tool]) => `${skill} ${tool}`);
    const found = (await load())
      .skills()
      .flatMap(({ name, unresolved }) => unresolved.tools.map((tool) => `${name} ${tool}`));
    expect(found.sort()).toEqual(expected.sort());
  });

  it.each([
    ['real-summary-all.json', null],
    ['real-summary-ATLAS.json', 'ATLAS'],
  ] as const)('has the summary recorded in %s', async (file, persona) => {
    const recorded = readShared(`data/atlas/${file}`) as Recorded;
    const registry = await load();
    const summary = registry.summary({ persona });
    // Entries that the recorded system's own schema refuses. The recorded system listed them anyway.
    const wrong = new Set(
      registry.findings.map(({ entryName, owner }) => `${entryName}@${owner ?? 'shared'}`),
    );
    // Personas are ordered case-insensitively here. The recorded system put capitals first.
    const tools = inOrder(recorded.tools.filter((tool) => !wrong.has(keyOf(tool))));
    expect(summary.tools.map(keyOf)).toEqual(tools.map(keyOf));
    summary.tools.forEach((tool, index) => {
      const { name, version, capabilities, capability_tags, compatibility, providers } =
        tools[index]!;
      expect({
        ...tool,
        compatibility: undefined,
        providers: withoutRest(tool.providers),
      }).toMatchObject({
        name,
        version,
        capabilities,
        capability_tags,
        compatibility: undefined,
        providers: withoutRest(providers),
      });
      expect(tool.compatibility).toEqual(compatibility);
      expect(Object.keys(tool.health.providers)).toEqual(
        (providers as readonly { readonly name: string }[]).map((provider) => provider.name),
      );
    });
    expect(summary.skills).toMatchObject(inOrder(recorded.skills));
    expect(summary.jobs.map(withoutHealth)).toMatchObject(
      inOrder(recorded.jobs).map(withoutHealth),
    );
    // Without a persona, the recorded system listed only the shared tasks.
    const tasks =
      persona === null ? summary.tasks.filter((task) => task.persona === null) : summary.tasks;
    // Tasks have the same order as other items here. The recorded system ordered them only by name.
    expect([...tasks].sort(byName)).toMatchObject([...recorded.tasks].sort(byName));
  });

  it("has a registry for every persona, with the persona's own tools instead of shared tools of the same name", async () => {
    const registry = await load();
    for (const persona of registry.personas)
      expect(registry.registryFor(persona).size, persona).toBeGreaterThan(70);
    expect(owned(registry.tools({ filter: { name: 'google_search' } })).length).toBeGreaterThan(1);
    expect(registry.registryFor('Echo').get('context_tracker')).toBe(
      registry.tool('context_tracker', 'echo')!.entry,
    );
    expect(registry.registryFor('ATLAS').has('context_tracker')).toBe(
      registry.tool('context_tracker') !== undefined,
    );
  });
});

function inOrder(items: readonly Item[]): readonly Item[] {
  const ownerOf = ({ persona }: Item) => persona?.toLowerCase() ?? '';
  return [...items].sort((a, b) =>
    ownerOf(a) < ownerOf(b) ? -1 : ownerOf(a) > ownerOf(b) ? 1 : 0,
  );
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}

function withoutHealth(item: object): object {
  return { ...item, health: undefined };
}

/** The recorded system wrote provider intervals as decimal numbers and omitted empty configurations. */
function withoutRest(providers: unknown): unknown {
  return (providers as readonly Record<string, unknown>[]).map(
    ({ name, priority, health_check_interval }) => ({
      name,
      ...(priority === undefined ? {} : { priority }),
      ...(health_check_interval === undefined ? {} : { interval: Number(health_check_interval) }),
    }),
  );
}
