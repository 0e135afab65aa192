import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = join(ROOT, 'dist');
/** Some file systems store times in steps of two seconds. */
const CLOCK_STEP_MS = 2_000;
const SOURCES = [
  'src',
  'tools',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsup.config.ts',
];

/** Builds the package before its tests if a published file is missing or older than a source file. */
export function setup(): void {
  const newestSource = Math.max(...SOURCES.flatMap((source) => changeTimes(join(ROOT, source))));
  const oldestTarget = Math.min(
    ...publishedFiles().map((file) => changeTimes(join(ROOT, file))[0] ?? 0),
  );
  if (oldestTarget >= newestSource) return;
  const started = Date.now();
  // The build doesn't clean the folder, because another process may be reading the old files meanwhile.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/tsup/dist/cli-default.js'), '--no-clean'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`The package does not build:\n${stdout}${stderr}`);
  removeOlderThan(started);
}

/** Removes what an earlier build wrote into `dist` under other names, so that the tests see what is published. */
function removeOlderThan(started: number): void {
  for (const name of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
    const stats = statSync(join(DIST, name));
    if (stats.isFile() && stats.mtimeMs < started - CLOCK_STEP_MS) rmSync(join(DIST, name));
  }
}

/**
 * Returns the change times of a file, or of a folder and everything in it. Removing a file changes its
 * folder's time. The list is empty if the path doesn't exist.
 */
function changeTimes(path: string): number[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return [stats.mtimeMs];
  return [stats.mtimeMs, ...readdirSync(path).flatMap((name) => changeTimes(join(path, name)))];
}

/** Returns every file that package.json names in `exports` and `bin`. */
function publishedFiles(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  const leaves = (value: unknown): string[] =>
    typeof value === 'string' ? [value] : Object.values(value as object).flatMap(leaves);
  return leaves([manifest['exports'], manifest['bin'] ?? []]).filter((file) =>
    file.startsWith('./dist/'),
  );
}
