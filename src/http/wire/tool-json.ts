import type { CapabilityTool } from '../../capability/capability-items.js';
import { toolHealthWire } from '../../capability/wire/health-wire.js';
import { jsonPiece, type JsonPiece } from '../answers/json-pieces.js';
import { DETAIL_FIELDS, FIXED_FIELDS } from './tool-fields.js';

type Health = CapabilityTool['health'];
type AuthStatus = CapabilityTool['authStatus'];

interface Fixed {
  /** `"name":"…"`, by field. */
  readonly fields: ReadonlyMap<string, string>;
  /** All of them, with the brace that opens the object. */
  readonly whole: string;
}

/** A tool as it was written last, and what was true of it then. */
interface Written {
  readonly available: boolean;
  readonly authStatus: AuthStatus;
  readonly health: Health;
  readonly piece: JsonPiece;
}

/**
 * Writes tools as JSON.
 *
 * What is true of a tool is asked each time, and written again only when it is another: a list of fifty tools is then
 * mostly a matter of copying. What is gone from the registry is forgotten here, too.
 */
export class ToolJson {
  readonly #fixed = new WeakMap<CapabilityTool, Fixed>();
  readonly #written = new WeakMap<CapabilityTool, Written>();
  /** By the object itself: as long as nothing was called, a tool's health is the same one. */
  readonly #health = new WeakMap<Health, string>();

  /** A tool with all fields of a list. */
  write(tool: CapabilityTool): JsonPiece {
    const { available, authStatus, health } = tool;
    const before = this.#written.get(tool);
    if (before !== undefined && before.health === health && before.available === available && isSame(before.authStatus, authStatus)) return before.piece;
    const piece = jsonPiece(`${this.#fixedOf(tool).whole},"available":${available},${fieldJson('auth_status', authStatus)},${this.#healthJson(health)}}`);
    this.#written.set(tool, { available, authStatus, health, piece });
    return piece;
  }

  /** A tool with some fields of a list. */
  writeFields(tool: CapabilityTool, fields: readonly string[]): string {
    const fixed = this.#fixedOf(tool);
    return `{${fields.map((field) => fixed.fields.get(field) ?? this.#liveField(tool, field)).join(',')}}`;
  }

  /** Everything that is told of a tool. */
  writeDetail(tool: CapabilityTool): string {
    const details = [...DETAIL_FIELDS].map(([field, valueOf]) => fieldJson(field, valueOf(tool)));
    const live = [this.#liveField(tool, 'available'), this.#liveField(tool, 'auth_status'), fieldJson('health', healthWithSamples(tool))];
    return `${[this.#fixedOf(tool).whole, ...details, ...live].join(',')}}`;
  }

  #fixedOf(tool: CapabilityTool): Fixed {
    let fixed = this.#fixed.get(tool);
    if (fixed === undefined) {
      const fields = new Map([...FIXED_FIELDS].map(([field, valueOf]) => [field, fieldJson(field, valueOf(tool))]));
      fixed = { fields, whole: `{${[...fields.values()].join(',')}` };
      this.#fixed.set(tool, fixed);
    }
    return fixed;
  }

  #liveField(tool: CapabilityTool, field: string): string {
    if (field === 'available') return `"available":${tool.available}`;
    return field === 'health' ? this.#healthJson(tool.health) : fieldJson('auth_status', tool.authStatus);
  }

  #healthJson(health: Health): string {
    let json = this.#health.get(health);
    if (json === undefined) this.#health.set(health, (json = fieldJson('health', toolHealthWire(health))));
    return json;
  }
}

/** Health with the calls that it is of, for a chart: `{at, success, latency_ms}` each, `at` in seconds since 1970. */
function healthWithSamples({ health, samples }: CapabilityTool): unknown {
  const { tool, providers, ...rest } = toolHealthWire(health);
  const withSamples = Object.entries(providers).map(([label, each]) => [label, { ...each, samples: samplesWire(samples.providers[label] ?? []) }] as const);
  return { tool: { ...tool, samples: samplesWire(samples.tool) }, providers: Object.fromEntries(withSamples), ...rest };
}

function samplesWire(samples: CapabilityTool['samples']['tool']): unknown {
  return samples.map(({ at, success, latencyMs }) => ({ at: at / 1_000, success, latency_ms: latencyMs }));
}

function isSame(a: AuthStatus, b: AuthStatus): boolean {
  return a === b || (a.required === b.required && a.ready === b.ready && a.missing.join() === b.missing.join());
}

function fieldJson(field: string, value: unknown): string {
  return `"${field}":${JSON.stringify(value ?? null)}`;
}
