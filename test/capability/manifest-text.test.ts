import { expect, it } from 'vitest';
import { readManifest } from '../../src/capability/manifest/read-manifest.js';
import { LEAST, read } from './manifest-samples.js';

const only = (text: string) => {
  const { entries, issues } = readManifest(text, { file: 'functions.json' });
  expect(issues).toHaveLength(1);
  return { used: entries.length, ...issues[0]! };
};

it("a manifest's text is a list of tools, or an object that contains the list", () => {
  expect(readManifest(JSON.stringify([LEAST])).entries).toHaveLength(1);
  const { entries, issues } = readManifest(
    JSON.stringify({ tools: [LEAST, { ...LEAST, name: 'other', default_timeout: -1 }] }),
  );
  expect(entries).toMatchObject([{ index: 0, line: 1 }]);
  expect(issues).toMatchObject([{ path: '/tools/1/default_timeout', entryName: 'other' }]);
  expect(only('{"list": []}').message).toBe(
    'Expected a list of tools, or an object with a list under "tools", got an object.',
  );
  expect(only('[5]').message).toBe('Expected a tool as an object, got 5.');
});

it("a manifest's text with an error is reported with the line and column that editors show", () => {
  const text = `\uFEFF[\r\n  ${JSON.stringify(LEAST)},\n  {\n    "name": "b",\r    "description": "b", "default_timeout": -1,\n    "parameters": {"type": "object"}\n  }\n]`;
  expect(only(text)).toMatchObject({
    used: 1,
    file: 'functions.json',
    path: '/1/default_timeout',
    line: 5,
    column: 44,
    entryName: 'b',
    severity: 'error',
  });
});

it.each([
  ['', 1, 1, 'The file is empty'],
  ['[\n  {"name": "a",}\n]', 2, 15, 'a comma after the last value'],
  ['[1,\n// two\n2]', 2, 1, 'invalid comment token'],
])(
  "a manifest's text that is malformed (%j) has no entries and one error with its location",
  (text, line, column, reason) => {
    expect(only(text)).toMatchObject({
      used: 0,
      line,
      column,
      severity: 'error',
      message: expect.stringContaining(reason),
    });
  },
);

it.each([
  ['unclosed deep lists', '['.repeat(100_000)],
  ['closed deep lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
])("a manifest's text with more than 64 levels is refused: %s", (_, text) => {
  expect(only(text)).toMatchObject({
    used: 0,
    message: 'The JSON has more than 64 levels. Flatten it.',
  });
});

it("a manifest's text is limited to 1 MiB and 1,000 entries, and at most 20 unknown keys are reported per entry", () => {
  expect(only(`["${'a'.repeat(1_048_576)}"]`).message).toContain('larger than 1 MiB');
  expect(only(`[${'1,'.repeat(1_000)}1]`).message).toContain('at most 1000 are allowed');
  const { issues } = read({
    ...LEAST,
    ...Object.fromEntries(Array.from({ length: 5_000 }, (__, index) => [`k${index}`, 1])),
  });
  expect(issues).toHaveLength(20);
});

it("a manifest's text with a duplicate key gets a warning, and the last value is used", () => {
  const { entries, issues } = readManifest(
    '[{"name": "a", "description": "d", "parameters": {"type": "object"},\n"default_timeout": 1, "default_timeout": 2}]',
  );
  expect(entries[0]!.entry.timeoutMs).toBe(2_000);
  expect(issues).toMatchObject([
    { severity: 'warning', path: '/0/default_timeout', line: 2, column: 42 },
  ]);
});

it("a manifest's text with an infinite number loses only the entry that contains the number", () => {
  const endless = JSON.stringify({ ...LEAST, name: 'endless', metadata: { a: 5 } });
  const text = `[${JSON.stringify({ ...LEAST, name: 'good' })}, ${endless.replace('5', '1e999')}]`;
  const { entries, issues } = readManifest(text);
  expect(entries.map(({ entry }) => entry.name)).toEqual(['good']);
  expect(issues).toMatchObject([{ path: '/1', severity: 'error', entryName: 'endless' }]);
});
