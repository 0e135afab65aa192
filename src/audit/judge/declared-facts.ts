import {
  AccessMode,
  DangerLevel,
  type ExecutionCategory,
  type SideEffect,
} from '../../core/enums.js';
import { dangerRank } from '../../core/enum-order.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** The safety metadata that a tool of this package declares. */
interface DeclaredAxes {
  readonly accessMode?: AccessMode;
  readonly dangerLevel?: DangerLevel;
  readonly executionCategory?: ExecutionCategory;
  readonly sideEffects?: readonly SideEffect[];
  readonly cacheTtlMs?: number;
  readonly idempotencyKey?: boolean;
}

/**
 * The facts that a tool declares. Facts that the tool doesn't declare are missing, even if they
 * have a default.
 */
export interface DeclaredFacts {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  /** Missing for tools of MCP servers, which have nothing but annotations. */
  readonly axes?: DeclaredAxes;
}

/** The protocol's defaults for missing hints. */
export const ASSUMED = Object.freeze({
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
});
export type Hint = keyof typeof ASSUMED;

const FACT_OF_HINT = {
  readOnlyHint: 'readOnly',
  destructiveHint: 'destructive',
  idempotentHint: 'idempotent',
  openWorldHint: 'openWorld',
} as const satisfies Readonly<Record<Hint, keyof DeclaredFacts>>;
export const HINTS = Object.entries(FACT_OF_HINT) as readonly (readonly [
  Hint,
  (typeof FACT_OF_HINT)[Hint],
])[];

/**
 * Returns the facts that an MCP tool's annotations declare. Hints of the wrong type are ignored.
 */
export function factsOfAnnotations(annotations: unknown): DeclaredFacts {
  if (!isPlainObject(annotations)) return {};
  return Object.fromEntries(
    HINTS.filter(
      ([hint]) => Object.hasOwn(annotations, hint) && typeof annotations[hint] === 'boolean',
    ).map(([hint, fact]) => [fact, annotations[hint]]),
  );
}

/** The options that declare whether a tool is read-only. */
const SAYS_ACCESS = ['accessMode', 'executionCategory'] as const;

/** Returns the facts that a tool's metadata declares. Inferred values are ignored. */
export function factsOfEntry(entry: ToolEntry): DeclaredFacts {
  const {
    accessMode,
    cacheTtlMs,
    dangerFor,
    dangerLevel,
    executionCategory,
    idempotencyKey,
    inferred,
    sideEffects,
  } = entry;
  const isDeclared = (axis: (typeof inferred)[number]) => !inferred.includes(axis);
  const axes: DeclaredAxes = {
    ...(isDeclared('accessMode') && { accessMode }),
    ...(isDeclared('dangerLevel') && dangerFor === undefined && { dangerLevel }),
    ...(isDeclared('executionCategory') && { executionCategory }),
    ...(sideEffects.length > 0 && { sideEffects }),
    ...(cacheTtlMs !== undefined && cacheTtlMs > 0 && { cacheTtlMs }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
  const saysAccess = SAYS_ACCESS.some(isDeclared) || sideEffects.length > 0;
  const reads = accessMode === AccessMode.READONLY;
  const isMild =
    axes.dangerLevel !== undefined && dangerRank(axes.dangerLevel) <= dangerRank(DangerLevel.LOW);
  return {
    ...(saysAccess && { readOnly: reads }),
    ...(saysAccess && !reads && isMild && { destructive: false }),
    ...(idempotencyKey === true && { idempotent: true }),
    axes,
  };
}
