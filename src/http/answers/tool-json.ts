import { toolHealthWire } from '../../capability/capability-summary.js';
import type { CapabilityTool } from '../../capability/state/capability-items.js';
import type { SampleWire, ToolHealthWire } from '../../capability/wire-types.js';
import { PRIORITY_NAMES } from '../../core/enum-order.js';
import type { Priority } from '../../core/enums.js';
import { isPlainObject } from '../../core/plain-data.js';
import { requiresApproval } from '../../registry/derived-sets.js';
import { requiredFlags } from '../../safety/required-flags.js';
import {
  fieldsOn,
  TOOL_FIELDS,
  type FieldKind,
  type FieldName,
  type FieldOn,
} from '../../tool/tool-fields.js';
import type { ToolAuth, ToolProvider } from '../../tool/tool-options.js';
import type { ToolEntry } from '../../tool/tool-definition.js';
import { compatibilityFor } from '../query/personas.js';
import { jsonPiece, type JsonPiece } from './answer.js';

type Health = CapabilityTool['health'];
type AuthStatus = CapabilityTool['authStatus'];

/** The values of fields that an entry does not have under the same name; `undefined` is written as `null`. */
const VALUES: Readonly<
  Record<
    | Exclude<FieldOn<'list' | 'detail'>, keyof ToolEntry | 'compatibility'>
    | 'inputSchema'
    | 'idempotencyKey'
    | 'available',
    (tool: CapabilityTool) => unknown
  >
> = {
  owner: ({ owner }) => owner,
  inputSchema: ({ entry }) => entry.inputJsonSchema,
  costUnit: ({ manifest }) => manifest?.cost_unit,
  requiresApproval: ({ entry }) => requiresApproval(entry),
  safetyLevel: ({ safetyLevel }) => safetyLevel,
  authScopes: ({ authScopes }) => authScopes,
  idempotencyKey: ({ entry, manifest }) =>
    picked(manifest?.idempotency_key, ['required', 'scope', 'guidance']) ??
    entry.idempotencyKey ??
    false,
  requiresFlags: ({ entry }) => requiredFlags(entry),
  capabilityTags: ({ capabilityTags }) => capabilityTags,
  source: ({ source }) => source,
  available: ({ available }) => available,
  authStatus: ({ authStatus }) => authStatus,
  health: ({ health }) => toolHealthWire(health),
};

const inSeconds = (milliseconds: unknown) =>
  milliseconds === undefined ? undefined : (milliseconds as number) / 1_000;

/**
 * The kinds of values that HTTP writes in the words of manifests.
 *
 * Only names of variables, and no configurations of providers: the rest of a manifest's value may hold credentials.
 */
const FORMS: { readonly [Kind in FieldKind]?: (value: unknown) => unknown } = {
  wholeSeconds: inSeconds,
  seconds: inSeconds,
  priority: (priority) => PRIORITY_NAMES[priority as Priority],
  sideEffects: (value) => {
    const effects = value as readonly string[];
    return effects.length < 2 ? effects[0] : effects;
  },
  auth: (value) => {
    const {
      required = false,
      type = null,
      scopes = [],
      env = {},
      docs = null,
    } = (value as ToolAuth | undefined) ?? {};
    return { required, type, scopes, envs: { ...env }, docs };
  },
  providers: (value) =>
    (value as readonly ToolProvider[]).map(({ name, priority = 100, healthCheckIntervalMs }) => ({
      name,
      priority,
      health_check_interval: inSeconds(healthCheckIntervalMs) ?? null,
    })),
  axes: (value) => (value as ToolEntry['inferred']).map((axis) => TOOL_FIELDS[axis].wire),
};

/** Returns the value of a field as it is sent. */
export function valueOf(tool: CapabilityTool, name: FieldName): unknown {
  const value = Object.hasOwn(VALUES, name)
    ? VALUES[name as keyof typeof VALUES](tool)
    : tool.entry[name as keyof ToolEntry];
  const form = FORMS[TOOL_FIELDS[name].kind];
  return form === undefined ? value : form(value);
}

const LIST = fieldsOn('list');
const DETAILS = fieldsOn('detail');
/** The fields that change only with the registry. */
const FIXED = LIST.filter(([, { live }]) => live !== true);

/** The fields of a tool in a list. */
export const LIST_FIELDS: readonly string[] = Object.freeze(LIST.map(([, { wire }]) => wire));
/** The fields that only the answer about one tool has. */
export const DETAIL_FIELDS: readonly string[] = Object.freeze(DETAILS.map(([, { wire }]) => wire));

interface Fixed {
  /** The JSON of each field, such as `"name":"…"`. */
  readonly fields: ReadonlyMap<string, string>;
  /** The JSON of all fields, with the brace that opens the object. */
  readonly whole: string;
}

/** A tool as it was last written, and what was true of it then. */
interface Written {
  readonly available: boolean;
  readonly authStatus: AuthStatus;
  readonly health: Health;
  /** The compatibility as JSON. */
  readonly compatibility: string;
  readonly piece: JsonPiece;
}

/**
 * Writes tools as JSON.
 *
 * Live values are read each time, and written again only when they have changed: a list of fifty tools is then mostly a
 * matter of copying. Tools that have left the registry are forgotten here, too.
 */
export class ToolJson {
  readonly #fixed = new WeakMap<CapabilityTool, Fixed>();
  readonly #written = new WeakMap<CapabilityTool, Written>();
  /** The JSON of health by its object: a tool without new calls keeps the same one. */
  readonly #health = new WeakMap<Health, string>();

  /** Writes a tool with all fields of a list. */
  write(tool: CapabilityTool, personas: readonly string[]): JsonPiece {
    const { available, authStatus, health } = tool;
    const compatibility = compatibilityJson(tool, personas);
    const before = this.#written.get(tool);
    if (
      before !== undefined &&
      before.health === health &&
      before.available === available &&
      before.compatibility === compatibility &&
      isSame(before.authStatus, authStatus)
    )
      return before.piece;
    const piece = jsonPiece(
      `${this.#fixedOf(tool).whole},"available":${available},${fieldJson('auth_status', authStatus)},${this.#healthJson(health)},${compatibility}}`,
    );
    this.#written.set(tool, { available, authStatus, health, compatibility, piece });
    return piece;
  }

  /** Writes a tool with some fields of a list. */
  writeFields(
    tool: CapabilityTool,
    fields: readonly string[],
    personas: readonly string[],
  ): string {
    const fixed = this.#fixedOf(tool);
    return `{${fields.map((field) => fixed.fields.get(field) ?? this.#liveField(tool, field, personas)).join(',')}}`;
  }

  /** Writes a tool with all its fields. */
  writeDetail(tool: CapabilityTool, personas: readonly string[]): string {
    const details = DETAILS.map(([name, { wire }]) => fieldJson(wire, valueOf(tool, name)));
    const live = [
      ...['available', 'auth_status', 'compatibility'].map((field) =>
        this.#liveField(tool, field, personas),
      ),
      fieldJson('health', healthWithSamples(tool)),
    ];
    return `${[this.#fixedOf(tool).whole, ...details, ...live].join(',')}}`;
  }

  #fixedOf(tool: CapabilityTool): Fixed {
    let fixed = this.#fixed.get(tool);
    if (fixed === undefined) {
      const fields = new Map(
        FIXED.map(([name, { wire }]) => [wire, fieldJson(wire, valueOf(tool, name))]),
      );
      fixed = { fields, whole: `{${[...fields.values()].join(',')}` };
      this.#fixed.set(tool, fixed);
    }
    return fixed;
  }

  #liveField(tool: CapabilityTool, field: string, personas: readonly string[]): string {
    if (field === 'compatibility') return compatibilityJson(tool, personas);
    if (field === 'available') return `"available":${tool.available}`;
    return field === 'health'
      ? this.#healthJson(tool.health)
      : fieldJson('auth_status', tool.authStatus);
  }

  #healthJson(health: Health): string {
    let json = this.#health.get(health);
    if (json === undefined)
      this.#health.set(health, (json = fieldJson('health', toolHealthWire(health))));
    return json;
  }
}

/** Returns the health with its calls, for a chart: `{at, success, latency_ms}` each, `at` in seconds since 1970. */
function healthWithSamples({ health, samples }: CapabilityTool): ToolHealthWire {
  const { tool, providers, ...rest } = toolHealthWire(health);
  const withSamples = Object.entries(providers).map(
    ([label, each]) =>
      [label, { ...each, samples: samplesWire(samples.providers[label] ?? []) }] as const,
  );
  return {
    tool: { ...tool, samples: samplesWire(samples.tool) },
    providers: Object.fromEntries(withSamples),
    ...rest,
  };
}

function samplesWire(samples: CapabilityTool['samples']['tool']): readonly SampleWire[] {
  return samples.map(({ at, success, latencyMs }) => ({
    at: at / 1_000,
    success,
    latency_ms: latencyMs,
  }));
}

function compatibilityJson({ owner, entry }: CapabilityTool, personas: readonly string[]): string {
  return fieldJson('compatibility', compatibilityFor(personas, owner, entry.personaAllowlist));
}

function isSame(a: AuthStatus, b: AuthStatus): boolean {
  return (
    a === b ||
    (a.required === b.required && a.ready === b.ready && a.missing.join() === b.missing.join())
  );
}

function fieldJson(field: string, value: unknown): string {
  return `"${field}":${JSON.stringify(value ?? null)}`;
}

/**
 * Returns a value that, if it is an object, has only the named fields: manifests may hold others, with credentials in
 * them.
 */
export function picked(value: unknown, fields: readonly string[]): unknown {
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(value, field)).map((field) => [field, value[field]]),
  );
}
