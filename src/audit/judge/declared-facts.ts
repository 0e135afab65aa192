import {
  AccessMode,
  DangerLevel,
  type ExecutionCategory,
  type SideEffect,
} from '../../core/enums.js';
import { dangerRank } from '../../core/enum-order.js';
import { isPlainObject } from '../../core/plain-data.js';
import type { ToolEntry } from '../../tool/tool-definition.js';

/** The axes that a tool of this package declares, beside what they mean as facts. */
interface DeclaredAxes {
  readonly accessMode?: AccessMode;
  readonly dangerLevel?: DangerLevel;
  readonly executionCategory?: ExecutionCategory;
  readonly sideEffects?: readonly SideEffect[];
  readonly cacheTtlMs?: number;
  readonly idempotencyKey?: boolean;
}

/** What is declared of a tool. A fact that is missing is not declared: nothing is assumed in its place. */
export interface DeclaredFacts {
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  /** Only of tools of this package. */
  readonly axes?: DeclaredAxes;
}

/** What MCP clients assume where a hint is missing: the protocol's defaults. */
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

/** Returns what the annotations of an MCP tool declare; a hint of a wrong type declares nothing. */
export function factsOfAnnotations(annotations: unknown): DeclaredFacts {
  if (!isPlainObject(annotations)) return {};
  return Object.fromEntries(
    HINTS.filter(
      ([hint]) => Object.hasOwn(annotations, hint) && typeof annotations[hint] === 'boolean',
    ).map(([hint, fact]) => [fact, annotations[hint]]),
  );
}

/** The axes that say if a tool only reads; where none is declared, nothing is. */
const SAYS_ACCESS = ['accessMode', 'executionCategory'] as const;

/** Returns what the metadata of a tool declares; what was only inferred, from nothing, declares nothing. */
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
