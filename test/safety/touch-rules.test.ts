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

  it('allows reading lock files and writing other files', async () => {
    expect(await verdict('read_file', { path: 'package.lock' }, LOCKED)).toBe('allow');
    expect(await verdict('list_directory', {}, LOCKED)).toBe('allow');
    for (const path of ['package.json', 'lock', 'package.lock.md', 'package.lock/readme'])
      expect(await verdict('write_file', { path, content: '' }, LOCKED), path).toBe('allow');
    expect(
      await verdict('http_request', { url: 'https://example.com/a', method: 'POST' }, LOCKED),
    ).toBe('allow');
    expect(await verdict('note_add', { text: 'x' }, LOCKED)).toBe('allow');
  });

  it('asks for approval if a moved or deleted folder might contain a lock file', async () => {
    expect(await verdict('move_file', { from: 'src', to: 'lib' }, LOCKED)).toBe('confirm');
    expect(await verdict('delete_file', { path: 'src' }, LOCKED)).toBe('confirm');
    expect(await verdict('git_switch', { branch: 'main' }, LOCKED)).toBe('confirm');
    expect(
      await verdict(
        'move_file',
        { from: 'src', to: 'lib' },
        { verdict: 'deny', touches: 'write:lib/' },
      ),
    ).toBe('deny');
    expect(
      await verdict(
        'move_file',
        { from: 'src/a', to: 'b' },
        { verdict: 'deny', touches: 'write:src/*' },
      ),
    ).toBe('deny');
  });

  it("asks for approval if a tool that can write doesn't declare what it touches", async () => {
    expect(await verdict('run_shell', { command: 'ls' }, LOCKED)).toBe('confirm');
    expect(await verdict('run_program', { program: 'node' }, LOCKED)).toBe('confirm');
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
        { name: 'reads', accessMode: 'readonly' },
        { name: 'undeclared' },
      ],
      { rules: [LOCKED, ALLOWED] },
    );
    expect(
      ['silent', 'broken', 'reads', 'undeclared'].map(
        (name) => policy.decide({ id: '1', name }).verdict,
      ),
    ).toEqual(['confirm', 'confirm', 'allow', 'confirm']);
    expect(policy.decide({ id: '1', name: 'silent' })).toMatchObject({
      rule: 'rule 1',
      reason: "lock files are written by their tools, and silent doesn't declare what it touches",
    });
  });

  it("if a deny rule might match, a later deny rule still denies the call but a later allow rule can't allow the call", async () => {
    expect(
      await verdict('run_shell', { command: 'ls' }, LOCKED, {
        verdict: 'deny',
        tools: 'run_shell',
      }),
    ).toBe('deny');
    expect(
      await verdict('run_shell', { command: 'ls' }, LOCKED, {
        verdict: 'allow',
        tools: 'run_shell',
      }),
    ).toBe('confirm');
    expect(
      await verdict(
        'run_shell',
        { command: 'ls' },
        { verdict: 'allow', tools: 'run_shell' },
        LOCKED,
      ),
    ).toBe('allow');
  });

  it('compares the path as written, without following symbolic links', async () => {
    expect(
      await verdict(
        'write_file',
        { path: 'link/package.lock', content: '' },
        { verdict: 'deny', touches: 'write:file:package.lock' },
      ),
    ).toBe('allow');
  });
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
    const denies = (field: string): PolicyRule => ({
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
      expect(await verdict(name, input, denies('path')), name).toBe('deny');
      expect(await verdict(name, { ...input, path: 'src/a' }, denies('path')), name).toBe('allow');
    }
    expect(await verdict('move_file', { from: path, to: 'b' }, denies('from'))).toBe('deny');
    expect(await verdict('move_file', { from: 'b', to: path }, denies('to'))).toBe('deny');
    for (const [name, input] of [
      ['run_shell', { command: 'ls' }],
      ['run_program', { program: 'node' }],
    ] as const)
      expect(await verdict(name, { ...input, cwd: path }, denies('cwd')), name).toBe('deny');
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

describe('a rule that denies reading a folder', () => {
  const SECRETS: PolicyRule = { verdict: 'deny', touches: 'read:secrets/' };

  it('denies reading the folder itself and everything below it', async () => {
    for (const path of ['secrets/a', './secrets/b/c', 'secrets'])
      expect(await verdict('read_file', { path }, SECRETS), path).toBe('deny');
    expect(await verdict('list_directory', { path: 'secrets' }, SECRETS)).toBe('deny');
    expect(
      await verdict('edit_file', { path: 'secrets/a', find: 'a', replace: 'b' }, SECRETS),
    ).toBe('deny');
    expect(await verdict('move_file', { from: 'secrets/a', to: 'b' }, SECRETS)).toBe('deny');
    for (const path of ['secretsauce', 'a/secrets', 'a'])
      expect(await verdict('read_file', { path }, SECRETS), path).toBe('allow');
  });

  it("asks for approval if a tool might also read the folder or doesn't declare what it reads", async () => {
    expect(await verdict('search_text', { query: 'x' }, SECRETS)).toBe('confirm');
    expect(await verdict('search_text', { query: 'x', path: 'src' }, SECRETS)).toBe('allow');
    expect(await verdict('git_log', {}, SECRETS)).toBe('confirm');
    expect(await verdict('git_log', {}, { verdict: 'deny', touches: 'read:file:secrets/' })).toBe(
      'allow',
    );
    expect(await verdict('calculate', { expression: '1' }, SECRETS)).toBe('allow');
    expect(await verdict('run_shell', { command: 'ls' }, SECRETS)).toBe('confirm');
    expect(
      policyOver([{ name: 'reads', accessMode: 'readonly' }], { rules: [SECRETS, ALLOWED] }).decide(
        { id: '1', name: 'reads' },
      ).verdict,
    ).toBe('confirm');
  });
});

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

const only = (touches: string | readonly string[]) => [
  { verdict: 'allow' as const, touches, upTo: 'critical' as const },
  { verdict: 'deny' as const },
];

it("a rule that allows writing to a folder doesn't match calls that write elsewhere or don't declare their writes", async () => {
  const rules = only('write:src/*');
  expect(await verdict('write_file', { path: './src/a', content: '' }, ...rules)).toBe('allow');
  expect(await verdict('write_file', { path: 'src/../a', content: '' }, ...rules)).toBe('deny');
  expect(await verdict('move_file', { from: 'src/a', to: 'src/b' }, ...rules)).toBe('allow');
  expect(await verdict('move_file', { from: 'src/a', to: 'b' }, ...rules)).toBe('deny');
  expect(await verdict('git_switch', { branch: 'main' }, ...rules)).toBe('deny');
  expect(await verdict('run_shell', { command: 'ls' }, ...rules)).toBe('deny');
  expect(await verdict('read_file', { path: 'src/a' }, ...rules)).toBe('deny');
});

it("a rule that allows reads doesn't match calls that read elsewhere or also write", async () => {
  expect(await verdict('read_file', { path: 'docs/a' }, ...only('read:docs/'))).toBe('allow');
  expect(await verdict('read_file', { path: 'src/a' }, ...only('read:docs/'))).toBe('deny');
  expect(
    await verdict('edit_file', { path: 'docs/a', find: 'a', replace: 'b' }, ...only('read:docs/')),
  ).toBe('deny');
  expect(
    await verdict(
      'edit_file',
      { path: 'docs/a', find: 'a', replace: 'b' },
      ...only(['read:docs/', 'write:docs/']),
    ),
  ).toBe('allow');
  expect(
    await verdict(
      'fetch_url',
      { url: 'https://docs.example.com/a/' },
      ...only('read:https://docs.example.com/*'),
    ),
  ).toBe('allow');
  expect(
    await verdict(
      'fetch_url',
      { url: 'https://docs.example.com@evil.example/' },
      ...only('read:https://docs.example.com/*'),
    ),
  ).toBe('deny');
  expect(await verdict('calculate', { expression: '1' }, ...only('read:docs/'))).toBe('deny');
});

it("a rule that allows a path doesn't match a different spelling of that path", async () => {
  expect(
    await verdict(
      'write_file',
      { path: 'cafe\u0301/a', content: '' },
      ...only('write:caf\u00e9/*'),
    ),
  ).toBe('deny');
  expect(await verdict('write_file', { path: 'notes.', content: '' }, ...only('write:notes'))).toBe(
    'deny',
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
  const denying = (touches: string): PolicyRule => ({ verdict: 'deny', touches });
  expect(verdicts(true, LOCKED)).toBe('deny deny deny');
  expect(verdicts(true, denying('write:Package.lock'))).toBe('deny deny deny');
  expect(verdicts(false, denying('write:package.lock'))).toBe('deny confirm confirm');
  expect(verdicts(false, denying('write:PACKAGE.LOCK'))).toBe('deny deny confirm');
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
