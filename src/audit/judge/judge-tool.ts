import { dangerRank } from '../../core/enum-order.js';
import { DangerLevel, ExecutionCategory, SideEffect } from '../../core/enums.js';
import { doingOf, type Effect } from '../effect.js';
import type { Followed, Unknown } from '../follow/follow-calls.js';
import { addsOf } from '../known/words.js';
import type { Declared } from '../tools/declared.js';

/**
 * - `lies`: the tool does more than it declares
 * - `agrees`: every call on every path is known, and none contradicts the declaration
 * - `unknown`: everything else
 */
export type Verdict = 'lies' | 'agrees' | 'unknown';

/** A difference between the declaration and the code. */
export interface AuditFinding {
  /** The option that differs, such as `accessMode`. */
  readonly axis: string;
  /** `over-cautious` if the tool does less than it declares. Only lies change the verdict. */
  readonly kind: 'lies' | 'over-cautious';
  readonly message: string;
  /** The effect that proves the difference, with the path to it. */
  readonly effect?: Effect;
  /** True if the baseline contains this finding. */
  readonly known?: true;
}

/** A tool with its verdict. */
export interface ToolAudit {
  readonly name: string;
  readonly verdict: Verdict;
  /** The declaration's `file:line`. */
  readonly at: string;
  readonly declared: Declared['options'];
  readonly findings: readonly AuditFinding[];
  readonly effects: readonly Effect[];
  /** The calls that couldn't be resolved. */
  readonly unknowns: readonly Unknown[];
}

/** Compares what a tool declares with what its code does. */
export function judgeTool(
  name: string,
  at: string,
  declared: Declared,
  followed: Followed,
): ToolAudit {
  const { unread, options } = declared;
  const unknowns = [
    ...unread.map((field) => ({ call: `the value of ${field}`, at, via: [] })),
    ...followed.unknowns,
  ];
  const effects = lasting(followed.effects);
  const findings = [...liesIn(declared, effects, followed.usesKey)];
  if (findings.length === 0 && unknowns.length === 0 && isOverCautious(declared, effects))
    findings.push({
      axis: 'accessMode',
      kind: 'over-cautious',
      message: `declares accessMode: '${options.accessMode}', and only reads`,
    });
  const verdict = findings.some(({ kind }) => kind === 'lies')
    ? 'lies'
    : unknowns.length > 0
      ? 'unknown'
      : 'agrees';
  return Object.freeze({ name, verdict, at, declared: options, findings, effects, unknowns });
}

/** Leaves out temporary files that the tool removes again. */
function lasting(effects: readonly Effect[]): readonly Effect[] {
  const isRemoved = effects.some(
    ({ temporary, deletes }) => temporary === true && deletes === true,
  );
  return isRemoved ? effects.filter(({ temporary }) => temporary !== true) : effects;
}

function isOverCautious({ options, isReadonly }: Declared, effects: readonly Effect[]): boolean {
  return (
    options.accessMode !== undefined &&
    !isReadonly &&
    effects.every(({ access, kind }) => access === 'read' && kind !== 'program')
  );
}

function* liesIn(
  declared: Declared,
  effects: readonly Effect[],
  usesKey: boolean,
): Iterable<AuditFinding> {
  const { options, isReadonly } = declared;
  const writes = effects.filter(({ access }) => access === 'write').sort(worst);
  if (isReadonly) {
    const [axis, said] = accessSaid(declared);
    for (const effect of writes) yield lie(axis, `${said}, and ${doingOf(effect)}`, effect);
  } else yield* dangerLies(options, writes);
  yield* timeLies(options, writes, effects, isReadonly);
  yield* flowLies(options, effects);
  const [write] = writes;
  if (write !== undefined && !isReadonly) yield* placeLies(options, write);
  const added = writes.find(({ call, kind }) => kind !== 'memory' && isAddition(call));
  if (options.idempotencyKey === true && added !== undefined && !usesKey)
    yield lie(
      'idempotencyKey',
      `idempotencyKey: true, never uses the key, and ${doingOf(added)}`,
      added,
    );
  const outside = effects.find(({ kind }) => kind === 'network');
  const places = options.sideEffects?.filter((each) => each !== SideEffect.WRITE) ?? [];
  if (
    outside !== undefined &&
    !(isReadonly && outside.access === 'write') &&
    places.length > 0 &&
    places.every((each) => LOCAL.has(each))
  )
    yield lie(
      'sideEffects',
      `sideEffects: ${listOf(options.sideEffects!)}, and ${doingOf(outside)}`,
      outside,
    );
}

const lie = (axis: string, said: string, effect: Effect): AuditFinding => ({
  axis,
  kind: 'lies',
  message: `declares ${said}`,
  effect,
});

/** Puts deletions and payments first, then short paths. */
function worst(a: Effect, b: Effect): number {
  const weight = ({ deletes, pays, via }: Effect) =>
    (deletes === true || pays === true ? 0 : 100) + via.length;
  return weight(a) - weight(b);
}

/** Returns the option that makes a tool readonly. */
function accessSaid({ options }: Declared): readonly [axis: string, said: string] {
  if (options.accessMode !== undefined)
    return ['accessMode', `accessMode: '${options.accessMode}'`];
  return ['sideEffects', `sideEffects: ${listOf(options.sideEffects ?? [])}`];
}

const listOf = (values: readonly string[]) => `[${values.map((each) => `'${each}'`).join(', ')}]`;

function* dangerLies(
  { dangerLevel }: Declared['options'],
  writes: readonly Effect[],
): Iterable<AuditFinding> {
  if (dangerLevel === undefined || dangerRank(dangerLevel) >= dangerRank(DangerLevel.MEDIUM))
    return;
  for (const effect of writes)
    if (effect.deletes === true || effect.pays === true) {
      const what = effect.pays === true ? 'moves money' : 'deletes';
      yield lie(
        'dangerLevel',
        `dangerLevel: '${dangerLevel}', and ${what}: ${effect.call}`,
        effect,
      );
    }
}

function* timeLies(
  { cacheTtlMs }: Declared['options'],
  [write]: readonly Effect[],
  effects: readonly Effect[],
  isReadonly: boolean,
): Iterable<AuditFinding> {
  if (cacheTtlMs === undefined || cacheTtlMs <= 0) return;
  const time = effects.find(({ kind }) => kind === 'time');
  if (write !== undefined && !isReadonly)
    yield lie(
      'cacheTtlMs',
      `cacheTtlMs: ${cacheTtlMs}, and ${doingOf(write)}: a call that is answered from the cache changes nothing`,
      write,
    );
  else if (time !== undefined)
    yield lie(
      'cacheTtlMs',
      `cacheTtlMs: ${cacheTtlMs}, and returns the time (${time.call}): a cached answer has an old time`,
      time,
    );
}

function* flowLies(
  { reads, sends }: Declared['options'],
  effects: readonly Effect[],
): Iterable<AuditFinding> {
  const network = effects.filter(({ kind }) => kind === 'network');
  const sent = network.find(({ access }) => access === 'write');
  if (sends === 'nowhere' && sent !== undefined)
    yield lie('sends', `sends: 'nowhere', and ${doingOf(sent)}`, sent);
  const [read] = network.filter(({ access }) => access === 'read');
  if (reads?.length === 0 && read !== undefined)
    yield lie('reads', `reads: [], and ${doingOf(read)}`, read);
}

const READING: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.READ_EXTERNAL_SERVICE,
]);
const LOCAL: ReadonlySet<SideEffect> = new Set([
  SideEffect.NONE,
  SideEffect.COMPUTE,
  SideEffect.FILESYSTEM,
]);

function* placeLies(
  { sideEffects = [], executionCategory }: Declared['options'],
  write: Effect,
): Iterable<AuditFinding> {
  if (sideEffects.length > 0 && sideEffects.every((each) => READING.has(each)))
    yield lie('sideEffects', `sideEffects: ${listOf(sideEffects)}, and ${doingOf(write)}`, write);
  if (
    executionCategory === ExecutionCategory.READ_ONLY ||
    executionCategory === ExecutionCategory.COMPUTE
  )
    yield lie(
      'executionCategory',
      `executionCategory: '${executionCategory}', and ${doingOf(write)}`,
      write,
    );
}

/** Returns true for a call that changes more each time it's repeated. */
function isAddition(call: string): boolean {
  return /^POST\b|^insert\b/i.test(call) || addsOf(call.split('.').at(-1)!);
}
