import { expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
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

warnIfAbsent('skills, jobs and tasks');

async function load(files: Readonly<Record<string, unknown>>): Promise<CapabilityRegistry> {
  return CapabilityRegistry.load({
    root: new ManifestTree({ 'functions.json': [], ...files }).root,
  });
}

it("a job or task that extends another inherits the keys that it doesn't set, and doesn't merge values of keys that it sets", async () => {
  const registry = await load({
    'jobs.json': [
      jobEntry('J', {
        personas: ['Atlas', 'Nova'],
        escalation_policy: { level: '1', contact: 'team', notes: 'n' },
      }),
    ],
    'personas/Atlas/jobs.json': [
      {
        name: 'J',
        extends: 'J',
        summary: 'mine',
        escalation_policy: { level: '2', contact: 'me' },
      },
    ],
  });
  const [, own] = registry.jobs();
  expect(own!.manifest).toMatchObject({
    name: 'J',
    summary: 'mine',
    personas: ['Atlas', 'Nova'],
    escalation_policy: { level: '2', contact: 'me' },
  });
  expect(own!.manifest).not.toHaveProperty('extends');
  expect(own!.manifest.escalation_policy).not.toHaveProperty('notes');
});

it('a job or task that extends another inherits from the shared entry of the same name if it belongs to a persona, even without extends', async () => {
  const registry = await load({
    'tasks.json': [taskEntry('T', { tags: ['x'] })],
    'personas/Atlas/tasks.json': [{ name: ' T ', summary: 'mine' }],
    'personas/Nova/tasks.json': [{ name: 'U', summary: 'mine' }],
  });
  expect(registry.tasks({ personas: ['atlas', '-shared'] })[0]).toMatchObject({
    name: 'T',
    owner: 'Atlas',
    tags: ['x'],
    manifest: { summary: 'mine' },
  });
  expect(owned(registry.tasks())).toEqual(['T@shared', 'T@Atlas']);
  expect(registry.findings.filter(({ entryName }) => entryName === 'U').length).toBeGreaterThan(0);
});

it("a job or task that extends another inherits through a chain of bases, and prefers the persona's own entries to shared entries", async () => {
  const registry = await load({
    'tasks.json': [
      taskEntry('Base', { priority: 'low', tags: ['base'] }),
      { name: 'Middle', extends: 'Base', priority: 'high' },
    ],
    'personas/Atlas/tasks.json': [
      { name: 'Base', extends: 'Base', tags: ['own'] },
      { name: 'Last', extends: 'Middle' },
      { name: 'Own', extends: 'Base' },
    ],
  });
  const find = (name: string) =>
    registry.tasks({ personas: 'atlas' }).findLast((task) => task.name === name)!;
  expect([find('Last').tags, find('Last').manifest.priority, find('Own').tags]).toEqual([
    ['base'],
    'high',
    ['own'],
  ]);
});

it.runIf(present)(
  'a job or task that extends another is merged with its base as recorded',
  async () => {
    type Case = {
      readonly entry: Record<string, unknown>;
      readonly known: Record<string, object>;
      readonly output: Record<string, unknown> | null;
    };
    const rest = { required_skills: [], required_tools: [], acceptance_criteria: ['done'] };
    for (const { entry, known, output } of golden<{ readonly cases: readonly Case[] }>(
      'merge_with_base',
    ).cases) {
      if (output?.['name'] === 'N') continue; // Without a base, the entry lacks required keys.
      const shared = Object.values(known).map((base) => ({ ...base, ...rest }));
      // The recorded entry has an incomplete policy, which is refused here.
      const policy =
        (entry['escalation_policy'] as object | undefined) === undefined
          ? {}
          : { escalation_policy: { level: '2', contact: 'c' } };
      const registry = await load({
        'jobs.json': shared,
        'personas/A/jobs.json': [{ ...entry, ...policy }],
      });
      const [job] = registry.jobs({ personas: ['a', '-shared'] });
      expect(job?.manifest ?? null, JSON.stringify(entry)).toEqual(
        output === null
          ? null
          : { ...output, name: String(output['name']).trim(), ...policy, ...rest },
      );
    }
  },
);

it.each<[string, readonly object[]]>([
  [
    'an entry that extends it',
    [
      { name: 'A', extends: 'B' },
      { name: 'B', extends: 'A' },
    ],
  ],
  [
    'an entry in a cycle',
    [
      { name: 'A', extends: 'B' },
      { name: 'B', extends: 'C' },
      { name: 'C', extends: 'B' },
    ],
  ],
  ['a missing entry', [{ name: 'A', extends: 'Nowhere' }]],
])(
  'a job or task that extends another is left out, while other entries are kept, if it extends %s',
  async (_, entries) => {
    const registry = await load({ 'tasks.json': [...entries, taskEntry('Good')] });
    expect(owned(registry.tasks())).toEqual(['Good@shared']);
    expect(registry.findings).toHaveLength(entries.length);
    expect(registry.findings[0]).toMatchObject({
      kind: 'dangling',
      severity: 'error',
      file: 'tasks.json',
      path: '/0/extends',
      entryName: 'A',
    });
  },
);

it('of skills, jobs, and tasks are kept as written', async () => {
  const more = {
    collaboration: { quorum: 2 },
    escalation_policy: { level: '1' },
    recurrence: { every: 'full moon' },
    colour: 'red',
  };
  const registry = await load({
    'skills.json': [skillEntry('S', more)],
    'jobs.json': [jobEntry('J', more)],
    'tasks.json': [taskEntry('T', more)],
  });
  expect(registry.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  for (const { manifest } of [...registry.skills(), ...registry.jobs(), ...registry.tasks()])
    expect(manifest).toMatchObject(more);
});

it.each<[string, string, object, string]>([
  [
    'skills.json',
    'a skill with a number as a requirement',
    skillEntry('X', { required_tools: [5] }),
    '/0/required_tools/0',
  ],
  ['jobs.json', 'a job for no persona', jobEntry('X', { personas: [] }), '/0/personas'],
  ['tasks.json', 'a blank name', taskEntry(' '), '/0/name'],
  ['tasks.json', 'not an object', null as never, '/0'],
])(
  'a wrong entry in %s is omitted alone and reported with its path: %s',
  async (file, _, wrong, place) => {
    const good =
      file === 'skills.json'
        ? skillEntry('Good')
        : file === 'jobs.json'
          ? jobEntry('Good')
          : taskEntry('Good');
    const registry = await load({ [file]: [wrong, good] });
    expect(owned([...registry.skills(), ...registry.jobs(), ...registry.tasks()])).toEqual([
      'Good@shared',
    ]);
    expect(registry.findings.filter(({ severity }) => severity === 'error')).toMatchObject([
      {
        kind: 'invalid',
        file,
        path: expect.stringContaining(place),
        message: expect.stringMatching(/^Expected .*, got/),
      },
    ]);
  },
);

it('a wrong entry is reported if it has the name of an earlier entry', async () => {
  const registry = await load({
    'skills.json': [skillEntry('S', { version: '1.0.0' }), skillEntry('S', { version: '2.0.0' })],
  });
  expect(registry.skills()[0]!.version).toBe('1.0.0');
  expect(registry.findings).toMatchObject([
    { kind: 'duplicate', severity: 'error', path: '/1/name' },
  ]);
});

it('the tools of jobs include the tools of their skills, without duplicates', async () => {
  const registry = await load({
    'functions.json': [toolEntry('a'), toolEntry('b')],
    'skills.json': [skillEntry('S', { required_tools: ['a', 'gone'] })],
    'jobs.json': [jobEntry('J', { required_skills: ['S'], required_tools: ['b', 'a'] })],
  });
  const names = ({ tools }: { readonly tools: readonly { readonly name: string }[] }) =>
    tools.map(({ name }) => name);
  expect([names(registry.skills()[0]!), names(registry.jobs()[0]!)]).toEqual([['a'], ['a', 'b']]);
});

it('a reference to another item is listed on the skill or job, and reported as a warning, if the item is missing', async () => {
  const registry = await load({
    'functions.json': [toolEntry('web_search')],
    'personas/Atlas/functions.json': [toolEntry('own')],
    'skills.json': [skillEntry('S', { required_tools: ['web_serch', 'own'] })],
    'jobs.json': [
      jobEntry('J', {
        required_skills: ['S', 'Ghost'],
        required_tools: ['constructor'],
        task_graph: [{ task: 'T', depends_on: ['U'] }],
      }),
    ],
  });
  expect(registry.skills()[0]!.unresolved).toEqual({
    skills: [],
    tools: ['web_serch', 'own'],
    tasks: [],
  });
  expect(registry.jobs()[0]!.unresolved).toEqual({
    skills: ['Ghost'],
    tools: ['constructor'],
    tasks: ['T'],
  });
  expect(
    registry.findings.every(({ severity, kind }) => severity === 'warning' && kind === 'dangling'),
  ).toBe(true);
  expect(registry.findings.map(({ file, path, message }) => `${file}${path} ${message}`)).toEqual([
    'skills.json/0/required_tools/0 There is no tool called "web_serch" among the shared items. Did you mean web_search?',
    'skills.json/0/required_tools/1 There is no tool called "own" among the shared items; only Atlas has it.',
    'jobs.json/0/required_skills/1 There is no skill called "Ghost" among the shared items.',
    'jobs.json/0/required_tools/0 There is no tool called "constructor" among the shared items.',
    'jobs.json/0/task_graph/0 There is no task called "T" among the shared items.',
  ]);
});

it("a reference to another item is resolved to the owner's own items before shared items", async () => {
  const registry = await load({
    'functions.json': [toolEntry('t', { capabilities: ['shared'] })],
    'personas/Atlas/functions.json': [toolEntry('t', { capabilities: ['own'] })],
    'jobs.json': [jobEntry('J', { required_tools: ['t'] })],
    'personas/Atlas/jobs.json': [{ name: 'J' }],
  });
  expect(registry.jobs().map(({ requiredCapabilities }) => requiredCapabilities)).toEqual([
    ['shared'],
    ['own'],
  ]);
});

it('a reference to another item is resolved as soon as the missing item is added', async () => {
  const tree = new ManifestTree({
    'functions.json': [],
    'skills.json': [skillEntry('S', { required_tools: ['late'] })],
  });
  const registry = await CapabilityRegistry.load({ root: tree.root });
  tree.write('functions.json', [toolEntry('late')]);
  const change = await registry.refresh();
  expect([registry.findings, registry.skills()[0]!.unresolved.tools]).toEqual([[], []]);
  expect(change.edited).toEqual([{ kind: 'skill', owner: null, name: 'S' }]);
});
