import { stat } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { Listeners } from '../core/listeners.js';
import { describeValue } from '../core/plain-data.js';
import { invalidArgument, requireText } from '../core/issues.js';
import type { ToolEvent } from '../core/tool-event.js';
import { aFunction, checkOptions } from '../core/options.js';
import type { HealthLog } from '../providers/rolling-health.js';
import { RollingHealth } from '../providers/rolling-health.js';
import { readHints } from '../registry/read-hints.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { CheckedHints } from '../search/tool-hints.js';
import type { PolicyRule } from '../safety/policy-rule.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
  LiveFacts,
  OwnedNames,
} from './state/capability-items.js';
import type { SourceTools } from '../tool/capability-source.js';
import { loadSource, sourceContent } from './state/capability-source.js';
import { CatalogueSearch, type CapabilityHits } from './catalogue-search.js';
import { type CapabilityFinding, didYouMean } from './manifest/manifest-issue.js';
import { HealthLedger, type ExecutionRecord } from './state/health-ledger.js';
import { PersonaViews, personaRule } from './persona-views.js';
import {
  compileQuery,
  type JobQuery,
  type SkillQuery,
  type TaskQuery,
  type ToolQuery,
} from './capability-query.js';
import {
  checkCapabilityOptions,
  readPersona,
  requireRecord,
  type CapabilityOptions,
} from './registry-options.js';
import {
  build,
  differenceOf,
  EMPTY,
  type CapabilityChange,
  type CapabilityState,
  type Inputs,
} from './state/build-state.js';
import { ManifestFolder } from './state/manifest-folder.js';
import { summarizeCapabilities } from './capability-summary.js';
import type { CapabilitySummary } from './wire-types.js';

/** The events that `attach` listens to. A `ToolExecutor` emits these events. */
interface ExecutionEvents {
  on(listener: (event: ToolEvent) => void): () => void;
  readonly health?: HealthLog;
}

type Persona = { readonly persona?: string | null };

/**
 * A registry of every persona's capabilities and their health. The registry contains tools from
 * code, manifest files and other sources, and skills, jobs and tasks from files.
 *
 * Queries read a snapshot in memory. A refresh replaces the whole snapshot, so a reader never sees
 * half a change. An invalid entry is skipped and reported in `findings`. If a file becomes
 * unreadable, its last valid content is kept. Files are watched only if you call `watch`. Sources
 * can announce changes until you call `close`.
 *
 * ```ts
 * import { CapabilityRegistry } from 'tooldex/capability';
 * const capabilities = await CapabilityRegistry.load({ root: './manifests' });
 * const reliable = capabilities.tools({ personas: 'Atlas', version: '>=1.2', minSuccessRate: 0.8 });
 * ```
 */
export class CapabilityRegistry {
  readonly #options: ReturnType<typeof checkCapabilityOptions>;
  readonly #clock: Clock;
  readonly #folder: ManifestFolder | undefined;
  readonly #ledger: HealthLedger;
  readonly #live: LiveFacts;
  readonly #views: PersonaViews;
  readonly #search: CatalogueSearch;
  readonly #listeners = new Listeners<CapabilityChange>();
  readonly #stopHearing: readonly (() => void)[];
  /** The inputs that the current state was built from. */
  #inputs: Inputs;
  #state: CapabilityState = EMPTY;
  /** The last requested refresh. This refresh starts when the previous refresh has ended. */
  #refreshed: Promise<unknown> = Promise.resolve();

  private constructor(options: ReturnType<typeof checkCapabilityOptions>, hints: CheckedHints) {
    const { root, executeOf, code, sources, env = process.env } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#views = new PersonaViews(hints);
    this.#search = new CatalogueSearch(hints);
    this.#folder = root === undefined ? undefined : new ManifestFolder(root, executeOf);
    const health = options.health ?? new RollingHealth({ clock: this.#clock });
    this.#ledger = new HealthLedger(health, this.#clock);
    this.#live = { ledger: this.#ledger, env };
    this.#inputs = { files: [], sources: [], findings: [], code };
    this.#stopHearing = sources.flatMap(
      (source, index) => source.onChange?.((tools) => this.#hear(index, tools)) ?? [],
    );
  }

  /**
   * Creates a registry and reads everything once.
   *
   * Invalid entries are skipped and reported in `findings`. (`loadManifest` refuses the manifest
   * instead.)
   *
   * @throws ToolError `INVALID_ARGUMENT` for invalid options or if the root isn't a folder,
   * `NOT_A_TOOL` for values that aren't tools.
   */
  static async load(options: CapabilityOptions = {}): Promise<CapabilityRegistry> {
    const checked = checkCapabilityOptions(options);
    const { root } = checked;
    if (root !== undefined && !(await stat(root).catch(() => undefined))?.isDirectory())
      throw invalidArgument('root as a folder with manifests', root);
    const registry = new CapabilityRegistry(checked, await readHints(checked.hints));
    await Promise.all([registry.#refreshNow(true), registry.#ledger.load()]);
    return registry;
  }

  /** Stops listening to the sources. The content is kept, and `refresh` still works. */
  close(): void {
    for (const stop of this.#stopHearing) stop();
  }

  /**
   * The number of calls and events reported to this registry. Each report may change an item's
   * health.
   */
  get healthReports(): number {
    return this.#ledger.reports;
  }

  /**
   * The number of content changes, starting at 1. If a registry's revision hasn't changed, neither
   * has its content.
   */
  get revision(): number {
    return this.#state.revision;
  }

  /** The problems found: skipped entries, dangling references, and unreadable files and sources. */
  get findings(): readonly CapabilityFinding[] {
    return this.#state.findings;
  }

  /** The names of all personas that own or may use something, in the spelling found first. */
  get personas(): readonly string[] {
    return Object.freeze([...this.#state.personas.values()]);
  }

  /**
   * Reads everything again, and applies the changes in one step. A file whose content hasn't
   * changed isn't parsed again, whatever its date.
   *
   * Refreshes run one after the other. With `force`, every file is parsed again, and sources list
   * their tools again even if they just did. Problems in the content are reported in `findings` and
   * never reject the promise.
   */
  async refresh(options: { readonly force?: boolean } = {}): Promise<CapabilityChange> {
    const { force } = checkOptions(REFRESH_OPTIONS, options, 'options of refresh');
    const refreshing = this.#refreshed.then(() => this.#refreshNow(force));
    this.#refreshed = refreshing.catch(() => undefined);
    return refreshing;
  }

  /**
   * Refreshes periodically. Returns a function that ends the periodic refresh. Until you call that
   * function, the process stays alive.
   *
   * @param options `intervalMs` is the pause between two refreshes in milliseconds, at least 10
   * (default 1,000).
   */
  watch(options: { readonly intervalMs?: number } = {}): () => void {
    const { intervalMs } = checkOptions(WATCH_OPTIONS, options, 'options of watch');
    let stopTimer: (() => void) | undefined;
    let stopped = false;
    const wait = () => {
      if (!stopped)
        stopTimer = this.#clock.after(intervalMs, () => void this.refresh().then(wait, wait));
    };
    wait();
    return () => {
      stopped = true;
      stopTimer?.();
    };
  }

  /**
   * Calls `listener` after every change to the content. Returns a function that unsubscribes.
   * Exceptions from the listener are ignored.
   */
  onChange(listener: (change: CapabilityChange) => void): () => void {
    if (typeof listener !== 'function') throw invalidArgument('a function', listener);
    return this.#listeners.add(listener);
  }

  /**
   * Returns the tools that a persona may call: its own tools, and each shared tool unless one of
   * its own has the same name. Tools reserved for other personas aren't included. If the persona is
   * missing or unknown, returns the shared tools.
   *
   * You get the same registry until one of its tools changes. After such a change, `onChange`
   * listeners are called, and the next call returns a new registry.
   */
  registryFor(persona?: string | null): ToolMetadataRegistry {
    return this.#views.registryFor(this.#state, readPersona(persona));
  }

  /**
   * Returns the tools that match a query. Shared tools come first, then the others by persona and
   * name. A persona's tool doesn't hide the shared tool with the same name.
   */
  tools(query: ToolQuery = {}): readonly CapabilityTool[] {
    return Object.freeze(this.#state.tools.all.filter(compileQuery('tool', query, this.#ledger)));
  }

  /**
   * Returns the tool that a persona calls by a name: its own tool with that name, or else the
   * shared tool.
   */
  tool(name: string, persona?: string | null): CapabilityTool | undefined {
    return this.#state.tools.seenBy(readPersona(persona), name);
  }

  /**
   * Finds the tools of all owners that best match a request.
   *
   * @param options `limit` is the maximum number of tools (default 10), and `accepts` selects tools
   * (default all).
   */
  search(text: string, options: SearchOptions = {}): CapabilityHits {
    const { limit, accepts } = checkOptions(SEARCH_OPTIONS, options, 'options of a search');
    return this.#search.find(this.#state, requireText(text), limit, accepts);
  }

  /**
   * Returns the skills that match a query: shared skills first, then the others by persona and
   * name.
   */
  skills(query: SkillQuery = {}): readonly CapabilitySkill[] {
    return Object.freeze(this.#state.skills.all.filter(compileQuery('skill', query, this.#ledger)));
  }

  /**
   * Returns the tasks that match a query: shared tasks first, then the others by persona and name.
   */
  tasks(query: TaskQuery = {}): readonly CapabilityTask[] {
    return Object.freeze(this.#state.tasks.all.filter(compileQuery('task', query, this.#ledger)));
  }

  /**
   * Returns the jobs that match a query: shared jobs first, then the others by persona and name.
   */
  jobs(query: JobQuery = {}): readonly CapabilityJob[] {
    return Object.freeze(this.#state.jobs.all.filter(compileQuery('job', query, this.#ledger)));
  }

  /**
   * Returns the capabilities of a persona, or of everyone, together with their health, as plain
   * data in snake_case. Times are in seconds since 1970.
   *
   * Always includes shared items. `compatibility.matches_request` says for each item whether the
   * persona may use it.
   */
  summary(options: Persona = {}): CapabilitySummary {
    return summarizeCapabilities(this.#state, personaIn(options));
  }

  /**
   * Records one run of a persona's job, or of the shared job with that name.
   * @throws ToolError `INVALID_ARGUMENT` for an unknown job or an invalid record.
   */
  recordJob(name: string, record: Omit<ExecutionRecord, 'provider'>, options: Persona = {}): void {
    requireRecord(record);
    const job = this.#require(this.#state.jobs, 'job', name, options);
    this.#ledger.recordJob(job.owner, job.name, record);
  }

  /**
   * Records a tool call that wasn't made by an attached executor.
   * @throws ToolError `INVALID_ARGUMENT` for an unknown tool or an invalid record.
   */
  recordTool(name: string, record: ExecutionRecord, options: Persona = {}): void {
    requireRecord(record);
    const tool = this.#require(this.#state.tools, 'tool', name, options);
    this.#ledger.recordTool(tool.owner, tool.entry, record);
  }

  /**
   * Records an executor's calls and the state of its providers. Returns a function that detaches
   * the executor.
   *
   * @param options The persona for which the executor works. Calls are recorded for the tools that
   * this persona sees.
   */
  attach(executor: ExecutionEvents, options: Persona = {}): () => void {
    const persona = personaIn(options);
    const counted = this.#ledger.countsIn(executor.health);
    return executor.on((event) => {
      if (!('toolName' in event)) return;
      const tool = this.#meant(event.toolName, persona);
      if (tool !== undefined) this.#ledger.hear(tool.owner, tool.entry, event, counted);
    });
  }

  /**
   * Returns rules for a `SafetyPolicy`. Put these rules before all other rules. With these rules, a
   * persona can call only the tools that it sees in this registry, even through a
   * `ToolMetadataRegistry` that was created before the content changed.
   */
  policyRules(): readonly PolicyRule[] {
    return Object.freeze([
      personaRule(
        () => this.#state,
        (entry) => this.#views.wasOffered(entry),
      ),
    ]);
  }

  /** Applies the tools that a source announces. */
  #hear(index: number, tools: SourceTools): void {
    const { name } = this.#options.sources[index]!;
    const sources = [...this.#inputs.sources];
    sources[index] = sourceContent(name, tools, sources[index]);
    const inputs = { ...this.#inputs, sources };
    // Before the first refresh, the announcement is stored but not applied.
    if (this.#state === EMPTY) this.#inputs = inputs;
    else this.#take(inputs);
  }

  async #refreshNow(force: boolean): Promise<CapabilityChange> {
    const before = this.#inputs.sources;
    const [folder, loaded] = await Promise.all([
      this.#folder?.read(force),
      Promise.all(
        this.#options.sources.map((source, index) => loadSource(source, force, before[index])),
      ),
    ]);
    // Tools that a source announced while it was being loaded are newer than the tools in its
    // response.
    const sources = loaded.map((content, index) => {
      const now = this.#inputs.sources[index];
      return now === undefined || now === before[index] ? content : now;
    });
    return this.#take({ ...this.#inputs, ...folder, sources });
  }

  #take(inputs: Inputs): CapabilityChange {
    const before = this.#state;
    // While files are watched, a refresh usually finds no change.
    const isSame = before !== EMPTY && isDeepStrictEqual(dataOf(inputs), dataOf(this.#inputs));
    const state = isSame ? before : build(inputs, this.#live, before);
    // Nothing is awaited here, so readers never see half of the change.
    this.#inputs = inputs;
    this.#state = state;
    const { revision, contents } = state;
    const changed = revision !== before.revision;
    const difference = differenceOf(before.contents, contents);
    const change = Object.freeze({ revision, changed, ...difference });
    if (changed) this.#listeners.tell(change);
    return change;
  }

  /**
   * Returns the tool that was called: the tool that the persona sees, or else the only tool with
   * this name.
   */
  #meant(name: string, persona: string | null): CapabilityTool | undefined {
    const owned = this.#state.tools.ownersOf(name);
    return this.#state.tools.seenBy(persona, name) ?? (owned.length === 1 ? owned[0] : undefined);
  }

  #require<Item extends { readonly owner: string | null; readonly name: string }>(
    items: OwnedNames<Item>,
    kind: string,
    name: string,
    options: Persona,
  ): Item {
    const persona = personaIn(options);
    const item = items.seenBy(persona, name);
    if (item !== undefined) return item;
    const names = items.allSeenBy(persona).map((each) => each.name);
    const whose = persona === null ? 'shared items' : `items of ${persona} and the shared items`;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `There is no ${kind} called ${describeValue(name)} among the ${whose}.${didYouMean(name, names)}`,
    );
  }
}

const REFRESH_OPTIONS = z.strictObject({ force: z.boolean().default(false) });
const WATCH_OPTIONS = z.strictObject({ intervalMs: z.number().min(10).default(1_000) });
const PERSONA_OPTIONS = z.strictObject({ persona: z.string("a persona's name").nullish() });

type SearchOptions = {
  /** Maximum number of tools. @default 10 */
  readonly limit?: number;
  /** Returns `false` for tools to exclude. @default none are excluded */
  readonly accepts?: (tool: CapabilityTool) => boolean;
};

const SEARCH_OPTIONS = z.strictObject({
  limit: z.number().min(0).default(10),
  accepts: aFunction<(tool: CapabilityTool) => boolean>().default(() => () => true),
});

/** Returns inputs without the functions that sources recreate with every response. */
function dataOf({ sources, ...rest }: Inputs) {
  return { ...rest, sources: sources.map(({ join: _, ...content }) => content) };
}

function personaIn(options: Persona): string | null {
  return readPersona(checkOptions(PERSONA_OPTIONS, options, 'options with a persona').persona);
}
