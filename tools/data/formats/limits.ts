/** Characters of a text that a data tool takes: 5 million are worked through in well under a second. */
export const MAX_TEXT = 5_000_000;
/** Rows and values that are returned unless asked otherwise, and at most. */
export const USUAL_ROWS = 100;
export const MAX_ROWS = 10_000;
