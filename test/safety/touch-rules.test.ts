import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  defineTool,
  planExecution,
  type PolicyRule,
  SafetyPolicy,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolOptions,
} from '../../src/index.js';
import { createDefaultTools, FileWall, WriteFile } from '../../tools/index.js';
import { policyOver } from './policies.js';

const root = mkdtempSync(join(tmpdir(), 'tooldex-'));
writeFileSync(join(root, 'package.json'), '{}');
afterAll(() => rmSync(root, { recursive: true, force: true }));
const registry = new ToolMetadataRegistry();
registry.registerAll(createDefaultTools({ root }));
const LOCKED: PolicyRule = {
  verdict: 'deny',
  touches: 'write:*.lock',
  reason: 'lock files are written by their tools',
};
const ALLOWED: PolicyRule = { verdict: 'allow', upTo: 'critical' };

/** Returns the executor's verdict on a call under these rules, followed by a rule that allows everything. */
async function verdict(
  name: string,
  input: object,
  ...rules: readonly PolicyRule[]
): Promise<string> {
  const executor = new ToolExecutor({
    registry,
    policy: new SafetyPolicy({ registry, rules: [...rules, ALLOWED] }),
  });
  return (await executor.decide({ id: '1', name, input })).verdict;
}

describe('a rule that denies writing *.lock', () => {
  const LOOK_ALIKES = [
    'package.lock',
    'package.lock/',
    'package.lock/.',
    './package.lock',
    'a/../package.lock',
    'a//package.lock',
    'sub/package.lock',
    'package.lock.',
    'package.lock ',
    'package.lock::$DATA',
    'sub\\package.lock',
    '../package.lock',
    '/etc/package.lock',
    join(root, 'package.lock'),
  ];

  it.each(LOOK_ALIKES)('denies writing, editing, deleting, and moving %j', async (path) => {
    expect(await verdict('write_file', { path, content: '' }, LOCKED)).toBe('deny');
    expect(await verdict('edit_file', { path, find: 'a', replace: 'b' }, LOCKED)).toBe('deny');
    expect(await verdict('delete_file', { path }, LOCKED)).toBe('deny');
    expect(await verdict('move_file', { from: path, to: 'b' }, LOCKED)).toBe('deny');
    expect(await verdict('move_file', { from: 'b', to: path }, LOCKED)).toBe('deny');
    // Without an executor, the policy gets the path as the model wrote it.
    const policy = new SafetyPolicy({ registry, rules: [LOCKED, ALLOWED] });
    for (const [name, input] of [
      ['write_file', { path, content: '' }],
      ['move_file', { from: 'a', to: path }],
    ] as const)
      expect(policy.decide({ id: '1', name, input }).verdict).toBe('deny');
  });

  it("asks for approval if a tool that can write doesn't declare what it touches", () => {
    const reads = { name: 'reads', accessMode: 'readonly' };
    const policy = policyOver(
      [
        { name: 'silent', accessMode: 'write' },
        {
          name: 'broken',
          accessMode: 'write',
          conflictKeys: () => {
            throw new Error('no');
          },
        },
        reads,
        { name: 'undeclared' },
      ],
      { rules: [LOCKED, ALLOWED] },
    );
    expect(
      ['silent', 'broken', 'reads', 'undeclared'].map(
        (name) => policy.decide({ id: '1', name }).verdict,
      ),
    ).toEqual(['confirm', 'confirm', 'allow', 'confirm']);
    expect(
      policyOver([reads], { rules: [...SECRET, ALLOWED] }).decide({ id: '1', name: 'reads' })
        .verdict,
    ).toBe('confirm');
    expect(policy.decide({ id: '1', name: 'silent' })).toMatchObject({
      rule: 'rule 1',
      reason: "lock files are written by their tools, and silent doesn't declare what it touches",
    });
  });
});

const denies = (touches: string): PolicyRule => ({ verdict: 'deny', touches });
const only = (touches: string | readonly string[]): readonly PolicyRule[] => [
  { verdict: 'allow', touches, upTo: 'critical' },
  { verdict: 'deny' },
];
const shell = (verdict: 'allow' | 'deny'): PolicyRule => ({ verdict, tools: 'run_shell' });
const SECRET = [denies('read:secrets/')];
const EDIT = { find: 'a', replace: 'b' };
const LS = { command: 'ls' };

type Calls = readonly (readonly [tool: string, input: object])[];
it.each<[rule: string, rules: readonly PolicyRule[], verdicts: Readonly<Record<string, Calls>>]>([
  [
    'denies writing *.lock covers neither reads nor other names, and asks about folders that might contain one',
    [LOCKED],
    {
      allow: [
        ['read_file', { path: 'package.lock' }],
        ['list_directory', {}],
        ...['package.json', 'lock', 'package.lock.md', 'package.lock/readme'].map(
          (path) => ['write_file', { path, content: '' }] as const,
        ),
        ['http_request', { url: 'https://example.com/a', method: 'POST' }],
        ['note_add', { text: 'x' }],
      ],
      confirm: [
        ['move_file', { from: 'src', to: 'lib' }],
        ['delete_file', { path: 'src' }],
        ['git_switch', { branch: 'main' }],
        ['run_shell', LS],
        ['run_program', { program: 'node' }],
      ],
    },
  ],
  [
    'denies writing to the target of a move covers the move',
    [denies('write:lib/')],
    { deny: [['move_file', { from: 'src', to: 'lib' }]] },
  ],
  [
    'denies writing below a folder covers moving a file out of it',
    [denies('write:src/*')],
    { deny: [['move_file', { from: 'src/a', to: 'b' }]] },
  ],
  [
    'might match is followed by a deny rule that does',
    [LOCKED, shell('deny')],
    { deny: [['run_shell', LS]] },
  ],
  [
    'might match is not overruled by a later allow rule',
    [LOCKED, shell('allow')],
    { confirm: [['run_shell', LS]] },
  ],
  [
    'might match is overruled by an earlier allow rule',
    [shell('allow'), LOCKED],
    { allow: [['run_shell', LS]] },
  ],
  [
    'names a file compares the path as written, without following symbolic links',
    [denies('write:file:package.lock')],
    { allow: [['write_file', { path: 'link/package.lock', content: '' }]] },
  ],
  [
    "denies reading a folder covers everything below it, and asks about tools that might read it or don't say",
    SECRET,
    {
      deny: [
        ...['secrets/a', './secrets/b/c', 'secrets'].map(
          (path) => ['read_file', { path }] as const,
        ),
        ['list_directory', { path: 'secrets' }],
        ['edit_file', { path: 'secrets/a', ...EDIT }],
        ['move_file', { from: 'secrets/a', to: 'b' }],
      ],
      allow: [
        ...['secretsauce', 'a/secrets', 'a'].map((path) => ['read_file', { path }] as const),
        ['search_text', { query: 'x', path: 'src' }],
        ['calculate', { expression: '1' }],
      ],
      confirm: [
        ['search_text', { query: 'x' }],
        ['git_log', {}],
        ['run_shell', LS],
      ],
    },
  ],
  [
    "denies reading files doesn't cover a repository",
    [denies('read:file:secrets/')],
    { allow: [['git_log', {}]] },
  ],
  [
    "allows writing to a folder doesn't match calls that write elsewhere or don't declare their writes",
    only('write:src/*'),
    {
      allow: [
        ['write_file', { path: './src/a', content: '' }],
        ['move_file', { from: 'src/a', to: 'src/b' }],
      ],
      deny: [
        ['write_file', { path: 'src/../a', content: '' }],
        ['move_file', { from: 'src/a', to: 'b' }],
        ['git_switch', { branch: 'main' }],
        ['run_shell', LS],
        ['read_file', { path: 'src/a' }],
      ],
    },
  ],
  [
    "allows reads doesn't match calls that read elsewhere or also write",
    only('read:docs/'),
    {
      allow: [['read_file', { path: 'docs/a' }]],
      deny: [
        ['read_file', { path: 'src/a' }],
        ['edit_file', { path: 'docs/a', ...EDIT }],
        ['calculate', { expression: '1' }],
      ],
    },
  ],
  [
    'allows reads and writes matches calls that do both',
    only(['read:docs/', 'write:docs/']),
    { allow: [['edit_file', { path: 'docs/a', ...EDIT }]] },
  ],
  [
    "allows an origin doesn't match the same text in another URL",
    only('read:https://docs.example.com/*'),
    {
      allow: [['fetch_url', { url: 'https://docs.example.com/a/' }]],
      deny: [['fetch_url', { url: 'https://docs.example.com@evil.example/' }]],
    },
  ],
  [
    "allows a path doesn't match another form of the same characters",
    only('write:caf\u00e9/*'),
    { deny: [['write_file', { path: 'cafe\u0301/a', content: '' }]] },
  ],
  [
    "allows a path doesn't match the path with a dot at the end",
    only('write:notes'),
    { deny: [['write_file', { path: 'notes.', content: '' }]] },
  ],
])('a rule that %s', async (_, rules, verdicts) => {
  for (const [expected, calls] of Object.entries(verdicts))
    for (const [tool, input] of calls)
      expect(await verdict(tool, input, ...rules), JSON.stringify([tool, input])).toBe(expected);
});

const SECRETS = [
  'secrets/a',
  './secrets//a',
  'x/../secrets/a/',
  join(root, 'secrets/a'),
  `${root}/./secrets/a`,
];

it.each(SECRETS)(
  'a rule for secrets/* matches %j in every bundled tool that takes a path',
  async (path) => {
    const within = (field: string): PolicyRule => ({
      verdict: 'deny',
      input: { [field]: 'secrets/*' },
    });
    for (const name of [
      'read_file',
      'write_file',
      'delete_file',
      'list_directory',
      'file_info',
      'find_files',
      'count_lines',
      'outline_file',
      'search_text',
      'git_blame',
    ]) {
      const input = { path, content: '', glob: '*', query: 'x' };
      expect(await verdict(name, input, within('path')), name).toBe('deny');
      expect(await verdict(name, { ...input, path: 'src/a' }, within('path')), name).toBe('allow');
    }
    expect(await verdict('move_file', { from: path, to: 'b' }, within('from'))).toBe('deny');
    expect(await verdict('move_file', { from: 'b', to: path }, within('to'))).toBe('deny');
    for (const [name, input] of [
      ['run_shell', { command: 'ls' }],
      ['run_program', { program: 'node' }],
    ] as const)
      expect(await verdict(name, { ...input, cwd: path }, within('cwd')), name).toBe('deny');
    const listed: PolicyRule = {
      verdict: 'deny',
      when: ({ input }) =>
        (input as { readonly paths: readonly string[] }).paths.includes('secrets/a'),
    };
    for (const name of ['git_diff', 'git_log', 'git_show', 'git_commit'])
      expect(
        await verdict(name, { revision: 'main', message: 'm', paths: ['src', path] }, listed),
        name,
      ).toBe('deny');
  },
);

const over = (touches: string, keys: readonly string[]) => {
  const rules: readonly PolicyRule[] = [{ verdict: 'deny', touches }, ALLOWED];
  return policyOver([{ name: 'save', accessMode: 'write', conflictKeys: () => keys }], {
    rules,
  }).decide({ id: '1', name: 'save' }).verdict;
};

it.each([
  './package.lock',
  'file:./package.lock',
  'FILE:package.lock',
  'sub/../package.lock',
  './/package.lock',
  'package.lock/',
])('the pattern %j matches the same file as package.lock', async (pattern) => {
  for (const path of ['package.lock', join(root, 'package.lock')])
    expect(
      await verdict(
        'write_file',
        { path, content: '' },
        { verdict: 'deny', touches: `write:${pattern}` },
      ),
      path,
    ).toBe('deny');
  expect(
    await verdict(
      'write_file',
      { path: 'other.lock', content: '' },
      { verdict: 'deny', touches: `write:${pattern}` },
    ),
  ).toBe('allow');
});

it.each([
  ['/package.lock', 'a path relative to the root'],
  ['file:/package.lock', 'a path relative to the root'],
  ['C:/package.lock', 'a path relative to the root'],
  ['{a,b}.lock', 'only "*" is special'],
  ['package.loc[jk]', 'only "*" is special'],
  ['*/../package.lock', 'without ".." after a "*"'],
  ['./', '"*" for everything'],
])('the pattern %j is rejected because no key can match it', (pattern, expected) => {
  for (const touches of [`write:${pattern}`, [`read:${pattern}`]]) {
    expect(() => new SafetyPolicy({ registry, rules: [{ verdict: 'deny', touches }] })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(expected),
      }),
    );
  }
});

it('a backslash in a pattern escapes the next character', async () => {
  expect(over('write:app/\\[id\\]/\\{a,b\\}\\?', ['file:app/[id]/{a,b}?'])).toBe('deny');
  expect(over('write:app/\\*', ['app/*'])).toBe('deny');
  expect(over('write:app/\\*', ['app/a'])).toBe('allow');
});

it('a pattern that is only a kind (git:) matches all keys of that kind, and a file pattern matches only that file', () => {
  expect(over('write:git:', ['git:HEAD'])).toBe('deny');
  expect(over('write:src', ['src/a/'])).toBe('allow');
});

it('a URL pattern ignores the case of the host and treats "?" as an ordinary character', () => {
  expect(over('write:HTTPS://Example.com/a?b=*', ['https://example.com/x/../a?b=//1'])).toBe(
    'deny',
  );
  expect(over('write:https://example.com/a//b', ['https://example.com/a/b'])).toBe('allow');
});

it.each(['file:src//x', 'file:src\\x'])(
  'rules and execution plans both normalize the key %j to src/x',
  async (key) => {
    expect(over('write:src/x', [key])).toBe('deny');
    expect(over('write:src/', [key])).toBe('deny');
    const own = new ToolMetadataRegistry();
    for (const [name, keys] of [
      ['one', [key]],
      ['other', [key.includes(':') ? 'file:src/x' : 'src/x']],
    ] as const)
      own.register(
        defineTool({
          name,
          description: 'Saves',
          inputSchema: { type: 'object' },
          accessMode: 'write',
          allowParallel: true,
          conflictKeys: () => keys,
          execute: () => 1,
        }),
      );
    expect(
      planExecution(own, [
        { name: 'one', input: {} },
        { name: 'other', input: {} },
      ]).batches,
    ).toEqual([[0], [1]]);
  },
);

it("a rule that allows a folder doesn't match keys outside the folder or keys that consist of a kind alone", () => {
  const allowed = (key: string, touches = 'write:src/*') =>
    policyOver([{ name: 'save', accessMode: 'write', conflictKeys: () => [key] }], {
      rules: [{ verdict: 'allow', touches, upTo: 'critical' }, { verdict: 'deny' }],
    }).decide({ id: '1', name: 'save' }).verdict;
  expect(allowed('src/a')).toBe('allow');
  for (const key of ['src/../secrets', 'file:src/..', 'src/..', '.', '../..', 'file:../../'])
    expect(allowed(key), key).toBe('deny');
  expect(allowed('git:', 'write:*:'), 'a kind stands for all of its keys').toBe('deny');
});

it('paths in patterns and keys are normalized before they are compared', () => {
  const path = fc
    .array(fc.constantFrom('a', 'b', '.', '..', '', 'c.d', '...'), { minLength: 1, maxLength: 4 })
    .map((parts) => ['v', 'w', 'x', 'y', 'z', ...parts].join('/'));
  const covers = (one: string) => /(?:^|\/)\.{0,2}$/.test(one);
  fc.assert(
    fc.property(
      path,
      path.filter((one) => !covers(one)),
      (pattern, key) => {
        const [wide, thing] = [
          posix.normalize(covers(pattern) ? `${pattern}/` : pattern),
          posix.normalize(key),
        ];
        const meets = wide.endsWith('/') ? `${thing}/`.startsWith(wide) : thing === wide;
        expect(over(`write:${pattern}`, [`file:${key}`])).toBe(meets ? 'deny' : 'allow');
      },
    ),
    { numRuns: 2_000 },
  );
});

const verdicts = (ignoresCase: boolean, rule: PolicyRule) => {
  const files = new FileWall(root, { ignoresCase });
  const own = new ToolMetadataRegistry();
  own.register(new WriteFile(files));
  const policy = new SafetyPolicy({ registry: own, rules: [rule, { verdict: 'confirm' }] });
  return ['package.lock', 'PACKAGE.LOCK', 'Package.Lock']
    .map(
      (path) =>
        policy.decide({ id: '1', name: 'write_file', input: { path, content: '' } }).verdict,
    )
    .join(' ');
};

it('a deny rule matches any case on a case-insensitive file system, but not elsewhere', () => {
  expect(verdicts(true, LOCKED)).toBe('deny deny deny');
  expect(verdicts(true, denies('write:Package.lock'))).toBe('deny deny deny');
  expect(verdicts(false, denies('write:package.lock'))).toBe('deny confirm confirm');
  expect(verdicts(false, denies('write:PACKAGE.LOCK'))).toBe('deny deny confirm');
});

it('a lower-case allow rule matches any case on a case-insensitive file system, but only its exact case elsewhere', () => {
  const allowing = (touches: string): PolicyRule => ({ verdict: 'allow', touches });
  expect(verdicts(true, allowing('write:package.lock'))).toBe('allow allow allow');
  expect(verdicts(false, allowing('write:PACKAGE.LOCK'))).toBe('confirm allow confirm');
});

describe('canonicalInput', () => {
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  const lower = ({ path }: { readonly path: string }) => ({ path: path.toLowerCase() });
  const registryOf = (canonicalInput: NonNullable<ToolOptions['canonicalInput']>) => {
    const own = new ToolMetadataRegistry();
    own.register(
      defineTool({
        name: 'save',
        description: 'Saves',
        inputSchema,
        accessMode: 'write',
        canonicalInput,
        execute: (input: unknown) => input,
      }),
    );
    return own;
  };
  const rules: readonly PolicyRule[] = [{ verdict: 'deny', input: { path: 'secret' } }, ALLOWED];
  const runIn = (own: ToolMetadataRegistry, path: string) =>
    new ToolExecutor({ registry: own, policy: new SafetyPolicy({ registry: own, rules }) }).execute(
      { id: '1', name: 'save', input: { path } },
    );

  it('both the policy and the tool get the canonical input', async () => {
    expect(await runIn(registryOf(lower), 'SECRET')).toMatchObject({ status: 'denied' });
    expect(await runIn(registryOf(lower), 'OTHER')).toMatchObject({
      status: 'ok',
      value: { path: 'other' },
    });
  });

  it("a call is rejected if canonicalInput throws or doesn't return an object", async () => {
    const broken = () => {
      throw new Error('no form');
    };
    for (const canonicalInput of [broken, () => undefined, () => 'text']) {
      expect(await runIn(registryOf(canonicalInput), 'other')).toMatchObject({
        status: 'error',
        code: 'INVALID_INPUT',
      });
    }
  });
});
