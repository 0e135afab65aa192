import { z } from 'zod';
import type { Clock } from '../core/clock.js';
import { invalidArgument } from '../core/issues.js';
import { describeValue } from '../core/plain-data.js';
import { anObject, checkOptions, iterable, text, type FieldsOf } from '../core/options.js';
import type { HealthLog } from '../providers/health/health-samples.js';
import { findDefinitions, type ToolSource } from '../tool/find-definitions.js';
import type { ToolDefinition } from '../tool/tool-definition.js';
import type { CapabilitySource } from './capability-source.js';
import { handlerMap, type Handlers } from './manifest/load-options.js';
import type { Environment } from './query/auth-status.js';
import type { ExecuteOf } from './state/file-cache.js';

export interface CapabilityOptions {
  /** A folder with manifests; see `findManifestFiles` for where they are looked for. */
  readonly root?: string;
  /** Tools of the program itself, shared by all personas: definitions, decorated classes, instances. */
  readonly tools?: Iterable<ToolSource>;
  /** Where else tools come from, each with a name of its own. */
  readonly sources?: Iterable<CapabilitySource>;
  /** What runs the tools of manifests, by `handler_ref` or else by name. */
  readonly handlers?: Handlers;
  /** Where credentials are looked for; their values are never shown. @default process.env */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Where health is counted: a `SharedHealth` for several processes. @default kept in this process */
  readonly health?: HealthLog;
  /**
   * Whether wrong manifests are refused as a whole when loading, or only what is wrong is left out.
   *
   * A refresh always leaves out, so that one bad edit does not stop a running program.
   *
   * @default 'quarantine'
   */
  readonly onInvalid?: 'quarantine' | 'throw';
}

export interface CheckedCapabilityOptions extends Pick<CapabilityOptions, 'root' | 'env' | 'clock' | 'health'> {
  readonly code: readonly ToolDefinition[];
  readonly sources: readonly CapabilitySource[];
  readonly executeOf: ExecuteOf;
  /** The names of all handlers. */
  readonly handlers: readonly string[];
  readonly onInvalid: 'quarantine' | 'throw';
}

const schema = z.strictObject({
  root: text.optional(),
  tools: iterable<ToolSource>('a list of tools').default([]),
  sources: iterable<CapabilitySource>('a list of sources').default([]),
  handlers: z.custom<Handlers>().optional(), // `handlerMap` checks each of them.
  env: anObject<Environment>('variables by name').optional(),
  clock: anObject<Clock>('a clock').optional(),
  health: anObject<HealthLog>('a RollingHealth or SharedHealth').optional(),
  onInvalid: z.enum(['quarantine', 'throw']).default('quarantine'),
} satisfies FieldsOf<CapabilityOptions>);

/** @throws ToolError `INVALID_ARGUMENT` for options that are unknown or wrong, and `NOT_A_TOOL` for tools that are none. */
export function checkCapabilityOptions(options: CapabilityOptions): CheckedCapabilityOptions {
  const { root, tools, sources: given, handlers, env, clock, health, onInvalid } = checkOptions(schema, options, 'options of the capability registry');
  const sources = [...given];
  for (const source of sources) requireSource(source);
  const names = sources.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalidArgument('sources with different names', twice);
  const works = handlerMap(handlers);
  return {
    code: [...tools].flatMap(findDefinitions),
    sources,
    handlers: [...works.keys()],
    executeOf: ({ name, handler_ref: reference }) => works.get(reference ?? name) ?? works.get(name),
    onInvalid,
    ...(root === undefined ? {} : { root }),
    ...(env === undefined ? {} : { env }),
    ...(clock === undefined ? {} : { clock }),
    ...(health === undefined ? {} : { health }),
  };
}

function requireSource(source: unknown): void {
  const { name, load, onChange } = (source ?? {}) as Partial<CapabilitySource>;
  if (typeof name !== 'string' || name.trim() === '' || typeof load !== 'function') throw invalidArgument('a source with a name and a function load', source);
  if (onChange !== undefined && typeof onChange !== 'function') throw invalidArgument(`onChange of the source ${describeValue(name)} as a function`, onChange);
}

/** One call of a job or tool that ended, as programs tell of it. */
export interface ExecutionRecord {
  readonly success: boolean;
  readonly latencyMs: number;
  /** The provider that answered, for calls of a tool. */
  readonly provider?: string;
}

const jobRecord = z.strictObject({ success: z.boolean(), latencyMs: z.number().min(0) });
const toolRecord = jobRecord.extend({ provider: text.optional() });

/** @throws ToolError `INVALID_ARGUMENT` for what is no record. */
export function requireRecord(record: unknown, provider: boolean): void {
  checkOptions(provider ? toolRecord : jobRecord, record ?? null, 'fields of the record');
}

/** @throws ToolError `INVALID_ARGUMENT` for a persona that is no text. A blank one is nobody in particular. */
export function readPersona(persona: unknown): string | null {
  if (persona === undefined || persona === null) return null;
  if (typeof persona !== 'string') throw invalidArgument("a persona's name", persona);
  return persona.trim() === '' ? null : persona;
}
