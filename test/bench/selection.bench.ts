import { evaluateSelection } from '../../src/testing.js';
import { ToolMetadataRegistry } from '../../src/index.js';
import { estimateTokens, renderTool } from '../../src/tool/render-tool.js';
import { mean } from './metrics.js';
import { peers } from './peers.js';
import { documentOf, tunedMiniSearch } from './rankers.js';
import { markdownTable, writeSection } from './report.js';
import {
  definitionsOf,
  readSet,
  SET_NAMES,
  setsAreThere,
  type BenchSet,
} from './retrieval-sets.js';

const MAX_TOOLS = 8;
const TOKEN_BUDGET = 1_500;
/** The requests of a set that are used, evenly spread. */
const MOST_REQUESTS = 500;

if (!setsAreThere()) {
  console.log('skipped: the retrieval sets are not beside the checkout');
  process.exit(0);
}

if (!peers.install()) process.exit(1);

const rows = SET_NAMES.map((name) => {
  const set = readSet(name);
  const step = Math.max(1, set.queries.length / MOST_REQUESTS);
  const queries = set.queries
    .filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
    .filter(({ relevant }) => relevant.length > 0);
  const { definitions, idOf } = definitionsOf(set);
  const nameOf = new Map([...idOf].map(([tool, id]) => [id, tool]));
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  const ours = evaluateSelection(
    registry,
    queries.map(({ text, relevant }) => ({ text, tools: relevant.map((id) => nameOf.get(id)!) })),
    { maxTools: MAX_TOOLS, tokenBudget: TOKEN_BUDGET },
  );
  const theirs = miniSearch(set, queries, (id) => tokensInFull(registry, nameOf.get(id)!));
  return [name, percent(ours.recall), ours.tokens.selected, percent(theirs), ours.tokens.allTools];
});

writeSection(
  'Selection end to end',
  `The table shows the percentage of wanted tools that \`selectTools\` offers to the model, limited to ${MAX_TOOLS} tools and ${TOKEN_BUDGET} tokens. For comparison, it shows the first ${MAX_TOOLS} results of a tuned MiniSearch with full schemas, as far as those fit into ${TOKEN_BUDGET} tokens. Each set has at most ${MOST_REQUESTS} requests.\n\n${markdownTable(
    ['set', 'tooldex', 'tokens used', 'MiniSearch', 'tokens of all tools'],
    rows,
  )}`,
);

function miniSearch(
  set: BenchSet,
  queries: BenchSet['queries'],
  tokensOf: (id: string) => number,
): number {
  const index = tunedMiniSearch();
  index.addAll(set.tools.map((tool) => documentOf(tool)));
  const measured = queries.map(({ text, relevant }) => {
    const ids = index
      .search(text)
      .slice(0, MAX_TOOLS)
      .map(({ id }) => id);
    let left = TOKEN_BUDGET;
    const fitting = ids.filter((id) => (left -= tokensOf(id)) >= 0);
    return relevant.filter((id) => fitting.includes(id)).length / relevant.length;
  });
  return mean(measured);
}

function tokensInFull(registry: ToolMetadataRegistry, name: string): number {
  return estimateTokens(JSON.stringify(renderTool(registry.require(name), 'full')));
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}
