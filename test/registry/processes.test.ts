import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { program, ROOT } from '../programs.js';

/** What the script prints in a process of its own, with these settings of Node and the environment. */
function printed(flags: readonly string[], environment: Readonly<Record<string, string>>): string {
  return execFileSync(process.execPath, [...flags, program('test/registry/print-queries.ts')], {
    cwd: ROOT,
    env: environment,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
}

describe('every answer of a registry', () => {
  it('is the same in every process, whatever its environment, locale and hash seed', () => {
    const own = Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[0] !== 'NODE_OPTIONS',
    );
    const first = printed(['--hash-seed=1'], {
      ...Object.fromEntries(own),
      LANG: 'C',
      LC_ALL: 'C',
      TZ: 'UTC',
    });
    const second = printed(['--hash-seed=99', '--stack-size=2000'], {
      ...Object.fromEntries(own.toReversed()),
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
      TZ: 'Asia/Tokyo',
    });
    expect(first.length).toBeGreaterThan(10_000);
    expect(second).toBe(first);
  });
});
