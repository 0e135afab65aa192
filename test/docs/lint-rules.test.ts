import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { CATALOGUE_RULES, LINT_RULES } from '../../src/registry/lint/lint-rules.js';

it('docs/lint.md has a row for each lint rule with its severity, the problem, and the fix', () => {
  const rows = [
    ...readFileSync(resolve(import.meta.dirname, '../../docs/lint.md'), 'utf8').matchAll(
      /^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \|$/gm,
    ),
  ].map(([, rule, severity, why, fix]) => ({ rule, severity, why, fix }));
  const rules = [
    ...Object.entries(LINT_RULES).map(([rule, { severity }]) => [rule, severity]),
    ...Object.entries(CATALOGUE_RULES),
  ];
  expect(rows.map(({ rule, severity }) => [rule, severity]).sort()).toEqual(rules.sort());
  for (const { rule, why, fix } of rows)
    expect([why!.length > 20, fix!.length > 5], rule).toEqual([true, true]);
});
