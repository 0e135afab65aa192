import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { ToolError } from '../core/errors.js';
import { Listeners } from '../core/listeners.js';
import { describeValue } from '../core/plain-data.js';
import { expectedGot, invalidArgument, requireText } from '../core/issues.js';
import type { ToolEvent } from '../core/tool-event.js';
import { aFunction, checkOptions } from '../core/options.js';
import type { HealthLog } from '../providers/rolling-health.js';
import { RollingHealth } from '../providers/rolling-health.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { PolicyRule } from '../safety/policy-rule.js';
import type {
  CapabilityJob,
  CapabilitySkill,
  CapabilityTask,
  CapabilityTool,
  LiveFacts,
  OwnedNames,
} from './state/capability-items.js';
import { loadSource, sourceContent, type SourceTools } from './state/capability-source.js';
import { CatalogueSearch, type CapabilityHits } from './catalogue-search.js';
import type { CapabilityFinding } from './manifest/manifest-issue.js';
import { didYouMean } from './manifest/read-work.js';
import { HealthLedger, type ExecutionRecord } from './state/health-ledger.js';
import { PersonaViews, personaRule } from './persona-views.js';
import {
  compileJobQuery,
  compileSkillQuery,
  compileTaskQuery,
  compileToolQuery,
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
  type CheckedCapabilityOptions,
} from './registry-options.js';
import {
  build,
  differenceOf,
  isSame,
  type CapabilityChange,
  type CapabilityState,
  type Inputs,
} from './state/build-state.js';
import { ManifestFolder } from './state/manifest-folder.js';
import { summarizeCapabilities } from './capability-summary.js';
import type { CapabilitySummary } from './wire-types.js';

/** The events that `attach` listens to; a `ToolExecutor` has them. */
export interface ExecutionEvents {
  on(listener: (event: ToolEvent) => void): () => void;
  readonly health?: HealthLog;
}

type Persona = { readonly persona?: string | null };

/**
 * A registry of everything that each persona can use: tools from code, manifests and other sources, and skills, jobs
 * and tasks from manifests, with the health of all of them.
 *
 * Queries read a snapshot in memory. A refresh replaces it as a whole, so nobody sees half a change. A wrong entry is
 * left out and reported as a finding. A file that can't be read keeps its last good content. Files are watched only
 * after `watch` is called. Sources that announce changes are followed until `close`.
 *
 * ```ts
 * import { CapabilityRegistry } from 'tooldex/capability';
 * const capabilities = await CapabilityRegistry.load({ root: './manifests' });
 * const reliable = capabilities.tools({ personas: 'Atlas', version: '>=1.2', minSuccessRate: 0.8 });
 * ```
 */
export class CapabilityRegistry {
  readonly #options: CheckedCapabilityOptions;
  readonly #clock: Clock;
  readonly #folder: ManifestFolder | undefined;
  readonly #ledger: HealthLedger;
  readonly #live: LiveFacts;
  readonly #views = new PersonaViews();
  readonly #search = new CatalogueSearch();
  readonly #listeners = new Listeners<CapabilityChange>();
  readonly #stopHearing: readonly (() => void)[];
  #isTelling = false;
  /** The newest inputs, and those of the current state. */
  #inputs: Inputs;
  #built: Inputs;
  #state: CapabilityState;
  /** The end of the last requested refresh. Each begins when the one before has ended. */
  #refreshed: Promise<unknown> = Promise.resolve();

  private constructor(options: CheckedCapabilityOptions) {
    const { root, executeOf, code, handlers, sources, env = process.env } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#folder = root === undefined ? undefined : new ManifestFolder(root, executeOf);
    const health = options.health ?? new RollingHealth({ clock: this.#clock });
    this.#ledger = new HealthLedger(health, this.#clock);
    this.#live = { ledger: this.#ledger, env };
    const nothing = { files: [], sources: [], findings: [] };
    this.#inputs = this.#built = { ...nothing, code, handlers };
    this.#state = { ...build({ ...nothing, code: [], handlers: [] }, this.#live), revision: 0 };
    this.#stopHearing = sources.flatMap(
      (source, index) => source.onChange?.((tools) => this.#hear(index, tools)) ?? [],
    );
  }

  /**
   * Creates a registry and reads everything once.
   *
   * Wrong entries are left out and reported in `findings`. `loadManifest` refuses them instead.
   *
   * @throws ToolError `INVALID_ARGUMENT` for wrong options and a root that isn't a folder, `NOT_A_TOOL`.
   */
  static async load(options: CapabilityOptions = {}): Promise<CapabilityRegistry> {
    const registry = new CapabilityRegistry(checkCapabilityOptions(options));
    try {
      await Promise.all([registry.#refreshNow(true, true), registry.#ledger.load()]);
      return registry;
    } catch (error) {
      registry.close();
      throw error;
    }
  }

  /** Stops following the sources. The content stays, and `refresh` still works. */
  close(): void {
    for (const stop of this.#stopHearing) stop();
  }

  /** The number of calls and events reported to this registry. Health may change with each. */
  get healthReports(): number {
    return this.#ledger.reports;
  }

  /** The number of changes so far, starting at 1. Equal revisions of a registry mean equal content. */
  get revision(): number {
    return this.#state.revision;
  }

  /** The problems: wrong entries, broken references, and files and sources that couldn't be read. */
  get findings(): readonly CapabilityFinding[] {
    return this.#state.findings;
  }

  /** The names of all personas that own something or are in an allow-list, as they were first spelled. */
  get personas(): readonly string[] {
    return Object.freeze([...this.#state.personas.values()]);
  }

  /**
   * Reads everything that has changed, and takes it over in one step. It compares content, not dates.
   *
   * Refreshes run one after the other. With `force`, it checks every file again, and sources look again even if they
   * just have. It never rejects because of wrong content: that is in `findings`.
   */
  async refresh(options: { readonly force?: boolean } = {}): Promise<CapabilityChange> {
    const { force } = checkOptions(REFRESH_OPTIONS, options, 'options of refresh');
    const refreshing = this.#refreshed.then(() => this.#refreshNow(force, false));
    this.#refreshed = refreshing.catch(() => undefined);
    return refreshing;
  }

  /**
   * Refreshes repeatedly until the returned function is called. The process doesn't end by itself while it does.
   *
   * @param options `intervalMs` from the end of a refresh to the next, at least 10. @default 1,000
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
   * Calls the listener after every change, until the returned function is called. The listener's exceptions are
   * ignored.
   */
  onChange(listener: (change: CapabilityChange) => void): () => void {
    if (typeof listener !== 'function') throw invalidArgument('a function', listener);
    return this.#listeners.add(listener);
  }

  /**
   * Returns the tools that a persona may call: shared ones, and its own, which replace shared ones of the same name.
   * Without a persona, or for an unknown one, returns the shared tools.
   *
   * The registry stays the same object until one of these tools changes. Then `onChange` reports it, and the next call
   * returns a new one.
   */
  registryFor(persona?: string | null): ToolMetadataRegistry {
    return this.#views.registryFor(this.#state, readPersona(persona));
  }

  /**
   * Returns the tools that a query asks for: shared ones first, then by persona and name. A persona's tool doesn't hide
   * the shared one of the same name.
   */
  tools(query: ToolQuery = {}): readonly CapabilityTool[] {
    return Object.freeze(this.#state.tools.all.filter(compileToolQuery(query, this.#ledger)));
  }

  /** Returns the tool that a persona calls by a name: its own, or else the shared one. */
  tool(name: string, persona?: string | null): CapabilityTool | undefined {
    return this.#state.tools.seenBy(readPersona(persona), name);
  }

  /**
   * Finds the tools of all owners that fit a request best.
   *
   * @param options `limit` (default 10), and `accepts` to choose among tools (default all).
   */
  search(text: string, options: SearchOptions = {}): CapabilityHits {
    const { limit, accepts } = checkOptions(SEARCH_OPTIONS, options, 'options of a search');
    return this.#search.find(this.#state, requireText(text), limit, accepts);
  }

  /** Returns the skills that a query asks for, in the order of `tools`. */
  skills(query: SkillQuery = {}): readonly CapabilitySkill[] {
    return Object.freeze(this.#state.skills.all.filter(compileSkillQuery(query)));
  }

  /** Returns the tasks that a query asks for, in the order of `tools`. */
  tasks(query: TaskQuery = {}): readonly CapabilityTask[] {
    return Object.freeze(this.#state.tasks.all.filter(compileTaskQuery(query)));
  }

  /** Returns the jobs that a query asks for, in the order of `tools`. */
  jobs(query: JobQuery = {}): readonly CapabilityJob[] {
    return Object.freeze(this.#state.jobs.all.filter(compileJobQuery(query)));
  }

  /**
   * Returns everything that a persona, or anyone, can use, with health, as plain data in snake_case. Times are in
   * seconds since 1970.
   *
   * It always includes shared items. `compatibility.matches_request` says whether the persona may use an item.
   */
  summary(options: Persona = {}): CapabilitySummary {
    return summarizeCapabilities(this.#state, personaIn(options));
  }

  /**
   * Counts a run of a persona's job, or of the shared job of that name. @throws ToolError `INVALID_ARGUMENT` for an
   * unknown job or a wrong record.
   */
  recordJob(name: string, record: Omit<ExecutionRecord, 'provider'>, options: Persona = {}): void {
    requireRecord(record, false);
    const job = this.#require(this.#state.jobs, 'job', name, options);
    this.#ledger.recordJob(job.owner, job.name, record);
  }

  /**
   * Counts a call that no attached executor has made. @throws ToolError `INVALID_ARGUMENT` for an unknown tool or a
   * wrong record.
   */
  recordTool(name: string, record: ExecutionRecord, options: Persona = {}): void {
    requireRecord(record, true);
    const tool = this.#require(this.#state.tools, 'tool', name, options);
    this.#ledger.recordTool(tool.owner, tool.entry, record);
  }

  /**
   * Counts an executor's calls and follows the state of its providers, until the returned function is called.
   *
   * @param options the persona that the executor works for. Its calls count for the tools that this persona sees.
   */
  attach(executor: ExecutionEvents, options: Persona = {}): () => void {
    if (typeof (executor as Partial<ExecutionEvents> | null | undefined)?.on !== 'function')
      throw invalidArgument('an executor that tells what it does', executor);
    const persona = personaIn(options);
    const counted = this.#ledger.countsIn(executor.health);
    return executor.on((event) => {
      if (!('toolName' in event)) return;
      const tool = this.#meant(event.toolName, persona);
      if (tool !== undefined) this.#ledger.hear(tool.owner, tool.entry, event, counted);
    });
  }

  /**
   * Returns rules for a `SafetyPolicy`, to put before all others. A persona may call only tools that it sees here, also
   * through registries from before a change.
   */
  policyRules(): readonly PolicyRule[] {
    return Object.freeze([
      personaRule(
        () => this.#state,
        (entry) => this.#views.wasOffered(entry),
      ),
    ]);
  }

  /** Takes over announcements of sources. Those of one turn come together, and the first come with everything else. */
  #hear(index: number, tools: SourceTools): void {
    const { name } = this.#options.sources[index]!;
    const sources = [...this.#inputs.sources];
    sources[index] = sourceContent(name, tools, sources[index]);
    this.#inputs = { ...this.#inputs, sources };
    if (this.#isTelling || this.#state.revision === 0) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      this.#take(this.#inputs);
    });
  }

  async #refreshNow(force: boolean, loading: boolean): Promise<CapabilityChange> {
    const before = this.#inputs.sources;
    const [folder, loaded] = await Promise.all([
      this.#folder?.read(force),
      Promise.all(
        this.#options.sources.map((source, index) =>
          loadSource(source, force, before[index], this.#clock),
        ),
      ),
    ]);
    if (loading && folder?.exists === false)
      throw new ToolError(
        'INVALID_ARGUMENT',
        expectedGot(
          'root as a folder with manifests',
          `${describeValue(this.#options.root)}, where there is none`,
        ),
      );
    // An announcement that came during the read is newer than its answer.
    const sources = loaded.map((content, index) => {
      const now = this.#inputs.sources[index];
      return now === undefined || now === before[index] ? content : now;
    });
    const { files = [], findings = [] } = folder ?? {};
    return this.#take({ ...this.#inputs, files, sources, findings });
  }

  #take(inputs: Inputs): CapabilityChange {
    const before = this.#state;
    const isDone = before.revision > 0 && isSame(this.#built, inputs);
    const state = isDone ? before : build(inputs, this.#live, before);
    const { revision } = state;
    const changed = revision !== before.revision;
    // Nothing is awaited here, so readers see all of the change or nothing.
    this.#inputs = this.#built = inputs;
    this.#state = state;
    this.#views.keepOnly(state);
    const difference = differenceOf(before.contents, state.contents);
    const change = Object.freeze({ revision, changed, ...difference });
    if (changed) this.#listeners.tell(change);
    return change;
  }

  /** Returns the tool of a call: the one that the persona sees, or else that of its only owner. */
  #meant(name: string, persona: string | null): CapabilityTool | undefined {
    const owned = this.#state.tools.ownersOf(name);
    return this.#state.tools.seenBy(persona, name) ?? (owned.length === 1 ? owned[0] : undefined);
  }

  #require<Item extends { readonly owner: string | null; readonly name: string }>(
    items: OwnedNames<Item>,
    kind: string,
    name: unknown,
    options: Persona,
  ): Item {
    const persona = personaIn(options);
    const item = typeof name === 'string' ? items.seenBy(persona, name) : undefined;
    if (item !== undefined) return item;
    const known = items.allSeenBy(persona).map((each) => each.name);
    const hint = typeof name === 'string' ? didYouMean(name, known) : '';
    const whose = persona === null ? 'that is shared' : `of ${persona} or a shared one`;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `Expected the name of a ${kind} ${whose}, got ${describeValue(name)}.${hint}`,
    );
  }
}

const REFRESH_OPTIONS = z.strictObject({ force: z.boolean().default(false) });
const WATCH_OPTIONS = z.strictObject({ intervalMs: z.number().min(10).default(1_000) });
const PERSONA_OPTIONS = z.strictObject({ persona: z.string("a persona's name").nullish() });

type SearchOptions = {
  /** The maximum number of tools. @default 10 */
  readonly limit?: number;
  /** Excludes the tools that it returns `false` for. @default none */
  readonly accepts?: (tool: CapabilityTool) => boolean;
};

const SEARCH_OPTIONS = z.strictObject({
  limit: z.number().min(0).default(10),
  accepts: aFunction<(tool: CapabilityTool) => boolean>().default(() => () => true),
});

function personaIn(options: Persona): string | null {
  return readPersona(checkOptions(PERSONA_OPTIONS, options, 'options with a persona').persona);
}
