import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { LabelledServer } from './truth.js';

/** The folder for installed packages, which git ignores. */
const CACHE = resolve(import.meta.dirname, '../../../.cache/audit');

/**
 * Returns the folder of a server's package, installed at the labelled version without running its
 * scripts.
 */
export async function packageFolder(
  { package: name, version }: LabelledServer,
  cache = CACHE,
): Promise<string> {
  const place = join(cache, `${name.replaceAll(/[^\w.-]/g, '_')}@${version}`);
  const folder = join(place, 'node_modules', name);
  if (existsSync(place)) return folder;
  const unfinished = `${place}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await writeFile(join(unfinished, 'package.json'), '{"private":true}');
  execFileSync(
    'npm',
    [
      'install',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefix',
      unfinished,
      `${name}@${version}`,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  await rename(unfinished, place);
  return folder;
}
