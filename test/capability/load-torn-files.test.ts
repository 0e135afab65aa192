import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadManifest } from '../../src/capability/manifest/load-manifest.js';
import { seededRandom } from '../../src/testing/seeded-random.js';
import { folderWith, LEAST } from './manifest-samples.js';
import { propertyRuns } from '../property-runs.js';

const KILLS = propertyRuns(20);

/** Writes one generation of tools after the other in small pieces over the file, as careless programs do. */
const WRITER = `
  const { openSync, writeSync, closeSync } = require('node:fs');
  const [file, tools] = process.argv.slice(1);
  for (let generation = 0; ; generation++) {
    const text = JSON.stringify(JSON.parse(tools).map((tool) => ({ ...tool, description: 'generation ' + generation })));
    const handle = openSync(file, 'w');
    for (let at = 0; at < text.length; at += 64) writeSync(handle, text.slice(at, at + 64));
    closeSync(handle);
    if (generation === 0) console.log('started');
  }`;

it('reads a file that is being written as it was at one moment or as broken, never as a mix, whenever its writer is killed', async () => {
  const tools = Array.from({ length: 40 }, (_, index) => ({ ...LEAST, name: `tool_${index}` }));
  const root = folderWith({});
  const file = join(root, 'functions.json');
  const random = seededRandom(1);
  const outcomes = { whole: 0, broken: 0 };

  const look = async () => {
    const { entries, issues } = await loadManifest(file, { onInvalid: 'quarantine' });
    if (issues.length > 0) {
      expect([entries.length, issues.length, issues[0]!.path]).toEqual([0, 1, '']);
      outcomes.broken++;
      return;
    }
    expect(entries).toHaveLength(40);
    expect(new Set(entries.map(({ definition }) => definition.description)).size).toBe(1);
    outcomes.whole++;
  };

  for (let kill = 0; kill < KILLS; kill++) {
    writeFileSync(file, JSON.stringify(tools));
    await look();
    const writer = spawn(process.execPath, ['-e', WRITER, file, JSON.stringify(tools)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(writer, 'exit');
    await once(writer.stdout, 'data');
    for (let looks = Math.floor(random() * 20); looks >= 0; looks--) await look();
    writer.kill('SIGKILL');
    await ended;
    await look();
  }
  expect(outcomes.broken + outcomes.whole).toBeGreaterThan(KILLS);
  expect(Math.min(outcomes.broken, outcomes.whole)).toBeGreaterThan(0);
});
