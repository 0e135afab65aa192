/**
 * All limits on what tooldex accepts.
 *
 * Each limit is far above legitimate use, and far below anything that could harm a process.
 */
export const LIMITS = Object.freeze({
  /** The maximum length of a description, in characters: 64 KiB. */
  descriptionLength: 65_536,
  /** The maximum length of a keyword, category, stage, or task type, in characters. */
  labelLength: 200,
  /** The maximum number of entries in any list that a tool declares. */
  listLength: 1_000,
  /** The maximum length of one example request or summary, in characters. */
  sentenceLength: 8_192,
  /** The maximum delay of a timer, in milliseconds. Timers with a longer delay fire immediately. */
  timerMs: 2_147_483_647,
  /**
   * The maximum number of characters of a request that are read. All further characters are
   * ignored.
   */
  queryLength: 8_192,
  /** The default number of tools in a selection. */
  selectedTools: 12,
});
