/**
 * The limits of what tooldex accepts, in one place.
 *
 * Each limit is far above honest use and far below what could hurt a process.
 */
export const LIMITS = Object.freeze({
  /** The maximum length of a description, in characters: 64 KiB. */
  descriptionLength: 65_536,
  /** The maximum length of a keyword, category, stage, or task type, in characters. */
  labelLength: 200,
  /** The maximum number of entries in any list of a tool. */
  listLength: 1_000,
  /** The maximum length of one example request or summary, in characters. */
  sentenceLength: 8_192,
  /**
   * The longest delay a timer can hold, in milliseconds. A timer with a longer delay fires at once.
   */
  timerMs: 2_147_483_647,
  /** The number of characters of a request that are read. The rest is ignored. */
  queryLength: 8_192,
  /** The number of tools that a selection offers by default. */
  selectedTools: 12,
});
