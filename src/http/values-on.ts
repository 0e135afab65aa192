// The server and the page share these functions.

/**
 * Returns a field's values as texts: none, one or several. An object that has a name is shown as
 * that name.
 */
export function valuesOn(value: unknown): readonly string[] {
  if (value === null || value === undefined || value === '') return [];
  const each = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  return [
    ...new Set(
      each.map((one) => {
        if (typeof one === 'object' && one !== null && 'name' in one) return String(one.name);
        return typeof one === 'string' ? one : JSON.stringify(one);
      }),
    ),
  ];
}

/** Maximum number of waiting calls that are counted, because each one is read whole. */
export const MOST_COUNTED = 100;

export const HEALTH_LEVELS = ['good', 'uneven', 'failing', 'no calls'] as const;

/**
 * The minimum success rates of tools with good and with uneven health. A tool below both rates is
 * failing.
 */
const GOOD = 0.95;
const UNEVEN = 0.8;

/** Returns a word for the results of recent calls. */
export function healthLevelOf(successRate: number | null): (typeof HEALTH_LEVELS)[number] {
  if (successRate === null) return 'no calls';
  if (successRate >= GOOD) return 'good';
  return successRate >= UNEVEN ? 'uneven' : 'failing';
}
