import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/core/plain-data.js';
import { compileJsonSchema } from '../../src/json-schema/compile-json-schema.js';

interface Group {
  readonly description: string;
  readonly schema: object | boolean;
  readonly tests: readonly {
    readonly description: string;
    readonly data: Json;
    readonly valid: boolean;
  }[];
}

const SUITE = resolve(import.meta.dirname, '../../../shared/data/json-schema-suite');
const DRAFTS = [
  ['draft7', 'http://json-schema.org/draft-07/schema#'],
  ['draft2020-12', 'https://json-schema.org/draft/2020-12/schema'],
] as const;

/**
 * Groups that are skipped, because tooldex refuses these schemas on purpose: references to other
 * documents, dynamic references, and custom vocabularies.
 */
const REFUSED: readonly (readonly [place: RegExp, says: RegExp])[] = [
  [/^draft(?:7|2020-12)\/refRemote: /, /reference to a schema in the same document/],
  [/^draft7\/definitions: validate definition against metaschema$/, /same document/],
  [/^draft2020-12\/defs: validate definition against metaschema$/, /same document/],
  [/^draft(?:7|2020-12)\/ref: remote ref, containing refs itself$/, /same document/],
  [
    /^draft2020-12\/(?:dynamicRef: (?!A \$ref to a \$dynamicAnchor in the same)|.* with \$dynamicRef$)/,
    /a \$ref|same document/,
  ],
  [/^draft2020-12\/vocabulary: /, /a known draft/],
];

const groups = existsSync(SUITE)
  ? DRAFTS.flatMap(([draft, dialect]) =>
      readdirSync(join(SUITE, draft)).flatMap((file) =>
        (JSON.parse(readFileSync(join(SUITE, draft, file), 'utf8')) as Group[]).map((group) => ({
          place: `${draft}/${file.replace('.json', '')}: ${group.description}`,
          schema:
            typeof group.schema === 'boolean'
              ? { $schema: dialect, allOf: [group.schema] }
              : { $schema: dialect, ...group.schema },
          tests: group.tests,
        })),
      ),
    )
  : [];

describe.skipIf(groups.length === 0)(
  `the JSON Schema validator${groups.length === 0 ? ' (skipped: ../shared/data/json-schema-suite is not there)' : ''}`,
  () => {
    const taken = groups.filter(({ place }) => !REFUSED.some(([left]) => left.test(place)));

    it.each(taken.map((group) => [group.place, group] as const))(
      'accepts and rejects the inputs of the official suite as required: %s',
      (_, { schema, tests }) => {
        const compiled = compileJsonSchema(schema);
        const wrong = tests.filter(
          ({ data, valid }) => (compiled.check(data).length === 0) !== valid,
        );
        expect(
          wrong.map(
            ({ description, valid }) => `${description}: expected ${valid ? 'valid' : 'invalid'}`,
          ),
        ).toEqual([]);
        expect(compiled.unchecked).toEqual([]);
      },
    );

    it.each(
      groups
        .filter((group) => !taken.includes(group))
        .map((group) => [group.place, group] as const),
    )('rejects an unsupported schema of the official suite: %s', (place, { schema }) => {
      expect(() => compileJsonSchema(schema)).toThrow(
        REFUSED.find(([left]) => left.test(place))![1],
      );
    });

    it('is tested with the official suite for two drafts, and skips few groups', () => {
      expect(groups.length).toBeGreaterThan(600);
      expect(groups.length - taken.length).toBeLessThan(65);
      for (const [left] of REFUSED) expect(groups.some(({ place }) => left.test(place))).toBe(true);
    });
  },
);
