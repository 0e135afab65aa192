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
import { approvalKey } from '../safety/signer.js';
import type { StateStore } from '../state/state-store.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import type { Budget } from './budgets.js';

/** Observes calls, for example with a tracer. */
export interface Telemetry {
  /**
   * Must call `run` exactly once and resolve to the result of `run`. `entry` is missing if the tool
   * doesn't exist.
   */
  around(
    call: ToolCall,
    entry: ToolEntry | undefined,
    run: () => Promise<ToolOutcome>,
  ): Promise<ToolOutcome>;
}

/** Options for an executor. */
export interface ToolExecutorOptions {
  /** The tools that can be called. */
  readonly registry: ToolMetadataRegistry;
  /** The policy that decides on every call. @default new SafetyPolicy({ registry }) */
  readonly policy?: Policy;
  /**
   * Asks the user if the policy's verdict is `confirm`. Without this function, such calls end with
   * status `approval_required`.
   */
  readonly confirm?: Confirm;
  /**
   * The key that signs approvals: at least 32 bytes. Use the same key in all processes that share a
   * store.
   * @default random
   */
  readonly approvalKey?: Uint8Array;
  /**
   * The time from the question until the approval must have been used, in milliseconds. @default
   * 600,000 (ten minutes)
   */
  readonly approvalTtlMs?: number;
  /** Limits on the number and cost of calls. @default none */
  readonly budgets?: readonly Budget[];
  /**
   * The store that processes share, for approvals, grants, budgets, labels, and health.
   * @default this process's memory
   */
  readonly store?: StateStore;
  /**
   * Stores the arguments of the last thousand calls, truncated and without secrets.
   * @default false
   */
  readonly recordArguments?: boolean;
  /** The factories of the services that tools list as providers, by provider name. @default none */
  readonly providers?:
    Readonly<Record<string, ProviderFactory>> | ReadonlyMap<string, ProviderFactory>;
  /**
   * Options for calling providers: credentials, time limits, backoff.
   * @default the router's defaults
   */
  readonly routing?: RoutingOptions;
  /**
   * Records the health of tools and providers.
   * @default shared through `store` if set, otherwise kept in this process
   */
  readonly health?: HealthLog;
  /**
   * The timeout in milliseconds of calls whose tool doesn't declare `timeoutMs`.
   * @default 30,000
   */
  readonly timeoutMs?: number;
  /**
   * The maximum number of times a tool's function is started for one call. Each provider is called
   * at most once.
   * @default 3
   */
  readonly maxAttempts?: number;
  /** The maximum number of calls that run at the same time. @default 16 */
  readonly maxConcurrent?: number;
  /**
   * The maximum number of calls of one tool that run at the same time. Tools with `allowParallel:
   * false` always run one at a time.
   * @default same as `maxConcurrent`
   */
  readonly maxConcurrentPerTool?: number;
  /** The maximum number of times a conversation can repeat a call without progress. @default 4 */
  readonly maxRepeats?: number;
  /**
   * The maximum number of cached results; 0 disables the cache. A result is cached
   * only if its tool has `cacheTtlMs` and its JSON has at most 65,536 characters.
   * @default 1,000
   */
  readonly cacheEntries?: number;
  /**
   * The part of a thrown error that is shown in the outcome: nothing, the message without
   * credentials, paths, and host names, or the full message. Errors that a tool reports with `fail`
   * are always shown.
   * @default 'public'
   */
  readonly exposeErrors?: 'none' | 'public' | 'full';
  /**
   * The maximum size of a result shown to models, in bytes, for tools that don't set a maximum.
   * Models see the start, the end, and the size of longer results.
   * @default 65,536 (64 KiB)
   */
  readonly maxResultBytes?: number;
  /** Records calls as spans and metrics. See `openTelemetry`. @default none */
  readonly telemetry?: Telemetry;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
  /** Returns a random number from 0 up to 1, used to randomize delays. @default Math.random */
  readonly random?: () => number;
  /** The environment variables that the policy and providers read. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The options for evaluating a call: the caller, and a signal that aborts the evaluation. */
export interface JudgeOptions extends Omit<CallContext, 'flow'> {
  /** A second policy for this call. The stricter decision wins. @default none */
  readonly policy?: Policy;
  /** Aborts the call. @default none */
  readonly signal?: AbortSignal;
  /**
   * The value that the tool receives as `context.context`, for facts that the program knows and the
   * model doesn't. Plain data is copied and frozen; any other object is passed by reference.
   * @default none
   */
  readonly context?: unknown;
}

/** Options for a single call. */
export interface ExecuteOptions extends JudgeOptions {
  /**
   * Asks the user instead of the executor's `confirm`. If this function returns `'later'`, the
   * executor's function is called.
   * @default the executor's
   */
  readonly confirm?: Confirm;
  /**
   * An idempotency key for tools that write: calls with the same key have a single effect.
   * @default derived from conversation, call, and arguments
   */
  readonly idempotencyKey?: string;
  /**
   * Runs right before the tool starts. After `onStart`, only another process that uses up the same
   * approval at the same moment can stop the call. If `onStart` throws, the tool isn't started and
   * the approval stays valid. `onStart` isn't called for cached results, or for calls that a user
   * answers.
   * @default none
   */
  readonly onStart?: (call: ToolCall) => void | Promise<void>;
}

/** The options of `executeAll`. */
export interface ExecuteAllOptions extends Omit<ExecuteOptions, 'idempotencyKey'> {
  /**
   * Receives each outcome as soon as it's available. Later calls wait for the promise that the
   * function returns. The function must not throw.
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
            params: { advice: 'Without at least one of them, a budget has no limit.' },
          }),
      )
      .default([]),
    store: withMethods<StateStore>(
      'a StateStore',
      'get',
      'compareAndSet',
      'increment',
      'addToIndex',
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
        'for every name, a function that creates a provider',
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
    exposeErrors: z.enum(['none', 'public', 'full']).default('public'),
    maxResultBytes: wholeBetween(1_024).optional(),
    telemetry: withMethods<Telemetry>('telemetry with an around method', 'around').optional(),
    clock: clock().default(systemClock),
    random: aFunction<() => number>().default(() => Math.random),
    env: anObject<Readonly<Record<string, string | undefined>>>('variables by name').optional(),
  } satisfies FieldsOf<ToolExecutorOptions>),
);

/** The options with defaults applied, and the objects that the executor's parts share. */
export type ExecutorFrame = z.output<ReturnType<typeof schema>> & {
  readonly policy: Policy;
  readonly health: HealthLog;
  readonly listeners: Listeners<ToolEvent>;
};

/**
 * Returns the options with defaults applied.
 * @throws ToolError `INVALID_ARGUMENT` listing every invalid option.
 */
export function checkExecutorOptions(
  options: ToolExecutorOptions,
): z.output<ReturnType<typeof schema>> {
  return checkOptions(schema, options, 'options of the executor');
}
