import { hostname, tmpdir, userInfo } from 'node:os';
import { afterEach, expect, it, vi } from 'vitest';
import { DiskUsage, EnvironmentVariables, SystemInfo } from '../../tools/system/index.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('system_info returns facts about the machine', () => {
  const info = new SystemInfo().execute();
  expect(info).toMatchObject({
    platform: process.platform,
    architecture: process.arch,
    nodeVersion: process.versions.node,
  });
  expect(info.cpuCount).toBeGreaterThan(0);
  expect(info.memoryTotalBytes).toBeGreaterThan(info.memoryFreeBytes);
});

it("system_info doesn't return anything that identifies the machine's owner", () => {
  expect(Object.keys(new SystemInfo().execute()).sort()).toEqual([
    'architecture',
    'cpuCount',
    'cpuModel',
    'memoryFreeBytes',
    'memoryTotalBytes',
    'nodeVersion',
    'platform',
    'release',
  ]);
  const values = Object.values(new SystemInfo().execute());
  for (const personal of [hostname(), userInfo().username]) expect(values).not.toContain(personal);
});

it('disk_usage reports the disk space of the root', async () => {
  const usage = await new DiskUsage(tmpdir()).execute();
  expect(usage).toMatchObject({
    totalBytes: expect.any(Number),
    usedPercent: expect.any(Number),
  });
  if (!('totalBytes' in usage)) throw new Error('expected an answer');
  expect(usage.usedBytes).toBeLessThanOrEqual(usage.totalBytes);
  expect(usage.usedPercent).toBeLessThanOrEqual(100);
});

it('environment_variables lists names, but never values', () => {
  vi.stubEnv('TOOLDEX_SECRET_KEY', 'hunter2-value');
  const answer = new EnvironmentVariables().execute({ contains: '' });
  expect(answer.names).toContain('TOOLDEX_SECRET_KEY');
  expect(answer.names).toEqual([...answer.names].sort());
  expect(JSON.stringify(answer)).not.toContain('hunter2-value');
});

it('environment_variables finds names by substring, case-insensitively', () => {
  vi.stubEnv('TOOLDEX_SECRET_KEY', 'x');
  expect(new EnvironmentVariables().execute({ contains: 'tooldex_secret' })).toEqual({
    names: ['TOOLDEX_SECRET_KEY'],
    truncated: false,
  });
  expect(new EnvironmentVariables().execute({ contains: '.*' })).toEqual({
    names: [],
    truncated: false,
  });
});
