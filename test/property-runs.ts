/** True if properties run with all cases, as in `npm run test:long`. */
const IS_LONG = process.env['TOOLDEX_LONG_TESTS'] !== undefined;
/** The minimum number of cases. */
const FEWEST = 10;

/**
 * Returns the number of cases to run for a property: a tenth of the cases but at least ten, or all cases
 * if requested.
 */
export function propertyRuns(all: number): number {
  return IS_LONG ? all : Math.min(all, Math.max(FEWEST, Math.ceil(all / 10)));
}
