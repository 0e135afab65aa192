import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ToolMetadataRegistry } from '../../src/index.js';
import { withClones } from './clones.js';
import { percentile } from './metrics.js';
import { peers } from './peers.js';
import { documentOf, tunedMiniSearch } from './rankers.js';
import { markdownTable, writeSection } from './report.js';
import { definitionOf, NameGiver, readSet, setsAreThere } from './retrieval-sets.js';

const MEASURED_QUERIES = 300;
const CHANGES = 21;
const MILLION = 1_000_000;
/** The maximum number of tools for MiniSearch. */
const MOST_FOR_MINISEARCH = 100_000;
const LIMIT = 10;

const { values } = parseArgs({
  options: {
    part: { type: 'string' },
    tools: { type: 'string' },
    million: { type: 'boolean' },
    quick: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});

interface Speed {
  readonly p50: number;
  readonly p95: number;
}
interface OurFigures extends Speed {
  readonly firstSearch: number;
  readonly indexBytes: number;
}
interface ChangeFigures {
  readonly add: Speed;
  readonly searchAfterAdd: Speed;
  readonly remove: Speed;
  readonly searchAfterRemove: Speed;
  readonly search: Speed;
}

/** Runs in its own process, so data that one part leaves behind doesn't slow down the next part. */
const PARTS: Readonly<Record<string, (tools: number) => unknown>> = {
  ours: (tools): OurFigures => {
    const { registry } = filledRegistry(tools);
    const { measured, others } = splitQueries();
    const before = usedBytes();
    const started = performance.now();
    registry.search(others[0]!, { limit: LIMIT });
    const firstSearch = performance.now() - started;
    const indexBytes = usedBytes() - before;
    return {
      ...timeQueries((text) => registry.search(text, { limit: LIMIT }), measured, others),
      firstSearch,
      indexBytes,
    };
  },
  minisearch: (tools): Speed => {
    const { measured, others } = splitQueries();
    const index = tunedMiniSearch();
    index.addAll([...withClones(readSet('mix-dev').tools, tools)].map((tool) => documentOf(tool)));
    return timeQueries((text) => index.search(text).slice(0, LIMIT), measured, others);
  },
  change: (tools): ChangeFigures => {
    const { registry, spare } = filledRegistry(tools, CHANGES);
    const { measured, others } = splitQueries();
    const compared = measured.slice(0, spare.length);
    const search = timeQueries((text) => registry.search(text, { limit: LIMIT }), compared, others);
    const times = {
      add: [] as number[],
      searchAfterAdd: [] as number[],
      remove: [] as number[],
      searchAfterRemove: [] as number[],
    };
    for (const [index, definition] of spare.entries()) {
      const text = compared[index]!;
      times.add.push(timeOf(() => registry.register(definition)));
      times.searchAfterAdd.push(timeOf(() => registry.search(text, { limit: LIMIT })));
    }
    for (const [index, { name }] of spare.entries()) {
      const text = compared[index]!;
      times.remove.push(timeOf(() => registry.unregister(name)));
      times.searchAfterRemove.push(timeOf(() => registry.search(text, { limit: LIMIT })));
    }
    return {
      search,
      add: speedOf(times.add),
      searchAfterAdd: speedOf(times.searchAfterAdd),
      remove: speedOf(times.remove),
      searchAfterRemove: speedOf(times.searchAfterRemove),
    };
  },
};

/** Returns a registry with `count` tools, and definitions of tools that aren't in the registry. */
function filledRegistry(count: number, spares = 0) {
  const registry = new ToolMetadataRegistry();
  const names = new NameGiver();
  let batch: ReturnType<typeof definitionOf>[] = [];
  for (const tool of withClones(readSet('mix-dev').tools, count + spares)) {
    batch.push(definitionOf(tool, names.give(tool.name)));
    // Registers in batches, so a million definitions don't end up in a second list.
    if (
      registry.size + batch.length === count ||
      (batch.length === 10_000 && registry.size < count)
    ) {
      registry.registerAll(batch);
      batch = [];
    }
  }
  return { registry, spare: batch };
}

/** Requests that are timed once each, and other requests for the warm-up, so no cached answer can help. */
function splitQueries() {
  const texts = readSet('mix-dev').queries.map(({ text }) => text);
  const every = texts.length / MEASURED_QUERIES;
  const chosen = new Set(
    Array.from({ length: MEASURED_QUERIES }, (_, index) => Math.floor(index * every)),
  );
  return {
    measured: texts.filter((_, index) => chosen.has(index)),
    others: texts.filter((_, index) => !chosen.has(index)),
  };
}

function timeQueries(
  search: (text: string) => unknown,
  measured: readonly string[],
  others: readonly string[],
): Speed {
  const until = performance.now() + 20_000;
  for (const text of others) {
    search(text);
    if (performance.now() > until) break;
  }
  return speedOf(measured.map((text) => timeOf(() => search(text))));
}

function speedOf(milliseconds: readonly number[]): Speed {
  return { p50: percentile(milliseconds, 0.5), p95: percentile(milliseconds, 0.95) };
}

function timeOf(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

function usedBytes(): number {
  for (let round = 0; round < 3; round++) globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function inOwnProcess<T>(part: string, tools: number): T {
  console.log(`${part} with ${tools.toLocaleString('en')} tools …`);
  const heap = tools >= MILLION ? 12_000 : 6_000;
  const node = [
    '--expose-gc',
    `--max-old-space-size=${heap}`,
    '--import',
    'tsx',
    import.meta.filename,
    '--part',
    part,
    '--tools',
    String(tools),
  ];
  const { stdout, status, signal } = spawnSync(process.execPath, node, {
    cwd: resolve(import.meta.dirname, '../..'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`${part} with ${tools} tools ended with ${signal ?? status}`);
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as T;
}

const ms = (value: number) => (value < 1 ? value.toFixed(3) : value.toFixed(1));
const withCommas = (value: number) => Math.round(value).toLocaleString('en');

function main(): void {
  if (values.help)
    return console.log(
      'bench:search [--quick] [--million]\n  --quick: the set as it is, nothing is written\n  --million: also 1,000,000 tools; takes some 4 GiB and minutes',
    );
  if (!setsAreThere()) return console.log('skipped: the sets in ../shared/bench are not at hand');
  if (values.part !== undefined)
    return console.log(JSON.stringify(PARTS[values.part]!(Number(values.tools))));

  const havePeers = peers.install();
  const real = readSet('mix-dev').tools.length;
  const sizes = values.quick ? [real] : [real, 100_000, ...(values.million ? [MILLION] : [])];
  const rows = sizes.map((tools) => {
    const ours = inOwnProcess<OurFigures>('ours', tools);
    const peer =
      havePeers && tools <= MOST_FOR_MINISEARCH
        ? inOwnProcess<Speed>('minisearch', tools)
        : undefined;
    return [
      withCommas(tools),
      withCommas(ours.firstSearch),
      (ours.indexBytes / 2 ** 20).toFixed(1),
      ms(ours.p50),
      ms(ours.p95),
      ...(peer === undefined ? ['', ''] : [ms(peer.p50), ms(peer.p95)]),
    ];
  });
  const changing = sizes.find((tools) => tools >= 100_000) ?? real;
  const change = inOwnProcess<ChangeFigures>('change', changing);
  const both = ({ p50, p95 }: Speed) => `${ms(p50)} (${ms(p95)})`;

  const publish =
    values.quick || !havePeers
      ? (title: string, body: string) => console.log(`\n## ${title}\n\n${body}\n`)
      : writeSection;
  const head = [
    'tools',
    'first search, ms',
    'index, MiB',
    'tooldex p50, ms',
    'p95, ms',
    'MiniSearch p50, ms',
    'p95, ms',
  ];
  publish(
    'Search: speed and size',
    [
      `The table compares \`search(text, { limit: ${LIMIT} })\` with a tuned MiniSearch${havePeers ? ` ${peers.versionOf('minisearch')}` : ''} on ${MEASURED_QUERIES} requests from the mix-dev set. The catalogue contains mix-dev's tools and altered copies of them. The first search builds the index.`,
      markdownTable(head, rows),
      `These are medians with ${withCommas(changing)} tools (p95 in parentheses): \`register\` takes ${both(change.add)} ms for one tool, and \`unregister\` takes ${both(change.remove)} ms. A search takes ${both(change.searchAfterAdd)} ms after \`register\`, ${both(change.searchAfterRemove)} ms after \`unregister\`, and ${both(change.search)} ms without a change.`,
    ].join('\n\n'),
  );
}

main();
