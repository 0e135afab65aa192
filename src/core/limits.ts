/**
 * The bounds of what tooldex accepts, in one place.
 *
 * Each is far above honest use and far below what could hurt a process.
 */
export const LIMITS = Object.freeze({
  /** Characters of a description: 64 KiB. */
  descriptionLength: 65_536,
  /** Characters of a keyword, category, stage or task type. */
  labelLength: 200,
  /** Entries of any one list of a tool. */
  listLength: 1_000,
  /** Characters of one example request or summary. */
  sentenceLength: 8_192,
  /** Milliseconds: the largest delay a timer can hold; above it timers fire at once. */
  timerMs: 2_147_483_647,
  /** Characters of a request that are read; the rest is ignored. */
  queryLength: 8_192,
  /** Tools that a selection offers unless it is asked for another number. */
  selectedTools: 12,
});
