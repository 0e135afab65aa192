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
  tool,
  ToolExecutor,
  ToolMetadataRegistry,
  type ToolOptions,
} from '../../src/index.js';
import { matchesPattern, matchKey } from '../../src/safety/name-pattern.js';
import { createDefaultTools, FileWall, MoveFile, WriteFile } from '../../tools/index.js';
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

/** The verdict over a call with its input as the tool's schema gives it, behind some rules and one that allows everything. */
async function verdict(
  name: string,
  input: object,
  ...rules: readonly PolicyRule[]
): Promise<string> {
  const executor = new ToolExecutor({
    registry,
    policy: new SafetyPolicy({ registry, rules: [...rules, ALLOWED] }),
  });
  const [dryRun] = await executor.dryRun([{ id: '1', name, input }]);
  return dryRun!.decision.verdict;
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

  it.each(LOOK_ALIKES)(
    'denies writing, editing, deleting and moving %j, from there and to there',
    async (path) => {
      expect(await verdict('write_file', { path, content: '' }, LOCKED)).toBe('deny');
      expect(await verdict('edit_file', { path, find: 'a', replace: 'b' }, LOCKED)).toBe('deny');
      expect(await verdict('delete_file', { path }, LOCKED)).toBe('deny');
      expect(await verdict('move_file', { from: path, to: 'b' }, LOCKED)).toBe('deny');
      expect(await verdict('move_file', { from: 'b', to: path }, LOCKED)).toBe('deny');
    },
  );

  it.each(LOOK_ALIKES)('and judges %j as it is given, by a policy without an executor', (path) => {
    const policy = new SafetyPolicy({ registry, rules: [LOCKED, ALLOWED] });
    expect(
      policy.decide({ id: '1', name: 'write_file', input: { path, content: '' } }).verdict,
    ).toBe('deny');
    expect(
      policy.decide({ id: '1', name: 'move_file', input: { from: 'a', to: path } }).verdict,
    ).toBe('deny');
  });

  it('meets neither what reads such a file nor what writes others', async () => {
    expect(await verdict('read_file', { path: 'package.lock' }, LOCKED)).toBe('allow');
    expect(await verdict('list_directory', {}, LOCKED)).toBe('allow');
    for (const path of ['package.json', 'lock', 'package.lock.md', 'package.lock/readme'])
      expect(await verdict('write_file', { path, content: '' }, LOCKED), path).toBe('allow');
    expect(
      await verdict('http_request', { url: 'https://example.com/a', method: 'POST' }, LOCKED),
    ).toBe('allow');
    expect(await verdict('note_add', { text: 'x' }, LOCKED)).toBe('allow');
  });

  it('needs approval where a folder that is moved or deleted may hold such a file', async () => {
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

  it('needs approval for tools that do not say what they touch, unless they are readonly', async () => {
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
      reason: "lock files are written by their tools, and silent doesn't say what it touches",
    });
  });

  it('turns into a denial where nobody can approve', () => {
    const policy = policyOver([{ name: 'silent', accessMode: 'write' }], {
      rules: [LOCKED, ALLOWED],
      mode: 'unattended',
    });
    expect(policy.decide({ id: '1', name: 'silent' })).toMatchObject({
      verdict: 'deny',
      rule: 'unattended',
    });
  });

  it('leaves a later rule its denial when it may have met the call, and no later rule lets the call run', async () => {
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

  it('follows no links: the key of a path that leads through one is that of the path', async () => {
    expect(
      await verdict(
        'write_file',
        { path: 'link/package.lock', content: '' },
        { verdict: 'deny', touches: 'write:file:package.lock' },
      ),
    ).toBe('allow');
  });
});

describe('a rule about an argument of a bundled tool', () => {
  const SECRETS = [
    'secrets/a',
    './secrets//a',
    'x/../secrets/a/',
    join(root, 'secrets/a'),
    `${root}/./secrets/a`,
  ];

  it.each(SECRETS)(
    'meets %j, which is the path that it names, in every tool that takes one',
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
        expect(await verdict(name, { ...input, path: 'src/a' }, denies('path')), name).toBe(
          'allow',
        );
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
});

describe('a rule about reads', () => {
  const SECRETS: PolicyRule = { verdict: 'deny', touches: 'read:secrets/' };

  it('denies reading below the folder, and the folder itself', async () => {
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

  it('needs approval for what reads more, and for every tool that does not say what it reads, also readonly ones', async () => {
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

describe('a pattern of what is touched', () => {
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
  ])('may be written as %j, and stands for the same file', async (pattern) => {
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
    ['file:///package.lock', 'a path relative to the root'],
    ['C:/package.lock', 'a path relative to the root'],
    [join(root, 'package.lock'), 'a path relative to the root'],
    ['**/*.lock', 'without "**"'],
    ['src/**', 'without "**"'],
    ['{a,b}.lock', 'only "*" is special'],
    ['package.loc?', 'only "*" is special'],
    ['package.loc[jk]', 'only "*" is special'],
    ['sub\\\\package.lock', '"/" between folders'],
    ['sub\\package.lock', '"/" between folders'],
    [' package.lock', 'without a leading space'],
    ['*/../package.lock', 'without ".." after a "*"'],
    ['./', '"*" for everything'],
  ])('is refused as %j, which no key is, when the policy is made', (pattern, expected) => {
    for (const touches of [`write:${pattern}`, [`read:${pattern}`]]) {
      expect(() => new SafetyPolicy({ registry, rules: [{ verdict: 'deny', touches }] })).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining(expected),
        }),
      );
    }
  });

  it('stands for a character that is special elsewhere by a backslash before it', async () => {
    expect(over('write:app/\\[id\\]/\\{a,b\\}\\?', ['file:app/[id]/{a,b}?'])).toBe('deny');
    expect(over('write:app/\\*', ['app/*'])).toBe('deny');
    expect(over('write:app/\\*', ['app/a'])).toBe('allow');
  });

  it('of an address has its host in any case, and "?" as itself', () => {
    expect(over('write:HTTPS://Example.com/a?b=*', ['https://example.com/x/../a?b=//1'])).toBe(
      'deny',
    );
    expect(over('write:https://example.com/a//b', ['https://example.com/a/b'])).toBe('allow');
  });

  it.each(['file:src//x', 'FILE:src/x', './src/./x', 'file:src\\x', 'src/y/../x'])(
    'meets the key %j of any tool, which plans know for the same thing',
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

  it('of a rule that allows meets no key that leads out of what it names, and no key that names nothing', () => {
    const allowed = (keys: readonly string[]) =>
      policyOver([{ name: 'save', accessMode: 'write', conflictKeys: () => keys }], {
        rules: [
          { verdict: 'allow', touches: 'write:src/*', upTo: 'critical' },
          { verdict: 'deny' },
        ],
      }).decide({ id: '1', name: 'save' }).verdict;
    expect(
      ['src/a', 'src/../secrets', 'file:src/..', 'src/..', '.', '../..', 'file:../../'].map((key) =>
        allowed([key]),
      ),
    ).toEqual(['allow', 'deny', 'deny', 'deny', 'deny', 'deny', 'deny']);
  });

  it('is compared in one form however key and pattern are written', () => {
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
});

describe('a rule that allows by what is touched', () => {
  const only = (touches: string | readonly string[]) => [
    { verdict: 'allow' as const, touches, upTo: 'critical' as const },
    { verdict: 'deny' as const },
  ];

  it('meets calls that write nothing else, and never one that does not say', async () => {
    const rules = only('write:src/*');
    expect(await verdict('write_file', { path: './src/a', content: '' }, ...rules)).toBe('allow');
    expect(await verdict('write_file', { path: 'src/../a', content: '' }, ...rules)).toBe('deny');
    expect(await verdict('move_file', { from: 'src/a', to: 'src/b' }, ...rules)).toBe('allow');
    expect(await verdict('move_file', { from: 'src/a', to: 'b' }, ...rules)).toBe('deny');
    expect(await verdict('git_switch', { branch: 'main' }, ...rules)).toBe('deny');
    expect(await verdict('run_shell', { command: 'ls' }, ...rules)).toBe('deny');
    expect(await verdict('read_file', { path: 'src/a' }, ...rules)).toBe('deny');
  });

  it('that names reads meets only what reads nothing else, and writes nothing that it does not name', async () => {
    expect(await verdict('read_file', { path: 'docs/a' }, ...only('read:docs/'))).toBe('allow');
    expect(await verdict('read_file', { path: 'src/a' }, ...only('read:docs/'))).toBe('deny');
    expect(
      await verdict(
        'edit_file',
        { path: 'docs/a', find: 'a', replace: 'b' },
        ...only('read:docs/'),
      ),
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

  it('takes no other spelling for the one that it names', async () => {
    expect(
      await verdict(
        'write_file',
        { path: 'cafe\u0301/a', content: '' },
        ...only('write:caf\u00e9/*'),
      ),
    ).toBe('deny');
    expect(
      await verdict('write_file', { path: 'notes.', content: '' }, ...only('write:notes')),
    ).toBe('deny');
  });
});

describe('where the file system ignores case', () => {
  const verdicts = (ignoresCase: boolean, rule: PolicyRule) => {
    const files = new FileWall(root, { ignoresCase });
    const own = new ToolMetadataRegistry();
    own.registerAll([new WriteFile(files), new MoveFile(files)]);
    const policy = new SafetyPolicy({ registry: own, rules: [rule, { verdict: 'confirm' }] });
    return ['package.lock', 'PACKAGE.LOCK', 'Package.Lock'].map(
      (path) =>
        policy.decide({ id: '1', name: 'write_file', input: { path, content: '' } }).verdict,
    );
  };

  it('a rule meets a file in every case, however the rule is written; elsewhere they are different files', () => {
    expect(verdicts(true, LOCKED)).toEqual(['deny', 'deny', 'deny']);
    expect(verdicts(true, { verdict: 'deny', touches: 'write:Package.lock' })).toEqual([
      'deny',
      'deny',
      'deny',
    ]);
    expect(verdicts(false, { verdict: 'deny', touches: 'write:package.lock' })).toEqual([
      'deny',
      'confirm',
      'confirm',
    ]);
    expect(verdicts(false, { verdict: 'deny', touches: 'write:PACKAGE.LOCK' })).toEqual([
      'deny',
      'deny',
      'confirm',
    ]);
  });

  it('a rule that allows is written as the keys are, in lower case', () => {
    expect(verdicts(true, { verdict: 'allow', touches: 'write:package.lock' })).toEqual([
      'allow',
      'allow',
      'allow',
    ]);
    expect(verdicts(false, { verdict: 'allow', touches: 'write:PACKAGE.LOCK' })).toEqual([
      'confirm',
      'allow',
      'confirm',
    ]);
  });
});

describe('a tool that is a class', () => {
  it('says what it touches as the instance that was registered', () => {
    @tool({
      name: 'save',
      description: 'Saves',
      inputSchema: { type: 'object' },
      accessMode: 'write',
      conflictKeys(this: { readonly folder: string }) {
        return [`${this.folder}/`];
      },
    })
    class Save {
      constructor(readonly folder = 'usual') {}
      execute() {}
    }
    for (const [source, folder] of [
      [new Save('mine'), 'mine'],
      [new Save('yours'), 'yours'],
      [Save, 'usual'],
    ] as const) {
      const own = new ToolMetadataRegistry();
      own.register(source);
      expect(own.require('save').conflictKeys?.({})).toEqual([`${folder}/`]);
    }
  });
});

describe('an input in its one form', () => {
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

  it('is what the policy judges and what the tool gets', async () => {
    expect(await runIn(registryOf(lower), 'SECRET')).toMatchObject({ status: 'denied' });
    expect(await runIn(registryOf(lower), 'OTHER')).toMatchObject({
      status: 'ok',
      value: { path: 'other' },
    });
  });

  it('refuses the call where there is none', async () => {
    const broken = () => {
      throw new Error('no form');
    };
    for (const canonicalInput of [
      broken,
      () => undefined,
      () => 'text',
      async () => Promise.reject(new Error('no form')),
    ]) {
      expect(await runIn(registryOf(canonicalInput), 'other')).toMatchObject({
        status: 'error',
        code: 'INVALID_INPUT',
      });
    }
  });
});

describe('comparing a pattern with a key', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', '/', 'k:'), { maxLength: 4 })
    .map((parts) => parts.join(''));
  const anyKey = fc.oneof(text, fc.constantFrom('k:', 'k:a/', 'k:a/b', 'a/', 'a/b/'));
  const anyPattern = fc
    .array(fc.constantFrom('a', 'b', '/', '*', 'k:'), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(''));
  const isKind = (one: string) => /^[a-z][a-z\d+.-]*:$/.test(one);
  /** Some of the texts that a key stands for below it. */
  const below = (key: string) =>
    key.endsWith('/') || isKind(key)
      ? ['', 'a', 'b', 'a/b', 'b/a', 'aa', 'b/', 'a/', 'ab/a'].map((rest) => key + rest)
      : [];
  const plainly = (pattern: string, key: string) => {
    const wide =
      pattern.endsWith('/') || isKind(pattern)
        ? [`${pattern}*`, pattern.endsWith('/') ? pattern.slice(0, -1) : `${pattern}*`]
        : [pattern];
    const texts = /^[a-z][a-z\d+.-]*:/.test(pattern)
      ? [key]
      : [key, key.replace(/^[a-z][a-z\d+.-]*:/, '')];
    return wide.some((each) => texts.some((one) => matchesPattern(each, one)));
  };

  it('finds exactly the matches of plain keys, misses nothing that a covering key stands for, and says "all" only of all', () => {
    fc.assert(
      fc.property(anyPattern, anyKey, (pattern, key) => {
        const match = matchKey(pattern, key, { loosely: false });
        const covered = below(key);
        if (covered.length === 0) expect(match).toBe(plainly(pattern, key) ? 'all' : 'none');
        if (covered.length === 0) return;
        if (covered.some((each) => plainly(pattern, each))) expect(match).not.toBe('none');
        if (match === 'all')
          for (const each of covered) expect(plainly(pattern, each), each).toBe(true);
        if (match === 'some') expect(plainly(pattern, key.slice(0, -1))).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
