import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folderWith, tooldex } from './command-line.js';

type Files = Readonly<Record<string, unknown>>;
const entry = (name: string, fields: object = {}) => ({
  name,
  description: `Does ${name} and more`,
  parameters: { type: 'object' },
  manual: true,
  ...fields,
});

/** Returns a folder that is its own repository, so no settings above it apply. */
const folderOf = (files: Files) => folderWith({ '.git/HEAD': '', ...files });

const lintIn = (folder: string, ...args: readonly string[]) =>
  tooldex(
    [
      'lint',
      '--manifests',
      args.includes('--sub') ? '../manifests' : 'manifests',
      ...args.filter((each) => each !== '--sub'),
    ],
    { columns: 200, cwd: folder },
  );
const rulesIn = ({ out }: { readonly out: string }) => [
  ...new Set(
    (JSON.parse(out) as { rule: string; severity: string }[]).map(
      ({ rule, severity }) => `${severity} ${rule}`,
    ),
  ),
];

/** Tools that declare nothing about their safety. */
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
      'a settings file with comments',
      { 'tooldex.config.json': '{ "lint": { "rules": { "inferred-safety": "off", /* why */ } } }' },
      [],
    ],
  ])('can be turned off by %s, and the summary lists them', async (_, files, args) => {
    const { code, out } = await lintIn(open(files), ...args);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/3 tools, nothing to fix \(off: inferred-safety\)\n$/),
    ]);
  });

  it('can have their severity changed, and an option overrides a settings file', async () => {
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

  it('come from the nearest settings file, up to the root of the repository', async () => {
    const folder = open({
      'tooldex.config.json': { lint: { rules: { 'inferred-safety': 'off' } } },
      'sub/package.json': { name: 'y' },
    });
    expect((await lintIn(join(folder, 'sub'), '--sub')).code).toBe(0);
    writeFileSync(join(folder, 'sub/.git'), 'gitdir: elsewhere');
    expect((await lintIn(join(folder, 'sub'), '--sub')).code).toBe(1);
  });

  it.each([
    [
      'an unknown rule',
      {},
      ['--rule', 'infered-safety=off'],
      'Expected a known option, got "infered-safety". Did you mean "inferred-safety"?',
    ],
    ["a rule that can't be turned off", {}, ['--rule', 'load-error=off'], 'got "load-error"'],
    [
      'an unknown rule in a settings file',
      { 'tooldex.config.json': { lint: { rules: { 'no-keyword': 'off' } } } },
      [],
      'tooldex.config.json: ',
    ],
    [
      "a settings file that isn't JSON",
      { 'tooldex.config.json': '{\n  "lint": {\n  "rules" 1 } }' },
      [],
      "tooldex.config.json isn't valid JSON: colon expected on line 3",
    ],
  ])('produce an error for %s', async (_, files, args, message) => {
    const { code, err } = await lintIn(open(files), ...args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

it('tooldex lint groups equal findings on one line, but prints each finding in JSON and annotations', async () => {
  const { out } = await lintIn(open());
  expect(out.match(/inferred-safety/g)).toHaveLength(1);
  expect(out).toMatch(
    /^warning inferred-safety: declare access_mode, danger_level, execution_category.*\n {2}mystery, sweep$/m,
  );
  expect(out).toContain('\n0 errors, 2 warnings; 3 tools checked\n');
  expect(JSON.parse((await lintIn(open(), '--json')).out)).toHaveLength(2);
  expect((await lintIn(open(), '--format', 'github')).out.match(/^::warning/gm)).toHaveLength(2);
});

it("tooldex lint reports each finding's file relative to the working directory, and the line in a manifest", async () => {
  const text = `[\n  ${JSON.stringify(OPEN[2])},\n  ${JSON.stringify(OPEN[0])},\n  { "name": "broken", "description": "Is broken", "manual": true, "parameters": 7 }\n]\n`;
  const folder = folderOf({ 'sub/manifests/functions.json': text });
  const lintHere = async (...args: readonly string[]) =>
    (await tooldex(['lint', '--manifests', 'sub/manifests', ...args], { cwd: folder })).out;
  const file = 'sub/manifests/functions.json';
  expect(JSON.parse(await lintHere('--json'))).toMatchObject([
    { rule: 'load-error', file, line: 4, column: 81 },
    { rule: 'inferred-safety', toolName: 'sweep', file, line: 3, column: null },
  ]);
  const [first, second] = (await lintHere('--format', 'github')).split('\n');
  expect(first).toMatch(
    /^::error file=sub\/manifests\/functions\.json,line=4,col=81,title=load-error::"broken" \/2\/parameters: Expected /,
  );
  expect(second).toMatch(
    /^::warning file=sub\/manifests\/functions\.json,line=3,title=inferred-safety::sweep: declare access_mode/,
  );
  const table = await lintHere();
  expect(table).toContain(`${file}:4:81: "broken"`);
  expect(table).toContain('1 error, 1 warning; 2 tools checked');
});

it('tooldex lint omits the file from an annotation if the location is a pattern', async () => {
  const args = ['lint', '--tools', 'none/*.ts', '--format', 'github'];
  const { code, out } = await tooldex(args, { cwd: folderOf({}) });
  expect([code, out]).toEqual([
    1,
    expect.stringMatching(/^::error title=load-error::none\/\*\.ts: No TypeScript/),
  ]);
});

it('tooldex lint checks a class whose constructor takes arguments, without an instance', async () => {
  const folder = folderOf({
    'tools.mjs': `import { tool } from ${JSON.stringify(new URL('../../src/index.ts', import.meta.url).pathname)};
      class Mail { constructor(client) { throw new Error('made'); } execute() {} }
      export const Tool = tool({ name: 'mail.send', description: 'Sends a mail', inputSchema: {} })(Mail);`,
  });
  const { out } = await tooldex(['lint', '--tools', '*.mjs', '--json'], { cwd: folder });
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ toolName: 'mail.send', rule: 'inferred-safety' }),
  );
  expect(out).not.toContain('load-error');
});
