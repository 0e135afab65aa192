import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEADLINE_MS, NEWER_PACKAGES, NODE_22, NODE_24, ROOT } from '../programs.js';
import { install } from './consumer.js';

const OWN_PACKAGES = join(ROOT, 'node_modules');
const NODE_20 = process.execPath;
const { dependencies: newer } = JSON.parse(
  readFileSync(join(ROOT, 'test/node22/package.json'), 'utf8'),
) as { dependencies: Readonly<Record<string, string>> };
const { devDependencies: own } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  devDependencies: Readonly<Record<string, string>>;
};
/** Returns the name of a package with its major version, as in the documentation. */
const major = (packages: Readonly<Record<string, string>>, name: string) =>
  `${name} ${/@?(\d+)\.[\d.]+$/.exec(packages[name]!)![1]!}`;
const isInstalled = [
  NODE_22,
  NODE_24,
  join(NEWER_PACKAGES, 'vitest'),
  join(NEWER_PACKAGES, '@swc/core'),
].every((path) => existsSync(path));

/** A decorated class and a decorated method, as in the README. */
const DECLARED = `import { AccessMode, tool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { z } from 'zod';

const Input = z.object({ text: z.string() });

@tool({ name: 'word_count', description: 'Counts the words of a text', inputSchema: Input, accessMode: AccessMode.READONLY })
export class WordCount {
  execute({ text }: z.infer<typeof Input>) { return text.split(' ').length; }
}

export class Lines {
  @tool({ name: 'line_count', description: 'Counts the lines of a text', inputSchema: Input, accessMode: AccessMode.READONLY })
  count({ text }: z.infer<typeof Input>) { return text.split('\\n').length; }
}
`;
/** Prints what it found, in a line that compilers can't remove. */
const RUN = `
export async function run(): Promise<void> {
  const registry = new ToolMetadataRegistry();
  registry.registerAll([WordCount, Lines]);
  const outcome = await new ToolExecutor({ registry }).execute({ id: '1', name: 'word_count', input: { text: 'a b c' } });
  console.log([...registry].map(({ name }) => name).join(), outcome.status === 'ok' && outcome.value);
}
`;
const START = 'void run();\n';
const FOUND = 'word_count,line_count 3';
const PROGRAM = DECLARED + RUN + START;
const WITHOUT_SYNTAX = `import { AccessMode, defineTool, tool, ToolExecutor, ToolMetadataRegistry } from 'tooldex';
import { z } from 'zod';

const Input = z.object({ text: z.string() });

const WordCount = tool({ name: 'word_count', description: 'Counts the words of a text', inputSchema: Input, accessMode: AccessMode.READONLY })(class {
  execute({ text }: z.infer<typeof Input>) { return text.split(' ').length; }
});

const Lines = defineTool({ name: 'line_count', description: 'Counts the lines of a text', inputSchema: Input, accessMode: AccessMode.READONLY, execute: ({ text }) => text.split('\\n').length });
${RUN}${START}`;
const TEST = "import { it } from 'vitest';\nimport { run } from './tools';\n\nit('runs', run);\n";

type Files = Readonly<Record<string, string>>;
interface Attempt {
  /** The lines to add, as the documentation shows them. Empty for the unchanged tool. */
  readonly lines: string;
  readonly files?: Files;
  readonly ends: string;
}
interface Toolchain {
  readonly name: string;
  readonly needs?: 'newer packages';
  readonly links?: Readonly<Record<string, string>>;
  readonly files: Files;
  /** Programs with their arguments, run one after another. The last program runs the tool. */
  readonly commands: readonly (readonly string[])[];
  readonly attempts: readonly Attempt[];
}

const WORKS = 'works';
/**
 * Matches the error in a failure's output. Node and vitest sometimes print only the kind of error.
 */
const ERROR = /\w*Error: Invalid .*|Expression expected/;
const RAW = 'SyntaxError: Invalid or unexpected token';
const LEGACY = JSON.stringify({ compilerOptions: { experimentalDecorators: true } });
const legacyLines = '`"experimentalDecorators": true` in tsconfig.json';

/**
 * Type checks are skipped, because other tests check the types and this step would take nine tenths
 * of the time.
 */
const UNCHECKED = { noCheck: true, noResolve: true, lib: ['es5'] };

const bin = (packages: string, file: string) => join(packages, file);
const tsconfig = (options: object) => ({
  'tsconfig.json': JSON.stringify({
    compilerOptions: { module: 'nodenext', outDir: 'out', types: [], ...UNCHECKED, ...options },
    files: ['program.ts'],
  }),
});
const compiler = (name: string): Omit<Toolchain, 'name' | 'attempts'> => ({
  files: { 'program.ts': PROGRAM },
  commands: [
    [NODE_20, bin(OWN_PACKAGES, `${name}/bin/tsc`), '-p', '.'],
    [NODE_20, 'out/program.js'],
  ],
});
const compilerAttempts = (rest: object, files: Files = {}): Attempt[] => [
  { lines: '', files: { ...tsconfig({ ...rest, target: 'esnext' }), ...files }, ends: RAW },
  {
    lines: '`"target": "es2022"` in tsconfig.json',
    files: { ...tsconfig({ ...rest, target: 'es2022' }), ...files },
    ends: WORKS,
  },
  {
    lines: legacyLines,
    files: { ...tsconfig({ ...rest, target: 'esnext', experimentalDecorators: true }), ...files },
    ends: WORKS,
  },
];
const COMMON_JS = { 'package.json': '{}' };

const swc = (parser: object, transform: object) => ({
  '.swcrc': JSON.stringify({
    jsc: { parser: { syntax: 'typescript', ...parser }, transform, target: 'es2022' },
    module: { type: 'es6' },
  }),
});
const bundledByVite = (config: string) => ({
  'vite.config.js': `export default { logLevel: 'error', build: { ssr: 'program.ts', outDir: 'out', minify: false }, ${config} };`,
});

const TOOLCHAINS: readonly Toolchain[] = [
  {
    name: `${major(newer, 'vitest')} with ${major(newer, 'vite')}`,
    needs: 'newer packages',
    links: { vitest: bin(NEWER_PACKAGES, 'vitest'), vite: bin(NEWER_PACKAGES, 'vite') },
    files: { 'tools.ts': DECLARED + RUN, 'tools.test.ts': TEST },
    commands: [[NODE_22, bin(NEWER_PACKAGES, 'vitest/vitest.mjs'), 'run', '--reporter=verbose']],
    attempts: [
      { lines: '', ends: RAW },
      {
        lines: "`oxc: { target: 'es2022' }` in vitest.config",
        files: { 'vitest.config.js': "export default { oxc: { target: 'es2022' } };" },
        ends: RAW,
      },
      {
        lines: '`oxc: { decorator: { legacy: true } }` in vitest.config',
        files: { 'vitest.config.js': 'export default { oxc: { decorator: { legacy: true } } };' },
        ends: WORKS,
      },
      { lines: legacyLines, files: { 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  {
    name: `${major(own, 'vitest')} with ${major(own, 'vite')}`,
    links: { vitest: bin(OWN_PACKAGES, 'vitest'), vite: bin(OWN_PACKAGES, 'vite') },
    files: { 'tools.ts': DECLARED + RUN, 'tools.test.ts': TEST },
    commands: [[NODE_20, bin(OWN_PACKAGES, 'vitest/vitest.mjs'), 'run', '--reporter=verbose']],
    attempts: [
      { lines: '', ends: WORKS },
      { lines: legacyLines, files: { 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  {
    name: major(newer, 'vite'),
    needs: 'newer packages',
    files: { 'program.ts': PROGRAM },
    commands: [
      [NODE_20, bin(NEWER_PACKAGES, 'vite/bin/vite.js'), 'build'],
      [NODE_20, 'out/program.js'],
    ],
    attempts: [
      { lines: '', files: bundledByVite(''), ends: RAW },
      {
        lines: '`oxc: { decorator: { legacy: true } }` in vite.config',
        files: bundledByVite('oxc: { decorator: { legacy: true } }'),
        ends: WORKS,
      },
      { lines: legacyLines, files: { ...bundledByVite(''), 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  {
    name: major(own, 'vite'),
    files: { 'program.ts': PROGRAM },
    commands: [
      [NODE_20, bin(OWN_PACKAGES, 'vite/bin/vite.js'), 'build'],
      [NODE_20, 'out/program.js'],
    ],
    attempts: [
      { lines: '', files: bundledByVite(''), ends: WORKS },
      { lines: legacyLines, files: { ...bundledByVite(''), 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  {
    name: 'esbuild',
    files: {
      'program.ts': PROGRAM,
      'build.mjs':
        "import { build } from 'esbuild';\nconst [target] = process.argv.slice(2);\nawait build({ entryPoints: ['program.ts'], outfile: 'out/program.js', format: 'esm', platform: 'node', bundle: true, packages: 'external', logLevel: 'error', ...JSON.parse((await import('node:fs')).readFileSync('options.json', 'utf8')) });\n",
    },
    links: { esbuild: bin(OWN_PACKAGES, 'esbuild') },
    commands: [
      [NODE_20, 'build.mjs'],
      [NODE_20, 'out/program.js'],
    ],
    attempts: [
      { lines: '', files: { 'options.json': '{}' }, ends: RAW },
      {
        lines: "`target: 'es2022'`",
        files: { 'options.json': '{"target":"es2022"}' },
        ends: WORKS,
      },
      { lines: legacyLines, files: { 'options.json': '{}', 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  {
    name: 'swc',
    needs: 'newer packages',
    files: {
      'program.ts': PROGRAM,
      'build.cjs':
        "const { transformFileSync } = require('@swc/core');\nrequire('node:fs').writeFileSync('program.mjs', transformFileSync('program.ts').code);\n",
    },
    links: { '@swc/core': bin(NEWER_PACKAGES, '@swc/core') },
    commands: [
      [NODE_20, 'build.cjs'],
      [NODE_20, 'program.mjs'],
    ],
    attempts: [
      { lines: '', files: swc({}, {}), ends: 'Expression expected' },
      {
        lines:
          '`"decorators": true` in `jsc.parser`, `"decoratorVersion": "2022-03"` in `jsc.transform`',
        files: swc({ decorators: true }, { decoratorVersion: '2022-03' }),
        ends: WORKS,
      },
      {
        lines: '`"decorators": true` in `jsc.parser`, `"legacyDecorator": true` in `jsc.transform`',
        files: swc({ decorators: true }, { legacyDecorator: true }),
        ends: WORKS,
      },
    ],
  },
  {
    name: 'tsx',
    files: { 'program.ts': PROGRAM },
    links: { tsx: bin(OWN_PACKAGES, 'tsx') },
    commands: [[NODE_20, '--import', 'tsx', 'program.ts']],
    attempts: [
      { lines: '', ends: WORKS },
      { lines: legacyLines, files: { 'tsconfig.json': LEGACY }, ends: WORKS },
    ],
  },
  { name: 'tsc 7, ES modules', ...compiler('typescript7'), attempts: compilerAttempts({}) },
  {
    name: 'tsc 7, CommonJS',
    ...compiler('typescript7'),
    attempts: compilerAttempts({}, COMMON_JS),
  },
  { name: 'tsc 6', ...compiler('typescript'), attempts: compilerAttempts({}) },
  ...(
    [
      ['22', NODE_22],
      ['24', NODE_24],
    ] as const
  ).map(([version, node]): Toolchain => ({
    name: `Node ${version} without a compiler`,
    needs: 'newer packages',
    files: { 'program.ts': PROGRAM },
    commands: [[node, 'program.ts']],
    attempts: [
      { lines: '', ends: RAW },
      {
        lines: '`tool({…})(class)` or `defineTool({…})` in place of `@tool`',
        files: { 'program.ts': WITHOUT_SYNTAX },
        ends: WORKS,
      },
    ],
  })),
];

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-toolchains-')));
beforeAll(() => install(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs an attempt in a new folder. @returns `works`, or the line with the first error. */
async function tryOut(
  { links = {}, files, commands }: Toolchain,
  attempt: Attempt,
  name: string,
): Promise<string> {
  const cwd = join(folder, name);
  mkdirSync(join(cwd, 'node_modules'), { recursive: true });
  for (const [file, text] of Object.entries({
    'package.json': '{"type":"module"}',
    ...files,
    ...attempt.files,
  }))
    writeFileSync(join(cwd, file), text);
  for (const [link, path] of Object.entries(links)) {
    mkdirSync(dirname(join(cwd, 'node_modules', link)), { recursive: true });
    if (!existsSync(join(cwd, 'node_modules', link)))
      symlinkSync(path, join(cwd, 'node_modules', link), 'junction');
  }
  const env = { PATH: process.env['PATH'], HOME: folder, NO_COLOR: '1', CI: 'true' };
  let output = '';
  for (const [file, ...args] of commands) {
    const { failed, stdout, stderr } = await promisify(execFile)(file!, args, {
      cwd,
      env,
      timeout: DEADLINE_MS,
    }).then(
      (streams) => ({ ...streams, failed: false }),
      (error: { readonly stdout: string; readonly stderr: string }) => ({ ...error, failed: true }),
    );
    output = `${stdout}${stderr}`;
    if (failed) return ERROR.exec(output)?.[0] ?? output;
  }
  return output.includes(FOUND) ? WORKS : output;
}

describe('tools declared with @tool', () => {
  for (const [at, toolchain] of TOOLCHAINS.entries()) {
    describe.skipIf(toolchain.needs !== undefined && !isInstalled)(
      `on ${toolchain.name}${toolchain.needs === undefined ? '' : ' (skipped without npm ci --prefix test/node22)'}`,
      () => {
        for (const [number, attempt] of toolchain.attempts.entries()) {
          it(`${attempt.ends === WORKS ? 'run' : 'fail'} ${attempt.lines === '' ? 'without changes' : `with ${attempt.lines}`}`, async () => {
            expect(await tryOut(toolchain, attempt, `${at}-${number}`)).toBe(attempt.ends);
          });
        }
      },
    );
  }

  describe.skipIf(!isInstalled)(
    'on vitest 5 after a run that failed (skipped without npm ci --prefix test/node22)',
    () => {
      it('fail even after tsconfig.json was fixed, until the cache is cleared', async () => {
        const [vitest] = TOOLCHAINS as readonly [Toolchain];
        const [asItIs, , , legacy] = vitest.attempts as readonly [
          Attempt,
          Attempt,
          Attempt,
          Attempt,
        ];
        const run = (attempt: Attempt, ...args: readonly string[]) =>
          tryOut({ ...vitest, commands: [[...vitest.commands[0]!, ...args]] }, attempt, 'cached');
        expect(await run(asItIs)).toBe(RAW);
        expect(await run(legacy)).toBe(RAW);
        await run(legacy, '--clearCache');
        expect(await run(legacy)).toBe(WORKS);
      });
    },
  );

  it('have an entry in docs/set-up.md for each toolchain, with the error and the lines to add', () => {
    expect(readFileSync(join(ROOT, 'docs/set-up.md'), 'utf8')).toContain(table());
  });
});

function table(): string {
  const rows = TOOLCHAINS.map(({ name, attempts }) => {
    const [asItIs, ...others] = attempts;
    const list = (works: boolean) =>
      others
        .filter(({ ends }) => (ends === WORKS) === works)
        .map(({ lines }) => lines)
        .join('; or ');
    return `| ${name} | ${asItIs!.ends === WORKS ? WORKS : `\`${asItIs!.ends}\``} | ${list(true)} | ${list(false)} |`;
  });
  return [
    "| Toolchain | Out of the box | Works with | Doesn't help |",
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
