import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { seededRandom } from '../../src/testing/seeded-random.js';
import { readManifest } from '../../src/capability/manifest/read-manifest.js';
import { leavesOf, withLeaf } from '../core/json-values.js';
import { LEAST } from './manifest-samples.js';
import { present, atlas as recordedRoot } from './manifest-tree.js';
import { propertyRuns } from '../property-runs.js';

/** For more mutations, set `MUTATIONS=1000000`. */
const MUTATIONS = propertyRuns(2_000);
const SEED = Number(process.env['SEED'] ?? 1);

const SAMPLE = [
  {
    ...LEAST,
    side_effects: ['write', 'network'],
    auth: { required: true, envs: { KEY: { required: true }, label: 'VAR' }, scopes: ['a'] },
    idempotency_key: { required: true, scope: 's' },
    providers: [{ name: 'mcp', priority: 1, config: { a: [1] } }],
  },
  {
    type: 'function',
    function: { ...LEAST, name: 'wrapped', strict: true },
    safety_level: 'high',
    metadata: { a: { b: null } },
    examples: ['x'],
    priority: 'low',
    keywords: ['k'],
  },
  {
    ...LEAST,
    name: 'schemas',
    parameters: {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a+$' }, b: { $ref: '#/$defs/c' } },
      $defs: { c: { anyOf: [{ type: 'null' }, { enum: [1, 'a'] }] } },
    },
  },
];
const ODD: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  '',
  ' ',
  'none',
  '\ud800',
  '__proto__',
  [],
  {},
  [[]],
  ['', 5, null],
  { type: 'array' },
  { required: true },
  'a'.repeat(300),
  { $ref: '#' },
  { name: 'constructor' },
];
const CHARACTERS = '{}[]",:\\ue+-.0159 \n\t\u0000\uD800\uFEFFnull/*';

it(`loading ${MUTATIONS} mutated manifests returns tools, or errors with a location`, () => {
  const random = seededRandom(SEED);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const originals: unknown[] = [SAMPLE, { tools: SAMPLE }];
  if (present)
    originals.push(
      (
        JSON.parse(readFileSync(resolve(recordedRoot, 'functions.json'), 'utf8')) as unknown[]
      ).slice(0, 5),
    );

  /** Exchanges a random value. */
  const mutateData = (value: unknown): unknown => {
    const leaf = pick(leavesOf(value));
    return withLeaf(value, leaf.slice(0, Math.floor(random() * (leaf.length + 1))), pick(ODD));
  };
  /** Removes, doubles, or exchanges some characters. */
  const mutateText = (text: string): string => {
    const at = Math.floor(random() * text.length);
    const length = Math.floor(random() * 8);
    const middle = pick([
      '',
      pick([...CHARACTERS]),
      text.slice(at, at + length).repeat(2),
      '['.repeat(Math.floor(random() * 200)),
    ]);
    return text.slice(0, at) + middle + text.slice(at + length);
  };

  const outcomes = { loaded: 0, refused: 0 };
  for (let run = 0; run < MUTATIONS; run++) {
    let data = pick(originals);
    for (let times = Math.floor(random() * 3); times > 0; times--) data = mutateData(data);
    let text = JSON.stringify(data);
    for (let times = run % 2 === 0 ? 0 : Math.floor(random() * 4); times > 0; times--)
      text = mutateText(text);
    const { entries, issues, total } = readManifest(text);
    const errors = issues.filter(({ severity }) => severity === 'error');
    if (errors.length === 0) {
      expect([run, entries.length]).toEqual([run, total]);
      outcomes.loaded++;
    } else {
      for (const { path, line, column, message } of errors)
        expect([
          run,
          path === '' || path.startsWith('/'),
          line > 0 && column > 0,
          message.length > 10,
        ]).toEqual([run, true, true, true]);
      outcomes.refused++;
    }
  }
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  // Both outcomes must be frequent, or the mutations test too little.
  expect(Math.min(outcomes.loaded, outcomes.refused)).toBeGreaterThan(MUTATIONS / 20);
});
