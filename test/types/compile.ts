import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The aliases of package.json under which the compilers are installed. */
export const COMPILERS = {
  'TypeScript 5.4': 'typescript54',
  'TypeScript 5.9': 'typescript59',
  'TypeScript 6.0': 'typescript',
  'TypeScript 7.0': 'typescript7',
} as const;
export type Compiler = keyof typeof COMPILERS;

/** The compiler's errors in a project, each as `file:line`, and its whole output; other failures reject. */
export function compile(
  compiler: Compiler,
  project: string,
  ...options: string[]
): Promise<{ readonly places: readonly string[]; readonly output: string }> {
  const tsc = join(ROOT, 'node_modules', COMPILERS[compiler], 'bin/tsc');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [tsc, '-p', project, '--pretty', 'false', ...options],
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
