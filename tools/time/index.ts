import { AddDuration } from './add-duration.js';
import { CurrentTime } from './current-time.js';
import { DateDifference } from './date-difference.js';

export { AddDuration, CurrentTime, DateDifference };

interface TimeToolsOptions {
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Creates the tools for dates and times. */
export function createTimeTools({ now }: TimeToolsOptions = {}) {
  return [new CurrentTime(now), new AddDuration(), new DateDifference()] as const;
}
