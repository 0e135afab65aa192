export { AddDuration } from './add-duration.js';
export { CurrentTime } from './current-time.js';
export { DateDifference } from './date-difference.js';
