import { execSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';

const DOCS = join(import.meta.dirname, '..');
const installed = join(DOCS, 'node_modules/.package-lock.json');

/** Compares what is installed with the lock file, version by version. */
function isInstalled() {
  if (!existsSync(installed)) return false;
  const versions = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const wanted = versions(join(DOCS, 'package-lock.json'));
  return Object.entries(versions(installed)).every(([path, { version }]) => wanted[path]?.version === version) && existsSync(join(DOCS, 'node_modules/vitepress'));
}

// Without their scripts: none of these packages needs one.
if (!isInstalled()) execSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: DOCS, stdio: 'inherit' });

const { makeReference } = await import('./make-reference.js');
await makeReference();
const { build, createServer } = await import('vitepress');
if (argv[2] === 'dev') {
  const server = await createServer(DOCS);
  await server.listen();
  server.printUrls();
} else {
  await build(DOCS);
  const { checkLinks } = await import('./check-links.js');
  checkLinks();
}
