import { ToolMetadataRegistry } from '../../src/index.js';
import { ourStems, ourWords } from './our-words.js';
import { peers } from './peers.js';
import { definitionsOf, NameGiver, type BenchSet, type BenchTool } from './retrieval-sets.js';
import { definitionOf } from '../../src/tool/tool-definition.js';

/** Returns the ids of the best ten tools for a text, best first. */
export type Ranker = (text: string) => readonly string[];

export interface Contestant {
  readonly key: string;
  readonly label: string;
  /** The package, to print its version. Missing for tooldex's own search. */
  readonly peer?: string;
  readonly build: (set: BenchSet) => Ranker;
}

const LIMIT = 10;

/** The data about a tool that every package gets. */
interface Document {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly parameters: string;
}
const FIELDS = ['name', 'description', 'category', 'parameters'] as const;
/** The best of several settings for MiniSearch, wink-bm25, and fuse.js over all sets. */
const WEIGHTS = { name: 2, description: 1, category: 1, parameters: 0.5 };

export function documentOf(tool: BenchTool, id: string = tool.id): Document {
  const parameters = (tool.parameters ?? [])
    .map(({ name, description }) => `${name} ${description ?? ''}`.trim())
    .join(', ');
  return {
    id,
    name: tool.name,
    description: tool.description,
    category: tool.category ?? '',
    parameters,
  };
}

function ourRanker(set: BenchSet): Ranker {
  const { definitions, idOf } = definitionsOf(set);
  const registry = new ToolMetadataRegistry();
  registry.registerAll(definitions);
  return (text) =>
    registry.search(text, { limit: LIMIT }).map(({ toolName }) => idOf.get(toolName)!);
}

/**
 * The keyword formula, with the words of name and description as keywords. It shows what authors who
 * declare keywords get.
 */
function formulaRanker(set: BenchSet): Ranker {
  const names = new NameGiver();
  const idOf = new Map<string, string>();
  const registry = new ToolMetadataRegistry();
  registry.registerAll(
    set.tools.map((tool) => {
      const name = names.give(tool.name);
      idOf.set(name, tool.id);
      const keywords = [...new Set(ourWords(`${tool.name} ${tool.description}`))]
        .filter((word) => word.length <= 200)
        .slice(0, 1_000);
      return definitionOf({
        name,
        description: tool.description || tool.name,
        keywords,
        inputSchema: {},
      });
    }),
  );
  return (text) =>
    registry
      .getToolsMatchingTextScored(text, { maxResults: LIMIT })
      .map(({ toolName }) => idOf.get(toolName)!);
}

export interface MiniSearchIndex {
  addAll(documents: readonly Document[]): void;
  search(text: string, options?: object): { readonly id: string }[];
}

/** MiniSearch with its default settings. */
function defaultMiniSearch(set: BenchSet): Ranker {
  return miniSearchRanker(set, newMiniSearch({ fields: FIELDS }));
}

/** MiniSearch with tooldex's words and field weights. The speed comparison also uses it. */
export function tunedMiniSearch(): MiniSearchIndex {
  return newMiniSearch({
    fields: FIELDS,
    tokenize: ourStems,
    processTerm: (term: string) => term,
    searchOptions: { boost: WEIGHTS, combineWith: 'OR', prefix: false, fuzzy: false },
  });
}

function newMiniSearch(options: object): MiniSearchIndex {
  const MiniSearch = defaultExport<new (options: object) => MiniSearchIndex>(
    peers.load('minisearch'),
  );
  return new MiniSearch(options);
}

function miniSearchRanker(
  set: BenchSet,
  index: MiniSearchIndex,
  searchOptions: object = {},
): Ranker {
  index.addAll(set.tools.map((tool) => documentOf(tool)));
  return (text) =>
    index
      .search(text, searchOptions)
      .slice(0, LIMIT)
      .map(({ id }) => id);
}

interface FuseIndex {
  search(text: string, options: { limit: number }): { readonly item: Document }[];
}

/**
 * fuse.js with its token search over joined stems. fuse.js matches parts of the text, so stems alone
 * wouldn't be enough.
 */
function fuseRanker(set: BenchSet): Ranker {
  const Fuse = defaultExport<new (documents: readonly Document[], options: object) => FuseIndex>(
    peers.load('fuse.js'),
  );
  const stemmed = (text: string) => ourStems(text).join(' ');
  const documents = set.tools.map((tool) => {
    const document = documentOf(tool);
    return {
      id: document.id,
      name: stemmed(document.name),
      description: stemmed(document.description),
      category: stemmed(document.category),
      parameters: stemmed(document.parameters),
    };
  });
  const keys = Object.entries(WEIGHTS).map(([name, weight]) => ({ name, weight }));
  const tokenize = (text: string) => text.split(' ').filter((each) => each !== '');
  const fuse = new Fuse(documents, {
    keys,
    useTokenSearch: true,
    tokenize,
    ignoreLocation: true,
    ignoreFieldNorm: true,
    threshold: 0,
  });
  return (text) => fuse.search(stemmed(text), { limit: LIMIT }).map(({ item }) => item.id);
}

interface Orama {
  readonly create: (options: object) => unknown;
  readonly insert: (database: unknown, document: object) => unknown;
  readonly search: (
    database: unknown,
    options: object,
  ) => { readonly hits: readonly { readonly document: Document }[] };
}

/**
 * Orama with tooldex's words. Field weights made its results worse. `exact` would compare whole fields,
 * and `threshold: 1` means OR.
 */
function oramaRanker(set: BenchSet): Ranker {
  const { create, insert, search } = peers.load('@orama/orama') as Orama;
  const tokenizer = {
    language: 'english',
    normalizationCache: new Map<string, string>(),
    tokenize: distinctStems,
  };
  const database = create({
    schema: {
      id: 'string',
      name: 'string',
      description: 'string',
      category: 'string',
      parameters: 'string',
    },
    components: { tokenizer },
  });
  for (const tool of set.tools) insert(database, documentOf(tool));
  const options = { limit: LIMIT, properties: [...FIELDS], exact: false, threshold: 1 };
  return (text) =>
    search(database, { ...options, term: text }).hits.map(({ document }) => document.id);
}

interface Wink {
  defineConfig(options: object): void;
  definePrepTasks(tasks: readonly ((text: string) => string[])[], field?: string): void;
  addDoc(document: Document & { readonly search: string }, id: string): void;
  consolidate(): void;
  search(text: string, limit: number): readonly (readonly [string, number])[];
}

/** wink-bm25 with tooldex's words and field weights. */
function winkRanker(set: BenchSet, stemsOfRequest: (text: string) => string[] = ourStems): Ranker {
  const wink = (peers.load('wink-bm25-text-search') as () => Wink)();
  // Requests are tokenized separately only if `search` is a field too.
  wink.defineConfig({ fldWeights: { ...WEIGHTS, search: 1 } });
  wink.definePrepTasks([ourStems]);
  wink.definePrepTasks([stemsOfRequest], 'search');
  for (const tool of set.tools) wink.addDoc({ ...documentOf(tool), search: '' }, `id:${tool.id}`);
  wink.consolidate();
  return (text) => wink.search(text, LIMIT).map(([id]) => id.slice(3));
}

function distinctStems(text: string): string[] {
  return [...new Set(ourStems(text))];
}

function defaultExport<T>(loaded: unknown): T {
  return typeof loaded === 'function' ? (loaded as T) : (loaded as { default: T }).default;
}

export const CONTESTANTS: readonly Contestant[] = [
  { key: 'ours', label: 'tooldex', build: (set) => ourRanker(set) },
  { key: 'minisearch', label: 'MiniSearch, default', peer: 'minisearch', build: defaultMiniSearch },
  {
    key: 'minisearch-tuned',
    label: 'MiniSearch, tuned',
    peer: 'minisearch',
    build: (set) => miniSearchRanker(set, tunedMiniSearch()),
  },
  {
    key: 'minisearch-once',
    label: 'MiniSearch, tuned, each word once',
    peer: 'minisearch',
    build: (set) => miniSearchRanker(set, tunedMiniSearch(), { tokenize: distinctStems }),
  },
  {
    key: 'wink',
    label: 'wink-bm25, tuned',
    peer: 'wink-bm25-text-search',
    build: (set) => winkRanker(set),
  },
  {
    key: 'wink-once',
    label: 'wink-bm25, tuned, each word once',
    peer: 'wink-bm25-text-search',
    build: (set) => winkRanker(set, distinctStems),
  },
  { key: 'orama', label: 'Orama, tuned', peer: '@orama/orama', build: oramaRanker },
  { key: 'fuse', label: 'fuse.js, tuned', peer: 'fuse.js', build: fuseRanker },
  { key: 'formula', label: 'keyword formula', build: formulaRanker },
];
