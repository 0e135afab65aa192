import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { isToolError } from '../../src/index.js';
import { findManifestFiles } from '../../src/capability/manifest/manifest-files.js';
import {
  loadManifest,
  type LoadManifestOptions,
  type ManifestSource,
} from '../../src/capability/manifest/load-manifest.js';
import {
  formatManifestIssue,
  ToolManifestValidationError,
} from '../../src/capability/manifest/manifest-issue.js';
import { folderWith, LEAST } from './manifest-samples.js';

const entry = (name: string, keys: object = {}) => ({ ...LEAST, name, ...keys });
const quarantined = (source: ManifestSource, options: LoadManifestOptions = {}) =>
  loadManifest(source, { ...options, onInvalid: 'quarantine' });
const namesOf = ({ entries }: Awaited<ReturnType<typeof loadManifest>>) =>
  entries.map(({ definition, persona }) =>
    persona === undefined ? definition.name : `${definition.name}@${persona}`,
  );

async function refused(source: ManifestSource): Promise<ToolManifestValidationError> {
  const error: unknown = await loadManifest(source).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ToolManifestValidationError && error.name === 'ToolManifestValidationError')
    return error;
  throw new Error('expected a ToolManifestValidationError', { cause: error });
}

it('loading manifests accepts a path, a URL, a list of files, or a folder', async () => {
  const root = folderWith({ 'functions.json': [entry('a')], 'more.json': [entry('b')] });
  const file = join(root, 'functions.json');
  for (const source of [
    file,
    pathToFileURL(file),
    [file],
    { root },
    { root: pathToFileURL(root) },
    relative(process.cwd(), file),
  ])
    expect(namesOf(await loadManifest(source))).toEqual(['a']);
  expect(namesOf(await loadManifest([file, join(root, 'more.json')]))).toEqual(['a', 'b']);
});

it('loading manifests throws all errors of all files by default, and lists ten in the message', async () => {
  const root = folderWith({
    'functions.json': Array.from({ length: 8 }, (_, index) =>
      entry(`a${index}`, { version: 1, default_timeout: -1 }),
    ),
    'personas/P/functions.json': '[{',
  });
  const { errors, message, code, details } = await refused({ root });
  expect(errors).toHaveLength(17);
  expect(code).toBe('INVALID_MANIFEST');
  expect(details['errors']).toEqual(errors);
  expect(message.split('\n')).toHaveLength(12);
  expect(message).toMatch(
    /have 17 errors:\n {2}.*functions\.json:1:\d+ "a0" \/0\/version: Expected a string, got 1\.\n/,
  );
  expect(message).toContain('… and 7 more');
  expect(JSON.stringify([message, errors])).not.toContain(root);
});

it('loading manifests omits only wrong entries with onInvalid: quarantine', async () => {
  const root = folderWith({
    'functions.json': [entry('a'), entry('b', { version: 1 }), entry('c', { unknown: 1 })],
    'tools.json': 'broken',
  });
  const { entries, issues, total } = await quarantined({ root });
  expect(entries.map((each) => each.definition.name)).toEqual(['a', 'c']);
  expect(issues.map(({ severity, path }) => [severity, path])).toEqual([
    ['error', '/1/version'],
    ['warning', '/2/unknown'],
    ['error', ''],
  ]);
  expect(total).toBe(3);
});

it.each([
  ['that is missing', () => undefined, 'File not found.'],
  ['that is a folder', (path: string) => mkdirSync(path), 'a folder or a device'],
  [
    'that is larger than 1 MiB',
    (path: string) => writeFileSync(path, ' '.repeat(1_048_577)),
    'larger than 1 MiB',
  ],
  [
    'that is not UTF-8',
    (path: string) => writeFileSync(path, Buffer.from([0x5b, 0xff, 0x5d])),
    "isn't UTF-8 text",
  ],
])('loading manifests reports a file %s', async (_, make, expected) => {
  const path = join(folderWith({}), 'functions.json');
  make(path);
  const { issues } = await quarantined(path);
  expect(issues).toMatchObject([
    { severity: 'error', path: '', message: expect.stringContaining(expected) },
  ]);
  await expect(loadManifest(path)).rejects.toThrow(ToolManifestValidationError);
});

it("loading manifests finds a tool's function by name or handler_ref", async () => {
  const root = folderWith({
    'functions.json': [entry('a'), entry('b.c', { handler_ref: 'work' }), entry('constructor')],
  });
  const { definitions } = await loadManifest(
    { root },
    { handlers: { a: () => 'by name', work: () => 'by reference' } },
  );
  expect(definitions.map(({ execute }) => execute?.({}, {}))).toEqual([
    'by name',
    'by reference',
    undefined,
  ]);
  const fromMap = await loadManifest(
    { root },
    { handlers: new Map([['constructor', () => 'own']]) },
  );
  expect(fromMap.definitions[2]!.execute?.({}, {})).toBe('own');
});

it('loading manifests refuses the same tool name in two files of one owner', async () => {
  const root = folderWith({ 'functions.json': [entry('a')], 'tools.json': [entry('a')] });
  const { entries, issues } = await quarantined({ root });
  expect(entries).toHaveLength(1);
  expect(issues).toMatchObject([
    {
      path: '/0/name',
      entryName: 'a',
      message: expect.stringContaining('functions.json:1)'),
    },
  ]);
});

it.each([[5], [[]], [new URL('https://example.org/functions.json')]])(
  'loading manifests refuses %j as a source',
  async (source) => {
    await expect(loadManifest(source as never)).rejects.toSatisfy((error) =>
      isToolError(error, 'INVALID_ARGUMENT'),
    );
  },
);

const FILES = {
  'functions.json': [
    entry('shared'),
    entry('both', { description: 'of all' }),
    entry('of_echo', { persona_allowlist: ['ECHO '] }),
  ],
  'personas/Echo/Toolbox/functions.json': [entry('both', { description: 'of Echo' }), entry('own')],
  'personas/Nova/functions.json': [entry('other')],
};

it('the tools of a persona are limited by allowlists, case-insensitively', async () => {
  const root = folderWith(FILES);
  expect(namesOf(await loadManifest({ root }, { persona: 'NOVA' }))).toEqual([
    'shared',
    'both',
    'other@Nova',
  ]);
  expect(namesOf(await loadManifest({ root }, { persona: 'Ghost' }))).toEqual(['shared', 'both']);
});

it("the tools of a persona are recognized by the file's path if only one file is loaded", async () => {
  const root = folderWith(FILES);
  expect(namesOf(await loadManifest(join(root, 'personas/Echo/Toolbox/functions.json')))).toEqual([
    'both@Echo',
    'own@Echo',
  ]);
});

const found = async (root: string) =>
  (await findManifestFiles(root)).files.map(({ path, kind, owner }) =>
    `${relative(root, path)} ${kind} ${owner ?? ''}`.trim(),
  );

it('finding manifests finds the files of every documented layout', async () => {
  const files = [
    'functions.json',
    'skills.json',
    'shared/jobs.json',
    'shared/tasks.json',
    'modules/Tools/tool_maps/functions.json',
    'personas/Nikola Tesla/Toolbox/functions.json',
    'personas/Nikola Tesla/Jobs/jobs.json',
    'personas/Flat/tasks.json',
    'modules/Personas/Old/Toolbox/functions.json',
  ];
  const root = folderWith({
    ...Object.fromEntries(files.map((file) => [file, []])),
    'other.json': [],
    'personas/readme.txt': '',
    'personas/.hidden/functions.json': [],
  });
  expect(await found(root)).toEqual([
    'functions.json tools',
    'modules/Tools/tool_maps/functions.json tools',
    'skills.json skills',
    'shared/jobs.json jobs',
    'shared/tasks.json tasks',
    'personas/Flat/tasks.json tasks Flat',
    'personas/Nikola Tesla/Toolbox/functions.json tools Nikola Tesla',
    'personas/Nikola Tesla/Jobs/jobs.json jobs Nikola Tesla',
    'modules/Personas/Old/Toolbox/functions.json tools Old',
  ]);
});

it("finding manifests reports links that point outside the folder, and doesn't follow them", async () => {
  const outside = folderWith({
    'functions.json': [entry('secret')],
    'Evil/functions.json': [entry('evil')],
  });
  const root = folderWith({
    'real/functions.json': [entry('a')],
    'personas/Good/functions.json': [entry('b')],
  });
  symlinkSync(join(outside, 'functions.json'), join(root, 'functions.json'));
  symlinkSync(join(outside, 'Evil'), join(root, 'personas/Evil'));
  symlinkSync(join(root, 'real'), join(root, 'personas/Inside'));
  const { files, issues } = await findManifestFiles(root);
  expect(files.map(({ owner }) => owner)).toEqual(['Good', 'Inside']);
  expect(issues).toMatchObject([{ severity: 'warning' }, { severity: 'warning' }]);
  const sibling = `${root}-evil`;
  symlinkSync(sibling, join(root, 'tools.json'));
  mkdirSync(sibling);
  expect((await findManifestFiles(root)).issues).toHaveLength(3);
});

it('finding manifests reports a folder that is missing or has no manifests', async () => {
  const empty = folderWith({ 'skills.json': [] });
  expect((await quarantined({ root: empty })).issues.map(formatManifestIssue)).toEqual([
    expect.stringContaining('contains no functions.json'),
  ]);
  const { errors } = await refused({ root: resolve(empty, 'missing') });
  expect(errors).toMatchObject([{ message: "The folder doesn't exist." }]);
});
