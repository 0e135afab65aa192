import type { Effect, ToolAudit } from '../../../src/audit.js';
import type { LabelledTool } from './truth.js';

/**
 * A verdict about one tool. `argued` is a write that depends on a known argument, and `possible` a write
 * whose condition is unknown.
 */
export interface Judgement {
  readonly writes: 'does' | 'argued' | 'possible' | 'no';
  readonly destructive: boolean | null;
  readonly idempotent: boolean | null;
  readonly openWorld: boolean | null;
  /** False if the tool's code wasn't found. */
  readonly isCovered: boolean;
  readonly verdict?: ToolAudit['verdict'];
  /** The certain writes that the audit found. */
  readonly evidence?: readonly Pick<Effect, 'at' | 'call' | 'via'>[];
}

export interface JudgedTool {
  readonly server: string;
  readonly label: LabelledTool;
  readonly judgement: Judgement;
}

/** Counts for one axis: the actual positives, the reported positives, and both kinds of mistakes. */
export interface Score {
  readonly positives: number;
  readonly hits: number;
  readonly alarms: number;
  readonly falseAlarms: number;
}

export const precisionOf = ({ alarms, falseAlarms }: Score) =>
  alarms === 0 ? null : (alarms - falseAlarms) / alarms;
export const recallOf = ({ hits, positives }: Score) => (positives === 0 ? null : hits / positives);

/** True if the label depends on an argument or a mode, so the best possible verdict is `may`. */
const isConditional = ({ conditional, decidable }: LabelledTool) =>
  conditional !== undefined || decidable === 'arg-dependent';

/**
 * Scores which tools write. A label with a condition is hit by any `may`, and every other label only by
 * `does`. A write that depends on a known argument counts as reported. A write with an unknown condition
 * counts only for recall.
 */
export function scoreWrites(tools: readonly JudgedTool[]): Score {
  const score = { positives: 0, hits: 0, alarms: 0, falseAlarms: 0 };
  for (const { label, judgement } of tools) {
    if (typeof label.truth.readOnly !== 'boolean') continue;
    const writes = !label.truth.readOnly;
    const isAlarm = judgement.writes === 'does' || judgement.writes === 'argued';
    if (writes) score.positives += 1;
    if (
      writes &&
      (judgement.writes === 'does' || (isConditional(label) && judgement.writes !== 'no'))
    )
      score.hits += 1;
    if (isAlarm) score.alarms += 1;
    if (isAlarm && !writes) score.falseAlarms += 1;
  }
  return score;
}

/** The other axes, each with the value that clients must not miss. */
const FEARED = { destructive: true, idempotent: false, openWorld: true } as const;

/**
 * Scores an axis by the value that clients must not miss: destructive, not idempotent, or open to the
 * world.
 */
export function scoreAxis(tools: readonly JudgedTool[], axis: keyof typeof FEARED): Score {
  const score = { positives: 0, hits: 0, alarms: 0, falseAlarms: 0 };
  for (const { label, judgement } of tools) {
    const truth = label.truth[axis];
    if (typeof truth !== 'boolean') continue;
    const isSo = truth === FEARED[axis];
    const isCalledSo = judgement[axis] === FEARED[axis];
    if (isSo) score.positives += 1;
    if (isCalledSo) score.alarms += 1;
    if (isSo && isCalledSo) score.hits += 1;
    if (!isSo && isCalledSo) score.falseAlarms += 1;
  }
  return score;
}

/** Returns true if the audit agrees with a tool that declares itself read-only but writes. */
export const isWrongAssurance = ({ label, judgement }: JudgedTool) =>
  judgement.verdict === 'agrees' &&
  label.declared?.['readOnlyHint'] === true &&
  label.truth.readOnly === false;

/**
 * Returns true if the audit found a lie by the right call: the label's evidence contains the call's
 * name, or the call's path passes within five lines of a cited line.
 */
export function isRightlyFound({ label, judgement }: JudgedTool): boolean {
  const text = label.evidence ?? '';
  const cited = [
    ...text.matchAll(/(?<![\w.])(?:[\w./-]+\/)?([\w.-]+\.(?:[cm]?[jt]s|json)):(\d+)/g),
  ];
  const lines = [...text.matchAll(/\b(\d{1,6})\b/g)].map(([, line]) => Number(line));
  return (judgement.evidence ?? []).some(({ at, call, via }) => {
    const word = call.split(/[^\w$]+/).filter((each) => each.length > 2);
    if (word.some((each) => text.toLowerCase().includes(each.replace(/Sync$/, '').toLowerCase())))
      return true;
    return [at, ...via].some((place) => {
      const [file = '', line] = place.split(':');
      return (
        cited.some(([, name]) => file.endsWith(name ?? '')) &&
        lines.some((each) => Math.abs(each - Number(line)) <= 5)
      );
    });
  });
}

export const isDeclaredReader = ({ label }: JudgedTool) =>
  label.declared?.['readOnlyHint'] === true;

/** Verbs that mean a change, chosen without looking at the data. */
const CHANGES: ReadonlySet<string> = new Set(
  'add append apply approve archive assign attach cancel change clear click close commit configure connect copy create delete deploy destroy disable drag drop edit enable execute fill fork grant hover import insert install invite kill launch lock merge modify move navigate open patch pause post press publish push put record register remove rename replace reply reset resize restart restore resume revoke rollback run save scale schedule send set share start stop submit switch tap terminate toggle trigger type uninstall unlock unset update upload upsert write'.split(
    ' ',
  ),
);

/** The baseline: a tool writes if its name contains a verb that means a change. */
export function judgeByName(name: string): Judgement {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return {
    writes: words.some((word) => CHANGES.has(word)) ? 'does' : 'no',
    destructive: null,
    idempotent: null,
    openWorld: null,
    isCovered: true,
  };
}
