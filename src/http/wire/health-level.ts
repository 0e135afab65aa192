import type { MetricsWire } from '../../capability/wire-types.js';

export const HEALTH_LEVELS = ['good', 'uneven', 'failing', 'no calls'] as const;
export type HealthLevel = (typeof HEALTH_LEVELS)[number];

/** The success rates from which health is called good and uneven; below them it is failing. */
const GOOD = 0.95;
const UNEVEN = 0.8;

/** Returns one word for the results of the last calls. */
export function healthLevelOf({ success_rate }: MetricsWire): HealthLevel {
  if (success_rate === null) return 'no calls';
  if (success_rate >= GOOD) return 'good';
  return success_rate >= UNEVEN ? 'uneven' : 'failing';
}
