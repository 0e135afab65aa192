// Stops a publication as long as package.json does not say where the project lives: whoever publishes fills that in.
import console from 'node:console';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { URL } from 'node:url';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const missing = ['repository', 'homepage', 'bugs'].filter((field) => manifest[field] === undefined);
if (missing.length > 0) {
  console.error(
    `Not published: package.json has no ${missing.join(', no ')}. Fill in where users find the code and report problems.`,
  );
  process.exitCode = 1;
}
