import { describe, expect, it } from 'vitest';
import { keywordForm } from '../../src/search/keyword-index.js';
import { splitWords, stem } from '../../src/search/words.js';
import {
  activeRows,
  declaredAs,
  declaredList,
  present,
  readShared,
  registryOfRows,
  warnIfAbsent,
} from './victor-catalogue.js';

// Recorded answers of the recorded system, which searched for keywords as substrings. If only one of the
// systems finds a keyword, a rule must explain it. Every score must follow from the formula.
warnIfAbsent('golden-victor-text.test.ts');

interface Scored {
  readonly tool: string;
  readonly matched: readonly string[];
  readonly score: number;
  readonly total_score: number;
}
interface Query {
  readonly text: string;
  readonly scored: readonly Scored[];
}

const golden = present
  ? (readShared('golden/victor.json') as {
      readonly matching_substring: { readonly queries: readonly Query[] };
    })
  : undefined;
const queries = golden?.matching_substring.queries ?? [];
const rows = new Map(activeRows().map((row) => [row.name, row]));
const registry = registryOfRows([...rows.values()]);
/** Returns true if a keyword is in a text only as part of longer words. */
function onlyInsideWords(keyword: string, text: string): boolean {
  const lower = text.toLowerCase();
  const goesOn = /[\p{L}\p{N}]/u;
  let at = lower.indexOf(keyword);
  if (at < 0) return false;
  for (; at >= 0; at = lower.indexOf(keyword, at + 1)) {
    const [before, after] = [lower[at - 1] ?? ' ', lower[at + keyword.length] ?? ' '];
    const free =
      !(goesOn.test(before) && goesOn.test(lower[at]!)) &&
      !(goesOn.test(after) && goesOn.test(lower[at + keyword.length - 1]!));
    if (free) return false;
  }
  return true;
}

/** Returns true if the words of a keyword occur in a text only in inflected form. */
function onlyInflected(keyword: string, text: string): boolean {
  if (text.toLowerCase().includes(keyword) && !onlyInsideWords(keyword, text)) return false;
  const stems = splitWords(text).map(({ whole }) => stem(whole));
  const form = keywordForm(keyword);
  return stems.some((_, start) => form.every((each, offset) => stems[start + offset] === each));
}

/** Returns true if a rule explains why a keyword is found only in the recording or only here. */
function isExplained(tool: string, keyword: string, text: string, before: boolean): boolean {
  if (!before) return keyword.length < 3 || onlyInflected(keyword, text);
  if (rows.get(tool)!.declared['keywords'] === undefined) return true; // They are not invented.
  return onlyInsideWords(keyword, text) && !onlyInflected(keyword, text);
}

const BOOST: Readonly<Record<string, number>> = {
  CRITICAL: 0.3,
  HIGH: 0.2,
  MEDIUM: 0.1,
  LOW: 0.05,
  CONTEXTUAL: 0,
};

describe.skipIf(!present)('the recorded texts', () => {
  it.each(queries.map((query) => [query.text.slice(0, 60), query] as const))(
    'matches for %j differ from the recorded matches only by substrings, inflections, and short or invented keywords',
    (_, { text, scored }) => {
      const before = new Map(scored.map(({ tool, matched }) => [tool, matched]));
      const now = new Map(
        registry
          .getToolsMatchingTextScored(text)
          .map(({ toolName, matchedKeywords }) => [toolName, matchedKeywords]),
      );
      for (const tool of new Set([...before.keys(), ...now.keys()])) {
        const [then, today] = [before.get(tool) ?? [], now.get(tool) ?? []];
        for (const keyword of new Set([...then, ...today])) {
          const before = then.includes(keyword);
          if (before !== today.includes(keyword))
            expect(
              isExplained(tool, keyword, text, before),
              `${tool}: ${JSON.stringify(keyword)} in ${JSON.stringify(text.slice(0, 80))}`,
            ).toBe(true);
        }
      }
    },
  );

  it('equal matches have the recorded score, except for the cap, short keywords, and the lowest priority', () => {
    let agreed = 0;
    for (const { text, scored } of queries) {
      const now = new Map(
        registry.getToolsMatchingTextScored(text).map((result) => [result.toolName, result]),
      );
      for (const { tool, matched, total_score: total } of scored) {
        const result = now.get(tool);
        if (
          result === undefined ||
          [...result.matchedKeywords].sort().join() !== [...matched].sort().join()
        )
          continue;
        const declared = [
          ...new Set(
            declaredList(rows.get(tool)!, 'keywords').map((keyword) => keyword.toLowerCase()),
          ),
        ];
        const counted = declared.filter(({ length }) => length >= 3);
        const priority = declaredAs(rows.get(tool)!, 'priority')!;
        const uncapped = matched.length / counted.length + 0.2;
        expect(total, `${tool} as recorded`).toBeCloseTo(
          Math.min(uncapped, 1) + BOOST[priority]!,
          12,
        );
        const differs =
          uncapped > 1 || declared.length > counted.length || priority === 'CONTEXTUAL';
        const expected =
          matched.length / declared.length +
          0.2 +
          (priority === 'CONTEXTUAL' ? BOOST['LOW']! : BOOST[priority]!);
        expect(result.score, `${tool} for ${text}`).toBeCloseTo(expected, 12);
        if (differs) continue;
        expect(result.score).toBeCloseTo(total, 12);
        agreed += 1;
      }
    }
    expect(agreed).toBeGreaterThan(50);
  });
});
