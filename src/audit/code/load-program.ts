import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { CompilerOptions, ParsedCommandLine, Program } from 'typescript';
import { ToolError } from '../../core/errors.js';
import { ts } from './typescript.js';

const JAVASCRIPT = /\.[cm]?jsx?$/;

/**
 * Loads the program that a folder's tsconfig describes, together with more files. Nothing of the
 * program is run or written.
 *
 * @throws ToolError `INVALID_ARGUMENT` if the tsconfig can't be read.
 */
export function loadProgram(folder: string, files: readonly string[]): Program {
  const config = files.length === 1 ? configAbove(dirname(files[0]!)) : configAbove(folder);
  const { options, fileNames } = config === undefined ? withoutConfig(folder) : read(config);
  const rootNames = [...new Set([...fileNames, ...files])];
  return ts.createProgram({
    rootNames,
    options: {
      ...options,
      allowJs: options.allowJs === true || rootNames.some((file) => JAVASCRIPT.test(file)),
      checkJs: false,
      noEmit: true,
      composite: false,
      incremental: false,
      skipLibCheck: true,
    },
  });
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
  const first = parsed.fileNames.length === 0 ? others[0] : parsed;
  return {
    options: (first ?? parsed).options,
    fileNames: [parsed, ...others].flatMap(({ fileNames }) => fileNames),
  };
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
