import { existsSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findSandbox } from '../../../src/audit/run/session.js';
import { runAll, shipped, type Shipped } from './fixture.js';

describe.skipIf(findSandbox() === undefined)(
  'programs in a sandbox of the operating system (skipped where there is none)',
  () => {
    let package_: Shipped;
    beforeAll(async () => {
      package_ = await shipped();
    });
    afterAll(() => rmSync(package_.folder, { recursive: true, force: true }));

    it('write in the copy, which is told, and nowhere else; they have no network, and a line that they add to the record breaks it', async () => {
      const outside = `${package_.folder}/made-by-program`;
      const { of, held } = await runAll(
        package_,
        {
          inside: `() => new Promise((done, failed) => execFile('touch', ['made-by-program'], (error) => (error ? failed(error) : done())))`,
          outside: `() => spawnSync('touch', [${JSON.stringify(outside)}]).status`,
          forges: `() => spawnSync('sh', ['-c', 'echo forged >> ../../record']).status`,
          reaches: `() => { if (/^\\s*(?!lo:)\\w+:/m.test(spawnSync('cat', ['/proc/net/dev'], { encoding: 'utf8' }).stdout)) throw new Error('a network'); }`,
        },
        { allowSpawn: true },
      );
      expect(held).toMatchObject({
        programs: 'started',
        by: [
          expect.stringMatching(/^(?:bwrap|unshare|sandbox-exec)$/),
          expect.anything(),
          'the recorder',
        ],
      });
      expect(held.gaps.length).toBeGreaterThan(0);
      expect(of['inside']).toMatchObject({
        status: 'ok',
        programs: ['touch made-by-program'],
        files: [{ path: 'made-by-program', where: 'root', change: 'created' }],
      });
      expect(of['inside']!.effects).toContainEqual(
        expect.objectContaining({ kind: 'fs-write', access: 'write' }),
      );
      expect(of['outside']).toMatchObject({ status: 'ok', files: [] });
      expect(of['forges']!.isRecordBroken).toBe(true);
      expect(of['inside']!.isRecordBroken).toBe(false);
      expect(existsSync(outside)).toBe(false);
      if (process.platform === 'linux') expect(of['reaches']!.message).toBeUndefined();
    });

    it('may be ended by the tool that started them, which is no effect', async () => {
      const { of } = await runAll(
        package_,
        {
          stops: `() => new Promise((done) => { const child = execFile('sleep', ['9']); child.on('exit', () => done()); process.kill(child.pid); })`,
        },
        { allowSpawn: true },
      );
      expect(of['stops']).toMatchObject({ status: 'ok' });
      expect(of['stops']!.effects.map(({ call }) => call)).not.toContain('process.kill');
    });
  },
);
