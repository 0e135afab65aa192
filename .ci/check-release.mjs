// Checks that a tag, package.json, package-lock.json and the top section of CHANGELOG.md name one version and that no
// change waits in .changeset, and prints that section, the text of the release: node .ci/check-release.mjs v1.2.3
import console from 'node:console';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const VERSION = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;

/** Returns the text of the release, or everything that is wrong with it. */
function checkRelease(tag, folder) {
  const read = (file) => readFileSync(join(folder, file), 'utf8');
  const [, version] = VERSION.exec(tag ?? '') ?? [];
  if (version === undefined) {
    const got = JSON.stringify(tag ?? '');
    return {
      problems: [
        `Expected a tag like v1.2.3 or v1.2.3-beta.1, got ${got}. Name the release after its version.`,
      ],
    };
  }
  const problems = [];
  const expectVersion = (where, got) => {
    if (got !== version)
      problems.push(
        `Expected version ${version} in ${where}, got ${got ?? 'none'}. Run "npx changeset version".`,
      );
  };
  const lock = JSON.parse(read('package-lock.json'));
  expectVersion('package.json', JSON.parse(read('package.json')).version);
  expectVersion('package-lock.json', lock.version);
  expectVersion('the root package of package-lock.json', lock.packages?.['']?.version);

  const folderOfChanges = join(folder, '.changeset');
  const waiting = existsSync(folderOfChanges)
    ? readdirSync(folderOfChanges).filter((file) => file.endsWith('.md') && file !== 'README.md')
    : [];
  if (waiting.length > 0)
    problems.push(
      `Expected no change to wait in .changeset, got ${waiting.join(', ')}. Run "npx changeset version".`,
    );

  const [, heading, notes = ''] =
    /^## (.+)\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(read('CHANGELOG.md')) ?? [];
  if (heading !== version)
    problems.push(
      `Expected "## ${version}" as the top section of CHANGELOG.md, got ${heading ?? 'none'}. Run "npx changeset version".`,
    );
  else if (notes.trim() === '')
    problems.push(
      `Expected text under ${version} in CHANGELOG.md, got none. Write what has changed.`,
    );
  return { problems, notes: notes.trim() };
}

const [tag, folder = join(import.meta.dirname, '..')] = process.argv.slice(2);
const { problems, notes } = checkRelease(tag, folder);
if (problems.length === 0) console.log(notes);
else {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
