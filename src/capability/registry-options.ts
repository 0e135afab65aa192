import { z } from 'zod';
import type { Clock } from '../core/clock.js';
import { invalidArgument } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import {
  aFunction,
  anObject,
  checkOptions,
  iterable,
  text,
  type FieldsOf,
} from '../core/options.js';
import type { HealthLog } from '../providers/rolling-health.js';
import {
  findDefinitions,
  type ResolveInstance,
  type ToolSource,
} from '../tool/find-definitions.js';
import type { CapabilitySource } from './state/capability-source.js';
import { handlerMap, workOf, type Handlers } from './manifest/load-manifest.js';
import type { Environment } from './state/capability-items.js';

/** Options of a capability registry. */
export interface CapabilityOptions {
  /**
   * The folder with manifests. See `findManifestFiles` for the files in it.
   * @default no manifests
   */
  readonly root?: string;
  /**
   * The program's own tools, shared by all personas: definitions, decorated classes, instances.
   * @default none
   */
  readonly tools?: Iterable<ToolSource>;
  /** Makes an instance of a class in `tools`. @default `new Class()`, once */
  readonly resolve?: ResolveInstance;
  /** Other sources of tools, each with a unique name. @default none */
  readonly sources?: Iterable<CapabilitySource>;
  /** The functions of manifest tools, by `handler_ref` or else by name. @default none */
  readonly handlers?: Handlers;
  /** The environment that holds credentials. Their values are never shown. @default process.env */
  readonly env?: Environment;
  /** The clock. @default the system's */
  readonly clock?: Clock;
  /**
   * The log that counts health. Use a `PublishedHealth` for several processes.
   * @default kept in this process
   */
  readonly health?: HealthLog;
}

const schema = z.strictObject({
  root: text().optional(),
  tools: iterable<ToolSource>('a list of tools').default([]),
  resolve: aFunction<ResolveInstance>().optional(),
  sources: iterable<CapabilitySource>('a list of sources').default([]),
  handlers: z.custom<Handlers>().optional(), // `handlerMap` checks each of them.
  env: anObject<Environment>('variables by name').optional(),
  clock: anObject<Clock>('a clock').optional(),
  health: anObject<HealthLog>('a RollingHealth or PublishedHealth').optional(),
} satisfies FieldsOf<CapabilityOptions>);

/**
 * Checks the options.
 * @throws ToolError `INVALID_ARGUMENT` for unknown or wrong options, `NOT_A_TOOL` for values that
 * aren't tools.
 */
export function checkCapabilityOptions(options: CapabilityOptions) {
  const what = 'options of the capability registry';
  const { tools, resolve, sources: given, handlers, ...rest } = checkOptions(schema, options, what);
  const sources = [...given];
  for (const source of sources) requireSource(source);
  const names = sources.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalidArgument('sources with different names', twice);
  return {
    ...rest,
    code: [...tools].flatMap((source, position) => findDefinitions(source, { resolve, position })),
    sources,
    executeOf: workOf(handlerMap(handlers)),
  };
}

function requireSource(source: unknown): void {
  const { name, load, onChange } = (source ?? {}) as Partial<CapabilitySource>;
  if (typeof name !== 'string' || name.trim() === '' || typeof load !== 'function')
    throw invalidArgument('a source with a name and a function load', source);
  if (onChange !== undefined && typeof onChange !== 'function')
    throw invalidArgument(`onChange of the source ${describeValue(name)} as a function`, onChange);
}

const jobRecord = z.strictObject({ success: z.boolean(), latencyMs: z.number().min(0) });
const toolRecord = jobRecord.extend({ provider: text().optional() });

/** Checks a record. @throws ToolError `INVALID_ARGUMENT` if it's wrong. */
export function requireRecord(record: unknown, provider: boolean): void {
  checkOptions(provider ? toolRecord : jobRecord, record ?? null, 'fields of the record');
}

/**
 * Returns a persona's name. A blank name means no persona in particular.
 * @throws ToolError `INVALID_ARGUMENT` if it isn't a string.
 */
export function readPersona(persona: unknown): string | null {
  if (persona === undefined || persona === null) return null;
  if (typeof persona !== 'string') throw invalidArgument("a persona's name", persona);
  return persona.trim() === '' ? null : persona;
}
