import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { program, ROOT } from '../programs.js';

/** Returns the output of the script in its own process, with these Node flags and environment variables. */
function printed(flags: readonly string[], environment: Readonly<Record<string, string>>): string {
  return execFileSync(process.execPath, [...flags, program('test/selection/print-selections.ts')], {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
}

describe('equal requests', () => {
  it('produce identical bytes in every process, locale, and time zone', () => {
    const first = printed(['--hash-seed=1'], { LANG: 'C', LC_ALL: 'C', TZ: 'UTC' });
    const second = printed(['--hash-seed=99'], {
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
      TZ: 'Asia/Tokyo',
    });
    expect(first.length).toBeGreaterThan(10_000);
    expect(first).toContain('carried_over');
    expect(second).toBe(first);
  });
});
