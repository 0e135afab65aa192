import { afterAll, describe, expect, it } from 'vitest';
import { keywordForm } from '../../src/search/keyword-index.js';
import { splitWords, stem } from '../../src/search/words.js';
import {
  activeRows,
  declaredAs,
  declaredList,
  present,
  readShared,
  registryOfRows,
  Tally,
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
  readonly mandatory: readonly string[];
  readonly categories: readonly string[];
  readonly fallback: readonly string[];
}
interface Golden {
  readonly derived: {
    readonly by_keyword: Readonly<Record<string, readonly string[]>>;
    readonly by_category: Readonly<Record<string, readonly string[]>>;
  };
  readonly matching_substring: { readonly queries: readonly Query[] };
}

const golden = present ? (readShared('golden/victor.json') as Golden) : undefined;
const queries = golden?.matching_substring.queries ?? [];
const rows = new Map(activeRows().map((row) => [row.name, row]));
const registry = registryOfRows([...rows.values()]);
const tallies = {
  keywords: new Tally(),
  scores: new Tally(),
  mandatory: new Tally(),
  categories: new Tally(),
  fallback: new Tally(),
};
afterAll(() => {
  if (present)
    for (const [what, tally] of Object.entries(tallies)) tally.print(`Recorded texts, ${what}:`);
});

const INVENTED = 'keywords of undeclared tools are not invented';
const INSIDE = 'keyword only inside another word';
const INFLECTION = 'keyword in another inflection, or across other separators';
const SHORT = 'keyword under three letters';

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

/** Returns the rule that explains why a keyword is found only in the recording or only here. */
function ruleFor(
  tool: string,
  list: 'keywords' | 'mandatory_keywords',
  keyword: string,
  text: string,
  before: boolean,
): string | undefined {
  if (before && rows.get(tool)!.declared[list] === undefined) return INVENTED;
  if (before)
    return onlyInsideWords(keyword, text) && !onlyInflected(keyword, text) ? INSIDE : undefined;
  if (keyword.length < 3 && list === 'keywords') return SHORT;
  return onlyInflected(keyword, text) ? INFLECTION : undefined;
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
          if (then.includes(keyword) === today.includes(keyword)) {
            tallies.keywords.add('agree');
            continue;
          }
          const rule = ruleFor(tool, 'keywords', keyword, text, then.includes(keyword));
          expect(
            rule,
            `${tool}: ${JSON.stringify(keyword)} in ${JSON.stringify(text.slice(0, 80))}`,
          ).toBeDefined();
          tallies.keywords.add(rule!);
        }
      }
    },
  );

  it('equal matches have the recorded score, except for the cap, short keywords, and the lowest priority', () => {
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
        const rules = [
          uncapped > 1 && 'score is not cut at 1',
          declared.length > counted.length && SHORT,
          priority === 'CONTEXTUAL' && 'priority CONTEXTUAL is LOW',
        ].filter((rule) => rule !== false);
        const expected =
          matched.length / declared.length +
          0.2 +
          (priority === 'CONTEXTUAL' ? BOOST['LOW']! : BOOST[priority]!);
        expect(result.score, `${tool} for ${text}`).toBeCloseTo(expected, 12);
        if (rules.length === 0) expect(result.score).toBeCloseTo(total, 12);
        tallies.scores.add(rules.length === 0 ? 'agree' : rules.join(' + '));
      }
    }
    expect(tallies.scores.get('agree')).toBeGreaterThan(50);
  });
});
