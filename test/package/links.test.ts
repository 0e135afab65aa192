import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../programs.js';

const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as [{ readonly size: number; readonly files: readonly { readonly path: string }[] }];
const files = new Set(packed.files.map(({ path }) => path));
const read = (file: string) => readFileSync(`${ROOT}/${file}`, 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Returns the link targets in a page, except links in code. */
const linksOf = (page: string): string[] =>
  [
    ...read(page)
      .replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, target]) => target!);
/** Returns the anchors of a page's headings as GitHub and npm generate them. */
const anchorsOf = (page: string): string[] =>
  [
    ...read(page)
      .replaceAll(/```[\s\S]*?```/g, '')
      .matchAll(/^#+ (.+)$/gm),
  ].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe("the package's pages", () => {
  it("the package can't be published without a repository, homepage, and issue tracker", () => {
    const check = spawnSync(process.execPath, ['.ci/check-publishable.mjs'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const missing = ['repository', 'homepage', 'bugs'].filter((field) => !(field in manifest));
    expect(check.status).toBe(missing.length === 0 ? 0 : 1);
    for (const field of missing) expect(check.stderr).toContain(field);
    expect(manifest.scripts['prepublishOnly']).toMatch(/^node \.ci\/check-publishable\.mjs && /);
  });

  it.each([...files].filter((file) => file.endsWith('.md')))(
    '%s links only to web addresses, to files and headings in the package, and to screenshots',
    (page) => {
      for (const link of linksOf(page)) {
        if (/^https:\/\//.test(link)) continue;
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : posix.join(posix.dirname(page), path);
        const isThere =
          files.has(target) ||
          // npm and GitHub show the repository's screenshots.
          (target.endsWith('.png') && existsSync(`${ROOT}/${target}`)) ||
          (target.endsWith('/') && [...files].some((file) => file.startsWith(target)));
        expect(isThere, `${link} in ${page}`).toBe(true);
        if (anchor !== undefined) expect(anchorsOf(target), `${link} in ${page}`).toContain(anchor);
      }
    },
  );

  it("docs/compared.md links to each project's documentation", () => {
    const page = read('docs/compared.md');
    const [, table] = page.split('| --- | --- | --- |\n');
    const projects = [...table!.split('\n\n')[0]!.matchAll(/^\| ([^|]+) \|/gm)].slice(1);
    expect(projects).toHaveLength(5);
    for (const [, name] of projects) expect(name).toMatch(/^\[[\w ]+\]\(https:\/\//);
  });

  it('the package has at most 2 MB', () => expect(packed.size).toBeLessThanOrEqual(2_000_000));

  it('README.md has more than ten links', () =>
    expect(linksOf('README.md').length).toBeGreaterThan(10));
});
