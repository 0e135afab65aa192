import type { Clock } from '../../core/clock.js';
import { RecentMap } from '../../core/recent-map.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { HealthLog, HealthSummary, Sample } from '../../providers/rolling-health.js';
import { identityOf, providerHealthName } from '../../providers/provider-slot.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { ownerKey } from '../manifest/persona.js';

/** A tool's health over its recent calls. Dates are in milliseconds since 1970. */
export interface ToolHealth {
  readonly tool: HealthSummary;
  /**
   * The providers, by name. If two providers have the same name, part of the configuration's digest
   * is appended.
   */
  readonly providers: Readonly<
    Record<
      string,
      {
        readonly metrics: HealthSummary;
        readonly lifetime: Pick<HealthSummary, 'total' | 'success' | 'failure'>;
        readonly lastCall: Sample | null;
        /** The number of failures in a row. */
        readonly consecutiveFailures: number;
        readonly lastSuccess: number | null;
        readonly lastFailure: number | null;
        readonly lastCheck: number | null;
        /** End of the provider's backoff. `null` if the provider isn't backing off. */
        readonly backoffUntil: number | null;
      }
    >
  >;
  /** The last call. */
  readonly lastInvocation: {
    readonly provider: string | null;
    readonly success: boolean;
    readonly latencyMs: number;
    readonly at: number;
  } | null;
  /** The provider that answered the last successful call. */
  readonly lastSuccessProvider: string | null;
}

export type ProviderHealth = ToolHealth['providers'][string];

/** One finished call of a job or tool, as reported by programs. */
export interface ExecutionRecord {
  readonly success: boolean;
  readonly latencyMs: number;
  /** The provider that answered a tool's call. */
  readonly provider?: string;
}

/** A provider's state in this process. The calls in the log don't show this state. */
interface RouterFacts {
  /** The backoff during which the router doesn't use the provider. */
  readonly ejected?: { readonly failures: number; readonly until: number } | undefined;
  /**
   * Time of the provider's last success or recovery. Failures before this time no longer count as
   * consecutive.
   */
  readonly inOrderAt?: number;
  readonly lastCheck?: number;
}

/**
 * Maximum number of tools and providers whose state is remembered. The tools and providers that
 * were used least recently are dropped, because tools come and go.
 */
const MOST_REMEMBERED = 10_000;

/**
 * Records the health of each owner's tools and jobs.
 *
 * A health log stores the numbers. Shared items are recorded under their name, and a persona's
 * items under `name@persona`, so that both have their own record. Tool names contain no `@`. The
 * ledger combines the log's records of other processes with the events of this process's executors.
 */
export class HealthLedger {
  /**
   * The number of reports received. If this number hasn't changed, this process's part of the
   * health hasn't changed either.
   */
  reports = 0;
  readonly #log: HealthLog;
  readonly #clock: Clock;
  readonly #lastCalls = new RecentMap<string, ToolHealth['lastInvocation']>(MOST_REMEMBERED);
  readonly #routers = new RecentMap<string, RouterFacts>(MOST_REMEMBERED);

  constructor(log: HealthLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Reads the records of other processes, if the log supports this. If reading fails, this
   * process's own numbers are kept.
   */
  async load(): Promise<void> {
    try {
      await this.#log.load?.();
    } catch {
      // The catalogue is usable without the numbers.
    }
  }

  /** Returns true if this is the ledger's log. */
  countsIn(log: HealthLog | undefined): boolean {
    return log === this.#log;
  }

  recordTool(
    owner: string | null,
    { name }: ToolEntry,
    record: ExecutionRecord & { readonly abandoned?: boolean },
    at = this.#clock.now(),
    isCounted = false,
  ): void {
    this.reports += 1;
    const { success, latencyMs, provider = null } = record;
    const tool = ledgerName(owner, name);
    if (!isCounted) this.#log.record({ ...record, kind: 'tool', name: tool });
    this.#lastCalls.set(tool, Object.freeze({ provider, success, latencyMs, at }));
  }

  recordJob(owner: string | null, name: string, { success, latencyMs }: ExecutionRecord): void {
    this.reports += 1;
    this.#log.record({ kind: 'job', name: ledgerName(owner, name), success, latencyMs });
  }

  /**
   * Applies an executor's reports about a tool's calls and providers.
   *
   * @param counted True if the executor has already recorded the call in this ledger's log, under
   * the tool's name without a persona.
   */
  hear(owner: string | null, entry: ToolEntry, event: ToolEvent, counted: boolean): void {
    const isCounted = counted && ownerKey(owner) === '';
    if (event.type === 'call-settled') {
      const { attempts, status, durationMs: latencyMs, provider, abandoned, at } = event;
      const success = status !== 'error';
      const more = { ...(provider !== undefined && { provider }), ...(abandoned && { abandoned }) };
      // Without attempts, the call was refused or answered from the cache.
      if (attempts > 0)
        this.recordTool(owner, entry, { success, latencyMs, ...more }, at, isCounted);
      return;
    }
    if (!('provider' in event)) return;
    const { at } = event;
    const recorded = providersOf(owner, entry).find(({ label }) => label === event.provider);
    if (recorded === undefined) return;
    const { name } = recorded;
    this.reports += 1;
    const tell = (facts: RouterFacts) =>
      void this.#routers.set(name, { ...this.#routers.get(name), ...facts });
    if (event.type === 'provider-attempt') {
      const { kind, success, latencyMs } = event;
      if (kind === 'check') tell({ lastCheck: at });
      else if (success) tell({ ejected: undefined, inOrderAt: at });
      // A probe only tests a provider, so its outcome would distort the call statistics.
      if (!isCounted && kind === 'call')
        this.#log.record({ kind: 'provider', name, success, latencyMs });
    } else if (event.type === 'provider-ejected')
      tell({ ejected: { failures: event.failures, until: at + event.backoffMs } });
    else if (event.type === 'provider-recovered') tell({ ejected: undefined, inOrderAt: at });
  }

  tool(owner: string | null, entry: ToolEntry): ToolHealth {
    const tool = ledgerName(owner, entry.name);
    return Object.freeze({
      tool: this.#log.summary('tool', tool),
      providers: byLabel(owner, entry, ({ name, router }) => this.#provider(name, router)),
      lastInvocation: this.#lastInvocation(tool),
      lastSuccessProvider: this.#log.lastProvider(tool),
    });
  }

  /**
   * Returns the last call in any process. If another process made that call and it failed, the
   * call's provider isn't known.
   */
  #lastInvocation(tool: string): ToolHealth['lastInvocation'] {
    const own = this.#lastCalls.get(tool) ?? null;
    const call = this.#log.lastCall('tool', tool);
    if (call === null || (own !== null && own.at >= call.at)) return own;
    const { success, latencyMs, at } = call;
    const provider = success ? this.#log.lastProvider(tool) : null;
    return Object.freeze({ provider, success, latencyMs, at });
  }

  #provider(name: string, router: string): ProviderHealth {
    const { ejected, inOrderAt = null, lastCheck = null } = this.#routers.get(name) ?? {};
    const samples = this.#log.samples('provider', name);
    const backoff = this.#log.backoff?.(router);
    const lastOf = (wanted: boolean) =>
      samples.findLast(({ success }) => success === wanted)?.at ?? null;
    const until = Math.max(ejected?.until ?? 0, backoff?.until ?? 0);
    const lastInOrder = samples.findLastIndex(
      ({ success, at }) => success || at <= (inOrderAt ?? -Infinity),
    );
    return Object.freeze({
      metrics: this.#log.summary('provider', name),
      lifetime: this.#log.lifetime('provider', name),
      lastCall: samples.at(-1) ?? null,
      consecutiveFailures: Math.max(
        samples.length - 1 - lastInOrder,
        ejected?.failures ?? 0,
        backoff?.failures ?? 0,
      ),
      lastSuccess: lastOf(true) ?? inOrderAt,
      lastFailure: lastOf(false),
      lastCheck,
      backoffUntil: until > this.#clock.now() ? until : null,
    });
  }

  /** Returns the recent calls of a tool and of each of its providers, oldest first. */
  samples(owner: string | null, entry: ToolEntry) {
    return Object.freeze({
      tool: this.#log.samples('tool', ledgerName(owner, entry.name)),
      providers: byLabel(owner, entry, ({ name }) => this.#log.samples('provider', name)),
    });
  }

  /** Returns the success rate of a tool's or job's recent calls, or `null` if there are none. */
  rateOf(item: { readonly owner: string | null; readonly name: string }): number | null {
    const kind = 'entry' in item ? 'tool' : 'job';
    return this.#log.summary(kind, ledgerName(item.owner, item.name)).successRate;
  }

  job(owner: string | null, name: string): HealthSummary {
    return this.#log.summary('job', ledgerName(owner, name));
  }

  lastRun(owner: string | null, name: string): Sample | null {
    return this.#log.lastCall('job', ledgerName(owner, name));
  }
}

function ledgerName(owner: string | null, name: string): string {
  const key = ownerKey(owner);
  return key === '' ? name : `${name}@${key}`;
}

/** A cache of the labels and identities of each entry's providers, because digests take time. */
const labels = new WeakMap<ToolEntry, readonly (readonly [label: string, identity: string])[]>();

/** Returns the names that routers use for a tool's providers. Equal names are merged. */
function labelsOf(entry: ToolEntry) {
  const cached = labels.get(entry);
  if (cached !== undefined) return cached;
  const ordered = entry.providers.toSorted((a, b) => (a.priority ?? 100) - (b.priority ?? 100));
  const identities = new Map<string, string>();
  for (const spec of ordered) identities.set(identityOf(spec), spec.name);
  const names = [...identities.values()];
  const isShared = (name: string) => names.indexOf(name) !== names.lastIndexOf(name);
  const made = [...identities].map(
    ([identity, name]) => [isShared(name) ? identity : name, identity] as const,
  );
  labels.set(entry, made);
  return made;
}

/**
 * A provider and the names under which it's recorded: `name` in this ledger, and `router` in
 * routers, which don't know owners.
 */
interface RecordedProvider {
  readonly label: string;
  readonly name: string;
  readonly router: string;
}

function providersOf(owner: string | null, entry: ToolEntry): readonly RecordedProvider[] {
  return labelsOf(entry).map(([label, identity]) => ({
    label,
    name: providerHealthName(ledgerName(owner, entry.name), identity),
    router: providerHealthName(entry.name, identity),
  }));
}

function byLabel<T>(
  owner: string | null,
  entry: ToolEntry,
  valueOf: (provider: RecordedProvider) => T,
): Readonly<Record<string, T>> {
  return Object.freeze(
    Object.fromEntries(providersOf(owner, entry).map((each) => [each.label, valueOf(each)])),
  );
}
