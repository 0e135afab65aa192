import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
// tsup depends on this YAML parser, so the project needs no separate parser.
import { parseYAML } from 'confbox';
import { afterAll, describe, expect, it } from 'vitest';
import { DEADLINE_MS, ROOT } from '../programs.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tooldex-release-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface State {
  readonly tag?: string;
  readonly version?: string;
  readonly locked?: string;
  readonly changelog?: string;
  readonly waiting?: readonly string[];
}
const CHANGELOG =
  '# tooldex\n\n## 1.2.3\n\n### Patch Changes\n\n- A thing.\n\n## 1.2.2\n\n- Older.\n';

/** Runs the check on a project in this state. Parts that aren't given are valid. */
function check({
  tag = 'v1.2.3',
  version = '1.2.3',
  locked = version,
  changelog = CHANGELOG,
  waiting = [],
}: State = {}) {
  rmSync(join(folder, '.changeset'), { recursive: true, force: true });
  mkdirSync(join(folder, '.changeset'));
  for (const file of ['README.md', ...waiting]) writeFileSync(join(folder, '.changeset', file), '');
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ version: locked, packages: { '': { version: locked } } }),
  );
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, '.ci/check-release.mjs'), tag, folder],
    { encoding: 'utf8', timeout: DEADLINE_MS },
  );
  return { status, stdout, stderr };
}
const refused = (state: State, message: string) => {
  const { status, stdout, stderr } = check(state);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain(message);
};

describe('the release check', () => {
  it('prints the changelog section if the tag, package.json, lockfile, and changelog have the same version', () => {
    expect(check()).toEqual({ status: 0, stdout: '### Patch Changes\n\n- A thing.\n', stderr: '' });
  });

  it.each(['1.2.3', 'v1.2', 'v1.2.3; ls', 'latest', ''])('rejects the tag "%s"', (tag) =>
    refused({ tag }, 'Expected a tag like v1.2.3 or v1.2.3-beta.1'),
  );

  it('rejects a different version in package.json', () =>
    refused(
      { version: '1.2.4', locked: '1.2.3' },
      'Expected version 1.2.3 in package.json, got 1.2.4.',
    ));
  it('rejects a release while there are pending changesets', () =>
    refused({ waiting: ['new.md'] }, 'Expected no change to wait in .changeset, got new.md.'));
  it('rejects a changelog whose top section is for a different version', () =>
    refused(
      { changelog: CHANGELOG.replace('1.2.3', '1.2.4') },
      'as the top section of CHANGELOG.md, got 1.2.4.',
    ));
});

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: unknown;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}
const WORKFLOWS = join(ROOT, '.github/workflows');
const workflow = (file: string) => parseYAML<Workflow>(readFileSync(join(WORKFLOWS, file), 'utf8'));
const runsOf = ({ steps }: Job) => steps.flatMap(({ run }) => run ?? []);

describe('the GitHub workflows', () => {
  it.each(readdirSync(WORKFLOWS))(
    '%s pins actions to commits, sets a timeout for each job, and never inserts event data into a command',
    (file) => {
      const { permissions, jobs } = workflow(file);
      expect(Object.values(permissions)).not.toContain('write');
      expect(Object.keys(jobs).length).toBeGreaterThan(0);
      for (const job of Object.values(jobs)) {
        expect(job['timeout-minutes']).toBeGreaterThan(0);
        for (const { uses, with: settings } of job.steps) {
          if (uses === undefined) continue;
          expect(uses).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
          if (uses.startsWith('actions/checkout@'))
            expect(settings).toMatchObject({ 'persist-credentials': false });
        }
        expect(runsOf(job).join('\n')).not.toContain('${{');
      }
    },
  );

  it('run all checks for each change', () => {
    const { on, jobs } = workflow('ci.yml');
    expect(on).toEqual({ push: { branches: ['main'] }, pull_request: null });
    expect(runsOf(jobs['all']!)).toEqual(['.ci/run']);
    expect(jobs['package']).toMatchObject({ strategy: { matrix: { node: [20, 22, 24] } } });
    expect(runsOf(jobs['package']!).slice(0, 2)).toEqual(['npm ci', 'npm run build']);
  });

  it('publish a tag with provenance after all checks, from a job that installs nothing', () => {
    const { on, permissions, jobs } = workflow('release.yml');
    expect(on).toEqual({ push: { tags: ['v*'] } });
    expect(permissions).toEqual({});
    const { check: checked, publish, announce } = jobs;
    expect(checked!.permissions).toEqual({ contents: 'read' });
    expect(runsOf(checked!).map((run) => run.split(' ')[0])).toEqual(['mkdir', '.ci/run', 'npm']);
    expect(runsOf(checked!)[0]).toContain('node .ci/check-release.mjs "$GITHUB_REF_NAME"');
    expect(publish).toMatchObject({ needs: 'check', permissions: { 'id-token': 'write' } });
    expect(runsOf(publish!)).toEqual([
      expect.stringMatching(/^npm publish \.\/release\/\*\.tgz --provenance --access public /),
    ]);
    expect(announce).toMatchObject({ needs: 'publish', permissions: { contents: 'write' } });
    expect(runsOf(announce!)).toEqual([
      expect.stringMatching(
        /^gh release create "\$GITHUB_REF_NAME" .*--notes-file release\/notes\.md/,
      ),
    ]);
  });
});
