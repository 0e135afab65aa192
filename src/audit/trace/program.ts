import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ToolError } from '../../core/errors.js';
import { expectedGot, missingPackage } from '../../core/issues.js';

/**
 * A node of the syntax tree (ESTree with TypeScript's types). A node's fields depend on its type.
 */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [field: string]: any;
}

export interface Module {
  readonly file: string;
  /** The path relative to the root, with `/`. */
  readonly name: string;
  readonly text: string;
  readonly body: readonly Node[];
  /** True if the module is part of the audited code itself. */
  readonly own: boolean;
}

type Resolved =
  | { readonly file: string }
  | { readonly builtin: string }
  | { readonly pkg: string; readonly sub: string };
/** A file that wasn't read, with the reason. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
}

const BUILTINS = new Set(builtinModules.map((name) => name.replace(/^node:/u, '')));
const EXTENSIONS = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts', '.tsx', '.jsx', '.json'];
const MAX_FILE_BYTES = 12_000_000;
const MAX_ALL_BYTES = 80_000_000;
const MAX_FILES = 4_000;
/**
 * Maximum length of a source text that can't overflow the parser's stack, however deeply it's
 * nested.
 */
const SAFE_LENGTH = 2_000;
const MAX_TRIAL_BYTES = 60_000_000;
const MAX_FAILED = 40;

/** Returns the package that a file in `node_modules` belongs to, or undefined for other files. */
function packageOf(file: string): string | undefined {
  const at = file.lastIndexOf('/node_modules/');
  if (at < 0) return undefined;
  const [first = '', second = ''] = file.slice(at + 14).split('/');
  return first.startsWith('@') ? `${first}/${second}` : first;
}

const packageOfSpecifier = (specifier: string): { pkg: string; sub: string } => {
  const parts = specifier.split('/');
  const count = specifier.startsWith('@') ? 2 : 1;
  return { pkg: parts.slice(0, count).join('/'), sub: parts.slice(count).join('/') };
};

/**
 * Parses files one by one in a thread of a separate process, and writes a byte for each success.
 * The parser is native code, and crashes if text is nested too deeply for its stack.
 */
const TRIAL = `const { Worker, workerData, isMainThread } = require('worker_threads'); const fs = require('fs');
const deep = (n, run) => (n === 0 ? run() : deep(n - 1, run));
if (isMainThread) new Worker(process.env.TRIAL, { eval: true, workerData: JSON.parse(fs.readFileSync(0, 'utf8')) });
else import(workerData.parser).then(({ parseSync }) => { for (const [file, lang] of workerData.files) { try { const text = fs.readFileSync(file, 'utf8'); deep(4000, () => parseSync(file, text, { lang, preserveParens: false })); } catch {} fs.writeSync(1, '.'); } });`;

/**
 * Returns the parser's URL, for use in another process. The path of this file comes from a stack
 * trace, which works in both ES modules and CommonJS.
 */
function parserAddress(): string {
  const [, here] =
    /\(?((?:file:\/\/|\/|[A-Za-z]:\\).*?):\d+:\d+\)?$/mu.exec(new Error().stack ?? '') ?? [];
  return here === undefined
    ? 'oxc-parser'
    : pathToFileURL(createRequire(here).resolve('oxc-parser')).href;
}

interface Parser {
  parse(
    file: string,
    text: string,
  ): { readonly program: Node; readonly errors: readonly unknown[] };
}

/**
 * The audited code. Modules are parsed on demand, within limits. `skipped` lists the modules that
 * weren't read.
 */
export class Program {
  readonly skipped: Skipped[] = [];
  /** The packages that are followed like the audited code. */
  readonly entered = new Set<string>();
  readonly #modules = new Map<string, Module | undefined>();
  readonly #resolutions = new Map<string, Resolved | undefined>();
  #bytes = 0;
  /** The files that a separate process has parsed without a crash. */
  readonly #tried = new Map<string, boolean>();
  #failed = 0;

  private constructor(
    readonly root: string,
    private readonly parser: Parser,
    private readonly resolver: (file: string, specifier: string) => string | undefined,
    private readonly parserPath: string,
  ) {}

  static async open(root: string): Promise<Program> {
    // Bundlers accept a missing package only if its import has its own `catch`.
    const failures = new Map<string, unknown>();
    const missing = (name: string) => (cause: unknown) => void failures.set(name, cause);
    const [parsing, resolving] = await Promise.all([
      import('oxc-parser').catch(missing('oxc-parser')),
      import('oxc-resolver').catch(missing('oxc-resolver')),
    ]);
    if (parsing === undefined || resolving === undefined)
      return missingPackage([...failures.keys()].join(' '))([...failures.values()][0]);
    const { parseSync } = parsing;
    const { ResolverFactory } = resolving;
    const factory = new ResolverFactory({
      conditionNames: ['node', 'import', 'require', 'default'],
      extensions: EXTENSIONS,
      extensionAlias: {
        '.js': ['.ts', '.tsx', '.js'],
        '.mjs': ['.mts', '.mjs'],
        '.cjs': ['.cts', '.cjs'],
        '.jsx': ['.tsx', '.jsx'],
      },
      mainFields: ['main', 'module'],
      tsconfig: 'auto',
    });
    const parser: Parser = {
      parse: (file, text) => {
        const parsed = parseSync(file, text, { lang: languageOf(file), preserveParens: false });
        return {
          program: parsed.program,
          errors: parsed.errors.filter((error) => String(error.severity) === 'Error'),
        };
      },
    };
    // The resolver would wait forever for a pipe.
    for (const manifest of ['package.json', 'tsconfig.json'].map((name) => path.join(root, name)))
      if (existsSync(manifest) && !statSync(manifest).isFile())
        throw new ToolError(
          'INVALID_ARGUMENT',
          expectedGot(`${path.basename(manifest)} as a file`, 'something else'),
        );
    // Modules are identified by their real paths, so the root must be a real path too.
    return new Program(
      existsSync(root) ? realpathSync.native(root) : path.resolve(root),
      parser,
      (file, specifier) => factory.resolveFileSync(file, specifier).path,
      parserAddress(),
    );
  }

  isOwn(file: string): boolean {
    const pkg = packageOf(file);
    const inside =
      file.startsWith(`${this.root}${path.sep}`) &&
      !/\/(?:node_modules|third[_-]party|vendor)\//u.test(file.slice(this.root.length));
    return inside || (pkg !== undefined && this.entered.has(pkg));
  }

  resolve(from: string, specifier: string): Resolved | undefined {
    const key = `${path.dirname(from)}\n${specifier}`;
    if (!this.#resolutions.has(key)) this.#resolutions.set(key, this.#resolve(from, specifier));
    return this.#resolutions.get(key);
  }

  #resolve(from: string, specifier: string): Resolved | undefined {
    const bare = specifier.replace(/^node:/u, '');
    if (specifier.startsWith('node:') || BUILTINS.has(bare)) return { builtin: bare };
    let file: string | undefined;
    try {
      file = this.resolver(from, specifier);
    } catch {
      file = undefined;
    }
    if (file !== undefined && this.isOwn(file)) return { file };
    if (/^[./#]/u.test(specifier))
      return file === undefined ? undefined : { pkg: packageOf(file) ?? '', sub: '' };
    return packageOfSpecifier(specifier);
  }

  /** Returns the file that a specifier resolves to, or undefined if there is none. */
  fileOf(from: string, specifier: string): string | undefined {
    try {
      return this.resolver(from, specifier);
    } catch {
      return undefined;
    }
  }

  module(file: string): Module | undefined {
    if (!this.#modules.has(file)) this.#modules.set(file, this.#load(file));
    return this.#modules.get(file);
  }

  get modules(): readonly Module[] {
    return [...this.#modules.values()].filter((module) => module !== undefined);
  }

  nameOf(file: string): string {
    return path.relative(this.root, file).split(path.sep).join('/');
  }

  #load(file: string): Module | undefined {
    const name = this.nameOf(file);
    const skip = (reason: string): undefined => void this.skipped.push({ name, reason });
    if (this.#modules.size >= MAX_FILES) return skip('too many files');
    try {
      const status = statSync(file);
      // Reading from a pipe or device might never end.
      if (!status.isFile()) return skip('not a file');
      const { size } = status;
      if (size > MAX_FILE_BYTES) return skip('too large');
      if ((this.#bytes += size) > MAX_ALL_BYTES) return skip('too much code');
      const text = readFileSync(file, 'utf8');
      if (file.endsWith('.json'))
        return {
          file,
          name,
          text,
          body: [{ type: 'Data', start: 0, end: 0, data: JSON.parse(text) as unknown }],
          own: this.isOwn(file),
        };
      if (text.length > SAFE_LENGTH && !this.#parsesElsewhere(file))
        return skip('nested too deeply');
      const { program, errors } = this.parser.parse(file, text);
      if (errors.length > 0 && (program['body'] as unknown[]).length === 0)
        return skip('not valid JavaScript or TypeScript');
      return { file, name, text, body: program['body'] as readonly Node[], own: this.isOwn(file) };
    } catch {
      return existsSync(file) ? skip('could not be parsed') : undefined;
    }
  }

  /** Tries in a separate process to parse all files of the package that contains this file. */
  #parsesElsewhere(file: string): boolean {
    const known = this.#tried.get(file);
    if (known !== undefined) return known;
    let bytes = 0;
    const pkg = packageOf(file);
    const folder =
      pkg === undefined
        ? this.root
        : file.slice(0, file.lastIndexOf('/node_modules/') + 14 + pkg.length);
    const beside = codeFiles(folder).filter(
      (one) => !this.#tried.has(one) && (bytes += statSync(one).size) < MAX_TRIAL_BYTES,
    );
    let files = [file, ...beside.filter((one) => one !== file)];
    while (files.length > 0 && this.#failed < MAX_FAILED) {
      const input = JSON.stringify({
        parser: this.parserPath,
        files: files.map((one) => [one, languageOf(one)]),
      });
      const { stdout, status, error } = spawnSync(process.execPath, ['-e', TRIAL], {
        input,
        timeout: 30_000,
        env: { TRIAL },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      const through = stdout?.length ?? 0;
      // If the process doesn't start or lacks the parser, files are parsed without this test.
      if (
        through === 0 &&
        (status === 1 ||
          (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ETIMEDOUT'))
      ) {
        for (const one of files) this.#tried.set(one, true);
        break;
      }
      for (const one of files.slice(0, through)) this.#tried.set(one, true);
      if (through < files.length) {
        this.#tried.set(files[through] as string, false);
        this.#failed += 1;
      }
      files = files.slice(through + 1);
    }
    for (const one of [file, ...files]) if (!this.#tried.has(one)) this.#tried.set(one, false);
    return this.#tried.get(file) === true;
  }
}

const languageOf = (file: string): 'ts' | 'tsx' | 'jsx' =>
  /\.[cm]?ts$/u.test(file) ? 'ts' : file.endsWith('.tsx') ? 'tsx' : 'jsx';

const starts = new WeakMap<Module, number[]>();

/** Returns `file:line` of a place in a module. */
export function placeOf(module: Module, offset: number): string {
  let lines = starts.get(module);
  if (lines === undefined) {
    lines = [0];
    for (let at = module.text.indexOf('\n'); at >= 0; at = module.text.indexOf('\n', at + 1))
      lines.push(at + 1);
    starts.set(module, lines);
  }
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lines[middle] as number) <= offset) low = middle;
    else high = middle - 1;
  }
  return `${module.name}:${low + 1}`;
}

const CODE = /\.(?:[cm]?[jt]s|[jt]sx)$/u;
const NO_CODE =
  /\.d\.[cm]?ts$|(?:^|\/)(?:node_modules|test|tests|__tests__|[\w-]+-tests|benchmarks|fixtures|\.git|coverage|examples|docs)(?:\/|$)|\.(?:test|spec)\.[cm]?[jt]sx?$/u;

/** Lists the code files in a folder, except packages and tests. */
export function codeFiles(folder: string, most = 3_000, kind = CODE): readonly string[] {
  const files: string[] = [];
  const folders = [folder];
  while (folders.length > 0 && files.length < most) {
    const at = folders.pop() as string;
    let entries;
    try {
      entries = readdirSync(at, { withFileTypes: true });
    } catch {
      continue;
    }
    for (const entry of entries) {
      const full = path.join(at, entry.name);
      if (NO_CODE.test(full.slice(folder.length))) continue;
      if (entry.isDirectory()) folders.push(full);
      else if (entry.isFile() && kind.test(entry.name) && statSync(full).size < MAX_FILE_BYTES)
        files.push(full);
    }
  }
  return files;
}

/** Returns the programs and exports that a package.json lists. */
export function entriesOf(root: string): readonly string[] {
  const found: string[] = [];
  const add = (value: unknown): void => {
    if (
      typeof value === 'string' &&
      !value.includes('*') &&
      !value.endsWith('.json') &&
      !/\.d\.[cm]?ts$/u.test(value)
    )
      found.push(value);
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) if (key !== 'types') add(one);
  };
  try {
    const { bin, main, module, exports } = JSON.parse(
      readFileSync(path.join(root, 'package.json'), 'utf8'),
    ) as Record<string, unknown>;
    [bin, main, module, exports].forEach(add);
  } catch {
    // Without a package.json, only the usual names below are tried.
  }
  const usual = [
    'index.js',
    'index.ts',
    'src/index.ts',
    'dist/index.js',
    'server.js',
    'src/server.ts',
  ];
  const files = [...new Set([...found, ...usual].map((file) => path.resolve(root, file)))].flatMap(
    (file) =>
      [file, `${file}.js`, path.join(file, 'index.js')]
        .filter(
          (one) =>
            /\.[cm]?[jt]sx?$/u.test(one) && one.startsWith(root + path.sep) && existsSync(one),
        )
        .slice(0, 1),
  );
  return files.length > 0 ? files.slice(0, 24) : codeFiles(root, 200);
}

export function folderOf(
  program: Program,
  files: readonly string[],
  pkg: string,
): string | undefined {
  const file = files
    .map((from) => program.fileOf(from, `${pkg}/package.json`) ?? program.fileOf(from, pkg))
    .find((one) => one !== undefined);
  const at = file?.lastIndexOf(`/node_modules/${pkg}/`) ?? -1;
  return file === undefined || at < 0 ? undefined : file.slice(0, at + 14 + pkg.length);
}

/** Returns the dependency whose code contains the given names. */
export function packageWith(
  program: Program,
  files: readonly string[],
  names: readonly string[],
): { readonly pkg: string } | undefined {
  const wanted = names.slice(0, 8);
  const specifiers = program.modules.flatMap(({ text }) =>
    [
      ...text.slice(0, 200_000).matchAll(/(?:from|require\(|import\()\s*["']([^"'.][^"']*)["']/gu),
    ].map((match) => match[1] as string),
  );
  for (const specifier of new Set(specifiers)) {
    const parts = specifier.split('/');
    const pkg = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] as string);
    if (specifier.startsWith('node:') || program.entered.has(pkg)) continue;
    const file = program.modules
      .map((module) => program.fileOf(module.file, specifier))
      .find((one) => one !== undefined);
    const folder =
      file === undefined || packageOf(file) === undefined
        ? undefined
        : folderOf(program, files, pkg);
    if (folder === undefined) continue;
    const texts = codeFiles(folder, 600).map((one) => readFileSync(one, 'utf8'));
    const has = wanted.filter((name) =>
      texts.some((code) => code.includes(`"${name}"`) || code.includes(`'${name}'`)),
    );
    if (wanted.length > 0 && has.length >= wanted.length * 0.8) return { pkg };
  }
  return undefined;
}
