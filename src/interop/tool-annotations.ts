import { AccessMode, DangerLevel, ExecutionCategory, SideEffect } from '../core/enums.js';
import { dangerRank } from '../core/enum-order.js';
import { isPlainObject } from '../core/plain-data.js';
import type { ToolOptions } from '../tool/metadata/tool-options.js';
import type { ToolEntry } from '../tool/tool-definition.js';

/**
 * What the Model Context Protocol lets a tool say of itself.
 *
 * All four hints are always present: to clients a missing one means its default, and the default of `destructiveHint`
 * is true, so that tools that only read look destructive.
 *
 * Source: `ToolAnnotations` in the schema of the protocol, 2025-06-18 and later.
 */
export interface ToolAnnotations {
  readonly title?: string;
  /** The tool changes nothing. */
  readonly readOnlyHint: boolean;
  /** It may delete or overwrite, rather than only add. */
  readonly destructiveHint: boolean;
  /** A second call with the same arguments changes nothing more. */
  readonly idempotentHint: boolean;
  /** It deals with what lies outside, rather than with a closed domain. */
  readonly openWorldHint: boolean;
}

/** What stays within the machine it runs on. `write` alone does not say where it writes. */
const CLOSED: ReadonlySet<SideEffect> = new Set([SideEffect.NONE, SideEffect.COMPUTE, SideEffect.FILESYSTEM]);

/**
 * The hints that follow from a tool's axes; what is not known counts as the worse.
 *
 * - `readOnlyHint`: access `readonly`, unless the danger is high or more: clients let such calls pass without a question.
 * - `destructiveHint`: false for those, and for tools of danger `safe` or `low` whose arguments cannot raise it.
 * - `idempotentHint`: access `readonly`, or `idempotencyKey`.
 * - `openWorldHint`: false only where side effects are declared that all stay local: none, compute, filesystem (with or
 *   without write), and the category is not network.
 * - `title`: `metadata.title`, where that is a text.
 */
export function annotationsOf(entry: ToolEntry): ToolAnnotations {
  const { accessMode, dangerLevel, sideEffects, executionCategory, metadata } = entry;
  const reads = accessMode === AccessMode.READONLY;
  const readOnlyHint = reads && dangerRank(dangerLevel) < dangerRank(DangerLevel.HIGH);
  const title = metadata !== undefined && Object.hasOwn(metadata, 'title') ? metadata['title'] : undefined;
  return Object.freeze({
    ...(typeof title === 'string' && title.trim() !== '' ? { title } : {}),
    readOnlyHint,
    destructiveHint: !readOnlyHint && (entry.dangerFor !== undefined || dangerRank(dangerLevel) > dangerRank(DangerLevel.LOW)),
    idempotentHint: reads || entry.idempotencyKey === true,
    openWorldHint: executionCategory === ExecutionCategory.NETWORK || !staysLocal(sideEffects),
  });
}

function staysLocal(effects: readonly SideEffect[]): boolean {
  const places = effects.filter((effect) => effect !== SideEffect.WRITE);
  return places.length > 0 && places.every((effect) => CLOSED.has(effect));
}

/** The axes that hints can speak about. */
export type AnnotatedAxes = Pick<ToolOptions, 'accessMode' | 'dangerLevel' | 'sideEffects' | 'requiresConsent' | 'allowParallel' | 'idempotencyKey'>;

/**
 * What the hints of a foreign tool mean here, to be laid over the defaults of foreign tools: side effects `network` (and
 * so mixed access, high danger, no cache and no retry), with consent, not parallel, no idempotency key.
 *
 * Hints of a server that is not trusted only tighten: `readOnlyHint: false` and `destructiveHint: true` are believed, and
 * nothing else, since a hostile server claims what gets its tools called unseen. Of a trusted server:
 *
 * | hints | axes |
 * |---|---|
 * | readOnlyHint, and no destructiveHint | readonly, reads an external service, no consent, parallel, repeatable |
 * | destructiveHint: false | write, danger low; consent as by default |
 * | idempotentHint | repeatable |
 *
 * A missing hint, or one of a wrong type, means the protocol's default: not read-only, destructive, not idempotent, open.
 * There is no axis for `openWorldHint`: a call to a foreign server leaves the machine whatever lies behind that server.
 *
 * @param annotations anything; what is no plain object says nothing.
 */
export function axesFromAnnotations(annotations: unknown, { trusted }: { readonly trusted: boolean }): AnnotatedAxes {
  const readOnly = hintOf(annotations, 'readOnlyHint');
  const destructive = hintOf(annotations, 'destructiveHint');
  if (destructive === true) return { accessMode: AccessMode.MIXED, dangerLevel: DangerLevel.HIGH, ...repeatable(annotations, trusted) };
  if (!trusted) return readOnly === false ? { accessMode: AccessMode.MIXED } : {};
  if (readOnly === true) {
    return { accessMode: AccessMode.READONLY, sideEffects: SideEffect.READ_EXTERNAL_SERVICE, requiresConsent: false, allowParallel: true, idempotencyKey: true };
  }
  return { ...(destructive === false ? { accessMode: AccessMode.WRITE, dangerLevel: DangerLevel.LOW } : {}), ...repeatable(annotations, trusted) };
}

function repeatable(annotations: unknown, trusted: boolean): AnnotatedAxes {
  return trusted && hintOf(annotations, 'idempotentHint') === true ? { idempotencyKey: true } : {};
}

function hintOf(annotations: unknown, hint: keyof ToolAnnotations): boolean | undefined {
  if (!isPlainObject(annotations) || !Object.hasOwn(annotations, hint)) return undefined;
  const value = annotations[hint];
  return typeof value === 'boolean' ? value : undefined;
}

/** The part of a tool's metadata that other frameworks are given: plain JSON, nothing of providers, auth or free metadata. */
export type BridgeMetadata = {
  /** The four hints of the Model Context Protocol. */
  annotations: { title?: string; readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  tooldex: {
    /** The tool's own name, which may differ from the one that models are given. */
    name: string;
    version?: string;
    category?: string;
    priority: number;
    accessMode: string;
    dangerLevel: string;
    executionCategory: string;
    costTier: string;
    allowParallel: boolean;
    requiresConsent: boolean;
    manual: boolean;
    digest: string;
  };
};

/** Returns the metadata that goes along with a tool to another framework. */
export function metadataOf(entry: ToolEntry): BridgeMetadata {
  const { name, version, category, priority, accessMode, dangerLevel, executionCategory, costTier, allowParallel, requiresConsent, manual, digest } = entry;
  return {
    annotations: { ...annotationsOf(entry) },
    tooldex: {
      name,
      ...(version !== undefined && { version }),
      ...(category !== undefined && { category }),
      ...{ priority, accessMode, dangerLevel, executionCategory, costTier, allowParallel, requiresConsent, manual, digest },
    },
  };
}
