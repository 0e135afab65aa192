import { z } from 'zod';
import { systemClock, type Clock } from '../core/clock.js';
import { environment } from '../core/crypto.js';
import {
  aFunction,
  anObject,
  checkOptions,
  milliseconds,
  once,
  text,
  wholeBetween,
  type FieldsOf,
} from '../core/options.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolEvent } from '../core/tool-event.js';
import type { ToolProvider } from '../tool/tool-options.js';
import type { ProviderFactory } from './provider.js';
import type { HealthLog } from './rolling-health.js';

type Table<T> = ReadonlyMap<string, T> | Readonly<Record<string, T>>;
type Environment = Parameters<ProviderFactory>[1];

/** The options of a router. */
export interface ProviderRouterOptions {
  /** The tool's name in events, and in the names of its providers in `health`. */
  readonly toolName: string;
  /**
   * The providers as declared with the tool. Two with the same name and configuration count as one.
   */
  readonly providers: readonly ToolProvider[];
  /** The factories of the providers, by name. */
  readonly factories: Table<ProviderFactory>;
  /**
   * Credentials by provider name. They're merged with the declared configuration and never shown.
   * @default none
   */
  readonly config?: Table<Readonly<Record<string, unknown>>>;
  /** The environment, which can also hold required credentials. @default process.env */
  readonly env?: Environment;
  /** The clock. @default the system's */
  readonly clock?: Clock;
  /** Returns random numbers for the jitter of backoffs. @default Math.random */
  readonly random?: () => number;
  /**
   * The log that counts each provider's calls. Whoever judges the answers counts the tool's calls.
   * @default the router's own RollingHealth
   */
  readonly health?: HealthLog;
  /** Receives events about failures, changes of provider, and backoffs. @default none */
  readonly onEvent?: (event: ToolEvent) => void;
  /** The time limit of a health check, in milliseconds. @default 5000 */
  readonly checkTimeoutMs?: number;
  /**
   * The time limit of one attempt, in milliseconds. @default a share of the call's `timeoutMs`, if
   * it has one
   */
  readonly attemptTimeoutMs?: number;
  /**
   * The number of consecutive failures after which a provider backs off even if no other is usable.
   * Otherwise one failure is enough. @default 5
   */
  readonly failuresToEject?: number;
  /** The base of the backoff in milliseconds, as in `exponentialBackoff`. @default 1000 */
  readonly baseMs?: number;
  /** The longest backoff in milliseconds. @default 60_000 */
  readonly capMs?: number;
}

/** The routing options that operators can set. */
export type RoutingOptions = Pick<
  ProviderRouterOptions,
  'config' | 'checkTimeoutMs' | 'attemptTimeoutMs' | 'failuresToEject' | 'baseMs' | 'capMs'
>;

/**
 * The check interval of a provider that declares none. Source: the system that routed these
 * tools before.
 */
export const CHECK_INTERVAL_MS = 300_000;

const table = <T>() =>
  z.custom<Table<T>>(
    (value) => value instanceof Map || isPlainObject(value),
    'a Map or a plain object',
  );
const functions = (value: unknown): boolean =>
  [...(value instanceof Map ? value.values() : Object.values(value as object))].every(
    (factory) => typeof factory === 'function',
  );
const atLeastZero = () => z.number().min(0);
const routingShape = () =>
  ({
    config: table<Readonly<Record<string, unknown>>>().optional(),
    checkTimeoutMs: milliseconds().default(5_000),
    attemptTimeoutMs: milliseconds().optional(),
    failuresToEject: wholeBetween(1, 1_000).default(5),
    baseMs: atLeastZero().default(1_000),
    capMs: atLeastZero().default(60_000),
  }) satisfies FieldsOf<RoutingOptions>;
const provider = () =>
  z.strictObject({
    name: text(),
    priority: z.number().default(100),
    healthCheckIntervalMs: atLeastZero().default(CHECK_INTERVAL_MS),
    config: z
      .custom<NonNullable<ToolProvider['config']>>(isPlainObject, 'a plain object')
      .default({}),
  } satisfies FieldsOf<ToolProvider>);
const routerSchema = once(() =>
  z.strictObject({
    ...routingShape(),
    toolName: text(),
    providers: z.array(provider()) as z.ZodType<readonly ProviderSpec[], readonly ToolProvider[]>,
    factories: table<ProviderFactory>().refine(functions, 'functions that make providers, by name'),
    env: anObject<Environment>().default(environment),
    clock: anObject<Clock>('a clock').default(systemClock),
    random: aFunction<() => number>().default(() => Math.random),
    health: anObject<HealthLog>('a RollingHealth or PublishedHealth').optional(),
    onEvent: aFunction<(event: ToolEvent) => void>().optional(),
  } satisfies FieldsOf<ProviderRouterOptions>),
);
const routingSchema = once(() => z.strictObject(routingShape()));

/** A declared provider with its defaults. */
export type ProviderSpec = Readonly<z.output<ReturnType<typeof provider>>>;
export type CheckedRouterOptions = Readonly<z.output<ReturnType<typeof routerSchema>>>;

/** Checks the options of a router. @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function checkRouterOptions(options: ProviderRouterOptions): CheckedRouterOptions {
  return checkOptions(routerSchema, options, 'options of the router');
}

/** Checks the options of routing. @throws ToolError `INVALID_ARGUMENT` with every wrong option. */
export function requireRoutingOptions(options: unknown): void {
  checkOptions(routingSchema, options, 'options of routing');
}

/**
 * Returns the value under a name that can come from anywhere: `constructor` and `__proto__` are
 * ordinary names.
 */
export function lookUp<T>(table: Table<T> | undefined, name: string): T | undefined {
  if (table === undefined) return undefined;
  if (table instanceof Map) return (table as ReadonlyMap<string, T>).get(name);
  return Object.hasOwn(table, name) ? (table as Readonly<Record<string, T>>)[name] : undefined;
}
