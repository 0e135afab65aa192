import { DangerLevel } from '../core/enums.js';
import { DANGER_LEVELS, dangerRank } from '../core/enum-order.js';
import type { ToolEntry } from '../tool/tool-definition.js';
import { ignoreRejection } from './ignore-rejection.js';

export interface EffectiveDanger {
  readonly level: DangerLevel;
  /** Why it is above the tool's own level; missing when it is not. */
  readonly raised?: string;
}

/**
 * The danger of one call: the tool's level, or the higher one that `dangerFor` sees in the arguments.
 *
 * A `dangerFor` that throws or answers with no danger level knows less than nothing of these arguments: critical.
 */
export function effectiveDanger(entry: ToolEntry, input: unknown): EffectiveDanger {
  if (entry.dangerFor === undefined) return { level: entry.dangerLevel };
  let level: unknown;
  try {
    level = ignoreRejection(entry.dangerFor(input));
  } catch {
    return { level: DangerLevel.CRITICAL, raised: 'its danger for these arguments cannot be told: dangerFor failed' };
  }
  if (!isDangerLevel(level)) return { level: DangerLevel.CRITICAL, raised: 'its danger for these arguments cannot be told: dangerFor answered with no danger level' };
  if (dangerRank(level) <= dangerRank(entry.dangerLevel)) return { level: entry.dangerLevel };
  return { level, raised: `these arguments raise its danger from ${entry.dangerLevel} to ${level}` };
}

function isDangerLevel(value: unknown): value is DangerLevel {
  return (DANGER_LEVELS as readonly unknown[]).includes(value);
}
