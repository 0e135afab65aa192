import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Packages that only a benchmark needs, in a separate folder with its own package.json. */
export interface Packages {
  /** Installs missing packages. Returns true if all are there. */
  install(): boolean;
  versionOf(name: string): string;
  /** Returns a package's exports. The caller names the type, because the package may not be installed. */
  load(name: string): unknown;
}

function packagesIn(name: string): Packages {
  const folder = join(import.meta.dirname, name);
  const require = createRequire(join(folder, 'package.json'));
  const readJson = (...path: readonly string[]) =>
    JSON.parse(readFileSync(join(folder, ...path), 'utf8')) as {
      version: string;
      dependencies: Record<string, string>;
    };
  const versionOf = (each: string) => readJson('node_modules', each, 'package.json').version;
  const missing = () =>
    Object.entries(readJson('package.json').dependencies).flatMap(([each, version]) =>
      existsSync(join(folder, 'node_modules', each, 'package.json')) && versionOf(each) === version
        ? []
        : [each],
    );
  return {
    install: () => {
      if (missing().length === 0) return true;
      console.log(`installing ${missing().join(', ')} in test/bench/${name}`);
      spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: folder,
        stdio: 'inherit',
        shell: process.platform === 'win32',
      });
      const left = missing();
      if (left.length > 0)
        console.log(`not installed: ${left.join(', ')}; going on without the packages`);
      return left.length === 0;
    },
    versionOf,
    load: (each) => require(each) as unknown,
  };
}

/** The search packages that tooldex is compared with. */
export const peers = packagesIn('peers');
/** Encoders with their weights. */
