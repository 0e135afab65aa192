import type { Clock } from '../../core/clock.js';
import type { ToolEvent } from '../../core/tool-event.js';
import type { HealthLog, HealthSummary, Sample } from '../../providers/rolling-health.js';
import { identityOf, providerHealthName } from '../../providers/provider-slot.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { ownerKey } from '../manifest/persona.js';

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
  readonly lifetime: ReturnType<HealthLog['lifetime']>;
  readonly lastCall: Sample | null;
  /** The number of failures in a row. */
  readonly consecutiveFailures: number;
  readonly lastSuccess: number | null;
  readonly lastFailure: number | null;
  readonly lastCheck: number | null;
  /** The end of its backoff; `null` if it has none. */
  readonly backoffUntil: number | null;
}

/** The health of a tool over its last calls. */
export interface ToolHealth {
  readonly tool: HealthSummary;
  /** The providers by name, followed by a part of the configuration's digest if two share a name. */
  readonly providers: Readonly<Record<string, ProviderHealth>>;
  readonly lastInvocation: Invocation | null;
  /** The provider that answered the last successful call. */
  readonly lastSuccessProvider: string | null;
}

/** The calls behind a tool's health. */
export interface ToolSamples {
  readonly tool: readonly Sample[];
  /** The calls of each provider, by the names of `ToolHealth`. */
  readonly providers: Readonly<Record<string, readonly Sample[]>>;
}

/** The reports of events about a provider, beside its calls in the log; dates in milliseconds since 1970. */
interface RouterFacts {
  failures: number;
  /** The moment of its last success: failures before it are no longer in a row. */
  inOrderAt: number | null;
  lastSuccess: number | null;
  lastFailure: number | null;
  lastCheck: number | null;
  backoffUntil: number | null;
}

interface ToolFacts {
  /** A number that rises with every change of the fields below. */
  version: number;
  lastInvocation: Invocation | null;
  readonly routers: Map<string, RouterFacts>;
}

/** The names whose last call is remembered; the least recently called give way, since programs may call any name. */
const MOST_TOOLS = 10_000;

/** One call of a tool, as it is recorded. */
export interface ToolCallRecord {
  readonly success: boolean;
  readonly latencyMs: number;
  readonly provider?: string;
  readonly abandoned?: boolean;
}

/**
 * Keeps the health of the tools and jobs of each owner.
 *
 * Numbers are kept in a health log, where what is shared goes by its name and what a persona owns by `name@persona`, so
 * that a persona's own tool does not spoil the record of the shared one. Names of tools hold no `@`. What the log knows
 * of other processes is joined with what the executors of this one tell.
 */
export class HealthLedger {
  readonly #log: HealthLog;
  readonly #clock: Clock;
  readonly #facts = new Map<string, ToolFacts>();
  /** Names by entry: digests take time, and entries never change. */
  readonly #names = new WeakMap<ToolEntry, LedgerNames>();
  readonly #held = new WeakMap<LedgerNames, Held>();

  constructor(log: HealthLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Reads what other processes recorded, if the log knows of others; one that fails leaves what this process measures. */
  async load(): Promise<void> {
    try {
      await this.#log.load?.();
    } catch {
      // The catalogue is worth more than the numbers beside it.
    }
  }

  /** Returns true for the log in which this ledger counts. */
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
   * Takes over what an executor reports of a tool's calls and providers.
   *
   * @param counted says that the executor itself has counted the call under the tool's bare name in the log of this
   * ledger.
   */
  hear(owner: string | null, entry: ToolEntry, event: ToolEvent, counted: boolean): void {
    const record = !counted || ownerKey(owner) !== '';
    switch (event.type) {
      case 'call-settled':
        // Refused calls, and answers out of the cache, say nothing about the tool.
        if (event.attempts === 0) return;
        this.#settled(owner, entry, event, record);
        return;
      case 'provider-attempt':
        this.#attempted(owner, entry, event, record);
        return;
      case 'provider-ejected':
        Object.assign(this.#router(owner, entry.name, event.provider), { failures: event.failures, backoffUntil: event.backoffMs > 0 ? event.at + event.backoffMs : null });
        return;
      case 'provider-recovered':
        Object.assign(this.#router(owner, entry.name, event.provider), { failures: 0, inOrderAt: event.at, backoffUntil: null });
        return;
      default:
        return;
    }
  }

  /** Returns a tool's health: the same object until something in it changes. */
  tool(owner: string | null, entry: ToolEntry): ToolHealth {
    const names = this.#namesOf(owner, entry);
    const facts = this.#facts.get(names.tool);
    const stamp = this.#stampOf(names, facts);
    const held = this.#held.get(names);
    if (held?.stamp === stamp && this.#clock.now() < held.until) return held.health;
    const health: ToolHealth = Object.freeze({
      tool: this.#log.summary('tool', names.tool),
      providers: Object.freeze(Object.fromEntries(names.providers.map((provider) => [provider.label, this.#provider(provider, facts?.routers.get(provider.label))]))),
      lastInvocation: this.#lastInvocation(names.tool, facts?.lastInvocation ?? null),
      lastSuccessProvider: this.#log.lastProvider(names.tool),
    });
    const until = Math.min(Infinity, ...Object.values(health.providers).map(({ backoffUntil }) => backoffUntil ?? Infinity));
    this.#held.set(names, { stamp, until, health });
    return health;
  }

  /** Returns a number that changes with every call and every change of a router. */
  #stampOf({ tool, providers }: LedgerNames, facts: ToolFacts | undefined): number {
    let stamp = (facts?.version ?? 0) + this.#log.lifetime('tool', tool).total;
    for (const { name, router } of providers) {
      const backoff = this.#log.backoff?.(router);
      stamp += this.#log.lifetime('provider', name).total + (backoff?.failures ?? 0) + (backoff?.until ?? 0);
    }
    return stamp;
  }

  /** Returns the last call of any process; no log says which provider failed in other processes. */
  #lastInvocation(tool: string, own: Invocation | null): Invocation | null {
    const call = this.#log.lastCall('tool', tool);
    if (call === null || (own !== null && own.at >= call.at)) return own;
    const { success, latencyMs, at } = call;
    return Object.freeze({ provider: success ? this.#log.lastProvider(tool) : null, success, latencyMs, at });
  }

  #provider({ name, router }: LedgerProvider, facts: RouterFacts = newRouter()): ProviderHealth {
    const samples = this.#log.samples('provider', name);
    const backoff = this.#log.backoff?.(router) ?? null;
    const lastSuccess = latest(facts.lastSuccess, samples.findLast(({ success }) => success)?.at);
    const lastFailure = latest(facts.lastFailure, samples.findLast(({ success }) => !success)?.at);
    const until = latest(facts.backoffUntil, backoff?.until);
    const inARow = samples.length - 1 - samples.findLastIndex(({ success, at }) => success || at <= (facts.inOrderAt ?? -Infinity));
    const own = lastSuccess !== null && lastSuccess > (facts.lastFailure ?? Infinity) ? 0 : facts.failures;
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

  /** Returns the last calls of a tool and of each of its providers, the oldest first. */
  samples(owner: string | null, entry: ToolEntry): ToolSamples {
    const { tool, providers } = this.#namesOf(owner, entry);
    return Object.freeze({ tool: this.#log.samples('tool', tool), providers: Object.freeze(Object.fromEntries(providers.map(({ label, name }) => [label, this.#log.samples('provider', name)]))) });
  }

  /** Returns the share of a tool's last calls that succeeded; `null` without calls. */
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
    if (event.success) Object.assign(router, { lastSuccess: event.at, inOrderAt: event.at, failures: 0, backoffUntil: null });
    else Object.assign(router, { lastFailure: event.at, failures: router.failures + 1 });
    const provider = this.#namesOf(owner, entry).providers.find(({ label }) => label === event.provider);
    // A probe tries a provider out; its outcome would spoil the rate of the calls.
    if (record && provider !== undefined && event.kind === 'call') this.#log.record({ kind: 'provider', name: provider.name, success: event.success, latencyMs: event.latencyMs });
  }

  #namesOf(owner: string | null, entry: ToolEntry): LedgerNames {
    const before = this.#names.get(entry);
    if (before?.owner === owner) return before;
    const tool = ledgerName(owner, entry.name);
    // Routers know nothing of owners: shared items go by the bare name.
    const providers = providerLabels(entry).map(([label, identity]) => ({ label, name: providerHealthName(tool, identity), router: providerHealthName(entry.name, identity) }));
    const names: LedgerNames = { owner, tool, providers };
    this.#names.set(entry, names);
    return names;
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

/** The names under which a tool is kept. */
interface LedgerNames {
  readonly owner: string | null;
  readonly tool: string;
  readonly providers: readonly LedgerProvider[];
}

interface LedgerProvider {
  readonly label: string;
  readonly name: string;
  /** The name that routers use. */
  readonly router: string;
}

/** A tool's health as it was read last. */
interface Held {
  readonly stamp: number;
  /** The end of a backoff, and with it of this reading. */
  readonly until: number;
  readonly health: ToolHealth;
}

function ledgerName(owner: string | null, name: string): string {
  const key = ownerKey(owner);
  return key === '' ? name : `${name}@${key}`;
}

function newRouter(): RouterFacts {
  return { failures: 0, inOrderAt: null, lastSuccess: null, lastFailure: null, lastCheck: null, backoffUntil: null };
}

function latest(one: number | null, other: number | null | undefined): number | null {
  return other === null || other === undefined ? one : Math.max(one ?? other, other);
}

/** Returns the names that routers use for the providers of a tool, and their identities. Equal ones are one. */
function providerLabels({ providers }: ToolEntry): readonly (readonly [label: string, identity: string])[] {
  const identities = new Map([...providers].sort((a, b) => (a.priority ?? 100) - (b.priority ?? 100)).map((spec) => [identityOf(spec), spec.name]));
  const count = (name: string) => [...identities.values()].filter((each) => each === name).length;
  return [...identities].map(([identity, name]) => [count(name) > 1 ? identity : name, identity]);
}
