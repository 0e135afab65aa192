import { ExecutionCategory, SideEffect } from '../../core/enums.js';
import {
  doingOf,
  isProven,
  MEANING,
  type Effect,
  type EffectKind,
  type TracedTool,
} from '../effect.js';
import type { DeclaredFacts } from './declared-facts.js';

/**
 * - `lies`: the tool does more than it declares
 * - `over-cautious`: the tool does less than it declares
 * - `undeclared`: the tool doesn't declare whether it's read-only
 * - `unknown`: the tool's code doesn't show enough
 */
export type Verdict = 'agrees' | 'lies' | 'over-cautious' | 'undeclared' | 'unknown';

/** The facts that a tool's code shows. A fact is null if the code doesn't determine it. */
export interface FoundFacts {
  readonly readOnly: boolean | null;
  /** True if a call may delete, overwrite or stop something. False for read-only tools. */
  readonly destructive: boolean | null;
  /** True if repeating a call changes nothing more. True for read-only tools. */
  readonly idempotent: boolean | null;
  readonly openWorld: boolean | null;
  readonly effects: readonly Effect[];
}

/** A difference between the declaration and the code. */
export interface AuditFinding {
  /** The field that differs, such as `readOnlyHint` or `accessMode`. */
  readonly axis: string;
  /** The kind of difference. A `note` doesn't affect the verdict. */
  readonly kind: 'lies' | 'over-cautious' | 'undeclared' | 'note';
  readonly message: string;
  /** The effect that proves the difference, with the path to it. */
  readonly effect?: Effect;
  /** True if the baseline contains this finding. */
  readonly known?: true;
}

/** A tool's declaration, the facts from its code, and the comparison. */
export interface ToolAudit {
  readonly name: string;
  readonly verdict: Verdict;
  readonly declared: DeclaredFacts;
  readonly found: FoundFacts;
  readonly findings: readonly AuditFinding[];
  /** The handler's `file:line`. Missing if no handler was found. */
  readonly handler?: string;
  /** The reasons why some code couldn't be followed. */
  readonly unknowns: readonly string[];
}

const isWrite = ({ access }: Effect) => access === 'write';
const isOutside = ({ kind }: Effect) => MEANING[kind].outside === true;

/**
 * Returns the facts that follow from a tool's effects. Code that couldn't be followed is never
 * assumed to be harmless.
 */
function factsOf({ effects, handler, unknowns }: TracedTool): FoundFacts {
  const isWhole = handler !== undefined && unknowns.length === 0;
  const proven = effects.filter(isProven);
  const writes = proven.filter(isWrite);
  const isOpen =
    !isWhole ||
    effects.some((effect) => effect.access === 'unknown' || (isWrite(effect) && !isProven(effect)));
  const readOnly = writes.length > 0 ? false : isOpen ? null : true;
  const over = (worst: boolean, of: (effect: Effect) => boolean | null): boolean | null => {
    if (writes.some((effect) => of(effect) === worst)) return worst;
    return isOpen || writes.some((effect) => of(effect) === null) ? null : !worst;
  };
  return {
    readOnly,
    destructive: over(true, ({ destructive }) => destructive),
    idempotent: over(false, ({ idempotent }) => idempotent),
    openWorld: proven.some(isOutside)
      ? true
      : !isWhole || effects.some(({ kind }) => MEANING[kind].outside !== false)
        ? null
        : false,
    effects,
  };
}

/** Compares a tool's declaration with the effects of its code. */
export function judgeTool(declared: DeclaredFacts, traced: TracedTool): ToolAudit {
  const { name, handler, unknowns } = traced;
  const found = factsOf(traced);
  const findings = [...findingsOfFacts(declared, found), ...findingsOfAxes(declared, found)];
  return Object.freeze({
    name,
    verdict: verdictOf(declared, found, findings, traced),
    declared,
    found: Object.freeze(found),
    findings: Object.freeze(findings),
    ...(handler !== undefined && { handler }),
    unknowns,
  });
}

function verdictOf(
  { readOnly }: DeclaredFacts,
  found: FoundFacts,
  findings: readonly AuditFinding[],
  { handler }: TracedTool,
): Verdict {
  if (findings.some(({ kind }) => kind === 'lies')) return 'lies';
  if (readOnly === undefined) return 'undeclared';
  // If a tool certainly writes, its verdict isn't `unknown`. A possible write proves nothing.
  if (handler === undefined || found.readOnly === null) return 'unknown';
  return findings.some(({ kind }) => kind === 'over-cautious') ? 'over-cautious' : 'agrees';
}

const DELETES =
  /\b(?:rm|rmdir|unlink|truncate|del|delete|drop|remove|destroy|purge|kill|stop|shutdown|terminate|uninstall|clear|erase|reset|reboot)/i;
const LOCAL_KINDS: ReadonlySet<EffectKind> = new Set(['fs-write', 'memory-state', 'process-spawn']);

/**
 * Returns the names that reports use for facts: annotations for MCP tools, and options for tools of
 * this package.
 */
function wordsOf({ axes, destructive, readOnly }: DeclaredFacts) {
  if (axes === undefined)
    return {
      readOnly: ['readOnlyHint', `readOnlyHint: ${readOnly}`],
      destructive: ['destructiveHint', `destructiveHint: ${destructive}`],
      idempotent: ['idempotentHint', 'idempotentHint: true'],
    } as const;
  const access =
    axes.accessMode !== undefined || readOnly === undefined
      ? ['accessMode', `accessMode: '${axes.accessMode}'`]
      : axes.sideEffects !== undefined
        ? ['sideEffects', `sideEffects: ${listOf(axes.sideEffects)}`]
        : ['executionCategory', `executionCategory: '${axes.executionCategory}'`];
  return {
    readOnly: access as [string, string],
    destructive: ['dangerLevel', `dangerLevel: '${axes.dangerLevel}'`],
    idempotent: ['idempotencyKey', 'idempotencyKey: true'],
  } as const;
}

const listOf = (values: readonly string[]) => `[${values.map((each) => `'${each}'`).join(', ')}]`;

function* findingsOfFacts(declared: DeclaredFacts, found: FoundFacts): Iterable<AuditFinding> {
  const { axes, readOnly, destructive, idempotent, openWorld } = declared;
  const words = wordsOf(declared);
  const writes = distinct(found.effects.filter((effect) => isWrite(effect) && isProven(effect)));
  const finding = (
    kind: AuditFinding['kind'],
    [axis, said]: readonly [string, string],
    but: string,
    effect?: Effect,
  ): AuditFinding => ({
    axis,
    kind,
    message: `declares ${said}, ${but}`,
    ...(effect && { effect }),
  });
  const runsPrograms =
    axes !== undefined && found.effects.some(({ kind }) => kind === 'process-spawn');

  if (readOnly === undefined) {
    const but =
      found.readOnly === null
        ? ''
        : found.readOnly
          ? '; it only reads'
          : `; it ${doingOf(writes[0]!)}`;
    yield {
      axis: words.readOnly[0],
      kind: 'undeclared',
      message:
        axes === undefined
          ? `declares no readOnlyHint, so clients assume that the tool ${destructive === false ? 'writes' : 'writes and destroys'}${but}`
          : `declares neither accessMode nor sideEffects, so mixed access and high danger are assumed${but}`,
      ...(writes[0] && { effect: writes[0] }),
    };
  } else if (readOnly) {
    for (const effect of writes)
      yield finding('lies', words.readOnly, `and ${doingOf(effect)}`, effect);
  } else if (found.readOnly === true && !runsPrograms)
    yield finding('over-cautious', words.readOnly, 'and only reads');
  if (readOnly !== true) {
    if (destructive === false)
      for (const effect of writes)
        if (effect.destructive === true)
          // Overwriting is only a note, because people disagree about its meaning.
          // Deleting and stopping are lies.
          yield !DELETES.test(effect.call)
            ? finding(
                'note',
                words.destructive,
                `and ${doingOf(effect)}, which may overwrite something`,
                effect,
              )
            : finding(
                'lies',
                words.destructive,
                `and ${doingOf(effect)}, which deletes or stops something`,
                effect,
              );
    // Only effects on this machine are checked, because a service may recognize that a request is
    // repeated.
    if (idempotent === true)
      for (const effect of writes)
        if (effect.idempotent === false && LOCAL_KINDS.has(effect.kind))
          yield finding(
            'lies',
            words.idempotent,
            `and ${doingOf(effect)}, which changes more with each call`,
            effect,
          );
    if (destructive === true && found.readOnly === false && found.destructive === false)
      yield finding('over-cautious', words.destructive, 'and only adds', writes[0]);
  }
  // A difference about "open world" is only a note, because vendors disagree about the term.
  const outside = found.effects.find((effect) => isProven(effect) && isOutside(effect));
  if (openWorld === false && outside !== undefined)
    yield {
      axis: 'openWorldHint',
      kind: 'note',
      message: `declares openWorldHint: false, and ${doingOf(outside)}`,
      effect: outside,
    };
}

const LOCAL: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.FILESYSTEM,
]);
const READING: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.READ_EXTERNAL_SERVICE,
]);

/**
 * Finds other metadata that contradicts the effects. Only tools of this package have such metadata.
 */
function* findingsOfAxes(
  { axes, readOnly }: DeclaredFacts,
  { effects }: FoundFacts,
): Iterable<AuditFinding> {
  if (axes === undefined) return;
  const { cacheTtlMs, executionCategory, sideEffects = [] } = axes;
  const proven = effects.filter(isProven);
  const [write] = distinct(proven.filter(isWrite));
  const [outside] = distinct(proven.filter(isOutside));
  const lies = (axis: string, said: string, effect: Effect, but = ''): AuditFinding => ({
    axis,
    kind: 'lies',
    message: `declares ${axis}: ${said}, and ${doingOf(effect)}${but}`,
    effect,
  });

  if (write !== undefined && cacheTtlMs !== undefined)
    yield lies(
      'cacheTtlMs',
      String(cacheTtlMs),
      write,
      ': a call that is answered from the cache changes nothing',
    );
  // If the tool lies about being read-only, these findings would only repeat that lie.
  if (write !== undefined && readOnly !== true) {
    if (sideEffects.length > 0 && sideEffects.every((each) => READING.has(each)))
      yield lies('sideEffects', listOf(sideEffects), write);
    if (
      executionCategory === ExecutionCategory.READ_ONLY ||
      executionCategory === ExecutionCategory.COMPUTE
    )
      yield lies('executionCategory', `'${executionCategory}'`, write);
  }
  if (outside === undefined || (readOnly === true && isWrite(outside))) return;
  const places = sideEffects.filter((each) => each !== SideEffect.WRITE);
  if (places.length > 0 && places.every((each) => LOCAL.has(each)))
    yield lies('sideEffects', listOf(sideEffects), outside);
  else if (executionCategory === ExecutionCategory.COMPUTE)
    yield lies('executionCategory', `'${executionCategory}'`, outside);
}

/**
 * Returns each combination of effect and call once, with the most certain and shortest path to it.
 * The worst effects come first.
 */
function distinct(effects: readonly Effect[]): readonly Effect[] {
  const weight = ({ certainty, destructive, via }: Effect) =>
    (certainty === 'does' ? 0 : 1_000_000) + (destructive === true ? 0 : 100_000) + via.length;
  const best = new Map<string, Effect>();
  for (const effect of effects) {
    const key = `${effect.kind} ${effect.call}`;
    const before = best.get(key);
    if (before === undefined || weight(effect) < weight(before)) best.set(key, effect);
  }
  return [...best.values()].sort((a, b) => weight(a) - weight(b));
}
