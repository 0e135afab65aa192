import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DefinitionPins } from '../../src/mcp/pins/definition-pins.js';
import { readLockText } from '../../src/mcp/pins/lock-file.js';
import { pinKeyOf } from '../../src/mcp/pins/pin.js';
import { ECHO } from './pin-samples.js';
import { ROOT } from '../programs.js';

const REFUSED = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
const other = { ...ECHO, name: 'other' };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tooldex-pins-'));
  file = join(folder, 'tooldex-pins.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

async function saved(...tools: readonly object[]): Promise<string> {
  const pins = new DefinitionPins();
  for (const tool of tools) pins.approve('files', tool);
  await pins.save(file);
  return readFileSync(file, 'utf8');
}

it("a saved lockfile can be loaded and withholds tools that it doesn't list", async () => {
  await saved(ECHO);
  const pins = await DefinitionPins.load(file);
  expect(pins.check('files', ECHO)).toEqual({ ok: true });
  expect(pins.check('files', other)).toMatchObject({ kind: 'new' });
  expect((await DefinitionPins.load(file, { onNew: 'trust' })).check('files', other)).toEqual({
    ok: true,
  });
  expect(readdirSync(folder)).toEqual(['tooldex-pins.json']);
});

it('a lockfile has the same bytes for any order of approval', async () => {
  const text = await saved(ECHO, other, { ...ECHO, name: '7' });
  rmSync(file);
  expect(
    await saved({ ...ECHO, name: '7' }, other, Object.fromEntries(Object.entries(ECHO).reverse())),
  ).toBe(text);
  expect(text).toMatch(/\}\n$/);
  expect([...text.matchAll(/^ {6}"(.*)": \{$/gm)].map(([, name]) => name)).toEqual([
    '7',
    'echo',
    'other',
  ]);
});

it('loading a missing lockfile throws an error that explains how to create it', async () => {
  await expect(DefinitionPins.load(file)).rejects.toThrow(
    /lock file .*tooldex-pins\.json doesn't exist\. Run tooldex mcp pins approve --all/,
  );
});

it('a lockfile with an edited definition or digest is rejected', async () => {
  const text = await saved(ECHO);
  const { digest } = readLockText(text, 'of pins').get(pinKeyOf('files', 'echo'))!;
  const edits = [...text.matchAll(/[a-z]/g)].map(
    ({ index }) =>
      `${text.slice(0, index)}${text[index] === 'x' ? 'y' : 'x'}${text.slice(index + 1)}`,
  );
  // The digest doesn't cover the server's name. If the name was edited, the server's tools count as
  // new.
  const unnoticed = edits.filter((edit) => {
    try {
      return readLockText(edit, 'of pins').get(pinKeyOf('files', 'echo'))?.digest === digest;
    } catch {
      return false;
    }
  });
  expect(edits.length).toBeGreaterThan(300);
  expect(unnoticed).toEqual([]);
});

it("a file that isn't a lockfile or contains merge conflicts is rejected", async () => {
  const text = await saved(ECHO);
  for (const content of [
    '',
    '[]',
    '{"servers":{}}',
    '{"version":2,"servers":{}}',
    '{"version":1,"servers":[]}',
    '{"version":1,"servers":{},"extra":1}',
    '{"version":1,"servers":{"a":7}}',
    '{"version":1,"servers":{"a":{"t":{"digest":"sha256:0"}}}}',
    '{"version":1,"servers":{"a":{},"a":{}}}',
    '{"version":1,"version":1,"servers":{}}',
    '{"version":1,"servers":{"__proto__":{"t":1}}}',
    text.replace('"Echo"', '"Ecko"'),
    text.replace('"echo": {', '"ecko": {'),
    text.replace('"version"', '<<<<<<< HEAD\n"version"'),
    `${text}{}`,
    `{"version":1,"servers":${'['.repeat(100_000)}`,
  ]) {
    writeFileSync(file, content);
    await expect(DefinitionPins.load(file)).rejects.toThrow(REFUSED);
  }
  writeFileSync(file, Buffer.from([0x22, 0xff, 0x22]));
  await expect(DefinitionPins.load(file)).rejects.toThrow(REFUSED);
  rmSync(file);
  mkdirSync(file);
  await expect(DefinitionPins.load(file)).rejects.toThrow(/can't be read \(EISDIR\)/);
  await expect(DefinitionPins.load(join(ROOT, 'src'))).rejects.toThrow(
    expect.objectContaining({ message: expect.not.stringContaining(ROOT) }),
  );
});

it('saving fails if another process has approved tools in the meantime', async () => {
  await saved(ECHO);
  const [pins, others] = [await DefinitionPins.load(file), await DefinitionPins.load(file)];
  others.approve('files', other);
  await others.save();
  pins.approve('files', { ...ECHO, name: 'third' });
  await expect(pins.save()).rejects.toThrow('Another process has changed');
  const kept = await DefinitionPins.load(file);
  expect([kept.size, kept.check('files', ECHO), kept.check('files', other)]).toEqual([
    2,
    { ok: true },
    { ok: true },
  ]);
});
