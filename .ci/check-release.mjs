// Checks that a tag, package.json, package-lock.json and the top section of CHANGELOG.md name one version, and prints
// that section, which becomes the text of the release: node .ci/check-release.mjs v1.2.3
import console from 'node:console';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const VERSION = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;
const SECTION = /^## \[([^\]]+)\](?: - (\S+))?[ \t]*$/;

/** Returns the sections of a changelog in its order: name, date and text. */
function sectionsOf(changelog) {
  const sections = [];
  for (const line of changelog.split(/\r?\n/)) {
    if (/^## /.test(line)) {
      const [, name = line.slice(3), date] = SECTION.exec(line) ?? [];
      sections.push({ name, date, lines: [] });
    } else sections.at(-1)?.lines.push(line);
  }
  return sections.map(({ lines, ...section }) => ({ ...section, text: lines.join('\n').trim() }));
}

const isDate = (text) =>
  /^\d{4}-\d{2}-\d{2}$/.test(text ?? '') &&
  new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;

/** Returns the text of the release, or everything that is wrong with it. */
function checkRelease(tag, folder) {
  const read = (file) => readFileSync(join(folder, file), 'utf8');
  const [, version] = VERSION.exec(tag ?? '') ?? [];
  if (version === undefined)
    return {
      problems: [
        `Expected a tag like v1.2.3 or v1.2.3-beta.1, got ${JSON.stringify(tag ?? '')}. Name the release after its version.`,
      ],
    };
  const problems = [];
  const expectVersion = (where, got) => {
    if (got !== version)
      problems.push(
        `Expected version ${version} in ${where}, got ${got ?? 'none'}. Run "npm version --no-git-tag-version ${version}".`,
      );
  };
  const lock = JSON.parse(read('package-lock.json'));
  expectVersion('package.json', JSON.parse(read('package.json')).version);
  expectVersion('package-lock.json', lock.version);
  expectVersion('the root package of package-lock.json', lock.packages?.['']?.version);

  const [first, ...rest] = sectionsOf(read('CHANGELOG.md'));
  const top = first?.name === 'Unreleased' && first.text === '' ? rest[0] : first;
  if (top?.name === 'Unreleased')
    problems.push(
      `Expected nothing under [Unreleased] in CHANGELOG.md, got ${top.text.length} characters. Give them the heading "## [${version}] - YYYY-MM-DD".`,
    );
  else if (top?.name !== version)
    problems.push(
      `Expected "## [${version}] - YYYY-MM-DD" as the top section of CHANGELOG.md, got ${top === undefined ? 'none' : `[${top.name}]`}. Write what has changed.`,
    );
  else {
    if (!isDate(top.date))
      problems.push(
        `Expected a date like 2026-01-31 after [${version}] in CHANGELOG.md, got ${top.date ?? 'none'}. Add the day of the release.`,
      );
    if (top.text === '')
      problems.push(
        `Expected text under [${version}] in CHANGELOG.md, got none. Write what has changed.`,
      );
  }
  return { problems, notes: top?.text };
}

const [tag, folder = join(import.meta.dirname, '..')] = process.argv.slice(2);
const { problems, notes } = checkRelease(tag, folder);
if (problems.length === 0) console.log(notes);
else {
  console.error(problems.join('\n'));
  process.exitCode = 1;
}
