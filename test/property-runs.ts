/** Whether the properties run with all of their cases, as in `npm run test:long`. */
const IS_LONG = process.env['TOOLDEX_LONG_TESTS'] !== undefined;
/** So few cases are always run. */
const FEWEST = 10;

/** Returns how many cases of a property run: a tenth of them, but ten at least, unless all are asked for. */
export function propertyRuns(all: number): number {
  return IS_LONG ? all : Math.min(all, Math.max(FEWEST, Math.ceil(all / 10)));
}
