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
  /**
   * The tool's name. The name is used in events, and in the names of the tool's providers in
   * `health`.
   */
  readonly toolName: string;
  /**
   * The tool's providers, as declared. Providers with the same name and configuration are merged.
   */
  readonly providers: readonly ToolProvider[];
  /** The functions that create providers, by provider name. */
  readonly factories: Table<ProviderFactory>;
  /**
   * Credentials, by provider name. Credentials are merged with the declared configuration and never
   * shown.
   * @default none
   */
  readonly config?: Table<Readonly<Record<string, unknown>>>;
  /**
   * The environment variables, which can also contain required credentials. @default process.env
   */
  readonly env?: Environment;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
  /** Returns random numbers for the backoff jitter. @default Math.random */
  readonly random?: () => number;
  /**
   * The log that records each provider's calls. The executor records the tool's own calls.
   * @default a RollingHealth for this router
   */
  readonly health?: HealthLog;
  /** Receives events about failures, provider changes, and backoffs. @default none */
  readonly onEvent?: (event: ToolEvent) => void;
  /** The timeout of a health check, in milliseconds. @default 5000 */
  readonly checkTimeoutMs?: number;
  /**
   * The timeout of one attempt, in milliseconds. @default a share of the call's `timeoutMs`, if set
   */
  readonly attemptTimeoutMs?: number;
  /**
   * The number of consecutive failures after which a provider backs off even if no other provider
   * is usable. If another provider is usable, one failure is enough.
   * @default 5
   */
  readonly failuresToEject?: number;
  /** The base delay of the backoff in milliseconds, as in `exponentialBackoff`. @default 1000 */
  readonly baseMs?: number;
  /** The maximum delay of the backoff in milliseconds. @default 60_000 */
  readonly capMs?: number;
}

/** The router options that operators can set. */
export type RoutingOptions = Pick<
  ProviderRouterOptions,
  'config' | 'checkTimeoutMs' | 'attemptTimeoutMs' | 'failuresToEject' | 'baseMs' | 'capMs'
>;

/** The default interval of health checks. The value comes from this library's predecessor. */
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
    factories: table<ProviderFactory>().refine(functions, 'factory functions by name'),
    env: anObject<Environment>().default(environment),
    clock: anObject<Clock>('a clock').default(systemClock),
    random: aFunction<() => number>().default(() => Math.random),
    health: anObject<HealthLog>('a RollingHealth or PublishedHealth').optional(),
    onEvent: aFunction<(event: ToolEvent) => void>().optional(),
  } satisfies FieldsOf<ProviderRouterOptions>),
);
const routingSchema = once(() => z.strictObject(routingShape()));

/** A declared provider with defaults applied. */
export type ProviderSpec = Readonly<z.output<ReturnType<typeof provider>>>;
export type CheckedRouterOptions = Readonly<z.output<ReturnType<typeof routerSchema>>>;

/**
 * Validates the options of a router. @throws ToolError `INVALID_ARGUMENT` listing every invalid
 * option.
 */
export function checkRouterOptions(options: ProviderRouterOptions): CheckedRouterOptions {
  return checkOptions(routerSchema, options, 'options of the router');
}

/** Validates routing options. @throws ToolError `INVALID_ARGUMENT` listing every invalid option. */
export function requireRoutingOptions(options: unknown): void {
  checkOptions(routingSchema, options, 'options of routing');
}

/**
 * Returns an object's own value under a name, so that `constructor` and `__proto__` are ordinary
 * names.
 */
export function lookUp<T>(table: Table<T> | undefined, name: string): T | undefined {
  if (table === undefined) return undefined;
  if (table instanceof Map) return (table as ReadonlyMap<string, T>).get(name);
  return Object.hasOwn(table, name) ? (table as Readonly<Record<string, T>>)[name] : undefined;
}
