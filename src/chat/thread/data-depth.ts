import { cloneFrozen } from '../../core/plain-data.js';

/**
 * How deep one message or result may nest. Plain data may be 64 deep: this leaves room for what holds messages in results
 * and snapshots, which could not be read again otherwise.
 */
export const DEEPEST_MESSAGE = 48;

/** A frozen copy of data that may be part of a thread. @throws TypeError as `cloneFrozen` does, and for data nested deeper than 48. */
export function cloneMessage<T>(value: T): T {
  const copy = cloneFrozen(value);
  if (isDeeper(copy, DEEPEST_MESSAGE)) throw new TypeError(`plain data at most ${DEEPEST_MESSAGE} levels deep`);
  return copy;
}

/** Whether lists and objects nest in each other more than `depth` times. */
export function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeper(item, depth - 1));
}
