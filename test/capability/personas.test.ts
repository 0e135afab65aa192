import { expect, it } from 'vitest';
import { CapabilityRegistry, type CapabilitySource } from '../../src/capability.js';
import { SafetyPolicy, type ToolCall } from '../../src/index.js';
import { jobEntry, ManifestTree, toolEntry } from './manifest-tree.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

const sample = () =>
  new ManifestTree({
    'functions.json': [
      toolEntry('shared'),
      toolEntry('both', { version: '1.0.0' }),
      toolEntry('for_nova', { persona_allowlist: [' NOVA '] }),
      toolEntry('for_nobody', { persona_allowlist: [] }),
    ],
    'personas/Atlas/functions.json': [
      toolEntry('both', { version: '2.0.0', aliases: ['shared_alias'] }),
      toolEntry('own'),
    ],
    'personas/Nova/functions.json': [toolEntry('extra')],
  });
const names = (registry: Iterable<{ readonly name: string }>) =>
  [...registry].map(({ name }) => name).sort();

it("the registry for a persona has the shared tools and the persona's own tools, but no tools reserved for other personas", async () => {
  const registry = await CapabilityRegistry.load({ root: sample().root });
  expect(names(registry.registryFor(' ATLAS '))).toEqual(['both', 'own', 'shared']);
  expect(registry.registryFor('Atlas').get('both')!.version).toBe('2.0.0');
  expect(names(registry.registryFor('nova'))).toEqual(['both', 'extra', 'for_nova', 'shared']);
  expect(registry.registryFor('nova').get('both')!.version).toBe('1.0.0');
});

it('the registry for a persona is the registry of the shared tools if the persona is unknown or missing', async () => {
  const registry = await CapabilityRegistry.load({ root: sample().root });
  expect(names(registry.registryFor())).toEqual(['both', 'shared']);
  for (const nobody of ['ghost', 'constructor', '__proto__', '', null])
    expect(registry.registryFor(nobody)).toBe(registry.registryFor());
});

it('the registry for a persona is the same object until one of its tools changes', async () => {
  const tree = sample();
  const registry = await CapabilityRegistry.load({ root: tree.root });
  const [atlas, nova] = [registry.registryFor('Atlas'), registry.registryFor('Nova')];
  tree.write('personas/Nova/functions.json', [toolEntry('extra', { version: '3.0.0' })]);
  await registry.refresh();
  expect(registry.registryFor('atlas')).toBe(atlas);
  expect(registry.registryFor('nova')).not.toBe(nova);
  expect(registry.registryFor('nova').get('extra')!.version).toBe('3.0.0');
  tree.remove('personas/Nova');
  await registry.refresh();
  expect(names(registry.registryFor('nova'))).toEqual(['both', 'for_nova', 'shared']);
});

it("an item's compatibility shows whether the requesting persona may use the item, and takes allowlists into account", async () => {
  const tree = sample();
  tree.write('jobs.json', [
    jobEntry('J', { personas: ['Atlas', 'nova'] }),
    jobEntry('K', { personas: ['Nova'] }),
  ]);
  const registry = await CapabilityRegistry.load({ root: tree.root });
  const fits = (persona: string | null) =>
    Object.fromEntries(
      registry
        .summary({ persona })
        .tools.map((tool) => [
          `${tool.name}@${tool.persona ?? 'shared'}`,
          tool.compatibility.matches_request,
        ]),
    );
  expect(fits('atlas')).toEqual({
    'both@shared': true,
    'both@Atlas': true,
    'own@Atlas': true,
    'shared@shared': true,
    'for_nova@shared': false,
    'for_nobody@shared': false,
  });
  expect(fits('Nova')['for_nova@shared']).toBe(true);
  expect(Object.values(fits(null)).every(Boolean)).toBe(true);
  expect(
    registry.summary({ persona: 'Atlas' }).tools.find(({ name }) => name === 'own')!.compatibility,
  ).toEqual({ persona: 'Atlas', persona_specific: true, matches_request: true, allowlist: [] });
  expect(
    registry
      .summary({ persona: 'ATLAS' })
      .jobs.map(({ name, compatibility }) => [name, compatibility]),
  ).toEqual([
    [
      'J',
      {
        persona: null,
        persona_specific: false,
        matches_request: true,
        allowlist: ['Atlas', 'nova'],
      },
    ],
  ]);
});

const call = (name: string): ToolCall => ({ id: '1', name, input: {} });

it('the policy rules of a registry let a persona call only the tools in its registry, whichever registry the policy uses', async () => {
  const capabilities = await CapabilityRegistry.load({ root: sample().root });
  const nova = new SafetyPolicy({
    registry: capabilities.registryFor('Nova'),
    rules: [...capabilities.policyRules(), { verdict: 'allow', upTo: 'critical' }],
  });
  const verdict = (name: string, persona?: string) =>
    nova.decide(call(name), persona === undefined ? {} : { persona }).verdict;
  expect([verdict('extra', ' NOVA'), verdict('extra', 'Atlas'), verdict('extra')]).toEqual([
    'allow',
    'deny',
    'deny',
  ]);
  expect([verdict('for_nova', 'nova'), verdict('for_nova', 'Atlas'), verdict('shared')]).toEqual([
    'allow',
    'deny',
    'allow',
  ]);
  expect(nova.decide(call('extra'), { persona: 'Atlas' }).rule).toBe('persona-tools');
});

it('the policy rules of a registry refuse a tool that a later edit removed for the persona, even with an older registry', async () => {
  const tree = sample();
  const capabilities = await CapabilityRegistry.load({ root: tree.root });
  const policy = new SafetyPolicy({
    registry: capabilities.registryFor('Atlas'),
    rules: [...capabilities.policyRules(), { verdict: 'allow', upTo: 'critical' }],
  });
  expect(policy.decide(call('shared'), { persona: 'Atlas' }).verdict).toBe('allow');
  tree.write('functions.json', [toolEntry('shared', { persona_allowlist: ['Nova'] })]);
  await capabilities.refresh();
  expect(policy.decide(call('shared'), { persona: 'Atlas' }).verdict).toBe('deny');
  tree.remove('personas/Atlas');
  await capabilities.refresh();
  expect(policy.decide(call('own'), { persona: 'Atlas' }).verdict).toBe('deny');
});

it('the policy rules of a registry ignore tools that were never in the catalogue', async () => {
  const capabilities = await CapabilityRegistry.load({ root: sample().root });
  const registry = capabilities.registryFor();
  registry.register(
    definitionOf({
      name: 'mine',
      description: 'Mine',
      inputSchema: { type: 'object' },
      accessMode: 'readonly',
    }),
  );
  const policy = new SafetyPolicy({ registry, rules: capabilities.policyRules() });
  expect(policy.decide(call('mine'), {}).verdict).toBe('allow');
});

it('the policy rules of a registry let both owners of a shared definition call the tool', async () => {
  const definition = definitionOf({
    name: 'remote',
    description: 'Remote',
    inputSchema: { type: 'object' },
    accessMode: 'readonly',
  });
  const source = (persona: string): CapabilitySource => ({
    name: persona,
    load: () => Promise.resolve({ persona, definitions: [definition] }),
  });
  const capabilities = await CapabilityRegistry.load({ sources: [source('A'), source('B')] });
  const policy = new SafetyPolicy({
    registry: capabilities.registryFor('A'),
    rules: capabilities.policyRules(),
  });
  expect(
    ['A', 'B', 'C'].map((persona) => policy.decide(call('remote'), { persona }).verdict),
  ).toEqual(['allow', 'allow', 'deny']);
});
