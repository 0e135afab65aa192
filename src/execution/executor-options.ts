import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import type { Listeners } from '../core/listeners.js';
import {
  aFunction,
  anObject,
  checkOptions,
  clock,
  milliseconds,
  once,
  wholeBetween,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ProviderFactory } from '../providers/provider.js';
import type { RoutingOptions } from '../providers/router-options.js';
import type { HealthLog } from '../providers/rolling-health.js';
import type { ToolMetadataRegistry } from '../registry/tool-metadata-registry.js';
import type { CallContext, Confirm, Policy, ToolCall, ToolOutcome } from '../safety/calls.js';
import { approvalKey, type Approval } from '../safety/approvals.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Budget } from './budgets.js';

/** Observes calls from outside, for example a tracer. */
export interface Telemetry {
  /**
   * Must call `run` exactly once and resolve to its result. `entry` is missing if the tool is
   * unknown.
   */
  around(
    call: ToolCall,
    entry: ToolEntry | undefined,
    run: () => Promise<ToolOutcome>,
  ): Promise<ToolOutcome>;
}

/** Options of an executor. */
export interface ToolExecutorOptions {
  /** The tools that can be called. */
  readonly registry: ToolMetadataRegistry;
  /** The policy that decides about every call. @default new SafetyPolicy({ registry }) */
  readonly policy?: Policy;
  /**
   * Asks the user if the policy says `confirm`. Without it, such calls end as `approval_required`.
   */
  readonly confirm?: Confirm;
  /**
   * The key that signs approvals: at least 32 bytes, and the same in all processes that share a
   * store.
   * @default random
   */
  readonly approvalKey?: Uint8Array;
  /** Milliseconds after the question in which an approval may be given and used. @default
   * 600,000 (ten minutes)
   */
  readonly approvalTtlMs?: number;
  /** Limits on calls and cost. @default none */
  readonly budgets?: readonly Budget[];
  /**
   * The store that processes share: approvals, grants, budgets, labels, health.
   * @default this process's memory
   */
  readonly store?: StateStore;
  /**
   * Records the arguments of the last thousand calls in the store, shortened and with secrets
   * removed.
   * @default false
   */
  readonly recordArguments?: boolean;
  /** The services behind tools that name providers, by provider name. @default none */
  readonly providers?:
    Readonly<Record<string, ProviderFactory>> | ReadonlyMap<string, ProviderFactory>;
  /**
   * Options for calling providers: credentials, time limits, backoff.
   * @default the router's defaults
   */
  readonly routing?: RoutingOptions;
  /**
   * Records the health of tools and providers.
   * @default shared through `store` if there is one, otherwise kept in this process
   */
  readonly health?: HealthLog;
  /**
   * Milliseconds that a call may take if its tool declares no `timeoutMs`.
   * @default 30,000
   */
  readonly timeoutMs?: number;
  /**
   * Maximum number of times a tool's function is started for one call. Each provider is asked at most once.
   * @default 3
   */
  readonly maxAttempts?: number;
  /** Maximum number of calls running at the same time. @default 16 */
  readonly maxConcurrent?: number;
  /**
   * Maximum number of calls of one tool running at the same time. Tools with `allowParallel: false`
   * always run one at a time.
   * @default same as `maxConcurrent`
   */
  readonly maxConcurrentPerTool?: number;
  /** Maximum number of times a conversation may repeat a call without progress. @default 4 */
  readonly maxRepeats?: number;
  /**
   * Maximum number of cached answers; 0 turns the cache off. Only tools with `cacheTtlMs` are
   * cached.
   * @default 1,000
   */
  readonly cacheEntries?: number;
  /** Maximum total size of cached answers, in characters of JSON. @default 16,777,216 (16 Mi) */
  readonly cacheSize?: number;
  /**
   * The part of a thrown error that the outcome shows: nothing, the message without credentials, paths
   * and host names, or the full message. Errors that a tool reports with `fail` are always shown.
   * @default 'public'
   */
  readonly exposeErrors?: 'none' | 'public' | 'full';
  /**
   * Maximum bytes of a result that a model reads, if the tool doesn't say. A longer result is
   * shortened to its beginning, its end and its size.
   * @default 65,536 (64 KiB)
   */
  readonly maxResultBytes?: number;
  /** Wraps calls in spans and counts them. See `openTelemetry`. @default none */
  readonly telemetry?: Telemetry;
  /** The clock. @default the system's */
  readonly clock?: Clock;
  /** Returns a number from 0 up to 1, used to randomize pauses. @default Math.random */
  readonly random?: () => number;
  /** The environment that the policy and providers read. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Options of a call that is only judged: the caller, and a signal that aborts the call. */
export interface JudgeOptions extends Omit<CallContext, 'flow'> {
  /** A second policy for this call. The stricter decision wins. @default none */
  readonly policy?: Policy;
  /** Aborts the call. @default none */
  readonly signal?: AbortSignal;
  /**
   * Passed to the tool as `context.context`: facts that the program knows and the model doesn't.
   * Plain data is copied and frozen; any other object is passed on as it is.
   * @default none
   */
  readonly context?: unknown;
}

/** Options of one call. */
export interface ExecuteOptions extends JudgeOptions {
  /** The user's approval of exactly this call. @default none */
  readonly approval?: Approval;
  /**
   * Asks the user in place of the executor's own `confirm`. If this function returns `later`, the
   * executor's is asked.
   * @default the executor's
   */
  readonly confirm?: Confirm;
  /**
   * A key for writing tools: the same key means the same effect.
   * @default derived from conversation, call and arguments
   */
  readonly idempotencyKey?: string;
  /**
   * Runs right before the tool starts. At that point only one thing can still stop the call:
   * another process using up its approval at the same moment. If `onStart` throws, the tool isn't
   * started, and the approval stays valid. Not called for cached answers or for calls that a user
   * answers.
   * @default none
   */
  readonly onStart?: (call: ToolCall) => void | Promise<void>;
}

/** Options for several calls. */
export interface ExecuteAllOptions extends Omit<ExecuteOptions, 'approval' | 'idempotencyKey'> {
  /** Approvals for some of the calls, matched by `callId`. @default none */
  readonly approvals?: readonly Approval[];
  /**
   * Receives each outcome as soon as it's available. Later calls wait for the promise it returns.
   * It must not throw.
   * @default none
   */
  readonly onOutcome?: (outcome: ToolOutcome) => void | Promise<void>;
}

const count = () => wholeBetween(1);
const notNegative = () => z.number().min(0).optional();

const schema = once(() =>
  z.strictObject({
    registry: withMethods<ToolMetadataRegistry>('a ToolMetadataRegistry', 'get'),
    policy: withMethods<Policy>('a policy with a decide method', 'decide').optional(),
    confirm: aFunction<Confirm>().optional(),
    approvalKey: approvalKey().optional(),
    approvalTtlMs: milliseconds().default(600_000),
    budgets: z
      .array(
        z
          .strictObject({
            per: z.enum(['principal', 'conversation']),
            calls: notNegative(),
            cost: notNegative(),
            windowMs: milliseconds().optional(),
          })
          .refine((budget) => budget.calls !== undefined || budget.cost !== undefined, {
            error: 'calls or cost',
            params: { advice: 'A budget without either limits nothing.' },
          }),
      )
      .default([]),
    store: withMethods<StateStore>(
      'a StateStore',
      'get',
      'compareAndSet',
      'increment',
      'now',
      'onAvailability',
    ).optional(),
    recordArguments: z.boolean().default(false),
    providers: anObject<NonNullable<ToolExecutorOptions['providers']>>('provider factories by name')
      .refine(
        (providers) =>
          [...(providers instanceof Map ? providers.values() : Object.values(providers))].every(
            (factory) => typeof factory === 'function',
          ),
        'a function that makes a provider for every name',
      )
      .optional(),
    routing: anObject<RoutingOptions>('options of routing').optional(),
    health: anObject<HealthLog>('a RollingHealth or PublishedHealth').optional(),
    timeoutMs: milliseconds().default(30_000),
    maxAttempts: wholeBetween(1, 10).default(3),
    maxConcurrent: count().default(16),
    maxConcurrentPerTool: count().optional(),
    maxRepeats: count().default(4),
    cacheEntries: wholeBetween(0).default(1_000),
    cacheSize: wholeBetween(0).default(16 * 2 ** 20),
    exposeErrors: z.enum(['none', 'public', 'full']).default('public'),
    maxResultBytes: wholeBetween(1_024).optional(),
    telemetry: withMethods<Telemetry>('telemetry with an around method', 'around').optional(),
    clock: clock().default(systemClock),
    random: aFunction<() => number>().default(() => Math.random),
    env: anObject<Readonly<Record<string, string | undefined>>>('variables by name').optional(),
  } satisfies FieldsOf<ToolExecutorOptions>),
);

/** The options with their defaults, plus the objects that the executor's parts share. */
export type ExecutorFrame = z.output<ReturnType<typeof schema>> & {
  readonly policy: Policy;
  readonly health: HealthLog;
  readonly listeners: Listeners<ToolEvent>;
};

/**
 * Returns the options with their defaults.
 * @throws ToolError `INVALID_ARGUMENT`, which lists every wrong option.
 */
export function checkExecutorOptions(
  options: ToolExecutorOptions,
): z.output<ReturnType<typeof schema>> {
  return checkOptions(schema, options, 'options of the executor');
}
