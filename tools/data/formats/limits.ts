/** Maximum length of a text for data tools in characters. 5 million take well under a second. */
export const MAX_TEXT = 5_000_000;
/** Default and maximum number of rows or values returned. */
export const USUAL_ROWS = 100;
export const MAX_ROWS = 10_000;
