import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type {
  CompilerHost,
  CompilerOptions,
  ParsedCommandLine,
  Program,
  ScriptTarget,
  SourceFile,
} from 'typescript';
import { ToolError } from '../../core/errors.js';
import { ts } from './typescript.js';

const DECLARATIONS = /\/node_modules\/(?:typescript\/lib|@types\/node)\/.*\.d\.ts$/;
const JAVASCRIPT = /\.[cm]?jsx?$/;

/** A program, and the files of it that couldn't be read. */
interface LoadedProgram {
  readonly program: Program;
  readonly unread: readonly string[];
}

/** Largest size in characters of a file of one's own. Larger files are bundles. */
const LARGEST = 2 ** 21;

/**
 * Loads the program that a folder's tsconfig describes, together with more files. Nothing of the
 * program is run or written.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the tsconfig can't be read.
 */
export function loadProgram(folder: string, files: readonly string[]): LoadedProgram {
  const config = configAbove(files.length === 1 ? dirname(files[0]!) : folder);
  const { options: fromFile, fileNames } =
    config === undefined ? withoutConfig(folder) : read(config);
  const rootNames = [...new Set([...fileNames, ...files])];
  const options = {
    ...fromFile,
    allowJs: fromFile.allowJs === true || rootNames.some((file) => JAVASCRIPT.test(file)),
    checkJs: false,
    noEmit: true,
    composite: false,
    incremental: false,
    skipLibCheck: true,
  };
  const unread: string[] = [];
  const program = ts.createProgram({ rootNames, options, host: carefulHost(options, unread) });
  return { program, unread };
}

/** Returns a host that reads files as empty that are too large, or nested too deeply for the parser. */
function carefulHost(options: CompilerOptions, unread: string[]): CompilerHost {
  const host = ts.createCompilerHost(options, true);
  const readFile = host.readFile.bind(host);
  const getSourceFile = readOnce(host.getSourceFile.bind(host));
  host.readFile = (name) => {
    const text = readFile(name);
    if (text === undefined || text.length <= LARGEST || name.endsWith('.d.ts')) return text;
    unread.push(name);
    return '';
  };
  host.getSourceFile = (name, ...more) => {
    try {
      return getSourceFile(name, ...more);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      unread.push(name);
      return ts.createSourceFile(name, '', ...(more.slice(0, 1) as [ScriptTarget]), true);
    }
  };
  return host;
}

/**
 * The parsed declarations of the compiler and of Node, which take most of the time of a small program. They are kept for
 * the process, since a test file may call `expectHonest` many times.
 */
const declarations = new Map<string, SourceFile | undefined>();

function readOnce(read: CompilerHost['getSourceFile']): CompilerHost['getSourceFile'] {
  return (name, options, ...more) => {
    if (!DECLARATIONS.test(name)) return read(name, options, ...more);
    const { languageVersion, impliedNodeFormat } =
      typeof options === 'object' ? options : { languageVersion: options, impliedNodeFormat: 0 };
    const key = `${ts.version} ${languageVersion} ${impliedNodeFormat} ${name}`;
    if (!declarations.has(key)) declarations.set(key, read(name, options, ...more));
    return declarations.get(key);
  };
}

/** Returns the nearest tsconfig, looking from the folder up. */
function configAbove(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    for (const name of ['tsconfig.json', 'jsconfig.json'])
      if (existsSync(join(at, name))) return join(at, name);
    if (at === dirname(at)) return undefined;
  }
}

/** Returns the options and the files of a tsconfig and of the projects that it references. */
function read(config: string): Pick<ParsedCommandLine, 'options' | 'fileNames'> {
  const parsed = parse(config);
  const others = (parsed.projectReferences ?? [])
    .map(({ path }) =>
      existsSync(join(path, 'tsconfig.json')) ? join(path, 'tsconfig.json') : path,
    )
    .filter((path) => existsSync(path))
    .map(parse);
  const all = parsed.fileNames.length === 0 && others.length > 0 ? others : [parsed, ...others];
  return {
    options: { ...all[0]!.options, paths: Object.assign({}, ...all.map(pathsOf)) as Paths },
    fileNames: all.flatMap(({ fileNames }) => fileNames),
  };
}

type Paths = NonNullable<CompilerOptions['paths']>;

/** Returns the path aliases of a project as absolute paths, so that they also hold in other projects. */
function pathsOf({ options: { paths = {}, baseUrl, ...more } }: ParsedCommandLine): Paths {
  const base = baseUrl ?? (more['pathsBasePath'] as string);
  const absolute = ([alias, targets]: [string, string[]]) => [
    alias,
    targets.map((target) => resolve(base, target)),
  ];
  return Object.fromEntries(Object.entries(paths).map(absolute)) as Paths;
}

function parse(config: string): ParsedCommandLine {
  const { config: data, error } = ts.readConfigFile(config, (file) => ts.sys.readFile(file)) as {
    readonly config?: unknown;
    readonly error?: { readonly messageText: unknown };
  };
  if (data === undefined)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${config} can't be read: ${String(error?.messageText)}. Correct the file.`,
    );
  return ts.parseJsonConfigFileContent(data, ts.sys, dirname(config), { noEmit: true }, config);
}

/** Returns the files of a folder without a tsconfig, and options that accept all of them. */
function withoutConfig(folder: string): Pick<ParsedCommandLine, 'options' | 'fileNames'> {
  const options: CompilerOptions = {
    allowJs: true,
    strict: true,
    esModuleInterop: true,
    experimentalDecorators: false,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    // Earlier compilers find the types without being asked.
    ...(Number.parseInt(ts.version) >= 6 && { types: ['*'] }),
  };
  const data = { compilerOptions: { allowJs: true }, exclude: ['**/node_modules', '**/dist'] };
  const { fileNames } = ts.parseJsonConfigFileContent(data, ts.sys, resolve(folder));
  return { options, fileNames };
}
