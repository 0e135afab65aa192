import { z } from 'zod';
import type {
  AccessMode,
  CostTier,
  DangerLevel,
  ExecutionCategory,
  Priority,
} from '../core/enums.js';
import {
  concurrencyOf,
  conflictingCategories,
  priorityOf,
  type PriorityName,
} from '../core/enum-order.js';
import { ToolError } from '../core/errors.js';
import { ImmutableSet } from './immutable-set.js';
import { Listeners } from '../core/listeners.js';
import { cloneFrozen, compareText, describeValue, isPlainObject } from '../core/plain-data.js';
import { invalidArgument, requireText, suggestNames } from '../core/issues.js';
import { aFunction, anObject, checkOptions, once, type FieldsOf } from '../core/options.js';
import type { KeywordMatchResult } from '../search/keyword-index.js';
import { SearchIndex, type SearchResult } from '../search/search-index.js';
import { checkHints, type ToolHints } from '../search/tool-hints.js';
import { VectorIndex, type ToolVectors, type Vector } from '../search/tool-vectors.js';
import {
  definitionsOfAll,
  findDefinitions,
  type RegisterOptions,
  type ResolveInstance,
  type ToolSource,
} from '../tool/find-definitions.js';
import { mapAxes, type AxisName, type AxisValue } from '../tool/axes.js';
import { normalizeLabel } from '../tool/metadata-schema.js';
import { toolClass, type ToolClassDecorator } from '../tool/tool-decorator.js';
import {
  entryOf,
  isToolDefinition,
  type ToolDefinition,
  type ToolEntry,
} from '../tool/tool-definition.js';
import type { ToolOptions } from '../tool/tool-options.js';
import type { InputOf, SchemaInput, ToolSchema } from '../tool/tool-schema.js';
import { derivedSetsOf, requiresApproval, type DerivedSet } from './derived-sets.js';
import { FacetIndex } from './facet-index.js';
import { KeywordMatcher } from './keyword-matcher.js';
import type { MatchingMetrics } from './matching-metrics.js';
import { NameTable } from './name-table.js';
import { summarize, type RegistrySummary } from './registry-summary.js';
import { compileFilter, isAvailable, type ToolFilter } from './tool-filter.js';

/** The options of `search`. */
interface SearchOptions {
  /** The maximum number of results. @default 10 */
  readonly limit?: number;
  /**
   * Limits the results to tools that match a filter object, or for which the function returns true.
   * @default all
   */
  readonly filter?: ToolFilter | ((entry: ToolEntry) => boolean);
  /**
   * The request's embedding, from the same model as the registry's `vectors`. It finds tools with a
   * similar meaning, too. Scores are then relative to the best match. (Experimental.)
   * @default only words are compared
   */
  readonly vector?: readonly number[] | Float32Array;
}

/** Returns a schema for a number, including `Infinity`. */
const aNumber = () =>
  z.custom<number>((value) => typeof value === 'number' && !Number.isNaN(value), 'a number');
const aFilter = () =>
  z.union(
    [aFunction<(entry: ToolEntry) => boolean>(), z.custom<ToolFilter>(isPlainObject)],
    'a filter or a function',
  );
const SCORED_OPTIONS = once(() =>
  z.strictObject({ minScore: aNumber().default(0), maxResults: aNumber().default(Infinity) }),
);
const SEARCH_OPTIONS = once(() =>
  z.strictObject({
    limit: aNumber().default(10),
    filter: aFilter().optional(),
    vector: z.custom<Vector>().optional(), // The search checks it against the registry's vectors.
  } satisfies FieldsOf<SearchOptions>),
);

/** Describes one use of a tool: the request, the tool, and whether it succeeded. */
interface ToolUse {
  readonly text: string;
  /** The tool's name or alias. */
  readonly toolName: string;
  readonly outcome: 'success' | 'failure';
}

/** Lists the tools added, replaced, and removed by one change, in order. */
export interface RegistryChange {
  readonly revision: number;
  readonly added: readonly string[];
  readonly replaced: readonly string[];
  readonly removed: readonly string[];
}

/** The options of a registry. */
export interface RegistryOptions {
  /**
   * The clock that `metrics` uses: returns milliseconds from an arbitrary start. @default
   * performance.now
   */
  readonly now?: () => number;
  /**
   * Creates the instances of registered classes, for example `(Class) => container.get(Class)`.
   * @default `new Class()`, once
   */
  readonly resolve?: ResolveInstance;
  /**
   * The words of people who need a tool, by tool name. `tooldex enrich` writes them. Only search and
   * selection use them. (Experimental.) @default none
   */
  readonly hints?: ToolHints;
  /**
   * An embedding of each tool, by tool name. `search` and `selectTools` use them for requests with a
   * `vector` of the same model. (Experimental.) @default none
   */
  readonly vectors?: ToolVectors;
}

const elapsed = () => performance.now();
const DEFAULTS: RegistryOptions & { readonly now: () => number } = { now: elapsed };
const REGISTRY_OPTIONS = once(() =>
  z.strictObject({
    now: aFunction<() => number>().default(() => elapsed),
    resolve: aFunction<ResolveInstance>(
      'a function, such as (Class) => container.get(Class)',
    ).optional(),
    hints: anObject<ToolHints>().optional(), // `checkHints` and `VectorIndex` check the content.
    vectors: anObject<ToolVectors>().optional(),
  } satisfies FieldsOf<RegistryOptions>),
);

/**
 * A registry that stores tools and answers questions about their metadata.
 *
 * Every `getBy…` and `get…Tools` method is an index lookup that takes the same time for any number
 * of tools. Results are frozen lists or immutable sets in registration order, and later changes
 * don't affect them. Categories, keywords, stages, and task types are case-insensitive.
 */
export class ToolMetadataRegistry implements Iterable<ToolEntry> {
  /** Keyword-matching statistics since the registry was created. */
  readonly metrics: MatchingMetrics;

  readonly #names = new NameTable();
  /** The indexes of the axes with fixed values. */
  readonly #axes = mapAxes<{ readonly [Name in AxisName]: FacetIndex<AxisValue<Name>> }>(
    (name, { values }) => new FacetIndex<never>((entry) => [entry[name] as never], values),
  );
  readonly #category = new FacetIndex<string>((entry) =>
    entry.category === undefined ? [] : [entry.category],
  );
  readonly #stage = new FacetIndex<string>((entry) => entry.stages);
  readonly #taskType = new FacetIndex<string>((entry) => entry.taskTypes);
  readonly #derived = new FacetIndex<DerivedSet>(derivedSetsOf);
  readonly #facets: readonly Pick<FacetIndex<never>, 'add' | 'remove'>[] = [
    ...Object.values(this.#axes),
    this.#category,
    this.#stage,
    this.#taskType,
    this.#derived,
  ];
  readonly #matcher: KeywordMatcher;
  readonly #search: SearchIndex;
  readonly #listeners = new Listeners<RegistryChange>();
  /** Caches answers that need more than one lookup. Cleared on every change. */
  readonly #answers = new Map<string, ImmutableSet<string>>();
  readonly #resolve: ResolveInstance | undefined;
  /** The class names of tools registered by their decorator. */
  readonly #decorated = new WeakMap<ToolDefinition, string>();
  #revision = 0;

  constructor(options: RegistryOptions = DEFAULTS) {
    if (Array.isArray(options) || typeof options !== 'object' || isToolDefinition(options))
      throw invalidArgument(
        'an object with registry options',
        options,
        'Register tools afterwards: registry.registerAll([…]).',
      );
    // The default registry is created at load time, when creating the schema would take too long.
    const { resolve, now, hints, vectors } =
      options === DEFAULTS
        ? DEFAULTS
        : checkOptions(REGISTRY_OPTIONS, options, 'options of the registry');
    this.#resolve = resolve;
    this.#matcher = new KeywordMatcher(now);
    this.metrics = this.#matcher.metrics;
    this.#search = new SearchIndex({
      hints: hints && checkHints(hints),
      vectors: vectors && new VectorIndex(vectors),
    });
  }

  /**
   * The number of changes so far. If a registry's revision hasn't changed, neither has its content.
   */
  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#names.size;
  }

  /** Returns the entries in registration order. */
  [Symbol.iterator](): IterableIterator<ToolEntry> {
    return this.#names.entries();
  }

  /**
   * Registers the tools in `source` (a definition, a decorated class, a toolkit, or an instance)
   * and returns their entries.
   *
   * An error leaves the registry unchanged.
   *
   * @throws ToolError `NOT_A_TOOL`, or `DUPLICATE_TOOL` if a name or alias is taken and `replace`
   * isn't set.
   */
  register(source: ToolSource, options: RegisterOptions = {}): readonly ToolEntry[] {
    return this.registerAll(findDefinitions(source, { resolve: this.#resolve }), options);
  }

  /**
   * Registers several tools as a single change, with one revision and one event. An error leaves
   * the registry unchanged.
   */
  registerAll(sources: Iterable<ToolSource>, options: RegisterOptions = {}): readonly ToolEntry[] {
    const entries = Object.freeze(definitionsOfAll(sources, options, this.#resolve).map(entryOf));
    if (options.replace !== true) this.#names.assertFree(entries);
    if (entries.length === 0) return entries;
    const replaced = new Set<string>();
    const added = new Set<string>();
    for (const entry of entries) {
      const previous = this.#names.named(entry.name);
      if (previous !== undefined) this.#unindex(previous);
      if (previous !== undefined && !added.has(entry.name)) replaced.add(entry.name);
      else added.add(entry.name);
      this.#index(entry);
    }
    this.#changed({ added: [...added], replaced: [...replaced], removed: [] });
    return entries;
  }

  /**
   * Declares a class as a tool, like `@tool`, and registers it together with its tool methods.
   * Importing the module is enough to register the tools. `@registry.tool` must be the topmost tool
   * decorator.
   *
   * File watchers may reload a module, so if a class with the same name registers again, its new
   * tools replace its old tools.
   *
   * ```ts
   * @registry.tool({ name: 'greet', description: 'Greets a person', inputSchema: Input })
   * class Greet { execute({ name }: z.infer<typeof Input>) { return `Hello ${name}`; } }
   * ```
   *
   * @throws ToolError `INVALID_METADATA`, `INVALID_DECORATION` if the decorator is applied to
   * anything but a class, and the errors of `register`.
   */
  tool<
    In extends ToolSchema,
    Out extends ToolSchema = ToolSchema,
    Manual extends boolean = false,
    Context = unknown,
  >(
    options: ToolOptions<In, Out, Context> & { readonly manual?: Manual },
  ): ToolClassDecorator<InputOf<In>, SchemaInput<Out>, Manual> {
    return toolClass(options, (Class) => {
      const definitions = findDefinitions(Class, { resolve: this.#resolve });
      const replace = definitions.every(({ name }) => {
        const before = this.#names.resolve(name)?.definition;
        return (
          before === undefined || (Class.name !== '' && this.#decorated.get(before) === Class.name)
        );
      });
      this.registerAll(definitions, { replace });
      for (const definition of definitions) this.#decorated.set(definition, Class.name);
    });
  }

  /** Removes a tool by its name (not by an alias). Returns true if it was registered. */
  unregister(name: string): boolean {
    const entry = this.#names.named(name);
    if (entry === undefined) return false;
    this.#unindex(entry);
    this.#changed({ added: [], replaced: [], removed: [entry.name] });
    return true;
  }

  /**
   * Calls `listener` after every change. Returns a function that unsubscribes. Errors thrown by the
   * listener are ignored.
   */
  onChange(listener: (change: RegistryChange) => void): () => void {
    if (typeof listener !== 'function') throw invalidArgument('a function', listener);
    return this.#listeners.add(listener);
  }

  /** Returns the tool with this name or alias, or `undefined`. */
  get(name: string): ToolEntry | undefined {
    return this.#names.resolve(name);
  }

  /**
   * Returns the tool with this name or alias, and throws if there is none. @throws ToolError
   * `TOOL_NOT_FOUND`, with suggestions for similar names.
   */
  require(name: string): ToolEntry {
    const entry = this.#names.resolve(name);
    if (entry !== undefined) return entry;
    const suggestions = suggestNames(String(name), this.#names.names());
    const hint =
      suggestions.length > 0
        ? `Did you mean ${suggestions.join(' or ')}?`
        : `${this.size} ${this.size === 1 ? 'tool is' : 'tools are'} registered.`;
    throw new ToolError(
      'TOOL_NOT_FOUND',
      `No tool is registered as ${describeValue(name)}. ${hint}`,
      { details: { name: String(name).slice(0, 128), suggestions } },
    );
  }

  /** Returns true if a tool has this name or alias. */
  has(name: string): boolean {
    return this.#names.resolve(name) !== undefined;
  }

  /** Returns true if the tool is registered and its `available` check, if any, passes now. */
  isAvailable(name: string): boolean {
    const entry = this.#names.resolve(name);
    return entry !== undefined && isAvailable(entry);
  }

  getByPriority(priority: Priority | PriorityName): readonly ToolEntry[] {
    return this.#axes.priority.entries(priorityOf(priority));
  }

  getByAccessMode(mode: AccessMode): readonly ToolEntry[] {
    return this.#axes.accessMode.entries(mode);
  }

  getByDangerLevel(level: DangerLevel): readonly ToolEntry[] {
    return this.#axes.dangerLevel.entries(level);
  }

  getByExecutionCategory(category: ExecutionCategory): readonly ToolEntry[] {
    return this.#axes.executionCategory.entries(category);
  }

  getByCostTier(tier: CostTier): readonly ToolEntry[] {
    return this.#axes.costTier.entries(tier);
  }

  getByCategory(category: string): readonly ToolEntry[] {
    return this.#category.entries(normalizeLabel(category));
  }

  getByKeyword(keyword: string): readonly ToolEntry[] {
    return this.#matcher.keywords.entries(normalizeLabel(keyword));
  }

  getByStage(stage: string): readonly ToolEntry[] {
    return this.#stage.entries(normalizeLabel(stage));
  }

  getByTaskType(taskType: string): readonly ToolEntry[] {
    return this.#taskType.entries(normalizeLabel(taskType));
  }

  /**
   * Returns the tools that can change something: `accessMode` is `write`, `execute`, or `mixed`.
   */
  getWriteTools(): ReadonlySet<string> {
    return this.#derived.names('write');
  }

  /** Returns the tools that are safe to call again: `accessMode` is `readonly`. */
  getIdempotentTools(): ReadonlySet<string> {
    return this.#derived.names('idempotent');
  }

  getToolsByStage(stage: string): ReadonlySet<string> {
    return this.#stage.names(normalizeLabel(stage));
  }

  getToolsByTaskType(taskType: string): ReadonlySet<string> {
    return this.#taskType.names(normalizeLabel(taskType));
  }

  /**
   * Returns the tools that can run in parallel: `accessMode` is `readonly` and `executionCategory`
   * is `read_only`, `compute`, or `network`.
   */
  getParallelizableTools(): ReadonlySet<string> {
    return this.#derived.names('parallelizable');
  }

  /**
   * Returns the tools that can't run at the same time as this tool, based on the stricter of
   * `executionCategory` and `accessMode`. Returns all tools if the name is unknown. Reads don't
   * conflict with writes, because plans keep them in order.
   */
  getConflictingTools(name: string): ReadonlySet<string> {
    const entry = this.#names.resolve(name);
    if (entry === undefined) return this.#answer('all', () => this.#names.names());
    // Cached per execution category, because one set per tool would take quadratic memory.
    const category = concurrencyOf(entry);
    const conflicting = conflictingCategories(category);
    const others = this.#answer(`conflicts of ${category}`, () =>
      [...this]
        .filter((other) => conflicting.includes(concurrencyOf(other)))
        .map(({ name }) => name),
    );
    return new ImmutableSet([...others].filter((other) => other !== entry.name));
  }

  /** Returns the tools whose `dangerLevel` is `high` or `critical`. */
  getDangerousTools(): ReadonlySet<string> {
    return this.#derived.names('dangerous');
  }

  /** Returns the tools that write, are dangerous, or require consent. */
  getToolsRequiringApproval(): ReadonlySet<string> {
    return this.#derived.names('requiringApproval');
  }

  /**
   * Returns true if calling this tool needs approval. Accepts aliases. Unknown names need approval.
   */
  requiresApproval(name: string): boolean {
    const entry = this.#names.resolve(name);
    return entry === undefined || requiresApproval(entry);
  }

  /** Returns the tools whose calls can make cached results stale. Same as `getWriteTools()`. */
  getCacheInvalidatingTools(): ReadonlySet<string> {
    return this.#derived.names('cacheInvalidating');
  }

  getCriticalTools(): ReadonlySet<string> {
    return this.#derived.names('critical');
  }

  getAllCategories(): ReadonlySet<string> {
    return this.#answer('categories', () => sorted(this.#category.values()));
  }

  getAllStages(): ReadonlySet<string> {
    return this.#answer('stages', () => sorted(this.#stage.values()));
  }

  getAllTaskTypes(): ReadonlySet<string> {
    return this.#answer('task types', () => sorted(this.#taskType.values()));
  }

  getAllKeywords(): ReadonlySet<string> {
    return this.#answer('keywords', () => sorted(this.#matcher.keywords.values()));
  }

  /** Returns all keywords of the tools in this category. */
  getCategoryKeywords(category: string): ReadonlySet<string> {
    const entries = this.getByCategory(category);
    if (entries.length === 0) return new ImmutableSet<string>(); // Unknown categories aren't cached, because there could be any number of them.
    return this.#answer(`keywords of ${normalizeLabel(category)}`, () =>
      sorted(entries.flatMap(({ keywords }) => keywords)),
    );
  }

  /** Returns the categories of tools with a keyword in the text. */
  detectCategoriesFromText(text: string): ReadonlySet<string> {
    return this.#matcher.categories(requireText(text));
  }

  /**
   * Returns the tools with a keyword in the text, best score first. Ties are ordered by priority,
   * then name. @param options `minScore` is the lowest score to include (default 0). `maxResults`
   * is the maximum number of results (default all).
   */
  getToolsMatchingTextScored(
    text: string,
    options: { readonly minScore?: number; readonly maxResults?: number } = {},
  ): readonly KeywordMatchResult[] {
    const { minScore, maxResults } = checkOptions(
      SCORED_OPTIONS,
      options,
      'options of getToolsMatchingTextScored',
    );
    return this.#matcher.scored(requireText(text), minScore, maxResults);
  }

  /**
   * Returns the tools that must be offered for this text, because it contains one of their
   * mandatory keywords.
   */
  getToolsMatchingMandatoryKeywords(text: string): ReadonlySet<string> {
    return this.#matcher.mandatory(requireText(text));
  }

  /**
   * Returns the tools that best match a request, ranked on all their metadata. See
   * docs/search-and-scoring.md.
   */
  search(text: string, options: SearchOptions = {}): readonly SearchResult[] {
    const { limit, filter, vector } = checkOptions(SEARCH_OPTIONS, options, 'options of search');
    const accept = typeof filter === 'object' ? compileFilter(filter) : filter;
    return Object.freeze(
      this.#search.search(requireText(text), Math.max(0, limit), accept, vector),
    );
  }

  /**
   * Records which tool successfully handled a request. In this registry's `search`, the words of
   * the last 20 requests that a tool handled count half as much as the words of its `examples`.
   * Failures are ignored.
   *
   * @throws ToolError `TOOL_NOT_FOUND`.
   */
  recordUse(use: ToolUse): void {
    if (!isPlainObject(use)) throw invalidArgument('{ text, toolName, outcome }', use);
    const { text, toolName, outcome } = use;
    if (outcome !== 'success' && outcome !== 'failure')
      throw invalidArgument("'success' or 'failure' as the outcome", outcome);
    const entry = this.require(toolName);
    if (outcome === 'success') this.#search.recordUse(requireText(text), entry);
  }

  /** Returns the tools whose hints were written for an earlier version of their text. */
  getToolsWithStaleHints(): ReadonlySet<string> {
    return this.#answer('stale hints', () =>
      [...this].filter((entry) => this.#search.hasStaleHints(entry)).map(({ name }) => name),
    );
  }

  /** Returns the tools that match a filter, in registration order. */
  filter(filter: ToolFilter): readonly ToolEntry[] {
    return Object.freeze([...this].filter(compileFilter(filter)));
  }

  /** Returns tool counts for every axis and derived set. */
  summary(): RegistrySummary;
  summary(...unexpected: readonly unknown[]): RegistrySummary {
    if (unexpected.length > 0)
      throw invalidArgument(
        'no argument',
        unexpected[0],
        'To count what one persona can use, call summary({ persona }) on a CapabilityRegistry from tooldex/capability.',
      );
    return summarize([...this], this.#revision);
  }

  #index(entry: ToolEntry): void {
    this.#names.add(entry);
    for (const facet of this.#facets) facet.add(entry);
    this.#matcher.add(entry);
    this.#search.add(entry);
  }

  #unindex(entry: ToolEntry): void {
    this.#names.remove(entry);
    for (const facet of this.#facets) facet.remove(entry);
    this.#matcher.remove(entry);
    this.#search.remove(entry);
  }

  #changed(change: Omit<RegistryChange, 'revision'>): void {
    this.#revision += 1;
    this.#answers.clear();
    this.#listeners.tell(cloneFrozen({ revision: this.#revision, ...change }));
  }

  #answer(question: string, values: () => Iterable<string>): ImmutableSet<string> {
    let answer = this.#answers.get(question);
    if (answer === undefined) this.#answers.set(question, (answer = new ImmutableSet(values())));
    return answer;
  }
}

function sorted(values: Iterable<string>): string[] {
  return [...new Set(values)].sort(compareText);
}
