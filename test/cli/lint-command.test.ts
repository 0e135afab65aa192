import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CapabilityRegistry } from '../../src/capability.js';
import { runCli } from '../../src/cli/run-cli.js';
import { FakeTerminal } from './fake-terminal.js';
import { propertyRuns } from '../property-runs.js';

type Files = Readonly<Record<string, unknown>>;
const entry = (name: string, fields: object = {}) => ({
  name,
  description: `Does ${name} and more`,
  parameters: { type: 'object' },
  manual: true,
  ...fields,
});
const text = (value: unknown) =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2);

/** A folder that is a repository of its own, so that no settings above it count. */
function folderOf(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'tooldex-lint-'));
  for (const [file, value] of Object.entries({ '.git/HEAD': '', ...files })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text(value));
  }
  return folder;
}

async function lintIn(folder: string, ...args: readonly string[]) {
  const terminal = new FakeTerminal({ columns: 200 });
  const code = await runCli(
    [
      'lint',
      '--manifests',
      args.includes('--sub') ? '../manifests' : 'manifests',
      ...args.filter((each) => each !== '--sub'),
    ],
    terminal,
    folder,
  );
  return { code, out: terminal.printed, err: terminal.told };
}
const rulesIn = ({ out }: { readonly out: string }) => [
  ...new Set(
    (JSON.parse(out) as { rule: string; severity: string }[]).map(
      ({ rule, severity }) => `${severity} ${rule}`,
    ),
  ),
];

/** Tools that say nothing of their safety. */
const OPEN = [
  entry('sweep', { category: 'a' }),
  entry('mystery', { category: 'a' }),
  entry('clean', { category: 'a', access_mode: 'readonly' }),
];
const open = (more: Files = {}) => folderOf({ 'manifests/functions.json': OPEN, ...more });

describe('the rules of tooldex lint', () => {
  it.each([
    ['an option', {}, ['--rule', 'inferred-safety=off']],
    [
      'a file of settings with comments',
      { 'tooldex.config.json': '{ "lint": { "rules": { "inferred-safety": "off", /* why */ } } }' },
      [],
    ],
    [
      'the package',
      { 'package.json': { name: 'x', tooldex: { lint: { rules: { 'inferred-safety': 'off' } } } } },
      [],
    ],
  ])('are switched off by %s, which the summary says', async (_, files, args) => {
    const { code, out } = await lintIn(open(files), ...args);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/3 tools, nothing to fix \(off: inferred-safety\)\n$/),
    ]);
  });

  it('change their severity, and an option wins over a file', async () => {
    const folder = open({
      'tooldex.config.json': { lint: { rules: { 'inferred-safety': 'error' } } },
      'package.json': { name: 'x' },
    });
    expect(rulesIn(await lintIn(folder, '--json'))).toEqual(['error inferred-safety']);
    expect(
      rulesIn(await lintIn(folder, '--json', '--rule', 'inferred-safety=warning,no-keywords=off')),
    ).toEqual(['warning inferred-safety']);
    expect(rulesIn(await lintIn(open(), '--json'))).toEqual(['warning inferred-safety']);
  });

  it('are those of the nearest folder with settings, up to the root of the repository', async () => {
    const folder = open({
      'package.json': { tooldex: { lint: { rules: { 'inferred-safety': 'off' } } } },
      'sub/package.json': { name: 'y' },
    });
    expect((await lintIn(join(folder, 'sub'), '--sub')).code).toBe(0);
    writeFileSync(join(folder, 'sub/.git'), 'gitdir: elsewhere');
    expect((await lintIn(join(folder, 'sub'), '--sub')).code).toBe(1);
  });

  it('are those of the file of settings beside a damaged package.json, which stops lint only where it could hold them', async () => {
    const settings = { lint: { rules: { 'inferred-safety': 'off' } } };
    expect(
      await lintIn(open({ 'tooldex.config.json': settings, 'package.json': '{ "name": ' })),
    ).toMatchObject({ code: 0, err: '' });
    expect(await lintIn(open({ 'package.json': '{\n "name": ' }))).toMatchObject({
      code: 2,
      err: expect.stringContaining('Expected JSON in package.json') as string,
    });
  });

  it.each([
    [
      'an unknown rule',
      {},
      ['--rule', 'infered-safety=off'],
      'Expected a known option, got "infered-safety". Did you mean "inferred-safety"?',
    ],
    [
      'an unknown severity',
      {},
      ['--rule', 'inferred-safety=warn'],
      'Expected one of "off", "warning", "error", got "warn"',
    ],
    [
      'a rule without a severity',
      {},
      ['--rule', 'inferred-safety'],
      'Expected --rule as name=off, name=warning or name=error, got "inferred-safety"',
    ],
    ['what keeps files from loading', {}, ['--rule', 'load-error=off'], 'got "load-error"'],
    [
      'an unknown rule of a file',
      { 'tooldex.config.json': { lint: { rules: { 'no-keyword': 'off' } } } },
      [],
      'tooldex.config.json: ',
    ],
    [
      'an unknown setting',
      { 'package.json': { tooldex: { rules: {} } } },
      [],
      '"tooldex" in package.json: ',
    ],
    [
      'a file that is no JSON',
      { 'tooldex.config.json': '{\n  "lint": {\n  "rules" 1 } }' },
      [],
      'Expected JSON in tooldex.config.json, got ColonExpected in line 3',
    ],
    [
      'settings in two places',
      { 'tooldex.config.json': {}, 'package.json': { tooldex: {} } },
      [],
      'Expected settings in one place',
    ],
    ['--dry-run without --fix', {}, ['--dry-run'], '--dry-run together with --fix'],
    [
      'two formats',
      {},
      ['--json', '--format', 'github'],
      'Expected --json or --format github, got both. Leave one of them out.',
    ],
  ])('are refused for %s', async (_, files, args, message) => {
    const { code, err } = await lintIn(open(files), ...args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

it('tooldex lint prints equal findings on one line with their tools, and each as JSON and as an annotation', async () => {
  const { out } = await lintIn(open());
  expect(out.match(/inferred-safety/g)).toHaveLength(1);
  expect(out).toMatch(
    /warning +inferred-safety +2 tools +declare access_mode, danger_level, execution_category.* – mystery, sweep/,
  );
  expect(out).toContain('\n0 errors, 2 warnings in 1 group; 3 tools checked\n');
  expect(JSON.parse((await lintIn(open(), '--json')).out)).toHaveLength(2);
  expect((await lintIn(open(), '--format', 'github')).out.match(/^::warning/gm)).toHaveLength(2);
});

it('tooldex lint names the place of each finding from the working directory, with its line where a manifest has one', async () => {
  const text = `[\n  ${JSON.stringify(OPEN[2])},\n  ${JSON.stringify(OPEN[0])},\n  { "name": "broken", "description": "Is broken", "manual": true, "parameters": 7 }\n]\n`;
  const folder = folderOf({ 'sub/manifests/functions.json': text });
  const lintHere = async (...args: readonly string[]) => {
    const terminal = new FakeTerminal({ columns: 200 });
    await runCli(['lint', '--manifests', 'sub/manifests', ...args], terminal, folder);
    return terminal.printed;
  };
  const file = 'sub/manifests/functions.json';
  expect(JSON.parse(await lintHere('--json'))).toMatchObject([
    { rule: 'load-error', file, line: 4, column: 81 },
    { rule: 'inferred-safety', toolName: 'sweep', file, line: 3, column: null },
  ]);
  const [first, second] = (await lintHere('--format', 'github')).split('\n');
  expect(first).toMatch(
    /^::error file=sub\/manifests\/functions\.json,line=4,col=81,title=load-error::"broken": parameters: Expected /,
  );
  expect(second).toMatch(
    /^::warning file=sub\/manifests\/functions\.json,line=3,title=inferred-safety::sweep: declare access_mode/,
  );
  const table = await lintHere();
  expect(table).toContain(`${file}:4:81: "broken"`);
  expect(table).toContain('1 error, 1 warning; 2 tools checked');
});

it('tooldex lint names in an annotation no file that is none', async () => {
  const terminal = new FakeTerminal();
  expect(
    await runCli(['lint', '--tools', 'none/*.ts', '--format', 'github'], terminal, folderOf({})),
  ).toBe(1);
  expect(terminal.printed).toMatch(/^::error title=load-error::none\/\*\.ts: Expected a file/);
});

describe('tooldex lint --fix', () => {
  it('prints for tools of code the lines to add, and that they are the strictest and not the truth', async () => {
    const folder = folderOf({
      'a.mjs': `import { defineTool } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).href)};\nexport const sweep = defineTool({ name: 'sweep', description: 'Sweeps', category: 'a', inputSchema: {}, execute: () => 1 });\n`,
    });
    const terminal = new FakeTerminal();
    expect(await runCli(['lint', '--tools', 'a.mjs', '--fix'], terminal, folder)).toBe(1);
    expect(terminal.printed).toContain(
      "to add a.mjs sweep: accessMode: 'mixed', dangerLevel: 'high', executionCategory: 'mixed',\nThese values are the strictest that are inferred, not the truth: declare what is true of each tool.\n",
    );
  });

  it('puts the new text in the place of the old file, which keeps its permissions, also through a link', async () => {
    const folder = folderOf({ 'manifests/texts/real.json': OPEN });
    const file = join(folder, 'manifests/texts/real.json');
    chmodSync(file, 0o664);
    linkSync(file, join(folder, 'before.json'));
    symlinkSync('texts/real.json', join(folder, 'manifests/functions.json'));
    expect((await lintIn(folder, '--fix')).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('access_mode": "mixed');
    expect(lstatSync(join(folder, 'manifests/functions.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, 'before.json'), 'utf8')).toBe(text(OPEN));
    expect([statSync(file).mode & 0o777, readdirSync(join(folder, 'manifests/texts'))]).toEqual([
      0o664,
      ['real.json'],
    ]);
  });

  it('judges afterwards what the files hold, with all that is wrong in them by then', async () => {
    const folder = open();
    const file = join(folder, 'manifests/functions.json');
    const terminal = new FakeTerminal({ columns: 200 });
    // Another program writes between the writing and the judging.
    const out = terminal.out;
    terminal.out = (line) => {
      if (line.includes('fixed')) writeFileSync(file, text([{ ...OPEN[2], keywords: ['?!'] }]));
      out(line);
    };
    expect(await runCli(['lint', '--manifests', 'manifests', '--fix'], terminal, folder)).toBe(1);
    expect(terminal.printed).toMatch(/error +unmatchable-keyword +clean/);
    expect(terminal.printed).toContain('1 error, 0 warnings; 1 tool checked');
  });

  it('writes what is inferred into the manifest, and leaves the rest of its text as it is', async () => {
    const source = `[\n    ${JSON.stringify(OPEN[2])},\n    {\n        "name": "sweep", "description": "Sweeps", "category": "a",\n        "parameters": {"type": "object"},\n        "manual": true\n    }\n]\n`;
    const folder = folderOf({ 'manifests/functions.json': source });
    const { code, out } = await lintIn(folder, '--fix');
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(
        'fixed manifests/functions.json: sweep\nThese values are the strictest that are inferred, not the truth',
      ),
    ]);
    const added =
      '"manual": true,\n        "access_mode": "mixed",\n        "danger_level": "high",\n        "execution_category": "mixed"\n';
    expect(readFileSync(join(folder, 'manifests/functions.json'), 'utf8')).toBe(
      source.replace('"manual": true\n', added),
    );
    expect(await lintIn(folder)).toMatchObject({ code: 0 });
  });

  it('with --dry-run shows the difference and writes nothing', async () => {
    const folder = open();
    const { code, out } = await lintIn(folder, '--fix', '--dry-run');
    expect(code).toBe(1);
    for (const line of [
      '--- manifests/functions.json',
      '+++ manifests/functions.json',
      '+    "access_mode": "mixed",',
      '+    "execution_category": "mixed"',
      '     "manual": true',
    ])
      expect(out).toContain(line);
    expect(readFileSync(join(folder, 'manifests/functions.json'), 'utf8')).toBe(text(OPEN));
    expect(
      (JSON.parse((await lintIn(folder, '--fix', '--dry-run', '--json')).out) as unknown[]).length,
    ).toBe(2);
  });

  it('writes each tool in the file it comes from, also wrapped, under tools, with a byte order mark and other line ends', async () => {
    const wrapped = `\uFEFF{"tools": [\r\n\t{"type": "function", "function": {"name": "own", "description": "Own", "parameters": {"type": "object"}, "manual": true}}\r\n]}`;
    const folder = folderOf({
      'manifests/functions.json': [entry('sweep', { category: 'a' })],
      'manifests/personas/Nova/functions.json': wrapped,
    });
    expect(await lintIn(folder, '--persona', 'Nova', '--fix')).toMatchObject({ code: 0 });
    const after = readFileSync(join(folder, 'manifests/personas/Nova/functions.json'), 'utf8');
    expect(after).toMatch(/^\uFEFF\{"tools": \[\r\n/);
    expect(after.replaceAll('\r\n', '')).not.toContain('\n');
    expect(JSON.parse(after.slice(1))).toMatchObject({
      tools: [{ access_mode: 'mixed', function: { name: 'own' } }],
    });
  });

  it('changes nothing that any tool does', async () => {
    const some = fc.record(
      {
        side_effects: fc.constantFrom(
          'none',
          'write',
          'network',
          'filesystem',
          'database',
          'system',
        ),
        safety_level: fc.constantFrom('low', 'medium', 'high', 'critical'),
        danger_level: fc.constantFrom('high', 'critical'),
        execution_category: fc.constantFrom('network', 'compute', 'write', 'mixed'),
        cost_tier: fc.constantFrom('free', 'high'),
        allow_parallel: fc.boolean(),
        requires_consent: fc.boolean(),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(some, { minLength: 1, maxLength: 4 }), async (all) => {
        const folder = folderOf({
          'manifests/functions.json': all.map((fields, index) => entry(`tool_${index}`, fields)),
        });
        const tools = async () =>
          [
            ...(await CapabilityRegistry.load({ root: join(folder, 'manifests') })).registryFor(),
          ].map(
            ({ inferred: _inferred, digest: _digest, definition: _definition, ...rest }) => rest,
          );
        const before = await tools();
        await lintIn(folder, '--fix');
        expect(await tools()).toEqual(before);
        expect(rulesIn(await lintIn(folder, '--json'))).not.toContain('warning inferred-safety');
      }),
      { numRuns: propertyRuns(30) },
    );
  });
});
