import { dangerRank } from '../../core/enum-order.js';
import { DangerLevel, SideEffect } from '../../core/enums.js';
import { doingOf, type Effect } from '../effect.js';
import type { Followed, Unknown } from '../follow/follow-calls.js';
import { addsOf } from '../known/words.js';
import type { Declared } from '../tools/declared.js';

/**
 * - `lies`: the tool does more than it declares
 * - `agrees`: every call on every path is known, and none contradicts the declaration
 * - `unknown`: everything else
 */
export type Judgement = 'lies' | 'agrees' | 'unknown';

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
  readonly verdict: Judgement;
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
  const findings = [...contradictionsOf(declared, effects, followed.usesKey)];
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

function contradictionsOf(
  { options, isReadonly }: Declared,
  effects: readonly Effect[],
  usesKey: boolean,
): readonly AuditFinding[] {
  const writes = effects.filter(({ access }) => access === 'write').sort(worst);
  const changes = isReadonly ? [] : writes;
  const lies = new Contradictions(options);
  const access = ACCESS.find((axis) => options[axis] !== undefined) ?? 'accessMode';
  for (const effect of isReadonly ? writes : []) lies.add(access, effect);
  lies.addDanger(changes);
  lies.addCache(changes[0], effects);
  const network = effects.filter(({ kind }) => kind === 'network');
  lies.addNetwork(network);
  lies.addPlaces(changes[0]);
  if (options.idempotencyKey === true && !usesKey) lies.addKey(writes);
  const isToldAlready = isReadonly && network[0]?.access === 'write';
  if (!isToldAlready) lies.addLocal(network[0]);
  return lies.found;
}

/** Collects the effects that contradict a tool's options. */
class Contradictions {
  readonly found: AuditFinding[] = [];
  readonly #options: Declared['options'];

  constructor(options: Declared['options']) {
    this.#options = options;
  }

  /** Adds an effect, if there is one, with what it does in words. */
  add(
    axis: keyof Declared['options'],
    effect: Effect | undefined,
    doing = effect && doingOf(effect),
  ): void {
    if (effect === undefined) return;
    const message = `declares ${axis}: ${shown(this.#options[axis])}, and ${doing}`;
    this.found.push({ axis, kind: 'lies', message, effect });
  }

  addDanger(changes: readonly Effect[]): void {
    const { dangerLevel } = this.#options;
    if (dangerLevel === undefined || dangerRank(dangerLevel) >= dangerRank(DangerLevel.MEDIUM))
      return;
    for (const effect of changes) {
      const { deletes, pays, call } = effect;
      const doing = `${pays === true ? 'moves money' : 'deletes'}: ${call}`;
      if (deletes === true || pays === true) this.add('dangerLevel', effect, doing);
    }
  }

  addCache(write: Effect | undefined, effects: readonly Effect[]): void {
    const { cacheTtlMs = 0 } = this.#options;
    if (cacheTtlMs <= 0) return;
    const time = write === undefined ? effects.find(({ kind }) => kind === 'time') : undefined;
    const old = `returns the time (${time?.call}): a cached answer has an old time`;
    this.add('cacheTtlMs', write);
    this.add('cacheTtlMs', time, old);
  }

  addNetwork(network: readonly Effect[]): void {
    const { sends, reads } = this.#options;
    const first = (access: Effect['access']) => network.find((each) => each.access === access);
    if (sends === 'nowhere') this.add('sends', first('write'));
    if (reads?.length === 0) this.add('reads', first('read'));
  }

  addPlaces(write: Effect | undefined): void {
    const { sideEffects = [], executionCategory: category } = this.#options;
    if (sideEffects.length > 0 && sideEffects.every((each) => READING.has(each)))
      this.add('sideEffects', write);
    if (category === 'read_only' || category === 'compute') this.add('executionCategory', write);
  }

  addKey(writes: readonly Effect[]): void {
    const added = writes.find(({ call, kind }) => kind !== 'memory' && isAddition(call));
    this.add('idempotencyKey', added, `never uses the key: ${added && doingOf(added)}`);
  }

  addLocal(network: Effect | undefined): void {
    const places = (this.#options.sideEffects ?? []).filter((each) => each !== SideEffect.WRITE);
    if (places.length > 0 && places.every((each) => LOCAL.has(each)))
      this.add('sideEffects', network);
  }
}

/** The options that make a tool readonly. */
const ACCESS = ['accessMode', 'sideEffects', 'executionCategory'] as const;
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

/** Puts deletions and payments first, then short paths. */
function worst(a: Effect, b: Effect): number {
  const weight = ({ deletes, pays, via }: Effect) =>
    (deletes === true || pays === true ? 0 : 100) + via.length;
  return weight(a) - weight(b);
}

/** Returns an option's value as code shows it. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  return typeof value === 'string' ? `'${value}'` : String(value);
}

/** Returns true for a call that changes more each time it's repeated. */
function isAddition(call: string): boolean {
  return /^POST\b|^insert\b/i.test(call) || addsOf(call.split('.').at(-1)!);
}
