import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The names in package.json under which the compilers are installed. */
export const COMPILERS = {
  'TypeScript 5.4': 'typescript54',
  'TypeScript 5.9': 'typescript59',
  'TypeScript 6.0': 'typescript',
  'TypeScript 7.0': 'typescript7',
} as const;
export type Compiler = keyof typeof COMPILERS;

/** A compiler's output for a project: the location of each error as `file:line`, and the whole text. */
interface Compiled {
  readonly places: readonly string[];
  readonly output: string;
}

/**
 * Type-checks a project with `options` added to its own. Rejects if the compiler fails for a reason
 * other than type errors.
 */
export function compile(
  compiler: Compiler,
  project: string,
  options: Readonly<Record<string, string | boolean>> = {},
): Promise<Compiled> {
  return compiler === 'TypeScript 7.0'
    ? compileByProgram(compiler, project, options)
    : Promise.resolve().then(() => compileHere(compiler, project, options));
}

function compileByProgram(
  compiler: Compiler,
  project: string,
  options: Readonly<Record<string, string | boolean>>,
): Promise<Compiled> {
  const tsc = join(ROOT, 'node_modules', COMPILERS[compiler], 'bin/tsc');
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [tsc, '-p', project, '--pretty', 'false', ...flags],
      { cwd: ROOT, maxBuffer: 1 << 24 },
      (error, output, errors) => {
        const places = [...output.matchAll(/^(.+?)\((\d+),\d+\): error TS/gm)].map(
          ([, file, line]) => `${file}:${line}`,
        );
        if (error !== null && places.length === 0)
          reject(new Error(`${compiler} failed: ${output}${errors}`));
        else resolve({ places, output });
      },
    );
  });
}

/**
 * The parsed files for each compiler and module resolution. Projects share them, because reading
 * declarations takes most of the time.
 */
const parsed = new Map<string, Map<string, ts.SourceFile | undefined>>();

/** Compiles in this process. */
function compileHere(
  name: Compiler,
  project: string,
  options: Readonly<Record<string, string | boolean>>,
): Compiled {
  const compiler = createRequire(import.meta.url)(COMPILERS[name]) as typeof ts;
  const format = (diagnostics: readonly ts.Diagnostic[]) =>
    compiler.formatDiagnostics(diagnostics, {
      getCurrentDirectory: () => ROOT,
      getCanonicalFileName: (file) => file,
      getNewLine: () => '\n',
    });
  const { config } = compiler.readConfigFile(join(project, 'tsconfig.json'), (file) =>
    compiler.sys.readFile(file),
  ) as { readonly config: { readonly compilerOptions: object } };
  const command = compiler.parseJsonConfigFileContent(
    { ...config, compilerOptions: { ...config.compilerOptions, ...options } },
    compiler.sys,
    project,
  );
  if (command.errors.length > 0) throw new Error(`${name} failed: ${format(command.errors)}`);
  const host = compiler.createCompilerHost(command.options);
  const key = `${name} ${command.options.moduleResolution}`;
  const files = parsed.get(key) ?? new Map<string, ts.SourceFile | undefined>();
  parsed.set(key, files);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (file, ...rest) => {
    if (!files.has(file)) files.set(file, read(file, ...rest));
    return files.get(file);
  };
  const program = compiler.createProgram(command.fileNames, command.options, host);
  const diagnostics = compiler.getPreEmitDiagnostics(program);
  const places = diagnostics.flatMap(({ file, start }) =>
    file === undefined
      ? []
      : [`${relative(ROOT, file.fileName)}:${file.getLineAndCharacterOfPosition(start!).line + 1}`],
  );
  return { places, output: format(diagnostics) };
}
