import { describe, expect, it } from 'vitest';
import { CapabilityRegistry, type CapabilityTool, type ToolQuery } from '../../src/capability.js';
import { isToolError } from '../../src/index.js';
import {
  golden,
  jobEntry,
  ManifestTree,
  owned,
  present,
  skillEntry,
  taskEntry,
  toolEntry,
  warnIfAbsent,
} from './manifest-tree.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

warnIfAbsent('capability queries');

/** Each tool has its own source, so owners and versions can be anything. */
async function withTools(
  tools: readonly {
    readonly name: string;
    readonly persona?: string | null;
    readonly version?: string;
  }[],
): Promise<CapabilityRegistry> {
  return CapabilityRegistry.load({
    sources: tools.map(({ name, persona = null, version }, index) => ({
      name: `source ${index}`,
      load: () =>
        Promise.resolve({
          persona,
          definitions: [
            definitionOf({
              name,
              description: 'A tool',
              inputSchema: { type: 'object' },
              ...(version === undefined ? {} : { version }),
            }),
          ],
        }),
    })),
  });
}

const sample = new ManifestTree({
  'functions.json': [
    toolEntry('search', {
      version: '1.2.0',
      capabilities: ['Search', ' search ', '', 'math'],
      providers: [
        { name: 'Primary', priority: 0 },
        { name: 'backup', priority: 5 },
      ],
      safety_level: 'medium',
    }),
    toolEntry('plain', { version: '0.9', side_effects: 'write' }),
    toolEntry('unversioned'),
  ],
  'personas/Atlas/functions.json': [
    toolEntry('search', {
      version: '2.0.0-beta',
      capabilities: ['atlas'],
      providers: [{ name: 'primary' }],
    }),
  ],
  'personas/Nova/functions.json': [toolEntry('extra', { version: 'not a version' })],
});
const load = () => CapabilityRegistry.load({ root: sample.root, env: {} });

describe('CapabilityRegistry.tools', () => {
  it('returns shared tools first, ordered by persona and name', async () => {
    expect(owned((await load()).tools())).toEqual([
      'plain@shared',
      'search@shared',
      'unversioned@shared',
      'search@Atlas',
      'extra@Nova',
    ]);
  });

  it.each<[string, ToolQuery, readonly string[]]>([
    [
      "returns a persona's tools and shared tools",
      { personas: 'atlas' },
      ['plain@shared', 'search@shared', 'unversioned@shared', 'search@Atlas'],
    ],
    ['excludes shared tools with -shared', { personas: ['Atlas', '-shared'] }, ['search@Atlas']],
    [
      'accepts several personas in one string',
      { personas: ' ATLAS , without-shared ,nova' },
      ['search@Atlas', 'extra@Nova'],
    ],
    ['excludes a persona with -name', { personas: ['-shared', '-atlas'] }, ['extra@Nova']],
    [
      'returns shared tools for an unknown persona',
      { personas: 'ghost' },
      ['plain@shared', 'search@shared', 'unversioned@shared'],
    ],
    ['requires all given providers', { provider: ['PRIMARY', 'backup'] }, ['search@shared']],
    ['requires all given capabilities', { capability: ['search', 'MATH'] }, ['search@shared']],
    [
      'compares versions by parts, and skips tools without a version',
      { version: '>=0.9' },
      ['plain@shared', 'search@shared', 'search@Atlas'],
    ],
    ['accepts any of several side effects', { sideEffect: ['write', 'system'] }, ['plain@shared']],
    [
      'derives a missing safety level from the danger',
      { safetyLevel: 'medium' },
      ['plain@shared', 'search@shared'],
    ],
    ['applies the filter of registries', { filter: { accessMode: 'write' } }, ['plain@shared']],
  ])('%s', async (_, query, expected) => {
    expect(owned((await load()).tools(query))).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['an unknown condition', { provder: 'x' }],
    ['a rate above 1', { minSuccessRate: 80 }],
    ['an invalid version', { version: '>=abc' }],
  ])('refuses %s', async (_, query) => {
    const registry = await load();
    expect(() => registry.tools(query as ToolQuery)).toThrow(
      expect.toSatisfy((error) => isToolError(error, 'INVALID_ARGUMENT')),
    );
  });
});

/** Constraints that the recorded system understood. For other constraints, it returned no tools or all tools. */
const UNDERSTOOD = [
  '>=1.2',
  '>=1.2.0',
  '<1.2',
  '=1.2.0',
  '==1.2.0',
  '===1.2.0',
  '>=1.0,<2',
  '>= 1.2',
  '<2',
  '>=1.0, <2.0, ',
  '',
  ',',
];

it.runIf(present)('version constraints match the recorded versions', async () => {
  type Case = {
    readonly version: string | null;
    readonly constraint: string | null;
    readonly output: boolean;
  };
  let compared = 0;
  for (const { version, constraint, output } of golden<{ readonly cases: readonly Case[] }>(
    'version_match',
  ).cases) {
    // The recorded system compared prereleases as text, and ranked an incomplete version below the same
    // complete version.
    if (
      !/^\d+\.\d+\.\d+$/.test(version ?? '') ||
      (constraint !== null && !UNDERSTOOD.includes(constraint))
    )
      continue;
    const registry = await withTools([{ name: 'a', version: version! }]);
    expect(
      registry.tools(constraint === null ? {} : { version: constraint }).length === 1,
      `${version} ${constraint}`,
    ).toBe(output);
    compared++;
  }
  expect(compared).toBeGreaterThan(40);
});

// These results differ from the recorded system on purpose.
it.each<[string, string, boolean]>([
  ['1.2.3', '^1.2', true],
  ['2.0.0', '^1.2', false],
  ['1.2.3', '~1.2', true],
  ['1.9.0', '1.x', true],
  ['0.4.0', '>=1 || <0.5', true],
  ['1.2.3', '1.2', true],
  ['1.0.0-beta', '>=1.0.0', false],
  ['1.0.0-rc.2', '<1.0.0-rc.10', true],
  ['next', '>=0', false],
])('version constraints compare version %s with %s: %s', async (version, constraint, meets) => {
  expect(
    (await withTools([{ name: 'a', version }])).tools({ version: constraint }).length === 1,
  ).toBe(meets);
});

it.runIf(present)(
  'queries by persona return the recorded tools, except that commas separate names and -name excludes a persona',
  async () => {
    type Case = {
      readonly persona: string | null;
      readonly tokens: readonly (string | null)[];
      readonly output: boolean;
    };
    for (const { persona, tokens, output } of golden<{ readonly cases: readonly Case[] }>(
      'persona_filter',
    ).cases) {
      const registry = await withTools([{ name: 'a', persona: persona === '' ? null : persona }]);
      const personas = tokens.map((token) => token ?? '');
      const split = personas.includes('atlas,-shared');
      const key = persona?.trim().toLowerCase() ?? '';
      const isShared = key === '' || key === 'shared';
      const expected = split ? key === 'atlas' : output;
      expect(registry.tools({ personas }).length === 1, `${persona} ${tokens.join(' ')}`).toBe(
        personas.includes('-atlas') ? isShared || key !== 'atlas' : expected,
      );
    }
  },
);

it.runIf(present)('queries by persona return the recorded jobs', async () => {
  type Case = {
    readonly personas: readonly string[];
    readonly tokens: readonly string[];
    readonly output: boolean;
  };
  for (const { personas, tokens, output } of golden<{ readonly cases: readonly Case[] }>(
    'job_persona_filter',
  ).cases) {
    // Jobs need a persona to be valid, and the recorded system got these names in lower case.
    if (personas.length === 0 || tokens.includes('ATLAS')) continue;
    const tree = new ManifestTree({
      'functions.json': [],
      'jobs.json': [jobEntry('Job', { personas })],
    });
    const registry = await CapabilityRegistry.load({ root: tree.root });
    // The job is shared, so excluding shared items excludes it for every persona.
    expect(
      registry.jobs({ personas: tokens }).length === 1,
      JSON.stringify({ personas, tokens }),
    ).toBe(output && !tokens.includes('-shared'));
  }
});

describe('queries for skills, tasks, and jobs', () => {
  const tree = new ManifestTree({
    'functions.json': [
      toolEntry('there', { capabilities: ['web', 'Notes'] }),
      toolEntry('locked', { auth: { required: true, env: 'KEY' } }),
    ],
    'skills.json': [
      skillEntry('Read', {
        required_tools: ['there'],
        required_capabilities: ['reading'],
        capability_tags: ['WEB', 'text'],
      }),
      skillEntry('Open', { required_tools: ['locked'] }),
    ],
    'tasks.json': [
      taskEntry('Step', { required_skills: ['Read'], tags: ['Daily'] }),
      taskEntry('Other', { required_tools: ['gone'] }),
    ],
    'jobs.json': [
      jobEntry('Good', { required_skills: ['Read'], required_tools: ['there'] }),
      jobEntry('Locked', { required_skills: ['Open'], personas: ['Nova'] }),
      jobEntry('Broken', { required_tools: ['gone'] }),
    ],
  });
  const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

  it("filter by an item's requirements and tags", async () => {
    const registry = await CapabilityRegistry.load({ root: tree.root, env: {} });
    expect(names(registry.skills({ capability: 'web' }))).toEqual(['Read']);
    expect(names(registry.skills({ requiredCapability: 'READING', tool: 'There' }))).toEqual([
      'Read',
    ]);
    expect(names(registry.tasks({ skill: 'read', tag: 'daily' }))).toEqual(['Step']);
    expect(names(registry.jobs({ skill: 'READ', requiredCapability: ['web', 'notes'] }))).toEqual([
      'Good',
    ]);
    expect(names(registry.jobs({ personas: 'nova' }))).toEqual(['Locked']);
  });

  it('filter by availability, which depends on the environment', async () => {
    const env: Record<string, string> = {};
    const registry = await CapabilityRegistry.load({ root: tree.root, env });
    expect(names(registry.jobs({ available: true }))).toEqual(['Good']);
    expect(names(registry.skills({ available: false }))).toEqual(['Open']);
    expect(names(registry.tasks({ available: true }))).toEqual(['Step']);
    env['KEY'] = 'set';
    expect(names(registry.jobs({ available: true }))).toEqual(['Good', 'Locked']);
  });

  it('return a job with the capabilities of its skills and tools, without duplicates', async () => {
    const registry = await CapabilityRegistry.load({ root: tree.root, env: {} });
    expect(registry.jobs({ skill: 'read' })[0]!.requiredCapabilities).toEqual([
      'reading',
      'web',
      'text',
      'notes',
    ]);
  });
});

const statusOf = async (
  auth: object,
  env: Record<string, string>,
  providers: readonly object[] = [],
): Promise<CapabilityTool['authStatus']> => {
  const tree = new ManifestTree({ 'functions.json': [toolEntry('a', { auth, providers })] });
  return (await CapabilityRegistry.load({ root: tree.root, env })).tool('a')!.authStatus;
};
const google = {
  required: true,
  envs: { KEY: { required: true }, ID: { required: true }, OTHER: { optional: true } },
};

it('credentials are ready if every required variable is set, and never show a value', async () => {
  const status = await statusOf(google, { KEY: 's3cret', ID: '' });
  expect(status).toEqual({ required: true, ready: false, missing: ['ID'] });
  expect(await statusOf(google, { KEY: 's3cret', ID: 'x' })).toEqual({
    required: true,
    ready: true,
    missing: [],
  });
  expect(JSON.stringify(status)).not.toContain('s3cret');
});

it('credentials are ready if any of several optional variables is set', async () => {
  const auth = { required: true, envs: { A: { required: false }, B: { required: false } } };
  expect(await statusOf(auth, {})).toMatchObject({ ready: false });
  expect(await statusOf(auth, { B: 'x' })).toMatchObject({ ready: true });
});
