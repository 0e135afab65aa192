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

/** A watcher of calls from outside, such as a tracer. */
export interface Telemetry {
  /** Must call `run` exactly once and resolve to what it resolves to. `entry` is missing for unknown tools. */
  around(
    call: ToolCall,
    entry: ToolEntry | undefined,
    run: () => Promise<ToolOutcome>,
  ): Promise<ToolOutcome>;
}

/** The options of an executor. */
export interface ToolExecutorOptions {
  /** The tools that can be called. */
  readonly registry: ToolMetadataRegistry;
  /** The policy that is asked before every call. @default new SafetyPolicy({ registry }) */
  readonly policy?: Policy;
  /** Asks the user when the policy says `confirm`. Without it such calls end as `approval_required`. */
  readonly confirm?: Confirm;
  /** Signs approvals: at least 32 bytes, the same in all processes that share a store. @default random */
  readonly approvalKey?: Uint8Array;
  /** Milliseconds after the question in which an approval may be given and used. @default 600,000 (ten minutes) */
  readonly approvalTtlMs?: number;
  /** Limits of what all calls together may use. @default none */
  readonly budgets?: readonly Budget[];
  /** The store of what processes share: approvals, grants, budgets, labels, health. @default this process's memory */
  readonly store?: StateStore;
  /** Keeps the arguments of calls in the store's record of the last thousand calls, cut and without secrets. @default false */
  readonly recordArguments?: boolean;
  /** The services behind tools that name providers, by provider name. @default none */
  readonly providers?:
    Readonly<Record<string, ProviderFactory>> | ReadonlyMap<string, ProviderFactory>;
  /** Options of the calls of providers: credentials, time limits, backoff. @default the router's */
  readonly routing?: RoutingOptions;
  /** The log of the health of tools and providers. @default shared through `store`, or else kept in this process */
  readonly health?: HealthLog;
  /** Milliseconds that a call may take when its tool does not say. @default 30,000 */
  readonly timeoutMs?: number;
  /** Starts of a tool's function that may be repeated; its providers are each asked at most once. @default 3 */
  readonly maxAttempts?: number;
  /** Calls that run at the same time, in all. @default 16 */
  readonly maxConcurrent?: number;
  /** Calls of one tool that run at the same time. Tools with `allowParallel: false` always run one by one. @default as `maxConcurrent` */
  readonly maxConcurrentPerTool?: number;
  /** Repetitions of a call in a conversation without progress. @default 4 */
  readonly maxRepeats?: number;
  /** Answers that are kept of tools with `cacheTtlMs`; 0 keeps none. @default 1,000 */
  readonly cacheEntries?: number;
  /** Characters of JSON of all kept answers. @default 16,777,216 (16 Mi) */
  readonly cacheSize?: number;
  /**
   * The part of an error that a tool threw that an outcome shows: nothing, its message without credentials, paths and host names, or
   * the whole message. What a tool says with `fail` is always shown. @default 'public'
   */
  readonly exposeErrors?: 'none' | 'public' | 'full';
  /** Bytes of text that models read of a result, for tools that do not say: beyond it the beginning, the end and the size. @default 65,536 (64 KiB) */
  readonly maxResultBytes?: number;
  /** Wraps calls in spans and counts them; see `openTelemetry`. @default none */
  readonly telemetry?: Telemetry;
  /** The clock. @default the system's */
  readonly clock?: Clock;
  /** A number from 0 up to 1, for the jitter of pauses. @default Math.random */
  readonly random?: () => number;
  /** The environment of policy and providers. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The options of a call that is only judged: who calls, and a signal that gives the call up. */
export interface JudgeOptions extends Omit<CallContext, 'flow'> {
  /** A policy that is asked beside the executor's own; the stricter of both decides. @default none */
  readonly policy?: Policy;
  /** Gives the call up when it aborts. @default none */
  readonly signal?: AbortSignal;
  /** Handed to the tool's work as `context.context`: what the program knows and the model does not. Plain data is copied and frozen, anything else is handed on as the object it is. @default none */
  readonly context?: unknown;
}

/** The options of one call. */
export interface ExecuteOptions extends JudgeOptions {
  /** The user's approval of exactly this call. @default none */
  readonly approval?: Approval;
  /** The function that asks instead of the executor's own, which is asked when this one says `later`. @default the executor's */
  readonly confirm?: Confirm;
  /** A key for writing tools, the same for the same deed. @default derived from conversation, call and arguments */
  readonly idempotencyKey?: string;
  /**
   * Hears of the call right before the tool is started, when nothing can forbid the call any more but that its approval is used up
   * elsewhere at the same time. When it throws, the tool is not started, and an approval still counts. Not called for answers
   * from the cache, and calls that a user answers. @default none
   */
  readonly onStart?: (call: ToolCall) => void | Promise<void>;
}

/** The options of several calls. */
export interface ExecuteAllOptions extends Omit<ExecuteOptions, 'approval' | 'idempotencyKey'> {
  /** Approvals of some of the calls; each finds its call by `callId`. @default none */
  readonly approvals?: readonly Approval[];
  /** Hears each outcome as soon as it is there; calls that run after it wait for what it returns. It must not throw. @default none */
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

/** The options with their defaults, and the objects that all parts of one executor share. */
export type ExecutorFrame = z.output<ReturnType<typeof schema>> & {
  readonly policy: Policy;
  readonly health: HealthLog;
  readonly listeners: Listeners<ToolEvent>;
};

/** Returns the options with their defaults. @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkExecutorOptions(
  options: ToolExecutorOptions,
): z.output<ReturnType<typeof schema>> {
  return checkOptions(schema, options, 'options of the executor');
}
