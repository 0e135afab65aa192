import { z } from 'zod';
import type { Clock } from '../core/clock.js';
import { invalidArgument } from '../core/issues.js';
import {
  aFunction,
  anObject,
  checkOptions,
  iterable,
  text,
  withMethods,
  type FieldsOf,
} from '../core/options.js';
import type { HealthLog } from '../providers/rolling-health.js';
import {
  findDefinitions,
  type ResolveInstance,
  type ToolSource,
} from '../tool/find-definitions.js';
import type { CapabilitySource } from '../tool/capability-source.js';
import { handlerMap, workOf, type Handlers } from './manifest/load-manifest.js';
import type { Environment } from './state/capability-items.js';

/** Options for a capability registry. */
export interface CapabilityOptions {
  /**
   * The folder with manifests. See `findManifestFiles` for the files that this folder can contain.
   * @default no manifests
   */
  readonly root?: string;
  /**
   * The program's own tools, shared by all personas: definitions, decorated classes, instances.
   * @default none
   */
  readonly tools?: Iterable<ToolSource>;
  /** Creates an instance of a class in `tools`. @default `new Class()`, once */
  readonly resolve?: ResolveInstance;
  /** Other sources of tools, each with a unique name. @default none */
  readonly sources?: readonly CapabilitySource[];
  /** The functions for manifest tools, by `handler_ref` or else by name. @default none */
  readonly handlers?: Handlers;
  /**
   * A file of hints that `tooldex enrich` has written. (Experimental.)
   * @default tooldex.hints.json in the working directory, if it exists
   */
  readonly hints?: string;
  /**
   * The environment in which credentials are looked up. Values are never shown.
   * @default process.env
   */
  readonly env?: Environment;
  /** The clock. @default the system clock */
  readonly clock?: Clock;
  /**
   * The log that records health. If several processes share the health, pass a `PublishedHealth`.
   * @default a log in this process
   */
  readonly health?: HealthLog;
}

const aSource = withMethods<CapabilitySource>('a source with a name and a function load', 'load');
const schema = z.strictObject({
  root: text().optional(),
  tools: iterable<ToolSource>('a list of tools').default([]),
  resolve: aFunction<ResolveInstance>().optional(),
  sources: z.array(aSource).readonly().default([]),
  hints: text().optional(),
  handlers: z.custom<Handlers>().optional(), // `handlerMap` checks the handlers.
  env: anObject<Environment>('variables by name').optional(),
  clock: anObject<Clock>('a clock').optional(),
  health: anObject<HealthLog>('a RollingHealth or PublishedHealth').optional(),
} satisfies FieldsOf<CapabilityOptions>);

/**
 * Checks the options.
 * @throws ToolError `INVALID_ARGUMENT` for unknown or invalid options, `NOT_A_TOOL` for values that
 * aren't tools.
 */
export function checkCapabilityOptions(options: CapabilityOptions) {
  const what = 'options of the capability registry';
  const { tools, resolve, handlers, ...rest } = checkOptions(schema, options, what);
  const names = rest.sources.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalidArgument('sources with different names', twice);
  return {
    ...rest,
    code: [...tools].flatMap((source, position) => findDefinitions(source, { resolve, position })),
    executeOf: workOf(handlerMap(handlers)),
  };
}

const RECORD = z.strictObject({
  success: z.boolean(),
  latencyMs: z.number().min(0),
  provider: text().optional(),
});

/** Checks a record. @throws ToolError `INVALID_ARGUMENT` if it's invalid. */
export function requireRecord(record: unknown): void {
  checkOptions(RECORD, record ?? null, 'fields of the record');
}

/** Returns a persona's name, or `null` for a blank name, which means no persona in particular. */
export function readPersona(persona: string | null | undefined): string | null {
  return persona?.trim() ? persona : null;
}
