import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { NEWER_PACKAGES } from '../programs.js';
import { Consumer } from './consumer.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const consumers: Consumer[] = [];
afterAll(() => consumers.forEach((each) => each.remove()));

function project(manifest: object, ...packages: string[]): Consumer {
  const consumer = new Consumer(...packages);
  consumers.push(consumer);
  writeFileSync(consumer.path('package.json'), JSON.stringify(manifest));
  return consumer;
}

const init = ({ folder }: Consumer, ...options: string[]) =>
  spawnSync(process.execPath, [CLI, 'init', ...options], {
    cwd: folder,
    encoding: 'utf8',
    input: '',
  });

describe('tooldex init', () => {
  it.each([
    [
      'CommonJS',
      { dependencies: { tooldex: '*', zod: '*' } },
      [],
      '--test tools/word-count.test.js',
    ],
    [
      'ES modules',
      { type: 'module', dependencies: { tooldex: '*', zod: '*' } },
      [],
      '--test tools/word-count.test.js',
    ],
    [
      'TypeScript',
      { type: 'module', devDependencies: { typescript: '*', tsx: '*' } },
      ['tsx', 'typescript'],
      '--import tsx --test tools/word-count.test.ts',
    ],
    [
      'TypeScript with vitest',
      { type: 'module', devDependencies: { typescript: '*', vitest: '*' } },
      ['vitest', 'tsx', 'typescript'],
      'node_modules/vitest/vitest.mjs run tools/word-count.test.ts',
    ],
  ])('writes a tool and a passing test in a %s project', (_, manifest, packages, run) => {
    const consumer = project(manifest, ...packages);
    const { status, stdout, stderr } = init(consumer);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(run.replace('node_modules/vitest/vitest.mjs', 'vitest'));
    execFileSync(process.execPath, run.split(' '), { cwd: consumer.folder, encoding: 'utf8' });
    const listed = JSON.parse(
      execFileSync(process.execPath, [CLI, 'lint', '--json'], {
        cwd: consumer.folder,
        encoding: 'utf8',
      }),
    ) as { findings?: unknown[] } | unknown[];
    expect(Array.isArray(listed) ? listed : listed.findings).toEqual([]);
  });

  it.skipIf(!existsSync(join(NEWER_PACKAGES, 'jest'))).each([
    ['CommonJS', { devDependencies: { jest: '*' } }, 'npx jest'],
    [
      'ES modules',
      { type: 'module', devDependencies: { jest: '*' } },
      'node --experimental-vm-modules node_modules/jest/bin/jest.js',
    ],
  ])(
    'writes a tool and a test that Jest can run in a %s project (skipped without npm ci --prefix test/node22)',
    (_, manifest, run) => {
      const consumer = project(manifest);
      for (const name of ['jest', '@jest'])
        symlinkSync(join(NEWER_PACKAGES, name), consumer.path(`node_modules/${name}`), 'junction');
      const { status, stdout } = init(consumer);
      const test = 'tools/word-count.test.js';
      expect([status, stdout]).toEqual([0, expect.stringContaining(`  ${run} ${test}\n`)]);
      const flags = run.includes('--experimental-vm-modules') ? ['--experimental-vm-modules'] : [];
      const { stderr } = spawnSync(
        process.execPath,
        [...flags, 'node_modules/jest/bin/jest.js', test],
        { cwd: consumer.folder, encoding: 'utf8' },
      );
      expect(stderr).toMatch(/Tests: +1 passed, 1 total/);
    },
  );

  it('starts with the command that creates package.json if there is none', () => {
    const consumer = new Consumer();
    consumers.push(consumer);
    expect(init(consumer).stdout).toContain(
      '\nNext:\n  npm init -y\n  npm install tooldex zod\n  node --test tools/word-count.test.js\n',
    );
  });

  it('keeps existing files unless the user agrees to replace them or passes --yes', () => {
    const consumer = project({ type: 'module' });
    mkdirSync(consumer.path('tools'));
    writeFileSync(consumer.path('tools/word-count.js'), 'mine');
    const { status, stderr } = init(consumer);
    expect([status, stderr]).toEqual([4, expect.stringContaining('kept tools/word-count.js')]);
    expect(readFileSync(consumer.path('tools/word-count.js'), 'utf8')).toBe('mine');
    expect(existsSync(consumer.path('tools/word-count.test.js'))).toBe(true);
    expect(init(consumer, '--yes').status).toBe(0);
    expect(readFileSync(consumer.path('tools/word-count.js'), 'utf8')).toContain('defineTool');
  });

  it('shows the files without writing them with --dry-run', () => {
    const consumer = project({});
    const { status, stdout } = init(consumer, '--dry-run');
    expect([status, existsSync(join(consumer.folder, 'tools'))]).toEqual([0, false]);
    expect(stdout).toContain("require('tooldex')");
  });
});
