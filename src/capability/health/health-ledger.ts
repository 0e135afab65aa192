import type { Clock } from '../../core/clock.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { HealthLog, HealthSummary, LifetimeCounts, Sample } from '../../providers/health/health-samples.js';
import { providerHealthName } from '../../providers/provider-router.js';
import { identityOf } from '../../providers/provider-slot.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { ownerKey } from '../query/persona-filter.js';

/** The last call of a tool; times in milliseconds since 1970. */
export interface Invocation {
  readonly provider: string | null;
  readonly success: boolean;
  readonly latencyMs: number;
  readonly at: number;
}

/** One provider of a tool, as calls and checks showed it. */
export interface ProviderHealth {
  readonly metrics: HealthSummary;
  readonly lifetime: LifetimeCounts;
  readonly lastCall: Sample | null;
  /** Failures in a row. */
  readonly consecutiveFailures: number;
  readonly lastSuccess: number | null;
  readonly lastFailure: number | null;
  readonly lastCheck: number | null;
  /** Until when it is left alone; `null` when it is not. */
  readonly backoffUntil: number | null;
}

/** How a tool fared lately. */
export interface ToolHealth {
  readonly tool: HealthSummary;
  /** By the provider's name, followed by a part of its configuration's digest where two share a name. */
  readonly providers: Readonly<Record<string, ProviderHealth>>;
  readonly lastInvocation: Invocation | null;
  /** The provider that answered the last successful call. */
  readonly lastSuccessProvider: string | null;
}

/** The calls that a tool's health is of. */
export interface ToolSamples {
  readonly tool: readonly Sample[];
  /** By the names of `ToolHealth`. */
  readonly providers: Readonly<Record<string, readonly Sample[]>>;
}

interface RouterFacts {
  consecutiveFailures: number;
  lastSuccess: number | null;
  lastFailure: number | null;
  lastCheck: number | null;
  backoffUntil: number | null;
}

interface ToolFacts {
  /** Rises with every change of what follows. */
  version: number;
  lastInvocation: Invocation | null;
  readonly routers: Map<string, RouterFacts>;
}

/** Names whose last call is remembered, the least recently called give way: programs call what they like. */
const MOST_TOOLS = 10_000;

/** One call of a tool, as it is recorded. */
export interface ToolCallRecord {
  readonly success: boolean;
  readonly latencyMs: number;
  readonly provider?: string;
  readonly abandoned?: boolean;
}

/**
 * Remembers how the tools and jobs of each owner fared.
 *
 * Numbers are kept in a health log, where what is shared goes by its name and what a persona owns by `name@persona`, so
 * that a persona's own tool does not spoil the record of the shared one. Names of tools hold no `@`.
 */
export class HealthLedger {
  readonly #log: HealthLog;
  readonly #clock: Clock;
  readonly #facts = new Map<string, ToolFacts>();
  /** Digests take time, and entries never change. */
  readonly #held = new WeakMap<ToolEntry, Held>();
  readonly #labels = new WeakMap<ToolEntry, readonly (readonly [string, string])[]>();

  constructor(log: HealthLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Whether a log is the one in which this ledger counts. */
  countsIn(log: HealthLog | undefined): boolean {
    return log === this.#log;
  }

  recordTool(owner: string | null, { name }: ToolEntry, record: ToolCallRecord): void {
    this.#log.record({ kind: 'tool', name: ledgerName(owner, name), ...record });
    this.#invoked(owner, name, record, this.#clock.now());
  }

  recordJob(owner: string | null, name: string, record: { readonly success: boolean; readonly latencyMs: number }): void {
    this.#log.record({ kind: 'job', name: ledgerName(owner, name), success: record.success, latencyMs: record.latencyMs });
  }

  /**
   * Takes over what an executor tells of a tool's calls and providers.
   *
   * @param counted whether the executor itself has counted the call under the tool's bare name in the log of this ledger.
   */
  hear(owner: string | null, entry: ToolEntry, event: ToolEvent, counted: boolean): void {
    const record = !counted || ownerKey(owner) !== '';
    switch (event.type) {
      case 'call-settled':
        // Refused calls, and answers out of the cache, say nothing of the tool.
        if (event.attempts === 0) return;
        this.#settled(owner, entry, event, record);
        return;
      case 'provider-attempt':
        this.#attempted(owner, entry, event, record);
        return;
      case 'provider-ejected':
        Object.assign(this.#router(owner, entry.name, event.provider), { consecutiveFailures: event.failures, backoffUntil: event.backoffMs > 0 ? event.at + event.backoffMs : null });
        return;
      case 'provider-recovered':
        Object.assign(this.#router(owner, entry.name, event.provider), { consecutiveFailures: 0, backoffUntil: null });
        return;
      default:
        return;
    }
  }

  /** A tool's health: the same object until something of it changes. */
  tool(owner: string | null, entry: ToolEntry): ToolHealth {
    const before = this.#held.get(entry);
    const names = before?.owner === owner ? before.names : namesOf(owner, entry, this.#labelsOf(entry));
    const facts = this.#facts.get(names.tool);
    const stamp = this.#stampOf(names, facts);
    if (before?.owner === owner && before.stamp === stamp && (before.until === Infinity || this.#clock.now() < before.until)) return before.health;
    const health = this.#read(names.tool, entry, facts);
    const backoffs = Object.values(health.providers).map(({ backoffUntil }) => backoffUntil ?? Infinity);
    this.#held.set(entry, { owner, names, stamp, until: Math.min(Infinity, ...backoffs), health });
    return health;
  }

  /** A count that rises with every call and every change of a router. */
  #stampOf({ tool, providers }: LedgerNames, facts: ToolFacts | undefined): number {
    let stamp = (facts?.version ?? 0) + this.#log.lifetime('tool', tool).total;
    for (const provider of providers) stamp += this.#log.lifetime('provider', provider).total;
    return stamp;
  }

  #read(key: string, entry: ToolEntry, facts: ToolFacts | undefined): ToolHealth {
    return Object.freeze({
      tool: this.#log.summary('tool', key),
      providers: Object.freeze(Object.fromEntries(this.#labelsOf(entry).map(([label, identity]) => [label, this.#provider(providerHealthName(key, identity), facts?.routers.get(label))]))),
      lastInvocation: facts?.lastInvocation ?? null,
      lastSuccessProvider: this.#log.lastProvider(key),
    });
  }

  /** The last calls of a tool and of each of its providers, the oldest first. */
  samples(owner: string | null, entry: ToolEntry): ToolSamples {
    const key = ledgerName(owner, entry.name);
    const providers = this.#labelsOf(entry).map(([label, identity]) => [label, this.#log.samples('provider', providerHealthName(key, identity))] as const);
    return Object.freeze({ tool: this.#log.samples('tool', key), providers: Object.freeze(Object.fromEntries(providers)) });
  }

  /** The share of a tool's last calls that succeeded; `null` without calls. */
  toolRate(owner: string | null, name: string): number | null {
    return this.#log.summary('tool', ledgerName(owner, name)).successRate;
  }

  job(owner: string | null, name: string): HealthSummary {
    return this.#log.summary('job', ledgerName(owner, name));
  }

  #settled(owner: string | null, entry: ToolEntry, event: Extract<ToolEvent, { type: 'call-settled' }>, record: boolean): void {
    const success = event.status !== 'error';
    const call: ToolCallRecord = { success, latencyMs: event.durationMs, ...(event.provider === undefined ? {} : { provider: event.provider }), ...(event.abandoned && { abandoned: true }) };
    if (record) this.#log.record({ kind: 'tool', name: ledgerName(owner, entry.name), ...call });
    this.#invoked(owner, entry.name, call, event.at);
  }

  #attempted(owner: string | null, entry: ToolEntry, event: Extract<ToolEvent, { type: 'provider-attempt' }>, record: boolean): void {
    const router = this.#router(owner, entry.name, event.provider);
    if (event.kind === 'check') {
      router.lastCheck = event.at;
      return;
    }
    if (event.success) Object.assign(router, { lastSuccess: event.at, consecutiveFailures: 0, backoffUntil: null });
    else Object.assign(router, { lastFailure: event.at, consecutiveFailures: router.consecutiveFailures + 1 });
    const identity = new Map(this.#labelsOf(entry)).get(event.provider);
    // A probe tries a provider out; its outcome would spoil the rate of the calls.
    if (record && identity !== undefined && event.kind === 'call') this.#log.record({ kind: 'provider', name: providerHealthName(ledgerName(owner, entry.name), identity), success: event.success, latencyMs: event.latencyMs });
  }

  #labelsOf(entry: ToolEntry): readonly (readonly [string, string])[] {
    let labels = this.#labels.get(entry);
    if (labels === undefined) this.#labels.set(entry, (labels = providerLabels(entry)));
    return labels;
  }

  #provider(name: string, router: RouterFacts | undefined): ProviderHealth {
    const { consecutiveFailures, lastSuccess, lastFailure, lastCheck, backoffUntil } = router ?? newRouter();
    return Object.freeze({
      metrics: this.#log.summary('provider', name),
      lifetime: this.#log.lifetime('provider', name),
      lastCall: this.#log.lastCall('provider', name),
      consecutiveFailures,
      lastSuccess,
      lastFailure,
      lastCheck,
      backoffUntil: backoffUntil !== null && backoffUntil > this.#clock.now() ? backoffUntil : null,
    });
  }

  #invoked(owner: string | null, name: string, { success, latencyMs, provider }: ToolCallRecord, at: number): void {
    this.#factsOf(owner, name).lastInvocation = Object.freeze({ provider: provider ?? null, success, latencyMs, at });
  }

  #router(owner: string | null, name: string, label: string): RouterFacts {
    const { routers } = this.#factsOf(owner, name);
    let router = routers.get(label);
    if (router === undefined) routers.set(label, (router = newRouter()));
    return router;
  }

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

interface LedgerNames {
  readonly tool: string;
  readonly providers: readonly string[];
}

/** A tool's health as it was read last. */
interface Held {
  readonly owner: string | null;
  readonly names: LedgerNames;
  readonly stamp: number;
  /** When a backoff ends, and with it what was read. */
  readonly until: number;
  readonly health: ToolHealth;
}

function namesOf(owner: string | null, { name }: ToolEntry, labels: readonly (readonly [string, string])[]): LedgerNames {
  const tool = ledgerName(owner, name);
  return { tool, providers: labels.map(([, identity]) => providerHealthName(tool, identity)) };
}

function ledgerName(owner: string | null, name: string): string {
  const key = ownerKey(owner);
  return key === '' ? name : `${name}@${key}`;
}

function newRouter(): RouterFacts {
  return { consecutiveFailures: 0, lastSuccess: null, lastFailure: null, lastCheck: null, backoffUntil: null };
}

/** How routers call the providers of a tool, and their identities. Equal ones are one. */
function providerLabels({ providers }: ToolEntry): readonly (readonly [label: string, identity: string])[] {
  const identities = new Map([...providers].sort((a, b) => (a.priority ?? 100) - (b.priority ?? 100)).map((spec) => [identityOf(spec), spec.name]));
  const count = (name: string) => [...identities.values()].filter((each) => each === name).length;
  return [...identities].map(([identity, name]) => [count(name) > 1 ? identity : name, identity]);
}
