import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CsvQuery,
  CsvToJson,
  DiffText,
  JsonFormat,
  JsonQuery,
  TextStats,
} from '../../tools/data/index.js';
import { propertyRuns } from '../property-runs.js';

describe('json_query', () => {
  const json = JSON.stringify({
    a: { b: [{ c: 1 }, { c: 2 }, { d: null }] },
    'a key': { 'x.y': 'dotted' },
    list: [[1, 2], [3]],
    '': 'empty',
  });
  const query = (path: string, limit?: number) =>
    new JsonQuery().execute({ json, path, ...(limit === undefined ? {} : { limit }) });

  it.each([
    ['a.b[0].c', [1]],
    ['$.a.b[1].c', [2]],
    ['a.b[-1]', [{ d: null }]],
    ['a.b[*].c', [1, 2]],
    ['list[*][*]', [1, 2, 3]],
    ['["a key"]["x.y"]', ['dotted']],
    ['[""]', ['empty']],
    ['$', [JSON.parse(json)]],
  ])('returns the values at the path %j', (path, values) => {
    expect(query(path)).toEqual({ values, found: values.length, truncated: false });
  });

  it.each([
    ['a.missing', 'the keys "b"'],
    ['a.b[3]', 'a list of 3 items'],
    ['a.b[0].c.d', 'a number'],
    ['__proto__', 'the keys "a"'],
  ])("fails if the path %j doesn't exist, and reports what exists there", (path, found) => {
    expect(query(path)).toMatchObject({ status: 'error', message: expect.stringContaining(found) });
  });

  it.each(['a..b', `["${'\\'.repeat(400)}`])('fails on the malformed path %j', (path) => {
    expect(query(path)).toMatchObject({ status: 'error' });
  });

  it('returns values up to the limit and reports truncation', () => {
    expect(query('list[*][*]', 2)).toEqual({ values: [1, 2], found: 3, truncated: true });
  });

  it('reports the line and column of invalid JSON', () => {
    expect(new JsonQuery().execute({ json: '{"a":\n tru}', path: 'a' })).toMatchObject({
      status: 'error',
      message: expect.stringContaining('line 2, column 2'),
    });
  });
});

const format = (json: string, more: object = {}) => new JsonFormat().execute({ json, ...more });

it('json_format formats JSON with line breaks or on one line', () => {
  const json = ' {"b" : [1, {"c":[]}],\n"a":{} } ';
  expect(format(json)).toEqual({
    text: '{\n  "b": [\n    1,\n    {\n      "c": []\n    }\n  ],\n  "a": {}\n}',
  });
  expect(format(json, { style: 'minify' })).toEqual({ text: '{"b":[1,{"c":[]}],"a":{}}' });
  expect(format(json, { style: 'minify', sortKeys: true })).toEqual({
    text: '{"a":{},"b":[1,{"c":[]}]}',
  });
});

it('json_format keeps long numbers, escapes, duplicate keys, and __proto__', () => {
  const json =
    '{"n":12345678901234567890,"f":1.0,"e":1E400,"s":"\\u0041\\/","n":2,"__proto__":{"x":1}}';
  expect(format(json, { style: 'minify' })).toEqual({ text: json });
});

it.each([
  ['{"a":1,}', 1, 8],
  ['[1,\n  2,\n  ]', 3, 3],
  ['"a\nb"', 1, 3],
])('json_format reports the line and column of the error in %j', (json, line, column) => {
  expect(() => JSON.parse(json) as unknown).toThrow();
  expect(format(json)).toMatchObject({ status: 'error', details: { line, column } });
});

it.each(['['.repeat(100_000), `${'['.repeat(300)}${']'.repeat(300)}`])(
  'json_format fails on extremely deep nesting',
  (json) => {
    expect(format(json)).toMatchObject({
      status: 'error',
      message: expect.stringContaining('200 levels'),
    });
  },
);

it('json_format accepts exactly what JSON.parse accepts', () => {
  const scraps = fc.array(
    fc.constantFrom(...'{}[],:"\\a1-.e \n', 'true', 'null', '\\u0041', '"k"'),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(scraps, (parts) => {
      const json = parts.join('');
      let valid = true;
      try {
        JSON.parse(json);
      } catch {
        valid = false;
      }
      expect('text' in format(json)).toBe(valid);
    }),
    { numRuns: propertyRuns(500) },
  );
});

const PEOPLE =
  'name,city,note\r\nAnn,Berlin,"likes ""tea"", milk"\r\nBen,Paris,"two\nlines"\r\n\r\nCid,Berlin,\r\n';

it('csv_query returns the selected columns of the matching rows', () => {
  expect(
    new CsvQuery().execute({ csv: PEOPLE, select: ['note', 'name'], where: { city: 'Berlin' } }),
  ).toEqual({
    columns: ['note', 'name'],
    rows: [
      ['likes "tea", milk', 'Ann'],
      ['', 'Cid'],
    ],
    found: 2,
    truncated: false,
  });
});

it('csv_query returns all columns and rows in pages if nothing is selected', () => {
  expect(new CsvQuery().execute({ csv: PEOPLE, limit: 1, offset: 1 })).toEqual({
    columns: ['name', 'city', 'note'],
    rows: [['Ben', 'Paris', 'two\nlines']],
    found: 3,
    truncated: true,
  });
});

it.each([
  ['a byte order mark', '\ufeffa,b\n1,2', ',', [['1', '2']]],
  ['bare carriage returns', 'a,b\r1,2\r', ',', [['1', '2']]],
  ['semicolons', 'a;b\n1,5;2', ';', [['1,5', '2']]],
  ['only a header', 'a,b\n', ',', []],
] as const)('csv_query reads a CSV text with %s', (_what, csv, delimiter, rows) => {
  expect(new CsvQuery().execute({ csv, delimiter })).toMatchObject({ rows });
});

it.each([
  ['an unclosed quote', 'a,b\n1,"2\n3,4', 'Quote Not Closed'],
  ['too many fields', 'a,b\n1,2\n1,2,3', 'line 3'],
  ['a duplicate column name', 'a,a\n1,2', '"a" appears more than once'],
])('csv_query fails on %s', (_what, csv, message) => {
  expect(new CsvQuery().execute({ csv })).toMatchObject({
    status: 'error',
    message: expect.stringContaining(message),
  });
});

it('csv_query lists the existing columns if a column is unknown', () => {
  for (const wrong of [{ select: ['nmae'] }, { where: { nmae: 'Ann' } }]) {
    expect(new CsvQuery().execute({ csv: PEOPLE, ...wrong })).toMatchObject({
      status: 'error',
      message: expect.stringContaining('"name", "city", "note"'),
    });
  }
});

it('csv_query reads every table that is written according to RFC 4180', () => {
  const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'ü') });
  fc.assert(
    fc.property(fc.array(fc.tuple(field, field), { minLength: 1 }), (rows) => {
      const line = (fields: readonly string[]) =>
        fields.map((each) => `"${each.replaceAll('"', '""')}"`).join(',');
      expect(
        new CsvQuery().execute({ csv: ['x,y', ...rows.map(line)].join('\r\n'), limit: 10_000 }),
      ).toMatchObject({ rows });
    }),
  );
});

it('csv_to_json returns one record per row, with all fields as strings', () => {
  expect(new CsvToJson().execute({ csv: 'id,ok\n007,true\n', limit: 10 })).toEqual({
    records: [{ id: '007', ok: 'true' }],
    found: 1,
    truncated: false,
  });
});

it('csv_to_json converts only values that have the same spelling when written back', () => {
  const csv = 'v\n1\n-2.5\ntrue\nfalse\n\n007\n1.0\n12345678901234567890\n1e5\nInfinity\n';
  const answer = new CsvToJson().execute({ csv, convert: true });
  expect('records' in answer && answer.records.map(({ v }) => v)).toEqual([
    1,
    -2.5,
    true,
    false,
    null,
    '007',
    '1.0',
    '12345678901234567890',
    '1e5',
    'Infinity',
  ]);
});

it('csv_to_json supports a column named __proto__', () => {
  const answer = new CsvToJson().execute({ csv: '__proto__,x\npolluted,1\n' });
  expect(JSON.stringify(answer)).toContain('"__proto__":"polluted"');
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});

it('csv_to_json returns records up to the limit and reports truncation', () => {
  expect(new CsvToJson().execute({ csv: 'a\n1\n2\n3', limit: 2 })).toEqual({
    records: [{ a: '1' }, { a: '2' }],
    found: 3,
    truncated: true,
  });
});

it('text_stats counts characters, bytes, words, and lines', () => {
  expect(new TextStats().execute({ text: "Don't stop, well-known 😀\nstop\n" })).toEqual({
    characters: 30,
    charactersWithoutSpaces: 25,
    bytes: 33,
    words: 4,
    uniqueWords: 3,
    lines: 2,
    topWords: [
      { word: 'stop', count: 2 },
      { word: "don't", count: 1 },
      { word: 'well-known', count: 1 },
    ],
  });
});

it('text_stats lists the requested number of top words of the requested length', () => {
  expect(
    new TextStats().execute({ text: 'a a a bb bb ccc', topWords: 1, minWordLength: 2 }).topWords,
  ).toEqual([{ word: 'bb', count: 2 }]);
});

const diff = (before: string, after: string, context?: number) =>
  new DiffText().execute({ before, after, ...(context === undefined ? {} : { context }) });

it('diff_text shows changes with context lines', () => {
  expect(diff('1\n2\n3\n4\n5\n6\n7\n8\n9\n', '1\n2\n3\nfour\n5\n6\n7\n8\n9\nten\n', 1)).toEqual({
    equal: false,
    diff: '--- before\n+++ after\n@@ -3,3 +3,3 @@\n 3\n-4\n+four\n 5\n@@ -9,1 +9,2 @@\n 9\n+ten\n',
    added: 2,
    removed: 1,
    minimal: true,
  });
});

it('diff_text returns a patch that applies in both directions', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
    .map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const answer = diff(before, after, 20) as { diff: string; equal: boolean };
      if (answer.equal) return;
      // `\ No newline` removes the line end before it.
      const body = answer.diff
        .split('\n')
        .slice(3, -1)
        .join('\n')
        .concat('\n')
        .replaceAll('\n\\ No newline at end of file\n', '\0');
      const side = (marks: string) =>
        body
          .match(/[^\n\0]*[\n\0]/g)
          ?.filter((line) => marks.includes(line[0] ?? ''))
          .map((line) => line.slice(1))
          .join('')
          .replaceAll('\0', '') ?? '';
      expect([side(' -'), side(' +')]).toEqual([before, after]);
    }),
  );
});
