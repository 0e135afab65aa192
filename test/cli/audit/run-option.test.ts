import { execFile } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/run-cli.js';
import { projectWith, shipped, type Shipped } from '../../audit/run/fixture.js';
import { FakeTerminal } from '../fake-terminal.js';

let package_: Shipped;
let folder: string;
beforeAll(async () => {
  package_ = await shipped();
  folder = projectWith(package_, {
    reads: `() => fs.existsSync('seen.txt')`,
    peeks: `() => process['getBuiltin' + 'Module']('fs').writeFileSync('seen.txt', 'x')`,
  });
});
afterAll(() => {
  for (const each of [package_.folder, folder]) rmSync(each, { recursive: true, force: true });
});

describe('tooldex audit --run', () => {
  it('exposes a lie that the code hides, reports how the tools were confined, and leaves the folder unchanged', async () => {
    const { code, out } = await new Promise<{ readonly code: unknown; readonly out: string }>(
      (done) =>
        execFile(
          process.execPath,
          [join(package_.folder, 'cli.js'), 'audit', '--tools', 'tools.mjs', '--run'],
          { cwd: folder, env: { ...process.env, NO_COLOR: '1' } },
          (error, out) => done({ code: error?.code ?? 0, out }),
        ),
    );
    expect(code).toBe(1);
    expect(out).toMatch(/lies +peeks/);
    expect(out).toContain(
      'run: 2 tools, confined by Node’s permission model and the recorder; programs were recorded',
    );
    expect(out).toMatch(/peeks +ok +created seen\.txt/);
    expect(out).toMatch(/not confined: reading/);
    expect(existsSync(join(folder, 'seen.txt'))).toBe(false);
  });

  it.each([
    ['--generate', ['--tools', 'tools.mjs', '--generate']],
    ['--allow-unsafe', ['--tools', 'tools.mjs', '--allow-unsafe']],
    ['--run', ['--run']],
  ])('refuses %s alone, and runs no tool', async (option, args) => {
    const terminal = new FakeTerminal({ columns: 80 });
    expect(await runCli(['audit', ...args], terminal, folder)).toBe(2);
    expect(terminal.told).toContain(
      `${option} only works with --${option === '--run' ? 'tools' : 'run'}`,
    );
  });
});
