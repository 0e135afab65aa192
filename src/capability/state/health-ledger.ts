import type { Clock } from '../../core/clock.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { HealthLog, HealthSummary, Sample } from '../../providers/rolling-health.js';
import { identityOf, providerHealthName } from '../../providers/provider-slot.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { ownerKey } from '../manifest/persona.js';

/** A tool's health over its recent calls. Dates are in milliseconds since 1970. */
export interface ToolHealth {
  readonly tool: HealthSummary;
  /** The providers by name. If two share a name, part of the configuration's digest is appended. */
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
        /** End of its backoff. `null` if there is none. */
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

/** One finished call of a job or tool, as programs report it. */
export interface ExecutionRecord {
  readonly success: boolean;
  readonly latencyMs: number;
  /** The provider that answered a tool's call. */
  readonly provider?: string;
}

/**
 * A provider's events, in addition to its calls in the log. Dates are in milliseconds since 1970.
 */
interface RouterFacts {
  failures: number;
  /** Time of its last success or recovery. Earlier failures no longer count as being in a row. */
  inOrderAt: number | null;
  lastSuccess: number | null;
  lastFailure: number | null;
  lastCheck: number | null;
  backoffUntil: number | null;
}

/** A tool's events. */
interface ToolFacts {
  /** Increases with every change of the other fields. */
  version: number;
  lastInvocation: ToolHealth['lastInvocation'];
  readonly routers: Map<string, RouterFacts>;
}

/** The names under which a tool and its providers are recorded, with its health as last read. */
interface LedgerNames {
  readonly owner: string | null;
  readonly tool: string;
  /** The providers by label. `router` is the name that routers use. */
  readonly providers: readonly {
    readonly label: string;
    readonly name: string;
    readonly router: string;
  }[];
  /** The cached health. Valid while the stamp is the same, until a backoff ends. */
  last?: { readonly stamp: number; readonly until: number; readonly health: ToolHealth };
}

/**
 * Maximum names whose last call is remembered. The least recently called are dropped, because
 * programs may call any name.
 */
const MOST_TOOLS = 10_000;

/**
 * Records the health of each owner's tools and jobs.
 *
 * A health log keeps the numbers. Shared items are recorded under their name, and a persona's under
 * `name@persona`, so a persona's tool doesn't spoil the shared tool's record. Tool names contain no
 * `@`. The ledger combines what the log knows of other processes with the events of this process's
 * executors.
 */
export class HealthLedger {
  /** The number of reports received. Everything known about this process changes with it. */
  reports = 0;
  readonly #log: HealthLog;
  readonly #clock: Clock;
  readonly #facts = new Map<string, ToolFacts>();
  /** Names by entry. Cached because digests take time, and entries never change. */
  readonly #names = new WeakMap<ToolEntry, LedgerNames>();

  constructor(log: HealthLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * Reads what other processes recorded, if the log supports that. If it fails, this process's own
   * numbers remain.
   */
  async load(): Promise<void> {
    try {
      await this.#log.load?.();
    } catch {
      // The catalogue matters more than its numbers.
    }
  }

  /** Returns true for this ledger's log. */
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
    if (!isCounted) this.#log.record({ ...record, kind: 'tool', name: ledgerName(owner, name) });
    this.#factsOf(owner, name).lastInvocation = Object.freeze({ provider, success, latencyMs, at });
  }

  recordJob(owner: string | null, name: string, { success, latencyMs }: ExecutionRecord): void {
    this.reports += 1;
    this.#log.record({ kind: 'job', name: ledgerName(owner, name), success, latencyMs });
  }

  /**
   * Applies an executor's reports about a tool's calls and providers.
   *
   * @param counted True if the executor has already counted the call in this ledger's log, under
   * the tool's bare name.
   */
  hear(owner: string | null, entry: ToolEntry, event: ToolEvent, counted: boolean): void {
    this.reports += 1;
    const isCounted = counted && ownerKey(owner) === '';
    if (event.type === 'call-settled') {
      const { attempts, status, durationMs: latencyMs, provider, abandoned } = event;
      // Refused calls and cached answers say nothing about the tool.
      if (attempts > 0)
        this.recordTool(
          owner,
          entry,
          {
            success: status !== 'error',
            latencyMs,
            ...(provider !== undefined && { provider }),
            ...(abandoned && { abandoned }),
          },
          event.at,
          isCounted,
        );
      return;
    }
    if (!('provider' in event) || event.provider === undefined) return;
    const { provider, at } = event;
    const router = this.#router(owner, entry, provider);
    if (event.type === 'provider-attempt') {
      const { kind, success, latencyMs } = event;
      if (kind === 'check') router.lastCheck = at;
      else if (success) Object.assign(router, IN_ORDER, { lastSuccess: at, inOrderAt: at });
      else Object.assign(router, { lastFailure: at, failures: router.failures + 1 });
      const known = this.#namesOf(owner, entry).providers.find(({ label }) => label === provider);
      // A probe only tests a provider, so its outcome would spoil the call statistics.
      if (!isCounted && known !== undefined && kind === 'call')
        this.#log.record({ kind: 'provider', name: known.name, success, latencyMs });
    } else if (event.type === 'provider-ejected') {
      const { failures, backoffMs } = event;
      Object.assign(router, { failures, backoffUntil: backoffMs > 0 ? at + backoffMs : null });
    } else if (event.type === 'provider-recovered')
      Object.assign(router, IN_ORDER, { inOrderAt: at });
  }

  /** Returns a tool's health. It's the same object until something in it changes. */
  tool(owner: string | null, entry: ToolEntry): ToolHealth {
    const names = this.#namesOf(owner, entry);
    const facts = this.#facts.get(names.tool);
    const stamp = this.#stampOf(names, facts);
    if (names.last?.stamp === stamp && this.#clock.now() < names.last.until)
      return names.last.health;
    const providers = names.providers.map(
      ({ label, name, router }) =>
        [label, this.#provider(name, router, facts?.routers.get(label))] as const,
    );
    const health: ToolHealth = Object.freeze({
      tool: this.#log.summary('tool', names.tool),
      providers: Object.freeze(Object.fromEntries(providers)),
      lastInvocation: this.#lastInvocation(names.tool, facts?.lastInvocation ?? null),
      lastSuccessProvider: this.#log.lastProvider(names.tool),
    });
    names.last = {
      stamp,
      until: Math.min(...providers.map(([, { backoffUntil }]) => backoffUntil ?? Infinity)),
      health,
    };
    return health;
  }

  /** Returns a number that changes with every call and every router event. */
  #stampOf({ tool, providers }: LedgerNames, facts: ToolFacts | undefined): number {
    let stamp = (facts?.version ?? 0) + this.#log.lifetime('tool', tool).total;
    for (const { name, router } of providers) {
      const backoff = this.#log.backoff?.(router);
      stamp +=
        this.#log.lifetime('provider', name).total +
        (backoff?.failures ?? 0) +
        (backoff?.until ?? 0);
    }
    return stamp;
  }

  /** Returns the last call in any process. No log says which provider failed in other processes. */
  #lastInvocation(tool: string, own: ToolHealth['lastInvocation']): ToolHealth['lastInvocation'] {
    const call = this.#log.lastCall('tool', tool);
    if (call === null || (own !== null && own.at >= call.at)) return own;
    const { success, latencyMs, at } = call;
    return Object.freeze({
      provider: success ? this.#log.lastProvider(tool) : null,
      success,
      latencyMs,
      at,
    });
  }

  #provider(name: string, router: string, facts: RouterFacts = newRouter()): ProviderHealth {
    const samples = this.#log.samples('provider', name);
    const backoff = this.#log.backoff?.(router) ?? null;
    const lastSuccess = latest(facts.lastSuccess, samples.findLast(({ success }) => success)?.at);
    const lastFailure = latest(facts.lastFailure, samples.findLast(({ success }) => !success)?.at);
    const until = latest(facts.backoffUntil, backoff?.until);
    const inARow =
      samples.length -
      1 -
      samples.findLastIndex(({ success, at }) => success || at <= (facts.inOrderAt ?? -Infinity));
    const own =
      lastSuccess !== null && lastSuccess > (facts.lastFailure ?? Infinity) ? 0 : facts.failures;
    return Object.freeze({
      metrics: this.#log.summary('provider', name),
      lifetime: this.#log.lifetime('provider', name),
      lastCall: samples.at(-1) ?? null,
      consecutiveFailures: Math.max(own, inARow, backoff?.failures ?? 0),
      lastSuccess,
      lastFailure,
      lastCheck: facts.lastCheck,
      backoffUntil: until !== null && until > this.#clock.now() ? until : null,
    });
  }

  /** Returns the recent calls of a tool and of each of its providers, oldest first. */
  samples(owner: string | null, entry: ToolEntry) {
    const { tool, providers } = this.#namesOf(owner, entry);
    return Object.freeze({
      tool: this.#log.samples('tool', tool),
      providers: Object.freeze(
        Object.fromEntries(
          providers.map(({ label, name }) => [label, this.#log.samples('provider', name)]),
        ),
      ),
    });
  }

  /** Returns the share of a tool's recent calls that succeeded, or `null` without calls. */
  toolRate(owner: string | null, name: string): number | null {
    return this.#log.summary('tool', ledgerName(owner, name)).successRate;
  }

  job(owner: string | null, name: string): HealthSummary {
    return this.#log.summary('job', ledgerName(owner, name));
  }

  lastRun(owner: string | null, name: string): Sample | null {
    return this.#log.lastCall('job', ledgerName(owner, name));
  }

  #namesOf(owner: string | null, entry: ToolEntry): LedgerNames {
    const before = this.#names.get(entry);
    if (before?.owner === owner) return before;
    const tool = ledgerName(owner, entry.name);
    // Routers don't know owners, so shared items are recorded under the bare name.
    const providers = providerLabels(entry).map(([label, identity]) => ({
      label,
      name: providerHealthName(tool, identity),
      router: providerHealthName(entry.name, identity),
    }));
    const names: LedgerNames = { owner, tool, providers };
    this.#names.set(entry, names);
    return names;
  }

  #router(owner: string | null, { name }: ToolEntry, label: string): RouterFacts {
    const { routers } = this.#factsOf(owner, name);
    const router = routers.get(label) ?? newRouter();
    routers.set(label, router);
    return router;
  }

  /** Returns a tool's mutable facts. */
  #factsOf(owner: string | null, name: string): ToolFacts {
    const key = ledgerName(owner, name);
    const facts = this.#facts.get(key) ?? { version: 0, lastInvocation: null, routers: new Map() };
    facts.version += 1;
    this.#facts.delete(key);
    this.#facts.set(key, facts);
    if (this.#facts.size > MOST_TOOLS) this.#facts.delete(this.#facts.keys().next().value!);
    return facts;
  }
}

function ledgerName(owner: string | null, name: string): string {
  const key = ownerKey(owner);
  return key === '' ? name : `${name}@${key}`;
}

const IN_ORDER = { failures: 0, backoffUntil: null };

function newRouter(): RouterFacts {
  return { ...IN_ORDER, inOrderAt: null, lastSuccess: null, lastFailure: null, lastCheck: null };
}

function latest(one: number | null, other: number | null | undefined): number | null {
  return other === null || other === undefined ? one : Math.max(one ?? other, other);
}

/**
 * Returns the names and identities that routers use for a tool's providers. Equal ones are merged.
 */
function providerLabels({
  providers,
}: ToolEntry): readonly (readonly [label: string, identity: string])[] {
  const identities = new Map(
    [...providers]
      .sort((a, b) => (a.priority ?? 100) - (b.priority ?? 100))
      .map((spec) => [identityOf(spec), spec.name]),
  );
  const count = (name: string) => [...identities.values()].filter((each) => each === name).length;
  return [...identities].map(([identity, name]) => [count(name) > 1 ? identity : name, identity]);
}
