import { parseArgs } from 'node:util';
import { canLearn, measureFeedback } from './feedback.js';
import { mean, meanScores, scoresOf, type Scores } from './metrics.js';
import { peers } from './peers.js';
import { CONTESTANTS, type Contestant, type Ranker } from './rankers.js';
import { markdownTable, writeSection } from './report.js';
import {
  readSet,
  SET_NAMES,
  setsAreThere,
  type BenchQuery,
  type BenchSet,
} from './retrieval-sets.js';

/**
 * The maximum time for one contestant and one set. If the time isn't enough, evenly spread requests are
 * used.
 */
const SECONDS_A_SET = 60;
const PROBES = 5;

const { values } = parseArgs({
  options: { sets: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean' } },
});
const KEYS = CONTESTANTS.map(({ key }) => key);

interface Measured {
  readonly scores: Scores;
  /** The number of requests if not all were used. */
  readonly sampled?: number;
  readonly milliseconds: number;
}
type Results = ReadonlyMap<string, ReadonlyMap<string, Measured>>;

function chosen<T extends string>(
  option: string | undefined,
  known: readonly T[],
  what: string,
): readonly T[] {
  const wanted = option?.split(',').map((each) => each.trim()) ?? known;
  const unknown = wanted.filter((each) => !(known as readonly string[]).includes(each));
  if (unknown.length === 0) return known.filter((each) => wanted.includes(each));
  console.error(`unknown ${what}: ${unknown.join(', ')}; known are ${known.join(', ')}`);
  return process.exit(2);
}

function measure(rank: Ranker, set: BenchSet): Measured {
  const ask = ({ text, relevant }: BenchQuery) => scoresOf(rank(text), relevant);
  ask(set.queries[0]!); // The first request may build an index.
  const started = performance.now();
  spread(set.queries, PROBES).forEach(ask);
  const affordable = Math.floor((SECONDS_A_SET * 1000) / ((performance.now() - started) / PROBES));
  const queries =
    affordable < set.queries.length ? spread(set.queries, Math.max(25, affordable)) : set.queries;
  const scores = meanScores(queries.map(ask));
  return {
    scores,
    milliseconds: performance.now() - started,
    ...(queries.length < set.queries.length ? { sampled: queries.length } : {}),
  };
}

/** Returns `count` of the values, evenly spread. */
function spread<T>(all: readonly T[], count: number): readonly T[] {
  return count >= all.length
    ? all
    : Array.from({ length: count }, (_, index) => all[Math.floor((index * all.length) / count)]!);
}

function measureAll(contestants: readonly Contestant[], sets: readonly BenchSet[]): Results {
  const results = new Map(contestants.map(({ key }) => [key, new Map<string, Measured>()]));
  for (const set of sets) {
    for (const { key, label, build } of contestants) {
      const measured = measure(build(set), set);
      results.get(key)!.set(set.name, measured);
      console.log(
        `${set.name}: ${label} ${percent(measured.scores.ndcg)}${measured.sampled === undefined ? '' : ` (${measured.sampled} of ${set.queries.length} requests)`}, ${(measured.milliseconds / 1000).toFixed(1)} s`,
      );
    }
  }
  return results;
}

function rankingTables(
  contestants: readonly Contestant[],
  sets: readonly BenchSet[],
  results: Results,
): string {
  const of = (key: string) => sets.map((set) => results.get(key)!.get(set.name)!);
  const parts: string[] = [];
  const isSampled = (key: string) => of(key).some(({ sampled }) => sampled !== undefined);
  const means = contestants.map(({ key, label }) => [
    `${label}${isSampled(key) ? '*' : ''}`,
    ...MEANS.map((metric) => percent(mean(of(key).map(({ scores }) => scores[metric])))),
  ]);
  parts.push(
    `Averages over all sets, in percent:\n\n${markdownTable(['', 'nDCG@10', 'recall@10'], means)}`,
  );
  if (contestants.some(({ key }) => isSampled(key)))
    parts.push(
      '\\* This package was too slow for all requests of some sets, so it was measured on a sample.',
    );
  const packages = contestants.filter(({ peer }) => peer !== undefined);
  if (packages.length > 0 && results.has('ours')) {
    const best = sets.map((set) =>
      Math.max(...packages.map(({ key }) => results.get(key)!.get(set.name)!.scores.ndcg)),
    );
    const lead = of('ours').map(({ scores }, index) => scores.ndcg - best[index]!);
    parts.push(
      `On each set, tooldex's nDCG@10 × 100 differs from the best other package's by ${signed(Math.min(...lead))} to ${signed(Math.max(...lead))}.`,
    );
  }
  return parts.join('\n\n');
}

function feedbackText(sets: readonly BenchSet[]): string {
  const measured = sets
    .filter(({ name }) => name !== 'mix-dev')
    .map((set) => {
      const started = performance.now();
      const result = measureFeedback(set);
      console.log(
        `${set.name}: feedback ${percent(result.cold)} → ${percent(result.warm)}, ${((performance.now() - started) / 1000).toFixed(1)} s`,
      );
      return { name: set.name, ...result };
    });
  const gains = measured.map(({ cold, warm }) => warm - cold);
  const cold = mean(measured.map((each) => each.cold));
  const warm = mean(measured.map((each) => each.warm));
  const protocol =
    'Half of the requests are recorded as past successes, and the other half are searched for. Each search ignores past requests that are too similar to it.';
  return `${protocol} Over ${measured.length} sets, the mean nDCG@10 × 100 rises from ${percent(cold)} to ${percent(warm)}. The gain ranges from ${signed(Math.min(...gains))} to ${signed(Math.max(...gains))}.`;
}

const percent = (share: number) => (share * 100).toFixed(1);
const signed = (share: number) =>
  percent(Math.abs(share)) === '0.0'
    ? '0.0'
    : `${share < 0 ? '−' : '+'}${percent(Math.abs(share))}`;
/** The metrics whose means over the sets are published. */
const MEANS = ['ndcg', 'recall10'] as const;

async function main(): Promise<void> {
  if (values.help)
    return console.log(
      `bench:retrieval [--sets a,b] [--only x,y]\n  sets: ${SET_NAMES.join(', ')}\n  only: ${KEYS.join(', ')}\nA part is written to docs/benchmarks.md when all its contestants are asked for all sets.`,
    );
  if (!setsAreThere()) return console.log('skipped: the sets in ../shared/bench are not at hand');
  const setNames = chosen(values.sets, SET_NAMES, 'set');
  const keys = chosen(values.only, KEYS, 'contestant');
  const wanted = CONTESTANTS.filter(({ key }) => keys.includes(key));
  const havePeers = wanted.every(({ peer }) => peer === undefined) || peers.install();
  const contestants = wanted.filter(({ peer }) => peer === undefined || havePeers);
  const sets = setNames.map(readSet);
  const versions = [
    ...new Set(
      contestants.flatMap(({ peer }) =>
        peer === undefined ? [] : [`${peer} ${peers.versionOf(peer)}`],
      ),
    ),
  ].join(', ');

  const introduction =
    'The tables compare the first ten results of `registry.search` with those of other packages on eight public sets' +
    `${versions === '' ? '' : ` (${versions})`}. “Tuned” packages use tooldex's stems, stop words, identifier splitting and field weights. “Each word once” counts repeated words once, as tooldex does. The keyword formula uses all words in names and descriptions as keywords.`;
  const publish = (isWhole: boolean, title: string, body: string) =>
    isWhole && sets.length === SET_NAMES.length
      ? writeSection(title, body)
      : console.log(`\n## ${title}\n\n${body}\n`);
  const hasAll = contestants.length === CONTESTANTS.length;
  if (contestants.length > 0)
    publish(
      hasAll,
      'Retrieval',
      `${introduction}\n\n${rankingTables(contestants, sets, measureAll(contestants, sets))}`,
    );
  if (!keys.includes('ours')) return;
  if (canLearn()) publish(hasAll, 'Learning from use', feedbackText(sets));
  else console.log('skipped: learning from use, as the registry has no recordUse');
}

await main();
