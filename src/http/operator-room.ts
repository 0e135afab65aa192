import type { CapabilityRegistry } from '../capability/capability-registry.js';
import type { Clock } from '../core/clock.js';
import { randomUUID } from '../core/crypto.js';
import { digestOf } from '../core/plain-data.js';
import { readCallLog, type RecordedCall } from '../execution/call-log.js';
import { readCallSeries, type SeriesRecord } from '../execution/call-series.js';
import type { Role } from '../host/request-guard.js';
import type { OperatorAction, Pending, ToolOutcome } from '../safety/calls.js';
import { grantChoices } from '../safety/grants.js';
import { OperatorDesk } from '../safety/operator-desk.js';
import { readOutcome } from '../safety/read-outcome.js';
import { readTimeline } from '../safety/timeline.js';
import { countBy } from './facets.js';
import { MOST_COUNTED } from './values-on.js';
import type { Findings } from './findings.js';
import type { OperatorSettings } from './operator-options.js';
import { CallTotals, metricsOf } from './metrics.js';
import { DAY_MS, HOUR_MS, overviewOf } from './overview.js';

/** Maximum number of changes to tools that are remembered. */
const MOST_CHANGES = 100;

/** A change to a tool since the server started. */
interface ToolChange {
  readonly name: string;
  readonly persona: string | null;
  readonly change: string;
  readonly at: number;
}

/** What a token allows beside viewing. */
export type Allowed = Readonly<Record<'approve' | 'run', boolean>>;

/** The response of `/overview`. */
export type Overview = Awaited<ReturnType<OperatorRoom['overview']>> & {
  readonly allowed: Allowed;
};

/** The response of `/run`. */
export interface Tried {
  readonly outcome: ToolOutcome;
  readonly model_reads: string;
}

/**
 * The work of operators: reading and answering waiting calls, reading past calls, managing grants, and
 * trying tools.
 */
export class OperatorRoom {
  /** Answers waiting calls. `undefined` if the server doesn't know the approval key. */
  readonly desk: OperatorDesk | undefined;
  readonly #settings: OperatorSettings;
  readonly #capabilities: CapabilityRegistry;
  readonly #findings: Findings;
  readonly #clock: Clock;
  readonly #changed: ToolChange[] = [];
  readonly #totals = new CallTotals();

  constructor(
    settings: OperatorSettings,
    capabilities: CapabilityRegistry,
    findings: Findings,
    clock: Clock,
  ) {
    const { store, approvalKey, onAction } = settings;
    this.desk = approvalKey && new OperatorDesk(store, approvalKey, onAction);
    this.#settings = settings;
    this.#capabilities = capabilities;
    this.#findings = findings;
    this.#clock = clock;
    capabilities.onChange((change) => this.#noteChange(change));
  }

  /** True if this server lets operators do this. */
  canDo(role: Role): boolean {
    const { allowApprove, executor } = this.#settings;
    if (role === 'approve') return this.desk !== undefined && allowApprove;
    return role === 'view' || executor !== undefined;
  }

  /** Returns the oldest waiting calls whose fields contain these texts, or the call with an id. */
  async pending({ id, after, limit, ...parts }: PendingQuery) {
    const isFiltered = Object.values(parts).some((part) => part !== undefined);
    const asked =
      id === undefined
        ? await this.desk?.waiting({ after, limit: isFiltered ? Infinity : limit })
        : [await this.desk?.get(id)];
    const found: Pending[] = [];
    for (const call of asked ?? [])
      if (call !== undefined && found.length < limit && containsAll(call, parts)) found.push(call);
    const next = found.length < limit ? null : found.at(-1)!.id;
    return { next, pending: found.map((each) => this.#shown(each)) };
  }

  async grants() {
    const grants = (await this.desk?.grants()) ?? [];
    return {
      grants: grants.map(({ signature: _, storeIdentity: __, ...grant }) => snakeCase(grant)),
    };
  }

  async actions() {
    return { actions: ((await this.desk?.actions()) ?? []).map(snakeCase) };
  }

  /** Returns the recent calls with this status whose other fields contain these texts. */
  async calls({ status, ...parts }: Partial<RecordedCall>) {
    const calls = (await readCallLog(this.#settings.store)).filter(
      (call) =>
        (status === undefined || call.status === status) && containsAll(call, parts as Parts),
    );
    return { total: calls.length, calls: calls.map(snakeCase) };
  }

  /** Returns what happened in a conversation: its calls and the answers to them, oldest first. */
  async timeline(conversation: string) {
    const { store } = this.#settings;
    const items = await readTimeline<RecordedCall | OperatorAction>(store, conversation);
    return { timeline: items.map(snakeCase) };
  }

  async overview() {
    const now = this.#clock.now();
    return {
      waiting: await this.#waiting(),
      ...overviewOf(await this.#series(now), now),
      findings: countBy(this.#findings(), ({ finding }) => [finding.severity]),
      changed_today: this.#changed.filter(({ at }) => now - at < DAY_MS),
    };
  }

  /**
   * Runs a tool in the operator's name. A call that had to wait runs, once, when it's tried again
   * with its id.
   */
  async run(
    {
      name,
      input = {},
      id = `try-${randomUUID()}`,
    }: { name: string; input?: unknown; id?: string },
    principal: string,
  ): Promise<Tried> {
    const { executor, context } = this.#settings;
    const options = { principal, conversationId: id, context };
    const outcome = await executor!.execute({ id, name, input }, options);
    const { text } = readOutcome(outcome);
    if (!('pending' in outcome)) return { outcome, model_reads: text };
    const pending = { ...outcome.pending, storeIdentity: undefined } as never;
    return { outcome: { ...outcome, pending }, model_reads: text };
  }

  async metrics(): Promise<string> {
    this.#totals.add(await this.#series(this.#clock.now()));
    return metricsOf(this.#capabilities, this.desk && (await this.#waiting()), this.#totals);
  }

  /** Returns the counts of the last hour. */
  #series(now: number): Promise<readonly SeriesRecord[]> {
    return readCallSeries(this.#settings.store, now - HOUR_MS, now);
  }

  async #waiting(): Promise<number> {
    return (await this.desk?.waiting({ limit: MOST_COUNTED }))?.length ?? 0;
  }

  #shown(pending: Pending) {
    const [tool] = this.#capabilities.tools({ filter: { name: pending.toolName } });
    const isApproval = tool !== undefined && pending.kind === 'approval';
    const { storeIdentity: _, ...shown } = { storeIdentity: '', ...pending };
    return {
      ...snakeCase(shown),
      digest: digestOf(pending),
      grant_choices: isApproval ? grantChoices(tool.entry, pending) : [],
    };
  }

  #noteChange({ added, edited, removed }: CatalogueChange): void {
    for (const [change, items] of Object.entries({ added, edited, removed }))
      for (const { kind, name, owner } of items)
        if (kind === 'tool')
          this.#changed.unshift({ name, persona: owner, change, at: this.#clock.now() });
    this.#changed.length = Math.min(this.#changed.length, MOST_CHANGES);
  }
}

/** Parts of a call's names, in upper or lower case. */
export type Parts = Readonly<
  Partial<Record<'toolName' | 'principal' | 'conversationId', string | undefined>>
>;

interface PendingQuery extends Parts {
  readonly id?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Returns true if a call's names contain all parts. Everything contains an empty part. */
function containsAll(call: Parts, parts: Parts): boolean {
  return Object.entries(parts).every(([field, part = '']) =>
    (call[field as keyof Parts] ?? '').toLowerCase().includes(part.toLowerCase()),
  );
}

type CatalogueChange = Parameters<Parameters<CapabilityRegistry['onChange']>[0]>[0];

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** An object with keys in snake_case, like all objects in the HTTP API. */
export type Wire<T> = { readonly [Name in keyof T as SnakeCase<Name>]: T[Name] };

/** Returns an object with the keys in snake_case and the same values. */
function snakeCase<T extends object>(fields: T): Wire<T> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value as unknown,
    ]),
  ) as Wire<T>;
}
