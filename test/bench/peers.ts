import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'peers');
const requirePeer = createRequire(join(FOLDER, 'package.json'));

const { dependencies } = JSON.parse(readFileSync(join(FOLDER, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };
const missing = () => Object.keys(dependencies).filter((name) => !existsSync(join(FOLDER, 'node_modules', name, 'package.json')) || versionOf(name) !== dependencies[name]);

/** Installs the packages we are measured against, in a folder of their own, where they are missing; says whether they are there. */
export function installPeers(): boolean {
  if (missing().length === 0) return true;
  console.log(`installing ${missing().join(', ')} in test/bench/peers`);
  spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: FOLDER, stdio: 'inherit', shell: process.platform === 'win32' });
  const left = missing();
  if (left.length > 0) console.log(`not installed: ${left.join(', ')}; going on without the packages`);
  return left.length === 0;
}

export function versionOf(name: string): string {
  return (JSON.parse(readFileSync(join(FOLDER, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;
}

/** What a package exports. Its types are not at hand where the peers are not installed, so the caller says what it uses. */
export function loadPeer(name: string): unknown {
  return requirePeer(name);
}
