import { AccessMode, DangerLevel, SideEffect } from '../../core/enums.js';
import { strictest } from '../../tool/infer-metadata.js';
import { isProven, meaningOf, type Effect } from '../effect.js';
import { ASSUMED, HINTS, type DeclaredFacts, type Hint } from './declared-facts.js';
import type { FoundFacts, ToolAudit } from './judge-tool.js';

/** A correction of a tool's metadata: the fields to replace, with their old and new values. */
interface Correction {
  readonly tool: string;
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
  /** The fields that the code doesn't determine. These fields get the strictest value. */
  readonly unsure: readonly string[];
}

/**
 * Returns the correction for a tool that lies or doesn't declare enough, or `undefined` if nothing
 * has to change. Corrections never relax a declaration.
 */
export function correctionOf(audit: ToolAudit): Correction | undefined {
  const { verdict } = audit;
  if (verdict !== 'lies' && (verdict !== 'undeclared' || audit.found.readOnly === true))
    return undefined;
  const { declared, found, name } = audit;
  const { before, after, unsure } =
    declared.axes === undefined
      ? hintsOf(declared, found)
      : axesOf(declared, found, new Set(audit.findings.map(({ axis }) => axis)));
  const changed = Object.keys({ ...before, ...after }).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  if (changed.length === 0) return undefined;
  return declared.axes === undefined
    ? { tool: name, before, after, unsure }
    : {
        tool: name,
        before: only(before, changed),
        after: only(after, changed),
        unsure: unsure.filter((field) => changed.includes(field)),
      };
}

type Fields = Readonly<Record<string, unknown>>;
type Sides = Pick<Correction, 'before' | 'after' | 'unsure'>;

function only(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(
    names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]),
  );
}

/**
 * Returns all four hints, because clients assume the default for a missing hint. Declared hints are
 * kept unless they're wrong.
 */
function hintsOf(declared: DeclaredFacts, found: FoundFacts): Sides {
  const unsure: Hint[] = [];
  const after = HINTS.map(([hint, fact]) => {
    const strict = ASSUMED[hint];
    const decided = found[fact];
    if (decided === null) unsure.push(hint);
    // While the tool was declared read-only, its hints about writing had no meaning.
    const said =
      declared.readOnly === true && fact !== 'openWorld' && fact !== 'readOnly'
        ? strict
        : (declared[fact] ?? strict);
    return [hint, decided === strict && fact !== 'openWorld' ? strict : said] as const;
  });
  return {
    before: Object.fromEntries(
      HINTS.flatMap(([hint, fact]) =>
        declared[fact] === undefined ? [] : [[hint, declared[fact]]],
      ),
    ),
    after: Object.fromEntries(after),
    unsure,
  };
}

/**
 * Returns corrections for the axes that decide whether calls need approval. All other axes are
 * derived from these axes.
 */
function axesOf(
  { axes = {} }: DeclaredFacts,
  found: FoundFacts,
  wrong: ReadonlySet<string>,
): Sides {
  const relevant = found.effects
    .filter((effect) => effect.access !== 'read' || isProven(effect))
    .map(meaningOf);
  const accessMode =
    found.readOnly === null
      ? AccessMode.MIXED
      : relevant.reduce(
          (mode, meaning) => strictest(mode, meaning.accessMode),
          AccessMode.READONLY as AccessMode,
        );
  const sideEffects = [...new Set(relevant.flatMap((meaning) => meaning.sideEffects))];
  const isMild = axes.dangerLevel === DangerLevel.SAFE || axes.dangerLevel === DangerLevel.LOW;
  const dangerLevel =
    found.readOnly === true
      ? isMild
        ? axes.dangerLevel
        : DangerLevel.LOW
      : isMild || axes.dangerLevel === undefined
        ? accessMode !== AccessMode.WRITE || deletes(found.effects)
          ? DangerLevel.HIGH
          : DangerLevel.MEDIUM
        : axes.dangerLevel;
  const before: Fields = { ...axes };
  const isSame =
    found.readOnly !== true &&
    axes.accessMode !== undefined &&
    axes.accessMode !== AccessMode.READONLY;
  const after: Fields = {
    accessMode: isSame ? axes.accessMode : accessMode,
    dangerLevel,
    sideEffects:
      isSame && !wrong.has('sideEffects')
        ? axes.sideEffects
        : sideEffects.length === 0
          ? [found.readOnly === true ? SideEffect.NONE : SideEffect.WRITE]
          : sideEffects,
    // The old category would contradict the new access mode. Without a category, the new one is
    // derived from the access mode.
    ...(axes.executionCategory !== undefined &&
      isSame &&
      !wrong.has('executionCategory') && { executionCategory: axes.executionCategory }),
    ...(axes.idempotencyKey !== undefined &&
      !wrong.has('idempotencyKey') && { idempotencyKey: axes.idempotencyKey }),
    ...(axes.cacheTtlMs !== undefined &&
      found.readOnly === true && { cacheTtlMs: axes.cacheTtlMs }),
  };
  return { before, after, unsure: found.readOnly === null ? ['accessMode', 'sideEffects'] : [] };
}

const deletes = (effects: readonly Effect[]) =>
  effects.some(
    ({ call, destructive }) =>
      destructive === true && /\b(?:rm|unlink|rmdir|delete|drop|truncate|kill)/i.test(call),
  );

/** Returns corrections as text in the style of a patch. */
export function correctionText(
  { tool, before, after, unsure }: Correction,
  at: string | undefined,
): string {
  const line = (mark: string, [field, value]: readonly [string, unknown]) =>
    `${mark}   ${field}: ${written(value)},${mark === '+' && unsure.includes(field) ? ' // not determined by the code, so the strictest' : ''}`;
  const same = (field: string) => JSON.stringify(before[field]) === JSON.stringify(after[field]);
  return [
    `@@ ${tool}${at === undefined ? '' : ` ${at}`}`,
    ...Object.entries(before)
      .filter(([field]) => !same(field))
      .map((each) => line('-', each)),
    ...Object.entries(after).map((each) => line(same(each[0]) ? ' ' : '+', each)),
  ].join('\n');
}

function written(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  return Array.isArray(value) ? `[${value.map(written).join(', ')}]` : String(value);
}
